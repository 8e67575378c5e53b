"""From attack scores with and without the canary to lower bounds: the one entry point.

>>> from dpaudit.estimators.score_auditor import ScoreAuditor
>>> auditor = ScoreAuditor([3.0] * 50, [0.0] * 50)
>>> print(auditor.epsilon(delta=1e-5, confidence=0.95))  # doctest: +ELLIPSIS
epsilon >= 2.39... at delta = 1e-05 with confidence 0.95 (direction add, score >= 3: 40 of 40...

Names follow jax_privacy's ``CanaryScoreAuditor`` where the thing is the same: a higher score means
"with the canary", and `ScoreAuditor.epsilon_clopper_pearson` takes its parameters. `confidence` is
one-sided and covers everything that was tried: thresholds and directions.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from accountants.errors import ParameterError
from dpaudit.estimators.arrays import FloatArray, error_of
from dpaudit.estimators.epsilon_bounds import Direction, as_direction
from dpaudit.estimators.rate_intervals import RateIntervals, rate_intervals
from dpaudit.estimators.score_bounds import band_bound, fixed_bound, split_bound
from dpaudit.estimators.score_estimate import ScoreEstimate
from dpaudit.estimators.score_quantity import DeltaAt, EpsilonAt, GaussianMu, Quantity
from dpaudit.estimators.scores import as_scores
from dpaudit.estimators.threshold_strategies import (
    Bonferroni,
    ConfidenceBand,
    Explicit,
    Split,
    ThresholdStrategy,
)

Directions: TypeAlias = Literal["add", "remove", "both"]


class ScoreAuditor:
    """Scores of trials with and without the canary, and what they show.

    Parameters
    ----------
    in_canary_scores, out_canary_scores : array_like or torch.Tensor
        One score a trial, each of shape (trials,); a higher score means "with the canary". Integers
        or floats of any precision; infinite scores are legitimate. Either side may be empty: it
        then shows nothing.

    Raises
    ------
    ParameterError
        If a side is not a vector of numbers, or some are NaN (it says how many).
    """

    def __init__(self, in_canary_scores: Any, out_canary_scores: Any) -> None:
        self.in_canary_scores = as_scores("in_canary_scores", in_canary_scores)
        self.out_canary_scores = as_scores("out_canary_scores", out_canary_scores)
        self._ascending: tuple[FloatArray, FloatArray] | None = None

    def epsilon(
        self,
        *,
        delta: float = 0.0,
        confidence: float = 0.95,
        direction: Directions = "both",
        threshold_strategy: ThresholdStrategy = Split(),  # noqa: B008
    ) -> ScoreEstimate:
        """Bound epsilon at a delta from below.

        Parameters
        ----------
        delta : float
            0 to 1.
        confidence : float
            One-sided, 0.5 to 1 - 1e-9.
        direction : {"both", "add", "remove"}
            "both" reports the better direction. `Split` chooses it on the selecting trials, at no
            cost; the other strategies share the error between the two.
        threshold_strategy : ThresholdStrategy
            How the many thresholds are dealt with.

        Returns
        -------
        ScoreEstimate
            With a reason if the bound is 0.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        """
        return self.bound(
            EpsilonAt(delta=delta),
            confidence=confidence,
            direction=direction,
            threshold_strategy=threshold_strategy,
        )

    def delta(
        self,
        *,
        epsilon: float,
        confidence: float = 0.95,
        direction: Directions = "both",
        threshold_strategy: ThresholdStrategy = Split(),  # noqa: B008
    ) -> ScoreEstimate:
        """Bound delta at an epsilon from below.

        Parameters
        ----------
        epsilon : float
            0 or more.
        confidence, direction, threshold_strategy
            As for `epsilon`.

        Returns
        -------
        ScoreEstimate
            With a reason if the bound is 0.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        """
        return self.bound(
            DeltaAt(epsilon=epsilon),
            confidence=confidence,
            direction=direction,
            threshold_strategy=threshold_strategy,
        )

    def gaussian_mu(
        self,
        *,
        confidence: float = 0.95,
        direction: Directions = "both",
        threshold_strategy: ThresholdStrategy = Split(),  # noqa: B008
    ) -> ScoreEstimate:
        """Bound from below the mu for which the mechanism can be mu-GDP.

        What it means, and what a conversion to epsilon assumes: `dpaudit.estimators.gaussian_mu`.

        Parameters
        ----------
        confidence, direction, threshold_strategy
            As for `epsilon`.

        Returns
        -------
        ScoreEstimate
            With a reason if the bound is 0.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        """
        return self.bound(
            GaussianMu(),
            confidence=confidence,
            direction=direction,
            threshold_strategy=threshold_strategy,
        )

    def epsilon_clopper_pearson(
        self,
        significance: float,
        delta: float = 0.0,
        one_sided: bool = True,
        *,
        threshold_strategy: ThresholdStrategy = Split(),  # noqa: B008
    ) -> ScoreEstimate:
        """Bound epsilon, with the parameters of jax_privacy's method of this name.

        Parameters
        ----------
        significance : float
            One minus the confidence, 1e-9 to 0.5.
        delta : float
            0 to 1.
        one_sided : bool
            True takes direction "add" (TPR over FPR), False the better of both (also TNR over FNR)
            with the error shared validly.
        threshold_strategy : ThresholdStrategy
            As for `epsilon`.

        Returns
        -------
        ScoreEstimate
            ``float(...)`` of it is the bound.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        """
        return self.bound(
            EpsilonAt(delta=delta),
            confidence=1.0 - significance,
            direction="add" if one_sided else "both",
            threshold_strategy=threshold_strategy,
        )

    def rate_intervals(
        self, threshold: float, *, confidence: float = 0.95, direction: Direction = "add"
    ) -> RateIntervals:
        """Bound both rates of one threshold from both sides.

        Parameters
        ----------
        threshold : float
            Fixed without looking at the scores.
        confidence : float
            Of all four bounds together, each at a quarter of the error.
        direction : {"add", "remove"}
            Which side is the positive one.

        Returns
        -------
        RateIntervals
            The intervals.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        """
        error_of(confidence)
        return rate_intervals(
            self.in_canary_scores,
            self.out_canary_scores,
            Explicit(threshold).threshold,
            confidence=confidence,
            direction=as_direction(direction),
        )

    def bound(
        self,
        quantity: Quantity,
        *,
        confidence: float,
        direction: Directions,
        threshold_strategy: ThresholdStrategy,
    ) -> ScoreEstimate:
        """Bound any quantity from below; the methods above are short for this.

        Parameters
        ----------
        quantity : Quantity
            `EpsilonAt`, `DeltaAt` or `GaussianMu`.
        confidence, direction, threshold_strategy
            As for `epsilon`.

        Returns
        -------
        ScoreEstimate
            The bound.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        """
        error = error_of(confidence)
        ways = _directions(direction)
        sides = self.in_canary_scores, self.out_canary_scores
        match threshold_strategy:
            case Explicit(threshold=one, expected_rates=expected):
                bound = fixed_bound(quantity, *sides, ways, (one,), expected, error)
            case Bonferroni(thresholds=several):
                bound = fixed_bound(quantity, *sides, ways, several, None, error)
            case Split():
                bound = split_bound(quantity, *sides, ways, threshold_strategy, error)
            case ConfidenceBand():
                if self._ascending is None:
                    self._ascending = np.sort(sides[0]), np.sort(sides[1])
                bound = band_bound(quantity, *self._ascending, ways, error)
            case _:
                raise ParameterError(
                    f"threshold_strategy = {threshold_strategy!r}: allowed are Explicit, "
                    "Bonferroni, Split and ConfidenceBand"
                )
        return bound.estimate(quantity, confidence=float(confidence))


def _directions(direction: str) -> tuple[Direction, ...]:
    """Return the directions to try."""
    if direction == "both":
        return ("add", "remove")
    if direction not in ("add", "remove"):
        raise ParameterError(f"direction = {direction!r}: allowed are 'add', 'remove', 'both'")
    return (as_direction(direction),)
