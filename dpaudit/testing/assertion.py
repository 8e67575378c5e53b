"""``assert_private``: fail a test if a mechanism is shown to break its claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpaudit.engine import AuditResult, audit
from dpaudit.errors import ParameterError
from dpaudit.testing.callables import Form, as_callable_mechanism

TRIALS = 100_000
ERROR = 1e-6


def assert_private(
    mechanism: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    data_in: Any = None,
    data_out: Any = None,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    attack: Any = None,
    trials: int = TRIALS,
    error: float = ERROR,
    seed: int = 0,
    form: Form = "auto",
    workers: int = 1,
) -> AuditResult:
    """Raise if a mechanism is shown not to be (epsilon, delta)-differentially private.

    Parameters
    ----------
    mechanism : callable or Mechanism
        ``f(data, trials, rng)`` (many releases), ``f(data, rng)`` or ``f(data)``; or a mechanism of
        :mod:`dpaudit.engine`.
    epsilon, delta : float
        The claim: epsilon >= 0, delta in [0, 1].
    data_in, data_out : object
        Two neighbouring inputs.
    pairs : sequence of (object, object), optional
        Several such pairs instead; they share the error.
    attack : object, optional
        With ``score`` and perhaps ``fit``; by default one that learns from any releases.
    trials : int
        Trials on each input of each pair.
    error : float
        Probability with which the assertion may fail for a mechanism that keeps its claim, in
        (0, 0.5]; over all pairs, both directions and all thresholds.
    seed : int
        The same seed gives the same outcome, for a mechanism that draws from ``rng`` only.
    form : {"auto", "block", "seeded", "unseeded"}
        How the callable is called.
    workers : int
        Processes.

    Returns
    -------
    AuditResult
        Of the pair that showed most. That nothing was refuted proves nothing.

    Raises
    ------
    AssertionError
        If the claim is refuted, with bound, event, counts and how to repeat it.
    ParameterError
        If a parameter is not allowed.
    """
    subject = as_callable_mechanism(mechanism, form=form)
    if pairs is not None and (data_in is not None or data_out is not None):
        raise ParameterError("pairs and data_in/data_out: give one or the other")
    neighbours = [(data_in, data_out)] if pairs is None else list(pairs)
    if not neighbours:
        raise ParameterError("pairs = []: at least one pair of inputs is needed")
    if not 0 < error <= 0.5:
        raise ParameterError(f"error = {error!r}: a number in (0, 0.5] is needed")
    results = [
        audit(
            subject,
            attack,
            data_in=inside,
            data_out=outside,
            epsilon=epsilon,
            delta=delta,
            trials=trials,
            confidence=1.0 - error / len(neighbours),
            seed=seed,
            workers=workers,
        )
        for inside, outside in neighbours
    ]
    worst = max(range(len(results)), key=lambda place: results[place].epsilon)
    result = results[worst]
    if result.refuted:
        raise AssertionError(_message(result, pair=worst, pairs=len(neighbours), error=error))
    return result


def _message(result: AuditResult, *, pair: int, pairs: int, error: float) -> str:
    of = f" (pair {pair} of {pairs}, counted from 0)" if pairs > 1 else ""
    return (
        f"{result}{of} A mechanism that keeps its claim fails this assertion with probability at "
        f"most {error:g}. To repeat it: the same mechanism and inputs, "
        f"trials={result.plan.trials}, seed={result.config['seed']}."
    )
