"""Runs of counts and their masses, against mpmath and scipy."""

import mpmath as mp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from accountants.count_runs import CountRuns

rates = st.one_of(st.floats(1e-6, 1 - 1e-6), st.floats(0.01, 0.9))


def exact(n: int, size: int, p: float) -> float:
    """Return ln P(n), with 40 digits."""
    if not 0 <= n <= size:
        return -np.inf
    with mp.workdps(40):
        chance = mp.mpf(p)
        return float(
            mp.loggamma(size + 1)
            - mp.loggamma(n + 1)
            - mp.loggamma(size - n + 1)
            + n * mp.log(chance)
            + (size - n) * mp.log1p(-chance)
        )


def make(sizes: list[int], p: float, width: int) -> CountRuns:
    others = np.array(sizes, dtype=np.int64)
    first = np.maximum(np.floor(others * p).astype(np.int64) - width // 2, 1)
    return CountRuns.between(first, np.minimum(first + width, others + 1), others)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=4),
    rates,
    st.integers(0, 60),
    st.booleans(),
)
def test_masses_are_upper_bounds_and_close(
    sizes: list[int], p: float, width: int, one_less: bool
) -> None:
    runs = make(sizes, p, width)
    found = runs.log_masses(runs.log_ratios(p), p, one_less=one_less)
    places = zip(runs.counts, runs.spread(runs.others), found, strict=True)
    for n, size, value in places:
        truth = exact(int(n) - one_less, int(size), p)
        if truth == -np.inf:
            assert value == -np.inf
        else:
            assert truth - 1e-13 * (1 + abs(truth)) <= value <= truth + 2e-9 + 1e-12 * abs(truth)


def test_long_runs_are_computed_one_by_one() -> None:
    """Where the sums' error bound is not small: 4e6 counts."""
    others = np.array([10**12], dtype=np.int64)
    middle = 5 * 10**11
    runs = CountRuns.between(np.array([middle - 2 * 10**6]), np.array([middle + 2 * 10**6]), others)
    found = runs.log_masses(runs.log_ratios(0.5), 0.5, one_less=False)
    for place in (0, 10**6, 2 * 10**6, 4 * 10**6):
        truth = exact(int(runs.counts[place]), 10**12, 0.5)
        assert truth - 1e-12 <= found[place] <= truth + 1e-7


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=3), rates, st.floats(0, 1e3))
def test_covered_is_never_claimed_wrongly(sizes: list[int], p: float, factor: float) -> None:
    runs = make(sizes, p, 40)
    masses = runs.log_masses(runs.log_ratios(p), p, one_less=True)
    sure = runs.covered(masses, factor, p)
    others = runs.spread(runs.others)
    below = factor * binom.cdf(runs.counts - 2, others, p)
    there = binom.pmf(runs.counts - 1, others, p)
    assert np.all(below[sure] >= there[sure] * (1 - 1e-9))
    clear = (below > there * (1 + 1e-6)) & (there > 1e-250)
    assert np.all(sure[clear])
