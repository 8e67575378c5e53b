"""The event that is counted: a set of outcomes, fixed before the bounding trials are run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from dpaudit.engine.attack_scores import Scores
from dpaudit.engine.outcomes import FIRST_LOST, KINDS, OUTCOMES, Codes, FailureKind
from dpaudit.engine.plan import Side
from dpaudit.estimators.arrays import FloatArray
from dpaudit.estimators.epsilon_bounds import Direction
from dpaudit.estimators.score_quantity import Quantity
from dpaudit.estimators.threshold_selection import SelectedThreshold, select_threshold

_BOTH: tuple[Direction, ...] = ("add", "remove")


@dataclass(frozen=True, kw_only=True)
class Event:
    """A set S of outcomes, and what is expected of it.

    Attributes
    ----------
    direction : {"add", "remove"}
        "add": ``S = {score >= threshold}``, the positives are the trials with the canary; "remove":
        ``S = {score <= threshold}``, the positives are those without it.
    threshold : float
        In the scores' unit.
    failure_scores : mapping
        The score of each failure: minus or plus infinity.
    true_positives, false_positives : float
        Expected among the bounding trials.
    """

    direction: Direction
    threshold: float
    failure_scores: Mapping[FailureKind, float]
    true_positives: float
    false_positives: float

    @property
    def failures(self) -> tuple[FailureKind, ...]:
        """The failures that belong to S."""
        return tuple(kind for kind in KINDS if self._holds(self.failure_scores[kind]))

    def positive(self, side: Side) -> bool:
        """Tell whether a side's trials are the positives."""
        return (side == "in") == (self.direction == "add")

    def count(self, side: Side, scores: Scores, codes: Codes | None) -> int:
        """Count the trials of a block that are called positive.

        Parameters
        ----------
        side : {"out", "in"}
            Their side.
        scores : ndarray of bool or float64, shape (n,)
            Their scores.
        codes : ndarray of uint8 or None
            Their outcome codes; None if all were released.

        Returns
        -------
        int
            The count; trials lost with their block count against the audit.
        """
        if codes is None:
            return self._count(scores)
        number = self._count(scores[codes == 0])
        for kind in self.failures:
            number += int(np.count_nonzero(codes == OUTCOMES.index(kind)))
        if not self.positive(side):
            number += int(np.count_nonzero(codes >= FIRST_LOST))
        return number

    def _count(self, scores: Scores) -> int:
        if scores.dtype == np.bool_:
            ones = int(np.count_nonzero(scores))
            return self._holds(1.0) * ones + self._holds(0.0) * (scores.size - ones)
        threshold = np.float64(self.threshold)
        called = scores >= threshold if self.direction == "add" else scores <= threshold
        return int(np.count_nonzero(called))

    def _holds(self, score: float) -> bool:
        """Tell whether an outcome of this score is in S."""
        return score >= self.threshold if self.direction == "add" else score <= self.threshold

    def to_dict(self) -> dict[str, Any]:
        """Return direction, threshold and the failures in S as plain values."""
        threshold: float | str = self.threshold
        if np.isinf(self.threshold):
            threshold = str(self.threshold)
        return {
            "direction": self.direction,
            "threshold": threshold,
            "failures": list(self.failures),
        }


def choose_event(
    inside: tuple[FloatArray, Codes],
    outside: tuple[FloatArray, Codes],
    *,
    bounding: int,
    quantity: Quantity,
    error: float,
    failure_events: bool,
) -> Event | None:
    """Choose direction, threshold and the scores of failures on the selection trials.

    Every way to place the kinds of failure that occurred below or above all releases is tried; a
    kind that did not occur stays outside S.

    Parameters
    ----------
    inside, outside : tuple of ndarray
        Scores and outcome codes of the selection trials of each side.
    bounding : int
        Trials a side that will bound.
    quantity : Quantity
        What will be bounded.
    error : float
        Of the bound.
    failure_events : bool
        Whether failures may belong to S; otherwise they are outside it, whatever their frequency.

    Returns
    -------
    Event or None
        None if all selection trials of a side were lost with their blocks.
    """
    known = [
        (scores[codes < FIRST_LOST], codes[codes < FIRST_LOST])
        for scores, codes in (inside, outside)
    ]
    if not known[0][0].size or not known[1][0].size:
        return None
    seen = [
        kind for kind in KINDS if any(np.any(codes == OUTCOMES.index(kind)) for _, codes in known)
    ]
    best: tuple[SelectedThreshold, dict[FailureKind, float]] | None = None
    for ways, values in _placements(len(seen), failure_events=failure_events):
        placed = dict(zip(seen, values, strict=True))
        high, low = (np.sort(_with_failures(scores, codes, placed)) for scores, codes in known)
        found = select_threshold(
            high,
            low,
            bounding_in=bounding,
            bounding_out=bounding,
            quantity=quantity,
            directions=ways,
            error=error,
        )
        if best is None or found.predicted > best[0].predicted:
            best = found, placed
    assert best is not None
    chosen, placed = best
    nowhere = -np.inf if chosen.direction == "add" else np.inf
    return Event(
        direction=chosen.direction,
        threshold=chosen.threshold,
        failure_scores={kind: placed.get(kind, nowhere) for kind in KINDS},
        true_positives=chosen.true_positives,
        false_positives=chosen.false_positives,
    )


def _placements(
    kinds: int, *, failure_events: bool
) -> list[tuple[tuple[Direction, ...], tuple[float, ...]]]:
    """Return what to try: directions, and the scores of the kinds of failure that occurred."""
    if kinds and not failure_events:
        return [(("add",), (-np.inf,) * kinds), (("remove",), (np.inf,) * kinds)]
    return [(_BOTH, values) for values in product((-np.inf, np.inf), repeat=kinds)]


def _with_failures(
    scores: FloatArray, codes: Codes, placed: Mapping[FailureKind, float]
) -> FloatArray:
    """Put the failures' scores in their places."""
    filled = scores.copy()
    for kind, value in placed.items():
        filled[codes == OUTCOMES.index(kind)] = value
    return filled
