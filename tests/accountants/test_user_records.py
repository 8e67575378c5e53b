"""Group privacy for a base that is slow: a bound, close to the plain formula, refused elsewhere."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants import Adjacency, AnalyticGaussian, Guarantee, ParameterError, View
from accountants.group_privacy import GroupProfile
from accountants.user_records import UserRecords, group_of


def guarantee(adjacency: Adjacency | None = None) -> Guarantee:
    return Guarantee(
        name="sum",
        profile=AnalyticGaussian(noise_multiplier=4.0),
        adjacency=adjacency or Adjacency(),
        view=View(),
        assumptions=("a",),
        source="s",
    )


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(0.3, 20), st.integers(2, 50), st.floats(0, 60))
def test_the_plain_formula_rounded_up(multiplier: float, size: int, epsilon: float) -> None:
    base = AnalyticGaussian(noise_multiplier=multiplier)
    found = float(UserRecords(base=base, size=size).log_delta(epsilon))
    step = mp.mpf(epsilon) / size
    times = mp.fsum(mp.exp(i * step) for i in range(size))
    truth = float(mp.log(times)) + float(base.log_delta(epsilon / size))
    assert found >= min(truth, 0.0) - 1e-12
    assert found <= min(truth, 0.0) + 1e-6


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(1, 30), st.integers(1, 20), st.floats(-40, -1))
def test_above_what_a_group_of_gaussians_really_loses(
    multiplier: float, size: int, log_delta: float
) -> None:
    """The sum of m records moves m times as far: exact, and below the black box."""
    delta = float(np.exp(log_delta))
    group = UserRecords(base=AnalyticGaussian(noise_multiplier=multiplier), size=size)
    exact = AnalyticGaussian(noise_multiplier=multiplier / size)
    found = float(group.epsilon(delta))
    assert found >= float(exact.epsilon(delta)) * (1 - 1e-9)
    if np.isfinite(found) and found > 0:
        assert group.delta(found) <= delta * (1 + 1e-9)


def test_no_better_than_the_search_over_unequal_steps() -> None:
    base = AnalyticGaussian(noise_multiplier=4.0)
    for epsilon in (1.0, 2.0, 5.0):
        plain = UserRecords(base=base, size=3).log_delta(epsilon)
        assert GroupProfile(base=base, size=3).log_delta(epsilon) <= plain + 1e-9


def test_ends() -> None:
    group = UserRecords(base=AnalyticGaussian(noise_multiplier=1.0), size=3)
    assert group.epsilon(1.0) == 0
    assert group.epsilon(0.0) == np.inf
    assert group.delta(np.inf) < 1e-10
    assert group.delta(0.0) <= 1
    assert UserRecords(base=group.base, size=1).epsilon(1e-6) == group.base.epsilon(1e-6)


def test_the_guarantee_says_how_many_records() -> None:
    two = group_of(guarantee(), records=2)
    assert str(two.adjacency) == "add-remove of 2 records"
    assert two.assumptions[-1] == "One user contributes at most 2 records."
    assert group_of(guarantee(), records=1) == guarantee()


@pytest.mark.parametrize(
    "adjacency", [Adjacency(relation="replace-one"), Adjacency(records=2)], ids=str
)
def test_only_from_one_record_added_or_removed(adjacency: Adjacency) -> None:
    with pytest.raises(ParameterError, match="add-remove of 1 record is needed"):
        group_of(guarantee(adjacency), records=2)


@pytest.mark.parametrize("records", [0, -1, 1.5, 10**6 + 1])
def test_ranges(records: int) -> None:
    with pytest.raises(ParameterError, match="records"):
        group_of(guarantee(), records=records)
