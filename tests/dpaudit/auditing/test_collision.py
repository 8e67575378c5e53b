"""The collision test finds grids that are not the analysed one."""

import numpy as np
import pytest
from numpy.typing import NDArray

from accountants import FreE2TParameters
from dpaudit.auditing.collision import (
    DrawCells,
    grid_cells,
    measure_collisions,
    pair_distances,
)

PARAMETERS = FreE2TParameters(
    records_max=10**6,
    embedding_dim=24,
    projection_dim=20,
    grid_edge=1 / np.sqrt(20),
    sampling_rate=0.3,
    threshold=30,
    noise_std=2.136,
    radius=0.5,
)
_rng = np.random.default_rng(5)
TEXTS = _rng.standard_normal((200, 24))
TEXTS /= np.linalg.norm(TEXTS, axis=1, keepdims=True)
Cells = NDArray[np.int64]


def smallest_p_value(draw: DrawCells, seed: int = 0) -> float:
    tests = measure_collisions(
        TEXTS,
        parameters=PARAMETERS,
        distances=pair_distances(PARAMETERS, canary=0.55),
        draw_cells=draw,
        seed=np.random.SeedSequence(seed),
        progress=False,
    )
    assert len(tests) == 6
    return min(test.p_value for test in tests)


def own(vectors: NDArray[np.float64], seed: int) -> Cells:
    return grid_cells(PARAMETERS)(vectors, seed)


def clamped(vectors: NDArray[np.float64], seed: int) -> Cells:
    return np.clip(own(vectors, seed), -2, 1)


def clipped_to_the_texts(vectors: NDArray[np.float64], seed: int) -> Cells:
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((20, 24)) / np.sqrt(20)
    projected = vectors @ z.T
    low, high = np.quantile(projected, [0.02, 0.98], axis=0)
    return np.floor((np.clip(projected, low, high) - low) / PARAMETERS.grid_edge).astype(np.int64)


def unscaled(vectors: NDArray[np.float64], seed: int) -> Cells:
    rng = np.random.default_rng(seed)
    z, o = rng.standard_normal((20, 24)), rng.random(20) * PARAMETERS.grid_edge
    return np.floor((vectors @ z.T - o) / PARAMETERS.grid_edge).astype(np.int64)


def toward_zero(vectors: NDArray[np.float64], seed: int) -> Cells:
    rng = np.random.default_rng(seed)
    z, o = rng.standard_normal((20, 24)) / np.sqrt(20), rng.random(20) * PARAMETERS.grid_edge
    return np.trunc((vectors @ z.T - o) / PARAMETERS.grid_edge).astype(np.int64)


@pytest.mark.parametrize("draw", [clamped, clipped_to_the_texts, unscaled, toward_zero])
def test_a_wrong_grid_is_found(draw: DrawCells) -> None:
    """Seeded: no chance is involved in a repetition."""
    assert smallest_p_value(draw) < 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_the_own_grid_is_not_flagged(seed: int) -> None:
    """Six valid p-values: the smallest is below 1e-8 with probability at most 6e-8."""
    assert smallest_p_value(own, seed) > 1e-8
