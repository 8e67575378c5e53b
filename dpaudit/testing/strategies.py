"""Hypothesis strategies: deployments that load, and mechanisms whose epsilon is known exactly.

Hypothesis is needed for these only; ``pip install hypothesis``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from accountants import SampleThreshold
from dpaudit.deployment import Deployment
from dpaudit.engine import BlockMechanism
from dpaudit.errors import ParameterError

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@dataclass(frozen=True, kw_only=True)
class KnownPrivacy:
    """A mechanism, a worst pair of inputs, and its exact epsilon at a delta.

    Attributes
    ----------
    name : str
        What it is.
    mechanism : BlockMechanism
        To be audited.
    epsilon, delta : float
        The mechanism is (epsilon, delta)-private and, between the two inputs or (for
        sample-and-threshold) some pair, no smaller epsilon holds at this delta.
    data_in, data_out : object
        The inputs.
    """

    name: str
    mechanism: BlockMechanism
    epsilon: float
    delta: float
    data_in: Any
    data_out: Any


def randomised_responses(*, least: float = 0.1, most: float = 5.0) -> SearchStrategy[KnownPrivacy]:
    """Return a strategy of generalised randomised response with 2 to 16 outputs.

    Parameters
    ----------
    least, most : float
        Range of epsilon.
    """
    st = _strategies()
    drawn: SearchStrategy[KnownPrivacy] = st.builds(
        _response, st.floats(least, most), st.integers(2, 16)
    )
    return drawn


def geometric_counts(*, least: float = 0.1, most: float = 5.0) -> SearchStrategy[KnownPrivacy]:
    """Return a strategy of counts with two-sided geometric noise; range of epsilon as given."""
    drawn: SearchStrategy[KnownPrivacy] = _strategies().floats(least, most).map(_geometric)
    return drawn


def thresholded_counts() -> SearchStrategy[KnownPrivacy]:
    """Return a strategy of sample-and-threshold, at an epsilon between 0.1 and 3."""
    st = _strategies()
    drawn: SearchStrategy[KnownPrivacy] = st.builds(
        _thresholded, st.floats(0.05, 0.9), st.integers(2, 30), st.floats(0.1, 3.0)
    )
    return drawn


def mechanisms() -> SearchStrategy[KnownPrivacy]:
    """Return a strategy of all of them."""
    drawn: SearchStrategy[KnownPrivacy] = _strategies().one_of(
        randomised_responses(), geometric_counts(), thresholded_counts()
    )
    return drawn


def deployments() -> SearchStrategy[Deployment]:
    """Return a strategy of Fre-E2T deployments with a public add-remove claim."""
    st = _strategies()
    dimensions = st.integers(2, 2000).flatmap(
        lambda d: st.tuples(st.just(d), st.integers(1, min(d, 64)))
    )
    drawn: SearchStrategy[Deployment] = st.builds(
        _deployment,
        st.floats(0.1, 20.0),
        st.floats(1e-12, 1e-3),
        st.integers(1, 10**9),
        dimensions,
        st.floats(0.01, 10.0),
        st.floats(0.01, 0.99),
        st.integers(1, 1000),
        st.floats(0.01, 100.0),
    )
    return drawn


def _response(epsilon: float, outputs: int) -> KnownPrivacy:
    truth = math.exp(epsilon) / (math.exp(epsilon) + outputs - 1)

    def release(value: int, trials: int, rng: np.random.Generator) -> Any:
        other = rng.integers(0, outputs - 1, trials)
        other += other >= value
        return np.where(rng.random(trials) < truth, value, other)

    return KnownPrivacy(
        name=f"randomised response of {outputs} outputs",
        mechanism=BlockMechanism(release),
        epsilon=epsilon,
        delta=0.0,
        data_in=0,
        data_out=1,
    )


def _geometric(epsilon: float) -> KnownPrivacy:
    stop = -math.expm1(-epsilon)

    def release(count: int, trials: int, rng: np.random.Generator) -> Any:
        return count + rng.geometric(stop, trials) - rng.geometric(stop, trials)

    return KnownPrivacy(
        name="geometric count",
        mechanism=BlockMechanism(release),
        epsilon=epsilon,
        delta=0.0,
        data_in=1,
        data_out=0,
    )


def _thresholded(rate: float, threshold: int, epsilon: float) -> KnownPrivacy:
    def release(records: int, trials: int, rng: np.random.Generator) -> Any:
        count = rng.binomial(records, rate, trials)
        return np.where(count >= threshold, count, 0)

    curve = SampleThreshold(sampling_rate=rate, threshold=threshold)
    others = max(threshold - 1, round(threshold / rate))
    return KnownPrivacy(
        name=f"sample-and-threshold, rate {rate:g}, threshold {threshold}",
        mechanism=BlockMechanism(release),
        epsilon=epsilon,
        delta=float(curve.delta(epsilon)),
        data_in=others + 1,
        data_out=others,
    )


def _deployment(
    epsilon: float,
    delta: float,
    records: int,
    dimensions: tuple[int, int],
    radius: float,
    rate: float,
    threshold: int,
    noise: float,
) -> Deployment:
    claim = {"epsilon": epsilon, "delta": delta, "adjacency": "add-remove", "view": "public"}
    mechanism = {
        "records_max": records,
        "embedding_dim": dimensions[0],
        "projection_dim": dimensions[1],
        "radius": radius,
        "sampling_rate": rate,
        "threshold": threshold,
        "noise_std": noise,
    }
    subject = {"name": "drawn", "system": "fre-e2t"}
    return Deployment.from_dict({"deployment": subject, "claim": claim, "fre_e2t": mechanism})


def _strategies() -> Any:
    try:
        from hypothesis import strategies
    except ImportError:
        raise ParameterError(
            "dpaudit.testing.strategies: hypothesis is needed (pip install hypothesis)"
        ) from None
    return strategies
