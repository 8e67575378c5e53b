r"""The whole Fre-E2T release as the paper accounts for it (Fre-E2T, Theorem and Algorithm 3).

Three terms added up: sample-and-threshold at budget factor v, a failure probability
:math:`f(L \sqrt k / (u r))^k` for the coupling distance :math:`\Delta = u r`, and the analytic
Gaussian at :math:`m = \sigma/\Delta` with what is left of epsilon and delta.

The paper's collision term is that of one pair, though the coupling partner is a random member of
the bucket: the union over records is missing. :attr:`PaperTerms.delta_sens_union` is the term with
it, :math:`\kappa N f^k`; where that matters the paper's total is not a bound.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.errors import ParameterError
from accountants.fre_e2t import FreE2TParameters
from accountants.gaussian import AnalyticGaussian
from accountants.grid_collision import far_share
from accountants.ranges import Floats
from accountants.sample_threshold import SampleThresholdPaper


@dataclass(frozen=True, kw_only=True)
class PaperTerms:
    r"""The terms of the paper's accounting that do not depend on the claim.

    Attributes
    ----------
    epsilon_fre, delta_fre : float
        Sample-and-threshold at budget factor v (Lemma 1).
    delta_sens : float
        :math:`f(L \sqrt k / (u r))^k`, one pair (Lemma 2).
    delta_sens_union : float
        :math:`\kappa N f^k`: with the union over records that the paper leaves out.
    kappa : float
        :math:`\max_m p \Pr[1 + Bin(m,p) \ge \tau]/m`.
    coupling_distance : float
        :math:`\Delta = u r`.
    noise_multiplier : float
        :math:`m = \sigma / \Delta`, not rounded.
    """

    epsilon_fre: float
    delta_fre: float
    delta_sens: float
    delta_sens_union: float
    kappa: float
    coupling_distance: float
    noise_multiplier: float


@dataclass(frozen=True, kw_only=True)
class PaperCalibration:
    """Algorithm 3's noise: the exact multiplier, the one rounded up, and the noise it gives.

    All are ``inf`` where the budget left for the sum is not positive.
    """

    epsilon_agg: float
    delta_agg: float
    noise_multiplier_exact: float
    noise_multiplier: float
    noise_std: float


@dataclass(frozen=True, kw_only=True)
class PaperTotal:
    """The paper's linear composition, as stated; not everywhere a bound (see the module).

    Parameters
    ----------
    parameters : FreE2TParameters
        The release, with ``sensitivity_ratio`` and ``budget_factor``.

    Raises
    ------
    ParameterError
        If ``sensitivity_ratio`` or ``budget_factor`` is missing.

    Notes
    -----
    Adjacency: add-remove of one record. View: public.
    """

    parameters: FreE2TParameters

    def __post_init__(self) -> None:
        """Check that the paper's own parameters are there."""
        for name in ("sensitivity_ratio", "budget_factor"):
            if getattr(self.parameters, name) is None:
                raise ParameterError(f"{name} is missing: the paper's analysis needs it")

    @property
    def terms(self) -> PaperTerms:
        """The terms that do not depend on the claim."""
        p = self.parameters
        assert p.sensitivity_ratio is not None
        distance = p.sensitivity_ratio * p.radius
        epsilon_fre, delta_fre = self._budget()
        delta_sens = float(p.grid.probability(distance))
        kappa = far_share(sampling_rate=p.sampling_rate, threshold=p.threshold)
        return PaperTerms(
            epsilon_fre=epsilon_fre,
            delta_fre=delta_fre,
            delta_sens=delta_sens,
            delta_sens_union=min(kappa * p.records_max * delta_sens, 1.0),
            kappa=kappa,
            coupling_distance=distance,
            noise_multiplier=p.noise_std / distance,
        )

    def delta(self, epsilon: ArrayLike) -> Floats:
        """Delta at each ``epsilon``; NaN below epsilon_fre, where the paper says nothing."""
        values = ranges.epsilons(epsilon)
        epsilon_fre, delta_fre = self._budget()
        if np.isinf(epsilon_fre):  # every record is sampled: the lemma's delta is 1
            return np.where(np.isinf(values), 1.0, np.nan)
        left = np.maximum(values - epsilon_fre, 0.0)
        total = self._gaussian.delta(left) + delta_fre + self._delta_sens()
        total = np.minimum(total * (1 + 4e-16), 1.0)
        return np.where(values < epsilon_fre, np.nan, total)

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Epsilon at each ``delta``; ``inf`` where delta_fre + delta_sens already reach it."""
        targets = ranges.deltas(delta)
        epsilon_fre, delta_fre = self._budget()
        left = targets - (delta_fre + self._delta_sens()) * (1 + 4e-16)
        found = self._gaussian.epsilon(np.maximum(left, 0.0)) + epsilon_fre
        return np.where(left > 0, np.nextafter(found, np.inf), np.inf)

    def calibrate(self, *, epsilon: float, delta: float) -> PaperCalibration:
        """Return the noise of Algorithm 3 for a claim (``noise_std`` of the release unused).

        Raises
        ------
        ParameterError
            If ``epsilon`` is not a finite number > 0 or ``delta`` not in (0, 1).
        """
        ranges.positive("epsilon", epsilon)
        ranges.open_unit("delta", delta)
        epsilon_fre, delta_fre = self._budget()
        epsilon_agg = epsilon - epsilon_fre
        delta_agg = delta - (delta_fre + self._delta_sens())
        if epsilon_agg <= 0 or delta_agg <= 0:
            exact = rounded = float("inf")
        else:
            gaussian = AnalyticGaussian.calibrate(epsilon=epsilon_agg, delta=delta_agg)
            exact = gaussian.noise_multiplier
            rounded = ceil(exact * 100) / 100
        distance = (self.parameters.sensitivity_ratio or 0.0) * self.parameters.radius
        return PaperCalibration(
            epsilon_agg=epsilon_agg,
            delta_agg=delta_agg,
            noise_multiplier_exact=exact,
            noise_multiplier=rounded,
            noise_std=rounded * distance,
        )

    @property
    def _gaussian(self) -> AnalyticGaussian:
        p = self.parameters
        assert p.sensitivity_ratio is not None
        return AnalyticGaussian(noise_multiplier=p.noise_std / (p.sensitivity_ratio * p.radius))

    def _budget(self) -> tuple[float, float]:
        p = self.parameters
        assert p.budget_factor is not None
        lemma = SampleThresholdPaper(sampling_rate=p.sampling_rate, threshold=p.threshold)
        return lemma.budget(p.budget_factor)

    def _delta_sens(self) -> float:
        p = self.parameters
        assert p.sensitivity_ratio is not None
        return float(p.grid.probability(p.sensitivity_ratio * p.radius))
