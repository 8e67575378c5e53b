"""Sums of discrete Gaussians against enumeration, and the bound they give against hockey-sticks."""

from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from accountants import AnalyticGaussian, ParameterError
from accountants.discrete_closeness import (
    CloseProfile,
    DirectDistributedGaussian,
    best_smoothing,
    convolution_slack,
    smoothing,
)
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from accountants.zcdp import ZeroConcentrated


def single(scale: float, reach: int) -> Floats:
    """N_Z(0, scale^2) on -reach..reach."""
    x = np.arange(-reach, reach + 1)
    weight = np.exp(-x * x / (2 * scale * scale))
    return np.asarray(weight / weight.sum())


def summed(scale: float, count: int) -> Floats:
    """Return the sum of ``count`` of them by convolution: positive terms, 1e-14 relative."""
    one = single(scale, int(13 * scale) + 6)
    total = one
    for _ in range(count - 1):
        total = np.convolve(total, one)
    return total


def hockey_stick(p: Floats, q: Floats, epsilon: float) -> float:
    return float(np.sum(np.maximum(p - np.exp(epsilon) * q, 0.0)))


def shifted(p: Floats, by: int) -> tuple[Floats, Floats]:
    """P moved by ``by`` >= 0, and P, on one range."""
    pad = np.zeros(by)
    return np.concatenate([pad, p]), np.concatenate([p, pad])


# --- the sum is close to one discrete Gaussian --------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(0.35, 2.5), st.integers(2, 7))
def test_ratio_of_the_sum_to_one_discrete_gaussian(scale: float, count: int) -> None:
    slack = convolution_slack(local_scale=scale, contributors=count)
    total = summed(scale, count)
    middle = len(total) // 2
    target = single(scale * np.sqrt(count), middle)
    core = slice(middle - int(5 * scale * count**0.5) - 3, middle + int(5 * scale * count**0.5) + 4)
    ratio = np.log(total[core] / target[core])
    rounding = 1e-13
    assert ratio.max() <= slack + rounding
    assert ratio.max() - ratio.min() <= 2 * slack + rounding


@pytest.mark.parametrize("scale", [0.4, 0.5, 0.7, 0.9, 1.1])
def test_attained_for_two(scale: float) -> None:
    total = summed(scale, 2)
    middle = len(total) // 2
    core = slice(middle - 3, middle + 4)
    ratio = np.log(total[core] / single(scale * np.sqrt(2), middle)[core])
    width = ratio.max() - ratio.min()
    assert 2 * convolution_slack(local_scale=scale, contributors=2) <= 1.03 * width


def lattice_sum(scale: float, count: int) -> Any:
    """e_n at 60 digits: 1 + e_n is the sum's probability of 0, in Gaussian units."""
    s, nodes = mp.mpf(scale), 16 + int(14 * scale * np.sqrt(2 * count))
    k = 2 * mp.pi**2 * s**2

    def theta(t: Any) -> Any:
        return mp.fsum(mp.exp(-k * (t - m) ** 2) for m in range(-8, 10))

    mean = mp.fsum(theta(mp.mpf(j) / nodes) ** count for j in range(nodes)) / nodes
    return mean * mp.sqrt(2 * mp.pi * count) * s - 1


@pytest.mark.parametrize("scale", [0.5, 0.8, 1.0, 1.6, 2.2])
@pytest.mark.parametrize("count", [2, 3, 5, 10, 30, 100, 1000])
def test_certified(scale: float, count: int) -> None:
    slack = convolution_slack(local_scale=scale, contributors=count)
    with mp.workdps(80):
        e = lattice_sum(scale, count)
        assert e > 0
        if e >= 1:
            assert slack == np.inf
        elif e < 0.99:
            assert slack >= mp.atanh(e)
            assert slack <= mp.atanh(e) * 1.03


def test_leading_term() -> None:
    """About 2 n exp(-2 pi^2 s^2 (n-1)/n), where Kairouz, Liu and Steinke have its square root."""
    for count in (10, 100, 10**4):
        found = convolution_slack(local_scale=1.5, contributors=count)
        exponent = -2 * np.pi**2 * 1.5**2 * (count - 1) / count
        assert found == pytest.approx(2 * count * np.exp(exponent), rel=0.02)


# --- a discrete Gaussian is close to a rounded continuous one -----------------------------------


@pytest.mark.parametrize("variance", [0.2, 0.35, 0.6, 1.0])
@pytest.mark.parametrize("spread", [1.1, 2.0, 4.0])
def test_smoothing_ratio(variance: float, spread: float) -> None:
    """Integrate the post-processing: continuous N(0, S^2 - eta^2), then rounded at random."""
    slack = smoothing(variance=variance, dimension=1).slack
    eta, rest = np.sqrt(variance), np.sqrt(spread**2 - variance)
    y, step = np.linspace(-12 * spread, 12 * spread, 60001, retstep=True)
    k = np.arange(-60, 61)
    normaliser = np.exp(-((k[:, None] - y[None, :]) ** 2) / (2 * variance)).sum(axis=0)
    density = np.exp(-y * y / (2 * rest * rest)) / (rest * np.sqrt(2 * np.pi))
    points = np.arange(0, int(4 * spread) + 1)
    rounded = np.array(
        [np.sum(density * np.exp(-((x - y) ** 2) / (2 * eta**2)) / normaliser) for x in points]
    )
    target = single(spread, 80)[80 + points]
    ratio = np.log(target / (rounded * step))
    assert ratio.max() <= slack + 1e-9
    assert ratio.max() - ratio.min() <= 2 * slack + 1e-9


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(0.1, 30), st.integers(1, 5000))
def test_smoothing_certified(variance: float, dimension: int) -> None:
    slack = smoothing(variance=variance, dimension=dimension).slack
    with mp.workdps(60):
        k = 2 * mp.pi**2 * mp.mpf(variance)
        e = 2 * mp.fsum(mp.exp(-k * m * m) for m in range(1, 12))
        if e < 0.999:
            truth = dimension * mp.atanh(e)
            assert slack >= truth
            assert slack <= truth * (1 + mp.mpf("1e-6"))
        elif e >= 1:
            assert slack == np.inf


def test_best_smoothing_is_about_the_best() -> None:
    for scale, count, dimension in ((1.2, 30, 1024), (3.0, 30, 1024), (400.0, 30, 1024)):
        chosen = best_smoothing(local_scale=scale, contributors=count, dimension=dimension)
        values: dict[str, Any] = {
            "sensitivity": 0.5 * scale * np.sqrt(count),
            "local_noise_std": scale,
            "granularity": 1.0,
            "contributors": count,
            "dimension": dimension,
        }
        found = float(DirectDistributedGaussian(**values).epsilon(1e-6))
        others = [
            float(DirectDistributedGaussian(**values, smoothing=x).epsilon(1e-6))
            for x in chosen.variance * np.geomspace(0.5, 4, 25)
        ]
        assert found <= min(others) * (1 + 2e-3)


# --- from one pair to a close pair --------------------------------------------------------------


@dataclass(frozen=True)
class Exact(PrivacyProfile):
    """The hockey-stick of two finite distributions, the greater of both directions."""

    p: Floats
    q: Floats

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        eps = np.asarray(epsilon, float)
        values = [
            max(hockey_stick(self.p, self.q, e), hockey_stick(self.q, self.p, e))
            for e in eps.ravel()
        ]
        with np.errstate(divide="ignore"):
            return np.log(np.array(values)).reshape(eps.shape)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.floats(-6, 1), st.floats(0, 3))
def test_close_profile_bounds_every_close_pair(seed: int, log_size: float, epsilon: float) -> None:
    generator = np.random.default_rng(seed)
    base = generator.dirichlet(np.full(6, 0.5), size=2) + 1e-6
    base /= base.sum(axis=1, keepdims=True)
    moved = base * np.exp(np.exp(log_size) * generator.uniform(-1, 1, size=(2, 6)))
    moved /= moved.sum(axis=1, keepdims=True)
    ratio = np.log(moved / base)
    slack = max(ratio.max(), (ratio.max() - ratio.min()) / 2)
    profile = CloseProfile(base=Exact(base[0], base[1]), slack=float(slack))
    for p, q in ((moved[0], moved[1]), (moved[1], moved[0])):
        assert hockey_stick(p, q, epsilon) <= float(profile.delta(epsilon)) * (1 + 1e-12) + 1e-14


def test_close_profile_below_twice_the_slack_uses_the_other_direction() -> None:
    """At slack 0.1 and a base that is perfect, what is left at epsilon 0 is e^s (1 - e^-2s)."""
    perfect = ZeroConcentrated(rho=0.0)
    profile = CloseProfile(base=perfect, slack=0.1)
    assert float(profile.delta(0.0)) == pytest.approx(np.exp(0.1) * -np.expm1(-0.2), rel=1e-12)
    assert float(profile.log_delta(0.2 + 1e-9)) == -np.inf
    joined = CloseProfile(base=ZeroConcentrated(rho=0.3), slack=0.1)
    below, above = joined.log_delta([0.2 - 1e-9, 0.2 + 1e-9])
    assert below == pytest.approx(float(above), abs=1e-7)


def test_close_profile_limits() -> None:
    base = ZeroConcentrated(rho=0.3)
    assert np.all(CloseProfile(base=base, slack=np.inf).log_delta([0, 5, 1500, np.inf]) == 0)
    assert np.all(
        CloseProfile(base=base, slack=0.0).log_delta([0, 5]) == base.log_delta([0.0, 5.0])
    )
    tiny = CloseProfile(base=base, slack=5e-324).log_delta([0.0, 1.0, 30.0])
    assert np.all(tiny >= base.log_delta([0.0, 1.0, 30.0]))
    assert tiny == pytest.approx(base.log_delta([0.0, 1.0, 30.0]), rel=1e-12)
    assert float(CloseProfile(base=base, slack=2.0).log_delta(np.inf)) == -np.inf


# --- the mechanism, against enumeration ---------------------------------------------------------


def direct(scale: float, count: int, shift: float, dimension: int = 1) -> DirectDistributedGaussian:
    return DirectDistributedGaussian(
        sensitivity=shift,
        local_noise_std=scale,
        granularity=1.0,
        contributors=count,
        dimension=dimension,
    )


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(0.4, 4), st.integers(1, 8), st.integers(1, 12), st.floats(0, 8))
def test_never_below_the_enumerated_sum(
    scale: float, count: int, shift: int, epsilon: float
) -> None:
    p, q = shifted(summed(scale, count), shift)
    bound = float(direct(scale, count, shift).delta(epsilon))
    assert bound >= hockey_stick(p, q, epsilon) - 1e-14
    assert bound >= hockey_stick(q, p, epsilon) - 1e-14


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(2, 5), st.integers(10, 20), st.floats(0.2, 2), st.floats(0, 3))
def test_close_to_the_enumerated_sum(
    scale: float, count: int, relative: float, epsilon: float
) -> None:
    """Within a quarter where delta is above 1e-6: the variance loses 1% to the smoothing."""
    shift = max(round(relative * scale * np.sqrt(count)), 1)
    p, q = shifted(summed(scale, count), shift)
    truth = hockey_stick(p, q, epsilon)
    if truth > 1e-6:
        assert float(direct(scale, count, shift).delta(epsilon)) <= truth * 1.25


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.5])
@pytest.mark.parametrize(("scale", "count"), [(0.5, 2), (0.8, 4), (1.5, 3), (2.5, 4)])
@pytest.mark.parametrize("shift", [(1, 0), (1, 1), (2, 3)])
def test_two_dimensions(scale: float, count: int, shift: tuple[int, int], epsilon: float) -> None:
    total = summed(scale, count)
    sides = [shifted(total, by) for by in shift]
    p = np.multiply.outer(sides[0][0], sides[1][0]).ravel()
    q = np.multiply.outer(sides[0][1], sides[1][1]).ravel()
    length = float(np.hypot(*shift))
    bound = float(direct(scale, count, length, dimension=2).delta(epsilon))
    truth = hockey_stick(p, q, epsilon)
    assert bound >= truth - 1e-13
    if scale >= 1.5 and truth > 1e-5:
        assert bound <= truth * 1.6


def test_monte_carlo_never_above_the_bound() -> None:
    """Hoeffding with 2e5 draws of each side: errs with probability below 1e-6."""
    generator = np.random.default_rng(11)
    scale, count, shift, epsilon, draws = 1.1, 6, 3, 0.5, 200_000
    one = single(scale, 25)
    noise = generator.choice(np.arange(-25, 26), p=one, size=(2, draws, count)).sum(axis=2)
    level = epsilon * count * scale**2 / shift + shift / 2
    hit = (noise[0] + shift > level).mean() - np.exp(epsilon) * (noise[1] > level).mean()
    room = (1 + np.exp(epsilon)) * np.sqrt(np.log(2e6) / (2 * draws))
    bound = float(direct(scale, count, shift).delta(epsilon))
    assert hit - room <= bound
    assert hit >= 0.5 * bound  # the event is the worst one, so the comparison means something


# --- Fre-E2T's three configurations -------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "count", "expected"), [(2.136, 30, 2.7105), (1.14, 50, 5.4907), (0.516, 60, 14.0703)]
)
def test_published_configurations(noise: float, count: int, expected: float) -> None:
    """Distance 1.2, 1024 coordinates, g = 2^-10, independent rounding: 1.2625 after rounding."""
    ours = DirectDistributedGaussian(
        sensitivity=1.2625,
        local_noise_std=noise / np.sqrt(count),
        granularity=2.0**-10,
        contributors=count,
        dimension=1024,
    )
    found = float(ours.epsilon(1e-6))
    assert found == pytest.approx(expected, abs=1e-4)
    continuous = float(AnalyticGaussian(noise_multiplier=noise / 1.2625).epsilon(1e-6))
    assert continuous <= found <= continuous * (1 + 1e-5)


# --- fewer contributors, ranges, monotonicity ---------------------------------------------------


def test_more_contributors_than_needed_are_post_processing() -> None:
    """A sum of 10^6 with s = 0.6 has a slack of infinity, a sum of some of them has not."""
    many = direct(0.6, 10**6, 1, dimension=4)
    assert many.profiles[0].slack == np.inf
    few = [direct(0.6, 2**k, 1, dimension=4) for k in range(20)]
    for epsilon in (0.5, 2.0, 6.0):
        assert float(many.log_delta(epsilon)) <= min(float(f.log_delta(epsilon)) for f in few)
        assert float(many.delta(epsilon)) < 1


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(0.5, 8),
    st.integers(1, 40),
    st.floats(0.1, 20),
    st.floats(0, 10),
    st.integers(1, 2000),
    st.floats(1, 3),
)
def test_monotone(
    scale: float, count: int, shift: float, epsilon: float, dimension: int, factor: float
) -> None:
    here = float(direct(scale, count, shift, dimension).log_delta(epsilon))
    slack = 1e-9 * (1 + abs(here))
    assert float(direct(scale, count, shift, dimension).log_delta(epsilon * factor)) <= here + slack
    assert float(direct(scale, count, shift * factor, dimension).log_delta(epsilon)) >= here - slack
    assert float(direct(scale, count, shift, dimension + 7).log_delta(epsilon)) >= here - slack
    if scale >= 2:  # where the slack does not grow faster than the noise
        more = direct(scale, count + 5, shift, dimension)
        assert float(more.log_delta(epsilon)) <= here + slack
        wider = direct(scale * factor, count, shift, dimension)
        assert float(wider.log_delta(epsilon)) <= here + slack


@pytest.mark.parametrize("scale", [1e-9, 0.2, 0.5, 1.0, 1e3, 1e100])
@pytest.mark.parametrize("count", [1, 2, 1000, 10**12, 10**15])
@pytest.mark.parametrize("shift", [0.0, 1e-12, 1.0, 1e12])
def test_fault_overflow_nan_and_negative_values(scale: float, count: int, shift: float) -> None:
    ours = direct(scale, count, shift, dimension=1024)
    epsilon = np.array([0, 5e-324, 1e-9, 1, 709, 710, 1500, 1e9, np.inf])
    value = ours.log_delta(epsilon)
    assert not np.any(np.isnan(value))
    assert np.all(value <= 0)
    assert np.all(np.diff(np.maximum(value, -1e300)) <= 1e-9)
    assert np.all((ours.delta(epsilon) >= 0) & (ours.delta(epsilon) <= 1))
    if shift == 0:
        assert np.all(value == -np.inf)


def test_fault_delta_zero_is_infinite_and_ends() -> None:
    assert float(direct(2.0, 10, 1).epsilon(0.0)) == np.inf
    assert float(direct(2.0, 10, 1).epsilon(1.0)) == 0
    assert float(direct(0.1, 10, 1, dimension=1024).epsilon(1e-6)) == np.inf


def test_fault_rounded_noise_taken_for_discrete() -> None:
    """At s = 0.3 a sum of two is far from a discrete Gaussian: it must not pass for one."""
    slack = convolution_slack(local_scale=0.3, contributors=2)
    total = summed(0.3, 2)
    middle = len(total) // 2
    core = slice(middle - 2, middle + 3)
    ratio = np.log(total[core] / single(0.3 * np.sqrt(2), middle)[core])
    assert ratio.max() - ratio.min() > 1.5
    assert 2 * slack >= ratio.max() - ratio.min()


def test_fault_noise_for_a_sum_is_not_added_to_a_mean() -> None:
    """Scaling sum, noise and granularity alike changes nothing; scaling the noise alone does."""
    base = DirectDistributedGaussian(
        sensitivity=1.0, local_noise_std=0.5, granularity=0.125, contributors=10, dimension=16
    )
    mean = DirectDistributedGaussian(
        sensitivity=0.1, local_noise_std=0.05, granularity=0.0125, contributors=10, dimension=16
    )
    assert float(mean.epsilon(1e-6)) == pytest.approx(float(base.epsilon(1e-6)), rel=1e-9)


REFUSED: dict[str, tuple[Any, ...]] = {
    "sensitivity": (-1.0, np.inf),
    "local_noise_std": (0.0, np.nan, 1e200),
    "granularity": (0.0, -1.0),
    "contributors": (0, 2.5, 10**16),
    "dimension": (0, True),
    "smoothing": (0.0, 1e9),
}


@pytest.mark.parametrize(("name", "value"), [(k, v) for k, vs in REFUSED.items() for v in vs])
def test_refused(name: str, value: Any) -> None:
    values: dict[str, Any] = {
        "sensitivity": 1.0,
        "local_noise_std": 1.0,
        "granularity": 0.5,
        "contributors": 10,
        "dimension": 4,
    }
    with pytest.raises(ParameterError, match=r"= .*(needed|supported)"):
        DirectDistributedGaussian(**(values | {name: value}))


def test_refused_elsewhere() -> None:
    for call in (
        lambda: CloseProfile(base=ZeroConcentrated(rho=1.0), slack=-0.1),
        lambda: smoothing(variance=0.0, dimension=1),
        lambda: convolution_slack(local_scale=np.nan, contributors=2),
        lambda: direct(1.0, 3, 1).log_delta(-1.0),
        lambda: direct(1.0, 3, 1).epsilon(1.5),
    ):
        with pytest.raises(ParameterError):
            call()


def test_shapes() -> None:
    ours = direct(2.0, 5, 1)
    assert ours.log_delta(1.0).shape == ()
    assert ours.log_delta([]).shape == (0,)
    assert ours.log_delta(np.ones((2, 3))).shape == (2, 3)
