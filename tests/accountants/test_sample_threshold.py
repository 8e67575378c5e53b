"""Sample-and-threshold: the paper's closed form and the exact curve."""

from fractions import Fraction
from math import comb

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from accountants import ParameterError, SampleThreshold, SampleThresholdPaper

rates = st.one_of(st.floats(0.05, 0.95), st.floats(0.01, 0.05), st.floats(0.95, 1 - 1e-9))


@pytest.mark.parametrize(
    ("p", "threshold", "v", "epsilon", "closed", "exact", "others"),
    [
        (0.3, 30, 4, 1.4267, 2.926e-10, 1.955e-12, 35),
        (0.5, 50, 4, 2.7726, 3.802e-13, 8.88e-15, 51),
        (0.6, 60, 3, 2.7489, 1.765e-11, 4.58e-13, 61),
        (0.1, 10, 5, 0.5268, 7.71e-5, 4.96e-7, None),
    ],
)
def test_reference_values(
    p: float,
    threshold: int,
    v: float,
    epsilon: float,
    closed: float,
    exact: float,
    others: int | None,
) -> None:
    paper = SampleThresholdPaper(sampling_rate=p, threshold=threshold)
    budget, delta = paper.budget(v)
    assert budget == pytest.approx(epsilon, abs=5e-5)
    assert delta == pytest.approx(closed, rel=7e-4)
    assert paper.delta(budget) == pytest.approx(delta, rel=1e-12)
    ours = SampleThreshold(sampling_rate=p, threshold=threshold)
    assert ours.delta(budget) == pytest.approx(exact, rel=2e-3)
    if others is not None:
        # N in the source counts the record that differs
        curve = [
            float(SampleThreshold(sampling_rate=p, threshold=threshold, others=n).delta(budget))
            for n in range(threshold - 1, 3 * threshold)
        ]
        assert curve.index(max(curve)) + threshold == others
        assert max(curve) == pytest.approx(exact, rel=2e-3)


@settings(max_examples=400)
@given(rates, st.integers(1, 10_000), st.floats(0, 7))
@example(1 - 1e-9, 1000, np.log(1.75))
@example(1 - 1e-16, 3, 0.0)
def test_closed_form_against_mpmath(p: float, threshold: int, log_v: float) -> None:
    v = float(np.exp(log_v))
    epsilon, delta = SampleThresholdPaper(sampling_rate=p, threshold=threshold).budget(v)
    with mp.workdps(1000):
        rate, factor = mp.mpf(p), mp.mpf(v)
        q = 1 - (1 - rate) ** (factor + 1)
        entropy = q * mp.log(q / rate) + (1 - q) * factor * mp.log(1 - rate)
        exact = mp.exp(-threshold / q * entropy)
        budget = -factor * mp.log(1 - rate)
    with mp.workdps(40):
        assert epsilon >= budget
        assert epsilon <= budget * (1 + 1e-14)
        assert delta >= exact
        if exact > 1e-290:
            assert delta <= exact * (1 + 1e-12 * threshold * (1 + abs(mp.log(rate))))


@settings(max_examples=200)
@given(rates, st.integers(1, 80), st.floats(1, 12))
def test_exact_is_below_the_closed_form(p: float, threshold: int, v: float) -> None:
    paper = SampleThresholdPaper(sampling_rate=p, threshold=threshold)
    epsilon, delta = paper.budget(v)
    assume(delta > 1e-290)
    ours = SampleThreshold(sampling_rate=p, threshold=threshold)
    assert ours.delta(epsilon) <= delta * (1 + 1e-6)


def test_below_one_budget_the_paper_claims_nothing() -> None:
    paper = SampleThresholdPaper(sampling_rate=0.3, threshold=30)
    assert paper.delta(paper.unit_epsilon * (1 - 1e-9)) == 1
    assert paper.delta(paper.unit_epsilon * (1 + 1e-9)) < 1
    assert paper.delta(0) == 1
    assert paper.epsilon(1) == 0
    assert paper.epsilon(0.999) >= paper.unit_epsilon
    assert paper.budget(0.5)[1] < 1  # the bare formula, with no claim that it is a bound


def test_the_limit_of_the_closed_form_is_positive() -> None:
    paper = SampleThresholdPaper(sampling_rate=0.3, threshold=30)
    assert paper.delta(np.inf) == pytest.approx(0.3**30, rel=1e-10)
    assert paper.epsilon(0.3**31) == np.inf
    assert paper.epsilon(0) == np.inf


def divergence(p: Fraction, threshold: int, others: int, epsilon: float) -> tuple[float, float]:
    """Return both directions of the hockey-stick of the two thresholded counts, in fractions."""
    growth, zero = Fraction(float(np.exp(epsilon))), Fraction(0)

    def thresholded(records: int) -> list[Fraction]:
        masses = [comb(records, n) * p**n * (1 - p) ** (records - n) for n in range(others + 2)]
        return [sum(masses[:threshold], Fraction(0)), *masses[threshold:]]

    absent, present = thresholded(others), thresholded(others + 1)
    add = sum((max(a - growth * b, zero) for a, b in zip(present, absent, strict=True)), zero)
    gone = sum((max(b - growth * a, zero) for a, b in zip(present, absent, strict=True)), zero)
    return float(add), float(gone)


@settings(max_examples=200)
@given(
    st.floats(0.01, 0.99),
    st.integers(1, 40),
    st.integers(0, 60),
    st.one_of(st.floats(0, 0.3), st.floats(0, 4)),
)
def test_brute_force_in_fractions(p: float, threshold: int, others: int, epsilon: float) -> None:
    add, remove = divergence(Fraction(p), threshold, others, epsilon)
    ours = SampleThreshold(sampling_rate=p, threshold=threshold, others=others)
    truth = max(add, remove)
    delta = float(ours.delta(epsilon))
    assert delta >= truth * (1 - 1e-15 - 2e-16 / min(p, 1 - p))  # exp(epsilon) was rounded
    assert delta <= truth * (1 + 1e-6) + 1e-14


@pytest.mark.parametrize("kind", [SampleThresholdPaper, SampleThreshold])
@pytest.mark.parametrize(
    ("p", "threshold"), [(0, 5), (1.1, 5), (np.nan, 5), (-0.1, 5), (0.3, 0), (0.3, -1), (0.3, 2.5)]
)
def test_ranges(kind: type, p: float, threshold: int) -> None:
    with pytest.raises(ParameterError):
        kind(sampling_rate=p, threshold=threshold)


@pytest.mark.parametrize("v", [0, -1, np.nan, np.inf])
def test_no_budget(v: float) -> None:
    with pytest.raises(ParameterError, match="budget_factor"):
        SampleThresholdPaper(sampling_rate=0.3, threshold=30).budget(v)


def test_shapes() -> None:
    for kind in (SampleThresholdPaper, SampleThreshold):
        mechanism = kind(sampling_rate=0.3, threshold=3)
        assert mechanism.delta([[0, 1, 2]]).shape == (1, 3)
        assert mechanism.epsilon([[0.1], [0.2]]).shape == (2, 1)
        assert mechanism.delta(1.0).shape == ()
