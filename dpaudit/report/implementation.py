"""The sections on whether the implementation is what was analysed."""

from collections.abc import Mapping, Sequence
from typing import Any

from dpaudit.report.numbers import number
from dpaudit.report.page import Paragraph, Section, Table

Result = Mapping[str, Any]


def implementation_tests(measured: Result) -> tuple[Section, ...]:
    """Return the sections on the grid's frequencies and the diagnostic canaries, if any ran."""
    sections = [_collision(measured.get("collision") or ())]
    if measured.get("diagnostics"):
        sections.append(_diagnostics(measured["diagnostics"]))
    return tuple(sections)


def _collision(rows: Sequence[Result]) -> Section:
    table = Table(
        "How often two points share a coordinate's cell",
        ("distance", "computed", "observed", "coordinates", "p-value", "where"),
        tuple(
            (
                number(item["distance"]),
                number(item["expected"]),
                number(item["observed"]),
                number(item["coordinates"]),
                number(item["p_value"], digits=3),
                str(item.get("place", "")),
            )
            for item in rows
        ),
        words=(5,),
    )
    return Section(
        "Does the grid collide as computed?",
        (
            Paragraph(
                "The exact collision probability holds for one law of projection and offset only. "
                "So the implemented grid is run on pairs of points; a frequency off the computed "
                "one would reveal a clamp, a clip or an origin that depends on data."
            ),
            table,
        ),
        part_of_above=True,
    )


def _diagnostics(rows: Sequence[Result]) -> Section:
    table = Table(
        "Canaries compared with Theorem J only",
        ("distance", "neighbours", "trials a side", "where"),
        tuple(
            (
                number(item["distance"]),
                number(item["neighbours"]),
                number(item["trials_per_side"]),
                str(item["place"]),
            )
            for item in rows
        ),
        words=(3,),
    )
    return Section(
        "Does the release stage keep to Theorem J elsewhere?",
        (
            Paragraph(
                "The worst-case canary is placed to refute the claim, and many faults hardly show "
                "there. These canaries lie where faults in threshold, coins and noise show most. "
                "What contradicts Theorem J is listed among the findings at the top; they have no "
                "part in the verdict on the claim."
            ),
            table,
        ),
        part_of_above=True,
    )
