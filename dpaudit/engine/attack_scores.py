"""The attack, as the engine sees it: releases in, one score a release out.

A higher score means "with the canary". An attack may also learn, from releases of both sides that
take no further part. Anything an attack does is post-processing, so any attack gives valid bounds:
its quality decides their strength only.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from attacks.learned_events import LearnedEvents
from dpaudit.engine.outcomes import BlockOutcome
from dpaudit.errors import ParameterError, shown
from dpaudit.estimators.scores import as_scores

Scores: TypeAlias = NDArray[Any]
"""Scores as they are compared: bool or float64, never NaN."""


@runtime_checkable
class Attack(Protocol):
    """What the engine needs of an attack; ``fit(releases_in, releases_out)`` is optional."""

    def score(self, releases: Any) -> Any:
        """Return one number a release, shape (n,); higher means "with the canary".

        Parameters
        ----------
        releases : sequence or array
            n releases, as the mechanism returns them.
        """
        ...


def as_attack(attack: Any, *, delta: float = 0.0) -> Attack:
    """Return the attack, refusing what has no ``score``.

    Parameters
    ----------
    attack : object or None
        With a method ``score``; None takes `attacks.learned_events.LearnedEvents`.
    delta : float
        The delta of the bound, for the default.

    Returns
    -------
    Attack
        The same, or the default.

    Raises
    ------
    ParameterError
        If it has no ``score`` method.
    """
    if attack is None:
        return LearnedEvents(delta=delta)
    if isinstance(attack, Attack) and not isinstance(attack, type):
        return attack
    raise ParameterError(
        f"attack = {shown(attack)}: an object with score(releases), or None, is needed"
    )


def fits(attack: Attack) -> bool:
    """Tell whether an attack learns from releases."""
    return callable(getattr(attack, "fit", None))


def block_scores(attack: Attack, outcome: BlockOutcome, trials: int) -> Scores:
    """Score the releases of a block, each in its trial's place.

    Parameters
    ----------
    attack : Attack
        The attack.
    outcome : BlockOutcome
        A block's outcome.
    trials : int
        Trials in the block.

    Returns
    -------
    ndarray of bool or float64, shape (trials,)
        Failed trials have 0, which nothing reads.

    Raises
    ------
    ParameterError
        If the attack returns no vector of real numbers, one of another length, or NaN.
    """
    if outcome.releases is None:
        return np.zeros(trials)
    expected = trials if outcome.codes is None else int(np.count_nonzero(outcome.codes == 0))
    scores = _checked(attack.score(outcome.releases))
    if scores.size != expected:
        raise ParameterError(f"the attack gave {scores.size} scores for {expected} releases")
    if outcome.codes is None:
        return scores
    spread = np.zeros(trials, dtype=scores.dtype)
    spread[outcome.codes == 0] = scores
    return spread


def _checked(scores: Any) -> Scores:
    """Refuse NaN and what is not a vector; leave alone what needs no conversion."""
    if isinstance(scores, np.ndarray) and scores.ndim == 1:
        if scores.dtype == np.bool_:
            return scores
        if scores.dtype == np.float64 and not np.isnan(scores).any():
            return scores
    return as_scores("the attack's scores", scores)
