"""Scores of one canary's trials, made by the audit engine.

A block of trials releases as many copies of the bucket in one call of the release stage; its coins
and noise come from the canary's seed, the side and the block's number alone.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from accountants.ranges import Floats
from dpaudit.auditing.measurement import CanaryScores
from dpaudit.engine.backends import Backend
from dpaudit.engine.blocks import Experiment
from dpaudit.engine.identity import audit_identity
from dpaudit.engine.outcomes import BlockOutcome
from dpaudit.engine.plan import Plan
from dpaudit.engine.runner import Runner
from dpaudit.engine.store import TrialStore, open_store
from dpaudit.estimators import SplitScores
from dpaudit.pipeline.release import ReleaseParameters, release_buckets
from dpaudit.pipeline.trials import (
    ReleaseFunction,
    TrialReleases,
    block_trials,
    trials_per_block,
)

Scorer = Callable[[TrialReleases], Floats]


@dataclass(frozen=True, kw_only=True)
class TrialSettings:
    """How trials are run.

    Attributes
    ----------
    release : ReleaseFunction
        The implementation under audit.
    workers : int
        Processes; no result depends on their number.
    store : Path or None
        Folder under which each canary's trials are kept.
    resume : bool
        Whether to go on with what the folder holds.
    progress : bool
        Whether to show progress.
    """

    release: ReleaseFunction = release_buckets
    workers: int = 1
    store: Path | None = None
    resume: bool = False
    progress: bool = False


@dataclass(frozen=True, kw_only=True)
class BucketTrials:
    """The release of one bucket as a mechanism; its data are rows of ``vectors``.

    Attributes
    ----------
    vectors : ndarray, shape (r, d)
        Distinct vectors.
    parameters : ReleaseParameters
        Of the release.
    release : ReleaseFunction
        The implementation.
    entropy, spawn_key : int, tuple of int
        Of the canary's seed; side s takes child ``first + s``.
    first : int
        The child of the side without the canary.
    """

    vectors: Floats
    parameters: ReleaseParameters
    release: ReleaseFunction
    entropy: Any
    spawn_key: tuple[int, ...]
    first: int
    block: int
    seedable: ClassVar[bool] = True
    fixed_shape: ClassVar[bool] = False

    @property
    def preferred_block(self) -> int:
        """Trials in a block."""
        return self.block

    @property
    def preferred_batch(self) -> int:
        """One block."""
        return self.block

    def run(self, data: Any, trials: int, rng: np.random.Generator) -> BlockOutcome:
        """Release a block; what the release raises is no outcome but an error."""
        key: tuple[int, ...] = rng.bit_generator.seed_seq.spawn_key  # type: ignore[attr-defined]
        side, block = key[-2:]
        stream = np.random.SeedSequence(
            self.entropy, spawn_key=(*self.spawn_key, self.first + side)
        )
        return BlockOutcome(
            block_trials(
                self.vectors,
                data,
                trials=trials,
                block=block,
                parameters=self.parameters,
                seed=stream,
                release=self.release,
            )
        )


@dataclass(frozen=True)
class LikelihoodScore:
    """An adversary's scores as the engine's attack."""

    scorer: Scorer

    def score(self, releases: TrialReleases) -> Floats:
        """Return one score a trial."""
        return self.scorer(releases)


def bucket_scores(
    label: str,
    scorer: Scorer,
    *,
    vectors: Floats,
    without: list[int],
    canary: int,
    parameters: ReleaseParameters,
    trials: int,
    seed: np.random.SeedSequence,
    first: int,
    settings: TrialSettings,
) -> CanaryScores:
    """Release a bucket without and with a canary, and score each release.

    Parameters
    ----------
    label : str
        Names the progress bar and the store's folder.
    scorer : callable
        Releases -> scores, higher meaning "with the canary".
    vectors : ndarray, shape (r, d)
        Distinct vectors.
    without : list of int
        Rows of the bucket's members without the canary.
    canary : int
        The row that joins.
    parameters : ReleaseParameters
        Of the release.
    trials : int
        On each side; the first half chooses thresholds, the second bounds.
    seed : numpy.random.SeedSequence
        Of all trials.
    first : int
        The child of ``seed`` for the side without the canary; the next one is the other side's.
    settings : TrialSettings
        How trials are run.
    """
    inside = [*without, canary]
    block = min(trials, trials_per_block(members=len(inside), dimension=vectors.shape[1]))
    plan = Plan(trials=trials, block=block, training=0, selection=-(-trials // block))
    mechanism = BucketTrials(
        vectors=vectors,
        parameters=parameters,
        release=settings.release,
        entropy=seed.entropy,
        spawn_key=tuple(seed.spawn_key),
        first=first,
        block=block,
    )
    attack = LikelihoodScore(scorer)
    runner = Runner(
        experiment=Experiment(
            mechanism=mechanism, data_out=without, data_in=inside, plan=plan, seed=0
        ),
        backend=Backend(workers=settings.workers),
        progress=settings.progress,
        label=label,
    )
    opened: AbstractContextManager[TrialStore | None] = nullcontext()
    if settings.store is not None:
        config, _ = audit_identity(
            mechanism, attack, data_out=without, data_in=inside, plan=plan, seed=0, settings={}
        )
        folder = settings.store / label.replace(", ", "-").replace(" ", "-")
        opened = open_store(folder, config, plan=plan, resume=settings.resume)
    with opened as store:
        (with_it, _), (without_it, _) = replace(runner, store=store).select(attack)
    return CanaryScores(SplitScores.from_scores(with_it, without_it))
