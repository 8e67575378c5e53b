"""Cells are the exact floor, a record's cell is its own, and pairs collide with frequency f."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import binomtest, kstest

from accountants import GridCollision
from accountants.errors import ParameterError
from dpaudit.errors import DataError, ModelError
from dpaudit.pipeline import cells as cells_module
from dpaudit.pipeline import grid as module
from dpaudit.pipeline.grid import ShiftedGrid


def exact_cells(grid: ShiftedGrid, vectors: NDArray[Any]) -> list[list[int]]:
    """Apply the definition in rational arithmetic."""
    projection = [[Fraction(z) for z in row] for row in grid.projection.tolist()]
    return [
        [
            math.floor(
                (sum(z * Fraction(x) for z, x in zip(row, vector, strict=True)) - Fraction(offset))
                / Fraction(grid.edge)
            )
            for row, offset in zip(projection, grid.offset.tolist(), strict=True)
        ]
        for vector in vectors.tolist()
    ]


def unit_vectors(n: int, d: int, seed: int = 0, dtype: type = np.float32) -> NDArray[Any]:
    vectors = np.random.default_rng(seed).standard_normal((n, d))
    unit: NDArray[Any] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(dtype)
    return unit


def draw(d: int = 24, k: int = 5, edge: float = 0.2, seed: int | None = 1) -> ShiftedGrid:
    return ShiftedGrid.draw(embedding_dim=d, projection_dim=k, edge=edge, seed=seed)


def test_seed_is_public_and_reproduces() -> None:
    one, same, other = draw(seed=4), draw(seed=4), draw(seed=5)
    np.testing.assert_array_equal(one.projection, same.projection)
    np.testing.assert_array_equal(one.offset, same.offset)
    assert (one.projection != other.projection).any()
    assert one.seed == 4
    assert (one.embedding_dim, one.projection_dim) == (24, 5)


def test_fresh_seeds_are_recorded() -> None:
    fresh = draw(seed=None)
    assert fresh.seed is not None
    assert fresh.seed != draw(seed=None).seed
    np.testing.assert_array_equal(draw(seed=fresh.seed).projection, fresh.projection)


def test_law_of_projection_and_offset() -> None:
    """Kolmogorov-Smirnov: error <= 1e-6 each."""
    grid = draw(d=100, k=400, edge=0.3)
    assert kstest(grid.projection.ravel() * 20, "norm").pvalue > 1e-6
    assert kstest(grid.offset / 0.3, "uniform").pvalue > 1e-6
    correlation = np.corrcoef(grid.projection.mean(axis=1), grid.offset)[0, 1]
    assert abs(correlation) < 5 / math.sqrt(400)


def test_arrays_are_frozen_copies() -> None:
    projection = np.ones((2, 3))
    grid = ShiftedGrid(projection, np.zeros(2), 1.0)
    projection[0, 0] = 9
    assert grid.projection[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        grid.offset[0] = 0.5


@pytest.mark.parametrize(
    ("projection", "offset", "edge"),
    [
        (np.ones((2, 3)), np.zeros(3), 1.0),
        (np.ones(3), np.zeros(3), 1.0),
        (np.ones((0, 3)), np.zeros(0), 1.0),
        (np.full((1, 2), np.nan), np.zeros(1), 1.0),
        (np.ones((1, 2)), np.array([1.0]), 1.0),
        (np.ones((1, 2)), np.array([-0.1]), 1.0),
        (np.ones((1, 2)), np.array([np.nan]), 1.0),
        (np.ones((1, 2)), np.zeros(1), 0.0),
        (np.ones((1, 2)), np.zeros(1), np.inf),
    ],
)
def test_bad_grids(projection: NDArray[Any], offset: NDArray[Any], edge: float) -> None:
    with pytest.raises(ParameterError):
        ShiftedGrid(projection, offset, edge)


@pytest.mark.parametrize("change", [{"d": 0}, {"k": 0}, {"edge": -1.0}, {"seed": -1}])
def test_bad_draws(change: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        draw(**change)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_cells_are_exact(dtype: type) -> None:
    grid = draw()
    vectors = unit_vectors(200, 24, dtype=dtype)
    cells = grid.cells(vectors, device="cpu")
    assert cells.dtype == np.int64
    assert cells.tolist() == exact_cells(grid, vectors)


@given(
    arrays(np.float32, (4, 3), elements=st.integers(-6, 6).map(float)),
    arrays(np.float64, (2, 3), elements=st.sampled_from([-1.5, -1.0, -0.25, 0.0, 0.5, 1.0])),
    st.sampled_from([0.0, 0.25, 0.7]),
)
def test_points_on_cell_borders(
    vectors: NDArray[np.float32], projection: NDArray[np.float64], offset: float
) -> None:
    grid = ShiftedGrid(projection, np.full(2, offset), 0.75)
    assert grid.cells(vectors, device="cpu").tolist() == exact_cells(grid, vectors)


@given(
    arrays(np.float64, (3, 4), elements=st.floats(-1e3, 1e3)),
    st.floats(1e-6, 1e6),
    st.integers(0, 50),
    st.sampled_from([np.float32, np.float64]),
)
def test_cells_are_exact_at_every_scale(
    vectors: NDArray[np.float64], edge: float, seed: int, dtype: type
) -> None:
    grid = draw(d=4, k=3, edge=edge, seed=seed)
    rounded: NDArray[Any] = vectors.astype(dtype)
    assert grid.cells(rounded, device="cpu").tolist() == exact_cells(grid, rounded)


@pytest.mark.parametrize("scale", [1e-45, 1e-30, 1e-12, 1e12])
def test_extreme_sizes(scale: float) -> None:
    vectors = (unit_vectors(20, 24) * scale).astype(np.float32)
    for grid in (draw(), draw(edge=1e-3), draw(edge=0.2 * max(scale, 1e-300))):
        assert grid.cells(vectors, device="cpu").tolist() == exact_cells(grid, vectors)


def test_points_just_beside_a_border() -> None:
    """One unit in the last place decides, in single and in double precision."""
    grid = ShiftedGrid(np.array([[1.0, 0.0]]), np.zeros(1), 0.1)
    for dtype in (np.float32, np.float64):
        border = dtype(grid.edge * 7)
        near = [np.nextafter(border, dtype(0)), border, np.nextafter(border, dtype(9))]
        vectors = np.array([[x, 1.0] for x in near], dtype=dtype)
        assert grid.cells(vectors, device="cpu").tolist() == exact_cells(grid, vectors)


def test_a_cell_does_not_depend_on_other_rows_or_on_batches() -> None:
    grid = draw(d=96, k=12, edge=0.01)
    vectors = unit_vectors(1500, 96)
    whole = grid.cells(vectors, device="cpu")
    for batch_rows in (1, 7, 1499, 10_000):
        np.testing.assert_array_equal(
            grid.cells(vectors, device="cpu", batch_rows=batch_rows), whole
        )
    order = np.random.default_rng(1).permutation(1500)
    np.testing.assert_array_equal(grid.cells(vectors[order], device="cpu"), whole[order])
    far = np.concatenate([vectors, 1e4 * vectors[:3], -1e4 * vectors[:3]])
    np.testing.assert_array_equal(grid.cells(far, device="cpu")[:1500], whole)
    single = np.concatenate([grid.cells(vectors[i : i + 1], device="cpu") for i in range(50)])
    np.testing.assert_array_equal(single, whole[:50])


@pytest.mark.parametrize("d", [96, 1100])
def test_single_precision_never_decides_wrongly(d: int) -> None:
    """Cells are so small that rounding in single precision alone would move many records."""
    grid, vectors = draw(d=d, k=12, edge=1e-4), unit_vectors(5000, d)
    cells = grid.cells(vectors, device="cpu")
    np.testing.assert_array_equal(cells, grid.cells(vectors.astype(np.float64), device="cpu"))
    single = vectors @ grid.projection.T.astype(np.float32)
    rounded = np.floor((single - grid.offset) / grid.edge)
    assert 10 < (rounded != cells).sum() < 10_000


def test_storage_does_not_matter(tmp_path: Path) -> None:
    grid = draw()
    vectors = unit_vectors(300, 24)
    whole = grid.cells(vectors, device="cpu")
    path = tmp_path / "vectors.f4"
    vectors.tofile(path)
    mapped = np.memmap(path, dtype=np.float32, mode="r", shape=(300, 24))
    np.testing.assert_array_equal(grid.cells(mapped, device="cpu", batch_rows=64), whole)
    for stored in (np.asfortranarray(vectors), vectors.astype(">f4"), vectors.astype(np.float64)):
        np.testing.assert_array_equal(grid.cells(stored, device="cpu"), whole)


def test_the_torch_product_is_within_the_same_bound() -> None:
    pytest.importorskip("torch")
    grid = draw()
    for dtype in (np.float16, np.float32, ">f4", np.float64):
        vectors = unit_vectors(50, 24).astype(dtype)
        product = cells_module.torch_product(
            vectors, np.ascontiguousarray(grid.projection.T), device="cpu"
        )
        np.testing.assert_allclose(product, grid.project(vectors, device="cpu"), atol=1e-14)


def test_cells_through_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    grid, vectors = draw(), unit_vectors(300, 24)
    whole = grid.cells(vectors, device="cpu")
    product = cells_module.torch_product
    monkeypatch.setattr(module, "resolve_device", lambda device: "cuda")
    monkeypatch.setattr(cells_module, "torch_product", lambda x, z, device: product(x, z, "cpu"))
    np.testing.assert_array_equal(grid.cells(vectors, device="cuda"), whole)


def test_projection_agrees_with_cells() -> None:
    grid, vectors = draw(), unit_vectors(100, 24)
    projected = grid.project(vectors, device="cpu", batch_rows=33)
    np.testing.assert_allclose(projected, vectors @ grid.projection.T, atol=1e-13)
    floors = np.floor((projected - grid.offset) / grid.edge)
    np.testing.assert_array_equal(floors, grid.cells(vectors, device="cpu"))


def test_zero_vectors() -> None:
    """(0 - o) / L lies in (-1, 0]."""
    assert set(draw(k=50).cells(np.zeros((3, 24)), device="cpu").ravel().tolist()) == {-1}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_first_bad_row_is_named(bad: float, dtype: type) -> None:
    vectors = unit_vectors(900, 24, dtype=dtype)
    vectors[700, 3] = vectors[800, 5] = bad
    with pytest.raises(DataError, match=r"row 700 of the vectors holds NaN or infinity"):
        draw().cells(vectors, device="cpu", batch_rows=256)


def test_cells_that_overflow_are_refused() -> None:
    vectors = unit_vectors(9, 24, dtype=np.float64)
    vectors[4] *= 1e25
    with pytest.raises(DataError, match=r"row 4 of the vectors lies too far out"):
        draw().cells(vectors, device="cpu")
    huge = unit_vectors(9, 24)
    huge[5] = np.finfo(np.float32).max
    with pytest.raises(DataError, match=r"row 5 of the vectors lies too far out"):
        draw().cells(huge, device="cpu")


@pytest.mark.parametrize(
    "vectors",
    [
        np.zeros((3, 23), dtype=np.float32),
        np.zeros(24),
        np.zeros((2, 24), dtype=np.int64),
        np.zeros((2, 24), dtype=np.longdouble),
        np.zeros((2, 24), dtype=complex),
    ],
)
def test_other_matrices_are_refused(vectors: NDArray[Any]) -> None:
    with pytest.raises(DataError, match="vectors"):
        draw().cells(vectors, device="cpu")
    with pytest.raises(DataError, match="vectors"):
        draw().project(vectors, device="cpu")


def test_device_is_checked() -> None:
    with pytest.raises(ModelError, match="device = 'tpu'"):
        draw().cells(unit_vectors(2, 24), device="tpu")


def test_no_vectors() -> None:
    assert draw().cells(np.empty((0, 24)), device="cpu").shape == (0, 5)


def collisions(cells: NDArray[np.int64]) -> int:
    """Count the coordinates in which the first two rows share a cell."""
    return int((cells[0] == cells[1]).sum())


@pytest.mark.parametrize("scaled_edge", [0.3, 0.83, 2.0, 6.0])
def test_collision_frequency(scaled_edge: float) -> None:
    """Each coordinate is an independent pair of draws: binomial test, error <= 1e-6 a case."""
    k, distance = 40_000, 1.2
    edge = scaled_edge * distance / math.sqrt(k)
    expected = float(GridCollision(edge=edge, projection_dim=k).coordinate(distance))
    pair = 5 * scaled_edge * distance * unit_vectors(2, 3, seed=3, dtype=np.float64)
    pair[1] = pair[0] + distance * unit_vectors(1, 3, seed=9, dtype=np.float64)[0]
    grid = draw(d=3, k=k, edge=edge, seed=8)
    assert binomtest(collisions(grid.cells(pair, device="cpu")), k, expected).pvalue > 1e-6
    # The test has the power to find the faults it is there for.
    honest = grid.cells(pair, device="cpu")
    clamped = np.clip(honest, -2, 2)
    assert binomtest(collisions(clamped), k, expected).pvalue < 1e-6
    projected = grid.project(pair, device="cpu")
    own_origin = np.floor((projected - projected.min(axis=0)) / edge).astype(np.int64)
    assert binomtest(collisions(own_origin), k, expected).pvalue < 1e-6
    unscaled = np.floor((projected * math.sqrt(k) - grid.offset) / edge).astype(np.int64)
    assert binomtest(collisions(unscaled), k, expected).pvalue < 1e-6


def test_joint_collision_frequency() -> None:
    """All k coordinates at once, over redrawn grids: binomial test, error <= 1e-6."""
    k, distance, edge = 4, 0.6, 0.5
    expected = float(GridCollision(edge=edge, projection_dim=k).probability(distance))
    pair = np.array([[0.0, 0.8, 0.6], [0.6, 0.8, 0.6]])
    grids = 3000
    together = sum(
        collisions(draw(d=3, k=k, edge=edge, seed=seed).cells(pair, device="cpu")) == k
        for seed in range(grids)
    )
    assert binomtest(together, grids, expected).pvalue > 1e-6
