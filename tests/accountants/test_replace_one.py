"""Replace-one adjacency: products of two buckets, all subsets listed, and mpmath."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import beta, binom

from accountants import (
    Adjacency,
    AnalyticGaussian,
    Guarantee,
    JointRelease,
    ParameterError,
    View,
)
from accountants.group_release import GroupRelease
from accountants.profile import PrivacyProfile
from accountants.replace_in_bucket import ReplaceInBucket
from accountants.replace_one import COIN, GENERIC, CoinChain, ReplaceOne, replace_one
from tests.accountants import oracles

REPEATABLE = settings(max_examples=200, deadline=None, derandomize=True)
rates = st.floats(0.02, 0.98)
shifts = st.floats(-6, 2.0).map(lambda x: float(np.exp(x)))
epsilons = st.one_of(st.floats(0, 0.5), st.floats(0, 12))


def guarantee(profile: PrivacyProfile, **adjacency: object) -> Guarantee:
    return Guarantee(
        name="release",
        profile=profile,
        adjacency=Adjacency(**adjacency),  # type: ignore[arg-type]
        view=View(),
        assumptions=("an assumption",),
        source="a theorem",
    )


# --- reference values ---------------------------------------------------------------------------


def test_reference_values() -> None:
    """At p = .6 and (16, 1e-6): (16.92, 1e-6) by the coin; two steps give delta 8.9."""
    given_ = JointRelease(sampling_rate=0.6, threshold=60, shift=1 / 0.355)
    sixteen = float(given_.epsilon(1e-6))
    assert sixteen == pytest.approx(16.0, abs=0.02)
    found = replace_one(guarantee(given_), sampling_rate=0.6)
    assert isinstance(found.profile, ReplaceOne)
    assert found.epsilon(1e-6) == pytest.approx(sixteen - np.log(0.4), rel=1e-6)
    assert found.epsilon(1e-6) == pytest.approx(16.92, abs=0.02)
    assert found.profile.winner(1e-6) == COIN
    assert (1 + np.exp(16)) * 1e-6 == pytest.approx(8.9, abs=0.02)
    assert dict(found.profile.routes)[GENERIC].delta(2 * sixteen) == 1
    assert found.adjacency == Adjacency(relation="replace-one")
    assert len(found.assumptions) == 2


def test_two_steps_win_where_everybody_takes_part() -> None:
    base = guarantee(AnalyticGaussian(noise_multiplier=4.0))  # type: ignore[arg-type]
    sure = replace_one(base, sampling_rate=1.0)
    assert isinstance(sure.profile, ReplaceOne)
    assert [name for name, _ in sure.profile.routes] == [GENERIC]
    assert sure.assumptions == base.assumptions
    often = replace_one(base, sampling_rate=0.999)
    assert isinstance(often.profile, ReplaceOne)
    assert often.profile.winner(1e-6) == GENERIC
    seldom = replace_one(base, sampling_rate=0.01)
    assert isinstance(seldom.profile, ReplaceOne)
    assert seldom.profile.winner(1e-6) == COIN
    # a replaced vector moves the sum twice as far at most: the exact curve lies below both
    twice = AnalyticGaussian(noise_multiplier=2.0)
    for found in (sure, often):
        assert found.epsilon(1e-6) >= twice.epsilon(1e-6)


# --- two buckets: the product pair, by brute force ----------------------------------------------


def thresholded(others: int, records: int, p: float, threshold: int) -> np.ndarray:
    """Masses of "nothing" and of each released count, one row long enough for both cases."""
    n = np.arange(threshold, max(others + records, threshold) + 1)
    mass = binom.pmf(n, others + records, p)
    return np.append(mass, binom.cdf(threshold - 1, others + records, p))


def moved(
    first: int, second: int, records: int, p: float, threshold: int
) -> tuple[np.ndarray, ...]:
    """Both releases when l records leave one bucket for another."""

    def side(others: int) -> tuple[np.ndarray, np.ndarray]:
        full = thresholded(others, records, p, threshold)
        bare = np.zeros_like(full)
        short = thresholded(others, 0, p, threshold)
        bare[: len(short) - 1], bare[-1] = short[:-1], short[-1]
        return full, bare

    (a_full, a_bare), (b_full, b_bare) = side(first), side(second)
    return np.outer(a_full, b_bare).ravel(), np.outer(a_bare, b_full).ravel()


@REPEATABLE
@given(
    rates, st.integers(1, 8), st.integers(0, 16), st.integers(0, 16), st.integers(1, 3), epsilons
)
@example(0.3, 2, 1, 1, 1, 0.0)
@example(0.3, 2, 4, 4, 2, 0.1)
def test_two_buckets_stay_below_the_coin_chain(
    p: float, threshold: int, first: int, second: int, records: int, epsilon: float
) -> None:
    """The exact product of the count that loses and the count that gains the records."""
    before, after = moved(first, second, records, p, threshold)
    exact = float(np.sum(np.maximum(before - np.exp(epsilon) * after, 0.0)))
    base = GroupRelease(sampling_rate=p, threshold=threshold, shift=0.0, records=records)
    chain = CoinChain(base=base, sampling_rate=p, records=records)
    assert exact <= float(chain.delta(epsilon)) + 1e-12
    two_steps = float(replace_one(guarantee(base, records=records), sampling_rate=1).delta(epsilon))
    assert exact <= two_steps + 1e-12


def test_two_buckets_of_one_record_exceed_the_add_remove_curve() -> None:
    """Replacing a record needs more than the add-remove curve, at most the coin chain."""
    p, threshold, epsilon = 0.5, 4, 0.5
    best = max(
        float(np.sum(np.maximum(before - np.exp(epsilon) * after, 0)))
        for a in range(3, 14)
        for b in range(3, 14)
        for before, after in [moved(a, b, 1, p, threshold)]
    )
    base = JointRelease(sampling_rate=p, threshold=threshold, shift=0.0)
    chain = float(CoinChain(base=base, sampling_rate=p).delta(epsilon))
    assert 1.1 * float(base.delta(epsilon)) < best <= chain


# --- the coin chain itself ----------------------------------------------------------------------


@REPEATABLE
@given(rates, st.integers(1, 4), st.floats(0.2, 8), st.floats(0, 20), st.floats(0, 2))
def test_coin_chain_formula(
    p: float, records: int, multiplier: float, epsilon: float, step: float
) -> None:
    base = AnalyticGaussian(noise_multiplier=multiplier)
    chain = CoinChain(base=base, sampling_rate=p, records=records)  # type: ignore[arg-type]
    with mp.workdps(40):
        coin = -records * mp.log1p(-mp.mpf(p))
        gap = mp.mpf(epsilon) - coin
        if gap >= 0:
            plain = mp.mpf(float(base.delta(float(gap))))
        else:
            alpha = mp.exp(gap)
            plain = 1 - alpha + alpha * mp.mpf(float(base.delta(float(-gap))))
        plain = min(plain, -mp.expm1(-coin))
    found = float(chain.delta(epsilon))
    assert found >= float(plain) * (1 - 1e-12)
    assert found <= float(plain) * (1 + 1e-6) + 1e-300
    assert chain.log_delta(epsilon + step) <= chain.log_delta(epsilon) + 1e-12


@REPEATABLE
@given(rates, st.integers(1, 30), st.floats(-4, 1), st.floats(-30, -0.5))
def test_epsilon_is_enough(p: float, threshold: int, log_mu: float, log_delta: float) -> None:
    base = JointRelease(sampling_rate=p, threshold=threshold, shift=float(np.exp(log_mu)))
    found = replace_one(guarantee(base), sampling_rate=p)
    delta = float(np.exp(log_delta))
    epsilon = float(found.epsilon(delta))
    if np.isfinite(epsilon):
        assert found.delta(epsilon) <= delta * (1 + 1e-6)
    else:
        assert found.delta(1500.0) > delta * (1 - 1e-6)


def test_ends() -> None:
    base = JointRelease(sampling_rate=0.3, threshold=5, shift=1.0)
    found = replace_one(guarantee(base), sampling_rate=0.3)
    values = found.delta([0.0, 1e-9, 0.3, 0.4, 1.0, 1500.0, np.inf])
    assert not np.isnan(values).any()
    assert (np.diff(values) <= 0).all()
    assert values[0] <= 0.3 * (1 + 1e-12)
    assert values[-1] == pytest.approx(float(base.delta(np.inf)), rel=1e-6)
    assert found.epsilon([1.0, 0.0]).tolist() == [0, np.inf]
    assert found.delta([[1.0], [2.0]]).shape == (2, 1)
    certain = CoinChain(base=base, sampling_rate=1.0)
    assert certain.delta([0, 3, np.inf]).tolist() == [1, 1, 1]
    tiny = CoinChain(base=base, sampling_rate=1e-9)
    assert 0 < tiny.delta(0.0) <= 1.1e-9


def test_refusals() -> None:
    base = JointRelease(sampling_rate=0.3, threshold=5, shift=1.0)
    with pytest.raises(ParameterError, match="add-remove"):
        replace_one(guarantee(base, relation="replace-one"), sampling_rate=0.3)
    for rate in (0.0, 1.1, np.nan):
        with pytest.raises(ParameterError, match="sampling_rate"):
            replace_one(guarantee(base), sampling_rate=rate)
    with pytest.raises(ParameterError, match="records"):
        CoinChain(base=base, sampling_rate=0.3, records=0)
    with pytest.raises(ParameterError, match="routes"):
        ReplaceOne(routes=())


# --- within one bucket --------------------------------------------------------------------------


def in_bucket_oracle(*, p, threshold, mu, apart, others, epsilon):
    """Sum over counts, each a supremum over half-lines, at the working precision."""
    rate, grown = mp.mpf(p), mp.exp(mp.mpf(epsilon))
    moved_ = [mp.mpf(mu), mp.mpf(apart)]
    total = mp.mpf(0)
    for n in range(threshold, others + 2):
        here, there = oracles.mass(n - 1, others, rate), oracles.mass(n, others, rate)
        weights = [(1 - rate) * (grown - 1) / rate * there / here, grown]
        logs = np.array([float(mp.log(w)) if w else -np.inf for w in weights])
        used, ways = np.isfinite(logs), np.array([mu, apart])

        def height(y: float, logs=logs, used=used, ways=ways) -> float:
            return float(logsumexp((logs + ways * y - ways**2 / 2)[used]))

        reach = 1.0
        while height(reach) < 0 or height(-reach) > 0:
            reach *= 2
        y = mp.mpf(float(brentq(height, -reach, reach, xtol=1e-300, rtol=1e-14)))
        for _ in range(2):
            parts = [w * mp.exp(s * y - s * s / 2) for w, s in zip(weights, moved_, strict=True)]
            lean = sum(s * q for s, q in zip(moved_, parts, strict=True))
            y -= mp.log(sum(parts)) * sum(parts) / lean
        mixed = sum(w * mp.ncdf(y - s) for w, s in zip(weights, moved_, strict=True))
        total += here * max(mp.ncdf(y) - mixed, mp.mpf(0))
    return rate * total


@REPEATABLE
@given(rates, st.integers(1, 12), shifts, st.floats(0.05, 2), st.integers(0, 20), epsilons)
@example(0.3, 1, 1.0, 2.0, 0, 0.0)
@example(0.9, 3, 1e-4, 1.0, 20, 1.0)
def test_in_bucket_against_mpmath(
    p: float, threshold: int, mu: float, share: float, others: int, epsilon: float
) -> None:
    ours = ReplaceInBucket(
        sampling_rate=p, threshold=threshold, shift=mu, replaced_shift=share * mu, others=others
    )
    log_delta = float(ours.log_delta(epsilon))
    with mp.workdps(45):
        exact = in_bucket_oracle(
            p=p, threshold=threshold, mu=mu, apart=share * mu, others=others, epsilon=epsilon
        )
        if exact <= 0:
            assert log_delta < -600 or np.exp(log_delta) < 1e-14
            return
        truth = mp.log(exact)
        assert log_delta >= truth
        if truth > -650:
            assert log_delta <= truth + 1e-6


@pytest.mark.parametrize("threshold", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.5])
def test_in_bucket_all_subsets_listed(threshold: int, epsilon: float) -> None:
    """Records anywhere within reach stay below the bound; others midway attain it."""
    p, y = 0.4, np.linspace(-14, 16, 30001)
    bound = float(
        ReplaceInBucket(sampling_rate=p, threshold=threshold, shift=0.7, others=3).delta(epsilon)
    )
    for rest, old, new in (
        ([0.0, 0.0, 0.0], 0.7, -0.7),
        ([0.0, 0.0, 0.0], 0.5, -0.7),
        ([0.0, 0.1, -0.1], 0.6, -0.6),
        ([0.0, 0.2, 0.3], 0.7, 0.1),
    ):
        before = oracles.release_density([*rest, old], p, threshold, 1.0, y)
        after = oracles.release_density([*rest, new], p, threshold, 1.0, y)
        for first, second in ((before, after), (after, before)):
            found = oracles.divergence(first, second, epsilon, y)
            assert found <= bound + 1e-6
            if old - new == 1.4:
                assert found == pytest.approx(bound, abs=1e-6)


def test_in_bucket_monte_carlo_stays_below() -> None:
    """Clopper-Pearson at 1e-8 on each of 2 rates and 6 events: error probability 1.2e-7."""
    rng = np.random.default_rng(11)
    trials, p, threshold, mu, others = 400_000, 0.3, 8, 0.8, 30
    released = ReplaceInBucket(sampling_rate=p, threshold=threshold, shift=mu, others=others)
    samples = []
    for place in (mu, -mu):
        count = rng.binomial(others, p, trials)
        coin = rng.random(trials) < p
        samples.append((count + coin, rng.standard_normal(trials) + place * coin))
    for epsilon in (0.2, 0.5, 1.0):
        for cut in (0.5, 1.5):
            hit, false = (int(np.sum((n >= threshold) & (s > cut))) for n, s in samples)
            low = beta.ppf(1e-8, hit, trials - hit + 1)
            high = beta.isf(1e-8, false + 1, trials - false)
            assert low - np.exp(epsilon) * high <= float(released.delta(epsilon))


@REPEATABLE
@given(rates, st.integers(1, 40), shifts, st.floats(0, 10), st.floats(0.05, 6))
def test_in_bucket_no_size_exceeds_the_supremum_nor_the_chain(
    p: float, threshold: int, mu: float, epsilon: float, scale: float
) -> None:
    """Nor does the supremum exceed the coin chain, whose first step it sharpens."""
    everywhere = float(
        ReplaceInBucket(sampling_rate=p, threshold=threshold, shift=mu).log_delta(epsilon)
    )
    here = ReplaceInBucket(
        sampling_rate=p, threshold=threshold, shift=mu, others=int(scale * threshold / p)
    )
    if everywhere > -600:
        assert float(here.log_delta(epsilon)) <= everywhere + 1e-9
        base = JointRelease(sampling_rate=p, threshold=threshold, shift=mu)
        chain = CoinChain(base=base, sampling_rate=p)
        assert everywhere <= float(chain.log_delta(epsilon)) + 1e-6


@REPEATABLE
@given(
    rates, st.integers(1, 30), shifts, st.floats(0.1, 1.9), epsilons,
    st.sampled_from(["threshold", "shift", "replaced_shift", "epsilon"]), st.floats(0.01, 1),
)  # fmt: skip
def test_in_bucket_monotone(
    p: float, threshold: int, mu: float, share: float, epsilon: float, which: str, step: float
) -> None:
    here = {"threshold": threshold, "shift": mu, "replaced_shift": share * mu}
    there, later = dict(here), epsilon
    if which == "threshold":
        there[which] = threshold + max(1, int(20 * step))
    elif which == "shift":
        there[which] = mu * (1 + step)
    elif which == "replaced_shift":
        there[which] = mu * (share + (2 - share) * step)
    else:
        later = epsilon + step
    low = float(ReplaceInBucket(sampling_rate=p, **here).log_delta(epsilon))  # type: ignore[arg-type]
    high = float(ReplaceInBucket(sampling_rate=p, **there).log_delta(later))  # type: ignore[arg-type]
    if which in ("threshold", "epsilon"):
        low, high = high, low
    if low > -600:
        assert low <= high + 1e-6


def test_in_bucket_ends() -> None:
    bare = ReplaceInBucket(sampling_rate=0.4, threshold=3, shift=np.inf, others=10)
    seen = 0.4 * binom.sf(1, 10, 0.4)  # without noise a sampled x gives itself away
    assert bare.delta([0.0, 5.0, 1500.0, np.inf]) == pytest.approx(4 * [seen], rel=1e-9)
    blind = ReplaceInBucket(sampling_rate=0.4, threshold=3, shift=0.0, others=10)
    assert blind.delta([0.0, 1.0]).tolist() == [0, 0]
    same = ReplaceInBucket(sampling_rate=0.4, threshold=3, shift=1.0, replaced_shift=0.0)
    assert same.delta([0.0, 1.0]).tolist() == [0, 0]
    few = ReplaceInBucket(sampling_rate=0.4, threshold=9, shift=1.0, others=7)
    assert few.delta([0.0, np.inf]).tolist() == [0, 0]
    sure = ReplaceInBucket(sampling_rate=1, threshold=2, shift=0.5)
    assert sure.delta(1.0) == pytest.approx(float(AnalyticGaussian(noise_multiplier=1).delta(1.0)))
    for rate in (1e-9, 1 - 1e-9):
        end = ReplaceInBucket(sampling_rate=rate, threshold=2, shift=0.5, others=int(5 / rate))
        values = end.log_delta([0.0, 1e-12, 1.0, 1500.0, 1e9, np.inf])
        assert not np.isnan(values).any()
        assert (values <= 0).all()
        assert values[-1] == -np.inf


@pytest.mark.parametrize(
    "change",
    [
        {"sampling_rate": 0}, {"sampling_rate": np.nan}, {"threshold": 0}, {"shift": -1.0},
        {"shift": np.nan}, {"replaced_shift": 2.1}, {"replaced_shift": -0.1}, {"others": -1},
        {"others_max": 0.5},
    ],
)  # fmt: skip
def test_in_bucket_ranges(change: dict[str, float]) -> None:
    good = {"sampling_rate": 0.3, "threshold": 5, "shift": 1.0}
    with pytest.raises(ParameterError, match=next(iter(change))):
        ReplaceInBucket(**(good | change))  # type: ignore[arg-type]


# --- faults the field has had -------------------------------------------------------------------


def test_fault_replace_one_sensitivity_taken_as_add_remove() -> None:
    """A replaced record moves the sum twice as far; the add-remove curve is exceeded in truth."""
    y = np.linspace(-14, 14, 30001)
    before = oracles.release_density([0.0] * 4 + [1.5], 0.4, 1, 1.0, y)
    after = oracles.release_density([0.0] * 4 + [-1.5], 0.4, 1, 1.0, y)
    found = oracles.divergence(before, after, 1.0, y)
    add_remove = JointRelease(sampling_rate=0.4, threshold=1, shift=1.5, others=4)
    assert found > 1.2 * float(add_remove.delta(1.0))
    assert found <= float(
        ReplaceInBucket(sampling_rate=0.4, threshold=1, shift=1.5, others=4).delta(1.0)
    ) * (1 + 1e-4)
    default = ReplaceInBucket(sampling_rate=0.4, threshold=1, shift=1.5)
    assert default.distance == 3.0


def test_fault_sampling_rate_off() -> None:
    """The surcharge is that of the rate with which records take part, not of its complement."""
    base = JointRelease(sampling_rate=0.2, threshold=30, shift=0.4)
    assert CoinChain(base=base, sampling_rate=0.2).surcharge == pytest.approx(-np.log(0.8))
    assert CoinChain(base=base, sampling_rate=0.2, records=3).surcharge == pytest.approx(
        -3 * np.log(0.8)
    )


def test_fault_per_user_total_not_formed() -> None:
    """With l records the coin of each counts, and the base has to cover all of them."""
    base = GroupRelease(sampling_rate=0.3, threshold=10, shift=0.0, records=2)
    found = replace_one(guarantee(base, records=2), sampling_rate=0.3)
    epsilon = float(base.epsilon(1e-3))
    assert found.epsilon(1e-3) == pytest.approx(epsilon - 2 * np.log(0.7), rel=1e-6)
    assert found.adjacency == Adjacency(relation="replace-one", records=2)


def test_fault_threshold_off_by_one() -> None:
    y = np.linspace(-14, 14, 30001)
    found = oracles.divergence(
        oracles.release_density([0.0, 0.0, 0.7], 0.4, 3, 1.0, y),
        oracles.release_density([0.0, 0.0, -0.7], 0.4, 3, 1.0, y), 0.3, y,
    )  # fmt: skip
    same = ReplaceInBucket(sampling_rate=0.4, threshold=3, shift=0.7, others=2)
    strict = ReplaceInBucket(sampling_rate=0.4, threshold=4, shift=0.7, others=2)
    assert same.delta(0.3) == pytest.approx(found, rel=1e-4)
    assert strict.delta(0.3) == 0
