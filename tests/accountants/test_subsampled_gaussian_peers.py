"""DP-SGD's own accounting: monotone, Monte Carlo, peers, faults and ranges."""

import tracemalloc
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv

from accountants.connect_the_dots import Direction
from accountants.errors import ParameterError
from accountants.gaussian import log_hockey_stick
from accountants.subsampled_gaussian import GaussianSteps, SubsampledGaussians
from tests.accountants.subsampled_gaussian_cases import (
    WAYS,
    multipliers,
    on_grid,
    one_step,
    sampled,
    typical,
)

usual_rates = st.floats(-4, -0.05).map(lambda x: float(np.exp(x)))  # small grids


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    usual_rates,
    multipliers,
    st.integers(2, 40),
    st.floats(0.02, 3),
    st.floats(0, 5),
    st.floats(0, 5),
)
def test_basic_composition_is_never_below(
    rate: float, multiplier: float, count: int, shift: float, one: float, two: float
) -> None:
    # (e1, d1) and (e2, d2) give (e1 + e2, d1 + d2): the joint bound is at most that
    one = typical(rate, multiplier, count, one)
    two = shift * two + shift**2 / 2
    alone = np.exp(sampled(rate, multiplier, count).log_delta_towards(one, "remove"))
    other = np.exp(log_hockey_stick(two, shift))
    joint = sampled(rate, multiplier, count, release=shift).log_delta_towards(one + two, "remove")
    assert np.exp(joint) <= (alone + other) * 1.002 + 1e-300


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    usual_rates,
    multipliers,
    st.integers(2, 30),
    st.floats(0, 5),
    st.floats(1.05, 2),
    st.sampled_from(WAYS),
    st.sampled_from(["rate", "multiplier", "count", "epsilon"]),
)
def test_monotone_in_each_parameter(
    rate: float,
    multiplier: float,
    count: int,
    place: float,
    factor: float,
    way: Direction,
    what: str,
) -> None:
    epsilon = typical(rate, multiplier, count, place)
    here = float(sampled(rate, multiplier, count, way).log_delta_towards(epsilon, way))
    if what == "rate":
        rate = min(rate * factor, 1 - 1e-9)
    elif what == "multiplier":
        multiplier /= factor
    elif what == "count":
        count = int(np.ceil(count * factor))
    else:
        epsilon /= factor
    there = float(sampled(rate, multiplier, count, way).log_delta_towards(epsilon, way))
    # far below Chernoff's bound the grid does not resolve delta
    assert there >= here - 2e-2 or there == here or here < -50


@pytest.mark.parametrize("way", ["remove", "replace"])
def test_monte_carlo_is_never_above(way: Direction) -> None:
    # the likelihood-ratio test on 20 steps; error probability 1e-6 for the whole test
    rate, mu, steps, trials = 0.2, 0.8, 20, 60_000
    random = np.random.default_rng(7)
    epsilons = (0.0, 0.5, 1.0, 2.0)
    profile = sampled(rate, 1 / mu, steps, way)
    losses = []
    for present in (True, False):
        mean = mu if present else (-mu if way == "replace" else 0.0)
        x = random.normal(size=(trials, steps))
        x += mean * (random.random(size=(trials, steps)) < rate)
        upper = np.log1p(rate * np.expm1(mu * x - mu * mu / 2))
        lower = np.log1p(rate * np.expm1(-mu * x - mu * mu / 2)) if way == "replace" else 0.0
        losses.append((upper - lower).sum(axis=1))
    alpha = 1e-6 / (2 * len(epsilons))
    for epsilon in epsilons:
        hits = [int(np.sum(loss > epsilon)) for loss in losses]
        low = float(betaincinv(hits[0], trials - hits[0] + 1, alpha))
        high = float(betaincinv(hits[1] + 1, trials - hits[1], 1 - alpha))
        bound = float(np.exp(profile.log_delta_towards(epsilon, way)))
        assert low - np.exp(epsilon) * high <= bound
        assert bound == pytest.approx(
            (hits[0] - np.exp(epsilon) * hits[1]) / trials, abs=0.03 * np.exp(epsilon)
        )


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(0.02, 1),
    st.floats(0.1, 4),
    st.floats(0, 4),
    st.tuples(*[st.floats(-1, 1)] * 2),
    st.tuples(*[st.floats(-1, 1)] * 2),
)
def test_opposite_contributions_are_the_worst_replacement(
    rate: float,
    mu: float,
    epsilon: float,
    first: tuple[float, float],
    second: tuple[float, float],
) -> None:
    # any two contributions in the disc, by quadrature in the plane, against the bound
    points = []
    for point in (np.array(first), np.array(second)):
        points.append(mu * point / max(1.0, float(np.linalg.norm(point))))
    line = np.linspace(-6 - mu, 6 + mu, 161)
    y = np.stack(np.meshgrid(line, line), axis=-1)
    cell = (line[1] - line[0]) ** 2 / (2 * np.pi)
    plain = np.exp(-(y**2).sum(axis=-1) / 2)
    mixed = [(1 - rate) * plain + rate * np.exp(-((y - p) ** 2).sum(axis=-1) / 2) for p in points]
    truth = float(np.maximum(mixed[0] - np.exp(epsilon) * mixed[1], 0.0).sum()) * cell
    if rate == 1:
        bound = float(np.exp(log_hockey_stick(epsilon, 2 * mu)))
    else:
        with mp.workprec(200):
            bound = float(one_step(rate, mu, epsilon, "replace"))
    assert truth <= bound + 2e-4


# --- peers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "multiplier", "count"), [(0.01, 1.0, 1000), (0.05, 0.8, 100), (0.5, 2.0, 50)]
)
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_parity_with_dp_accounting(
    rate: float, multiplier: float, count: int, relation: str
) -> None:
    peer = privacy_loss_distribution.from_gaussian_mechanism(
        multiplier,
        sampling_prob=rate,
        value_discretization_interval=1e-3,
        use_connect_dots=True,
        neighboring_relation=NeighboringRelation.REPLACE_ONE
        if relation == "replace"
        else NeighboringRelation.ADD_OR_REMOVE_ONE,
    ).self_compose(count)
    profile = sampled(rate, multiplier, count, relation)
    for delta in (1e-2, 1e-5, 1e-8):
        ours, theirs = float(profile.epsilon(delta)), peer.get_epsilon_for_delta(delta)
        assert ours == pytest.approx(theirs, rel=1e-3)


@pytest.mark.parametrize(
    ("rate", "multiplier", "count", "delta", "expected"),
    [
        (0.01, 1.0, 1000, 1e-5, 1.8282),
        (0.05, 0.8, 100, 1e-5, 5.7412),
        (0.001, 0.6, 5000, 1e-5, 2.0550),
        (0.5, 2.0, 50, 1e-12, 15.620),
    ],
)
def test_reference_values(
    rate: float, multiplier: float, count: int, delta: float, expected: float
) -> None:
    # the first digits at which this bound and dp_accounting 0.6 (interval 1e-4) agree
    value = float(sampled(rate, multiplier, count).epsilon(delta))
    assert value == pytest.approx(expected, rel=1e-4)


def test_tiny_deltas_where_a_plain_transform_is_noise() -> None:
    # 10 000 Gaussians with multiplier 100: exactly one with multiplier 1. A plain FFT of the
    # loss gives values below the exact ones here, some of them negative
    for epsilon in (7.0, 8.0, 9.0, 20.0, 36.0):
        value = on_grid(((1.0, 0.01, 10_000),), "remove", epsilon)
        exact = float(log_hockey_stick(epsilon, 1.0))
        assert exact <= value <= exact + 2e-2


# --- field faults and ranges --------------------------------------------------------------------


def test_fault_composition_count_ignored() -> None:
    once, often = sampled(0.1, 1.0, 1), sampled(0.1, 1.0, 100)
    assert float(often.epsilon(1e-6)) > 3 * float(once.epsilon(1e-6))
    two_kinds = SubsampledGaussians(
        steps=(
            GaussianSteps(sampling_rate=0.1, noise_multiplier=1.0, count=60),
            GaussianSteps(sampling_rate=0.1, noise_multiplier=1.0, count=40),
        )
    )
    assert float(two_kinds.epsilon(1e-6)) == float(often.epsilon(1e-6))


def test_fault_replace_one_taken_as_add_remove() -> None:
    add_remove, replace = sampled(0.3, 1.0, 20), sampled(0.3, 1.0, 20, "replace")
    assert float(replace.epsilon(1e-6)) > 1.3 * float(add_remove.epsilon(1e-6))
    everybody = sampled(1.0, 4.0, 3, "replace")  # two contributions differ by twice the norm
    assert float(everybody.log_delta(1.0)) == pytest.approx(
        float(log_hockey_stick(1.0, np.sqrt(3) / 2)), rel=1e-12
    )


@pytest.mark.parametrize("multiplier", [1e-3, 0.02, 1.0, 1e6])
@pytest.mark.parametrize("rate", [1e-9, 0.3])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_extreme_ranges(multiplier: float, rate: float, relation: str) -> None:
    profile = sampled(rate, multiplier, 30, relation)
    epsilons = np.array([0.0, 1.0, 709.8, 1500.0, np.inf])
    deltas = profile.delta(epsilons)
    assert np.all((deltas >= 0) & (deltas <= 1))
    if rate / multiplier > 1e-12:  # losses of that size and less are not resolved
        # with few points for a wide loss the bound is loose, and not the same at every epsilon
        assert np.all(deltas[1:] <= (10 if multiplier < 0.02 else 1.001) * deltas[:-1])
    assert deltas[-1] == 0
    found = profile.epsilon([1.0, 0.5, 1e-6, 1e-300, 0.0])
    assert np.all(found[:-1] >= 0)
    assert np.all(found[1:] >= found[:-1] * (1 - 1e-3))
    assert found[0] == 0
    assert np.isinf(found[-1])
    for delta, epsilon in zip([0.5, 1e-6, 1e-300], found[1:-1], strict=True):
        assert float(profile.log_delta(epsilon)) <= np.log(delta)


def test_memory_for_small_noise() -> None:
    # a grid of fixed interval needs gigabytes here
    tracemalloc.start()
    try:
        for multiplier in (0.1, 0.02):
            epsilon = float(sampled(0.01, multiplier, 100).epsilon(1e-6))
            assert 1 / multiplier**2 < epsilon < 1e5
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6


def test_shapes() -> None:
    profile = sampled(0.1, 1.0, 3)
    assert profile.log_delta(1.0).shape == ()
    assert profile.log_delta([[0.5, 1.0]]).shape == (1, 2)
    assert profile.log_delta([]).shape == (0,)
    assert profile.epsilon([0.1, 0.01, 1e-3]).shape == (3,)


@pytest.mark.parametrize(
    "build",
    [
        lambda: SubsampledGaussians(steps=()),
        lambda: SubsampledGaussians(steps=(), release_shift=-1.0),
        lambda: SubsampledGaussians(steps=(), release_shift=1e4),
        lambda: SubsampledGaussians(steps=(), release_shift=1.0, relation="other"),  # type: ignore[arg-type]
        lambda: GaussianSteps(sampling_rate=0, noise_multiplier=1),
        lambda: GaussianSteps(sampling_rate=1.1, noise_multiplier=1),
        lambda: GaussianSteps(sampling_rate=0.1, noise_multiplier=0),
        lambda: GaussianSteps(sampling_rate=0.1, noise_multiplier=float("nan")),
        lambda: GaussianSteps(sampling_rate=0.1, noise_multiplier=1e-4),
        lambda: GaussianSteps(sampling_rate=0.1, noise_multiplier=1, count=0),
        lambda: GaussianSteps(sampling_rate=0.1, noise_multiplier=1, count=10**8),
        lambda: sampled(0.1, 1.0, 2).log_delta(-0.1),
        lambda: sampled(0.1, 1.0, 2).log_delta(float("nan")),
        lambda: sampled(0.1, 1.0, 2).epsilon(1.5),
        lambda: sampled(0.1, 1.0, 2).log_delta_towards(1.0, "replace"),
        lambda: sampled(0.1, 1.0, 2, "replace").log_delta_towards(1.0, "add"),
    ],
)
def test_values_that_are_not_allowed(build: Callable[[], object]) -> None:
    with pytest.raises(ParameterError):
        build()
