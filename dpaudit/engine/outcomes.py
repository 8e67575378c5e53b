"""What became of a trial: a release, or a failure, which is an outcome like any other.

A mechanism is a map from data to a distribution over outcomes, and "it crashed" is one of them: an
adversary sees it. Leaving failed trials out would compare the releases *given success*, which obey
no bound when success depends on the data. So every trial that was started is counted.

**Failures of one trial** (``crash``, ``timeout``, ``malformed``). Let the outcome space be the
releases and these three symbols, and let each symbol have a score fixed before the bounding trials
are looked at, here minus or plus infinity, chosen on selection trials. A set ``S = {score >= t}``
is then a set of outcomes fixed in advance, its indicator is independent and identically distributed
over the trials of a side, and ``P(S) <= e^epsilon Q(S) + delta`` bounds both rates as it does
without failures. A score of plus infinity with a threshold above every release makes S "the run
failed", so a failure rate that depends on the data is itself found.

**Failures of a whole block** (``block-crash``, ...). When one call that makes many releases fails,
nothing tells which of its trials would have failed: counting all of them as failures would make
indicators that are equal within a block, hence dependent, and no binomial bound holds for them.
Such trials are counted against the audit: on the positive side as outside S, on the negative side
as inside. *Proof of validity.* Let A and B be the numbers of true and false positives that the
trials had if every block had reported its trials one by one. A and B are binomial, and the counts
used satisfy ``A' <= A`` and ``B' >= B`` on every run. The bounds rise in A and fall in B, so they
are at most those of A and B, which hold at the stated confidence. ∎
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from dpaudit.errors import ParameterError, shown

FailureKind: TypeAlias = Literal["crash", "timeout", "malformed"]

KINDS: tuple[FailureKind, ...] = get_args(FailureKind)
OUTCOMES = ("released", *KINDS, *(f"block-{kind}" for kind in KINDS))
"""Names of the outcome codes 0, 1, ...: a release, a trial's failures, a block's failures."""
RELEASED = 0
FIRST_LOST = 1 + len(KINDS)
"""The first code of a trial that was lost with its block."""

Codes: TypeAlias = NDArray[np.uint8]


@dataclass(frozen=True)
class Failure:
    """Stands for the release of a trial that failed.

    Parameters
    ----------
    kind : {"crash", "timeout", "malformed"}
        What happened.
    message : str
        The first one of an audit is repeated in its result.

    Raises
    ------
    ParameterError
        If the kind is unknown.
    """

    kind: FailureKind
    message: str = ""

    def __post_init__(self) -> None:
        """Check the kind."""
        if self.kind not in KINDS:
            raise ParameterError(f"kind = {self.kind!r}: allowed are {', '.join(KINDS)}")

    @property
    def code(self) -> int:
        """The outcome code of one trial that failed so."""
        return 1 + KINDS.index(self.kind)

    @property
    def lost_code(self) -> int:
        """The outcome code of each trial of a block that failed so."""
        return FIRST_LOST + KINDS.index(self.kind)

    def __str__(self) -> str:
        """Return the kind and the message on one line."""
        return f"{self.kind}: {shown(self.message, limit=300)}" if self.message else self.kind


def crash(problem: BaseException) -> Failure:
    """Return the failure that an exception is.

    Parameters
    ----------
    problem : BaseException
        Any; an interrupt from the keyboard is raised again.

    Returns
    -------
    Failure
        Of kind "crash", or "timeout" for a ``TimeoutError``.

    Raises
    ------
    KeyboardInterrupt, GeneratorExit
        If that is what was given.
    """
    if isinstance(problem, KeyboardInterrupt | GeneratorExit):
        raise problem
    kind: FailureKind = "timeout" if isinstance(problem, TimeoutError) else "crash"
    return Failure(kind, f"{type(problem).__name__}: {problem}")


@dataclass(frozen=True, eq=False)
class BlockOutcome:
    """The outcomes of a block of trials.

    Attributes
    ----------
    releases : sequence, array or None
        The releases of the trials that did not fail, in order; None if all failed.
    codes : ndarray of uint8 or None
        One outcome code a trial; None if no trial failed.
    example : str or None
        The first failure.
    """

    releases: Any
    codes: Codes | None = None
    example: str | None = None

    @classmethod
    def lost(cls, failure: Failure, trials: int) -> BlockOutcome:
        """Return the outcome of a block that failed as a whole."""
        codes = np.full(trials, failure.lost_code, dtype=np.uint8)
        return cls(None, codes, str(failure))


def block_outcome(released: Any, trials: int) -> BlockOutcome:
    """Sort what a call returned into releases and failures.

    Parameters
    ----------
    released : sequence or array
        One release a trial: a list or tuple, in which a `Failure` stands for a trial that failed,
        or an array, tensor or other sized collection of releases.
    trials : int
        How many there should be.

    Returns
    -------
    BlockOutcome
        Lost as malformed if there are not as many.
    """
    if isinstance(released, str | bytes | Mapping | Set) or not hasattr(released, "__len__"):
        problem = f"{trials} releases were asked for, the mechanism gave a {_type(released)}"
        return BlockOutcome.lost(Failure("malformed", problem), trials)
    try:
        number = len(released)
    except TypeError:
        number = -1
    if number != trials:
        given = f"{number} of them" if number >= 0 else "a single value"
        problem = f"{trials} releases were asked for, the mechanism gave {given}"
        return BlockOutcome.lost(Failure("malformed", problem), trials)
    if not isinstance(released, list | tuple):
        return BlockOutcome(released)
    failures = [(i, item) for i, item in enumerate(released) if isinstance(item, Failure)]
    if not failures:
        return BlockOutcome(released)
    codes = np.zeros(trials, dtype=np.uint8)
    codes[[i for i, _ in failures]] = [failure.code for _, failure in failures]
    kept = [item for item in released if not isinstance(item, Failure)]
    return BlockOutcome(kept or None, codes, str(failures[0][1]))


def _type(value: object) -> str:
    """Name a value's type."""
    return type(value).__name__
