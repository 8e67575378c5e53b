r"""The tight total of Fre-E2T when every contributor adds a share of discrete noise.

Each sampled user rounds the (rotated, padded) vector to multiples of g and adds discrete Gaussian
noise to each coordinate. By ``docs/proofs/discrete-to-continuous.md`` the sum's law, whatever the
count, is within :math:`e^{\pm\xi}` of a post-processing of continuous noise that is a little
smaller, so the whole release, count and "nothing" included, is :math:`(\epsilon, \delta)` with
:math:`\delta(\epsilon) = e^\xi \delta_c(\epsilon - 2\xi)`, :math:`\delta_c` the tight total at that
noise. Rounding adds to every distance: one shared public dither :math:`g \sqrt{d'}`, independent
rounding :math:`2 g \sqrt{d'}`.

With local noise :math:`\sigma/\sqrt\tau` the noise grows with the count
(:class:`accountants.noise_growth.NoiseGrowth`); with local noise :math:`\sigma/\sqrt{c(h)}`, c(h)
the broadcast count, it stays :math:`\sigma`. Users who collude know their own noise: what they
would have added does not count.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import atanh, erfc, exp, isinf, log, pi, sqrt, tanh
from typing import Literal

from numpy.typing import ArrayLike

from accountants import ranges
from accountants.conditional_rounding import padded_dimension
from accountants.discrete_closeness import CloseProfile, best_smoothing, convolution_slack
from accountants.errors import ParameterError
from accountants.fre_e2t import FreE2TParameters
from accountants.noise_growth import NoiseGrowth
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from accountants.tag_padding import TagPadding
from accountants.tight_total import TightTotal

LocalNoise = Literal["threshold", "count"]
Rounding = Literal["shared", "independent"]

_UNIT = 2.0**-53
_NEGLIGIBLE = 1e-9  # slack of the convolution up to which more noise is made use of


@dataclass(frozen=True, kw_only=True)
class DistributedNoise:
    r"""How the users share the noise of a bucket.

    Parameters
    ----------
    granularity : float
        g > 0, in the unit of the embeddings: what the integers count.
    rounding : {"shared", "independent"}
        One public dither for all users, or each user's own randomised rounding.
    local_noise : {"threshold", "count"}
        Local noise of variance :math:`\sigma^2/\tau`, or :math:`\sigma^2/c(h)` with the broadcast
        count.
    rotated : bool
        Whether vectors are padded to a power of two for a Walsh-Hadamard rotation.

    Raises
    ------
    ParameterError
        If a value is not allowed.
    """

    granularity: float
    rounding: Rounding = "shared"
    local_noise: LocalNoise = "threshold"
    rotated: bool = True

    def __post_init__(self) -> None:
        """Check the values."""
        ranges.positive("granularity", self.granularity)
        for name, allowed in (
            ("rounding", ("shared", "independent")),
            ("local_noise", ("threshold", "count")),
        ):
            if getattr(self, name) not in allowed:
                raise ParameterError(
                    f"{name} = {getattr(self, name)!r}: one of {allowed} is needed"
                )

    def coordinates(self, embedding_dim: int) -> int:
        """Return how many coordinates carry noise."""
        return padded_dimension(embedding_dim) if self.rotated else embedding_dim

    def rounding_distance(self, embedding_dim: int) -> float:
        """Return what rounding can add to a distance, rounded up."""
        ways = 1 if self.rounding == "shared" else 2
        root = sqrt(self.coordinates(embedding_dim)) * (1 + 2 * _UNIT)
        return ways * self.granularity * root * (1 + 2 * _UNIT)


@dataclass(frozen=True, kw_only=True)
class DistributedTotal(PrivacyProfile):
    r"""The tight total with discrete noise shared by the contributors.

    Parameters
    ----------
    parameters : FreE2TParameters
        The release; ``noise_std`` is :math:`\sigma`, the noise of a bucket whose count is the
        threshold. Its own rounding is replaced by that of ``noise``.
    noise : DistributedNoise
        How it is shared.
    colluders : int
        How many users, all in one bucket, pass on what they know: c < threshold.
    padding : TagPadding, optional
        For the synthesis server's view.

    Raises
    ------
    ParameterError
        If a value is not allowed, or no honest contributor is sure to remain.
    """

    parameters: FreE2TParameters
    noise: DistributedNoise
    colluders: int = 0
    padding: TagPadding | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        p = self.parameters
        ranges.whole("colluders", self.colluders)
        if self.colluders >= p.threshold:
            raise ParameterError(
                f"colluders = {self.colluders!r}: fewer than threshold = {p.threshold} are needed, "
                "or a released bucket may hold no honest contributor"
            )
        if not 0 < p.noise_std < float("inf"):
            raise ParameterError(f"noise_std = {p.noise_std!r}: a finite number > 0 is needed")

    @property
    def slack(self) -> float:
        r"""Return :math:`\xi`, for all coordinates and any count, rounded up."""
        return self._account[1]

    @property
    def total(self) -> TightTotal:
        """The tight total at the continuous noise that the discrete one is compared with."""
        return TightTotal(parameters=self._account[0], padding=self.padding)

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        return self._close.log_delta(epsilon)

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Smallest epsilon seen to meet each ``delta`` in [0, 1]; same shape."""
        return self._close.epsilon(delta)

    @property
    def _close(self) -> CloseProfile:
        release, slack = self._account
        return CloseProfile(base=TightTotal(parameters=release, padding=self.padding), slack=slack)

    @cached_property
    def _account(self) -> tuple[FreE2TParameters, float]:
        """The release with continuous noise, and the slack."""
        p, noise = self.parameters, self.noise
        honest = p.threshold - self.colluders
        d = noise.coordinates(p.embedding_dim)
        # the honest share of the noise at the threshold; with local noise sigma / sqrt(c(h)) the
        # share grows with the count, which is not made use of
        std = p.noise_std * sqrt(honest / p.threshold) * (1 - 4 * _UNIT)
        if noise.local_noise == "threshold":
            local = p.noise_std / noise.granularity / sqrt(p.threshold) * (1 - 4 * _UNIT)
            most = self._most(local, d)
            sums = largest_slack(local, honest, most)
            smooth = best_smoothing(local_scale=local, contributors=honest, dimension=d)
        else:
            local = p.noise_std / noise.granularity / sqrt(p.records_max) * (1 - 4 * _UNIT)
            most = honest
            # the slack of n of them falls with their noise, which is least at the largest count
            sums = largest_slack(local, honest, max(p.records_max, honest))
            scale = std / noise.granularity
            smooth = best_smoothing(local_scale=scale, contributors=1, dimension=d)
        loss = smooth.variance * noise.granularity**2 / std**2 * (1 + 8 * _UNIT)
        slack = (d * sums + smooth.slack) * (1 + 8 * _UNIT)
        if isinf(slack) or not loss < 1:
            return p, float("inf")
        release = replace(
            p,
            threshold=honest,
            noise_std=std * sqrt(1 - loss) * (1 - 4 * _UNIT),
            rounding_distance=noise.rounding_distance(p.embedding_dim),
            noise_growth=None
            if most == honest
            else NoiseGrowth(threshold=honest, most=most, loss=loss),
        )
        return release, slack

    def _most(self, local: float, dimension: int) -> int:
        """Return a number of contributors whose noise is made use of: more cost more slack."""
        honest = self.parameters.threshold - self.colluders
        most = max(self.parameters.records_max, honest)
        while most > honest:
            if dimension * convolution_slack(local_scale=local, contributors=most) < _NEGLIGIBLE:
                break
            most = max(honest, most // 8)
        while most > honest and dimension * largest_slack(local, honest, most) >= _NEGLIGIBLE:
            most = max(honest, most // 8)
        return most


def largest_slack(local_scale: float, first: int, last: int) -> float:
    r"""Return an upper bound of :func:`convolution_slack` over ``first`` <= n <= ``last``.

    The slack is not monotone in n. By :math:`e_n \le I_n = e_n + \mathrm{erfc}(\sqrt{nK}/2)` and
    :math:`I_n \le (n/m)^{3/2} e^{(n-m) a(0)} I_m` for :math:`m \le n`
    (``docs/proofs/server-views.md``) ranges of n are cut until none exceeds the largest slack seen
    by more than 2%.

    Parameters
    ----------
    local_scale : float
        s > 0, one contributor's noise in units of the granularity.
    first, last : int
        1 <= ``first`` <= ``last``.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """
    k = 2 * pi**2 * local_scale**2
    best = max(convolution_slack(local_scale=local_scale, contributors=n) for n in (first, last))
    bound, ranges_left = best, [(first, last)]
    while ranges_left and best < float("inf"):
        low, high = ranges_left.pop()
        here = convolution_slack(local_scale=local_scale, contributors=low)
        best = max(best, here)
        whole = tanh(here) + erfc(sqrt(low * k) / 2)
        steps = 1.5 * log(high / low) + (high - low) * 2.2 * exp(-k)
        above = whole * exp(min(steps, 700.0)) * (1 + 1e-9) if low < high else here
        if low == high or above <= max(1.02 * tanh(best), 1e-280):
            bound = max(bound, atanh(above) if low < high else here)
            continue
        middle = min(max(int(sqrt(low) * sqrt(high)), low), high - 1)
        ranges_left += [(low, middle), (middle + 1, high)]
    return max(best, bound)
