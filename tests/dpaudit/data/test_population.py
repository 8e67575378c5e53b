"""Records: texts one by one, or a simulated population with Zipf frequencies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from dpaudit.data.corpus import Corpus, corpus_of
from dpaudit.data.population import records_of, simulate_population
from dpaudit.errors import ParameterError


def corpus(*texts: str) -> Corpus:
    return corpus_of((("", text) for text in texts), source="x")


def test_without_a_population_records_are_the_texts_in_order() -> None:
    records = records_of(corpus("b", "a", "b", "c"))
    assert records.texts == ("b", "a", "c")
    assert records.rows.tolist() == [0, 1, 0, 2]
    assert (records.records, records.simulated, records.zipf) == (4, False, None)
    with pytest.raises(ValueError, match="read-only"):
        records.rows[0] = 1


def test_a_population_is_called_simulated() -> None:
    records = records_of(corpus("b", "a", "b"), population=1000, seed=1)
    assert records.texts == ("b", "a")
    assert (records.records, records.simulated, records.zipf) == (1000, True, 1.0)
    assert set(records.rows.tolist()) == {0, 1}


def test_zipf_needs_a_population() -> None:
    with pytest.raises(ParameterError, match=r"zipf = 1\.0: allowed only together"):
        records_of(corpus("a", "b"), zipf=1.0)


@pytest.mark.parametrize("zipf", [0.0, 1.0, 1.7])
def test_frequencies_follow_the_zipf_law(zipf: float) -> None:
    """Chi-square test of 200 000 draws over 30 ranks; it errs with probability 1e-6.

    The seed is fixed, so the outcome is too: the error is that of the choice of the seed.
    """
    rows = simulate_population(30, records=200_000, zipf=zipf, seed=5)
    weights = np.arange(1.0, 31.0) ** -zipf
    expected = 200_000 * weights / weights.sum()
    # The ranks are read off another draw, so the counts tested are independent of them.
    by_rank = np.random.default_rng([_stream(), 5]).permutation(30)
    observed = np.bincount(rows, minlength=30)[by_rank]
    assert chisquare(observed, expected).pvalue > 1e-6


def _stream() -> int:
    from dpaudit.data import population

    return population._STREAM


def test_seeds_repeat_and_differ() -> None:
    one = simulate_population(50, records=500, zipf=1.0, seed=1)
    assert np.array_equal(one, simulate_population(50, records=500, zipf=1.0, seed=1))
    assert not np.array_equal(one, simulate_population(50, records=500, zipf=1.0, seed=2))
    assert one.dtype == np.int32


@given(
    n_texts=st.integers(1, 40),
    records=st.integers(1, 300),
    zipf=st.floats(0, 10),
    seed=st.integers(0, 2**63 - 1),
)
def test_rows_are_always_indices(n_texts: int, records: int, zipf: float, seed: int) -> None:
    rows = simulate_population(n_texts, records=records, zipf=zipf, seed=seed)
    assert rows.shape == (records,)
    assert rows.min() >= 0
    assert rows.max() < n_texts


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_texts": 0},
        {"records": 0},
        {"records": 1.5},
        {"records": True},
        {"seed": -1},
        {"zipf": -0.1},
        {"zipf": float("nan")},
        {"zipf": float("inf")},
    ],
)
def test_values_out_of_range(wrong: dict[str, float]) -> None:
    given_values = {"n_texts": 3, "records": 5, "zipf": 1.0, "seed": 0} | wrong
    (name,) = wrong
    with pytest.raises(ParameterError, match=f"^{name} = "):
        simulate_population(given_values.pop("n_texts"), **given_values)  # type: ignore[arg-type]
