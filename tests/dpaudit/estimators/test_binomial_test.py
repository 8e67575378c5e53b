"""The two-sided binomial test against exact sums, and the sharing of an error."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants.errors import ParameterError
from dpaudit.estimators import family_split, two_sided_binomial_p_value


@given(st.integers(1, 40), st.fractions(0, 1, max_denominator=64))
def test_equals_the_exact_sum_and_is_valid(trials, probability):
    pmf = [
        math.comb(trials, k) * probability**k * (1 - probability) ** (trials - k)
        for k in range(trials + 1)
    ]
    exact = [min(1, 2 * min(sum(pmf[: k + 1]), sum(pmf[k:]))) for k in range(trials + 1)]
    found = two_sided_binomial_p_value(
        np.arange(trials + 1), trials, probability=float(probability)
    )
    for value, truth in zip(found, exact, strict=True):
        assert Fraction(value) >= truth
        assert value == pytest.approx(float(truth), rel=1e-9, abs=1e-300)
    for level in exact:
        assert sum(p for p, e in zip(pmf, exact, strict=True) if e <= level) <= level


@given(st.floats(0, 10), st.floats(-12, -0.01), st.booleans(), st.floats(-8, 8), st.integers(-3, 3))
@settings(deadline=None)
def test_never_below_the_exact_value_for_many_trials(power, log_rate, flip, deviations, shift):
    trials = int(10**power)
    rate = 1 - 10**log_rate if flip else 10**log_rate
    spread = math.sqrt(trials * rate * (1 - rate))
    successes = min(max(round(trials * rate + deviations * spread) + shift, 0), trials)
    found = two_sided_binomial_p_value(successes, trials, probability=rate)
    with ctx.workprec(400):
        p, one = arb(rate), arb(1)
        at_most, at_least = one, one
        if successes < trials:
            at_most = (1 - p).beta_lower(arb(trials - successes), arb(successes + 1), regularized=1)
        if successes > 0:
            at_least = p.beta_lower(arb(successes), arb(trials - successes + 1), regularized=1)
        exact = 2 * at_most.min(at_least).min(one / 2)
        assert exact <= arb(found)
        assert arb(found) <= exact * (1 + arb(1e-4)) + arb(1e-322)


def test_certain_outcomes():
    assert two_sided_binomial_p_value(0, 10, probability=0.0) == 1.0
    assert two_sided_binomial_p_value(1, 10, probability=0.0) == 0.0
    assert two_sided_binomial_p_value(10, 10, probability=1.0) == 1.0
    assert two_sided_binomial_p_value(9, 10, probability=1.0) == 0.0
    assert two_sided_binomial_p_value(0, 0, probability=0.3) == 1.0
    assert two_sided_binomial_p_value(5, 10, probability=0.5) == 1.0


def test_a_possible_outcome_never_has_p_value_zero():
    assert two_sided_binomial_p_value(10**6, 10**6, probability=1e-9) > 0.0


@pytest.mark.parametrize(
    ("successes", "trials", "probability", "message"),
    [
        (-1, 10, 0.5, "successes = -1"),
        (11, 10, 0.5, "at most the number of trials"),
        (1.5, 10, 0.5, "whole numbers"),
        (1, 10**10 + 1, 0.5, "trials"),
        (math.nan, 10, 0.5, "successes = nan"),
        (1, 10, math.nan, "probability = nan"),
        (1, 10, -0.1, "probability = -0.1"),
        (1, 10, 1.1, "probability = 1.1"),
        (1, 10, "0.5", "probability must be numbers"),
    ],
)
def test_refusals(successes, trials, probability, message):
    with pytest.raises(ParameterError, match=message):
        two_sided_binomial_p_value(successes, trials, probability=probability)


@given(
    st.floats(1e-12, 0.999),
    st.lists(st.text(max_size=5), min_size=1, max_size=300, unique=True),
)
def test_shares_sum_to_no_more_than_the_total(total, names):
    shares = family_split(total, names)
    assert list(shares) == names
    assert sum(Fraction(share) for share in shares.values()) <= Fraction(total)
    assert sum(shares.values()) <= total
    assert min(shares.values()) == pytest.approx(total / len(names), rel=1e-9)


@pytest.mark.parametrize(
    ("total", "names", "message"),
    [
        (0.0, ["a"], "total_error = 0"),
        (1.0, ["a"], "total_error = 1"),
        (math.nan, ["a"], "total_error = nan"),
        (0.01, [], "names is empty"),
        (0.01, ["a", "b", "a"], "names repeats a"),
    ],
)
def test_split_refusals(total, names, message):
    with pytest.raises(ParameterError, match=message):
        family_split(total, names)
