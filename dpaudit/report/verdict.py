"""The answer of a result in plain words."""

from collections.abc import Mapping
from math import isinf
from typing import Any

from dpaudit.report.numbers import lower, number, percent, upper
from dpaudit.report.page import Finding, Verdict

Result = Mapping[str, Any]


def verdict_of(result: Result) -> Verdict:
    """Return the verdict of ``verify`` or ``audit``."""
    claim = result["claim"]
    claimed, delta = float(claim["epsilon"]), number(claim["delta"])
    tight = float(result["tight"]["epsilon"])
    measured = result.get("measured")
    found = None if measured is None else float(measured["epsilon"])
    bound = upper(tight, unlike=claimed)
    numbers = f"ε ≤ {bound} guaranteed · ε = {number(claimed)} claimed · at δ = {delta}"
    if measured is not None and found is not None:
        reached = lower(found, unlike=claimed)
        numbers = (
            f"measured {reached} ≤ true ε ≤ {bound} proved · {number(claimed)} claimed · "
            f"at δ = {delta}, {percent(measured['confidence'])} confidence for the measurement"
        )
    if result.get("findings"):
        if found is not None and found > tight:
            numbers = (
                f"measured ε ≥ {lower(found)}, proved ε ≤ {upper(tight)}: they contradict each "
                f"other · {number(claimed)} claimed · at δ = {delta}"
            )
        return Verdict(
            tone="alarm",
            word="The implementation violates its analysis",
            sentence=(
                "An attack achieved more than the proved bound allows. The code that ran is not "
                "the mechanism that was analysed: look for a bug before relying on any number "
                f"here. By the analysis alone the claim would be {result['verdict']}."
            ),
            numbers=numbers,
        )
    if result["verdict"] == "refuted":
        confidence = percent(measured["confidence"]) if measured else ""
        return Verdict(
            tone="bad",
            word="Refuted",
            sentence=(
                f"The claim ({number(claimed)}, {delta}) does not hold. An adversary achieves "
                f"ε ≥ {lower(found, unlike=claimed)} at δ = {delta}, at {confidence} confidence."
            ),
            numbers=numbers,
        )
    if result["verdict"] == "proved":
        return Verdict(
            tone="good",
            word="Proved",
            sentence=(
                f"The claim ({number(claimed)}, {delta}) holds, under the assumptions listed "
                f"below. The mechanism guarantees ε ≤ {bound} at δ = {delta}"
                + ("." if found is None else ", and no attack contradicted it.")
            ),
            numbers=numbers,
        )
    return Verdict(
        tone="open",
        word="Open",
        sentence=_undecided(claimed=claimed, delta=delta, tight=tight, found=found),
        numbers=numbers,
    )


def findings_of(result: Result) -> tuple[Finding, ...]:
    """Return what must be shown before anything else."""
    return tuple(
        Finding(
            code=str(item["code"]),
            message=str(item["message"]),
            detail=(
                "A correct implementation gives this finding with probability at most "
                f"{upper(item['error_probability'])}."
                if item.get("error_probability") is not None
                else ""
            ),
        )
        for item in result.get("findings", ())
    )


def _undecided(*, claimed: float, delta: str, tight: float, found: float | None) -> str:
    proved = (
        f"no ε is guaranteed at δ = {delta}"
        if isinf(tight)
        else f"ε ≤ {upper(tight, unlike=claimed)} is guaranteed at δ = {delta}"
    )
    start = f"The claim ({number(claimed)}, {delta}) is neither proved nor refuted: {proved}"
    if found is None:
        return f"{start}, and no attack was run. This is not a pass."
    return (
        f"{start}, and the attack shows ε ≥ {lower(found, unlike=claimed)}. The claim lies "
        "between the two. This is not a pass."
    )
