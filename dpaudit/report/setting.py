"""The sections on how an audit was run, and on what its result rests."""

from collections.abc import Mapping
from typing import Any

from dpaudit.report import figures
from dpaudit.report.numbers import number, percent, upper
from dpaudit.report.page import Block, Bullets, Facts, Figure, Paragraph, Section

Result = Mapping[str, Any]

_NOISE = {
    "exact-rounded-gaussian": "exactly sampled, rounded continuous Gaussian, as in a real release",
    "float-gaussian": "floating-point Gaussian: for experiments only, never for publication",
}


def buckets(result: Result) -> tuple[Section, ...]:
    """Return the section on the release's buckets; none for a result without a release."""
    if "pipeline" not in result:
        return ()
    pipeline = result["pipeline"]
    heavy = _heavy_size(result)
    blocks: list[Block] = [
        Facts(
            (
                ("Occupied buckets", number(pipeline["buckets"])),
                ("Released buckets", number(pipeline["released_buckets"])),
                (
                    "Records in released buckets",
                    percent(pipeline["released_records_share"], digits=4),
                ),
            )
        )
    ]
    if pipeline["bucket_sizes"]:
        at = "" if heavy is None else f", and the size {number(heavy)} at which about half are"
        blocks.append(
            Figure(
                name="bucket-sizes",
                caption=f"Buckets by number of records{at} released"
                if at
                else "Buckets by number of records",
                description=(
                    "A histogram of bucket sizes, logarithmic in both directions: how many "
                    "buckets hold how many records."
                ),
                draw=lambda: figures.bucket_sizes(pipeline["bucket_sizes"], heavy=heavy),
            )
        )
    return (Section("The buckets of one release", tuple(blocks)),)


def how_it_was_run(result: Result) -> tuple[Section, ...]:
    """Return the section on data, model, randomness and errors; none without a measurement."""
    if "measured" not in result:
        return ()
    data, model = result["data"], result["model"]
    pipeline, measured = result["pipeline"], result["measured"]
    population = (
        f"simulated: {number(data['records'])} users draw from {number(data['distinct'])} "
        f"different texts, Zipf exponent {number(data['zipf'])}; the texts are real, the "
        "frequencies are not"
        if data["simulated_population"]
        else f"{number(data['records'])} records, {number(data['distinct'])} different texts"
    )
    seed = pipeline["projection_seed"]
    step = pipeline["lattice_step"]
    noise = _NOISE.get(pipeline["noise"], str(pipeline["noise"]))
    normalised = ", normalised" if model["normalised"] else ", not normalised"
    facts = [
        ("Texts", f"{data['source']}: {number(data['texts'])} texts"),
        ("Population", population),
        ("SHA-256 of the texts", str(data["sha256"])),
        (
            "Embedding model",
            f"{model['embedding']}: {number(model['dimension'])} dimensions{normalised}, "
            f"on {model['device']}",
        ),
        ("Seed of projection and offset", "fresh" if seed is None else str(seed)),
        ("Noise", noise + ("" if step is None else f", lattice step {number(step)}")),
        (
            "Randomness",
            "an experiment: coins and noise come from a seed or from floating point, so the "
            "output is repeatable and must not be published as a private release"
            if pipeline["experiment"]
            else "cryptographic, not repeatable",
        ),
        ("Confidence", f"{percent(measured['confidence'])}, one-sided, for all tests together"),
    ]
    facts += [
        (f"Error allowed: {name}", upper(error)) for name, error in measured["error_split"].items()
    ]
    sections = [Section("How it was run", (Facts(tuple(facts)),))]
    mechanism = result.get("fre_e2t")
    if mechanism:
        rows = tuple(
            (f"{name}", number(value)) for name, value in mechanism.items() if value is not None
        )
        sections.append(Section("The mechanism as configured", (Facts(rows),), True))
    return tuple(sections)


def rests_on(result: Result) -> tuple[Section, ...]:
    """Return the sections on assumptions and warnings."""
    assumptions = Bullets(tuple(("", str(text)) for text in result["assumptions"]))
    warned = tuple((str(item["code"]), str(item["message"])) for item in result["warnings"])
    warnings: Block = Bullets(warned) if warned else Paragraph("None.")
    return (
        Section(
            "Assumptions",
            (Paragraph("The guarantee rests on these; no audit can check them."), assumptions),
        ),
        Section("Warnings", (warnings,)),
    )


def _heavy_size(result: Result) -> float | None:
    """Return threshold / sampling_rate: the size of a bucket that is released every other time."""
    mechanism = result.get("fre_e2t")
    return None if not mechanism else mechanism["threshold"] / mechanism["sampling_rate"]
