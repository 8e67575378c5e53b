"""Trade-off curves as the one-run audit needs them: points of the privacy curve, and ``F^-1``.

``F(x)`` is the largest probability that an event of probability ``x`` under one neighbour can have
under the other, ``F = 1 - f`` for a trade-off function ``f`` (Dong, Roth and Su, "Gaussian
differential privacy", 2022). ``F(x) <= e^epsilon x + delta`` at each point (epsilon, delta) of the
privacy curve, and ``F(x) = Phi(Phi^-1(x) + mu)`` for mu-GDP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from accountants.errors import ParameterError
from accountants.gaussian import exp_up, log_hockey_stick
from dpaudit.estimators.arrays import FloatArray, as_numbers, as_rates, refuse_where

MAX_MU = 60.0
"""Largest parameter of a Gaussian curve that is considered."""

_POINTS = 128
_NORMAL = NormalDist()
_ROOT2 = math.sqrt(2.0)


class Curve(Protocol):
    """What is claimed of a mechanism."""

    def points(self, largest: float) -> tuple[FloatArray, FloatArray]:
        """Return points (epsilon, delta) of the privacy curve.

        Parameters
        ----------
        largest : float
            No epsilon above this is of use.

        Returns
        -------
        epsilons, deltas : ndarray
            One shape; every delta at least that of the claim.
        """
        ...

    def inverse(self, reached: float) -> float:
        """Return the least probability from which another can be reached.

        Parameters
        ----------
        reached : float
            Above 0 and below 1.

        Returns
        -------
        float
            ``F^-1(reached)``, rounded down, 0 to 1.
        """
        ...


@dataclass(frozen=True)
class GaussianCurve:
    """The curve of mu-Gaussian DP.

    Attributes
    ----------
    mu : float
        0 to 60: distance of the two normal laws in standard deviations.
    """

    mu: float

    def __post_init__(self) -> None:
        """Check the range."""
        if not 0.0 <= self.mu <= MAX_MU:
            raise ParameterError(f"mu = {self.mu:g}: allowed are 0 to {MAX_MU:g}")

    def points(self, largest: float) -> tuple[FloatArray, FloatArray]:
        """Return points of the curve at evenly spaced epsilons; see `Curve.points`."""
        epsilons = np.linspace(0.0, largest, _POINTS)
        return epsilons, np.asarray(exp_up(log_hockey_stick(epsilons, self.mu)))

    def inverse(self, reached: float) -> float:
        """Return ``Phi(Phi^-1(reached) - mu)`` rounded down; see `Curve.inverse`."""
        z = _NORMAL.inv_cdf(reached) - self.mu
        z -= 1e-13 * (1.0 + abs(z) + self.mu)
        return 0.5 * math.erfc(-z / _ROOT2) * (1.0 - 1e-12)


@dataclass(frozen=True, eq=False)
class PointsCurve:
    """Points of a privacy curve that a mechanism is claimed to satisfy, all of them.

    Attributes
    ----------
    epsilons, deltas : ndarray
        The points, one vector each: epsilons of 0 or more, deltas from 0 to 1. With guesses on
        both sides they must hold in both directions; with guesses on one side, for
        ``P(S) <= e^epsilon P'(S) + delta`` with P the side that is guessed.
    """

    epsilons: FloatArray
    deltas: FloatArray

    def __post_init__(self) -> None:
        """Check the ranges."""
        eps, slack = as_numbers("epsilons", self.epsilons), as_rates("deltas", self.deltas)
        refuse_where("epsilons", eps, ~(eps >= 0.0), "0 or more")
        if eps.ndim != 1 or eps.shape != slack.shape or eps.size == 0:
            raise ParameterError(
                f"epsilons {eps.shape} and deltas {slack.shape} must be vectors of one length, "
                "not empty"
            )
        object.__setattr__(self, "epsilons", eps)
        object.__setattr__(self, "deltas", slack)
        object.__setattr__(self, "_shrink", np.exp(-eps) * (1.0 - 1e-12))

    @classmethod
    def from_profile(cls, profile: Any, *, epsilons: ArrayLike) -> PointsCurve:
        """Take points of an accountant's privacy curve.

        Parameters
        ----------
        profile : accountants.PrivacyProfile
            Anything whose ``delta(epsilon)`` is an upper bound.
        epsilons : array_like of float
            Where to take them; shape (points,).

        Returns
        -------
        PointsCurve
            The points.

        Raises
        ------
        ParameterError
            If an epsilon is out of range.
        """
        eps = as_numbers("epsilons", epsilons)
        return cls(epsilons=eps, deltas=np.asarray(profile.delta(eps), dtype=np.float64))

    def points(self, largest: float) -> tuple[FloatArray, FloatArray]:
        """Return the points up to `largest`; see `Curve.points`."""
        useful = self.epsilons <= largest
        return self.epsilons[useful], self.deltas[useful]

    def inverse(self, reached: float) -> float:
        """Return the largest ``(reached - delta) e^-epsilon`` rounded down; see `Curve.inverse`."""
        shrink: FloatArray = self._shrink  # type: ignore[attr-defined]
        gap = reached - self.deltas
        return max(float(np.max((gap - 1e-15) * shrink)), 0.0)
