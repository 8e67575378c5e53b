"""From rate bounds to epsilon and delta: exact direction of rounding, overflow, the record."""

import json
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mpmath import mp, mpf

from accountants.errors import ParameterError
from dpaudit.estimators import EpsilonEstimate, RateBounds, delta_lower, epsilon_lower

RATES = st.floats(0, 1) | st.floats(-300, 0).map(lambda power: 10.0**power)


@given(RATES, RATES, RATES)
@example(1.0, 5e-324, 0.0)
@example(1.0, 1.0, 0.0)
@example(0.5, 0.5, 0.0)
@example(0.3, 0.2, 0.3)
@example(0.5000000000000001, 0.5, 0.0)
def test_epsilon_is_rounded_down_and_close(tpr, fpr, delta):
    value = epsilon_lower(tpr, fpr, delta=delta)
    if tpr <= delta:
        assert value == 0.0
    elif fpr == 0.0:
        assert value == math.inf
    else:
        with mp.workdps(50):
            gap = mpf(tpr) - mpf(delta)
            exact = mp.log(gap / mpf(fpr))
            assert value <= max(exact, 0)
            # Taking delta away costs up to one unit in the last place of the gap.
            assert value >= exact - mpf(1e-11) or gap < mpf(1e-5) * mpf(delta)


@given(RATES, RATES, st.floats(0, 1500))
@example(1.0, 1e-300, 690.0)
@example(1.0, 5e-324, 744.4)
@example(1.0, 5e-324, 1500.0)
@example(0.5, 0.0, 1500.0)
@example(0.5, 0.5, 0.0)
def test_delta_is_rounded_down_and_close(tpr, fpr, epsilon):
    value = delta_lower(tpr, fpr, epsilon=epsilon)
    with mp.workdps(50):
        exact = mpf(tpr) - mp.exp(mpf(epsilon)) * mpf(fpr)
        assert value <= max(exact, 0)
        assert value >= exact - mpf(1e-11) * mpf(tpr) - mpf(5e-324)


def test_infinite_epsilon():
    assert delta_lower(0.5, 0.0, epsilon=math.inf) == 0.5
    assert delta_lower(0.5, 1e-300, epsilon=math.inf) == 0.0


def test_vectorised():
    value = epsilon_lower([0.5, 0.9], [[0.1], [0.01]], delta=0.0)
    assert value.shape == (2, 2)
    assert value[1, 0] == pytest.approx(math.log(50))
    curve = delta_lower(0.5, 0.001, epsilon=np.array([0.0, 1.0, 800.0]))
    np.testing.assert_allclose(curve, [0.499, 0.5 - 0.001 * math.e, 0.0])


@given(RATES, RATES, st.floats(0, 1), st.floats(0, 1))
def test_epsilon_falls_with_delta(tpr, fpr, first, second):
    small, large = sorted((first, second))
    assert epsilon_lower(tpr, fpr, delta=small) >= epsilon_lower(tpr, fpr, delta=large)


@pytest.mark.parametrize("bad", [math.nan, -0.1, 1.1, math.inf, "1", None])
def test_refusals(bad):
    for arguments in ((bad, 0.1, 0.1), (0.1, bad, 0.1), (0.1, 0.1, bad)):
        with pytest.raises(ParameterError):
            epsilon_lower(arguments[0], arguments[1], delta=arguments[2])
    with pytest.raises(ParameterError, match="tpr_lower"):
        delta_lower(bad, 0.1, epsilon=1.0)
    with pytest.raises(ParameterError, match="fpr_upper"):
        delta_lower(0.1, bad, epsilon=1.0)


@pytest.mark.parametrize("bad", [math.nan, -0.1, "1", None])
def test_delta_refuses_a_bad_epsilon(bad):
    with pytest.raises(ParameterError, match="epsilon"):
        delta_lower(0.5, 0.1, epsilon=bad)


def bounds(**changes):
    """Return an ordinary record, with some fields changed."""
    fields = {
        "direction": "add",
        "threshold": 2.5,
        "true_positives": 40,
        "false_positives": 1,
        "trials_in": 100,
        "trials_out": 200,
        "tail": 0.005,
    }
    return RateBounds.from_counts(**{**fields, **changes})


def test_estimate_reads_as_one_sentence():
    estimate = bounds().epsilon(delta=1e-6)
    text = str(estimate)
    assert text.endswith("positives).")
    assert "\n" not in text
    assert "at delta = 1e-06, with error at most 0.01 (direction add, score >= 2.5" in text
    assert "40 of 100 true and 1 of 200 false positives" in text
    shown = float(text.split()[2])
    assert shown <= estimate.epsilon < shown + 1e-3
    removed = str(bounds(direction="remove").epsilon(delta=1e-6))
    assert "score <= 2.5: 40 of 200 true and 1 of 100 false positives" in removed


def test_delta_estimate_reads_as_one_sentence():
    estimate = bounds().delta(epsilon=1.0)
    assert estimate.quantity == "delta"
    assert str(estimate).startswith("delta >= 0.")
    assert "at epsilon = 1, with error" in str(estimate)


def test_nothing_shown_has_a_reason():
    for estimate in (bounds().epsilon(delta=0.9), bounds().delta(epsilon=30.0)):
        assert "does not exceed" in estimate.reason
        assert "nothing shown" in str(estimate)
    assert bounds().epsilon(delta=0.9).epsilon == 0.0
    assert bounds().delta(epsilon=30.0).delta == 0.0


def test_directions_swap_the_sides():
    added = bounds(trials_in=100, trials_out=200)
    removed = bounds(direction="remove", trials_in=200, trials_out=100)
    assert added.tpr_lower == removed.tpr_lower
    assert added.fpr_upper == removed.fpr_upper


def test_to_dict_is_strict_json():
    estimate = bounds(threshold=-math.inf).epsilon(delta=0.0)
    plain = json.loads(json.dumps(estimate.to_dict(), allow_nan=False))
    assert plain["threshold"] == "-inf"
    assert plain["error"] == 0.01
    assert plain["epsilon"] == estimate.epsilon
    assert set(EpsilonEstimate.__dataclass_fields__) <= set(plain)


def test_record_refuses_bad_fields():
    with pytest.raises(ParameterError, match="direction = 'both'"):
        bounds(direction="both")
    with pytest.raises(ParameterError, match="at most the number of trials"):
        bounds(true_positives=101)
    with pytest.raises(ParameterError, match="tail"):
        bounds(tail=0.0)
    with pytest.raises(ParameterError, match="delta"):
        bounds().epsilon(delta=math.nan)
    with pytest.raises(ParameterError, match="epsilon"):
        bounds().delta(epsilon=-1.0)
