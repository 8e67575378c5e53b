r"""The truncated shifted discrete Laplace (truncated double geometric) distribution.

Whole numbers x from 0 to 2t with :math:`\Pr[x] = A e^{-\lambda |x-t|}`. With
:math:`r = e^{-\lambda}`

.. math::
   A = \frac{1-r}{D}, \qquad D = 1 + r - 2 r^{t+1} = (1 - r^{t+1}) + r (1 - r^t);

every quantity here is a product, or a sum of positive terms, of such complements, so that nothing
cancels for any :math:`\lambda` and t. Used for dummies by Nebula and by Fre-E2T (Definition 5).
The sampler is exact: whole numbers and random bytes only. Proofs: ``docs/proofs/dummy-tags.md``.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accountants import ranges
from accountants.errors import ParameterError
from accountants.ranges import Floats

DECAY_MIN = 1e-12
DECAY_MAX = 1e3
SHIFT_MAX = 10**9

RandomBytes = Callable[[int], bytes]
Lanes = NDArray[np.int64]
_UNIT = 2.0**-53
_TURNS = 1000  # a loop of the sampler that is still going is one chance in 2^1000 for each sample
_BATCH = 1 << 16
_DIGITS = 400  # bits with which the variance is evaluated


@dataclass(frozen=True, kw_only=True)
class TruncatedLaplace:
    r"""The law of a number of dummies.

    Parameters
    ----------
    decay : float
        :math:`\lambda`, 1e-12 to 1e3, per unit.
    shift : int
        t, 0 to 1e9: the mean; the support is 0..2t.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.

    Notes
    -----
    Every logarithm here is within :attr:`log_error` of the exact one.
    """

    decay: float
    shift: int

    def __post_init__(self) -> None:
        """Check the ranges."""
        decay = ranges.positive("decay", self.decay)
        if not DECAY_MIN <= decay <= DECAY_MAX:
            raise ParameterError(
                f"decay = {self.decay!r}: a number from {DECAY_MIN:g} to {DECAY_MAX:g} is needed"
            )
        ranges.whole("shift", self.shift, high=SHIFT_MAX)

    @cached_property
    def log_step(self) -> float:
        r"""Return ln (1 - r)."""
        return float(np.log(-np.expm1(-self.decay)))

    @cached_property
    def log_weight(self) -> float:
        """Return ln D."""
        far = -np.expm1(-self.decay * (self.shift + 1.0))
        near = -np.expm1(-self.decay * float(self.shift))
        return float(np.log(far + np.exp(-self.decay) * near))

    @cached_property
    def log_error(self) -> float:
        """Bound of the absolute error of every logarithm that this class returns.

        Dominated by the rounding of decay x shift; below 1e-9 while that is below 1e5.
        """
        size = self.decay * self.shift + abs(self.log_step) + abs(self.log_weight)
        return 16 * _UNIT * (8.0 + size)

    @property
    def log_end_mass(self) -> float:
        r"""Return ln :math:`\pi`, :math:`\pi = A r^t`: the mass of 0, and of 2t."""
        return self.log_step - self.decay * self.shift - self.log_weight

    @property
    def log_p_plus(self) -> float:
        r"""Return ln :math:`p_+`, the mass of t..2t-1; -inf for t = 0.

        It is the chance that one dummy more has the ratio :math:`e^{\lambda}`.
        """
        if self.shift == 0:
            return -np.inf
        return float(np.log(-np.expm1(-self.decay * self.shift))) - self.log_weight

    @property
    def log_p_minus(self) -> float:
        r"""Return ln :math:`p_- = \ln r p_+`, the mass of 0..t-1; -inf for t = 0."""
        return self.log_p_plus - self.decay

    @property
    def mean(self) -> float:
        """Return t."""
        return float(self.shift)

    @cached_property
    def variance(self) -> float:
        r"""Return :math:`2 A \sum_{k \le t} k^2 r^k`, from its closed form at many digits."""
        if self.shift == 0:
            return 0.0
        mp = _many_digits()
        t, r = self.shift, mp.exp(-mp.mpf(float(self.decay)))
        ends = (t + 1) ** 2 - (2 * t * t + 2 * t - 1) * r + t * t * r**2
        total = (r * (1 + r) - r ** (t + 1) * ends) / (1 - r) ** 2
        return float(2 * total / (1 + r - 2 * r ** (t + 1)))

    def log_pmf(self, x: ArrayLike) -> Floats:
        """Logarithm of Pr[X = x]; -inf off the support; same shape."""
        value = _points(x)
        inside = (value >= 0) & (value <= 2 * self.shift) & (value == np.floor(value))
        distance = np.abs(np.where(inside, value, 0.0) - self.shift)
        found = self.log_step - self.log_weight - self.decay * distance
        return np.where(inside, found, -np.inf)

    def pmf(self, x: ArrayLike) -> Floats:
        """Pr[X = x], same shape."""
        return np.exp(self.log_pmf(x))

    def log_cdf(self, x: ArrayLike) -> Floats:
        """Logarithm of Pr[X <= x] for any real x; same shape."""
        return self._log_at_most(np.floor(_points(x)))

    def cdf(self, x: ArrayLike) -> Floats:
        """Pr[X <= x], same shape."""
        return np.exp(self.log_cdf(x))

    def log_survival(self, x: ArrayLike) -> Floats:
        """Logarithm of Pr[X > x] for any real x; same shape."""
        return self._log_at_most(2 * self.shift - 1 - np.floor(_points(x)))

    def survival(self, x: ArrayLike) -> Floats:
        """Pr[X > x], same shape."""
        return np.exp(self.log_survival(x))

    def _log_at_most(self, x: Floats) -> Floats:
        """Pr[X <= x] at whole x; above the middle from the other side, which is at most 1/2."""
        upper = x > self.shift
        low = np.clip(np.where(upper, 2 * self.shift - 1 - x, x), -1.0, self.shift)
        with np.errstate(divide="ignore"):
            first = np.log(-np.expm1(-self.decay * (low + 1)))
            lower = first - self.decay * (self.shift - low) - self.log_weight
            return np.where(upper, np.log1p(-np.exp(np.minimum(lower, -0.5))), lower)

    def sample(self, size: int, *, random_bytes: RandomBytes = os.urandom) -> Lanes:
        r"""Draw ``size`` independent numbers exactly, with no floating point.

        The decay is the rational number that the float is. The magnitude's binary digits are
        independent Bernoulli variables; a magnitude above t and a second zero are drawn again
        (at most 2 draws expected). Running time depends on what is drawn.

        Parameters
        ----------
        size : int
            Whole, >= 0.
        random_bytes : callable
            n -> n independent uniform bytes; the operating system's by default.

        Returns
        -------
        ndarray of int64, shape (size,)

        Raises
        ------
        ParameterError
            If ``size`` is out of range, or the bytes are of the wrong number or so far from
            random that a loop has run 1000 times (a chance below size / 2^990 for uniform bytes).
        """
        ranges.whole("size", size)
        drawn = np.zeros(size, dtype=np.int64)
        if self.shift:
            decay = Fraction(float(self.decay))
            for start in range(0, size, _BATCH):
                part = drawn[start : start + _BATCH]
                part[:] = self.shift + _signed(decay, self.shift, len(part), random_bytes)
        return drawn


def _points(x: ArrayLike) -> Floats:
    value = np.asarray(x, dtype=np.float64)
    if np.isnan(value).any():
        raise ParameterError(f"x = {x!r}: a number is needed")
    return value


@cache
def _many_digits() -> Any:
    """Return an mpmath context of our own, whose precision nobody else changes."""
    from mpmath import MPContext

    context = MPContext()
    context.prec = _DIGITS
    return context


# --- exact sampling ------------------------------------------------------------------------------
# Every loop ends with probability 1: after k turns a sample is still in it with probability at most
# 2^-k, or 1/k!. After 1000 turns the source is at fault.


def _signed(decay: Fraction, most: int, size: int, source: RandomBytes) -> Lanes:
    r"""Return k from -most..most with probability proportional to :math:`e^{-\lambda |k|}`."""
    drawn = np.zeros(size, dtype=np.int64)
    pending = np.arange(size)
    turns = 0
    while len(pending):  # accepted with a chance of at least 1/2
        turns = _turn(turns)
        magnitude = np.zeros(len(pending), dtype=np.int64)
        for bit in range(most.bit_length()):
            magnitude |= _logistic(decay * 2**bit, len(pending), source).astype(np.int64) << bit
        negative = _coins(len(pending), source)
        kept = (magnitude <= most) & ~(negative & (magnitude == 0))
        drawn[pending[kept]] = np.where(negative, -magnitude, magnitude)[kept]
        pending = pending[~kept]
    return drawn


def _logistic(x: Fraction, size: int, source: RandomBytes) -> NDArray[np.bool_]:
    r"""Bernoulli of :math:`e^{-x} / (1 + e^{-x})`: a fair coin, one side kept if exp(-x) agrees."""
    result = np.zeros(size, dtype=np.bool_)
    pending = np.arange(size)
    turns = 0
    while len(pending):  # tails ends it
        turns = _turn(turns)
        pending = pending[_coins(len(pending), source)]
        kept = _bernoulli_exp(x, len(pending), source)
        result[pending[kept]] = True
        pending = pending[~kept]
    return result


def _bernoulli_exp(x: Fraction, size: int, source: RandomBytes) -> NDArray[np.bool_]:
    """Bernoulli of exp(-x), x >= 0 (Canonne, Kamath and Steinke 2020, Algorithm 1)."""
    result = np.zeros(size, dtype=np.bool_)
    alive = np.arange(size)
    whole = x.numerator // x.denominator
    turns = 0
    while turns < whole and len(alive):  # e^-1 of them go on
        turns = _turn(turns)
        alive = alive[_bernoulli_exp_unit(Fraction(1), len(alive), source)]
    alive = alive[_bernoulli_exp_unit(x - whole, len(alive), source)]
    result[alive] = True
    return result


def _bernoulli_exp_unit(x: Fraction, size: int, source: RandomBytes) -> NDArray[np.bool_]:
    """Bernoulli of exp(-x) for x in [0, 1]: whether the first failure of x/k is at an odd k."""
    result = np.zeros(size, dtype=np.bool_)
    alive = np.arange(size)
    k = 0
    while len(alive):  # x^k / k! of them are left after k turns
        k = _turn(k)
        success = _bernoulli(x.numerator, x.denominator * k, len(alive), source)
        result[alive[~success]] = k % 2 == 1
        alive = alive[success]
    return result


def _bernoulli(
    numerator: int, denominator: int, size: int, source: RandomBytes
) -> NDArray[np.bool_]:
    """Bernoulli of a fraction in [0, 1]: the binary digits of a uniform number, 64 at a time."""
    if numerator >= denominator:  # 2^64 would not fit
        return np.ones(size, dtype=np.bool_)
    high, rest = divmod(numerator << 64, denominator)
    words = np.frombuffer(_draw(8 * size, source), dtype="<u8")
    result = np.asarray(words < np.uint64(high))
    for tied in np.flatnonzero(words == np.uint64(high)):  # a chance of 2^-64 each
        result[tied] = _further_digits(rest, denominator, source)
    return result


def _further_digits(rest: int, denominator: int, source: RandomBytes) -> bool:
    turns = 0
    while rest:  # goes on with a chance of 2^-64
        turns = _turn(turns)
        high, rest = divmod(rest << 64, denominator)
        word = int.from_bytes(_draw(8, source), "little")
        if word != high:
            return word < high
    return False


def _coins(size: int, source: RandomBytes) -> NDArray[np.bool_]:
    return (np.frombuffer(_draw(size, source), dtype=np.uint8) & 1).astype(np.bool_)


def _draw(count: int, source: RandomBytes) -> bytes:
    drawn = source(count)
    if len(drawn) != count:
        raise ParameterError(f"random_bytes: {len(drawn)} bytes where {count} are needed")
    return drawn


def _turn(turns: int) -> int:
    """Count a turn of a loop."""
    if turns >= _TURNS:
        raise ParameterError(
            f"random_bytes: {_TURNS} turns of a loop, independent uniform bytes are needed"
        )
    return turns + 1
