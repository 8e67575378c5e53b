"""Equal cells, and only those, share a bucket."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from dpaudit.pipeline import bucketing
from dpaudit.pipeline.bucketing import assign_buckets

Integers = NDArray[np.int64]


def same_partition(cells: Integers, buckets: Integers, number: int) -> bool:
    _, expected = np.unique(cells, axis=0, return_inverse=True)
    pairs = set(zip(expected.reshape(-1).tolist(), buckets.tolist(), strict=True))
    one_to_one = len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    return one_to_one and {b for _, b in pairs} == set(range(number))


@given(
    st.tuples(st.integers(1, 40), st.integers(1, 4)).flatmap(
        lambda shape: arrays(np.int64, shape, elements=st.integers(-2, 2))
    )
)
def test_partition(cells: Integers) -> None:
    buckets, number = assign_buckets(cells)
    assert buckets.dtype == np.int64
    assert same_partition(cells, buckets, number)


@given(
    arrays(
        np.int64, (12, 3), elements=st.sampled_from([-(2**63), -(2**62), 0, 1, 2**62, 2**63 - 1])
    )
)
def test_extreme_cells(cells: Integers) -> None:
    assert same_partition(cells, *assign_buckets(cells))


def test_many_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucketing, "_CHUNK", 37)
    cells = np.random.default_rng(0).integers(-3, 3, size=(5000, 4))
    assert same_partition(cells, *assign_buckets(cells))


@pytest.mark.parametrize("chunk", [1, 3, 1 << 15])
def test_hash_collisions_are_found(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucketing, "_CHUNK", chunk)
    monkeypatch.setattr(
        bucketing, "_row_hashes", lambda cells: (cells.sum(axis=1) % 3).astype(np.uint64)
    )
    cells = np.random.default_rng(0).integers(-3, 3, size=(200, 3))
    assert same_partition(cells, *assign_buckets(cells))


def test_no_records() -> None:
    buckets, number = assign_buckets(np.empty((0, 4), dtype=np.int64))
    assert (buckets.shape, number) == ((0,), 0)
