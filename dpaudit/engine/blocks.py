"""One block of trials: from its number to scores and outcomes, or to counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from dpaudit.engine.attack_scores import Attack, Scores, block_scores
from dpaudit.engine.event import Event
from dpaudit.engine.mechanism import Mechanism
from dpaudit.engine.outcomes import OUTCOMES, BlockOutcome, Codes
from dpaudit.engine.plan import Plan, Side, block_generator

Example: TypeAlias = "tuple[int, str]"
"""The block of a failure, and the failure in one line."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Experiment:
    """All that determines the outcome of every block.

    Attributes
    ----------
    mechanism : Mechanism
        What is audited.
    data_out, data_in : object
        Its data without and with the canary.
    plan : Plan
        The blocks.
    seed : int
        Seed of all blocks.
    branch : tuple of int
        Sets these trials apart from others of the same seed.
    attack : Attack or None
        Fitted if it learns; None scores every release 0.
    event : Event or None
        What is counted, once it is chosen.
    """

    mechanism: Mechanism
    data_out: Any
    data_in: Any
    plan: Plan
    seed: int
    branch: tuple[int, ...] = ()
    attack: Attack | None = None
    event: Event | None = None

    def with_attack(self, attack: Attack | None) -> Experiment:
        """Return the experiment with a fitted attack."""
        return replace(self, attack=attack)

    def with_event(self, event: Event | None) -> Experiment:
        """Return the experiment with an event to count."""
        return replace(self, event=event)


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredBatch:
    """Scores and outcomes of consecutive blocks of one side, a failed trial's score being 0."""

    side: Side
    blocks: range
    scores: Scores
    codes: Codes | None
    example: Example | None = None


@dataclass(frozen=True, kw_only=True)
class CountedBatch:
    """Counts of consecutive blocks of one side.

    Attributes
    ----------
    side : {"out", "in"}
        The side.
    blocks : range
        The blocks.
    trials : int
        Trials in them.
    positives : int
        How many were called positive.
    outcomes : tuple of int
        How many had each outcome code.
    example : tuple of int and str, or None
        The block of the first failure, and the failure.
    """

    side: Side
    blocks: range
    trials: int
    positives: int
    outcomes: tuple[int, ...]
    example: Example | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedBatch:
    """Releases of consecutive blocks of one side, for an attack to learn from."""

    side: Side
    blocks: range
    parts: list[BlockOutcome]


def run_block(experiment: Experiment, side: Side, block: int) -> BlockOutcome:
    """Run the mechanism for one block.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    side : {"out", "in"}
        On which data.
    block : int
        Number of the block.

    Returns
    -------
    BlockOutcome
        Of a full block if the mechanism wants a fixed shape, and else of the block's trials.
    """
    plan, mechanism = experiment.plan, experiment.mechanism
    trials = plan.block if mechanism.fixed_shape else plan.size(block)
    data = experiment.data_in if side == "in" else experiment.data_out
    rng = block_generator(experiment.seed, experiment.branch, side, block)
    return mechanism.run(data, trials, rng)


def release_batch(experiment: Experiment, side: Side, blocks: range) -> ReleasedBatch:
    """Run consecutive blocks and keep their releases."""
    parts = [run_block(experiment, side, block) for block in blocks]
    return ReleasedBatch(side=side, blocks=blocks, parts=parts)


def score_batch(experiment: Experiment, side: Side, blocks: range) -> ScoredBatch:
    """Run and score consecutive blocks."""
    parts = [_scored(experiment, side, block) for block in blocks]
    scores = [part[0] for part in parts]
    codes = None
    if any(part[1] is not None for part in parts):
        codes = np.concatenate([codes_of(c, s.size) for s, c, _ in parts])
    return ScoredBatch(
        side=side,
        blocks=blocks,
        scores=scores[0] if len(scores) == 1 else np.concatenate(scores),
        codes=codes,
        example=first_example(part[2] for part in parts),
    )


def count_batch(experiment: Experiment, side: Side, blocks: range) -> CountedBatch:
    """Run, score and count consecutive blocks, keeping nothing else."""
    parts = [
        count_scores(
            experiment.event, side, range(block, block + 1), *_scored(experiment, side, block)
        )
        for block in blocks
    ]
    return add_counts(parts, blocks)


def count_scores(
    event: Event | None,
    side: Side,
    blocks: range,
    scores: Scores,
    codes: Codes | None,
    example: Example | None = None,
) -> CountedBatch:
    """Count scored trials.

    Parameters
    ----------
    event : Event or None
        What to count; None counts outcomes only.
    side, blocks, scores, codes, example
        As in a `ScoredBatch`.

    Returns
    -------
    CountedBatch
        The counts.
    """
    outcomes = [scores.size] + [0] * (len(OUTCOMES) - 1)
    if codes is not None:
        outcomes = np.bincount(codes, minlength=len(OUTCOMES)).tolist()
    return CountedBatch(
        side=side,
        blocks=blocks,
        trials=scores.size,
        positives=0 if event is None else event.count(side, scores, codes),
        outcomes=tuple(outcomes),
        example=example,
    )


def add_counts(parts: Sequence[CountedBatch], blocks: range) -> CountedBatch:
    """Add the counts of several batches of one side."""
    return CountedBatch(
        side=parts[0].side,
        blocks=blocks,
        trials=sum(part.trials for part in parts),
        positives=sum(part.positives for part in parts),
        outcomes=tuple(map(sum, zip(*(part.outcomes for part in parts), strict=True))),
        example=first_example(part.example for part in parts),
    )


def codes_of(codes: Codes | None, trials: int) -> Codes:
    """Return outcome codes as an array, also where all trials were released."""
    return np.zeros(trials, dtype=np.uint8) if codes is None else codes


def first_example(examples: Iterable[Example | None]) -> Example | None:
    """Return the first that is not None."""
    return next((example for example in examples if example is not None), None)


def _scored(
    experiment: Experiment, side: Side, block: int
) -> tuple[Scores, Codes | None, Example | None]:
    """Run and score one block; what a fixed shape made too much is cut off."""
    outcome = run_block(experiment, side, block)
    size = experiment.plan.size(block)
    trials = experiment.plan.block if experiment.mechanism.fixed_shape else size
    if experiment.attack is None:
        scores: Scores = np.zeros(trials)
    else:
        scores = block_scores(experiment.attack, outcome, trials)
    codes = outcome.codes
    if size < trials:
        scores = scores[:size]
        codes = None if codes is None or not codes[:size].any() else codes[:size]
    if codes is None or outcome.example is None:
        return scores, codes, None
    return scores, codes, (block, outcome.example)
