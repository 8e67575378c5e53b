"""Semantic support protection: the mechanism itself, shape, faults and refusals."""

from dataclasses import replace
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv
from scipy.stats import ncx2

from accountants import ParameterError
from accountants.noise_growth import NoiseGrowth
from accountants.noncentral_chi2 import centroid_hit_probability
from accountants.semantic_support import (
    SemanticSupport,
    SupportReport,
    nonvacuous_region,
)
from tests.accountants.oracles import EPS_8
from tests.accountants.semantic_support_cases import R, published, small


def interval(hits: int, trials: int) -> tuple[float, float]:
    """Clopper-Pearson, each side wrong with probability 2.5e-7."""
    low = betaincinv(hits, trials - hits + 1, 2.5e-7) if hits else 0.0
    return low, betaincinv(hits + 1, trials - hits, 1 - 2.5e-7)


# --- the mechanism ------------------------------------------------------------------------------


def test_conditional_probability_agrees_with_the_mechanism() -> None:
    """Bucket given, sampled, noisy centroid: hits as often as the mean conditional probability.

    Errs with probability below 1e-6 (Clopper-Pearson at 5e-7, Hoeffding for the mean at 5e-7).
    """
    rng = np.random.default_rng(11)
    d, size, p, threshold, std, radius, trials = 3, 12, 0.5, 4, 1.0, 0.45, 60_000
    bucket = rng.normal(size=(size, d)) * 0.2 + np.array([0.3, 0.0, 0.0])
    coins = rng.random((trials, size)) < p
    counts = coins.sum(axis=1)
    released = counts >= threshold
    sums = coins @ bucket
    noisy = (sums + std * rng.normal(size=(trials, d)))[released] / counts[released, None]
    hits = int(np.sum(np.linalg.norm(noisy, axis=1) <= radius))
    low, high = interval(hits, trials)
    patterns, times = np.unique(coins[released], axis=0, return_counts=True)
    n = patterns.sum(axis=1)
    offsets = np.linalg.norm(patterns @ bucket, axis=1) / n
    down, up = centroid_hit_probability(
        offset_norm=offsets, count=n, noise_std=std, radius=radius, dimension=d
    )
    slack = np.sqrt(np.log(2 / 5e-7) / (2 * trials))
    assert float(times @ np.exp(down)) / trials - slack <= high
    assert float(times @ np.exp(up)) / trials + slack >= low
    assert hits > 1000


def test_theorem_is_not_exceeded_by_the_mechanism() -> None:
    """Fresh projection, grid, coins and noise each time; errs with probability below 1e-6."""
    rng = np.random.default_rng(12)
    release = small(
        records_max=16, grid_edge=0.6, projection_dim=6, threshold=3, noise_std=0.15,
        sampling_rate=0.5,
    )  # fmt: skip
    support = SemanticSupport(parameters=release, frequency=4, psi=0.9)
    # three records at x* = 0, the others in two clusters just beyond r
    records = np.zeros((16, 4))
    records[3:10, 0], records[10:, 1] = R * 1.001, -R * 1.001
    trials, hits = 20_000, 0
    for _ in range(trials):
        z = rng.normal(size=(6, 4)) / np.sqrt(6)
        cells = np.floor((records @ z.T - rng.uniform(0, 0.6, size=6)) / 0.6)
        _, cell = np.unique(cells, axis=0, return_inverse=True)
        sampled = rng.random(16) < 0.5
        for label in np.unique(cell):
            chosen = records[(cell.ravel() == label) & sampled]
            if len(chosen) >= 3:
                noisy = (chosen.sum(axis=0) + 0.15 * rng.normal(size=4)) / len(chosen)
                if np.linalg.norm(noisy) <= 0.9 * R:
                    hits += 1
                    break
    low, high = interval(hits, trials)
    assert hits > 100
    for distance in (0.2, 0.4, 0.6, None):
        for limit in (0, 1, 2, 3, None):
            report = support.upper_bound(distance=distance, near_limit=limit)
            assert report.log_total >= np.log(low)
    assert np.exp(support.log_lower_bound()) <= high
    assert np.exp(support.noise_only().log_total) >= low


def test_three_copies_attain_the_lower_bound() -> None:
    """The worst case simulated: t - 1 copies of x* and nothing else; errs below 1e-6."""
    rng = np.random.default_rng(13)
    trials = 200_000
    release = small(threshold=2, noise_std=0.5, sampling_rate=0.6)
    n = rng.binomial(5, 0.6, size=trials)
    noise = np.linalg.norm(rng.normal(size=(trials, 4)) * 0.5, axis=1)
    hits = int(np.sum((n >= 2) & (noise <= R * n)))
    low, high = interval(hits, trials)
    support = SemanticSupport(parameters=release, frequency=6)
    assert low <= np.exp(support.log_lower_bound()) <= high


def test_counterexample_at_psi_one() -> None:
    """Points on a sphere of radius .8 r in 768 dimensions: nobody is near anybody, all are hit.

    In small: 600 points in one bucket. So no bound can hold at psi = 1 by geometry alone.
    """
    rng = np.random.default_rng(14)
    points = rng.normal(size=(600, 768))
    points *= 0.8 * R / np.linalg.norm(points, axis=1, keepdims=True)
    inner = points @ points.T
    distances = np.sqrt(np.maximum(2 * (0.8 * R) ** 2 - 2 * inner, 0))
    assert np.min(distances[~np.eye(600, dtype=bool)]) > R  # (r, 2)-infrequent, every one
    sampled = points[rng.random(600) < EPS_8.sampling_rate]
    offsets = np.linalg.norm(points - sampled.mean(axis=0), axis=1)
    down, _ = centroid_hit_probability(
        offset_norm=offsets[:20],
        count=len(sampled),
        noise_std=EPS_8.noise_std,
        radius=R,
        dimension=768,
    )
    assert np.exp(np.min(down)) > 0.999
    narrow = published(EPS_8, grid_edge=0.01)
    assert SemanticSupport(parameters=narrow, frequency=2, psi=1.0).upper_bound().vacuous


# --- shape --------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(0.05, 1.2), st.integers(1, 30), st.floats(1.01, 1.5), st.integers(1, 5))
def test_monotone(psi: float, t: int, factor: float, more: int) -> None:
    """Both bounds grow with psi and t (the upper one within its slack), fall with the threshold."""
    base = SemanticSupport(parameters=small(), frequency=t, psi=psi)
    given = {"distance": 0.3, "near_limit": 3}
    upper, lower = base.upper_bound(**given).log_total, base.log_lower_bound()
    slack = 1.01e-3 if upper < 0 else 0.101
    for larger in (replace(base, psi=psi * factor), replace(base, frequency=t + more)):
        assert larger.upper_bound(**given).log_total >= upper - slack
        assert larger.log_lower_bound() >= lower - 1e-9
    stricter = replace(base, parameters=small(threshold=5 + more))
    assert stricter.upper_bound(**given).log_total <= upper + slack
    assert stricter.log_lower_bound() <= lower + 1e-9
    wider = replace(base, parameters=small(grid_edge=0.02 * factor, records_max=100 + more))
    assert wider.upper_bound(**given).log_total >= upper - slack
    louder = replace(base, parameters=small(noise_std=0.2 * factor))
    assert louder.log_lower_bound() <= lower + 1e-9


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(-6, 2), st.integers(1, 1000), st.floats(-3, 2), st.integers(1, 800))
def test_hit_probability_is_enclosed(
    log_offset: float, n: int, log_std: float, dimension: int
) -> None:
    offset, std = 10.0**log_offset, 10.0**log_std
    down, up = centroid_hit_probability(
        offset_norm=offset, count=n, noise_std=std, radius=R, dimension=dimension
    )
    assert down <= up <= 0
    x, nc = (R * n / std) ** 2, (offset * n / std) ** 2
    if max(x, nc) < 1e12:
        assert up - down <= 2e-6 + 1e-12 * (abs(float(up)) + x + dimension)
    if nc < 1e4 and (truth := ncx2.cdf(x, dimension, nc)) > 1e-200:
        assert float(np.exp(up)) >= truth * (1 - 1e-6)
        assert float(np.exp(down)) <= truth * (1 + 1e-6)


@pytest.mark.parametrize("noise_std", [1e-200, 1e-9, 1.0, 1e9, 1e200])
@pytest.mark.parametrize("psi", [1e-9, 0.5, 1e9])
@pytest.mark.parametrize(
    ("records", "t", "p", "d"),
    [
        (1, 1, 0.5, 4),
        (10**12, 2, 1.0, 1),
        (10**6, 10**6, 1e-9, 768),
        (10**6, 1000, 0.999, 100_000),
    ],
)
def test_extreme_parameters(
    noise_std: float, psi: float, records: int, t: int, p: float, d: int
) -> None:
    """Finite or infinite terms, never NaN, and no warning."""
    parameters = small(noise_std=noise_std, records_max=records, sampling_rate=p, embedding_dim=d)
    support = SemanticSupport(parameters=parameters, frequency=t, psi=psi)
    lower = support.log_lower_bound()
    assert lower <= 0
    assert np.all(support.log_noise_only(np.array([1, 10, 10**9])) <= 0)
    for report in (
        support.upper_bound(distance=0.3, near_limit=0),
        support.upper_bound(distance=np.inf, near_limit=t),
        support.noise_only(),
    ):
        values = np.array(
            [report.log_collision, report.log_near, report.log_noise, report.log_total]
        )
        assert not np.any(np.isnan(values))
        assert np.all(values < np.inf)
        assert report.log_total >= lower
        assert report.delta is None or 0 <= report.delta < 1
        assert ("vacuous" in str(report)) == report.vacuous


# --- faults that the field has had --------------------------------------------------------------


def test_fault_threshold_off_by_one() -> None:
    """A bucket of exactly the threshold is released, one below is not."""
    parameters = small(threshold=5)
    assert SemanticSupport(parameters=parameters, frequency=5).log_lower_bound() == -np.inf
    at = SemanticSupport(parameters=parameters, frequency=6).log_lower_bound()
    alone = ncx2.cdf((R * 5 / 0.2) ** 2, 4, 0)
    assert np.exp(at) == pytest.approx(0.4**5 * alone, rel=1e-9)


def test_fault_noise_of_a_sum_on_a_mean() -> None:
    """The centroid's noise is the sum's over n: one coordinate, a normal interval."""
    down, up = centroid_hit_probability(
        offset_norm=0.0, count=10, noise_std=1.0, radius=0.1, dimension=1
    )
    truth = mp.log(mp.erf(1 / mp.sqrt(2)))
    assert down <= truth <= up


def test_fault_probability_above_one() -> None:
    """A union above 1 is not cut to 1 and passed on."""
    report = SupportReport(
        distance=0.5,
        near_limit=1,
        log_collision=17.0,
        log_near=-1.0,
        log_noise=-np.inf,
        log_all_pairs=18.0,
    )
    assert report.log_total > 17
    assert report.delta is None
    exactly = replace(report, log_collision=0.0, log_near=-np.inf)
    assert exactly.vacuous
    nothing = replace(exactly, log_collision=-np.inf)
    assert nothing.delta == 0


def test_fault_zero_taken_for_absent() -> None:
    """D and a that are given are used, also a = 0."""
    support = SemanticSupport(parameters=small(), frequency=10, psi=0.5)
    report = support.upper_bound(distance=0.25, near_limit=0)
    assert (report.distance, report.near_limit) == (0.25, 0)
    assert support.upper_bound(near_limit=0).near_limit == 0


@pytest.mark.parametrize(
    ("changes", "frequency", "psi"),
    [
        ({"noise_std": 0.0}, 10, 1.0),
        ({"noise_std": np.inf}, 10, 1.0),
        ({"embedding_dim": 100_001}, 10, 1.0),
        ({"noise_growth": NoiseGrowth(threshold=5, most=50)}, 10, 1.0),
        ({}, 0, 1.0),
        ({}, 10**6 + 1, 1.0),
        ({}, 2.5, 1.0),
        ({}, 10, 0.0),
        ({}, 10, -1.0),
        ({}, 10, np.nan),
        ({}, 10, np.inf),
    ],
)
def test_refused(changes: dict[str, Any], frequency: Any, psi: float) -> None:
    with pytest.raises(ParameterError) as caught:
        SemanticSupport(parameters=small(**changes), frequency=frequency, psi=psi)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [{"distance": 0.0}, {"distance": np.nan}, {"near_limit": -1}, {"near_limit": 0.5}],
)
def test_refused_choices(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        SemanticSupport(parameters=small(), frequency=10).upper_bound(**given)


@pytest.mark.parametrize(
    "changes",
    [
        {"offset_norm": -1.0},
        {"offset_norm": np.nan},
        {"offset_norm": np.inf},
        {"count": 0},
        {"count": 1.5},
        {"count": np.nan},
        {"noise_std": 0.0},
        {"radius": -1.0},
        {"dimension": 0},
    ],
)
def test_refused_buckets(changes: dict[str, Any]) -> None:
    values: dict[str, Any] = {
        "offset_norm": 0.1, "count": 3, "noise_std": 1.0, "radius": 0.5, "dimension": 4,
    }  # fmt: skip
    with pytest.raises(ParameterError):
        centroid_hit_probability(**(values | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"records": 1},
        {"projection_dim": 0},
        {"allowed": 0.0},
        {"allowed": 1.0},
        {"allowed": np.nan},
        {"sampling_rate": 0.0},
        {"records": 2, "allowed": 0.9, "sampling_rate": 0.1},
    ],
)
def test_refused_regions(changes: dict[str, Any]) -> None:
    values: dict[str, Any] = {"records": 10**6, "projection_dim": 20, "allowed": 1e-5}
    with pytest.raises(ParameterError):
        nonvacuous_region(**(values | changes))
