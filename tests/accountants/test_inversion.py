"""The searches return points at which the bound was seen to hold."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountants import ParameterError
from accountants.inversion import (
    falling_certified,
    falling_root,
    smallest_epsilon,
    smallest_scale,
)


def curve(shape: str, crossing: float) -> Callable[[float], float]:
    """Return a falling function that crosses zero at ``crossing`` > 0."""
    match shape:
        case "line":
            return lambda x: crossing - x
        case "parabola":
            return lambda x: crossing**2 - x * x if x < np.inf else -np.inf
        case "flat":
            return lambda x: float(np.exp(-x / crossing) - np.exp(-1.0))
        case "steep":
            return lambda x: float(1e6 * (crossing - x))
        case "step":
            return lambda x: 1.0 if x < crossing else -1.0
        case _:
            return lambda x: np.inf if x < crossing else -np.inf


shapes = st.sampled_from(["line", "parabola", "flat", "steep", "step", "infinite"])


@given(shapes, st.floats(0.01, 9.9))
def test_falling_root(shape: str, crossing: float) -> None:
    function = curve(shape, crossing)
    found = falling_root(
        function,
        0.0,
        10.0,
        value_low=function(0.0),
        value_high=function(10.0),
        tolerance=lambda _: 1e-9,
    )
    assert function(found) <= 1e-15  # ln of the target is rounded
    assert found == pytest.approx(crossing, abs=2e-9)


@given(shapes, st.floats(0.01, 1e4))
def test_smallest_epsilon(shape: str, crossing: float) -> None:
    function = curve(shape, crossing)
    found = float(smallest_epsilon(lambda e: function(e) - 1.0, np.exp(-1.0), relative=1e-9))
    assert function(found) <= 1e-15  # ln of the target is rounded
    assert found == pytest.approx(crossing, rel=1e-6, abs=1e-11)


def test_smallest_epsilon_ends() -> None:
    assert smallest_epsilon(lambda e: -e, 1.0) == 0
    assert smallest_epsilon(lambda e: -1.0, 0.1) == np.inf
    assert smallest_epsilon(lambda e: -e, 0.0) == np.inf  # exactly 0 only at infinity
    assert smallest_epsilon(lambda e: -np.inf if e >= 3 else 0.0, 0.0) == pytest.approx(3)
    assert smallest_epsilon(lambda e: -e, [[0.5, 0.1], [1.0, 0.0]]).shape == (2, 2)
    with pytest.raises(ParameterError):
        smallest_epsilon(lambda e: -e, 1.5)


def _above(log_needed: float, scale: float) -> float:
    return log_needed - float(np.log(scale))


@given(st.floats(-25, 25), st.sampled_from([0.3, 1.0, 2.0, 40.0]))
def test_smallest_scale(log_scale: float, power: float) -> None:
    scale = float(np.exp(log_scale))
    found = smallest_scale(lambda s: -power * np.log(s / scale), 0.0)
    assert -power * np.log(found / scale) <= 0
    assert found == pytest.approx(scale, rel=1e-9)


def test_smallest_scale_ends() -> None:
    assert smallest_scale(lambda s: 1.0, 0.0) == np.inf
    for needed in (1e-14, 1e-15, 1e-16, 1e-300):
        log_needed = float(np.log(needed))
        found = smallest_scale(partial(_above, log_needed), 0.0)
        assert needed <= found <= max(1e-4, 10 * needed)


@given(shapes, st.floats(0.05, 100), st.floats(-0.3, 0.3))
def test_falling_certified(shape: str, crossing: float, apart: float) -> None:
    """The certified function counts, even where the estimate crosses elsewhere."""
    truth = curve(shape, crossing)
    found = falling_certified(
        curve(shape, crossing * (1 + apart)),
        truth,
        low=0.0,
        high=1.0,
        limit=1e4,
        tolerance=lambda x: 1e-6 * max(0.1, x),
    )
    assert truth(found) <= 0
    if shape == "line":
        assert found <= crossing + 0.01


def test_falling_certified_without_an_answer() -> None:
    options = {"low": 0.0, "high": 1.0, "limit": 100.0, "tolerance": lambda _: 1e-6}
    assert falling_certified(lambda x: 1.0, lambda x: 1.0, **options) == np.inf  # type: ignore[arg-type]
    assert falling_certified(lambda x: -1.0, lambda x: 1.0, **options) == np.inf  # type: ignore[arg-type]
    assert falling_certified(lambda x: -1.0, lambda x: -1.0, **options) == 0  # type: ignore[arg-type]
