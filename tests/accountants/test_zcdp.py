"""Conversion of zero-concentrated and Rényi curves: mpmath, two-point pairs, dp_accounting."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from accountants import AnalyticGaussian, FreE2TParameters, PaperTotal, ParameterError
from accountants.zcdp import (
    RenyiProfile,
    ZeroConcentrated,
    _dual,
    classic_epsilon,
    order_log_delta,
)
from tests.accountants.oracles import EPS_4, EPS_8, EPS_16, Published, parameters

logs = st.floats


def exp(x: float) -> float:
    return float(np.exp(x))


# --- reference values: Delta = 1.2, rho = Delta^2 / (2 sigma^2), what is left of delta -----------


@pytest.mark.parametrize(
    ("case", "total", "classic", "noise"),
    [
        (EPS_4, 4.175, 4.538, 2.268),
        (EPS_8, 8.307, 8.860, 1.199),
        (EPS_16, 16.777, 17.678, 0.541),
    ],
)
def test_reference_totals(case: Published, total: float, classic: float, noise: float) -> None:
    terms = PaperTotal(parameters=FreE2TParameters(**parameters(case))).terms
    left = 1e-6 - terms.delta_fre - terms.delta_sens
    rho = 1.2**2 / (2 * case.noise_std**2)
    found = float(ZeroConcentrated(rho=rho).epsilon(left)) + terms.epsilon_fre
    assert found == pytest.approx(total, abs=5e-4)
    older = float(classic_epsilon(left, rho=rho)) + terms.epsilon_fre
    assert older == pytest.approx(classic, abs=5e-4)
    for sigma, meets in ((noise + 5e-4, True), (noise - 1e-3, False)):
        other = ZeroConcentrated(rho=1.2**2 / (2 * sigma**2))
        assert (float(other.epsilon(left)) + terms.epsilon_fre <= case.claim) is meets


# --- Proposition 12, at many digits -------------------------------------------------------------


def proposition_12(rho: float, epsilon: float, offset: float = 0.0) -> tuple[mp.mpf, mp.mpf]:
    """Least logarithm over real orders (its derivative is monotone), and (order - 1) divergence."""
    r, e = mp.mpf(rho), mp.mpf(epsilon) - mp.mpf(offset)

    def slope(t: mp.mpf) -> mp.mpf:
        beta = mp.exp(t)
        return r * (1 + 2 * beta) - mp.log1p(1 / beta) - e

    low, high = mp.mpf(-800), mp.mpf(800)
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    beta = mp.exp(low)
    value = beta * (r * (1 + beta) - e - mp.log1p(1 / beta)) - mp.log1p(beta)
    return value, beta * (r * (1 + beta) + mp.mpf(offset))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(logs(np.log(1e-12), np.log(1e6)), st.floats(0.2, 40), st.floats(0, 0.1))
def test_never_above_proposition_12_and_close_to_it(x: float, z: float, offset: float) -> None:
    rho = exp(x)
    epsilon = rho + z * np.sqrt(2 * rho)
    value = float(ZeroConcentrated(rho=rho, offset=offset).log_delta(epsilon))
    with mp.workdps(50):
        truth, product = proposition_12(rho, epsilon, offset)
        assert value <= min(float(truth) * (1 - 1e-9), 0.0) + 1e-9 * (1 + epsilon / np.sqrt(rho))
        if product > 37:  # where nothing better is known: the same, rounded up
            assert value >= truth
            assert value <= float(truth) + 1e-6
        # what the best conversion of one order can gain, and Bretagnolle-Huber
        least = truth + mp.log1p(-mp.exp(-product)) if product > 6 else truth - 40
        assert value >= min(least * (1 + mp.mpf("1e-9")) - mp.mpf("0.01"), truth)


@pytest.mark.parametrize("rho", [1e-12, 1e-6, 1e-3, 0.1, 1.0, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-12, 1e-6])
def test_epsilon_round_trip(rho: float, delta: float) -> None:
    ours = ZeroConcentrated(rho=rho)
    epsilon = float(ours.epsilon(delta))
    assert float(ours.log_delta(epsilon)) <= np.log(delta)
    with mp.workdps(50):
        truth, product = proposition_12(rho, epsilon)
    if product > 37:
        assert float(truth) == pytest.approx(np.log(delta), abs=1e-5)
    elif rho >= 0.1:  # the other bounds gain little
        assert float(truth) == pytest.approx(np.log(delta), abs=0.05)
    assert epsilon <= float(classic_epsilon(delta, rho=rho))


# --- one order: pairs of two-point distributions ------------------------------------------------


def divergence(p: mp.mpf, q: mp.mpf, order: mp.mpf) -> mp.mpf:
    total = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
    return mp.log(total) / (order - 1)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.floats(-30, 30), st.floats(-30, 30), logs(-6, 5), st.floats(0, 20))
def test_no_two_point_pair_beats_the_bound(a: float, b: float, x: float, epsilon: float) -> None:
    with mp.workdps(60):
        p, q = 1 / (1 + mp.exp(mp.mpf(-a))), 1 / (1 + mp.exp(mp.mpf(-b)))
        excess = exp(x)
        gamma = divergence(p, q, 1 + mp.mpf(excess))
        truth = p - mp.exp(mp.mpf(epsilon)) * q
        bound = float(order_log_delta(epsilon, excess, np.nextafter(float(gamma), np.inf)))
        if truth > 0:
            assert bound >= mp.log(truth)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.floats(-40, 40), logs(-7, 14), st.floats(0, 3), logs(-40, -0.01))
def test_every_point_of_the_dual_is_rounded_up(
    x: float, log_excess: float, epsilon: float, start: float
) -> None:
    """The factor on e^L at w = e^x, at 80 digits, for orders up to 1e6."""
    excess = exp(log_excess)
    arrays = [np.array([v]) for v in (x, epsilon, excess, start)]
    with np.errstate(all="ignore"):
        value = float(_dual(*arrays)[0])
    with mp.workdps(80):
        w, alpha = mp.exp(mp.mpf(x)), 1 + mp.mpf(excess)
        s, e, scale = 1 - 1 / alpha, mp.exp(mp.mpf(epsilon)), mp.exp(-mp.mpf(start))
        truth = ((1 + w) ** s - w**s) ** -alpha + scale * (e * w - 1 / ((1 + 1 / w) ** s - 1))
        if np.isfinite(value):
            assert value >= truth


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("order", [1.2, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("gamma", [0.002, 0.05, 0.4, 1.5])
def test_the_best_two_point_pair_attains_it(epsilon: float, order: float, gamma: float) -> None:
    def pair(x: float) -> float:
        """Hockey-stick of the pair with ratio p/q = e^x and divergence gamma."""
        low, high = -700.0, 0.0  # ln p; the divergence grows with p at a fixed ratio
        goal = np.expm1((order - 1) * gamma)
        for _ in range(80):
            middle = (low + high) / 2
            p, q = np.exp(middle), np.exp(middle - x)
            with np.errstate(divide="ignore", over="ignore"):
                rest = np.exp(order * np.log1p(-p) + (1 - order) * np.log1p(-q))
                excess = p * np.expm1((order - 1) * x) + p + rest - 1
            low, high = (middle, high) if excess <= goal else (low, middle)
        return float(np.exp(low) * -np.expm1(epsilon - x))

    points = epsilon + np.geomspace(1e-3, 30, 300)
    start = int(np.argmax([pair(x) for x in points]))
    bracket = (points[max(start - 1, 0)], points[min(start + 1, 299)])
    best = -minimize_scalar(
        lambda x: -pair(x), bounds=bracket, method="bounded", options={"xatol": 1e-9}
    ).fun
    bound = float(np.exp(order_log_delta(epsilon, order - 1, gamma)))
    assert best > 0
    assert bound >= best * (1 - 1e-9)
    assert bound <= best * (1 + 1e-6)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(0, 1500), logs(-36, 2), logs(0.01, 20))
def test_where_one_point_is_the_worst(epsilon: float, log_gap: float, over: float) -> None:
    """1 - e^(epsilon - gamma), also where the two almost agree: rounded up."""
    gamma = epsilon + exp(log_gap)
    with mp.workdps(60):
        gap = mp.mpf(gamma) - mp.mpf(epsilon)
        if gap <= 0:
            return
        excess = float(1 / mp.expm1(gap)) * (1 + over)
        truth = mp.log(-mp.expm1(-gap))
        value = float(order_log_delta(epsilon, excess, gamma))
        assert value >= truth or float(np.exp(value)) >= np.sqrt(-np.expm1(-gamma))
        assert value <= truth + mp.mpf("1e-13") * (1 + epsilon) / gap + mp.mpf("1e-12")


# --- mechanisms whose curve is known ------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(logs(-12, 6), st.floats(-2, 30))
def test_never_below_the_gaussian(x: float, z: float) -> None:
    """The Gaussian mechanism with noise multiplier m is 1/(2 m^2)-zCDP."""
    mu = exp(x)
    epsilon = max(mu * mu / 2 + z * mu, 0.0)
    exact = AnalyticGaussian(noise_multiplier=1 / mu).log_delta(epsilon)
    assert float(ZeroConcentrated(rho=mu * mu / 2 * (1 + 1e-14)).log_delta(epsilon)) >= float(exact)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(logs(-8, 3), st.floats(0, 0.999))
def test_never_below_randomised_response(x: float, share: float) -> None:
    """An e-private mechanism is e^2/2-zCDP (Bun and Steinke 2016, Proposition 1.4)."""
    claim = exp(x)
    epsilon = share * claim
    truth = (np.exp(claim) - np.exp(epsilon)) / (1 + np.exp(claim))
    assert float(ZeroConcentrated(rho=claim * claim / 2).delta(epsilon)) >= truth * (1 - 1e-12)


# --- dp_accounting ------------------------------------------------------------------------------

ORDERS = (1.001, 1.01, 1.1, 1.5, 2, 3, 5, 10, 20, 64, 256)


@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.05, 0.5, 3.0, 50.0])
def test_never_above_dp_accounting(rho: float) -> None:
    from dp_accounting.rdp import rdp_privacy_accountant

    curve = [rho * order for order in ORDERS]
    ours = RenyiProfile(orders=ORDERS, values=tuple(curve))
    for epsilon in (0.0, 1e-3, 0.1, 1.0, 4.0, 20.0):
        theirs = rdp_privacy_accountant.compute_delta(ORDERS, curve, epsilon)[0]
        assert float(ours.delta(epsilon)) <= theirs * (1 + 1e-12) + 5e-324
    for delta in (1e-12, 1e-6, 1e-2):
        theirs = rdp_privacy_accountant.compute_epsilon(ORDERS, curve, delta)[0]
        assert float(ours.epsilon(delta)) <= theirs * (1 + 1e-9) + 1e-9


def test_best_conversion_is_below_what_dp_accounting_has() -> None:
    """At rho = 0.5, epsilon = 1 theirs is 0.25, the exact Gaussian curve 0.1269."""
    ours = RenyiProfile(orders=ORDERS, values=tuple(0.5 * order for order in ORDERS))
    assert float(ours.delta(1.0)) < 0.217


@pytest.mark.parametrize("rho", [1e-6, 0.01, 0.5, 20.0])
def test_all_real_orders_are_as_good_as_a_grid(rho: float) -> None:
    orders = tuple(1 + np.geomspace(1e-3, 1e4, 400))
    grid = RenyiProfile(orders=orders, values=tuple(rho * order for order in orders))
    epsilon = np.array([0.0, 0.1, 1.0, 5.0, 60.0])
    ours, theirs = ZeroConcentrated(rho=rho).log_delta(epsilon), grid.log_delta(epsilon)
    assert np.all(ours <= theirs + 5e-5)


# --- the faults of the field, ranges, monotonicity ----------------------------------------------


@pytest.mark.parametrize("rho", [0.0, 5e-324, 1e-300, 1e-12, 1.0, 1e6, 1e300, np.inf])
@pytest.mark.parametrize("offset", [0.0, 1e-300, 0.1, 1e5])
def test_fault_overflow_nan_and_negative_values(rho: float, offset: float) -> None:
    ours = ZeroConcentrated(rho=rho, offset=offset)
    epsilon = np.array([0, 5e-324, 1e-9, 1, 709, 710, 1462.3, 1500, 1e9, 1e300, np.inf])
    value = ours.log_delta(epsilon)
    assert not np.any(np.isnan(value))
    assert np.all(value <= 0)
    assert np.all((ours.delta(epsilon) >= 0) & (ours.delta(epsilon) <= 1))
    assert np.all(value[1:] <= value[:-1] + 1e-9)
    assert value[-1] == (0 if np.isinf(rho) else -np.inf)


def test_perfect_and_no_privacy() -> None:
    none, perfect = ZeroConcentrated(rho=np.inf), ZeroConcentrated(rho=0.0)
    assert np.all(perfect.log_delta([0.0, 1.0, np.inf]) == -np.inf)
    assert float(perfect.epsilon(0.0)) == 0
    assert np.all(none.delta([0.0, 1e3, np.inf]) == 1)
    assert float(none.epsilon(0.5)) == np.inf
    assert float(none.epsilon(1.0)) == 0
    assert float(classic_epsilon(0.0, rho=0.0)) == 0
    assert float(classic_epsilon(0.5, rho=np.inf)) == np.inf


def test_fault_delta_zero_is_infinite_and_ends() -> None:
    assert float(ZeroConcentrated(rho=1.0).epsilon(0.0)) == np.inf
    assert float(RenyiProfile(orders=(2,), values=(1.0,)).epsilon(0.0)) == np.inf
    assert float(classic_epsilon(0.0, rho=1.0)) == np.inf


def test_fault_large_epsilon_is_not_cut_at_709() -> None:
    assert float(ZeroConcentrated(rho=1000.0).epsilon(1e-6)) == pytest.approx(1231.88, abs=0.01)


def test_fault_epsilon_falls_with_delta() -> None:
    ours = ZeroConcentrated(rho=0.3)
    found = ours.epsilon(np.geomspace(1e-300, 0.5, 40))
    assert np.all(np.diff(found) <= 1e-9)
    assert np.all(found >= 0)


def test_unknown_orders() -> None:
    ours = RenyiProfile(orders=(2.0, 3.0), values=(np.inf, np.inf))
    assert np.all(ours.log_delta([0.0, 5.0, np.inf]) == 0)
    part = RenyiProfile(orders=(2.0, 3.0), values=(np.inf, 0.5))
    assert float(part.log_delta(3.0)) == float(
        RenyiProfile(orders=(3.0,), values=(0.5,)).log_delta(3.0)
    )
    only = RenyiProfile(orders=(1,), values=(0.02,))
    assert float(only.delta(0.0)) == pytest.approx(np.sqrt(-np.expm1(-0.02)))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(logs(-20, 10), st.floats(0, 30), st.floats(1, 3), st.floats(0, 2))
def test_monotone(x: float, z: float, factor: float, offset: float) -> None:
    rho = exp(x)
    epsilon = z * np.sqrt(rho)
    here = float(ZeroConcentrated(rho=rho).log_delta(epsilon))
    slack = 1e-4 + 1e-9 * abs(here)  # the search for w and the order stop there
    assert float(ZeroConcentrated(rho=rho * factor).log_delta(epsilon)) >= here - slack
    assert float(ZeroConcentrated(rho=rho).log_delta(epsilon * factor)) <= here + slack
    assert float(ZeroConcentrated(rho=rho, offset=offset).log_delta(epsilon)) >= here - slack


def test_shapes() -> None:
    ours = RenyiProfile(orders=(2.0, 8.0), values=(0.5, 2.0))
    for profile in (ours, ZeroConcentrated(rho=0.5)):
        assert profile.log_delta(1.0).shape == ()
        assert profile.log_delta([]).shape == (0,)
        assert profile.log_delta(np.ones((2, 3))).shape == (2, 3)
    assert classic_epsilon(np.full((2, 2), 0.1), rho=1.0).shape == (2, 2)


@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_refused(bad: float) -> None:
    for call in (
        lambda: ZeroConcentrated(rho=bad),
        lambda: ZeroConcentrated(rho=1.0, offset=bad),
        lambda: ZeroConcentrated(rho=1.0).log_delta(bad),
        lambda: ZeroConcentrated(rho=1.0).epsilon(bad),
        lambda: RenyiProfile(orders=(2.0,), values=(bad,)),
        lambda: RenyiProfile(orders=(bad,), values=(1.0,)),
        lambda: RenyiProfile(orders=(2.0, 3.0), values=(1.0,)),
        lambda: RenyiProfile(orders=(), values=()),
        lambda: classic_epsilon(0.1, rho=bad),
        lambda: classic_epsilon(1.5, rho=1.0),
    ):
        with pytest.raises(ParameterError):
            call()
