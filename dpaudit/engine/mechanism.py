"""What can be audited: a function that makes many releases at a time, or one at a time.

A mechanism is a map from data to random releases. The engine calls it for blocks of trials, each
with a generator of its own, so that no two blocks share randomness and a block is the same whoever
runs it and when. A mechanism must therefore draw all its randomness from the generator it is given
(else it is declared not seedable), keep no state from call to call, and leave its data unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np

from accountants.ranges import positive_integer
from dpaudit.engine.outcomes import BlockOutcome, block_outcome, crash
from dpaudit.errors import ParameterError, shown

BlockFunction: TypeAlias = Callable[[Any, int, np.random.Generator], Any]
"""(data, trials, rng) -> as many releases."""


@runtime_checkable
class Mechanism(Protocol):
    """What the engine needs of a mechanism.

    Attributes
    ----------
    seedable : bool
        Whether the same generator gives the same releases.
    fixed_shape : bool
        Whether every call should ask for a full block, what is too much being cut off: then arrays
        always have one shape, on which the last bits of a model's results may depend.
    preferred_block : int
        Trials in a block unless the audit says otherwise.
    preferred_batch : int
        About how many trials a batch should have: what a killed audit may lose.
    """

    @property
    def seedable(self) -> bool: ...  # noqa: D102
    @property
    def fixed_shape(self) -> bool: ...  # noqa: D102
    @property
    def preferred_block(self) -> int: ...  # noqa: D102
    @property
    def preferred_batch(self) -> int: ...  # noqa: D102

    def run(self, data: Any, trials: int, rng: np.random.Generator) -> BlockOutcome:
        """Make releases of the data, never raising for what the mechanism itself does."""
        ...


@dataclass(frozen=True)
class BlockMechanism:
    """A function that makes many independent releases of the same data in one call.

    Parameters
    ----------
    function : callable
        ``function(data, trials, rng)`` returns ``trials`` releases: a list (in which a
        `~dpaudit.engine.outcomes.Failure` may stand for a trial that failed), or an array or other
        sized collection whose first axis is the trials. A call that raises loses its block.
    seedable : bool
        Whether all randomness comes from ``rng``.
    block : int
        Trials in a call, unless the audit says otherwise; >= 1.
    version : str, optional
        A name for this state of the function, for what its source does not show.

    Raises
    ------
    ParameterError
        If the function cannot be called or the block is not a whole number >= 1.
    """

    function: BlockFunction
    _: KW_ONLY
    seedable: bool = True
    block: int = 1 << 16
    version: str | None = None
    fixed_shape: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the function and the block."""
        _refuse_uncallable(self.function)
        positive_integer("block", self.block)

    @property
    def preferred_block(self) -> int:
        """Trials in a call."""
        return self.block

    @property
    def preferred_batch(self) -> int:
        """A few blocks."""
        return max(1 << 18, self.block)

    def run(self, data: Any, trials: int, rng: np.random.Generator) -> BlockOutcome:
        """Make one block of releases.

        Parameters
        ----------
        data : object
            The data.
        trials : int
            How many releases.
        rng : numpy.random.Generator
            Their randomness.

        Returns
        -------
        BlockOutcome
            Lost if the function raises or returns another number of releases.
        """
        try:
            released = self.function(data, trials, rng)
        except BaseException as problem:
            return BlockOutcome.lost(crash(problem), trials)
        return block_outcome(released, trials)


@dataclass(frozen=True)
class PerTrial:
    """A function that makes one release a call.

    Parameters
    ----------
    function : callable
        ``function(data, rng)``, or ``function(data)`` if it is not seedable; it returns a release,
        or a `~dpaudit.engine.outcomes.Failure`. A call that raises is a failed trial: an outcome.
    seedable : bool
        Whether all randomness comes from ``rng``. If not, a resumed audit keeps the batches that
        were complete and draws the others afresh.
    version : str, optional
        A name for this state of the function, for what its source does not show.

    Raises
    ------
    ParameterError
        If the function cannot be called.
    """

    function: Callable[..., Any]
    _: KW_ONLY
    seedable: bool = True
    version: str | None = None
    fixed_shape: ClassVar[bool] = False
    preferred_block: ClassVar[int] = 256
    preferred_batch: ClassVar[int] = 1024

    def __post_init__(self) -> None:
        """Check the function."""
        _refuse_uncallable(self.function)

    def run(self, data: Any, trials: int, rng: np.random.Generator) -> BlockOutcome:
        """Make one block of releases, one call each.

        Parameters
        ----------
        data : object
            The data.
        trials : int
            How many releases.
        rng : numpy.random.Generator
            Their randomness, drawn from in the order of the trials.

        Returns
        -------
        BlockOutcome
            With a failure for each call that raised.
        """
        arguments = (data, rng) if self.seedable else (data,)
        released: list[Any] = []
        for _ in range(trials):
            try:
                released.append(self.function(*arguments))
            except BaseException as problem:
                released.append(crash(problem))
        return block_outcome(released, trials)


def as_mechanism(mechanism: Any) -> Mechanism:
    """Return the mechanism, refusing what the engine cannot call.

    Parameters
    ----------
    mechanism : object
        A `BlockMechanism`, a `PerTrial`, an `~dpaudit.engine.external_command.ExternalCommand`, or
        anything with their attributes.

    Returns
    -------
    Mechanism
        The same.

    Raises
    ------
    ParameterError
        If it is none; a bare function does not say whether it makes one release a call or many.
    """
    if isinstance(mechanism, Mechanism) and not isinstance(mechanism, type):
        return mechanism
    raise ParameterError(
        f"mechanism = {shown(mechanism)}: wrap it in BlockMechanism(f) for f(data, trials, rng), "
        "in PerTrial(f) for f(data, rng), or in PerTrial(f, seedable=False) for f(data)"
    )


def _refuse_uncallable(function: Any) -> None:
    """Refuse what cannot be called."""
    if not callable(function):
        raise ParameterError(f"function = {shown(function)}: a callable is needed")
