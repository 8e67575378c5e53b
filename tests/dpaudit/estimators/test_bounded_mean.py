"""Bounds on means: rarely on the wrong side, close, and at any scale."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from accountants.errors import ParameterError
from dpaudit.estimators.bounded_mean import log_mean_lower, mean_upper

LAWS = {
    "coin .1": (lambda rng, n: (rng.random(n) < 0.1) * 1.0, 0.1),
    "uniform": (lambda rng, n: rng.random(n), 0.5),
    "rare": (lambda rng, n: (rng.random(n) < 0.005) * 1.0, 0.005),
    "cubes": (lambda rng, n: rng.random(n) ** 3, 0.25),
    "constant": (lambda rng, n: np.full(n, 0.3), 0.3),
}
FALSE, RUNS = 0.2, 150
ALLOWED = binom.isf(1e-7, RUNS, FALSE) + 1


@pytest.mark.parametrize("law", LAWS)
def test_rarely_on_the_wrong_side(law: str) -> None:
    """At a tail of .2 in 150 runs; more failures than allowed have probability below 1e-6."""
    draw, mean = LAWS[law]
    rng = np.random.default_rng(0)
    low = high = 0
    for _ in range(RUNS):
        values = draw(rng, 200)
        with np.errstate(divide="ignore"):
            low += log_mean_lower(np.log(values), tail=FALSE) > math.log(mean)
        high += mean_upper(values, most=1.0, tail=FALSE) < mean
    assert max(low, high) <= ALLOWED


@pytest.mark.parametrize("law", LAWS)
def test_close(law: str) -> None:
    draw, mean = LAWS[law]
    values = draw(np.random.default_rng(1), 50_000)
    spread = 4 * np.std(values) / 50_000**0.5 + 1e-3 * mean + 3e-4
    with np.errstate(divide="ignore"):
        assert math.exp(log_mean_lower(np.log(values), tail=0.05)) > mean - spread
    assert mean_upper(values, most=1.0, tail=0.05) < mean + spread


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.floats(-700, 0), st.integers(0, 10**6))
def test_the_scale_does_not_matter(shift: float, seed: int) -> None:
    logs = np.log(np.random.default_rng(seed).random(300))
    there = log_mean_lower(logs + shift, tail=0.05)
    assert there == pytest.approx(log_mean_lower(logs, tail=0.05) + shift, abs=1e-6)


def test_ends() -> None:
    assert log_mean_lower([], tail=0.05) == -math.inf
    assert log_mean_lower(np.full(50, -np.inf), tail=0.05) == -math.inf
    assert log_mean_lower([0.0], tail=0.05) == -math.inf
    assert mean_upper([], most=0.5, tail=0.05) == 0.5
    assert mean_upper([0.1], most=0.5, tail=0.05) == 0.5
    nothing = mean_upper(np.zeros(1000), most=1.0, tail=0.05)
    assert 0.003 < nothing < 0.004  # 3 in 900


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: log_mean_lower([np.nan], tail=0.1), "log_values"),
        (lambda: log_mean_lower([np.inf], tail=0.1), "log_values"),
        (lambda: log_mean_lower([0.0], tail=0.0), "tail = 0.0"),
        (lambda: log_mean_lower([[0.0]], tail=0.1), "a vector is needed"),
        (lambda: mean_upper([0.5], most=0.4, tail=0.1), "values"),
        (lambda: mean_upper([0.5], most=np.inf, tail=0.1), "most"),
    ],
)
def test_refused(call: object, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        call()  # type: ignore[operator]
