"""The sum of right guesses among different numbers of candidates.

If the guesses of a trial with k candidates are right with probability at most
``P(k) = (e^epsilon + (k - 1) delta) / (e^epsilon + k - 1)`` given all earlier trials, their total
is stochastically at most a sum of independent binomials of these rates. Its law is a convolution of
binomial laws, each cut where less than 1e-40 of its probability lies, which is added to the tail.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpaudit.estimators.arrays import FloatArray

_EPS = float(np.finfo(np.float64).eps)
_BITS = 45
_LOST = 1e-40


def strata_epsilon_lower(
    total: float, tried: FloatArray, k: FloatArray, slack: float, tail: float
) -> float:
    """Return the largest epsilon that the total of right guesses refutes, rounded down.

    Parameters
    ----------
    total : float
        Right guesses in all.
    tried, k : ndarray
        Trials of each number of candidates, and the numbers; shape (strata,).
    slack : float
        The delta.
    tail : float
        Error probability.

    Returns
    -------
    float
        0 if none is refuted.
    """
    low, high = 0.0, math.log(float(k.max())) + math.log(float(tried.sum())) + 2.0
    if total == 0 or strata_tail(total, tried, k, slack, low) > tail:
        return 0.0
    for _ in range(_BITS):
        middle = 0.5 * (low + high)
        if strata_tail(total, tried, k, slack, middle) <= tail:
            low = middle
        else:
            high = middle
    return low


def strata_tail(
    total: float, tried: FloatArray, k: FloatArray, slack: float, epsilon: float
) -> float:
    """Return the probability of so many right guesses at the largest rates allowed, rounded up.

    Parameters
    ----------
    total, tried, k, slack
        As for `strata_epsilon_lower`.
    epsilon : float
        The claim.

    Returns
    -------
    float
        ``Pr[sum_j Bin(tried_j, P(k_j)) >= total]``.
    """
    # Failures instead of successes: their rate (k - 1)(1 - delta) / (e^epsilon + k - 1) is never
    # close to 0 or 1 by cancellation.
    failure = (k - 1.0) * (1.0 - slack) / (math.exp(min(epsilon, 700.0)) + (k - 1.0))
    failure = failure * (1.0 - 8.0 * _EPS)
    law, first, lost, slackness = np.ones(1), 0, 0.0, 0.0
    for count, rate in zip(tried, failure, strict=True):
        start, masses = _binomial_window(count, rate)
        law, first = np.convolve(law, masses), first + start
        lost += _LOST
        slackness += 64.0 * _EPS * (special.gammaln(count + 1.0) + count)
    allowed = int(tried.sum() - total) - first  # index of the most failures allowed
    mass = float(np.sum(law[: allowed + 1])) if allowed >= 0 else 0.0
    return min(mass * (1.0 + 1e-12 + slackness) + lost, 1.0)


def _binomial_window(count: float, rate: float) -> tuple[int, FloatArray]:
    """Return the binomial masses where all but `_LOST` of the probability lies (Bernstein)."""
    need = math.log(2.0 / _LOST)
    width = need / 3.0 + math.sqrt(need**2 / 9.0 + 2.0 * need * count * rate * (1.0 - rate)) + 1.0
    start = max(0, math.floor(count * rate - width))
    stop = min(int(count), math.ceil(count * rate + width))
    x: NDArray[np.float64] = np.arange(start, stop + 1.0)
    logs = (
        special.gammaln(count + 1.0)
        - special.gammaln(x + 1.0)
        - special.gammaln(count - x + 1.0)
        + special.xlogy(x, rate)
        + special.xlog1py(count - x, -rate)
    )
    return start, np.exp(logs)
