"""Coins are exact for the double that states their probability."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest

from accountants.errors import ParameterError
from dpaudit.pipeline.randomness import BitSource, SeededBits, SystemBits, bernoulli, fresh_seed


class ScriptedBits:
    """Words given in advance."""

    experiment = True

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def words(self, count: int) -> NDArray[np.uint64]:
        taken, self.left = self.left[:count], self.left[count:]
        assert len(taken) == count
        return np.array(taken, dtype=np.uint64)


@pytest.mark.parametrize(
    "source", [SystemBits(), SeededBits(3), SeededBits(np.random.SeedSequence(3))]
)
def test_sources_give_words(source: BitSource) -> None:
    assert isinstance(source, BitSource)
    words = source.words(1000)
    assert words.dtype == np.uint64
    assert words.shape == (1000,)
    assert len(np.unique(words)) == 1000
    assert source.words(0).shape == (0,)


def test_only_seeded_sources_are_experiments() -> None:
    assert not SystemBits().experiment
    assert SeededBits(1).experiment


def test_seeds_reproduce() -> None:
    np.testing.assert_array_equal(SeededBits(5).words(9), SeededBits(5).words(9))
    assert (SeededBits(5).words(9) != SeededBits(6).words(9)).any()
    assert (SystemBits().words(9) != SystemBits().words(9)).any()


@given(
    st.floats(2.0**-64, 1, exclude_max=True, allow_subnormal=False),
    st.integers(0, 2**128 - 1),
    st.integers(-2, 2),
)
def test_a_coin_compares_128_bits_with_the_exact_probability(p: float, u: int, near: int) -> None:
    exact = Fraction(p) * 2**128
    assert exact.denominator == 1
    for value in (u, min(max(int(exact) + near, 0), 2**128 - 1)):
        upper, lower = divmod(value, 2**64)
        source = ScriptedBits(upper, lower)
        assert bernoulli(source, probability=p, count=1).tolist() == [value < exact]


def test_smallest_probability() -> None:
    assert bernoulli(ScriptedBits(0, 7), probability=2.0**-64, count=2).tolist() == [True, False]


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, 1.1, float("nan"), float("inf"), 2.0**-65])
def test_other_probabilities_are_refused(p: float) -> None:
    with pytest.raises(ParameterError, match="probability"):
        bernoulli(SeededBits(1), probability=p, count=1)


def test_negative_count_is_refused() -> None:
    with pytest.raises(ParameterError, match="count = -1"):
        bernoulli(SeededBits(1), probability=0.5, count=-1)


@pytest.mark.parametrize("p", [0.3, 0.5, 0.999])
def test_frequency(p: float) -> None:
    """Error <= 1e-6 a case; more coins than one internal chunk."""
    heads = bernoulli(SeededBits(11), probability=p, count=1_100_000)
    assert heads.dtype == np.bool_
    assert binomtest(int(heads.sum()), len(heads), p).pvalue > 1e-6


def test_fresh_seeds_fit_a_deployment_file() -> None:
    seeds = {fresh_seed() for _ in range(50)}
    assert len(seeds) == 50
    assert all(0 <= seed < 2**63 for seed in seeds)
