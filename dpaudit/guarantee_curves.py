r"""A deployment's whole guarantee: delta against epsilon, and the trade-off of the two errors.

The type II error of any test that tells neighbours apart is, at a type I error alpha, at least
:math:`1 - \delta - e^\epsilon \alpha` and :math:`e^{-\epsilon}(1 - \delta - \alpha)`, for every
epsilon (Dong, Roth and Su 2022, Proposition 6). The greatest of these, over the epsilons at which
delta was evaluated, lies below the curve that delta(epsilon) stands for: the safe side.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpaudit
from accountants import PaperTotal
from dpaudit.deployment import Deployment
from dpaudit.guarantees import guarantee_steps
from dpaudit.parameters import release_parameters
from dpaudit.verification import assumptions

Floats = NDArray[np.float64]

POINTS = 48
ALPHAS = 201


def guarantee_curves(deployment: Deployment, *, points: int = POINTS) -> dict[str, Any]:
    """Return delta(epsilon) and beta(alpha) of a deployment, by the paper and tight.

    Parameters
    ----------
    deployment : Deployment
        What is claimed, and how the mechanism is set.
    points : int
        At how many epsilons delta is evaluated, from 0 past the claimed one; >= 4.

    Returns
    -------
    dict
        ``delta`` (a list of ``epsilon``, ``tight``, ``paper``; the last None where the paper says
        nothing) and ``beta`` (a list of ``alpha``, ``tight``, ``paper``), with ``claim``,
        ``assumptions`` and ``exit_code`` 0.

    Raises
    ------
    DeploymentError, ParameterError
        As for :func:`dpaudit.verify`.
    """
    claim = deployment.claim
    guarantee = guarantee_steps(deployment)[-1]
    epsilons = _epsilons(claim.epsilon, float(guarantee.epsilon(claim.delta)), points)
    tight = np.minimum.accumulate(guarantee.delta(epsilons))  # delta falls, whatever a bound does
    release = release_parameters(deployment)
    paper = np.full(epsilons.shape, np.nan)
    if release.sensitivity_ratio is not None and release.budget_factor is not None:
        paper = PaperTotal(parameters=release).delta(epsilons)
    alphas = np.linspace(0.0, 1.0, ALPHAS)
    known = np.isfinite(paper)
    betas = {
        "tight": least_type_two(alphas, epsilons=epsilons, deltas=tight),
        "paper": least_type_two(alphas, epsilons=epsilons[known], deltas=paper[known])
        if known.any()
        else np.full(alphas.shape, np.nan),
    }
    return {
        "dpaudit": dpaudit.__version__,
        "command": "curve",
        "deployment": deployment.deployment.model_dump(),
        "claim": claim.model_dump(),
        "source": guarantee.source,
        "delta": [
            {"epsilon": float(e), "tight": float(t), "paper": _known(p)}
            for e, t, p in zip(epsilons, tight, paper, strict=True)
        ],
        "beta": [
            {"alpha": float(a), "tight": float(t), "paper": _known(p)}
            for a, t, p in zip(alphas, betas["tight"], betas["paper"], strict=True)
        ],
        "assumptions": assumptions(guarantee),
        "exit_code": 0,
    }


def least_type_two(alphas: Floats, *, epsilons: Floats, deltas: Floats) -> Floats:
    """Return a lower bound of the type II error at each type I error.

    Parameters
    ----------
    alphas : ndarray
        Type I errors in [0, 1].
    epsilons, deltas : ndarray, shape (n,)
        Points of delta(epsilon), each delta an upper bound in both directions; n >= 1.

    Returns
    -------
    ndarray
        Same shape as ``alphas``, in [0, 1].
    """
    grow = np.exp(np.minimum(epsilons, 700.0))[None, :]
    rest = 1 - deltas[None, :]
    errors = alphas[:, None]
    lines = np.maximum(rest - grow * errors, (rest - errors) / grow)
    return np.asarray(np.clip(lines.max(axis=1) - 1e-15, 0.0, 1.0))


def _epsilons(claimed: float, proved: float, points: int) -> Floats:
    """Epsilons from 0 to past the claim, denser where the proved one lies."""
    end = 1.25 * claimed
    if not np.isfinite(proved) or not 0 < proved < end:
        return np.linspace(0.0, end, points)
    first = np.linspace(0.0, min(2 * proved, end), points * 2 // 3)
    return np.unique(np.concatenate([first, np.linspace(first[-1], end, points - len(first) + 1)]))


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
