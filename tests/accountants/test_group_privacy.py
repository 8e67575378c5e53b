"""Group privacy: reference values, every split by brute force, groups that are known exactly."""

from itertools import pairwise, product

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants import (
    AnalyticGaussian,
    JointRelease,
    ParameterError,
    SampleThreshold,
    SampleThresholdPaper,
)
from accountants.gaussian import log_hockey_stick
from accountants.group_privacy import BucketProfile, GroupProfile
from accountants.group_release import GroupRelease

COIN = -np.log1p(-0.3)
PAPER = SampleThresholdPaper(sampling_rate=0.3, threshold=30)
EXACT = SampleThreshold(sampling_rate=0.3, threshold=30)
REPEATABLE = settings(max_examples=200, deadline=None, derandomize=True)


def textbook(base: AnalyticGaussian, size: int, epsilon: float) -> float:
    """Return ln of (e^eps - 1)/(e^(eps/m) - 1) delta(eps/m), by mpmath."""
    step = mp.mpf(epsilon) / size
    times = mp.fsum(mp.exp(i * step) for i in range(size))
    return min(float(mp.log(times)) + float(base.log_delta(float(step))), 0.0)


@pytest.mark.parametrize(("records", "plain"), [(2, 1.5e-9), (5, 1.2e-7), (10, 1.5e-4)])
def test_reference_values_belong_to_the_paper_form(records: int, plain: float) -> None:
    """The printed values are equal steps from the closed form, not from the exact curve."""
    epsilon, delta = PAPER.budget(4)
    times = np.expm1(records * epsilon) / np.expm1(epsilon)
    assert times * delta == pytest.approx(plain, rel=0.04)
    at = 4 * records * COIN * (1 + 1e-12)
    ours = float(GroupProfile(base=PAPER, size=records).delta(at))
    assert ours <= times * delta * (1 + 1e-6)
    assert float(GroupProfile(base=EXACT, size=records).delta(at)) < ours / 100


@pytest.mark.parametrize("records", [2, 5, 10])
def test_never_below_the_group_that_is_known_exactly(records: int) -> None:
    at = 4 * records * COIN
    known = float(
        GroupRelease(sampling_rate=0.3, threshold=30, shift=0.0, records=records).delta(at)
    )
    found = float(GroupProfile(base=EXACT, size=records, resolution=32).delta(at))
    assert known * (1 - 1e-6) <= found <= 1.05 * known


@REPEATABLE
@given(st.floats(0.5, 20), st.integers(2, 12), st.floats(0, 60))
def test_between_the_known_group_and_the_textbook_form(
    multiplier: float, size: int, epsilon: float
) -> None:
    """A group of m moves a Gaussian sum m times as far: its exact delta is known."""
    base = AnalyticGaussian(noise_multiplier=multiplier)
    found = float(GroupProfile(base=base, size=size, resolution=4).log_delta(epsilon))
    assert found >= float(log_hockey_stick(epsilon, size / multiplier)) - 1e-9
    assert found <= textbook(base, size, epsilon) + 1e-9


def test_the_best_split_of_three_by_brute_force() -> None:
    base, fine = AnalyticGaussian(noise_multiplier=1.5), 16
    group = GroupProfile(base=base, size=3, resolution=fine)
    top = 8.0  # the end of a range: a point of the table
    width = top / (3 * fine)
    deltas = base.delta(width * np.arange(3 * fine + 1))
    best = 1.0
    for i, j in product(range(2 * fine + 1), repeat=2):
        k = 3 * fine - i - j
        if k >= 0:
            last = deltas[min(k, 2 * fine)]
            best = min(
                best,
                deltas[i] + np.exp(i * width) * deltas[j] + np.exp((i + j) * width) * last,
            )
    assert group.delta(top) == pytest.approx(best, rel=1e-9)
    assert group.delta(top) < 0.2 * np.exp(textbook(base, 3, top))


@REPEATABLE
@given(st.integers(2, 8), st.integers(1, 20), st.floats(0, 40), st.floats(0, 3))
def test_falls_in_epsilon_where_the_base_has_a_floor(
    size: int, threshold: int, epsilon: float, step: float
) -> None:
    """The base's delta does not fall below p^tau, so equal steps would rise again."""
    group = _floored(size, threshold)
    assert group.log_delta(epsilon + step) <= group.log_delta(epsilon) + 1e-3
    assert group.log_delta(np.inf) <= group.log_delta(epsilon) + 1e-3


KEPT: dict[tuple[int, int], GroupProfile] = {}


def _floored(size: int, threshold: int) -> GroupProfile:
    if (size, threshold) not in KEPT:
        base = JointRelease(sampling_rate=0.4, threshold=threshold, shift=0.3, others=40)
        KEPT[size, threshold] = GroupProfile(base=base, size=size, resolution=4)
    return KEPT[size, threshold]


def test_falls_in_the_size_downwards() -> None:
    deltas = [
        float(GroupProfile(base=EXACT, size=size, resolution=8).log_delta(6.0))
        for size in (1, 2, 3, 5)
    ]
    assert all(low <= high for low, high in pairwise(deltas))


def test_ends() -> None:
    base = AnalyticGaussian(noise_multiplier=1.0)
    one = GroupProfile(base=base, size=1)
    assert one.log_delta([0.0, 3.0, np.inf]).tolist() == base.log_delta([0.0, 3.0, np.inf]).tolist()
    for size in (2, 50, 300, 10**6):
        group = GroupProfile(base=base, size=size, resolution=2)
        values = group.log_delta([0.0, 1e-9, 1.0, 709.0, 710.0, 1500.0, 1e7, np.inf])
        assert not np.isnan(values).any()
        assert (np.diff(values[:-1]) <= 1e-9).all()
        assert values[-1] == -np.inf
        assert (values <= 0).all()
    assert GroupProfile(base=EXACT, size=3).epsilon([1.0, 0.0]).tolist() == [0, np.inf]
    assert GroupProfile(base=EXACT, size=3).delta([[0.5, 1.0]]).shape == (1, 2)
    never = GroupProfile(base=JointRelease(sampling_rate=1, threshold=2, shift=1.0), size=3)
    assert never.delta([0, 5, np.inf]).tolist() == [1, 1, 1]


def test_epsilon_is_enough() -> None:
    group = GroupProfile(base=AnalyticGaussian(noise_multiplier=4.0), size=3)
    for delta in (0.1, 1e-5, 1e-12, 1e-300):
        epsilon = float(group.epsilon(delta))
        assert 0 < epsilon < np.inf
        assert group.delta(epsilon) <= delta
        assert epsilon >= float(AnalyticGaussian(noise_multiplier=4 / 3).epsilon(delta))


@REPEATABLE
@given(st.floats(0.5, 8), st.integers(1, 30), st.floats(0, 200))
def test_buckets_by_basic_composition(multiplier: float, buckets: int, epsilon: float) -> None:
    """The exact composition of c Gaussian sums moves sqrt(c) as far, and lies below."""
    base = AnalyticGaussian(noise_multiplier=multiplier)
    found = float(BucketProfile(base=base, buckets=buckets).log_delta(epsilon))
    plain = float(base.log_delta(epsilon / buckets)) + float(np.log(buckets))
    assert found == pytest.approx(min(plain, 0.0), abs=1e-9 * max(1, -plain))
    assert found >= float(log_hockey_stick(epsilon, np.sqrt(buckets) / multiplier)) - 1e-9


@pytest.mark.parametrize("size", [0, -1, 2.5, np.nan, 10**6 + 1])
def test_ranges(size: int) -> None:
    with pytest.raises(ParameterError, match="size"):
        GroupProfile(base=EXACT, size=size)
    if size != 10**6 + 1:
        with pytest.raises(ParameterError, match="buckets"):
            BucketProfile(base=EXACT, buckets=size)
    with pytest.raises(ParameterError, match="resolution"):
        GroupProfile(base=EXACT, size=2, resolution=1)
    with pytest.raises(ParameterError, match="epsilon"):
        GroupProfile(base=EXACT, size=2).log_delta(-1.0)


# --- faults the field has had -------------------------------------------------------------------


def test_fault_per_user_total_not_formed() -> None:
    """Neither epsilon nor delta of one record holds for five, nor five times the delta."""
    one = AnalyticGaussian(noise_multiplier=4.0)
    five = GroupProfile(base=one, size=5)
    epsilon = float(one.epsilon(1e-6))
    assert five.delta(epsilon) > 1e-3
    assert five.delta(5 * epsilon) > 5 * 1e-6


def test_fault_overflow_at_large_epsilon() -> None:
    group = GroupProfile(base=AnalyticGaussian(noise_multiplier=0.05), size=2)
    values = group.log_delta([700.0, 709.7, 709.9, 1500.0])
    assert np.isfinite(values).all()
    assert (np.diff(values) <= 0).all()
