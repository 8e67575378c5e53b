"""The simultaneous band: exact coverage for small n, simulated for larger, shape, rounding."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betainc, betaincc, ndtri

from accountants.errors import ParameterError
from dpaudit.estimators import clopper_pearson
from dpaudit.estimators.confidence_band import rate_band


def exact_failure(limits):
    """Pr[some k-th smallest of n uniforms exceeds limits[k - 1]], by counting points in cells.

    State: how many points lie up to the limit; each next limit adds a binomial share of the rest.
    """
    n = len(limits)
    state, before = {0: 1.0}, 0.0
    for k, limit in enumerate(limits, start=1):
        share = (limit - before) / (1.0 - before) if before < 1.0 else 0.0
        following = {}
        for seen, chance in state.items():
            for more in range(n - seen + 1):
                if seen + more >= k:
                    extra = (
                        math.comb(n - seen, more) * share**more * (1 - share) ** (n - seen - more)
                    )
                    following[seen + more] = following.get(seen + more, 0.0) + chance * extra
        state, before = following, limit
    return 1.0 - sum(state.values())


@pytest.mark.parametrize("error", [0.3, 0.05, 1e-3])
@pytest.mark.parametrize("trials", [1, 2, 5, 17, 60])
def test_fails_no_more_often_than_stated_exactly(trials, error):
    band = rate_band(trials, error=error)
    counts = np.arange(trials)
    failure = exact_failure(band.upper(counts))
    assert failure <= error
    assert failure >= 0.5 * error
    mirrored = 1.0 - band.lower(counts + 1)[::-1]
    assert mirrored == pytest.approx(band.upper(counts), abs=1e-12)


def test_fails_no_more_often_than_stated_in_simulation():
    """4000 repetitions at 20%; a binomial count so large has probability below 1e-6."""
    trials, repetitions, error = 2000, 4000, 0.2
    band, rng = rate_band(trials, error=error), np.random.default_rng(3)
    counts = np.arange(trials)
    upper, lower = band.upper(counts), band.lower(counts + 1)
    failed = np.zeros(2, dtype=int)
    for _ in range(repetitions):
        uniform = np.sort(rng.random(trials))
        failed += [np.any(uniform > upper), np.any(uniform < lower)]
    for count in failed:
        assert betainc(count, repetitions - count + 1, error) > 1e-6
        assert count > 0.8 * error * repetitions


@pytest.mark.parametrize("trials", [10, 1000, 10**6, 10**9])
def test_local_level_stays_close_to_that_of_one_threshold(trials):
    """At most 3.8 standard deviations everywhere where one threshold alone has 1.96."""
    band = rate_band(trials, error=0.025)
    counts = np.unique(np.geomspace(1, trials - 1, 40).astype(int))
    quantile = -ndtri(betaincc(counts + 1.0, trials - counts, band.upper(counts)))
    assert np.all(quantile > 1.959)
    assert np.all(quantile < 3.8)
    assert trials * float(band.upper(0)) < 7.0 + math.log(2)


@given(st.integers(1, 300), st.floats(1e-12, 0.5), st.data())
@settings(deadline=None, max_examples=60)
def test_bounds_are_monotone_and_contain_the_pointwise_ones(trials, error, data):
    counts = np.arange(trials + 1)
    band = rate_band(trials, error=error)
    upper, lower = band.upper(counts), band.lower(counts)
    assert all(b >= a for a, b in pairwise(upper))
    assert all(b >= a for a, b in pairwise(lower))
    assert upper[-1] == 1.0
    assert lower[0] == 0.0
    assert np.all(upper >= clopper_pearson.upper(counts, trials, tail=error) - 1e-9)
    assert np.all(lower <= counts / trials)
    wider = band.at(error / data.draw(st.floats(1.0, 1e3)))
    assert np.all(wider.upper(counts) >= upper * (1 - 1e-12))
    assert np.all(wider.lower(counts) <= lower * (1 + 1e-9) + 1e-15)


@pytest.mark.parametrize("trials", [3, 1000, 10**6])
def test_the_martingale_exceeds_its_limit_at_the_bound(trials):
    """The mixture at the bound, in 50 digits: the bound is on the safe side, and not by much."""
    band = rate_band(trials, error=0.01)
    for count in {0, 1, trials // 100, trials // 2, trials - 1}:
        x = float(band.upper(count))
        with mpmath.workdps(50):
            total = mpmath.mpf(0)
            for tilt in band.tilts:
                ratio = 1 - mpmath.mpf(float(tilt))
                grown = (1 - ratio * mpmath.mpf(x)) / (1 - mpmath.mpf(x))
                total += ratio**count * grown ** (trials - count)
            total /= len(band.tilts)
        assert total >= 100
        assert total <= 100 * (1 + 1e-3)


def test_no_trials_say_nothing():
    band = rate_band(0, error=0.05)
    assert float(band.upper(0)) == 1.0
    assert float(band.lower(0)) == 0.0


@pytest.mark.parametrize(
    ("trials", "error", "message"),
    [(-1, 0.1, "trials"), (1.5, 0.1, "trials"), (5, 0.0, "error"), (5, 0.7, "error")],
)
def test_refuses_parameters_out_of_range(trials, error, message):
    with pytest.raises(ParameterError, match=message):
        rate_band(trials, error=error)


def test_refuses_counts_out_of_range():
    with pytest.raises(ParameterError, match="successes"):
        rate_band(5, error=0.1).upper(6)
