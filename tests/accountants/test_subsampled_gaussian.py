"""Composition of subsampled Gaussians: exact cases, two-sided brackets, quadrature, peers."""

from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erfcx, ndtr

from accountants.connect_the_dots import Direction, directed_loss, support, tilted_step
from accountants.gaussian import log_hockey_stick
from tests.accountants.oracles import Floats
from tests.accountants.subsampled_gaussian_cases import (
    WAYS,
    multipliers,
    on_grid,
    one_step,
    sampled,
    typical,
)

rates = st.floats(-7, -0.02).map(lambda x: float(np.exp(x)))


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
