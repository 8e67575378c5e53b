"""Exact samples of a continuous Gaussian rounded to a lattice.

:func:`rounded_gaussian` returns integers R = round(Y / step) where Y ~ N(0, std^2) is a
*continuous* Gaussian. Added to a sum of lattice points this is the same as adding Y and rounding
the result, so whatever is proved for continuous noise holds by post-processing. It is not the
discrete Gaussian, which needs an analysis of its own.

Method
------
Let S be a fair sign and V uniform on (0, 1/2), given by infinitely many random bits. With
Q(x) = Pr[N(0,1) > x], the number X = Q^-1(V) >= 0 is half-normal and S X standard normal, hence
R = S round(X std / step). (Ties have probability 0.) The first 64-bit word gives S and the first
63 bits m of V, that is m 2^-64 < V < (m + 1) 2^-64. R is accepted as soon as the bits seen so far
leave only one value; otherwise more bits are drawn. Since the decision never depends on anything
but bits of (S, V), and every further bit is uniform whatever was decided, the law of R is exact.

What has to hold is that a decision, once taken, is right for *every* V in the interval:

* Fast path. Let x = -ndtri(double(m) 2^-64). From Q <= sqrt(pi/2) phi on [0, inf) follows
  |dX/dV| = 1/phi(X) <= sqrt(pi/2) / V. So X moves by at most sqrt(pi/2) / m over the interval, and
  by at most sqrt(pi/2) 2^-53 (1 + 2^-52) through the rounding of m to a double. ``ndtri`` itself
  errs by at most 2.7e-15 on [2^-64, 1/2] (measured against 160-bit arithmetic on 27 000 points, and
  again by the test suite for the installed scipy). ``MARGIN`` = 2^-41 is more than 150 times both.
  The product x std / step adds a relative error below 2^-51. The sample is accepted only if this
  whole band lies strictly between two neighbouring half-integers.
* Slow path. The interval's ends are compared with Q at the two half-integers around the estimate,
  evaluated by mpmath with at least 64 more bits than V has so far, and with 2^32 units in the last
  place of slack. If that does not decide, V gets 64 more bits.

A sample needs the slow path with probability about 2^-40 std / step + 2^-30; for the usual step
2^-24 that is about one in 10^4. The time of a call therefore depends on the noise drawn; whoever
can time the release is outside this module's model.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from accountants.errors import DpauditError, ParameterError
from accountants.ranges import positive
from dpaudit.pipeline.randomness import BitSource

Integers = NDArray[np.int64]

MARGIN = 2.0**-41
"""Bound on the error of the fast path's standard normal quantile, with a factor 150 to spare."""

LARGEST_RATIO = 2.0**55
"""Largest std / step: 64 standard deviations then stay below 2**61 and leave room for the sum."""

_CHUNK = 1 << 16
_SQRT_HALF_PI = math.sqrt(math.pi / 2) * (1 + 2**-50)
_MOST_WORDS = 8  # a sound source needs more with probability below 2^-500


def rounded_gaussian(source: BitSource, *, std: float, step: float, count: int) -> Integers:
    """Draw ``count`` exact samples of round(Y / step), Y ~ N(0, std^2).

    Parameters
    ----------
    source : BitSource
        Where the bits come from: one 64-bit word a sample, rarely more.
    std : float
        Standard deviation of the continuous Gaussian, > 0, in the unit of ``step``.
    step : float
        Lattice step, > 0. ``std / step`` must not exceed 2**55.
    count : int
        Number of samples, >= 0.

    Returns
    -------
    ndarray of int64, shape (count,)
        Multiples of ``step``; each below 2**61 in absolute value.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """
    positive("std", std)
    positive("step", step)
    if count < 0:
        raise ParameterError(f"count = {count!r}: a whole number >= 0 is needed")
    if not std / step <= LARGEST_RATIO:
        raise ParameterError(
            f"std / step = {std / step!r}: at most 2**55 is needed for 64-bit sums; "
            "choose a larger step"
        )
    samples = np.empty(count, dtype=np.int64)
    for start in range(0, count, _CHUNK):
        part = samples[start : start + _CHUNK]
        words = source.words(len(part))
        for index in _fast(words, std / step, part):
            part[index] = _slow(int(words[index]), source, std=std, step=step)
    return samples


def _fast(words: NDArray[np.uint64], ratio: float, out: Integers) -> NDArray[np.intp]:
    """Fill ``out`` where 64 bits decide; return the positions where they do not."""
    magnitude = (words & np.uint64(2**63 - 1)).view(np.int64).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = ndtri(magnitude * 2.0**-64)
        scaled *= -ratio
        nearest = np.rint(scaled)
        band = (MARGIN + _SQRT_HALF_PI / magnitude) * ratio + np.abs(scaled) * 2.0**-51
        open_ = ~(np.abs(scaled - nearest) + band < 0.5)
    undecided = np.flatnonzero(open_)
    nearest[undecided] = 0.0
    out[:] = nearest
    np.negative(out, out=out, where=words >= np.uint64(2**63))
    return undecided


def _slow(word: int, source: BitSource, *, std: float, step: float) -> int:
    """Decide one sample from its first word, drawing further words while needed."""
    sign = -1 if word >> 63 else 1
    magnitude, bits = word & (2**63 - 1), 64
    ratio = Fraction(std) / Fraction(step)
    for _ in range(_MOST_WORDS):
        magnitude, bits = magnitude << 64 | int(source.words(1)[0]), bits + 64
        decided = _decide(magnitude, bits, ratio)
        if decided is not None:
            return sign * decided
    raise DpauditError(f"the random source is broken: {64 * _MOST_WORDS} bits did not decide")


def _decide(magnitude: int, bits: int, ratio: Fraction) -> int | None:
    """Return round(Q^-1(V) ratio) if it is one value for all magnitude < 2^bits V < magnitude + 1.

    The estimate of the quantile needs no accuracy: only the two comparisons decide.
    """
    import mpmath

    with mpmath.workprec(bits + 128 + ratio.numerator.bit_length()):
        scale = mpmath.mpf(ratio.numerator) / ratio.denominator
        middle = mpmath.ldexp(2 * magnitude + 1, -bits - 1)
        nearest = int(mpmath.nint(_quantile(middle, mpmath) * scale))
        slack = mpmath.ldexp(1, 32 - mpmath.mp.prec)
        low, high = mpmath.ldexp(magnitude, -bits), mpmath.ldexp(magnitude + 1, -bits)
        above = _tail((nearest + mpmath.mpf(0.5)) / scale, mpmath)
        if not above * (1 + slack) < low:
            return None
        if nearest > 0:
            below = _tail((nearest - mpmath.mpf(0.5)) / scale, mpmath)
            if not high < below * (1 - slack):
                return None
        return nearest


def _tail(x: Any, mpmath: Any) -> Any:
    """Q(x) = Pr[N(0,1) > x] at the current precision."""
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def _quantile(tail: Any, mpmath: Any) -> Any:
    """Estimate Q^-1 by Newton's method on log Q, which is concave."""
    logarithm = mpmath.log(tail)
    x = mpmath.sqrt(-2 * logarithm) if tail < 0.01 else mpmath.mpf(1)
    for _ in range(100):
        q = _tail(x, mpmath)
        density = mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)
        change = (mpmath.log(q) - logarithm) * q / density
        x += change
        if abs(change) < mpmath.ldexp(1, -mpmath.mp.prec // 2):
            break
    return max(x, mpmath.mpf(0))
