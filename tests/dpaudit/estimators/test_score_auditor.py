"""Bounds from scores: validity at known truths, power, directions, ties, input types, bad input."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betainc, ndtr, ndtri

from accountants.errors import ParameterError
from dpaudit.estimators import clopper_pearson, epsilon_lower, predicted_epsilon
from dpaudit.estimators.joint_rates import JointRegion
from dpaudit.estimators.score_auditor import ScoreAuditor
from dpaudit.estimators.score_quantity import EpsilonAt
from dpaudit.estimators.threshold_strategies import Bonferroni, ConfidenceBand, Explicit, Split

STRATEGIES = [Explicit(0.5), Bonferroni((-1.0, 0.5, 2.0)), Split(), Split(0.3, None)]
STRATEGIES += [ConfidenceBand()]
TIED = st.lists(st.integers(-3, 3) | st.sampled_from([math.inf, -math.inf]), max_size=30)


def gaussian_delta(epsilon, mean):
    return ndtr(mean / 2 - epsilon / mean) - math.exp(epsilon) * ndtr(-mean / 2 - epsilon / mean)


def response(rng, bit, size):
    return np.where(rng.random(size) < 0.75, bit, 1 - bit)


DRAWS = {
    # name: (with the canary, without, delta, true epsilon there)
    "null": (lambda rng, n: rng.normal(size=n), lambda rng, n: rng.normal(size=n), 0.0, 0.0),
    "null-ties": (
        lambda rng, n: rng.integers(0, 3, n),
        lambda rng, n: rng.integers(0, 3, n),
        0.0,
        0.0,
    ),
    "response": (
        lambda rng, n: response(rng, 1, n),
        lambda rng, n: response(rng, 0, n),
        0.0,
        math.log(3),
    ),
    "laplace": (
        lambda rng, n: rng.laplace(1.0, size=n),
        lambda rng, n: rng.laplace(size=n),
        0.0,
        1.0,
    ),
    "gaussian": (
        lambda rng, n: rng.normal(1.0, size=n),
        lambda rng, n: rng.normal(size=n),
        gaussian_delta(1.0, 1.0),
        1.0,
    ),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_fails_no_more_often_than_stated(name, strategy):
    """120 audits at 80%; a count so large has probability below 1e-6 at a failure rate of 20%."""
    draw_in, draw_out, delta, truth = DRAWS[name]
    rng, repetitions, failures = np.random.default_rng(7), 120, 0
    for _ in range(repetitions):
        auditor = ScoreAuditor(draw_in(rng, 150), draw_out(rng, 150))
        found = auditor.epsilon(delta=delta, confidence=0.8, threshold_strategy=strategy)
        failures += found.lower > truth + 1e-12
    assert failures == 0 or betainc(failures, repetitions - failures + 1, 0.2) > 1e-6


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
def test_reaches_95_percent_of_the_truth_at_a_million_gaussian_trials(epsilon):
    """Quantile-spaced scores, so that nothing is random but the split."""
    low, high = 1e-3, 20.0
    for _ in range(80):
        mean = (low + high) / 2
        low, high = (mean, high) if gaussian_delta(epsilon, mean) < 0.01 else (low, mean)
    scores = ndtri((np.arange(10**6) + 0.5) / 10**6)
    found = ScoreAuditor(scores + low, scores).epsilon(delta=0.01, direction="add")
    assert 0.95 * epsilon <= found.lower <= epsilon


def test_a_known_threshold_beats_two_separate_bounds():
    """Randomised response at its one threshold, counts at their expectation."""
    size, rate = 1000, 0.75
    inside = np.repeat([1.0, 0.0], [750, 250])
    auditor = ScoreAuditor(inside, 1.0 - inside)
    joint = auditor.epsilon(
        direction="add", threshold_strategy=Explicit(1.0, expected_rates=(rate, 1 - rate))
    )
    apart = auditor.epsilon(direction="add", threshold_strategy=Explicit(1.0))
    expected = predicted_epsilon(rate, 1 - rate, trials=size, tail=0.025, delta=0.0)
    assert apart.lower == pytest.approx(expected, rel=1e-9)
    assert apart.lower < joint.lower - 0.2 * (math.log(3) - apart.lower)
    assert joint.lower < math.log(3)


@given(TIED, TIED, st.sampled_from(["add", "remove"]), st.integers(-4, 4))
@settings(deadline=None, max_examples=60)
def test_explicit_equals_two_clopper_pearson_bounds_with_every_tie(inside, outside, way, cut):
    found = ScoreAuditor(inside, outside).epsilon(
        delta=0.01, direction=way, threshold_strategy=Explicit(cut)
    )
    if way == "add":
        true, positives = sum(s >= cut for s in inside), len(inside)
        false, negatives = sum(s >= cut for s in outside), len(outside)
    else:
        true, positives = sum(s <= cut for s in outside), len(outside)
        false, negatives = sum(s <= cut for s in inside), len(inside)
    assert (found.true_positives, found.false_positives) == (true, false)
    tail = found.error / 2 * (1 - 1e-12)
    expected = epsilon_lower(
        clopper_pearson.lower(true, positives, tail=tail),
        clopper_pearson.upper(false, negatives, tail=tail),
        delta=0.01,
    )
    assert found.lower == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert (found.reason is None) == (found.lower > 0)


@given(TIED, TIED, st.sampled_from(STRATEGIES), st.sampled_from([0.0, 0.05]))
@settings(deadline=None, max_examples=60)
def test_remove_is_add_with_sides_and_signs_swapped(inside, outside, strategy, delta):
    if isinstance(strategy, Explicit | Bonferroni):
        return
    strategy = Split(0.3, None) if isinstance(strategy, Split) else strategy
    forward = ScoreAuditor(inside, outside).epsilon(
        delta=delta, direction="remove", threshold_strategy=strategy
    )
    mirror = ScoreAuditor(np.negative(outside), np.negative(inside)).epsilon(
        delta=delta, direction="add", threshold_strategy=strategy
    )
    assert forward.lower == mirror.lower
    if forward.threshold is not None:
        assert forward.threshold == -mirror.threshold


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_both_directions_find_the_better_and_share_the_error(strategy):
    # Only low scores tell: a tenth of the trials with the canary score -9, none without it.
    rng = np.random.default_rng(2)
    inside, outside = rng.normal(size=900), rng.normal(size=900)
    outside[:90] = -9.0
    auditor = ScoreAuditor(rng.permutation(inside), rng.permutation(outside))
    if isinstance(strategy, Explicit | Bonferroni):
        strategy = Explicit(-8.0)
    found = auditor.epsilon(threshold_strategy=strategy)
    assert found.direction == "remove"
    assert found.lower > 0.7
    assert sum(found.error_shares.values()) <= found.error
    one = auditor.epsilon(threshold_strategy=strategy, direction="remove")
    assert one.lower >= found.lower


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize(("inside", "outside"), [([], []), ([1.0], []), ([], [1.0]), ([1], [0])])
def test_empty_and_single_trials_show_nothing_and_say_why(strategy, inside, outside):
    auditor = ScoreAuditor(inside, outside)
    for found in (
        auditor.epsilon(threshold_strategy=strategy),
        auditor.delta(epsilon=1.0, threshold_strategy=strategy),
        auditor.gaussian_mu(threshold_strategy=strategy),
    ):
        assert found.lower == 0.0
        assert found.reason
        assert "nothing shown" in str(found)
        assert "nan" not in json.dumps(found.to_dict(), allow_nan=False)


def test_number_types_agree():
    import torch

    rng = np.random.default_rng(4)
    inside, outside = rng.integers(0, 9, 300) + 3, rng.integers(0, 9, 300)
    expected = ScoreAuditor(inside, outside).epsilon().to_dict()
    for convert in (list, lambda x: x.astype(np.float32), torch.tensor):
        assert ScoreAuditor(convert(inside), convert(outside)).epsilon().to_dict() == expected


def test_sorted_files_are_split_at_random_and_reproducibly():
    rng = np.random.default_rng(5)
    inside, outside = rng.normal(2.0, size=4000), rng.normal(size=4000)
    mixed = ScoreAuditor(inside, outside).epsilon(delta=0.01)
    ordered = ScoreAuditor(np.sort(inside), np.sort(outside))
    found = ordered.epsilon(delta=0.01)
    assert found == ordered.epsilon(delta=0.01)
    assert found.lower == pytest.approx(mixed.lower, rel=0.3)
    in_order = ordered.epsilon(threshold_strategy=Split(seed=None))
    assert any("order" in text for text in in_order.assumptions)


def test_infinite_scores_are_scores():
    inside, outside = [math.inf] * 100, [-math.inf] * 100
    for strategy in (Split(), ConfidenceBand(), Explicit(math.inf)):
        found = ScoreAuditor(inside, outside).epsilon(threshold_strategy=strategy)
        assert found.lower > 2.5
        assert found.threshold == math.inf


def test_jax_privacy_parameters():
    rng = np.random.default_rng(6)
    auditor = ScoreAuditor(rng.normal(2.0, size=500), rng.normal(size=500))
    found = auditor.epsilon_clopper_pearson(0.1, 1e-2)
    assert float(found) == found.lower > 0
    assert (found.direction, found.confidence) == ("add", 0.9)
    assert found.lower == auditor.epsilon(delta=1e-2, confidence=0.9, direction="add").lower


def test_split_bound_is_that_of_its_joint_region():
    inside, outside = np.repeat([1.0, 0.0], [70, 30]), np.repeat([1.0, 0.0], [20, 80])
    found = ScoreAuditor(inside, outside).epsilon(direction="add", delta=0.01)
    box = JointRegion.box(tpr_tail=0.025, fpr_tail=0.025)
    sizes = (found.trials_in, found.trials_out)
    high, low = box.bounds(found.true_positives, sizes[0], found.false_positives, sizes[1])
    assert found.lower > float(EpsilonAt(delta=0.01).lower(high, low)[0]) > 0


def test_rate_intervals_hold_four_bounds():
    found = ScoreAuditor([0, 1, 1, 1], [0, 0, 1]).rate_intervals(1.0, confidence=0.9)
    assert found.tpr == (
        clopper_pearson.lower(3, 4, tail=(1 - 0.9) / 4),
        clopper_pearson.upper(3, 4, tail=(1 - 0.9) / 4),
    )
    assert found.fpr[0] <= 1 / 3 <= found.fpr[1]
    assert json.loads(json.dumps(found.to_dict()))["true_positives"] == 3
    assert "with confidence 0.9" in str(found)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: a.epsilon(delta=-1), "delta = -1"),
        (lambda a: a.epsilon(delta=math.nan), "delta = nan"),
        (lambda a: a.epsilon(confidence=1.0), "confidence = 1"),
        (lambda a: a.epsilon(confidence=0.3), "confidence = 0.3"),
        (lambda a: a.epsilon(direction="up"), "direction = 'up'"),
        (lambda a: a.epsilon(threshold_strategy="split"), "threshold_strategy"),
        (lambda a: a.delta(epsilon=-0.1), "epsilon = -0.1"),
        (lambda a: a.rate_intervals(math.nan), "threshold = nan"),
        (lambda a: Explicit(0.0, expected_rates=(2.0, 0.0)), "expected_rates"),
        (lambda a: Bonferroni(()), "thresholds is empty"),
        (lambda a: Bonferroni((math.nan,)), "threshold = nan"),
        (lambda a: Split(1.0), "threshold_estimation_frac"),
        (lambda a: Split(seed=-1), "seed = -1"),
        (lambda a: ScoreAuditor([math.nan, 1.0], [0.0]), "1 of 2 scores are NaN"),
    ],
)
def test_refuses_bad_input_in_one_line(call, message):
    with pytest.raises(ParameterError, match=message) as raised:
        call(ScoreAuditor([1.0, 2.0], [0.0, 1.0]))
    assert "\n" not in str(raised.value)
