r"""Bounds on a side's rate that hold at all thresholds at once, by a likelihood-ratio martingale.

Let N of n scores lie at or above a threshold t. By the probability integral transform (ties broken
at random) the rate ``Pr[score >= t]`` is, for every t at once, at most ``W_{N+1}``, where
``W_1 < ... < W_n`` are uniform order statistics, ``W_{n+1} = 1``, and at least ``W_N``. It remains
to bound all ``W_k`` together. With ``N(x)`` the number of uniforms up to x and ``0 <= r < 1``,

.. math:: M_r(x) = r^{N(x)} \Bigl(\frac{1 - r x}{1 - x}\Bigr)^{n - N(x)}, \qquad 0 \le x < 1,

is the likelihood ratio, on what is seen of the sample up to x, of the density r on (0, 1) (the
missing mass placed at 1) against the uniform one: a martingale in x of mean 1. So is a mixture
``M = sum_j w_j M_{r_j}`` with weights of sum 1, and by Ville's inequality
``Pr[sup_x M(x) >= 1/error] <= error``. Let ``c_k`` be the x at which M is ``1/error`` for
``N = k - 1``. As M falls in N and rises in x,

.. math:: W_k > c_k \;\Rightarrow\; N(c_k) \le k - 1 \;\Rightarrow\; M(c_k) \ge 1/\mathrm{error},

so that ``W_k <= c_k`` for **every** k, with probability at least ``1 - error``: no grid of ranks,
no interpolation. The lower bounds are the mirror image, ``1 - W_k`` being ``W_{n+1-k}``.

For the best r the logarithm of ``M_r`` is ``n`` times the Kullback-Leibler divergence of N/n from
x: the band is a Berk-Jones band with a proof for every n. The r_j are those for which it touches at
N = 0 and at counts spaced evenly in ``ln(N / (n - N))``, with equal weights, as the number of
independent looks at a count is proportional to the logarithm of its odds. In the tails, where a
large epsilon is decided, it is nearly as tight as a bound for one threshold; a
Dvoretzky-Kiefer-Wolfowitz band says nothing there.

Sources: Berk and Jones, "Goodness-of-fit test statistics that dominate the Kolmogorov statistics",
1979; Ville 1939; Howard and Ramdas, "Sequential estimation of quantiles", Bernoulli 2022 (mixtures
of martingales in time, where this one runs along the line of scores).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from accountants.errors import ParameterError
from dpaudit.estimators import clopper_pearson
from dpaudit.estimators.arrays import FloatArray, as_numbers, checked_counts

MIN_ERROR = 1e-15
"""Smallest error probability of a band."""

_SPACING = 1.0  # of the touching counts' log-odds
_NEWTON_STEPS = 6
_LARGEST_LOG_ODDS = 600.0
_CHUNK = 1 << 14


@dataclass(frozen=True, eq=False)
class RateBand:
    """Simultaneous one-sided bounds for one side's scores; made by `rate_band`.

    Attributes
    ----------
    trials : int
        Number of scores.
    error : float
        Probability that an upper bound fails at some threshold; the same for the lower bounds.
    tilts : ndarray
        ``1 - r_j`` of the mixed likelihood ratios, 0 (exclusive) to 1.
    """

    trials: int
    error: float
    tilts: FloatArray

    def upper(self, counts: ArrayLike) -> FloatArray:
        """Return upper bounds on the rates of thresholds.

        Parameters
        ----------
        counts : array_like of int
            Scores at or above each threshold (or below, or above: any side, the same throughout),
            0 to `trials`.

        Returns
        -------
        ndarray
            The bounds, rounded up.

        Raises
        ------
        ParameterError
            If a count is out of range.
        """
        rate, _ = self._solve(self._checked(counts))
        return np.asarray(np.minimum(rate * (1.0 + 1e-14), 1.0))

    def lower(self, counts: ArrayLike) -> FloatArray:
        """Return lower bounds on the rates of thresholds.

        Parameters
        ----------
        counts : array_like of int
            As for `upper`.

        Returns
        -------
        ndarray
            The bounds, rounded down.

        Raises
        ------
        ParameterError
            If a count is out of range.
        """
        _, complement = self._solve(self.trials - self._checked(counts))
        return np.asarray(np.maximum(complement * (1.0 - 1e-14), 0.0))

    def at(self, error: float) -> RateBand:
        """Return the band of the same mixture at another error.

        These bands are nested: the smaller the error, the wider the band. The smallest error at
        which a one-sided statement follows is therefore a p-value.

        Parameters
        ----------
        error : float
            1e-15 to 0.5.

        Returns
        -------
        RateBand
            With the same tilts.

        Raises
        ------
        ParameterError
            If the error is out of range.
        """
        return replace(self, error=_checked_error(error))

    def _checked(self, counts: ArrayLike) -> FloatArray:
        """Validate counts."""
        return checked_counts(counts, self.trials, whole=True, most=clopper_pearson.MAX_TRIALS)[0]

    def _solve(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``c_{N+1}`` and its complement at each count N, both for any shape."""
        flat = counts.ravel()
        odds = np.full(flat.size, np.inf)
        for start in range(0, flat.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            odds[part] = self._log_odds(flat[part])
        return special.expit(odds).reshape(counts.shape), special.expit(-odds).reshape(counts.shape)

    def _log_odds(self, counts: FloatArray) -> FloatArray:
        """Return ``ln(c / (1 - c))``, from above.

        In this coordinate y the logarithm of the mixture, a log-sum-exp of the convex functions
        ``N ln r + (n - N) ln(1 + (1 - r) e^y)``, is convex and rises. Newton's method started
        where it is large enough therefore stays there: every step is a valid bound.
        """
        result = np.full(counts.size, np.inf)
        short = counts < self.trials
        seen = counts[short, np.newaxis]
        if not seen.size:
            return result
        tilts, left = self.tilts, self.trials - seen
        with np.errstate(divide="ignore", invalid="ignore"):
            fixed = np.where(seen > 0, seen * np.log1p(-tilts), 0.0) - np.log(tilts.size)
        # Rounding of the exponents, and of Newton's steps, is paid in advance.
        target = -np.log(self.error) + 1e-12 + 4e-15 * (self.trials + 100.0)
        with np.errstate(over="ignore"):
            alone = np.log(np.expm1((target - fixed) / left)) - np.log(tilts)
        y = np.min(alone, axis=1, keepdims=True)
        finite = y[:, 0] < _LARGEST_LOG_ODDS
        y, fixed, left = y[finite], fixed[finite], left[finite]
        for _ in range(_NEWTON_STEPS):
            growth = np.log1p(tilts * np.exp(y))
            terms = fixed + left * growth
            largest = np.max(terms, axis=1, keepdims=True)
            weights = np.exp(terms - largest)
            total = np.sum(weights, axis=1, keepdims=True)
            slope = left * np.sum(weights * -np.expm1(-growth), axis=1, keepdims=True) / total
            excess = largest + np.log(total) - target
            y = y - np.maximum(excess, 0.0) / slope
        solved = np.full(finite.size, np.inf)
        solved[finite] = y[:, 0] + 1e-15 * np.abs(y[:, 0])
        result[short] = solved
        return result


@lru_cache(maxsize=64)
def rate_band(trials: int, *, error: float) -> RateBand:
    """Return the simultaneous band for a number of trials.

    Parameters
    ----------
    trials : int
        0 to 1e9; no trials give a band that says nothing.
    error : float
        Probability that the upper bounds fail anywhere, and likewise the lower bounds, 1e-15 to
        0.5.

    Returns
    -------
    RateBand
        Its bounds depend on the trials and the error only.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """
    count = float(as_numbers("trials", trials))
    if not 0 <= count <= clopper_pearson.MAX_TRIALS or count != np.floor(count):
        raise ParameterError(f"trials = {trials}: allowed are whole numbers from 0 to 1e9")
    _checked_error(error)
    if not count:
        return RateBand(0, float(error), np.array([1.0]))
    ends = np.log(max(count, 2.0))
    touching = np.arange(-ends, ends + _SPACING / 2.0, _SPACING)
    seen = count * special.expit(touching)
    depth = np.log((touching.size + 1.0) / error) / count
    tilts = [_tilt(float(k) / count, float(depth)) for k in seen]
    return RateBand(int(trials), float(error), np.array([1.0, *tilts]))


def _checked_error(error: float) -> float:
    """Refuse an error out of range."""
    if not MIN_ERROR <= error <= 0.5:
        raise ParameterError(f"error = {error:.12g}: allowed are 1e-15 to 0.5")
    return float(error)


def _tilt(share: float, depth: float) -> float:
    """Return ``1 - share / x`` for the x above `share` whose divergence from it is `depth`."""
    log_odds = float(special.logit(share))
    low, high = log_odds, log_odds + 60.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        x, rest = float(special.expit(middle)), float(special.expit(-middle))
        divergence = share * np.log(share / x) + (1.0 - share) * np.log((1.0 - share) / rest)
        low, high = (middle, high) if divergence < depth else (low, middle)
    return float(np.clip(1.0 - share / special.expit(high), 1e-15, 1.0))
