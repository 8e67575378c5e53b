r"""Trade-off curves: the least type II error of any test between neighbours, at each type I error.

With :math:`H_a` the hockey-stick divergence of a pair, a test of type I error alpha has a type II
error of at least :math:`1 - H_a - a\alpha`, for every :math:`a \ge 0` (Dong, Roth and Su 2022,
Proposition 6; riskcal has the same conversion). For a discrete pair the maximum over a is a
polygon: to the losses :math:`l_1 < l_2 < \dots` belong the vertices

.. math:: \Bigl(\sum_{i \ge k} p_i e^{-l_i},\; 1 - p_\infty - \sum_{i \ge k} p_i\Bigr).

A curve that is too low errs to the safe side, so the vertices are rounded down. Proof:
``docs/proofs/composition.md``.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from accountants.errors import ParameterError
from accountants.gaussian import exp_up
from accountants.loss_distribution import LossDistribution, of_pld
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

_UNIT = 2.0**-53


@dataclass(frozen=True, kw_only=True, eq=False)
class TradeOff:
    """A lower bound of the trade-off curve, valid in both directions.

    Parameters
    ----------
    losses : tuple of LossDistribution
        One, or one for each direction: at least one.

    Raises
    ------
    ParameterError
        If there is none.
    """

    losses: tuple[LossDistribution, ...]

    def __post_init__(self) -> None:
        """Check that there is something."""
        if not self.losses:
            raise ParameterError("losses = (): at least one is needed")
        object.__setattr__(self, "_polygons", tuple(_polygon(one) for one in self.losses))

    @classmethod
    def from_profile(cls, profile: PrivacyProfile, *, points: int = 200) -> "TradeOff":
        """Return the curve that ``profile`` implies, from about ``points`` samples of it, >= 20.

        Raises
        ------
        ParameterError
            If ``points`` is not allowed.
        """
        return cls(losses=(LossDistribution.from_profile(profile, points=points),))

    @classmethod
    def from_pld(cls, pld: "PrivacyLossDistribution") -> "TradeOff":
        """Return the curve of dp_accounting's ``pld``, the lower of its two directions.

        Raises
        ------
        ParameterError
            If its masses are negative or not normalised.
        """
        return cls(losses=of_pld(pld))

    def beta(self, alpha: ArrayLike) -> Floats:
        """Lower bound of the type II error at each type I error ``alpha`` in [0, 1]; same shape.

        Falls in alpha, at most 1 - alpha.

        Raises
        ------
        ParameterError
            If an alpha lies outside [0, 1] or is NaN.
        """
        errors = np.asarray(alpha, dtype=np.float64)
        if not np.all((errors >= 0) & (errors <= 1)):
            raise ParameterError(f"alpha = {alpha!r}: numbers in [0, 1] are needed")
        polygons: tuple[tuple[Floats, Floats], ...] = self._polygons  # type: ignore[attr-defined]
        bounds = [np.interp(errors, *polygon) for polygon in polygons]
        lowest = np.minimum.reduce(bounds) - 8 * _UNIT
        return np.asarray(np.clip(lowest, 0.0, 1 - errors))

    def advantage(self) -> float:
        """Upper bound of what any test gains: max of 1 - alpha - beta, which is delta(0)."""
        return float(exp_up(max(float(one.log_delta(0.0)) for one in self.losses)))

    def equal_error(self) -> float:
        """Lower bound of the error at which both are equal, alpha = beta(alpha); 1/2 is perfect."""
        low, high = 0.0, 0.5
        for _ in range(60):
            middle = (low + high) / 2
            if float(self.beta(middle)) >= middle:
                low = middle
            else:
                high = middle
        return low


def _polygon(loss: LossDistribution) -> tuple[Floats, Floats]:
    """Return rising alphas and falling betas of the vertices, rounded down."""
    masses = exp_up(loss.log_masses)[::-1]
    with np.errstate(over="ignore"):
        other = np.exp(np.minimum(loss.log_masses - loss.losses, 0.0))[::-1]
    # what is summed first is smallest: the error is at most one rounding a term
    terms = 4 + len(masses) + np.abs(loss.losses).max()
    above = _suffix(masses) * (1 + 4 * _UNIT * np.sqrt(len(masses)) + 64 * _UNIT)
    alphas = _suffix(other) * (1 - min(8 * _UNIT * (terms + 700), 1.0))
    betas = 1 - float(exp_up(loss.log_infinity)) - above - 4 * _UNIT
    start = 1 - float(exp_up(loss.log_infinity)) - 4 * _UNIT
    alphas = np.concatenate(([0.0], np.minimum(alphas, 1.0)))
    betas = np.maximum(np.concatenate(([start], betas)), 0.0)
    return alphas, np.minimum.accumulate(betas)


def _suffix(values: Floats) -> Floats:
    """Cumulative sums with an error of at most 2 sqrt(n) roundings: in blocks."""
    size = int(np.sqrt(len(values))) + 1
    padded = np.zeros(size * size)
    padded[: len(values)] = values
    blocks = np.cumsum(padded.reshape(size, size), axis=1)
    starts = np.concatenate(([0.0], np.cumsum(blocks[:-1, -1])))
    return np.asarray((blocks + starts[:, None]).ravel()[: len(values)])
