"""The parameters of one Fre-E2T release that its accountants share."""

from dataclasses import dataclass
from math import sqrt

from accountants import ranges
from accountants.errors import ParameterError
from accountants.grid_collision import GridCollision
from accountants.noise_growth import NoiseGrowth

LATTICE_STEP = 2.0**-24
"""Step g to which a real release rounds embeddings; every distance grows by g sqrt(d)."""

RECORDS_LIMIT = 10**12


@dataclass(frozen=True, kw_only=True)
class FreE2TParameters:
    r"""Embedding, projection, grid, sampling, threshold and noise of one release.

    Parameters
    ----------
    records_max : int
        Public upper bound of the number of records, 1 to 1e12.
    embedding_dim, projection_dim : int
        d and k, each >= 1.
    grid_edge : float
        L > 0; the paper's default is 2 r / sqrt(k) for a neighbourhood radius r.
    sampling_rate : float
        p in (0, 1]; at 1 a released count gives the record away.
    threshold : int
        :math:`\tau \ge 1` on the sampled count.
    noise_std : float
        :math:`\sigma \ge 0`, on each coordinate of a bucket's embedding sum; ``inf`` is allowed.
    radius : float
        r > 0; with ``sensitivity_ratio`` it gives the paper's coupling distance u r.
    sensitivity_ratio : float, optional
        u > 0; used by the paper's analysis only.
    budget_factor : float, optional
        v > 0; used by the paper's analysis only.
    lattice_step : float
        g >= 0: embeddings are rounded to multiples of it before they are summed; 0 for none.
    rounding_distance : float, optional
        What rounding can add to a distance; :math:`g \sqrt d` (nearest point) unless given.
    noise_growth : NoiseGrowth, optional
        For noise that grows with the count; ``noise_std`` is then that at its threshold, which is
        at most the release's.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """

    records_max: int
    embedding_dim: int
    projection_dim: int
    grid_edge: float
    sampling_rate: float
    threshold: int
    noise_std: float
    radius: float
    sensitivity_ratio: float | None = None
    budget_factor: float | None = None
    lattice_step: float = LATTICE_STEP
    rounding_distance: float | None = None
    noise_growth: NoiseGrowth | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.positive_integer("records_max", self.records_max)
        if self.records_max > RECORDS_LIMIT:
            raise ParameterError(
                f"records_max = {self.records_max!r}: at most {RECORDS_LIMIT:.0e} is supported"
            )
        ranges.positive_integer("embedding_dim", self.embedding_dim)
        ranges.positive_integer("projection_dim", self.projection_dim)
        ranges.positive("grid_edge", self.grid_edge)
        ranges.sampling_rate(self.sampling_rate)
        ranges.release_threshold(self.threshold)
        ranges.non_negative("noise_std", self.noise_std, finite=False)
        ranges.positive("radius", self.radius)
        for name in ("sensitivity_ratio", "budget_factor"):
            value = getattr(self, name)
            if value is not None:
                ranges.positive(name, value)
        ranges.non_negative("lattice_step", self.lattice_step)
        if self.rounding_distance is not None:
            ranges.non_negative("rounding_distance", self.rounding_distance)
        if self.noise_growth is not None and self.noise_growth.threshold > self.threshold:
            raise ParameterError(  # the u-free bound's chords need shifts that are not stretched
                f"noise_growth.threshold = {self.noise_growth.threshold!r}: "
                f"at most threshold = {self.threshold!r} is needed"
            )

    @property
    def grid(self) -> GridCollision:
        """The grid's collision probability (Fre-E2T, Lemma 2)."""
        return GridCollision(edge=self.grid_edge, projection_dim=self.projection_dim)

    @property
    def rounding(self) -> float:
        """How much rounding can add to a distance."""
        if self.rounding_distance is not None:
            return self.rounding_distance
        return self.lattice_step * sqrt(self.embedding_dim) * (1 + 4 * 2.0**-53)
