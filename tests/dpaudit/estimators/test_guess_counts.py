"""Guesses counted from scores: against a brute-force count, with ties and infinities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants.errors import ParameterError
from dpaudit.estimators.guess_choice import FixedGuesses, GeometricGuesses, HeldOutGuesses
from dpaudit.estimators.guess_counts import CanaryScores

SIDES = ("both", "in", "out")

small_scores = st.lists(
    st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0, np.inf]), min_size=0, max_size=12
)


def every_count(inside, outside, guesses, side):
    """All numbers of right guesses that some order of equal scores gives."""
    highest = {"both": (guesses + 1) // 2, "in": guesses, "out": 0}[side]
    pooled = [(score, True) for score in inside] + [(score, False) for score in outside]
    found = set()
    for first in (True, False):  # among equals the included or the left-out ones rank higher
        ranked = sorted(pooled, key=lambda one: (one[0], one[1] == first), reverse=True)
        right = sum(included for _, included in ranked[:highest])
        lowest = ranked[len(ranked) - (guesses - highest) :]
        found.add(right + sum(not included for _, included in lowest))
        # The extremes when both ends fall into one tie:
        best = sorted(pooled, key=lambda one: (one[0], one[1]), reverse=True)
        found.add(
            sum(one[1] for one in best[:highest])
            + sum(not one[1] for one in best[len(best) - (guesses - highest) :])
        )
    return min(found), max(found)


@settings(max_examples=300, deadline=None)
@given(small_scores, small_scores, st.data(), st.sampled_from(SIDES))
def test_count_lies_between_the_extremes_of_tie_breaking(inside, outside, data, side):
    total = len(inside) + len(outside)
    guesses = data.draw(st.integers(0, total))
    counts = CanaryScores.from_scores(np.array(inside), np.array(outside)).count(
        guesses, side=side, rng=np.random.default_rng(1)
    )
    low, high = every_count(inside, outside, guesses, side)
    assert counts.guesses == guesses
    if len(set(inside + outside)) == total:
        assert counts.correct == low == high
        assert counts.ties == 0
    assert 0 <= counts.correct <= high


@pytest.mark.parametrize("side", SIDES)
def test_ties_are_broken_without_looking_at_the_inclusion(side):
    """The mean of 4000 draws among equal scores; error below 1e-6 (six standard errors)."""
    scores = CanaryScores.from_scores(np.zeros(30), np.zeros(70))
    rng = np.random.default_rng(3)
    right = [scores.count(40, side=side, rng=rng).correct for _ in range(4000)]
    expected = {"both": 20, "in": 12, "out": 28}[side]
    assert abs(np.mean(right) - expected) < 6 * np.std(right) / np.sqrt(4000)
    assert scores.count(40, side=side, rng=rng).ties == 40


def test_both_ends_may_share_one_tie():
    """Every canary guessed from one tie: each is guessed once."""
    scores = CanaryScores.from_scores([1.0] * 6, [1.0] * 4)
    for seed in range(20):
        found = scores.count(10, side="both", rng=np.random.default_rng(seed))
        # 5 of 10 are drawn as "in"; with j of them right, 5 - (6 - j) of the others are.
        assert found.correct % 2 == 1
        assert 3 <= found.correct <= 9


def test_thresholds_are_the_last_scores_guessed():
    scores = CanaryScores.from_scores([5.0, 4.0, 1.0], [2.0, 0.0, -np.inf])
    found = scores.count(4, side="both", rng=np.random.default_rng(0))
    assert (found.in_threshold, found.out_threshold, found.correct) == (4.0, 0.0, 4)
    found = scores.count(2, side="in", rng=np.random.default_rng(0))
    assert (found.in_threshold, found.out_threshold) == (4.0, None)


def test_numeric_types_are_alike():
    import torch

    inside, outside = np.arange(10), np.arange(-5, 5)
    expected = None
    for convert in (np.asarray, np.float32, np.int16, list, torch.tensor):
        scores = CanaryScores.from_scores(convert(inside), convert(outside))
        found = scores.count(7, side="both", rng=np.random.default_rng(0))
        expected = expected or found
        assert found == expected


def test_nan_scores_are_counted_and_refused():
    with pytest.raises(ParameterError, match="out_scores: 2 of 3 scores are NaN"):
        CanaryScores.from_scores([1.0], [np.nan, 0.0, np.nan])


def test_more_guesses_than_canaries_are_refused():
    scores = CanaryScores.from_scores([1.0], [2.0])
    with pytest.raises(ParameterError, match="guesses = 3"):
        scores.count(3, side="in", rng=np.random.default_rng(0))


def test_split_divides_without_regard_to_the_inclusion():
    """The included share of one part of all; error below 1e-6 (hypergeometric, six sigma)."""
    scores = CanaryScores.from_scores(np.arange(600.0), np.arange(400.0))
    rng = np.random.default_rng(5)
    included = []
    for _ in range(500):
        first, second = scores.split(0.3, rng=rng)
        assert first.canaries == 300
        assert second.canaries == 700
        included.append(first.inside.size)
    spread = np.sqrt(300 * 0.6 * 0.4 * 700 / 999)
    assert abs(np.mean(included) - 180) < 6 * spread / np.sqrt(500)
    assert 0.8 * spread < np.std(included) < 1.2 * spread


def test_geometric_numbers_fall_to_the_fewest_of_use():
    numbers = GeometricGuesses(ratio=2.0).numbers(1000, side="both", inclusion=0.5, tail=0.05)
    assert numbers == [1000, 500, 250, 125, 62, 31, 15]
    assert 2.0 ** -numbers[-1] <= 0.05 / len(numbers)
    one_sided = GeometricGuesses(ratio=2.0).numbers(1000, side="in", inclusion=0.5, tail=0.05)
    assert one_sided[0] == 500
    assert GeometricGuesses().numbers(0, side="both", inclusion=0.5, tail=0.05) == []
    assert GeometricGuesses().numbers(3, side="both", inclusion=0.5, tail=0.05) == [3]


def test_fixed_numbers():
    asked = {"side": "both", "inclusion": 0.5, "tail": 0.05}
    assert FixedGuesses(10).numbers(100, **asked) == [10]
    assert FixedGuesses(0.25).numbers(101, **asked) == [25]
    assert FixedGuesses(1).numbers(100, **asked) == [1]
    assert FixedGuesses(1.0).numbers(100, **asked) == [100]
    assert FixedGuesses(0.001).numbers(100, **asked) == [1]
    with pytest.raises(ParameterError, match="guesses = 200"):
        FixedGuesses(200).numbers(100, **asked)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FixedGuesses(0), "guesses = 0"),
        (lambda: FixedGuesses(True), "guesses = True"),
        (lambda: FixedGuesses(1.5), "guesses = 1.5"),
        (lambda: FixedGuesses(float("nan")), "guesses = nan"),
        (lambda: GeometricGuesses(ratio=1.0), "ratio = 1"),
        (lambda: GeometricGuesses(ratio=float("nan")), "ratio = nan"),
        (lambda: HeldOutGuesses(fraction=1.0), "fraction = 1"),
    ],
)
def test_bad_rules_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()
