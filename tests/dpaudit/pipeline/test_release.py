"""One release: coins, threshold, counts, sums and noise, and nothing else in the result."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from accountants.errors import ParameterError
from dpaudit.errors import DataError
from dpaudit.pipeline import sums as sums_module
from dpaudit.pipeline.grid import ShiftedGrid
from dpaudit.pipeline.randomness import SeededBits, SystemBits, bernoulli
from dpaudit.pipeline.release import (
    Release,
    ReleaseParameters,
    fre_e2t_release,
    release_buckets,
)
from dpaudit.pipeline.rounded_gaussian import rounded_gaussian

STEP = 2.0**-24


def parameters(**changes: Any) -> ReleaseParameters:
    given = {"sampling_rate": 0.4, "threshold": 3, "noise_std": 0.5} | changes
    return ReleaseParameters(**given)


def population(records: int = 400, rows: int = 40, d: int = 6) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((rows, d)).astype(np.float32), rng.integers(0, rows, records)


def same(one: Release, other: Release) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("buckets", "counts", "noisy_sums")
    )


@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(0, 12), min_size=1, max_size=6),
    threshold=st.integers(1, 6),
    rate=st.sampled_from([0.1, 0.5, 0.9]),
)
def test_release_is_the_definition(
    seed: int, sizes: list[int], threshold: int, rate: float
) -> None:
    """Coins first, one a record; then noise, one word a coordinate of a released bucket."""
    d = 3
    buckets = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    vectors = np.random.default_rng(seed).standard_normal((len(buckets), d))
    release = release_buckets(
        vectors,
        buckets,
        len(sizes),
        parameters=parameters(sampling_rate=rate, threshold=threshold),
        coins=SeededBits(seed),
        noise=SeededBits(seed + 1),
    )
    heads = bernoulli(SeededBits(seed), probability=rate, count=len(buckets))
    counts = [int((heads & (buckets == bucket)).sum()) for bucket in range(len(sizes))]
    released = [bucket for bucket, count in enumerate(counts) if count >= threshold]
    assert release.buckets.tolist() == released
    assert release.counts.tolist() == [counts[bucket] for bucket in released]
    noise = rounded_gaussian(
        SeededBits(seed + 1), std=0.5, step=STEP, count=len(released) * d
    ).reshape(-1, d)
    lattice = [[round(value / STEP) for value in row] for row in vectors.tolist()]
    for i, bucket in enumerate(released):
        members = np.flatnonzero(heads & (buckets == bucket))
        for column in range(d):
            total = sum(lattice[row][column] for row in members) + int(noise[i, column])
            assert release.noisy_sums[i, column] == total * STEP
    np.testing.assert_array_equal(release.centroids, release.noisy_sums / release.counts[:, None])


@pytest.mark.parametrize("route", ["table", "stream"])
def test_shared_rows_equal_repeated_vectors(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if route == "stream":
        monkeypatch.setattr(sums_module, "_TABLE", -1)
    vectors, rows = population()
    row_buckets = np.arange(len(vectors)) % 7
    shared = release_buckets(
        vectors,
        row_buckets[rows],
        7,
        rows=rows,
        parameters=parameters(),
        coins=SeededBits(1),
        noise=SeededBits(2),
    )
    repeated = release_buckets(
        vectors[rows],
        row_buckets[rows],
        7,
        parameters=parameters(),
        coins=SeededBits(1),
        noise=SeededBits(2),
    )
    assert same(shared, repeated)
    assert len(shared.buckets) == 7


def test_many_buckets_of_few_rows() -> None:
    """The route for an audit's trials: more buckets than sampled pairs need."""
    vectors = np.eye(2, 5, dtype=np.float32)
    rows = np.tile([0, 1, 1, 1], 500)
    release = release_buckets(
        vectors,
        np.repeat(np.arange(500), 4),
        500,
        rows=rows,
        parameters=parameters(noise_std=1e-6, threshold=1),
        coins=SeededBits(1),
        noise=np.random.default_rng(2),
    )
    heads = bernoulli(SeededBits(1), probability=0.4, count=2000).reshape(500, 4)
    assert release.buckets.tolist() == np.flatnonzero(heads.any(axis=1)).tolist()
    np.testing.assert_allclose(release.noisy_sums[:, 0], heads[release.buckets, 0], atol=1e-4)
    np.testing.assert_allclose(
        release.noisy_sums[:, 1], heads[release.buckets, 1:].sum(axis=1), atol=1e-4
    )


def test_float_and_exact_differ_by_noise_only() -> None:
    vectors, rows = population()
    exact, floating = (
        release_buckets(
            vectors,
            rows % 5,
            5,
            rows=rows,
            parameters=parameters(noise_std=1e-5),
            coins=SeededBits(1),
            noise=noise,
        )
        for noise in (SeededBits(2), np.random.default_rng(2))
    )
    np.testing.assert_array_equal(exact.counts, floating.counts)
    np.testing.assert_allclose(exact.noisy_sums, floating.noisy_sums, atol=2e-4)
    assert (exact.noise, floating.noise) == ("exact-rounded-gaussian", "float-gaussian")
    assert (exact.lattice_step, floating.lattice_step) == (STEP, None)
    assert (exact.noisy_sums % STEP == 0).all()


def test_only_unseeded_bits_make_a_real_release() -> None:
    def experiment(coins: Any, noise: Any) -> bool:
        return release_buckets(
            np.eye(3), [0, 0, 0], 1, parameters=parameters(threshold=1), coins=coins, noise=noise
        ).experiment

    assert not experiment(SystemBits(), SystemBits())
    assert experiment(SeededBits(1), SystemBits())
    assert experiment(SystemBits(), SeededBits(1))
    assert experiment(SystemBits(), np.random.default_rng())


def test_real_releases_differ() -> None:
    source = SystemBits()
    one, other = (
        release_buckets(
            np.ones((200, 3)),
            np.zeros(200, dtype=int),
            1,
            parameters=parameters(),
            coins=source,
            noise=source,
        )
        for _ in range(2)
    )
    assert (one.noisy_sums != other.noisy_sums).all()


def test_the_result_holds_nothing_private() -> None:
    vectors, rows = population()
    release = release_buckets(
        vectors,
        rows,
        len(vectors),
        rows=rows,
        parameters=parameters(threshold=6),
        coins=SeededBits(1),
        noise=SeededBits(2),
    )
    released = len(release.buckets)
    assert 0 < released < len(vectors)
    assert {field.name for field in fields(release)} == {
        "buckets",
        "counts",
        "noisy_sums",
        "noise",
        "lattice_step",
        "experiment",
        "cells",
    }
    for name in ("buckets", "counts", "noisy_sums"):
        array = getattr(release, name)
        assert len(array) == released
        assert array.base is None or array.base.shape[0] == released
    assert (release.counts >= 6).all()


def test_nothing_is_heavy_enough() -> None:
    release = release_buckets(
        np.eye(3),
        [0, 1, 2],
        3,
        parameters=parameters(threshold=2),
        coins=SeededBits(1),
        noise=SeededBits(2),
    )
    assert release.noisy_sums.shape == (0, 3)
    assert release.centroids.shape == (0, 3)
    empty = release_buckets(
        np.empty((0, 3)),
        np.empty(0, int),
        0,
        parameters=parameters(),
        coins=SeededBits(1),
        noise=np.random.default_rng(1),
    )
    assert empty.counts.shape == (0,)


@pytest.mark.parametrize(
    "changes",
    [
        {"sampling_rate": 0.0},
        {"sampling_rate": 1.0},
        {"sampling_rate": 2.0**-70},
        {"sampling_rate": float("nan")},
        {"threshold": 0},
        {"threshold": 2.5},
        {"noise_std": 0.0},
        {"noise_std": float("inf")},
        {"lattice_step": 0.3},
        {"lattice_step": 0.0},
        {"lattice_step": -0.5},
    ],
)
def test_bad_parameters(changes: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(changes))):
        parameters(**changes)


def test_exact_noise_needs_a_lattice() -> None:
    with pytest.raises(ParameterError, match="lattice_step"):
        release_buckets(
            np.eye(2),
            [0, 0],
            1,
            parameters=parameters(lattice_step=None),
            coins=SeededBits(1),
            noise=SeededBits(1),
        )


@pytest.mark.parametrize(
    ("buckets", "rows", "message"),
    [
        ([0, 0, 0], None, "one bucket and one row"),
        ([0, 0], [0, 1, 1], "one bucket and one row"),
        ([0, 3], None, "buckets lie in 0 .. 3: 0 .. 2 is allowed"),
        ([-1, 0], None, "buckets lie in -1 .. 0"),
        ([0, 0], [0, 2], "rows lie in 0 .. 2: 0 .. 1 is allowed"),
        ([0.0, 1.0], None, "a vector of whole numbers"),
        ([[0, 1]], None, "a vector of whole numbers"),
    ],
)
def test_bad_indices(buckets: Any, rows: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        release_buckets(
            np.eye(2),
            buckets,
            3,
            rows=rows,
            parameters=parameters(),
            coins=SeededBits(1),
            noise=SeededBits(1),
        )


GRID = ShiftedGrid.draw(embedding_dim=6, projection_dim=2, edge=1.0, seed=3)


@pytest.mark.parametrize("shared", [True, False])
def test_grid_release(shared: bool) -> None:
    vectors, rows = population(rows=60)
    given_rows = rows if shared else None
    if not shared:
        vectors = vectors[rows]
    release, private = fre_e2t_release(
        vectors,
        rows=given_rows,
        grid=GRID,
        parameters=parameters(threshold=8, noise_std=1e-6),
        coins=SeededBits(1),
        noise=SeededBits(2),
        device="cpu",
    )
    cells = GRID.cells(vectors, device="cpu")
    cells = cells[rows] if shared else cells
    records = vectors[rows] if shared else vectors
    heads = bernoulli(SeededBits(1), probability=0.4, count=len(cells))
    unique, inverse = np.unique(cells, axis=0, return_inverse=True)
    counts = np.bincount(inverse.reshape(-1)[heads], minlength=len(unique))
    assert release.cells is not None
    assert release.cells.tolist() == unique[counts >= 8].tolist()
    assert release.counts.tolist() == counts[counts >= 8].tolist()
    assert release.buckets.tolist() == list(range(len(release.counts)))
    assert 0 < len(release.counts) < len(unique)
    for cell, total in zip(release.cells, release.noisy_sums, strict=True):
        inside = heads & (cells == cell).all(axis=1)
        np.testing.assert_allclose(total, records[inside].sum(axis=0, dtype=float), atol=1e-4)
    assert private.number == len(unique)
    assert private.sizes.sum() == len(cells)
    for number, cell in zip(private.released, release.cells, strict=True):
        assert (cells[private.buckets == number] == cell).all()
        assert private.sizes[number] == (cells == cell).all(axis=1).sum()


def test_labels_do_not_depend_on_buckets_that_stay_closed() -> None:
    """Numbers of released buckets would otherwise tell how many others are occupied."""
    vectors, _ = population(rows=300)
    options = {"grid": GRID, "parameters": parameters(threshold=5), "device": "cpu"}
    lonely = np.concatenate([vectors, 50.0 + np.arange(40 * 6).reshape(40, 6) * 7.0])
    one, private_one = fre_e2t_release(
        vectors,
        coins=SeededBits(1),
        noise=SeededBits(2),
        **options,  # type: ignore[arg-type]
    )
    other, private_other = fre_e2t_release(
        lonely,
        coins=SeededBits(1),
        noise=SeededBits(2),
        **options,  # type: ignore[arg-type]
    )
    assert private_other.number > private_one.number
    np.testing.assert_array_equal(one.cells, other.cells)
    np.testing.assert_array_equal(one.buckets, other.buckets)
    np.testing.assert_array_equal(one.counts, other.counts)


def test_memory_mapped_release(tmp_path: Path) -> None:
    vectors, _ = population(rows=300)
    vectors.tofile(tmp_path / "x")
    mapped = np.memmap(tmp_path / "x", dtype=np.float32, mode="r", shape=vectors.shape)
    one, other = (
        fre_e2t_release(
            given,
            grid=GRID,
            parameters=parameters(),
            coins=SeededBits(1),
            noise=SeededBits(2),
            device="cpu",
        )[0]
        for given in (vectors, mapped)
    )
    assert same(one, other)
    assert len(one.buckets) > 3
