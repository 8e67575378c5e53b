"""Simulated mechanisms of known epsilon: bounds fail no more often than stated, and lose little.

Every simulation is seeded. A validity test counts failures in independent repetitions and rejects
when a binomial count at the nominal error would be that large with probability below 1e-6; a test
of a valid estimator therefore fails with probability at most 1e-6 over the choice of seed.
"""

import math

import numpy as np
import pytest
from scipy.special import betainc, ndtr

from dpaudit.estimators import (
    SplitScores,
    ThresholdChoice,
    clopper_pearson,
    epsilon_lower,
    predicted_delta,
    predicted_epsilon,
    predicted_rates,
)

REPETITIONS = 2000
TRIALS = 240  # a side, both halves
TAIL = 0.05
DIRECTIONS = ("add", "remove")


def gaussian_delta(epsilon, mean):
    """delta(epsilon) between unit normals `mean` apart (analytic Gaussian)."""
    return ndtr(mean / 2 - epsilon / mean) - np.exp(epsilon) * ndtr(-mean / 2 - epsilon / mean)


def randomised_response(rng, bit, size):
    """Return the true bit with probability 3/4: epsilon is ln 3 at delta 0."""
    return np.where(rng.random(size) < 0.75, bit, 1 - bit)


def too_many(failures, nominal):
    """Whether this many failures in all repetitions contradict the nominal error at 1e-6."""
    if failures == 0:
        return False
    return betainc(failures, REPETITIONS - failures + 1, nominal) < 1e-6


MECHANISMS = {
    # name: (draw with the canary, draw without, whether (epsilon, delta) exceeds the truth)
    "null": (
        lambda rng: rng.normal(size=TRIALS),
        lambda rng: rng.normal(size=TRIALS),
        lambda epsilon, delta: epsilon > 0 or delta > 0,
    ),
    "null-with-ties": (
        lambda rng: rng.integers(0, 4, TRIALS),
        lambda rng: rng.integers(0, 4, TRIALS),
        lambda epsilon, delta: epsilon > 0 or delta > 0,
    ),
    "randomised-response": (
        lambda rng: randomised_response(rng, 1, TRIALS),
        lambda rng: randomised_response(rng, 0, TRIALS),
        lambda epsilon, delta: delta > max(0.75 - math.exp(epsilon) * 0.25, 0.0),
    ),
    "gaussian": (
        lambda rng: rng.normal(1.0, 1.0, TRIALS),
        lambda rng: rng.normal(size=TRIALS),
        lambda epsilon, delta: delta > gaussian_delta(epsilon, 1.0),
    ),
}


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_estimates_fail_no_more_often_than_stated(mechanism, direction):
    """Error at most 1e-6 for each estimate; each may exceed the truth in 2 tail of the runs."""
    draw_in, draw_out, exceeds = MECHANISMS[mechanism]
    rng = np.random.default_rng(20240611)
    failures = {"epsilon": 0, "delta": 0, "excess": 0}
    null = mechanism.startswith("null")
    excess = ThresholdChoice.maximise_excess(
        epsilons=[0.0, 0.5, 1.0], delta_references=[0.4, 0.2, 0.1]
    )
    for _ in range(REPETITIONS):
        split = SplitScores.from_scores(draw_in(rng), draw_out(rng))
        found = split.epsilon(0.05, direction=direction, tail=TAIL)
        claimed = (found.epsilon, 0.0) if null else (found.epsilon, 0.05)
        failures["epsilon"] += found.epsilon > 0 and exceeds(*claimed)
        found = split.delta(0.3, direction=direction, tail=TAIL)
        failures["delta"] += found.delta > 0 and exceeds(0.0 if null else 0.3, found.delta)
        chosen = split.choose(excess, direction=direction, tail=TAIL)
        found = split.bound(chosen.threshold, direction=direction, tail=TAIL).delta(
            epsilon=chosen.epsilon
        )
        failures["excess"] += found.delta > 0 and exceeds(found.epsilon, found.delta)
    for name, count in failures.items():
        assert not too_many(count, 2 * TAIL), f"{name}: {count} failures"


def rate_misses(direction, split_scores):
    """Count, between unit normals 1 apart, how often each rate bound misses the true rate."""
    rng = np.random.default_rng(7)
    objective = ThresholdChoice.maximise_epsilon(delta=0.0)
    missed = {"tpr": 0, "fpr": 0}
    for _ in range(REPETITIONS):
        split = split_scores(rng.normal(1.0, 1.0, TRIALS), rng.normal(size=TRIALS))
        threshold = split.choose(objective, direction=direction, tail=TAIL).threshold
        bounds = split.bound(threshold, direction=direction, tail=TAIL)
        if direction == "add":
            true, false = ndtr(1.0 - threshold), ndtr(-threshold)
        else:
            true, false = ndtr(threshold), ndtr(threshold - 1.0)
        missed["tpr"] += bounds.tpr_lower > true
        missed["fpr"] += bounds.fpr_upper < false
    return missed


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_each_rate_bound_fails_no_more_often_than_its_tail(direction):
    """Error at most 1e-6 for each rate; the true rates at the chosen threshold are known."""
    for name, count in rate_misses(direction, SplitScores.from_scores).items():
        assert not too_many(count, TAIL), f"{name}: {count} misses"
        assert count > 0.2 * TAIL * REPETITIONS, f"{name}: only {count} misses, far too cautious"


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_simulation_notices_a_threshold_chosen_on_the_bounding_trials(direction):
    """Choosing and bounding on the same trials must fail the test above (seeded)."""

    def unsplit(in_scores, out_scores):
        inside, outside = np.sort(in_scores), np.sort(out_scores)
        return SplitScores(
            selection_in=inside,
            selection_out=outside,
            bounding_in=inside,
            bounding_out=outside,
        )

    missed = rate_misses(direction, unsplit)
    assert too_many(missed["fpr"], TAIL), missed


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("mean", [1.0, 2.5])
def test_measured_epsilon_comes_close_to_the_prediction(mean, direction):
    """Mean of 40 seeded runs: eight standard errors above 0.95, so the error is below 1e-6."""
    trials, delta, tail, runs = 50_000, 1e-2, 1e-3, 40
    rng = np.random.default_rng(13)
    grid = np.linspace(-6, 6 + mean, 20_001)
    best = predicted_epsilon(
        ndtr(mean - grid), ndtr(-grid), trials=trials, tail=tail, delta=delta
    ).max()
    found = [
        SplitScores.from_scores(
            rng.normal(mean, 1.0, 2 * trials), rng.normal(size=2 * trials)
        ).epsilon(delta, direction=direction, tail=tail)
        for _ in range(runs)
    ]
    assert np.mean([estimate.epsilon for estimate in found]) >= 0.95 * best
    assert np.mean([estimate.epsilon for estimate in found]) <= 1.03 * best


def test_measured_delta_comes_close_to_the_prediction():
    """Mean of 40 seeded runs, with a margin of more than six standard errors."""
    trials, epsilon, tail = 50_000, 2.0, 1e-3
    rng = np.random.default_rng(17)
    grid = np.linspace(-6, 8, 20_001)
    best = predicted_delta(
        ndtr(2.0 - grid), ndtr(-grid), trials=trials, tail=tail, epsilon=epsilon
    ).max()
    found = [
        SplitScores.from_scores(
            rng.normal(2.0, 1.0, 2 * trials), rng.normal(size=2 * trials)
        ).delta(epsilon, direction="add", tail=tail)
        for _ in range(40)
    ]
    assert 0.98 * best <= np.mean([estimate.delta for estimate in found]) <= 1.02 * best
    assert best < gaussian_delta(epsilon, 2.0)


def test_predictions_broadcast_and_match_their_formula():
    tpr, fpr = np.array([0.2, 0.5, 0.9]), np.array([0.001, 0.01, 0.4])
    low, high = predicted_rates(tpr, fpr, trials=1000, tail=0.01)
    np.testing.assert_array_equal(
        low, clopper_pearson.lower_at_expected_count(tpr * 1000, 1000, tail=0.01)
    )
    found = predicted_epsilon(tpr, fpr, trials=[[1000], [10_000]], tail=0.01, delta=0.001)
    assert found.shape == (2, 3)
    np.testing.assert_array_equal(found[0], epsilon_lower(low, high, delta=0.001))
    assert np.all(found[1] > found[0])
    assert predicted_epsilon(0.0, 0.0, trials=10, tail=0.01, delta=0.0) == 0.0
