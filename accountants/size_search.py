"""From delta to epsilon where delta is a supremum over bucket sizes, by cutting planes.

At a few bucket sizes the bound is cheap. The search for epsilon runs on those; then the supremum is
certified at the epsilon found, which either holds or names a size that was missing.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.inversion import falling_root
from accountants.joint_terms import DIRECTIONS, Direction
from accountants.ranges import Floats

AtSizes = Callable[[float, Direction, Sequence[int], float], float]
Certified = Callable[[float, float], tuple[float, dict[Direction, int]]]

_EPSILON_MAX = 1e9
_ROUNDS = 40
_ROOM = 2.5e-7  # in ln delta: a little more than a certified supremum may lie above the truth
_SLACK = 4e-7
_DIGITS = 24.0


def smallest_epsilon_over_sizes(
    at_sizes: AtSizes, certified: Certified, delta: ArrayLike, *, start: int, unit: float
) -> Floats:
    """Return the smallest epsilon at which the certified supremum is at most delta, rounded up.

    Parameters
    ----------
    at_sizes : callable
        (epsilon, direction, sizes, floor) -> the greatest ln delta at those bucket sizes, exact
        up to e^floor.
    certified : callable
        (epsilon, at_least) -> an upper bound of ln delta over all sizes and both directions
        (``at_least`` or a little more if it is lower), and where each direction attains it.
    delta : array_like
        Targets in [0, 1].
    start : int
        A bucket size to begin with.
    unit : float
        Scale of the smallest epsilons of interest.

    Returns
    -------
    ndarray
        Same shape; ``inf`` where no epsilon up to 1e9 is enough.

    Raises
    ------
    ParameterError
        If a delta lies outside [0, 1].
    """
    targets = ranges.deltas(delta)
    sizes: dict[Direction, list[int]] = {way: [start] for way in DIRECTIONS}
    answers = [_one(at_sizes, certified, float(d), sizes, unit) for d in targets.ravel()]
    return np.array(answers, dtype=float).reshape(targets.shape)


def _one(
    at_sizes: AtSizes,
    certified: Certified,
    delta: float,
    sizes: dict[Direction, list[int]],
    unit: float,
) -> float:
    goal = float(np.log(delta)) if delta > 0 else -np.inf
    if delta == 1:
        return 0.0

    def excess(epsilon: float, room: float = 0.0) -> float:
        value = max(at_sizes(epsilon, way, sizes[way], goal - _DIGITS) for way in DIRECTIONS)
        return value - goal + room if np.isfinite(goal) else (-1.0 if value == -np.inf else 1.0)

    def failure(epsilon: float) -> float:
        value, places = certified(epsilon, goal - _SLACK)
        for way, at in places.items():
            if at not in sizes[way]:
                sizes[way].append(at)
        return 0.0 if value == goal else value - goal

    if excess(np.inf) > 0 or failure(np.inf) > 0:
        return float("inf")
    if excess(0.0) <= 0 and failure(0.0) <= 0:
        return 0.0
    low, step, room = 0.0, unit, _ROOM
    for _ in range(_ROUNDS):
        found = _root(partial(excess, room=room), low, step, unit)
        if np.isinf(found) or (missed := failure(found)) <= 0:
            return found
        low, step = found, min(missed, 1.0) * max(found, unit)
        if excess(found, room) <= 0:  # every size that counts was there
            room += _ROOM
    while failure(found) > 0:  # never seen: the sizes settle after a few rounds
        found = 2 * max(found, unit)
        if found > _EPSILON_MAX:
            return float("inf")
    return found


def _root(excess: Callable[[float], float], low: float, step: float, unit: float) -> float:
    """Return a point at or above ``low`` where ``excess`` <= 0 was seen."""
    value_low = excess(low)
    if value_low <= 0:
        return low
    high = low + step
    while (value_high := excess(high)) > 0:
        low, value_low, high, step = high, value_high, high + 2 * step, 2 * step
        if high > _EPSILON_MAX:
            return float("inf")
    return falling_root(
        excess,
        low,
        high,
        value_low=value_low,
        value_high=value_high,
        tolerance=lambda epsilon: 1e-9 * max(1e-3 * unit, epsilon),
    )
