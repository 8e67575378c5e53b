"""The parameters of a release and their ranges."""

from typing import Any

import numpy as np
import pytest

from accountants import LATTICE_STEP, FreE2TParameters, ParameterError
from tests.accountants.oracles import EPS_4, parameters


def test_what_is_derived() -> None:
    release = FreE2TParameters(**parameters(EPS_4, lattice_step=LATTICE_STEP))
    assert release.grid.edge == release.grid_edge
    assert release.grid.projection_dim == 20
    assert release.rounding == pytest.approx(2.0**-24 * np.sqrt(768), rel=1e-15)
    assert FreE2TParameters(**parameters(EPS_4)).rounding == 0


def test_rounding_moves_a_distance_by_no_more() -> None:
    """Each coordinate moves by at most half a step, so a difference by a step."""
    rng = np.random.default_rng(1)
    step, d = 0.25, 40
    release = FreE2TParameters(**parameters(EPS_4, lattice_step=step, embedding_dim=d))
    points = rng.normal(size=(2000, 2, d))
    rounded = np.round(points / step) * step
    before = np.linalg.norm(points[:, 0] - points[:, 1], axis=1)
    after = np.linalg.norm(rounded[:, 0] - rounded[:, 1], axis=1)
    assert np.max(after - before) <= release.rounding


@pytest.mark.parametrize(
    "change",
    [
        {"records_max": 0},
        {"records_max": 10**12 + 1},
        {"records_max": 1.5},
        {"embedding_dim": 0},
        {"projection_dim": 0},
        {"projection_dim": float("nan")},
        {"grid_edge": 0.0},
        {"grid_edge": float("inf")},
        {"sampling_rate": 0.0},
        {"sampling_rate": 1.5},
        {"threshold": 0},
        {"rounding_distance": -1.0},
        {"noise_std": -1.0},
        {"noise_std": float("nan")},
        {"radius": 0.0},
        {"sensitivity_ratio": 0.0},
        {"budget_factor": -1.0},
        {"lattice_step": -1e-9},
        {"lattice_step": float("inf")},
    ],
)
def test_ranges(change: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(change))):
        FreE2TParameters(**(parameters(EPS_4) | change))
