"""A search for the pair of inputs that shows most, on trials of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accountants.ranges import whole
from dpaudit.engine.attack_scores import as_attack, fits
from dpaudit.engine.backends import Backend
from dpaudit.engine.blocks import Experiment
from dpaudit.engine.bound import bound_counts
from dpaudit.engine.canary import CanaryPair
from dpaudit.engine.mechanism import as_mechanism
from dpaudit.engine.plan import make_plan
from dpaudit.engine.runner import Runner
from dpaudit.errors import ParameterError
from dpaudit.estimators.score_quantity import EpsilonAt

SEARCH_BRANCH = 0x5EA4C4
"""First number of the search's spawn keys; an audit's own begin with 0 or 1."""


def search_canaries(
    mechanism: Any,
    candidates: Sequence[tuple[Any, Any]],
    attack: Any = None,
    *,
    delta: float = 0.0,
    trials: int = 10_000,
    seed: int = 0,
    workers: int = 1,
) -> CanaryPair:
    """Return the pair of inputs on which an attack shows most.

    Parameters
    ----------
    mechanism, attack
        As in :func:`dpaudit.engine.audit`.
    candidates : sequence of (data_in, data_out)
        Neighbouring inputs, at least one pair.
    delta : float
        The delta at which epsilon will be bounded.
    trials : int
        Trials on each input of each pair.
    seed : int
        The audit's seed may be the same: the search has generators of its own,
        ``SeedSequence(seed, spawn_key=(0x5EA4C4, pair, side, block))``.
    workers : int
        Processes.

    Returns
    -------
    CanaryPair
        Of mode "searched", with what each pair showed as evidence. That is no bound for the pair
        found, of which the most was taken; the audit draws fresh trials.

    Raises
    ------
    ParameterError
        If there is no candidate or a parameter is not allowed.
    """
    if not candidates:
        raise ParameterError("candidates = []: at least one pair of inputs is needed")
    subject = as_mechanism(mechanism)
    adversary = as_attack(attack, delta=delta)
    plan = make_plan(trials, preferred_block=subject.preferred_block, fits=fits(adversary))
    found: list[float] = []
    for place, (inside, outside) in enumerate(candidates):
        experiment = Experiment(
            mechanism=subject,
            data_out=outside,
            data_in=inside,
            plan=plan,
            seed=whole("seed", seed),
            branch=(SEARCH_BRANCH, place),
        )
        runner = Runner(experiment=experiment, backend=Backend(workers=workers))
        seen = runner.run(
            adversary, quantity=EpsilonAt(delta=delta), error=0.05, failure_events=True
        )
        bound = bound_counts(
            seen.event, seen.inside, seen.outside, plan=plan, delta=delta, confidence=0.95
        )
        found.append(bound.lower)
    best = max(range(len(found)), key=found.__getitem__)
    evidence = {"pair": best, "shown": found, "delta": delta, "trials": trials}
    inside, outside = candidates[best]
    return CanaryPair(data_in=inside, data_out=outside, mode="searched", evidence=evidence)
