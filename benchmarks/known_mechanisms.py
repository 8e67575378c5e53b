"""Mechanisms whose privacy curve is known, with the scores of the best attack on them.

What the validity and power of estimators are measured on. A score is a strictly increasing function
of the likelihood ratio, so that every threshold's rates lie on the mechanism's trade-off curve.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants import AnalyticGaussian
from accountants.subsampled_gaussian import GaussianSteps, SubsampledGaussians

Floats = NDArray[np.float64]
Sample = Callable[[int, np.random.Generator], tuple[Floats, Floats]]


@dataclass(frozen=True)
class KnownMechanism:
    """A pair of outputs with known curve.

    Attributes
    ----------
    name : str
        For tables.
    epsilon : callable
        delta -> the true epsilon of the pair, the worse of both directions.
    sample : callable
        (trials, generator) -> scores with and without the record, each of shape (trials,).
    """

    name: str
    epsilon: Callable[[float], float]
    sample: Sample


def nothing() -> KnownMechanism:
    """Return a mechanism that ignores its input: epsilon is 0 at every delta."""
    return KnownMechanism(
        "null, continuous", lambda _: 0.0, lambda n, rng: (rng.random(n), rng.random(n))
    )


def nothing_with_ties() -> KnownMechanism:
    """Return a mechanism that ignores its input and gives one of three outputs."""
    return KnownMechanism(
        "null, three values",
        lambda _: 0.0,
        lambda n, rng: (rng.integers(0, 3, n).astype(float), rng.integers(0, 3, n).astype(float)),
    )


def randomised_response(level: float, outputs: int = 2) -> KnownMechanism:
    """Return generalised randomised response: the true value with e^level times the odds."""
    truth = 1 / (1 + (outputs - 1) * np.exp(-level))
    lie = (1 - truth) / (outputs - 1)

    def epsilon(delta: float) -> float:
        return max(0.0, float(np.log(max(truth - delta, 1e-300) / lie)))

    def sample(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        draws = rng.random((2, n))
        # 1: the canary's value, -1: the other one's, 0: a third one
        inside = np.where(draws[0] < truth, 1.0, np.where(draws[0] < truth + lie, -1.0, 0.0))
        outside = np.where(draws[1] < truth, -1.0, np.where(draws[1] < truth + lie, 1.0, 0.0))
        return inside, outside

    return KnownMechanism(f"GRR k={outputs}, eps {level:g}", epsilon, sample)


def laplace(level: float) -> KnownMechanism:
    """Return the Laplace mechanism at sensitivity 1 and epsilon ``level``."""

    def sample(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        noise = rng.laplace(size=(2, n)) / level
        return noise[0] + 1.0, noise[1]

    return KnownMechanism(
        f"Laplace, eps {level:g}", lambda d: max(0.0, level + 2 * float(np.log1p(-d))), sample
    )


def gaussian(level: float, delta: float) -> KnownMechanism:
    """Return the Gaussian mechanism whose epsilon at ``delta`` is ``level``."""
    mechanism = AnalyticGaussian.calibrate(epsilon=level, delta=delta)
    shift = 1 / mechanism.noise_multiplier

    def sample(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        noise = rng.standard_normal((2, n))
        return noise[0] + shift, noise[1]

    return KnownMechanism(
        f"Gaussian, eps {level:g} at {delta:g}", lambda d: float(mechanism.epsilon(d)), sample
    )


def subsampled_gaussian(rate: float, multiplier: float) -> KnownMechanism:
    """Return one Poisson-subsampled Gaussian step."""
    one = GaussianSteps(noise_multiplier=multiplier, sampling_rate=rate)
    step = SubsampledGaussians(steps=(one,))

    def sample(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        noise = rng.standard_normal((2, n))
        return noise[0] + (rng.random(n) < rate) / multiplier, noise[1]

    return KnownMechanism(
        f"subsampled Gaussian, q {rate:g}, sigma {multiplier:g}",
        lambda d: float(step.epsilon(d)),
        sample,
    )
