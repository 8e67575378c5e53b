"""Which trials learn, which choose, which bound, and what randomness each block has.

The trials of a side come in blocks of fixed size, numbered from 0: first those on which the attack
is fitted, then those on which direction, threshold and the scores of failures are chosen, then
those that are only counted. The plan depends on the number of trials and of trials in a block,
never on the number of workers or on how blocks are batched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from accountants.ranges import positive_integer, whole
from dpaudit.errors import ParameterError
from dpaudit.estimators.clopper_pearson import MAX_TRIALS
from dpaudit.estimators.threshold_strategies import Split

Side: TypeAlias = Literal["out", "in"]
Phase: TypeAlias = Literal["training", "selection", "bounding"]

PHASES: tuple[Phase, ...] = get_args(Phase)
SIDES: tuple[Side, ...] = ("out", "in")
"""Without the canary and with it; the place of a side is its number in the spawn key."""

MOST_TRAINING = 1 << 16
"""Trials a side on which an attack is fitted by default, at most: their releases are in memory."""
MOST_SELECTION = 1 << 20
"""Trials a side that choose the threshold by default, at most: their scores are in memory."""

_FEWEST_BLOCKS = 20
_TRAINING_SHARE = 0.2


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The blocks of one side; both sides have the same.

    Attributes
    ----------
    trials : int
        Trials a side, all phases together.
    block : int
        Trials in a block; the last block may have fewer.
    training, selection : int
        Blocks that fit the attack, and blocks after them that choose the event.
    """

    trials: int
    block: int
    training: int
    selection: int

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.trials // self.block)

    def size(self, block: int) -> int:
        """Return the number of trials of a block."""
        return min(self.block, self.trials - block * self.block)

    def phase(self, name: Phase) -> range:
        """Return the blocks of a phase."""
        match name:
            case "training":
                return range(self.training)
            case "selection":
                return range(self.training, self.training + self.selection)
            case "bounding":
                return range(self.training + self.selection, self.blocks)

    def phase_trials(self, name: Phase) -> int:
        """Return the number of trials of a phase."""
        return self.trials_of(self.phase(name))

    def trials_of(self, blocks: range) -> int:
        """Return the number of trials of consecutive blocks."""
        return max(0, min(self.trials, blocks.stop * self.block) - blocks.start * self.block)


def make_plan(
    trials: int,
    *,
    preferred_block: int,
    fits: bool,
    block: int | None = None,
    training: int | None = None,
    selection: int | None = None,
) -> Plan:
    """Divide the trials of a side among the phases.

    Parameters
    ----------
    trials : int
        Trials a side, 1 to 1e9.
    preferred_block : int
        The mechanism's block, taken if it leaves at least 20 blocks.
    fits : bool
        Whether the attack is fitted.
    block : int, optional
        Trials in a block instead.
    training, selection : int, optional
        Trials of these phases, rounded up to whole blocks. By default a fifth is for training, at
        most 65536 trials; of the rest a fifth (a tenth from 1e6 on) for selection, at most 2^20.

    Returns
    -------
    Plan
        With at least one block in each phase (training only if `fits`).

    Raises
    ------
    ParameterError
        If a number is out of range or too few blocks are left for a phase.
    """
    positive_integer("trials", trials)
    if trials > MAX_TRIALS:
        raise ParameterError(f"trials = {trials}: at most {MAX_TRIALS} a side are supported")
    if block is None:
        block = max(1, min(preferred_block, trials // _FEWEST_BLOCKS))
    positive_integer("block", block)
    blocks = -(-trials // block)
    if training is not None and training != 0 and not fits:
        raise ParameterError(
            f"training = {training}: this attack has no fit method, so 0 is needed"
        )
    if training is None:
        training = min(round(_TRAINING_SHARE * trials), MOST_TRAINING)
    learning = max(1, _up(whole("training", training, low=0), block)) if fits else 0
    rest = max(0, trials - learning * block)
    if selection is None:
        selection = min(Split().selecting(rest, rest), MOST_SELECTION)
    choosing = max(1, _up(positive_integer("selection", max(1, selection)), block))
    if learning + choosing >= blocks:
        raise ParameterError(
            f"trials = {trials}: {blocks} blocks of {block} leave none to bound with after "
            f"{learning} for training and {choosing} for selection; take more trials or a smaller "
            "block"
        )
    return Plan(trials=trials, block=block, training=learning, selection=choosing)


def block_generator(
    seed: int, branch: Sequence[int], side: Side, block: int
) -> np.random.Generator:
    """Return the generator of a block.

    Parameters
    ----------
    seed : int
        The audit's seed, >= 0.
    branch : sequence of int
        Empty for an audit's own trials; otherwise what sets other trials of the same seed apart.
    side : {"out", "in"}
        Side 0 or 1.
    block : int
        Number of the block.

    Returns
    -------
    numpy.random.Generator
        PCG64 of ``SeedSequence(seed, spawn_key=(*branch, side, block))``: a function of these
        numbers only.
    """
    key = (*branch, SIDES.index(side), block)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def batches(blocks: Sequence[int], size: int) -> Iterator[range]:
    """Cut block numbers into runs of consecutive ones, each of at most `size`.

    Parameters
    ----------
    blocks : sequence of int
        Rising.
    size : int
        >= 1.

    Yields
    ------
    range
        The runs, in order.
    """
    start = 0
    for i in range(1, len(blocks) + 1):
        if i == len(blocks) or blocks[i] != blocks[i - 1] + 1 or i - start == size:
            yield range(blocks[start], blocks[i - 1] + 1)
            start = i


def blocks_in_batch(
    plan: Plan, *, batch: int | None, preferred: int, workers: int, phase: Phase
) -> int:
    """Return how many blocks a batch has; no result depends on it.

    Parameters
    ----------
    plan : Plan
        The plan.
    batch : int or None
        Asked for, in blocks; None leaves every worker a few batches of each phase.
    preferred : int
        The mechanism's preferred number of trials in a batch.
    workers : int
        Number of workers.
    phase : {"training", "selection", "bounding"}
        The phase.

    Returns
    -------
    int
        >= 1.

    Raises
    ------
    ParameterError
        If `batch` is not a whole number >= 1.
    """
    if batch is not None:
        return positive_integer("batch", batch)
    most = max(1, preferred // plan.block)
    return max(1, min(most, 2 * len(plan.phase(phase)) // (4 * workers)))


def _up(trials: int, block: int) -> int:
    """Return how many blocks hold so many trials."""
    return -(-trials // block)
