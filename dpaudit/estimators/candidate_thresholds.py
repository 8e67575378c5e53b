"""Candidate thresholds of a score, dense where few trials decide.

A threshold matters only through the two counts it gives, so the distinct scores are all the
candidates there are. When they are many, ranks are thinned: all of the first few hundred, then in
geometric steps, counted from both ends of both sides. Any pair of counts is then within about one
percent of a candidate's, and the smallest counts, where the best thresholds for a large epsilon
lie, are all there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpaudit.estimators.arrays import FloatArray

MAX_EXHAUSTIVE = 4000
_DENSE = 256
_GEOMETRIC = 750


def candidate_thresholds(positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """Return thresholds ``t`` for the rule "positive if score >= t".

    Parameters
    ----------
    positives, negatives : ndarray
        Scores of the two sides, each sorted ascending, without NaN; shapes (m,) and (n,).

    Returns
    -------
    ndarray
        Distinct thresholds, ascending: every distinct score if there are at most 4000, else about
        as many that cover both sides' ranks, dense at both ends. Empty if there are no scores.
    """
    pooled = _distinct(np.sort(np.concatenate([positives, negatives]), kind="stable"))
    if pooled.size <= MAX_EXHAUSTIVE:
        return pooled
    picked = [positives[_ranks(positives.size)], positives[::-1][_ranks(positives.size)]]
    for tail in (negatives[_ranks(negatives.size)], negatives[::-1][_ranks(negatives.size)]):
        # The lowest score that leaves out this negative: no fewer positives, fewer negatives.
        above = np.searchsorted(pooled, tail, side="right")
        picked.append(pooled[np.minimum(above, pooled.size - 1)])
    return np.unique(np.concatenate(picked))


def _ranks(size: int) -> NDArray[np.int64]:
    """Return distinct ranks from 0: all small ones, then in geometric steps."""
    if size <= _DENSE:
        return np.arange(size)
    steps = np.geomspace(_DENSE, max(size - 1, _DENSE), _GEOMETRIC).astype(np.int64)
    return np.unique(np.concatenate([np.arange(_DENSE), steps])).clip(max=size - 1)


def _distinct(ascending: FloatArray) -> FloatArray:
    """Drop repetitions from a sorted vector."""
    if ascending.size == 0:
        return ascending
    keep = np.concatenate([[True], ascending[1:] != ascending[:-1]])
    return np.asarray(ascending[keep])
