r"""Collision of two points in a randomly shifted grid after a Gaussian projection.

Z is k x d with independent N(0, 1/k) entries and the offset is uniform on one cell of edge L,
independent of Z. Two points at distance D fall into one cell with probability
:math:`f(L \sqrt k / D)^k`,

.. math::
   f(c) = \mathrm{erf}(c/\sqrt2) - \sqrt{2/\pi}\,(1 - e^{-c^2/2})/c
        = E[(1 - |z|/c)_+],\quad z \sim N(0,1)

(Fre-E2T, Lemma 2; proof in ``docs/proofs/grid-collision.md``). Exact for this law and no other:
not for orthonormal rows, N(0, 1) entries, clipped coordinates or merged edge cells.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf

from accountants import ranges
from accountants.errors import ParameterError
from accountants.joint_terms import JointTerms
from accountants.ranges import Floats
from accountants.supremum import log_suprema

_RELATIVE_ERROR = 4e-15


def coordinate_collision(scaled_edge: ArrayLike) -> Floats:
    """Return f(c), the probability that two points share one coordinate's cell.

    Parameters
    ----------
    scaled_edge : array_like
        c = L sqrt(k) / D >= 0; ``inf`` gives 1.

    Returns
    -------
    ndarray
        Same shape, within a relative 4e-15.
    """
    c = np.asarray(scaled_edge, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        tiny = c < 1e-4
        safe = np.where(tiny | np.isinf(c), 1.0, c)
        plain = erf(safe / np.sqrt(2)) + np.sqrt(2 / np.pi) * np.expm1(-safe * safe / 2) / safe
        series = c / np.sqrt(2 * np.pi) * (1 - c * c / 12)
    return np.where(np.isinf(c), 1.0, np.where(tiny, series, plain))


@dataclass(frozen=True, kw_only=True)
class GridCollision:
    """Fre-E2T, Lemma 2, for one grid.

    Parameters
    ----------
    edge : float
        L > 0, in the unit of the embeddings.
    projection_dim : int
        k >= 1.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """

    edge: float
    projection_dim: int

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.positive("edge", self.edge)
        ranges.positive_integer("projection_dim", self.projection_dim)

    def coordinate(self, distance: ArrayLike) -> Floats:
        """Probability that one coordinate's cells agree, at each ``distance`` >= 0."""
        d = np.asarray(distance, float)
        with np.errstate(divide="ignore", over="ignore"):
            return coordinate_collision(self.edge * np.sqrt(self.projection_dim) / d)

    def log_probability(self, distance: ArrayLike) -> Floats:
        """Logarithm of the probability that two points share a cell, rounded up; same shape."""
        with np.errstate(divide="ignore"):
            value = self.projection_dim * np.log(self.coordinate(distance)) * (1 - 1e-15)
        return np.minimum(value + self.projection_dim * 2 * _RELATIVE_ERROR, 0.0)

    def log_probability_down(self, distance: ArrayLike) -> Floats:
        """As :meth:`log_probability`, rounded down."""
        with np.errstate(divide="ignore"):
            value = self.projection_dim * np.log(self.coordinate(distance)) * (1 + 1e-15)
        return value - self.projection_dim * 2 * _RELATIVE_ERROR

    def probability(self, distance: ArrayLike) -> Floats:
        """Probability that two points at ``distance`` share a cell, rounded up; same shape."""
        return np.exp(self.log_probability(distance))

    def distance(self, log_probability: float) -> float:
        """Distance at which the collision probability is e^``log_probability`` (to 1e-12).

        Raises
        ------
        ParameterError
            If ``log_probability`` is not a negative number.
        """
        if not log_probability < 0:
            raise ParameterError(f"log_probability = {log_probability!r}: < 0 is needed")
        goal = log_probability / self.projection_dim
        low, high = -60.0, 60.0
        while high - low > 1e-13:
            middle = (low + high) / 2
            if np.log(coordinate_collision(np.exp(middle))) < goal:
                low = middle
            else:
                high = middle
        return float(self.edge * np.sqrt(self.projection_dim) / np.exp(high))


def far_share(*, sampling_rate: float, threshold: int) -> float:
    r"""Return :math:`\kappa = \max_m p \Pr[1 + Bin(m,p) \ge \tau] / m`, rounded up.

    The coupling partner of a released record is a random sampled member of its bucket, so the
    probability that it lies beyond the coupling distance is at most :math:`\kappa N f^k`: the
    union that Fre-E2T's Lemma 2 leaves out.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """
    ranges.sampling_rate(sampling_rate)
    ranges.release_threshold(threshold)
    if sampling_rate == 1:
        return 1 / max(1, threshold - 1) * (1 + 1e-15)
    terms = JointTerms(
        sampling_rate=sampling_rate,
        threshold=threshold,
        shifts=np.array([np.inf]),
        epsilon=0.0,
        direction="add",
    )
    found = log_suprema(terms.evaluate, problems=1, first=max(1, threshold - 1), per_record=True)
    return float(np.exp(found.values[0])) * (1 + 1e-15)
