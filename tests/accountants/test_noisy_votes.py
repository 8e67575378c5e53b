"""Sensitivities of votes and profiles by brute force; their exact profiles; joint composition."""

from itertools import combinations, combinations_with_replacement, product

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv

from accountants.errors import ParameterError
from accountants.gaussian import AnalyticGaussian
from accountants.guarantee import Adjacency
from accountants.noisy_votes import (
    GaussianRelease,
    NoisyProfile,
    NoisyVotes,
    joint_shift,
    profile_sensitivity,
    vote_sensitivity,
)
from tests.accountants.oracles import hockey_stick

ADD_REMOVE = Adjacency()
REPLACE = Adjacency(relation="replace-one")


# --- sensitivities ------------------------------------------------------------------------------


def vote_vectors(candidates: int, nearest: int, *, distinct: bool) -> set[tuple[int, ...]]:
    """Return all vote vectors of one record: over two codes with ``candidates`` each."""
    choose = combinations if distinct else combinations_with_replacement
    vectors = set()
    for code in range(2):
        for votes in choose(range(candidates), nearest):
            vector = [0] * (2 * candidates)
            for vote in votes:
                vector[code * candidates + vote] += 1
            vectors.add(tuple(vector))
    return vectors


def greatest(first: set[tuple[int, ...]], second: set[tuple[int, ...]]) -> float:
    return max(
        float(np.linalg.norm(np.subtract(a, b))) for a, b in product(sorted(first), sorted(second))
    )


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize(("candidates", "nearest"), [(3, 1), (3, 2), (4, 3), (5, 2)])
def test_votes_by_brute_force(candidates: int, nearest: int, distinct: bool) -> None:
    vectors = vote_vectors(candidates, nearest, distinct=distinct)
    nothing = {(0,) * (2 * candidates)}
    for adjacency, real in (
        (ADD_REMOVE, greatest(vectors, nothing)),
        (REPLACE, greatest(vectors, vectors)),
    ):
        value = vote_sensitivity(nearest=nearest, adjacency=adjacency, distinct=distinct)
        assert real <= value <= real * (1 + 1e-14)


@pytest.mark.parametrize("distinct", [True, False])
def test_votes_of_several_records_by_brute_force(distinct: bool) -> None:
    one = vote_vectors(3, 2, distinct=distinct)
    two = {tuple(np.add(a, b).tolist()) for a, b in product(one, one)}
    for relation, others in (("add-remove", {(0,) * 6}), ("replace-one", two)):
        adjacency = Adjacency(relation=relation, records=2)
        value = vote_sensitivity(nearest=2, adjacency=adjacency, distinct=distinct)
        assert value == pytest.approx(greatest(two, others), rel=1e-14)


@pytest.mark.parametrize(("codes", "per_record"), [(2, 1), (4, 1), (4, 2), (5, 2), (4, 3), (4, 4)])
def test_profiles_by_brute_force(codes: int, per_record: int) -> None:
    vectors = {v for v in product((0, 1), repeat=codes) if 1 <= sum(v) <= per_record}
    for adjacency, others in ((ADD_REMOVE, {(0,) * codes}), (REPLACE, vectors)):
        real = greatest(vectors, others)
        value = profile_sensitivity(adjacency=adjacency, codes_per_record=per_record, codes=codes)
        assert real <= value <= real * (1 + 1e-14)
        free = profile_sensitivity(adjacency=adjacency, codes_per_record=per_record)
        assert free >= value


def test_reference_sensitivities() -> None:
    assert vote_sensitivity(nearest=10, adjacency=ADD_REMOVE) == pytest.approx(np.sqrt(10))
    assert vote_sensitivity(nearest=10, adjacency=REPLACE) == pytest.approx(np.sqrt(20))
    several = vote_sensitivity(nearest=10, adjacency=ADD_REMOVE, distinct=False)
    assert several == pytest.approx(10)
    assert profile_sensitivity(adjacency=ADD_REMOVE) == pytest.approx(1)
    assert profile_sensitivity(adjacency=REPLACE) == pytest.approx(np.sqrt(2))
    assert profile_sensitivity(adjacency=REPLACE, codes_per_record=7, codes=7) == pytest.approx(
        np.sqrt(7)
    )


def test_fault_replace_one_sensitivity_taken_as_add_remove() -> None:
    noise_std = GaussianRelease.calibrate(
        sensitivity=vote_sensitivity(nearest=10, adjacency=ADD_REMOVE), epsilon=7, delta=1e-5
    ).noise_std
    right = NoisyVotes(nearest=10, noise_std=noise_std, adjacency=REPLACE).guarantee()
    assert float(right.epsilon(1e-5)) > 10.5
    assert right.adjacency == REPLACE


def test_votes_calibrated_to_sensitivity_1() -> None:
    # ten votes, noise for one: a nominal 7 is 30.5
    noise_std = GaussianRelease.calibrate(sensitivity=1, epsilon=7, delta=1e-5).noise_std
    votes = NoisyVotes(nearest=10, noise_std=noise_std)
    assert float(votes.guarantee().epsilon(1e-5)) == pytest.approx(30.510, abs=1e-3)
    # and if a candidate may take all ten
    several = NoisyVotes(nearest=10, noise_std=noise_std, distinct=False)
    assert float(several.guarantee().epsilon(1e-5)) == pytest.approx(173.836, abs=1e-3)


# --- the profile --------------------------------------------------------------------------------


def test_fault_classical_formula_at_large_epsilon() -> None:
    release = GaussianRelease.calibrate(sensitivity=1, epsilon=50, delta=1e-6)
    assert release.noise_std == pytest.approx(0.156593, abs=1e-6)
    classical = np.sqrt(2 * np.log(1.25 / 1e-6)) / 50
    assert classical < release.noise_std  # the classical formula is not a bound here
    assert float(GaussianRelease(sensitivity=1, noise_std=classical).delta(50)) > 1e-6


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    sensitivity=st.floats(0.1, 30),
    noise_std=st.floats(0.1, 300),
    count=st.integers(1, 100),
    place=st.floats(-6, 12),
)
def test_certified_against_mpmath(
    sensitivity: float, noise_std: float, count: int, place: float
) -> None:
    release = GaussianRelease(sensitivity=sensitivity, noise_std=noise_std, count=count)
    with mp.workprec(300):
        shift = mp.mpf(sensitivity) / mp.mpf(noise_std) * mp.sqrt(count)
        assert release.shift >= shift
        epsilon = max(float(shift * place + shift**2 / 2), 0.0)
        truth = hockey_stick(mp.mpf(epsilon), shift)
        value = float(release.delta(epsilon))
        assert value >= truth
        assert value <= truth * (1 + 1e-6) + 1e-15


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    sensitivity=st.floats(0.1, 30),
    epsilon=st.floats(0, 1500),
    exponent=st.floats(-300, -0.4),
    count=st.integers(1, 50),
)
def test_calibrated_noise_is_enough_and_not_much_more(
    sensitivity: float, epsilon: float, exponent: float, count: int
) -> None:
    delta = 10.0**exponent
    if epsilon < 1e-3 and delta < 1e-12:
        return
    release = GaussianRelease.calibrate(
        sensitivity=sensitivity, epsilon=epsilon, delta=delta, count=count
    )
    assert float(release.log_delta(epsilon)) <= np.log(delta) + 1e-9 * (1 - np.log(delta))
    less = GaussianRelease(
        sensitivity=sensitivity, noise_std=release.noise_std * (1 - 1e-6), count=count
    )
    assert float(less.log_delta(epsilon)) > np.log(delta)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    shifts=st.lists(st.floats(0.01, 5), min_size=1, max_size=5),
    epsilon=st.floats(0, 20),
    more=st.floats(0, 3),
)
def test_monotone(shifts: list[float], epsilon: float, more: float) -> None:
    releases = [GaussianRelease(sensitivity=shift, noise_std=1) for shift in shifts]
    joint = GaussianRelease(sensitivity=joint_shift(releases), noise_std=1)
    here = float(joint.log_delta(epsilon))
    room = 1e-11 * (1 + abs(here))
    assert float(joint.log_delta(epsilon + more)) <= here + room
    assert all(float(one.log_delta(epsilon)) <= here + room for one in releases)
    wider = GaussianRelease(sensitivity=joint.sensitivity * (1 + more), noise_std=1)
    assert float(wider.log_delta(epsilon)) >= here - room


def test_joint_release_by_monte_carlo_is_never_above() -> None:
    # the likelihood-ratio test on votes, profile and a repetition; error probability 1e-6 a case
    random = np.random.default_rng(20260307)
    votes, profile = NoisyVotes(nearest=3, noise_std=2.0), NoisyProfile(noise_std=1.0, rounds=2)
    joint = GaussianRelease(sensitivity=joint_shift([votes.release, profile.release]), noise_std=1)
    trials = 200_000
    direction = np.array([1, 1, 1, 0, 0, 1, 1]) / np.array([2, 2, 2, 2, 2, 1, 1])
    losses = []
    for present in (True, False):
        seen = random.normal(size=(trials, 7)) + (direction if present else 0.0)
        losses.append(seen @ direction - direction @ direction / 2)
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        hits = [int(np.sum(loss > epsilon)) for loss in losses]
        alpha = 1e-6 / 8
        low = float(betaincinv(hits[0], trials - hits[0] + 1, alpha))
        high = float(betaincinv(hits[1] + 1, trials - hits[1], 1 - alpha))
        bound = float(joint.delta(epsilon))
        assert low - np.exp(epsilon) * high <= bound
        estimate = (hits[0] - np.exp(epsilon) * hits[1]) / trials
        assert estimate == pytest.approx(bound, abs=0.02)


def test_fault_composition_count_ignored() -> None:
    once = GaussianRelease(sensitivity=1, noise_std=2)
    hundred = GaussianRelease(sensitivity=1, noise_std=2, count=100)
    assert hundred.shift == pytest.approx(10 * once.shift)
    assert float(hundred.epsilon(1e-6)) > 10 * float(once.epsilon(1e-6)) / 2
    assert NoisyVotes(nearest=4, noise_std=2, rounds=25).release.shift == pytest.approx(5)
    assert NoisyProfile(noise_std=2, rounds=25).release.shift == pytest.approx(2.5)


def test_fault_noise_of_a_share_is_not_that_of_a_count() -> None:
    # noise with standard deviation sigma on counts/n is n sigma on the counts, not sigma
    texts, noise_on_share = 500, 0.01
    right = NoisyProfile(noise_std=noise_on_share * texts)
    assert float(right.release.epsilon(1e-6)) < 1.1
    wrong = NoisyProfile(noise_std=noise_on_share)
    assert float(wrong.release.epsilon(1e-6)) > 1000


# --- ranges -------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1.0, 709.8, 1462.3, 1500.0, np.inf])
@pytest.mark.parametrize("ratio", [1e-12, 1e-3, 1.0, 30.0, 1e6])
def test_extreme_ranges(epsilon: float, ratio: float) -> None:
    release = GaussianRelease(sensitivity=ratio, noise_std=1)
    delta = float(release.delta(epsilon))
    assert 0 <= delta <= 1
    assert delta == 0 if np.isinf(epsilon) else delta > 0


@pytest.mark.parametrize("delta", [0.0, 1e-300, 1e-12, 0.5, 1.0])
def test_extreme_deltas(delta: float) -> None:
    epsilon = float(GaussianRelease(sensitivity=3, noise_std=2).epsilon(delta))
    assert epsilon >= 0
    assert np.isinf(epsilon) == (delta == 0)


def test_guarantees_carry_their_conditions() -> None:
    votes = NoisyVotes(nearest=5, noise_std=3, distinct=False, adjacency=REPLACE).guarantee()
    assert votes.adjacency == REPLACE
    assert votes.assumptions[0] == "A private text gives at most 5 votes."
    profile = NoisyProfile(noise_std=3, codes_per_record=2, codes=9).guarantee()
    assert "at most 2 control codes" in profile.assumptions[0]
    exact = AnalyticGaussian(noise_multiplier=3 / np.sqrt(2))
    assert float(profile.epsilon(1e-5)) == pytest.approx(float(exact.epsilon(1e-5)), rel=1e-9)


@pytest.mark.parametrize(
    "build",
    [
        lambda: GaussianRelease(sensitivity=0, noise_std=1),
        lambda: GaussianRelease(sensitivity=1, noise_std=0),
        lambda: GaussianRelease(sensitivity=1, noise_std=-1),
        lambda: GaussianRelease(sensitivity=1, noise_std=float("nan")),
        lambda: GaussianRelease(sensitivity=1e300, noise_std=1e-300),
        lambda: GaussianRelease(sensitivity=1e-300, noise_std=1e300),
        lambda: GaussianRelease(sensitivity=1, noise_std=1, count=0),
        lambda: GaussianRelease.calibrate(sensitivity=1, epsilon=-1, delta=0.1),
        lambda: GaussianRelease.calibrate(sensitivity=1, epsilon=1, delta=0),
        lambda: GaussianRelease.calibrate(sensitivity=1, epsilon=1, delta=1.5),
        lambda: vote_sensitivity(nearest=0, adjacency=ADD_REMOVE),
        lambda: vote_sensitivity(nearest=True, adjacency=ADD_REMOVE),
        lambda: profile_sensitivity(adjacency=ADD_REMOVE, codes_per_record=3, codes=2),
        lambda: NoisyVotes(nearest=2, noise_std=1, rounds=0),
        lambda: NoisyProfile(noise_std=0),
        lambda: GaussianRelease(sensitivity=1, noise_std=1).log_delta(-1.0),
        lambda: GaussianRelease(sensitivity=1, noise_std=1).epsilon(float("nan")),
    ],
)
def test_values_that_are_not_allowed(build) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError):
        build()
