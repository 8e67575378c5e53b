r"""The privacy loss of one Poisson-subsampled Gaussian step, on a grid and tilted.

With :math:`M_\mu` the mixture :math:`(1-q) N(0,1) + q N(\mu,1)` the loss at x is
:math:`l(x) = \ln(1 - q + q e^{\mu x - \mu^2/2})` when a record is removed (:math:`M_\mu` against
:math:`N(0,1)`), :math:`-l(x)` when it is added, and :math:`l(x) - l(-x)` when it is replaced
(:math:`M_\mu` against :math:`M_{-\mu}`). Between two neighbouring points a < b of the grid lie
the masses P and Q of the pair. P is split into :math:`w_b` at b and :math:`P - w_b` at a,

.. math:: w_b = \frac{P - Q e^a}{1 - e^{a - b}},

which keeps both masses (connecting the dots, Doroshenko et al. 2022). Rounding is bounded bucket
by bucket: P is rounded up, :math:`w_b` is rounded up within P, and a bound of the error of the
grid's points goes to ``shift``: every loss of the pair is at most that of the grid plus ``shift``.
Proof: ``docs/proofs/federated-text.md``.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy.special import erfcx, ndtr

from accountants.ranges import Floats

Direction = Literal["remove", "add", "replace"]

_UNIT = 2.0**-53
_ROOT2 = float(np.sqrt(2.0))
_ERFCX_ERROR = 1e-15  # relative, of scipy's erfcx; a test compares it with mpmath
_BODY = 9.0  # standard deviations of the noise beyond which the lower tail is moved up
_RARE = 40.0  # minus ln of a relative contribution that is rounded up, not resolved


@dataclass(frozen=True, kw_only=True)
class TiltedStep:
    """One step's loss: the mass at ``(first + k) step`` times ``exp(exponent loss - cumulant)``.

    Attributes
    ----------
    first, step
        The grid: ``weights[k]`` belongs to the loss ``(first + k) step``.
    weights : ndarray
        Tilted masses, rounded up; their sum is at most 1.
    cumulant : float
        Natural logarithm of what they were divided by.
    shift : float
        How much the loss may exceed that of the grid.
    log_apart : float
        Natural logarithm of the mass above the grid, rounded up; it is at infinity.
    log_rounding : float
        Bound of the error of the weights' logarithms, so far not included in them.
    """

    first: int
    step: float
    weights: Floats
    cumulant: float
    shift: float
    log_apart: float
    log_rounding: float


def tilted_step(
    rate: float,
    shift: float,
    direction: Direction,
    *,
    exponent: float,
    step: float,
    first: int,
    last: int,
) -> TiltedStep:
    r"""Return one step's loss on the grid ``first * step`` to ``last * step``, dominating it.

    Parameters
    ----------
    rate : float
        q in (0, 1].
    shift : float
        :math:`\mu > 0`.
    direction : {"remove", "add", "replace"}
        Whether the first data set has the record, the second, or each has one of its own. With
        q = 1 it is ignored: one Gaussian against another at distance ``shift``.
    exponent : float
        Of the tilt, > 0.
    step : float
        Distance of neighbouring points.
    first, last : int
        Ends of the grid. Mass below is moved up to the first point, mass above to infinity.
    """
    losses = np.asarray(np.arange(first, last + 1) * step, np.float64)
    if rate == 1:
        direction = "remove"
    with np.errstate(all="ignore"):
        places = _places(losses, rate, shift, direction)
        moved = _moved(places, losses, rate, shift, direction)
        edges = np.concatenate(([-np.inf], places, [np.inf]))
        plain = _log_masses(edges, 0.0)
        # mirrored where the record is added, so that the loss rises with the place
        mixed = _mixture(_log_masses(edges, -shift if direction == "add" else shift), plain, rate)
        if direction == "replace":
            other = _mixture(_log_masses(edges, -shift), plain, rate)
            (log_p, p_error), (log_q, q_error) = mixed, other
        else:
            (log_p, p_error), (log_q, q_error) = (
                (plain, mixed) if direction == "add" else (mixed, plain)
            )
        log_p = log_p + p_error
        # inside the grid: the part that goes to the upper end
        inner = slice(1, -1)
        gap = log_q[inner] - log_p[inner] + losses[:-1]
        doubt = 2 * p_error[inner] + q_error[inner] + 2 * moved
        doubt += 4 * _UNIT * (1 + np.abs(losses[:-1]) + np.abs(log_p[inner]))
        upper = (-np.expm1(gap) + 2 * doubt) / -np.expm1(-step) * (1 + 8 * _UNIT)
    upper = np.where(upper >= 0, np.minimum(upper, 1.0), 1.0)  # NaN where there is no mass
    tilted = np.full(len(losses), -np.inf)
    tilted[0] = log_p[0] + exponent * losses[0]
    lower_part = log_p[inner] + exponent * losses[:-1]
    upper_part = log_p[inner] + exponent * losses[1:]
    peak = float(max(tilted[0], np.max(upper_part)))
    weights = np.zeros(len(losses))
    weights[0] = np.exp(tilted[0] - peak)
    weights[:-1] += np.exp(lower_part - peak) * (1 - upper) * (1 + 4 * _UNIT)
    weights[1:] += np.exp(upper_part - peak) * upper
    total = float(weights.sum()) * (1 + 1e-15 * np.log2(len(weights) + 1))
    seen = weights > 1e-40 * total
    size = exponent * float(np.max(np.abs(losses[seen]))) + abs(peak)
    return TiltedStep(
        first=first,
        step=step,
        weights=weights / total,
        cumulant=peak + float(np.log(total)),
        shift=moved + 2 * _UNIT * step * max(abs(first), abs(last)),
        log_apart=float(log_p[-1]),
        log_rounding=16 * _UNIT * (1 + size),
    )


def _places(losses: Floats, rate: float, shift: float, direction: Direction) -> Floats:
    """Return x where the loss is ``losses``; infinite where it is nowhere so low or so high."""
    if direction == "replace":
        log_scale = np.log1p(-rate) - np.log(rate) + shift * shift / 2
        half = np.abs(losses) / 2
        log_sinh = half + np.log(-np.expm1(-2 * half)) - np.log(2.0)
        size = log_scale + log_sinh
        inverse = np.where(size < 300, np.arcsinh(np.exp(np.minimum(size, 300.0))), 0.0)
        inverse = np.where(size < 300, inverse, size + np.log(2.0))
        return np.asarray(np.sign(losses) * (half + inverse) / shift)
    sign = -1.0 if direction == "add" else 1.0
    losses = sign * losses
    below = np.log1p(-rate) - losses  # ln of (1 - q) e^-l
    ratio = losses + np.log(-np.expm1(np.minimum(below, 0.0))) - np.log(rate)
    return np.asarray(sign * (ratio + shift * shift / 2) / shift)


def _mixture(
    shifted: tuple[Floats, Floats], plain: tuple[Floats, Floats], rate: float
) -> tuple[Floats, Floats]:
    """Return the logarithms of ``rate`` shifted + (1 - rate) plain, and error bounds."""
    value = np.logaddexp(np.log(rate) + shifted[0], np.log1p(-rate) + plain[0])
    size = np.where(np.isinf(value), 0.0, np.abs(value)) + abs(float(np.log(rate)))
    return value, np.maximum(shifted[1], plain[1]) + 4 * _UNIT * (1 + size)


def loss_at(places: Floats, rate: float, shift: float) -> tuple[Floats, Floats]:
    """Return the loss of removal at ``places`` (finite), and a bound of its rounding error."""
    log_ratio = shift * places - shift * shift / 2
    rounding = 4 * _UNIT * (np.abs(shift * places) + shift * shift)
    if rate == 1:
        return log_ratio, rounding
    near = np.clip(log_ratio, -1.0, 1.0)
    small = np.log1p(rate * np.expm1(near))
    small_error = rate * np.exp(near - small) * rounding + 4 * _UNIT * (
        np.abs(rate * np.expm1(near)) * np.exp(-small) + np.abs(small)
    )
    log_rate, log_rest = float(np.log(rate)), float(np.log1p(-rate))
    large = np.logaddexp(log_rest, log_rate + log_ratio)
    share = np.exp(log_rate + log_ratio - large)  # of the first term, which carries the rounding
    large_error = share * (rounding + 2 * _UNIT * abs(log_rate)) + 4 * _UNIT * np.abs(large)
    large_error += (1 - share) * 4 * _UNIT * abs(log_rest) + 4 * _UNIT
    use = np.abs(log_ratio) < 1
    return np.where(use, small, large), np.where(use, small_error, large_error)


def directed_loss(
    places: Floats, rate: float, shift: float, direction: Direction
) -> tuple[Floats, Floats]:
    """Return the loss at ``places`` (finite), rising, and a bound of its rounding error."""
    if rate == 1 or direction == "remove":
        return loss_at(places, rate, shift)
    value, error = loss_at(-places, rate, shift)
    if direction == "add":
        return -value, error
    other, other_error = loss_at(places, rate, shift)
    difference = other - value
    return difference, error + other_error + _UNIT * np.abs(difference)


def _moved(
    places: Floats, losses: Floats, rate: float, shift: float, direction: Direction
) -> float:
    """Bound how far the losses at ``places`` are from ``losses``, their intended values."""
    finite = np.isfinite(places)
    if not finite.any():
        return 0.0
    real, error = directed_loss(places[finite], rate, shift, direction)
    return float(np.max(np.abs(real - losses[finite]) + error)) * (1 + 4 * _UNIT)


def _log_masses(edges: Floats, mean: float) -> tuple[Floats, Floats]:
    """Return the logarithms of N(mean, 1) between neighbouring ``edges``, and error bounds."""
    x = edges - mean
    low, high = x[:-1], x[1:]
    # by symmetry the end nearer to 0 is on the positive side, unless 0 lies between
    mirrored = high <= 0
    near, far = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    log_tail = np.log(erfcx(x * np.where(x < 0, -1, 1) / _ROOT2) / 2) - x * x / 2
    near_tail = np.where(mirrored, log_tail[1:], log_tail[:-1])
    far_tail = np.where(mirrored, log_tail[:-1], log_tail[1:])
    far_tail = np.where(np.isinf(far), -np.inf, far_tail)
    share = -np.expm1(far_tail - near_tail)
    error = 2 * _ERFCX_ERROR + 16 * _UNIT * (1 + near * near)
    far_error = 2 * _ERFCX_ERROR + 16 * _UNIT * (1 + np.where(np.isinf(far), 0.0, far * far))
    weight = np.where(np.isinf(far), 0.0, 1 - share)
    relative = (error + weight * far_error) / share
    value = near_tail + np.log(share)
    # 0 strictly inside: the plain difference, which is not small unless the bucket is
    across = (low < 0) & (high > 0)
    plain = ndtr(high) - ndtr(low)
    value = np.where(across, np.log(plain), value)
    relative = np.where(across, 16 * _UNIT / plain, relative)
    empty = ~(near < far) | (near == np.inf)
    value = np.where(empty, -np.inf, value)
    relative = np.where(empty, 0.0, np.minimum(relative, 1.0))
    return value, relative + 4 * _UNIT * (1 + np.where(np.isinf(value), 0.0, np.abs(value)))


# --- what to choose exponent and grid by; estimates only ----------------------------------------


@lru_cache(maxsize=4096)
def cumulant(
    rate: float, shift: float, direction: Direction, exponent: float
) -> tuple[float, float, float]:
    """Estimate ln E[exp(exponent loss)] of one step, and the tilted loss's mean and variance."""
    if rate == 1:
        half = shift * shift / 2
        return exponent * (1 + exponent) * half, (1 + 2 * exponent) * half, 2 * half
    body = np.linspace(-_BODY, _BODY, 721)
    reach = exponent * shift
    if direction == "add":  # the loss is bounded: beyond this place a tilt has nothing to gain
        flat = float(np.log(exponent * rate / (1 - rate))) / shift - shift / 2
        reach = min(reach, max(flat, 0.0) + 5 / shift)
    else:
        reach += shift
    places = np.unique(np.concatenate((body, reach + body, np.linspace(0, reach, 600))))
    loss = directed_loss(places, rate, shift, direction)[0]
    log_density = -places * places / 2
    if direction != "add":
        log_density = log_density + loss_at(places, rate, shift)[0]
    width = np.gradient(places)
    logs = log_density + exponent * loss + np.log(width) - np.log(2 * np.pi) / 2
    peak = float(logs.max())
    weights = np.exp(logs - peak)
    total = float(weights.sum())
    mean = float(weights @ loss) / total
    variance = float(weights @ (loss - mean) ** 2) / total
    return peak + float(np.log(total)), mean, variance


def body_width(rate: float, shift: float, direction: Direction) -> float:
    """Return how far apart the losses are at one standard deviation of the noise on each side."""
    ends = directed_loss(np.array([-1.0, 1.0]), rate, shift, direction)[0]
    return float(ends[1] - ends[0])


def support(
    rate: float, shift: float, direction: Direction, *, exponent: float, log_rare: float
) -> tuple[float, float]:
    """Return the losses between which a grid resolves, for a mass ``exp(log_rare)`` apart."""
    beyond = float(np.sqrt(max(2 * (_RARE - log_rare), 1.0)))
    log_mean = cumulant(rate, shift, direction, exponent)[0]
    least = (log_mean - _RARE - 20.0) / exponent  # tilted, what lies below does not count
    start = shift - _BODY if rate == 1 else -_BODY
    ends = directed_loss(np.array([start, shift + beyond]), rate, shift, direction)[0]
    low, high = float(ends[0]), float(ends[1])
    return min(max(low, least), high - 1e-12), high
