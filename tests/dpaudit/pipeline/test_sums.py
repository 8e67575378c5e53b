"""Sums by bucket: exact on the lattice, and the same along every route."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpaudit.errors import DataError
from dpaudit.pipeline import sums as module
from dpaudit.pipeline.sums import Members, bucket_sums, lattice_sums

STEP = 2.0**-24


def members(n: int, rows: int, number: int, seed: int, most: int = 9) -> Members:
    rng = np.random.default_rng(seed)
    return Members(
        rng.integers(0, number, n), rng.integers(0, rows, n), rng.integers(1, most + 1, n), number
    )


def vectors(rows: int, d: int, seed: int, dtype: type = np.float32) -> NDArray[Any]:
    return np.random.default_rng(seed).standard_normal((rows, d)).astype(dtype)


def python_sums(x: NDArray[Any], entries: Members, step: float) -> list[list[int]]:
    total = [[0] * x.shape[1] for _ in range(entries.number)]
    lattice = [[round(value / step) for value in row] for row in x.tolist()]
    for bucket, row, count in zip(entries.buckets, entries.rows, entries.counts, strict=True):
        for column, value in enumerate(lattice[row]):
            total[bucket][column] += int(count) * value
    return total


@pytest.fixture(params=["table", "stream"])
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "stream":
        monkeypatch.setattr(module, "_TABLE", -1)
        monkeypatch.setattr(module, "_CHUNK", 16)
        monkeypatch.setattr(module, "_WINDOW", 72)
    return str(request.param)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_lattice_sums_equal_python_integers(dtype: type) -> None:
    x, entries = vectors(30, 5, 1, dtype), members(200, 30, 7, 2, most=10**6)
    sums = lattice_sums(x, entries, step=STEP)
    assert sums.dtype == np.int64
    assert sums.tolist() == python_sums(x, entries, STEP)


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 8), st.integers(-30, 3))
def test_lattice_sums_of_any_members(seed: int, n: int, number: int, exponent: int) -> None:
    x, entries = vectors(9, 3, seed), members(n, 9, number, seed)
    step = 2.0**exponent
    assert lattice_sums(x, entries, step=step).tolist() == python_sums(x, entries, step)


@pytest.mark.usefixtures("route")
def test_bucket_sums() -> None:
    x, entries = vectors(30, 5, 1), members(200, 30, 7, 2)
    expected = np.zeros((7, 5))
    np.add.at(expected, entries.buckets, entries.counts[:, None] * x[entries.rows].astype(float))
    np.testing.assert_allclose(bucket_sums(x, entries), expected, rtol=1e-13, atol=1e-12)


@pytest.mark.usefixtures("route")
def test_memory_mapped(tmp_path: Path) -> None:
    x, entries = vectors(30, 5, 1), members(200, 30, 7, 2)
    x.tofile(tmp_path / "x")
    mapped = np.memmap(tmp_path / "x", dtype=np.float32, mode="r", shape=x.shape)
    np.testing.assert_array_equal(
        lattice_sums(mapped, entries, step=STEP), lattice_sums(x, entries, step=STEP)
    )
    np.testing.assert_array_equal(bucket_sums(mapped, entries), bucket_sums(x, entries))


def test_torch_adds_the_same() -> None:
    pytest.importorskip("torch")
    block = np.rint(vectors(100, 4, 5, np.float64) * 2**24)
    counts = np.random.default_rng(1).integers(1, 9, 100).astype(np.float64)
    ends = np.array([0, 1, 30, 31, 99, 100])
    expected = np.add.reduceat(block * counts[:, None], ends[:-1])
    np.testing.assert_array_equal(module._sparse_add(block, counts, ends), expected)
    np.testing.assert_array_equal(module._torch_add(block, counts, ends, device="cpu"), expected)


def test_sums_through_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    x, entries = vectors(30, 5, 1), members(200, 30, 7, 2)
    expected = lattice_sums(x, entries, step=STEP)
    monkeypatch.setattr(module, "_TABLE", -1)
    add = module._torch_add
    monkeypatch.setattr(
        module,
        "_torch_add",
        lambda block, counts, ends: add(block, counts, ends, "cpu"),
    )
    np.testing.assert_array_equal(lattice_sums(x, entries, step=STEP, device="cuda"), expected)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_bad_members_are_named(bad: float) -> None:
    x = vectors(30, 5, 1)
    x[11, 2] = bad
    entries = Members(np.zeros(2, np.int64), np.array([3, 11]), np.ones(2, np.int64), 1)
    with pytest.raises(DataError, match="row 11 of the vectors"):
        bucket_sums(x, entries)
    with pytest.raises(DataError, match="row 11 of the vectors"):
        lattice_sums(x, entries, step=STEP)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize(("size", "count"), [(1.0, 2**30), (2.0**20, 2**10), (3e38, 1)])
def test_sums_that_could_round_or_overflow_are_refused(size: float, count: int) -> None:
    x = np.full((4, 2), size, dtype=np.float32)
    entries = Members(np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([count]), 1)
    with pytest.raises(DataError, match="choose a larger lattice_step"):
        lattice_sums(x, entries, step=STEP)


def test_no_members() -> None:
    none = np.empty(0, dtype=np.int64)
    assert bucket_sums(vectors(3, 2, 0), Members(none, none, none, 0)).shape == (0, 2)
    assert lattice_sums(vectors(3, 2, 0), Members(none, none, none, 0), step=STEP).shape == (0, 2)
