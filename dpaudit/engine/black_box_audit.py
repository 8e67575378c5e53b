"""The audit of a mechanism from its releases alone."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from accountants import ranges
from dpaudit.engine.attack_scores import as_attack, fits
from dpaudit.engine.backends import Backend
from dpaudit.engine.blocks import Experiment
from dpaudit.engine.bound import INTERRUPTIONS, bound_counts
from dpaudit.engine.canary import CanaryPair
from dpaudit.engine.fingerprint import fingerprint
from dpaudit.engine.identity import audit_identity
from dpaudit.engine.mechanism import as_mechanism
from dpaudit.engine.plan import make_plan
from dpaudit.engine.result import AuditResult
from dpaudit.engine.runner import Runner
from dpaudit.engine.store import open_store
from dpaudit.errors import ParameterError
from dpaudit.estimators.arrays import error_of
from dpaudit.estimators.score_quantity import EpsilonAt

TRIALS = 100_000
"""Trials a side by default."""


def audit(
    mechanism: Any,
    attack: Any = None,
    *,
    data_in: Any = None,
    data_out: Any = None,
    canary: CanaryPair | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    trials: int = TRIALS,
    confidence: float = 0.95,
    seed: int = 0,
    block: int | None = None,
    training: int | None = None,
    selection: int | None = None,
    failure_events: bool = True,
    batch: int | None = None,
    workers: int = 1,
    backend: str = "loky",
    store: str | Path | None = None,
    resume: bool = False,
    progress: bool = False,
) -> AuditResult:
    """Bound epsilon from below by running a mechanism with and without a canary.

    Some trials fit the attack (if it learns), others choose direction, threshold and the scores of
    failures; the rest are only counted, so the bound holds whatever was tried before. Memory does
    not grow with the number of trials.

    Parameters
    ----------
    mechanism : BlockMechanism, PerTrial, ExternalCommand or alike
        What is audited.
    attack : object, optional
        With ``score(releases) -> (n,)``, higher meaning "with the canary", and optionally
        ``fit(releases_in, releases_out)``. By default `attacks.learned_events.LearnedEvents`.
    data_in, data_out : object
        Two neighbouring datasets, as the mechanism takes them: with the canary and without it.
    canary : CanaryPair, optional
        Both of them, given, worst case or searched, instead.
    epsilon : float, optional
        The claim, for a verdict; 0 or more.
    delta : float
        The claim's delta, 0 to 1.
    trials : int
        Trials a side, all phases together; at most 1e9.
    confidence : float
        One-sided, 0.5 to 1 - 1e-9, over everything that can change the bound.
    seed : int
        Block b of side s (0 without, 1 with the canary) has the generator of
        ``SeedSequence(seed, spawn_key=(s, b))``.
    block : int, optional
        Trials in a block, the unit of randomness and the shape of every call; see `make_plan` for
        the defaults of this and the next two.
    training, selection : int, optional
        Trials a side of these phases.
    failure_events : bool
        Whether failures may belong to the event that is counted. If not they are outside it.
    batch : int, optional
        Blocks in a batch, the unit of work and of storage.
    workers : int
        Processes; no result depends on their number.
    backend : {"loky", "inprocess", "threading", "dask", "ray"}
        How they are run.
    store : str or Path, optional
        Folder for the trials' scores, for resuming or another analysis.
    resume : bool
        Go on with the audit that `store` holds, if it holds one.
    progress : bool
        Show rate and remaining time on standard error.

    Returns
    -------
    AuditResult
        Bound, verdict and all failures.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or an attack returns no proper scores.
    BackendError
        If a worker dies or the mechanism cannot be sent to it.
    StoreError
        If the store cannot be used: in use, damaged, or of another audit.

    Notes
    -----
    A mechanism in which one call makes many releases must make them independently: that is the one
    thing the bound assumes and the engine cannot see.
    """
    subject = as_mechanism(mechanism)
    if canary is not None:
        if data_in is not None or data_out is not None:
            raise ParameterError("canary and data_in/data_out: give one or the other")
        data_in, data_out = canary.data_in, canary.data_out
    if epsilon is not None:
        epsilon = ranges.non_negative("epsilon", epsilon)
    quantity = EpsilonAt(delta=delta)
    adversary = as_attack(attack, delta=float(delta))
    error = error_of(confidence)
    if resume and store is None:
        raise ParameterError("resume = True: a store is needed")
    plan = make_plan(
        trials,
        preferred_block=subject.preferred_block,
        fits=fits(adversary),
        block=block,
        training=training,
        selection=selection,
    )
    settings = {
        "epsilon": epsilon,
        "delta": float(delta),
        "confidence": float(confidence),
        "failure_events": bool(failure_events),
        "canary": "given" if canary is None else canary.mode,
    }
    config, notes = audit_identity(
        subject,
        adversary,
        data_out=data_out,
        data_in=data_in,
        plan=plan,
        seed=ranges.whole("seed", seed),
        settings=settings,
    )
    runner = Runner(
        experiment=Experiment(
            mechanism=subject, data_out=data_out, data_in=data_in, plan=plan, seed=int(seed)
        ),
        backend=Backend(name=backend, workers=workers),
        batch=batch,
        progress=progress,
    )
    opened = nullcontext() if store is None else open_store(store, config, plan=plan, resume=resume)
    with opened as kept:
        runner = replace(runner, store=kept)
        found = runner.run(adversary, quantity=quantity, error=error, failure_events=failure_events)
    for name, data in (("data_out", data_out), ("data_in", data_in)):
        if fingerprint(data).sha256 != config[name]:
            raise ParameterError(f"{name} was changed by the mechanism: it must leave it as it is")
    resumed = kept is not None and kept.resumed
    estimate = bound_counts(
        found.event,
        found.inside,
        found.outside,
        plan=plan,
        delta=float(delta),
        confidence=float(confidence),
        assumptions=(INTERRUPTIONS,) if resumed and not subject.seedable else (),
    )
    return AuditResult(
        estimate=estimate,
        claim=epsilon,
        delta=float(delta),
        event=found.event,
        plan=plan,
        failures=found.failures,
        failure_example=found.example,
        resumed=resumed,
        seedable=bool(subject.seedable),
        timings=found.timings,
        config={**config, "canary": {"mode": "given"} if canary is None else canary.to_dict()},
        notes=notes,
    )
