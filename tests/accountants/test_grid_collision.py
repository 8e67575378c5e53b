"""Collision in the shifted grid: reference values, mpmath, and the law itself by simulation."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv

from accountants import GridCollision, ParameterError
from accountants.grid_collision import coordinate_collision, far_share
from tests.accountants import oracles
from tests.accountants.oracles import PUBLISHED, Published

PAPER = GridCollision(edge=1 / np.sqrt(20), projection_dim=20)


def test_reference_values() -> None:
    assert PAPER.probability(2.4 * 0.5) == pytest.approx(8.945e-11, rel=1e-4)
    assert PAPER.probability(2.0 * 0.5) == pytest.approx(2.1605e-9, rel=3e-5)


@pytest.mark.parametrize(
    ("case", "kappa", "union"),
    list(zip(PUBLISHED, (0.00234, 0.00415, 0.00511), (2.1e-7, 3.7e-7, 4.6e-7), strict=True)),
)
def test_reference_union(case: Published, kappa: float, union: float) -> None:
    found = far_share(sampling_rate=case.sampling_rate, threshold=case.threshold)
    assert found == pytest.approx(kappa, abs=5.1e-6)
    total = found * 1e6 * float(PAPER.probability(1.2))
    assert total == pytest.approx(union, abs=5.1e-9)
    assert 10 * total > 1e-6  # at ten million records the union alone exceeds delta


@settings(max_examples=400)
@given(st.floats(-30, 8).map(lambda x: float(np.exp(x))))
@example(1e-3)
@example(9.99e-4)
@example(1e-4)
@example(9.99e-5)
def test_coordinate_against_mpmath(c: float) -> None:
    with mp.workdps(60):
        exact = oracles.coordinate_collision(c)
        assert abs(mp.mpf(float(coordinate_collision(c))) - exact) <= 4e-15 * exact


@settings(max_examples=200)
@given(st.floats(1e-3, 1e3), st.sampled_from([1, 2, 20, 768, 100_000]), st.floats(-12, 60))
def test_probability_is_enclosed(edge: float, k: int, log_ratio: float) -> None:
    distance = edge * float(np.exp(log_ratio))
    grid = GridCollision(edge=edge, projection_dim=k)
    with mp.workdps(120):
        exact = k * mp.log(oracles.coordinate_collision(mp.mpf(edge) * mp.sqrt(k) / distance))
        upper, lower = float(grid.log_probability(distance)), grid.log_probability_down(distance)
        assert float(lower) <= exact <= upper
        assert upper - float(lower) <= 4e-14 * k * (1 + abs(float(exact)) / k)


def test_matches_arb() -> None:
    from flint import arb, ctx

    ctx.prec = 200
    c = arb(5).sqrt() / 3
    root = arb(2).sqrt()
    f = (c / root).erf() - (arb(2) / arb.pi()).sqrt() * (1 - (-c * c / 2).exp()) / c
    ours = float(coordinate_collision(np.sqrt(5) / 3))
    assert bool(abs(f - ours) < 4e-15)


def test_limits_and_shapes() -> None:
    assert PAPER.probability(0) == 1
    assert PAPER.probability(np.inf) == 0
    assert PAPER.coordinate(0) == 1
    assert coordinate_collision(np.inf) == 1
    assert PAPER.probability(np.ones((2, 3))).shape == (2, 3)


@given(st.floats(-10, 10), st.floats(1e-6, 5))
def test_falls_with_distance(log_distance: float, step: float) -> None:
    near = float(np.exp(log_distance))
    assert PAPER.log_probability(near * (1 + step)) <= PAPER.log_probability(near) + 1e-12


@given(st.floats(-50, -1e-9), st.integers(1, 300))
def test_distance_inverts(log_coordinate: float, k: int) -> None:
    log_probability = k * log_coordinate
    grid = GridCollision(edge=0.3, projection_dim=k)
    distance = grid.distance(log_probability)
    assert float(grid.log_probability(distance)) == pytest.approx(
        log_probability, rel=1e-9, abs=1e-13 * k
    )


def test_frequency_of_real_collisions() -> None:
    """Projected points share a cell as often as f^k; errs with probability below 1e-6."""
    rng = np.random.default_rng(5)
    k, d, edge, trials = 3, 7, 0.8, 200_000
    x = rng.normal(size=d)
    step = rng.normal(size=d)
    y = x + 0.9 * step / np.linalg.norm(step)
    z = rng.normal(size=(trials, k, d)) / np.sqrt(k)
    offset = rng.uniform(0, edge, size=(trials, k))
    cells = [np.floor((z @ point - offset) / edge) for point in (x, y)]
    hits = int(np.sum(np.all(cells[0] == cells[1], axis=1)))
    low = betaincinv(hits, trials - hits + 1, 5e-7)
    high = betaincinv(hits + 1, trials - hits, 1 - 5e-7)
    assert low <= GridCollision(edge=edge, projection_dim=k).probability(0.9) <= high


@settings(max_examples=100)
@given(st.floats(0.02, 0.98), st.integers(1, 60))
def test_far_share_is_the_maximum(p: float, threshold: int) -> None:
    from scipy.stats import binom

    sizes = np.arange(1, int(8 * threshold / p) + 50)
    truth = float(np.max(p * binom.sf(threshold - 2, sizes, p) / sizes))
    found = far_share(sampling_rate=p, threshold=threshold)
    assert truth * (1 - 1e-9) <= found <= truth * (1 + 1e-6)


@pytest.mark.parametrize("arguments", [(0, 3), (-1, 3), (np.nan, 3), (np.inf, 3), (1, 0), (1, 1.5)])
def test_no_grid(arguments: tuple[float, int]) -> None:
    with pytest.raises(ParameterError):
        GridCollision(edge=arguments[0], projection_dim=arguments[1])


@pytest.mark.parametrize("value", [0.0, 1.0, np.nan])
def test_no_distance(value: float) -> None:
    with pytest.raises(ParameterError):
        PAPER.distance(value)


@pytest.mark.parametrize(("p", "threshold"), [(0, 3), (1.5, 3), (np.nan, 3), (0.5, 0)])
def test_no_far_share(p: float, threshold: int) -> None:
    with pytest.raises(ParameterError):
        far_share(sampling_rate=p, threshold=threshold)
