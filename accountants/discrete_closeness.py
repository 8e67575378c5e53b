r"""A sum of discrete Gaussians, accounted for as the continuous Gaussian it is close to.

The sum of n independent :math:`N_Z(0, s^2)` plus an integer v is, at every integer, within factors
of known size of a post-processing of the continuous :math:`N(v, n s^2 - \eta^2)`: draw Y from it,
then the discrete Gaussian around Y with parameter :math:`\eta^2` (Peikert 2010, Theorem 3.1). With

.. math::
   e_n = \sum_{w \in A_{n-1}^* \setminus 0} e^{-2 \pi^2 s^2 |w|^2}, \qquad
   e_\eta = 2 \sum_{m \ge 1} e^{-2 \pi^2 m^2 \eta^2}

(:math:`A_{n-1}^*`: the projection of :math:`Z^n` along (1, ..., 1); about
:math:`2 n e^{-2\pi^2 s^2 (n-1)/n}`), the logarithm of the ratio of the two probabilities lies in
an interval no wider than :math:`2 \xi` that ends at most at :math:`\xi`, where
:math:`\xi = \mathrm{artanh}\, e_n + \mathrm{artanh}\, e_\eta`
(proof in ``docs/proofs/discrete-to-continuous.md``). For d coordinates it is :math:`d \xi`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from accountants import ranges
from accountants.errors import ParameterError
from accountants.gaussian import log_hockey_stick
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats

_UNIT = 2.0**-53
_CELLS = 4000  # of the integral that bounds e_n, twice
_SHARP = 1e-3  # slack below which fewer contributors are not tried
SCALE_MAX = 1e100
COUNT_MAX = 10**15


@dataclass(frozen=True, kw_only=True)
class CloseProfile(PrivacyProfile):
    r"""A mechanism whose outputs are pointwise close to those of another one.

    For each data set the ratio p/p~ of the mechanism's to the other's probability of an outcome
    is at most :math:`e^\xi`, and its largest value over all outcomes and data sets is at most
    :math:`e^{2\xi}` times its smallest. Then

    .. math:: H_{e^\epsilon}(P \| Q) \le e^\xi H_{e^{\epsilon - 2\xi}}(\tilde P \| \tilde Q).

    Below :math:`\epsilon = 2\xi`, with :math:`a = e^{\epsilon-2\xi} < 1`, the identity
    :math:`H_a(P \| Q) = 1 - a + a H_{1/a}(Q \| P)` is used.

    Parameters
    ----------
    base : PrivacyProfile
        Bound of the other mechanism, in both directions.
    slack : float
        :math:`\xi \ge 0`; ``inf`` gives delta = 1.

    Raises
    ------
    ParameterError
        If ``slack`` is negative or NaN.
    """

    base: PrivacyProfile
    slack: float

    def __post_init__(self) -> None:
        """Check the range."""
        ranges.non_negative("slack", self.slack, finite=False)

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        eps = ranges.epsilons(epsilon)
        if self.slack == 0:
            return self.base.log_delta(eps)
        if self.slack > 1e3:  # above ln 1/delta for every delta of use
            return np.zeros(eps.shape)
        moved = np.where(np.isinf(eps), np.inf, np.nextafter(eps - 2 * self.slack, -np.inf))
        moved = np.where(np.isinf(eps), np.inf, np.nextafter(moved, -np.inf))
        there = self.base.log_delta(np.abs(moved))
        with np.errstate(divide="ignore"):
            below = np.minimum(moved, 0.0)
            low = np.log(-np.expm1(below) + np.exp(below + there)) + 8 * _UNIT
        bound = np.where(moved < 0, low, there) + self.slack
        size = np.where(np.isfinite(bound), np.abs(bound) + self.slack + 1, 0.0)
        return np.asarray(np.minimum(bound + 8 * _UNIT * size, 0.0))

    def epsilon(self, delta: ArrayLike) -> Floats:
        r"""Return :math:`2\xi` more than the other mechanism's epsilon at :math:`\delta e^{-\xi}`.

        Rounded up; ``inf`` where there is none; not the smallest one below :math:`2\xi`.
        """
        targets = ranges.deltas(delta)
        if self.slack > 1e3:
            return np.where(targets < 1, np.inf, 0.0)
        there = self.base.epsilon(targets * np.exp(-self.slack) * (1 - 8 * _UNIT))
        moved = np.nextafter(there + 2 * self.slack * (1 + 4 * _UNIT), np.inf)
        return np.where(targets < 1, np.where(self.slack == 0, there, moved), 0.0)


@dataclass(frozen=True, kw_only=True)
class Smoothing:
    """The variance taken from the noise to make it continuous, and what that costs.

    Attributes
    ----------
    variance : float
        eta^2, in units of the granularity squared.
    slack : float
        artanh e_eta for all coordinates together; ``inf`` where e_eta >= 1.
    """

    variance: float
    slack: float


@dataclass(frozen=True, kw_only=True)
class DirectDistributedGaussian(PrivacyProfile):
    r"""The sum of rounded vectors with discrete Gaussian noise from each of n contributors.

    Each coordinate of the sum carries n independent :math:`g N_Z(0, \sigma^2/g^2)`. The bound is
    that of the Gaussian mechanism at :math:`\mu = D'/\sqrt{n\sigma^2 - \eta^2 g^2}` behind
    :class:`CloseProfile`. A part of the noise may be treated as post-processing, so the bound with
    any number of contributors up to n holds too; powers of two are tried where the slack matters.

    Parameters
    ----------
    sensitivity : float
        D' >= 0: L2 distance of the two rounded vectors, in the unit of the embeddings
        (:func:`accountants.conditional_rounding.rounded_sensitivity`).
    local_noise_std : float
        sigma > 0 of one contributor, in the unit of the embeddings.
    granularity : float
        g > 0, the unit of the integers.
    contributors : int
        n >= 1 contributors whose noise is in the sum and unknown to the observer: without those
        who dropped out or collude.
    dimension : int
        Number of coordinates that carry noise, >= 1 (padding included).
    smoothing : float, optional
        eta^2 > 0 in units of g^2, less than n sigma^2/g^2; :func:`best_smoothing` by default.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.

    Notes
    -----
    Adjacency: that of the sensitivity, with both contributors' noise present. View: of whoever
    sees the sum and nothing else.
    """

    sensitivity: float
    local_noise_std: float
    granularity: float
    contributors: int
    dimension: int
    smoothing: float | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.non_negative("sensitivity", self.sensitivity)
        ranges.positive("granularity", self.granularity)
        ranges.positive("local_noise_std", self.local_noise_std)
        checked_count("contributors", self.contributors)
        checked_count("dimension", self.dimension)
        checked_scale(self.local_noise_std / self.granularity)
        if self.smoothing is not None:
            ranges.positive("smoothing", self.smoothing)
            if not self.smoothing < self.contributors * self.local_scale**2:
                raise ParameterError(
                    f"smoothing = {self.smoothing!r}: less than the noise variance in units of "
                    f"the granularity, {self.contributors * self.local_scale**2:g}, is needed"
                )

    @property
    def local_scale(self) -> float:
        """Return sigma/g, the discrete Gaussian's parameter."""
        return self.local_noise_std / self.granularity

    @cached_property
    def profiles(self) -> tuple[CloseProfile, ...]:
        """The bounds of which the least counts: with n contributors, and with fewer."""
        found = [self._profile(self.contributors)]
        fewer = 1 << (self.contributors.bit_length() - 1)
        while found[-1].slack > _SHARP and fewer >= 1:
            if fewer < self.contributors:
                found.append(self._profile(fewer))
            fewer //= 2
        return tuple(found)

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        eps = ranges.epsilons(epsilon)
        if self.sensitivity == 0:
            return np.full(eps.shape, -np.inf)
        return np.asarray(np.min([profile.log_delta(eps) for profile in self.profiles], axis=0))

    def _profile(self, contributors: int) -> CloseProfile:
        scale, room = self.local_scale, contributors * self.local_scale**2 * (1 - 8 * _UNIT)
        chosen = best_smoothing(
            local_scale=scale, contributors=contributors, dimension=self.dimension
        )
        if self.smoothing is not None and self.smoothing < room:
            chosen = smoothing(variance=self.smoothing, dimension=self.dimension)
        sums = convolution_slack(local_scale=scale, contributors=contributors)
        slack = (self.dimension * sums + chosen.slack) * (1 + 8 * _UNIT)
        shift = self.sensitivity / self.granularity / np.sqrt(room - chosen.variance)
        return CloseProfile(base=_Shifted(shift=float(shift * (1 + 8 * _UNIT))), slack=slack)


@dataclass(frozen=True, kw_only=True)
class _Shifted(PrivacyProfile):
    """Two unit Gaussians at distance ``shift``."""

    shift: float

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        return log_hockey_stick(ranges.epsilons(epsilon), self.shift)


def best_smoothing(*, local_scale: float, contributors: int, dimension: int) -> Smoothing:
    r"""Return the smoothing for about the smallest bound; every choice gives a bound.

    It balances the lost share of the variance, :math:`\eta^2/(n s^2)`, with the slack, about
    :math:`2 d e^{-2\pi^2\eta^2}`: :math:`\eta^2 = \ln(4\pi^2 d n s^2)/(2\pi^2)`, and at most half
    of the variance.

    Parameters
    ----------
    local_scale : float
        s > 0, one contributor's noise in units of the granularity.
    contributors, dimension : int
        n and d, >= 1.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """
    scale = checked_scale(local_scale)
    checked_count("dimension", dimension)
    variance = checked_count("contributors", contributors) * scale**2
    wanted = np.log(max(4 * np.pi**2 * dimension * variance, 4.0)) / (2 * np.pi**2)
    return smoothing(variance=float(min(wanted, variance / 2)), dimension=dimension)


def smoothing(*, variance: float, dimension: int) -> Smoothing:
    """Return the smoothing by ``variance`` (> 0, in units of g^2) and its slack, rounded up.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """
    ranges.positive("variance", variance)
    checked_count("dimension", dimension)
    k = min(2 * np.pi**2 * variance * (1 - 8 * _UNIT), 1e9)
    m = np.arange(1.0, 9.0)
    # the terms from m = 9 on are below e^(-80 k) of the first; at k < 0.5, e is above 1
    log_e = float(_log_sum(np.log(2) - k * m * m)) + 1e-14 * (1 + k)
    log_slack = _log_artanh(log_e) if k > 0.5 else float("inf")
    return Smoothing(variance=variance, slack=_exp(log_slack + np.log(dimension)))


def convolution_slack(*, local_scale: float, contributors: int) -> float:
    r"""Return :math:`\mathrm{artanh}\, e_n`, rounded up; ``inf`` if :math:`e_n \ge 1`.

    The sum of n independent :math:`N_Z(0, s^2)` has, at every integer, a probability at most
    e^slack times that of :math:`N_Z(0, n s^2)`; the largest ratio is at most e^(2 slack) times the
    smallest. The bound of :math:`e_n` is the integral

    .. math:: 2 \sqrt{nK/\pi} \int_0^{1/2} e^{-nKt^2} [(1 + a(t))^n - 1]\, dt, \quad
              a(t) = 2 \sum_{m \ge 1} e^{-K m^2} \cosh(2 K m t), \quad K = 2 \pi^2 s^2,

    less :math:`\mathrm{erfc}(\sqrt{nK}/2)`, with each factor at the end of a cell at which it is
    larger.

    Parameters
    ----------
    local_scale : float
        s > 0.
    contributors : int
        n >= 1.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """
    scale, n = checked_scale(local_scale), checked_count("contributors", contributors)
    if n == 1:
        return 0.0
    k = min(2 * np.pi**2 * scale**2 * (1 - 8 * _UNIT), 1e9)  # e_n falls in K
    if k < 1:  # always a bound; e_2 is above 2 e^(-1/2)
        return float("inf")
    reach = min(0.5, 1 / n + 12 / np.sqrt(n * k))
    ends = np.unique(np.append(np.linspace(0, reach, _CELLS), np.linspace(reach, 0.5, _CELLS)))
    start, end = ends[:-1], ends[1:]
    m = np.arange(1.0, 6.0)[:, None]
    # the terms from m = 6 on are below e^(-29 k) of the first
    log_a = _log_sum(-k * m * m + 2 * k * m * end + np.log1p(np.exp(-4 * k * m * end))) + 1e-8
    growth = n * np.exp(np.minimum(log_a, 2.0))
    small = np.log(n) + log_a + growth  # (1+a)^n - 1 <= n a e^(n a)
    power = n * np.log1p(np.exp(log_a))
    larger = power + np.log(-np.expm1(-np.maximum(power, 1e-9)))
    logs = np.where(growth < 1e-8, small, larger) - n * k * start * start
    logs = logs + np.log(2 * (end - start)) + np.log(n * k / np.pi) / 2
    logs = logs + 32 * _UNIT * (10 + n * k * start * start + np.abs(log_a) + power)
    log_e = float(_log_sum(logs))
    # the Gaussian's own part beyond 1/2, which the integral leaves out and e_n does not have
    log_beyond = float(np.log(2.0) + log_ndtr(-np.sqrt(n * k / 2)))
    share = np.exp(min(log_beyond - log_e - 1e-12 * (1 + abs(log_beyond)), 0.0))
    return _exp(_log_artanh(log_e + float(np.log1p(-0.999999 * share))))


def checked_scale(value: float) -> float:
    """Return sigma/g, > 0 and at most 1e100 (its square has to be a finite number).

    Raises
    ------
    ParameterError
        If it lies outside that range.
    """
    if not 0 < value <= SCALE_MAX:
        raise ParameterError(
            f"noise / granularity = {value!r}: a number > 0, at most {SCALE_MAX:.0e}, is needed"
        )
    return float(value)


def checked_count(name: str, value: int) -> int:
    """Return a number of contributors or coordinates, 1 to 1e15.

    Raises
    ------
    ParameterError
        If it lies outside that range.
    """
    return ranges.whole(name, value, low=1, high=COUNT_MAX)


def _log_artanh(log_e: float) -> float:
    """Logarithm of artanh e, rounded up; ``inf`` where e >= 1 (or nearly)."""
    if log_e > 0:
        return float("inf")
    if log_e < -20:
        return log_e + 1e-15 * (1 + abs(log_e))
    e = float(np.exp(log_e)) * (1 + 8 * _UNIT)
    return float(np.log(np.arctanh(e)) + 1e-14) if e < 0.9999 else float("inf")


def _log_sum(logs: Floats) -> Floats:
    """Logarithm of the sum of exponentials along the first axis, rounded up."""
    top = logs.max(axis=0)
    return np.asarray(top + np.log(np.sum(np.exp(logs - top), axis=0)) + 4e-12)


def _exp(log_value: float) -> float:
    """Exponential rounded up: 0 only for ``-inf``, ``inf`` where it overflows."""
    if np.isinf(log_value):
        return 0.0 if log_value < 0 else float("inf")
    if log_value > 700:
        return float("inf")
    return max(float(np.exp(log_value)) * (1 + 8 * _UNIT), 5e-324)
