"""Range checks: one message, with the name, the value and what is allowed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from accountants import DpauditError, JointRelease, ParameterError, ranges

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (ranges.positive, [5e-324, 1, 1e308], [0, -1, NAN, INF, -INF]),
        (ranges.non_negative, [0, 5e-324, 1e308], [-1e-300, NAN, INF]),
        (ranges.open_unit, [5e-324, 0.5, np.nextafter(1, 0)], [0, 1, -0.5, 1.5, NAN, INF]),
        (ranges.positive_integer, [1, 2.0, 10**18], [0, -3, 1.5, True]),
    ],
)
def test_scalars(check: Callable[[str, Any], float], good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert check("x", value) == value
    for value in bad:
        with pytest.raises(ParameterError, match=r"^x = .*: .* is needed$") as raised:
            check("x", value)
        assert repr(value) in str(raised.value)
        assert "\n" not in str(raised.value)


def test_infinity_where_it_is_allowed() -> None:
    assert ranges.positive("x", INF, finite=False) == INF
    assert ranges.non_negative("x", INF, finite=False) == INF


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_no_integer_is_made_of_what_is_not_finite(value: float) -> None:
    with pytest.raises(ParameterError):
        ranges.positive_integer("x", value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, 1.5, 10**6 + 1, 10**16])
def test_no_threshold(value: float) -> None:
    """Beyond 2^52 the search over all sizes once found nothing, and said 0."""
    with pytest.raises(ParameterError, match="threshold"):
        ranges.release_threshold(value)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="threshold"):
        JointRelease(sampling_rate=0.3, threshold=value, shift=1.0)  # type: ignore[arg-type]


def test_the_largest_threshold() -> None:
    assert ranges.release_threshold(10**6) == 10**6


def test_arrays_keep_their_shape() -> None:
    assert ranges.epsilons(3).shape == ()
    assert ranges.epsilons([[0, 1.5], [INF, 2]]).shape == (2, 2)
    assert ranges.deltas([0, 1]).shape == (2,)
    assert ranges.deltas([]).shape == (0,)


@pytest.mark.parametrize("value", [-1e-300, NAN, [0.5, NAN], -INF])
def test_no_epsilon(value: object) -> None:
    with pytest.raises(ParameterError, match="numbers >= 0"):
        ranges.epsilons(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1e-300, NAN, [0.5, 1.5], np.nextafter(1, 2), INF])
def test_no_delta(value: object) -> None:
    with pytest.raises(ParameterError, match=r"numbers in \[0, 1\]"):
        ranges.deltas(value)  # type: ignore[arg-type]


def test_the_error_is_a_value_error_of_dpaudit() -> None:
    assert issubclass(ParameterError, ValueError)
    assert issubclass(ParameterError, DpauditError)
