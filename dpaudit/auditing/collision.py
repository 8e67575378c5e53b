"""Does the implemented grid collide as Lemma 2 says? A test that finds clamps and moved origins."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accountants import FreE2TParameters
from accountants.ranges import Floats
from dpaudit.engine.progress import progress_bar
from dpaudit.estimators import two_sided_binomial_p_value
from dpaudit.pipeline.grid import ShiftedGrid

DrawCells = Callable[[Floats, int], NDArray[np.int64]]
"""(vectors, public seed) -> cells of a freshly drawn grid."""

_DRAWS = 400
_COMPANY = 256  # corpus vectors that are put on the grid together with the pairs
_PLACES = ("beside a text", "far outside the texts")
_FAR = 4.0


@dataclass(frozen=True, kw_only=True)
class CollisionTest:
    """One frequency: pairs at ``distance``, somewhere, over ``coordinates`` coordinates."""

    distance: float
    place: str
    expected: float
    observed: float
    coordinates: int
    p_value: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary."""
        return dict(vars(self))


def grid_cells(parameters: FreE2TParameters, *, device: str = "cpu") -> DrawCells:
    """Return the pipeline's own way from vectors to cells, for a public seed."""

    def cells(vectors: Floats, seed: int) -> NDArray[np.int64]:
        grid = ShiftedGrid.draw(
            embedding_dim=parameters.embedding_dim,
            projection_dim=parameters.projection_dim,
            edge=parameters.grid_edge,
            seed=seed,
        )
        return grid.cells(vectors, device=device)

    return cells


def pair_distances(parameters: FreE2TParameters, *, canary: float) -> tuple[float, ...]:
    """Distances at which the frequency is tested: the canary's, and around the cell's size."""
    size = parameters.grid_edge * float(np.sqrt(parameters.projection_dim))
    return (canary, size / 4, size)


def measure_collisions(
    vectors: Floats,
    *,
    parameters: FreE2TParameters,
    distances: tuple[float, ...],
    draw_cells: DrawCells,
    seed: np.random.SeedSequence,
    progress: bool,
) -> list[CollisionTest]:
    """Count, over fresh grids, in how many coordinates pairs share a cell.

    Parameters
    ----------
    vectors : ndarray, shape (n, d)
        Vectors of the corpus; up to 256 of them go on the grid together with the pairs, and the
        pairs lie beside one of them and far outside all.
    parameters : FreE2TParameters
        The release.
    distances : tuple of float
        Distances of the pairs.
    draw_cells : callable
        The implementation under audit.
    seed : numpy.random.SeedSequence
        Of the pairs' directions and the grids.
    progress : bool
        Whether to show progress.

    Returns
    -------
    list of CollisionTest
        One a distance and place. For one pair the coordinates of all draws are independent, so the
        count is binomial with probability f.
    """
    rng = np.random.default_rng(seed)
    company = np.asarray(vectors[:_COMPANY], float)
    places = [company[0], _FAR * float(np.linalg.norm(company, axis=1).max()) * _unit(rng, company)]
    pairs = [
        np.stack([place, place + distance * _unit(rng, company)])
        for place in places
        for distance in distances
    ]
    stacked = np.concatenate([company, *pairs])
    agree = np.zeros(len(pairs), dtype=np.int64)
    with progress_bar("collision frequency", _DRAWS, shown=progress, unit="draws") as advance:
        for public in rng.integers(0, 2**63, size=_DRAWS):
            cells = draw_cells(stacked, int(public))[len(company) :]
            agree += (cells[0::2] == cells[1::2]).sum(axis=1)
            advance(1)
    coordinates = _DRAWS * parameters.projection_dim
    tests = []
    labels = [(name, distance) for name in _PLACES for distance in distances]
    for (name, distance), count in zip(labels, agree, strict=True):
        expected = float(parameters.grid.coordinate(distance))
        tests.append(
            CollisionTest(
                distance=distance,
                place=name,
                expected=expected,
                observed=int(count) / coordinates,
                coordinates=coordinates,
                p_value=two_sided_binomial_p_value(int(count), coordinates, probability=expected),
            )
        )
    return tests


def _unit(rng: np.random.Generator, like: Floats) -> Floats:
    step = rng.standard_normal(like.shape[1])
    return np.asarray(step / np.linalg.norm(step))
