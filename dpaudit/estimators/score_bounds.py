"""What each threshold strategy does with the scores; see `threshold_strategies` for the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaudit.estimators.arrays import FloatArray
from dpaudit.estimators.candidate_thresholds import candidate_thresholds
from dpaudit.estimators.confidence_band import rate_band
from dpaudit.estimators.epsilon_bounds import Direction
from dpaudit.estimators.joint_rates import JointRegion
from dpaudit.estimators.score_estimate import ScoreEstimate
from dpaudit.estimators.score_quantity import Quantity
from dpaudit.estimators.threshold_selection import count_at_least, oriented, select_threshold
from dpaudit.estimators.threshold_strategies import Split

INDEPENDENT = "trials are independent, and on each side identically distributed"
FIXED = "the thresholds and the direction were fixed without looking at the scores"
IN_ORDER = "the order of the trials does not depend on their scores"

_SHARE_ROUNDING = 1.0 - 1e-12


@dataclass(frozen=True, kw_only=True)
class RatePair:
    """Two rate bounds that hold together, and how they came about.

    The attributes are those of `ScoreEstimate` of the same names.
    """

    direction: Direction
    threshold: float | None
    true_positives: int
    false_positives: int
    trials_in: int
    trials_out: int
    tpr_lower: float
    fpr_upper: float
    error_shares: dict[str, float]
    method: str
    assumptions: tuple[str, ...]
    reason: str | None = None

    def estimate(self, quantity: Quantity, *, confidence: float) -> ScoreEstimate:
        """Return what the pair shows.

        Parameters
        ----------
        quantity : Quantity
            What is bounded.
        confidence : float
            One minus the sum of the error shares, or less.

        Returns
        -------
        ScoreEstimate
            With a reason if the bound is 0.
        """
        lower = max(0.0, float(quantity.lower(self.tpr_lower, self.fpr_upper)))
        reason = self.reason
        if reason is not None:
            lower = 0.0
        elif lower == 0.0:
            reason = (
                f"no {quantity.name} above 0 follows from a true-positive rate of at least "
                f"{self.tpr_lower:.4g} and a false-positive rate of at most {self.fpr_upper:.4g}"
            )
        return ScoreEstimate(
            quantity=quantity.name,
            lower=lower,
            given=quantity.given(),
            confidence=confidence,
            direction=self.direction,
            threshold=self.threshold,
            true_positives=self.true_positives,
            false_positives=self.false_positives,
            trials_in=self.trials_in,
            trials_out=self.trials_out,
            tpr_lower=self.tpr_lower,
            fpr_upper=self.fpr_upper,
            error_shares=self.error_shares,
            method=self.method,
            assumptions=self.assumptions,
            reason=reason,
        )


def fixed_bound(
    quantity: Quantity,
    inside: FloatArray,
    outside: FloatArray,
    ways: Sequence[Direction],
    thresholds: Sequence[float],
    expected_rates: tuple[float, float] | None,
    error: float,
) -> RatePair:
    """Bound at thresholds fixed in advance, the error shared equally among them and the directions.

    Parameters
    ----------
    quantity : Quantity
        What is bounded.
    inside, outside : ndarray
        Scores with and without the canary.
    ways : sequence of {"add", "remove"}
        Directions to try.
    thresholds : sequence of float
        Thresholds to try.
    expected_rates : tuple of float or None
        Rates for which to lay out the joint region; None bounds both rates separately.
    error : float
        Probability that the best of the bounds may fail.

    Returns
    -------
    RatePair
        That of the best bound.
    """
    share = error / (len(ways) * len(thresholds)) * _SHARE_ROUNDING
    found: list[tuple[float, RatePair]] = []
    for way in ways:
        for threshold in thresholds:
            true, positives, false, negatives = counts_at(inside, outside, threshold, way)
            region = JointRegion.box(tpr_tail=share / 2.0, fpr_tail=share / 2.0)
            method = "Clopper-Pearson on both rates"
            if expected_rates is not None:
                high, low = expected_rates
                if way == "remove":
                    high, low = 1.0 - low, 1.0 - high
                method = "joint Clopper-Pearson region of both rates"
                region = JointRegion.for_counts(
                    quantity,
                    true_positives=high * positives,
                    false_positives=low * negatives,
                    positives=positives,
                    negatives=negatives,
                    error=share,
                )
            value, tpr, fpr = least_shown(quantity, region, true, positives, false, negatives)
            if len(ways) * len(thresholds) > 1:
                method += ", Bonferroni over thresholds and directions"
            pair = RatePair(
                direction=way,
                threshold=float(threshold),
                true_positives=true,
                false_positives=false,
                trials_in=inside.size,
                trials_out=outside.size,
                tpr_lower=tpr,
                fpr_upper=fpr,
                error_shares={
                    f"{each}, threshold {one:.6g}": share for each in ways for one in thresholds
                },
                method=method,
                assumptions=(INDEPENDENT, FIXED),
                reason=_empty(inside, outside),
            )
            found.append((value, pair))
    return max(found, key=lambda case: case[0])[1]


def split_bound(
    quantity: Quantity,
    inside: FloatArray,
    outside: FloatArray,
    ways: Sequence[Direction],
    strategy: Split,
    error: float,
) -> RatePair:
    """Choose threshold and direction on some trials, bound on the others.

    Parameters
    ----------
    quantity, inside, outside, ways, error
        As for `fixed_bound`.
    strategy : Split
        Which trials choose.

    Returns
    -------
    RatePair
        That of the chosen threshold.
    """
    rng = None if strategy.seed is None else np.random.default_rng(strategy.seed)
    cut_in = strategy.selecting(inside.size, outside.size)
    cut_out = strategy.selecting(outside.size, inside.size)
    selecting_in, bounding_in = _parts(inside, cut_in, rng)
    selecting_out, bounding_out = _parts(outside, cut_out, rng)
    shares = {"joint region of both rates": error}
    method = (
        "joint Clopper-Pearson region of both rates, "
        f"threshold and direction chosen on {cut_in} + {cut_out} other trials"
    )
    assumptions = (INDEPENDENT,) if rng is not None else (INDEPENDENT, IN_ORDER)
    if not cut_in or not cut_out:
        return RatePair(
            direction=ways[0],
            threshold=None,
            true_positives=0,
            false_positives=(bounding_out if ways[0] == "add" else bounding_in).size,
            trials_in=bounding_in.size,
            trials_out=bounding_out.size,
            tpr_lower=0.0,
            fpr_upper=1.0,
            error_shares=shares,
            method=method,
            assumptions=assumptions,
            reason=_empty(inside, outside)
            or "a side has a single trial, which cannot both choose a threshold and bound it",
        )
    chosen = select_threshold(
        np.sort(selecting_in),
        np.sort(selecting_out),
        bounding_in=bounding_in.size,
        bounding_out=bounding_out.size,
        quantity=quantity,
        directions=ways,
        error=error,
    )
    way = chosen.direction
    true, positives, false, negatives = counts_at(bounding_in, bounding_out, chosen.threshold, way)
    region = JointRegion.for_counts(
        quantity,
        true_positives=chosen.true_positives,
        false_positives=chosen.false_positives,
        positives=positives,
        negatives=negatives,
        error=error,
    )
    _, high, low = least_shown(quantity, region, true, positives, false, negatives)
    return RatePair(
        direction=way,
        threshold=chosen.threshold,
        true_positives=true,
        false_positives=false,
        trials_in=bounding_in.size,
        trials_out=bounding_out.size,
        tpr_lower=high,
        fpr_upper=low,
        error_shares=shares,
        method=method,
        assumptions=assumptions,
    )


def band_bound(
    quantity: Quantity,
    inside: FloatArray,
    outside: FloatArray,
    ways: Sequence[Direction],
    error: float,
) -> RatePair:
    """Bound at all thresholds at once and return the best.

    Parameters
    ----------
    quantity, ways, error
        As for `fixed_bound`.
    inside, outside : ndarray
        Scores with and without the canary, sorted ascending.

    Returns
    -------
    RatePair
        That of the best threshold.
    """
    share = error / (2 * len(ways)) * _SHARE_ROUNDING
    found: list[tuple[float, RatePair]] = []
    for way in ways:
        sign, positives, negatives = oriented(way, inside, outside)
        thresholds = candidate_thresholds(positives, negatives)
        empty = _empty(inside, outside)
        if empty is not None:
            thresholds = np.array([0.0])
        true = count_at_least(positives, thresholds)
        false = count_at_least(negatives, thresholds)
        high = rate_band(positives.size, error=share).lower(true)
        low = rate_band(negatives.size, error=share).upper(false)
        values = quantity.lower(high, low)
        best = int(np.argmax(values if np.max(values) > -np.inf else high - low))
        pair = RatePair(
            direction=way,
            threshold=float(sign * thresholds[best]) + 0.0 if empty is None else None,
            true_positives=int(true[best]),
            false_positives=int(false[best]),
            trials_in=inside.size,
            trials_out=outside.size,
            tpr_lower=float(high[best]),
            fpr_upper=float(low[best]),
            error_shares={
                f"{each}: {side}": share
                for each in ways
                for side in ("true-positive rate", "false-positive rate")
            },
            method="simultaneous likelihood-ratio bands over all thresholds",
            assumptions=(INDEPENDENT,),
            reason=empty,
        )
        found.append((float(values[best]), pair))
    return max(found, key=lambda case: case[0])[1]


def counts_at(
    inside: FloatArray, outside: FloatArray, threshold: float, direction: Direction
) -> tuple[int, int, int, int]:
    """Count at one threshold, which is itself positive.

    Parameters
    ----------
    inside, outside : ndarray
        Scores with and without the canary, in any order.
    threshold : float
        In their unit.
    direction : {"add", "remove"}
        "add" calls a score positive from the threshold up, "remove" from it down.

    Returns
    -------
    true_positives, positives, false_positives, negatives : int
        Counts and sizes of the positive and of the negative side.
    """

    def called(scores: FloatArray) -> int:
        hits: NDArray[np.bool_] = scores >= threshold if direction == "add" else scores <= threshold
        return int(np.count_nonzero(hits))

    if direction == "add":
        return called(inside), inside.size, called(outside), outside.size
    return called(outside), outside.size, called(inside), inside.size


def least_shown(
    quantity: Quantity,
    region: JointRegion,
    true_positives: int,
    positives: int,
    false_positives: int,
    negatives: int,
) -> tuple[float, float, float]:
    """Return the smallest value over a region's pairs of rate bounds, and that pair.

    Parameters
    ----------
    quantity : Quantity
        What is bounded.
    region : JointRegion
        Laid out without looking at these counts.
    true_positives, positives, false_positives, negatives : int
        Counts and numbers of trials.

    Returns
    -------
    value, tpr_lower, fpr_upper : float
        The bound, and the two rates that give it.
    """
    high, low = region.bounds(true_positives, positives, false_positives, negatives)
    values = quantity.lower(high, low)
    least = int(np.argmin(values))
    return float(values[least]), float(high[least]), float(low[least])


def _parts(
    scores: FloatArray, cut: int, rng: np.random.Generator | None
) -> tuple[FloatArray, FloatArray]:
    """Return `cut` selecting scores, taken at random or from the start, and the others."""
    if rng is None:
        return scores[:cut], scores[cut:]
    chosen = np.zeros(scores.size, dtype=np.bool_)
    chosen[rng.choice(scores.size, cut, replace=False, shuffle=False)] = cut > 0
    return scores[chosen], scores[~chosen]


def _empty(inside: FloatArray, outside: FloatArray) -> str | None:
    """Say which side has no trials, if one has none."""
    sides = {"with": inside.size, "without": outside.size}
    none = [f"there are no trials {name} the canary" for name, size in sides.items() if not size]
    return " and ".join(none) or None
