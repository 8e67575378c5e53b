"""Lower bounds on epsilon from one run with many canaries.

The bound, its source and its proof are in `dpaudit.estimators.one_run_tail`; how the number of
guesses may be chosen is in `dpaudit.estimators.guess_choice`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from accountants.errors import ParameterError
from dpaudit.estimators.arrays import as_rates
from dpaudit.estimators.guess_choice import (
    FixedGuesses,
    GeometricGuesses,
    GuessRule,
    HeldOutGuesses,
)
from dpaudit.estimators.guess_counts import CanaryScores, GuessCounts
from dpaudit.estimators.one_run_estimate import OneRunEstimate
from dpaudit.estimators.one_run_tail import (
    MIN_TAIL,
    Side,
    one_run_epsilon_lower,
    one_run_p_value,
    stakes,
)

METHOD = "exact bound on right guesses, number of guesses fixed in advance"
METHOD_HELD_OUT = "bound on right guesses, number of guesses chosen on held-out canaries"

DEFAULT_RULE = GeometricGuesses()
"""Best or within a few percent of it over the simulated scores, numbers and deltas tried."""

Bound: TypeAlias = "Callable[[list[int], list[int], int, float], list[float]]"
"""From right guesses, guesses, canaries and tail to one lower bound for each number of guesses."""


def epsilon_one_run(
    in_scores: Any,
    out_scores: Any,
    *,
    significance: float,
    delta: float,
    rule: GuessRule | int | float = DEFAULT_RULE,
    side: Side = "both",
    inclusion: float = 0.5,
    seed: int = 0,
) -> OneRunEstimate:
    """Bound epsilon from below by the scores of one run's canaries.

    Parameters
    ----------
    in_scores, out_scores : array_like or torch.Tensor
        One score a canary, of the included and of the left-out ones, shape (canaries,); higher
        means "in". Each canary must have been included independently with probability `inclusion`:
        how many were is then random, and one side may be empty.
    significance : float
        Probability that the bound exceeds the true epsilon(delta), 1e-30 to 0.5; shared among the
        numbers of guesses that are tried.
    delta : float
        The delta at which epsilon is bounded, 0 to 1.
    rule : GuessRule, int or float
        How many guesses are made; a number as for `FixedGuesses`.
    side : {"both", "in", "out"}
        Guess the highest scores "in" and as many of the lowest "out", or only one of them.
    inclusion : float
        Probability with which each canary was included, above 0 and below 1; for "both" only 1/2.
    seed : int
        Of the draws among equal scores and of the held-out part.

    Returns
    -------
    OneRunEstimate
        The best bound over the numbers tried; 0 with a reason if nothing was shown.

    Raises
    ------
    ParameterError
        If a parameter is out of range or the scores are unusable.
    """
    slack = _checked(significance, delta)
    guess_rule = rule if isinstance(rule, GuessRule) else FixedGuesses(rule)
    scores = CanaryScores.from_scores(in_scores, out_scores)
    stakes(max(scores.canaries, 1), side=side, inclusion=inclusion)  # refuses a bad combination
    rng = np.random.default_rng(seed)
    held_out = 0
    if isinstance(guess_rule, HeldOutGuesses):
        choosing, scores = scores.split(guess_rule.fraction, rng=rng)
        held_out = choosing.canaries
        number = guess_rule.choose(
            choosing,
            scores.canaries,
            delta=slack,
            tail=significance,
            side=side,
            inclusion=inclusion,
            rng=rng,
        )
        numbers = [number] if number else []
    else:
        numbers = guess_rule.numbers(
            scores.canaries, side=side, inclusion=inclusion, tail=significance
        )
    fixed = held_out == 0 or slack == 0.0

    def bound(right: list[int], tried: list[int], canaries: int, tail: float) -> list[float]:
        found = one_run_epsilon_lower(
            right,
            tried,
            canaries=canaries,
            delta=slack,
            tail=tail,
            side=side,
            inclusion=inclusion,
            fixed_guesses=fixed,
        )
        return [float(value) for value in found]

    counts = [scores.count(number, side=side, rng=rng) for number in numbers]
    best, lower, tail = best_of(counts, scores.canaries, significance, bound)
    return OneRunEstimate(
        lower=lower,
        delta=slack,
        significance=float(significance),
        side=side,
        in_threshold=best.in_threshold,
        out_threshold=best.out_threshold,
        guesses=best.guesses,
        correct=best.correct,
        canaries=scores.canaries,
        held_out=held_out,
        inclusion=inclusion,
        tried=tuple(numbers),
        tail=tail,
        ties=best.ties,
        seed=seed,
        method=METHOD if held_out == 0 else METHOD_HELD_OUT,
        reason=shortage(lower, best, scores.canaries, slack, tail, side, inclusion, fixed),
    )


def epsilon_one_run_from_counts(
    correct: int,
    guesses: int,
    *,
    canaries: int,
    significance: float,
    delta: float,
    side: Side = "both",
    inclusion: float = 0.5,
) -> OneRunEstimate:
    """Bound epsilon from below by the number of right guesses about one run's canaries.

    Parameters
    ----------
    correct, guesses : int
        Right guesses and guesses made. The number of guesses, or a limit to it that is given here
        in its place, must have been fixed before the run.
    canaries : int
        Canaries that were included or not, guessed or not; at least `guesses`, at most 1e9.
    significance, delta, side, inclusion
        As for `epsilon_one_run`.

    Returns
    -------
    OneRunEstimate
        0 with a reason if nothing was shown.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """
    slack = _checked(significance, delta)
    lower = one_run_epsilon_lower(
        correct,
        guesses,
        canaries=canaries,
        delta=slack,
        tail=significance,
        side=side,
        inclusion=inclusion,
    )
    made = GuessCounts(
        guesses=int(guesses), correct=int(correct), in_threshold=None, out_threshold=None, ties=0
    )
    return OneRunEstimate(
        lower=lower,
        delta=slack,
        significance=float(significance),
        side=side,
        in_threshold=None,
        out_threshold=None,
        guesses=made.guesses,
        correct=made.correct,
        canaries=int(canaries),
        held_out=0,
        inclusion=inclusion,
        tried=(made.guesses,),
        tail=significance,
        ties=0,
        seed=None,
        method=METHOD,
        reason=shortage(lower, made, canaries, slack, significance, side, inclusion),
    )


def best_of(
    counts: list[GuessCounts], canaries: int, significance: float, bound: Bound
) -> tuple[GuessCounts, float, float]:
    """Share the error among several numbers of guesses and keep the best bound.

    Parameters
    ----------
    counts : list of GuessCounts
        One for each number.
    canaries : int
        Number of canaries.
    significance : float
        The error to be shared equally.
    bound : callable
        The bound; see `Bound`.

    Returns
    -------
    best : GuessCounts
        The counts behind the best bound.
    lower : float
        That bound.
    tail : float
        The share of the error that each got.
    """
    if not counts:
        none = GuessCounts(guesses=0, correct=0, in_threshold=None, out_threshold=None, ties=0)
        return none, 0.0, significance
    share = significance
    if len(counts) > 1:
        share = significance / len(counts) * (1.0 - 1e-15 * len(counts))
    found = bound([one.correct for one in counts], [one.guesses for one in counts], canaries, share)
    best = int(np.argmax(found))
    return counts[best], float(found[best]), share


def shortage(
    lower: float,
    made: GuessCounts,
    canaries: int,
    delta: float,
    tail: float,
    side: Side,
    inclusion: float,
    fixed_guesses: bool = True,
) -> str | None:
    """Say why a bound is 0, if it is.

    Parameters
    ----------
    lower : float
        The bound.
    made : GuessCounts
        The counts behind it.
    canaries, delta, tail, side, inclusion, fixed_guesses
        As for `one_run_epsilon_lower`.

    Returns
    -------
    str or None
        The reason; None where the bound is positive.
    """
    if lower > 0.0:
        return None
    if made.guesses == 0:
        return "there are no canaries to guess" if canaries == 0 else "no guesses were made"
    chance = one_run_p_value(
        made.correct,
        made.guesses,
        canaries=canaries,
        epsilon=0.0,
        delta=delta,
        side=side,
        inclusion=inclusion,
        fixed_guesses=fixed_guesses,
    )
    return (
        f"{made.correct} of {made.guesses} guesses right about {canaries} canaries can come about "
        f"with probability {chance:.3g} at epsilon 0, more than {tail:.3g}"
    )


def _checked(significance: float, delta: float) -> float:
    """Check the error and return delta as a float."""
    if not MIN_TAIL <= significance <= 0.5:
        raise ParameterError(f"significance = {significance:g}: allowed are 1e-30 to 0.5")
    return float(as_rates("delta", delta))
