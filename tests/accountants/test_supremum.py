"""The supremum over all bucket sizes, against a plain maximum and at random large sizes."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from accountants import JointRelease
from accountants.joint_terms import JointTerms
from accountants.supremum import log_suprema
from tests.accountants import oracles

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
shifts = st.floats(-5, 2.5).map(lambda x: float(np.exp(x)))


def terms_at(
    sizes: Counts, *, p: float, threshold: int, mu: float, epsilon: float, direction: str
) -> Floats:
    """Logarithm of J at each N, by the summation that test_joint_release compares with mpmath.

    Close above about -150; what is left unsummed is bounded by e^-200.
    """
    terms = JointTerms(
        sampling_rate=p,
        threshold=threshold,
        shifts=np.array([mu]),
        epsilon=epsilon,
        direction=direction,  # type: ignore[arg-type]
    )
    zero = np.zeros_like(sizes)
    return terms.evaluate(zero, sizes, zero, np.full(len(sizes), -200.0))[0]


@settings(max_examples=30)
@given(st.floats(0.1, 0.9), st.integers(1, 40), shifts, st.floats(0, 8))
def test_plain_maximum(p: float, threshold: int, mu: float, epsilon: float) -> None:
    sizes = np.unique(
        np.concatenate(
            [
                np.arange(max(threshold - 1, 1), 2 * threshold + 60),
                np.geomspace(2 * threshold + 60, 2000, 60).astype(np.int64),
            ]
        )
    )
    table = oracles.plain_joint(
        p=p, threshold=threshold, shifts=np.array([mu]), others=sizes, epsilon=epsilon
    )
    best = float(table.max())
    if threshold == 1:
        best = max(best, p)  # N = 0
    found = float(JointRelease(sampling_rate=p, threshold=threshold, shift=mu).delta_add(epsilon))
    assert found >= best * (1 - 1e-8) - 1e-15
    if sizes[int(np.argmax(table))] < 2 * threshold + 50:  # where every size was looked at
        assert found <= best * (1 + 1e-6) + 1e-14


@settings(max_examples=250)
@given(
    st.one_of(st.floats(0.05, 0.95), st.floats(1e-3, 0.05)),
    st.integers(1, 60),
    st.one_of(st.just(0.0), st.just(np.inf), shifts),
    st.sampled_from(["add", "remove"]),
    st.one_of(st.floats(0, 1), st.floats(0, 6)),
    st.lists(st.integers(0, 10**6), min_size=3, max_size=3),
)
@example(0.001, 2, 0.1, "remove", 0.5, [939, 2082, 10**4])  # counts of 0 once left out here
@example(0.001, 2, 0.0, "remove", 0.0, [939, 1101, 10**4])
@example(0.01, 3, 0.01, "remove", 0.5, [300, 400, 500])
def test_rigorous_at_any_size(
    p: float,
    threshold: int,
    mu: float,
    direction: str,
    scale: float,
    large: list[int],
) -> None:
    epsilon = scale * -np.log1p(-p) if direction == "remove" else scale
    ours = JointRelease(sampling_rate=p, threshold=threshold, shift=mu)
    found = float(getattr(ours, f"log_delta_{direction}")(epsilon))
    center = threshold / p
    sizes = np.unique(
        np.concatenate([center * np.exp(np.linspace(-1, 3, 25)), large]).astype(np.int64)
    )
    values = terms_at(sizes, p=p, threshold=threshold, mu=mu, epsilon=epsilon, direction=direction)
    assert found >= values.max() - 2e-9 or values.max() < -150  # both round up, not alike
    every = np.arange(max(threshold - 1, 0), min(int(5 * center) + 20, 600))
    dense = terms_at(every, p=p, threshold=threshold, mu=mu, epsilon=epsilon, direction=direction)
    assert found >= dense.max() - 2e-9 or dense.max() < -150


@pytest.mark.parametrize(
    ("p", "threshold", "mu", "epsilon", "direction"),
    [
        (1.1211746208815692e-05, 6, 6.78, 0.0, "remove"),
        (1e-5, 30, 0.1, 9e-6, "remove"),
        (1e-4, 80, 2.5, 20.0, "add"),
    ],
)
def test_hard_cases_stay_small_and_bounds(
    p: float, threshold: int, mu: float, epsilon: float, direction: str
) -> None:
    """Small sampling rates once needed more memory than there is."""
    ours = JointRelease(sampling_rate=p, threshold=threshold, shift=mu)
    found = float(getattr(ours, f"log_delta_{direction}")(epsilon))
    sizes = (threshold / p * np.exp(np.linspace(-1, 2, 13))).astype(np.int64)
    values = terms_at(sizes, p=p, threshold=threshold, mu=mu, epsilon=epsilon, direction=direction)
    assert found >= values.max() or values.max() < -150


@settings(max_examples=100)
@given(
    st.floats(0.02, 0.95),
    st.integers(1, 40),
    st.one_of(st.just(0.0), shifts),
    st.sampled_from(["add", "remove"]),
    st.floats(0, 1),
    st.integers(0, 300),
    st.integers(0, 300),
)
def test_one_more_record_is_post_processing(
    p: float, threshold: int, mu: float, direction: str, scale: float, size: int, width: int
) -> None:
    """J_tau(N + i) <= J_(tau - w)(N) for i = 0..w: the lemma behind the search."""
    epsilon = scale * -np.log1p(-p)
    terms = JointTerms(
        sampling_rate=p,
        threshold=threshold,
        shifts=np.array([mu]),
        epsilon=epsilon,
        direction=direction,  # type: ignore[arg-type]
    )
    floor = np.full(1, -700.0)
    _, widened = terms.evaluate(np.zeros(1, np.int64), np.array([size]), np.array([width]), floor)
    later = np.arange(size, size + width + 1)
    values = terms_at(later, p=p, threshold=threshold, mu=mu, epsilon=epsilon, direction=direction)
    assert float(values.max()) <= float(widened[0]) + 1e-9 or values.max() < -30
    _, beyond = terms.evaluate(
        np.zeros(1, np.int64), np.array([size]), np.array([2**52 - size]), floor
    )
    far = terms_at(
        np.array([size, size + width, size + 10**5]),
        p=p,
        threshold=threshold,
        mu=mu,
        epsilon=epsilon,
        direction=direction,
    )
    assert float(far.max()) <= float(beyond[0]) + 1e-9 or far.max() < -30


def test_a_made_up_function() -> None:
    """The search itself, on a function with a known top."""
    tops = np.array([10, 777, 123_456])

    def value(problem: Counts, sizes: Floats) -> Floats:
        return np.asarray(-np.abs(np.log((sizes + 1.0) / (tops[problem] + 1.0))))

    def evaluate(
        problem: Counts, others: Counts, slack: Counts, floor: Floats
    ) -> tuple[Floats, Floats]:
        own = value(problem, others.astype(float))
        ends = value(problem, (others + slack).astype(float))
        inside = (others <= tops[problem]) & (tops[problem] <= others + slack)
        return own, np.where(inside, 0.0, np.maximum(own, ends))

    found = log_suprema(evaluate, problems=3, first=1)
    assert np.all(found.at == tops)
    assert np.all((found.values >= 0) & (found.values <= 1e-6))
    short = log_suprema(evaluate, problems=3, first=1, last=500)
    assert short.at.tolist() == [10, 500, 500]
    guessed = log_suprema(evaluate, problems=3, first=1, guess=np.array([3, 10**9, 5]))
    assert np.all(guessed.at == tops)
    shared = log_suprema(evaluate, problems=3, first=1, per_record=True)
    sizes = np.arange(1, 200_000)
    for i in range(3):
        truth = np.max(value(np.full(len(sizes), i), sizes.astype(float)) - np.log(sizes))
        assert truth <= shared.values[i] <= truth + 1e-6


def test_an_empty_range() -> None:
    def fails(*_: object) -> tuple[Floats, Floats]:
        raise AssertionError

    assert log_suprema(fails, problems=2, first=5, last=4).values.tolist() == [-np.inf] * 2
