"""The smallest noise that meets a target, by the paper and tightly, and a sweep of sampling."""

from dataclasses import replace
from math import ceil, isinf
from typing import Any

import dpaudit
from accountants import FreE2TParameters, PaperTotal, ranges, tight_noise_std
from dpaudit.deployment import Deployment
from dpaudit.guarantees import claimed_noise_std, guarantee_steps
from dpaudit.parameters import release_parameters
from dpaudit.verification import assumptions
from dpaudit.warning_list import WarningList

SWEEP = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)


def calibrate(deployment: Deployment, *, epsilon: float, delta: float) -> dict[str, Any]:
    """Return the smallest ``noise_std`` for a target.

    Parameters
    ----------
    deployment : Deployment
        Its claimed epsilon and delta and its ``noise_std`` play no part; the view and adjacency
        that it claims do.
    epsilon, delta : float
        The target: epsilon finite and > 0, delta in (0, 1).

    Returns
    -------
    dict
        ``paper`` (Algorithm 3, the multiplier rounded up; None without u and v), ``tight``, a
        ``sweep`` (for the public view under add-remove only) over the sampling rate at a fixed
        frequency threshold t = threshold / sampling_rate (the sampled threshold is ceil(p t)),
        ``verdict`` ("feasible" or "infeasible", by the tight accounting) and ``exit_code`` (0 or
        3).

    Raises
    ------
    ParameterError
        If ``epsilon`` or ``delta`` is out of range.
    """
    parameters = release_parameters(deployment)
    warnings = WarningList()
    ranges.positive("epsilon", epsilon)
    ranges.open_unit("delta", delta)
    steps = guarantee_steps(deployment)
    noise = claimed_noise_std(deployment, epsilon=epsilon, delta=delta)
    paper = _paper(parameters, epsilon=epsilon, delta=delta)
    plain = len(steps) == 1 and deployment.distributed is None
    if isinf(noise):
        warnings.add(
            "no-noise-suffices",
            f"the sampled counts alone miss epsilon = {epsilon:.4g} at delta = {delta:.3g}",
        )
    if paper is None:
        warnings.add(
            "paper-parameters-missing",
            "sensitivity_ratio and budget_factor are not both given: no calibration by the paper",
        )
    elif not paper["feasible"]:
        warnings.add(
            "paper-infeasible",
            "the paper's budget for the noisy sum is not positive: no noise meets the target",
        )
    return {
        "dpaudit": dpaudit.__version__,
        "command": "calibrate",
        "deployment": deployment.deployment.model_dump(),
        "target": {"epsilon": epsilon, "delta": delta},
        "paper": paper,
        "tight": {"noise_std": None if isinf(noise) else noise, "feasible": not isinf(noise)},
        "sweep": _sweep(parameters, epsilon=epsilon, delta=delta) if plain else [],
        "verdict": "infeasible" if isinf(noise) else "feasible",
        "warnings": warnings.entries,
        "assumptions": assumptions(steps[-1]),
        "exit_code": 3 if isinf(noise) else 0,
    }


def _paper(parameters: FreE2TParameters, *, epsilon: float, delta: float) -> dict[str, Any] | None:
    if parameters.sensitivity_ratio is None or parameters.budget_factor is None:
        return None
    found = PaperTotal(parameters=parameters).calibrate(epsilon=epsilon, delta=delta)
    feasible = not isinf(found.noise_std)
    return {
        "noise_std": found.noise_std if feasible else None,
        "noise_multiplier": found.noise_multiplier if feasible else None,
        "noise_multiplier_exact": found.noise_multiplier_exact if feasible else None,
        "feasible": feasible,
    }


def _sweep(parameters: FreE2TParameters, *, epsilon: float, delta: float) -> list[dict[str, Any]]:
    frequency = parameters.threshold / parameters.sampling_rate
    rows = []
    for rate in SWEEP:
        changed = replace(
            parameters,
            sampling_rate=rate,
            threshold=max(1, ceil(rate * frequency - 1e-9)),
        )
        paper = _paper(changed, epsilon=epsilon, delta=delta)
        noise = tight_noise_std(changed, epsilon=epsilon, delta=delta)
        rows.append(
            {
                "sampling_rate": rate,
                "threshold": changed.threshold,
                "paper_noise_std": paper["noise_std"] if paper else None,
                "tight_noise_std": None if isinf(noise) else noise,
            }
        )
    return rows
