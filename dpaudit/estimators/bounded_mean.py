r"""Bounds on the mean of independent values, by betting against a candidate mean.

For nonnegative values of mean m and a fraction c in [0, 1] each factor
:math:`1 - c + c\, v_t / m` is nonnegative with mean 1, so by Markov's inequality their product
reaches 1/tail with probability at most the tail (Waudby-Smith and Ramdas 2023, with a constant
bet). The product falls with m: every m at which it is that large is too small, which bounds the
mean from below, *whatever the values' range*: only their ratios to each other count, so means far
below 1/trials are bounded, too. From above the same is done with ``most - v``, for values known to
be at most ``most``. The first values choose the fraction, the others bet.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from accountants.errors import ParameterError
from dpaudit.estimators.arrays import FloatArray, as_numbers, refuse_where

_FRACTIONS = np.unique(np.concatenate([2.0 ** -np.arange(1, 16), 1 - 2.0 ** -np.arange(1, 16)]))
_SELECTING = 0.1
_STEPS = 70
_DOWN = 1e-9


def log_mean_lower(log_values: ArrayLike, *, tail: float) -> float:
    """Return a lower bound on the logarithm of the mean.

    Parameters
    ----------
    log_values : array_like
        Natural logarithms of independent, identically distributed values >= 0, in exchangeable
        order; shape (n,); ``-inf`` for 0.
    tail : float
        Probability that the bound exceeds the truth, in (0, 1).

    Returns
    -------
    float
        Rounded down; ``-inf`` where nothing is shown.

    Raises
    ------
    ParameterError
        If the values are not a vector or hold NaN or infinity, or the tail is out of range.
    """
    logs = as_numbers("log_values", log_values)
    refuse_where("log_values", logs, ~(logs < np.inf), "logarithms of finite numbers")
    goal = _goal(tail)
    selecting, betting = _parts(logs)
    if not len(betting) or not np.isfinite(selecting).any():
        return -math.inf
    top = float(np.max(logs))
    scaled, first = np.exp(betting - top), np.exp(selecting - top)
    repeats = len(betting) / len(selecting)
    fraction = max(_FRACTIONS, key=lambda c: _lowest(first, float(c), goal / repeats))
    found = _lowest(scaled, float(fraction), goal)
    return -math.inf if found <= 0 else math.log(found) + top - _DOWN


def mean_upper(values: ArrayLike, *, most: float, tail: float) -> float:
    """Return an upper bound on the mean.

    Parameters
    ----------
    values : array_like
        Independent, identically distributed values from 0 to ``most``, in exchangeable order;
        shape (n,).
    most : float
        What no value can exceed, > 0.
    tail : float
        Probability that the bound lies below the truth, in (0, 1).

    Returns
    -------
    float
        Rounded up, at most ``most``.

    Raises
    ------
    ParameterError
        If a value or a parameter is out of range.
    """
    known = as_numbers("values", values)
    if not (math.isfinite(most) and most > 0):
        raise ParameterError(f"most = {most!r}: a finite number above 0 is needed")
    refuse_where("values", known, ~((known >= 0) & (known <= most)), f"0 to {most:g}")
    goal = _goal(tail)
    selecting, betting = (part / most for part in _parts(known))
    if not len(betting):
        return most
    repeats = len(betting) / len(selecting)
    fraction = min(_FRACTIONS, key=lambda c: _highest(selecting, float(c), goal / repeats))
    return min(most, most * _highest(betting, float(fraction), goal) * (1 + _DOWN))


def _goal(tail: float) -> float:
    if not 0 < tail < 1:
        raise ParameterError(f"tail = {tail!r}: a number above 0 and below 1 is needed")
    return -math.log(tail)


def _parts(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    if values.ndim != 1:
        raise ParameterError(f"values: a vector is needed, not an array of shape {values.shape}")
    cut = math.ceil(_SELECTING * len(values))
    return values[:cut], values[cut:]


def _lowest(values: FloatArray, fraction: float, goal: float) -> float:
    """Return the largest mean against which the bets win ``goal``; values at most 1."""

    def wins(mean: float) -> bool:
        return float(np.sum(np.log1p(fraction * (values / mean - 1)))) >= goal * (1 + 1e-12)

    low, high = 0.0, 1.0
    if not np.any(values > 0) or not wins(1e-300):
        return 0.0
    low = 1e-300
    for _ in range(_STEPS):
        middle = math.sqrt(low) * math.sqrt(high) if low < high / 4 else (low + high) / 2
        low, high = (middle, high) if wins(middle) else (low, middle)
    return low


def _highest(values: FloatArray, fraction: float, goal: float) -> float:
    """Return the smallest mean against which bets on lower values win ``goal``; values 0 to 1."""

    def wins(mean: float) -> bool:
        factors = np.log1p(fraction * (mean - values) / (1 - mean))
        return float(np.sum(factors)) >= goal * (1 + 1e-12)

    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if wins(middle) else (middle, high)
    return high
