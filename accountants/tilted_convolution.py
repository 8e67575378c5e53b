r"""Sums of independent discrete privacy losses, small deltas with small relative errors.

A loss l with mass p(l) is tilted to :math:`w(l) = p(l) e^{\theta l - \kappa}`, of sum 1. Tilted
masses convolve as the masses do, and

.. math::
   \delta(\epsilon) = e^{\kappa - \theta\epsilon} \sum_l w(l)\, e^{-\theta(l - \epsilon)}
   \bigl(1 - e^{-(l-\epsilon)}\bigr)_+ .

With :math:`\theta` near the saddle point the sum is of moderate size, however small delta is, so
that the error of a Fourier transform, which is absolute in w, is small relative to delta. Errors
of transforms (in the Euclidean norm), rounding, and the mass that a cyclic convolution carries
round the end of its grid are bounded and added. Proof: ``docs/proofs/composition.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from accountants.loss_distribution import LossDistribution, split
from accountants.ranges import Floats

_UNIT = 2.0**-53
_RARE = 80.0  # minus ln of a relative contribution that is rounded up, not resolved
_LEAST = -1e300  # instead of -inf


@dataclass(frozen=True, kw_only=True, eq=False)
class TiltedLoss:
    """One loss on a grid: ``weights[k] exp(cumulant - tilt l)`` at ``l = (first + k) step``.

    Attributes
    ----------
    first : int
        Of the grid.
    weights : ndarray
        Tilted masses, rounded up but for ``log_rounding``; their sum is at most 1.
    cumulant : float
        Natural logarithm of what they were divided by.
    log_apart : float
        Natural logarithm of the mass that is not on the grid: its loss counts as infinite.
    log_rounding : float
        Bound of the error of the weights' logarithms.
    log_total : float
        Natural logarithm of all mass, rounded up.
    """

    first: int
    weights: Floats
    cumulant: float
    log_apart: float
    log_rounding: float
    log_total: float


@dataclass(frozen=True, kw_only=True, eq=False)
class TiltedSum:
    """The sum of several tilted losses; attributes as those of :class:`TiltedLoss`.

    ``l2_error`` bounds the error of ``weights`` in the Euclidean norm.
    """

    first: int
    weights: Floats
    cumulant: float
    log_apart: float
    log_rounding: float
    tilt: float
    step: float
    l2_error: float

    def log_delta(self, epsilon: float) -> float:
        """Upper bound of ln delta at a finite ``epsilon`` >= 0."""
        low = int(np.floor(epsilon / self.step)) - 1 - self.first
        begin = min(max(low, 0), len(self.weights))
        reach = min(_RARE / (self.tilt * self.step), 1e9)
        end = int(min(max(low, 0) + reach + 4, len(self.weights)))
        losses = (self.first + np.arange(begin, end)) * self.step
        above = np.maximum(losses - epsilon, 0.0)
        above += 4 * _UNIT * (epsilon + above)
        factor = np.exp(-self.tilt * above) * -np.expm1(-above)
        total = max(float(factor @ self.weights[begin:end]), 0.0) * (1 + 1e-12)
        total += float(np.linalg.norm(factor)) * self.l2_error * (1 + 1e-9)
        if end < len(self.weights):
            total += float(np.exp(-_RARE + 1))
        if low < 0:  # some losses between epsilon and the grid are wrapped to its top
            total += 1.0
        scale = self.cumulant - self.tilt * epsilon
        rounding = 16 * _UNIT * (2 + _RARE + abs(self.cumulant) + self.tilt * epsilon)
        value = scale + float(np.log(max(total, 1e-300))) + self.log_rounding + rounding
        return float(min(np.logaddexp(value, self.log_apart) + 4 * _UNIT * (1 + abs(value)), 0.0))


def put_on_grid(loss: LossDistribution, *, tilt: float, step: float, log_rare: float) -> TiltedLoss:
    """Return ``loss`` on the multiples of ``step``, dominating it.

    Parameters
    ----------
    loss : LossDistribution
        With some finite mass.
    tilt, step : float
        > 0.
    log_rare : float
        The greatest losses go to infinity as long as their mass is at most ``exp(log_rare)``.
    """
    losses, logs, apart = cut(loss, tilt=tilt, log_rare=log_rare)
    places, upper = split(losses, step)
    first, last = int(places[0]), int(places[-1]) + 1
    reach = tilt * (np.arange(first, last + 1) * step)
    at = places - first
    low = logs + np.log(np.minimum(1 - upper + 8 * _UNIT, 1.0)) + reach[at]
    high = logs + np.log(np.minimum(upper + _UNIT, 1.0)) + reach[at + 1]
    peak = float(np.maximum(low.max(), high.max()))
    weights = np.zeros(last - first + 1)
    np.add.at(weights, at, np.exp(low - peak))
    np.add.at(weights, at + 1, np.exp(high - peak))
    total = float(weights.sum()) * (1 + 2 * _UNIT * (4 + np.log2(len(weights))))
    size = float(np.max(np.abs(logs))) + abs(peak) + 3 * float(np.max(np.abs(reach)))
    return TiltedLoss(
        first=first,
        weights=weights / total,
        cumulant=peak + float(np.log(total)),
        log_apart=apart,
        log_rounding=(16 + len(losses)) * _UNIT * (1 + size / 16),
        log_total=loss.log_total + 64 * _UNIT * (1 + len(losses)),
    )


def cut(loss: LossDistribution, *, tilt: float, log_rare: float) -> tuple[Floats, Floats, float]:
    """Return losses and log masses without what is too rare to matter, and ln of the mass apart.

    At the top, a mass of at most ``exp(log_rare)`` goes to infinity; at the bottom, mass goes up to
    a loss at which it is negligible when tilted. At least one loss stays.
    """
    usable = np.flatnonzero(loss.log_masses > -np.inf)
    losses, logs = loss.losses[usable], loss.log_masses[usable]
    above = np.logaddexp.accumulate(np.append(loss.log_infinity, logs[::-1]))
    gone = int(np.searchsorted(above, log_rare, side="right")) - 1
    high = len(losses) - min(max(gone, 0), len(losses) - 1)
    apart = max(float(above[len(losses) - high]), _LEAST)
    apart += 4 * _UNIT * len(above) * (1 + abs(apart))
    losses, logs = losses[:high], logs[:high]
    # a mass of at most 1 is negligible, tilted, at or below this loss
    least = (float(np.logaddexp.reduce(logs + tilt * losses)) - _RARE) / tilt
    low = min(int(np.searchsorted(losses, least)), high - 1)
    if low > 0:
        raised = float(np.logaddexp.reduce(logs[:low]))
        raised += 4 * _UNIT * low * (1 + abs(raised))
        losses = np.concatenate(([least], losses[low:]))
        logs = np.concatenate(([raised], logs[low:]))
    return losses, logs, apart


def convolve(
    parts: Sequence[TiltedLoss],
    counts: Sequence[int],
    *,
    tilt: float,
    step: float,
    top: int,
    points: int,
    spread: float,
) -> TiltedSum:
    """Return the sum of ``counts[i]`` independent copies of each of ``parts``.

    Parameters
    ----------
    parts : sequence of TiltedLoss
        Made with this ``tilt`` and ``step``.
    counts : sequence of int
        >= 1.
    top : int
        The last point of the sum's grid, in units of ``step``.
    points : int
        Size of that grid, an even number, at least that of each part. Losses below it are moved
        up into it; what lies above counts as infinite.
    spread : float
        Standard deviation of the tilted sum, about; a wrong one makes the result larger.
    """
    weights, error = _powers([part.weights for part in parts], counts, points)
    first = top - points + 1
    pairs = list(zip(counts, parts, strict=True))
    origin = sum(count * part.first for count, part in pairs)
    cumulant = sum(count * part.cumulant for count, part in pairs)
    rounding = sum(count * part.log_rounding for count, part in pairs)
    wrapped = _log_wrapped(pairs, tilt=tilt, step=step, top=top, spread=spread)
    lost = log_any([(count, part.log_apart, part.log_total) for count, part in pairs])
    apart = max(float(np.logaddexp(wrapped, lost)), _LEAST)
    apart += 4 * _UNIT * abs(apart)
    return TiltedSum(
        first=first,
        weights=np.roll(weights, -((first - origin) % points)),
        cumulant=cumulant,
        log_apart=apart,
        log_rounding=rounding,
        tilt=tilt,
        step=step,
        l2_error=error,
    )


def log_any(parts: Sequence[tuple[int, float, float]]) -> float:
    """Return ln of the mass at which at least one of independent losses is infinite, rounded up.

    Each is given by its count, the logarithm of its mass at infinity, and that of all its mass.
    With totals t >= 1 it is at most the product of the t times 1 - product of (1 - mass).
    """
    some, totals = -np.inf, 0.0
    for count, log, total in parts:
        if log >= 0:
            return 0.0
        each = log if log < -40 else float(np.log(-np.log1p(-np.exp(log))))  # of -ln(1 - mass)
        some = float(np.logaddexp(some, np.log(count) + each))
        totals += count * total
    size = abs(some) if np.isfinite(some) else 0.0
    some += 16 * _UNIT * (len(parts) + size) + 1e-17
    value = some if some < -40 else float(np.log(-np.expm1(-np.exp(some))))
    return float(min(value + totals + 4 * _UNIT * (1 + size), 0.0))


def _powers(factors: Sequence[Floats], counts: Sequence[int], points: int) -> tuple[Floats, float]:
    """Return the cyclic convolution of all ``factors``, each ``counts`` times, and its l2 error.

    A transform of 2**k points errs by at most 10 k roundings relative to its norm (Higham 2002,
    Theorem 24.2, has about 7); no coefficient of a factor is greater than 1.
    """
    relative = 10 * _UNIT * float(np.log2(points))
    product = np.ones(points // 2 + 1, dtype=complex)
    error = growth = 0.0
    for factor, count in zip(factors, counts, strict=True):
        padded = np.zeros(points)
        padded[: len(factor)] = factor
        product *= np.fft.rfft(padded) ** count
        change = relative * float(np.linalg.norm(factor))
        error += count * change + 8 * _UNIT
        growth += count * change * float(np.sqrt(points))
    weights = np.fft.irfft(product, points)
    error *= float(np.exp(min(growth, 50.0)))
    size = float(np.linalg.norm(weights)) + error
    return weights, error + (relative + 16 * _UNIT * (sum(counts) + len(counts))) * size * 1.01


def _log_wrapped(
    pairs: Sequence[tuple[int, TiltedLoss]], *, tilt: float, step: float, top: int, spread: float
) -> float:
    """Bound ln of the mass above the point ``top``: none, or Chernoff's bound at the best tilt."""
    end = sum(count * (part.first + len(part.weights) - 1) for count, part in pairs)
    if end <= top:
        return _LEAST
    cumulant = sum(count * part.cumulant for count, part in pairs)
    rounding = sum(count * part.log_rounding for count, part in pairs)
    size = abs(cumulant) + tilt * step * (abs(top) + 1)
    width = step * max(len(part.weights) for _, part in pairs)
    best = 0.0
    for more in (1 / spread, 3 / spread, 6 / spread, 12 / spread, 10 / width, 40 / width):
        if more * width > 600:
            continue
        bound, terms = -more * step * (top + 1), more * step * (abs(top) + 1)
        for count, part in pairs:
            held = np.flatnonzero(part.weights)
            last = (part.first + int(held[-1])) * step
            losses = (part.first + held) * step - last
            mean = float(part.weights[held] @ np.exp(more * losses))
            bound += count * (more * last + float(np.log(mean)))
            terms += count * (more * abs(last) + abs(float(np.log(mean))) + 1)
        best = min(best, bound + 64 * _UNIT * terms)
    return cumulant - tilt * step * (top + 1) + best + rounding + 64 * _UNIT * (1 + size)
