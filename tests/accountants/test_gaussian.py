"""The Gaussian hockey-stick in logarithms and the analytic Gaussian, against mpmath."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accountants import AnalyticGaussian, ParameterError
from accountants.gaussian import exp_up, log_hockey_stick
from tests.accountants.oracles import hockey_stick

shifts = st.floats(-20, 9).map(lambda x: float(np.exp(x)))


@st.composite
def arguments(draw: st.DrawFn) -> tuple[float, float]:
    """Draw (b, mu) whose divergence has a logarithm above about -1e8."""
    mu = draw(shifts)
    # b = mu x1 + mu^2/2, x1 where the first term of the divergence is evaluated
    x1 = draw(st.one_of(st.floats(-40, 40), st.floats(-20, 9).map(lambda x: float(np.exp(x)))))
    return draw(
        st.one_of(
            st.just(mu * x1 + mu * mu / 2),
            st.floats(-8, 8).map(lambda z: z * mu),
            st.just(-mu * mu / 2 + mu * min(x1, 40.0)),
        )
    ), mu


def logarithm(b: float, mu: float) -> mp.mpf:
    with mp.workprec(400):
        value = hockey_stick(mp.mpf(b), mp.mpf(mu))
        assert value > 0
        return mp.log(value)


@settings(max_examples=600)
@given(arguments())
@example((0.0, 1e-9))
@example((50.0, 6.4))
@example((600.0, 0.5))
@example((-30.0, 1e-6))
@example((2.5e-4, 1e-8))
def test_upper_bound_and_close(case: tuple[float, float]) -> None:
    b, mu = case
    value = float(log_hockey_stick(b, mu))
    truth = logarithm(b, mu)
    assert value >= truth
    # the divergence cancels like mu where mu is small; x1 carries a rounding of mu where large
    room = 1e-12 * (1 + abs(float(truth))) * (1 + 1 / mu) * (1 + mu)
    assert value <= truth + room


def test_below_every_double() -> None:
    for b, mu, size in ((40.0, 0.5, -3000), (690.0, 1.0, -2e5), (2.0, 1e-4, -2e8)):
        value, truth = float(log_hockey_stick(b, mu)), float(logarithm(b, mu))
        assert truth < size
        assert truth <= value <= truth * (1 - 1e-11)
        assert exp_up(value) == 5e-324


@pytest.mark.parametrize(
    ("b", "mu", "expected"),
    [
        (-np.inf, 1.0, 0.0),
        (-np.inf, 0.0, 0.0),
        (-np.inf, np.inf, 0.0),
        (np.inf, 1.0, -np.inf),
        (np.inf, np.inf, -np.inf),
        (5.0, np.inf, 0.0),
        (1.0, 0.0, -np.inf),
        (0.0, 0.0, -np.inf),
        (-1.0, 0.0, np.log(-np.expm1(-1.0))),
    ],
)
def test_limits(b: float, mu: float, expected: float) -> None:
    assert float(log_hockey_stick(b, mu)) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("mu", [5e-324, 1e-310, 1e-300, 1e-160, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("b", [-1e9, -1.0, -1e-9, 0.0, 1e-9, 1.0, 1e9])
def test_extreme_shifts_are_numbers_and_bounds(b: float, mu: float) -> None:
    value = float(log_hockey_stick(b, mu))
    assert value <= 0
    least = np.log(-np.expm1(b)) if b < 0 else -np.inf  # the divergence at shift 0
    assert value >= least * (1 + 1e-15)
    if mu >= 1e150:
        assert value >= -1e-15
    if mu < 1 and b < 0:
        assert value == pytest.approx(least, abs=1e-3)


def test_shapes() -> None:
    assert log_hockey_stick(0.0, 1.0).shape == ()
    assert log_hockey_stick(np.zeros((3, 1)), np.ones(4)).shape == (3, 4)
    assert log_hockey_stick([], 1.0).shape == (0,)


@given(shifts, st.floats(-5, 5), st.floats(0, 3))
def test_monotone(mu: float, z: float, step: float) -> None:
    b = z * mu
    here = float(log_hockey_stick(b, mu))
    slack = 1e-11 * (1 + abs(here)) * (1 + 1 / mu)
    assert float(log_hockey_stick(b + step * mu, mu)) <= here + slack
    assert float(log_hockey_stick(b, mu * (1 + step))) >= here - slack


@pytest.mark.parametrize("log_value", [-1e9, -800.0, -745.2, -744.0, -700.0, -1e-17, 0.0])
def test_exp_up_rounds_up(log_value: float) -> None:
    value = float(exp_up(log_value))
    with mp.workdps(50):
        assert value >= mp.exp(mp.mpf(log_value))
    assert 0 < value <= 1
    assert float(exp_up(-np.inf)) == 0


# --- the analytic Gaussian ----------------------------------------------------------------------


def test_reference_calibration() -> None:
    assert AnalyticGaussian.calibrate(epsilon=50, delta=1e-6).noise_multiplier == pytest.approx(
        0.156593, abs=5e-7
    )


@settings(max_examples=200)
@given(st.floats(-5, 6), st.floats(0, 60))
def test_delta_against_mpmath(log_multiplier: float, epsilon: float) -> None:
    multiplier = float(np.exp(log_multiplier))
    mechanism = AnalyticGaussian(noise_multiplier=multiplier)
    with mp.workprec(400):
        exact = hockey_stick(mp.mpf(epsilon), 1 / mp.mpf(multiplier))
        assert mechanism.delta(epsilon) >= exact
        if exact > 1e-290:
            assert mechanism.delta(epsilon) <= exact * (1 + 1e-8) + 1e-14


@settings(max_examples=60)
@given(st.floats(-4, 4), st.floats(-60, -0.01))
def test_parity_with_dp_accounting(log_multiplier: float, log_delta: float) -> None:
    import dp_accounting

    multiplier, delta = float(np.exp(log_multiplier)), float(np.exp(log_delta))
    ours = float(AnalyticGaussian(noise_multiplier=multiplier).epsilon(delta))
    theirs = dp_accounting.get_epsilon_gaussian(multiplier, delta)
    assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-6)


@settings(max_examples=40)
@given(st.floats(0.01, 30), st.floats(-40, -1))
def test_calibration_parity_with_dp_accounting(epsilon: float, log_delta: float) -> None:
    import dp_accounting

    delta = float(np.exp(log_delta))
    ours = AnalyticGaussian.calibrate(epsilon=epsilon, delta=delta).noise_multiplier
    assert ours == pytest.approx(dp_accounting.get_sigma_gaussian(epsilon, delta), rel=1e-6)


@settings(max_examples=200)
@given(st.floats(0.01, 100), st.floats(-600, -1e-3))
@example(1e30, -10.0)
@example(1e12, -600.0)
@example(0.0, -20.0)
def test_calibration_never_overshoots(epsilon: float, log_delta: float) -> None:
    delta = float(np.exp(log_delta))
    found = AnalyticGaussian.calibrate(epsilon=epsilon, delta=delta)
    assert found.log_delta(epsilon) <= np.log(delta)
    if found.noise_multiplier > 1e-12:
        less = AnalyticGaussian(noise_multiplier=found.noise_multiplier * (1 - 1e-6))
        assert less.log_delta(epsilon) > np.log(delta) - 1e-6


@settings(max_examples=200)
@given(st.floats(-6, 3), st.floats(-690, 0))
def test_epsilon_is_enough_and_not_more(log_multiplier: float, log_delta: float) -> None:
    mechanism = AnalyticGaussian(noise_multiplier=float(np.exp(log_multiplier)))
    delta = float(np.exp(log_delta))
    epsilon = float(mechanism.epsilon(delta))
    assert mechanism.log_delta(epsilon) <= np.log(delta)
    if epsilon > 1e-2:
        assert mechanism.log_delta(epsilon * (1 - 1e-8) - 1e-10) > np.log(delta) - 1e-12


def test_ends() -> None:
    mechanism = AnalyticGaussian(noise_multiplier=1.0)
    assert mechanism.delta(np.inf) == 0
    assert mechanism.epsilon(0) == np.inf
    assert mechanism.epsilon(1) == 0
    assert mechanism.delta([[0.0, 1.0], [2.0, np.inf]]).shape == (2, 2)
    tiny = mechanism.epsilon(1e-300)
    assert np.isfinite(tiny)
    assert mechanism.delta(tiny) <= 1e-300 * (1 + 1e-12)


def test_no_noise_and_endless_noise() -> None:
    none, endless = AnalyticGaussian(noise_multiplier=0), AnalyticGaussian(noise_multiplier=np.inf)
    assert none.delta(3.0) == 1
    assert none.epsilon(0.5) == np.inf
    assert endless.delta(0.0) == 0
    assert endless.epsilon(1e-300) == 0


@pytest.mark.parametrize("value", [-1, np.nan, -np.inf])
def test_no_multiplier(value: float) -> None:
    with pytest.raises(ParameterError, match="noise_multiplier"):
        AnalyticGaussian(noise_multiplier=value)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(-1, 0.1), (np.inf, 0.1), (np.nan, 0.1), (1, 0), (1, 1), (1, np.nan), (0, 1e-100)],
)
def test_no_calibration(epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError):
        AnalyticGaussian.calibrate(epsilon=epsilon, delta=delta)
