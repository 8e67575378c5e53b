r"""Exact likelihood ratio for a record whose N bucket mates all lie at one other point.

This is the case in which Theorem J is attained. The released sum minus n x' then has no component
of interest but the one along x - x'; in units of the noise it is N(0, 1) without the record's
vector and N(:math:`\mu`, 1) with it, :math:`\mu = D/\sigma`. The ratio of "present" to "absent" is

.. math::
   (1-p) + p \frac{P_N(n-1)}{P_N(n)} e^{\mu y - \mu^2/2}, \qquad
   (1-p) + p \frac{\Pr[n' < \tau - 1]}{\Pr[n' < \tau]}

for a release (n, y) and for "nothing". By Neyman and Pearson no score separates better.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from accountants import ranges
from accountants.binomial import log_pmf
from accountants.errors import ParameterError
from accountants.ranges import Floats
from attacks.count_likelihood import log_below, log_count_ratio, mixed


@dataclass(frozen=True, kw_only=True)
class CoincidingLikelihood:
    r"""The adversary of Theorem J's worst case: knows everything but the record's presence.

    Parameters
    ----------
    sampling_rate : float
        p, in (0, 1).
    threshold : int
        :math:`\tau \ge 1`.
    neighbours : int
        N >= 1.
    shift : float
        :math:`\mu` = distance / noise standard deviation, finite, >= 0.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """

    sampling_rate: float
    threshold: int
    neighbours: int
    shift: float

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.open_unit("sampling_rate", self.sampling_rate)
        ranges.positive_integer("threshold", self.threshold)
        ranges.positive_integer("neighbours", self.neighbours)
        ranges.non_negative("shift", self.shift)

    def scores(
        self,
        released: NDArray[np.bool_],
        counts: ArrayLike,
        sums: Floats,
        *,
        canary: Floats,
        neighbour: Floats,
        noise_std: float,
    ) -> Floats:
        """Return the log-likelihood ratio of each release; higher means "present".

        Parameters
        ----------
        released : ndarray of bool, shape (t,)
            Whether the bucket was released.
        counts : array_like of int, shape (t,)
            Released counts; ignored where nothing was released.
        sums : ndarray, shape (t, d)
            Released noisy sums; ignored likewise.
        canary, neighbour : ndarray, shape (d,)
            The record x and the point x' of all others; not equal unless ``shift`` is 0.
        noise_std : float
            Noise standard deviation > 0 per coordinate.

        Returns
        -------
        ndarray, shape (t,)
            Possibly infinite where only presence (or only absence) explains the release.
        """
        n = np.asarray(counts, float)
        step = canary - neighbour
        length = float(np.linalg.norm(step))
        along = step / length if length > 0 else step
        y = (sums @ along - n * float(neighbour @ along)) / noise_std
        nothing = float(mixed(self.log_nothing_ratio(), sampling_rate=self.sampling_rate))
        return np.where(released, self.log_ratio(n, y), nothing)

    def log_ratio(self, counts: ArrayLike, offsets: ArrayLike) -> Floats:
        """Return the log-likelihood ratio of releases (n, y), y in units of the noise."""
        ratio = log_count_ratio(counts, others=self.neighbours, sampling_rate=self.sampling_rate)
        moved = self.shift * np.asarray(offsets, float) - self.shift**2 / 2
        return mixed(ratio + moved, sampling_rate=self.sampling_rate)

    def log_nothing_ratio(self) -> float:
        """Return ln Pr[nothing | sampled] / Pr[nothing | absent], at most 0."""
        n, p = self.neighbours, self.sampling_rate
        with_it = log_below(self.threshold - 1, others=n, sampling_rate=p)
        return with_it - log_below(self.threshold, others=n, sampling_rate=p)

    def add_rates(self, log_thresholds: ArrayLike) -> tuple[Floats, Floats]:
        """Return (TPR, FPR) of the test "log-likelihood ratio >= s" with presence as positive.

        Parameters
        ----------
        log_thresholds : array_like, shape (q,)
            s > 0 each.

        Returns
        -------
        tpr, fpr : ndarray, shape (q,)

        Raises
        ------
        ParameterError
            If a threshold is not > 0.
        """
        s = np.asarray(log_thresholds, float)
        if not np.all(s > 0):
            raise ParameterError("log_thresholds: numbers > 0 are needed")
        p, n_others = self.sampling_rate, self.neighbours
        counts = np.arange(self.threshold, n_others + 2)
        if len(counts) == 0:
            return np.zeros(s.shape), np.zeros(s.shape)
        without = np.exp(log_pmf(counts, n_others, p)[0])
        sampled = np.exp(log_pmf(counts - 1, n_others, p)[0])
        log_a = s + np.log1p((1 - p) / p * -np.expm1(-s))
        need = log_a[:, None] - log_count_ratio(counts, others=n_others, sampling_rate=p)[None, :]
        if self.shift > 0:
            with np.errstate(over="ignore"):  # infinite where the sum says next to nothing
                edge = need / self.shift + self.shift / 2
            false, true = ndtr(-edge), ndtr(self.shift - edge)
        else:
            false = true = (need <= 0).astype(float)
        fpr = false @ without
        return (1 - p) * fpr + p * (true @ sampled), fpr
