"""Discrete noise and samplers that the catalogue's mechanisms are built from, many at a time."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def geometric(rng: np.random.Generator, epsilon: float, size: object) -> Ints:
    """Return two-sided geometric noise: P[k] in proportion to e^(-epsilon |k|)."""
    stop = -np.expm1(-epsilon)
    return np.asarray(rng.geometric(stop, size) - rng.geometric(stop, size))  # type: ignore[call-overload]


def truncated(rng: np.random.Generator, epsilon: float, most: int, size: int) -> Ints:
    """Return the same, given that it is at most ``most`` in size."""
    values = np.arange(-most, most + 1)
    weights = np.exp(-epsilon * np.abs(values))
    return np.asarray(rng.choice(values, size, p=weights / weights.sum()))


def respond(rng: np.random.Generator, value: int, outputs: int, truth: float, size: object) -> Ints:
    """Return the value with probability ``truth``, else another of 0..outputs-1, each alike."""
    other = rng.integers(0, outputs - 1, size)  # type: ignore[call-overload]
    other = other + (other >= value)
    return np.where(rng.random(size) < truth, value, other)  # type: ignore[call-overload]


def keep(epsilon: float, outputs: int) -> float:
    """Return the probability of the truth in randomised response of so many outputs."""
    return float(np.exp(epsilon) / (np.exp(epsilon) + outputs - 1))
