"""Two-sided intervals of both rates at one threshold, all four bounds at once."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dpaudit.estimators import clopper_pearson
from dpaudit.estimators.arrays import FloatArray
from dpaudit.estimators.epsilon_bounds import Direction
from dpaudit.estimators.plain_values import plain
from dpaudit.estimators.score_bounds import counts_at


@dataclass(frozen=True, kw_only=True)
class RateIntervals:
    """Two-sided Clopper-Pearson intervals of both rates at a threshold fixed in advance.

    Attributes
    ----------
    direction : {"add", "remove"}
        Which side is the positive one.
    threshold : float
        The threshold.
    true_positives, false_positives, positives, negatives : int
        Counts, and trials of each side.
    tpr, fpr : tuple of float
        Lower and upper bound of each rate.
    confidence : float
        All four bounds hold together with at least this probability.
    """

    direction: Direction
    threshold: float
    true_positives: int
    false_positives: int
    positives: int
    negatives: int
    tpr: tuple[float, float]
    fpr: tuple[float, float]
    confidence: float

    def __str__(self) -> str:
        """Return one sentence."""
        return (
            f"true-positive rate in [{self.tpr[0]:.6g}, {self.tpr[1]:.6g}] and false-positive rate "
            f"in [{self.fpr[0]:.6g}, {self.fpr[1]:.6g}] with confidence {self.confidence:.6g} "
            f"(direction {self.direction}, threshold {self.threshold:.6g})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the intervals as plain values for JSON.

        Returns
        -------
        dict
            One entry per attribute; an infinite threshold as "inf" or "-inf".
        """
        return {
            key: plain(list(value) if isinstance(value, tuple) else value)
            for key, value in asdict(self).items()
        }


def rate_intervals(
    inside: FloatArray,
    outside: FloatArray,
    threshold: float,
    *,
    confidence: float,
    direction: Direction,
) -> RateIntervals:
    """Bound both rates from both sides.

    Parameters
    ----------
    inside, outside : ndarray
        Scores with and without the canary.
    threshold : float
        Fixed without looking at them.
    confidence : float
        Of all four bounds together, each at a quarter of the error.
    direction : {"add", "remove"}
        Which side is the positive one.

    Returns
    -------
    RateIntervals
        The intervals.
    """
    tail = (1.0 - confidence) / 4.0
    true, positives, false, negatives = counts_at(inside, outside, threshold, direction)
    return RateIntervals(
        direction=direction,
        threshold=float(threshold),
        true_positives=true,
        false_positives=false,
        positives=positives,
        negatives=negatives,
        tpr=_interval(true, positives, tail),
        fpr=_interval(false, negatives, tail),
        confidence=float(confidence),
    )


def _interval(successes: int, trials: int, tail: float) -> tuple[float, float]:
    """Return both Clopper-Pearson bounds."""
    return (
        clopper_pearson.lower(successes, trials, tail=tail),
        clopper_pearson.upper(successes, trials, tail=tail),
    )
