"""From delta to epsilon over all bucket sizes: enough, not more, and the ends."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from accountants import JointRelease, ParameterError
from accountants.dummy_tags import DummyTags
from accountants.joint_terms import Direction, JointTerms
from accountants.noise_growth import NoiseGrowth
from accountants.size_search import Sizes, smallest_epsilon_over_sizes
from accountants.tag_padding import TagPadding

shifts = st.floats(-4, 2).map(lambda x: float(np.exp(x)))


def plain_maximum(
    epsilon: float, *, p: float, threshold: int, mu: float, first: int, last: int, **more: Any
) -> float:
    """Largest ln J over first..last, each size summed in full."""
    sizes = np.arange(first, last + 1)
    best = -np.inf
    ways: tuple[Direction, ...] = ("add", "remove")
    for direction in ways:
        if direction == "remove" and epsilon >= -np.log1p(-p):
            continue
        terms = JointTerms(
            sampling_rate=p,
            threshold=threshold,
            shifts=np.array([mu]),
            epsilon=epsilon,
            direction=direction,
            **more,
        )
        zero = np.zeros_like(sizes)
        own, _ = terms.evaluate(zero, sizes, zero, np.full(len(sizes), -400.0))
        best = max(best, float(own.max()))
    return best


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(0.25, 0.95),
    st.integers(1, 15),
    shifts,
    st.floats(-90, -0.7),
    st.sampled_from(["plain", "growth", "padding"]),
)
@example(0.9, 3, 0.5, -2.0, "padding")
@example(0.3, 1, 0.1, -1.3, "plain")
def test_epsilon_is_enough_and_not_more(
    p: float, threshold: int, mu: float, log_delta: float, kind: str
) -> None:
    """Against a plain maximum over all N up to where J has long been falling."""
    more: dict[str, Any] = {}
    if kind == "growth":
        more["growth"] = NoiseGrowth(threshold=threshold, most=threshold + 40)
    if kind == "padding":
        more["padding"] = TagPadding(
            dummies=DummyTags(decay=0.7, shift=6, threshold=max(threshold, 1))
        )
    delta = float(np.exp(log_delta))
    ours = JointRelease(sampling_rate=p, threshold=threshold, shift=mu, **more)
    found = float(ours.epsilon(delta))
    last = int(6 * threshold / p) + 40
    first = 0 if kind == "padding" else threshold - 1
    plain = partial(plain_maximum, p=p, threshold=threshold, mu=mu, first=first, last=last, **more)
    goal = float(np.log(delta))
    if np.isinf(found):
        assert plain(np.inf) > goal - 1e-6
        return
    assert plain(found) <= goal + 1e-12
    assert float(ours.log_delta(found)) <= goal + 1e-12  # the certified supremum holds there
    if found == 0:
        return
    # not more than 1e-6 relative beyond the true crossing, plus what 1e-6 in ln delta moves it
    early = found * (1 - 1e-6) - 1e-9
    if early <= 0:
        return
    if plain(early) <= goal - 1e-6:
        crossing = brentq(lambda e: plain(e) - goal, 0.0, found) if plain(0.0) > goal else 0.0
        raise AssertionError(f"{found} where {crossing} is enough")


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(0.02, 0.95), st.integers(1, 40), shifts, st.floats(-300, -0.1), st.floats(0, 9))
def test_falls_with_delta(
    p: float, threshold: int, mu: float, log_delta: float, apart: float
) -> None:
    ours = JointRelease(sampling_rate=p, threshold=threshold, shift=mu)
    low, high = ours.epsilon(np.exp([log_delta - apart, log_delta]))
    assert low >= high * (1 - 2e-6) - 1e-9


def test_fault_delta_below_the_infinity_mass_gives_inf() -> None:
    ours = JointRelease(sampling_rate=0.3, threshold=5, shift=0.5)
    mass = float(ours.delta(np.inf))
    assert ours.epsilon([mass * 0.999, 1e-300, 0.0]).tolist() == [np.inf] * 3
    assert np.isfinite(ours.epsilon(mass * 1.01))
    silent = JointRelease(sampling_rate=0.3, threshold=5, shift=0.5, others_max=3)
    assert silent.epsilon([0.0, 1e-300, 0.5, 1.0]).tolist() == [0.0] * 4


def test_fault_negative_epsilon_near_delta_one() -> None:
    ours = JointRelease(sampling_rate=0.3, threshold=5, shift=0.5)
    found = ours.epsilon([0.3, 0.5, 1 - 2**-53, 1.0])
    assert found.tolist() == [0.0] * 4
    for wrong in (-1e-300, 1.0000001, np.nan):
        with pytest.raises(ParameterError, match="^delta = "):
            ours.epsilon(wrong)


def test_shape_and_order_do_not_matter() -> None:
    ours = JointRelease(sampling_rate=0.3, threshold=12, shift=0.5)
    grid = np.array([[1e-3, 1e-9], [1e-6, 1e-4]])
    found = ours.epsilon(grid)
    assert found.shape == grid.shape
    assert found == pytest.approx(np.array([[ours.epsilon(d) for d in row] for row in grid]), 1e-6)


def test_sizes_that_were_missing_are_found() -> None:
    """The search starts at one size; made-up curves cross later at another one."""

    def curve(epsilon: float, size: int) -> float:
        return -epsilon * (1 + 9 / (1 + abs(size - 77))) + 0.1 * np.log1p(min(size, 200)) - 1

    def at_sizes(epsilon: float, way: Direction, sizes: Any, floor: float) -> Any:
        return np.array([curve(epsilon, s) for s in sizes]) - (0.5 if way == "remove" else 0.0)

    def certified(epsilon: float, at_least: float) -> tuple[float, dict[Direction, int]]:
        values = [curve(epsilon, s) for s in range(400)]
        top = int(np.argmax(values))
        return max(at_least, values[top] + 1e-7), {"add": top, "remove": top}

    sizes = Sizes(first=0, last=399, start=3, width=0.1)
    for delta in (1e-2, 1e-6, 1e-12):
        found = float(
            smallest_epsilon_over_sizes(at_sizes, certified, delta, sizes=sizes, unit=1.0)
        )
        worst = [max(curve(e, s) for s in range(400)) for e in (found, found * (1 - 2e-6))]
        assert worst[0] <= np.log(delta) < worst[1] + 2e-6
