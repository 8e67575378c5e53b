"""Bounds on the true- and false-positive rate of one fixed threshold."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.estimators import clopper_pearson
from dpaudit.estimators.epsilon_bounds import (
    Direction,
    EpsilonEstimate,
    as_direction,
    delta_lower,
    epsilon_lower,
)

METHOD = "Clopper-Pearson on held-out trials"
ASSUMPTIONS = (
    "trials are independent, and on each side identically distributed",
    "the threshold was chosen without looking at the trials that bound the rates",
)


@dataclass(frozen=True, kw_only=True)
class RateBounds:
    """Counts at one threshold and the one-sided Clopper-Pearson bounds they give.

    Attributes
    ----------
    direction : {"add", "remove"}
        "add": positives are the trials with the canary; "remove": those without it.
    threshold : float or None
        The threshold, or None if there was none to choose.
    true_positives, false_positives : int
        Counts among the bounding trials.
    trials_in, trials_out : int
        Bounding trials with and without the canary.
    tpr_lower, fpr_upper : float
        The bounds.
    tail : float
        Error probability of each bound.
    reason : str or None
        Why the bounds say nothing, or None.
    """

    direction: Direction
    threshold: float | None
    true_positives: int
    false_positives: int
    trials_in: int
    trials_out: int
    tpr_lower: float
    fpr_upper: float
    tail: float
    reason: str | None = None

    @classmethod
    def from_counts(
        cls,
        *,
        direction: Direction,
        threshold: float | None,
        true_positives: int,
        false_positives: int,
        trials_in: int,
        trials_out: int,
        tail: float,
        reason: str | None = None,
    ) -> RateBounds:
        """Bound both rates from their counts.

        Parameters
        ----------
        direction : {"add", "remove"}
            Whether the trials with ("add") or without ("remove") the canary are the positives.
        threshold : float or None
            The threshold behind the counts; it is only recorded.
        true_positives, false_positives : int
            How many of the positive and of the negative trials were called positive.
        trials_in, trials_out : int
            Trials with and without the canary, at most 1e9 each.
        tail : float
            Error probability of each bound, 1e-30 to 0.5.
        reason : str, optional
            Why the counts say nothing, if that is known.

        Returns
        -------
        RateBounds
            The record.

        Raises
        ------
        ParameterError
            If the direction, a count or the tail is out of range.
        """
        positives, negatives = trials_in, trials_out
        if as_direction(direction) == "remove":
            positives, negatives = trials_out, trials_in
        return cls(
            direction=direction,
            threshold=threshold,
            true_positives=true_positives,
            false_positives=false_positives,
            trials_in=trials_in,
            trials_out=trials_out,
            tpr_lower=clopper_pearson.lower(true_positives, positives, tail=tail),
            fpr_upper=clopper_pearson.upper(false_positives, negatives, tail=tail),
            tail=tail,
            reason=reason,
        )

    def epsilon(self, *, delta: float) -> EpsilonEstimate:
        """Return the lower bound on epsilon at a given delta.

        Parameters
        ----------
        delta : float
            0 to 1.

        Returns
        -------
        EpsilonEstimate
            With a reason if the bound is 0.

        Raises
        ------
        ParameterError
            If delta is out of range.
        """
        value = epsilon_lower(self.tpr_lower, self.fpr_upper, delta=delta)
        reason = self.reason
        if value == 0.0 and reason is None:
            reason = (
                f"the true-positive rate (at least {self.tpr_lower:.4g}) does not exceed delta "
                f"plus the false-positive rate (at most {self.fpr_upper:.4g})"
            )
        return self._estimate(value, delta, "epsilon", reason)

    def delta(self, *, epsilon: float) -> EpsilonEstimate:
        """Return the lower bound on delta at a given epsilon.

        Parameters
        ----------
        epsilon : float
            0 or more.

        Returns
        -------
        EpsilonEstimate
            With `quantity` "delta", and a reason if the bound is 0.

        Raises
        ------
        ParameterError
            If epsilon is NaN or negative.
        """
        value = delta_lower(self.tpr_lower, self.fpr_upper, epsilon=epsilon)
        reason = self.reason
        if value == 0.0 and reason is None:
            reason = (
                f"the true-positive rate (at least {self.tpr_lower:.4g}) does not exceed e^epsilon "
                f"times the false-positive rate (at most {self.fpr_upper:.4g})"
            )
        return self._estimate(epsilon, value, "delta", reason)

    def _estimate(
        self, epsilon: float, delta: float, quantity: str, reason: str | None
    ) -> EpsilonEstimate:
        """Fill in the record."""
        return EpsilonEstimate(
            epsilon=float(epsilon),
            delta=float(delta),
            quantity="delta" if quantity == "delta" else "epsilon",
            direction=self.direction,
            threshold=self.threshold,
            true_positives=self.true_positives,
            false_positives=self.false_positives,
            trials_in=self.trials_in,
            trials_out=self.trials_out,
            tpr_lower=self.tpr_lower,
            fpr_upper=self.fpr_upper,
            tail=self.tail,
            method=METHOD,
            assumptions=ASSUMPTIONS,
            reason=reason,
        )
