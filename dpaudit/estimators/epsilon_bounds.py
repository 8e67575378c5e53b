"""From bounds on two rates to lower bounds on a privacy curve.

A mechanism that is (epsilon, delta)-DP between P and Q satisfies ``P(S) <= e^epsilon Q(S) + delta``
for every set S of outputs. With ``TPR = P(S) >= tpr_lower`` and ``FPR = Q(S) <= fpr_upper`` it
follows that ``epsilon >= ln((tpr_lower - delta) / fpr_upper)`` at each delta, and
``delta >= tpr_lower - e^epsilon fpr_upper`` at each epsilon (Kairouz, Oh and Viswanath, "The
composition theorem for differential privacy", 2015, section 2). Both are rounded down here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from accountants.errors import ParameterError
from dpaudit.estimators.arrays import (
    FloatArray,
    Number,
    as_numbers,
    as_rates,
    broadcast,
    refuse_where,
    unwrapped,
)
from dpaudit.estimators.plain_values import plain, rounded_down, rounded_up

Direction: TypeAlias = Literal["add", "remove"]
"""Which neighbour plays P: the one with the canary ("add") or the one without it ("remove")."""

_EPS = float(np.finfo(np.float64).eps)


@overload
def epsilon_lower(rate_lower: Number, rate_upper: Number, *, delta: Number) -> float: ...
@overload
def epsilon_lower(
    rate_lower: ArrayLike, rate_upper: ArrayLike, *, delta: ArrayLike
) -> FloatArray: ...
def epsilon_lower(
    rate_lower: ArrayLike, rate_upper: ArrayLike, *, delta: ArrayLike
) -> float | FloatArray:
    """Return the lower bound on epsilon at a given delta.

    Parameters
    ----------
    rate_lower : array_like of float
        Lower bound on the true-positive rate, 0 to 1.
    rate_upper : array_like of float
        Upper bound on the false-positive rate, 0 to 1.
    delta : array_like of float
        The delta at which epsilon is bounded, 0 to 1.

    Returns
    -------
    float or ndarray
        ``max(0, ln((rate_lower - delta) / rate_upper))``, rounded down; infinite where
        `rate_upper` is 0 and `rate_lower` above `delta`.

    Raises
    ------
    ParameterError
        If a value is not a number from 0 to 1.
    """
    return unwrapped(np.maximum(log_ratio(rate_lower, rate_upper, delta=delta), 0.0))


def log_ratio(rate_lower: ArrayLike, rate_upper: ArrayLike, *, delta: ArrayLike) -> FloatArray:
    """Return what `epsilon_lower` computes before it is cut off at 0.

    Parameters
    ----------
    rate_lower, rate_upper, delta : array_like
        As for `epsilon_lower`.

    Returns
    -------
    ndarray
        ``ln((rate_lower - delta) / rate_upper)`` rounded down, -inf where `rate_lower` does not
        exceed `delta`.

    Raises
    ------
    ParameterError
        If a value is not a number from 0 to 1.
    """
    high, low, slack = broadcast(
        rate_lower=as_rates("rate_lower", rate_lower),
        rate_upper=as_rates("rate_upper", rate_upper),
        delta=as_rates("delta", delta),
    )
    gap = np.nextafter(high - slack, -1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_gap = np.where(gap > 0.0, np.log(np.maximum(gap, 0.0)), -np.inf)
        log_low = np.log(low)
        value = log_gap - log_low - 4.0 * _EPS * (np.abs(log_gap) + np.abs(log_low))
    value = np.where(low == 0.0, np.inf, value)
    return np.asarray(np.where(gap > 0.0, value, -np.inf))


@overload
def delta_lower(tpr_lower: Number, fpr_upper: Number, *, epsilon: Number) -> float: ...
@overload
def delta_lower(
    tpr_lower: ArrayLike, fpr_upper: ArrayLike, *, epsilon: ArrayLike
) -> FloatArray: ...
def delta_lower(
    tpr_lower: ArrayLike, fpr_upper: ArrayLike, *, epsilon: ArrayLike
) -> float | FloatArray:
    """Return the lower bound on delta at a given epsilon.

    Parameters
    ----------
    tpr_lower : array_like of float
        Lower bound on the true-positive rate, 0 to 1.
    fpr_upper : array_like of float
        Upper bound on the false-positive rate, 0 to 1.
    epsilon : array_like of float
        The epsilon at which delta is bounded, 0 or more; ``e^epsilon`` may overflow.

    Returns
    -------
    float or ndarray
        ``max(0, tpr_lower - e^epsilon fpr_upper)``, rounded down.

    Raises
    ------
    ParameterError
        If a rate is not a number from 0 to 1, or epsilon is NaN or negative.
    """
    return unwrapped(np.maximum(rate_gap(tpr_lower, fpr_upper, epsilon=epsilon), 0.0))


def rate_gap(tpr_lower: ArrayLike, fpr_upper: ArrayLike, *, epsilon: ArrayLike) -> FloatArray:
    """Return what `delta_lower` computes before it is cut off at 0.

    Parameters
    ----------
    tpr_lower, fpr_upper, epsilon : array_like
        As for `delta_lower`.

    Returns
    -------
    ndarray
        ``tpr_lower - e^epsilon fpr_upper`` rounded down, -inf where the product overflows.

    Raises
    ------
    ParameterError
        If a rate is not a number from 0 to 1, or epsilon is NaN or negative.
    """
    eps = as_numbers("epsilon", epsilon)
    refuse_where("epsilon", eps, ~(eps >= 0.0), "0 or more")
    high, low, eps = broadcast(
        tpr_lower=as_rates("tpr_lower", tpr_lower),
        fpr_upper=as_rates("fpr_upper", fpr_upper),
        epsilon=eps,
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_low = np.log(low)
        exponent = eps + log_low
        exponent = exponent + 4.0 * _EPS * (eps + np.abs(log_low) + 1.0)
        cost = np.exp(exponent)
    cost = np.where(low == 0.0, 0.0, np.nextafter(cost, np.inf))
    return np.asarray(np.where(cost > 0.0, np.nextafter(high - cost, -np.inf), high))


@dataclass(frozen=True, kw_only=True)
class EpsilonEstimate:
    """A measured lower bound on a mechanism's privacy curve.

    With probability at least ``1 - error`` the mechanism is not (e, delta)-DP for any e below
    `epsilon`, nor (epsilon, d)-DP for any d below `delta`, between the two datasets that produced
    the scores.

    Attributes
    ----------
    epsilon, delta : float
        The point of the curve; `quantity` says which of them was measured at the other.
    quantity : {"epsilon", "delta"}
        The measured coordinate.
    direction : {"add", "remove"}
        "add": positives are the trials with the canary, found by ``score >= threshold``;
        "remove": those without it, found by ``score <= threshold``.
    threshold : float or None
        The threshold, in the scores' unit, fixed before the bounding trials were looked at; None
        if none could be chosen.
    true_positives, false_positives : int
        Counts among the bounding trials.
    trials_in, trials_out : int
        Bounding trials with and without the canary.
    tpr_lower, fpr_upper : float
        Bounds on the two rates.
    tail : float
        Error probability of each of the two rate bounds.
    method : str
        How the rates were bounded.
    assumptions : tuple of str
        What the statement rests on.
    reason : str or None
        Why nothing was shown, or None if something was.
    """

    epsilon: float
    delta: float
    direction: Direction
    threshold: float | None
    true_positives: int
    false_positives: int
    trials_in: int
    trials_out: int
    tpr_lower: float
    fpr_upper: float
    tail: float
    method: str
    assumptions: tuple[str, ...] = ()
    reason: str | None = None
    quantity: Literal["epsilon", "delta"] = "epsilon"

    @property
    def error(self) -> float:
        """Probability that the statement is false: a union over the two rate bounds."""
        return 2.0 * self.tail

    def __str__(self) -> str:
        """Return the estimate as one sentence, its numbers rounded to the safe side."""
        given = f"{_measured('epsilon', self)} at {_measured('delta', self)}"
        if self.quantity == "delta":
            given = f"{_measured('delta', self)} at {_measured('epsilon', self)}"
        if self.reason is not None:
            return f"{given} (direction {self.direction}): nothing shown, {self.reason}."
        sign, positives, negatives = ">=", self.trials_in, self.trials_out
        if self.direction == "remove":
            sign, positives, negatives = "<=", self.trials_out, self.trials_in
        return (
            f"{given}, with error at most {rounded_up(self.error)} "
            f"(direction {self.direction}, score {sign} {self.threshold:.6g}: "
            f"{self.true_positives} of {positives} true and "
            f"{self.false_positives} of {negatives} false positives)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain values for JSON.

        Returns
        -------
        dict
            One entry per attribute, and ``error``; infinities as "inf" and "-inf".
        """
        entries = {**asdict(self), "error": self.error, "assumptions": list(self.assumptions)}
        return {key: plain(value) for key, value in entries.items()}


def as_direction(direction: str) -> Direction:
    """Return a direction, refusing an unknown one.

    Parameters
    ----------
    direction : str
        "add" or "remove".

    Returns
    -------
    {"add", "remove"}
        The same.

    Raises
    ------
    ParameterError
        If it is neither.
    """
    if direction not in get_args(Direction):
        raise ParameterError(f"direction = {direction!r}: allowed are 'add', 'remove'")
    return "add" if direction == "add" else "remove"


def _measured(quantity: str, estimate: EpsilonEstimate) -> str:
    """Write one coordinate: a bound rounded down if measured, as given otherwise."""
    value: float = getattr(estimate, quantity)
    if quantity != estimate.quantity:
        return f"{quantity} = {value:.6g}"
    return f"{quantity} >= {rounded_down(value)}"
