"""The padded part of the synthesis server's view: mpmath, all outcomes listed, blocks of N."""

from functools import cache
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accountants.dummy_tags import DummyTags
from accountants.ranges import Floats
from accountants.tag_padding import TagPadding
from tests.accountants import oracles

rates = st.one_of(st.floats(0.02, 0.98), st.sampled_from([1e-9, 1e-4, 1 - 1e-9]))
decays = st.floats(-4, 1.5).map(lambda x: float(np.exp(x)))
ratios = st.one_of(st.floats(0, 0.5), st.floats(0, 8))


def padding(decay: float, shift: int, threshold: int, *, deployed: int | None = None) -> TagPadding:
    return TagPadding(
        dummies=DummyTags(decay=decay, shift=shift, threshold=threshold), threshold=deployed
    )


def curve(decay: float, shift: int, b: Any) -> Any:
    """C_2 from its definition as a sum over the two cells, at the working precision."""
    r = mp.exp(-mp.mpf(decay))
    scale = (1 - r) / (1 + r - 2 * r ** (shift + 1))
    end, plus = scale * r**shift, scale * (1 - r**shift) / (1 - r)
    if b == -mp.inf:
        return mp.mpf(1)
    total = end * (2 - end)
    for mass, steps in ((plus**2, 2), (2 * r * plus**2, 0), ((r * plus) ** 2, -2)):
        total += mass * max(-mp.expm1(b - steps * mp.mpf(decay)), 0)
    return total


def added(decay: float, shift: int, *, others: int, p: Any, threshold: int, b: Any) -> Any:
    below = sum((oracles.mass(n, others, p) for n in range(threshold - 1)), mp.mpf(0))
    return below * curve(decay, shift, b)


def removed(decay: float, shift: int, *, others: int, p: Any, threshold: int, b: Any) -> Any:
    """Evaluate the statement of docs/proofs/server-views.md, at the working precision."""
    top, moved = (oracles.mass(threshold - k, others, p) for k in (1, 2))
    total = sum((oracles.mass(n, others, p) for n in range(threshold - 2)), mp.mpf(0))
    total *= curve(decay, shift, b)
    if moved:
        left = mp.exp(b) - top / moved
        at = mp.log(left) if left > 0 else -mp.inf
        total += moved * curve(decay, shift, at)
    return total + max(top - mp.exp(b) * moved, 0)


# --- certified ------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(rates, st.integers(1, 12), st.integers(0, 60), decays, st.integers(0, 12), ratios)
@example(0.3, 1, 5, 1.0, 3, 0.5)
@example(0.3, 2, 0, 1.0, 0, 0.5)
@example(1 - 1e-9, 5, 40, 1.0, 3, 0.5)
def test_added_against_mpmath(
    p: float, threshold: int, others: int, decay: float, shift: int, b: float
) -> None:
    found = float(
        padding(decay, shift, threshold).log_added(
            np.array([others]), sampling_rate=p, threshold=threshold, log_ratio=b
        )[0]
    )
    with mp.workdps(80):
        exact = added(decay, shift, others=others, p=mp.mpf(p), threshold=threshold, b=mp.mpf(b))
        if exact == 0:
            assert found == -np.inf
            return
        assert found >= mp.log(exact)
        if mp.log(exact) > -600:  # below it Pr[Bin <= limit] is bounded by its largest term
            assert found <= mp.log(exact) + 1e-6


@settings(max_examples=200, deadline=None, derandomize=True)
@given(rates, st.integers(1, 12), st.integers(0, 60), decays, st.integers(0, 12), ratios)
@example(0.3, 1, 5, 1.0, 3, 0.5)
@example(0.3, 1, 0, 1.0, 3, 0.5)
@example(0.3, 2, 1, 1.0, 0, 0.5)
@example(0.5, 4, 5, 1.0, 5, 0.0)  # R = 1 = b: the top multiplicity cancels
@example(1e-9, 2, 7, 1.0, 5, 3.0)
def test_removed_against_mpmath(
    p: float, threshold: int, others: int, decay: float, shift: int, b: float
) -> None:
    found = float(
        padding(decay, shift, threshold).log_removed(
            np.array([others]),
            np.zeros(1, np.int64),
            sampling_rate=p,
            threshold=threshold,
            log_ratio=b,
        )[0]
    )
    with mp.workdps(80):
        at = {"others": others, "p": mp.mpf(p), "threshold": threshold}
        exact = removed(decay, shift, b=mp.mpf(b), **at)
        # where b - R cancels, b moved by some units in the last place moves the curve as well
        moved = removed(decay, shift, b=mp.mpf(b) - mp.mpf(2) ** -44, **at)
        if exact == 0:
            assert found == -np.inf
            return
        assert found >= mp.log(exact)
        if mp.log(exact) > -600:
            assert found <= mp.log(max(exact, moved)) + 1e-6


# --- all outcomes listed --------------------------------------------------------------------------


@cache
def histogram(decay: float, shift: int, cells: int, multiplicity: int) -> Floats:
    """Law of the padded cells 1..tau-1, with one tag of ``multiplicity`` (0: none)."""
    weights = np.exp(-decay * np.abs(np.arange(2 * shift + 1) - shift))
    weights /= weights.sum()
    law = np.ones(())
    for cell in range(1, cells + 1):
        row = np.zeros(2 * shift + 2)
        at = int(cell == multiplicity)
        row[at : at + len(weights)] = weights
        law = np.multiply.outer(law, row)
    return law.ravel()


def hidden(decay: float, shift: int, threshold: int, weights: Floats, *, sampled: bool) -> Floats:
    """Sum over n of weights[n] times the histogram with the tag at n (or n + 1) below tau."""
    total = np.zeros((2 * shift + 2) ** (threshold - 1))
    for n, weight in enumerate(weights):
        if n + sampled < threshold:
            total += weight * histogram(decay, shift, threshold - 1, n + sampled)
    return total


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(0.02, 0.98),
    st.integers(1, 4),
    st.integers(0, 5),
    decays,
    st.integers(0, 3),
    st.floats(0, 3),
)
def test_bounds_the_hidden_part_of_the_view(
    p: float, threshold: int, others: int, decay: float, shift: int, b: float
) -> None:
    with mp.workdps(30):
        weights = np.array([float(oracles.mass(n, others, mp.mpf(p))) for n in range(others + 1)])
    present = hidden(decay, shift, threshold, weights, sampled=True)
    absent = hidden(decay, shift, threshold, weights, sampled=False)
    ours, sizes = padding(decay, shift, threshold), np.array([others])
    at = {"sampling_rate": p, "threshold": threshold, "log_ratio": b}
    add = float(np.exp(ours.log_added(sizes, **at)[0]))
    gone = float(np.exp(ours.log_removed(sizes, np.zeros_like(sizes), **at)[0]))
    assert np.maximum(present - np.exp(b) * absent, 0).sum() <= add + 1e-12
    assert np.maximum(absent - np.exp(b) * present, 0).sum() <= gone + 1e-12


@pytest.mark.parametrize(("p", "decay"), [(0.3, 0.7), (0.7, 1.5), (0.05, 0.2)])
def test_attained_without_others(p: float, decay: float) -> None:
    """With nobody else in the bucket and a threshold of 2 (one cell) the bound is the truth."""
    law = [histogram(decay, 3, 1, n) for n in (0, 1)]
    dummies = DummyTags(decay=decay, shift=3, threshold=2, cells=1)
    nobody = np.zeros(1, np.int64)
    for b in (0.0, 0.3, 1.0):
        at = {"sampling_rate": p, "threshold": 2, "log_ratio": b}
        ours = TagPadding(dummies=dummies)
        truth = np.maximum(law[1] - np.exp(b) * law[0], 0).sum()
        assert np.exp(ours.log_added(nobody, **at)) == pytest.approx(truth, rel=1e-9)
        truth = np.maximum(law[0] - np.exp(b) * law[1], 0).sum()
        assert np.exp(ours.log_removed(nobody, nobody, **at)) == pytest.approx(truth, rel=1e-9)


# --- blocks of N, coalitions ----------------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    rates,
    st.integers(1, 30),
    st.integers(0, 300),
    st.sampled_from([0, 1, 5, 60, 400]),
    decays,
    st.integers(0, 12),
    ratios,
    st.integers(0, 3),
)
def test_one_value_bounds_a_block_of_sizes(
    p: float,
    threshold: int,
    others: int,
    width: int,
    decay: float,
    shift: int,
    b: float,
    colluders: int,
) -> None:
    ours = padding(decay, shift, threshold, deployed=threshold + colluders)
    at = {"sampling_rate": p, "threshold": threshold, "log_ratio": b}
    sizes = others + np.arange(width + 1)
    add = ours.log_added(sizes, **at)
    close = add[add > -600]  # below it Pr[Bin <= limit] is bounded by its largest term
    assert np.all(np.diff(close) <= 1e-9)
    assert np.all(close <= add[0] + 1e-9)
    gone = ours.log_removed(sizes, np.zeros_like(sizes), **at)
    block = ours.log_removed(sizes[:1], np.array([width]), **at)
    assert np.all(gone <= block + 1e-9)
    for beyond in (10**6, 10**12):
        far = ours.log_removed(np.array([others + beyond]), np.zeros(1, np.int64), **at)
        every = ours.log_removed(sizes[:1], np.array([2**52]), **at)
        assert far <= every + 1e-9


@settings(max_examples=200, deadline=None, derandomize=True)
@given(rates, st.integers(1, 20), st.integers(0, 60), decays, ratios, st.integers(0, 4))
def test_a_coalition_may_hold_the_tag_or_not(
    p: float, threshold: int, others: int, decay: float, b: float, colluders: int
) -> None:
    """With colluders the bound covers every threshold from the honest one to the deployment's."""
    sizes, none = np.array([others]), np.zeros(1, np.int64)
    ours = padding(decay, 4, threshold, deployed=threshold + colluders)
    at = {"sampling_rate": p, "log_ratio": b}
    add = float(ours.log_added(sizes, threshold=threshold, **at)[0])
    gone = float(ours.log_removed(sizes, none, threshold=threshold, **at)[0])
    plain = padding(decay, 4, threshold)
    for held in range(colluders + 1):
        own = threshold + held
        assert float(plain.log_added(sizes, threshold=own, **at)[0]) <= add + 1e-12
        assert float(plain.log_removed(sizes, none, threshold=own, **at)[0]) <= gone + 1e-12


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    rates,
    st.integers(1, 20),
    st.integers(0, 60),
    decays,
    st.integers(0, 12),
    ratios,
    st.sampled_from(["shift", "b", "threshold"]),
)
def test_monotone(
    p: float, threshold: int, others: int, decay: float, shift: int, b: float, which: str
) -> None:
    """Falls in the shift and the ratio; a higher threshold hides more tags, which adds to it."""
    sizes, none = np.array([others]), np.zeros(1, np.int64)
    at: dict[str, Any] = {"sampling_rate": p, "threshold": threshold, "log_ratio": b}
    later = at | ({"log_ratio": b + 0.1} if which == "b" else {})
    if which == "threshold":
        later["threshold"] = threshold + 1
    here, there = padding(decay, shift, 9), padding(decay, shift + (which == "shift"), 9)
    first, second = here.log_added(sizes, **at), there.log_added(sizes, **later)
    if which == "threshold":
        assert second >= first - 1e-9
        return
    assert second <= first + 1e-9
    assert there.log_removed(sizes, none, **later) <= here.log_removed(sizes, none, **at) + 1e-9


# --- ends -----------------------------------------------------------------------------------------


def test_fault_threshold_off_by_one() -> None:
    """A threshold of 1 hides no tag; at 2 a tag is seen once, at 3 it moves once among cells."""
    ours, sizes, p, b = padding(1.0, 2, 3), np.array([4]), 0.5, 0.2
    cells = {
        t: float(ours.log_added(sizes, sampling_rate=p, threshold=t, log_ratio=b)[0])
        for t in (1, 2, 3)
    }
    move = float(ours.dummies.log_curve(b))
    assert cells[1] == -np.inf
    assert cells[2] == pytest.approx(move + np.log(p**4), abs=1e-9)
    assert cells[3] == pytest.approx(move + np.log(5 * p**4), abs=1e-9)
    at_one = ours.log_removed(
        sizes, np.zeros_like(sizes), sampling_rate=p, threshold=1, log_ratio=b
    )
    assert np.exp(at_one) == pytest.approx(p**4, rel=1e-9)  # only "nobody was sampled" is hidden


@pytest.mark.parametrize("p", [1e-300, 1e-9, 0.5, 1 - 1e-9, 1 - 2**-53])
@pytest.mark.parametrize("b", [0.0, 1e-300, 1.0, 709.0, 1500.0, 1e6])
@pytest.mark.parametrize("product_of", list(product([1, 2, 50, 10**6], [0, 9, 10**9])))
def test_fault_saturation_at_limits(p: float, b: float, product_of: tuple[int, int]) -> None:
    threshold, shift = product_of
    ours = padding(1.0, shift, threshold)
    sizes = np.array([0, 1, 48, 10**6 - 2, 10**12, 2**52])
    widths = np.array([0, 3, 2**40, 0, 2**52 - 10**12, 0])
    for values in (
        ours.log_added(sizes, sampling_rate=p, threshold=threshold, log_ratio=b),
        ours.log_removed(sizes, widths, sampling_rate=p, threshold=threshold, log_ratio=b),
    ):
        assert not np.isnan(values).any()
        assert np.all(values <= 1.2)  # three parts, each at most 1
