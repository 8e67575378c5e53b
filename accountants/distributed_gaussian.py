r"""The distributed discrete Gaussian mechanism, accounted for as Kairouz, Liu and Steinke do.

n contributors each round a vector to a grid of granularity g and add g times independent
:math:`N_Z(0, \sigma^2/g^2)` to each of d coordinates; only the sum is seen. With D_2 and D_1 the
rounded L2 and L1 sensitivities over :math:`\sqrt n \sigma` and

.. math:: \tau = 10 \sum_{j=1}^{n-1} e^{-2\pi^2 (\sigma^2/g^2) j/(j+1)}

the Rényi divergence of every order :math:`\alpha > 1` is at most each of

.. math::
   \tfrac\alpha2 D_2^2 + \tau d, \quad
   \tfrac\alpha2 (D_2^2 + 2 D_1 \tau + \tau^2 d), \quad
   \tfrac\alpha2 (D_2 + \tau \sqrt d)^2

(Kairouz, Liu and Steinke 2021; proof, for
:math:`\sigma/g \ge 1/2` and all orders, in ``docs/proofs/distributed-gaussian.md``).
The first holds with a much smaller :math:`\tau` too, from the lattice sum of
:mod:`accountants.discrete_closeness`; its ``DirectDistributedGaussian`` bounds the same mechanism
with no Rényi divergence in between.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.conditional_rounding import (
    ROUNDING_BIAS,
    Rounding,
    l1_sensitivity,
    rounded_sensitivity,
)
from accountants.discrete_closeness import (
    DirectDistributedGaussian,
    checked_count,
    checked_scale,
    convolution_slack,
)
from accountants.errors import ParameterError
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from accountants.zcdp import RenyiProfile, ZeroConcentrated

ORDERS = (*range(2, 129), 256)  # those of Kairouz, Liu and Steinke 2021
LEAST_SCALE = 0.5
_CLOSENESS = 10.0  # the constant of tau
_DIRECT = 20_000  # terms of tau summed one by one; the rest is bounded by an integral
_UNIT = 2.0**-53
_UP = 1 + 2.0**-48  # more than the rounding of the operations below


@dataclass(frozen=True, kw_only=True)
class DistributedGaussian(PrivacyProfile):
    r"""Kairouz, Liu and Steinke 2021, for a sum over n contributors.

    Parameters
    ----------
    contributors : int
        >= 1, all that add noise to the sum.
    bound : float
        >= 0, in the unit of the embeddings: the clip norm c for conditional rounding, the distance
        D of a record and its replacement for the other two.
    granularity : float
        g > 0, in the same unit.
    local_noise_std : float
        sigma of one contributor, in the same unit, at least g/2.
    dimension : int
        Coordinates that carry noise, >= 1 (padding included).
    dropped, colluding : int
        Contributors whose noise is missing from the sum, or known to the observer, >= 0; at least
        one other has to be left.
    rounding : {"conditional", "independent", "shared dither"}
        See :mod:`accountants.conditional_rounding`.
    rounding_bias : float
        beta in (0, 1), for conditional rounding.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.

    Notes
    -----
    Adjacency: conditional rounding, one contributor's vector is set to 0 or the other way round
    (the noise stays); the other two, one record replaced by another at distance at most D. View:
    of whoever sees the sum and ``colluding`` contributors' noise, nothing else.
    """

    contributors: int
    bound: float
    granularity: float
    local_noise_std: float
    dimension: int
    dropped: int = 0
    colluding: int = 0
    rounding: Rounding = "conditional"
    rounding_bias: float = ROUNDING_BIAS

    def __post_init__(self) -> None:
        """Check the ranges."""
        checked_count("contributors", self.contributors)
        checked_count("dimension", self.dimension)
        ranges.whole("dropped", self.dropped)
        ranges.whole("colluding", self.colluding)
        if self.honest < 1:
            raise ParameterError(
                f"dropped + colluding = {self.dropped + self.colluding}: fewer than the "
                f"{self.contributors} contributors are needed"
            )
        ranges.positive("granularity", self.granularity)
        ranges.positive("local_noise_std", self.local_noise_std)
        if checked_scale(self.local_noise_std / self.granularity) < LEAST_SCALE:
            raise ParameterError(
                f"local_noise_std = {self.local_noise_std!r}: at least half the granularity, "
                f"{self.granularity / 2:g}, is needed"
            )
        if not math.isfinite(self.sensitivity / self.granularity):
            raise ParameterError(f"bound = {self.bound!r}: less, in units of g, is needed")

    @property
    def honest(self) -> int:
        """Contributors whose noise is in the sum and unknown: the n of the bound."""
        return self.contributors - self.dropped - self.colluding

    @property
    def total_noise_std(self) -> float:
        """Standard deviation (parameter) of the honest contributors' noise together."""
        return math.sqrt(self.honest) * self.local_noise_std

    @cached_property
    def sensitivity(self) -> float:
        """L2 sensitivity after rounding, in the unit of the embeddings, rounded up."""
        return rounded_sensitivity(
            bound=self.bound,
            granularity=self.granularity,
            dimension=self.dimension,
            rounding=self.rounding,
            rounding_bias=self.rounding_bias,
        )

    @cached_property
    def closeness(self) -> float:
        """The term tau, rounded up."""
        log_sum = log_step_sum(
            local_scale=self.local_noise_std / self.granularity, contributors=self.honest
        )
        if math.isinf(log_sum):
            return 0.0
        return max(_CLOSENESS * math.exp(log_sum) * _UP, 5e-324)

    @cached_property
    def branches(self) -> dict[str, PrivacyProfile]:
        """The bounds of which the least counts, by name.

        "zcdp": the concentrated bound; "rdp": the least of the three divergences at the orders 2
        to 128 and 256; "rdp, all orders": the same over all real orders; "rdp, lattice": the first
        divergence with :func:`accountants.discrete_closeness.convolution_slack` for tau.
        """
        tau, root = self.closeness, math.sqrt(self.dimension)
        l2 = _ratio(self.sensitivity, self.total_noise_std)
        l1 = _ratio(
            l1_sensitivity(
                l2=self.sensitivity, granularity=self.granularity, dimension=self.dimension
            ),
            self.total_noise_std,
        )
        plain, constant = _half_square(l2), tau * self.dimension * _UP
        mixed = (plain + l1 * tau + tau * tau * self.dimension / 2) * _UP
        norms = _half_square(l2 + tau * root)
        slack = convolution_slack(
            local_scale=self.local_noise_std / self.granularity, contributors=self.honest
        )
        lattice = 2 * slack * self.dimension * _UP
        orders = np.array(ORDERS, float)
        with np.errstate(over="ignore"):
            least = np.minimum(orders * plain + constant, orders * min(mixed, norms)) * _UP
        # at the order 1 the first curve is plain + constant: all orders, as one concentrated bound
        return {
            "zcdp": ZeroConcentrated(rho=min((plain + constant) * _UP, norms)),
            "rdp": RenyiProfile(orders=tuple(orders), values=tuple(least)),
            "rdp, all orders": _Least(
                first=ZeroConcentrated(rho=plain, offset=constant),
                second=ZeroConcentrated(rho=min(mixed, norms)),
            ),
            "rdp, lattice": ZeroConcentrated(rho=plain, offset=lattice),
        }

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        eps = ranges.epsilons(epsilon)
        return np.asarray(
            np.min([profile.log_delta(eps) for profile in self.branches.values()], axis=0)
        )

    def winner(self, delta: float) -> str:
        """Name of the branch with the least epsilon at ``delta`` in [0, 1], the first if equal.

        Raises
        ------
        ParameterError
            If ``delta`` lies outside [0, 1].
        """
        return min(self.branches, key=lambda name: float(self.branches[name].epsilon(delta)))

    def direct(self) -> DirectDistributedGaussian:
        """Return the same mechanism's bound without Rényi divergences, usually smaller."""
        return DirectDistributedGaussian(
            sensitivity=self.sensitivity,
            local_noise_std=self.local_noise_std,
            granularity=self.granularity,
            contributors=self.honest,
            dimension=self.dimension,
        )

    @classmethod
    def with_broadcast_count(
        cls,
        *,
        total_noise_std: float,
        broadcast_count: int,
        bound: float,
        granularity: float,
        dimension: int,
        dropped: int = 0,
        colluding: int = 0,
        rounding: Rounding = "independent",
    ) -> "DistributedGaussian":
        r"""Return the mechanism where each contributor adds its share of ``total_noise_std``.

        Every contributor knows the sum's number of contributors c(h), which is broadcast anyway,
        and adds :math:`\sigma/\sqrt{c(h)}` (:func:`broadcast_noise_std`). The noise of the sum
        then stays sigma for any count, so that a centroid's error falls like 1/c(h); with
        :math:`\sigma/\sqrt\tau` from each of c(h) it grows like
        :math:`\sqrt{c(h)/\tau}`. Those who drop out or collude take their share away.

        Parameters
        ----------
        total_noise_std : float
            sigma > 0, of the sum, in the unit of the embeddings.
        broadcast_count : int
            c(h) >= 1; at most (2 sigma/g)^2, as one share has to be at least g/2.
        bound, granularity, dimension, dropped, colluding, rounding
            As for the class.

        Raises
        ------
        ParameterError
            If a parameter lies outside its range.
        """
        return cls(
            contributors=broadcast_count,
            bound=bound,
            granularity=granularity,
            local_noise_std=broadcast_noise_std(
                total_noise_std=total_noise_std, broadcast_count=broadcast_count
            ),
            dimension=dimension,
            dropped=dropped,
            colluding=colluding,
            rounding=rounding,
        )


def broadcast_noise_std(*, total_noise_std: float, broadcast_count: int) -> float:
    r"""Return one contributor's share :math:`\sigma/\sqrt{c(h)}` of the noise.

    Parameters
    ----------
    total_noise_std : float
        sigma > 0.
    broadcast_count : int
        c(h) >= 1.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """
    ranges.positive("total_noise_std", total_noise_std)
    return total_noise_std / math.sqrt(ranges.positive_integer("broadcast_count", broadcast_count))


def log_step_sum(*, local_scale: float, contributors: int) -> float:
    r"""Return :math:`\ln \sum_{j=1}^{n-1} e^{-2\pi^2 s^2 j/(j+1)}`, rounded up; ``-inf`` for n = 1.

    Parameters
    ----------
    local_scale : float
        s > 0.
    contributors : int
        n >= 1; beyond 20 000 terms the rest is bounded by an integral.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """
    scale, count = checked_scale(local_scale), checked_count("contributors", contributors)
    if count == 1:
        return -float("inf")
    constant = 2 * np.pi**2 * scale**2 * (1 - 8 * _UNIT)
    j = np.arange(1.0, min(count - 1, _DIRECT) + 1)
    total = _log_total(-constant * j / (j + 1) * (1 - 4 * _UNIT))
    if count - 1 > _DIRECT:
        total = float(np.logaddexp(total, _log_step_tail(constant, len(j), count)))
    return total + 1e-15 * (1 + abs(total))


@dataclass(frozen=True, kw_only=True)
class _Least(PrivacyProfile):
    """The smaller of two bounds of one mechanism."""

    first: PrivacyProfile
    second: PrivacyProfile

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        return np.minimum(self.first.log_delta(epsilon), self.second.log_delta(epsilon))


def _ratio(sensitivity: float, noise: float) -> float:
    return sensitivity / noise * _UP


def _half_square(value: float) -> float:
    return value * value / 2 * _UP


def _log_step_tail(constant: float, first: int, count: int) -> float:
    r"""Bound the logarithm of the sum over j from ``first`` + 1 to ``count`` - 1.

    The terms are convex in j, so their sum is at most the integral from ``first`` + 1/2 to
    ``count`` - 1/2, in which :math:`e^x \le 1 + x + x^2 e^x/2`; and at most count times the first.
    """
    crude = np.log(count - 1 - first) - constant * (first + 1) / (first + 2)
    a, b = first + 1.5, count + 0.5
    if constant / a > 1:
        return float(crude * (1 - 1e-14 * np.sign(crude)) + 1e-14)
    square = constant**2 / 2 * (1 / a - 1 / b) * np.exp(constant / a)
    fine = np.log((b - a) + constant * np.log(b / a) + square) - constant
    least = min(crude, fine)
    return float(least + 1e-14 * (1 + abs(least)))


def _log_total(logs: Floats) -> float:
    top = float(logs.max())
    if np.isinf(top):
        return top
    return top + float(np.log(np.sum(np.exp(logs - top)))) + 4e-12
