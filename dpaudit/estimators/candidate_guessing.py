"""Lower bounds on epsilon from guessing which of k candidates was the input (TeDA).

In each trial a set of k candidates is drawn first, then the input uniformly among them; the
mechanism is run afresh and an adversary who sees the set and the output names a candidate. If the
mechanism is (epsilon, delta)-LDP, the guess is right with probability at most

    P(k) = (e^epsilon + (k - 1) delta) / (e^epsilon + k - 1),                           (1)

whatever happened in earlier trials, and some mechanism attains it for every k. Hence
``epsilon >= ln((k - 1) (p - delta) / (1 - p))`` for a success rate p, and the right guesses are
stochastically at most a sum of independent indicators of rates ``P(k_t)``. With one k that is a
binomial law, so that the bound is the formula at the Clopper-Pearson bound of the rate, without
assuming that the trials are alike. With several k it is a sum of binomials
(`dpaudit.estimators.candidate_strata`).
Proofs: ``docs/proofs/candidate-guessing.md``.

The order matters: a set grown around the true input, which is kept, lets an adversary who never
looks at the output guess better than 1/k, and the bound then reports leakage where there is none.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from accountants.errors import ParameterError
from dpaudit.estimators import clopper_pearson
from dpaudit.estimators.arrays import (
    FloatArray,
    Number,
    as_numbers,
    as_rates,
    broadcast,
    checked_counts,
    refuse_where,
    unwrapped,
)
from dpaudit.estimators.candidate_strata import strata_epsilon_lower
from dpaudit.estimators.epsilon_bounds import log_ratio
from dpaudit.estimators.plain_values import plain, rounded_down, rounded_error

ASSUMPTIONS = (
    "in each trial the candidates were drawn first and the input uniformly among them",
    "each trial ran the mechanism afresh on that input; the adversary saw its output, the "
    "candidates and earlier trials only",
    "the numbers of candidates do not depend on the outcomes",
    "a trial without an answer counts as a wrong guess",
)
METHOD = "Clopper-Pearson on the pooled success rate"
METHOD_STRATA = "exact tail of the sum over the numbers of candidates"

_EPS = float(np.finfo(np.float64).eps)


@overload
def candidate_epsilon_lower(
    success_lower: Number, *, candidates: Number, delta: Number
) -> float: ...
@overload
def candidate_epsilon_lower(
    success_lower: ArrayLike, *, candidates: ArrayLike, delta: ArrayLike
) -> FloatArray: ...
def candidate_epsilon_lower(
    success_lower: ArrayLike, *, candidates: ArrayLike, delta: ArrayLike
) -> float | FloatArray:
    """Return the epsilon that a success rate among k candidates needs.

    Parameters
    ----------
    success_lower : array_like of float
        Lower bound on the probability of a right guess, 0 to 1.
    candidates : array_like of int
        Number of candidates, 2 to 1e9.
    delta : array_like of float
        The delta at which epsilon is bounded, 0 to 1.

    Returns
    -------
    float or ndarray
        ``max(0, ln((k - 1) (p - delta) / (1 - p)))``, rounded down; infinite at p = 1 > delta.

    Raises
    ------
    ParameterError
        If a value is out of range.

    Notes
    -----
    Equation (1) of this module, solved for epsilon.
    """
    rate, k, slack = broadcast(
        success_lower=as_rates("success_lower", success_lower),
        candidates=_checked_candidates(candidates),
        delta=as_rates("delta", delta),
    )
    return unwrapped(_epsilon(rate, np.nextafter(1.0 - rate, 2.0 * (rate < 1.0)), k, slack))


@dataclass(frozen=True, kw_only=True)
class CandidateEstimate:
    """A lower bound on epsilon from guesses among candidates.

    With probability at least `confidence` the mechanism is not (e, delta)-LDP for any e below
    `lower`.

    Attributes
    ----------
    lower : float
        Lower bound on epsilon at `delta`.
    upper : None
        There is no upper bound: another adversary may show more.
    delta : float
        The delta at which epsilon is bounded.
    confidence : float
        One-sided.
    tail : float
        Error probability of the bound: one minus the confidence.
    direction : str
        "replace": the statement is about replacing one input by another.
    threshold : None
        There is none.
    successes, trials, candidates : tuple of int
        Right guesses, trials and number of candidates, one entry for each number of candidates.
    success_lower : float or None
        Lower bound on the success rate; None with several numbers of candidates.
    ceiling : float
        What the bound would be if every guess had been right: the most these trials can show.
    method : str
        How the bound was computed.
    assumptions : tuple of str
        What the statement rests on.
    reason : str or None
        Why nothing was shown, or None if something was.
    """

    lower: float
    delta: float
    confidence: float
    tail: float
    successes: tuple[int, ...]
    trials: tuple[int, ...]
    candidates: tuple[int, ...]
    success_lower: float | None
    ceiling: float
    method: str
    assumptions: tuple[str, ...] = ASSUMPTIONS
    reason: str | None = None
    direction: str = "replace"
    threshold: None = None
    upper: None = None

    def __str__(self) -> str:
        """Return the estimate as one sentence, its bound rounded down."""
        given = f"epsilon >= {rounded_down(self.lower)} at delta = {self.delta:.6g}"
        if self.reason is not None:
            return f"{given}: nothing shown, {self.reason}."
        among = ", ".join(
            f"{right} of {tried} guesses among {k} right"
            for right, tried, k in zip(self.successes, self.trials, self.candidates, strict=True)
        )
        return f"{given}, with error at most {rounded_error(self.confidence)} ({among})."

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain values for JSON.

        Returns
        -------
        dict
            One entry per attribute; tuples as lists, infinities as "inf".
        """
        return {key: plain(value) for key, value in asdict(self).items()}


def candidate_guessing(
    successes: ArrayLike,
    trials: ArrayLike,
    *,
    candidates: ArrayLike,
    delta: float,
    confidence: float,
) -> CandidateEstimate:
    """Bound epsilon from below by the number of right guesses among candidates.

    Parameters
    ----------
    successes, trials : int or array_like of int
        Right guesses and trials; vectors with one entry for each number of candidates.
    candidates : int or array_like of int
        Number of candidates, 2 to 1e9; fixed before the outcomes. Repeated entries are pooled.
    delta : float
        The delta at which epsilon is bounded, 0 to 1.
    confidence : float
        One-sided, 0.5 to 1 - 1e-16.

    Returns
    -------
    CandidateEstimate
        0 with a reason if nothing was shown.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    Several numbers of candidates at once: the p-value of an epsilon is
    ``Pr[sum_j Bin(n_j, P(k_j)) >= total successes]``, rounded up; it grows with epsilon.
    """
    slack = float(as_rates("delta", delta))
    if not 0.5 <= confidence < 1.0:
        raise ParameterError(f"confidence = {confidence:g}: allowed are 0.5 to less than 1")
    tail = 1.0 - confidence
    right, tried = checked_counts(successes, trials, whole=True, most=clopper_pearson.MAX_TRIALS)
    right, tried, k = broadcast(
        successes=right, trials=tried, candidates=_checked_candidates(candidates)
    )
    right, tried, k = _pooled(right.ravel(), tried.ravel(), k.ravel())
    total, count = float(right.sum()), float(tried.sum())
    if count > clopper_pearson.MAX_TRIALS:
        raise ParameterError(f"trials = {count:.12g} in all: allowed are at most 1e9")
    success_lower = None
    if k.size <= 1:
        rate = clopper_pearson.lower(total, count, tail=tail)
        success_lower = rate
        lower = _single(total, count, k, slack, tail)
        ceiling = _single(count, count, k, slack, tail)
    else:
        lower = strata_epsilon_lower(total, tried, k, slack, tail)
        ceiling = strata_epsilon_lower(count, tried, k, slack, tail)
    return CandidateEstimate(
        lower=lower,
        delta=slack,
        confidence=float(confidence),
        tail=tail,
        successes=tuple(int(value) for value in right),
        trials=tuple(int(value) for value in tried),
        candidates=tuple(int(value) for value in k),
        success_lower=success_lower,
        ceiling=ceiling,
        method=METHOD if k.size <= 1 else METHOD_STRATA,
        reason=_shortage(lower, total, count, float(np.sum(tried / k)), slack),
    )


def candidate_guessing_from_trials(
    correct: ArrayLike, candidates: ArrayLike, *, delta: float, confidence: float
) -> CandidateEstimate:
    """Bound epsilon from below by single trials; see `candidate_guessing`.

    Parameters
    ----------
    correct : array_like of bool
        Whether each guess was right; shape (trials,). Integers 0 and 1 are accepted.
    candidates : int or array_like of int
        Number of candidates of each trial.
    delta, confidence
        As for `candidate_guessing`.

    Returns
    -------
    CandidateEstimate
        0 with a reason if nothing was shown.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """
    hits = np.asarray(correct)
    hits = as_numbers("correct", hits.astype(np.int8) if hits.dtype == bool else hits)
    refuse_where("correct", hits, (hits != 0.0) & (hits != 1.0), "0 and 1")
    hits, k = broadcast(correct=hits, candidates=_checked_candidates(candidates))
    if hits.ndim != 1:
        raise ParameterError(f"correct has shape {hits.shape}: allowed are vectors")
    return candidate_guessing(
        hits, np.ones_like(hits), candidates=k, delta=delta, confidence=confidence
    )


def _checked_candidates(candidates: ArrayLike) -> FloatArray:
    """Check numbers of candidates."""
    k = as_numbers("candidates", candidates)
    wrong = ~((k >= 2) & (k <= 1e9) & (k == np.floor(k)))
    refuse_where("candidates", k, wrong, "whole numbers from 2 to 1e9")
    return k


def _epsilon(rate: FloatArray, failure: FloatArray, k: FloatArray, slack: FloatArray) -> FloatArray:
    """Return the formula rounded down; `failure` is at least 1 - rate."""
    value = np.log(k - 1.0) * (1.0 - 4.0 * _EPS) + log_ratio(
        rate, np.minimum(failure, 1.0), delta=slack
    )
    return np.asarray(np.maximum(value - 4.0 * _EPS * np.abs(value), 0.0))


def _single(right: float, tried: float, k: FloatArray, slack: float, tail: float) -> float:
    """Bound epsilon with one number of candidates."""
    if tried == 0 or k.size == 0:
        return 0.0
    rate = np.asarray(clopper_pearson.lower(right, tried, tail=tail))
    failure = np.asarray(clopper_pearson.upper(tried - right, tried, tail=tail))
    return float(_epsilon(rate, failure, k[0], np.asarray(slack)))


def _pooled(
    right: FloatArray, tried: FloatArray, k: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Add up the entries of equal numbers of candidates; drop those without trials."""
    kept = tried > 0
    distinct, where = np.unique(k[kept], return_inverse=True)
    return (
        np.bincount(where, right[kept], distinct.size).astype(np.float64),
        np.bincount(where, tried[kept], distinct.size).astype(np.float64),
        distinct if distinct.size else np.unique(k)[:1],
    )


def _shortage(lower: float, total: float, count: float, blind: float, slack: float) -> str | None:
    """Say why the bound is 0, if it is."""
    if lower > 0.0:
        return None
    if count == 0:
        return "there are no trials"
    return (
        f"{total:.0f} of {count:.0f} guesses right is no more than chance "
        f"({blind:.6g} expected without looking) and delta = {slack:g} explain"
    )
