"""How the error that an audit may make is shared among its statements.

``confidence`` is one-sided and for the whole audit: with at least this probability everything that
can change the verdict holds. That is one pair of rates, the true and the false positives of the
worst-case canary at the claimed delta; they share the error equally. The direction (which side is
the positive one) and the threshold are chosen on other trials, which costs nothing. The other
deltas, the curves and the in-distribution canary cannot change the verdict: each row and point
holds on its own at the same confidence. Tests of the implementation against its analysis have an
error of their own, 1e-6 in all.
"""

from dataclasses import dataclass
from math import floor, log10

from accountants.joint_terms import DIRECTIONS
from dpaudit.estimators import family_split

VIOLATION_ERROR = 1e-6
_RATES = ("true positives", "false positives")
_TRUE = "verdict: worst-case canary, claimed delta, true positives"
_FALSE = "verdict: worst-case canary, claimed delta, false positives"
_FREE = (
    "choice of direction and threshold (made on other trials)",
    "in-distribution canary, other deltas (no part in the verdict; each row has its own error)",
)


@dataclass(frozen=True, kw_only=True)
class ErrorBudget:
    """The error probability of each rate bound.

    Attributes
    ----------
    tail : float
        Of each of the two rates behind the verdict, and behind any one row of a table.
    deltas : tuple of float
        The deltas of the tables, falling, the claimed one last.
    split : dict of str to float
        The shares as reported; they sum to at most 1 - confidence.
    """

    tail: float
    deltas: tuple[float, ...]
    split: dict[str, float]


def error_budget(*, confidence: float, delta: float) -> ErrorBudget:
    """Share the error 1 - ``confidence`` of an audit whose claim is at ``delta``."""
    split = family_split((1.0 - confidence) * (1 - 1e-12), [_TRUE, _FALSE])
    return ErrorBudget(
        tail=split[_TRUE], deltas=delta_grid(delta), split={**split, **dict.fromkeys(_FREE, 0.0)}
    )


def delta_grid(delta: float) -> tuple[float, ...]:
    """Return 1e-1, 1e-2, ... above ``delta``, at most nine of them, and ``delta``."""
    last = min(9, max(0, -floor(log10(delta) + 1e-9) - 1))
    powers = [10.0**-k for k in range(1, last + 1) if 10.0**-k > delta * (1 + 1e-9)]
    return (*powers, delta)


def violation_share(*, canaries: int, collision_tests: int) -> float:
    """Return the error of each rate bound or frequency test against the analysis.

    Four rate bounds a canary, both rates in both directions (the worst case counts twice: given the
    collision and in total), and ``collision_tests`` frequencies.
    """
    names = [
        f"{i}, {way}, {rate}" for i in range(canaries) for way in DIRECTIONS for rate in _RATES
    ]
    names += [f"collision {i}" for i in range(collision_tests)]
    return next(iter(family_split(VIOLATION_ERROR, names).values()))
