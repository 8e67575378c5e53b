"""One-sided Clopper-Pearson bounds on a success rate.

For ``k`` successes in ``n`` independent trials of unknown rate ``p`` the bounds invert the
binomial tails: ``lower`` is the rate at which ``Pr[Bin(n, p) >= k] = tail`` and ``upper`` the rate
at which ``Pr[Bin(n, p) <= k] = tail``. Whatever the true rate is, each bound misses it with
probability at most ``tail``.

Both tails are regularised incomplete beta functions, so the bounds are quantiles of a beta law
(Clopper and Pearson, "The use of confidence or fiducial limits", Biometrika 1934). The quantile
routine of scipy is exact only to its own rounding error, which grows with ``n``; every result is
moved outward by several times the largest error found against ball arithmetic, so ``lower`` is
never above and ``upper`` never below the exact bound, for the ranges accepted here.
"""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dpaudit.estimators.arrays import (
    FloatArray,
    Number,
    as_numbers,
    broadcast,
    checked_counts,
    refuse_where,
    unwrapped,
)

MAX_TRIALS = 10**9
"""Largest number of trials for which the outward rounding was certified."""

MIN_TAIL = 1e-30
"""Smallest error probability for which the quantile routine was certified."""

_EPS = float(np.finfo(np.float64).eps)
_FLOOR = 4e-12
_GROWTH = 32.0


@overload
def lower(successes: Number, trials: Number, *, tail: Number) -> float: ...
@overload
def lower(successes: ArrayLike, trials: ArrayLike, *, tail: ArrayLike) -> FloatArray: ...
def lower(successes: ArrayLike, trials: ArrayLike, *, tail: ArrayLike) -> float | FloatArray:
    """Return the one-sided lower Clopper-Pearson bound on a success rate.

    Parameters
    ----------
    successes : array_like of int
        Number of successes, 0 to `trials`.
    trials : array_like of int
        Number of independent trials, 0 to 1e9. No trials give the bound 0.
    tail : array_like of float
        Probability that the bound exceeds the true rate, 1e-30 to 0.5.

    Returns
    -------
    float or ndarray
        The bound, never above the exact value; the arguments broadcast.

    Raises
    ------
    ParameterError
        If a count is NaN, negative, not whole or above the trials, or a tail is out of range.
    """
    return unwrapped(_lower(*_checked(successes, trials, tail, whole=True)))


@overload
def upper(successes: Number, trials: Number, *, tail: Number) -> float: ...
@overload
def upper(successes: ArrayLike, trials: ArrayLike, *, tail: ArrayLike) -> FloatArray: ...
def upper(successes: ArrayLike, trials: ArrayLike, *, tail: ArrayLike) -> float | FloatArray:
    """Return the one-sided upper Clopper-Pearson bound on a success rate.

    Parameters
    ----------
    successes : array_like of int
        Number of successes, 0 to `trials`.
    trials : array_like of int
        Number of independent trials, 0 to 1e9. No trials give the bound 1.
    tail : array_like of float
        Probability that the true rate exceeds the bound, 1e-30 to 0.5.

    Returns
    -------
    float or ndarray
        The bound, never below the exact value; the arguments broadcast.

    Raises
    ------
    ParameterError
        If a count is NaN, negative, not whole or above the trials, or a tail is out of range.
    """
    return unwrapped(_upper(*_checked(successes, trials, tail, whole=True)))


@overload
def upper_complement(successes: Number, trials: Number, *, tail: Number) -> float: ...
@overload
def upper_complement(successes: ArrayLike, trials: ArrayLike, *, tail: ArrayLike) -> FloatArray: ...
def upper_complement(
    successes: ArrayLike, trials: ArrayLike, *, tail: ArrayLike
) -> float | FloatArray:
    """Return one minus the upper bound, accurate where the upper bound is close to one.

    Parameters
    ----------
    successes, trials, tail : array_like
        As for `upper`.

    Returns
    -------
    float or ndarray
        ``1 - upper(successes, trials)``, never above the exact value.

    Raises
    ------
    ParameterError
        As for `upper`.
    """
    k, n, error = _checked(successes, trials, tail, whole=True)
    return unwrapped(_lower(n - k, n, error))


@overload
def lower_at_expected_count(
    expected_successes: Number, trials: Number, *, tail: Number
) -> float: ...
@overload
def lower_at_expected_count(
    expected_successes: ArrayLike, trials: ArrayLike, *, tail: ArrayLike
) -> FloatArray: ...
def lower_at_expected_count(
    expected_successes: ArrayLike, trials: ArrayLike, *, tail: ArrayLike
) -> float | FloatArray:
    """Return the lower bound's formula at a count that need not be whole.

    A prediction of what `lower` will give, for planning; it is not a confidence bound.

    Parameters
    ----------
    expected_successes : array_like of float
        Expected number of successes, 0 to `trials`.
    trials, tail : array_like
        As for `lower`.

    Returns
    -------
    float or ndarray
        The formula's value; equal to `lower` at whole counts.

    Raises
    ------
    ParameterError
        If a count is NaN, negative or above the trials, or a tail is out of range.
    """
    return unwrapped(_lower(*_checked(expected_successes, trials, tail, whole=False)))


@overload
def upper_at_expected_count(
    expected_successes: Number, trials: Number, *, tail: Number
) -> float: ...
@overload
def upper_at_expected_count(
    expected_successes: ArrayLike, trials: ArrayLike, *, tail: ArrayLike
) -> FloatArray: ...
def upper_at_expected_count(
    expected_successes: ArrayLike, trials: ArrayLike, *, tail: ArrayLike
) -> float | FloatArray:
    """Return the upper bound's formula at a count that need not be whole.

    A prediction of what `upper` will give, for planning; it is not a confidence bound.

    Parameters
    ----------
    expected_successes : array_like of float
        Expected number of successes, 0 to `trials`.
    trials, tail : array_like
        As for `upper`.

    Returns
    -------
    float or ndarray
        The formula's value; equal to `upper` at whole counts.

    Raises
    ------
    ParameterError
        If a count is NaN, negative or above the trials, or a tail is out of range.
    """
    return unwrapped(_upper(*_checked(expected_successes, trials, tail, whole=False)))


def _lower(k: FloatArray, n: FloatArray, tail: FloatArray) -> FloatArray:
    """Lower bound for checked arrays of one shape: 0 at k = 0, tail^(1/n) at k = n."""
    interior = (k > 0) & (k < n)
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = np.where(interior, k, 1.0), np.where(interior, n - k + 1.0, 1.0)
        rate = np.where(interior, special.betaincinv(a, b, tail), np.exp(np.log(tail) / n))
    rate = np.where(k > 0, rate - _slack(rate, k, n), 0.0)
    return np.asarray(np.maximum(rate, 0.0))


def _upper(k: FloatArray, n: FloatArray, tail: FloatArray) -> FloatArray:
    """Upper bound for checked arrays of one shape: 1 - tail^(1/n) at k = 0, 1 at k = n."""
    interior = (k > 0) & (k < n)
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = np.where(interior, k + 1.0, 1.0), np.where(interior, n - k, 1.0)
        rate = np.where(interior, special.betainccinv(a, b, tail), -np.expm1(np.log(tail) / n))
    rate = np.where(k < n, rate + _slack(rate, k, n), 1.0)
    return np.asarray(np.minimum(rate, 1.0))


def _slack(rate: FloatArray, k: FloatArray, n: FloatArray) -> FloatArray:
    """Outward shift, at least eight times the quantile routine's largest measured error.

    That error is about ``n * eps`` in the tail probability, hence ``n * eps`` standard deviations
    of the rate, plus the spacing of the floating-point numbers around the result.
    """
    rarer = np.minimum(k, n - k) + 1.0
    relative = _FLOOR + _GROWTH * _EPS * n / np.sqrt(rarer)
    return np.asarray(relative * rate * (1.0 - rate) + 8.0 * _EPS * rate)


def _checked(
    successes: ArrayLike, trials: ArrayLike, tail: ArrayLike, *, whole: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Validate the arguments and broadcast them to one shape."""
    k, n = checked_counts(successes, trials, whole=whole, most=MAX_TRIALS)
    error = as_numbers("tail", tail)
    refuse_where("tail", error, ~((error >= MIN_TAIL) & (error <= 0.5)), "1e-30 to 0.5")
    k, n, error = broadcast(successes=k, trials=n, tail=error)
    return k, n, error
