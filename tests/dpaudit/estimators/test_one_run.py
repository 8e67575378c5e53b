"""One-run audits from scores and counts: validity, power, results.

Violations in independent seeded repetitions are counted; a test rejects when a binomial count at
the nominal error would be that large with probability below 1e-6.
"""

import json
import math

import numpy as np
import pytest
from scipy.special import betainc, expit

from accountants.errors import ParameterError
from dpaudit.estimators.guess_choice import FixedGuesses, GeometricGuesses, HeldOutGuesses
from dpaudit.estimators.guess_counts import CanaryScores
from dpaudit.estimators.one_run import epsilon_one_run, epsilon_one_run_from_counts
from dpaudit.estimators.one_run_tail import one_run_p_value

REPETITIONS = 240
RULES = {
    "fixed": FixedGuesses(0.2),
    "geometric": GeometricGuesses(),
    "held-out": HeldOutGuesses(),
}
NEARLY_FREE = {"fixed": 0.97, "geometric": 0.97, "held-out": 0.93}


def too_many(failures, nominal, repetitions=REPETITIONS):
    """Whether this many failures contradict the nominal error at 1e-6."""
    return failures > 0 and betainc(failures, repetitions - failures + 1, nominal) < 1e-6


def release(rng, included, epsilon, delta):
    """Reveal each bit with probability delta, else randomise it: (epsilon, delta)-DP a canary.

    The score is +-2 for a revealed bit and +-1 for a randomised response.
    """
    size = included.size
    truthful = rng.random(size) < expit(epsilon)
    answer = np.where(truthful, included, ~included)
    shown = rng.random(size) < delta
    return np.where(shown, 2.0, 1.0) * (2.0 * np.where(shown, included, answer) - 1.0)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("side", ["both", "out"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.01)])
def test_bound_exceeds_the_truth_no_more_often_than_stated(rule, side, epsilon, delta):
    """Error at most 1e-6; at (0, 0) the scores are ties between two values."""
    rng = np.random.default_rng(11)
    failures = 0
    for _ in range(REPETITIONS):
        included = rng.random(300) < 0.5
        scores = release(rng, included, epsilon, delta)
        found = epsilon_one_run(
            scores[included],
            scores[~included],
            significance=0.05,
            delta=delta,
            rule=RULES[rule],
            side=side,
            seed=int(rng.integers(2**32)),
        )
        failures += found.lower > epsilon
    assert not too_many(failures, 0.05), failures
    if rule == "fixed" and side == "both" and delta == 0.0:
        assert failures > 0.1 * 0.05 * REPETITIONS, f"{failures}: far too cautious"


@pytest.mark.parametrize("side", ["in", "out"])
def test_other_inclusion_probabilities_are_valid(side):
    """Error at most 1e-6: a fifth included, epsilon 1."""
    rng = np.random.default_rng(12)
    failures = shown = 0
    for _ in range(REPETITIONS):
        included = rng.random(400) < 0.2
        scores = release(rng, included, 1.0, 0.0) + rng.normal(0, 1e-3, 400)
        found = epsilon_one_run(
            scores[included],
            scores[~included],
            significance=0.05,
            delta=0.0,
            rule=60,
            side=side,
            inclusion=0.2,
        )
        failures += found.lower > 1.0
        shown += found.lower > 0.0
    assert not too_many(failures, 0.05), failures
    assert shown > 0.3 * REPETITIONS


def test_best_number_of_guesses_on_the_same_canaries_is_the_fault_that_this_notices():
    """At epsilon 0 the uncorrected maximum claims leakage far too often; ours does not."""
    rng = np.random.default_rng(13)
    uncorrected = ours = 0
    numbers = GeometricGuesses(1.3).numbers(500, side="both", inclusion=0.5, tail=0.05)
    for _ in range(400):
        included = rng.random(500) < 0.5
        scores = rng.normal(size=500)
        pair = scores[included], scores[~included]
        ranked = CanaryScores.from_scores(*pair)
        right = [ranked.count(number, side="both", rng=rng).correct for number in numbers]
        uncorrected += (
            one_run_p_value(right, numbers, canaries=500, epsilon=0.0, delta=0.0).min() <= 0.05
        )
        ours += epsilon_one_run(*pair, significance=0.05, delta=0.0).lower > 0.0
    assert too_many(uncorrected, 0.05, 400), uncorrected
    assert not too_many(ours, 0.05, 400), ours


def test_constant_scores_show_nothing():
    found = epsilon_one_run(np.zeros(500), np.zeros(480), significance=0.05, delta=0.0)
    assert found.lower == 0.0
    assert found.ties > 0


def test_a_strong_attack_comes_close_to_the_truth():
    """Randomised response, 1e5 canaries; seeded, so that it cannot err by chance.

    Held-out canaries choose few guesses here, as all of them are equally sure and the choice
    follows the luck of the choosing part.
    """
    rng = np.random.default_rng(17)
    included = rng.random(100_000) < 0.5
    scores = release(rng, included, 2.0, 0.0)
    for name, rule in RULES.items():
        found = epsilon_one_run(
            scores[included], scores[~included], significance=0.05, delta=0.0, rule=rule
        )
        assert NEARLY_FREE[name] * 2.0 < found.lower < 1.02 * 2.0


def test_published_example_of_all_guesses_right():
    """100 right of 100: q = 0.05^(1/100), so epsilon = 3.49 at delta 0 and any confidence 95%."""
    found = epsilon_one_run_from_counts(100, 100, canaries=100, significance=0.05, delta=0.0)
    q = 0.05**0.01
    assert found.lower == pytest.approx(math.log(q / (1 - q)), rel=1e-9)
    less = epsilon_one_run_from_counts(100, 100, canaries=10_000, significance=0.05, delta=1e-5)
    assert 0.0 < less.lower < found.lower


def test_counts_and_scores_agree():
    inside, outside = np.arange(100.0), np.arange(-60.5, 40.0)
    found = epsilon_one_run(inside, outside, significance=0.01, delta=1e-6, rule=50)
    again = epsilon_one_run_from_counts(
        found.correct, 50, canaries=inside.size + outside.size, significance=0.01, delta=1e-6
    )
    assert found.lower == again.lower > 0


def test_result_is_one_sentence_and_plain_json():
    found = epsilon_one_run([5.0, np.inf] * 50, [1.0, -np.inf] * 50, significance=0.05, delta=0.0)
    assert str(found).startswith("epsilon >= ")
    assert "with error at most 0.05 " in str(found)
    assert "\n" not in str(found)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["lower"] == found.lower
    assert plain["upper"] is None
    assert plain["direction"] == "both"
    assert plain["confidence"] == pytest.approx(0.95)
    assert sum([found.tail] * len(found.tried)) <= 0.05
    one = epsilon_one_run([2.0], [1.0], significance=0.05, delta=0.0, side="in")
    assert one.direction == "add"
    assert "nothing shown" in str(one)


@pytest.mark.parametrize("rule", RULES.values())
def test_empty_and_one_sided_input_give_zero_with_a_reason(rule):
    none = epsilon_one_run([], [], significance=0.05, delta=0.0, rule=rule)
    assert none.lower == 0.0
    assert "there are no canaries to guess" in none.reason
    one = epsilon_one_run(np.zeros(9), [], significance=0.05, delta=0.0, rule=rule, side="out")
    assert one.lower == 0.0
    assert one.reason is not None


def test_same_seed_gives_the_same_result():
    rng = np.random.default_rng(23)
    inside, outside = rng.integers(0, 4, 200), rng.integers(0, 3, 200)
    for rule in RULES.values():
        first, second = (
            epsilon_one_run(inside, outside, significance=0.05, delta=0.0, rule=rule, seed=4)
            for _ in range(2)
        )
        assert first == second


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"significance": 0.0}, "significance = 0"),
        ({"significance": float("nan")}, "significance = nan"),
        ({"delta": -0.1}, "delta = -0.1"),
        ({"rule": 50}, "guesses = 50"),
        ({"side": "up"}, "side = 'up'"),
        ({"inclusion": 0.4}, "inclusion = 0.4"),
    ],
)
def test_bad_input_is_refused(change, message):
    with pytest.raises(ParameterError, match=message):
        epsilon_one_run([1.0, 2.0], [0.0], **{"significance": 0.05, "delta": 0.0, **change})
