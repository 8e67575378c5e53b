"""A record replaced by one in another bucket: products of two buckets, enumerated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from accountants import JointRelease, ParameterError, SampleThreshold
from accountants.replace_one import CoinChain, across_buckets


def law(records: int, p: float, threshold: int, length: int) -> np.ndarray:
    """Probabilities of nothing (at 0) and of each released count."""
    counts = binom.pmf(np.arange(length), records, p)
    counts[0] = counts[:threshold].sum()
    counts[1:threshold] = 0
    return counts


def divergence(sizes: tuple[int, int], p: float, threshold: int, epsilon: float) -> float:
    """Hockey-stick divergence of (one more, as it is) from (as it is, one more), two buckets."""
    length = max(sizes) + 2
    more = [law(n + 1, p, threshold, length) for n in sizes]
    same = [law(n, p, threshold, length) for n in sizes]
    gap = np.outer(more[0], same[1]) - np.exp(epsilon) * np.outer(same[0], more[1])
    return float(np.maximum(gap, 0).sum())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.floats(0.05, 0.9),
    st.integers(1, 8),
    st.tuples(st.integers(0, 40), st.integers(0, 40)),
    st.floats(0, 4),
)
def test_no_pair_of_buckets_exceeds_it(
    p: float, threshold: int, sizes: tuple[int, int], epsilon: float
) -> None:
    base = JointRelease(sampling_rate=p, threshold=threshold, shift=0.0)
    bound = float(across_buckets(base, points=60).delta(epsilon))
    assert divergence(sizes, p, threshold, epsilon) <= bound * (1 + 1e-9)


def test_reference_values() -> None:
    """docs/proofs/replace-one.md; the coin chain is 8 to 40 times as large."""
    base = SampleThreshold(sampling_rate=0.3, threshold=20)
    ours, coin = across_buckets(base), CoinChain(base=base, sampling_rate=0.3)
    sizes = range(15, 100, 4)
    for epsilon, shown, bound, chain in (
        (0.1, 1.192e-2, 1.7825e-2, 0.22697),
        (0.35, 2.8106e-4, 8.283e-4, 3.6414e-2),
        (0.5, 3.3932e-5, 1.221e-4, 4.1697e-3),
        (1.0, 8.517e-8, 4.557e-7, 4.3766e-6),
    ):
        worst = max(divergence((a, b), 0.3, 20, epsilon) for a in sizes for b in sizes)
        assert worst == pytest.approx(shown, rel=1e-3)
        assert float(ours.delta(epsilon)) == pytest.approx(bound, rel=1e-3)
        assert float(coin.delta(epsilon)) == pytest.approx(chain, rel=1e-3)


def test_epsilon_meets_delta() -> None:
    ours = across_buckets(JointRelease(sampling_rate=0.3, threshold=20, shift=0.5))
    for delta in (1e-3, 1e-6, 1e-9):
        assert float(ours.delta(ours.epsilon(delta))) <= delta


def test_too_few_points_are_refused() -> None:
    with pytest.raises(ParameterError, match="points = 5"):
        across_buckets(SampleThreshold(sampling_rate=0.3, threshold=20), points=5)
