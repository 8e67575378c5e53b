"""Semantic support protection: reference values, brute force, geometry, the mechanism."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom, ncx2

from accountants import FreE2TParameters
from accountants.semantic_support import (
    SemanticSupport,
    _Noise,
    log_far_pairs,
    nonvacuous_region,
    psi_limit,
)
from tests.accountants import oracles
from tests.accountants.oracles import EPS_4, EPS_8, EPS_16, PUBLISHED, Published
from tests.accountants.semantic_support_cases import R, published, small

# --- reference values ---------------------------------------------------------------------------


@pytest.mark.parametrize("case", PUBLISHED)
def test_paper_defaults_are_vacuous(case: Published) -> None:
    """The paper's own defaults: all pairs give 2.5e7 at D = r, and 2.7e5 at the best D."""
    parameters = published(case)
    assert np.exp(_all_pairs(parameters, R)) == pytest.approx(2.5e7, rel=0.01)
    for distance in np.linspace(1e-3, 1, 400) * np.sqrt(2) * R:
        assert np.exp(_all_pairs(parameters, distance)) >= 2.7e5
    for psi in (0.1, 0.5, 1.0):
        report = SemanticSupport(parameters=parameters, frequency=100, psi=psi).upper_bound()
        assert report.vacuous
        assert report.delta is None
        assert "vacuous" in str(report)
        assert report.log_collision > np.log(1e4)  # with the coins as well


def _all_pairs(parameters: FreE2TParameters, distance: float) -> float:
    return log_far_pairs(distance, grid=parameters.grid, records=parameters.records_max)


@pytest.mark.parametrize(
    ("case", "value", "relative"),
    [(EPS_4, 2e-58, 0.01), (EPS_8, 4.4e-3, 0.01), (EPS_16, 0.495, 0.001)],
)
def test_reference_lower_bound(case: Published, value: float, relative: float) -> None:
    support = SemanticSupport(parameters=published(case), frequency=100)
    assert np.exp(support.log_lower_bound()) == pytest.approx(value, rel=relative)


def test_reference_region() -> None:
    """N = 1e6, k = 20, a first term of 1e-5: L <= .37 D/sqrt(k)."""
    c = nonvacuous_region(records=10**6, projection_dim=20, allowed=1e-5)
    assert c == pytest.approx(0.37, abs=0.005)
    with mp.workdps(40):
        first = mp.mpf(10**6) * (10**6 - 1) / 2 * oracles.coordinate_collision(mp.mpf(c)) ** 20
        assert mp.mpf("1e-5") * (1 - mp.mpf("1e-9")) <= first <= mp.mpf("1e-5")
    grid = published(grid_edge=c * 0.3 / np.sqrt(20)).grid
    assert log_far_pairs(0.3, grid=grid, records=10**6) == pytest.approx(np.log(1e-5), abs=1e-9)
    assert 2 / c > np.sqrt(2)  # the default edge 2 r/sqrt(k) would need D above sqrt(2) r
    with_coins = nonvacuous_region(
        records=10**6, projection_dim=20, allowed=1e-5, sampling_rate=0.3
    )
    assert with_coins > c


def test_psi_limit() -> None:
    assert psi_limit(distance=R, radius=R) == pytest.approx(np.sqrt(0.5))
    assert psi_limit(distance=2 * R, radius=R) == 0
    assert psi_limit(distance=1e300, radius=1e-300) == 0


def test_inside_and_outside_the_region() -> None:
    """With the edge that the region asks for the bound says something below the limit of psi."""
    parameters = published(grid_edge=0.37 * 0.4 / np.sqrt(20))
    inside = SemanticSupport(parameters=parameters, frequency=10, psi=0.7).upper_bound()
    assert inside.delta is not None
    assert 1e-9 < inside.delta < 1e-6
    outside = SemanticSupport(parameters=parameters, frequency=10, psi=1.0).upper_bound()
    assert outside.vacuous


# --- brute force --------------------------------------------------------------------------------


def exact_noise(support: SemanticSupport, distance: float, a: int) -> float:
    """Return p N sup F/n by evaluating every n, with scipy."""
    parameters, r = support.parameters, support.parameters.radius
    n = np.arange(parameters.threshold, parameters.records_max + 1, dtype=float)
    rho = np.sqrt(max(r * r - distance * distance / 2, 0))
    linear = np.maximum((n - a) * rho - a * r, 0) if rho else np.zeros_like(n)
    apart = n * np.maximum(n - a, 0) * r * r - n * (n - 1) * distance**2 / 2
    norm = np.maximum(linear, np.sqrt(np.maximum(apart, 0)))
    std = parameters.noise_std
    hits = ncx2.cdf((support.psi * r * n / std) ** 2, parameters.embedding_dim, (norm / std) ** 2)
    return float(parameters.sampling_rate * parameters.records_max * np.max(hits / n))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.integers(1, 12),
    st.floats(0.05, 2),
    st.floats(0.05, 0.95),
    st.integers(1, 20),
    st.integers(1, 300),
    st.floats(0.05, 1.5),
    st.floats(0.05, 1.2),
    st.integers(0, 12),
    st.integers(1, 60),
)
@example(4, 0.2, 0.4, 5, 4, 0.5, 0.4, 0, 10)
def test_terms_by_brute_force(
    dimension: int,
    noise: float,
    p: float,
    threshold: int,
    records: int,
    psi: float,
    distance: float,
    a: int,
    t: int,
) -> None:
    """Every term is above the plain evaluation, and close: the noise term to 1e-3 (.1 above 1)."""
    parameters = small(
        records_max=records,
        embedding_dim=dimension,
        noise_std=noise,
        sampling_rate=p,
        threshold=threshold,
    )
    support = SemanticSupport(parameters=parameters, frequency=t, psi=psi)
    report = support.upper_bound(distance=distance, near_limit=a)
    with mp.workdps(40):
        tail = mp.fsum(oracles.mass(j, t - 1, mp.mpf(p)) for j in range(a + 1, t))
        assert mp.exp(report.log_near) >= tail
        assert mp.exp(report.log_near) <= tail * (1 + mp.mpf("1e-6"))
        c = mp.mpf(0.02) * mp.sqrt(8) / mp.mpf(distance)
        pairs = mp.mpf(records) * (records - 1) / 2
        first = mp.mpf(p) ** 2 * pairs * oracles.coordinate_collision(c) ** 8
        assert mp.exp(report.log_collision) >= first
        assert mp.exp(report.log_collision) <= first * (1 + mp.mpf("1e-6"))
    if threshold > records:
        assert report.log_noise == -np.inf
        return
    brute = exact_noise(support, distance, a)
    assert np.exp(report.log_noise) >= brute * (1 - 1e-9)
    if brute > 1e-12:  # where scipy is right
        assert np.exp(report.log_noise) <= brute * (1.0011 if brute < 1 else 1.11) + 1e-12


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.integers(1, 20),
    st.floats(0.02, 2),
    st.floats(0.1, 1.0),
    st.integers(1, 15),
    st.integers(1, 40),
    st.floats(0.05, 1.5),
    st.floats(0.005, 1.0),
    st.floats(0.05, 1.2),
    st.integers(0, 40),
)
def test_never_below_the_lower_bound(
    dimension: int,
    noise: float,
    p: float,
    threshold: int,
    t: int,
    psi: float,
    edge: float,
    distance: float,
    a: int,
) -> None:
    parameters = small(
        embedding_dim=dimension,
        noise_std=noise,
        sampling_rate=p,
        threshold=threshold,
        grid_edge=edge,
    )
    support = SemanticSupport(parameters=parameters, frequency=t, psi=psi)
    report = support.upper_bound(distance=distance, near_limit=a)
    assert report.log_total >= support.log_lower_bound()
    assert report.vacuous == (report.delta is None)
    assert support.noise_only().log_total >= support.log_lower_bound()


@pytest.mark.parametrize("psi", [0.2, 0.5, 0.8])
def test_the_optimum_is_no_worse_than_a_grid(psi: float) -> None:
    support = SemanticSupport(parameters=small(noise_std=0.1), frequency=10, psi=psi)
    best = support.upper_bound()
    assert best.log_total >= support.log_lower_bound()
    grid = [
        support.upper_bound(distance=float(d), near_limit=a).log_total
        for d in np.linspace(0.05, 0.95, 10) * np.sqrt(2) * R
        for a in (0, 2, 4, 6, 9)
    ]
    assert best.log_total <= min(grid) + 0.1
    assert support.upper_bound(distance=best.distance).log_total <= best.log_total + 0.1
    assert support.upper_bound(near_limit=best.near_limit).log_total <= best.log_total + 0.1


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(1, 90), st.floats(0.05, 0.95), st.integers(1, 30), st.floats(0.05, 3))
def test_lower_bound_by_brute_force(t: int, p: float, threshold: int, psi: float) -> None:
    parameters = small(sampling_rate=p, threshold=threshold)
    found = SemanticSupport(parameters=parameters, frequency=t, psi=psi).log_lower_bound()
    n = np.arange(threshold, t)
    central = ncx2.cdf((psi * R * n / 0.2) ** 2, 4, 0)
    truth = float(np.sum(binom.pmf(n, t - 1, p) * central))
    assert np.exp(found) <= truth * (1 + 1e-10)
    assert np.exp(found) >= truth * (1 - 1e-6)


def test_lower_bound_with_many_copies() -> None:
    """Counts are then taken in cells: still below the plain sum, and not by much."""
    parameters = published(threshold=100)
    t = 30_000
    found = np.exp(SemanticSupport(parameters=parameters, frequency=t).log_lower_bound())
    assert 0.999 <= found <= 1
    parameters = published(threshold=8900, noise_std=150.0)
    found = np.exp(SemanticSupport(parameters=parameters, frequency=t).log_lower_bound())
    n = np.arange(8900, t)
    plain = binom.pmf(n, t - 1, 0.3) * ncx2.cdf((R * n / 150.0) ** 2, 768, 0)
    assert 0.5 * np.sum(plain) <= found <= np.sum(plain) * (1 + 1e-10)


def test_wide_spread_is_no_protection() -> None:
    """One far record is far; two far ones may cancel, so the norm's bound falls with n."""
    support = SemanticSupport(
        parameters=small(threshold=1, noise_std=0.05), frequency=1, psi=0.4
    )  # fmt: skip
    pair = 0.4 * 100 * ncx2.cdf((0.4 * R * 2 / 0.05) ** 2, 4, 0) / 2
    assert pair > 19
    for report in (support.noise_only(), support.upper_bound(distance=2 * R, near_limit=0)):
        assert np.exp(report.log_noise) >= pair * (1 - 1e-9)
    for distance in (0.6, 0.7, 0.72, 0.8, 0.99):
        report = support.upper_bound(distance=distance, near_limit=0)
        brute = exact_noise(support, distance, 0)
        loose = 1.0011 if brute < 1 else 1.106
        assert brute * (1 - 1e-9) <= np.exp(report.log_noise) <= brute * loose


# --- geometry -----------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.integers(0, 10**6), st.integers(1, 12), st.integers(0, 4), st.integers(1, 6), st.floats(0, 1)
)
def test_sums_are_as_long_as_proved(
    seed: int, far: int, near: int, dimension: int, width: float
) -> None:
    """Any far and near vectors: with D their diameter, the sum's norm is at least the bound."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=dimension)
    centre *= R / np.linalg.norm(centre)
    points = centre + width * R * rng.normal(size=(far + near, dimension))
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    points[:far] *= np.maximum(1, R * (1 + 1e-12) / norms[:far])
    points[far:] *= np.minimum(1, R / norms[far:])
    gaps = points[:, None, :] - points[None, :, :]
    diameter = max(float(np.max(np.linalg.norm(gaps, axis=2))), 1e-9)
    support = SemanticSupport(parameters=small(), frequency=20)
    for limit in (near, near + 1):
        bound = _Noise(support, diameter, limit).norms(np.array(float(far + near)))
        assert np.linalg.norm(points.sum(axis=0)) >= bound - 1e-12


def test_the_sum_can_be_that_short() -> None:
    """The vertices of a regular simplex: pairwise D, all at r; attained up to D^2/(2 n)."""
    n, distance = 40, 0.6
    simplex = np.eye(n) * distance / np.sqrt(2)
    simplex -= simplex.mean(axis=0)
    height = np.sqrt(R**2 - np.sum(simplex[0] ** 2))
    points = np.column_stack([simplex, np.full(n, height)])
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), R)
    support = SemanticSupport(parameters=small(), frequency=20)
    bound = float(_Noise(support, distance, 0).norms(np.array(float(n))))
    assert np.linalg.norm(points.sum(axis=0)) == pytest.approx(bound, rel=1e-9)


def test_rounding_to_a_lattice_is_paid_for() -> None:
    """Coarser lattices never give a smaller bound; an enormous one gives up the geometry."""
    bounds = []
    for step in (0.0, 2.0**-24, 2.0**-8, 2.0**-5, 1.0):
        support = SemanticSupport(parameters=small(lattice_step=step), frequency=3, psi=0.4)
        bounds.append(support.upper_bound(distance=0.3, near_limit=2).log_noise)
    slack = 2e-3 if bounds[-1] < 0 else 0.11
    assert np.all(np.diff(bounds) >= -slack)
    assert bounds[1] == pytest.approx(bounds[0], abs=slack)
    alone = SemanticSupport(parameters=small(), frequency=3, psi=0.4).noise_only()
    assert bounds[-1] == pytest.approx(alone.log_noise, abs=slack)
