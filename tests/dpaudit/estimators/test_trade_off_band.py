"""Trade-off bands and the test of a claimed curve: coverage, the null, power, levels, bad input."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betainc, ndtr, ndtri

from accountants.errors import ParameterError
from dpaudit.estimators.nominal_trade_off import gaussian_trade_off, profile_trade_off
from dpaudit.estimators.trade_off_band import nominal_violation, trade_off_band

REPETITIONS = 400


def too_many(failures, nominal):
    """Whether so many failures have probability below 1e-6 at the nominal rate."""
    return failures > 0 and betainc(failures, REPETITIONS - failures + 1, nominal) < 1e-6


@pytest.mark.parametrize("direction", ["add", "remove"])
def test_band_covers_the_true_curve_everywhere(direction):
    rng, failures = np.random.default_rng(1), 0
    alphas = np.linspace(0.0, 1.0, 201)
    curve = ndtr(-ndtri(alphas) - 1.0)
    for _ in range(REPETITIONS):
        band = trade_off_band(
            rng.normal(1.0, size=300), rng.normal(size=300), confidence=0.8, direction=direction
        )
        wrong = np.any(band.upper(alphas) < curve - 1e-12)
        failures += bool(wrong or np.any(band.lower(alphas) > curve + 1e-12))
    assert not too_many(failures, 0.2)


NULLS = {
    # name: (with the canary, without, the curve that is attained exactly)
    "gaussian": (
        lambda rng, n: rng.normal(1.0, size=n),
        lambda rng, n: rng.normal(size=n),
        gaussian_trade_off(mu=1.0),
    ),
    "response": (
        lambda rng, n: (rng.random(n) < 0.75) * 1.0,
        lambda rng, n: (rng.random(n) < 0.25) * 1.0,
        profile_trade_off(epsilon=math.log(3), delta=0.0),
    ),
    "laplace": (
        lambda rng, n: rng.laplace(1.0, size=n),
        lambda rng, n: rng.laplace(size=n),
        profile_trade_off(epsilon=1.0, delta=0.0),
    ),
    "identical": (
        lambda rng, n: rng.integers(0, 5, n),
        lambda rng, n: rng.integers(0, 5, n),
        lambda alpha: 1.0 - alpha,
    ),
}


@pytest.mark.parametrize("name", NULLS)
def test_an_attained_curve_is_rejected_no_more_often_than_stated(name):
    draw_in, draw_out, curve = NULLS[name]
    rng, failures = np.random.default_rng(2), 0
    for _ in range(REPETITIONS):
        found = nominal_violation(draw_in(rng, 200), draw_out(rng, 200), curve, error=0.2)
        failures += found.violated
    assert not too_many(failures, 0.2)


def test_a_broken_gaussian_is_found_where_it_fails():
    rng = np.random.default_rng(3)
    inside, outside = rng.normal(2.0, size=3000), rng.normal(size=3000)
    found = nominal_violation(inside, outside, gaussian_trade_off(mu=1.0), error=0.01)
    assert found.violated
    assert found.level < 1e-12
    assert found.excess == found.beta_claimed - found.beta_upper > 0.1
    assert -1.0 < found.threshold < 3.0
    assert "nominal curve violated" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["violated"] is True


@pytest.mark.parametrize("error", [0.2, 0.05, 1e-3])
def test_the_level_agrees_with_the_verdict_at_that_error(error):
    rng = np.random.default_rng(4)
    curve = gaussian_trade_off(mu=1.0)
    verdicts = set()
    for shift in (1.0, 1.1, 1.2, 1.3, 1.4, 1.5):
        inside, outside = rng.normal(shift, size=2000), rng.normal(size=2000)
        found = nominal_violation(inside, outside, curve, error=error)
        assert found.violated == (found.level <= error) or found.level < 1.02 * error
        assert (found.excess > 0) == found.violated
        verdicts.add(found.violated)
    assert verdicts == {True, False}


@given(st.floats(0.0, 8.0), st.floats(0.0, 1.0))
@settings(deadline=None, max_examples=60)
def test_one_claim_is_the_piecewise_linear_curve(epsilon, delta):
    alpha = np.linspace(0.0, 1.0, 101)
    expected = np.maximum(
        np.maximum(1 - delta - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - delta - alpha)),
        0.0,
    )
    found = profile_trade_off(epsilon=epsilon, delta=delta)(alpha)
    assert np.all(found <= expected + 1e-16)
    assert np.all(found >= expected - 1e-11)


def test_samples_of_a_gaussian_profile_lie_below_its_curve_and_close():
    epsilons = np.linspace(0.0, 8.0, 200)
    deltas = ndtr(0.5 - epsilons) - np.exp(epsilons) * ndtr(-0.5 - epsilons)
    alpha = np.linspace(0.001, 0.999, 300)
    found = profile_trade_off(epsilon=epsilons, delta=np.maximum(deltas, 0.0))(alpha)
    exact = ndtr(-ndtri(alpha) - 1.0)
    assert np.all(found <= exact + 1e-12)
    assert np.all(found >= exact - 1e-3)
    assert np.all(np.abs(gaussian_trade_off(mu=1.0)(alpha) - exact) < 1e-12)


@given(
    st.lists(st.integers(-2, 2) | st.sampled_from([math.inf, -math.inf]), max_size=20),
    st.lists(st.integers(-2, 2), max_size=20),
    st.sampled_from(["add", "remove"]),
)
@settings(deadline=None, max_examples=50)
def test_any_scores_give_ordered_bands_and_no_nan(inside, outside, direction):
    band = trade_off_band(inside, outside, direction=direction)
    assert np.all(band.alpha_lower <= band.alpha)
    assert np.all(band.beta_lower <= band.beta)
    if outside:
        assert np.all((band.alpha <= band.alpha_upper) | (direction == "remove"))
    alphas = np.linspace(0, 1, 11)
    upper, lower = band.upper(alphas), band.lower(alphas)
    assert np.all(np.diff(upper) <= 0)
    assert np.all(np.diff(lower) <= 0)
    assert np.all(upper <= np.nextafter(1 - alphas, 2))
    found = nominal_violation(inside, outside, lambda a: 1 - a, direction=direction)
    assert 0 < found.level <= 1
    assert not found.violated or (inside and outside)
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: trade_off_band([1], [0], confidence=1.0), "confidence = 1"),
        (lambda: trade_off_band([1], [0], direction="up"), "direction"),
        (lambda: trade_off_band([math.nan], [0]), "NaN"),
        (lambda: nominal_violation([1], [0], lambda a: 1 - a, error=0.0), "error = 0"),
        (lambda: nominal_violation([1], [0], lambda a: a * np.nan), "nominal trade-off curve"),
        (lambda: nominal_violation([1, 2], [0, 1], lambda a: a), "rises"),
        (lambda: nominal_violation([1, 2], [0, 1], lambda a: 0.5), "shape"),
        (lambda: profile_trade_off(epsilon=-1.0, delta=0.0), "epsilon = -1"),
        (lambda: profile_trade_off(epsilon=[], delta=[]), "claim"),
        (lambda: gaussian_trade_off(mu=-1.0), "mu = -1"),
        (lambda: trade_off_band([1], [0]).upper(1.5), "alpha = 1.5"),
    ],
)
def test_refuses_bad_input(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
