"""Dummy tags: costs, calibration and Monte Carlo."""

import time

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from accountants import ParameterError
from accountants.dummy_tags import DummyTags, calibrate_dummies
from tests.accountants.dummy_tags_cases import rates

# --- costs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decay", "shift", "tau"), [(1.747, 9, 20), (0.01, 40, 6), (0.3, 15, 3), (3.0, 2, 2)]
)
def test_messages_bound(decay: float, shift: int, tau: int) -> None:
    dummies = DummyTags(decay=decay, shift=shift, threshold=tau)
    law = dummies.noise.pmf(np.arange(2 * shift + 1))
    total = np.ones(1)
    for j in range(1, tau):  # exact law of the number of messages
        spread = np.zeros(2 * shift * j + 1)
        spread[::j] = law
        total = np.convolve(total, spread)
    messages = np.arange(len(total))
    assert total @ messages == pytest.approx(dummies.expected_messages, rel=1e-9)
    variance = total @ (messages - dummies.expected_messages) ** 2
    assert variance == pytest.approx(dummies.messages_variance, rel=1e-9)
    for failure in (0.5, 1e-2, 1e-6):
        bound = dummies.messages_bound(failure)
        assert total[bound + 1 :].sum() <= failure
        assert bound <= dummies.max_messages
        if failure == 1e-6 and tau == 20:
            assert bound < dummies.expected_messages + 8 * np.sqrt(variance)
    assert DummyTags(decay=decay, shift=0, threshold=tau).messages_bound(0.1) == 0
    assert DummyTags(decay=decay, shift=shift, threshold=1).messages_bound(0.1) == 0
    assert dummies.messages_bound(1e-300) <= dummies.max_messages


# --- calibration ----------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(0, 8),
    st.floats(np.log(1e-30), np.log(0.5)).map(lambda x: float(np.exp(x))),
    st.floats(1e-3, 1.0),
    st.sampled_from([2, 3, 20]),
)
@example(0.0, 0.01, 1.0, 20)
@example(0.05, 0.2, 1.0, 3)
@example(2.0, 1e-6, 0.2, 20)
def test_no_fewer_dummies_are_enough(epsilon: float, delta: float, p: float, tau: int) -> None:
    assume(epsilon > 0.05 or delta > 2e-4)  # else more dummies than this can try
    found = calibrate_dummies(epsilon=epsilon, delta=delta, sampling_rate=p, threshold=tau)
    assert found.delta(epsilon) <= delta
    if found.shift == 0:
        assert delta >= p
        return
    # a shift less, with the decay tried over all its range: an independent evaluation
    cells = 1 if tau == 2 else 2
    shift = found.shift - 1
    b = float(np.log1p(np.expm1(epsilon) / p))
    decay = np.concatenate(
        [np.geomspace(1e-12, 1e3, 4001), found.decay * np.linspace(0.5, 2, 2001), [b / cells]]
    )
    decay = decay[(decay >= 1e-12) & (decay <= 1e3)]
    r = np.exp(-decay)
    plus = sum((r**k for k in range(shift)), np.zeros_like(r))
    total = r**shift + (1 + r) * plus
    end, plus = r**shift / total, plus / total
    excess = plus**cells * np.maximum(1 - np.exp(b - cells * decay), 0)
    excess = np.where(cells * decay > b * (1 + 1e-12), excess, 0)
    with np.errstate(divide="ignore"):
        curve = p * (-np.expm1(cells * np.log1p(-end)) + excess)
    assert curve.min() > delta * (1 - 1e-9)


def test_calibration_of_the_reference() -> None:
    found = calibrate_dummies(epsilon=2.0, delta=4.3e-8, sampling_rate=0.2, threshold=20)
    assert found.shift == 9
    assert found.expected_messages == 1710
    assert found.decay == pytest.approx(1.7474, abs=1e-4)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.one_of(st.sampled_from([0.0, 5e-324, 1e-300, 1500.0, 1e308, np.inf]), st.floats(0, 1500)),
    st.one_of(
        st.sampled_from([5e-324, 1e-300, 1 - 2**-53]),
        st.floats(np.log(1e-300), np.log(0.5)).map(lambda x: float(np.exp(x))),
    ),
    rates,
    st.sampled_from([2, 20, 10**6]),
)
def test_fault_calibration_overshoots_or_takes_long(
    epsilon: float, delta: float, p: float, tau: int
) -> None:
    started = time.perf_counter()
    try:
        found = calibrate_dummies(epsilon=epsilon, delta=delta, sampling_rate=p, threshold=tau)
    except ParameterError:
        widest = DummyTags(
            decay=1e-12,
            shift=10**9,
            threshold=tau,
            sampling_rate=p,
            cells=1 if tau == 2 else 2,
        )
        assert widest.delta(epsilon) > delta
    else:
        assert found.delta(epsilon) <= delta
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": -1.0},
        {"epsilon": np.nan},
        {"delta": 0.0},
        {"delta": 1.0},
        {"delta": np.nan},
        {"sampling_rate": 0.0},
        {"sampling_rate": 1.1},
        {"threshold": 1},
        {"threshold": 10**6 + 1},
    ],
)
def test_ranges_of_the_calibration(wrong: dict[str, float]) -> None:
    given_ = {"epsilon": 1.0, "delta": 1e-6, "sampling_rate": 0.5, "threshold": 20, **wrong}
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))} = "):
        calibrate_dummies(**given_)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        {"decay": 0.0},
        {"shift": -1},
        {"threshold": 0},
        {"sampling_rate": 0.0},
        {"cells": 3},
        {"cells": 0},
    ],
)
def test_ranges(wrong: dict[str, float]) -> None:
    given_ = {"decay": 1.0, "shift": 9, "threshold": 20, **wrong}
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))} = "):
        DummyTags(**given_)  # type: ignore[arg-type]
    dummies = DummyTags(decay=1.0, shift=9, threshold=20)
    with pytest.raises(ParameterError, match="log_ratio"):
        dummies.log_curve(np.nan)
    with pytest.raises(ParameterError, match="cells"):
        dummies.log_curve(0.0, cells=3)
    with pytest.raises(ParameterError, match="epsilon"):
        dummies.log_delta(-1.0)
    with pytest.raises(ParameterError, match="failure_probability"):
        dummies.messages_bound(0.0)
    with pytest.raises(ParameterError, match="message_bytes"):
        dummies.expected_bytes(-1)


# --- Monte Carlo ----------------------------------------------------------------------------------


def test_monte_carlo_is_not_above_the_bound() -> None:
    decay, shift, p = 0.6, 3, 0.5
    dummies = DummyTags(decay=decay, shift=shift, threshold=6, sampling_rate=p)
    size = 200_000
    source = np.random.default_rng(23).bytes
    drawn = dummies.noise.sample(4 * size, random_bytes=source).reshape(4, size)
    coin = np.random.default_rng(24).random(size) < p
    present = drawn[0] - coin, drawn[1] + coin  # relative to the counts without the record
    absent = drawn[2], drawn[3]

    def loss(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Log ratio of moved to not moved, infinite where only one can be."""
        value = decay * (
            np.abs(first - shift)
            - np.abs(first + 1 - shift)
            + np.abs(second - shift)
            - np.abs(second - 1 - shift)
        )
        value = np.where((first < 0) | (second > 2 * shift), np.inf, value)
        return np.where((first == 2 * shift) | (second == 0), -np.inf, value)

    width = np.sqrt(np.log(2e7) / (2 * size))  # Hoeffding: a chance of 1e-7 for each of the 4
    for epsilon in (0.0, 0.4):
        ratio = 1 + np.expm1(epsilon) / p
        seen = np.mean(loss(*present) > np.log(ratio)), np.mean(loss(*absent) > np.log(ratio))
        gap = seen[0] - np.exp(epsilon) * seen[1]
        room = width * (1 + np.exp(epsilon))
        assert gap - room <= dummies.delta(epsilon)
        assert gap + room >= dummies.delta(epsilon)  # the event is the best one
