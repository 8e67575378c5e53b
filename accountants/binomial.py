r"""Logarithm of the binomial probability mass, accurate for any number of trials.

Loader's saddle-point form: with :math:`\delta(n) = \ln n! - \ln(\sqrt{2 \pi n} (n/e)^n)` and
the deviance :math:`D(x, y) = x \ln(x/y) - x + y`,

.. math::
   \ln P(j) = \delta(m) - \delta(j) - \delta(m-j) - D(j, mp) - D(m-j, mq)
              + \tfrac12 \ln \frac{m}{2 \pi j (m-j)},

where nothing large cancels. The rounding error is bounded beside the value, so that callers can
round the way their bound needs.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, gammaln

from accountants.ranges import Floats

CDF_ERROR = 1e-10
"""Relative error allowed to scipy's incomplete beta ratio; 3.5e-11 was seen (a test)."""

_UNIT = 2.0**-53
_LOG_2PI = float(np.log(2 * np.pi))
_SMALL = np.arange(16.0)
_STIRLING_SMALL = np.zeros(16)
_STIRLING_SMALL[1:] = (
    gammaln(_SMALL[1:] + 1) - (_SMALL[1:] + 0.5) * np.log(_SMALL[1:]) + _SMALL[1:] - 0.5 * _LOG_2PI
)


def log_pmf(successes: ArrayLike, trials: ArrayLike, probability: float) -> tuple[Floats, Floats]:
    """Return ln Pr[Bin(trials, probability) = successes] and a bound of its absolute error.

    Parameters
    ----------
    successes, trials : array_like
        Whole numbers, ``trials`` >= 0; where ``successes`` lies outside 0..trials the value
        is ``-inf``.
    probability : float
        Strictly between 0 and 1.

    Returns
    -------
    value, error : ndarray
        Of the broadcast shape; the exact logarithm lies within ``error`` of ``value``.
    """
    j, m = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    inside = (j >= 0) & (j <= m)
    k = np.clip(j, 0.0, m)
    parts = np.stack([k, m - k])  # at the two outcomes, with their means
    means = np.stack([m * probability, m * (1.0 - probability)])
    with np.errstate(all="ignore"):
        hit, miss = _deviance(parts, means)
        whole, first, second = _stirling(np.stack([m, *parts]))
        shape = 0.5 * (np.log(m / (k * parts[1])) - _LOG_2PI)
        value = whole - first - second - hit - miss + shape
        ends = (k == 0) | (parts[1] == 0)
        if ends.any():
            value = np.where(parts[1] == 0, m * np.log(probability), value)
            value = np.where(k == 0, m * np.log1p(-probability), value)
        distance = np.abs(k - means[0])
        error = 24 * _UNIT * (2 + distance + hit + miss + np.abs(value)) + 2e-14
    if not inside.all():
        value = np.where(inside, value, -np.inf)
        error = np.where(np.isfinite(value), error, 0.0)
    return value, error


def log_upper_tail(successes: ArrayLike, trials: ArrayLike, probability: float) -> Floats:
    """Return an upper bound of ln Pr[Bin(trials, probability) >= successes].

    By the ratio of consecutive masses, a geometric series; 0 (no bound) where the ratio at
    ``successes`` is not below 1, and ``-inf`` above ``trials``. Within a factor
    1/(1 - ratio) of the truth: meant for remainders.
    """
    j, m = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    value, error = log_pmf(j, m, probability)
    with np.errstate(all="ignore"):
        ratio = np.maximum(m - j, 0.0) * probability / ((j + 1) * (1.0 - probability))
        ratio = ratio * (1 + 8 * _UNIT)
        series = np.where(ratio < 1, value + error - np.log1p(-np.minimum(ratio, 0.999999)), 0.0)
    return np.where(j > m, -np.inf, np.where(ratio < 0.999999, np.minimum(series, 0.0), 0.0))


def cdf(successes: ArrayLike, trials: ArrayLike, probability: float) -> Floats:
    """Return Pr[Bin(trials, probability) <= successes], within a relative :data:`CDF_ERROR`.

    By the incomplete beta ratio :math:`1 - I_p(j + 1, m - j)`, from p itself: 1 - p is rounded,
    which m trials make a relative error of m u. 0 where ``successes`` < 0.
    """
    j, m = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    top = np.clip(j, 0, m)
    part = betaincc(top + 1, np.maximum(m - top, 1), probability)
    value = np.where(j < 0, 0.0, np.where(top >= m, 1.0, part))
    return np.where(np.isnan(value), 0.0, value)


def log_reached(steps: ArrayLike, trials: ArrayLike, probability: float) -> Floats:
    """Return ln Pr[Bin(trials, probability) >= steps], rounded up; ``steps`` >= 1.

    ``trials`` beyond 2^51 stand for any number.
    """
    k, m = np.broadcast_arrays(np.asarray(steps, float), np.asarray(trials, float))
    tail = betainc(np.minimum(k, m), np.maximum(m - k + 1, 1), probability) * (1 + CDF_ERROR)
    sure = (m > 2**51) | (k <= m * probability)
    with np.errstate(divide="ignore"):
        reached = np.log(np.where(sure, 1.0, np.minimum(tail, 1.0)))
    return np.where(k > m, -np.inf, reached)


def _stirling(n: Floats) -> Floats:
    """Error of Stirling's formula for ln n!; absolute error below 1e-14."""
    big = np.maximum(n, 16.0)
    square = big * big
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square) / big
    little = n < 16
    if not little.any():
        return np.asarray(series)
    small = _STIRLING_SMALL[np.where(little, n, 0).astype(np.int64)]
    return np.where(little, small, series)


def _deviance(x: Floats, mean: Floats) -> Floats:
    """Return x ln(x/mean) - x + mean >= 0 without cancellation near x = mean; mean at x = 0."""
    relative = (x - mean) / mean
    value = mean * ((1 + relative) * np.log1p(relative) - relative)
    distant = ~(np.abs(relative) < 0.5)
    if distant.any():
        far = np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0) / mean), 0.0) - x + mean
        value = np.where(distant, far, value)
    return np.maximum(value, 0.0)
