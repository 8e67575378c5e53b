"""Norm bounds of randomly rounded vectors, against every possible rounding of small ones."""

from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from accountants import ParameterError
from accountants.conditional_rounding import (
    ROUNDING_BIAS,
    conditional_norm,
    l1_sensitivity,
    padded_dimension,
    plain_norm,
    replaced_distance,
    rounded_sensitivity,
)

Floats = NDArray[np.float64]

sizes = st.floats(-15, 8).map(lambda x: float(np.exp(x)))


def roundings(x: Floats, g: float) -> tuple[Floats, Floats]:
    """Every rounding of x to neighbouring grid points, and its probability (unbiased)."""
    low = np.floor(x / g)
    share = x / g - low
    ups = np.array(list(product([0, 1], repeat=len(x))), float)
    weight = np.prod(np.where(ups == 1, share, 1 - share), axis=1)
    return (low + ups) * g, weight


# --- the formulas, at many digits ---------------------------------------------------------------


@settings(max_examples=300, deadline=None, derandomize=True)
@given(sizes, sizes, st.integers(1, 10**6), st.floats(1e-6, 0.999))
def test_certified(c: float, g: float, d: int, beta: float) -> None:
    with mp.workdps(50):
        cc, gg, root = mp.mpf(c), mp.mpf(g), mp.sqrt(d)
        spread = mp.sqrt(-2 * mp.log(mp.mpf(beta)))
        first = mp.sqrt(cc**2 + gg**2 * d / 4 + spread * gg * (cc + gg * root / 2))
        second = cc + gg * root
        truth = min(first, second)
        value = conditional_norm(clip_norm=c, granularity=g, dimension=d, rounding_bias=beta)
        assert truth <= value <= truth * (1 + mp.mpf("1e-12"))
        value = plain_norm(clip_norm=c, granularity=g, dimension=d)
        assert second <= value <= second * (1 + mp.mpf("1e-12"))
        for shared, steps in ((False, 2), (True, 1)):
            value = replaced_distance(distance=c, granularity=g, dimension=d, shared_dither=shared)
            exact = cc + steps * gg * root
            assert exact <= value <= exact * (1 + mp.mpf("1e-12"))
        value = l1_sensitivity(l2=c, granularity=g, dimension=d)
        exact = min(root * cc, cc**2 / gg)
        assert exact <= value <= exact * (1 + mp.mpf("1e-12"))


@pytest.mark.parametrize(
    ("distance", "g", "rounding", "expected"),
    [
        (1.2, 2.0**-10, "independent", 1.2625),
        (1.2, 2.0**-10, "shared dither", 1.23125),
        (1.2, 2.0**-10, "conditional", 1.200596),
        (1.2, 2.0**-4, "conditional", 1.605459),
    ],
)
def test_reference_values(distance: float, g: float, rounding: Any, expected: float) -> None:
    found = rounded_sensitivity(bound=distance, granularity=g, dimension=1024, rounding=rounding)
    assert found == pytest.approx(expected, abs=1e-6)


def test_constants() -> None:
    """At beta = e^-0.5, sqrt(2 ln 1/beta) = 1; 768 coordinates are padded to 1024."""
    assert np.sqrt(-2 * np.log(ROUNDING_BIAS)) == pytest.approx(1.0)
    assert [padded_dimension(d) for d in (1, 2, 3, 4, 768, 1024, 1025)] == [
        1, 2, 4, 4, 1024, 1024, 2048,
    ]  # fmt: skip


# --- every rounding of small vectors ------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 7), st.floats(0.05, 3))
def test_norms_of_every_rounding(seed: int, d: int, g: float) -> None:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=d)
    c = float(np.linalg.norm(x))
    points, weight = roundings(x, g)
    norms = np.linalg.norm(points, axis=1)
    assert norms.max() <= plain_norm(clip_norm=c, granularity=g, dimension=d)
    for beta in (0.01, 0.3, ROUNDING_BIAS, 0.95):
        bound = conditional_norm(clip_norm=c, granularity=g, dimension=d, rounding_bias=beta)
        assert weight[norms > bound].sum() <= beta + 1e-12
    taxicab = np.abs(points).sum(axis=1)
    for norm, taxi in zip(norms, taxicab, strict=True):
        found = l1_sensitivity(l2=float(norm), granularity=g, dimension=d)
        assert taxi <= found * (1 + 1e-12) + 1e-12


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 5), st.floats(0.05, 3), st.floats(0, 2))
def test_replaced_pairs(seed: int, d: int, g: float, distance: float) -> None:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=d)
    step = generator.normal(size=d)
    other = x + distance * step / np.linalg.norm(step)
    first, second = roundings(x, g)[0], roundings(other, g)[0]
    apart = np.linalg.norm(first[:, None] - second[None], axis=2).max()
    values: dict[str, Any] = {"distance": distance, "granularity": g, "dimension": d}
    rounding = 1 + 1e-9
    assert apart <= replaced_distance(**values, shared_dither=False) * rounding
    dither = generator.uniform(size=(500, d))
    moved = np.linalg.norm(np.floor(x / g + dither) - np.floor(other / g + dither), axis=1) * g
    nearest = float(np.linalg.norm(np.round(x / g) - np.round(other / g))) * g
    shared = replaced_distance(**values, shared_dither=True)
    assert moved.max() <= shared * rounding
    assert nearest <= shared * rounding


def test_replaced_pairs_attained() -> None:
    """Points just below and just above grid points: 2 g sqrt(d) apart, g sqrt(d) if shared."""
    d, g, tiny = 16, 0.25, 1e-9
    below, above = np.full(d, -tiny), np.full(d, tiny)
    apart = np.linalg.norm((np.floor(below / g) - np.ceil(above / g)) * g)
    distance = float(np.linalg.norm(above - below))
    values: dict[str, Any] = {"distance": distance, "granularity": g, "dimension": d}
    assert apart == pytest.approx(replaced_distance(**values, shared_dither=False), rel=1e-7)
    shared = np.linalg.norm((np.floor(below / g) - np.floor(above / g)) * g)
    assert shared == pytest.approx(replaced_distance(**values, shared_dither=True), rel=1e-7)


def test_fault_replace_one_sensitivity_taken_as_add_remove() -> None:
    """A replaced pair lies further apart than one rounded vector of norm D is long."""
    values: dict[str, Any] = {"bound": 1.2, "granularity": 2.0**-7, "dimension": 1024}
    single = rounded_sensitivity(**values, rounding="conditional")
    assert rounded_sensitivity(**values, rounding="independent") > 1.4 * single
    assert rounded_sensitivity(**values, rounding="shared dither") > 1.19 * single


# --- ranges -------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(sizes, sizes, st.integers(1, 5000), st.floats(1, 4), st.sampled_from(range(3)))
def test_monotone(c: float, g: float, d: int, factor: float, which: int) -> None:
    rounding: Any = ("conditional", "independent", "shared dither")[which]

    def at(c: float, g: float, d: int) -> float:
        return rounded_sensitivity(bound=c, granularity=g, dimension=d, rounding=rounding)

    here = at(c, g, d) * (1 - 1e-12)
    assert here >= c * (1 - 1e-12)
    assert at(c * factor, g, d) >= here
    assert at(c, g * factor, d) >= here
    assert at(c, g, d + 3) >= here


@pytest.mark.parametrize("c", [0.0, 5e-324, 1e-300, 1.0, 1e300])
@pytest.mark.parametrize("g", [5e-324, 1e-300, 1.0, 1e300])
@pytest.mark.parametrize("d", [1, 10**15])
def test_extremes_are_numbers_or_refused(c: float, g: float, d: int) -> None:
    for rounding in ("conditional", "independent", "shared dither"):
        try:
            value = rounded_sensitivity(bound=c, granularity=g, dimension=d, rounding=rounding)
        except ParameterError:
            assert max(c, g) == 1e300
            continue
        assert np.isfinite(value)
        assert value >= c


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bound", -1.0),
        ("bound", np.nan),
        ("bound", np.inf),
        ("granularity", 0.0),
        ("granularity", np.inf),
        ("dimension", 0),
        ("dimension", 1.5),
        ("rounding", "none"),
        ("rounding_bias", 0.0),
        ("rounding_bias", 1.0),
    ],
)
def test_refused(name: str, value: Any) -> None:
    values: dict[str, Any] = {
        "bound": 1.0,
        "granularity": 0.1,
        "dimension": 4,
        "rounding": "conditional",
        "rounding_bias": 0.5,
    }
    with pytest.raises(ParameterError, match="needed"):
        rounded_sensitivity(**(values | {name: value}))
    with pytest.raises(ParameterError):
        padded_dimension(0)
    with pytest.raises(ParameterError):
        l1_sensitivity(l2=-1.0, granularity=1.0, dimension=2)
