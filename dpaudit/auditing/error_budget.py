"""How the error that an audit may make is shared among its statements.

``confidence`` is one-sided and for the whole audit: with at least this probability *every* bound
it reports holds. Four fifths of the error go to the four rates that can change the verdict (the
worst-case canary, both directions, true and false positives, at the claimed delta); the rest to
the tables, shared among canaries, deltas, directions and rates. Thresholds cost nothing: they are
chosen on other trials. Tests of the implementation against its analysis have an error of their own.
"""

from dataclasses import dataclass
from math import floor, log10

from accountants.joint_release import DIRECTIONS, Direction
from dpaudit.estimators import family_split

VIOLATION_ERROR = 1e-6
_VERDICT_SHARE = 0.8
_CANARIES = ("worst-case", "in-distribution")


@dataclass(frozen=True, kw_only=True)
class ErrorBudget:
    """The error probability of each rate bound.

    Attributes
    ----------
    verdict : float
        Of each of the four rates behind the verdict.
    table : float
        Of each rate in the tables of either canary.
    deltas : tuple of float
        The deltas of those tables, falling, the claimed one last.
    split : dict of str to float
        The shares as reported; they sum to at most 1 - confidence.
    """

    verdict: float
    table: float
    deltas: tuple[float, ...]
    split: dict[str, float]


def error_budget(*, confidence: float, delta: float) -> ErrorBudget:
    """Share the error 1 - ``confidence`` of an audit whose claim is at ``delta``."""
    total = (1.0 - confidence) * (1 - 1e-12)
    rates = [
        f"verdict: worst-case canary, {direction}, {rate}"
        for direction in DIRECTIONS
        for rate in ("true positives", "false positives")
    ]
    verdict = family_split(total * _VERDICT_SHARE, rates)
    deltas = delta_grid(delta)
    cells = [
        f"{c} {d} {way} {r}" for c in _CANARIES for d in deltas for way in DIRECTIONS for r in "tf"
    ]
    table = family_split(total * (1 - _VERDICT_SHARE), cells)
    each = next(iter(table.values()))
    split = dict(verdict)
    for canary in _CANARIES:
        name = f"tables: {canary} canary, {len(deltas)} deltas, both directions, both rates"
        split[name] = each * len(cells) / len(_CANARIES)
    return ErrorBudget(verdict=next(iter(verdict.values())), table=each, deltas=deltas, split=split)


def delta_grid(delta: float) -> tuple[float, ...]:
    """Return 1e-1, 1e-2, ... above ``delta``, at most nine of them, and ``delta``."""
    last = min(9, max(0, -floor(log10(delta) + 1e-9) - 1))
    powers = [10.0**-k for k in range(1, last + 1) if 10.0**-k > delta * (1 + 1e-9)]
    return (*powers, delta)


def violation_shares(*, collision_tests: int) -> float:
    """Return the error of each rate bound or frequency test against the analysis.

    Twelve rate bounds (the worst-case canary given the collision and in total, and the
    in-distribution canary; both directions, both rates) and ``collision_tests`` frequencies.
    """
    names = [
        f"{what} {way} {rate}"
        for what in ("given", "total", "bucket")
        for way in DIRECTIONS
        for rate in "tf"
    ]
    names += [f"collision {i}" for i in range(collision_tests)]
    return next(iter(family_split(VIOLATION_ERROR, names).values()))


__all__ = [
    "VIOLATION_ERROR",
    "Direction",
    "ErrorBudget",
    "delta_grid",
    "error_budget",
    "violation_shares",
]
