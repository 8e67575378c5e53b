"""The sections on how an audit was run, and on what its result rests."""

from collections.abc import Mapping
from typing import Any

from dpaudit.report import figures
from dpaudit.report.numbers import MISSING, number, percent, upper
from dpaudit.report.page import Block, Bullets, Facts, Figure, Paragraph, Section

Result = Mapping[str, Any]

_NOISE = {
    "exact-rounded-gaussian": "exactly sampled, rounded continuous Gaussian",
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
                    "Records that entered the release (sampled)",
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
    """Return the sections on data, model, randomness and errors; none without a measurement."""
    if "measured" not in result:
        return ()
    facts = (*_data(result["data"]), *_model(result["model"]), *_randomness(result))
    sections = [Section("How it was run", (Facts(facts),))]
    mechanism = result.get("fre_e2t")
    if mechanism:
        rows = tuple(
            (str(name), str(value) if name.endswith("seed") else number(value))
            for name, value in mechanism.items()
            if value is not None
        )
        sections.append(Section("The mechanism as configured", (Facts(rows),), True))
    sections.append(
        Section("Errors allowed", (Facts(_errors(result["measured"])),), part_of_above=True)
    )
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


def _data(data: Result) -> tuple[tuple[str, str], ...]:
    population = f"{number(data['records'])} records, {number(data['distinct'])} different texts"
    if data["simulated_population"]:
        population = (
            f"simulated: {number(data['records'])} users draw from {number(data['distinct'])} "
            f"different texts, Zipf exponent {number(data['zipf'])}; the texts are real, the "
            "frequencies are not"
        )
    licence = f"; licence {data['licence']}" if data.get("licence") else ""
    blank = data.get("skipped_blank") or 0
    skipped = f", {number(blank)} blank ones left out" if blank else ""
    return (
        ("Texts", f"{data['source']}: {number(data['texts'])} texts{skipped}{licence}"),
        ("SHA-256 of the texts", str(data["sha256"])),
        ("Population", population),
    )


def _model(model: Result) -> tuple[tuple[str, str], ...]:
    normalised = "normalised" if model["normalised"] else "not normalised"
    facts = [
        (
            "Embedding model",
            f"{model['embedding']}: {number(model['dimension'])} dimensions, {normalised}, "
            f"on {model['device']}",
        )
    ]
    if model.get("sha256"):
        facts.append(("SHA-256 of the model", str(model["sha256"])))
    return tuple(facts)


def _randomness(result: Result) -> tuple[tuple[str, str], ...]:
    pipeline, measured = result["pipeline"], result["measured"]
    seed, step = pipeline["projection_seed"], pipeline["lattice_step"]
    noise = _NOISE.get(pipeline["noise"], str(pipeline["noise"]))
    facts = [
        ("Seed of projection and offset", "fresh" if seed is None else str(seed)),
        ("Noise of the release", noise + ("" if step is None else f"; lattice {number(step)}")),
        (
            "Randomness",
            "an experiment: coins or noise can be reproduced, so the release must not be published"
            if pipeline["experiment"]
            else "cryptographic, not repeatable",
        ),
    ]
    trial_noise = measured.get("trial_noise")
    if trial_noise:
        facts.append(("Noise of the trials", _NOISE.get(trial_noise, str(trial_noise))))
    if "seed" in measured:
        seed = measured["seed"]
        facts.append(("Seed of the trials", "fresh" if seed is None else str(seed)))
    return tuple(facts)


def _errors(measured: Result) -> tuple[tuple[str, str], ...]:
    facts = [("Confidence, one-sided, for the verdict", percent(measured["confidence"]))]
    facts += [
        (str(name), upper(error) if error else MISSING)
        for name, error in measured["error_split"].items()
    ]
    if measured.get("violation_error") is not None:
        error = upper(measured["violation_error"])
        facts.append(("findings implementation-violates-analysis, together", error))
    return tuple(facts)


def _heavy_size(result: Result) -> float | None:
    """Return threshold / sampling_rate: the size of a bucket that is released every other time."""
    mechanism = result.get("fre_e2t")
    return None if not mechanism else mechanism["threshold"] / mechanism["sampling_rate"]
