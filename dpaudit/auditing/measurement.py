"""From the scores of one canary's trials to tables, curves and tests against an analysis."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from accountants.joint_release import DIRECTIONS, Direction
from accountants.ranges import Floats
from dpaudit.auditing.error_budget import ErrorBudget
from dpaudit.estimators import RateBounds, SplitScores, ThresholdChoice

Reference = Callable[[Direction, Floats], Floats]
"""(direction, epsilons) -> upper bounds of delta."""


@dataclass(frozen=True, eq=False)
class CanaryScores:
    """Scores of one canary's trials, with it and without it, split into halves."""

    scores: SplitScores

    @property
    def bounding_trials(self) -> int:
        """Trials on each side that bound the rates."""
        return min(self.scores.trials_in, self.scores.trials_out)

    def table(self, budget: ErrorBudget, *, factor: float = 1.0) -> list[RateBounds]:
        """Return one pair of rate bounds a delta and direction; all hold together.

        Parameters
        ----------
        budget : ErrorBudget
            Deltas and the error of each rate bound.
        factor : float
            Probability of the event on which the trials are conditioned; thresholds are chosen for
            ``delta / factor``.
        """
        return [
            self._bound(
                ThresholdChoice.maximise_epsilon(delta=min(delta / factor, 1.0)), way, budget.table
            )
            for delta in budget.deltas
            for way in DIRECTIONS
        ]

    def verdict_bounds(self, objective: ThresholdChoice, budget: ErrorBudget) -> list[RateBounds]:
        """Return the rate bounds behind the verdict, one pair a direction."""
        return [self._bound(objective, way, budget.verdict) for way in DIRECTIONS]

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
            Error probability of each rate bound.

        Returns
        -------
        list of dict
            ``direction``, ``epsilon``, ``measured``, ``bound``; empty if nothing is violated.
        """
        found = []
        for way in DIRECTIONS:
            bounds = np.minimum(reference(way, epsilons) / factor, 1.0)
            objective = ThresholdChoice.maximise_excess(
                epsilons=epsilons.tolist(), delta_references=bounds.tolist()
            )
            chosen = self.scores.choose(objective, direction=way, tail=tail)
            if chosen.epsilon is None:
                continue
            rates = self.scores.bound(chosen.threshold, direction=way, tail=tail)
            measured = rates.delta(epsilon=chosen.epsilon).delta
            bound = float(bounds[int(np.flatnonzero(epsilons == chosen.epsilon)[0])])
            if measured > bound * (1 + 1e-9):
                found.append(
                    {
                        "direction": way,
                        "epsilon": float(chosen.epsilon),
                        "measured": measured * factor,
                        "bound": bound * factor,
                    }
                )
        return found

    def _bound(self, objective: ThresholdChoice, way: Direction, tail: float) -> RateBounds:
        chosen = self.scores.choose(objective, direction=way, tail=tail)
        return self.scores.bound(chosen.threshold, direction=way, tail=tail)


def best_estimates(
    table: list[RateBounds],
    budget: ErrorBudget,
    upper_epsilon: Callable[[float], float],
    *,
    upper_name: str,
) -> list[dict[str, Any]]:
    """Return, for each delta, the larger of both directions' lower bounds on epsilon."""
    rows = []
    for delta in budget.deltas:
        best = max((rates.epsilon(delta=delta) for rates in table), key=lambda e: e.epsilon)
        rows.append(
            {
                "delta": delta,
                "epsilon": best.epsilon,
                "direction": best.direction,
                "threshold": best.threshold,
                "true_positives": best.true_positives,
                "false_positives": best.false_positives,
                "tpr_lower": best.tpr_lower,
                "fpr_upper": best.fpr_upper,
                upper_name: upper_epsilon(delta),
            }
        )
    return rows


def best_delta(table: list[RateBounds], epsilon: float, *, factor: float = 1.0) -> float:
    """Return the largest lower bound on delta at ``epsilon`` that the table's rates give.

    All its rates hold together, so the largest is as valid as any.
    """
    return max(factor * rates.delta(epsilon=epsilon).delta for rates in table) * (1 - 1e-15)


def best_epsilon(table: list[RateBounds], delta: float, *, factor: float = 1.0) -> float:
    """Return the largest lower bound on epsilon at ``delta`` in total, likewise."""
    if not delta < factor:
        return 0.0
    slack = min(delta / factor * (1 + 1e-15), 1.0)
    return max(rates.epsilon(delta=slack).epsilon for rates in table)
