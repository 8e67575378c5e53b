"""From a deployment file to a verdict: guarantee, pipeline run, attacks, bounds."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accountants import FreE2TParameters, TightTotal
from dpaudit.auditing import in_distribution, worst_case
from dpaudit.auditing.bucket_scores import TrialSettings
from dpaudit.auditing.collision import (
    CollisionTest,
    DrawCells,
    grid_cells,
    measure_collisions,
    pair_distances,
)
from dpaudit.auditing.corpus_run import CorpusRun, run_corpus
from dpaudit.auditing.diagnostics import Diagnostic, measure_diagnostics
from dpaudit.auditing.error_budget import (
    VIOLATION_ERROR,
    ErrorBudget,
    error_budget,
    violation_share,
)
from dpaudit.auditing.findings import collision_findings, decide, violation_findings
from dpaudit.auditing.in_distribution import InDistribution
from dpaudit.auditing.worst_case import WorstCase
from dpaudit.data.load import load_records
from dpaudit.deployment import Deployment
from dpaudit.errors import ModelError, ParameterError
from dpaudit.parameters import release_parameters
from dpaudit.pipeline.embedding import load_embedder
from dpaudit.pipeline.release import release_buckets
from dpaudit.pipeline.trials import ReleaseFunction
from dpaudit.verification import verify

_BEYOND_UNIT = (
    " This model's embeddings have length 1, so two texts are never farther apart than 2; the "
    "mechanism and its analysis set no such limit, and this canary makes use of that."
)


def audit(
    deployment: Deployment,
    *,
    trials: int | None = None,
    progress: bool = False,
    workers: int = 1,
    store: Path | str | None = None,
    resume: bool = False,
    release: ReleaseFunction = release_buckets,
    draw_cells: DrawCells | None = None,
) -> dict[str, Any]:
    """Verify a deployment, run it on its texts, attack it, and decide.

    Parameters
    ----------
    deployment : Deployment
        With ``[data]`` and ``[model]``.
    trials : int, optional
        Trials on each side instead of ``[audit] trials``; the first half chooses thresholds, the
        second half bounds.
    progress : bool
        Show progress on standard error.
    workers : int
        Processes that run trials; no result depends on their number.
    store : Path or str, optional
        Folder that keeps the trials' scores, a folder for each canary; the audit needs a seed.
    resume : bool
        Go on with what ``store`` holds: the result is that of an audit never interrupted.
    release : callable
        The release stage under audit; by default dpaudit's own.
    draw_cells : callable, optional
        The grid under audit, (vectors, public seed) -> cells; by default dpaudit's own.

    Returns
    -------
    dict
        What :func:`dpaudit.verify` returns, with ``verdict`` possibly "refuted", and ``data``,
        ``model``, ``pipeline``, ``measured``, ``findings`` and ``exit_code`` (0 proved, 1 refuted
        or a finding, 3 open). JSON-able but for infinities.

    Raises
    ------
    DataError, ModelError, DeploymentError, ParameterError
        If texts, model or parameters cannot be used.
    """
    if trials is not None:
        deployment = deployment.replace(audit={"trials": trials})
    deployment.require_auditable()
    result = verify(deployment)
    parameters = release_parameters(deployment)
    if resume and store is None:
        raise ParameterError("resume: a store is needed")
    if store is not None and deployment.audit.seed is None:
        raise ParameterError(
            f"{deployment.source}: [audit] seed: a seed is needed to keep trials in a store"
        )
    settings = TrialSettings(
        release=release,
        workers=workers,
        store=None if store is None else Path(store),
        resume=resume,
        progress=progress,
    )
    seeds = _Seeds(deployment.audit.seed)
    corpus, records = load_records(deployment)
    if deployment.model is None:
        raise ModelError(
            f"{deployment.source}: a [model] section that names an embedding is needed"
        )
    embedder = load_embedder(
        deployment.model.embedding,
        device=deployment.model.device,
        dimension=parameters.embedding_dim,
        directory=deployment.directory,
    )
    vectors = embedder.encode(records.texts, progress=progress)
    run = run_corpus(
        vectors,
        records.rows,
        parameters=parameters,
        projection_seed=deployment.fre_e2t.projection_seed,
        seed=deployment.audit.seed,
        device=embedder.device,
    )
    measured, findings = _attack(
        deployment,
        parameters,
        np.asarray(vectors, float),
        records.texts,
        records.rows,
        run,
        seeds=seeds,
        trial_settings=settings,
        draw_cells=draw_cells or grid_cells(parameters, device=embedder.device),
    )
    if embedder.normalised and measured["worst_case"]["distance"] > 2:
        measured["worst_case"]["note"] += _BEYOND_UNIT
    verdict, findings, exit_code = decide(
        proved=result["verdict"] == "proved",
        measured_epsilon=measured["epsilon"],
        claim_epsilon=deployment.claim.epsilon,
        confidence=deployment.audit.confidence,
        findings=findings,
    )
    return {
        **result,
        "command": "audit",
        "data": {
            "source": corpus.source,
            "licence": corpus.licence,
            "texts": len(corpus.texts),
            "distinct": len(records.texts),
            "records": records.records,
            "skipped_blank": corpus.skipped_blank,
            "simulated_population": records.simulated,
            "zipf": records.zipf,
            "sha256": corpus.sha256,
        },
        "model": {
            "embedding": embedder.name,
            "dimension": embedder.dimension,
            "device": embedder.device,
            "normalised": embedder.normalised,
            "sha256": embedder.sha256,
        },
        "pipeline": run.to_dict(),
        "measured": measured,
        "findings": findings,
        "verdict": verdict,
        "exit_code": exit_code,
    }


class _Seeds:
    """Independent streams of one audit: of its seed, or of fresh entropy."""

    def __init__(self, seed: int | None) -> None:
        root = np.random.SeedSequence(seed)
        self.worst_case, self.in_distribution, self.collision, self.diagnostics = root.spawn(4)


def _attack(
    deployment: Deployment,
    parameters: FreE2TParameters,
    vectors: NDArray[np.float64],
    texts: tuple[str, ...],
    rows: NDArray[np.int32],
    run: CorpusRun,
    *,
    seeds: _Seeds,
    trial_settings: TrialSettings,
    draw_cells: DrawCells,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run both canaries and the collision test; return what was measured, and findings."""
    claim, settings = deployment.claim, deployment.audit
    budget = error_budget(confidence=settings.confidence, delta=claim.delta)
    tight = TightTotal(parameters=parameters)
    worst = worst_case.measure_worst_case(
        parameters,
        epsilon=claim.epsilon,
        delta=claim.delta,
        trials=settings.trials,
        budget=budget,
        seed=seeds.worst_case,
        settings=trial_settings,
    )
    place = in_distribution.choose_text(vectors, rows, run.row_buckets, parameters=parameters)
    real = None
    if place is not None:
        real = in_distribution.measure_in_distribution(
            place,
            vectors,
            parameters=parameters,
            trials=settings.trials,
            seed=seeds.in_distribution,
            settings=trial_settings,
        )
    collisions = measure_collisions(
        vectors,
        parameters=parameters,
        distances=pair_distances(parameters, canary=worst.dataset.distance),
        draw_cells=draw_cells,
        seed=seeds.collision,
        progress=trial_settings.progress,
    )
    diagnostics = measure_diagnostics(
        parameters,
        trials=settings.trials,
        seed=seeds.diagnostics,
        settings=trial_settings,
    )
    findings = _findings(worst, real, collisions, diagnostics, tight)
    total = worst.total_epsilon(claim.delta)
    described = worst_case.describe(worst, budget, tight, epsilon=claim.epsilon)
    needed, note = _outlook(worst, parameters, budget, deployment, measured=total)
    return {
        "epsilon": total,
        "delta": worst.total_delta(claim.epsilon),
        "confidence": settings.confidence,
        "error_split": budget.split,
        "violation_error": VIOLATION_ERROR,
        "tables_note": (
            "The verdict's bounds hold together at the stated confidence; each table row and curve "
            "point holds on its own at that confidence."
        ),
        "trials_per_side": settings.trials,
        "bounding_trials_per_side": worst.scores.bounding_trials,
        "trial_noise": "float-gaussian",
        "seed": settings.seed,
        "worst_case": {**described, "trials_needed": needed, "note": note},
        "in_distribution": None
        if real is None
        else in_distribution.describe(real, budget, text=texts[real.place.row]),
        "collision": [test.to_dict() for test in collisions],
        "diagnostics": [diagnostic.to_dict() for diagnostic in diagnostics],
    }, findings


def _findings(
    worst: WorstCase,
    real: InDistribution | None,
    collisions: list[CollisionTest],
    diagnostics: list[Diagnostic],
    tight: TightTotal,
) -> list[dict[str, Any]]:
    """Test everything measured against its analysis, at 1e-6 in all."""
    share = violation_share(canaries=3 + len(diagnostics), collision_tests=len(collisions))
    epsilons = worst.given.test_epsilons()
    totals = tight.delta(epsilons)
    found = [
        *violation_findings(
            worst.given.violations(tail=share),
            "the worst-case canary, given the collision",
            "Theorem J",
        ),
        *violation_findings(
            worst.scores.violations(
                lambda _, __: totals, epsilons, factor=worst.chance, tail=share
            ),
            "the worst-case canary, times the collision's probability",
            "the tight total",
        ),
        *collision_findings(collisions, share),
    ]
    for diagnostic in diagnostics:
        found += violation_findings(
            diagnostic.given.violations(tail=share),
            f"a diagnostic canary ({diagnostic.place})",
            "Theorem J",
        )
    if real is not None:
        found += violation_findings(
            real.scores.violations(real.reference, real.test_epsilons(), tail=share),
            "a real text in its bucket",
            "the average of Theorem J over the bucket",
        )
    return found


def _outlook(
    worst: WorstCase,
    parameters: FreE2TParameters,
    budget: ErrorBudget,
    deployment: Deployment,
    *,
    measured: float,
) -> tuple[int | None, str]:
    """Say how many trials a refutation would take, where none came about."""
    claim = deployment.claim
    if measured > claim.epsilon:
        return None, "The measured total exceeds the claim."
    most = float(TightTotal(parameters=parameters).delta(claim.epsilon))
    if most <= claim.delta:
        return None, "The claim is proved for this mechanism: no number of trials should refute it."
    needed = worst_case.trials_needed(
        parameters, epsilon=claim.epsilon, delta=claim.delta, tail=budget.tail
    )
    if needed is None:
        return None, (
            "Counting releases of this kind of canary would not refute the claim with 1e9 trials "
            "a side: at this epsilon its signal is too rare, or the claim may hold."
        )
    if needed <= deployment.audit.trials:
        return needed, "A refutation was expected with these trials, and did not come about."
    return needed, f"A refutation is expected from about {needed:.1g} trials a side."
