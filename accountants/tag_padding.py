r"""What the synthesis server sees of a tag below the threshold, padded with dummy tags.

Below the threshold that server sees how many tags have each multiplicity, with a truncated Laplace
number of dummies in each multiplicity's cell. A sampled record moves its tag from multiplicity
n to n + 1; with :math:`C_2` the curve of that move (:mod:`accountants.dummy_tags`) and
:math:`P_N` the Bin(N, p) mass, the events in which the tag stays below the threshold add

.. math::
   p \Pr[Bin(N,p) \le \tau - 2] \, C_2(\ln a')

to Theorem J's sum when the record is added. When it is removed, "nothing" is replaced by

.. math::
   c \{ \Pr[Bin(N,p) \le \tau - 3] \, C_2(\ln b) + P_N(\tau-2) \, C_2(\ln [b - R]_+)
        + [P_N(\tau-1) - b P_N(\tau-2)]_+ \}, \quad R = P_N(\tau-1)/P_N(\tau-2):

of the tag at multiplicity :math:`\tau - 1` nothing has moved if the record's absence is made up for
by another one (``docs/proofs/server-views.md``).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accountants.binomial import CDF_ERROR, cdf, log_pmf
from accountants.ranges import Floats

Counts = NDArray[np.int64]
_UNIT = 2.0**-53


class MoveCurve(Protocol):
    """What :class:`accountants.dummy_tags.DummyTags` offers."""

    def log_curve(self, log_ratio: ArrayLike) -> Floats:
        """Upper bound of the logarithm of the hockey-stick divergence at e^``log_ratio``."""
        ...


@dataclass(frozen=True, kw_only=True)
class TagPadding:
    """The padded part of the synthesis server's view, for Theorem J's sums.

    Parameters
    ----------
    dummies : DummyTags
        The dummies, without the coin: the curve of a tag's move from one cell to the next.
    threshold : int, optional
        The deployment's, where colluders lower the one that the sums are taken with: up to that
        many of them may hold the tag, so the worst of all thresholds between the two counts.
    """

    dummies: MoveCurve
    threshold: int | None = None

    def log_added(
        self, others: Counts, *, sampling_rate: float, threshold: int, log_ratio: float
    ) -> Floats:
        """Logarithm of the padded part, up, when the record is added; falls with N.

        Parameters
        ----------
        others : ndarray of int
            N.
        sampling_rate, threshold : float, int
            p and tau.
        log_ratio : float
            ln a'.
        """
        curve = float(self.dummies.log_curve(log_ratio))
        highest = max(threshold, self.threshold or threshold)
        return np.asarray(curve + _log_below(others, highest - 2, sampling_rate))

    def log_removed(
        self,
        others: Counts,
        widths: Counts,
        *,
        sampling_rate: float,
        threshold: int,
        log_ratio: float,
    ) -> Floats:
        """Logarithm of an upper bound of the padded part at all of N..N+w, the record removed.

        ``log_ratio`` is ln b; the other parameters are as in :meth:`log_added`.
        """
        bounds = [
            self._removed(others, widths, sampling_rate, each, log_ratio)
            for each in range(threshold, max(threshold, self.threshold or threshold) + 1)
        ]
        return np.asarray(np.max(bounds, axis=0))

    def _removed(
        self, others: Counts, widths: Counts, p: float, threshold: int, log_ratio: float
    ) -> Floats:
        """As :meth:`log_removed`, at one threshold."""
        last = others + widths
        parts = [float(self.dummies.log_curve(log_ratio)) + _log_below(others, threshold - 3, p)]
        odds = np.log(p) - np.log1p(-p)
        with np.errstate(all="ignore"):
            # R grows with N
            log_r = np.log(np.maximum(last - threshold + 2.0, 0.0) / max(threshold - 1, 1)) + odds
            slip = 16 * _UNIT * (2 + np.abs(log_r) + abs(odds) + abs(log_ratio))
            gap = np.where(np.isfinite(log_r), log_r + slip - log_ratio, log_r)
            left = np.where(gap < 0, log_ratio + np.log(-np.expm1(np.minimum(gap, -0.0))), -np.inf)
            slack = np.where(np.isfinite(left), 8 * _UNIT * (1 + np.abs(left)), 0.0)
            excess = np.where(gap > 0, np.log(-np.expm1(-np.maximum(gap, 0.0))), -np.inf)
        if threshold >= 2:
            moved = np.asarray(self.dummies.log_curve(left - slack))
            parts.append(moved + _log_most(others, last, threshold - 2, p))
        else:
            excess = np.zeros(len(others))
        parts.append(excess + _log_most(others, last, threshold - 1, p))
        total = np.logaddexp.reduce(np.stack(parts), axis=0)
        return np.asarray(np.where(np.isfinite(total), total + 1e-14, total))


def _log_below(others: Counts, limit: int, p: float) -> Floats:
    """Logarithm of Pr[Bin(N, p) <= limit], up."""
    if limit < 0:
        return np.full(others.shape, -np.inf)
    inside = cdf(limit, others, p) * (1 + CDF_ERROR)
    with np.errstate(divide="ignore"):
        value = np.log(np.minimum(inside, 1.0))
    # where it underflows: at most (limit + 1) times the largest mass, at the limit beyond the mean
    mass, error = log_pmf(np.minimum(limit, others), others, p)
    tiny = np.log(limit + 1.0) + mass + error + 1e-14
    value = np.where(inside > 1e-290, value, np.maximum(tiny, -1e5))
    return np.where(others <= limit, 0.0, np.minimum(value, 0.0))


def _log_most(first: Counts, last: Counts, count: int, p: float) -> Floats:
    """Logarithm of the largest Pr[Bin(N, p) = count] over first <= N <= last, up."""
    peak = np.floor(count / p)  # the mass rises in N up to count / p - 1, falls from count / p on
    best = np.full(first.shape, -np.inf)
    for candidate in (peak - 1, peak, peak + 1):
        at = np.clip(candidate, first, last)
        mass, error = log_pmf(count, at, p)
        best = np.maximum(best, mass + error)
    return np.asarray(np.minimum(best, 0.0))
