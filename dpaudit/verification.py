"""What a deployment guarantees, and whether that proves its claim: no data, no model."""

from math import isinf
from typing import Any

import dpaudit
from accountants import FreE2TParameters, PaperTotal, TightTotal, tight_noise_std
from accountants.tight_total import ASSUMPTIONS
from dpaudit.deployment import Deployment
from dpaudit.parameters import release_parameters
from dpaudit.warning_list import WarningList, paper_warnings

PROVED, REFUTED, OPEN = "proved", "refuted", "open"
EXIT_CODES = {PROVED: 0, REFUTED: 1, OPEN: 3}

PAPER_SOURCE = "Fre-E2T, Lemmas 1 and 2 and Algorithm 3, as stated in the paper"
TIGHT_SOURCE = "Theorem J with the u-free collision term at records_max (docs/proofs)"


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
        ``tight`` (the same and ``noise_std_for_claim``), ``verdict`` ("proved" or "open"),
        ``warnings``, ``assumptions`` and ``exit_code`` (0 or 3). What is infeasible is None and
        named by a warning.

    Raises
    ------
    ParameterError
        If the accountants cannot take a parameter.
    """
    claim = deployment.claim
    parameters = release_parameters(deployment)
    warnings = WarningList()
    paper = paper_part(parameters, epsilon=claim.epsilon, delta=claim.delta, warnings=warnings)
    tight = tight_part(parameters, epsilon=claim.epsilon, delta=claim.delta, warnings=warnings)
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
        "paper": paper,
        "tight": tight,
        "verdict": verdict,
        "warnings": warnings.entries,
        "assumptions": assumptions(deployment),
        "exit_code": EXIT_CODES[verdict],
    }


def paper_part(
    parameters: FreE2TParameters, *, epsilon: float, delta: float, warnings: WarningList
) -> dict[str, Any]:
    """Return the paper's accounting at a claim; what is not a bound goes into ``warnings``."""
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
        },
        "is_bound": parameters.budget_factor >= 1 and terms.kappa * parameters.records_max <= 1,
        "source": PAPER_SOURCE,
    }


def tight_part(
    parameters: FreE2TParameters, *, epsilon: float, delta: float, warnings: WarningList
) -> dict[str, Any]:
    """Return the tight accounting at a claim, and the noise that would suffice for it."""
    total = TightTotal(parameters=parameters)
    found = float(total.epsilon(delta))
    split = total.split(epsilon)
    noise = tight_noise_std(parameters, epsilon=epsilon, delta=delta)
    if isinf(found):
        warnings.add(
            "tight-infeasible",
            f"no epsilon meets delta = {delta:.3g}: a bucket that is released only with the record "
            "present is too likely; raise the threshold or lower the sampling rate",
        )
    if isinf(noise):
        warnings.add(
            "no-noise-suffices",
            f"the sampled counts alone miss epsilon = {epsilon:.4g} at delta = {delta:.3g}: "
            "no noise_std is enough; raise the threshold or change the sampling rate",
        )
    near, far = split.parts()
    return {
        "epsilon": found,
        "delta": float(total.delta(epsilon)),
        "noise_std": parameters.noise_std,
        "noise_std_for_claim": None if isinf(noise) else noise,
        "terms": {
            "near_delta": near,
            "far_delta": far,
            "split_distance": split.distance,
            "lattice_step": parameters.lattice_step,
        },
        "source": TIGHT_SOURCE,
    }


def assumptions(deployment: Deployment) -> list[str]:
    """Return what has to hold for the guarantee, one sentence each."""
    claim = deployment.claim
    return [
        f"Adjacency is {claim.adjacency} of one record; the view is {claim.view} (the released "
        "counts and noisy sums, with the projection and grid offset).",
        *ASSUMPTIONS,
    ]
