"""How often the guesses about many canaries in one run can be right: an exact tail bound.

Each of ``m`` canaries is included independently with probability ``b``; from the output of one run
``r`` guesses "included" or "left out" are made, fixed in number beforehand, and ``v`` are right. If
the run is (epsilon, delta)-DP for adding and removing a canary, then with
``q = o / (1 + o)``, ``Q = Pr[Bin(r, q) >= v]`` and ``phi = Pr[Bin(r, q) = v]``

    Pr[v or more are right] <= Q + D Q (1 - Q) / (v phi),                               (1)

where ``o`` is the largest odds of a right guess and ``D`` the number of canaries at stake times
delta: ``o = e^epsilon, D = m delta`` for guesses on both sides (``b = 1/2``);
``o = e^epsilon b / (1 - b), D = m b delta`` for guesses "included" only; the same with ``1 - b``
for ``b`` when all say "left out". If the output itself decides how many guesses are made, then

    Pr[Q <= (1 - s) p and D Q / (v phi) <= s p] <= p   for every p and a fixed share s. (2)

Proofs: ``docs/proofs/one-run.md``. For guesses on both sides (1) is attained by a mechanism, so no
smaller bound is valid; that of Steinke, Nasr and Jagielski ("Privacy auditing with one (1)
training run", 2023, Theorem 5.2) has the same first term and a larger second one wherever the
result is below 1/2 (2.6 to 72 times in 19 000 random cases), and is too small in cases near 1.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from accountants.errors import ParameterError
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

Side: TypeAlias = Literal["both", "in", "out"]
"""What is guessed: both, only "included" (the highest scores), or only "left out" (the lowest)."""

MAX_CANARIES = 10**9
"""Largest number of canaries accepted."""

MIN_TAIL = 1e-30
"""Smallest error probability accepted."""

DELTA_SHARE = 0.5
"""Share ``s`` of the error in (2) where delta is positive; 0 where it is 0."""

_EPS = float(np.finfo(np.float64).eps)
_TINY = 1e-300
_BITS = 52
_INNER, _FEW = 31, 512  # cuts of the interval in one step, for so many bounds at most


@overload
def one_run_p_value(
    correct: Number,
    guesses: Number,
    *,
    canaries: int,
    epsilon: Number,
    delta: Number,
    side: Side = "both",
    inclusion: float = 0.5,
    fixed_guesses: bool = True,
) -> float: ...
@overload
def one_run_p_value(
    correct: ArrayLike,
    guesses: ArrayLike,
    *,
    canaries: int,
    epsilon: ArrayLike,
    delta: ArrayLike,
    side: Side = "both",
    inclusion: float = 0.5,
    fixed_guesses: bool = True,
) -> FloatArray: ...
def one_run_p_value(
    correct: ArrayLike,
    guesses: ArrayLike,
    *,
    canaries: int,
    epsilon: ArrayLike,
    delta: ArrayLike,
    side: Side = "both",
    inclusion: float = 0.5,
    fixed_guesses: bool = True,
) -> float | FloatArray:
    """Test an (epsilon, delta) claim by the guesses about one run's canaries.

    Parameters
    ----------
    correct : array_like of int
        Right guesses, 0 to `guesses`.
    guesses : array_like of int
        Guesses made, 0 to `canaries`; a guess that was withheld counts here as a wrong one.
    canaries : int
        Canaries that were included or not, guessed or not, 1 to 1e9.
    epsilon : array_like of float
        The claim, 0 or more.
    delta : array_like of float
        The claim, 0 to 1.
    side : {"both", "in", "out"}
        What the guesses may say.
    inclusion : float
        Probability with which each canary was included, above 0 and below 1; for "both" only 1/2.
    fixed_guesses : bool
        Whether the number of guesses was fixed before the run. If not, (2) is used.

    Returns
    -------
    float or ndarray
        The p-value, never below the exact one; the arguments broadcast. It does not fall when
        epsilon, delta or the canaries grow.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    Equations (1) and (2) of this module.
    """
    odds, at_stake = stakes(canaries, side=side, inclusion=inclusion)
    right, tried = checked_counts(correct, guesses, whole=True, most=canaries)
    eps = as_numbers("epsilon", epsilon)
    refuse_where("epsilon", eps, ~(eps >= 0.0), "0 or more")
    right, tried, eps, slack = broadcast(
        correct=right, guesses=tried, epsilon=eps, delta=as_rates("delta", delta)
    )
    return unwrapped(_p_value(right, tried, eps + odds, slack * at_stake, fixed=fixed_guesses))


@overload
def one_run_epsilon_lower(
    correct: Number,
    guesses: Number,
    *,
    canaries: int,
    delta: Number,
    tail: Number,
    side: Side = "both",
    inclusion: float = 0.5,
    fixed_guesses: bool = True,
) -> float: ...
@overload
def one_run_epsilon_lower(
    correct: ArrayLike,
    guesses: ArrayLike,
    *,
    canaries: int,
    delta: ArrayLike,
    tail: ArrayLike,
    side: Side = "both",
    inclusion: float = 0.5,
    fixed_guesses: bool = True,
) -> FloatArray: ...
def one_run_epsilon_lower(
    correct: ArrayLike,
    guesses: ArrayLike,
    *,
    canaries: int,
    delta: ArrayLike,
    tail: ArrayLike,
    side: Side = "both",
    inclusion: float = 0.5,
    fixed_guesses: bool = True,
) -> float | FloatArray:
    """Return the lower bound on epsilon that the guesses about one run's canaries show.

    Parameters
    ----------
    correct, guesses, canaries, delta, side, inclusion, fixed_guesses
        As for `one_run_p_value`.
    tail : array_like of float
        Probability that the bound exceeds the true epsilon(delta), 1e-30 to 0.5.

    Returns
    -------
    float or ndarray
        The largest epsilon whose p-value is at most `tail`, rounded down; 0 if there is none.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    The p-value does not fall as epsilon grows, so cutting an interval finds where it passes.
    """
    odds, at_stake = stakes(canaries, side=side, inclusion=inclusion)
    right, tried = checked_counts(correct, guesses, whole=True, most=canaries)
    error = as_numbers("tail", tail)
    refuse_where("tail", error, ~((error >= MIN_TAIL) & (error <= 0.5)), "1e-30 to 0.5")
    right, tried, error, slack = broadcast(
        correct=right, guesses=tried, tail=error, delta=as_rates("delta", delta)
    )
    loss = slack * at_stake
    low = np.zeros(right.shape)
    # Q >= q^r >= 1 - r (1 - q) > 1/2 there.
    high = np.full(right.shape, math.log(canaries) + max(-odds, 0.0) + 2.0)
    inner = _INNER if right.size <= _FEW else 1
    parts = np.arange(inner + 2.0).reshape(-1, *[1] * right.ndim) / (inner + 1.0)
    for _ in range(math.ceil(_BITS / math.log2(inner + 1))):
        trial = low + (high - low) * parts
        kept = np.ones(trial.shape, dtype=bool)  # low stays, whatever is refuted beyond
        kept[1:-1] = _p_value(right, tried, trial[1:-1] + odds, loss, fixed=fixed_guesses) <= error
        kept[-1] = False
        first = np.expand_dims(np.argmin(kept, axis=0), 0)
        high = np.take_along_axis(trial, first, axis=0)[0]
        low = np.take_along_axis(trial, first - 1, axis=0)[0]
    return unwrapped(low)


def stakes(canaries: int, *, side: Side, inclusion: float) -> tuple[float, float]:
    """Return the logarithm of the odds of a blind right guess, and D / delta.

    Parameters
    ----------
    canaries : int
        1 to 1e9.
    side : {"both", "in", "out"}
        What the guesses may say.
    inclusion : float
        Above 0 and below 1; for "both" only 1/2.

    Returns
    -------
    log_odds : float
        Rounded up.
    at_stake : float
        Expected number of canaries about which a guess of this side can be right, rounded up.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """
    if side not in get_args(Side):
        raise ParameterError(f"side = {side!r}: allowed are 'both', 'in', 'out'")
    if not (isinstance(canaries, int | np.integer) and 1 <= canaries <= MAX_CANARIES):
        raise ParameterError(f"canaries = {canaries}: allowed are whole numbers from 1 to 1e9")
    if not 0.0 < inclusion < 1.0:
        raise ParameterError(f"inclusion = {inclusion:g}: allowed are numbers between 0 and 1")
    if side == "both":
        if inclusion != 0.5:
            raise ParameterError(
                f"inclusion = {inclusion:g}: guesses on both sides need 0.5; guess on one side"
            )
        return 0.0, float(canaries)
    share = inclusion if side == "in" else 1.0 - inclusion
    log_odds = math.log(share) - math.log1p(-share)
    return log_odds + 8.0 * _EPS * abs(log_odds), canaries * share * (1.0 + 2.0 * _EPS)


def tail_pieces(
    correct: FloatArray, guesses: FloatArray, log_odds: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Q, ``Q / (v phi)`` and ``1 - Q`` of equation (1), each rounded up.

    Parameters
    ----------
    correct, guesses : ndarray
        ``1 <= correct <= guesses``.
    log_odds : ndarray
        ``ln o``.

    Returns
    -------
    at_least, spread, fewer : ndarray
        Of the broadcast shape; `spread` may be infinite.
    """
    v, r = correct, guesses
    log_odds = np.minimum(log_odds, 700.0)  # Q is 1 there, to the last bit
    log_right, log_wrong = -np.logaddexp(0.0, -log_odds), -np.logaddexp(0.0, log_odds)
    wrong = np.exp(log_wrong)
    # Q = I_q(v, r - v + 1), the incomplete beta ratio; d Q / d ln q = v phi.
    at_least = special.betaincc(r - v + 1.0, v, wrong)
    fewer = special.betainc(r - v + 1.0, v, wrong)
    parts = (
        special.gammaln(r + 1.0),
        -special.gammaln(v),
        -special.gammaln(r - v + 1.0),
        v * log_right,
        (r - v) * log_wrong,
    )
    log_weight = sum(parts)
    size = sum(np.abs(part) for part in parts) + 4.0 * r * (1.0 + np.abs(log_odds))
    # 1e-12 + 8 eps r is what two_sided_binomial_p_value allows; the rest is for q and phi.
    raised = 1.0 + 1e-12 + 16.0 * _EPS * (r + size)
    at_least = np.minimum(at_least * raised + _TINY, 1.0)
    with np.errstate(over="ignore"):
        spread = np.exp(np.log(at_least) - log_weight) * raised
    # Q / phi = 1 + t_1 + t_1 t_2 + ... <= 1 / (1 - t_1), t_j falling: needed where Q underflows.
    with np.errstate(over="ignore"):
        first = (r - v) / (v + 1.0) * np.exp(log_odds) * (1.0 + 1e-12)
    room = np.where(first < 1.0, v * (1.0 - first), 0.0)
    with np.errstate(divide="ignore"):
        spread = np.minimum(spread, (1.0 + 1e-12) / room)
    return at_least, np.asarray(spread), np.asarray(np.minimum(fewer * raised + _TINY, 1.0))


def _p_value(
    v: FloatArray, r: FloatArray, log_odds: FloatArray, loss: FloatArray, *, fixed: bool
) -> FloatArray:
    """Return (1) or (2) rounded up; `loss` is D."""
    none = v < 1.0
    at_least, spread, fewer = tail_pieces(
        np.where(none, 1.0, v), np.where(none, 1.0, r), np.asarray(log_odds)
    )
    if fixed:
        spread = spread * fewer
    with np.errstate(invalid="ignore", over="ignore"):
        extra = np.where(loss > 0.0, loss * spread, 0.0)
        if fixed:
            p = at_least + extra
        else:
            share = np.where(loss > 0.0, DELTA_SHARE, 0.0)
            p = np.maximum(at_least / (1.0 - share), extra / DELTA_SHARE)
    return np.asarray(np.where(none, 1.0, np.minimum(p * (1.0 + 4.0 * _EPS), 1.0)))
