"""Noise that grows with the count: the stretch at many digits, the release itself, all sizes."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from accountants import FreE2TParameters, JointRelease, ParameterError, TightTotal
from accountants.joint_terms import JointTerms
from accountants.noise_growth import NoiseGrowth
from accountants.ranges import Floats
from tests.accountants.oracles import EPS_4, parameters

losses = st.one_of(st.just(0.0), st.floats(0, 0.999), st.floats(1e-12, 1e-3))
shifts = st.floats(-4, 2).map(lambda x: float(np.exp(x)))


# --- the stretch ----------------------------------------------------------------------------------


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.integers(1, 10**6), st.floats(0, 20), st.floats(0, 25), losses)
@example(30, 0.0, 0.0, 0.0)
@example(10**6, 0.0, 14.0, 0.5)
@example(3, 2.0, 0.0, 2 / 3)
@example(7, 2.0, 0.0, 1 - 2**-53)
def test_stretch_against_many_digits(
    threshold: int, most: float, count: float, loss: float
) -> None:
    growth = NoiseGrowth(threshold=threshold, most=int(threshold * np.exp(most)), loss=loss)
    counts = max(int(np.exp(count)), 1)
    found = float(growth.stretch(np.array([counts]))[0])
    with mp.workdps(60):
        lost = mp.mpf(loss)
        room = mp.mpf(min(counts, growth.most)) / threshold - lost
        if room <= 0:
            assert found == np.inf
            return
        exact = mp.sqrt((1 - lost) / room)
        assert found >= exact
        # close where the noise is not all but gone
        if room > mp.mpf(2) ** -40 * (1 + lost):
            assert found <= exact * (1 + mp.mpf(2) ** -10)
        if room > mp.mpf("1e-3"):
            assert found <= exact * (1 + mp.mpf(10) ** -11)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(1, 1000), st.integers(0, 10**6), losses)
def test_stretch_falls_with_the_count(threshold: int, more: int, loss: float) -> None:
    growth = NoiseGrowth(threshold=threshold, most=threshold + more, loss=loss)
    counts = np.unique(np.geomspace(1, 4 * (threshold + more), 200).astype(np.int64))
    factors = growth.stretch(counts)
    assert np.all(factors[counts >= threshold] <= 1 + 1e-9 / (1 - loss))
    assert np.all(factors[counts <= threshold] >= 1)
    finite = factors[np.isfinite(factors)]
    assert np.all(np.diff(finite) <= 1e-12)
    assert growth.stretch(np.array([2 * (threshold + more)])) == growth.stretch(
        np.array([threshold + more])
    )


# --- the release itself ---------------------------------------------------------------------------


def release(
    others: int, there: bool, *, p: float, threshold: int, distance: float, most: int, y: Floats
) -> tuple[float, Floats]:
    """Nothing's probability, and densities at (count, y): others at 0, noise variance n/tau."""
    nothing = float(binom.cdf(threshold - 1, others + there, p))
    rows = []
    for n in range(threshold, others + 2):
        noise = np.sqrt(min(n, most) / threshold)
        row = binom.pmf(n, others, p) * (1 - p * there) * norm.pdf(y, scale=noise)
        if there:
            row = row + p * binom.pmf(n - 1, others, p) * norm.pdf(y, distance, noise)
        rows.append(row)
    return nothing, np.array(rows).reshape(len(rows), len(y))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(0.05, 0.95),
    st.integers(1, 6),
    st.integers(0, 12),
    st.floats(0.05, 4),
    st.integers(0, 8),
    st.one_of(st.floats(0, 0.3), st.floats(0, 3)),
)
def test_attained_by_coinciding_records(
    p: float, threshold: int, others: int, distance: float, more: int, epsilon: float
) -> None:
    most = threshold + more
    reach = 9 * np.sqrt(most / threshold)
    y = np.linspace(-reach, reach + distance, 6001)
    step = y[1] - y[0]
    at = {"p": p, "threshold": threshold, "distance": distance, "most": most, "y": y}
    present = release(others, True, **at)  # type: ignore[arg-type]
    absent = release(others, False, **at)  # type: ignore[arg-type]
    growth = np.exp(epsilon)

    def divergence(a: tuple[float, Floats], b: tuple[float, Floats]) -> float:
        return (
            max(a[0] - growth * b[0], 0) + float(np.maximum(a[1] - growth * b[1], 0).sum()) * step
        )

    ours = JointRelease(
        sampling_rate=p,
        threshold=threshold,
        shift=distance,
        others=others,
        growth=NoiseGrowth(threshold=threshold, most=most),
    )
    add, remove = divergence(present, absent), divergence(absent, present)
    assert float(ours.delta_add(epsilon)) == pytest.approx(add, abs=1e-6)
    assert float(ours.delta_remove(epsilon)) == pytest.approx(remove, abs=1e-6)


# --- all sizes ------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(0.15, 0.95),
    st.integers(1, 12),
    shifts,
    st.integers(0, 40),
    losses,
    st.one_of(st.floats(0, 0.5), st.floats(0, 6)),
)
def test_supremum_against_every_size(
    p: float, threshold: int, mu: float, more: int, loss: float, epsilon: float
) -> None:
    growth = NoiseGrowth(threshold=threshold, most=threshold + more, loss=loss)
    found = float(
        JointRelease(sampling_rate=p, threshold=threshold, shift=mu, growth=growth).log_delta(
            epsilon
        )
    )
    sizes = np.arange(threshold - 1, int(6 * threshold / p) + 40)
    best = -np.inf
    for direction in ("add", "remove"):
        terms = JointTerms(
            sampling_rate=p,
            threshold=threshold,
            shifts=np.array([mu]),
            epsilon=epsilon,
            direction=direction,  # type: ignore[arg-type]
            growth=growth,
        )
        zero = np.zeros_like(sizes)
        best = max(
            best, float(terms.evaluate(zero, sizes, zero, np.full(len(sizes), -700.0))[0].max())
        )
    assert found >= best - 2e-9  # both are rounded up, not alike
    assert found <= best + 1e-6 or found < -300
    plain = JointRelease(sampling_rate=p, threshold=threshold, shift=mu)
    assert found <= float(plain.log_delta(epsilon)) + 1e-6 or found < -300


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(0.05, 0.95),
    st.integers(1, 12),
    shifts,
    losses,
    st.sampled_from(["add", "remove"]),
    st.floats(0, 0.999),
    st.integers(0, 60),
    st.sampled_from([1, 3, 30, 200]),
)
def test_a_block_of_sizes_is_bounded(
    p: float,
    threshold: int,
    mu: float,
    loss: float,
    direction: str,
    scale: float,
    others: int,
    width: int,
) -> None:
    terms = JointTerms(
        sampling_rate=p,
        threshold=threshold,
        shifts=np.array([mu]),
        epsilon=scale * -np.log1p(-p),
        direction=direction,  # type: ignore[arg-type]
        growth=NoiseGrowth(threshold=threshold, most=threshold + 50, loss=loss),
    )
    sizes = np.arange(others, others + width + 1)
    zero = np.zeros_like(sizes)
    floor = np.full(len(sizes), -700.0)
    own, _ = terms.evaluate(zero, sizes, zero, floor)
    _, wide = terms.evaluate(zero[:1], sizes[:1], np.array([width]), floor[:1])
    assert own.max() <= wide[0] + 1e-9 or own.max() < -300


def test_monotone_in_most_and_loss() -> None:
    at = {"sampling_rate": 0.3, "threshold": 10, "shift": 1.0, "others": 60}
    by_most = [
        float(JointRelease(growth=NoiseGrowth(threshold=10, most=m), **at).log_delta(1.0))  # type: ignore[arg-type]
        for m in (10, 12, 20, 100)
    ]
    assert by_most == sorted(by_most, reverse=True)
    plain = float(JointRelease(**at).log_delta(1.0))  # type: ignore[arg-type]
    assert by_most[0] == pytest.approx(plain, abs=1e-12)
    by_loss = [
        float(
            JointRelease(growth=NoiseGrowth(threshold=10, most=99, loss=x), **at).log_delta(1.0)  # type: ignore[arg-type]
        )
        for x in (0.9, 0.5, 0.1, 0.0)
    ]
    assert by_loss == sorted(by_loss)  # more is left at larger counts, per unit at the threshold


def test_total_with_growth() -> None:
    """Below the total without, above the one whose noise is as large at every count."""
    plain = FreE2TParameters(**parameters(EPS_4))
    grows = FreE2TParameters(
        **parameters(EPS_4), noise_growth=NoiseGrowth(threshold=30, most=10**6)
    )
    large = FreE2TParameters(**parameters(EPS_4, noise_std=EPS_4.noise_std * 100))
    values = [float(TightTotal(parameters=x).epsilon(1e-6)) for x in (large, grows, plain)]
    assert values == sorted(values)


# --- ranges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threshold", 0),
        ("threshold", 1.5),
        ("most", 4),
        ("most", np.nan),
        ("loss", 1.0),
        ("loss", -1e-9),
        ("loss", np.nan),
    ],
)
def test_ranges(name: str, value: float) -> None:
    good = {"threshold": 5, "most": 9, "loss": 0.1}
    with pytest.raises(ParameterError, match=f"^{name} = "):
        NoiseGrowth(**(good | {name: value}))  # type: ignore[arg-type]


def test_noise_stated_at_a_higher_count_is_refused() -> None:
    """Shifts that are stretched above 1 would break the chords of the u-free bound."""
    with pytest.raises(ParameterError, match=r"^noise_growth.threshold = 31: at most threshold"):
        FreE2TParameters(**parameters(EPS_4), noise_growth=NoiseGrowth(threshold=31, most=40))


def test_fault_saturation_at_limits() -> None:
    growth = NoiseGrowth(threshold=1, most=10**12, loss=1 - 2**-53)
    counts = np.array([1, 2, 10**6, 10**12, 2**52, 2**62])
    factors = growth.stretch(counts)
    assert not np.isnan(factors).any()
    assert np.all(factors >= 0)
    assert np.all(np.diff(factors[1:]) <= 0)
