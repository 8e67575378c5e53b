"""The result of bounding a privacy quantity from attack scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dpaudit.estimators.epsilon_bounds import Direction
from dpaudit.estimators.plain_values import plain, rounded_down
from dpaudit.estimators.score_quantity import QuantityName


@dataclass(frozen=True, kw_only=True)
class ScoreEstimate:
    """A measured lower bound on epsilon, delta or mu.

    With probability at least `confidence` no value below `lower` holds between the two datasets
    that produced the scores. ``float(estimate)`` is `lower`.

    Attributes
    ----------
    quantity : {"epsilon", "delta", "mu"}
        What is bounded.
    lower : float
        The bound, 0 or more, rounded down.
    upper : None
        An attack gives no upper bound: a stronger one may exist.
    given : mapping of str to float
        The delta or the epsilon at which the quantity is bounded.
    confidence : float
        One-sided, over everything that was tried to get this bound.
    direction : {"add", "remove"}
        "add": positives are the trials with the canary, found by ``score >= threshold``; "remove":
        those without it, found by ``score <= threshold``.
    threshold : float or None
        Where the bound was found, in the scores' unit; None if there was none.
    true_positives, false_positives : int
        Counts among the bounding trials.
    trials_in, trials_out : int
        Bounding trials with and without the canary.
    tpr_lower, fpr_upper : float
        The rates that give `lower`: of the joint region, the pair that shows least.
    error_shares : mapping of str to float
        How the error ``1 - confidence`` was shared; they sum to no more than it.
    method : str
        How the rates were bounded.
    assumptions : tuple of str
        What the statement rests on.
    reason : str or None
        Why nothing was shown, or None if something was.
    """

    quantity: QuantityName
    lower: float
    given: Mapping[str, float]
    confidence: float
    direction: Direction
    threshold: float | None
    true_positives: int
    false_positives: int
    trials_in: int
    trials_out: int
    tpr_lower: float
    fpr_upper: float
    error_shares: Mapping[str, float]
    method: str
    assumptions: tuple[str, ...] = ()
    reason: str | None = None
    upper: None = field(default=None)

    @property
    def error(self) -> float:
        """Probability that the statement is false, at most."""
        return 1.0 - self.confidence

    def __float__(self) -> float:
        """Return the bound."""
        return self.lower

    def __str__(self) -> str:
        """Return one sentence, its numbers rounded to the safe side."""
        at = "".join(f" at {name} = {value:.6g}" for name, value in self.given.items())
        head = (
            f"{self.quantity} >= {rounded_down(self.lower)}{at} "
            f"with confidence {rounded_down(self.confidence)}"
        )
        if self.reason is not None:
            return f"{head}: nothing shown, {self.reason}."
        sign, positives, negatives = ">=", self.trials_in, self.trials_out
        if self.direction == "remove":
            sign, positives, negatives = "<=", self.trials_out, self.trials_in
        event = "" if self.threshold is None else f", score {sign} {self.threshold:.6g}"
        return (
            f"{head} (direction {self.direction}{event}: "
            f"{self.true_positives} of {positives} true and {self.false_positives} of {negatives} "
            f"false positives; {self.method})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain values for JSON.

        Returns
        -------
        dict
            One entry per attribute, and ``error``; infinities as "inf" and "-inf".
        """
        entries = {**asdict(self), "error": self.error, "assumptions": list(self.assumptions)}
        entries["given"], entries["error_shares"] = dict(self.given), dict(self.error_shares)
        return {key: plain(value) for key, value in entries.items()}
