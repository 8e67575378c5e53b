"""One-run audits against a whole trade-off curve (f-DP), such as that of a Gaussian.

With the guesses of `dpaudit.estimators.one_run_tail` (``m`` canaries, ``r`` guesses fixed in
number, ``pi(w)`` the probability that ``w`` are right) and a concave increasing ``F`` such that
``P(S) <= F(P'(S))`` for neighbours P, P' and every S, every set A of numbers has

    sum_A w pi(w) / L <= F(sum_A (r - w + 1) pi(w - 1) / L'),                           (3)

``L = L' = m`` for guesses on both sides, ``L = m b`` and ``L' = m (1 - b)`` for "in" only. Two
bounds on ``Pr[v or more right]`` follow, and the smaller holds:

- Each point (epsilon, delta) of the curve gives equation (1) of `one_run_tail`.
- Of (3), the sets ``A = {w >= c}`` for c = v, v - 1, ... force the least mass below v, step by
  step (Mahloujifar, Melis and Chaudhuri, "Auditing f-differential privacy in one run", 2024): if
  it exceeds what is left, v or more right are not that probable.

Neither is always the better. Proofs: ``docs/proofs/one-run.md``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from accountants.errors import ParameterError
from dpaudit.estimators.arrays import FloatArray, as_rates, checked_counts
from dpaudit.estimators.gaussian_mu import ASSUMPTION as GAUSSIAN
from dpaudit.estimators.gaussian_mu import epsilon_from_mu
from dpaudit.estimators.guess_choice import FixedGuesses, GuessRule, HeldOutGuesses
from dpaudit.estimators.guess_counts import CanaryScores
from dpaudit.estimators.one_run import DEFAULT_RULE, best_of
from dpaudit.estimators.one_run_curves import MAX_MU, Curve, GaussianCurve
from dpaudit.estimators.one_run_estimate import ASSUMPTIONS, OneRunEstimate
from dpaudit.estimators.one_run_tail import (
    MIN_TAIL,
    Side,
    one_run_epsilon_lower,
    stakes,
    tail_pieces,
)

METHOD = "f-DP bound on right guesses, number of guesses fixed in advance"

_MAX_STEPS = 300_000
_BISECTIONS = 40


def one_run_curve_p_value(
    curve: Curve,
    *,
    correct: int,
    guesses: int,
    canaries: int,
    side: Side = "both",
    inclusion: float = 0.5,
) -> float:
    """Test a claimed trade-off curve by the guesses about one run's canaries.

    Parameters
    ----------
    curve : GaussianCurve or PointsCurve
        The claim.
    correct, guesses : int
        Right guesses and guesses made; their number was fixed before the run.
    canaries : int
        Canaries that were included or not, at least `guesses`, at most 1e9.
    side : {"both", "in", "out"}
        What the guesses may say.
    inclusion : float
        Probability with which each canary was included, above 0 and below 1; for "both" only 1/2.

    Returns
    -------
    float
        The p-value, rounded up to four digits; 1 above 1/2 and 1e-30 below that.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """
    test = _Guesses.of(correct, guesses, canaries=canaries, side=side, inclusion=inclusion)
    if not test.refutes(curve, 0.5):
        return 1.0
    low, high = math.log(MIN_TAIL), math.log(0.5)
    if test.refutes(curve, MIN_TAIL):
        return MIN_TAIL
    while high - low > 1e-5:
        middle = 0.5 * (low + high)
        if test.refutes(curve, math.exp(middle)):
            high = middle
        else:
            low = middle
    return min(math.exp(high) * (1.0 + 1e-12), 0.5)


def one_run_mu_lower(
    correct: int,
    guesses: int,
    *,
    canaries: int,
    tail: float,
    side: Side = "both",
    inclusion: float = 0.5,
    at_least: float = 0.0,
) -> float:
    """Return the lower bound on a Gaussian curve's parameter that one run's guesses show.

    Parameters
    ----------
    correct, guesses, canaries, side, inclusion
        As for `one_run_curve_p_value`.
    tail : float
        Probability that the bound exceeds the true parameter, 1e-30 to 0.5.
    at_least : float
        Bounds not above this are of no interest; 0 is returned for them.

    Returns
    -------
    float
        The largest mu, at most 60, whose curve has a p-value of at most `tail`, rounded down; 0
        if there is none.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """
    test = _Guesses.of(correct, guesses, canaries=canaries, side=side, inclusion=inclusion)
    if not MIN_TAIL <= tail <= 0.5:
        raise ParameterError(f"tail = {tail:g}: allowed are 1e-30 to 0.5")
    start = at_least * (1.0 + 1e-9) if at_least > 0.0 else 1e-6
    if not test.refutes(GaussianCurve(min(start, MAX_MU)), tail):
        return 0.0
    low, high = start, max(1.0, 2.0 * start)
    while high < MAX_MU and test.refutes(GaussianCurve(high), tail):
        low, high = high, 2.0 * high
    high = min(high, MAX_MU)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if high - low <= 1e-9 * high:
            break
        if test.refutes(GaussianCurve(middle), tail):
            low = middle
        else:
            high = middle
    return low


def epsilon_one_run_fdp(
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
    """Bound the parameter of a Gaussian trade-off curve by one run's scores, and its epsilon.

    Parameters
    ----------
    in_scores, out_scores : array_like or torch.Tensor
        As for `epsilon_one_run`.
    significance : float
        Probability that the bound exceeds the truth, 1e-30 to 0.5; shared among the numbers of
        guesses that are tried.
    delta : float
        The delta at which the curve's epsilon is given, 0 to 1; at 0 it is infinite for any mu
        above 0.
    rule : FixedGuesses, GeometricGuesses, int or float
        How many guesses are made, in advance; held-out canaries cannot choose them here, as no
        bound for numbers that depend on the output is proved for a whole curve.
    side, inclusion, seed
        As for `epsilon_one_run`.

    Returns
    -------
    OneRunEstimate
        With `mu`, which refutes every Gaussian curve of a smaller parameter, whatever the
        mechanism; `lower` is a bound on the mechanism's epsilon only if its own curve is Gaussian.

    Raises
    ------
    ParameterError
        If a parameter is out of range or the scores are unusable.
    """
    if not MIN_TAIL <= significance <= 0.5:
        raise ParameterError(f"significance = {significance:g}: allowed are 1e-30 to 0.5")
    as_rates("delta", delta)
    if isinstance(rule, HeldOutGuesses):
        raise ParameterError("rule = HeldOutGuesses: allowed here are numbers fixed in advance")
    guess_rule = rule if isinstance(rule, GuessRule) else FixedGuesses(rule)
    scores = CanaryScores.from_scores(in_scores, out_scores)
    stakes(max(scores.canaries, 1), side=side, inclusion=inclusion)  # refuses a bad combination
    numbers = guess_rule.numbers(scores.canaries, side=side, inclusion=inclusion, tail=significance)
    rng = np.random.default_rng(seed)
    counts = [scores.count(number, side=side, rng=rng) for number in numbers]

    def bound(right: list[int], tried: list[int], canaries: int, tail: float) -> list[float]:
        found: list[float] = []
        for correct, made in zip(right, tried, strict=True):
            found.append(
                one_run_mu_lower(
                    correct,
                    made,
                    canaries=canaries,
                    tail=tail,
                    side=side,
                    inclusion=inclusion,
                    at_least=max(found, default=0.0),
                )
            )
        return found

    best, mu, tail = best_of(counts, scores.canaries, significance, bound)
    lower = epsilon_from_mu(mu, delta=delta)
    reason = None
    if scores.canaries == 0:
        reason = "there are no canaries to guess"
    elif mu == 0.0:
        reason = (
            f"{best.correct} of {best.guesses} guesses right about {scores.canaries} canaries do "
            f"not refute mu = 0 at an error of {tail:.3g}"
        )
    elif lower == 0.0:
        reason = f"mu = {mu:.4g} has a delta of at most {delta:g} already at epsilon 0"
    return OneRunEstimate(
        lower=lower,
        mu=mu,
        delta=float(delta),
        significance=float(significance),
        side=side,
        in_threshold=best.in_threshold,
        out_threshold=best.out_threshold,
        guesses=best.guesses,
        correct=best.correct,
        canaries=scores.canaries,
        held_out=0,
        inclusion=inclusion,
        tried=tuple(numbers),
        tail=tail,
        ties=best.ties,
        seed=seed,
        method=METHOD,
        assumptions=(*ASSUMPTIONS, f"for epsilon: {GAUSSIAN}"),
        reason=reason,
    )


class _Guesses:
    """The counts of one run, and which curves they refute at which error."""

    def __init__(
        self,
        *,
        correct: int,
        guesses: int,
        left: float,
        right: float,
        canaries: int,
        side: Side,
        inclusion: float,
    ) -> None:
        self.correct, self.guesses = correct, guesses
        self.left, self.right = left, right
        self.canaries, self.side, self.inclusion = canaries, side, inclusion
        self.log_odds, self.at_stake = stakes(canaries, side=side, inclusion=inclusion)
        self._largest: dict[float, float] = {}

    @classmethod
    def of(
        cls, correct: int, guesses: int, *, canaries: int, side: Side, inclusion: float
    ) -> _Guesses:
        """Check the counts; L is the number at stake, L' its complement."""
        _, left = stakes(canaries, side=side, inclusion=inclusion)
        checked_counts(correct, guesses, whole=True, most=canaries)
        right = float(canaries)
        if side != "both":
            right = canaries * (1.0 - inclusion if side == "in" else inclusion)
        return cls(
            correct=int(correct),
            guesses=int(guesses),
            left=left,
            right=right,
            canaries=canaries,
            side=side,
            inclusion=inclusion,
        )

    def refutes(self, curve: Curve, error: float) -> bool:
        """Whether the curve allows so many right guesses with a probability of at most `error`."""
        if self.correct == 0:
            return False
        return self._refutes_a_point(curve, error) or self._forces_too_much(curve, error)

    def _refutes_a_point(self, curve: Curve, error: float) -> bool:
        """Whether equation (1) refutes a point of the curve."""
        if error not in self._largest:
            self._largest[error] = one_run_epsilon_lower(
                self.correct,
                self.guesses,
                canaries=self.canaries,
                delta=0.0,
                tail=error,
                side=self.side,
                inclusion=self.inclusion,
            )
        epsilons, deltas = curve.points(self._largest[error])
        at_least, spread, fewer = tail_pieces(
            np.asarray(float(self.correct)),
            np.asarray(float(self.guesses)),
            epsilons + self.log_odds,
        )
        loss: FloatArray = self.at_stake * deltas
        extra = np.where(loss > 0.0, loss * (spread * fewer), 0.0)
        return bool(np.any((at_least + extra) * (1.0 + 1e-15) <= error))

    def _forces_too_much(self, curve: Curve, error: float) -> bool:
        """Whether (3) forces more mass below v than 1 - error, if `error` lies at v or above.

        Every quantity is rounded so that less mass is forced.
        """
        mass = error
        reached = error * self.correct / self.left  # sum of w pi(w) / L over w >= c
        source = error * (self.guesses - self.correct) / self.right  # of (r - w) pi(w) / L'
        for step, c in enumerate(range(self.correct, 0, -1)):
            lowered = reached * (1.0 - 1e-10)
            if lowered >= 1.0:
                return True
            needed = curve.inverse(lowered)
            if needed <= source or step > _MAX_STEPS:
                return False
            added = (needed - source) * self.right / (self.guesses - c + 1)
            mass += added
            if mass > 1.0 + 1e-9:
                return True
            source = needed
            reached += (c - 1) * added / self.left
        return False
