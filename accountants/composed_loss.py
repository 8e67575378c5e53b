r"""The composed privacy loss on a grid: a power of one step's tilted distribution, by FFT.

A loss is tilted by :math:`e^{\theta l}` before it is convolved, so that the part of it that decides
:math:`\delta(\epsilon)` has the greatest weights and is known with small relative error, however
small delta is; without a tilt an FFT leaves errors near 1e-13 everywhere. What may make the answer
too small is bounded and added: the error of the transforms (in the Euclidean norm), rounding, and
the mass that the cyclic convolution wraps round (Chernoff). Proof:
``docs/proofs/federated-text.md``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from accountants.connect_the_dots import (
    Direction,
    TiltedStep,
    body_width,
    cumulant,
    support,
    tilted_step,
)
from accountants.ranges import Floats

Parts = tuple[tuple[float, float, int], ...]  # rate, shift, count

_UNIT = 2.0**-53
_POINTS_MAX = 2**18
_POINTS_MIN = 2**13
_SPREAD = 1e-4  # what the grid may add to ln delta, where its size allows
_SPAN = 12.0  # standard deviations of the composed loss on each side of its mean
_RARE = 40.0  # minus ln of a relative contribution that is rounded up, not resolved
_LATTICE = 4  # exponents tried are 2**(k/4)
_LATTICE_ENDS = (-96, 120)


@dataclass(frozen=True, kw_only=True)
class ComposedLoss:
    """The tilted distribution of the composed loss on a grid, with what bounds its errors.

    ``weights[k]`` belongs to the loss ``(first + k) * step``; the mass there is
    ``weights[k] * exp(cumulant - exponent * loss)``.
    """

    weights: Floats
    first: int
    step: float
    exponent: float
    cumulant: float
    shift: float  # by how much losses may be larger than on the grid
    fft_error: float  # of the weights, in the Euclidean norm
    log_rounding: float  # of the weights' logarithms
    log_apart: float  # ln of the mass that is not on the grid

    def log_delta(self, epsilon: float) -> float:
        """Upper bound of ln delta at ``epsilon`` >= 0."""
        start = epsilon - self.shift - 4 * _UNIT * (abs(epsilon) + self.shift)
        low = int(np.floor(start / self.step)) - self.first
        below = low < 0  # mass between epsilon and the grid, too: all of it is at most 1, tilted
        low = min(max(low, 0), len(self.weights))
        reach = low + min(2 * _RARE / (self.exponent * self.step), 1e9) + 2
        high = int(min(reach, len(self.weights)))
        above = (self.first + np.arange(low, high)) * self.step - start
        above = np.maximum(above + 4 * _UNIT * (abs(start) + above), 0.0)
        factor = np.exp(-self.exponent * above) * -np.expm1(-above)
        total = max(_dot(factor, self.weights[low:high]), 0.0) * (1 + 1e-12)
        total += _norm(factor) * self.fft_error * 1.01
        total += float(np.exp(-2 * _RARE)) if high < len(self.weights) else 0.0
        total += float(below)
        scale = self.cumulant - self.exponent * start
        value = np.logaddexp(scale + np.log(max(total, 1e-300)), self.log_apart)
        size = abs(self.cumulant) + self.exponent * abs(start) + abs(float(value))
        return float(min(value + self.log_rounding + 16 * _UNIT * (1 + size), 0.0))


@lru_cache(maxsize=8)
def composed_loss(parts: Parts, direction: Direction, place: int, floor: float) -> ComposedLoss:
    """Return the composition of ``parts``, tilted; accurate where ln delta is above ``floor``."""
    exponent = _tilt(place)
    counts = [count for _, _, count in parts]
    total = sum(counts)
    _, mean, variance = _total_cumulant(parts, direction, place)
    spread = float(np.sqrt(variance))
    ends = [
        support(rate, shift, direction, exponent=exponent, log_rare=floor - np.log(total))
        for rate, shift, _ in parts
    ]
    widest = max(high - low for low, high in ends)
    period = 2 * (_SPAN * spread + widest)
    widths = [
        n * body_width(*part[:2], direction) ** 2 for n, part in zip(counts, parts, strict=True)
    ]
    body = float(np.sqrt(sum(widths)))
    fine = min(
        float(np.sqrt(8 * _SPREAD / (total * exponent * (1 + exponent)))),
        float(2 * np.sqrt(_SPREAD / total)) * spread,
        # near 0, where nothing has been sampled, the loss has a finer scale
        float(2 * np.sqrt(_SPREAD)) * body if mean < 50 * body else np.inf,
    )
    points = int(min(max(period / max(fine, 1e-300), _POINTS_MIN), _POINTS_MAX))
    points = 2 ** (points - 1).bit_length()
    step = max(period / (points - 8), 1e-12)
    steps = [
        tilted_step(
            rate,
            shift,
            direction,
            exponent=exponent,
            step=step,
            first=int(np.floor(low / step)),
            last=int(np.ceil(high / step)),
        )
        for (rate, shift, _), (low, high) in zip(parts, ends, strict=True)
    ]
    weights, error = _powers([one.weights for one in steps], counts, points)
    top = int(np.ceil((mean + _SPAN * spread + widest) / step))
    first = top - points + 1
    origin = sum(count * one.first for count, one in zip(counts, steps, strict=True))
    log_apart = max(_log_tail(steps, counts, exponent, first + points, spread, floor), -1e300)
    for count, one in zip(counts, steps, strict=True):
        log_apart = float(np.logaddexp(log_apart, np.log(count) + one.log_apart))
    rounding = sum(n * one.log_rounding for n, one in zip(counts, steps, strict=True))
    return ComposedLoss(
        weights=np.roll(weights, -((first - origin) % points)),
        first=first,
        step=step,
        exponent=exponent,
        cumulant=sum(n * one.cumulant for n, one in zip(counts, steps, strict=True)),
        shift=sum(n * one.shift for n, one in zip(counts, steps, strict=True)),
        fft_error=error,
        log_rounding=rounding,
        log_apart=log_apart + rounding + 16 * _UNIT * (1 + abs(log_apart)),
    )


def _powers(pmfs: list[Floats], counts: list[int], points: int) -> tuple[Floats, float]:
    """Return the cyclic convolution of all ``pmfs``, each ``counts`` times, and its error.

    The error is in the Euclidean norm, for transforms of 2**k points with relative error at most
    10 k units of rounding in that norm (Higham 2002, Theorem 24.2, gives less).
    """
    if sum(counts) == 1:
        return np.pad(pmfs[0], (0, points - len(pmfs[0]))), 0.0
    relative = 10 * _UNIT * np.log2(points)
    product = np.ones(points // 2 + 1, dtype=complex)
    error = 0.0
    for pmf, count in zip(pmfs, counts, strict=True):
        product *= np.fft.rfft(pmf, points) ** count
        change = relative * _norm(pmf)
        error += count * change * float(np.exp(min(count * change * np.sqrt(points), 50.0)))
        error += 8 * _UNIT
    weights = np.fft.irfft(product, points)
    rounding = relative + 16 * _UNIT * (sum(counts) + len(counts))
    return weights, error + rounding * _norm(weights) * 1.01


def _log_tail(
    steps: list[TiltedStep],
    counts: list[int],
    exponent: float,
    top: int,
    spread: float,
    floor: float,
) -> float:
    """Bound ln of the mass at and above the point ``top``, which the cyclic convolution wraps.

    Chernoff's bound at ``exponent`` and, if that is not enough, at greater ones.
    """
    step = steps[0].step
    cumulants = sum(n * one.cumulant for n, one in zip(counts, steps, strict=True))
    best = cumulants - exponent * top * step
    width = max(len(one.weights) for one in steps) * step
    for more in (3 / spread, 6 / spread, 12 / spread, 10 / width, 40 / width):
        if best < floor - _RARE:
            break
        if more * width > 300:
            continue
        bound = cumulants - (exponent + more) * top * step
        for n, one in zip(counts, steps, strict=True):
            losses = (one.first + np.arange(len(one.weights))) * step
            end = float(losses[-1])
            bound += n * (
                more * end + float(np.log(_dot(one.weights, np.exp(more * (losses - end)))))
            )
        best = min(best, bound)
    return best + 1e-12 * (1 + abs(best))


def _dot(one: Floats, two: Floats) -> float:
    """Return the inner product by pairwise summation: in one thread, with a small error."""
    return float(np.sum(one * two))


def _norm(values: Floats) -> float:
    return float(np.sqrt(_dot(values, values)))


# --- which exponent -----------------------------------------------------------------------------


def _tilt(place: int) -> float:
    return float(2.0 ** (place / _LATTICE))


@lru_cache(maxsize=4096)
def _total_cumulant(parts: Parts, direction: Direction, place: int) -> tuple[float, float, float]:
    """Estimate the cumulant of the composed loss, its tilted mean and variance."""
    each = [cumulant(rate, shift, direction, _tilt(place)) for rate, shift, _ in parts]
    sums = [
        sum(count * values[i] for (_, _, count), values in zip(parts, each, strict=True))
        for i in range(3)
    ]
    return sums[0], sums[1], max(sums[2], 1e-24)


def _log_chernoff(parts: Parts, direction: Direction, place: int) -> float:
    """Ln of a bound of delta at epsilon, plus exponent times epsilon, at one exponent."""
    tilt = _tilt(place)
    factor = tilt * np.log(tilt) - (1 + tilt) * np.log1p(tilt)
    return float(_total_cumulant(parts, direction, place)[0] + factor)


def exponent_at(parts: Parts, direction: Direction, epsilon: float) -> tuple[int, float]:
    """Return where delta's estimate at ``epsilon`` is least, and its logarithm."""

    def estimate(place: int) -> float:
        return _log_chernoff(parts, direction, place) - _tilt(place) * epsilon

    return _least(estimate)


def exponent_for(parts: Parts, direction: Direction, log_delta: float) -> tuple[int, float]:
    """Return where epsilon's estimate for ``log_delta`` is least, and that epsilon."""

    def estimate(place: int) -> float:
        return (_log_chernoff(parts, direction, place) - log_delta) / _tilt(place)

    return _least(estimate)


def places_for(parts: Parts, direction: Direction, place: int, epsilon: float) -> list[int]:
    """Return ``place``, and a smaller one if the mean there is far beyond ``epsilon``.

    That happens where a rare jump makes the tilted loss leap from below epsilon to far above
    between two exponents; Chernoff's choice is then not the best one.
    """
    if epsilon <= 0 or _total_cumulant(parts, direction, place)[1] <= 1.5 * epsilon:
        return [place]
    low, high = _LATTICE_ENDS[0], place
    while high - low > 1:
        middle = (low + high) // 2
        if _total_cumulant(parts, direction, middle)[1] <= epsilon:
            low = middle
        else:
            high = middle
    return [place, low]


def _least(estimate: Callable[[int], float]) -> tuple[int, float]:
    """Return the place with the least estimate, which falls and then rises."""
    low, high = _LATTICE_ENDS
    while high > low:
        middle = (low + high) // 2
        if estimate(middle) <= estimate(middle + 1):
            high = middle
        else:
            low = middle + 1
    return low, estimate(low)


def rounded_floor(log_delta: float) -> float:
    """Return a little less, rounded coarsely so that nearby questions share one grid."""
    return float(8 * np.floor((min(log_delta, 0.0) - 4) / 8))
