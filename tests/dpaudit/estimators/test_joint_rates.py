"""The joint region: its area, its coverage by enumeration, the melded bound, rounding."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from accountants.errors import ParameterError
from dpaudit.estimators import clopper_pearson
from dpaudit.estimators.joint_rates import JointRegion
from dpaudit.estimators.score_quantity import DeltaAt, EpsilonAt, GaussianMu

QUANTITIES = [
    EpsilonAt(delta=0.0),
    EpsilonAt(delta=0.05),
    DeltaAt(epsilon=0.5),
    GaussianMu(),
]


def binomial(size, rate):
    """Probabilities of 0 to size successes."""
    k = np.arange(size + 1)
    return special.comb(size, k) * rate**k * (1 - rate) ** (size - k)


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize(("positives", "negatives"), [(5, 7), (12, 9)])
def test_never_fails_more_often_than_stated(quantity, positives, negatives):
    """Exact: all outcomes are enumerated, for expected counts far from and near the truth."""
    error = 0.1
    for expected in ((1.0, 1.0), (0.5, 0.1), (0.9, 0.02), (0.7, 0.6)):
        region = JointRegion.for_counts(
            quantity,
            true_positives=expected[0] * positives,
            false_positives=expected[1] * negatives,
            positives=positives,
            negatives=negatives,
            error=error,
        )
        assert 0.8 * error <= region.error <= error
        value = np.array(
            [
                [
                    quantity.lower(*region.bounds(a, positives, b, negatives)).min()
                    for b in range(negatives + 1)
                ]
                for a in range(positives + 1)
            ]
        )
        for p in np.linspace(0.02, 0.99, 15):
            for q in np.linspace(0.02, p, 15):
                truth = float(quantity.lower(p, q))
                chance = np.outer(binomial(positives, p), binomial(negatives, q))
                assert chance[value > truth + 1e-9].sum() <= error + 1e-12


@given(
    st.lists(st.floats(1e-6, 0.9), min_size=1, max_size=8),
    st.lists(st.floats(1e-6, 0.9), min_size=8, max_size=8),
    st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=30)
def test_error_is_the_area_of_the_excluded_set(u, v, seed):
    """2e5 uniform points; 6 standard deviations and 1e-5 are exceeded with probability < 1e-8."""
    rising, falling = np.sort(u), np.sort(v)[::-1][: len(u)]
    region = JointRegion(rising, falling)
    points = np.random.default_rng(seed).random((200_000, 2))
    place = np.searchsorted(rising, points[:, 0], side="right") - 1
    kept = (place >= 0) & (points[:, 1] >= falling[np.maximum(place, 0)])
    share = 1.0 - kept.mean()
    deviation = np.sqrt(region.error * (1 - region.error) / points.shape[0])
    assert abs(share - region.error) <= 6 * deviation + 1e-5


@pytest.mark.parametrize(
    ("a", "m", "b", "n", "delta"),
    [(690, 1000, 310, 1000, 0.0), (500, 1000, 0, 1000, 0.0), (30_000, 10**6, 2000, 10**6, 0.01)],
)
def test_equals_the_melded_bound_at_the_expected_counts(a, m, b, n, delta):
    """The 5% quantile of ln((P - delta) / Q), P and Q independent beta variables, integrated."""
    quantity = EpsilonAt(delta=delta)
    region = JointRegion.for_counts(
        quantity, true_positives=a, false_positives=b, positives=m, negatives=n, error=0.05
    )
    found = quantity.lower(*region.bounds(a, m, b, n)).min()
    tails = (np.arange(8_000) + 0.5) / 8_000
    high = special.betaincinv(a, m - a + 1, tails)

    def mass(level):
        return special.betaincc(b + 1, n - b, np.clip((high - delta) * np.exp(-level), 0, 1)).mean()

    low, up = 0.0, 10.0
    for _ in range(50):
        middle = (low + up) / 2
        low, up = (middle, up) if mass(middle) < 0.05 else (low, middle)
    box = quantity.lower(
        clopper_pearson.lower(a, m, tail=0.025), clopper_pearson.upper(b, n, tail=0.025)
    )
    assert box < found <= low + 1e-3
    assert low - found < 0.1 * (low - box)


@given(st.integers(1, 400), st.data(), st.floats(0.5, 0.999))
@settings(deadline=None, max_examples=40)
def test_bounds_of_large_tails_are_rounded_outward(n, data, tail):
    a = data.draw(st.integers(1, n))
    region = JointRegion(np.array([tail]), np.array([tail]))
    high, low = region.bounds(a, n, n - a, n)
    with mpmath.workdps(40):
        below = mpmath.betainc(a, n - a + 1, 0, mpmath.mpf(float(high[0])), regularized=True)
        above = mpmath.betainc(n - a + 1, a, mpmath.mpf(float(low[0])), 1, regularized=True)
    assert tail - 1e-7 <= below <= tail
    assert tail - 1e-7 <= above <= tail


def test_a_box_is_two_clopper_pearson_bounds():
    region = JointRegion.box(tpr_tail=0.02, fpr_tail=0.03)
    assert region.error == pytest.approx(0.02 + 0.03 - 0.02 * 0.03, rel=1e-8)
    high, low = region.bounds(7, 10, 2, 10)
    assert high[0] == clopper_pearson.lower(7, 10, tail=0.02)
    assert low[0] == clopper_pearson.upper(2, 10, tail=0.03)


@pytest.mark.parametrize(
    ("u", "v", "message"),
    [
        ([0.1, 0.05], [0.1, 0.05], "rise"),
        ([0.1, 0.2], [0.1, 0.2], "rise"),
        ([0.0], [0.1], "allowed are"),
        ([0.1], [1.0], "allowed are"),
        ([], [], "length"),
        ([0.1, 0.2], [0.1], "length"),
    ],
)
def test_refuses_what_is_not_a_staircase(u, v, message):
    with pytest.raises(ParameterError, match=message):
        JointRegion(np.array(u, float), np.array(v, float))


@pytest.mark.parametrize("error", [0.0, 0.6, float("nan")])
def test_refuses_an_error_out_of_range(error):
    with pytest.raises(ParameterError, match="error ="):
        JointRegion.for_counts(
            EpsilonAt(), true_positives=1, false_positives=1, positives=2, negatives=2, error=error
        )


@given(st.floats(1e-12, 1 - 1e-12), st.floats(1e-12, 1 - 1e-12))
@settings(deadline=None, max_examples=60)
def test_mu_is_rounded_down(high, low):
    with mpmath.workdps(40):

        def quantile(p):
            return mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(p) - 1)

        exact = quantile(high) - quantile(low)
        assert exact - 1e-12 <= float(GaussianMu().lower(high, low)) <= exact
