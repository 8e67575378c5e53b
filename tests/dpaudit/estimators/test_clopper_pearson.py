"""Clopper-Pearson bounds: reference values, certified outward rounding, properties, bad input."""

import math

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accountants.errors import ParameterError
from dpaudit.estimators import clopper_pearson

TAILS = st.floats(-12.0, math.log10(0.4)).map(lambda power: 10.0**power)


@st.composite
def counts(draw, most=10**9):
    """Draw counts of every order of magnitude, the ends and their neighbours included."""
    trials = draw(st.integers(1, most) | st.integers(1, 100) | st.integers(1, 10_000))
    rare = draw(st.integers(0, trials) | st.integers(0, min(trials, 50)))
    return (trials - rare if draw(st.booleans()) else rare), trials


def incomplete_beta(x, a, b):
    """Regularised incomplete beta ratio as a ball with 20 certain digits or more."""
    precision = 128
    while True:
        with ctx.workprec(precision):
            value = arb(x).beta_lower(arb(a), arb(b), regularized=1)
            if value.rad() < abs(value.mid()) * arb(1e-20):
                return value
        precision *= 2
        assert precision < 10**5


@given(counts(), TAILS)
@example((0, 1), 1e-12)
@example((1, 1), 1e-12)
@example((10**9, 10**9), 0.4)
@example((0, 10**9), 1e-12)
@example((68665439, 80550438), 2.442499142762613e-09)
@example((1840013, 10443914), 9.46605776531108e-09)
@example((1, 54689242), 2.419689177889111e-10)
@settings(max_examples=300, deadline=None)
def test_bounds_are_on_the_safe_side_of_the_exact_ones(count, tail):
    successes, trials = count
    low = clopper_pearson.lower(successes, trials, tail=tail)
    high = clopper_pearson.upper(successes, trials, tail=tail)
    complement = clopper_pearson.upper_complement(successes, trials, tail=tail)
    with ctx.workprec(256):
        if successes == 0:
            assert low == 0.0
        else:
            reached = incomplete_beta(arb(low), successes, trials - successes + 1)
            assert reached <= arb(tail)
            assert reached >= arb(tail) * (1 - arb(1e-3))
        if successes == trials:
            assert high == 1.0
            assert complement == 0.0
        else:
            reached = incomplete_beta(arb(complement), trials - successes, successes + 1)
            assert reached <= arb(tail)
            assert reached >= arb(tail) * (1 - arb(1e-3))
            if high < 1.0:
                left = incomplete_beta(1 - arb(high), trials - successes, successes + 1)
                assert left <= arb(tail)


def test_reference_interval():
    assert clopper_pearson.lower(7, 50, tail=0.025) == pytest.approx(0.05819, abs=5e-6)
    assert clopper_pearson.upper(7, 50, tail=0.025) == pytest.approx(0.26740, abs=5e-6)


def test_closed_forms_at_the_ends():
    for trials in (1, 10, 5000, 10**9):
        for tail in (1e-12, 0.005, 0.4):
            all_of_them = math.exp(math.log(tail) / trials)
            assert clopper_pearson.lower(trials, trials, tail=tail) == pytest.approx(all_of_them)
            none = -math.expm1(math.log(tail) / trials)
            assert clopper_pearson.upper(0, trials, tail=tail) == pytest.approx(none, rel=1e-6)


def test_ceiling_of_a_two_sided_interval_with_ten_thousand_trials():
    # 10^4 successes out of 10^4 with two texts: ln(p / (1 - p)) at the tail .005 is 7.5427.
    low = clopper_pearson.lower(10_000, 10_000, tail=0.005)
    assert math.log(low / (1 - low)) == pytest.approx(7.5427, abs=5e-5)


@given(counts(most=10**7), TAILS)
@settings(max_examples=200, deadline=None)
def test_parity_with_statsmodels(count, tail):
    from statsmodels.stats.proportion import proportion_confint

    successes, trials = count
    low, high = proportion_confint(successes, trials, alpha=2 * tail, method="beta")
    assert clopper_pearson.lower(successes, trials, tail=tail) == pytest.approx(low, rel=1e-6)
    assert clopper_pearson.upper(successes, trials, tail=tail) == pytest.approx(high, rel=1e-6)


@given(counts(most=10**6), TAILS, TAILS)
@settings(deadline=None)
def test_monotone_in_counts_trials_and_tail(count, tail, other):
    successes, trials = count
    for bound in (clopper_pearson.lower, clopper_pearson.upper):
        value = bound(successes, trials, tail=tail)
        if successes:
            assert bound(successes - 1, trials, tail=tail) <= value
        assert bound(successes, trials + 1, tail=tail) <= value
    small, large = sorted((tail, other))
    low = clopper_pearson.lower(successes, trials, tail=np.array([small, large]))
    high = clopper_pearson.upper(successes, trials, tail=np.array([small, large]))
    assert low[0] <= low[1] <= successes / trials <= high[1] <= high[0]


@given(counts(most=10**6), TAILS)
@settings(deadline=None)
def test_upper_and_lower_mirror_each_other(count, tail):
    successes, trials = count
    high = clopper_pearson.upper(successes, trials, tail=tail)
    mirrored = 1 - clopper_pearson.lower(trials - successes, trials, tail=tail)
    assert high == pytest.approx(mirrored, abs=1e-9)


@given(counts(most=10**6), TAILS, st.floats(0, 1))
@settings(deadline=None)
def test_expected_counts_interpolate_whole_counts(count, tail, fraction):
    successes, trials = count
    successes = min(successes, trials - 1)
    expected = successes + fraction
    for planned, bound in (
        (clopper_pearson.lower_at_expected_count, clopper_pearson.lower),
        (clopper_pearson.upper_at_expected_count, clopper_pearson.upper),
    ):
        assert planned(successes, trials, tail=tail) == bound(successes, trials, tail=tail)
        value = planned(expected, trials, tail=tail)
        below = bound(successes, trials, tail=tail)
        above = bound(successes + 1, trials, tail=tail)
        assert below * (1 - 1e-9) <= value <= above * (1 + 1e-9)


def test_shapes_broadcast():
    low = clopper_pearson.lower([[0], [5]], [10, 20, 30], tail=0.01)
    assert low.shape == (2, 3)
    assert low[1, 2] == clopper_pearson.lower(5, 30, tail=0.01)
    assert isinstance(clopper_pearson.upper(np.int32(3), 10, tail=0.1), float)


def test_no_trials_say_nothing():
    assert clopper_pearson.lower(0, 0, tail=0.1) == 0.0
    assert clopper_pearson.upper(0, 0, tail=0.1) == 1.0


@pytest.mark.parametrize(
    ("successes", "trials", "tail", "message"),
    [
        (-1, 10, 0.1, "successes = -1"),
        (11, 10, 0.1, "at most the number of trials"),
        (2.5, 10, 0.1, "whole numbers"),
        (math.nan, 10, 0.1, "successes = nan"),
        (1, math.nan, 0.1, "trials = nan"),
        (1, math.inf, 0.1, "trials = inf"),
        (1, 10.5, 0.1, "trials = 10.5"),
        (1, 10**9 + 1, 0.1, "trials = 1000000001"),
        (1, 10, 0.0, "tail = 0"),
        (1, 10, 1e-31, "tail = 1e-31"),
        (1, 10, 0.51, "tail = 0.51"),
        (1, 10, math.nan, "tail = nan"),
        ("1", 10, 0.1, "successes must be numbers"),
        (True, 10, 0.1, "successes must be numbers"),
        (None, 10, 0.1, "successes must be numbers"),
        ([1, 2], [10, 10, 10], 0.1, "do not broadcast"),
        ([1, 2], 10, [0.1, 0.2, 0.3], "do not broadcast"),
        ([[1], [2, 3]], 10, 0.1, "regular array"),
    ],
)
def test_refusals(successes, trials, tail, message):
    for bound in (clopper_pearson.lower, clopper_pearson.upper, clopper_pearson.upper_complement):
        with pytest.raises(ParameterError, match=message):
            bound(successes, trials, tail=tail)


def test_expected_counts_refuse_impossible_values():
    for planned in (
        clopper_pearson.lower_at_expected_count,
        clopper_pearson.upper_at_expected_count,
    ):
        for expected in (-0.5, 10.5, math.nan):
            with pytest.raises(ParameterError, match="successes"):
                planned(expected, 10, tail=0.1)
