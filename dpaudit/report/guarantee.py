"""The sections on what was claimed and what is guaranteed."""

from collections.abc import Mapping
from typing import Any

from dpaudit.report.numbers import MISSING, lower, number, upper
from dpaudit.report.page import Block, Facts, Paragraph, Section, Table

Result = Mapping[str, Any]

SYSTEMS = {
    "fre-e2t": "Fre-E2T: embed, project, bucket on a random grid, sample, threshold, add noise, "
    "release counts and noisy sums"
}
ADJACENCIES = {"add-remove": "data sets that differ by one record added or removed (add-remove)"}
VIEWS = {"public": "anyone who sees what is released (public)"}

_PAPER_TERMS = {
    "epsilon_fre": "ε for sampling and threshold (Lemma 1)",
    "delta_fre": "δ for sampling and threshold (Lemma 1)",
    "delta_sens": "δ for one far pair in a bucket (Lemma 2)",
    "delta_sens_union": "δ for far pairs, union over all records",
    "kappa": "κ, the weight of one record in that union",
    "coupling_distance": "coupling distance Δ = u r",
    "noise_multiplier": "noise multiplier m = noise_std / Δ",
    "epsilon_agg": "ε left for the noisy sum",
    "delta_agg": "δ left for the noisy sum",
}
_TIGHT_TERMS = {
    "near_delta": "δ from near bucket members (Theorem J)",
    "far_delta": "δ from far records in the same bucket",
    "split_distance": "distance that splits near from far",
    "lattice_step": "lattice step of a real release",
}
_LABELS = {**_PAPER_TERMS, **_TIGHT_TERMS}
_EXACT = {"coupling_distance", "noise_multiplier", "split_distance", "lattice_step"}
_LEFT_OVER = {"epsilon_agg", "delta_agg"}


def claimed(result: Result) -> Section:
    """Return the section on the claim."""
    claim, deployment = result["claim"], result["deployment"]
    return Section(
        "What was claimed",
        (
            Paragraph(
                f"The release is ({number(claim['epsilon'])}, {number(claim['delta'])})-"
                "differentially private: it changes little, in the sense of ε and δ, whether or "
                "not any one record was there."
            ),
            Facts(
                (
                    ("Deployment", str(deployment["name"])),
                    ("System", SYSTEMS.get(deployment["system"], str(deployment["system"]))),
                    ("Claim", f"ε = {number(claim['epsilon'])}, δ = {number(claim['delta'])}"),
                    ("Neighbours", ADJACENCIES.get(claim["adjacency"], str(claim["adjacency"]))),
                    ("Adversary", VIEWS.get(claim["view"], str(claim["view"]))),
                )
            ),
        ),
    )


def guaranteed(result: Result) -> Section:
    """Return the section on the two accountings."""
    blocks: list[Block] = [
        Paragraph(
            "Two accountings of the same mechanism. The tight one is a proved upper bound and "
            "decides the verdict. The paper's repeats what the authors of the system state; a "
            "warning says where that statement is not a bound."
        ),
        accountings(result),
        Paragraph(noise_sentence(result)),
    ]
    for table in (paper_terms(result), tight_terms(result)):
        if table.rows:
            blocks.append(table)
    return Section("What is guaranteed", tuple(blocks))


def accountings(result: Result) -> Table:
    """Return the claim and both accountings, as ε at the claimed δ and δ at the claimed ε."""
    claim, paper, tight = result["claim"], result["paper"] or {}, result["tight"]
    epsilon, delta = float(claim["epsilon"]), float(claim["delta"])
    rows = [
        ("claimed", number(epsilon), number(delta)),
        (
            "paper" if paper.get("is_bound") else "paper (not a bound here)",
            upper(paper.get("epsilon"), unlike=epsilon),
            upper(paper.get("delta"), unlike=delta),
        ),
        (
            "tight (proved)",
            upper(tight["epsilon"], unlike=epsilon),
            upper(tight["delta"], unlike=delta),
        ),
    ]
    if "is_bound" not in paper or paper.get("epsilon") is None:
        rows[1] = ("paper", *rows[1][1:])
    if "measured" in result:
        found = result["measured"]
        rows.append(
            (
                "measured (at least)",
                lower(found["epsilon"], unlike=epsilon),
                lower(found["delta"], unlike=delta),
            )
        )
    return Table(
        "Guarantees beside the claim",
        ("accounting", f"ε at δ = {number(delta)}", f"δ at ε = {number(epsilon)}"),
        tuple(rows),
    )


def paper_terms(result: Result) -> Table:
    """Return the terms of the paper's accounting, one a row; no rows where there is none."""
    return _terms("Terms of the paper's accounting", result["paper"] or {})


def tight_terms(result: Result) -> Table:
    """Return the terms of the tight accounting, one a row."""
    claimed = number(result["claim"]["epsilon"])
    return _terms(f"Terms of the tight accounting, at ε = {claimed}", result["tight"])


def noise_sentence(result: Result) -> str:
    """Return how the configured noise compares with what the claim needs."""
    tight = result["tight"]
    needed, given = tight["noise_std_for_claim"], tight.get("noise_std")
    if needed is None:
        return "No amount of noise meets the claim: the sampled counts alone already miss it."
    sentence = f"A noise_std of {upper(needed)} would suffice for the claim"
    if given is None:
        return sentence + "."
    ratio = given / needed
    compared = (
        f"{number(ratio, digits=3)} times that"
        if ratio >= 1
        else f"only {number(ratio, digits=3)} times that"
    )
    return f"{sentence}; {number(given)} is configured, {compared}."


def _terms(caption: str, accounting: Result) -> Table:
    rows = tuple(
        (_LABELS.get(name, name), _term(name, value), name)
        for name, value in (accounting.get("terms") or {}).items()
    )
    return Table(caption, ("term", "value", "key in result.json"), rows, words=(0, 2))


def _term(name: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return MISSING if value is None else number(value)
    if name in _EXACT:
        return number(value)
    return lower(value) if name in _LEFT_OVER else upper(value)
