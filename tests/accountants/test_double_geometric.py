"""The truncated double geometric mechanism: reference shifts, the definition, its readings."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accountants import ParameterError
from accountants.double_geometric import TruncatedDoubleGeometric, smallest_shift
from accountants.truncated_laplace import TruncatedLaplace


def masses(decay: mp.mpf, shift: int) -> list[mp.mpf]:
    weights = [mp.exp(-decay * abs(x - shift)) for x in range(2 * shift + 1)]
    total = mp.fsum(weights)
    return [w / total for w in weights]


def divergence(decay: mp.mpf, shift: int, change: int, epsilon: mp.mpf) -> mp.mpf:
    """Sum of [P - e^eps Q]_+ over all outcomes, one count ``change`` above the other."""
    law, ratio = masses(decay, shift), mp.exp(epsilon)
    zero = mp.mpf(0)

    def at(x: int) -> mp.mpf:
        return law[x] if 0 <= x < len(law) else zero

    return mp.fsum(max(at(y - change) - ratio * at(y), zero) for y in range(2 * shift + 1 + change))


def end_mass(decay: mp.mpf, shift: int, change: int) -> mp.mpf:
    return mp.fsum(masses(decay, shift)[:change])


REFERENCE = [
    (1, 0.5, 1e-6, 25),
    (1, 1.0, 1e-6, 14),
    (10, 0.1, 1e-8, 183),
    (1000, 0.01, 1e-8, 2773),
]
PEERS = [  # values of a public padding implementation
    (1, 0.1, 1e-6, 109),
    (1, 0.01, 1e-8, 1313),
    (10, 1.0, 1e-8, 28),
    (10, 0.01, 1e-6, 1087),
    (100, 1.0, 1e-6, 113),
    (100, 0.1, 1e-7, 254),
    (1000, 1.0, 1e-7, 1015),
    (1000, 0.1, 1e-8, 1177),
]


@pytest.mark.parametrize(("change", "decay", "delta", "shift"), REFERENCE + PEERS)
def test_reference_shifts(change: int, decay: float, delta: float, shift: int) -> None:
    assert smallest_shift(sensitivity=change, decay=decay, delta=delta) == shift


@pytest.mark.parametrize(("change", "decay", "delta", "shift"), REFERENCE)
def test_reference_shifts_work_and_the_ones_below_do_not(
    change: int, decay: float, delta: float, shift: int
) -> None:
    with mp.workdps(40):
        loss = mp.mpf(decay) * change
        works = divergence(mp.mpf(decay), shift, change, loss)
        fails = divergence(mp.mpf(decay), shift - 1, change, loss)
    assert works <= mp.mpf(delta) < fails
    law = TruncatedDoubleGeometric(decay=decay, shift=shift, sensitivity=change)
    assert works <= law.delta(law.largest_loss) <= delta


@pytest.mark.parametrize(("change", "decay", "delta", "shift"), REFERENCE[2:])
def test_the_decay_is_the_loss_of_one_unit(
    change: int, decay: float, delta: float, shift: int
) -> None:
    # with epsilon read as the loss of the whole change, these shifts do not give delta at all
    law = TruncatedDoubleGeometric(decay=decay, shift=shift, sensitivity=change)
    with mp.workdps(40):
        exact = divergence(mp.mpf(decay), shift, change, mp.mpf(decay))
    assert exact > 0.3
    assert law.delta(decay) == pytest.approx(float(exact), rel=1e-9)
    repaired = TruncatedDoubleGeometric.for_claim(epsilon=decay, delta=delta, sensitivity=change)
    assert repaired.delta(decay) <= delta
    assert repaired.shift > 8 * shift


@settings(max_examples=250, deadline=None, derandomize=True)
@given(
    st.floats(-6, 2).map(lambda x: float(np.exp(x))),
    st.integers(0, 12),
    st.integers(1, 27),
    st.one_of(st.just(0.0), st.floats(0, 1.1)),
)
@example(1e-12, 5, 3, 0.3)
@example(1e3, 5, 4, 0.4)
@example(0.5, 6, 13, 0.2)
@example(0.5, 6, 12, 0.2)
def test_curve_against_the_definition(decay: float, shift: int, change: int, share: float) -> None:
    epsilon = share * decay * change
    found = TruncatedDoubleGeometric(decay=decay, shift=shift, sensitivity=change).log_delta(
        epsilon
    )
    with mp.workdps(60):
        rate = mp.mpf(decay)
        exact = divergence(rate, shift, change, mp.mpf(epsilon))
        before = divergence(rate, shift, change, mp.mpf(epsilon) * (1 - mp.mpf(2) ** -47))
        assert (
            mp.log(exact) - mp.mpf(10) ** -50
            <= mp.mpf(float(found))
            <= mp.log(before) + mp.mpf(10) ** -9
        )


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(-5, 1).map(lambda x: float(np.exp(x))),
    st.integers(1, 60),
    st.integers(1, 40),
    st.floats(0, 20),
)
def test_monotone_in_each_parameter(decay: float, shift: int, change: int, epsilon: float) -> None:
    here = TruncatedDoubleGeometric(decay=decay, shift=shift, sensitivity=change)
    room = 1e-9
    base = float(here.log_delta(epsilon))
    more = TruncatedDoubleGeometric(decay=decay, shift=shift + 1, sensitivity=change)
    assert float(more.log_delta(epsilon)) <= base + room
    wider = TruncatedDoubleGeometric(decay=decay, shift=shift, sensitivity=change + 1)
    assert float(wider.log_delta(epsilon)) >= base - room
    assert float(here.log_delta(epsilon * 1.1 + 1e-3)) <= base + room


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(-4, 2).map(lambda x: float(np.exp(x))),
    st.integers(1, 25),
    st.floats(-40, -0.1).map(lambda x: float(np.exp(x))),
)
def test_smallest_shift_is_certified(decay: float, change: int, delta: float) -> None:
    shift = smallest_shift(sensitivity=change, decay=decay, delta=delta)
    with mp.workdps(40):
        if shift <= 3000:
            assert end_mass(mp.mpf(decay), shift, change) <= delta
            assert end_mass(mp.mpf(decay), shift - 1, change) > delta * (1 - 1e-9)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(np.log(1e-9), np.log(1500)).map(lambda x: float(np.exp(x))),
    st.floats(np.log(1e-300), np.log(0.5)).map(lambda x: float(np.exp(x))),
    st.sampled_from([1, 2, 10, 1000, 10**6]),
)
def test_claims_are_met_or_refused(epsilon: float, delta: float, change: int) -> None:
    try:
        law = TruncatedDoubleGeometric.for_claim(epsilon=epsilon, delta=delta, sensitivity=change)
    except ParameterError:
        steep = epsilon / change > 1e3 * (1 - 1e-9)
        flat = epsilon / change < 1e-5  # e^(-decay 1e9) is above 1e-300 below about 7e-7
        assert steep or flat
    else:
        assert law.delta(epsilon) <= delta
        assert law.largest_loss <= epsilon


def test_one_unit_is_one_cell_of_dummies() -> None:
    from accountants.dummy_tags import DummyTags

    count = TruncatedDoubleGeometric(decay=0.8, shift=7)
    cell = DummyTags(decay=0.8, shift=7, threshold=2, cells=1)
    grid = np.linspace(0, 3, 61)
    assert count.log_delta(grid) == pytest.approx(cell.log_delta(grid), rel=1e-12)


@pytest.mark.parametrize("decay", [1e-12, 1e-6, 1.0, 1e3])
@pytest.mark.parametrize("shift", [0, 1, 1000, 10**9])
@pytest.mark.parametrize("change", [1, 2, 1001, 10**9])
def test_fault_saturation_at_limits(decay: float, shift: int, change: int) -> None:
    law = TruncatedDoubleGeometric(decay=decay, shift=shift, sensitivity=change)
    grid = np.array([0.0, 1e-300, 1e-9, 1.0, 709.0, 710.0, 1500.0, 1e9, 1e308, np.inf])
    value = law.log_delta(grid)
    assert not np.isnan(value).any()
    assert (value <= 0).all()
    assert (np.diff(value) <= 1e-9).all()
    assert value.shape == grid.shape
    if change > 2 * shift:
        assert (value == 0).all()


def test_fault_delta_below_the_infinity_mass_gives_inf() -> None:
    law = TruncatedDoubleGeometric(decay=0.1, shift=183, sensitivity=10)
    least = float(law.delta(np.inf))
    assert np.isinf(law.epsilon([least * 0.999, 0.0])).all()
    assert float(law.epsilon(least * 1.001)) <= law.largest_loss
    assert float(law.epsilon(1.0)) == 0


def test_fault_threshold_off_by_one() -> None:
    # the mass of Delta points, not of Delta - 1 or Delta + 1
    law = TruncatedLaplace(decay=0.1, shift=183)
    assert float(law.cdf(9)) <= 1e-8 < float(law.cdf(10))
    assert float(TruncatedLaplace(decay=0.1, shift=182).cdf(9)) > 1e-8
    assert smallest_shift(sensitivity=1, decay=1.0, delta=0.5) == 1
    # one third each at shift 1 and decay 0: delta 1/3 is reached, 1/4 is not
    assert smallest_shift(sensitivity=1, decay=1e-12, delta=1 / 3) == 1
    assert smallest_shift(sensitivity=1, decay=1e-12, delta=0.25) == 2


def test_monte_carlo_is_not_above_the_bound() -> None:
    law = TruncatedDoubleGeometric(decay=0.4, shift=6, sensitivity=3)
    size = 200_000
    noise = law.noise.sample(size, random_bytes=np.random.default_rng(17).bytes)
    other = law.noise.sample(size, random_bytes=np.random.default_rng(18).bytes)
    width = np.sqrt(np.log(4e7) / (2 * size))  # Hoeffding: a chance of 5e-8 each, 26 of them
    for epsilon in (0.0, 0.5):
        for cut in range(3, 16):
            high = np.mean(noise + 3 >= cut) - width
            low = np.mean(other >= cut) + width
            assert high - np.exp(epsilon) * low <= law.delta(epsilon)
            seen = np.mean(noise + 3 >= cut) - np.exp(epsilon) * np.mean(other >= cut)
            if cut == 8 and epsilon == 0:  # the best event is seen, too
                assert seen + 2 * width >= law.delta(epsilon) - 1e-3


@pytest.mark.parametrize(
    "wrong",
    [
        {"decay": 0.0, "shift": 1},
        {"decay": 1.0, "shift": -1},
        {"decay": 1.0, "shift": 1, "sensitivity": 0},
        {"decay": 1.0, "shift": 1, "sensitivity": 1.5},
        {"decay": 1.0, "shift": 1, "sensitivity": np.nan},
    ],
)
def test_ranges(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=r"(decay|shift|sensitivity) = "):
        TruncatedDoubleGeometric(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, np.nan])
def test_ranges_of_the_search(delta: float) -> None:
    with pytest.raises(ParameterError, match="delta = "):
        smallest_shift(sensitivity=1, decay=1.0, delta=delta)
    with pytest.raises(ParameterError, match="no shift up to"):
        smallest_shift(sensitivity=1, decay=1e-12, delta=1e-300)
    with pytest.raises(ParameterError, match="epsilon = "):
        TruncatedDoubleGeometric.for_claim(epsilon=0.0, delta=0.5, sensitivity=1)
