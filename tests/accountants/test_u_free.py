"""The split bound at one epsilon: convexity, and the certified far supremum."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erf

from accountants import FreE2TParameters
from accountants.distance_suprema import TOLERANCE
from accountants.joint_terms import Direction, JointTerms
from accountants.u_free import Split, UFreeBound, _share_of_variation
from tests.accountants import oracles
from tests.accountants.oracles import EPS_4, EPS_8, EPS_16, Published, parameters

# --- convex in the total variation --------------------------------------------------------------


@settings(max_examples=300)
@given(
    st.one_of(st.floats(-30, 30), st.floats(-0.1, 0.1)),
    st.floats(-4, 3).map(lambda x: float(np.exp(x))),
    st.floats(0.01, 3),
    st.floats(0.01, 0.99),
)
def test_the_divergence_is_convex_in_the_variation(
    b: float, mu: float, stretch: float, share: float
) -> None:
    with mp.workprec(1500):
        left, right = mp.mpf(mu), mp.mpf(mu) * (1 + mp.mpf(stretch))
        middle = left + (right - left) * mp.mpf(share)
        t = [mp.erf(x / mp.sqrt(8)) for x in (left, middle, right)]
        h = [oracles.hockey_stick(mp.mpf(b), x) for x in (left, middle, right)]
        chord = h[0] + (h[2] - h[0]) * (t[1] - t[0]) / (t[2] - t[0])
        assert h[1] <= chord * (1 + mp.mpf(2) ** -1300)  # equal at b = 0


@settings(max_examples=200)
@given(
    st.floats(0.05, 0.9),
    st.integers(1, 40),
    st.integers(0, 200),
    st.floats(0, 6),
    st.sampled_from(["add", "remove"]),
    st.floats(0.05, 3),
    st.floats(0.05, 3),
)
def test_theorem_j_is_convex_in_the_variation(
    p: float,
    threshold: int,
    others: int,
    epsilon: float,
    direction: Direction,
    mu: float,
    stretch: float,
) -> None:
    mus = np.linspace(mu, mu * (1 + stretch), 7)
    terms = JointTerms(
        sampling_rate=p,
        threshold=threshold,
        shifts=mus,
        epsilon=epsilon if direction == "add" else epsilon / 6 * -np.log1p(-p),
        direction=direction,
    )
    j = np.exp(terms.at(np.full(7, others)))
    t = erf(mus / np.sqrt(8))
    chord = j[0] + (j[-1] - j[0]) * (t - t[0]) / (t[-1] - t[0])
    assert np.all(j <= chord * (1 + 1e-9) + 1e-14)


@settings(max_examples=200)
@given(st.floats(-8, 3.3), st.floats(-6, 2))
def test_share_of_variation_is_rounded_up(log_x: float, log_width: float) -> None:
    """Also where the error function is 1 to every digit of a double."""
    start = float(np.exp(log_x))
    x = start * (1 + np.linspace(0, 1, 9) * float(np.exp(log_width)))
    share = _share_of_variation(x[None, :])[0]
    assert share[-1] == 1
    with mp.workprec(200 + int(3 * x[0] ** 2)):
        first, last = mp.erfc(mp.mpf(x[0])), mp.erfc(mp.mpf(x[-1]))
        for value, at in zip(share, x, strict=True):
            truth = (first - mp.erfc(mp.mpf(float(at)))) / (first - last)
            assert mp.mpf(float(value)) >= truth


# --- the far supremum ---------------------------------------------------------------------------


def bound(
    case: Published, epsilon: float, direction: Direction = "add", **changes: Any
) -> UFreeBound:
    release = FreE2TParameters(**parameters(case, **changes))
    return UFreeBound(parameters=release, epsilon=epsilon, direction=direction)


def check_certified(ours: UFreeBound, split: Split) -> float:
    """Check near and far against dense evaluations; return how much higher far is than seen."""
    exact = ours.exact()
    near = exact.near(np.array([split.distance]))[0]
    assert split.log_near >= near - TOLERANCE  # either may lie that much above the supremum
    sigma, edge = ours.parameters.noise_std, ours.parameters.grid_edge
    scale = np.geomspace(1e-3 * min(sigma, edge), 60 * max(sigma, edge), 120)
    around = split.distance * (1 + np.geomspace(1e-6, 1, 40))
    distances = np.unique(np.concatenate([scale, around]))
    distances = distances[distances > split.distance]
    # a few at a time: many at once are bounded less closely
    heights = np.concatenate([exact.far(part) for part in np.array_split(distances, 10)])
    peak = distances[int(np.argmax(heights))] * np.exp(np.linspace(-0.05, 0.05, 41))
    seen = max(float(np.max(heights)), float(np.max(exact.far(peak[peak > split.distance]))))
    assert split.log_far >= seen - TOLERANCE or seen < -700
    return split.log_far - seen


@settings(max_examples=25)
@given(
    st.floats(0.1, 0.8),
    st.integers(2, 60),
    st.floats(-4, 1.5),
    st.one_of(st.floats(0, 5), st.floats(5, 40)),
    st.sampled_from(["add", "remove"]),
    st.sampled_from([10, 1000, 10**6, 10**9]),
    st.sampled_from([1, 4, 20, 100]),
)
def test_certified_far_part_is_a_bound(
    p: float,
    threshold: int,
    log_noise: float,
    epsilon: float,
    direction: Direction,
    records: int,
    k: int,
) -> None:
    case = Published(1.0, p, threshold, 2, 1.0, float(np.exp(log_noise)))
    scaled = epsilon if direction == "add" else epsilon / 40 * -np.log1p(-p)
    ours = bound(
        case,
        scaled,
        direction,
        records_max=records,
        projection_dim=k,
        grid_edge=1 / np.sqrt(k),
    )
    if records <= threshold:
        return
    split = ours.certified()
    check_certified(ours, split)
    assert split.log_delta >= split.log_near
    assert split.log_delta <= 0


@pytest.mark.parametrize("epsilon", [200.0, 500.0, 1000.0, 3000.0])
def test_certified_where_the_variation_is_1_to_every_digit(epsilon: float) -> None:
    """Large epsilon, little noise: a chord in a rounded error function once lost e^9 here."""
    ours = bound(EPS_4, epsilon, noise_std=0.02)
    check_certified(ours, ours.certified())


@pytest.mark.parametrize(
    ("case", "epsilon", "noise_std"),
    [
        (EPS_4, 0.689, 2.136),
        (EPS_8, 1.518, 1.14),
        (EPS_16, 4.655, 0.516),
        (EPS_4, 4.0, 0.489),
        (EPS_8, 8.0, 0.3405),
        (EPS_16, 16.0, 0.2196),
    ],
)
def test_certified_is_close_to_what_is_seen(
    case: Published, epsilon: float, noise_std: float
) -> None:
    ours = bound(case, epsilon, noise_std=noise_std)
    split = ours.certified()
    assert check_certified(ours, split) < 2e-3
    assert split.log_delta == pytest.approx(ours.estimate().log_delta, abs=0.15)
    assert split.log_delta == pytest.approx(np.log(1e-6), abs=0.1)


def test_any_given_split_is_a_bound() -> None:
    ours = bound(EPS_4, 0.7)
    best = ours.certified()
    for distance in (0.0, 0.2, 0.5, 0.8, 2.0):
        split = ours.certified(Split(0.0, 0.0, distance, best.peak, best.balance))
        assert split.distance == distance
        check_certified(ours, split)
        assert split.log_delta >= best.log_delta - 1e-3


def test_parts() -> None:
    near, far = Split(-20.0, -30.0, 0.5, 0.5, 0.5).parts()
    assert near == pytest.approx(np.exp(-20), rel=1e-15)
    assert far == pytest.approx(np.exp(-30), rel=1e-15)
    assert Split(-1e-9, -1e-9, 0.5, 0.5, 0.5).log_delta == 0
    assert Split(-np.inf, -np.inf, 0.5, 0.5, 0.5).log_delta == -np.inf
