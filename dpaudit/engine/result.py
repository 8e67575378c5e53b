"""What an audit found: a bound, a verdict on the claim, and every trial accounted for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from dpaudit.engine.event import Event
from dpaudit.engine.plan import Plan
from dpaudit.estimators.plain_values import plain
from dpaudit.estimators.score_estimate import ScoreEstimate

Verdict: TypeAlias = Literal["refuted", "not refuted", "no claim"]


@dataclass(frozen=True, kw_only=True)
class AuditEstimate(ScoreEstimate):
    """A lower bound on epsilon at a delta; `epsilon` and `delta` name its coordinates."""

    @property
    def epsilon(self) -> float:
        """The bound."""
        return self.lower

    @property
    def delta(self) -> float:
        """The delta at which it holds."""
        return self.given["delta"]

    @classmethod
    def of(cls, estimate: ScoreEstimate) -> AuditEstimate:
        """Return the same estimate."""
        return cls(**{f.name: getattr(estimate, f.name) for f in fields(estimate)})


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """The result of one audit.

    Attributes
    ----------
    estimate : AuditEstimate
        The bound on epsilon at `delta`, its counts and threshold.
    claim : float or None
        The claimed epsilon, if one was given.
    delta : float
        The delta of the claim and of the bound.
    event : Event or None
        What was counted; None if nothing could be chosen.
    plan : Plan
        How the trials of a side were used.
    failures : mapping
        For each phase, side and kind of failure, how many trials had it; zeros left out. Kinds
        that begin with "block-" are trials lost with their block, counted against the audit.
    failure_example : str or None
        The first failure, in one line.
    resumed : bool
        Whether batches of an earlier run were used.
    seedable : bool
        Whether the mechanism can repeat its releases.
    timings : mapping of str to float
        Seconds by phase, and trials per second; no part of what is compared.
    config : mapping
        What identifies the audit: mechanism, attack, data, seed, versions.
    notes : tuple of str
        What a reader should know: sources that could not be seen, and the like.
    """

    estimate: AuditEstimate
    claim: float | None
    delta: float
    event: Event | None
    plan: Plan
    failures: Mapping[str, Mapping[str, Mapping[str, int]]]
    failure_example: str | None
    resumed: bool
    seedable: bool
    timings: Mapping[str, float]
    config: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def epsilon(self) -> float:
        """The lower bound on epsilon at `delta`."""
        return self.estimate.lower

    @property
    def confidence(self) -> float:
        """One-sided, over everything that was tried to get the bound."""
        return self.estimate.confidence

    @property
    def refuted(self) -> bool:
        """Whether the bound exceeds the claim; False without a claim."""
        return self.claim is not None and self.estimate.lower > self.claim

    @property
    def verdict(self) -> Verdict:
        """Return "refuted", "not refuted" (which proves nothing) or "no claim"."""
        if self.claim is None:
            return "no claim"
        return "refuted" if self.refuted else "not refuted"

    @property
    def failed(self) -> int:
        """Trials that failed, on both sides and in all phases."""
        return sum(
            number
            for sides in self.failures.values()
            for kinds in sides.values()
            for number in kinds.values()
        )

    def __str__(self) -> str:
        """Return one sentence."""
        head = ""
        if self.claim is not None:
            claim = f"epsilon = {self.claim:.6g}, delta = {self.delta:.6g}"
            head = f"the claim {claim} is {self.verdict}: "
        tail = ""
        if self.failed:
            tail = f"; {self.failed} of {2 * self.plan.trials} trials failed, and were counted"
        return f"{head}{str(self.estimate).removesuffix('.')}{tail}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON.

        Returns
        -------
        dict
            One entry per attribute, and ``epsilon``, ``confidence``, ``verdict``; infinities as
            "inf". Two runs of one audit differ in ``timings`` and ``resumed`` only.
        """
        return {
            "verdict": self.verdict,
            "epsilon": plain(self.epsilon),
            "delta": self.delta,
            "confidence": self.confidence,
            "claim": self.claim,
            "estimate": self.estimate.to_dict(),
            "event": None if self.event is None else self.event.to_dict(),
            "plan": {
                "trials": self.plan.trials,
                "block": self.plan.block,
                **{
                    f"{phase}_trials": self.plan.phase_trials(phase)
                    for phase in ("training", "selection", "bounding")
                },
            },
            "failures": {
                phase: {side: dict(kinds) for side, kinds in sides.items()}
                for phase, sides in self.failures.items()
            },
            "failure_example": self.failure_example,
            "seedable": self.seedable,
            "resumed": self.resumed,
            "notes": list(self.notes),
            "config": dict(self.config),
            "timings": {name: round(value, 6) for name, value in self.timings.items()},
        }
