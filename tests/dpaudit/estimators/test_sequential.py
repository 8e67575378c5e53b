"""Bounds that hold at every time: under stopping at the worst moment, and against a plain grid."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln
from scipy.stats import binom

from accountants.errors import ParameterError
from dpaudit.estimators.sequential import SequentialCounts


def counts(k: int, n: int, j: int, m: int) -> SequentialCounts:
    return SequentialCounts(true_positives=k, positives=n, false_positives=j, negatives=m)


def log_martingale(k: int, n: int, p: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = np.where(k > 0, k * np.log(p), 0.0)
        rest = np.where(n - k > 0, (n - k) * np.log1p(-p), 0.0)
    return betaln(k + 0.5, n - k + 0.5) - np.log(np.pi) - hits - rest


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data(), st.integers(0, 400), st.integers(0, 400), st.floats(0, 3), st.floats(0, 0.3))
def test_evidence_is_the_least_over_all_allowed_pairs(
    data: st.DataObject, n: int, m: int, epsilon: float, delta: float
) -> None:
    k, j = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    found = counts(k, n, j, m).log_evidence(epsilon=epsilon, delta=delta)
    rates = np.linspace(0, 1, 801)
    p, q = np.meshgrid(rates, rates, indexing="ij")
    total = log_martingale(k, n, p) + log_martingale(j, m, q)
    plain = float(np.min(total[p <= np.exp(epsilon) * q + delta]))
    assert found <= max(plain, 0.0) + 1e-9  # the grid is part of what is allowed
    assert found >= plain - 0.05 * (1 + abs(plain)) - 2


@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.731058578, 0.268941421), (0.02, 0.02)])
def test_stopping_at_the_worst_moment(rates: tuple[float, float]) -> None:
    """The bound exceeds the truth at any of 40 looks in at most 20% of 300 audits.

    At a nominal 80%; more violations than allowed here have probability below 1e-6.
    """
    truth = math.log(rates[0] / rates[1])
    rng = np.random.default_rng(0)
    failures = 0
    for _ in range(300):
        state, failed = SequentialCounts(), False
        for _ in range(40):
            size = int(rng.integers(1, 60))
            state = state.update(
                true_positives=int(rng.binomial(size, rates[0])),
                positives=size,
                false_positives=int(rng.binomial(size, rates[1])),
                negatives=size,
            )
            failed |= state.refutes(epsilon=max(truth, 0.0) + 1e-9, confidence=0.8)
        failures += failed
    assert failures <= binom.isf(1e-7, 300, 0.2) + 1


def test_it_finds_what_there_is() -> None:
    """A rate of .7 against .1: ln 7 in the end; a claim of 1 is refuted long before."""
    rng = np.random.default_rng(1)
    state, stopped = SequentialCounts(), 0
    for _ in range(200):
        state = state.update(
            true_positives=int(rng.binomial(50, 0.7)),
            positives=50,
            false_positives=int(rng.binomial(50, 0.1)),
            negatives=50,
        )
        if not stopped and state.refutes(epsilon=1.0, confidence=1 - 1e-6):
            stopped = state.positives
    assert 0 < stopped < 1000
    found = state.epsilon(confidence=0.95)
    assert 0.9 * np.log(7) < found.lower <= np.log(7)
    assert found.tpr_lower == pytest.approx(np.exp(found.lower) * found.fpr_upper, rel=1e-6)
    assert state.refutes(epsilon=found.lower * (1 - 1e-9), confidence=0.95)
    assert not state.refutes(epsilon=found.lower + 1e-6, confidence=0.95)
    assert "epsilon >= " in str(found)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 60), st.integers(0, 60), st.floats(0, 0.2), st.floats(0.5, 0.999))
def test_monotone(k: int, j: int, delta: float, confidence: float) -> None:
    def bound(k: int, j: int, delta: float, confidence: float) -> float:
        return counts(k, 60, j, 60).epsilon(delta=delta, confidence=confidence).lower

    here = bound(k, j, delta, confidence)
    assert bound(min(k + 1, 60), j, delta, confidence) >= here - 1e-9
    assert bound(k, min(j + 1, 60), delta, confidence) <= here + 1e-9
    assert bound(k, j, delta + 0.05, confidence) <= here + 1e-9
    assert bound(k, j, delta, 1 - (1 - confidence) / 2) <= here + 1e-9


def test_order_and_batches_do_not_matter() -> None:
    one = SequentialCounts().update(true_positives=5, positives=9).update(negatives=4)
    other = SequentialCounts().update(negatives=4).update(true_positives=5, positives=9)
    assert one == other == counts(5, 9, 0, 4)


@pytest.mark.parametrize("state", [counts(0, 0, 0, 0), counts(5, 5, 0, 0), counts(0, 0, 0, 5)])
def test_one_side_alone_shows_nothing(state: SequentialCounts) -> None:
    found = state.epsilon()
    assert found.lower == 0
    assert found.reason


def test_there_and_back() -> None:
    state = counts(3, 9, 1, 8)
    assert SequentialCounts.from_dict(state.to_dict()) == state
    for wrong in ({}, {**state.to_dict(), "more": 1}):
        with pytest.raises(ParameterError, match="missing or unknown keys"):
            SequentialCounts.from_dict(wrong)
    with pytest.raises(ParameterError, match="true_positives"):
        SequentialCounts.from_dict({**state.to_dict(), "true_positives": 10})
    with pytest.raises(ParameterError, match="direction"):
        SequentialCounts.from_dict({**state.to_dict(), "direction": "sideways"})


@pytest.mark.parametrize(
    ("options", "said"),
    [({"delta": 2.0}, "delta"), ({"confidence": 1.0}, "confidence"), ({"delta": np.nan}, "delta")],
)
def test_refused(options: dict[str, float], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        counts(3, 9, 1, 8).epsilon(**options)
