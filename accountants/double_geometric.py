r"""The truncated double geometric mechanism: a count with shifted, non-negative noise.

A count that changes by at most :math:`\Delta` between neighbours is released with noise from
:class:`accountants.truncated_laplace.TruncatedLaplace` (support 0..2n, mean n), for example as
that many dummy records. The divergence of two counts that differ by d is largest at
:math:`d = \Delta`, in either direction. From :math:`\epsilon = \Delta \lambda` on it is the mass
of the last :math:`\Delta` points,

.. math:: \delta = A \sum_{k=n-\Delta+1}^{n} r^k \quad (n \ge \Delta),

which is the condition of arXiv 2110.08177 (Eq. 11) as used for the padding of oblivious PRF
protocols. The decay there is written :math:`\epsilon`: it is the loss for each unit, and the
guarantee is :math:`(\Delta \lambda, \delta)`, not :math:`(\lambda, \delta)`, for
:math:`\Delta > 1`. Proofs: ``docs/proofs/truncated-double-geometric.md``.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.errors import ParameterError
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from accountants.truncated_laplace import SHIFT_MAX, TruncatedLaplace

_UNIT = 2.0**-53


@dataclass(frozen=True, kw_only=True)
class TruncatedDoubleGeometric(PrivacyProfile):
    r"""A count with truncated double geometric noise, exact at every epsilon.

    Parameters
    ----------
    decay : float
        :math:`\lambda`, 1e-12 to 1e3, per unit of the count.
    shift : int
        n, 0 to 1e9: the mean of the noise.
    sensitivity : int
        :math:`\Delta`, 1 to 1e9: the most by which neighbours change the count.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """

    decay: float
    shift: int
    sensitivity: int = 1

    def __post_init__(self) -> None:
        """Check the ranges."""
        _ = self.noise
        _sensitivity(self.sensitivity)

    @classmethod
    def for_claim(cls, *, epsilon: float, delta: float, sensitivity: int) -> Self:
        r"""Return the mechanism with decay :math:`\epsilon/\Delta` and its smallest shift.

        (epsilon, delta)-private for a change of up to ``sensitivity``. Another decay may allow a
        smaller shift where ``sensitivity`` > 1.

        Raises
        ------
        ParameterError
            If a parameter lies outside its range, the decay outside 1e-12..1e3, or no shift up to
            1e9 is enough.
        """
        count = _sensitivity(sensitivity)
        decay = ranges.positive("epsilon", epsilon) / count * (1 - 32 * _UNIT)
        shift = smallest_shift(sensitivity=count, decay=decay, delta=delta)
        return cls(decay=decay, shift=shift, sensitivity=count)

    @cached_property
    def noise(self) -> TruncatedLaplace:
        """Return the law of the noise."""
        return TruncatedLaplace(decay=self.decay, shift=self.shift)

    @property
    def largest_loss(self) -> float:
        r"""Return :math:`\Delta \lambda`, rounded up: delta no longer falls from there on."""
        return self.sensitivity * float(self.decay) * (1 + 16 * _UNIT)

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape.

        Within 1e-9 of the exact logarithm while decay x shift is below 1e5, at an epsilon smaller
        by a few units in the last place.
        """
        eps = ranges.epsilons(epsilon)
        noise, n, change = self.noise, int(self.shift), int(self.sensitivity)
        if change > 2 * n:
            return np.zeros(eps.shape)
        total = np.full(eps.shape, float(noise.log_cdf(change - 1)))
        if change <= n:  # x in n..2n - change: the loss is change x decay
            mass = _log_complement(self.decay * (n - change + 1.0)) - noise.log_weight
            total = np.logaddexp(total, mass + _log_complement(self._gap(0.0, eps)))
        total = np.logaddexp(total, self._log_middle(eps))
        return np.asarray(np.minimum(total + 4 * noise.log_error + 8 * _UNIT * np.abs(total), 0.0))

    def _gap(self, steps: ArrayLike, eps: Floats) -> Floats:
        """Loss at x = n - steps, less epsilon; rounded up."""
        loss = float(self.decay) * (self.sensitivity - 2 * np.asarray(steps, float))
        with np.errstate(invalid="ignore"):
            return np.asarray(loss - eps + 8 * _UNIT * np.maximum(loss, 0.0))

    def _log_middle(self, eps: Floats) -> Floats:
        r"""Ln of the part at x = n - j, 1 <= j < change/2, where the loss is (change - 2j) decay.

        Of the m + 1 terms, j counted down from the last J with a loss above epsilon, term i is
        :math:`A r^J [e^{\lambda i}(1 - e^{-g-2\lambda i})]`, g the excess at J; and
        :math:`1 - e^{-g-2\lambda i} = (1-e^{-g}) e^{-2\lambda i} + (1-e^{-2\lambda i})` leaves a
        geometric sum and a sum of sinh.
        """
        decay, n, change = float(self.decay), int(self.shift), int(self.sensitivity)
        first = max(1, change - n)
        reach = (change - np.minimum(np.minimum(eps, 1e15) / decay, 2.0 * change)) / 2
        last = np.floor(reach + 1e-6)
        last -= self._gap(last, eps) <= 0
        # its loss above epsilon, and above 0 as the loss of a smaller j is larger
        inside = (last >= first) & (self._gap(last, eps) > 0)
        last = np.where(inside, last, float(first))
        more = last - first
        gap = np.where(inside, self._gap(last, eps), 1.0)
        even = _log_complement(gap) + _log_complement(decay * (more + 1)) - self.noise.log_step
        odd = (
            np.log(2.0)
            + _log_sinh(decay * more / 2)
            + _log_sinh(decay * (more + 1) / 2)
            - _log_sinh(np.asarray(decay / 2))
        )
        scale = self.noise.log_step - self.noise.log_weight - decay * last
        return np.where(inside, scale + np.logaddexp(even, odd), -np.inf)


def smallest_shift(*, sensitivity: int, decay: float, delta: float) -> int:
    r"""Return the smallest n at which the last :math:`\Delta` points have mass at most delta.

    The mechanism is then :math:`(\Delta \lambda, \delta)`-private. Their mass falls in n, so that
    bisection finds it.

    Parameters
    ----------
    sensitivity : int
        :math:`\Delta`, 1 to 1e9.
    decay : float
        :math:`\lambda`, 1e-12 to 1e3, per unit.
    delta : float
        In (0, 1).

    Raises
    ------
    ParameterError
        If a parameter lies outside its range, or no n up to 1e9 is enough.
    """
    change = _sensitivity(sensitivity)
    goal = float(np.log(ranges.open_unit("delta", delta)))

    def met(shift: int) -> bool:
        noise = TruncatedLaplace(decay=decay, shift=shift)
        value = float(noise.log_cdf(change - 1))
        return value + noise.log_error + 4 * _UNIT * abs(goal) <= goal

    if not met(SHIFT_MAX):
        raise ParameterError(
            f"sensitivity, decay, delta = {sensitivity!r}, {decay!r}, {delta!r}: "
            f"no shift up to {SHIFT_MAX:.0e} is enough"
        )
    low, high = 0, 1  # n = 0 has mass 1
    while not met(high):  # at most 30 times
        low, high = high, min(2 * high, SHIFT_MAX)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if met(middle) else (middle, high)
    return high


def _sensitivity(value: int) -> int:
    return ranges.whole("sensitivity", value, low=1, high=SHIFT_MAX)


def _log_complement(x: ArrayLike) -> Floats:
    """Ln of 1 - e^-x; -inf where x <= 0."""
    value = np.maximum(np.asarray(x, float), 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(-np.expm1(-value)))


def _log_sinh(x: ArrayLike) -> Floats:
    """Ln of sinh x, x >= 0."""
    value = np.asarray(x, float)
    return np.asarray(value + _log_complement(2 * value) - np.log(2.0))
