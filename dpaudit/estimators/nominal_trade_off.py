r"""Claimed trade-off curves: the least type II error that a claim allows at each type I error.

A claim may be an (epsilon, delta), a mu, a set of points of a privacy profile, or a function. Each
is turned into a curve ``f`` with values rounded down: a claim is never refuted by rounding.

(epsilon, delta)-DP between two datasets in both orders allows no test below

.. math:: f(a) = \max(0,\; 1 - \delta - e^{\varepsilon} a,\; e^{-\varepsilon} (1 - \delta - a))

(Wasserman and Zhou 2010; Dong, Roth and Su 2022, Proposition 3). Several such claims together
allow none below the maximum of theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from accountants.errors import ParameterError
from dpaudit.estimators.arrays import FloatArray, as_numbers, as_rates, broadcast, refuse_where

TradeOffCurve: TypeAlias = Callable[[FloatArray], ArrayLike]

_DOWN = 8.0 * 2.0**-52


def profile_trade_off(*, epsilon: ArrayLike, delta: ArrayLike) -> TradeOffCurve:
    """Return the curve of one claim (epsilon, delta), or of several that hold together.

    Parameters
    ----------
    epsilon : array_like of float
        0 or more; one or several.
    delta : array_like of float
        The claimed delta at each of them, 0 to 1.

    Returns
    -------
    callable
        Type I errors, shape (k,), to the least type II errors.

    Raises
    ------
    ParameterError
        If a value is out of range, the shapes differ or there is none.
    """
    eps, slack = broadcast(
        epsilon=np.atleast_1d(as_numbers("epsilon", epsilon)),
        delta=np.atleast_1d(as_rates("delta", delta)),
    )
    refuse_where("epsilon", eps, ~(eps >= 0.0), "0 or more")
    if eps.ndim != 1 or not eps.size:
        raise ParameterError("epsilon and delta: one claim or a vector of claims is needed")

    def curve(alpha: FloatArray) -> FloatArray:
        """Evaluate the maximum of both lines of every claim."""
        a = np.asarray(alpha, dtype=np.float64)[..., np.newaxis]
        with np.errstate(over="ignore", invalid="ignore"):
            steep = 1.0 - slack - np.where(a > 0.0, np.exp(eps) * a, 0.0) * (1.0 + _DOWN)
            flat = np.exp(-eps) * (1.0 - slack - a)
        best = np.max(np.maximum(steep - _DOWN, flat * (1.0 - _DOWN) - _DOWN), axis=-1)
        return np.asarray(np.maximum(best, 0.0))

    return curve


def gaussian_trade_off(*, mu: float) -> TradeOffCurve:
    """Return the curve of mu-GDP, ``Phi(Phi^-1(1 - alpha) - mu)``.

    Parameters
    ----------
    mu : float
        0 or more.

    Returns
    -------
    callable
        Type I errors, shape (k,), to the least type II errors.

    Raises
    ------
    ParameterError
        If mu is NaN or negative.
    """
    value = as_numbers("mu", mu)
    refuse_where("mu", value, ~(value >= 0.0), "0 or more")

    def curve(alpha: FloatArray) -> FloatArray:
        """Evaluate the curve; Phi is moved by more than the error of its argument."""
        quantile = -ndtri(np.asarray(alpha, dtype=np.float64))
        size = np.where(np.isfinite(quantile), np.abs(quantile), 0.0) + value + 1.0
        with np.errstate(invalid="ignore"):
            argument = quantile - value - 8.0 * _DOWN * size
        argument = np.where(np.isnan(argument), -np.inf, argument)
        return np.asarray(ndtr(argument) * (1.0 - 1e-13))

    return curve


def checked_curve(curve: TradeOffCurve, alpha: FloatArray) -> FloatArray:
    """Evaluate a curve and check that its values are type II errors.

    Parameters
    ----------
    curve : callable
        The claimed curve; it must not rise.
    alpha : ndarray
        Type I errors, shape (k,).

    Returns
    -------
    ndarray
        The values, shape (k,).

    Raises
    ------
    ParameterError
        If it returns another shape, NaN or values outside 0 to 1, or rises.
    """
    beta = as_rates("nominal trade-off curve", curve(alpha))
    if beta.shape != alpha.shape:
        raise ParameterError(
            f"nominal trade-off curve: shape {beta.shape} returned for {alpha.shape}"
        )
    order = np.argsort(alpha, kind="stable")
    if np.any(np.diff(beta[order]) > 1e-9):
        raise ParameterError("nominal trade-off curve: rises with alpha; it must not")
    return beta
