"""What the released count alone says about one record: the part that all likelihoods share."""

import numpy as np
from numpy.typing import ArrayLike

from accountants.binomial import log_pmf
from accountants.ranges import Floats


def log_count_ratio(counts: ArrayLike, *, others: int, sampling_rate: float) -> Floats:
    """Return ln P_N(n-1) / P_N(n): sampled with the record against without it, at a count.

    Parameters
    ----------
    counts : array_like of int
        Released counts n.
    others : int
        N, the other records of the bucket.
    sampling_rate : float
        p, in (0, 1).

    Returns
    -------
    ndarray
        ln n (1-p) / ((N-n+1) p); ``inf`` at n = N + 1, which only the record can reach, and
        ``-inf`` at n = 0. Counts above N + 1 are impossible either way: 0.
    """
    n = np.asarray(counts, float)
    odds = np.log1p(-sampling_rate) - np.log(sampling_rate)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(n) - np.log(others - n + 1) + odds
    return np.where(n > others + 1, 0.0, value)


def log_below(threshold: int, *, others: int, sampling_rate: float) -> float:
    """Return ln Pr[Bin(N, p) < threshold]; ``-inf`` for thresholds <= 0, 0 above N."""
    if threshold <= 0:
        return float("-inf")
    if threshold > others:
        return 0.0
    mass, _ = log_pmf(np.arange(threshold), others, sampling_rate)
    top = float(np.max(mass))
    return min(float(np.log(np.sum(np.exp(mass - top)))) + top, 0.0)


def mixed(log_ratio: ArrayLike, *, sampling_rate: float) -> Floats:
    """Return ln((1-p) + p e^r): the record is there, but sampled only with probability p."""
    r = np.asarray(log_ratio, float)
    return np.asarray(np.logaddexp(np.log1p(-sampling_rate), np.log(sampling_rate) + r))
