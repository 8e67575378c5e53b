"""Validity and power of the bounds measured on the worst-case canary."""

import numpy as np
import pytest

from accountants import ExplicitDataset, FreE2TParameters, TightTotal
from attacks.canary_design import CanaryDesign, likelihood_of
from dpaudit.auditing.bucket_scores import TrialSettings
from dpaudit.auditing.error_budget import error_budget
from dpaudit.auditing.worst_case import designed, measure_worst_case, run_trials, trials_needed
from dpaudit.estimators import predicted_epsilon, two_sided_binomial_p_value
from tests.dpaudit.auditing.faulty import EPS8

DATASET = ExplicitDataset(parameters=EPS8, distance=1.2, neighbours=130, clusters=1)


@pytest.mark.slow
def test_no_more_false_bounds_than_stated() -> None:
    """Over 1000 seeded repetitions, at a stated error of 0.4 for sensitivity.

    Each repetition exceeds Theorem J, or the tight total, with probability at most 0.4. The count
    of excesses is tested against that at 1e-6, one-sided.
    """
    tail = 0.2
    limit = float(DATASET.conditional.epsilon(1e-2))
    chance = DATASET.collision_probability
    epsilon = 0.5
    total = float(TightTotal(parameters=EPS8).delta(epsilon))
    over = {"given": 0, "total": 0}
    for seed in range(1000):
        scores = run_trials(
            DATASET,
            trials=200,
            seed=np.random.SeedSequence(seed),
            settings=TrialSettings(),
        )
        over["given"] += scores.epsilon(1e-2, tail=tail)["epsilon"] > limit
        over["total"] += scores.delta(epsilon, tail=tail, factor=chance) > total
    for count in over.values():
        rarely = count <= 1000 * 2 * tail
        assert rarely or two_sided_binomial_p_value(count, 1000, probability=2 * tail) > 1e-6
    assert over["given"] > 0  # the bounds are not so loose that the test could not fail


@pytest.mark.slow
def test_power() -> None:
    """1e5 bounding trials a side; the mean over seeds 0 to 3 (single runs scatter by 3%)."""
    tail = error_budget(confidence=0.99, delta=1e-6).tail
    tpr, fpr = likelihood_of(DATASET).add_rates(np.geomspace(0.05, 8, 3000))
    expected = float(np.max(predicted_epsilon(tpr, fpr, trials=100_000, tail=tail, delta=1e-2)))
    measured = [
        run_trials(
            DATASET,
            trials=200_000,
            seed=np.random.SeedSequence(seed),
            settings=TrialSettings(),
        ).epsilon(1e-2, tail=tail)["epsilon"]
        for seed in range(4)
    ]
    assert np.mean(measured) >= 0.95 * expected
    assert np.mean(measured) >= 0.85 * float(DATASET.conditional.epsilon(1e-2))
    assert max(measured) < float(DATASET.conditional.epsilon(1e-2))


def test_a_tenth_of_the_noise_is_refuted() -> None:
    """The broken configuration, at its default number of trials; seeded."""
    broken = FreE2TParameters(
        records_max=10**6,
        embedding_dim=384,
        projection_dim=20,
        grid_edge=1 / np.sqrt(20),
        sampling_rate=0.3,
        threshold=30,
        noise_std=0.2136,
        radius=0.5,
    )
    found = measure_worst_case(
        broken,
        epsilon=4.0,
        delta=1e-6,
        trials=100_000,
        budget=error_budget(confidence=0.99, delta=1e-6),
        seed=np.random.SeedSequence(7),
        settings=TrialSettings(),
    )
    assert found.total_epsilon(1e-6) > 4.0
    assert found.total_delta(4.0) > 1e-4
    total = TightTotal(parameters=broken)
    assert found.total_epsilon(1e-6) <= float(total.epsilon(1e-6))
    assert not found.given.violations(tail=1e-8)


def test_trials_needed() -> None:
    tail = error_budget(confidence=0.99, delta=1e-6).tail
    needed = trials_needed(EPS8, epsilon=1.0, delta=1e-6, tail=tail)
    assert needed is not None
    half = designed(EPS8, epsilon=1.0, delta=1e-6, trials=needed // 2, tail=tail)
    assert half.predicted_delta > 1e-6
    assert trials_needed(EPS8, epsilon=100.0, delta=1e-6, tail=tail) is None


def test_same_seed_same_result_and_a_given_canary() -> None:
    design = CanaryDesign(
        dataset=DATASET, log_threshold=1.0, predicted_epsilon=0.0, predicted_delta=0.0
    )
    runs = [
        measure_worst_case(
            EPS8,
            epsilon=8.0,
            delta=1e-6,
            trials=500,
            budget=error_budget(confidence=0.99, delta=1e-6),
            seed=np.random.SeedSequence(3),
            settings=TrialSettings(),
            design=design,
        )
        for _ in range(2)
    ]
    assert runs[0].verdict == runs[1].verdict
    assert runs[0].dataset == DATASET
