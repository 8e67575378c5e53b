"""What a deployment guarantees, and whether that proves its claim: no data, no model."""

from collections.abc import Mapping, Sequence
from math import isinf, sqrt
from typing import Any

import dpaudit
from accountants import FreE2TParameters, PaperTerms, PaperTotal
from accountants.distributed_gaussian import DistributedGaussian
from accountants.distributed_total import DistributedTotal
from accountants.guarantee import Guarantee
from accountants.tight_total import TightTotal
from accountants.u_free import Split
from dpaudit.deployment import Deployment
from dpaudit.guarantees import (
    claimed_noise_std,
    distributed_noise,
    dummy_tags,
    guarantee_rows,
    guarantee_steps,
    modular_sum,
)
from dpaudit.parameters import release_parameters
from dpaudit.warning_list import WarningList, paper_warnings

PROVED, REFUTED, OPEN = "proved", "refuted", "open"
EXIT_CODES = {PROVED: 0, REFUTED: 1, OPEN: 3}

PAPER_SOURCE = "Fre-E2T, Lemmas 1 and 2 and Algorithm 3, as stated in the paper"


def verify(deployment: Deployment) -> dict[str, Any]:
    """Return the guarantee of a deployment beside its claim.

    Parameters
    ----------
    deployment : Deployment
        ``[data]``, ``[model]`` and ``[audit]`` play no part.

    Returns
    -------
    dict
        JSON-able but for infinities: ``claim``, ``paper`` (``epsilon``, ``delta``, ``terms``),
        ``tight`` (the same and ``noise_std_for_claim``), ``guarantees`` (one row for each step from
        the release to what is claimed), ``protocol`` (messages and widths, where there are any),
        ``verdict`` ("proved" or "open"), ``warnings``, ``assumptions`` and ``exit_code`` (0 or 3).
        What is infeasible is None and named by a warning.

    Raises
    ------
    DeploymentError
        If the view that the deployment claims is not private.
    ParameterError
        If the accountants cannot take a parameter.
    """
    claim = deployment.claim
    warnings = WarningList()
    steps = guarantee_steps(deployment)
    paper = paper_part(deployment, epsilon=claim.epsilon, delta=claim.delta, warnings=warnings)
    rows = guarantee_rows(steps, epsilon=claim.epsilon, delta=claim.delta)
    tight = tight_part(deployment, steps, rows, warnings=warnings)
    verdict = PROVED if tight["epsilon"] <= claim.epsilon else OPEN
    if paper["epsilon"] is not None and tight["epsilon"] > paper["epsilon"]:
        warnings.add(
            "paper-below-tight",
            f"the paper's epsilon {paper['epsilon']:.4g} is below the tight bound "
            f"{tight['epsilon']:.4g}; where its statement is not a bound, only the latter holds",
        )
    return {
        "dpaudit": dpaudit.__version__,
        "command": "verify",
        "deployment": deployment.deployment.model_dump(),
        "claim": claim.model_dump(),
        "fre_e2t": deployment.fre_e2t.model_dump(),
        "distributed": deployment.distributed.model_dump() if deployment.distributed else None,
        "dummies": deployment.dummies.model_dump() if deployment.dummies else None,
        "paper": paper,
        "tight": tight,
        "guarantees": rows,
        "protocol": protocol(deployment),
        "verdict": verdict,
        "warnings": warnings.entries,
        "assumptions": assumptions(steps[-1]),
        "exit_code": EXIT_CODES[verdict],
    }


def paper_part(
    deployment: Deployment, *, epsilon: float, delta: float, warnings: WarningList
) -> dict[str, Any]:
    """Return the paper's accounting at a claim; what is not a bound goes into ``warnings``."""
    parameters = release_parameters(deployment)
    if parameters.sensitivity_ratio is None or parameters.budget_factor is None:
        warnings.add(
            "paper-parameters-missing",
            "sensitivity_ratio and budget_factor are not both given: no accounting by the paper",
        )
        return {
            "epsilon": None, "delta": None, "terms": {}, "is_bound": False, "source": PAPER_SOURCE
        }  # fmt: skip
    total = PaperTotal(parameters=parameters)
    terms = total.terms
    calibrated = total.calibrate(epsilon=epsilon, delta=delta)
    found = float(total.epsilon(delta))
    below = epsilon < terms.epsilon_fre
    paper_warnings(
        warnings,
        parameters=parameters,
        terms=terms,
        calibrated=calibrated,
        claim=(epsilon, delta),
        paper_epsilon=found,
    )
    return {
        "epsilon": found,
        "delta": None if below else float(total.delta(epsilon)),
        "terms": {
            "epsilon_fre": terms.epsilon_fre,
            "delta_fre": terms.delta_fre,
            "delta_sens": terms.delta_sens,
            "delta_sens_union": terms.delta_sens_union,
            "kappa": terms.kappa,
            "coupling_distance": terms.coupling_distance,
            "noise_multiplier": terms.noise_multiplier,
            "epsilon_agg": calibrated.epsilon_agg if calibrated.epsilon_agg > 0 else None,
            "delta_agg": calibrated.delta_agg if calibrated.delta_agg > 0 else None,
            **_shared_noise_term(deployment, parameters, terms, calibrated.delta_agg),
        },
        "is_bound": parameters.budget_factor >= 1
        and terms.kappa * parameters.records_max <= 1
        and _about_the_release(deployment),
        "source": PAPER_SOURCE,
    }


def _shared_noise_term(
    deployment: Deployment, parameters: FreE2TParameters, terms: PaperTerms, delta_agg: float
) -> dict[str, float]:
    """Return the paper's epsilon with the sum accounted for as a distributed discrete Gaussian."""
    noise = distributed_noise(deployment)
    if noise is None or not 0 < delta_agg < 1:
        return {}
    summed = DistributedGaussian(
        contributors=parameters.threshold,
        bound=terms.coupling_distance,
        granularity=noise.granularity,
        local_noise_std=parameters.noise_std / sqrt(parameters.threshold),
        dimension=noise.coordinates(parameters.embedding_dim),
    )
    return {"epsilon_distributed": terms.epsilon_fre + float(summed.epsilon(delta_agg))}


def _about_the_release(deployment: Deployment) -> bool:
    """Whether the claim is about what the paper's total is about."""
    claim = deployment.claim
    return (
        claim.view == "public"
        and claim.adjacency == "add-remove"
        and claim.records_per_user == 1
        and claim.colluders == 0
        and deployment.distributed is None
    )


def tight_part(
    deployment: Deployment,
    steps: Sequence[Guarantee],
    rows: Sequence[Mapping[str, Any]],
    *,
    warnings: WarningList,
) -> dict[str, Any]:
    """Return the tight accounting at the claim, and the noise that would suffice for it."""
    epsilon, delta = deployment.claim.epsilon, deployment.claim.delta
    found = float(rows[-1]["epsilon"])
    noise = claimed_noise_std(deployment, epsilon=epsilon, delta=delta)
    if isinf(found):
        warnings.add(
            "tight-infeasible",
            f"no epsilon meets delta = {delta:.3g}: what one record changes for certain (a bucket "
            "released only with it, a tag beyond its dummies) is too likely",
        )
    if isinf(noise):
        warnings.add(
            "no-noise-suffices",
            f"the counts alone miss epsilon = {epsilon:.4g} at delta = {delta:.3g}: no noise_std "
            "is enough; raise the threshold or change the sampling rate (or the dummies)",
        )
    split = _split(steps, epsilon)
    near, far = split.parts() if split else (None, None)
    release = release_parameters(deployment)
    return {
        "epsilon": found,
        "delta": float(rows[-1]["delta"]),
        "noise_std": release.noise_std,
        "noise_std_for_claim": None if isinf(noise) else noise,
        "terms": {
            "near_delta": near,
            "far_delta": far,
            "split_distance": split.distance if split else None,
            "rounding_distance": _release_total(steps).parameters.rounding,
        },
        "source": steps[-1].source,
    }


def _release_total(steps: Sequence[Guarantee]) -> TightTotal:
    """Return the tight total behind the first step: the release itself."""
    profile = steps[0].profile
    if isinstance(profile, DistributedTotal):
        return profile.total
    assert isinstance(profile, TightTotal)
    return profile


def _split(steps: Sequence[Guarantee], epsilon: float) -> Split | None:
    """Return near and far part of the release's own bound, where the claim is about just that."""
    return _release_total(steps).split(epsilon) if len(steps) == 1 else None


def protocol(deployment: Deployment) -> dict[str, Any]:
    """Return what the dummies and the integers of the sums cost: messages, bits, failures."""
    costs: dict[str, Any] = {}
    dummies = dummy_tags(deployment)
    if dummies is not None:
        simple_epsilon, simple_delta = dummies.simple()
        costs["dummies"] = {
            "expected_messages": dummies.expected_messages,
            "max_messages": dummies.max_messages,
            "epsilon": simple_epsilon,
            "delta": simple_delta,
        }
    sums = modular_sum(deployment)
    section = deployment.distributed
    if sums is not None and section is not None:
        costs["sums"] = {
            "coordinates": sums.dimension,
            "smallest_bits": sums.smallest_bits(),
            "modulus_bits": section.modulus_bits,
            "wrap_probability": sums.failure(section.modulus_bits)
            if section.modulus_bits
            else None,
        }
    return costs


def assumptions(guarantee: Guarantee) -> list[str]:
    """Return what has to hold for a guarantee, one sentence each."""
    return [
        f"Adjacency is {guarantee.adjacency}; the view is {_VIEWS[guarantee.view.party]}"
        + (f", together with {guarantee.view.colluders} users" if guarantee.view.colluders else "")
        + ".",
        *guarantee.assumptions,
    ]


_VIEWS = {
    "public": "public (the released counts and noisy sums, with the projection and grid offset)",
    "synthesis-server": "the synthesis server's (the release, and the padded tags below the "
    "threshold)",
    "tagging-server": "the tagging server's (the tag requests, and the release)",
}
