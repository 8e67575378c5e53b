r"""Hockey-stick divergence between two Gaussians, and the analytic Gaussian mechanism.

For :math:`b` real and :math:`\mu > 0`,

.. math::
   H_{e^b}(N(\mu,1) \| N(0,1)) = \Phi(\mu/2 - b/\mu) - e^b \Phi(-\mu/2 - b/\mu)

(Balle and Wang 2018, Theorem 8). The difference cancels badly where it is small, so with
:math:`x_1 = b/\mu - \mu/2` and :math:`x_2 = b/\mu + \mu/2`, for which
:math:`x_2^2/2 - x_1^2/2 = b`, it is evaluated as

.. math::
   \tfrac12 e^{-x_1^2/2} \left[\mathrm{erfcx}(x_1/\sqrt2) - \mathrm{erfcx}(x_2/\sqrt2)\right]

in the tail (:math:`x_1 \ge 0`), where both terms are positive, decreasing and of similar size
to their difference. Every value returned is an upper bound: the rounding error of each
operation is bounded and added.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, ndtr

from accountants import ranges
from accountants.errors import ParameterError
from accountants.inversion import smallest_epsilon, smallest_scale
from accountants.ranges import Floats

_UNIT = 2.0**-53
_ERFCX_ERROR = 1e-13  # relative; the Faddeeva package states less
_NDTR_ERROR = 2e-15  # absolute, with both terms and their difference
_ROOT2 = float(np.sqrt(2.0))
_LOG2 = float(np.log(2.0))


def log_hockey_stick(log_ratio: ArrayLike, shift: ArrayLike) -> Floats:
    r"""Return an upper bound of :math:`\ln H_{e^b}(N(\mu,1) \| N(0,1))`.

    Parameters
    ----------
    log_ratio : array_like
        :math:`b`, any real number; ``-inf`` gives 0 (a divergence of 1), ``inf`` gives ``-inf``.
    shift : array_like
        :math:`\mu \ge 0`, the distance in units of the noise's standard deviation; 0 gives
        :math:`[1 - e^b]_+`, ``inf`` gives 1 (for finite ``log_ratio``).

    Returns
    -------
    ndarray
        Of the broadcast shape, at most 0.

    Notes
    -----
    Source: Balle and Wang 2018, Theorem 8.
    """
    b, mu = np.broadcast_arrays(np.asarray(log_ratio, float), np.asarray(shift, float))
    shape, b, mu = b.shape, b.ravel(), mu.ravel()
    result = np.zeros(b.shape)
    with np.errstate(all="ignore"):
        x1 = b / mu - mu / 2
        plain = (mu > 0) & np.isfinite(mu) & np.isfinite(b)
        tail, bulk = np.flatnonzero(plain & (x1 >= 0)), np.flatnonzero(plain & ~(x1 >= 0))
        result[tail] = _log_tail(x1[tail], b[tail], mu[tail])
        result[bulk] = _log_bulk(x1[bulk], b[bulk], mu[bulk])
        if not plain.all():
            result = np.where(mu == 0, _log_no_shift(b), result)
            result = np.where(b == -np.inf, 0.0, np.where(b == np.inf, -np.inf, result))
    return np.minimum(result, 0.0).reshape(shape)


def _log_tail(x1: Floats, b: Floats, mu: Floats) -> Floats:
    """Evaluate the erfcx form, for x1 >= 0 (hence b > 0)."""
    size = b / mu + mu / 2  # x2; bounds the terms whose rounding moves x1 and x2
    first = erfcx(x1 / _ROOT2)
    difference = first - erfcx(size / _ROOT2)
    # |erfcx'(s)| <= erfcx(s) min(2/sqrt(pi)/erfcx(s), 1/s) (Mills ratio), s moved by <= 3u size
    moved = np.minimum(2.0, first / np.maximum(x1, 1e-300)) * 6 * _UNIT * size
    difference = np.maximum(difference, 0.0) + 2 * _ERFCX_ERROR * first + moved
    exponent = -x1 * x1 / 2 + 6 * _UNIT * x1 * (size + x1)
    value = exponent + np.log(np.minimum(difference, 1.01 * first)) - _LOG2
    value = value + 8 * _UNIT * (1 + np.abs(value))
    return np.asarray(np.where(x1 < 1e154, value, -5e307))  # the exponent overflows


def _log_bulk(x1: Floats, b: Floats, mu: Floats) -> Floats:
    """Evaluate the plain form for x1 < 0, where the first term is at least one half."""
    x2 = b / mu + mu / 2
    size = np.abs(b / mu) + mu / 2
    near = np.exp(-x1 * x1 / 2) * erfcx(np.maximum(x2, 0.0) / _ROOT2) / 2
    second = np.where(x2 >= 0, near, np.exp(b) * ndtr(-x2))
    reach, moved = np.minimum(np.abs(x1), 1e150), 6 * _UNIT * np.minimum(size, 1e150)
    slope = np.exp(np.minimum(reach * (moved - reach / 2), 0.0))  # both terms' in x1
    value = ndtr(-x1) - second * (1 - 4 * _ERFCX_ERROR) + _NDTR_ERROR + moved * slope
    return np.asarray(np.log(np.clip(value, 0.0, 1.0)))


def _log_no_shift(b: Floats) -> Floats:
    """Logarithm of [1 - e^b]_+, rounded up."""
    value = np.where(b < 0, np.log(-np.expm1(np.minimum(b, -0.0))), -np.inf)
    return np.asarray(value + 8 * _UNIT * (1 + np.where(np.isfinite(value), np.abs(value), 0.0)))


@dataclass(frozen=True, kw_only=True)
class AnalyticGaussian:
    r"""The Gaussian mechanism, exact (Balle and Wang 2018, Theorem 8).

    Parameters
    ----------
    noise_multiplier : float
        Noise standard deviation over L2 sensitivity, >= 0 (0: delta is 1; ``inf``: it is 0).
        Adjacency is whatever the sensitivity was taken for.

    Raises
    ------
    ParameterError
        If ``noise_multiplier`` is not a number >= 0.
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        """Check the range."""
        ranges.non_negative("noise_multiplier", self.noise_multiplier, finite=False)

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Natural logarithm of :meth:`delta`, meaningful far below 1e-308."""
        values = ranges.epsilons(epsilon)
        if self.noise_multiplier == 0:
            return np.zeros(values.shape)
        return log_hockey_stick(values, 1.0 / self.noise_multiplier)

    def delta(self, epsilon: ArrayLike) -> Floats:
        """Smallest delta at each ``epsilon`` >= 0, rounded up; same shape."""
        return exp_up(self.log_delta(epsilon))

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Smallest epsilon at each ``delta`` in [0, 1], rounded up; ``inf`` at 0; same shape."""
        return smallest_epsilon(self.log_delta, delta)

    @classmethod
    def calibrate(cls, *, epsilon: float, delta: float) -> "AnalyticGaussian":
        """Return the mechanism with the smallest noise multiplier for (``epsilon``, ``delta``).

        Raises
        ------
        ParameterError
            If ``epsilon`` is not a finite number >= 0, ``delta`` is not in (0, 1), or the noise
            would be more than can be evaluated (``epsilon`` near 0 with ``delta`` below 1e-12).
        """
        ranges.non_negative("epsilon", epsilon)
        ranges.open_unit("delta", delta)
        multiplier = smallest_scale(
            lambda scale: float(log_hockey_stick(epsilon, 1.0 / scale)), float(np.log(delta))
        )
        if not np.isfinite(multiplier):
            raise ParameterError(
                f"epsilon = {epsilon!r} with delta = {delta!r}: no noise multiplier up to 1e15 is "
                "seen to be enough"
            )
        return cls(noise_multiplier=multiplier)


def exp_up(log_value: ArrayLike) -> Floats:
    """Return exp rounded up, capped at 1: a delta from its logarithm (an upper bound of it)."""
    value = np.exp(np.asarray(log_value, float))
    raised = np.nextafter(value * (1 + 4 * _UNIT), 2.0)
    return np.minimum(np.where(value > 0, raised, _tiny(log_value)), 1.0)


def _tiny(log_value: ArrayLike) -> Floats:
    """Zero where the delta is exactly 0, the smallest positive float where it underflowed."""
    return np.where(np.isneginf(np.asarray(log_value, float)), 0.0, 5e-324)
