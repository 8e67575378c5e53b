"""From delta(epsilon) to epsilon(delta), and to the smallest noise, without rounding down.

The answers are end points at which the bound was evaluated and found small enough, so they hold
whether or not the curve is exactly monotone in floating point.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from accountants.ranges import Floats, deltas

_EPSILON_MAX = 1e9
_ROOM = 1.5e-3  # in ln delta: how far below its target a certified answer may lie
_POLISHED = 1.1e-3  # in ln delta: how far below its target an estimate may lie
_SCALE_MAX = 1e15
_SCALE_MIN = 1e-15


def falling_root(
    function: Callable[[float], float],
    low: float,
    high: float,
    *,
    value_low: float,
    value_high: float,
    tolerance: Callable[[float], float],
) -> float:
    """Return a point in (low, high] at which ``function`` <= 0 was seen, close to the crossing.

    Parameters
    ----------
    function : callable
        Falls through zero between ``low`` and ``high``; may be infinite.
    low, high : float
        Bracket with ``value_low`` = function(low) > 0 >= ``value_high`` = function(high).
    value_low, value_high : float
        The values at the ends.
    tolerance : callable
        Width of the bracket, as a function of ``high``, at which to stop.

    Returns
    -------
    float
        Found by the Illinois form of regula falsi, with bisection where it stalls.
    """
    side = 0
    for step in range(200):
        width = high - low
        if width <= tolerance(high):
            break
        middle = low + width / 2
        if step % 4 != 3 and np.isfinite(value_low) and np.isfinite(value_high):
            guess = high - value_high * width / (value_high - value_low)
            edge = min(tolerance(high) / 2, width / 2)
            middle = min(max(guess, low + edge), high - edge)
        if not low < middle < high:
            break
        value = function(middle)
        if value > 0:
            low, value_low = middle, value
            value_high = value_high / 2 if side == 1 else value_high
            side = 1
        else:
            high, value_high = middle, value
            value_low = value_low / 2 if side == -1 else value_low
            side = -1
    return high


def falling_certified(
    estimate: Callable[[float], float],
    certified: Callable[[float], float],
    *,
    low: float,
    high: float,
    limit: float,
    tolerance: Callable[[float], float],
    least: float | None = None,
) -> float:
    """Return a point at which ``certified`` <= 0 was seen, close above its crossing.

    Parameters
    ----------
    estimate : callable
        Cheap, falling, close to ``certified``.
    certified : callable
        The function that counts, in the same unit: a logarithm.
    low, high : float
        Where to begin; ``high`` is moved up, the step doubling, until the estimate is at most 0.
    limit : float
        The largest point considered.
    tolerance : callable
        Width, as a function of the point, at which the search on ``estimate`` stops.
    least : float, optional
        The least point considered, ``low`` by default; below ``low`` where the estimate at
        ``low`` may have been too high.

    Returns
    -------
    float
        ``inf`` where no point up to ``limit`` is enough. Unless it is ``least``, the last value of
        ``certified`` lies between about -1e-3 and 0.
    """
    seen: dict[float, float] = {}

    def remembered(point: float) -> float:
        seen[point] = estimate(point)
        return seen[point]

    point = low
    least = low if least is None else least
    value_low = remembered(low)
    if value_low > 0:
        step = high - low
        while (value_high := remembered(high)) > 0:
            if high >= limit:
                return float("inf")
            low, value_low, high, step = high, value_high, min(high + step, limit), 2 * step
        point = falling_root(
            remembered,
            low,
            high,
            value_low=value_low,
            value_high=value_high,
            tolerance=tolerance,
        )
        point = _polished(remembered, seen, point)
    slope = _slope(seen, point, 10 * tolerance(point))
    return _tightened(
        certified, point, least=least, limit=limit, slope=slope, close=tolerance(point) / 10
    )


def _polished(estimate: Callable[[float], float], seen: dict[float, float], point: float) -> float:
    """Move down where the estimate leaves much room: it is cheaper than certifying again."""
    for _ in range(3):
        failed = [x for x, value in seen.items() if x < point and 0 < value < np.inf]
        if seen[point] >= -_POLISHED or not failed or not np.isfinite(seen[point]):
            break
        low = max(failed)
        share = (seen[low] + _POLISHED / 2) / (seen[low] - seen[point])
        middle = low + (point - low) * share
        if not low < middle < point:
            break
        point = middle if estimate(middle) <= 0 else point
    return point


def _tightened(
    certified: Callable[[float], float],
    point: float,
    *,
    least: float,
    limit: float,
    slope: float,
    close: float,
) -> float:
    """Move up until ``certified`` holds, then down while it holds with room to spare.

    It stops ``close`` to a point that failed. ``slope`` is about how fast it falls; a wrong one
    costs evaluations, nothing else.
    """
    failed: tuple[float, float] | None = None
    step = 0.0
    while (excess := certified(point)) > 0:
        if point >= limit:
            return float("inf")
        failed = (point, excess)
        step = max(min((excess + 2e-4) / slope, 20 * close), 2 * step)
        point = min(point + step, limit)
    step = 0.0
    for turn in range(24):
        if excess > -_ROOM or point <= least:
            break
        if failed is not None and point - failed[0] <= close:
            break
        if failed is None:  # the estimate was too high: look further down
            room = -excess if np.isfinite(excess) else 1.0
            step = max(room / slope, 2 * step)
            middle = max(point - step, least)
        else:
            share = (failed[1] + _ROOM / 3) / (failed[1] - excess) if np.isfinite(excess) else 0.5
            share = 0.5 if turn % 3 == 2 else min(max(share, 0.05), 0.95)  # the secant may stall
            middle = failed[0] + (point - failed[0]) * share
        value = certified(middle)
        if value > 0:
            failed = (middle, value)
        else:
            point, excess = middle, value
    return point


def _slope(seen: dict[float, float], point: float, apart: float) -> float:
    """How fast the values fall near ``point``: from the closest two points not too close."""
    finite = sorted((abs(x - point), x, y) for x, y in seen.items() if np.isfinite(y))
    for _, x, y in finite:
        for distance, other, value in finite:
            if distance > apart and other != x:
                slope = (y - value) / (other - x)
                if slope > 0:
                    return min(max(slope, 0.05), 1e6)
    return 0.5


def smallest_epsilon(
    log_delta: Callable[[float], ArrayLike],
    delta: ArrayLike,
    *,
    relative: float = 1e-11,
    start: float = 1.0,
) -> Floats:
    """Return the smallest epsilon at which ``log_delta`` is at most ln(delta), rounded up.

    Parameters
    ----------
    log_delta : callable
        epsilon -> upper bound of ln(delta(epsilon)), falling in epsilon, defined at ``inf``.
    delta : array_like
        Targets in [0, 1].
    relative : float
        Width at which the search stops, relative to max(1e-3, epsilon).
    start : float
        First upper end tried.

    Returns
    -------
    ndarray
        Same shape; ``inf`` where no finite epsilon up to 1e9 is enough.

    Raises
    ------
    ParameterError
        If a delta lies outside [0, 1].
    """
    targets = deltas(delta)
    answers = [
        _one_epsilon(lambda e: float(np.asarray(log_delta(e))), float(target), relative, start)
        for target in targets.ravel()
    ]
    return np.array(answers, dtype=float).reshape(targets.shape)


def _one_epsilon(
    log_delta: Callable[[float], float], delta: float, relative: float, start: float
) -> float:
    goal = np.log(delta) if delta > 0 else -np.inf

    def excess(epsilon: float) -> float:
        value = log_delta(epsilon)
        if value == goal:
            return 0.0
        return float(value - goal) if np.isfinite(goal) else float("inf")

    at_zero = excess(0.0)
    if at_zero <= 0:
        return 0.0
    if excess(np.inf) > 0:
        return float("inf")
    low, value_low, high = 0.0, at_zero, start
    while (value_high := excess(high)) > 0:
        low, value_low, high = high, value_high, 2 * high
        if high > _EPSILON_MAX:
            return float("inf")
    return falling_root(
        excess,
        low,
        high,
        value_low=value_low,
        value_high=value_high,
        tolerance=lambda e: relative * max(1e-3, e),
    )


def smallest_scale(
    log_delta: Callable[[float], float],
    log_target: float,
    *,
    relative: float = 1e-11,
    start: float = 1.0,
) -> float:
    """Return the smallest noise scale at which ``log_delta`` is at most ``log_target``.

    Parameters
    ----------
    log_delta : callable
        scale > 0 -> upper bound of ln(delta), falling in the scale.
    log_target : float
        Natural logarithm of the delta allowed.
    relative : float
        Relative width at which the search stops; the answer is its upper end.
    start : float
        First scale tried.

    Returns
    -------
    float
        ``inf`` if no scale up to 1e15 is enough; some scale that is enough if less than 1e-15 is.
    """

    def excess(log_scale: float) -> float:
        value = log_delta(float(np.exp(log_scale)))
        return 0.0 if value == log_target else value - log_target

    low = high = float(np.log(start))
    value_low = value_high = excess(high)
    step = 0.25
    while value_high > 0:
        low, value_low = high, value_high
        high += step
        step *= 2
        if high > np.log(_SCALE_MAX):
            return float("inf")
        value_high = excess(high)
    while value_low <= 0:
        high, value_high = low, value_low
        low -= step
        step *= 2
        if low < np.log(_SCALE_MIN):
            return float(np.exp(high))
        value_low = excess(low)
    root = falling_root(
        excess, low, high, value_low=value_low, value_high=value_high, tolerance=lambda _: relative
    )
    return float(np.exp(root))
