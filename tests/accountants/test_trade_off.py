"""Trade-off curves: the exact Gaussian one, exact polygons, riskcal on our distributions."""

from dataclasses import dataclass

import mpmath as mp
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from riskcal.analysis import get_advantage_from_pld, get_beta_from_pld
from scipy.special import ndtr, ndtri

from accountants.errors import ParameterError
from accountants.gaussian import log_hockey_stick
from accountants.loss_distribution import LossDistribution, dominating
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from accountants.trade_off import TradeOff

ALPHAS = np.concatenate((np.linspace(0, 1, 500), 10.0 ** -np.arange(3, 30), [5e-324, 1e-300]))


@dataclass(frozen=True, kw_only=True)
class Gaussian(PrivacyProfile):
    shift: float

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        return log_hockey_stick(epsilon, self.shift)


@dataclass(frozen=True, kw_only=True)
class Constant(PrivacyProfile):
    log: float

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        return np.full(np.shape(epsilon), self.log)


def gaussian_trade_off(alpha: float, shift: float) -> mp.mpf:
    """Phi(Phi^-1(1 - alpha) - shift), at the working precision."""
    if alpha in (0, 1):
        return mp.mpf(1 - int(alpha))
    x = mp.findroot(lambda t: mp.ncdf(-t) - mp.mpf(alpha), -float(ndtri(alpha)))
    return mp.ncdf(x - mp.mpf(shift))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(-4, 2.3), st.floats(0, 1))
def test_certified_below_the_gaussian_curve(log_shift: float, alpha: float) -> None:
    shift = float(np.exp(log_shift))
    curve = TradeOff(losses=(dominating(Gaussian(shift=shift), points=400),))
    beta = float(curve.beta(alpha))
    with mp.workdps(40):
        truth = gaussian_trade_off(alpha, shift) if alpha > 1e-250 else mp.mpf(1) - mp.mpf(alpha)
        assert beta <= truth
    assert beta >= float(truth) - 1e-3


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)), min_size=2, max_size=7),
    st.floats(0, 1),
)
def test_below_every_threshold_test_of_a_random_pair(
    weights: list[tuple[float, float]], alpha: float
) -> None:
    p, q = np.array(weights).T
    p, q = p / p.sum(), q / q.sum()

    class Pair(PrivacyProfile):
        def log_delta(self, epsilon: ArrayLike) -> Floats:
            growth = np.exp(np.minimum(np.asarray(epsilon, float), 700.0))[..., None]
            both = [np.maximum(a - growth * b, 0).sum(-1) for a, b in ((p, q), (q, p))]
            return np.asarray(np.log(np.minimum(np.maximum(*both) + 1e-15, 1.0)))

    curve = TradeOff.from_profile(Pair(), points=100)
    for null, other in ((p, q), (q, p)):
        order = np.argsort(-other / null, kind="stable")
        size = np.concatenate(([0.0], np.cumsum(null[order])))
        power = np.concatenate(([0.0], np.cumsum(other[order])))
        best = 1 - float(np.interp(alpha, size, power))  # Neyman and Pearson
        assert float(curve.beta(alpha)) <= best + 1e-14


def test_gaussian_curve_on_a_fine_grid() -> None:
    for shift, slack in ((0.01, 1e-5), (1.0, 3e-4), (3.0, 2e-3)):
        found = TradeOff.from_profile(Gaussian(shift=shift)).beta(ALPHAS)
        truth = ndtr(-ndtri(ALPHAS) - shift)
        assert np.all(found <= truth + 1e-16)
        assert np.all(found >= truth - slack)


@pytest.mark.parametrize("shift", [0.2, 1.0, 4.0])
def test_agrees_with_riskcal_on_our_distribution(shift: float) -> None:
    loss = LossDistribution.from_profile(Gaussian(shift=shift))
    pld = loss.to_pld()
    theirs = get_beta_from_pld(pld, ALPHAS)
    # the grid of 1e-4 costs a little once more
    for curve, slack in ((TradeOff.from_pld(pld), 1e-11), (TradeOff(losses=(loss,)), 1e-6)):
        assert np.all(np.abs(curve.beta(ALPHAS) - theirs) <= slack)
    assert TradeOff(losses=(loss,)).advantage() == pytest.approx(
        get_advantage_from_pld(pld), abs=1e-8
    )


def test_composed_distribution_of_dp_accounting() -> None:
    pld = peer.from_gaussian_mechanism(10.0).self_compose(100)
    found = TradeOff.from_pld(pld).beta(ALPHAS)
    truth = ndtr(-ndtri(ALPHAS) - 1.0)
    assert np.all(found <= truth + 1e-12)
    assert np.all(found >= truth - 1e-6)


def test_both_directions_of_a_sampled_gaussian() -> None:
    rate, shift = 0.2, 1.5
    pld = peer.from_gaussian_mechanism(1 / shift, sampling_prob=rate)
    found = TradeOff.from_pld(pld).beta(ALPHAS)
    x = np.linspace(-12, 14, 100_001)
    mixed = (1 - rate) * ndtr(x) + rate * ndtr(x - shift)  # distribution function
    removed = np.interp(ALPHAS, ndtr(-x)[::-1], mixed[::-1])  # reject N(0,1) above x
    added = np.interp(ALPHAS, mixed, ndtr(-x))  # reject the mixture below x
    assert np.all(found <= np.minimum(removed, added) + 1e-7)
    assert np.all(found >= np.minimum(removed, added) - 1e-4)


def test_falls_is_convex_and_has_the_right_ends() -> None:
    curve = TradeOff.from_profile(Gaussian(shift=1.3))
    grid = np.linspace(0, 1, 4001)
    beta = curve.beta(grid)
    assert np.all(np.diff(beta) <= 0)
    assert np.all(np.diff(beta, 2) >= -1e-13)
    assert np.all(beta <= 1 - grid)
    assert float(curve.beta(1.0)) == 0
    assert float(curve.beta(0.0)) == pytest.approx(1.0, abs=1e-14)
    assert curve.beta(np.ones((2, 3)) / 2).shape == (2, 3)


def test_sharper_privacy_is_a_higher_curve() -> None:
    curves = [TradeOff.from_profile(Gaussian(shift=x)).beta(ALPHAS) for x in (0.3, 1.0, 3.0)]
    assert np.all(curves[0] >= curves[1])
    assert np.all(curves[1] >= curves[2])


def test_advantage_and_equal_error_of_gaussians() -> None:
    for shift in (0.1, 1.0, 5.0):
        curve = TradeOff.from_profile(Gaussian(shift=shift))
        exact = 2 * float(ndtr(shift / 2)) - 1
        assert exact <= curve.advantage() * (1 + 1e-15)
        assert curve.advantage() <= exact * (1 + 1e-9)
        assert curve.equal_error() <= float(ndtr(-shift / 2))
        assert curve.equal_error() == pytest.approx(float(ndtr(-shift / 2)), rel=2e-3)


def test_perfect_privacy_none_and_delta_that_stays() -> None:
    perfect = TradeOff.from_profile(Constant(log=-np.inf))
    assert np.allclose(perfect.beta(ALPHAS), 1 - ALPHAS, rtol=0, atol=1e-12)
    assert perfect.advantage() == 0
    assert perfect.equal_error() == pytest.approx(0.5)
    none = TradeOff.from_profile(Constant(log=0.0))
    assert none.beta(ALPHAS).max() == 0
    assert none.advantage() == 1
    leak = TradeOff.from_profile(Constant(log=float(np.log(0.25))))
    assert np.allclose(leak.beta([0.0, 0.3, 0.75]), [0.75, 0.45, 0.0], rtol=0, atol=1e-3)


def test_extreme_losses() -> None:
    wide = TradeOff.from_profile(Gaussian(shift=45.0), points=800)
    beta = wide.beta(ALPHAS)
    assert np.isfinite(beta).all()
    assert beta.max() <= 1
    assert wide.advantage() == 1


def test_monte_carlo_attack_is_never_below() -> None:
    """A likelihood-ratio test's false negatives, 1e6 trials; Hoeffding, 1e-7 for each of 8."""
    rng, size, shift = np.random.default_rng(3), 10**6, 1.0
    curve = TradeOff.from_profile(Gaussian(shift=shift))
    sample = rng.normal(size=size) + shift
    margin = np.sqrt(np.log(1e7) / (2 * size))
    for threshold in np.linspace(-1, 3, 8):
        alpha = float(ndtr(-threshold))
        assert float(curve.beta(alpha)) <= float(np.mean(sample <= threshold)) + margin


def test_values_refused() -> None:
    curve = TradeOff.from_profile(Gaussian(shift=1.0))
    for bad in (-1e-9, 1.0000001, np.nan):
        with pytest.raises(ParameterError):
            curve.beta([0.5, bad])
    with pytest.raises(ParameterError):
        TradeOff(losses=())
    unnormalised = peer.PrivacyLossDistribution.create_from_rounded_probability({0: 0.5}, 0.0, 1.0)
    with pytest.raises(ParameterError):
        TradeOff.from_pld(unnormalised)
