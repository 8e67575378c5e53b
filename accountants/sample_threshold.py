r"""Sample-and-threshold: a bucket's sampled count, released if it reaches the threshold.

Two accountants of one mechanism (Bharadwaj and Cormode 2022; Fre-E2T, Lemma 1).

*Paper.* For :math:`v \ge 1`: :math:`\epsilon = v \ln 1/(1-p)`, :math:`q = 1 - (1-p)^{v+1}`,
:math:`\delta = \exp(-(\tau/q) D(q \| p))`, D the Bernoulli relative entropy in nats.

*Exact.* The supremum over all N of the hockey-stick divergence of the two thresholded binomials,
"nothing" included, in both directions: Theorem J without a sum (:math:`\mu = 0`).
Proofs: ``docs/proofs/sample-and-threshold.md``.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.gaussian import exp_up
from accountants.joint_release import JointRelease
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats

_UNIT = 2.0**-53


@dataclass(frozen=True, kw_only=True)
class SampleThresholdPaper(PrivacyProfile):
    r"""The closed form of Fre-E2T's Lemma 1.

    Parameters
    ----------
    sampling_rate : float
        p in (0, 1]; at 1 delta is 1.
    threshold : int
        :math:`\tau \ge 1`.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """

    sampling_rate: float
    threshold: int

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.sampling_rate(self.sampling_rate)
        ranges.positive_integer("threshold", self.threshold)

    @property
    def unit_epsilon(self) -> float:
        """Return ln 1/(1-p), the epsilon of budget factor 1; below it the lemma says nothing."""
        return float("inf") if self.sampling_rate == 1 else float(-np.log1p(-self.sampling_rate))

    def budget(self, budget_factor: float) -> tuple[float, float]:
        """Return (epsilon, delta) at budget factor v, both rounded up.

        For v < 1, where the lemma is not a bound, the formula is evaluated all the same; the
        caller has to say so.

        Raises
        ------
        ParameterError
            If ``budget_factor`` is not a finite number > 0.
        """
        ranges.positive("budget_factor", budget_factor)
        if self.sampling_rate == 1:
            return float("inf"), 1.0
        epsilon = budget_factor * self.unit_epsilon * (1 + 4 * _UNIT)
        return epsilon, float(exp_up(self._log_delta(np.asarray(budget_factor))))

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon``; 0 below ln 1/(1-p), where there is none."""
        values = ranges.epsilons(epsilon)
        if self.sampling_rate == 1:  # a released count gives the record away
            return np.zeros(values.shape)
        with np.errstate(over="ignore"):
            factor = values / self.unit_epsilon
        return np.where(factor < 1, 0.0, self._log_delta(factor))

    def _log_delta(self, factor: Floats) -> Floats:
        log_keep = np.log1p(-self.sampling_rate)
        with np.errstate(invalid="ignore"):
            q = -np.expm1((factor + 1) * log_keep)
            kept = np.where(np.isinf(factor), 0.0, (1 - q) * factor * log_keep)
            entropy = q * (np.log(q) - np.log(self.sampling_rate)) + kept
            value = -self.threshold / q * entropy
        error = 16 * _UNIT * self.threshold * (1 + abs(np.log(self.sampling_rate)) + np.abs(kept))
        return np.asarray(np.minimum(value + error, 0.0))


@dataclass(frozen=True, kw_only=True)
class SampleThreshold(PrivacyProfile):
    r"""Sample-and-threshold, exact over all bucket sizes.

    Parameters
    ----------
    sampling_rate : float
        p in (0, 1]; at 1 delta is 1.
    threshold : int
        :math:`\tau \ge 1`.
    others : int, optional
        N, the other records of the bucket; without it the supremum over all N.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """

    sampling_rate: float
    threshold: int
    others: int | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        _ = self._joint

    @property
    def _joint(self) -> JointRelease:
        return JointRelease(
            sampling_rate=self.sampling_rate,
            threshold=self.threshold,
            shift=0.0,
            others=self.others,
        )

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        return self._joint.log_delta(epsilon)

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Smallest epsilon at each ``delta`` in [0, 1], rounded up; same shape."""
        return self._joint.epsilon(delta)
