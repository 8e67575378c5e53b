"""Composition of subsampled Gaussians: exact cases, two-sided brackets, quadrature, peers."""

import tracemalloc
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv, erfcx, ndtr

from accountants.composed_loss import composed_loss, exponent_at, rounded_floor
from accountants.connect_the_dots import Direction, directed_loss, support, tilted_step
from accountants.errors import ParameterError
from accountants.gaussian import log_hockey_stick
from accountants.subsampled_gaussian import GaussianSteps, SubsampledGaussians
from tests.accountants.oracles import Floats, hockey_stick

WAYS: tuple[Direction, ...] = ("remove", "add", "replace")
rates = st.floats(-7, -0.02).map(lambda x: float(np.exp(x)))
usual_rates = st.floats(-4, -0.05).map(lambda x: float(np.exp(x)))  # small grids
multipliers = st.floats(-1.2, 2.5).map(lambda x: float(np.exp(x)))


def sampled(
    rate: float, multiplier: float, count: int, relation: str = "add-remove", release: float = 0.0
) -> SubsampledGaussians:
    step = GaussianSteps(sampling_rate=rate, noise_multiplier=multiplier, count=count)
    return SubsampledGaussians(
        steps=(step,),
        relation="replace-one" if relation == "replace" else "add-remove",
        release_shift=release,
    )


def on_grid(parts: tuple[tuple[float, float, int], ...], way: Direction, epsilon: float) -> float:
    """Return ln delta by the grid, also where there is a closed form."""
    place, estimate = exponent_at(parts, way, epsilon)
    return composed_loss(parts, way, place, rounded_floor(estimate)).log_delta(epsilon)


def typical(rate: float, multiplier: float, count: int, place: float) -> float:
    """Return an epsilon some standard deviations from the mean, were the loss a Gaussian's."""
    shift = rate / multiplier * np.sqrt(count)
    return float(shift * place + shift**2 / 2)


# --- one step, exact ----------------------------------------------------------------------------


def one_step(rate: float, shift: float, epsilon: float, way: Direction) -> mp.mpf:
    """Return delta of one step at any real epsilon, at the working precision."""
    q, mu, growth = mp.mpf(rate), mp.mpf(shift), mp.exp(mp.mpf(epsilon))
    if way == "remove":
        if growth <= 1 - q:
            return 1 - growth
        return q * hockey_stick(mp.log1p((growth - 1) / q), mu)
    if way == "add":
        part = 1 - (1 - q) * growth
        return part * hockey_stick(mp.log(growth * q / part), mu) if part > 0 else mp.mpf(0)
    # the loss rises with the place: a half-line, found from its closed form
    scale = (1 - q) / q * mp.exp(mu**2 / 2)
    half = mp.mpf(epsilon) / 2
    x = (half + mp.asinh(scale * mp.sinh(half))) / mu

    def above(mean: mp.mpf) -> mp.mpf:
        return mp.erfc((x - mean) / mp.sqrt(2)) / 2

    own, other = above(mu), above(-mu)
    return (1 - q) * above(mp.mpf(0)) * (1 - growth) + q * own - growth * q * other


@settings(max_examples=200, deadline=None, derandomize=True)
@given(rates, multipliers, st.floats(0, 30), st.sampled_from(WAYS))
def test_one_step_certified_against_mpmath(
    rate: float, multiplier: float, epsilon: float, way: Direction
) -> None:
    if way == "add":
        epsilon *= -np.log1p(-rate) / 30 * 0.999
    value = float(sampled(rate, multiplier, 1, way).log_delta_towards(epsilon, way))
    with mp.workprec(250):
        truth = mp.log(one_step(rate, 1 / multiplier, epsilon, way))
    assert value >= truth
    closed = way != "replace"
    room = (1e-7 if closed else 2e-2) * (1 + abs(float(truth)) * 1e-2)
    # the grid does not resolve a delta far below Chernoff's bound, where the rate is not convex
    assert value <= float(truth) + room or (not closed and value < -80)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(rates, multipliers, st.floats(0.05, 30), st.sampled_from(WAYS))
def test_the_grid_is_certified_too(
    rate: float, multiplier: float, epsilon: float, way: Direction
) -> None:
    if way == "add":
        epsilon *= -np.log1p(-rate) / 30 * 0.99
    value = on_grid(((rate, 1 / multiplier, 1),), way, epsilon)
    with mp.workprec(250):
        truth = mp.log(one_step(rate, 1 / multiplier, epsilon, way))
    assert value >= truth


def test_erfcx_is_as_accurate_as_assumed() -> None:
    places = np.concatenate([np.linspace(0, 30, 1500), np.geomspace(30, 1e6, 200)])
    with mp.workdps(60):
        for x, value in zip(places, erfcx(places), strict=True):
            y = mp.mpf(float(x))
            if y < 100:
                truth = mp.exp(y * y) * mp.erfc(y)
            else:  # the asymptotic series, 1 - 1/2y^2 + 3/4y^4 - ...
                inverse = 1 / (2 * y * y)
                truth = (1 - inverse + 3 * inverse**2 - 15 * inverse**3) / (y * mp.sqrt(mp.pi))
            assert abs(float(value) / truth - 1) < 1e-15 + (1e-15 if y >= 100 else 0)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(rates, multipliers, st.sampled_from(WAYS), st.floats(0.01, 4), st.floats(1e-3, 0.3))
def test_one_step_on_the_grid_has_all_its_mass(
    rate: float, multiplier: float, way: Direction, exponent: float, step: float
) -> None:
    # P sums to 1 and what is left of Q, the sum of e^-l P, to at most 1 and nearly that
    shift = 1 / multiplier
    low, high = support(rate, shift, way, exponent=exponent, log_rare=-30)
    first, last = int(np.floor(low / step)), int(np.ceil(high / step))
    one = tilted_step(rate, shift, way, exponent=exponent, step=step, first=first, last=last)
    losses = (first + np.arange(last - first + 1)) * step
    masses = one.weights * np.exp(one.cumulant - exponent * losses)
    assert np.all(one.weights >= 0)
    assert masses.sum() == pytest.approx(1, abs=1e-9)
    left = float(masses @ np.exp(-losses))
    assert left <= 1 + 1e-9
    real, _ = directed_loss(np.linspace(-5, 5, 21), rate, shift, way)
    assert np.all(np.diff(real) >= 0)


# --- several steps ------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(0.05, 6),
    st.sampled_from([1, 2, 3, 10, 100, 1000, 10_000]),
    st.floats(0, 10),
)
def test_many_gaussians_on_the_grid_against_one(shift: float, count: int, place: float) -> None:
    epsilon = max(shift * place + shift**2 / 2 - shift, 0.0)
    value = on_grid(((1.0, float(shift / np.sqrt(count)), count),), "remove", epsilon)
    exact = float(log_hockey_stick(epsilon, shift))
    assert value >= exact * (1 + 1e-12) - 1e-12
    assert value <= exact + 5e-3 * (1 + abs(exact))


def bracket(
    rate: float, shift: float, way: Direction, doublings: int, step: float
) -> Callable[[float], tuple[float, float]]:
    """Return bounds of delta for 2**doublings steps: losses rounded down and up, plain sums."""
    x = np.linspace(-9.5, shift + 9.5, 60_001) * (-1 if way == "add" else 1)
    loss = np.sort(directed_loss(np.sort(x), rate, shift, way)[0])
    x = np.sort(x)

    def cdf(at: Floats) -> Floats:
        plain = ndtr(at)
        mean = -shift if way == "add" else shift
        return plain if way == "add" else (1 - rate) * plain + rate * ndtr(at - mean)

    masses = np.diff(cdf(x))
    pairs = []
    for rounding in (np.floor, np.ceil):
        end = loss[:-1] if rounding is np.floor else loss[1:]
        places = rounding(end / step).astype(int)
        first = int(places.min())
        pmf = np.bincount(places - first, weights=np.maximum(masses, 0.0))
        for _ in range(doublings):
            pmf[pmf < 1e-40] = 0.0  # subnormal products are slow
            pmf, first = np.convolve(pmf, pmf), 2 * first
        pairs.append((pmf, (first + np.arange(len(pmf))) * step))

    def bounds(epsilon: float) -> tuple[float, float]:
        low, high = (
            float(pmf @ -np.expm1(np.minimum(epsilon - losses, 0.0))) for pmf, losses in pairs
        )
        return low * (1 - 1e-9), high + 1e-15 * 2**doublings

    return bounds


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("rate", "multiplier"), [(0.01, 0.5), (0.1, 1.0), (0.5, 2.0), (0.9, 1.0), (0.3, 0.7)]
)
def test_eight_steps_between_rounding_down_and_up(
    rate: float, multiplier: float, way: Direction
) -> None:
    width = float(np.ptp(directed_loss(np.array([-9.5, 9.5]), rate, 1 / multiplier, way)[0]))
    bounds = bracket(rate, 1 / multiplier, way, 3, max(width, 0.01) / 1500)
    profile = sampled(rate, multiplier, 8, way)
    for epsilon in (0.0, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0):
        low, high = bounds(epsilon)
        value = float(np.exp(profile.log_delta_towards(epsilon, way)))
        assert low <= value
        assert value <= high * 1.01 + 1e-13


def test_a_step_and_a_release_by_quadrature() -> None:
    # delta(eps) = E over the step's place x of the Gaussian's divergence at eps - l(x)
    checked = 0
    for rate, multiplier, shift in ((0.05, 1.0, 0.5), (0.4, 0.6, 1.5), (0.01, 2.0, 3.0)):
        mu = 1 / multiplier
        profile = sampled(rate, multiplier, 1, release=shift)
        x = np.linspace(-14, mu + 14, 40_001)
        loss = np.log1p(rate * np.expm1(mu * x - mu * mu / 2))
        plain = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
        mixed = plain * np.exp(loss)
        for epsilon in (0.0, 0.5, 2.0, 5.0, 9.0):
            for way, density, sign in (("remove", mixed, 1), ("add", plain, -1)):
                b = epsilon - sign * loss
                first, second = b / shift - shift / 2, b / shift + shift / 2
                inner = ndtr(-first) - np.exp(np.minimum(b, 600)) * ndtr(-second)
                truth = float(np.trapezoid(density * np.maximum(inner, 0.0), x))
                value = float(np.exp(profile.log_delta_towards(epsilon, way)))
                assert value >= truth * (1 - 1e-9) - 1e-15
                assert value <= truth * 1.002 + 1e-13
                checked += 1
    assert checked == 30


def one_step_plainly(rate: float, mu: float, epsilon: Floats, way: Direction) -> Floats:
    """Return delta of one step at any real epsilon, in floating point."""
    growth = np.exp(epsilon)
    with np.errstate(divide="ignore", invalid="ignore"):
        if way == "replace":
            sinh = np.sinh(epsilon / 2) * (1 - rate) / rate * np.exp(mu * mu / 2)
            t = (epsilon / 2 + np.arcsinh(sinh)) / mu
            own = (1 - rate) * ndtr(-t) + rate * ndtr(mu - t)
            return np.asarray(own - growth * ((1 - rate) * ndtr(-t) + rate * ndtr(-mu - t)))
        part = growth - (1 - rate) if way == "remove" else 1 / growth - (1 - rate)
        t = np.where(part > 0, (np.log(part / rate) + mu * mu / 2) / mu, -np.inf)
        if way == "remove":
            mixed = (1 - rate) * ndtr(-t) + rate * ndtr(mu - t)
            return np.asarray(mixed - growth * ndtr(-t))
        return np.asarray(ndtr(t) - growth * ((1 - rate) * ndtr(t) + rate * ndtr(t - mu)))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(rates, st.floats(-1.0, 2.0), st.floats(0, 4), st.sampled_from(WAYS))
def test_two_steps_certified_by_quadrature(
    rate: float, log_multiplier: float, place: float, way: Direction
) -> None:
    # delta(eps) = E over the first step's place x of the second step's delta at eps - l(x)
    mu = float(np.exp(-log_multiplier))
    epsilon = typical(rate, 1 / mu, 2, place)
    x = np.linspace(-11, mu + 11, 30_001) * (-1 if way == "add" else 1)
    x = np.sort(x)
    loss = directed_loss(x, rate, mu, way)[0]
    density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    if way != "add":
        density = (1 - rate) * density + rate * np.exp(-((x - mu) ** 2) / 2) / np.sqrt(2 * np.pi)
    truth = float(np.trapezoid(density * one_step_plainly(rate, mu, epsilon - loss, way), x))
    value = float(np.exp(sampled(rate, 1 / mu, 2, way).log_delta_towards(epsilon, way)))
    assert value >= truth * (1 - 1e-7) - 1e-14
    assert value <= truth * 1.01 + 1e-12


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
