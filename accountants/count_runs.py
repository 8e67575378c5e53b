r"""Runs of consecutive counts, one for each of many buckets, with their binomial masses.

The logarithm of a mass follows from that of the run's first count by adding the logarithms of the
ratios :math:`P(n)/P(n-1)` of consecutive masses, several times faster than each for itself. One
cumulative sum serves all runs: at each run's start it steps to that run's first mass, so that it
never holds more than one mass does. With k terms, each partial sum at most M and each ratio known
to within e, a sum is off by at most k (u M + e) (u = 2^-53); that is added, and where it is not
small every mass is computed for itself.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from accountants.binomial import cdf, log_pmf
from accountants.ranges import Floats

Counts = NDArray[np.int64]

_T = TypeVar("_T", bound=np.generic)

_UNIT = 2.0**-53
_CLOSE = 1e-9  # absolute error of a logarithm up to which sums of ratios are used


@dataclass(frozen=True, eq=False, kw_only=True)
class CountRuns:
    """Counts ``first``..``last`` of each of b buckets of N others, laid end to end.

    Attributes
    ----------
    first, last, others : ndarray of int, shape (b,)
        ``first`` >= 1; ``last`` at most N + 1.
    lengths, begin : ndarray of int, shape (b,)
        How long each run is, and where it begins in ``counts``.
    counts : ndarray of int, shape (n,)
        All counts.
    """

    first: Counts
    last: Counts
    others: Counts
    lengths: Counts
    begin: Counts
    counts: Counts

    @classmethod
    def between(cls, first: Counts, last: Counts, others: Counts) -> "CountRuns":
        """Make the runs; one of ``last`` < ``first`` holds ``first`` only."""
        last = np.maximum(last, first)
        lengths = last - first + 1
        ends = np.cumsum(lengths)
        begin = ends - lengths
        counts = np.arange(int(ends[-1])) - np.repeat(begin - first, lengths)
        return cls(
            first=first, last=last, others=others, lengths=lengths, begin=begin, counts=counts
        )

    def spread(self, values: NDArray[_T]) -> NDArray[_T]:
        """Repeat each bucket's value for each of its counts."""
        return np.repeat(values, self.lengths)

    def log_ratios(self, p: float) -> Floats:
        """Return ln P(n)/P(n-1) of Bin(N, ``p``) at each count n; ``-inf`` where n > N."""
        left = self.spread(self.others) - self.counts + 1.0
        with np.errstate(divide="ignore"):
            ratios = np.log(np.maximum(left, 0.0) / self.counts)
        return np.asarray(ratios + (np.log(p) - np.log1p(-p)))

    def log_masses(self, log_ratios: Floats, p: float, *, one_less: bool) -> Floats:
        """Return upper bounds of ln P(n), or of ln P(n - 1), at each count n.

        Parameters
        ----------
        log_ratios : ndarray, shape (n,)
            As :meth:`log_ratios` returns them.
        p : float
            Strictly between 0 and 1.
        one_less : bool
            Whether the masses are those at n - 1.
        """
        start, slip = log_pmf(self.first - one_less, self.others, p)
        known = np.where(np.isfinite(start), start, 0.0)
        steps = np.empty_like(log_ratios)
        steps[one_less:] = log_ratios[: len(steps) - one_less]
        steps[self.begin] = 0.0
        outside = np.isinf(steps)  # n > N, at a run's end
        steps[outside] = 0.0
        ends = known + np.add.reduceat(steps, self.begin)
        steps[self.begin] = known - np.concatenate([[0.0], ends[:-1]])
        sums = np.cumsum(steps)
        most = max(float(sums.max()), -float(sums.min()))
        ratio = np.abs(np.log(p)) + np.abs(np.log1p(-p)) + float(np.max(np.abs(steps)))
        error = 2 * _UNIT * (self.lengths + 2) * (most + 4 * (2 + ratio)) + slip
        if np.max(error) > _CLOSE:
            mass, slip = log_pmf(self.counts - one_less, self.spread(self.others), p)
            return np.asarray(mass + slip)
        sums += self.spread(start - sums[self.begin] + error)
        sums[outside] = -np.inf
        return sums

    def covered(self, log_masses: Floats, factor: float, p: float) -> NDArray[np.bool_]:
        """Whether ``factor`` Pr[Bin(N, p) <= n - 2] >= P(n - 1) is seen at each count n.

        Parameters
        ----------
        log_masses : ndarray, shape (n,)
            ln P(n - 1), as :meth:`log_masses` returns it.
        factor : float
            At least 0.
        p : float
            Strictly between 0 and 1.
        """
        top = np.maximum.reduceat(log_masses, self.begin)
        top = np.where(np.isfinite(top), top, 0.0)
        masses = np.exp(log_masses - self.spread(top))
        below = np.empty_like(masses)
        first = cdf(self.first - 2, self.others, p) * np.exp(np.minimum(-top, 700.0))
        for begin, length, sum_ in zip(self.begin, self.lengths, first, strict=True):
            below[begin] = sum_
            np.cumsum(masses[begin : begin + length - 1], out=below[begin + 1 : begin + length])
            below[begin + 1 : begin + length] += sum_
        return np.asarray(factor * below * (1 - 1e-8) >= masses * (1 + 1e-8))
