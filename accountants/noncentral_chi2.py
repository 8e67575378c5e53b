r"""Noncentral chi-square distribution: logarithms of CDF and survival, enclosed, in deep tails too.

With d degrees of freedom and noncentrality :math:`\lambda` the CDF is a Poisson mixture of central
ones. Write :math:`a = d/2`, :math:`y = x/2`, :math:`m = \lambda/2`,
:math:`w_j = e^{-m} m^j/j!` and :math:`g_e = e^{-y} y^e/\Gamma(e+1)`. Then

.. math::
   F(x) = \sum_{j \ge 0} w_j P(a+j, y), \quad P(a+j, y) = \sum_{i \ge j} g_{a+i}, \qquad
   1 - F(x) = \sum_{j \ge 0} w_j Q(a+j, y), \quad Q(a+j+1, y) = Q(a+j, y) + g_{a+j}.

All sequences here are log-concave. A wide window is therefore summed over cells of h terms: a chord
of the logarithm bounds a cell from below, the neighbouring chords continued bound it from above,
and what lies outside the window is below a geometric series. Proof in
``docs/proofs/noncentral-chi-square.md``.

Functions named ``_up`` never lie below the exact value, those named ``_down`` never above it. Both
are within 1e-6 + 1e-13 times the absolute logarithm of it while x and the noncentrality are at
most 1e12; beyond that they are Chernoff's bounds, which hold but are not close.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, gammaln

from accountants import ranges
from accountants.errors import ParameterError
from accountants.ranges import Floats

DEGREES_LIMIT = 10**5
LARGE = 1e12  # largest x and noncentrality that are summed
_UNIT, _LOG_2PI = 2.0**-53, float(np.log(2 * np.pi))
_CELLS = 1200.0  # cells for each standard deviation of the terms, where there are more terms
_WIDTH = 8.0  # standard deviations on each side of the centre
_DEEP = 45.0  # e^-45 of a sum is left to the bounds of its remainder
_SMALLEST, _HUGE = 1e-290, 1e300

Pair = tuple[float, float]


def log_cdf_up(x: ArrayLike, *, degrees: ArrayLike, noncentrality: ArrayLike) -> Floats:
    """Return an upper bound of ln Pr[X <= x].

    Parameters
    ----------
    x : array_like
        Each >= 0 (``inf`` allowed).
    degrees : array_like of int
        d, 1 to 1e5.
    noncentrality : array_like
        Each >= 0, finite: the squared norm of the mean of d unit normals.

    Returns
    -------
    ndarray
        Of the broadcast shape, at most 0; ``-inf`` only at x = 0.

    Raises
    ------
    ParameterError
        If an argument lies outside its range.
    """
    return _each(x, degrees, noncentrality, upper_tail=False)[1]


def log_cdf_down(x: ArrayLike, *, degrees: ArrayLike, noncentrality: ArrayLike) -> Floats:
    """Return a lower bound of ln Pr[X <= x]; arguments as :func:`log_cdf_up`."""
    return _each(x, degrees, noncentrality, upper_tail=False)[0]


def log_sf_up(x: ArrayLike, *, degrees: ArrayLike, noncentrality: ArrayLike) -> Floats:
    """Return an upper bound of ln Pr[X > x]; arguments as :func:`log_cdf_up`."""
    return _each(x, degrees, noncentrality, upper_tail=True)[1]


def log_sf_down(x: ArrayLike, *, degrees: ArrayLike, noncentrality: ArrayLike) -> Floats:
    """Return a lower bound of ln Pr[X > x]; arguments as :func:`log_cdf_up`."""
    return _each(x, degrees, noncentrality, upper_tail=True)[0]


def chernoff_log_cdf(x: ArrayLike, *, degrees: ArrayLike, noncentrality: ArrayLike) -> Floats:
    r"""Return Chernoff's upper bound of ln Pr[X <= x], in closed form.

    :math:`\min_\theta E e^{\theta(x - X)}` is at :math:`s = 1/(1+2\theta)` with
    :math:`d s + \lambda s^2 = x`; 0 from the mean on. Arguments as :func:`log_cdf_up`, any size.
    """
    return _chernoff(*_checked(x, degrees, noncentrality), upper_tail=False)


def centroid_hit_probability(
    *, offset_norm: ArrayLike, count: ArrayLike, noise_std: float, radius: float, dimension: int
) -> tuple[Floats, Floats]:
    """Bound ln Pr[a bucket's noisy centroid lies within ``radius`` of a point], lower bound first.

    Parameters
    ----------
    offset_norm : array_like
        Distance >= 0 of the sampled members' exact centroid from the point.
    count : array_like of int
        n >= 1, the members that were sampled.
    noise_std : float
        Standard deviation > 0 on each coordinate of the sum; the centroid has this over n.
    radius : float
        > 0, in the unit of the embeddings.
    dimension : int
        d, 1 to 1e5.

    Raises
    ------
    ParameterError
        If an argument lies outside its range.

    Notes
    -----
    Exact for the sampled bucket: n^2/noise_std^2 times the squared distance is noncentral
    chi-square. Its mean over simulated buckets is the Rao-Blackwell estimate of a hit.
    """
    ranges.positive("noise_std", noise_std)
    ranges.positive("radius", radius)
    offset, n = np.broadcast_arrays(np.asarray(offset_norm, float), np.asarray(count, float))
    if not np.all((offset >= 0) & np.isfinite(offset)):
        raise ParameterError(f"offset_norm = {offset_norm!r}: finite numbers >= 0 are needed")
    if not np.all((n >= 1) & (n == np.floor(n)) & np.isfinite(n)):
        raise ParameterError(f"count = {count!r}: whole numbers >= 1 are needed")
    x_down, x_up = scaled_square(radius, n, noise_std)
    nc_down, nc_up = scaled_square(offset, n, noise_std)
    known = np.isfinite(nc_up)
    down = log_cdf_down(x_down, degrees=dimension, noncentrality=np.where(known, nc_up, 0.0))
    up = log_cdf_up(x_up, degrees=dimension, noncentrality=nc_down)
    return np.where(known, down, -np.inf), up


def scaled_square(length: ArrayLike, n: ArrayLike, noise_std: float) -> tuple[Floats, Floats]:
    """Return bounds of (length n / noise_std)^2; the lower one is finite."""
    size = np.asarray(length, float)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        value = np.where(size > 0, size * (np.asarray(n, float) / noise_std), 0.0) ** 2
        up = np.where(size > 0, value * (1 + 10 * _UNIT) + 1e-300, 0.0)
    return np.minimum(value * (1 - 10 * _UNIT), _HUGE), up


def _checked(x: ArrayLike, degrees: ArrayLike, noncentrality: ArrayLike) -> tuple[Floats, ...]:
    """Return the three arguments as arrays of one shape, within their ranges."""
    points, d, shift = np.broadcast_arrays(
        np.asarray(x, float), np.asarray(degrees, float), np.asarray(noncentrality, float)
    )
    if not np.all(points >= 0):
        raise ParameterError(f"x = {x!r}: numbers >= 0 are needed")
    if not np.all((d >= 1) & (d <= DEGREES_LIMIT) & (d == np.floor(d))):
        raise ParameterError(
            f"degrees = {degrees!r}: whole numbers from 1 to {DEGREES_LIMIT} are needed"
        )
    if not np.all((shift >= 0) & np.isfinite(shift)):
        raise ParameterError(f"noncentrality = {noncentrality!r}: finite numbers >= 0 are needed")
    return points, d, shift


def _each(
    x: ArrayLike, degrees: ArrayLike, noncentrality: ArrayLike, *, upper_tail: bool
) -> tuple[Floats, Floats]:
    """Return lower and upper bounds of one tail's logarithm, element by element."""
    points, d, shift = _checked(x, degrees, noncentrality)
    down, up = np.empty(points.size), np.empty(points.size)
    with np.errstate(all="ignore"):
        for i, (one, df, nc) in enumerate(np.column_stack([a.ravel() for a in (points, d, shift)])):
            down[i], up[i] = _tail(float(one), float(df), float(nc), upper_tail)
    return down.reshape(points.shape), up.reshape(points.shape)


def _tail(x: float, d: float, nc: float, upper_tail: bool) -> Pair:
    """Return lower and upper bounds of one tail's logarithm."""
    if x == 0 or np.isinf(x):
        certain = (x == 0) == upper_tail
        return (0.0, 0.0) if certain else (-np.inf, -np.inf)
    if x < _SMALLEST:  # too close to 0 for the sums: monotone in x
        return (-_UNIT, 0.0) if upper_tail else (-np.inf, _tail(_SMALLEST, d, nc, False)[1])
    if x <= LARGE and nc <= LARGE:
        down, up = _sum(d / 2, x / 2, nc / 2, upper_tail)
        if up < -0.5:
            return down, up
        rest_down, rest_up = _sum(d / 2, x / 2, nc / 2, not upper_tail)
    else:
        one, df, shift = np.array(x), np.array(d), np.array(nc)
        down, up = -np.inf, float(_chernoff(one, df, shift, upper_tail=upper_tail))
        rest_down, rest_up = -np.inf, float(_chernoff(one, df, shift, upper_tail=not upper_tail))
    # near 1 the complement says more
    down = max(down, _complement(rest_up) * (1 + 4 * _UNIT))
    up = min(up, _complement(rest_down) * (1 - 4 * _UNIT))
    return down, up


def _complement(log_value: float) -> float:
    """Return ln(1 - e^log_value), relative error at most 4 units; -inf at 0."""
    big = log_value > -0.7
    return float(np.log(-np.expm1(log_value)) if big else np.log1p(-np.exp(log_value)))


def _chernoff(x: Floats, d: Floats, nc: Floats, *, upper_tail: bool) -> Floats:
    """Return Chernoff's upper bound of one tail's logarithm."""
    with np.errstate(all="ignore"):
        scale = np.maximum(np.maximum(x, nc), d)  # against overflow of the products
        b, c, v = d / scale, nc / scale, np.minimum(x, _HUGE) / scale
        s = 2 * v / (b + np.sqrt(b * b + 4 * c * v))
        s = np.maximum(s, 1.0) if upper_tail else np.clip(s, 1e-300, 1.0)
        theta = (1 / s - 1) / 2
        parts = theta * np.minimum(x, _HUGE), -theta * nc * s, 0.5 * d * np.log(s)
        size = np.abs(parts[0]) + np.abs(parts[1]) + np.abs(parts[2])
        value = parts[0] + parts[1] + parts[2] + 16 * _UNIT * size
        value = np.where(np.isnan(value), 0.0, np.minimum(value, 0.0))
        certain = (x == 0) if upper_tail else np.isinf(x)
        none = np.isinf(x) if upper_tail else (x == 0)
    return np.asarray(np.where(certain, 0.0, np.where(none, -np.inf, value)))


# --- the sum ------------------------------------------------------------------------------------


def _sum(a: float, y: float, m: float, upper_tail: bool, width: float = _WIDTH) -> Pair:
    """Return bounds of ln of the mixture's sum, for one tail."""
    saddle = 2 * m * y / (a + np.sqrt(a * a + 4 * m * y))
    centre = float(max(saddle, m) if upper_tail else min(saddle, m))
    step = max(1, int(np.sqrt(centre / 2) / _CELLS))
    half = width * float(np.sqrt(centre)) + 30.0
    first = max(0, int(centre - half)) if m > 0 else 0
    count = int((centre + half - first) / step) + 2 if m > 0 else 1
    low, high = _central(a, y, first, count, step, upper_tail)
    if m == 0:
        return float(low[0]), min(float(high[0]), 0.0)
    mass, error = _log_poisson(first + step * np.arange(count, dtype=float), m)
    low, high = low + mass - error, high + mass + error
    pieces = [_cells_up(low, high, step), high[-1:]]
    ends = [(high[-1], (high[-1] - low[-2]) / step)]
    if first > 0:
        ends.append((high[0], (high[0] - low[1]) / step))
    for end, slope in ends:
        if not slope < 0:  # lost in the rounding of a logarithm near 1e12: steeper farther out
            return _sum(a, y, m, upper_tail, 2 * width) if width < 500 else (-np.inf, 0.0)
        pieces.append(np.array([end + slope - np.log(-np.expm1(slope))]))
    up = _total(np.concatenate(pieces))
    down = _total(np.concatenate([_cells_down(low, step), low[-1:]]))
    down_error, up_error = (8 * _UNIT * (abs(one) + 50) + 1e-13 for one in (down, up))
    return down - down_error, min(up + up_error, 0.0)


def _central(
    a: float, y: float, first: int, count: int, step: int, upper_tail: bool
) -> tuple[Floats, Floats]:
    """Return bounds of ln P(a+j, y), or ln Q, at j = first, first + step, ...: ``count`` of them.

    The steps are continued to where the rest of the sum is negligible or known.
    """
    if upper_tail:
        edge = a + first
        bottom = a - np.floor(a)  # 0 or 1/2
        beyond = 0 if _settled(y, edge) else int(_reach(y, edge) / step) + 1
        beyond = min(beyond, int((edge - bottom) / step))
        exponents = edge + step * np.arange(-beyond, count, dtype=float)
        mass, error = _log_poisson(exponents, y)
        low, high = mass - error, mass + error
        start = _start_above(float(exponents[0]), y, float(high[0]))
        cells = _cells_down(low, step), _cells_up(low, high, step)
        down, up = _accumulate(start, cells)
        return down[beyond:], up[beyond:]
    edge = a + first + step * (count - 1)
    beyond = 0 if _settled(edge, y) else int(_reach(edge, y) / step) + 1
    exponents = a + first + step * np.arange(count + beyond, dtype=float)
    mass, error = _log_poisson(exponents, y)
    low, high = mass - error, mass + error
    start = _start_below(float(exponents[-1]), y, float(low[-1]), float(high[-1]))
    cells = _cells_down(low, step)[::-1], _cells_up(low, high, step)[::-1]
    down, up = _accumulate(start, cells)
    return down[::-1][:count], up[::-1][:count]


def _settled(lower: float, upper: float) -> bool:
    """Whether the gamma law's tail towards ``upper`` is 1 up to e^-45."""
    return 0 < lower < upper and _exponent(lower, upper) > _DEEP


def _reach(upper: float, lower: float) -> float:
    """How far the masses have to be followed from an exponent past (or up to) y."""
    if upper <= lower:
        return lower - upper + 9 * float(np.sqrt(lower)) + 40
    return float(min(9 * np.sqrt(upper) + 40, _DEEP / np.log(upper / lower) + 2))


def _start_below(e: float, y: float, low: float, high: float) -> Pair:
    """Return bounds of ln P(e, y) without a sum: a geometric series, or Chernoff's bound."""
    down, up = low, 0.0
    if e + 1 > y * (1 + 1e-12):
        up = min(up, high - float(np.log1p(-y / (e + 1))) + 1e-11)
    elif 0 < e < y:
        down = max(down, _complement(-_exponent(e, y) * (1 - 1e-13)) * (1 + 4 * _UNIT))
    return down, up


def _start_above(e: float, y: float, high: float) -> Pair:
    """Return bounds of ln Q(e, y) without a sum."""
    if e == 0:
        return -np.inf, -np.inf
    if e == 0.5:
        value = -y + float(np.log(erfcx(np.sqrt(y))))
        error = 8 * _UNIT * (y + abs(value)) + 2e-13
        return value - error, min(value + error, 0.0)
    down, up = -np.inf, 0.0
    if e - 1 < y * (1 - 1e-12):
        up = min(up, high + float(np.log(e / (y - e + 1))) + 1e-11)
    elif e > y:
        down = max(down, _complement(-_exponent(e, y) * (1 - 1e-13)) * (1 + 4 * _UNIT))
    return down, up


def _accumulate(start: Pair, cells: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Return running sums of the cells after ``start``, as logarithms, bounded both ways."""
    rows = np.array([np.concatenate([[one], part]) for one, part in zip(start, cells, strict=True)])
    sums = np.logaddexp.accumulate(rows, axis=1)
    # an error made at k counts at n by the share of sum k in sum n
    own = np.where(np.isfinite(sums), 4 * _UNIT * (np.abs(sums) + 2), 1e-300)
    shared = np.logaddexp.accumulate(sums + np.log(own), axis=1)
    error = np.where(np.isfinite(sums), 1.01 * np.exp(shared - sums), 0.0)
    return sums[0] - error[0], np.minimum(sums[1] + error[1], 0.0)


def _cells_down(low: Floats, step: int) -> Floats:
    """Return ln of lower bounds of the sums over each cell, from values at its two ends.

    A cell holds its left end and the ``step`` - 1 terms between the ends.
    """
    if step == 1:
        return low[:-1]
    slope = (low[1:] - low[:-1]) / step
    inner = _line(low[:-1], slope, np.full(len(slope), step - 1))
    total = np.logaddexp(low[:-1], inner)
    return np.asarray(total - 16 * _UNIT * (np.abs(total) + np.abs(low[1:]) + 1))


def _cells_up(low: Floats, high: Floats, step: int) -> Floats:
    """Return ln of upper bounds of the sums over each cell; see :func:`_cells_down`."""
    if step == 1:
        return high[:-1]
    left = np.full(len(low) - 1, (step - 1) // 2)
    left[0], left[-1] = 0, step - 1
    right = step - 1 - left
    # slopes of the chords before the cell, going right, and after it, going left
    rising = np.append(0.0, (high[1:-1] - low[:-2]) / step)
    falling = np.append((high[1:-1] - low[2:]) / step, 0.0)
    parts = [high[:-1], _line(high[:-1], rising, left), _line(high[1:], falling, right)]
    total = np.logaddexp(parts[0], np.logaddexp(parts[1], parts[2]))
    return np.asarray(total + 16 * _UNIT * (np.abs(total) + np.abs(high[1:]) + 1))


def _line(end: Floats, slope: Floats, terms: Floats) -> Floats:
    """Return ln of sum_{s=1..terms} e^(end + slope s)."""
    size = np.maximum(np.abs(slope), 1e-300)
    ratio = np.log(np.expm1(-size * terms) / np.expm1(-size))
    return np.asarray(end + np.where(slope > 0, slope * terms, slope) + ratio)


def _exponent(x: float, mean: float) -> float:
    return float(_deviance(np.array([x]), np.array([mean]))[0])


def _total(logs: Floats) -> float:
    """Return ln of the sum of exponentials."""
    top = float(np.max(logs))
    if np.isinf(top):
        return top
    return top + float(np.log(np.sum(np.exp(logs - top))))


def _log_poisson(e: Floats, mean: float) -> tuple[Floats, Floats]:
    """Return ln(mean^e e^-mean / Gamma(e+1)) for e = 0, 1/2, 1, ... and its absolute error."""
    log_mean = float(np.log(mean))
    few = np.minimum(e, 16.0)
    factorial = gammaln(few + 1)
    small = few * log_mean - mean - factorial
    small_error = 8 * _UNIT * (few * abs(log_mean) + mean + factorial + 1)
    big = np.maximum(e, 16.0)
    exponent = _deviance(big, np.array(mean))
    square = big * big
    series = (
        1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square
    ) / big
    large = -exponent - series - 0.5 * (np.log(big) + _LOG_2PI)
    large_error = 32 * _UNIT * (exponent + 20)
    is_small = e < 16
    return np.where(is_small, small, large), np.where(is_small, small_error, large_error)


def _deviance(x: Floats, mean: Floats) -> Floats:
    """Return x ln(x/mean) - x + mean >= 0 for x > 0; relative error below 24 units."""
    v = (x - mean) / (x + mean)
    square = v * v
    series = np.zeros_like(v)
    for k in range(29, 1, -2):
        series = series * square + 1 / k
    near = v * (x - mean) + 2 * x * v * square * series
    logs = np.where(mean < 1e-200, np.log(x) - np.log(mean), np.log(x / mean))
    far = x * logs - x + mean
    return np.asarray(np.where(np.abs(v) < 0.25, near, far))
