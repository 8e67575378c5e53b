"""One-run audits against trade-off curves: valid against linear programs, rounded to be safe."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import betainc, ndtr, ndtri

from accountants.errors import ParameterError
from accountants.gaussian import AnalyticGaussian
from dpaudit.estimators.gaussian_mu import epsilon_from_mu
from dpaudit.estimators.guess_choice import HeldOutGuesses
from dpaudit.estimators.one_run_curves import GaussianCurve, PointsCurve
from dpaudit.estimators.one_run_f_dp import (
    epsilon_one_run_fdp,
    one_run_curve_p_value,
    one_run_mu_lower,
)
from dpaudit.estimators.one_run_tail import one_run_p_value


def gaussian_delta(mu, epsilon):
    """Balle and Wang 2018, Theorem 8."""
    return ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)


def most_probable(correct, guesses, canaries, mu):
    """Largest probability allowed by mu-GDP at 40 epsilons, over all laws of the right guesses.

    By symmetry no mechanism does better than one whose law of right guesses is the variable here
    (docs/proofs/one-run.md); the points left out can only make this value larger.
    """
    epsilons = np.linspace(0, 5 * mu, 40)
    laws, terms = guesses + 1, 2 * guesses
    size = laws + epsilons.size * terms
    rows, bounds = [], []
    for number, epsilon in enumerate(epsilons):
        offset = laws + number * terms
        for w in range(guesses):
            up, down = np.zeros(size), np.zeros(size)
            up[w + 1], up[w] = w + 1, -math.exp(epsilon) * (guesses - w)
            down[w], down[w + 1] = guesses - w, -math.exp(epsilon) * (w + 1)
            up[offset + w] = down[offset + guesses + w] = -1.0
            rows += [up, down]
            bounds += [0.0, 0.0]
        row = np.zeros(size)
        row[offset : offset + terms] = 1.0
        rows.append(row)
        bounds.append(canaries * gaussian_delta(mu, epsilon))
    gain, total = np.zeros(size), np.zeros((1, size))
    gain[correct:laws] = 1.0
    total[0, :laws] = 1.0
    return -linprog(-gain, A_ub=np.array(rows), b_ub=bounds, A_eq=total, b_eq=[1.0]).fun


@pytest.mark.parametrize(
    ("correct", "guesses", "canaries", "mu", "waste"),
    [
        (8, 8, 8, 1.0, 0.01),
        (7, 8, 8, 0.5, 0.2),
        (12, 12, 40, 1.0, 0.02),
        (11, 12, 12, 0.5, 0.1),
        (10, 10, 30, 0.3, 0.02),
    ],
)
def test_p_value_is_below_no_mechanism_and_wastes_little(correct, guesses, canaries, mu, waste):
    best = most_probable(correct, guesses, canaries, mu)
    found = one_run_curve_p_value(
        GaussianCurve(mu), correct=correct, guesses=guesses, canaries=canaries
    )
    # The program knows 40 points of the curve only, so its value may exceed the truth a little.
    assert found >= best * 0.997
    assert found <= best * (1 + waste) or found == 1.0


def test_pure_claims_agree_with_the_exact_bound():
    """One point (epsilon, 0): the binomial tail."""
    curve = PointsCurve(np.array([0.7]), np.array([0.0]))
    found = one_run_curve_p_value(curve, correct=90, guesses=120, canaries=300)
    exact = one_run_p_value(90, 120, canaries=300, epsilon=0.7, delta=0.0)
    assert found == pytest.approx(exact, rel=1e-4)
    assert found >= exact


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.floats(0.5, 1), st.integers(0, 400), st.floats(0, 3))
def test_no_p_value_exceeds_that_of_a_point(guesses, share, others, epsilon):
    correct, canaries = max(1, round(share * guesses)), guesses + others
    profile = AnalyticGaussian(noise_multiplier=1.5)
    curve = PointsCurve.from_profile(profile, epsilons=np.array([epsilon, epsilon + 0.5]))
    found = one_run_curve_p_value(curve, correct=correct, guesses=guesses, canaries=canaries)
    exact = one_run_p_value(
        correct, guesses, canaries=canaries, epsilon=epsilon, delta=float(profile.delta(epsilon))
    )
    assert found <= exact * (1 + 2e-5) or exact > 0.5


@pytest.mark.parametrize("side", ["both", "in"])
def test_mu_is_exceeded_no_more_often_than_stated(side):
    """Gaussian canaries of mu 1, 150 runs of 400; error at most 1e-6."""
    rng, failures, shown = np.random.default_rng(61), 0, 0
    for _ in range(150):
        included = rng.random(400) < 0.5
        scores = rng.normal(size=400) + included
        found = epsilon_one_run_fdp(
            scores[included], scores[~included], significance=0.05, delta=1e-5, rule=60, side=side
        )
        failures += found.mu > 1.0
        shown += found.mu > 0.0
    assert failures == 0 or betainc(failures, 151 - failures, 0.05) >= 1e-6
    assert shown > 125


def test_null_scores_show_nothing():
    """Numbers chosen among several, epsilon 0; at most 30 of 200 with error below 1e-6."""
    rng, failures = np.random.default_rng(67), 0
    for _ in range(200):
        included = rng.random(200) < 0.5
        scores = rng.integers(0, 5, 200)
        found = epsilon_one_run_fdp(
            scores[included], scores[~included], significance=0.05, delta=1e-5
        )
        failures += found.lower > 0
    assert failures <= 30


def test_mu_lower_is_where_the_p_value_passes_the_tail():
    low = one_run_mu_lower(620, 700, canaries=5000, tail=0.01)
    below, above = (
        one_run_curve_p_value(GaussianCurve(mu), correct=620, guesses=700, canaries=5000)
        for mu in (low, low + 1e-4)
    )
    assert low > 0.3
    assert below <= 0.01 * (1 + 1e-4)
    assert above >= 0.01 * (1 - 1e-4)


def test_many_canaries_are_quick_enough_to_test():
    """A million guesses take thousands of steps, not a million."""
    low = one_run_mu_lower(692_000, 1_000_000, canaries=1_000_000, tail=0.05)
    assert 0.3 < low < 1.0


@pytest.mark.parametrize("mu", [0.0, 0.3, 2.0, 30.0])
@pytest.mark.parametrize("reached", [1e-300, 1e-12, 0.3, 0.999999, 1 - 2e-16])
def test_gaussian_inverse_is_rounded_down(mu, reached):
    found = GaussianCurve(mu).inverse(reached)
    with mpmath.workdps(60):
        target = mpmath.mpf(reached)
        z = mpmath.findroot(
            lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2) - mpmath.log(target),
            float(ndtri(reached)),
        )
        exact = mpmath.erfc(-(z - mpmath.mpf(mu)) / mpmath.sqrt(2)) / 2
    assert found <= exact
    assert found >= exact * (1 - mpmath.mpf(1e-9)) - 1e-300


def test_result_names_its_assumption():
    found = epsilon_one_run_fdp(
        np.arange(200) + 150.0, np.arange(200.0), significance=0.05, delta=1e-5
    )
    assert found.lower > 0
    assert found.lower == epsilon_from_mu(found.mu, delta=1e-5)
    assert "mu >=" in str(found)
    assert any("Gaussians" in one for one in found.assumptions)
    pure = epsilon_one_run_fdp(
        np.arange(200) + 150.0, np.arange(200.0), significance=0.05, delta=0.0
    )
    assert pure.mu == found.mu
    assert pure.to_dict()["lower"] == "inf"
    assert str(pure).startswith("epsilon >= inf at delta = 0 (mu >= ")
    none = epsilon_one_run_fdp([], [], significance=0.05, delta=1e-5)
    assert (none.lower, none.mu) == (0.0, 0.0)
    assert none.reason == "there are no canaries to guess"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delta": -1.0}, "delta = -1"),
        ({"delta": float("nan")}, "delta = nan"),
        ({"significance": 0.7}, "significance = 0.7"),
        ({"rule": HeldOutGuesses()}, "rule = HeldOutGuesses"),
        ({"inclusion": 0.1}, "inclusion = 0.1"),
    ],
)
def test_bad_input_is_refused(change, message):
    with pytest.raises(ParameterError, match=message):
        epsilon_one_run_fdp([1.0], [0.0], **{"significance": 0.05, "delta": 1e-5, **change})


def test_bad_curves_are_refused():
    with pytest.raises(ParameterError, match="mu = nan"):
        GaussianCurve(float("nan"))
    with pytest.raises(ParameterError, match="vectors of one length"):
        PointsCurve(np.array([1.0, 2.0]), np.array([0.0]))
    with pytest.raises(ParameterError, match="deltas = 2"):
        PointsCurve(np.array([1.0]), np.array([2.0]))
