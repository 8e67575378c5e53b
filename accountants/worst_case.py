r"""An explicit dataset on which a release leaks nearly as much as the tight total says.

M clusters of N coinciding records lie at distance D from the record x that differs, in spread
directions. When exactly one cluster shares x's cell, Theorem J is attained at (N, D), so

.. math::
   \delta(\epsilon) \ge \Pr[\text{exactly one collides}] \; J(\epsilon; N, D/\sigma), \qquad
   \Pr[\text{exactly one}] \ge M f^k - M (M-1) \Pr[\text{two given ones collide}].

Directions are taken independent and uniform on the sphere: some choice of directions is at least
as good as the average. For two directions with inner product :math:`\rho`, one coordinate's joint
probability is :math:`g(\rho) = \frac1L \int_0^L \Pr[a, b \in [-t, L - t]] dt` with (a, b) normal of
variance :math:`D^2/k` and correlation :math:`\rho`; Plackett's identity bounds its slope, so
:math:`g(\rho) \le g(0) + |\rho| K(|\rho|)` (``docs/proofs/explicit-dataset.md``).
"""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtr

from accountants import ranges
from accountants.errors import ParameterError
from accountants.fre_e2t import FreE2TParameters
from accountants.grid_collision import GridCollision
from accountants.joint_release import JointRelease
from accountants.ranges import Floats

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_SLACK = 1e-6  # Theorem J at a fixed N is within this of exact
_BINS = 400


def pair_probability(grid: GridCollision, *, distance: float, dimension: int) -> float:
    """Return an upper bound of the probability that two clusters both share the record's cell.

    Parameters
    ----------
    grid : GridCollision
        The grid.
    distance : float
        D > 0, of both clusters from the record.
    dimension : int
        d >= 3, of the embedding; the directions are independent and uniform on its sphere.

    Returns
    -------
    float
        At most the probability that one of them does.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """
    ranges.positive("distance", distance)
    if dimension < 3:
        raise ParameterError(f"dimension = {dimension!r}: at least 3 is needed")
    width = grid.edge * sqrt(grid.projection_dim) / distance
    times = (_NODES + 1) / 2 * width
    inside = ndtr(width - times) - ndtr(-times)
    orthogonal = float(_WEIGHTS @ (inside * inside)) / 2 * (1 + 1e-12)
    # |rho| squared is Beta(1/2, (d-1)/2); each quantile bin is taken at its larger end
    shares = np.concatenate([np.linspace(0, 1, _BINS)[:-1], 1 - np.logspace(-2.7, -14, 40), [1.0]])
    shares = np.unique(shares)
    ends = np.sqrt(betaincinv(0.5, (dimension - 1) / 2, shares[1:])) * (1 + 1e-9)
    rho = np.minimum(ends, 1 - 1e-12)
    scale = 2 * np.pi * np.sqrt(1 - rho * rho)
    rising = np.sqrt(np.pi * (1 + rho)) / (scale * width)
    falling = 2 * np.exp(-width * width / (4 * (1 + rho))) / scale
    single = float(grid.coordinate(distance))
    joint = np.minimum(orthogonal + rho * np.maximum(rising, falling), single)
    return float(np.diff(shares) @ joint**grid.projection_dim) * (1 + 1e-9)


@dataclass(frozen=True, kw_only=True)
class ExplicitDataset:
    """M clusters of N coinciding records at distance D from the record that differs.

    Parameters
    ----------
    parameters : FreE2TParameters
        The release.
    distance : float
        D > 0.
    neighbours : int
        N >= 1.
    clusters : int
        M >= 1 with M N + 1 <= records_max.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """

    parameters: FreE2TParameters
    distance: float
    neighbours: int
    clusters: int

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.positive("distance", self.distance)
        ranges.positive_integer("neighbours", self.neighbours)
        ranges.positive_integer("clusters", self.clusters)
        records = self.neighbours * self.clusters + 1
        if records > self.parameters.records_max:
            raise ParameterError(
                f"{self.clusters} clusters of {self.neighbours} and one more are {records} "
                f"records: at most records_max = {self.parameters.records_max} are allowed"
            )

    @cached_property
    def collision_probability(self) -> float:
        """Lower bound of the probability that exactly one of at most M clusters shares the cell.

        Once pairs of clusters collide often, fewer than M are better, and are counted.
        """
        grid = self.parameters.grid
        one = float(np.exp(grid.log_probability_down(self.distance))) * (1 - 1e-15)
        if self.clusters == 1:
            return one
        dimension = self.parameters.embedding_dim
        if dimension < 3:
            return one
        pair = pair_probability(grid, distance=self.distance, dimension=dimension)
        # fewer clusters are better once pairs matter: M (one - (M-1) pair) peaks there
        best = max(1.0, min(float(self.clusters), (one / pair + 1) / 2)) if pair > 0 else 1.0
        m = float(np.floor(best))
        return max(m * one - m * (m - 1) * pair, 0.0) * (1 - 1e-12)

    @property
    def conditional(self) -> JointRelease:
        """Theorem J given that exactly one cluster collides; attained."""
        return JointRelease(
            sampling_rate=self.parameters.sampling_rate,
            threshold=self.parameters.threshold,
            shift=self.distance / self.parameters.noise_std,
            others=self.neighbours,
        )

    def delta(self, epsilon: ArrayLike) -> Floats:
        """Lower bound of what any accountant can prove at each ``epsilon`` >= 0; same shape."""
        release = self.conditional
        # "remove" holds a difference of two probabilities below the threshold, rounded up
        remove = release.delta_remove(epsilon) - 2e-12 / (1 - self.parameters.sampling_rate)
        exact = np.maximum(release.delta_add(epsilon), remove) * (1 - _SLACK)
        return np.maximum(self.collision_probability * exact, 0.0)


def strongest_dataset(parameters: FreE2TParameters, *, epsilon: float) -> ExplicitDataset:
    """Return the explicit dataset with (nearly) the largest delta at ``epsilon``.

    Raises
    ------
    ParameterError
        If ``epsilon`` is negative or no cluster fits into records_max.
    """
    ranges.non_negative("epsilon", epsilon)
    p = parameters
    others = p.records_max - 1
    if others < max(1, p.threshold - 1):
        raise ParameterError(
            f"records_max = {p.records_max!r}: no bucket of {p.threshold} records fits"
        )
    low, high = max(1, p.threshold - 1), min(others, int(4 * p.threshold / p.sampling_rate) + 4)
    sizes = np.unique(np.geomspace(low, high, 24).astype(int))
    center = p.grid_edge * sqrt(p.projection_dim)
    best: ExplicitDataset | None = None
    value = -1.0
    for spread, steps in ((2.0, 33), (0.15, 13), (0.03, 7)):
        around = best.distance if best else center
        if best:
            near = best.neighbours * np.exp(np.linspace(-spread, spread, 9))
            sizes = np.unique(np.clip(near.astype(int), low, high))
        for distance in around * np.exp(np.linspace(-spread, spread, steps)):
            for size in sizes:
                candidate = ExplicitDataset(
                    parameters=p,
                    distance=float(distance),
                    neighbours=int(size),
                    clusters=others // int(size),
                )
                delta = float(candidate.delta(epsilon))
                if delta > value:
                    best, value = candidate, delta
    assert best is not None
    return best
