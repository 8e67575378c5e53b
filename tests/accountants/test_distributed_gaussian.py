"""Kairouz, Liu and Steinke's bounds against enumerated sums, and the noise that is counted."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from accountants import AnalyticGaussian, ParameterError
from accountants.conditional_rounding import l1_sensitivity
from accountants.discrete_closeness import convolution_slack
from accountants.distributed_gaussian import (
    ORDERS,
    DistributedGaussian,
    broadcast_noise_std,
    log_step_sum,
)

Floats = NDArray[np.float64]


def mechanism(**changes: Any) -> DistributedGaussian:
    values: dict[str, Any] = {
        "contributors": 30,
        "bound": 1.2,
        "granularity": 2.0**-10,
        "local_noise_std": 2.136 / np.sqrt(30),
        "dimension": 1024,
        "rounding": "independent",
    }
    return DistributedGaussian(**(values | changes))


def units(scale: float, count: int, shift: int, **changes: Any) -> DistributedGaussian:
    """Granularity 1, one coordinate and a sensitivity of exactly ``shift`` after rounding."""
    values: dict[str, Any] = {
        "contributors": count,
        "bound": float(shift - 1),
        "granularity": 1.0,
        "local_noise_std": scale,
        "dimension": 1,
        "rounding": "shared dither",
    }
    return DistributedGaussian(**(values | changes))


def summed(scale: float, count: int) -> Floats:
    """Return the sum of ``count`` N_Z(0, scale^2), by convolution."""
    reach = int(30 * scale) + 6
    x = np.arange(-reach, reach + 1)
    one = np.exp(-x * x / (2 * scale * scale))
    one /= one.sum()
    total = one
    for _ in range(count - 1):
        total = np.convolve(total, one)
    return np.asarray(total)


def shifted(scale: float, count: int, by: int) -> tuple[Floats, Floats]:
    total, pad = summed(scale, count), np.zeros(by)
    return np.concatenate([pad, total]), np.concatenate([total, pad])


def renyi(p: Floats, q: Floats, order: float) -> float:
    """Divergence where both are positive enough for the terms to be exact."""
    core = (p > 1e-280) & (q > 1e-280)
    logs = order * np.log(p[core]) + (1 - order) * np.log(q[core])
    top = logs.max()
    return float((top + np.log(np.exp(logs - top).sum())) / (order - 1))


# --- tau ----------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(0.1, 4), st.integers(2, 300))
def test_step_sum_certified(scale: float, count: int) -> None:
    value = log_step_sum(local_scale=scale, contributors=count)
    with mp.workdps(40):
        k = 2 * mp.pi**2 * mp.mpf(scale) ** 2
        truth = mp.log(mp.fsum(mp.exp(-k * j / (j + 1)) for j in range(1, count)))
        assert truth <= value <= truth + mp.mpf("1e-10")


@pytest.mark.parametrize("scale", [0.05, 0.5, 1.0, 1.6, 3.0])
@pytest.mark.parametrize("count", [20_001, 20_002, 25_000, 10**7, 10**12])
def test_step_sum_for_many_contributors(scale: float, count: int) -> None:
    """A falling term: the sum from J + 1 on is at least the integral from J + 1 to n."""
    value = log_step_sum(local_scale=scale, contributors=count)
    k, first = 2 * np.pi**2 * scale**2, 20_000
    j = np.arange(1.0, first + 1)
    head = np.exp(-k * j / (j + 1)).sum()
    with mp.workdps(40):
        kk, a, b = mp.mpf(k), mp.mpf(first + 2), mp.mpf(count + 1)

        def primitive(y: Any) -> Any:
            return y * mp.exp(kk / y) - kk * mp.ei(kk / y)

        tail = mp.exp(-kk) * (primitive(b) - primitive(a)) if count > first + 1 else mp.mpf(0)
        least = mp.log(mp.mpf(head) * (1 - mp.mpf("1e-11")) + tail)
        most = mp.log(mp.mpf(head) + tail + mp.exp(-kk * (first + 1) / (first + 2)))
        assert least <= value <= most + mp.mpf("1e-6")


def test_tau_is_ten_times_the_sum() -> None:
    ours = units(0.8, 12, 3)
    direct = 10 * sum(np.exp(-2 * np.pi**2 * 0.64 * j / (j + 1)) for j in range(1, 12))
    assert ours.closeness == pytest.approx(direct, rel=1e-9)
    assert units(0.8, 1, 3).closeness == 0


# --- the divergences, at every order ------------------------------------------------------------


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.floats(0.5, 1.6), st.integers(1, 7), st.integers(1, 6), st.floats(-7, 3))
def test_divergences_of_the_enumerated_sum(
    scale: float, count: int, shift: int, log_excess: float
) -> None:
    """Each of the three terms, and the concentrated bound, at orders from 1.001 to 20.

    The order times the shift stays within the range that the enumeration reaches.
    """
    order = 1 + float(np.exp(log_excess))
    assume(order * shift <= 17 * scale * np.sqrt(count))
    p, q = shifted(scale, count, shift)
    truth = max(renyi(p, q, order), renyi(q, p, order))
    ours = units(scale, count, shift)
    tau, ratio = ours.closeness, ours.sensitivity / ours.total_noise_std
    l1 = l1_sensitivity(l2=ours.sensitivity, granularity=1.0, dimension=1) / ours.total_noise_std
    rounding = 1e-11 * (1 + 1 / (order - 1))
    assert truth <= order / 2 * ratio**2 + tau + rounding
    assert truth <= order / 2 * (ratio**2 + 2 * l1 * tau + tau**2) + rounding
    assert truth <= order / 2 * (ratio + tau) ** 2 + rounding
    lattice = 2 * convolution_slack(local_scale=scale, contributors=count)
    assert truth <= order / 2 * ratio**2 + lattice + rounding
    concentrated = min(np.sqrt(ratio**2 + 2 * tau), ratio + tau)
    assert truth <= order / 2 * concentrated**2 + rounding


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(0.5, 3), st.integers(1, 7), st.integers(1, 9), st.floats(0, 8))
def test_never_below_the_enumerated_sum(
    scale: float, count: int, shift: int, epsilon: float
) -> None:
    p, q = shifted(scale, count, shift)
    growth = np.exp(epsilon)
    truth = max(np.maximum(p - growth * q, 0).sum(), np.maximum(q - growth * p, 0).sum())
    ours = units(scale, count, shift)
    for profile in ours.branches.values():
        assert float(profile.delta(epsilon)) >= truth - 1e-14
    assert float(ours.direct().delta(epsilon)) >= truth - 1e-14


def test_monte_carlo_never_above_the_bound() -> None:
    """Two coordinates, 2e5 draws of each side; Hoeffding errs with probability below 1e-6."""
    generator = np.random.default_rng(3)
    scale, count, shift, epsilon, draws = 0.9, 5, 2, 0.7, 200_000
    x = np.arange(-20, 21)
    one = np.exp(-x * x / (2 * scale * scale))
    one /= one.sum()
    noise = generator.choice(x, p=one, size=(2, draws, count, 2)).sum(axis=2)
    variance = count * scale * scale
    score = (noise * shift).sum(axis=2)
    level = epsilon * variance + shift * shift
    hit = (score[0] + 2 * shift * shift > level).mean() - np.exp(epsilon) * (
        score[1] > level
    ).mean()
    room = (1 + np.exp(epsilon)) * np.sqrt(np.log(2e6) / (2 * draws))
    # sqrt(2) (shift - 1) + sqrt(2) after rounding: the pair above
    ours = units(scale, count, shift, bound=np.sqrt(2.0) * (shift - 1), dimension=2)
    assert hit - room <= float(ours.delta(epsilon))
    assert hit - room <= float(ours.direct().delta(epsilon))
    assert hit > 0.1


# --- Fre-E2T's configurations -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "count", "concentrated", "direct"),
    [
        (2.136, 30, 2.9061, 2.7105),
        (1.14, 50, 5.8630, 5.4907),
        (0.516, 60, 14.9271, 14.0703),
    ],
)
def test_published_configurations(
    noise: float, count: int, concentrated: float, direct: float
) -> None:
    ours = mechanism(contributors=count, local_noise_std=noise / np.sqrt(count))
    assert ours.sensitivity == pytest.approx(1.2625)
    assert float(ours.epsilon(1e-6)) == pytest.approx(concentrated, abs=1e-4)
    assert float(ours.direct().epsilon(1e-6)) == pytest.approx(direct, abs=1e-4)
    single = AnalyticGaussian(noise_multiplier=noise / ours.sensitivity)
    assert float(single.epsilon(1e-6)) <= float(ours.direct().epsilon(1e-6))


@pytest.mark.parametrize("exponent", [-7, -10, -13, -16])
@pytest.mark.parametrize("rounding", ["conditional", "independent", "shared dither"])
def test_direct_bound_is_below_the_concentrated_one(exponent: int, rounding: Any) -> None:
    for noise, count in ((2.136, 30), (1.14, 50), (0.516, 60)):
        ours = mechanism(
            contributors=count,
            local_noise_std=noise / np.sqrt(count),
            granularity=2.0**exponent,
            rounding=rounding,
        )
        assert float(ours.direct().delta(3.0)) < float(ours.delta(3.0))


# --- which branch wins --------------------------------------------------------------------------


def test_winner() -> None:
    """Without closeness all curves agree; with it, the lattice sum is the smallest constant."""
    assert mechanism().winner(1e-6) == "zcdp"
    rough = mechanism(
        granularity=2.0**-4,
        contributors=60,
        local_noise_std=0.516 / np.sqrt(60),
        rounding="conditional",
    )
    assert rough.closeness > 1e-4
    name = rough.winner(1e-6)
    assert name == "rdp, lattice"
    epsilons = {key: float(b.epsilon(1e-6)) for key, b in rough.branches.items()}
    assert epsilons["rdp, all orders"] < min(epsilons["zcdp"], epsilons["rdp"])
    assert float(rough.epsilon(1e-6)) == float(rough.branches[name].epsilon(1e-6))
    assert all(
        float(b.epsilon(1e-6)) >= float(rough.epsilon(1e-6)) for b in rough.branches.values()
    )


def test_orders_of_the_paper() -> None:
    assert ORDERS[0] == 2
    assert ORDERS[-2:] == (128, 256)
    assert len(ORDERS) == 128
    ours = mechanism()
    continuous = float(ours.branches["rdp, all orders"].epsilon(1e-6))
    at_orders = float(ours.branches["rdp"].epsilon(1e-6))
    assert continuous <= at_orders <= continuous * 1.001


# --- whose noise is counted ---------------------------------------------------------------------


def test_dropped_and_colluding_take_their_noise_away() -> None:
    full = mechanism()
    assert full.honest == 30
    fewer = mechanism(dropped=4, colluding=6)
    assert fewer.honest == 20
    assert fewer.total_noise_std == pytest.approx(full.total_noise_std * np.sqrt(20 / 30))
    same = mechanism(contributors=20)
    assert float(fewer.epsilon(1e-6)) == float(same.epsilon(1e-6))
    assert float(fewer.epsilon(1e-6)) > float(full.epsilon(1e-6))
    with pytest.raises(ParameterError, match="dropped \\+ colluding = 30"):
        mechanism(dropped=10, colluding=20)


def test_broadcast_count_keeps_the_noise_of_the_sum() -> None:
    found = []
    for count in (30, 300, 30_000):
        ours = DistributedGaussian.with_broadcast_count(
            total_noise_std=2.136,
            broadcast_count=count,
            bound=1.2,
            granularity=2.0**-10,
            dimension=1024,
        )
        assert ours.total_noise_std == pytest.approx(2.136)
        assert ours.local_noise_std == pytest.approx(
            broadcast_noise_std(total_noise_std=2.136, broadcast_count=count)
        )
        found.append(float(ours.epsilon(1e-6)))
    assert found == pytest.approx([2.9061] * 3, abs=1e-4)
    # a fixed share, sigma/sqrt(tau), lets the noise grow with the count instead
    assert mechanism(contributors=300).total_noise_std == pytest.approx(2.136 * np.sqrt(10))


def test_broadcast_count_with_dropouts() -> None:
    ours = DistributedGaussian.with_broadcast_count(
        total_noise_std=2.136,
        broadcast_count=40,
        bound=1.2,
        granularity=2.0**-10,
        dimension=1024,
        dropped=6,
        colluding=4,
    )
    assert ours.total_noise_std == pytest.approx(2.136 * np.sqrt(30 / 40))


def test_too_many_for_the_granularity() -> None:
    """One share has to be at least g/2: a count of at most (2 sigma/g)^2."""
    with pytest.raises(ParameterError, match="local_noise_std"):
        DistributedGaussian.with_broadcast_count(
            total_noise_std=1.0, broadcast_count=401, bound=1.0, granularity=0.1, dimension=4
        )


# --- the faults of the field, ranges, monotonicity ----------------------------------------------


def test_fault_noise_of_the_sum_given_to_each() -> None:
    """One contributor's noise in place of the sum's: epsilon would come out far too large."""
    assert float(mechanism(contributors=1).epsilon(1e-6)) > 4 * float(mechanism().epsilon(1e-6))


def test_fault_sensitivity_of_one_vector_for_a_replaced_pair() -> None:
    """Conditional rounding's norm for c = D misses what rounding adds twice."""
    values: dict[str, Any] = {"granularity": 2.0**-7}
    single = float(mechanism(**values, rounding="conditional").epsilon(1e-6))
    assert float(mechanism(**values).epsilon(1e-6)) > 1.4 * single


def test_fault_padding_ignored() -> None:
    assert mechanism(dimension=1024).sensitivity > mechanism(dimension=768).sensitivity


@pytest.mark.parametrize("scale", [0.5, 1.0, 30.0, 1e3, 1e90])
@pytest.mark.parametrize("count", [1, 1000, 10**12, 10**15])
@pytest.mark.parametrize("bound", [0.0, 1e-9, 1.0, 1e12])
def test_fault_overflow_nan_and_negative_values(scale: float, count: int, bound: float) -> None:
    ours = mechanism(
        granularity=1.0, local_noise_std=scale, contributors=count, bound=bound, dimension=16
    )
    epsilon = np.array([0, 5e-324, 1e-9, 1, 709, 710, 1500, 1e9, np.inf])
    value = ours.log_delta(epsilon)
    assert not np.any(np.isnan(value))
    assert np.all(value <= 0)
    assert np.all(value[1:] <= value[:-1] + 1e-9)
    assert np.all((ours.delta(epsilon) >= 0) & (ours.delta(epsilon) <= 1))
    assert value[-1] == -np.inf


def test_fault_delta_zero_is_infinite_and_ends() -> None:
    assert float(mechanism().epsilon(0.0)) == np.inf
    assert float(mechanism().epsilon(1.0)) == 0


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(0.5, 20),
    st.integers(2, 300),
    st.floats(0.1, 5),
    st.integers(1, 2000),
    st.floats(0.05, 20),
    st.floats(1, 3),
)
def test_monotone(
    scale: float, count: int, relative: float, dimension: int, epsilon: float, factor: float
) -> None:
    values: dict[str, Any] = {
        "granularity": 1.0,
        "local_noise_std": scale,
        "contributors": count,
        "bound": relative * scale * np.sqrt(count),
        "dimension": dimension,
    }

    def at(**changes: Any) -> float:
        return float(mechanism(**(values | changes)).branches["zcdp"].log_delta(epsilon))

    here = at()
    slack = 1e-4 + 1e-9 * abs(here)  # the conversion's search stops there
    assert at(bound=values["bound"] * factor) >= here - slack
    assert at(dimension=dimension + 5) >= here - slack
    assert at(dropped=1) >= here - slack or scale < 1.5
    assert at(local_noise_std=scale * factor) <= here + slack
    moved = mechanism(**values).branches["zcdp"].log_delta(epsilon * factor)
    assert float(moved) <= here + slack


REFUSED: dict[str, tuple[Any, ...]] = {
    "contributors": (0, 1.5, 10**16),
    "dropped": (-1,),
    "colluding": (30,),
    "bound": (-1.0, np.nan),
    "granularity": (0.0, np.inf),
    "local_noise_std": (0.0, 2.0**-12),
    "dimension": (0,),
    "rounding": ("nearest",),
}


@pytest.mark.parametrize(("name", "value"), [(k, v) for k, vs in REFUSED.items() for v in vs])
def test_refused(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=r"= .*needed"):
        mechanism(**{name: value})


def test_refused_elsewhere() -> None:
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ParameterError):
            broadcast_noise_std(total_noise_std=bad, broadcast_count=3)
    with pytest.raises(ParameterError):
        broadcast_noise_std(total_noise_std=1.0, broadcast_count=0)
    with pytest.raises(ParameterError):
        mechanism().winner(2.0)
    with pytest.raises(ParameterError):
        mechanism().log_delta(-1.0)
