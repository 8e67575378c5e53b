"""A batch of scored trials as one Parquet file, read back with every value checked.

Columns: ``side`` ("in" or "out"), ``block`` and ``trial`` (numbers from 0 on each side), ``score``
(null where the trial failed) and ``outcome`` (a name from `dpaudit.engine.outcomes.OUTCOMES`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from dpaudit.engine.atomic_file import write_atomically
from dpaudit.engine.blocks import Example, ScoredBatch, codes_of
from dpaudit.engine.outcomes import OUTCOMES, RELEASED
from dpaudit.engine.plan import PHASES, Phase, Plan, Side
from dpaudit.engine.store_lock import StoreError
from dpaudit.errors import shown

_NAME = re.compile(r"(in|out)-(\d{10})-(\d{10})\.parquet")
_KEY = b"dpaudit"


@dataclass(frozen=True, kw_only=True)
class BatchName:
    """Which blocks a file holds, as its name says: ``SIDE-FIRST-END.parquet``, END not in it."""

    side: Side
    blocks: range

    def __str__(self) -> str:
        return f"{self.side}-{self.blocks.start:010d}-{self.blocks.stop:010d}.parquet"

    @classmethod
    def of(cls, path: Path, plan: Plan) -> tuple[Phase, BatchName]:
        """Read a file's name, and the phase its blocks belong to.

        Raises
        ------
        StoreError
            If the plan has no such batch.
        """
        found = _NAME.fullmatch(path.name)
        if found:
            blocks = range(int(found[2]), int(found[3]))
            for phase in PHASES[1:]:
                whole = plan.phase(phase)
                if blocks and blocks[0] in whole and blocks[-1] in whole:
                    return phase, cls(side="in" if found[1] == "in" else "out", blocks=blocks)
        raise StoreError(f"{_at(path)}: not a batch of this audit; move it elsewhere")


def write_batch(folder: Path, batch: ScoredBatch, *, plan: Plan, run: str) -> None:
    """Write a batch, atomically.

    Parameters
    ----------
    folder : Path
        The store.
    batch : ScoredBatch
        The trials.
    plan : Plan
        The audit's plan.
    run : str
        Hash of the audit's identity, kept in the file's metadata.
    """
    import pyarrow as pa
    from pyarrow import parquet

    codes = codes_of(batch.codes, batch.scores.size)
    trials = np.arange(batch.scores.size, dtype=np.int64) + batch.blocks.start * plan.block
    scores = batch.scores.astype(np.float64)
    table = pa.table(
        {
            "side": pa.DictionaryArray.from_arrays(np.zeros(trials.size, np.int32), [batch.side]),
            "block": trials // plan.block,
            "trial": trials,
            "score": pa.array(scores, mask=None if batch.codes is None else codes != RELEASED),
            "outcome": pa.DictionaryArray.from_arrays(codes.astype(np.int32), list(OUTCOMES)),
        }
    ).replace_schema_metadata({_KEY: json.dumps({"run": run, "example": batch.example})})

    def write(file: IO[bytes]) -> None:
        parquet.write_table(table, file, compression="zstd", write_page_checksum=True)

    name = BatchName(side=batch.side, blocks=batch.blocks)
    write_atomically(folder / str(name), write)


def read_batch(folder: Path, name: BatchName, *, plan: Plan, run: str) -> ScoredBatch:
    """Read a batch and check it.

    Parameters
    ----------
    folder, plan, run
        As for `write_batch`.
    name : BatchName
        Which batch.

    Returns
    -------
    ScoredBatch
        As it was written, its scores as float64.

    Raises
    ------
    StoreError
        If the file is damaged or belongs to another audit.
    """
    path = folder / str(name)
    metadata, columns = _read(path)
    if metadata.get("run") != run:
        raise StoreError(f"{_at(path)}: from another audit; move it elsewhere")
    size = plan.trials_of(name.blocks)
    trials = np.arange(size, dtype=np.int64) + name.blocks.start * plan.block
    codes, scores = columns["outcome"].astype(np.uint8), columns["score"]
    right = (
        np.array_equal(columns["trial"], trials)
        and np.array_equal(columns["block"], trials // plan.block)
        and set(np.unique(columns["side"])) == {name.side}
        and bool(np.array_equal(columns["null"], codes != RELEASED))
        and not np.isnan(scores).any()
    )
    if not right:
        raise _damaged(path, "its rows are not those of its name")
    return ScoredBatch(
        side=name.side,
        blocks=name.blocks,
        scores=scores,
        codes=codes if codes.any() else None,
        example=_example(metadata.get("example"), path),
    )


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a file's metadata and columns."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.ParquetFile(path, page_checksum_verification=True).read()
        metadata = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
        outcome = table["outcome"].combine_chunks().cast(pa.string()).to_numpy(zero_copy_only=False)
        score = table["score"].combine_chunks()
        names = np.array(OUTCOMES)
        order = np.argsort(names)
        place = np.minimum(np.searchsorted(names[order], outcome.astype(str)), len(names) - 1)
        columns = {
            "side": table["side"].combine_chunks().cast(pa.string()).to_numpy(zero_copy_only=False),
            "block": table["block"].to_numpy(),
            "trial": table["trial"].to_numpy(),
            "null": score.is_null().to_numpy(zero_copy_only=False),
            "score": score.fill_null(0.0).cast(pa.float64()).to_numpy(),
            "outcome": order[place],
        }
        if not np.array_equal(names[columns["outcome"]], outcome.astype(str)):
            raise _damaged(path, "it holds an unknown outcome")
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as problem:
        raise _damaged(path, f"{type(problem).__name__}: {problem}") from None
    return metadata if isinstance(metadata, dict) else {}, columns


def _example(value: Any, path: Path) -> Example | None:
    """Read the first failure from a file's metadata."""
    match value:
        case None:
            return None
        case [int(block), str(text)]:
            return block, text
    raise _damaged(path, "its metadata are not an audit's")


def _damaged(path: Path, why: str) -> StoreError:
    return StoreError(
        f"{_at(path)}: damaged or not a batch ({shown(why)}); remove it to run its trials again"
    )


def _at(path: Path) -> str:
    return shown(path, limit=200)
