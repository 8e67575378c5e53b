"""The binomial mass and its own error bound, against mpmath."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from accountants.binomial import log_pmf, log_upper_tail

probabilities = st.one_of(
    st.floats(1e-9, 1 - 1e-9),
    st.floats(-20, -0.01).map(np.exp),
    st.floats(-20, -0.01).map(lambda x: float(-np.expm1(x - 1e-3))),
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, int, float]:
    trials = draw(st.one_of(st.integers(1, 60), st.integers(1, 10**12)))
    p = draw(probabilities)
    spread = np.sqrt(trials * p * (1 - p))
    typical = st.floats(-8, 8).map(lambda z: int(np.clip(trials * p + z * spread, 0, trials)))
    low = st.integers(0, min(trials, 40))
    k = draw(st.one_of(st.integers(0, trials), typical, low, low.map(lambda j: trials - j)))
    return k, trials, p


def exact(k: int, trials: int, p: float) -> mp.mpf:
    q = mp.mpf(p)
    value = mp.loggamma(trials + 1) - mp.loggamma(k + 1) - mp.loggamma(trials - k + 1)
    return value + k * mp.log(q) + (trials - k) * mp.log(1 - q)


@settings(max_examples=1000)
@given(cases())
@example((16, 32, 0.5))
@example((500_000_000_000, 10**12, 0.5))
@example((10**12, 10**12, 1e-9))
@example((0, 10**12, 1 - 2**-53))
def test_within_its_error(case: tuple[int, int, float]) -> None:
    value, error = log_pmf(*case)
    with mp.workdps(60):
        assert abs(mp.mpf(float(value)) - exact(*case)) <= float(error)
    k, trials, p = case
    # relative to the deviance and the logarithm, and to the distance from the mean
    assert error <= 1e-13 * (1 + abs(float(value)) + abs(k - trials * p))


def test_matches_arb() -> None:
    from flint import arb, ctx

    ctx.prec = 200
    k, trials, p = 299_800, 10**6, 0.3
    ball = (
        (arb(trials + 1).lgamma() - arb(k + 1).lgamma() - arb(trials - k + 1).lgamma())
        + arb(k) * arb(p).log()
        + arb(trials - k) * (1 - arb(p)).log()
    )
    value, error = log_pmf(k, trials, p)
    assert bool(abs(ball - float(value)) < float(error))


def test_outside_and_edges() -> None:
    value, error = log_pmf([-1, 0, 3, 4], [3, 0, 3, 3], 0.25)
    assert value[0] == value[3] == -np.inf
    assert value[1] == 0
    assert value[2] == pytest.approx(3 * np.log(0.25))
    assert np.all(error >= 0)
    assert np.all(np.isfinite(error))


def test_broadcasts() -> None:
    value, error = log_pmf(np.arange(5)[:, None], np.array([4, 9])[None, :], 0.3)
    assert value.shape == error.shape == (5, 2)
    assert np.exp(value[:, 0]).sum() == pytest.approx(1)


@settings(max_examples=300)
@given(st.integers(1, 400), st.floats(0.01, 0.99), st.data())
def test_tail_is_a_bound(trials: int, p: float, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, trials + 1))
    bound = float(log_upper_tail(k, trials, p))
    masses: NDArray[np.float64] = log_pmf(np.arange(trials + 1), trials, p)[0]
    truth = float(np.exp(masses[k:]).sum())
    if k > trials:
        assert bound == -np.inf
        return
    if truth < 1e-290:
        return
    assert bound >= np.log(truth) - 1e-10
    if k >= trials * p + 1:
        ratio = (trials - k) * p / ((k + 1) * (1 - p))
        assert np.exp(bound) <= truth / (1 - ratio) * (1 + 1e-8)
