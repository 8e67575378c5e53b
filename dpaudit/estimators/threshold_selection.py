"""Choosing a threshold and a direction on trials that do not bound.

Whatever is chosen here, the bound on the other trials is valid; the choice decides its power only.
Each candidate's rates are shrunk towards 1/2 by half a count and moved by 0.7 to 1.2 of their
standard deviations to the unfavourable side (more with more selecting trials, hence more
candidates), as the best of many looks better than it is. Beyond the last negative the
false-positive rate is taken to fall in proportion to the true one. Then the bound that the other
trials would give at those rates is predicted. With few selecting trials that prediction is low
where the set is rare: of the thresholds within 2% of the best the rarest is taken then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dpaudit.estimators.arrays import FloatArray
from dpaudit.estimators.candidate_thresholds import candidate_thresholds
from dpaudit.estimators.epsilon_bounds import Direction
from dpaudit.estimators.score_quantity import Quantity

_PSEUDO_COUNT = 0.5
_CAUTION = (0.7, 1.2)  # of a standard deviation, for selecting trials of
_CAUTION_TRIALS = (200.0, 10_000.0)
_NEAR = (0.02, 0.0)  # relative, for as many
_FADING = 1.0  # power of the relative true-positive rate


@dataclass(frozen=True, kw_only=True)
class SelectedThreshold:
    """A threshold and the counts expected of it.

    Attributes
    ----------
    direction : {"add", "remove"}
        The direction.
    threshold : float
        In the scores' unit and orientation.
    true_positives, false_positives : float
        Expected among the bounding trials.
    predicted : float
        The bound predicted: not a bound.
    """

    direction: Direction
    threshold: float
    true_positives: float
    false_positives: float
    predicted: float


def oriented(
    direction: Direction, inside: FloatArray, outside: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Turn both sides so that the set of a threshold is ``{sign * score >= t}``.

    Parameters
    ----------
    direction : {"add", "remove"}
        Which side is the positive one.
    inside, outside : ndarray
        Scores with and without the canary, sorted ascending.

    Returns
    -------
    sign : float
        1 or -1.
    positives, negatives : ndarray
        Sorted ascending.
    """
    if direction == "add":
        return 1.0, inside, outside
    return -1.0, -outside[::-1], -inside[::-1]


def count_at_least(ascending: FloatArray, thresholds: ArrayLike) -> FloatArray:
    """Count scores at or above each threshold.

    Parameters
    ----------
    ascending : ndarray
        Sorted scores.
    thresholds : array_like
        Any shape.

    Returns
    -------
    ndarray
        The counts, of the same shape.
    """
    return np.asarray(ascending.size - np.searchsorted(ascending, thresholds, side="left"))


def select_threshold(
    inside: FloatArray,
    outside: FloatArray,
    *,
    bounding_in: int,
    bounding_out: int,
    quantity: Quantity,
    directions: Sequence[Direction],
    error: float,
) -> SelectedThreshold:
    """Return the threshold and direction with the largest predicted bound.

    Parameters
    ----------
    inside, outside : ndarray
        Selecting scores with and without the canary, sorted ascending, neither empty.
    bounding_in, bounding_out : int
        Trials that will bound.
    quantity : Quantity
        What will be bounded.
    directions : sequence of {"add", "remove"}
        The directions to choose from, at least one.
    error : float
        Error of the bound, above 0 to 0.5.

    Returns
    -------
    SelectedThreshold
        The choice.
    """
    chosen = [
        _best(inside, outside, direction, bounding_in, bounding_out, quantity, error)
        for direction in directions
    ]
    return max(chosen, key=lambda choice: choice.predicted)


def _best(
    inside: FloatArray,
    outside: FloatArray,
    direction: Direction,
    bounding_in: int,
    bounding_out: int,
    quantity: Quantity,
    error: float,
) -> SelectedThreshold:
    """Return the best threshold of one direction."""
    sign, positives, negatives = oriented(direction, inside, outside)
    sizes = (bounding_in, bounding_out) if direction == "add" else (bounding_out, bounding_in)
    thresholds = candidate_thresholds(positives, negatives)
    fewer = min(positives.size, negatives.size)
    caution = float(np.interp(np.log(fewer), np.log(_CAUTION_TRIALS), _CAUTION))
    seen, seen_false = (count_at_least(side, thresholds) for side in (positives, negatives))
    # Beyond the last negative the false-positive rate falls at least as fast as the true one.
    beyond = seen[seen_false == 0]
    fading = np.where(seen_false == 0, seen / max(beyond.max(initial=1), 1), 1.0) ** _FADING
    high = _cautious(seen, positives.size, -caution)
    low = _cautious(seen_false, negatives.size, caution) * fading
    true, false = high * sizes[0], low * sizes[1]
    # Two equal errors of the joint region's size: each at its normal quantile over sqrt 2; a count
    # near 0 pays nearly the whole error.
    tpr_tail = float(special.ndtr(special.ndtri(error) / np.sqrt(2.0)))
    tpr_lower = special.betaincinv(np.maximum(true, 1e-9), sizes[0] - true + 1.0, tpr_tail)
    fpr_tail = min(1.3 * error, 0.5)
    fpr_upper = special.betainccinv(false + 1.0, np.maximum(sizes[1] - false, 1e-9), fpr_tail)
    values = quantity.lower(np.clip(tpr_lower, 0.0, 1.0), np.clip(fpr_upper, 0.0, 1.0))
    best = float(np.max(values))
    if best == -np.inf:
        index = int(np.argmax(tpr_lower - fpr_upper))
    else:
        near = float(np.interp(np.log(fewer), np.log(_CAUTION_TRIALS), _NEAR))
        index = int(np.flatnonzero(values >= best - near * abs(best))[-1])
    return SelectedThreshold(
        direction=direction,
        threshold=float(sign * thresholds[index]) + 0.0,
        true_positives=float(true[index]),
        false_positives=float(false[index]),
        predicted=best,
    )


def _cautious(counts: FloatArray, trials: int, deviations: float) -> FloatArray:
    """Return shrunk rates, moved by so many standard deviations, within [0, 1]."""
    rates = (counts + _PSEUDO_COUNT) / (trials + 2.0 * _PSEUDO_COUNT)
    moved = rates + deviations * np.sqrt(rates * (1.0 - rates) / trials)
    return np.asarray(np.clip(moved, 0.0, 1.0))
