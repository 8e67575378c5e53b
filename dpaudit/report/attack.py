"""The sections on what an adversary measurably achieved."""

from collections.abc import Mapping, Sequence
from typing import Any

from dpaudit.report import figures
from dpaudit.report.implementation import implementation_tests
from dpaudit.report.numbers import lower, number, percent, upper
from dpaudit.report.page import Block, Facts, Figure, Paragraph, Quote, Section, Table

Result = Mapping[str, Any]

_DIRECTIONS = {
    "add": "add: a hit is telling that the canary is in",
    "remove": "remove: a hit is telling that the canary is out",
}


def achieved(result: Result) -> tuple[Section, ...]:
    """Return the sections on the measurement; none for a result without one."""
    if "measured" not in result:
        return ()
    return (
        _overview(result),
        _worst_case(result),
        _in_distribution(result["measured"]),
        *implementation_tests(result["measured"]),
    )


def conditional_estimates(
    part: Result, *, caption: str, reference: str, key: str, short: bool = False
) -> Table:
    """Return measured ε by δ beside what theory allows for the same event.

    Parameters
    ----------
    part : mapping
        Holds ``estimates``.
    caption : str
        What the table is about.
    reference, key : str
        Heading and key of the theoretical value.
    short : bool
        Only δ, the bound and the theoretical value.
    """
    rows: list[tuple[str, ...]] = []
    for item in part["estimates"]:
        exceeded = number(float(item.get("threshold", 0.0)), digits=3)
        rows.append(
            (
                number(item["delta"]),
                lower(item["epsilon"], unlike=_float(item.get(key))),
                upper(item.get(key)),
                str(item["direction"]),
                exceeded,
                f"{number(item['true_positives'])} (≥ {lower(item['tpr_lower'])})",
                f"{number(item['false_positives'])} (≤ {upper(item['fpr_upper'])})",
            )
        )
    columns: tuple[str, ...] = (
        "δ",
        "measured ε ≥",
        reference,
        "direction",
        "score above",
        "hits (rate)",
        "false alarms (rate)",
    )
    if short:
        rows, columns = [row[:3] for row in rows], columns[:3]
    return Table(caption, columns, tuple(rows), (3,))


def _overview(result: Result) -> Section:
    measured, claim = result["measured"], result["claim"]
    return Section(
        "What an adversary achieved",
        (
            Paragraph(
                "The adversary knows every record but one, the canary, and decides from each "
                "release whether the canary was in it. From how often that succeeds and fails "
                "follows a lower bound on ε, valid at the stated confidence for everything that "
                "can change the verdict, together."
            ),
            Facts(
                (
                    (
                        f"Measured ε at δ = {number(claim['delta'])}",
                        f"at least {lower(measured['epsilon'], unlike=float(claim['epsilon']))}",
                    ),
                    (
                        f"Measured δ at ε = {number(claim['epsilon'])}",
                        f"at least {lower(measured['delta'], unlike=float(claim['delta']))}",
                    ),
                    ("Confidence, one-sided", percent(measured["confidence"])),
                    (
                        "Trials on each side",
                        f"{number(measured['trials_per_side'])}, "
                        f"{number(measured['bounding_trials_per_side'])} of them for the bounds "
                        "and the rest for choosing the threshold",
                    ),
                )
            ),
            *([Paragraph(str(measured["tables_note"]))] if measured.get("tables_note") else []),
            _delta_figure(result),
        ),
    )


def _worst_case(result: Result) -> Section:
    measured = result["measured"]
    worst = measured["worst_case"]
    blocks: list[Block] = [
        Paragraph(
            "The canary is placed where the mechanism is weakest: at distance D from N other "
            "records that coincide, with M such clusters in spread directions. D, N and M were "
            "chosen before the trials, for the largest bound that their number is expected to "
            "show. The projection is public and random, so the bound on the total is the exact "
            "probability that the canary shares a bucket with one cluster, times what is measured "
            "given that it does."
        ),
        Facts(
            (
                ("D, distance to its neighbours", number(worst["distance"])),
                ("N, coinciding neighbours", number(worst["neighbours"])),
                ("M, clusters", number(worst["clusters"])),
                (
                    "Probability of sharing a bucket with exactly one (exact, rounded down)",
                    lower(worst["collision_probability"]),
                ),
                *_verdict_test(worst, measured["bounding_trials_per_side"]),
            )
        ),
        Table(
            "In total; the verdict is at the claimed δ",
            ("δ", "measured ε ≥"),
            tuple(
                (number(item["delta"]), lower(item["epsilon"]))
                for item in worst["total"]["estimates"]
            ),
            words=(),
        ),
        conditional_estimates(
            worst["conditional"],
            caption="Given that they share a bucket",
            reference="Theorem J ε",
            key="theorem_j_epsilon",
        ),
        Paragraph(
            "The second table is about the release alone, given that canary and cluster share a "
            "bucket. Theorem J is the proved upper bound for the same event: a correct "
            "implementation and a good attack come close to it from below."
        ),
        _conditional_figure(
            "given-collision",
            worst["conditional"]["delta_curve"],
            key="theorem_j",
            bound="Theorem J at this D",
            caption="Given the collision: measured δ and Theorem J at the same distance",
        ),
    ]
    if worst.get("trials_needed") is not None:
        blocks.append(
            Paragraph(
                f"About {number(worst['trials_needed'])} trials on each side would be needed for "
                "this attack to refute the claim."
            )
        )
    if worst.get("note"):
        blocks.append(Paragraph(str(worst["note"])))
    return Section("Worst-case canary", tuple(blocks), part_of_above=True)


def _verdict_test(worst: Result, bounding: int) -> tuple[tuple[str, str], ...]:
    """Return the one pair of rates behind the verdict, where the result names it."""
    if "true_positives" not in worst:
        return ()
    of = f"of {number(bounding)}"
    return (
        (
            "Hits behind the verdict",
            f"{number(worst['true_positives'])} {of}: a rate of at least "
            f"{lower(worst['tpr_lower'])}",
        ),
        (
            "False alarms behind the verdict",
            f"{number(worst['false_positives'])} {of}: a rate of at most "
            f"{upper(worst['fpr_upper'])}",
        ),
        ("Direction", _DIRECTIONS.get(worst["direction"], str(worst["direction"]))),
    )


def _in_distribution(measured: Result) -> Section:
    heading = "In-distribution canary (conditional; not part of the verdict)"
    part = measured.get("in_distribution")
    if part is None:
        text = "There is no in-distribution result in this run."
        return Section(heading, (Paragraph(text),), part_of_above=True)
    bucket = [("Other records in its bucket", number(part["bucket_members"]))]
    if "bucket_texts" in part:
        bucket.append(("Different texts in its bucket", number(part["bucket_texts"])))
    if "trials_per_side" in part:
        bucket.append(("Trials on each side", number(part["trials_per_side"])))
    blocks: list[Block] = [
        Paragraph(
            "One real text of the corpus, chosen before the trials, in the bucket it falls into "
            "under one fixed projection. The result is conditional on that projection and says "
            "something about typical risk; it can neither prove nor refute the claim."
        ),
        Quote("The text", str(part["text"])),
        Facts(tuple(bucket)),
        conditional_estimates(
            part,
            caption="In this bucket, with this projection",
            reference="average of J ε",
            key="average_j_epsilon",
        ),
    ]
    curve = part.get("delta_curve") or ()
    if curve:
        blocks.append(
            _conditional_figure(
                "in-distribution",
                curve,
                key="average_j",
                bound="Theorem J, averaged over its bucket",
                caption="In distribution, this projection only: measured δ and its own bound",
            )
        )
    if part.get("note"):
        blocks.append(Paragraph(str(part["note"])))
    return Section(heading, tuple(blocks), part_of_above=True)


def _delta_figure(result: Result) -> Figure:
    claim, measured = result["claim"], result["measured"]
    curve = measured["worst_case"]["total"]["delta_curve"]
    reached = [(float(claim["epsilon"]), float(measured["delta"]))]
    if float(measured["epsilon"]) > 0:
        reached.append((float(measured["epsilon"]), float(claim["delta"])))
    return Figure(
        name="delta-curve",
        caption="δ against ε: the tight upper bound, the measured lower bound, and the claim",
        description=(
            "Two curves of δ on a logarithmic scale against ε. The truth lies between the tight "
            f"upper bound and the measured lower bound; the claim is the point ε = "
            f"{number(claim['epsilon'])}, δ = {number(claim['delta'])}."
        ),
        draw=lambda: figures.delta_curves(
            curve,
            measured="delta_lower",
            bound="tight_upper",
            labels=("tight upper bound", "measured lower bound"),
            claim=(float(claim["epsilon"]), float(claim["delta"])),
            reached=reached,
        ),
    )


def _conditional_figure(
    name: str, curve: Sequence[Result], *, key: str, bound: str, caption: str
) -> Figure:
    return Figure(
        name=name,
        caption=caption,
        description=(
            "Two curves of δ on a logarithmic scale against ε, for one event: what theory allows "
            "and, below it, what was measured."
        ),
        draw=lambda: figures.delta_curves(
            curve,
            measured="delta_lower",
            bound=key,
            labels=(bound, "measured lower bound"),
        ),
    )


def _float(value: Any) -> float | None:
    return None if value is None else float(value)
