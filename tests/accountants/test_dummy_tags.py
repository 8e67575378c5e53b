"""Dummy tags: the move by brute force, the coin, what is cheapest, and the field's faults."""

import itertools

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accountants.dummy_tags import DummyTags
from accountants.tag_padding import MoveCurve
from tests.accountants.dummy_tags_cases import rates

some_decays = st.floats(-5, 2).map(lambda x: float(np.exp(x)))
all_decays = st.floats(np.log(1e-12), np.log(1e3)).map(
    lambda x: float(np.clip(np.exp(x), 1e-12, 1e3))
)
all_shifts = st.one_of(st.integers(0, 40), st.floats(0, np.log(1e9)).map(lambda x: int(np.exp(x))))


def masses(decay: mp.mpf, shift: int) -> list[mp.mpf]:
    weights = [mp.exp(-decay * abs(x - shift)) for x in range(2 * shift + 1)]
    total = mp.fsum(weights)
    return [w / total for w in weights]


Law = dict[tuple[int, ...], mp.mpf]


def views(decay: mp.mpf, shift: int, cells: int) -> tuple[Law, Law]:
    """Laws of the padded counts, the record's tag moved or not: (2, 1) -> (1, 2), or 1 -> 2."""
    law = masses(decay, shift)
    moved: Law = {}
    still: Law = {}
    for dummies in itertools.product(range(2 * shift + 1), repeat=cells):
        mass = mp.mpf(1)
        for d in dummies:
            mass *= law[d]
        before = (2, 1) if cells == 2 else (1,)
        after = (1, 2) if cells == 2 else (2,)
        still[tuple(d + c for d, c in zip(dummies, before, strict=True))] = mass
        moved[tuple(d + c for d, c in zip(dummies, after, strict=True))] = mass
    return moved, still


def divergence(first: Law, second: Law, ratio: mp.mpf) -> mp.mpf:
    zero = mp.mpf(0)
    return mp.fsum(max(m - ratio * second.get(y, zero), zero) for y, m in first.items())


def with_coin(moved: Law, still: Law, p: mp.mpf) -> Law:
    zero = mp.mpf(0)
    return {
        y: (1 - p) * still.get(y, zero) + p * moved.get(y, zero)
        for y in moved.keys() | still.keys()
    }


def closed_form(decay: float, shift: int, cells: int, b: mp.mpf) -> mp.mpf:
    """Evaluate the statement of the proof page, at the precision in use."""
    r = mp.exp(-mp.mpf(decay))
    a = (1 - r) / (1 + r - 2 * r ** (shift + 1))
    end, plus = a * r**shift, a * (1 - r**shift) / (1 - r)
    minus = r * plus

    def excess(steps: int) -> mp.mpf:
        return max(-mp.expm1(b - steps * mp.mpf(decay)), 0)

    if cells == 1:
        return end + plus * excess(1) + minus * excess(-1)
    sides = plus**2 * excess(2) + minus**2 * excess(-2)
    return end * (2 - end) + sides + 2 * plus * minus * excess(0)


# --- reference values -----------------------------------------------------------------------------


def test_reference_values() -> None:
    read_per_cell = DummyTags(decay=2.0, shift=9, threshold=20, sampling_rate=0.2)
    assert float(read_per_cell.delta(2.0)) == pytest.approx(0.0615, abs=5e-5)
    halved = DummyTags(decay=1.747, shift=9, threshold=20, sampling_rate=0.2)
    epsilon, delta = halved.simple()
    assert epsilon == pytest.approx(2, abs=1e-3)
    assert delta == pytest.approx(4.2e-8, rel=0.01)
    assert float(halved.delta(2.0)) == pytest.approx(4.2e-8, rel=0.01)
    assert float(halved.epsilon(4.3e-8)) == pytest.approx(2, abs=1e-3)
    # the claim of one cell, (2, pi), which two cells do not keep
    one_cell = DummyTags(decay=2.0, shift=9, threshold=20, cells=1)
    assert float(one_cell.delta(2.0)) == pytest.approx(float(one_cell.noise.pmf(0)), rel=1e-9)
    assert float(one_cell.delta(2.0)) < 1.2e-8


def test_reference_costs() -> None:
    dummies = DummyTags(decay=1.747, shift=9, threshold=20)
    assert dummies.expected_messages == 1710
    assert dummies.max_messages == 3420
    assert dummies.expected_bytes(66.1) == pytest.approx(113_000, rel=1e-3)
    assert dummies.messages_variance == pytest.approx(0.51129 * 2470, rel=1e-4)


def test_is_a_move_curve() -> None:
    curve: MoveCurve = DummyTags(decay=1.0, shift=3, threshold=4)
    assert curve.log_curve(-np.inf) == 0


# --- the definition, by brute force ---------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(some_decays, st.integers(0, 3), st.sampled_from([1, 2]), st.floats(-2.2, 2.2))
@example(0.7, 2, 2, 2.0)
@example(0.7, 2, 2, -2.0)
@example(0.7, 2, 1, 1.0)
@example(0.7, 2, 2, 0.0)
def test_curve_against_the_definition(decay: float, shift: int, cells: int, share: float) -> None:
    b = share * decay
    dummies = DummyTags(decay=decay, shift=shift, threshold=5, cells=cells)
    found = mp.mpf(float(dummies.log_curve(b)))
    with mp.workdps(50):
        moved, still = views(mp.mpf(decay), shift, cells)
        exact = divergence(moved, still, mp.exp(mp.mpf(b)))
        back = divergence(still, moved, mp.exp(mp.mpf(b)))
        assert abs(exact - back) < mp.mpf(10) ** -45
        assert mp.log(exact) - mp.mpf(10) ** -40 <= found <= mp.log(exact) + mp.mpf(10) ** -9
    other = DummyTags(decay=decay, shift=shift, threshold=5, cells=3 - cells)
    assert float(other.log_curve(b, cells=cells)) == float(found)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    some_decays,
    st.integers(0, 3),
    st.sampled_from([1, 2]),
    st.one_of(st.just(1.0), st.floats(1e-6, 1 - 1e-6)),
    st.one_of(st.just(0.0), st.floats(0, 3), st.floats(0, 0.1)),
)
@example(0.7, 2, 2, 0.5, float(np.log(2)))
def test_both_directions_against_the_definition(
    decay: float, shift: int, cells: int, p: float, epsilon: float
) -> None:
    dummies = DummyTags(decay=decay, shift=shift, threshold=5, sampling_rate=p, cells=cells)
    added = mp.mpf(float(dummies.log_added(epsilon)))
    removed = float(dummies.log_removed(epsilon))
    with mp.workdps(50):
        moved, still = views(mp.mpf(decay), shift, cells)
        coin = with_coin(moved, still, mp.mpf(p))
        tiny = mp.mpf(10) ** -40
        up = divergence(coin, still, mp.exp(mp.mpf(epsilon)))
        before = divergence(coin, still, mp.exp(mp.mpf(epsilon) * (1 - mp.mpf(2) ** -44)))
        assert mp.log(up) - tiny <= added <= mp.log(before) + mp.mpf(10) ** -9
        down = divergence(still, coin, mp.exp(mp.mpf(epsilon)))
        assert down <= up + tiny
        room = mp.mpf(p) * mp.mpf(2) ** -45 + mp.mpf(10) ** -9 * down
        assert down - tiny <= mp.exp(mp.mpf(removed)) <= down + room
        assert removed <= added + mp.mpf(10) ** -9
    assert float(dummies.log_delta(epsilon)) == float(added)


def test_the_coin_of_the_others_does_not_matter() -> None:
    # the view of a bucket of three with the others' coins inside, against the bound
    decay, shift, p, tau = 0.9, 2, 0.4, 4
    dummies = DummyTags(decay=decay, shift=shift, threshold=tau, sampling_rate=p)
    with mp.workdps(30):
        law = masses(mp.mpf(decay), shift)
        rate = mp.mpf(p)
        totals: list[Law] = []
        for records in (2, 3):
            total: Law = {}
            for coins in itertools.product((0, 1), repeat=records):
                tag = sum(coins)
                weight = rate**tag * (1 - rate) ** (records - tag)
                for drawn in itertools.product(range(2 * shift + 1), repeat=tau - 1):
                    mass = weight
                    for d in drawn:
                        mass *= law[d]
                    view = tuple(d + (tag == j + 1) for j, d in enumerate(drawn))
                    total[view] = total.get(view, mp.mpf(0)) + mass
            totals.append(total)
        for epsilon in (0.0, 0.2, 0.5, 1.0, 1.5):
            bound = mp.mpf(float(dummies.delta(epsilon)))
            ratio = mp.exp(mp.mpf(epsilon))
            assert divergence(totals[1], totals[0], ratio) <= bound
            assert divergence(totals[0], totals[1], ratio) <= bound


# --- extreme ranges -------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None, derandomize=True)
@given(all_decays, all_shifts, st.sampled_from([1, 2]), st.floats(-3, 3))
@example(1e-12, 10**9, 2, 0.0)
@example(1e3, 10**9, 2, 2.0)
@example(1e3, 1, 2, 1.999)
def test_curve_against_many_digits(decay: float, shift: int, cells: int, share: float) -> None:
    b = share * decay
    found = mp.mpf(
        float(DummyTags(decay=decay, shift=shift, threshold=2).log_curve(b, cells=cells))
    )
    with mp.workdps(60):
        exact = mp.log(closed_form(decay, shift, cells, mp.mpf(b)))
        room = mp.mpf(10) ** -9 * max(1.0, decay * shift / 1e5)
        assert exact - mp.mpf(10) ** -35 <= found <= exact + room


@settings(max_examples=300, deadline=None, derandomize=True)
@given(all_decays, all_shifts, rates, st.one_of(st.just(0.0), st.floats(0, 1500), st.floats(0, 1)))
@example(1e-12, 1, 1e-300, 1e-300)
@example(1e3, 10**9, 1.0, 1500.0)
def test_profile_against_many_digits(decay: float, shift: int, p: float, epsilon: float) -> None:
    dummies = DummyTags(decay=decay, shift=shift, threshold=9, sampling_rate=p)
    found = mp.mpf(float(dummies.log_delta(epsilon)))
    with mp.workdps(400):
        rate = mp.mpf(p)

        def curve(eps: mp.mpf) -> mp.mpf:
            ratio = mp.log1p(mp.expm1(eps) / rate)
            return mp.log(rate * closed_form(decay, shift, 2, ratio))

        exact = curve(mp.mpf(epsilon))
        size = 1 + abs(mp.log(rate))
        before = curve(mp.mpf(epsilon) * (1 - mp.mpf(2) ** -46 * size))
        room = mp.mpf(10) ** -9 * max(1.0, decay * shift / 1e5)
        assert exact - mp.mpf(10) ** -300 <= found <= before + room


@settings(max_examples=200, deadline=None, derandomize=True)
@given(all_decays, all_shifts, rates, st.sampled_from([1, 2]))
@example(1e-12, 3, 5e-324, 2)
@example(1e3, 10**9, 5e-324, 2)
@example(1e3, 3, 1 - 2**-53, 2)
def test_simple_statements_are_on_the_curve(decay: float, shift: int, p: float, cells: int) -> None:
    dummies = DummyTags(decay=decay, shift=shift, threshold=9, sampling_rate=p, cells=cells)
    epsilon, delta = dummies.simple()
    assert dummies.delta(epsilon) <= delta
    with mp.workdps(400):
        rate, loss = mp.mpf(p), cells * mp.mpf(decay)
        exact = mp.log1p(rate * mp.expm1(loss))
        assert exact <= epsilon <= exact * (1 + mp.mpf(10) ** -11) + mp.mpf(10) ** -322
        r = mp.exp(-mp.mpf(decay))
        end = (1 - r) / (1 + r - 2 * r ** (shift + 1)) * r**shift
        assert rate * (1 - (1 - end) ** cells) * (1 - mp.mpf(10) ** -300) <= delta
        below = DummyTags(
            decay=decay, shift=shift, threshold=9, sampling_rate=p, cells=cells
        ).log_delta(epsilon / 2)
        assert float(below) >= float(dummies.log_delta(epsilon))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(some_decays, st.integers(1, 30), st.floats(1e-6, 0.99), st.floats(0, 20))
def test_monotone_in_each_parameter(decay: float, shift: int, p: float, epsilon: float) -> None:
    def value(**changes: float) -> float:
        given_ = {"decay": decay, "shift": shift, "threshold": 5, "sampling_rate": p, **changes}
        return float(DummyTags(**given_).log_delta(epsilon))  # type: ignore[arg-type]

    here, room = value(), 1e-9
    assert value(shift=shift + 1) <= here + room
    assert value(sampling_rate=min(1.0, p * 1.1)) >= here - room
    assert value(cells=1) <= here + room
    assert value(threshold=6) == here
    dummies = DummyTags(decay=decay, shift=shift, threshold=5, sampling_rate=p)
    assert float(dummies.log_delta(epsilon + 0.01)) <= here + room
    loss = float(np.log1p(np.expm1(min(epsilon, 600.0)) / p))
    if 2 * decay * 1.01 <= loss:  # below half the loss a larger decay is better, above a smaller
        assert value(decay=decay * 1.01) <= here + room
    elif 2 * decay >= loss and epsilon < 600:
        assert value(decay=decay * 1.01) >= here - room


@pytest.mark.parametrize("shift", [0, 1, 10**9])
@pytest.mark.parametrize("decay", [1e-12, 1.0, 1e3])
@pytest.mark.parametrize("p", [5e-324, 1e-9, 0.5, 1 - 2**-53, 1.0])
def test_fault_saturation_at_limits(decay: float, shift: int, p: float) -> None:
    dummies = DummyTags(decay=decay, shift=shift, threshold=10**6, sampling_rate=p)
    grid = np.array([0.0, 5e-324, 1e-300, 1e-9, 1.0, 709.0, 710.0, 1500.0, 1e9, 1e308, np.inf])
    for curve in (dummies.log_delta, dummies.log_added, dummies.log_removed, dummies.log_curve):
        value = curve(grid)
        assert value.shape == grid.shape
        assert not np.isnan(value).any()
        assert (value <= 0).all()
        with np.errstate(invalid="ignore"):
            assert not (np.diff(value) > 1e-9).any()
    assert (dummies.log_curve(-grid[1:]) <= 0).all()
    assert (dummies.delta(grid) >= 0).all()
    messages = dummies.max_messages
    assert messages == shift * 10**6 * (10**6 - 1)  # beyond 2^63 at the largest shift
    if shift == 0:
        assert np.exp(dummies.log_delta(grid)) == pytest.approx(np.full(grid.shape, p), rel=1e-9)


def test_fault_delta_below_the_infinity_mass_gives_inf() -> None:
    dummies = DummyTags(decay=1.0, shift=9, threshold=20, sampling_rate=0.2)
    epsilon, delta = dummies.simple()
    assert np.isinf(dummies.epsilon([delta * 0.999, 1e-300, 0.0])).all()
    assert float(dummies.epsilon(delta * 1.001)) <= epsilon
    assert dummies.epsilon([0.5, 1.0]).tolist() == [0.0, 0.0]
    grid = dummies.epsilon([1e-4, 1e-3, 1e-2])
    assert (np.diff(grid) < 0).all()
    assert (dummies.delta(grid) <= [1e-4, 1e-3, 1e-2]).all()


def test_fault_threshold_off_by_one() -> None:
    # cells 1..tau-1: brute sum of j t; and the support ends at 2t: pi is its last mass
    for tau in (1, 2, 3, 20):
        dummies = DummyTags(decay=1.0, shift=9, threshold=tau)
        assert dummies.expected_messages == sum(9 * j for j in range(1, tau))
    two = DummyTags(decay=1.0, shift=1, threshold=2, cells=1)
    r = np.exp(-1.0)
    assert float(two.delta(np.inf)) == pytest.approx(r / (1 + 2 * r), rel=1e-9)
