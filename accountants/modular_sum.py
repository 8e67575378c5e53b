r"""How many bits a sum modulo :math:`2^b` needs, and which granularity to take.

Secure aggregation adds integers (units of the granularity g) modulo :math:`2^b`; the sum is read
as a number from :math:`-2^{b-1}` to :math:`2^{b-1} - 1`. Wrapping is post-processing: it costs no
privacy, only the coordinates that wrap. The probability that any of them does is bounded, with n
vectors of norm at most c, noise :math:`N_Z(0, s^2)` from each, which is sub-Gaussian with variance
:math:`s^2` (Canonne, Kamath and Steinke 2020), and a union over d coordinates:

- in the worst case, all n vectors on one axis: :math:`2 d\, e^{-T^2/(2 n s^2)}` with
  :math:`T = 2^{b-1} - n \lceil c/g \rceil`;
- after a rotation with random signs (Walsh-Hadamard), where a coordinate of the true sum is
  sub-Gaussian with variance :math:`n^2 c^2/d` (Kairouz, Liu and Steinke 2021).

The signs have to be independent of the vectors. Proofs in ``docs/proofs/distributed-gaussian.md``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from accountants import ranges
from accountants.conditional_rounding import (
    ROUNDING_BIAS,
    ROUNDINGS,
    Rounding,
    rounded_sensitivity,
)
from accountants.discrete_closeness import checked_count, checked_scale
from accountants.errors import ParameterError

FAILURE = 1e-4  # of Kairouz, Liu and Steinke 2021
BITS_MAX = 300
_UP, _DOWN = 1 + 2.0**-48, 1 - 2.0**-48  # more than the rounding of the operations below


@dataclass(frozen=True, kw_only=True)
class ModularSum:
    r"""A sum of rounded vectors and their noise, taken modulo :math:`2^b`.

    Parameters
    ----------
    contributors : int
        n >= 1: all whose vectors and noise enter the sum.
    clip_norm : float
        c >= 0, bound of each vector's norm before rounding, in the unit of the embeddings.
    granularity : float
        g > 0, in the same unit.
    local_noise_std : float
        sigma > 0 of one contributor, in the same unit.
    dimension : int
        Number of coordinates, >= 1 (padding included).
    rotated : bool
        Whether the vectors were rotated with random signs before rounding.
    rounding : {"conditional", "independent", "shared dither"}
        See :mod:`accountants.conditional_rounding`.
    rounding_bias : float
        beta in (0, 1), for conditional rounding.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """

    contributors: int
    clip_norm: float
    granularity: float
    local_noise_std: float
    dimension: int
    rotated: bool = False
    rounding: Rounding = "independent"
    rounding_bias: float = ROUNDING_BIAS

    def __post_init__(self) -> None:
        """Check the ranges."""
        checked_count("contributors", self.contributors)
        checked_count("dimension", self.dimension)
        ranges.non_negative("clip_norm", self.clip_norm)
        ranges.positive("granularity", self.granularity)
        ranges.positive("local_noise_std", self.local_noise_std)
        ranges.open_unit("rounding_bias", self.rounding_bias)
        checked_scale(self.local_noise_std / self.granularity)
        if self.rounding not in ROUNDINGS:
            raise ParameterError(f"rounding = {self.rounding!r}: one of {ROUNDINGS} is needed")
        if not self.clip_norm / self.granularity <= 1e100:
            raise ParameterError(
                f"clip_norm = {self.clip_norm!r}: at most 1e100 times the granularity is needed"
            )

    def log_failure(self, bits: int) -> float:
        """Upper bound of the logarithm of the probability that a coordinate wraps; at most 0.

        Parameters
        ----------
        bits : int
            b, 1 to 300.

        Raises
        ------
        ParameterError
            If ``bits`` lies outside that range.
        """
        half = 1 << (ranges.whole("bits", bits, low=1, high=BITS_MAX) - 1)
        n, scale = self.contributors, self.local_noise_std / self.granularity
        size, noise = self.clip_norm / self.granularity * _UP, n * scale * scale * _UP
        largest = math.ceil(Fraction(self.clip_norm) / Fraction(self.granularity))
        bounds = [self._tail(half - n * largest, noise)]
        if self.rotated:
            spread = n * size * (n * size / self.dimension) * _UP
            # no coordinate of a vector moves by a whole unit; if the roundings are independent,
            # the errors are also sub-Gaussian with variance 1/4
            bounds.append(self._tail(half - n, spread + noise))
            if self.rounding != "shared dither":
                rejected = self.rounding_bias if self.rounding == "conditional" else 0.0
                bound = self._tail(half, spread + noise + n / 4)
                bounds.append(bound - n * math.log1p(-rejected) * _UP)
        return min(0.0, *bounds)

    def failure(self, bits: int) -> float:
        """Upper bound of the probability that any coordinate wraps, at ``bits`` from 1 to 300."""
        log_value = self.log_failure(bits)
        if math.isinf(log_value):
            return 0.0
        return min(1.0, max(math.exp(log_value) * _UP, 5e-324))

    def smallest_bits(self, *, failure: float = FAILURE) -> int:
        """Return the smallest bit width at which a coordinate wraps with at most that probability.

        Parameters
        ----------
        failure : float
            In (0, 1).

        Raises
        ------
        ParameterError
            If ``failure`` is not in (0, 1), or no width up to 300 is enough.
        """
        ranges.open_unit("failure", failure)
        if self.failure(BITS_MAX) > failure:
            raise ParameterError(f"failure = {failure!r}: no bit width up to {BITS_MAX} is enough")
        low, high = 0, BITS_MAX
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.failure(middle) > failure else (low, middle)
        return high

    def _tail(self, room: float, variance: float) -> float:
        """Return ln of 2 d exp(-room^2 / (2 variance)), rounded up."""
        if room <= 0:
            return 0.0
        deviations = room / math.sqrt(2 * variance) if variance > 0 else math.inf
        exponent = min(deviations * deviations, 1e300)
        return math.log(2 * self.dimension) * _UP - exponent * _DOWN


def coarsest_granularity(
    *,
    bound: float,
    dimension: int,
    local_noise_std: float,
    inflation: float,
    rounding: Rounding = "independent",
    rounding_bias: float = ROUNDING_BIAS,
    least_scale: float = 0.5,
    power_of_two: bool = False,
) -> float:
    r"""Return the largest granularity that costs little sensitivity and leaves enough noise.

    Parameters
    ----------
    bound, dimension, rounding, rounding_bias
        As for :func:`accountants.conditional_rounding.rounded_sensitivity`; ``bound`` > 0.
    local_noise_std : float
        sigma > 0 of one contributor, in the unit of ``bound``.
    inflation : float
        >= 1e-12: the rounded sensitivity is at most (1 + inflation) times ``bound``.
    least_scale : float
        > 0: sigma/g is at least that (Kairouz, Liu and Steinke 2021 need 1/2; with 2 or more the
        slack of :mod:`accountants.discrete_closeness` is below 1e-20 a coordinate for up to 1e9
        contributors).
    power_of_two : bool
        Whether the answer has to be a power of two.

    Returns
    -------
    float
        In the unit of ``bound``; it was seen to meet both conditions.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """
    ranges.positive("bound", bound)
    ranges.positive("local_noise_std", local_noise_std)
    if not 1e-12 <= inflation < math.inf:
        raise ParameterError(f"inflation = {inflation!r}: a finite number >= 1e-12 is needed")
    ranges.positive("least_scale", least_scale)

    def enough(g: float) -> bool:
        found = rounded_sensitivity(
            bound=bound,
            granularity=g,
            dimension=dimension,
            rounding=rounding,
            rounding_bias=rounding_bias,
        )
        return found <= bound * (1 + inflation) and local_noise_std / g >= least_scale

    limit = _moderate(min(local_noise_std / least_scale, bound * inflation))
    bad = 2.0 ** (math.ceil(math.log2(limit)) + 1)
    good = bad / 2
    while not enough(good):
        bad, good = good, good / 2
    return good if power_of_two else _boundary(enough, good, bad)


def finest_granularity(
    *,
    bits: int,
    contributors: int,
    clip_norm: float,
    local_noise_std: float,
    dimension: int,
    rotated: bool = False,
    rounding: Rounding = "independent",
    rounding_bias: float = ROUNDING_BIAS,
    failure: float = FAILURE,
    least_scale: float = 0.5,
    power_of_two: bool = False,
) -> float:
    r"""Return the smallest granularity at which the sum fits into ``bits``.

    Parameters
    ----------
    bits : int
        b, 1 to 300.
    contributors, clip_norm, local_noise_std, dimension, rotated, rounding, rounding_bias
        As for :class:`ModularSum`.
    failure : float
        In (0, 1): a coordinate wraps with at most that probability.
    least_scale : float
        > 0: sigma/g is at least that.
    power_of_two : bool
        Whether the answer has to be a power of two.

    Returns
    -------
    float
        In the unit of ``clip_norm``; it was seen to meet both conditions.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range, or no granularity meets both conditions.
    """
    ranges.open_unit("failure", failure)
    ranges.positive("local_noise_std", local_noise_std)
    ranges.positive("least_scale", least_scale)

    def enough(g: float) -> bool:
        found = ModularSum(
            contributors=contributors,
            clip_norm=clip_norm,
            granularity=g,
            local_noise_std=local_noise_std,
            dimension=dimension,
            rotated=rotated,
            rounding=rounding,
            rounding_bias=rounding_bias,
        )
        return found.failure(bits) <= failure and local_noise_std / g >= least_scale

    top = _moderate(local_noise_std / least_scale)
    good = 2.0 ** math.floor(math.log2(top)) if power_of_two else top * _DOWN
    if not enough(good):
        raise ParameterError(
            f"bits = {bits!r}: too few for {contributors} contributors at the largest granularity "
            f"allowed, {good:g}"
        )
    bad = good / 2
    while enough(bad):
        good, bad = bad, bad / 2
    return good if power_of_two else _boundary(enough, good, bad)


def _moderate(value: float) -> float:
    if not 1e-250 < value < 1e250:
        raise ParameterError(f"largest granularity = {value!r}: 1e-250 to 1e250 is supported")
    return value


def _boundary(enough: Callable[[float], bool], good: float, bad: float) -> float:
    """Return a point seen to be enough, within a relative 1e-9 of one that is not."""
    while abs(good - bad) > 1e-9 * good:
        middle = (good + bad) / 2
        good, bad = (middle, bad) if enough(middle) else (good, middle)
    return good
