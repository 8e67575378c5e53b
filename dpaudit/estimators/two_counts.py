"""Lower bounds on local epsilon from two counts of one event (LDP-Auditor).

An (epsilon, delta)-LDP mechanism satisfies ``Pr[M(a) in S] <= e^epsilon Pr[M(b) in S] + delta`` for
all inputs a, b and events S. With the event counted once among trials on a (true positives) and
once among trials on b (false positives), ``epsilon >= ln((TPR_lo - delta) / FPR_hi)`` with
one-sided Clopper-Pearson bounds (Arcolezi and Gambs, "Revealing the true cost of locally
differentially private protocols: an auditing perspective", 2024). Pairs and events are chosen in
advance; the best of them is valid because the error is shared among all the rate bounds that any
of them uses. A table of d inputs by c events uses 2 d c rate bounds, not one pair of them for each
of the d (d - 1) c comparisons: every comparison is then free.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from accountants.errors import ParameterError
from dpaudit.estimators import clopper_pearson
from dpaudit.estimators.arrays import FloatArray, as_numbers, as_rates, broadcast, checked_counts
from dpaudit.estimators.epsilon_bounds import epsilon_lower
from dpaudit.estimators.plain_values import plain, rounded_down, rounded_error

ASSUMPTIONS = (
    "trials are independent, and on each input identically distributed",
    "inputs and events were chosen without looking at these trials",
)
METHOD = "Clopper-Pearson on two rates, the error shared among all rate bounds"


@dataclass(frozen=True, kw_only=True)
class TwoCountEstimate:
    """The best of several lower bounds on local epsilon, each from two rates of an event.

    With probability at least `confidence` the mechanism is not (e, delta)-LDP for any e below
    `lower`.

    Attributes
    ----------
    lower : float
        Lower bound on epsilon at `delta`.
    upper : None
        There is no upper bound: another event may show more.
    delta : float
        The delta at which epsilon is bounded.
    confidence : float
        One-sided, over all that was compared.
    tail : float
        Error probability of each rate bound.
    rate_bounds : int
        How many rate bounds share the error.
    direction : str
        "replace": the statement is about replacing one input by another.
    threshold : None
        There is none; see `event`.
    pair : tuple of int or None
        Where the best bound lies: the place of its pair, or the inputs (a, b) of a table's rows.
    event : int or None
        The event, for a table.
    true_positives, trials_true, false_positives, trials_false : int
        Counts behind the best bound.
    tpr_lower, fpr_upper : float
        Bounds on its two rates.
    method : str
        How the rates were bounded.
    assumptions : tuple of str
        What the statement rests on.
    reason : str or None
        Why nothing was shown, or None if something was.
    """

    lower: float
    delta: float
    confidence: float
    tail: float
    rate_bounds: int
    pair: tuple[int, ...] | None
    event: int | None
    true_positives: int
    trials_true: int
    false_positives: int
    trials_false: int
    tpr_lower: float
    fpr_upper: float
    reason: str | None
    method: str = METHOD
    assumptions: tuple[str, ...] = ASSUMPTIONS
    direction: str = "replace"
    threshold: None = None
    upper: None = None

    def __str__(self) -> str:
        """Return the estimate as one sentence, its bound rounded down."""
        given = f"epsilon >= {rounded_down(self.lower)} at delta = {self.delta:.6g}"
        if self.reason is not None:
            return f"{given}: nothing shown, {self.reason}."
        among = f", best of {self.rate_bounds} rate bounds" if self.rate_bounds > 2 else ""
        return (
            f"{given}, with error at most {rounded_error(self.confidence)} "
            f"({self.true_positives} of {self.trials_true} true "
            f"and {self.false_positives} of {self.trials_false} false positives{among})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain values for JSON.

        Returns
        -------
        dict
            One entry per attribute; tuples as lists, infinities as "inf".
        """
        return {key: plain(value) for key, value in asdict(self).items()}


def two_counts(
    true_positives: ArrayLike,
    trials_true: ArrayLike,
    false_positives: ArrayLike,
    trials_false: ArrayLike,
    *,
    delta: float,
    confidence: float,
) -> TwoCountEstimate:
    """Bound local epsilon from below by one pair of counts, or by the best of several.

    Parameters
    ----------
    true_positives, trials_true : int or array_like of int
        How often the event occurred on one input, and trials on it; one entry a pair.
    false_positives, trials_false : int or array_like of int
        The same on the other input.
    delta : float
        The delta at which epsilon is bounded, 0 to 1.
    confidence : float
        One-sided, over all pairs; 0.5 to less than 1.

    Returns
    -------
    TwoCountEstimate
        0 with a reason if nothing was shown.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """
    most = clopper_pearson.MAX_TRIALS
    hits, tried = checked_counts(true_positives, trials_true, whole=True, most=most)
    misses, others = checked_counts(false_positives, trials_false, whole=True, most=most)
    hits, tried, misses, others = broadcast(
        true_positives=hits, trials_true=tried, false_positives=misses, trials_false=others
    )
    slack, tail = _checked(delta, confidence, 2 * hits.size)
    if hits.size == 0:
        return _nothing(slack, confidence, tail, "there are no pairs")
    high = np.asarray(clopper_pearson.lower(hits, tried, tail=tail))
    low = np.asarray(clopper_pearson.upper(misses, others, tail=tail))
    found = np.asarray(epsilon_lower(high, low, delta=slack))
    best = np.unravel_index(int(np.argmax(found)), found.shape)
    return _estimate(
        (hits[best], tried[best], misses[best], others[best]),
        (high[best], low[best]),
        delta=slack,
        confidence=confidence,
        tail=tail,
        rate_bounds=2 * hits.size,
        pair=tuple(int(index) for index in best) or None,
        event=None,
    )


def channel_counts(
    counts: ArrayLike,
    *,
    delta: float,
    confidence: float,
    trials: ArrayLike | None = None,
    events: ArrayLike | None = None,
) -> TwoCountEstimate:
    """Bound local epsilon from below by a table of inputs and outputs, over all pairs of inputs.

    Parameters
    ----------
    counts : array_like of int
        How often each input gave each output, shape (inputs, outputs).
    delta : float
        The delta at which epsilon is bounded, 0 to 1.
    confidence : float
        One-sided, over all comparisons; 0.5 to less than 1.
    trials : array_like of int, optional
        Trials on each input, shape (inputs,); needed if some outputs are not in the table. The
        default is the sum of each row.
    events : array_like of bool, optional
        Events as sets of outputs, shape (events, outputs), chosen in advance. By default each
        output is an event.

    Returns
    -------
    TwoCountEstimate
        The best comparison; 0 with a reason if nothing was shown.

    Raises
    ------
    ParameterError
        If a parameter is out of range or the shapes do not match.
    """
    table = as_numbers("counts", counts)
    if table.ndim != 2:
        raise ParameterError(f"counts has shape {table.shape}: allowed is (inputs, outputs)")
    tried = table.sum(axis=1) if trials is None else as_numbers("trials", trials)
    if tried.shape != table.shape[:1]:
        raise ParameterError(f"trials has shape {tried.shape}: one entry for each input is needed")
    most = clopper_pearson.MAX_TRIALS
    checked_counts(table, tried[:, np.newaxis], whole=True, most=most)
    checked_counts(table.sum(axis=1), tried, whole=True, most=most)
    if events is not None:
        sets = np.asarray(events)
        if sets.dtype != bool or sets.ndim != 2 or sets.shape[1] != table.shape[1]:
            raise ParameterError(
                f"events is {sets.dtype} of shape {sets.shape}: allowed are booleans of shape "
                f"(events, {table.shape[1]})"
            )
        table = table @ sets.T.astype(np.float64)
    hits, each = broadcast(counts=table, trials=tried[:, np.newaxis])
    slack, tail = _checked(delta, confidence, 2 * hits.size)
    if hits.shape[0] < 2 or hits.shape[1] < 1:
        return _nothing(slack, confidence, tail, "fewer than two inputs, or no outputs, to compare")
    # The largest lower and the smallest upper bound of an event: if one input has both, they are
    # in order, every ratio is at most 1 and nothing is shown by any pair.
    column = np.arange(hits.shape[1])
    if np.all(tried == tried[0]):  # then the counts are in the order of their bounds
        first, second = np.argmax(hits, axis=0), np.argmin(hits, axis=0)
    else:
        first = np.argmax(np.asarray(clopper_pearson.lower(hits, each, tail=tail)), axis=0)
        second = np.argmin(np.asarray(clopper_pearson.upper(hits, each, tail=tail)), axis=0)
    high = np.asarray(clopper_pearson.lower(hits[first, column], tried[first], tail=tail))
    low = np.asarray(clopper_pearson.upper(hits[second, column], tried[second], tail=tail))
    found = np.asarray(epsilon_lower(high, low, delta=slack))
    event = int(np.argmax(found))
    a, b = int(first[event]), int(second[event])
    return _estimate(
        (hits[a, event], tried[a], hits[b, event], tried[b]),
        (high[event], low[event]),
        delta=slack,
        confidence=confidence,
        tail=tail,
        rate_bounds=2 * hits.size,
        pair=(a, b),
        event=event,
    )


def _checked(delta: float, confidence: float, statements: int) -> tuple[float, float]:
    """Check delta and confidence; return delta and the error of one rate bound."""
    slack = float(as_rates("delta", delta))
    if not 0.5 <= confidence < 1.0:
        raise ParameterError(f"confidence = {confidence:g}: allowed are 0.5 to less than 1")
    tail = (1.0 - confidence) / max(statements, 1) * (1.0 - 1e-15)
    if tail < clopper_pearson.MIN_TAIL:
        raise ParameterError(
            f"an error of {1.0 - confidence:g} shared among {statements} rate bounds leaves less "
            f"than {clopper_pearson.MIN_TAIL:g} for each"
        )
    return slack, tail


def _nothing(delta: float, confidence: float, tail: float, reason: str) -> TwoCountEstimate:
    """Return the result without anything to compare."""
    return TwoCountEstimate(
        lower=0.0,
        delta=delta,
        confidence=float(confidence),
        tail=tail,
        rate_bounds=0,
        pair=None,
        event=None,
        true_positives=0,
        trials_true=0,
        false_positives=0,
        trials_false=0,
        tpr_lower=0.0,
        fpr_upper=1.0,
        reason=reason,
    )


def _estimate(
    counts: tuple[Any, Any, Any, Any],
    rates: tuple[FloatArray, FloatArray],
    *,
    delta: float,
    confidence: float,
    tail: float,
    rate_bounds: int,
    pair: tuple[int, ...] | None,
    event: int | None,
) -> TwoCountEstimate:
    """Fill in the record."""
    high, low = float(rates[0]), float(rates[1])
    lower = float(epsilon_lower(high, low, delta=delta))
    reason = None
    if lower == 0.0:
        reason = (
            f"no rate (at least {high:.4g} at best) exceeds delta plus another rate of the same "
            f"event (at most {low:.4g})"
        )
    return TwoCountEstimate(
        lower=lower,
        delta=delta,
        confidence=float(confidence),
        tail=tail,
        rate_bounds=rate_bounds,
        pair=pair,
        event=event,
        true_positives=int(counts[0]),
        trials_true=int(counts[1]),
        false_positives=int(counts[2]),
        trials_false=int(counts[3]),
        tpr_lower=high,
        fpr_upper=low,
        reason=reason,
    )
