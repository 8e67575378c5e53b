"""An exact two-sided binomial test, and the sharing of one error among several statements."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import overload

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from accountants.errors import ParameterError
from dpaudit.estimators.arrays import (
    FloatArray,
    Number,
    as_rates,
    broadcast,
    checked_counts,
    unwrapped,
)

MAX_TRIALS = 10**10
"""Largest number of trials for which the p-value's upward rounding was certified."""

_EPS = float(np.finfo(np.float64).eps)
_TINY = 5e-324


@overload
def two_sided_binomial_p_value(
    successes: Number, trials: Number, *, probability: Number
) -> float: ...
@overload
def two_sided_binomial_p_value(
    successes: ArrayLike, trials: ArrayLike, *, probability: ArrayLike
) -> FloatArray: ...
def two_sided_binomial_p_value(
    successes: ArrayLike, trials: ArrayLike, *, probability: ArrayLike
) -> float | FloatArray:
    """Test whether a count comes from a binomial law of known probability.

    The p-value is twice the smaller tail, ``min(1, 2 min(Pr[X <= k], Pr[X >= k]))``. It is valid:
    under the hypothesis it is at most ``a`` with probability at most ``a``, for every ``a``.

    Parameters
    ----------
    successes : array_like of int
        Observed successes, 0 to `trials`.
    trials : array_like of int
        Number of independent trials, 0 to 1e10.
    probability : array_like of float
        Probability of success under the hypothesis, 0 to 1.

    Returns
    -------
    float or ndarray
        The p-value, never below the exact one; the arguments broadcast.

    Raises
    ------
    ParameterError
        If a count or the probability is out of range.
    """
    k, n = checked_counts(successes, trials, whole=True, most=MAX_TRIALS)
    k, n, rate = broadcast(successes=k, trials=n, probability=as_rates("probability", probability))
    # Pr[X <= k] = 1 - I_p(k+1, n-k) and Pr[X >= k] = I_p(k, n-k+1), I the incomplete beta ratio.
    at_most = np.where(k < n, special.betaincc(k + 1.0, np.maximum(n - k, 1.0), rate), 1.0)
    at_least = np.where(k > 0, special.betainc(np.maximum(k, 1.0), n - k + 1.0, rate), 1.0)
    smaller = np.minimum(at_most, at_least)
    raised = 2.0 * smaller * (1.0 + 1e-12 + 8.0 * _EPS * n) + _TINY
    impossible = ((rate == 0.0) & (k > 0)) | ((rate == 1.0) & (k < n))
    return unwrapped(np.asarray(np.where(impossible, 0.0, np.minimum(raised, 1.0))))


def family_split(total_error: float, names: Iterable[str]) -> dict[str, float]:
    """Share one error probability equally among named statements.

    By the union bound the probability that any of them is false is then at most `total_error`.

    Parameters
    ----------
    total_error : float
        Probability that at least one statement may be false, above 0 and below 1.
    names : iterable of str
        The statements, each once.

    Returns
    -------
    dict of str to float
        The error of each statement; they sum to no more than `total_error`.

    Raises
    ------
    ParameterError
        If the error is out of range, a name occurs twice, or there are no names.
    """
    listed = list(names)
    if not (math.isfinite(total_error) and 0.0 < total_error < 1.0):
        raise ParameterError(f"total_error = {total_error:g}: allowed are numbers between 0 and 1")
    if not listed:
        raise ParameterError("names is empty: an error is shared among one statement or more")
    repeated = sorted({name for name in listed if listed.count(name) > 1})
    if repeated:
        raise ParameterError(f"names repeats {', '.join(repeated)}: each is allowed once")
    share = total_error / len(listed) * (1.0 - _EPS * (len(listed) + 1))
    return dict.fromkeys(listed, share)
