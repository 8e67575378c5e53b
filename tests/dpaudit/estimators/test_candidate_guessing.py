"""Guessing among candidates: published ceilings, exactness, validity, and the order of drawing."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import betainc

from accountants.errors import ParameterError
from dpaudit.estimators import clopper_pearson
from dpaudit.estimators.candidate_guessing import (
    candidate_epsilon_lower,
    candidate_guessing,
    candidate_guessing_from_trials,
)
from dpaudit.estimators.candidate_strata import strata_tail


def too_many(failures, repetitions, nominal):
    """Whether this many failures contradict the nominal error at 1e-6."""
    return failures > 0 and betainc(failures, repetitions - failures + 1, nominal) < 1e-6


@pytest.mark.parametrize(
    ("candidates", "trials", "ceiling"),
    [
        (2, 10**4, 7.5427),
        (4, 10**4, 8.641),
        (8, 10**4, 9.489),
        (16, 10**4, 10.251),
        (2, 10**6, 12.148),
    ],
)
def test_ceilings_of_theory_section_9(candidates, trials, ceiling):
    """All guesses right at tail 0.005: p = tail^(1/T), epsilon = ln((k - 1) p / (1 - p))."""
    found = candidate_guessing(trials, trials, candidates=candidates, delta=0.0, confidence=0.995)
    digits = len(str(ceiling).split(".")[1])
    assert found.lower == pytest.approx(ceiling, abs=0.51 * 10**-digits)
    assert found.lower == found.ceiling
    p = 0.005 ** (1 / trials)
    assert found.lower == pytest.approx(math.log((candidates - 1) * p / (1 - p)), rel=1e-9)


@pytest.mark.parametrize("candidates", [2, 3, 4])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (0.5, 0.1), (2.0, 0.01)])
def test_success_rate_is_exact_over_all_mechanisms(candidates, epsilon, delta):
    """The largest success of any (epsilon, delta)-LDP mechanism gives back epsilon."""
    k = candidates
    pairs = list(itertools.permutations(range(k), 2))
    size = k * k + len(pairs) * k
    rows, bounds = [], []
    for number, (a, b) in enumerate(pairs):
        excess = k * k + number * k
        for t in range(k):
            row = np.zeros(size)
            row[a * k + t], row[b * k + t], row[excess + t] = 1.0, -math.exp(epsilon), -1.0
            rows.append(row)
            bounds.append(0.0)
        row = np.zeros(size)
        row[excess : excess + k] = 1.0
        rows.append(row)
        bounds.append(delta)
    total = np.zeros((k, size))
    gain = np.zeros(size)
    for a in range(k):
        total[a, a * k : (a + 1) * k] = 1.0
        gain[a * k + a] = 1.0 / k
    best = -linprog(-gain, A_ub=rows, b_ub=bounds, A_eq=total, b_eq=np.ones(k)).fun
    assert best == pytest.approx(
        (math.exp(epsilon) + (k - 1) * delta) / (math.exp(epsilon) + k - 1), abs=1e-9
    )
    found = candidate_epsilon_lower(min(best, 1.0), candidates=k, delta=delta)
    assert found == pytest.approx(epsilon, abs=1e-7)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.integers(2, 100),
    st.sampled_from([0.0, 1e-5, 0.1]),
    st.sampled_from([0.9, 0.99, 1 - 1e-9]),
)
def test_pooled_bound_is_the_formula_at_the_clopper_pearson_rate(counts, k, delta, confidence):
    right, trials = counts
    found = candidate_guessing(right, trials, candidates=k, delta=delta, confidence=confidence)
    rate = clopper_pearson.lower(right, trials, tail=1 - confidence)
    expected = (k - 1) * (rate - delta) / (1 - rate)
    assert found.lower == pytest.approx(max(math.log(expected), 0) if expected > 0 else 0, abs=1e-8)
    assert found.lower <= found.ceiling
    assert (found.reason is None) == (found.lower > 0)


def test_strata_tail_matches_a_direct_convolution():
    tried, k, epsilon, delta = np.array([6.0, 4.0, 3.0]), np.array([2.0, 5.0, 9.0]), 0.7, 0.05
    law = np.ones(1)
    for count, number in zip(tried, k, strict=True):
        rate = (math.exp(epsilon) + (number - 1) * delta) / (math.exp(epsilon) + number - 1)
        for _ in range(int(count)):
            law = np.convolve(law, [1 - rate, rate])
    for total in range(1, 14):
        found = strata_tail(float(total), tried, k, delta, epsilon)
        assert found == pytest.approx(law[total:].sum(), rel=1e-9)
        assert found >= law[total:].sum() * (1 - 1e-13)


def test_strata_of_one_size_equal_the_pooled_bound():
    """Nearly equal numbers of candidates give nearly equal bounds by either method."""
    pooled = candidate_guessing(700, 1000, candidates=1000, delta=0.0, confidence=0.95)
    strata = candidate_guessing(
        [350, 350], [500, 500], candidates=[1000, 1001], delta=0.0, confidence=0.95
    )
    assert strata.method != pooled.method
    assert strata.lower == pytest.approx(pooled.lower, abs=2e-3)


def test_equal_candidates_are_pooled():
    once = candidate_guessing(70, 100, candidates=4, delta=0.0, confidence=0.95)
    twice = candidate_guessing([30, 40], [60, 40], candidates=[4, 4], delta=0.0, confidence=0.95)
    assert once == twice
    trial = candidate_guessing_from_trials(np.arange(100) < 70, 4, delta=0.0, confidence=0.95)
    assert trial == once


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("sizes", [(4,), (2, 5, 16)])
def test_bound_fails_no_more_often_than_stated(epsilon, delta, sizes):
    """The worst mechanism for each k, 2000 audits; error at most 1e-6."""
    rng, k, repetitions = np.random.default_rng(31), np.array(sizes), 2000
    trials = np.full(k.size, 60)
    rate = (math.exp(epsilon) + (k - 1) * delta) / (math.exp(epsilon) + k - 1)
    critical = candidate_rejections(trials, k, epsilon, delta)
    failures = int(
        np.sum(rng.binomial(trials, rate, (repetitions, k.size)).sum(axis=1) >= critical)
    )
    assert not too_many(failures, repetitions, 0.05), failures
    assert failures > 0.2 * 0.05 * repetitions, f"{failures}: far too cautious"


def candidate_rejections(trials, k, epsilon, delta):
    """Fewest right guesses whose bound exceeds epsilon; the bound depends on their total only."""
    for total in range(int(trials.sum()) + 1):
        right = np.minimum(trials, np.maximum(total - np.cumsum(trials) + trials, 0))
        found = candidate_guessing(right, trials, candidates=k, delta=delta, confidence=0.95)
        if found.lower > epsilon:
            return total
    return math.inf


def transition_sample(rng, log_p, first, size):
    """Transition sampling: add texts in proportion to the product of P(text | chosen ones)."""
    chosen = [first]
    while len(chosen) < size:
        joint = log_p[chosen].sum(axis=0)
        joint[chosen] = -np.inf
        weights = np.exp(joint - joint.max())
        chosen.append(int(rng.choice(len(log_p), p=weights / weights.sum())))
    return chosen


@pytest.mark.parametrize("strength", [-1e4, 1e4])
def test_output_blind_adversary_shows_nothing_only_if_the_set_is_drawn_first(strength):
    """Seeded: 600 sets of 6 of 120 clustered embeddings, and a mechanism with epsilon 0.

    The adversary asks which texts of the set would have grown it. Kept as the input, the text that
    grew the set is found out; drawn anew from the set, the input is not, with error 1e-6.
    """
    rng = np.random.default_rng(37)
    points = rng.normal(size=(8, 12))[rng.integers(8, size=120)] + rng.normal(size=(120, 12))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    logits = strength * points @ points.T
    np.fill_diagonal(logits, -np.inf)
    log_p = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    grown = [frozenset(transition_sample(rng, log_p, text, 6)) for text in range(120)]
    trials, kept, redrawn = 600, 0, 0
    for _ in range(trials):
        seed_text = int(rng.integers(120))
        chosen = transition_sample(rng, log_p, seed_text, 6)
        could = [text for text in chosen if grown[text] == frozenset(chosen)] or chosen
        guess = rng.choice(could)
        kept += guess == seed_text
        redrawn += guess == rng.choice(chosen)
    asked = {"candidates": 6, "delta": 0.0, "confidence": 0.999999}
    wrong_order = candidate_guessing(kept, trials, **asked)
    right_order = candidate_guessing(redrawn, trials, **asked)
    assert wrong_order.lower > 0.5, kept
    assert right_order.lower == 0.0
    assert "candidates were drawn first" in right_order.assumptions[0]


def test_result_is_one_sentence_and_plain_json():
    found = candidate_guessing([9, 8], [10, 10], candidates=[2, 8], delta=0.0, confidence=0.95)
    assert str(found) == (
        f"epsilon >= {math.floor(found.lower * 1000) / 1000:.4g} at delta = 0, with error at most "
        "0.05 (9 of 10 guesses among 2 right, 8 of 10 guesses among 8 right)."
    )
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["candidates"] == [2, 8]
    assert plain["upper"] is None


def test_no_trials_give_zero_with_a_reason():
    for found in (
        candidate_guessing(0, 0, candidates=2, delta=0.0, confidence=0.95),
        candidate_guessing([], [], candidates=[], delta=0.0, confidence=0.95),
        candidate_guessing_from_trials([], 4, delta=0.0, confidence=0.95),
    ):
        assert found.lower == 0.0
        assert found.reason == "there are no trials"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"successes": 11}, "successes = 11"),
        ({"candidates": 1}, "candidates = 1"),
        ({"candidates": 2.5}, "candidates = 2.5"),
        ({"delta": float("nan")}, "delta = nan"),
        ({"confidence": 1.0}, "confidence = 1"),
        ({"confidence": float("nan")}, "confidence = nan"),
        ({"trials": [1, 2, 3], "successes": [1, 1]}, "do not broadcast"),
    ],
)
def test_bad_input_is_refused(change, message):
    arguments = {
        "successes": 5,
        "trials": 10,
        "candidates": 2,
        "delta": 0.0,
        "confidence": 0.95,
        **change,
    }
    with pytest.raises(ParameterError, match=message):
        candidate_guessing(**arguments)


def test_outcomes_other_than_true_and_false_are_refused():
    with pytest.raises(ParameterError, match="correct = 2"):
        candidate_guessing_from_trials([1, 2], 2, delta=0.0, confidence=0.95)
