r"""The measured trade-off curve with a simultaneous band, and a test of a claimed curve.

Each threshold of a score is a test of "the canary was absent": its type I error alpha is the
false-positive rate, its type II error beta one minus the true-positive rate. `trade_off_band`
bounds both at all thresholds at once: four one-sided bands of `confidence_band` (both sides' upper
and lower bounds), each at a quarter of the error. The curve of the score falls, so that

- its beta at a type I error a is at most the beta bound of any threshold whose alpha is at most a,
- and at least the lower beta bound of any threshold whose alpha is at least a.

The **mechanism's** trade-off curve is the lowest over all tests and hence lies below the score's
upper band. The lower band speaks of this score only: a better attack may lie below it.

`nominal_violation` tests a claim "no test has (alpha, beta) below the curve f". It is rejected
where ``beta_upper(t) < f(alpha_upper(t))``; f does not rise, so that then
``beta(t) < f(alpha(t))``. Only two one-sided bands are needed, each at half of the error, over all
t at once: a claim that holds is rejected with probability at most the error, for any number of
trials, and however exactly the mechanism attains it. The bands of different errors are nested
(`RateBand.at`), so that the smallest error at which the claim is rejected, the reported `level`, is
a p-value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from accountants.errors import ParameterError
from dpaudit.estimators.arrays import FloatArray, as_rates
from dpaudit.estimators.candidate_thresholds import candidate_thresholds
from dpaudit.estimators.confidence_band import MIN_ERROR, rate_band
from dpaudit.estimators.epsilon_bounds import Direction, as_direction
from dpaudit.estimators.nominal_trade_off import TradeOffCurve, checked_curve
from dpaudit.estimators.plain_values import plain, rounded_up
from dpaudit.estimators.scores import as_scores
from dpaudit.estimators.threshold_selection import count_at_least, oriented

_ROUNDING = 1.0 - 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class TradeOffBand:
    """A measured trade-off curve, bounded at all thresholds at once.

    Attributes
    ----------
    direction : {"add", "remove"}
        Which side is the positive one.
    confidence : float
        Probability that all four bounds hold at every threshold, at least.
    thresholds : ndarray
        In the scores' unit, from the rarest to the most common positive set; shape (k,).
    alpha, beta : ndarray
        Observed type I and type II error at each.
    alpha_lower, alpha_upper, beta_lower, beta_upper : ndarray
        Their bounds.
    trials_in, trials_out : int
        Trials of each side.
    """

    direction: Direction
    confidence: float
    thresholds: FloatArray
    alpha: FloatArray
    beta: FloatArray
    alpha_lower: FloatArray
    alpha_upper: FloatArray
    beta_lower: FloatArray
    beta_upper: FloatArray
    trials_in: int
    trials_out: int

    def upper(self, alpha: ArrayLike) -> FloatArray:
        """Return the upper bound on beta; the mechanism's trade-off curve lies below it as well.

        Parameters
        ----------
        alpha : array_like of float
            Type I errors, 0 to 1.

        Returns
        -------
        ndarray
            The smallest of the bounds that apply, at most ``1 - alpha`` (guessing).

        Raises
        ------
        ParameterError
            If an alpha is out of range.
        """
        a = as_rates("alpha", alpha)
        order = np.argsort(self.alpha_upper, kind="stable")
        best = np.minimum.accumulate(np.append(1.0, self.beta_upper[order]))
        found = best[np.searchsorted(self.alpha_upper[order], a, side="right")]
        return np.asarray(np.minimum(found, np.nextafter(1.0 - a, 2.0)))

    def lower(self, alpha: ArrayLike) -> FloatArray:
        """Return the lower bound on beta of this score's deterministic thresholds.

        Parameters
        ----------
        alpha : array_like of float
            Type I errors, 0 to 1.

        Returns
        -------
        ndarray
            No threshold with a type I error up to alpha has a smaller beta.

        Raises
        ------
        ParameterError
            If an alpha is out of range.
        """
        a = as_rates("alpha", alpha)
        order = np.argsort(self.alpha_lower, kind="stable")
        best = np.maximum.accumulate(np.append(0.0, self.beta_lower[order][::-1]))[::-1]
        return np.asarray(best[np.searchsorted(self.alpha_lower[order], a, side="left")])


@dataclass(frozen=True, kw_only=True)
class NominalViolation:
    """The outcome of a test of a claimed trade-off curve.

    Attributes
    ----------
    violated : bool
        Whether the claim is rejected at `error`.
    error : float
        Probability of rejecting a claim that holds, at most.
    level : float
        The smallest error at which it would be rejected, a p-value rounded up: at least 1e-15, and
        1 if it is not even at an error of 1/2.
    direction : {"add", "remove"}
        Which side is the positive one.
    threshold : float or None
        Where the claim fails by most, or comes closest to failing; None without trials.
    alpha_upper, beta_upper : float
        Bounds on the errors of that test, each at half of `error`.
    beta_claimed : float
        The least type II error claimed at `alpha_upper`.
    excess : float
        ``beta_claimed - beta_upper``: by how much it fails, or misses failing if negative.
    trials_in, trials_out : int
        Trials of each side.
    """

    violated: bool
    error: float
    level: float
    direction: Direction
    threshold: float | None
    alpha_upper: float
    beta_upper: float
    beta_claimed: float
    excess: float
    trials_in: int
    trials_out: int

    def __str__(self) -> str:
        """Return one sentence."""
        if self.threshold is None:
            return "nominal curve not violated: a side has no trials."
        verdict = "violated" if self.violated else "not shown to be violated"
        sign = ">=" if self.direction == "add" else "<="
        return (
            f"nominal curve {verdict} at error {rounded_up(self.error)} (level "
            f"{rounded_up(self.level)}): score {sign} {self.threshold:.6g} has type I error at "
            f"most {rounded_up(self.alpha_upper)} and type II error at most "
            f"{rounded_up(self.beta_upper)}, where the claim allows none below "
            f"{self.beta_claimed:.4g}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain values for JSON.

        Returns
        -------
        dict
            One entry per attribute; an infinite threshold as "inf" or "-inf".
        """
        return {key: plain(value) for key, value in asdict(self).items()}


def trade_off_band(
    in_scores: Any, out_scores: Any, *, confidence: float = 0.95, direction: Direction = "add"
) -> TradeOffBand:
    """Bound the trade-off curve of a score at all thresholds at once.

    Parameters
    ----------
    in_scores, out_scores : array_like or torch.Tensor
        One score a trial with and without the canary, each of shape (trials,).
    confidence : float
        Of the whole band, 0.5 to 1 - 1e-9.
    direction : {"add", "remove"}
        "add" calls a score positive from the threshold up, "remove" (positives are the trials
        without the canary) from it down.

    Returns
    -------
    TradeOffBand
        With about 4000 thresholds at most; without any if both sides are empty.

    Raises
    ------
    ParameterError
        If a parameter is out of range or the scores are unusable.
    """
    if not 0.5 <= confidence <= 1.0 - 1e-9:
        raise ParameterError(f"confidence = {confidence:.12g}: allowed are 0.5 to 1 - 1e-9")
    share = (1.0 - confidence) / 4.0 * _ROUNDING
    thresholds, true, false, positives, negatives = _table(in_scores, out_scores, direction)
    high, low = rate_band(positives, error=share), rate_band(negatives, error=share)
    missed = positives - true
    return TradeOffBand(
        direction=direction,
        confidence=float(confidence),
        thresholds=thresholds,
        alpha=false / max(negatives, 1),
        beta=missed / max(positives, 1),
        alpha_lower=low.lower(false),
        alpha_upper=low.upper(false),
        beta_lower=high.lower(missed),
        beta_upper=high.upper(missed),
        trials_in=positives if direction == "add" else negatives,
        trials_out=negatives if direction == "add" else positives,
    )


def nominal_violation(
    in_scores: Any,
    out_scores: Any,
    nominal: TradeOffCurve,
    *,
    error: float = 0.05,
    direction: Direction = "add",
) -> NominalViolation:
    """Test a claimed trade-off curve, at all thresholds at once.

    Parameters
    ----------
    in_scores, out_scores : array_like or torch.Tensor
        As for `trade_off_band`.
    nominal : callable
        The claim: type I errors, shape (k,), to the least type II errors; it must not rise. Make it
        with `profile_trade_off` or `gaussian_trade_off`, or give
        ``accountants.trade_off.TradeOff.beta``.
    error : float
        Probability of rejecting a claim that holds, 2e-15 to 0.5.
    direction : {"add", "remove"}
        As for `trade_off_band`. Test both, each at half of the error, to test a pair of curves.

    Returns
    -------
    NominalViolation
        The verdict, where, by how much and at which level.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the scores or the curve are unusable.
    """
    if not 2.0 * MIN_ERROR <= error <= 0.5:
        raise ParameterError(f"error = {error:.12g}: allowed are 2e-15 to 0.5")
    thresholds, true, false, positives, negatives = _table(in_scores, out_scores, direction)
    share = error / 2.0 * _ROUNDING
    high, low = rate_band(positives, error=share), rate_band(negatives, error=share)

    def excess(half: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return excess, both bounds and the claim at every threshold, at another error."""
        alpha = low.at(half).upper(false)
        beta = high.at(half).upper(positives - true)
        claimed = checked_curve(nominal, alpha)
        return claimed - beta, alpha, beta, claimed

    sizes = (positives, negatives) if direction == "add" else (negatives, positives)
    if not positives or not negatives:
        return NominalViolation(
            violated=False,
            error=error,
            level=1.0,
            direction=direction,
            threshold=None,
            alpha_upper=1.0,
            beta_upper=1.0,
            beta_claimed=0.0,
            excess=-1.0,
            trials_in=sizes[0],
            trials_out=sizes[1],
        )
    gap, alpha, beta, claimed = excess(share)
    best = int(np.argmax(gap))
    return NominalViolation(
        violated=bool(gap[best] > 0.0),
        error=float(error),
        level=_level(lambda half: bool(np.max(excess(half)[0]) > 0.0)),
        direction=direction,
        threshold=float(thresholds[best]),
        alpha_upper=float(alpha[best]),
        beta_upper=float(beta[best]),
        beta_claimed=float(claimed[best]),
        excess=float(gap[best]),
        trials_in=sizes[0],
        trials_out=sizes[1],
    )


def _level(rejects: Callable[[float], bool]) -> float:
    """Return the smallest error, twice the smallest half at which the claim is rejected."""
    low, high = np.log(MIN_ERROR), np.log(0.25)
    if not rejects(float(np.exp(high)) * _ROUNDING):
        return 1.0
    if rejects(MIN_ERROR):
        return 2.0 * MIN_ERROR
    while high - low > 0.01:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if rejects(float(np.exp(middle)) * _ROUNDING) else (middle, high)
    return float(2.0 * np.exp(high))


def _table(
    in_scores: Any, out_scores: Any, direction: Direction
) -> tuple[FloatArray, FloatArray, FloatArray, int, int]:
    """Return thresholds from rare to common, true and false positives, and both sides' sizes."""
    inside = np.sort(as_scores("in_scores", in_scores))
    outside = np.sort(as_scores("out_scores", out_scores))
    sign, positives, negatives = oriented(as_direction(direction), inside, outside)
    thresholds = candidate_thresholds(positives, negatives)[::-1]
    true = count_at_least(positives, thresholds)
    false = count_at_least(negatives, thresholds)
    return sign * thresholds + 0.0, true, false, positives.size, negatives.size
