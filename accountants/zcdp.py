r"""From Rényi divergences and zero-concentrated privacy to (epsilon, delta).

If :math:`D_\alpha(P \| Q) \le \gamma` for one order :math:`\alpha > 1`, then

.. math::
   H_{e^\epsilon}(P \| Q) \le
       \frac{1}{\alpha} \Bigl(1 - \frac1\alpha\Bigr)^{\alpha-1} e^{(\alpha-1)(\gamma-\epsilon)}

(Canonne, Kamath and Steinke 2020, Proposition 12). The best conversion of one order, of Asoodeh,
Liao, Calmon, Kosut and Sankar 2021, also uses that Q has mass 1. It is the minimum of a convex
problem, of which every feasible point is a bound (``docs/proofs/distributed-gaussian.md``); it is
:math:`1 - e^{\epsilon-\gamma}` if that is at least :math:`1/\alpha`, and otherwise smaller than
Proposition 12 by about the factor :math:`1 - e^{-(\alpha-1)\gamma}`.
Last, :math:`H_{e^\epsilon} \le \sqrt{1 - e^{-D_1}}` (Bretagnolle and Huber).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.errors import ParameterError
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats

_UNIT = 2.0**-53
_LEAST = -1.7e308  # instead of a logarithm that overflows
_EXCESS_MAX = 1e150
_GOLDEN = (np.sqrt(5.0) - 1) / 2
_NEGLIGIBLE = 36.0  # (alpha - 1) gamma beyond which the best conversion gains nothing
_SEARCHED = 9.0  # and below which its closed-form point is refined
_OFFSETS = np.linspace(-6.0, 3.0, 16)  # in ln(alpha - 1), around the order best for Prop. 12
_FINER = np.linspace(-1.0, 1.0, 9)  # around the best of those, in two steps


@dataclass(frozen=True, kw_only=True)
class ZeroConcentrated(PrivacyProfile):
    r"""(xi, rho)-zCDP: :math:`D_\alpha \le \xi + \rho\alpha`, all alpha > 1, in both directions.

    Parameters
    ----------
    rho : float
        >= 0; 0 is perfect privacy, ``inf`` none.
    offset : float
        xi >= 0, ``inf`` allowed.

    Raises
    ------
    ParameterError
        If a parameter is negative or NaN.

    Notes
    -----
    Bun and Steinke 2016, Definition 1.1; orders are optimised over all real numbers > 1.
    """

    rho: float
    offset: float = 0.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.non_negative("rho", self.rho, finite=False)
        ranges.non_negative("offset", self.offset, finite=False)

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        eps = ranges.epsilons(epsilon)
        return _concentrated_log_delta(eps, rho=self.rho, offset=self.offset)


@dataclass(frozen=True, kw_only=True)
class RenyiProfile(PrivacyProfile):
    r"""A Rényi curve known at some orders: :math:`D_{\alpha_i} \le \gamma_i`, both directions.

    Parameters
    ----------
    orders : tuple of float
        Each >= 1 and finite; at 1 the divergence is that of Kullback and Leibler.
    values : tuple of float
        One for each order, >= 0; ``inf`` where nothing is known.

    Raises
    ------
    ParameterError
        If the lengths differ or are 0, or a number lies outside its range.
    """

    orders: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the ranges."""
        if len(self.orders) != len(self.values) or not self.orders:
            raise ParameterError(
                f"orders, values = {len(self.orders)}, {len(self.values)} numbers: "
                "as many of both are needed, at least one"
            )
        for order in self.orders:
            if not 1 <= order < np.inf:
                raise ParameterError(f"order = {order!r}: a finite number >= 1 is needed")
        for value in self.values:
            ranges.non_negative("value", value, finite=False)

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        eps = ranges.epsilons(epsilon)[..., None]
        # the divergence grows with the order: what bounds it bounds that of a smaller order too
        excess = np.nextafter(np.asarray(self.orders, float) - 1.0, 0.0)
        values = np.asarray(self.values, float)
        bound = order_log_delta(np.where(np.isinf(eps), 0.0, eps), excess, values).min(axis=-1)
        known = bool(np.isfinite(values).any())
        return np.asarray(np.where(np.isinf(eps[..., 0]) & known, -np.inf, bound))


def order_log_delta(epsilon: ArrayLike, excess: ArrayLike, divergence: ArrayLike) -> Floats:
    r"""Upper bound of ln delta from the divergence of one order, :math:`D_\alpha \le \gamma`.

    The best conversion of one order, or Bretagnolle-Huber where that is less.

    Parameters
    ----------
    epsilon : array_like
        >= 0 and finite.
    excess : array_like
        :math:`\alpha - 1 \ge 0`; 0 stands for the divergence of Kullback and Leibler.
    divergence : array_like
        :math:`\gamma \ge 0`, ``inf`` allowed.

    Returns
    -------
    ndarray
        Of the broadcast shape, at most 0.
    """
    eps, beta, gamma = np.broadcast_arrays(
        np.asarray(epsilon, float), np.asarray(excess, float), np.asarray(divergence, float)
    )
    shape, eps, beta, gamma = eps.shape, eps.ravel(), beta.ravel(), gamma.ravel()
    above, beta = beta > 0, np.maximum(beta, 1e-300)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        bound = _proposition_12(eps, beta, gamma)
        fall = gamma - eps + 4 * _UNIT * (gamma + eps)
        steep = above & (fall > np.log1p(1 / beta))
        single = np.log(-np.expm1(np.where(steep, -fall, -1.0)))
        bound = np.where(steep, single, bound)
        small = above & (beta * gamma < _NEGLIGIBLE) & (gamma > 0) & (bound > _LEAST) & ~steep
        best = np.flatnonzero(small & (bound < -np.log1p(beta)))
        bound[best] = _best_conversion(eps[best], beta[best], gamma[best], bound[best])
        distance = 0.5 * np.log(-np.expm1(-gamma))  # the divergence at order 1 is at most gamma
    least = np.where(above, np.minimum(bound, distance), distance)
    room = 8 * _UNIT * np.where(np.isfinite(least), 1 + np.abs(least), 0.0)
    return np.asarray(np.minimum(np.maximum(least + room, -1.79e308), 0.0).reshape(shape))


def classic_epsilon(delta: ArrayLike, *, rho: float) -> Floats:
    r"""Return :math:`\rho + 2\sqrt{\rho \ln(1/\delta)}`, rounded up: the looser, older conversion.

    Parameters
    ----------
    delta : array_like
        In [0, 1].
    rho : float
        >= 0; ``inf`` gives ``inf``.

    Returns
    -------
    ndarray
        Same shape; ``inf`` at delta = 0 unless ``rho`` is 0.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.

    Notes
    -----
    Bun and Steinke 2016, Proposition 1.3.
    """
    ranges.non_negative("rho", rho, finite=False)
    target = ranges.deltas(delta)
    if rho == 0:
        return np.zeros(target.shape)
    with np.errstate(divide="ignore"):
        exponent = -np.log(target)
    # two square roots: their product does not overflow
    value = rho + 2 * np.sqrt(rho) * np.sqrt(exponent) if np.isfinite(rho) else rho + 0 * target
    return np.asarray(value * (1 + 8 * _UNIT))


def _concentrated_log_delta(eps: Floats, *, rho: float, offset: float) -> Floats:
    """Return the least over the orders, for any shape of ``eps``."""
    if np.isinf(rho) or np.isinf(offset):
        return np.zeros(eps.shape)
    flat = np.where(np.isinf(eps), 0.0, eps).ravel()
    rho = max(rho, 1e-300 if offset else 0.0)  # a larger rho is a bound too
    if rho == 0:
        bound = np.full(flat.shape, -np.inf)
    else:
        excess = _best_excess(flat - offset, rho)
        bound = order_log_delta(flat, excess, _curve(excess, rho, offset))
        with np.errstate(over="ignore"):
            near = excess * _curve(excess, rho, offset) < _SEARCHED
        if near.any():
            middle = excess[near][:, None]
            for offsets in (_OFFSETS, 0.4 * _FINER, 0.08 * _FINER):
                others = np.minimum(middle * np.exp(offsets), _EXCESS_MAX)
                tried = order_log_delta(flat[near][:, None], others, _curve(others, rho, offset))
                middle = np.take_along_axis(others, tried.argmin(axis=1)[:, None], axis=1)
                bound[near] = np.minimum(bound[near], tried.min(axis=1))
    return np.asarray(np.where(np.isinf(eps), -np.inf, bound.reshape(eps.shape)))


def _curve(excess: Floats, rho: float, offset: float) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray((rho * (1 + excess) + offset) * (1 + 4 * _UNIT))


def _best_excess(epsilon: Floats, rho: float) -> Floats:
    r"""Order minus 1 best for Proposition 12: :math:`\rho(2\alpha-1) + \ln(1-1/\alpha) = \epsilon`.

    Found in its logarithm, by bisection and then Newton's method; every value gives a bound.
    """
    low = np.full(epsilon.shape, -690.0)
    high = np.full(epsilon.shape, np.log(_EXCESS_MAX))
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(18):
            middle = (low + high) / 2
            beta = np.exp(middle)
            excess = rho * (1 + 2 * beta) - np.log1p(1 / beta) - epsilon
            if step < 14:
                low, high = np.where(excess > 0, low, middle), np.where(excess > 0, middle, high)
            else:
                moved = middle - excess / (2 * rho * beta + 1 / (1 + beta))
                low = high = np.where(np.abs(moved - middle) < 1, moved, middle)
        return np.asarray(np.exp(np.clip(low, -690.0, np.log(_EXCESS_MAX))))


def _proposition_12(eps: Floats, beta: Floats, gamma: Floats) -> Floats:
    """Return Proposition 12 at alpha = 1 + beta, rounded up; no bound is ``inf``, never NaN."""
    growth = np.log1p(1 / beta)  # -ln(1 - 1/alpha)
    rate = gamma - eps - growth
    rate = rate + 8 * _UNIT * (gamma + eps + growth)
    product = np.maximum(np.where(np.isnan(rate), np.inf, beta * rate), _LEAST)
    room = 8 * _UNIT * (np.abs(product) + np.log1p(beta))
    return np.asarray(np.maximum(product - np.log1p(beta), _LEAST) + room)


def _best_conversion(eps: Floats, beta: Floats, gamma: Floats, start: Floats) -> Floats:
    r"""Bound of the dual problem of one order; ``start`` is Proposition 12.

    With :math:`s = 1 - 1/\alpha`, for every w > 0

    .. math:: \delta \le e^L [(1+w)^s - w^s]^{-\alpha} + e^\epsilon w - 1/[(1+1/w)^s - 1],

    L the logarithm of Proposition 12. At :math:`w = (s (1 - \alpha e^L)/e^\epsilon)^\alpha` it is
    nearly the least where delta is small; elsewhere w is searched for (golden section in ln w).
    """
    share = beta / (1 + beta)
    room = -np.expm1(np.minimum(start + np.log1p(beta), 0.0))
    point = (1 + beta) * (np.log(share) - eps + np.log(np.maximum(room, 1e-300)))
    factor = np.minimum(_dual(point, eps, beta, start), 1.0)
    near = np.flatnonzero(beta * gamma < _SEARCHED)
    if len(near):
        given = eps[near], beta[near], start[near]
        low, high = np.minimum(point[near], 0.0) - 15.0, np.full(near.shape, 45.0)
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        here, there = _dual(left, *given), _dual(right, *given)
        for _ in range(36):
            falls = here > there
            low, high = np.where(falls, left, low), np.where(falls, high, right)
            step = _GOLDEN * (high - low)
            point = np.where(falls, low + step, high - step)
            value = _dual(point, *given)
            left, right = np.where(falls, right, point), np.where(falls, point, left)
            here, there = np.where(falls, there, value), np.where(falls, value, here)
        factor[near] = np.minimum(factor[near], np.minimum(here, there))
    gained = np.log(factor)
    return np.asarray(start + gained + 4 * _UNIT * (np.abs(start) + np.abs(gained)))


def _dual(x: Floats, eps: Floats, beta: Floats, start: Floats) -> Floats:
    """Factor on e^L at w = e^x, rounded up; ``inf`` where rounding leaves nothing of it."""
    share = beta / (1 + beta)
    rest = share * np.logaddexp(0.0, -x)  # s ln(1 + 1/w)
    lost = np.log(-np.expm1(-rest))
    whole = share * np.logaddexp(0.0, x)
    power = -(1 + beta) * (whole + lost)  # -alpha ln[(1+w)^s - w^s]
    terms = np.exp(power), np.exp(eps + x - start), np.exp(-start - rest - lost)
    error = terms[0] * (2 + (1 + beta) * (1 + whole - lost))
    error = error + terms[1] * (2 + eps + np.abs(x) - start)
    error = 16 * _UNIT * (error + terms[2] * (2 - start + rest - lost))
    total = terms[0] + terms[1] - terms[2]
    return np.asarray(np.where(total + error > 0, total + error, np.inf))
