"""What a pair of rate bounds shows: epsilon at a delta, delta at an epsilon, or a Gaussian mu.

Each quantity is a function of a lower bound on the true-positive rate and an upper bound on the
false-positive rate, increasing in the first and decreasing in the second. That monotonicity is all
that the joint region (`joint_rates`) and the simultaneous band (`confidence_band`) use, so every
threshold strategy serves every quantity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from dpaudit.estimators.arrays import FloatArray, as_numbers, as_rates, broadcast, refuse_where
from dpaudit.estimators.epsilon_bounds import log_ratio, rate_gap

QuantityName: TypeAlias = Literal["epsilon", "delta", "mu"]

_EPS = float(np.finfo(np.float64).eps)


class Quantity(Protocol):
    """A lower bound as a function of the two rate bounds."""

    name: ClassVar[QuantityName]

    def lower(self, tpr_lower: ArrayLike, fpr_upper: ArrayLike) -> FloatArray:
        """Return the lower bound, rounded down and not cut off at 0; -inf where none follows."""
        ...

    def fpr_at(self, level: float, tpr: FloatArray) -> FloatArray:
        """Return the false-positive rate at which `tpr` shows `level`; 0 where none does."""
        ...

    def given(self) -> dict[str, float]:
        """Return the parameter at which the quantity is measured."""
        ...


@dataclass(frozen=True, kw_only=True)
class EpsilonAt:
    """Epsilon at a given delta: ``ln((TPR - delta) / FPR)``.

    Parameters
    ----------
    delta : float
        0 to 1.

    Raises
    ------
    ParameterError
        If delta is out of range.
    """

    delta: float = 0.0
    name: ClassVar[QuantityName] = "epsilon"

    def __post_init__(self) -> None:
        """Check the range."""
        as_rates("delta", self.delta)

    def lower(self, tpr_lower: ArrayLike, fpr_upper: ArrayLike) -> FloatArray:
        """Return the bound; see `Quantity`."""
        return log_ratio(tpr_lower, fpr_upper, delta=self.delta)

    def fpr_at(self, level: float, tpr: FloatArray) -> FloatArray:
        """Return the false-positive rate that gives `level`; see `Quantity`."""
        return np.asarray(np.clip((tpr - self.delta) * np.exp(min(-level, 700.0)), 0.0, 1.0))

    def given(self) -> dict[str, float]:
        """Return delta."""
        return {"delta": float(self.delta)}


@dataclass(frozen=True, kw_only=True)
class DeltaAt:
    """Delta at a given epsilon: ``TPR - e^epsilon FPR``.

    Parameters
    ----------
    epsilon : float
        0 or more.

    Raises
    ------
    ParameterError
        If epsilon is NaN or negative.
    """

    epsilon: float
    name: ClassVar[QuantityName] = "delta"

    def __post_init__(self) -> None:
        """Check the range."""
        eps = as_numbers("epsilon", self.epsilon)
        refuse_where("epsilon", eps, ~(eps >= 0.0), "0 or more")

    def lower(self, tpr_lower: ArrayLike, fpr_upper: ArrayLike) -> FloatArray:
        """Return the bound; see `Quantity`."""
        return rate_gap(tpr_lower, fpr_upper, epsilon=self.epsilon)

    def fpr_at(self, level: float, tpr: FloatArray) -> FloatArray:
        """Return the false-positive rate that gives `level`; see `Quantity`."""
        return np.asarray(np.clip((tpr - level) * np.exp(-float(self.epsilon)), 0.0, 1.0))

    def given(self) -> dict[str, float]:
        """Return epsilon."""
        return {"epsilon": float(self.epsilon)}


@dataclass(frozen=True, kw_only=True)
class GaussianMu:
    """The mu of Gaussian differential privacy: ``Phi^-1(TPR) - Phi^-1(FPR)``.

    A mu-GDP mechanism has ``1 - TPR >= Phi(Phi^-1(1 - FPR) - mu)`` for every test (Dong, Roth and
    Su, "Gaussian differential privacy", 2022, Definition 4), which is this bound.
    """

    name: ClassVar[QuantityName] = "mu"

    def lower(self, tpr_lower: ArrayLike, fpr_upper: ArrayLike) -> FloatArray:
        """Return the bound; see `Quantity`."""
        high, low = broadcast(
            tpr_lower=as_rates("tpr_lower", tpr_lower), fpr_upper=as_rates("fpr_upper", fpr_upper)
        )
        with np.errstate(invalid="ignore"):
            first, second = ndtri(high), ndtri(low)
            # ndtri is within a few units in the last place; certified against mpmath in the tests.
            value = first - second - 32.0 * _EPS * (np.abs(first) + np.abs(second) + 1.0)
        value = np.where((high == 1.0) | (low == 0.0), np.inf, value)
        return np.asarray(np.where((high == 0.0) | (low == 1.0), -np.inf, value))

    def fpr_at(self, level: float, tpr: FloatArray) -> FloatArray:
        """Return the false-positive rate that gives `level`; see `Quantity`."""
        return np.asarray(ndtr(ndtri(tpr) - level))

    def given(self) -> dict[str, float]:
        """Return nothing: mu has no parameter."""
        return {}
