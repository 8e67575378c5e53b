r"""Approximate likelihood ratio for a real bucket, whose members differ.

Given the count n, the sampled sum is a mixture over all n-subsets of the members, too many to
write down. Its mean and covariance are those of sampling without replacement: with m members, mean
vector :math:`\bar v` and population covariance S, the sum of n of them has mean
:math:`n \bar v` and covariance :math:`n \frac{m-n}{m-1} S`. The score is the likelihood ratio of
the Gaussians with these moments; it is exact where all members coincide. A score need not be exact
for the bound measured with it to be valid, only for the bound to be as large as possible.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accountants import ranges
from accountants.errors import ParameterError
from accountants.ranges import Floats
from attacks.count_likelihood import log_below, log_count_ratio, mixed

_NEGLIGIBLE = 1e-12  # of the largest variance, below which a direction is left out


@dataclass(frozen=True, kw_only=True, eq=False)
class BucketLikelihood:
    r"""The adversary of one record of a real bucket: knows all other members and the grid.

    Parameters
    ----------
    sampling_rate : float
        p, in (0, 1).
    threshold : int
        :math:`\tau \ge 1`.
    noise_std : float
        Noise standard deviation > 0 per coordinate of a sum.
    canary : ndarray, shape (d,)
        The record whose presence is in question.
    members : ndarray, shape (r, d)
        Distinct vectors of the bucket's other members.
    copies : ndarray of int, shape (r,)
        How many members have each of them, >= 1.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range or shapes do not match.
    """

    sampling_rate: float
    threshold: int
    noise_std: float
    canary: Floats
    members: Floats
    copies: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.open_unit("sampling_rate", self.sampling_rate)
        ranges.positive_integer("threshold", self.threshold)
        ranges.positive("noise_std", self.noise_std)
        rows, columns = self.members.shape
        if rows == 0 or self.copies.shape != (rows,) or self.canary.shape != (columns,):
            raise ParameterError("members, copies and canary do not match: (r, d), (r,) and (d,)")

    @property
    def others(self) -> int:
        """Number of the bucket's other members."""
        return int(self.copies.sum())

    def scores(self, released: NDArray[np.bool_], counts: ArrayLike, sums: Floats) -> Floats:
        """Return a log-likelihood ratio of each release; higher means "present".

        Parameters
        ----------
        released : ndarray of bool, shape (t,)
            Whether the bucket was released.
        counts : array_like of int, shape (t,)
            Released counts; ignored where nothing was released.
        sums : ndarray, shape (t, d)
            Released noisy sums; ignored likewise.

        Returns
        -------
        ndarray, shape (t,)
        """
        n = np.asarray(counts, float)
        axes, spread, step = self._frame
        y = ((sums - n[:, None] * self._mean) @ axes) / self.noise_std
        ratio = log_count_ratio(n, others=self.others, sampling_rate=self.sampling_rate)
        moved = self._log_normal(y - step, n - 1, spread) - self._log_normal(y, n, spread)
        present = mixed(ratio + moved, sampling_rate=self.sampling_rate)
        with_it = log_below(
            self.threshold - 1, others=self.others, sampling_rate=self.sampling_rate
        )
        without = log_below(self.threshold, others=self.others, sampling_rate=self.sampling_rate)
        nothing = mixed(
            with_it - without if np.isfinite(without) else 0.0, sampling_rate=self.sampling_rate
        )
        return np.where(released, present, nothing)

    @cached_property
    def _mean(self) -> Floats:
        return np.asarray(self.copies @ self.members / self.others)

    @cached_property
    def _frame(self) -> tuple[Floats, Floats, Floats]:
        """Axes (d, q) along which members or canary differ, variances along them, canary there.

        Variances and the canary's offset from the mean are in units of the noise.
        """
        centred = self.members - self._mean
        weighted = centred * np.sqrt(self.copies / self.others)[:, None]
        _, lengths, rows = np.linalg.svd(weighted, full_matrices=False)
        kept = lengths**2 > _NEGLIGIBLE * max(float(lengths.max(initial=0.0)) ** 2, 1e-300)
        axes, variances = rows[kept].T, lengths[kept] ** 2 / self.noise_std**2
        offset = self.canary - self._mean
        rest = offset - axes @ (axes.T @ offset)
        length = float(np.linalg.norm(rest))
        if length > 1e-9 * max(float(np.linalg.norm(offset)), 1e-300):
            axes = np.column_stack([axes, rest / length])
            variances = np.append(variances, 0.0)
        return axes, variances, axes.T @ offset / self.noise_std

    def _log_normal(self, y: Floats, sampled: Floats, variances: Floats) -> Floats:
        """Logarithm, up to a constant, of the density of y for a number of sampled members."""
        m = self.others
        share = np.clip(sampled * (m - sampled), 0.0, None) / max(m - 1, 1)
        total = 1 + share[:, None] * variances[None, :]
        return np.asarray(-0.5 * np.sum(y * y / total + np.log(total), axis=1))
