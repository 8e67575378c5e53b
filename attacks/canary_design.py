r"""The canary that a given number of trials shows best.

Behind a public random projection the total delta is an average, so a worst case is a dataset, not
a release: M clusters of N coinciding records at distance D from the canary, in spread directions.
Exactly one of them shares the canary's cell with a known probability C
(:class:`accountants.worst_case.ExplicitDataset`); given that, the release is measured. The total
delta is at least C times the measured one. A farther canary collides more rarely and shows more
clearly, and a bound from T trials costs about e^epsilon * 5 / T, so D and N are chosen for the
number of trials at hand.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from accountants.errors import ParameterError
from accountants.fre_e2t import FreE2TParameters
from accountants.ranges import Floats
from accountants.worst_case import ExplicitDataset
from attacks.coinciding_likelihood import CoincidingLikelihood

Predict = Callable[[Floats, Floats], tuple[Floats, Floats]]

_REFINEMENTS = ((2.2, 23, 12), (0.25, 9, 7), (0.05, 5, 5))


@dataclass(frozen=True, kw_only=True)
class CanaryDesign:
    """A worst-case canary and what it is expected to show.

    Attributes
    ----------
    dataset : ExplicitDataset
        D, N, M and the collision probability.
    log_threshold : float
        Threshold on the log-likelihood ratio that is expected to work best.
    predicted_epsilon : float
        Expected measured total epsilon at the claimed delta.
    predicted_delta : float
        Expected measured total delta at the claimed epsilon.
    """

    dataset: ExplicitDataset
    log_threshold: float
    predicted_epsilon: float
    predicted_delta: float


def design_canary(
    parameters: FreE2TParameters, *, epsilon: float, delta: float, predict: Predict
) -> CanaryDesign:
    """Choose D, N and M for the trials at hand, without running any.

    Parameters
    ----------
    parameters : FreE2TParameters
        The release.
    epsilon, delta : float
        The claim.
    predict : callable
        (true TPR, true FPR) -> the confidence bounds (lower, upper) on them that the trials are
        expected to give; arrays of one shape.

    Returns
    -------
    CanaryDesign
        The design with the largest predicted delta at ``epsilon`` if a refutation is predicted,
        otherwise with the largest predicted epsilon at ``delta``; where nothing is predicted to
        show in total, the one with the largest epsilon given the collision.

    Raises
    ------
    ParameterError
        If records_max leaves no room for a bucket that can be released.
    """
    others = parameters.records_max - 1
    low = max(1, parameters.threshold - 1)
    if others < low:
        raise ParameterError(
            f"records_max = {parameters.records_max}: no bucket of {parameters.threshold} records "
            "fits, so nothing is ever released and there is nothing to attack"
        )
    high = min(others, max(low, int(4 * parameters.threshold / parameters.sampling_rate) + 4))
    thresholds = _thresholds(epsilon)
    center = parameters.grid_edge * float(np.sqrt(parameters.projection_dim))
    best: tuple[tuple[float, ...], CanaryDesign] | None = None
    for spread, distances, sizes in _REFINEMENTS:
        if best is None:
            around = center * np.exp(np.linspace(-spread, spread, distances))
            numbers = np.geomspace(low, high, sizes)
        else:
            found = best[1].dataset
            around = found.distance * np.exp(np.linspace(-spread, spread, distances))
            numbers = found.neighbours * np.exp(np.linspace(-spread, spread, sizes))
        for neighbours in np.unique(np.clip(np.round(numbers), low, high).astype(int)):
            for distance in around:
                dataset = ExplicitDataset(
                    parameters=parameters,
                    distance=float(distance),
                    neighbours=int(neighbours),
                    clusters=others // int(neighbours),
                )
                rated = _rate(dataset, thresholds, epsilon=epsilon, delta=delta, predict=predict)
                if best is None or rated[0] > best[0]:
                    best = rated
    assert best is not None
    return best[1]


def likelihood_of(dataset: ExplicitDataset) -> CoincidingLikelihood:
    """Return the adversary that knows the dataset, given that exactly one cluster collides."""
    return CoincidingLikelihood(
        sampling_rate=dataset.parameters.sampling_rate,
        threshold=dataset.parameters.threshold,
        neighbours=dataset.neighbours,
        shift=dataset.distance / dataset.parameters.noise_std,
    )


def _thresholds(epsilon: float) -> Floats:
    """Log-likelihood ratios worth trying: around the claim, and a fixed range below it."""
    return np.unique(
        np.concatenate([epsilon * np.linspace(0.25, 2.5, 10), np.geomspace(0.05, 8, 12)])
    )


def _rate(
    dataset: ExplicitDataset,
    thresholds: Floats,
    *,
    epsilon: float,
    delta: float,
    predict: Predict,
) -> tuple[tuple[float, ...], CanaryDesign]:
    """Return a key that orders designs, and the design."""
    chance = dataset.collision_probability
    tpr, fpr = predict(*likelihood_of(dataset).add_rates(thresholds))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        deltas = chance * (tpr - np.exp(epsilon) * fpr)
        gap = tpr - delta / chance if chance > 0 else np.full(tpr.shape, -1.0)
        epsilons = np.where(gap > 0, np.log(np.maximum(gap, 1e-300)) - np.log(fpr), -np.inf)
        given = np.log(np.maximum(tpr - 0.01, 1e-300)) - np.log(fpr)
    refutes = bool(np.max(deltas) > delta)
    at = int(np.argmax(deltas if refutes else epsilons))
    if not refutes and not np.max(epsilons) > 0:
        at = int(np.argmax(given))
    design = CanaryDesign(
        dataset=dataset,
        log_threshold=float(thresholds[at]),
        predicted_epsilon=max(0.0, float(np.max(epsilons))),
        predicted_delta=max(0.0, float(np.max(deltas))),
    )
    return (
        float(refutes),
        float(np.max(deltas)) if refutes else 0.0,
        max(float(np.max(epsilons)), 0.0),
        float(np.max(given)),
    ), design
