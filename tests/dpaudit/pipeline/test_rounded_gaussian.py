"""Samples follow the rounded continuous Gaussian exactly."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import chisquare, kstest

from accountants.errors import DpauditError, ParameterError
from dpaudit.pipeline import rounded_gaussian as module
from dpaudit.pipeline.randomness import SeededBits
from dpaudit.pipeline.rounded_gaussian import MARGIN, rounded_gaussian

TOP = 2**63


class Words:
    """First the given words, then those of a seeded source; it counts what was taken."""

    experiment = True

    def __init__(self, *words: int, seed: int = 0) -> None:
        self.left, self.rest, self.taken = list(words), SeededBits(seed), 0

    def words(self, count: int) -> NDArray[np.uint64]:
        self.taken += count
        first, self.left = self.left[:count], self.left[count:]
        rest = self.rest.words(count - len(first))
        return np.concatenate([np.array(first, dtype=np.uint64), rest])


def exact_value(bits: int, width: int, ratio: float) -> int:
    """Apply the definition to V = bits 2^-width, by bisection on Q."""
    with mpmath.workprec(260):
        tail = mpmath.ldexp(bits, -width)
        low, high = mpmath.mpf(0), mpmath.mpf(60)
        for _ in range(220):
            middle = (low + high) / 2
            if mpmath.erfc(middle / mpmath.sqrt(2)) / 2 > tail:
                low = middle
            else:
                high = middle
        return int(mpmath.nint(low * ratio))


@pytest.mark.parametrize(("std", "step"), [(0.3, 1.0), (1.0, 1.0), (2.136, 0.5), (7.0, 1.0)])
def test_law(std: float, step: float) -> None:
    """Chi-square against exact cell probabilities: error <= 1e-6 a case."""
    n = 400_000
    samples = rounded_gaussian(SeededBits(17), std=std, step=step, count=n)
    edge = int(3.5 * std / step) + 1
    cells = np.arange(-edge, edge + 1)
    upper = ndtr((cells + 0.5) * step / std)
    probabilities = np.diff(np.concatenate([[0.0], upper[:-1], [1.0]]))
    observed = np.bincount(np.clip(samples, -edge, edge) + edge, minlength=2 * edge + 1)
    keep = probabilities * n > 5
    expected = np.append(probabilities[keep], probabilities[~keep].sum()) * n
    found = np.append(observed[keep], observed[~keep].sum())
    positive = expected > 0
    assert (
        chisquare(found[positive], expected[positive] * n / expected[positive].sum()).pvalue > 1e-6
    )


@pytest.mark.parametrize("ratio", [1e3, 2.136 * 2**24, 1e9])
def test_law_of_fine_lattices(ratio: float) -> None:
    """Kolmogorov-Smirnov against the continuous law: error <= 1e-6 a case."""
    samples = rounded_gaussian(SeededBits(23), std=ratio, step=1.0, count=30_000)
    assert kstest(samples / ratio, "norm").pvalue > 1e-6


def test_error_of_the_quantile_is_far_below_the_margin() -> None:
    """The installed scipy's ndtri errs by less than MARGIN / 100 wherever the fast path uses it."""
    rng = np.random.default_rng(2)
    tails = np.concatenate(
        [
            2.0 ** -rng.uniform(1, 64, 1500),
            rng.uniform(0, 0.5, 700),
            0.5 - 2.0 ** -rng.uniform(2, 54, 300),
            math.exp(-2) * (1 + rng.uniform(-1e-6, 1e-6, 100)),
            math.exp(-32) * (1 + rng.uniform(-1e-6, 1e-6, 100)),
            2.0 ** -np.arange(1, 65),
        ]
    )
    worst = 0.0
    with mpmath.workprec(160):
        for tail in tails:
            x = mpmath.mpf(float(-ndtri(tail)))
            density = mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)
            # One Newton step from a point this close is exact to far more digits than needed.
            error = (mpmath.erfc(x / mpmath.sqrt(2)) / 2 - mpmath.mpf(float(tail))) / density
            worst = max(worst, abs(float(error)))
    assert worst < MARGIN / 100


@pytest.mark.parametrize("ratio", [1e-3, 0.7, 3.0, 2.136 * 2**24, 1e9])
def test_slow_path_agrees_with_the_fast_one(ratio: float, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [int(word) for word in SeededBits(5).words(60)]
    fast = rounded_gaussian(Words(*words), std=ratio, step=1.0, count=60)
    monkeypatch.setattr(module, "MARGIN", math.inf)
    forced = Words(*words)
    np.testing.assert_array_equal(rounded_gaussian(forced, std=ratio, step=1.0, count=60), fast)
    assert forced.taken >= 120


@settings(max_examples=25)
@given(st.integers(0, 2**127 - 1), st.booleans(), st.sampled_from([0.01, 1.0, 123.4, 1e7, 1e12]))
def test_every_sample_is_the_definition_applied_to_its_bits(
    bits: int, negative: bool, ratio: float
) -> None:
    first = (bits >> 64) | (TOP if negative else 0)
    second = bits & (2**64 - 1)
    [sample] = rounded_gaussian(Words(first, second, TOP, 0, 0, 0), std=ratio, step=1.0, count=1)
    # The words that follow make V the middle of what the first two leave open.
    assert sample == (-1 if negative else 1) * exact_value(2 * bits + 1, 129, ratio)


@pytest.mark.parametrize("ratio", [1e-3, 0.5, 1.0, 35836133.4, 1e12, 2.0**55])
@pytest.mark.parametrize("word", [0, 1, TOP - 1, TOP, TOP + 1, 2**64 - 1])
def test_extreme_words(word: int, ratio: float) -> None:
    [sample] = rounded_gaussian(Words(word), std=ratio, step=1.0, count=1)
    deviations = abs(int(sample)) / ratio
    if word % TOP in (0, 1):
        assert deviations < 14 or ratio < 1
        assert deviations > 8.5 or ratio < 1
    else:
        assert abs(int(sample)) <= max(1e-15 * ratio, 0.5)
    assert sample <= 0 or word < TOP


def test_a_source_that_is_stuck_is_reported() -> None:
    class Stuck:
        experiment = True

        def words(self, count: int) -> NDArray[np.uint64]:
            return np.zeros(count, dtype=np.uint64)

    with pytest.raises(DpauditError, match="random source is broken"):
        rounded_gaussian(Stuck(), std=1.0, step=1.0, count=1)


def test_each_sample_takes_about_one_word() -> None:
    source = Words()
    rounded_gaussian(source, std=2.136, step=2.0**-24, count=100_000)
    assert 100_000 <= source.taken < 100_100


def test_step_scales() -> None:
    samples = [
        rounded_gaussian(SeededBits(3), std=2.5 * step, step=step, count=500)
        for step in (1.0, 2.0**-24, 2.0**10)
    ]
    np.testing.assert_array_equal(samples[0], samples[1])
    np.testing.assert_array_equal(samples[0], samples[2])


def test_sign_and_magnitude_are_symmetric() -> None:
    words = [int(word) % TOP for word in SeededBits(8).words(2000)]
    plus = rounded_gaussian(Words(*words), std=9.0, step=1.0, count=2000)
    minus = rounded_gaussian(Words(*(word + TOP for word in words)), std=9.0, step=1.0, count=2000)
    np.testing.assert_array_equal(plus, -minus)
    assert (plus >= 0).all()


def test_results_do_not_depend_on_the_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rounded_gaussian(SeededBits(1), std=5.0, step=1.0, count=1000)
    monkeypatch.setattr(module, "_CHUNK", 7)
    np.testing.assert_array_equal(
        rounded_gaussian(SeededBits(1), std=5.0, step=1.0, count=1000), whole
    )


@pytest.mark.parametrize(
    ("std", "step", "count"),
    [
        (0.0, 1.0, 1),
        (-1.0, 1.0, 1),
        (math.nan, 1.0, 1),
        (math.inf, 1.0, 1),
        (1.0, 0.0, 1),
        (1.0, math.nan, 1),
        (1.0, 1.0, -1),
        (2.0**56, 1.0, 1),
        (1e300, 1e-300, 1),
    ],
)
def test_bad_parameters(std: float, step: float, count: int) -> None:
    with pytest.raises(ParameterError):
        rounded_gaussian(SeededBits(1), std=std, step=step, count=count)


def test_tiny_and_empty() -> None:
    assert rounded_gaussian(SeededBits(1), std=1e-300, step=1e300, count=50).tolist() == [0] * 50
    assert rounded_gaussian(SeededBits(1), std=1.0, step=1.0, count=0).shape == (0,)
