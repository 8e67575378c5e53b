"""Sequential composition: exact cases at many digits, enumeration, Monte Carlo, faults."""

import itertools
from dataclasses import dataclass
from functools import lru_cache

import mpmath as mp
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from accountants.composition import (
    ComposedProfile,
)
from accountants.errors import ParameterError
from accountants.gaussian import log_hockey_stick
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from tests.accountants.composition_cases import (
    Gaussian,
    Laplace,
    Response,
    composed,
    response_delta,
)
from tests.accountants.oracles import hockey_stick


@dataclass(frozen=True, kw_only=True)
class Perfect(PrivacyProfile):
    def log_delta(self, epsilon: ArrayLike) -> Floats:
        return np.full(np.shape(epsilon), -np.inf)


def enumerated(tables: list[list[tuple[mp.mpf, mp.mpf]]], epsilon: float) -> mp.mpf:
    """Delta of independent discrete pairs (lists of p, q), all outcomes enumerated."""
    total, growth = mp.mpf(0), mp.exp(mp.mpf(epsilon))
    for outcome in itertools.product(*tables):
        p, q = mp.fprod([a for a, _ in outcome]), mp.fprod([b for _, b in outcome])
        total += max(p - growth * q, mp.mpf(0))
    return total


def response_table(level: float, leak: float = 0.0) -> list[tuple[mp.mpf, mp.mpf]]:
    e0, keep = mp.mpf(level), 1 - mp.mpf(leak)
    p, q = keep / (1 + mp.exp(-e0)), keep / (1 + mp.exp(e0))
    zero, leaked = mp.mpf(0), mp.mpf(leak)
    return [(p, q), (q, p), (leaked, zero), (zero, leaked)]


# --- certification ------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(-6, 3).map(lambda x: float(np.exp(x))),
    st.integers(2, 60),
    st.floats(0, 0.995),
    st.sampled_from((0.0, 1e-12, 1e-3)),
)
def test_certified_randomised_response(level: float, count: int, part: float, leak: float) -> None:
    epsilon = part * count * level
    value = float(composed((Response(level=level, leak=leak), count)).log_delta(epsilon))
    with mp.workprec(300):
        truth = mp.log(response_delta(level, count, epsilon, leak))
    assert truth <= value + mp.mpf(10) ** -60  # the working precision
    # the kink is at one of the samples unless there is a leak; the grid adds up to 1e-4
    assert value <= truth + (1e-6 if leak == 0 else 3e-3)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(-6, 2).map(lambda x: float(np.exp(x))),
    st.sampled_from((2, 3, 17, 365, 20000)),
    st.floats(-25, 0),
)
def test_certified_gaussian(shift: float, count: int, log10: float) -> None:
    profile = sampled_gaussian(round(shift, 2) + 0.01, count)
    total = mp.sqrt(count) * mp.mpf(profile.profiles[0].shift)  # type: ignore[attr-defined]
    epsilon = float(Gaussian(shift=float(total)).epsilon(10**log10))
    value = float(profile.log_delta(epsilon))
    with mp.workprec(300):
        truth = mp.log(hockey_stick(mp.mpf(epsilon), total))
    assert value >= truth
    # 200 samples of each: about one part in a thousand of epsilon
    assert value <= float(log_hockey_stick(epsilon / 1.003, float(total))) + 3e-3


@lru_cache(maxsize=64)
def sampled_gaussian(shift: float, count: int) -> ComposedProfile:
    return composed((Gaussian(shift=shift), count))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.floats(0.05, 4), st.sampled_from((0.0, 1e-9, 0.02)), st.integers(1, 2)),
        min_size=1,
        max_size=2,
    ),
    st.floats(0, 0.98),
)
def test_certified_by_enumeration(given_parts: list[tuple[float, float, int]], part: float) -> None:
    parts = [(Response(level=level, leak=leak), count) for level, leak, count in given_parts]
    epsilon = part * sum(level * count for level, _, count in given_parts)
    value = float(composed(*parts).log_delta(epsilon))
    with mp.workprec(200):
        tables = [
            response_table(level, leak) for level, leak, count in given_parts for _ in range(count)
        ]
        truth = mp.log(enumerated(tables, epsilon))
    assert truth <= value <= truth + 3e-3


def test_adaptive_inputs_are_covered() -> None:
    """The second release's input, which data set gives it p or q, depends on the first output."""
    first, second, epsilon = 0.7, 1.3, 0.9
    bound = float(composed((Response(level=first), 1), (Response(level=second), 1)).delta(epsilon))
    worst = mp.mpf(0)
    for turned in itertools.product((False, True), repeat=2):
        total = mp.mpf(0)
        for (p, q), turn in zip(response_table(first)[:2], turned, strict=True):
            for a, b in response_table(second)[:2]:
                c, d = (b, a) if turn else (a, b)
                total += max(p * c - mp.exp(epsilon) * q * d, mp.mpf(0))
        worst = max(worst, total)
    assert worst <= bound <= worst * (1 + 1e-6)


def test_both_directions_of_a_lopsided_pair() -> None:
    """Symmetrised profiles cover the composition of one and the same direction, and mixtures."""

    @dataclass(frozen=True)
    class Lopsided(PrivacyProfile):
        def log_delta(self, epsilon: ArrayLike) -> Floats:
            growth = np.exp(np.minimum(np.asarray(epsilon, float), 700.0))
            p, q = np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.2, 0.5])
            forth = np.maximum(p - growth[..., None] * q, 0).sum(-1)
            back = np.maximum(q - growth[..., None] * p, 0).sum(-1)
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(np.maximum(forth, back) * (1 + 1e-15)))

    forth = [(mp.mpf(a), mp.mpf(b)) for a, b in ((0.6, 0.3), (0.3, 0.2), (0.1, 0.5))]
    back = [(b, a) for a, b in forth]
    profile = composed((Lopsided(), 4))
    for epsilon in np.linspace(0, 6.4, 23):
        bound = float(profile.delta(epsilon))
        for turned in range(5):
            tables = [forth] * turned + [back] * (4 - turned)
            assert enumerated(tables, float(epsilon)) <= bound


@dataclass(frozen=True, kw_only=True)
class Table(PrivacyProfile):
    """One pair of distributions, the worse of both directions, rounded up."""

    p: tuple[float, ...]
    q: tuple[float, ...]

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        growth = np.exp(np.minimum(np.asarray(epsilon, float), 700.0))[..., None]
        p, q = np.array(self.p), np.array(self.q)
        best = np.maximum(*(np.maximum(a - growth * b, 0).sum(-1) for a, b in ((p, q), (q, p))))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.minimum(best * (1 + 1e-14) + 1e-16, 1.0)))


eighths = st.lists(st.integers(1, 40), min_size=3, max_size=3).map(
    lambda parts: tuple(part / sum(parts) for part in parts)
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(eighths, eighths, st.sampled_from((2, 3)), st.floats(0, 6))
def test_certified_for_random_pairs_in_every_mixture_of_directions(
    p: tuple[float, ...], q: tuple[float, ...], count: int, epsilon: float
) -> None:
    bound = float(composed((Table(p=p, q=q), count)).delta(epsilon))
    forth = [(mp.mpf(a), mp.mpf(b)) for a, b in zip(p, q, strict=True)]
    back = [(b, a) for a, b in forth]
    for turned in range(count + 1):
        truth = enumerated([forth] * turned + [back] * (count - turned), epsilon)
        assert truth <= bound * (1 + 1e-13)  # of the oracle's 53 bits


# --- small deltas, large epsilons, ends ---------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-300, 1e-200, 1e-100, 1e-40, 1e-15])
def test_small_deltas_have_no_floor(delta: float) -> None:
    profile = composed((Response(level=0.1), 1200))
    epsilon = float(profile.epsilon(delta))
    with mp.workprec(2500):
        truth = response_delta(0.1, 1200, epsilon)
        assert truth <= delta * (1 + 1e-12)
        assert truth >= delta * (1 - 1e-5)


def test_fault_composition_count_ignored() -> None:
    """100 binary responses with noise 1/2 (level ln 3): reported 1.0987, true 94.30 at 1e-6."""
    hundred = float(composed((Response(level=float(np.log(3))), 100)).epsilon(1e-6))
    assert hundred == pytest.approx(94.29, abs=0.01)
    with mp.workprec(300):
        assert response_delta(float(np.log(3)), 100, hundred) <= mp.mpf(1e-6)
        assert response_delta(float(np.log(3)), 100, hundred - 1e-4) > mp.mpf(1e-6)
    assert hundred == pytest.approx(
        peer.from_randomized_response(0.5, 2).self_compose(100).get_epsilon_for_delta(1e-6),
        abs=0.01,
    )


def test_fault_overflow_and_nan_at_large_epsilon() -> None:
    profile = composed((Gaussian(shift=22.0), 4), points=1000, tail=1e-40)
    grid = np.array([0, 700, 709, 709.8, 710, 745, 900, 1300, 1462.3, 1500, 1e6, 1e300, np.inf])
    found, truth = profile.log_delta(grid), log_hockey_stick(grid, 44.0)
    assert not np.isnan(found).any()
    assert np.all(found >= truth)
    assert np.all(found[:-3] <= truth[:-3] * 0.98 + 0.05)
    target = float(np.exp(log_hockey_stick(1462.3, 44.0)))
    assert 1462.3 <= float(profile.epsilon(target)) <= 1462.3 * 1.002
    pure = composed((Response(level=731.15), 2))
    assert float(pure.epsilon(1e-300)) == pytest.approx(1462.3, rel=1e-9)
    assert float(pure.log_delta(1462.31)) == -np.inf


def test_fault_delta_zero_and_below_the_infinity_mass() -> None:
    gaussian = composed((Gaussian(shift=1.0), 5))
    assert float(gaussian.epsilon(0.0)) == np.inf
    leaking = composed((Response(level=1.0, leak=1e-9), 5))
    assert float(leaking.epsilon(4.9e-9)) == np.inf
    assert float(leaking.epsilon(0.0)) == np.inf
    assert float(leaking.epsilon(5.01e-9)) == pytest.approx(5.0, abs=0.02)
    assert float(composed((Response(level=1.0), 5)).epsilon(0.0)) == pytest.approx(5.0, rel=1e-9)


def test_fault_delta_outside_zero_to_one_and_negative_epsilon_near_one() -> None:
    profile = composed((Gaussian(shift=1.0), 5))
    for bad in (np.nan, -1e-12, 1.0000001, np.inf):
        with pytest.raises(ParameterError):
            profile.epsilon(bad)
    for bad in (np.nan, -1e-12):
        with pytest.raises(ParameterError):
            profile.log_delta(bad)
    for near_one in (0.999999, 1.0):
        assert float(profile.epsilon(near_one)) == 0


def test_fault_zero_taken_for_infinity() -> None:
    assert float(composed((Perfect(), 3)).epsilon(0.0)) == 0
    assert float(composed((Perfect(), 3), (Response(level=1.0), 1)).epsilon(0.0)) == pytest.approx(
        1.0, rel=1e-9
    )


def test_fault_epsilon_grows_with_delta() -> None:
    profile = composed((Laplace(level=0.4), 20))
    epsilons = profile.epsilon(np.logspace(-25, -0.01, 30))
    assert np.all(np.diff(epsilons) <= 2e-8)  # inversions are 1e-9 wide
    assert epsilons[0] > epsilons[-1]


def test_no_privacy_in_one_is_none_in_all() -> None:
    @dataclass(frozen=True)
    class Nothing(PrivacyProfile):
        def log_delta(self, epsilon: ArrayLike) -> Floats:
            return np.zeros(np.shape(epsilon))

    profile = composed((Nothing(), 1), (Gaussian(shift=1.0), 3))
    assert profile.delta([0.0, 1500.0, np.inf]).tolist() == [1.0] * 3
    assert float(profile.epsilon(0.5)) == np.inf


def test_tiny_deltas_of_pure_losses_cost_at_most_all_losses() -> None:
    profile = composed((Response(level=1e-5), 226), (Perfect(), 704947))
    epsilons = profile.epsilon([0.0, 1e-300, 1e-100, 1e-20])
    assert np.all(epsilons <= 226e-5 * (1 + 1e-9))
    assert np.all(np.diff(epsilons) <= 1e-12)


def test_many_releases_with_hardly_any_spread() -> None:
    """A loss of about 63 forty thousand times over: the grid is far from zero."""
    profile = composed((Response(level=63.6), 40841), (Response(level=1e-6), 10**6))
    logs = profile.log_delta([0.0, 1e6, 2.5e6, 2.7e6, np.inf])
    assert not np.isnan(logs).any()
    assert logs[0] == pytest.approx(0.0, abs=1e-9)
    assert logs[-1] == -np.inf
    epsilon = float(profile.epsilon(1e-6))
    assert 63.6 * 40800 < epsilon < 63.6 * 40841 * 1.00001
