"""A folder that keeps an audit's trials, so that it can be killed at any moment and resumed.

``run.json`` says which audit it is; every batch of scored trials is one Parquet file, written under
another name, forced to disk and renamed, so that a file is whole or not there. Killed at any moment
(SIGKILL too), an audit loses the batches in progress at most. ``read_parquet('FOLDER/*.parquet')``
reads all trials in DuckDB.

Resuming runs what is missing. For a seedable mechanism the final result is identical to that of an
audit never interrupted: every block is a function of the seed and of its number. One block that is
already there is run again and compared, so a mechanism that only claims to be seedable is found
out. For one that is not, complete batches are kept, and so are the releases that its attack learned
from (``training/``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.engine.atomic_file import remove_partial, sync_folder, write_atomically
from dpaudit.engine.attack_scores import Attack, block_scores
from dpaudit.engine.batch_file import BatchName, read_batch, write_batch
from dpaudit.engine.blocks import Experiment, ReleasedBatch, ScoredBatch, codes_of
from dpaudit.engine.identity import FORMAT, changes
from dpaudit.engine.outcomes import OUTCOMES, BlockOutcome
from dpaudit.engine.plan import Phase, Plan, Side
from dpaudit.engine.store_lock import StoreError, locked
from dpaudit.engine.training_file import read_training, write_training
from dpaudit.errors import shown

Task = tuple[Side, range]


class TrialStore:
    """An open store; make one with `open_store`.

    Parameters
    ----------
    folder : Path
        Its folder.
    plan : Plan
        The audit's plan.
    run : str
        Hash of the audit's identity.
    resumed : bool
        Whether the store held this audit before.
    """

    def __init__(self, folder: Path, *, plan: Plan, run: str, resumed: bool) -> None:
        self.folder = folder
        self.plan = plan
        self.run = run
        self.resumed = resumed
        self._kept: dict[Phase, list[BatchName]] = {"selection": [], "bounding": []}
        seen: dict[Side, set[int]] = {"in": set(), "out": set()}
        for path in sorted(folder.glob("*.parquet")):
            phase, name = BatchName.of(path, plan)
            if not seen[name.side].isdisjoint(name.blocks):
                raise StoreError(f"{_at(path)}: its blocks are in another file too; remove one")
            seen[name.side].update(name.blocks)
            self._kept[phase].append(name)

    def kept(self, phase: Phase) -> list[Task]:
        """Return the batches of a phase that are complete."""
        return [(name.side, name.blocks) for name in self._kept[phase]]

    def read(self, side: Side, blocks: range) -> ScoredBatch:
        """Read one of them.

        Raises
        ------
        StoreError
            If its file is damaged or from another audit.
        """
        name = BatchName(side=side, blocks=blocks)
        return read_batch(self.folder, name, plan=self.plan, run=self.run)

    def append(self, batch: ScoredBatch) -> None:
        """Keep a batch."""
        write_batch(self.folder, batch, plan=self.plan, run=self.run)

    def read_training(self, side: Side) -> dict[int, BlockOutcome]:
        """Return the releases of training blocks that are kept, by block.

        Raises
        ------
        StoreError
            If a file is damaged or from another audit.
        """
        return read_training(self.folder / "training", side, plan=self.plan, run=self.run)

    def append_training(self, batch: ReleasedBatch) -> None:
        """Keep releases that the attack learns from."""
        folder = self.folder / "training"
        folder.mkdir(exist_ok=True)
        sync_folder(self.folder)
        write_training(folder, batch, run=self.run)

    def check_repeat(
        self,
        score: Callable[[Experiment, Side, range], ScoredBatch],
        experiment: Experiment,
        task: Task,
    ) -> None:
        """Run the first block of a kept batch again and compare.

        Parameters
        ----------
        score : callable
            Runs and scores blocks.
        experiment : Experiment
            With its attack.
        task : tuple
            Side and blocks of the batch.

        Raises
        ------
        StoreError
            If a score or an outcome differs, time-outs set aside.
        """
        side, blocks = task
        old = self.read(side, blocks)
        new = score(experiment, side, blocks[:1])
        size = new.scores.size
        before, after = codes_of(old.codes, old.scores.size)[:size], codes_of(new.codes, size)
        timed = [i for i, name in enumerate(OUTCOMES) if name.endswith("timeout")]
        same = np.isin(before, timed) | np.isin(after, timed)
        same |= (before == after) & (old.scores[:size] == new.scores.astype(np.float64))
        if not same.all():
            raise StoreError(
                f"{_at(self.folder)}: block {blocks[0]} of side {side!r} came out differently when "
                "it was run again; the mechanism or the attack uses other randomness than its "
                "generator (then it is not seedable), or its environment has changed"
            )

    def check_attack(self, attack: Attack | None, inside: Any, outside: Any) -> None:
        """Keep how the fitted attack scores its training releases, or compare with what was kept.

        Parameters
        ----------
        attack : Attack or None
            The fitted attack; None if a side had no releases.
        inside, outside : object
            The releases it was fitted to.

        Raises
        ------
        StoreError
            If they are scored differently than before.
        """
        digest = sha256(b"none")
        if attack is not None:
            for releases in (inside, outside):
                scores = block_scores(attack, BlockOutcome(releases), len(releases))
                digest.update(scores.astype(np.float64).tobytes())
        path = self.folder / "attack.json"
        if not path.exists():
            _write_json(path, {"run": self.run, "training_scores": digest.hexdigest()})
        elif _read_json(path) != {"run": self.run, "training_scores": digest.hexdigest()}:
            raise StoreError(
                f"{_at(path)}: the attack, fitted again, scores its training releases differently; "
                "the mechanism or the fit uses randomness that is not its generator's"
            )


@contextmanager
def open_store(
    path: str | Path, config: dict[str, Any], *, plan: Plan, resume: bool
) -> Iterator[TrialStore]:
    """Open a store for one audit, and keep other processes out while it is open.

    Parameters
    ----------
    path : str or Path
        A folder; made if it is not there.
    config : dict
        The audit's identity, plain values.
    plan : Plan
        Its plan.
    resume : bool
        Whether to go on with what the folder holds; if it holds nothing the audit starts.

    Yields
    ------
    TrialStore
        The store.

    Raises
    ------
    StoreError
        If the folder cannot be used, is in use, holds an audit while `resume` is False, another
        audit, or something else.
    """
    if find_spec("pyarrow") is None:
        raise StoreError("store: pyarrow is needed to keep trials (pip install 'dpaudit[store]')")
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreError(f"{_at(folder)}: no folder for trials: {problem.strerror}") from None
    with locked(folder):
        remove_partial(folder)
        yield _opened(folder, json.loads(json.dumps(config)), plan=plan, resume=resume)


def _opened(folder: Path, config: dict[str, Any], *, plan: Plan, resume: bool) -> TrialStore:
    """Start a store, or compare the audit with the one it holds."""
    run = _digest(config)
    path = folder / "run.json"
    if not path.exists():
        others = sorted(entry.name for entry in folder.iterdir() if entry.name != "lock")
        if others:
            raise StoreError(
                f"{_at(folder)}: not empty, and no audit's store (it holds {shown(others[0])})"
            )
        _write_json(path, {"run": run, "config": config})
        return TrialStore(folder, plan=plan, run=run, resumed=False)
    stored = _read_json(path)
    if not resume:
        raise StoreError(
            f"{_at(folder)}: holds an audit already; resume=True (--resume) goes on with it"
        )
    match stored:
        case {"run": str(digest), "config": dict(before), **rest} if not rest:
            if before.get("format") != FORMAT:
                raise StoreError(
                    f"{_at(path)}: written in format {shown(before.get('format'))}, "
                    f"this version reads {FORMAT}"
                )
            if _digest(before) != digest:
                raise StoreError(f"{_at(path)}: damaged: its hash does not fit its content")
            if differences := changes(before, config):
                raise StoreError(
                    f"{_at(folder)}: the audit has changed since: {'; '.join(differences)}"
                )
            return TrialStore(folder, plan=plan, run=run, resumed=True)
    raise StoreError(f"{_at(path)}: not an audit's: it needs the keys run and config, no others")


def _digest(config: dict[str, Any]) -> str:
    return sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def _write_json(path: Path, value: dict[str, Any]) -> None:
    content = json.dumps(value, indent=1, sort_keys=True).encode() + b"\n"
    write_atomically(path, lambda file: file.write(content))


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except OSError as problem:
        raise StoreError(f"{_at(path)}: cannot be read: {problem.strerror}") from None
    except (ValueError, RecursionError):
        raise StoreError(f"{_at(path)}: damaged: not JSON") from None


def _at(path: Path) -> str:
    return shown(path, limit=200)
