r"""Dummy tags: a truncated Laplace number of them for each multiplicity below the threshold.

For each multiplicity j from 1 to :math:`\tau - 1` the tagging server draws
:math:`D_j \sim TSDLap(\lambda, t)` and sends :math:`D_j` fresh random tags j times each (Nebula;
Fre-E2T, Definition 5, Algorithm 5, Eq. 11). A sampled record moves its tag from cell j to cell
j + 1. With :math:`\pi, p_+, p_-` as in :class:`accountants.truncated_laplace.TruncatedLaplace`, the
hockey-stick divergence of that move at the ratio :math:`e^b`, the same in both directions, is

.. math::
   C_2 = 1-(1-\pi)^2 + p_+^2 [1-e^{b-2\lambda}]_+ + 2 p_+ p_- [1-e^b]_+ + p_-^2 [1-e^{b+2\lambda}]_+

and :math:`C_1 = \pi + p_+ [1-e^{b-\lambda}]_+ + p_- [1-e^{b+\lambda}]_+` where one cell only
changes: from 0 to 1, and from :math:`\tau - 1` to the release.
Proofs: ``docs/proofs/dummy-tags.md``.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.errors import ParameterError
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from accountants.truncated_laplace import DECAY_MAX, DECAY_MIN, SHIFT_MAX, TruncatedLaplace

_UNIT = 2.0**-53
_LARGEST = 40.0  # above ln 1/(1-p) for every p < 1
_SHARES = np.concatenate([np.geomspace(1e-4, 0.5, 24), 1 - np.geomspace(0.4, 1e-4, 12)])


@dataclass(frozen=True, kw_only=True)
class DummyTags(PrivacyProfile):
    r"""What hides a tag below the threshold, for one record.

    The profile is that of the padded counts alone, in both directions of add-remove adjacency.
    Tags that reach the threshold are released: that part, and how the two add up, is in
    ``docs/proofs/server-views.md``. Tags must be pseudorandom to who sees them.

    Parameters
    ----------
    decay : float
        :math:`\lambda`, 1e-12 to 1e3, per dummy of one cell. A move changes two cells: a
        deployment that wants :math:`\epsilon` per sampled record takes :math:`\epsilon / 2`.
    shift : int
        t, 0 to 1e9: the mean number of dummies in each cell; 0 is no dummies (delta = p).
    threshold : int
        :math:`\tau`, 1 to 1e6. 1 leaves no cell to pad.
    sampling_rate : float
        p, the participation coin of the record; 1 where its tag is sent for certain.
    cells : int
        2, or 1 for the moves that change one cell (for :math:`\tau = 2` there are no others).
        2 bounds both.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """

    decay: float
    shift: int
    threshold: int
    sampling_rate: float = 1.0
    cells: int = 2

    def __post_init__(self) -> None:
        """Check the ranges."""
        _ = self.noise
        ranges.release_threshold(self.threshold)
        ranges.sampling_rate(self.sampling_rate)
        ranges.whole("cells", self.cells, low=1, high=2)

    @cached_property
    def noise(self) -> TruncatedLaplace:
        """Return the law of the number of dummies of one multiplicity."""
        return TruncatedLaplace(decay=self.decay, shift=self.shift)

    # --- privacy ---------------------------------------------------------------------------------

    def log_curve(self, log_ratio: ArrayLike, *, cells: int | None = None) -> Floats:
        r"""Return an upper bound of ln :math:`C(b)`, without the coin; same shape.

        Within 1e-9 of the exact logarithm while decay x shift is below 1e5.

        Parameters
        ----------
        log_ratio : array_like
            b, any real number, -inf or inf, taken as exact.
        cells : int, optional
            1 or 2; the object's own by default.

        Raises
        ------
        ParameterError
            If a ``log_ratio`` is NaN or ``cells`` is not 1 or 2.
        """
        count = self.cells if cells is None else ranges.whole("cells", cells, low=1, high=2)
        b = np.asarray(log_ratio, dtype=np.float64)
        if np.isnan(b).any():
            raise ParameterError(f"log_ratio = {log_ratio!r}: a number is needed")
        noise, step = self.noise, float(self.decay)
        plus, minus = noise.log_p_plus, noise.log_p_minus
        total = np.full(b.shape, self._log_certain(count))
        if noise.shift:
            terms = (
                ((plus, step), (minus, -step))
                if count == 1
                else ((2 * plus, 2 * step), (np.log(2) + plus + minus, 0.0), (2 * minus, -2 * step))
            )
            for mass, loss in terms:
                total = np.logaddexp(total, _log_excess(mass, loss, b))
        slack = 4 * noise.log_error + 8 * _UNIT * np.abs(total)
        return np.asarray(np.minimum(total + slack, 0.0))

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0, in both directions; same shape.

        It is :meth:`log_added`, which is never the smaller of the two.
        """
        return self.log_added(epsilon)

    def log_added(self, epsilon: ArrayLike) -> Floats:
        r"""Ln of :math:`p\,C(\ln a')`, :math:`a' = 1 + (e^\epsilon-1)/p`: the record is added."""
        curve = self.log_curve(_log_odds_ratio(ranges.epsilons(epsilon), self.sampling_rate))
        log_p = np.log(self.sampling_rate)
        return np.asarray(np.minimum(curve + log_p + 4 * _UNIT * np.abs(curve + log_p), 0.0))

    def log_removed(self, epsilon: ArrayLike) -> Floats:
        r"""Ln of :math:`w\,C(\ln p e^\epsilon/w)`, :math:`w = 1-(1-p)e^\epsilon`: it is removed.

        -inf where w <= 0, from :math:`\epsilon = \ln 1/(1-p)` on.
        """
        eps, p = ranges.epsilons(epsilon), float(self.sampling_rate)
        if p == 1:
            return self.log_added(eps)
        # rounded up: the divergence grows with w and falls with p e^eps
        weight = p - (1 - p) * np.expm1(np.minimum(eps, _LARGEST)) + 16 * _UNIT * p
        some = weight > 0
        log_w = np.log(np.where(some, weight, 1.0))
        finite = np.where(some, eps, 0.0)
        ratio = finite + np.log(p) - log_w
        ratio -= 8 * _UNIT * (finite + abs(np.log(p)) + np.abs(log_w))
        value = self.log_curve(ratio) + log_w
        raised = np.minimum(value + 8 * _UNIT * (1 + np.abs(value)), 0.0)
        return np.asarray(np.where(some, raised, -np.inf))

    def simple(self) -> tuple[float, float]:
        r"""Return the papers' kind of statement, (epsilon, delta), rounded up: on the curve.

        :math:`\epsilon = \ln(1 + p(e^{c\lambda}-1))` and :math:`\delta = p(1-(1-\pi)^c)`, c cells.
        From this epsilon on delta no longer falls.
        """
        loss = self.cells * float(self.decay)
        log_p = float(np.log(self.sampling_rate))
        y = log_p + loss + float(np.log(-np.expm1(-loss)))
        epsilon = loss if self.sampling_rate == 1 else float(np.logaddexp(0.0, y))
        growth = _UNIT
        while float(_log_odds_ratio(np.asarray(epsilon), self.sampling_rate)) < loss:
            # ends, as the ratio is above epsilon: growth doubles
            epsilon, growth = float(np.nextafter(epsilon * (1 + growth), np.inf)), 2 * growth
        return epsilon, float(self.delta(np.inf))

    def _log_certain(self, cells: int) -> float:
        """Ln of the mass that only one of the two has: pi, or pi (2 - pi)."""
        log_pi = self.noise.log_end_mass
        return log_pi if cells == 1 else log_pi + float(np.log1p(-np.expm1(log_pi)))

    # --- costs -----------------------------------------------------------------------------------

    @property
    def expected_messages(self) -> int:
        r"""Return :math:`t \tau (\tau-1) / 2`, the mean number of messages of one run."""
        return int(self.shift) * int(self.threshold) * (int(self.threshold) - 1) // 2

    @property
    def max_messages(self) -> int:
        """Return the largest number of messages of one run: twice the mean."""
        return 2 * self.expected_messages

    @property
    def messages_variance(self) -> float:
        """Return the variance of the number of messages of one run."""
        return self.noise.variance * self._sum_of_squares

    def messages_bound(self, failure_probability: float) -> int:
        """Return a number of messages exceeded with at most that probability.

        The smallest of Hoeffding's bound, Chernoff's (with the moments of the Laplace law that is
        not truncated, which are larger) and :attr:`max_messages`.

        Raises
        ------
        ParameterError
            If ``failure_probability`` does not lie strictly between 0 and 1.
        """
        rarity = -float(np.log(ranges.open_unit("failure_probability", failure_probability)))
        if self.expected_messages == 0:
            return 0
        squares = float(self._sum_of_squares)
        excess = self.shift * float(np.sqrt(2 * rarity * squares))
        sizes = np.arange(1.0, self.threshold)
        for share in _SHARES:  # any of them gives a bound
            rate = share * self.decay / (self.threshold - 1)
            rising = np.sinh(sizes * (rate / 2)) / np.sinh(self.decay / 2)
            moment = -float(np.log1p(-(rising**2)).sum())
            excess = min(excess, (moment + rarity) / rate)
        bound = self.expected_messages + int(np.ceil(excess * (1 + 1e-9)))
        return min(bound, self.max_messages)

    def expected_bytes(self, message_bytes: float) -> float:
        """Return the mean number of bytes of one run, at ``message_bytes`` >= 0 each."""
        return self.expected_messages * ranges.non_negative("message_bytes", message_bytes)

    @property
    def _sum_of_squares(self) -> int:
        tau = int(self.threshold)
        return (tau - 1) * tau * (2 * tau - 1) // 6


def calibrate_dummies(
    *, epsilon: float, delta: float, sampling_rate: float, threshold: int
) -> DummyTags:
    r"""Return the dummies with the fewest expected messages that meet (epsilon, delta).

    The best decay is :math:`\ln a' / 2` whatever the shift (:math:`\ln a'` for
    :math:`\tau = 2`), and there delta falls in the shift: the smallest shift is found by bisection.

    Parameters
    ----------
    epsilon : float
        >= 0, ``inf`` allowed.
    delta : float
        In (0, 1).
    sampling_rate : float
        p in (0, 1].
    threshold : int
        :math:`\tau`, 2 to 1e6.

    Returns
    -------
    DummyTags
        Its :meth:`DummyTags.delta` at ``epsilon`` is at most ``delta``, and no smaller shift with
        any decay from 1e-12 to 1e3 does it (a delta within rounding of the target excepted). Shift
        0 where ``delta`` is above p.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range, or no shift up to 1e9 is enough.
    """
    ranges.non_negative("epsilon", epsilon, finite=False)
    ranges.open_unit("delta", delta)
    ranges.sampling_rate(sampling_rate)
    ranges.whole("threshold", threshold, low=2)
    cells = 1 if threshold == 2 else 2
    best = float(_log_odds_ratio(np.asarray(float(epsilon)), sampling_rate)) / cells

    def dummies(shift: int) -> DummyTags:
        return DummyTags(
            decay=min(max(best, DECAY_MIN), DECAY_MAX),
            shift=shift,
            threshold=threshold,
            sampling_rate=sampling_rate,
            cells=cells,
        )

    def met(shift: int) -> bool:
        return bool(dummies(shift).delta(epsilon) <= delta)

    if met(0):
        return dummies(0)
    if not met(SHIFT_MAX):
        raise ParameterError(
            f"epsilon, delta = {epsilon!r}, {delta!r}: "
            f"no mean number of dummies up to {SHIFT_MAX:.0e} is enough"
        )
    low, high = 0, 1
    while not met(high):  # at most 30 times
        low, high = high, min(2 * high, SHIFT_MAX)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if met(middle) else (middle, high)
    return dummies(high)


def _log_odds_ratio(eps: Floats, rate: float) -> Floats:
    r"""Return ln a', :math:`a' = 1 + (e^\epsilon - 1)/p`, rounded down; exact for p = 1."""
    p = float(rate)
    if p == 1:
        return eps
    odds = np.log1p(-p), np.log(p)
    with np.errstate(divide="ignore"):
        y = odds[0] - odds[1] + np.log(-np.expm1(-eps))
    more = np.logaddexp(0.0, y)
    size = np.where(np.isneginf(y), 0.0, 4 + abs(odds[0]) + abs(odds[1]) + np.abs(y))
    error = 4 * _UNIT * (np.minimum(more, 1.0) * size + more)
    return np.asarray(np.maximum((eps + more) * (1 - 2 * _UNIT) - error, 0.0))


def _log_excess(log_mass: float, loss: float, b: Floats) -> Floats:
    """Ln of mass x [1 - e^(b - loss)]_+."""
    gap = b - loss
    inside = gap < 0
    with np.errstate(divide="ignore"):
        share = np.log(-np.expm1(np.where(inside, gap, -1.0)))
    return np.where(inside, log_mass + share, -np.inf)
