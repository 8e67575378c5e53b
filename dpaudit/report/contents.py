"""Put a whole report together from a result."""

from collections.abc import Mapping
from typing import Any

from dpaudit.report import attack, figures, guarantee, setting
from dpaudit.report.numbers import lower, number, upper
from dpaudit.report.page import Figure, Page
from dpaudit.report.verdict import findings_of, verdict_of

Result = Mapping[str, Any]


def page_of(result: Result) -> Page:
    """Return the report on a result of ``verify`` or ``audit``."""
    deployment = result["deployment"]
    return Page(
        title=str(deployment["name"]),
        subtitle="Differential-privacy audit"
        if "measured" in result
        else "Differential-privacy guarantee (no attack was run)",
        verdict=verdict_of(result),
        number_line=_number_line(result),
        findings=findings_of(result),
        sections=(
            guarantee.claimed(result),
            guarantee.guaranteed(result),
            *attack.achieved(result),
            *setting.buckets(result),
            *setting.how_it_was_run(result),
            *setting.rests_on(result),
        ),
        footer=f"dpaudit {result['dpaudit']}. Every number, unrounded, is in result.json.",
    )


def _number_line(result: Result) -> Figure:
    claimed = float(result["claim"]["epsilon"])
    tight = float(result["tight"]["epsilon"])
    paper = (result["paper"] or {}).get("epsilon")
    measured = result["measured"]["epsilon"] if "measured" in result else None
    delta = number(result["claim"]["delta"])
    known = [f"tight upper bound {upper(tight)}", f"claim {number(claimed)}"]
    if measured is not None:
        known.insert(0, f"measured lower bound {lower(measured)}")
    if paper is not None:
        known.append(f"the paper's accounting {upper(paper)}")
    return Figure(
        name="number-line",
        caption=f"ε at δ = {delta}. "
        + (
            "The measured lower bound lies above the proved upper bound: one of them is wrong."
            if measured is not None and float(measured) > tight
            else "The shaded stretch is where the true ε can lie."
        ),
        description=f"A line of ε values at δ = {delta}: {', '.join(known)}.",
        draw=lambda: figures.number_line(
            measured=None if measured is None else float(measured),
            tight=tight,
            claimed=claimed,
            paper=None if paper is None else float(paper),
        ),
    )
