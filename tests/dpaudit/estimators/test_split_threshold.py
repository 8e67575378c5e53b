"""Split-sample estimates: brute-force oracle, ties, symmetries, input types, bad input."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from accountants.errors import ParameterError
from dpaudit.estimators import (
    SplitScores,
    ThresholdChoice,
    clopper_pearson,
    delta_lower,
    epsilon_lower,
    split_threshold,
)
from dpaudit.estimators.candidate_thresholds import candidate_thresholds

TAIL = 0.01
DIRECTIONS = ("add", "remove")
TIED = st.lists(
    st.integers(-5, 5) | st.sampled_from([math.inf, -math.inf]), min_size=2, max_size=40
)


def gaussian_quantiles(size, mean):
    """Scores without sampling noise, the same in both halves."""
    half = ndtri((np.arange(size) + 0.5) / size) + mean
    return np.concatenate([half, half])


def positives_at(in_scores, out_scores, threshold, direction):
    """Count true and false positives by plain comparison."""
    if direction == "add":
        return sum(s >= threshold for s in in_scores), sum(s >= threshold for s in out_scores)
    return sum(s <= threshold for s in out_scores), sum(s <= threshold for s in in_scores)


@given(TIED, TIED, st.sampled_from(DIRECTIONS), st.integers(-6, 6))
@settings(deadline=None)
def test_counts_include_every_tie(in_scores, out_scores, direction, threshold):
    split = SplitScores.from_scores(in_scores, out_scores)
    for cut in (threshold, math.inf, -math.inf):
        bounds = split.bound(cut, direction=direction, tail=TAIL)
        held_in, held_out = in_scores[len(in_scores) // 2 :], out_scores[len(out_scores) // 2 :]
        assert (bounds.true_positives, bounds.false_positives) == positives_at(
            held_in, held_out, cut, direction
        )
        assert (bounds.trials_in, bounds.trials_out) == (len(held_in), len(held_out))
        sizes = (len(held_in), len(held_out))
        positives, negatives = sizes if direction == "add" else sizes[::-1]
        assert bounds.tpr_lower == clopper_pearson.lower(
            bounds.true_positives, positives, tail=TAIL
        )
        assert bounds.fpr_upper == clopper_pearson.upper(
            bounds.false_positives, negatives, tail=TAIL
        )
        assert bounds.reason is None


@given(TIED, TIED, st.sampled_from(DIRECTIONS), st.sampled_from([0.0, 0.01, 0.3]))
@settings(deadline=None)
def test_choice_equals_an_exhaustive_search(in_scores, out_scores, direction, delta):
    # The same scores in both halves, so that selection and bounding counts agree.
    split = SplitScores.from_scores(in_scores * 2, out_scores * 2)
    sizes = (len(in_scores), len(out_scores))
    positives, negatives = sizes if direction == "add" else sizes[::-1]
    best_epsilon, best_delta = 0.0, 0.0
    for threshold in {*in_scores, *out_scores}:
        true, false = positives_at(in_scores, out_scores, threshold, direction)
        high = clopper_pearson.lower(true, positives, tail=TAIL)
        low = clopper_pearson.upper(false, negatives, tail=TAIL)
        best_epsilon = max(best_epsilon, epsilon_lower(high, low, delta=delta))
        best_delta = max(best_delta, delta_lower(high, low, epsilon=0.5))
    assert split.epsilon(delta, direction=direction, tail=TAIL).epsilon == best_epsilon
    assert split.delta(0.5, direction=direction, tail=TAIL).delta == best_delta


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("mean", [0.5, 2.0, 4.0])
def test_thinned_candidates_lose_almost_nothing(mean, direction):
    size = 30_000
    split = SplitScores.from_scores(gaussian_quantiles(size, mean), gaussian_quantiles(size, 0.0))
    inside, outside = split.bounding_in, split.bounding_out
    if direction == "remove":
        inside, outside = -outside[::-1], -inside[::-1]
    every = np.concatenate([inside, outside])
    high = clopper_pearson.lower(size - np.searchsorted(inside, every), size, tail=TAIL)
    low = clopper_pearson.upper(size - np.searchsorted(outside, every), size, tail=TAIL)
    for delta in (0.0, 1e-3, 1e-2, 0.1):
        found = split.epsilon(delta, direction=direction, tail=TAIL).epsilon
        best = epsilon_lower(high, low, delta=delta).max()
        assert best - 0.005 <= found <= best
    for epsilon in (0.0, 1.0, 4.0, 8.0):
        found = split.delta(epsilon, direction=direction, tail=TAIL).delta
        best = delta_lower(high, low, epsilon=epsilon).max()
        assert 0.995 * best <= found <= best


@given(TIED, TIED, st.data())
@settings(deadline=None)
def test_invariant_under_strictly_increasing_transforms(in_scores, out_scores, data):
    values = sorted({*in_scores, *out_scores})
    images = data.draw(
        st.lists(
            st.floats(allow_nan=False),
            min_size=len(values),
            max_size=len(values),
            unique=True,
        ).map(sorted)
    )
    image = dict(zip(values, images, strict=True))
    before = SplitScores.from_scores(in_scores, out_scores)
    after = SplitScores.from_scores([image[s] for s in in_scores], [image[s] for s in out_scores])
    for direction in DIRECTIONS:
        first = before.epsilon(0.01, direction=direction, tail=TAIL)
        second = after.epsilon(0.01, direction=direction, tail=TAIL)
        assert second.threshold == image[first.threshold]
        assert second.epsilon == first.epsilon
        assert (second.true_positives, second.false_positives) == (
            first.true_positives,
            first.false_positives,
        )


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_invariant_with_many_distinct_scores(direction):
    rng = np.random.default_rng(11)
    inside, outside = rng.normal(1.5, 1.0, 20_000), rng.normal(size=20_000)
    first = split_threshold(inside, outside, delta=0.01, direction=direction, tail=TAIL)
    second = split_threshold(
        np.exp(inside), np.exp(outside), delta=0.01, direction=direction, tail=TAIL
    )
    assert second.epsilon == first.epsilon
    assert second.threshold == np.exp(first.threshold)


@given(TIED, TIED)
@settings(deadline=None)
def test_remove_is_add_with_sides_and_signs_swapped(in_scores, out_scores):
    removed = split_threshold(in_scores, out_scores, delta=0.01, direction="remove", tail=TAIL)
    added = split_threshold(
        np.negative(out_scores), np.negative(in_scores), delta=0.01, direction="add", tail=TAIL
    )
    assert removed.epsilon == added.epsilon
    assert removed.threshold == -added.threshold


@given(TIED, TIED, st.sampled_from(DIRECTIONS))
@settings(deadline=None)
def test_a_smaller_tail_never_raises_the_bound_of_a_threshold(in_scores, out_scores, direction):
    split = SplitScores.from_scores(in_scores, out_scores)
    wide = split.bound(0.0, direction=direction, tail=1e-4)
    narrow = split.bound(0.0, direction=direction, tail=0.1)
    assert wide.epsilon(delta=0.01).epsilon <= narrow.epsilon(delta=0.01).epsilon
    assert wide.delta(epsilon=0.2).delta <= narrow.delta(epsilon=0.2).delta


def test_scores_all_tied_show_nothing():
    estimate = split_threshold([1.0] * 500, [1.0] * 500, delta=0.0, direction="add", tail=TAIL)
    assert estimate.epsilon == 0.0
    assert estimate.true_positives == estimate.false_positives == 250


def test_perfectly_separated_scores_reach_the_ceiling():
    for inside, outside in (([1.0], [0.0]), ([math.inf], [-math.inf])):
        for direction in DIRECTIONS:
            estimate = split_threshold(
                inside * 2000, outside * 2000, delta=0.0, direction=direction, tail=TAIL
            )
            ceiling = math.log(TAIL**0.001 / -math.expm1(math.log(TAIL) / 1000))
            assert estimate.epsilon == pytest.approx(ceiling)
            assert (estimate.true_positives, estimate.false_positives) == (1000, 0)


def test_halves_follow_the_order_given():
    split = SplitScores.from_scores([5, 4, 3, 2, 1], [10, 0, 20, -5])
    assert split.selection_in.tolist() == [4, 5]
    assert split.bounding_in.tolist() == [1, 2, 3]
    assert split.selection_out.tolist() == [0, 10]
    assert split.bounding_out.tolist() == [-5, 20]


def test_excess_chooses_epsilon_with_the_threshold():
    split = SplitScores.from_scores(gaussian_quantiles(1000, 2.0), gaussian_quantiles(1000, 0.0))
    epsilons = [0.0, 1.0, 2.0, 3.0]
    reference = [0.9, 0.9, 0.01, 0.9]
    objective = ThresholdChoice.maximise_excess(epsilons=epsilons, delta_references=reference)
    chosen = split.choose(objective, direction="add", tail=TAIL)
    alone = split.choose(ThresholdChoice.maximise_delta(epsilon=2.0), direction="add", tail=TAIL)
    assert chosen.epsilon == 2.0
    assert chosen.threshold == alone.threshold
    assert chosen.objective == pytest.approx(alone.objective - 0.01)
    single = ThresholdChoice.maximise_excess(epsilons=2.0, delta_references=0.01)
    assert split.choose(single, direction="add", tail=TAIL) == chosen


def test_objective_predicts_the_bound_when_both_halves_agree():
    split = SplitScores.from_scores(gaussian_quantiles(500, 1.0), gaussian_quantiles(500, 0.0))
    for direction in DIRECTIONS:
        chosen = split.choose(
            ThresholdChoice.maximise_epsilon(delta=0.01), direction=direction, tail=TAIL
        )
        assert chosen.epsilon is None
        bounds = split.bound(chosen.threshold, direction=direction, tail=TAIL)
        assert bounds.epsilon(delta=0.01).epsilon == chosen.objective


def test_numeric_types_agree():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    inside = np.round(rng.normal(1.0, 1.0, 400) * 8).astype(int)
    outside = np.round(rng.normal(0.0, 1.0, 400) * 8).astype(int)
    expected = split_threshold(inside, outside, delta=0.01, direction="add", tail=TAIL)
    converters = [
        list,
        lambda x: x.astype(np.float32),
        lambda x: x.astype(np.float16),
        lambda x: x.astype(np.int8),
        torch.tensor,
        lambda x: torch.tensor(x, dtype=torch.bfloat16),
        lambda x: torch.tensor(x, dtype=torch.float32, requires_grad=True),
    ]
    for convert in converters:
        found = split_threshold(
            convert(inside), convert(outside), delta=0.01, direction="add", tail=TAIL
        )
        assert found == expected


def test_decisions_are_scores_too():
    inside, outside = np.arange(1000) % 10 != 0, np.arange(1000) % 10 == 0
    estimate = split_threshold(inside, outside, delta=0.0, direction="add", tail=TAIL)
    assert (estimate.true_positives, estimate.false_positives) == (450, 50)
    assert estimate.threshold == 1.0


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    ("inside", "outside", "message"),
    [
        ([], [], "in_scores leaves 0 trials"),
        ([], [1.0, 2.0], "in_scores leaves 0 trials"),
        ([1.0, 2.0], [], "out_scores leaves 0 trials"),
        ([1.0], [1.0, 2.0, 3.0], "in_scores leaves 0 trials to choose a threshold and 1"),
    ],
)
def test_too_few_scores_give_zero_with_a_reason(inside, outside, message, direction):
    split = SplitScores.from_scores(inside, outside)
    for estimate in (
        split.epsilon(0.0, direction=direction, tail=TAIL),
        split.delta(0.0, direction=direction, tail=TAIL),
    ):
        assert estimate.epsilon == estimate.delta == 0.0
        assert estimate.threshold is None
        assert message in estimate.reason
        assert message in str(estimate)
        assert estimate.to_dict()["threshold"] is None


def test_no_threshold_given_has_a_reason():
    bounds = SplitScores.from_scores([1, 2], [0, 1]).bound(None, direction="add", tail=TAIL)
    assert bounds.epsilon(delta=0.0).reason == "no threshold was given"


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1.0, math.nan, 2.0, math.nan], "2 of 4 scores are NaN"),
        ([[1.0, 2.0]], r"shape \(1, 2\)"),
        (1.0, "must be a vector"),
        (["a", "b"], "must be numbers"),
        ([1 + 1j, 2], "must be numbers"),
        ([None, 1.0], "must be numbers"),
        (None, "must be numbers"),
        ([[1.0], [1.0, 2.0]], "nested"),
    ],
)
def test_unusable_scores_are_refused_by_name(scores, message):
    with pytest.raises(ParameterError, match=f"in_scores.*{message}"):
        SplitScores.from_scores(scores, [1.0, 2.0])
    with pytest.raises(ParameterError, match=f"out_scores.*{message}"):
        SplitScores.from_scores([1.0, 2.0], scores)


def test_parameters_are_checked():
    split = SplitScores.from_scores([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(ParameterError, match="direction = 'both'"):
        split.epsilon(0.0, direction="both", tail=TAIL)
    for tail in (0.0, 0.6, math.nan):
        with pytest.raises(ParameterError, match="tail"):
            split.epsilon(0.0, direction="add", tail=tail)
    for delta in (-0.1, 1.1, math.nan):
        with pytest.raises(ParameterError, match="delta"):
            split.epsilon(delta, direction="add", tail=TAIL)
    for epsilon in (-0.1, math.nan):
        with pytest.raises(ParameterError, match="epsilon"):
            split.delta(epsilon, direction="add", tail=TAIL)
    with pytest.raises(ParameterError, match="threshold = nan"):
        split.bound(math.nan, direction="add", tail=TAIL)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either a delta or"),
        ({"delta": 0.1, "epsilons": (1.0,), "references": (0.0,)}, "either a delta or"),
        ({"epsilons": (1.0, 2.0), "references": (0.0,)}, "as many references"),
        ({"epsilons": (math.nan,), "references": (0.0,)}, "epsilon = nan"),
        ({"epsilons": (1.0,), "references": (1.5,)}, "delta_reference = 1.5"),
    ],
)
def test_objectives_are_checked(arguments, message):
    with pytest.raises(ParameterError, match=message):
        ThresholdChoice(**arguments)


def test_candidates_are_every_score_or_a_bounded_number():
    rng = np.random.default_rng(5)
    few = np.sort(rng.integers(0, 100, 50_000).astype(float))
    np.testing.assert_array_equal(candidate_thresholds(few, few[:10]), np.unique(few))
    many_in, many_out = np.sort(rng.normal(size=200_000)), np.sort(rng.normal(size=100_000))
    thinned = candidate_thresholds(many_in, many_out)
    assert 1000 < thinned.size < 6000
    assert np.all(np.diff(thinned) > 0)
    assert {many_in[0], many_in[-1]} <= set(thinned)
    # Every small number of false positives can be chosen.
    counts = many_out.size - np.searchsorted(many_out, thinned)
    assert set(range(1, 200)) <= set(counts.tolist())
    assert candidate_thresholds(np.empty(0), np.empty(0)).size == 0
    for size in (255, 256, 257, 258, 5000):
        uneven = candidate_thresholds(many_in[:5000], many_out[:size])
        assert 0 < uneven.size < 6000
