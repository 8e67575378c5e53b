"""From the scores of one canary's trials to tables, curves and tests against an analysis."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from accountants.joint_terms import DIRECTIONS, Direction
from accountants.ranges import Floats
from dpaudit.estimators import RateBounds, SplitScores, ThresholdChoice

Reference = Callable[[Direction, Floats], Floats]
"""(direction, epsilons) -> upper bounds of delta."""


@dataclass(frozen=True, eq=False)
class CanaryScores:
    """Scores of one canary's trials, with it and without it, split into halves.

    ``factor``, where it occurs, is the probability of the event on which the trials are
    conditioned: a delta in total is at least ``factor`` times the delta given the event.
    """

    scores: SplitScores

    @property
    def bounding_trials(self) -> int:
        """Trials on each side that bound the rates."""
        return min(self.scores.trials_in, self.scores.trials_out)

    def bound(self, objective: ThresholdChoice, *, tail: float) -> RateBounds:
        """Choose direction and threshold on the selection half, bound the rates on the other."""
        chosen = {
            way: self.scores.choose(objective, direction=way, tail=tail) for way in DIRECTIONS
        }
        way = max(DIRECTIONS, key=lambda direction: chosen[direction].objective)
        return self.scores.bound(chosen[way].threshold, direction=way, tail=tail)

    def epsilon(self, delta: float, *, tail: float, factor: float = 1.0) -> dict[str, Any]:
        """Bound epsilon at ``delta``; holds with an error of twice ``tail``."""
        given = delta_given(delta, factor)
        rates = self.bound(ThresholdChoice.maximise_epsilon(delta=given), tail=tail)
        found = rates.epsilon(delta=given)
        return {
            "delta": delta,
            "epsilon": found.epsilon,
            "direction": found.direction,
            "threshold": found.threshold,
            "true_positives": found.true_positives,
            "false_positives": found.false_positives,
            "tpr_lower": found.tpr_lower,
            "fpr_upper": found.fpr_upper,
        }

    def delta(self, epsilon: float, *, tail: float, factor: float = 1.0) -> float:
        """Bound delta at ``epsilon``; holds with an error of twice ``tail``."""
        rates = self.bound(ThresholdChoice.maximise_delta(epsilon=epsilon), tail=tail)
        return rates.delta(epsilon=epsilon).delta * factor * (1 - 1e-15)

    def violations(
        self, reference: Reference, epsilons: Floats, *, factor: float = 1.0, tail: float
    ) -> list[dict[str, Any]]:
        """Test ``factor`` times the measured curve against an upper bound, in both directions.

        The epsilon and the threshold are chosen on the selection half.

        Parameters
        ----------
        reference : callable
            The upper bound of delta.
        epsilons : ndarray
            The epsilons to choose among.
        factor : float
            Probability of the event on which the trials are conditioned.
        tail : float
            Error probability of each of the four rate bounds.

        Returns
        -------
        list of dict
            ``direction``, ``epsilon``, ``measured``, ``bound``; empty if nothing is violated.
        """
        found: list[dict[str, Any]] = []
        if factor == 0:  # an event that never happens adds nothing to the total
            return found
        for way in DIRECTIONS:
            with np.errstate(over="ignore"):
                bounds = np.minimum(reference(way, epsilons) / factor * (1 + 1e-9), 1.0)
            objective = ThresholdChoice.maximise_excess(
                epsilons=epsilons.tolist(), delta_references=bounds.tolist()
            )
            chosen = self.scores.choose(objective, direction=way, tail=tail)
            if chosen.epsilon is None:
                continue
            rates = self.scores.bound(chosen.threshold, direction=way, tail=tail)
            measured = rates.delta(epsilon=chosen.epsilon).delta
            bound = float(bounds[epsilons.tolist().index(chosen.epsilon)])
            if measured > bound:
                found.append(
                    {
                        "direction": way,
                        "epsilon": chosen.epsilon,
                        "measured": measured * factor,
                        "bound": bound * factor,
                    }
                )
        return found


def delta_given(delta: float, factor: float) -> float:
    """Return the delta given an event of probability ``factor`` that makes ``delta`` in total.

    Rounded up, and 1 where the event is too rare to reach ``delta`` at all.
    """
    return min(delta / factor * (1 + 1e-15), 1.0) if factor > 0 else 1.0


def curve_points(epsilons: list[float], *, least: float, measured: float) -> Floats:
    """Return the epsilons of a curve: from 0 to beyond the largest finite one of ``epsilons``.

    The stretch up to ``measured``, where a lower bound can be above 0, gets points of its own.
    """
    finite = [e for e in epsilons if np.isfinite(e)]
    whole = np.linspace(0.0, max([least, *finite]) * 1.1, 25)
    return np.unique(np.concatenate([whole, np.linspace(0.0, measured, 9)]))
