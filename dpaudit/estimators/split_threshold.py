"""Lower bounds on epsilon and delta from attack scores, by splitting the trials.

The first half of each side's trials chooses the threshold, the second half bounds its two rates by
Clopper-Pearson. The threshold is fixed before the bounding trials are looked at, so the bounds hold
however many thresholds were tried; a maximum over thresholds on the same trials would not.

A higher score means "with the canary". Direction "add" takes the trials with the canary as
positives and ``S = {score >= t}``; direction "remove" takes those without it and
``S = {score <= t}``. Ties with the threshold are all in S.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accountants.errors import ParameterError
from dpaudit.estimators import clopper_pearson
from dpaudit.estimators.arrays import FloatArray
from dpaudit.estimators.candidate_thresholds import candidate_thresholds
from dpaudit.estimators.epsilon_bounds import Direction, EpsilonEstimate, as_direction
from dpaudit.estimators.rate_bounds import RateBounds
from dpaudit.estimators.scores import as_scores
from dpaudit.estimators.threshold_choice import ChosenThreshold, ThresholdChoice
from dpaudit.estimators.threshold_selection import count_at_least, oriented


@dataclass(frozen=True, eq=False)
class SplitScores:
    """Scores of both sides, each cut into a selection and a bounding half.

    Make one with `from_scores`. Several thresholds may be chosen and bounded on the same halves;
    each bound has its own error `tail`, and the caller shares the total error among them.

    Attributes
    ----------
    selection_in, selection_out, bounding_in, bounding_out : ndarray
        float64 scores, each sorted ascending.
    """

    selection_in: FloatArray
    selection_out: FloatArray
    bounding_in: FloatArray
    bounding_out: FloatArray
    _candidates: dict[tuple[Direction, float], tuple[FloatArray, FloatArray, FloatArray]] = field(
        default_factory=dict, init=False, repr=False
    )

    @classmethod
    def from_scores(cls, in_scores: Any, out_scores: Any) -> SplitScores:
        """Split each side's scores in the order given.

        Parameters
        ----------
        in_scores, out_scores : array_like or torch.Tensor
            One score a trial with and without the canary, each of shape (trials,). The trials must
            be exchangeable (independent and identically distributed is enough): the first half,
            rounded down, selects and the rest bounds. Scores that were sorted or grouped must be
            shuffled first.

        Returns
        -------
        SplitScores
            The four sorted parts.

        Raises
        ------
        ParameterError
            If a side is not a vector of numbers or holds NaN.
        """
        inside, outside = as_scores("in_scores", in_scores), as_scores("out_scores", out_scores)
        cut_in, cut_out = inside.size // 2, outside.size // 2
        return cls(
            selection_in=np.sort(inside[:cut_in]),
            selection_out=np.sort(outside[:cut_out]),
            bounding_in=np.sort(inside[cut_in:]),
            bounding_out=np.sort(outside[cut_out:]),
        )

    @property
    def trials_in(self) -> int:
        """Number of bounding trials with the canary."""
        return int(self.bounding_in.size)

    @property
    def trials_out(self) -> int:
        """Number of bounding trials without the canary."""
        return int(self.bounding_out.size)

    def choose(
        self, objective: ThresholdChoice, *, direction: Direction, tail: float
    ) -> ChosenThreshold:
        """Choose a threshold on the selection half.

        The objective is maximised with each rate replaced by the Clopper-Pearson bound that the
        bounding half would give at the rates seen, so that a threshold which looks good by a few
        lucky trials is penalised.

        Parameters
        ----------
        objective : ThresholdChoice
            What to maximise.
        direction : {"add", "remove"}
            Which side is the positive one.
        tail : float
            Error probability of each rate bound, 1e-30 to 0.5.

        Returns
        -------
        ChosenThreshold
            With threshold None if a side has fewer than two trials.

        Raises
        ------
        ParameterError
            If the direction or the tail is out of range.
        """
        thresholds, tpr_lower, fpr_upper = self._table(as_direction(direction), tail)
        if thresholds.size == 0:
            return ChosenThreshold(threshold=None, epsilon=None, objective=-np.inf)
        index, epsilon, value = objective.best(tpr_lower, fpr_upper)
        return ChosenThreshold(threshold=float(thresholds[index]), epsilon=epsilon, objective=value)

    def bound(self, threshold: float | None, *, direction: Direction, tail: float) -> RateBounds:
        """Bound both rates of a threshold on the bounding half.

        Parameters
        ----------
        threshold : float or None
            Chosen without looking at the bounding half: by `choose`, or from theory. None (nothing
            to choose from) gives bounds that say nothing.
        direction : {"add", "remove"}
            Which side is the positive one.
        tail : float
            Error probability of each rate bound, 1e-30 to 0.5.

        Returns
        -------
        RateBounds
            The counts and both bounds.

        Raises
        ------
        ParameterError
            If the threshold is NaN, or the direction or the tail is out of range.
        """
        if threshold is not None and np.isnan(threshold):
            raise ParameterError("threshold = nan: allowed are numbers and infinities")
        sign, positives, negatives = oriented(
            as_direction(direction), self.bounding_in, self.bounding_out
        )
        if threshold is None:
            true_positives, false_positives = 0, negatives.size
        else:
            true_positives = int(count_at_least(positives, sign * threshold))
            false_positives = int(count_at_least(negatives, sign * threshold))
        return RateBounds.from_counts(
            direction=direction,
            threshold=threshold,
            true_positives=true_positives,
            false_positives=false_positives,
            trials_in=self.trials_in,
            trials_out=self.trials_out,
            tail=tail,
            reason=self._shortage(chosen=threshold is not None),
        )

    def epsilon(self, delta: float, *, direction: Direction, tail: float) -> EpsilonEstimate:
        """Choose a threshold for epsilon at `delta` and bound epsilon there.

        Parameters
        ----------
        delta : float
            The delta at which epsilon is bounded, 0 to 1.
        direction : {"add", "remove"}
            Which side is the positive one.
        tail : float
            Error probability of each of the two rate bounds, 1e-30 to 0.5.

        Returns
        -------
        EpsilonEstimate
            Exceeds the true epsilon(delta) with probability at most ``2 tail``.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        """
        objective = ThresholdChoice.maximise_epsilon(delta=delta)
        chosen = self.choose(objective, direction=direction, tail=tail)
        return self.bound(chosen.threshold, direction=direction, tail=tail).epsilon(delta=delta)

    def delta(self, epsilon: float, *, direction: Direction, tail: float) -> EpsilonEstimate:
        """Choose a threshold for delta at `epsilon` and bound delta there.

        Parameters
        ----------
        epsilon : float
            The epsilon at which delta is bounded, 0 or more.
        direction : {"add", "remove"}
            Which side is the positive one.
        tail : float
            Error probability of each of the two rate bounds, 1e-30 to 0.5.

        Returns
        -------
        EpsilonEstimate
            Its delta exceeds the true delta(epsilon) with probability at most ``2 tail``.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        """
        objective = ThresholdChoice.maximise_delta(epsilon=epsilon)
        chosen = self.choose(objective, direction=direction, tail=tail)
        return self.bound(chosen.threshold, direction=direction, tail=tail).delta(epsilon=epsilon)

    def _table(
        self, direction: Direction, tail: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return candidate thresholds and both rates' bounds, from the selection half; kept."""
        key = (direction, float(tail))
        if key not in self._candidates:
            sign, positives, negatives = oriented(direction, self.selection_in, self.selection_out)
            _, bounding_positives, bounding_negatives = oriented(
                direction, self.bounding_in, self.bounding_out
            )
            thresholds = np.empty(0)
            if positives.size and negatives.size:
                thresholds = candidate_thresholds(positives, negatives)
            self._candidates[key] = (
                sign * thresholds + 0.0,
                clopper_pearson.lower_at_expected_count(
                    _scaled_counts(positives, thresholds, bounding_positives.size),
                    bounding_positives.size,
                    tail=tail,
                ),
                clopper_pearson.upper_at_expected_count(
                    _scaled_counts(negatives, thresholds, bounding_negatives.size),
                    bounding_negatives.size,
                    tail=tail,
                ),
            )
        return self._candidates[key]

    def _shortage(self, *, chosen: bool) -> str | None:
        """Say which side has too few trials, if one has; none to choose with matter only then."""
        sides = {
            "in_scores": (self.selection_in.size, self.bounding_in.size),
            "out_scores": (self.selection_out.size, self.bounding_out.size),
        }
        short = [
            f"{name} leaves {selecting} trials to choose a threshold and {bounding} to bound it"
            for name, (selecting, bounding) in sides.items()
            if bounding == 0 or (selecting == 0 and not chosen)
        ]
        if short:
            return "; ".join(short)
        return None if chosen else "no threshold was given"


def split_threshold(
    in_scores: Any, out_scores: Any, *, delta: float, direction: Direction, tail: float
) -> EpsilonEstimate:
    """Bound epsilon from below at a given delta, in one call.

    Parameters
    ----------
    in_scores, out_scores : array_like or torch.Tensor
        One score a trial with and without the canary, in exchangeable order; see
        `SplitScores.from_scores`.
    delta : float
        The delta at which epsilon is bounded, 0 to 1.
    direction : {"add", "remove"}
        Which side is the positive one.
    tail : float
        Error probability of each of the two rate bounds, 1e-30 to 0.5.

    Returns
    -------
    EpsilonEstimate
        Exceeds the true epsilon(delta) with probability at most ``2 tail``; 0 with a reason if a
        side has fewer than two trials or nothing was shown.

    Raises
    ------
    ParameterError
        If a parameter is out of range or the scores are unusable.
    """
    scores = SplitScores.from_scores(in_scores, out_scores)
    return scores.epsilon(delta, direction=direction, tail=tail)


def _scaled_counts(ascending: FloatArray, thresholds: FloatArray, trials: int) -> FloatArray:
    """Return the counts that `trials` bounding trials would show at the rates seen here."""
    counts = count_at_least(ascending, thresholds) * (trials / max(ascending.size, 1))
    return np.asarray(np.minimum(counts, trials))
