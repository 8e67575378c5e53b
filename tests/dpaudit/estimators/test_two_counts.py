"""Two counts of one event: references, all pairs of a table, validity."""

import json
import math

import numpy as np
import pytest
from scipy.special import betainc

from accountants.errors import ParameterError
from dpaudit.estimators import clopper_pearson
from dpaudit.estimators.two_counts import channel_counts, two_counts


def too_many(failures, repetitions, nominal):
    """Whether this many failures contradict the nominal error at 1e-6."""
    return failures > 0 and betainc(failures, repetitions - failures + 1, nominal) < 1e-6


def grr(size, epsilon):
    """Generalised randomised response: keep with p, each other value with q, p / q = e^epsilon."""
    p = math.exp(epsilon) / (math.exp(epsilon) + size - 1)
    table = np.full((size, size), (1 - p) / (size - 1))
    np.fill_diagonal(table, p)
    return table


def draw(rng, rates, trials):
    """One multinomial row an input."""
    return np.stack([rng.multinomial(trials, row) for row in rates])


def test_one_pair_is_the_formula():
    found = two_counts(700, 1000, 90, 900, delta=0.01, confidence=0.95)
    high = clopper_pearson.lower(700, 1000, tail=0.025)
    low = clopper_pearson.upper(90, 900, tail=0.025)
    assert found.lower == pytest.approx(math.log((high - 0.01) / low), rel=1e-12)
    assert found.rate_bounds == 2
    assert found.tail <= 0.025
    assert found.reason is None


def test_several_pairs_share_the_error():
    found = two_counts([700, 10], 1000, [90, 9], 900, delta=0.0, confidence=0.95)
    high = clopper_pearson.lower(700, 1000, tail=0.0125)
    low = clopper_pearson.upper(90, 900, tail=0.0125)
    assert found.lower == pytest.approx(math.log(high / low), rel=1e-12)
    assert found.pair == (0,)
    assert found.rate_bounds == 4


@pytest.mark.parametrize("trials", [(4000,) * 5, (4000, 300, 500, 2000, 100)])
def test_table_equals_the_best_of_all_pairs(trials):
    rng = np.random.default_rng(41)
    rates = rng.dirichlet(np.ones(7), 5)
    counts = np.stack([rng.multinomial(n, row) for n, row in zip(trials, rates, strict=True)])
    found = channel_counts(counts, delta=0.02, confidence=0.9)
    tail = 0.1 / (2 * counts.size)
    each = np.array(trials)[:, np.newaxis]
    high = clopper_pearson.lower(counts, each, tail=tail)
    low = clopper_pearson.upper(counts, each, tail=tail)
    best = max(
        math.log((high[a, c] - 0.02) / low[b, c])
        for a in range(5)
        for b in range(5)
        for c in range(7)
        if a != b and high[a, c] > 0.02
    )
    assert found.lower == pytest.approx(best, rel=1e-9)
    a, b = found.pair
    assert found.true_positives == counts[a, found.event]
    assert found.false_positives == counts[b, found.event]


@pytest.mark.parametrize(("size", "epsilon"), [(2, 1.0), (10, 2.0), (50, 4.0)])
def test_grr_comes_close_to_its_epsilon(size, epsilon):
    """ln((d - 1) p / (1 - p)) = epsilon; seeded, 1e6 trials an input."""
    rates = grr(size, epsilon)
    p = rates[0, 0]
    assert math.log((size - 1) * p / (1 - p)) == pytest.approx(epsilon)
    counts = draw(np.random.default_rng(43), rates, 10**6)
    found = channel_counts(counts, delta=0.0, confidence=0.95)
    assert 0.95 * epsilon < found.lower < epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.1)])
def test_best_comparison_fails_no_more_often_than_stated(epsilon, delta):
    """3000 tables of 3 inputs, revealed with probability delta, else GRR; error at most 1e-6."""
    rng, repetitions, failures = np.random.default_rng(47), 3000, 0
    rates = (1 - delta) * grr(3, epsilon) + delta * np.eye(3)
    for _ in range(repetitions):
        found = channel_counts(draw(rng, rates, 150), delta=delta, confidence=0.8)
        failures += found.lower > epsilon
    assert not too_many(failures, repetitions, 0.2), failures


def test_uncorrected_maximum_over_a_table_is_the_fault_that_this_notices():
    """Null mechanism with 8 inputs and outputs: one pair's error for all comparisons fails."""
    rng, failures = np.random.default_rng(53), 0
    for _ in range(60):
        counts = draw(rng, np.full((8, 8), 1 / 8), 400)
        best = max(
            two_counts(counts[a], 400, counts[b], 400, delta=0.0, confidence=1 - 0.05 * 8).lower
            for a in range(8)
            for b in range(8)
            if a != b
        )
        failures += best > 0
    assert too_many(failures, 60, 0.05), failures


def test_events_are_sets_of_outputs():
    counts = np.array([[40, 30, 30], [10, 20, 70]])
    joined = np.array([[True, True, False], [False, False, True]])
    found = channel_counts(counts, delta=0.0, confidence=0.95, events=joined)
    merged = channel_counts([[70, 30], [30, 70]], delta=0.0, confidence=0.95)
    assert found == merged
    with pytest.raises(ParameterError, match="events is int64"):
        channel_counts(counts, delta=0.0, confidence=0.95, events=joined.astype(int))


def test_trials_may_exceed_the_table():
    """Outputs that are not in the table still count as trials."""
    less = channel_counts([[50, 5], [5, 50]], delta=0.0, confidence=0.95, trials=[100, 100])
    more = channel_counts([[50, 5], [5, 50]], delta=0.0, confidence=0.95)
    assert 0 < less.lower < more.lower
    with pytest.raises(ParameterError, match="successes = 55"):
        channel_counts([[50, 5], [5, 50]], delta=0.0, confidence=0.95, trials=[54, 100])


def test_empty_and_uninformative_input_gives_zero_with_a_reason():
    for found in (
        two_counts(0, 0, 0, 0, delta=0.0, confidence=0.95),
        two_counts([], [], [], [], delta=0.0, confidence=0.95),
        channel_counts([[3, 4]], delta=0.0, confidence=0.95),
        channel_counts([[3, 4], [0, 0]], delta=0.0, confidence=0.95),
        channel_counts([[500, 500], [500, 500]], delta=0.0, confidence=0.95),
    ):
        assert found.lower == 0.0
        assert found.reason
        assert "nothing shown" in str(found)


def test_result_is_one_sentence_and_plain_json():
    found = two_counts(70, 100, 5, 90, delta=0.0, confidence=0.95)
    assert str(found).endswith(
        "with error at most 0.05 (70 of 100 true and 5 of 90 false positives)."
    )
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["lower"] == found.lower
    assert plain["direction"] == "replace"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: two_counts(5, 4, 0, 4, delta=0.0, confidence=0.95), "successes = 5"),
        (lambda: two_counts(1, 4, 0, 4, delta=2.0, confidence=0.95), "delta = 2"),
        (lambda: two_counts(1, 4, 0, 4, delta=0.0, confidence=0.2), "confidence = 0.2"),
        (lambda: two_counts(np.nan, 4, 0, 4, delta=0.0, confidence=0.9), "successes = nan"),
        (lambda: channel_counts([1, 2], delta=0.0, confidence=0.9), "counts has shape"),
        (lambda: channel_counts([[-1, 2], [1, 1]], delta=0.0, confidence=0.9), "successes = -1"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()
