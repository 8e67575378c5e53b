"""Theorem J: reference values, mpmath, and the divergence of the releases themselves."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from accountants import (
    AnalyticGaussian,
    JointRelease,
    ParameterError,
    SampleThresholdPaper,
    average_delta,
)
from tests.accountants import oracles
from tests.accountants.oracles import EPS_4, EPS_8, EPS_16, PUBLISHED, Published

LEFT = 1e-6 - 8.945e-11  # delta of the paper without its collision term
rates = st.floats(0.02, 0.98)
shifts = st.floats(-6, 2.5).map(lambda x: float(np.exp(x)))
epsilons = st.one_of(st.floats(0, 0.5), st.floats(0, 12))


# --- reference values ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "epsilon", "enough"),
    [(EPS_4, 1.558, 0.919), (EPS_8, 4.428, 0.598), (EPS_16, 12.510, 0.355)],
)
def test_reference_values(case: Published, epsilon: float, enough: float) -> None:
    def at(multiplier: float) -> JointRelease:
        return JointRelease(
            sampling_rate=case.sampling_rate, threshold=case.threshold, shift=1 / multiplier
        )

    assert at(case.multiplier).epsilon(LEFT) == pytest.approx(epsilon, abs=5e-4)
    # the multiplier that meets the claim, to the three digits printed
    assert at(enough + 5e-4).delta(case.claim) <= LEFT < at(enough - 5e-4).delta(case.claim)


# --- mpmath at a fixed number of others ---------------------------------------------------------


@settings(max_examples=250)
@given(rates, st.integers(1, 30), shifts, st.integers(0, 60), epsilons)
@example(0.3, 1, 1.0, 0, 0.1)
@example(0.3, 2, 1.0, 0, 0.1)
@example(0.9, 3, 1e-4, 60, 1.0)
@example(0.5, 30, 0.1, 60, 12.0)
def test_against_mpmath(p: float, threshold: int, mu: float, others: int, epsilon: float) -> None:
    ours = JointRelease(sampling_rate=p, threshold=threshold, shift=mu, others=others)
    for direction, log_delta in (
        ("add", float(ours.log_delta_add(epsilon))),
        ("remove", float(ours.log_delta_remove(epsilon))),
    ):
        with mp.workdps(60):
            exact = oracles.joint_release(
                direction, p=p, threshold=threshold, mu=mu, others=others, epsilon=epsilon
            )
            if exact <= 0:
                assert log_delta < -700 or np.exp(log_delta) < 1e-14
                continue
            truth = mp.log(exact)
            assert log_delta >= truth
            # "remove" holds a difference of two probabilities below the threshold
            room = 1e-6 + (0 if direction == "add" else 1e-13 / exact)
            if truth > -650:
                assert log_delta <= truth + room


@pytest.mark.parametrize("epsilon", [3.0, 8.0, 20.0])
def test_tiny_deltas_against_mpmath(epsilon: float) -> None:
    ours = JointRelease(sampling_rate=0.05, threshold=40, shift=0.02, others=55)
    with mp.workdps(80):
        exact = oracles.joint_release(
            "add", p=0.05, threshold=40, mu=0.02, others=55, epsilon=epsilon
        )
        assert exact < 1e-38
        assert exact <= mp.mpf(float(ours.delta_add(epsilon))) <= exact * (1 + 1e-6)


def test_matches_arb() -> None:
    """One value in ball arithmetic, without mpmath."""
    from flint import arb, ctx

    ctx.prec = 200
    p, threshold, mu, others, epsilon = arb(0.25), 4, arb(0.5), 11, arb(1.0)
    ratio = 1 + (epsilon.exp() - 1) / p

    def mass(n: int) -> arb:
        return arb(others).bin(n) * p**n * (1 - p) ** (others - n)

    def below(x: arb) -> arb:
        return (-x / arb(2).sqrt()).erfc() / 2

    total = mass(others)
    for n in range(threshold, others + 1):
        b = (ratio * mass(n) / mass(n - 1)).log()
        total += mass(n - 1) * (below(mu / 2 - b / mu) - b.exp() * below(-mu / 2 - b / mu))
    exact = float((p * total).mid())
    ours = JointRelease(sampling_rate=0.25, threshold=4, shift=0.5, others=11)
    assert exact <= ours.delta_add(1.0) <= exact * (1 + 1e-9)


# --- the releases themselves, without the theorem -----------------------------------------------


@settings(max_examples=200)
@given(
    st.floats(0.05, 0.95),
    st.integers(1, 20),
    st.floats(0.05, 6),
    st.integers(0, 60),
    st.one_of(st.floats(0, 0.2), st.floats(0, 2.5)),
)
def test_attained_by_coinciding_records(
    p: float, threshold: int, mu: float, others: int, epsilon: float
) -> None:
    y = np.linspace(-9, 9 + mu, 20_001)
    present = oracles.coinciding_density(others, True, p, threshold, mu, y)
    absent = oracles.coinciding_density(others, False, p, threshold, mu, y)
    ours = JointRelease(sampling_rate=p, threshold=threshold, shift=mu, others=others)
    add = oracles.divergence(present, absent, epsilon, y)
    remove = oracles.divergence(absent, present, epsilon, y)
    assert float(ours.delta_add(epsilon)) == pytest.approx(add, abs=2e-7)
    assert float(ours.delta_remove(epsilon)) == pytest.approx(remove, abs=2e-7)
    assert float(ours.delta(epsilon)) == pytest.approx(max(add, remove), abs=2e-7)


@settings(max_examples=200)
@given(
    st.floats(0.05, 0.95),
    st.integers(1, 4),
    st.lists(st.floats(-2, 2), min_size=1, max_size=5),
    st.one_of(st.floats(0, 0.2), st.floats(0, 2)),
)
def test_spread_records_by_listing_all_subsets(
    p: float, threshold: int, places: list[float], epsilon: float
) -> None:
    """Records on a line at ``places``, the one that differs at 0, noise 0.7."""
    noise = 0.7
    reach = sum(abs(x) for x in places) + 9 * noise
    y = np.linspace(-reach, reach, 8001)
    present = oracles.release_density([0.0, *places], p, threshold, noise, y)
    absent = oracles.release_density(places, p, threshold, noise, y)
    truth = [
        oracles.divergence(present, absent, epsilon, y),
        oracles.divergence(absent, present, epsilon, y),
    ]
    arguments = {"sampling_rate": p, "threshold": threshold, "noise_std": noise}
    distances = np.abs(places)
    both = float(average_delta(epsilon, distances=distances, **arguments))  # type: ignore[arg-type]
    add = float(average_delta(epsilon, distances=distances, direction="add", **arguments))  # type: ignore[arg-type]
    gone = float(average_delta(epsilon, distances=distances, direction="remove", **arguments))  # type: ignore[arg-type]
    worst = JointRelease(
        sampling_rate=p, threshold=threshold, shift=distances.max() / noise, others=len(places)
    )
    room = 1e-6 + 1e-3 * (y[1] - y[0]) ** 2
    assert truth[0] <= add + room
    assert truth[1] <= gone + room
    assert both == max(add, gone)
    assert both <= float(worst.delta(epsilon)) * (1 + 1e-9) + 1e-13
    if max(distances) == min(distances) and len(set(places)) == 1:
        assert add == pytest.approx(truth[0], abs=1e-5)


def test_average_over_no_members() -> None:
    assert average_delta(
        0.5, distances=[], sampling_rate=0.3, threshold=1, noise_std=1.0
    ) == pytest.approx(0.3)
    assert average_delta(0.5, distances=[], sampling_rate=0.3, threshold=2, noise_std=1.0) == 0


def test_average_takes_equal_distances_once() -> None:
    arguments = {"sampling_rate": 0.3, "threshold": 5, "noise_std": 0.8}
    mixed = average_delta([0.5, 1], distances=[1.0, 0.2, 1.0, 0.2, 1.0], **arguments)  # type: ignore[arg-type]
    near, far = (
        JointRelease(sampling_rate=0.3, threshold=5, shift=x / 0.8, others=5) for x in (0.2, 1.0)
    )
    expected = 0.4 * near.delta_add([0.5, 1]) + 0.6 * far.delta_add([0.5, 1])
    assert mixed == pytest.approx(expected, rel=1e-9)


# --- limits and parity --------------------------------------------------------------------------


def test_many_others_are_the_subsampled_gaussian() -> None:
    """With many others the count says nothing; the rest is Poisson subsampling."""
    from dp_accounting.pld import privacy_loss_distribution

    p, mu = 0.3, 0.8
    pld = privacy_loss_distribution.from_gaussian_mechanism(
        1 / mu, sampling_prob=p, value_discretization_interval=1e-5
    )
    many = JointRelease(sampling_rate=p, threshold=10, shift=mu, others=10**8)
    for epsilon in (0.05, 0.2, 0.5, 1.0, 2.0):
        theirs = pld.get_delta_for_epsilon(epsilon)
        assert float(many.delta(epsilon)) == pytest.approx(theirs, rel=1e-4)


def test_no_noise_and_all_noise() -> None:
    bare = JointRelease(sampling_rate=0.4, threshold=3, shift=np.inf, others=10)
    from scipy.stats import binom

    assert bare.delta_add([0, 1, 30]) == pytest.approx(0.4 * binom.sf(1, 10, 0.4), rel=1e-9)
    full = JointRelease(sampling_rate=0.4, threshold=3, shift=0.0, others=10)
    assert full.delta(1.0) < bare.delta(1.0)
    nearly = JointRelease(sampling_rate=0.4, threshold=3, shift=1e-9, others=10)
    assert full.delta(1.0) <= nearly.delta(1.0) <= full.delta(1.0) * (1 + 1e-5)


@settings(max_examples=200)
@given(st.floats(0.02, 0.9), st.integers(1, 60), shifts, st.floats(1, 8), st.floats(0, 12))
def test_below_linear_composition(
    p: float, threshold: int, mu: float, v: float, epsilon_sum: float
) -> None:
    """The paper adds epsilons and deltas of count and sum; that is a bound, and ours is lower."""
    budget, delta_count = SampleThresholdPaper(sampling_rate=p, threshold=threshold).budget(v)
    delta_sum = float(AnalyticGaussian(noise_multiplier=1 / mu).delta(epsilon_sum))
    assume(delta_count + delta_sum > 1e-290)
    ours = JointRelease(sampling_rate=p, threshold=threshold, shift=mu)
    assert ours.delta(budget + epsilon_sum) <= (delta_count + delta_sum) * (1 + 1e-6)


# --- monotone -----------------------------------------------------------------------------------


@settings(max_examples=200)
@given(
    st.floats(0.02, 0.9),
    st.integers(1, 40),
    shifts,
    epsilons,
    st.sampled_from(["p", "threshold", "shift", "epsilon"]),
    st.floats(0.01, 1),
)
def test_monotone_over_all_sizes(
    p: float, threshold: int, mu: float, epsilon: float, which: str, step: float
) -> None:
    """The supremum rises with p (even divided by p) and mu, falls with tau and epsilon.

    Each is a theorem: docs/proofs/theorem-j.md.
    """
    here = {"sampling_rate": p, "threshold": threshold, "shift": mu}
    there = dict(here)
    if which == "p":
        there["sampling_rate"] = p + (0.99 - p) * step
    elif which == "threshold":
        there["threshold"] = threshold + max(1, int(20 * step))
    elif which == "shift":
        there["shift"] = mu * (1 + step)
    later = epsilon + step if which == "epsilon" else epsilon
    low, high = JointRelease(**here), JointRelease(**there)  # type: ignore[arg-type]
    if which in ("threshold", "epsilon"):
        low, high = high, low
    first, second = (epsilon, later) if which != "epsilon" else (later, epsilon)
    share = there["sampling_rate"] / p if which == "p" else 1.0
    for direction in ("log_delta_add", "log_delta_remove"):
        below = float(getattr(low, direction)(first))
        above = float(getattr(high, direction)(second))
        if below > -600:
            assert below + np.log(share) <= above + 1e-6


# --- logarithms, inverse, ends ------------------------------------------------------------------


@settings(max_examples=100)
@given(rates, st.integers(1, 40), shifts, st.floats(-600, -1e-3))
def test_epsilon_is_enough_and_not_more(
    p: float, threshold: int, mu: float, log_delta: float
) -> None:
    ours = JointRelease(sampling_rate=p, threshold=threshold, shift=mu)
    delta = float(np.exp(log_delta))
    epsilon = float(ours.epsilon(delta))
    if np.isinf(epsilon):
        assert ours.log_delta(np.inf) > np.log(delta) - 1e-6
        return
    assert ours.log_delta(epsilon) <= np.log(delta)
    assert ours.delta(epsilon) <= delta * (1 + 1e-15)
    if epsilon > 1e-2:
        assert ours.log_delta(epsilon * (1 - 1e-6)) > np.log(delta) - 1e-6


def test_down_to_1e_minus_300() -> None:
    ours = JointRelease(sampling_rate=0.01, threshold=200, shift=0.2)
    for epsilon in (1.0, 5.0, 9.0, 30.0):
        log_delta, delta = float(ours.log_delta(epsilon)), float(ours.delta(epsilon))
        assert log_delta < -100
        if log_delta > -700:
            assert np.log(delta) == pytest.approx(log_delta, rel=1e-12)
        else:
            assert 0 < delta < 1e-300
    assert ours.epsilon(1e-300) > 0


def test_infinite_epsilon() -> None:
    ours = JointRelease(sampling_rate=0.3, threshold=5, shift=1.0)
    assert ours.delta(np.inf) == pytest.approx(0.3**5, rel=1e-6)  # all of tau - 1 others sampled
    assert ours.delta_remove(np.inf) == 0
    assert ours.epsilon(0) == np.inf
    assert ours.epsilon(1) == 0
    assert ours.epsilon(0.3**6) == np.inf
    none = JointRelease(sampling_rate=0.3, threshold=5, shift=1.0, others=3)
    assert none.delta([0, 1, np.inf]).tolist() == [0, 0, 0]
    assert none.epsilon(0) == 0


def test_remove_ends_at_the_coin() -> None:
    ours = JointRelease(sampling_rate=0.3, threshold=5, shift=1.0)
    coin = -np.log1p(-0.3)
    assert ours.delta_remove(coin) == 0
    assert ours.delta_remove(coin * (1 - 1e-6)) > 0
    assert ours.delta(0) == ours.delta_add(0)  # total variation has no direction
    assert ours.delta_add(0) == pytest.approx(float(ours.delta_remove(0)), rel=1e-6)


def test_shapes() -> None:
    ours = JointRelease(sampling_rate=0.3, threshold=5, shift=1.0, others=20)
    assert ours.delta(1.0).shape == ()
    assert ours.delta([[0.1, 0.2, 0.3]]).shape == (1, 3)
    assert ours.epsilon([[1e-3], [1e-4]]).shape == (2, 1)
    assert average_delta(
        [[0.1, 0.2]], distances=[1.0], sampling_rate=0.3, threshold=2, noise_std=1.0
    ).shape == (1, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"sampling_rate": 0},
        {"sampling_rate": 1.1},
        {"sampling_rate": np.nan},
        {"threshold": 0},
        {"threshold": 1.5},
        {"shift": -1.0},
        {"shift": np.nan},
        {"others": -1},
        {"others": 2**53},
        {"others_max": -1},
    ],
)
def test_ranges(change: dict[str, float]) -> None:
    good = {"sampling_rate": 0.3, "threshold": 5, "shift": 1.0}
    with pytest.raises(ParameterError, match=next(iter(change))):
        JointRelease(**(good | change))  # type: ignore[arg-type]


@pytest.mark.parametrize("case", PUBLISHED)
def test_others_max(case: Published) -> None:
    arguments = {"sampling_rate": case.sampling_rate, "threshold": case.threshold, "shift": 0.7}
    free = float(JointRelease(**arguments).delta(1.0))  # type: ignore[arg-type]
    few = [
        float(JointRelease(others_max=n, **arguments).delta(1.0))  # type: ignore[arg-type]
        for n in (0, case.threshold - 2, case.threshold - 1, case.threshold, 150, 10**6)
    ]
    assert few[0] == few[1] == 0
    assert few == pytest.approx(sorted(few), rel=1e-6)
    assert few[-1] == pytest.approx(free, rel=1e-6)
