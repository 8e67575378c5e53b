"""Loss distributions from profiles: certified against mpmath, exact cases, extremes, refusals."""

from dataclasses import dataclass
from functools import lru_cache

import mpmath as mp
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from accountants.errors import ParameterError
from accountants.gaussian import log_hockey_stick
from accountants.loss_distribution import LossDistribution, dominating, of_pld, split
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from tests.accountants.oracles import hockey_stick

shifts = st.floats(-5, 3.4).map(lambda x: float(np.exp(x)))


@dataclass(frozen=True, kw_only=True)
class Gaussian(PrivacyProfile):
    shift: float

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        return log_hockey_stick(epsilon, self.shift)


@dataclass(frozen=True, kw_only=True)
class Table(PrivacyProfile):
    """Of one pair of discrete distributions, the worse direction, rounded up."""

    p: tuple[float, ...]
    q: tuple[float, ...]

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        eps = np.asarray(epsilon, float)[..., None]
        p, q = np.array(self.p), np.array(self.q)
        with np.errstate(all="ignore"):
            values = []
            for a, b in ((p, q), (q, p)):
                ratio = np.where(b > 0, np.exp(np.minimum(eps + np.log(b) - np.log(a), 0.0)), 0.0)
                values.append(np.where(a > 0, a * (1 - ratio), 0.0).sum(axis=-1))
            best = np.maximum(values[0], values[1])
            rounded = np.where(best > 0, np.minimum(best * (1 + 1e-13) + 1e-15, 1.0), 0.0)
            return np.asarray(np.log(rounded))


@dataclass(frozen=True, kw_only=True)
class Flat(PrivacyProfile):
    """The same delta at every epsilon, except perhaps infinity."""

    value: float
    at_infinity: float

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(np.where(np.isinf(epsilon), self.at_infinity, self.value))


class Counting(PrivacyProfile):
    def __init__(self, inner: PrivacyProfile) -> None:
        self.inner, self.seen = inner, 0

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        self.seen += np.size(epsilon)
        return self.inner.log_delta(epsilon)


def response(epsilon: float) -> Table:
    """Binary randomised response."""
    p, q = float(1 / (1 + np.exp(-epsilon))), float(1 / (1 + np.exp(epsilon)))
    return Table(p=(p, q), q=(q, p))


def curve(loss: LossDistribution, epsilon: float) -> mp.mpf:
    """H at any real epsilon of the masses as they are, at the working precision."""
    total = mp.exp(mp.mpf(loss.log_infinity)) if loss.log_infinity > -np.inf else mp.mpf(0)
    for at, log in zip(loss.losses, loss.log_masses, strict=True):
        if at > epsilon and log > -np.inf:
            total += mp.exp(mp.mpf(float(log))) * -mp.expm1(mp.mpf(epsilon) - mp.mpf(float(at)))
    return total


# --- certification ------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(shifts, st.floats(0, 1))
def test_certified_against_mpmath_for_gaussians(shift: float, part: float) -> None:
    loss = dominating(Gaussian(shift=shift), points=400)
    epsilon = part * float(loss.losses[-1])
    value = float(loss.log_delta(epsilon))
    with mp.workprec(400):
        truth = mp.log(hockey_stick(mp.mpf(epsilon), mp.mpf(shift)))
    assert value >= truth
    # the slack depends on the number of points; it is least where delta is greatest
    assert value <= truth + (2e-3 if truth > -7 and shift < 4 else 0.15 if truth > -60 else 1.5)


def distributions(draw: st.DrawFn, size: int) -> tuple[float, ...]:
    weights = draw(st.lists(st.floats(0, 1), min_size=size, max_size=size))
    rough = np.array(weights) ** 3 + np.eye(size)[draw(st.integers(0, size - 1))]
    whole = np.round(rough / rough.sum() * 2**30)
    whole[-1] += 2**30 - whole.sum()
    return tuple(float(x) / 2**30 for x in whole)


@st.composite
def pairs(draw: st.DrawFn) -> Table:
    size = draw(st.integers(2, 6))
    p, q = distributions(draw, size), distributions(draw, size)
    if min(p) < 0 or min(q) < 0:
        p = q = (0.5, 0.5)
    return Table(p=p, q=q)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(pairs(), st.floats(-8, 8))
def test_dominates_both_directions_at_every_real_epsilon(table: Table, epsilon: float) -> None:
    loss = LossDistribution.from_profile(table)
    with mp.workprec(200):
        found = curve(loss, epsilon)
        for first, second in ((table.p, table.q), (table.q, table.p)):
            terms = (
                mp.mpf(a) - mp.exp(mp.mpf(epsilon)) * mp.mpf(b)
                for a, b in zip(first, second, strict=True)
            )
            truth = sum((max(term, mp.mpf(0)) for term in terms), mp.mpf(0))
            assert found >= truth
        total = sum(mp.exp(mp.mpf(float(log))) for log in loss.log_masses)
        total += mp.exp(mp.mpf(loss.log_infinity)) if loss.log_infinity > -np.inf else 0
    assert 1 <= total <= 1 + 1e-9
    if epsilon >= 0:
        exact = float(np.exp(loss.log_delta(epsilon)))
        assert float(found) * (1 - 1e-15) <= exact <= float(found) * (1 + 1e-11) + 1e-300
        assert exact <= float(table.delta(epsilon)) * (1 + 5e-3) + 1e-4  # kinks between samples


@lru_cache(maxsize=4)
def as_pld(loss: LossDistribution, interval: float) -> peer.PrivacyLossDistribution:
    return loss.to_pld(interval=interval)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(shifts.filter(lambda x: x < 6), st.floats(0, 1), st.sampled_from((1e-4, 1e-3, 0.05)))
def test_dp_accounting_distribution_certified(shift: float, part: float, interval: float) -> None:
    loss = dominating(Gaussian(shift=shift), points=400)
    pld = as_pld(loss, interval)
    epsilon = part * float(loss.losses[-1])
    value = float(pld.get_delta_for_epsilon(epsilon))
    with mp.workprec(400):
        truth = float(hockey_stick(mp.mpf(epsilon), mp.mpf(shift)))
    assert value >= truth
    # within the curve's own slack and the second-order error of the grid
    ours = float(loss.delta(epsilon))
    assert value <= ours * (1 + 1e-9) + interval * ours + 2 * interval**2 + 1e-300


def test_convex_envelope_lowers_a_sample_that_is_too_high() -> None:
    class Bumpy(Gaussian):
        def log_delta(self, epsilon: ArrayLike) -> Floats:
            value = log_hockey_stick(epsilon, self.shift)
            wave = np.sin(9 * np.minimum(epsilon, 1e3))
            return np.minimum(value + 0.3 * (np.abs(wave) > 0.8), 0.0)

    grid = np.linspace(0, 5, 300)
    found = LossDistribution.from_profile(Bumpy(shift=1.0), points=400).log_delta(grid)
    assert np.all(found >= log_hockey_stick(grid, 1.0))
    bumps = Bumpy(shift=1.0).log_delta(grid) - log_hockey_stick(grid, 1.0) > 0.2
    assert bumps.any()
    assert np.mean((found - log_hockey_stick(grid, 1.0))[bumps]) < 0.1


# --- exact cases --------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 3.0, 40.0])
def test_randomised_response_is_two_losses(epsilon: float) -> None:
    loss = LossDistribution.from_profile(response(epsilon), tail=1e-14)
    # a rounding of 1e-15 moves the end of the curve a little
    assert loss.losses[-1] == pytest.approx(epsilon, abs=1e-9)
    mass = np.exp(loss.log_masses[-1]) + np.exp(loss.log_infinity)
    assert mass == pytest.approx(1 / (1 + np.exp(-epsilon)), rel=1e-9)


def test_perfect_privacy_and_none() -> None:
    perfect = LossDistribution.from_profile(Flat(value=0.0, at_infinity=0.0))
    assert perfect.log_delta([0.0, 1.0, np.inf]).tolist() == [-np.inf] * 3
    assert perfect.to_pld().get_delta_for_epsilon(0.0) == 0
    none = LossDistribution.from_profile(Flat(value=1.0, at_infinity=1.0))
    assert none.delta([0.0, 1500.0, np.inf]).tolist() == [1.0] * 3
    assert none.to_pld().get_delta_for_epsilon(3.0) == 1
    late = LossDistribution.from_profile(Flat(value=1.0, at_infinity=0.0))
    assert late.delta(2.0) == 1


@pytest.mark.parametrize("value", [1e-300, 1e-20, 1e-6, 0.5, 0.999])
def test_delta_that_stays_goes_to_infinity(value: float) -> None:
    for at_infinity in (0.0, value):
        loss = LossDistribution.from_profile(
            Flat(value=value, at_infinity=at_infinity), tail=1e-305 if value < 1e-200 else 1e-30
        )
        deltas = loss.delta([0.0, 1.0, 1000.0, 1e6, np.inf])
        assert np.all(deltas >= value)
        assert np.all(deltas <= value * (1 + 1e-6))


# --- field faults -------------------------------------------------------------------------------


def test_fault_overflow_and_nan_at_large_epsilon() -> None:
    wide = LossDistribution.from_profile(Gaussian(shift=45.0), points=800)
    assert wide.losses[-1] > 1462.3
    grid = np.array([0, 700, 709, 709.8, 710, 745, 1000, 1462.3, 1500, 1e6, 1e300, np.inf])
    found, truth = wide.log_delta(grid), log_hockey_stick(grid, 45.0)
    assert not np.isnan(found).any()
    assert np.all(found >= truth)
    assert found[7] <= truth[7] + 0.1
    epsilon = float(wide.epsilon(float(np.exp(truth[7]))))
    assert 1462.3 <= epsilon <= 1462.3 * 1.001
    pld = wide.to_pld(interval=1e-3)
    assert pld.get_delta_for_epsilon(1462.3) >= np.exp(truth[7])
    assert pld.get_epsilon_for_delta(float(np.exp(truth[7]))) >= 1462.3


def test_fault_unnormalised_masses_are_refused() -> None:
    for masses in ({0.0: 0.7}, {0.0: 0.7, 1.0: 0.7}, {0.0: np.nan}, {0.0: 1.5, 1.0: -0.5}):
        with pytest.raises(ParameterError):
            LossDistribution.from_masses(masses)
    with pytest.raises(ParameterError):
        LossDistribution.from_masses({0.0: 0.5}, infinity=-0.5)
    accepted = peer.PrivacyLossDistribution.create_from_rounded_probability({0: 0.5, 7: 0.1}, 0, 1)
    with pytest.raises(ParameterError):
        of_pld(accepted)


def test_a_little_missing_mass_is_infinite_loss() -> None:
    loss = LossDistribution.from_masses({-1.0: 0.25, 1.0: 0.75 - 1e-9})
    assert float(loss.delta(np.inf)) == pytest.approx(1e-9, rel=1e-5)
    assert float(loss.delta(0.0)) >= 0.75 * -np.expm1(-1.0)


def test_fault_delta_outside_zero_to_one_and_negative_epsilon() -> None:
    loss = LossDistribution.from_profile(Gaussian(shift=1.0))
    for bad in (-1e-9, 1.1, np.nan):
        with pytest.raises(ParameterError):
            loss.epsilon(bad)
    for bad in (-1e-9, np.nan, -np.inf):
        with pytest.raises(ParameterError):
            loss.log_delta(bad)
    assert float(loss.epsilon(1.0)) == 0
    assert float(loss.epsilon(0.999999)) == 0
    assert float(loss.epsilon(0.0)) == np.inf


def test_fault_epsilon_grows_with_delta() -> None:
    loss = LossDistribution.from_profile(Gaussian(shift=3.0))
    deltas = np.logspace(-29, -0.01, 40)
    assert np.all(np.diff(loss.epsilon(deltas)) <= 0)


@pytest.mark.parametrize(
    "given_values",
    [
        {"losses": [0.0, 0.0], "log_masses": [np.log(0.5)] * 2},
        {"losses": [0.0, np.inf], "log_masses": [np.log(0.5)] * 2},
        {"losses": [], "log_masses": []},
        {"losses": [0.0], "log_masses": [0.0, 0.0]},
        {"losses": [0.0], "log_masses": [np.nan]},
        {"losses": [0.0], "log_masses": [800.0]},
    ],
)
def test_refused(given_values: dict[str, list[float]]) -> None:
    with pytest.raises(ParameterError):
        LossDistribution(
            losses=np.array(given_values["losses"]),
            log_masses=np.array(given_values["log_masses"]),
            log_infinity=-np.inf,
        )


@pytest.mark.parametrize(
    "options", [{"points": 19}, {"points": 50.5}, {"tail": 0.0}, {"tail": 1.0}, {"tolerance": 0.0}]
)
def test_options_refused(options: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        LossDistribution.from_profile(Gaussian(shift=1.0), **options)  # type: ignore[arg-type]


def test_a_grid_that_is_too_fine_is_refused_with_what_is_needed() -> None:
    loss = LossDistribution.from_profile(Gaussian(shift=45.0))
    with pytest.raises(ParameterError, match="interval = 1e-06: at least") as caught:
        loss.to_pld(interval=1e-6)
    needed = float(str(caught.value).split("at least ")[1].split()[0])
    assert loss.to_pld(interval=needed * 1.01) is not None
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ParameterError):
            loss.to_pld(interval=bad)


# --- the grid, the number of samples, dp_accounting's own ---------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(-1500, 1500), st.sampled_from((1e-6, 1e-4, 0.3, 7.0)))
def test_split_keeps_both_masses(loss: float, step: float) -> None:
    places, share = split(np.array([loss]), step)
    with mp.workprec(200):
        low = mp.mpf(int(places[0])) * mp.mpf(step)
        w, at = mp.mpf(float(share[0])), mp.mpf(loss)
        other = (1 - w) * mp.exp(at - low) + w * mp.exp(at - low - mp.mpf(step))
        # the second distribution's mass, in units of what it was: no more, and hardly less
        assert other <= 1
        assert other >= 1 - 32 * mp.mpf(2) ** -53 * (1 + abs(at) + abs(at) / step) * mp.exp(step)
        assert low <= at + mp.mpf(10) ** -11
    assert 0 <= share[0] <= 1


def test_few_evaluations() -> None:
    profile = Counting(Gaussian(shift=2.0))
    profile.epsilon(1e-30)
    inversion, profile.seen = profile.seen, 0
    LossDistribution.from_profile(profile, points=100)
    assert profile.seen <= 100 + inversion


def test_more_points_are_sharper() -> None:
    grid = np.linspace(0, 11, 50)
    worst = []
    for points in (30, 100, 300, 1000):
        loss = LossDistribution.from_profile(Gaussian(shift=1.0), points=points, tolerance=1e-6)
        worst.append(float(np.max(loss.log_delta(grid) - log_hockey_stick(grid, 1.0))))
    assert worst == sorted(worst, reverse=True)
    assert worst[-1] < 0.01


def test_reads_dp_accounting_distributions() -> None:
    dense = of_pld(peer.from_gaussian_mechanism(1.0))
    assert len(dense) == 1
    assert float(dense[0].epsilon(1e-6)) == pytest.approx(4.8865, abs=2e-3)
    sampled = of_pld(peer.from_gaussian_mechanism(1.0, sampling_prob=0.2))
    assert len(sampled) == 2
    pld = peer.from_laplace_mechanism(1.0, value_discretization_interval=0.05)
    (sparse,) = of_pld(pld)
    for epsilon in (0.0, 0.31, 0.99, 2.0):
        ours, theirs = float(sparse.delta(epsilon)), float(pld.get_delta_for_epsilon(epsilon))
        assert theirs * (1 - 1e-12) <= ours <= theirs * (1 + 1e-9) + 1e-12


def test_remembered_only_where_it_can_be_hashed() -> None:
    assert dominating(Gaussian(shift=1.0)) is dominating(Gaussian(shift=1.0))

    class Unhashable(Gaussian):
        __hash__ = None  # type: ignore[assignment]

    assert dominating(Unhashable(shift=1.0)) is not dominating(Unhashable(shift=1.0))


def test_memory_of_the_default_distribution() -> None:
    pld = LossDistribution.from_profile(Gaussian(shift=5.0)).to_pld()
    assert pld._pmf_remove.size <= 800  # two grid points for each loss, no dense grid


def test_response_helper_is_symmetric() -> None:
    table = response(1.0)
    assert table.p == table.q[::-1]
