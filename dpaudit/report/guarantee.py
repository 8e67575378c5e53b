"""The sections on what was claimed and what is guaranteed."""

import re
from collections.abc import Mapping
from typing import Any

from dpaudit.report.numbers import MISSING, lower, number, upper
from dpaudit.report.page import Block, Facts, Paragraph, Section, Table

Result = Mapping[str, Any]

SYSTEMS = {
    "fre-e2t": "Fre-E2T: embed, project, bucket on a random grid, sample, threshold, add noise, "
    "release counts and noisy sums"
}
ADJACENCIES = {
    "add-remove": "data sets that differ by one user's records added or removed (add-remove)",
    "replace-one": "data sets that differ in one user's records (replace-one)",
}
VIEWS = {
    "public": "anyone who sees what is released (public)",
    "synthesis-server": "the synthesis server: the release and the padded tags (synthesis-server)",
    "tagging-server": "the tagging server: the tag requests and the release (tagging-server)",
}

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
    "epsilon_distributed": "ε with the sum as a distributed discrete Gaussian",
}
_TIGHT_TERMS = {
    "near_delta": "δ from near bucket members (Theorem J)",
    "far_delta": "δ from far records in the same bucket",
    "split_distance": "distance that splits near from far",
    "rounding_distance": "what rounding adds to a distance",
}
_SOURCES = {
    "epsilon_fre": "Lemma 1",
    "delta_fre": "Lemma 1",
    "delta_sens": "Lemma 2",
    "delta_sens_union": "Lemma 2, with the union",
    "kappa": "proofs/grid-collision",
    "coupling_distance": "Algorithm 3",
    "noise_multiplier": "Algorithm 3",
    "epsilon_agg": "Algorithm 3",
    "delta_agg": "Algorithm 3",
    "epsilon_distributed": "Kairouz et al. 2021",
    "near_delta": "proofs/theorem-j",
    "far_delta": "proofs/u-free-total",
    "split_distance": "proofs/u-free-total",
    "rounding_distance": "proofs/u-free-total",
}
_LABELS = {**_PAPER_TERMS, **_TIGHT_TERMS}
_EXACT = {"coupling_distance", "noise_multiplier", "split_distance", "rounding_distance"}
_LEFT_OVER = {"epsilon_agg", "delta_agg"}


def claimed(result: Result) -> Section:
    """Return the section on the claim."""
    claim, deployment = result["claim"], result["deployment"]
    return Section(
        "What was claimed",
        (
            Paragraph(
                f"The release is ({number(claim['epsilon'])}, {number(claim['delta'])})-"
                "differentially private: it changes little, in the sense of ε and δ, "
                + _changed(claim)
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


def _changed(claim: Result) -> str:
    records = claim.get("records_per_user", 1)
    whose = "any one record" if records == 1 else f"any one user's {number(records)} records"
    if claim["adjacency"] == "replace-one":
        return f"whatever {whose} may say."
    return f"whether or not {whose} {'was' if records == 1 else 'were'} there."


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
    for table in (steps(result), paper_terms(result), tight_terms(result), costs(result)):
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


def steps(result: Result) -> Table:
    """Return the guarantees from the release to what is claimed, one a row with its source."""
    claim = result["claim"]
    epsilon, delta = float(claim["epsilon"]), float(claim["delta"])
    rows = tuple(
        (
            str(row["name"]),
            str(row["view"]),
            str(row["adjacency"]),
            upper(row["epsilon"], unlike=epsilon),
            upper(row["delta"], unlike=delta),
            _proofs(str(row["source"])),
        )
        for row in result.get("guarantees") or ()
    )
    columns = (
        "what", "view", "adjacency", f"ε at δ = {number(delta)}", f"δ at ε = {number(epsilon)}",
        "proofs",
    )  # fmt: skip
    return Table("From the release to what is claimed", columns, rows, words=(0, 1, 2, 5))


def _proofs(source: str) -> str:
    """Return the names of the proof pages that a source mentions."""
    return ", ".join(re.findall(r"docs/proofs/([a-z0-9-]+)\.md", source)) or source


def costs(result: Result) -> Table:
    """Return what dummies and integer sums cost, one a row; no rows where there are none."""
    protocol = result.get("protocol") or {}
    rows: list[tuple[str, str]] = []
    if dummies := protocol.get("dummies"):
        rows += [
            ("dummy messages, expected", number(dummies["expected_messages"])),
            ("dummy messages, at most", number(dummies["max_messages"])),
            ("padded counts alone, ε", upper(dummies["epsilon"])),
            ("padded counts alone, δ at that ε", upper(dummies["delta"])),
        ]
    if sums := protocol.get("sums"):
        rows += [
            ("coordinates that carry noise", number(sums["coordinates"])),
            ("bits for a wrap probability of 1e-4", number(sums["smallest_bits"])),
        ]
        if sums["modulus_bits"] is not None:
            wraps = upper(sums["wrap_probability"])
            rows.append((f"wrap probability with {sums['modulus_bits']} bits", wraps))
    return Table("What the protocol costs", ("what", "value"), tuple(rows))


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
        (_LABELS.get(name, name), _term(name, value), _SOURCES.get(name, MISSING), name)
        for name, value in (accounting.get("terms") or {}).items()
        if value is not None or name not in _TIGHT_TERMS
    )
    columns = ("term", "value", "source", "key in result.json")
    return Table(caption, columns, rows, words=(0, 2, 3))


def _term(name: str, value: Any) -> str:
    if value is None or isinstance(value, str):
        return MISSING if value is None else number(value)
    if name in _EXACT:
        return number(value)
    return lower(value) if name in _LEFT_OVER else upper(value)
