"""The servers' views of the whole release, coalitions, and the tagging server."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from accountants import FreE2TParameters, JointRelease, ParameterError, SampleThreshold, TightTotal
from accountants.distributed_total import DistributedNoise, DistributedTotal
from accountants.dummy_tags import DummyTags
from accountants.guarantee import Adjacency, Guarantee, View
from accountants.ranges import Floats
from accountants.replace_one import CoinChain
from accountants.server_views import (
    NOISE_ASSUMPTIONS,
    REQUEST_ASSUMPTION,
    TAG_ASSUMPTIONS,
    public_view,
    synthesis_server_view,
    tagging_server_view,
)
from accountants.tag_padding import TagPadding
from accountants.tight_total import ASSUMPTIONS
from tests.accountants.oracles import EPS_4, EPS_8, Published, parameters
from tests.accountants.server_views_cases import bucket, decays, histogram, total

CLOSE = 2e-3  # in ln delta: certifying, and a split near the best one


small = st.tuples(
    st.floats(0.1, 0.8), st.integers(2, 30), st.floats(-2.5, 1).map(lambda x: float(np.exp(x)))
)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(small, decays, st.integers(0, 12), st.floats(0, 6), st.sampled_from([3, 200, 10**6]))
def test_total_above_its_parts(
    release: tuple[float, int, float], decay: float, shift: int, epsilon: float, records: int
) -> None:
    """Above the public total, the padded tag of a record alone, and coinciding records."""
    p, threshold, noise = release
    case = Published(1.0, p, threshold, 2, 1.0, noise)
    dummies = DummyTags(decay=decay, shift=shift, threshold=threshold)
    padded = float(total(case, dummies, records_max=records).log_delta(epsilon))
    plain = float(total(case, records_max=records).log_delta(epsilon))
    assert padded >= plain - CLOSE
    tag = DummyTags(decay=decay, shift=shift, threshold=threshold, sampling_rate=p)
    assert padded >= float(tag.log_added(epsilon)) - 1e-9
    count = bucket(p, 0.0, dummies, others_max=records - 1)
    assert padded >= float(count.log_delta(epsilon)) - 1e-6
    assert padded <= np.logaddexp(plain, float(tag.log_delta(epsilon))) + CLOSE or (
        epsilon < -np.log1p(-p)  # there the removed record's hidden part may exceed the added one's
    )


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    small,
    decays,
    st.integers(1, 12),
    st.floats(0, 5),
    st.sampled_from(["shift", "records_max", "noise_std", "epsilon", "decay"]),
    st.floats(0.05, 1),
)
def test_total_is_monotone(
    release: tuple[float, int, float],
    decay: float,
    shift: int,
    over: float,
    which: str,
    step: float,
) -> None:
    """Falls in the shift, sigma and epsilon, rises with N and, beyond ln(a')/2, with the decay."""
    p, threshold, noise = release
    epsilon = over - np.log1p(-p)  # where only added records count
    half = float(np.log1p(np.expm1(epsilon) / p)) / 2
    case = Published(1.0, p, threshold, 2, 1.0, noise)
    low, high = ({"decay": decay, "shift": shift} for _ in range(2))
    before, change = epsilon, {}
    match which:
        case "shift":
            low["shift"] = shift + max(1, int(4 * step))
        case "decay":
            low["decay"], high["decay"] = sorted((decay, decay * (1 + step)))
            if high["decay"] < half:
                low, high = high, low
            assume(low["decay"] >= half or max(low["decay"], high["decay"]) <= half)
        case "epsilon":
            before = epsilon + step
        case "noise_std":
            change = {"noise_std": noise / (1 + step)}
        case _:
            change = {"records_max": int(10**6 * (1 + 100 * step))}
    under = total(case, DummyTags(threshold=threshold, **low))  # type: ignore[arg-type]
    over_it = total(case, DummyTags(threshold=threshold, **high), **change)  # type: ignore[arg-type]
    first, second = float(under.log_delta(before)), float(over_it.log_delta(epsilon))
    assert first <= second + CLOSE or second < -300


# --- coalitions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("tags", [False, True])
def test_more_colluders_learn_more(shared: bool, tags: bool) -> None:
    release = FreE2TParameters(**parameters(EPS_8))
    noise = DistributedNoise(granularity=2.0**-12) if shared else None
    dummies = DummyTags(decay=0.5, shift=9, threshold=50)
    values = []
    for colluders in (0, 1, 5, 20):
        given_ = {"noise": noise, "colluders": colluders}
        view = (
            synthesis_server_view(release, dummies=dummies, **given_)  # type: ignore[arg-type]
            if tags
            else public_view(release, **given_)  # type: ignore[arg-type]
        )
        assert view.view.colluders == colluders
        values.append(float(view.log_delta(1.5)))
    assert all(first < second + CLOSE for first, second in pairwise(values))
    assert values[-1] > values[0] + 1e-3


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(0.05, 0.9),
    st.integers(2, 4),
    st.integers(0, 4),
    st.integers(1, 3),
    decays,
    st.integers(1, 3),
    st.floats(0, 2),
)
def test_coalition_listed(
    p: float, threshold: int, others: int, held: int, decay: float, shift: int, epsilon: float
) -> None:
    """Colluders holding the tag shift its multiplicity; the bound takes the worst of all."""
    assume(held < threshold)
    dummies = DummyTags(decay=decay, shift=shift, threshold=threshold)
    ours = JointRelease(
        sampling_rate=p,
        threshold=threshold - held,
        shift=0.0,
        others=others,
        padding=TagPadding(dummies=dummies, threshold=threshold),
    )
    growth = np.exp(epsilon)
    for known in range(held + 1):  # sampled colluders in the record's bucket
        laws = []
        for records in (others + 1, others):
            law = {
                "count": np.zeros(others + 2),
                "cells": np.zeros((2 * shift + 2) ** (threshold - 1)),
            }
            for n in range(records + 1):
                mass = binom.pmf(n, records, p)
                if n + known >= threshold:
                    law["count"][n] = mass
                else:
                    law["cells"] += mass * histogram(decay, shift, threshold - 1, n + known)
            laws.append(law)
        for first, second in (laws, laws[::-1]):
            truth = sum(np.maximum(first[k] - growth * second[k], 0).sum() for k in first)
            assert truth <= float(ours.delta(epsilon)) + 1e-12


def test_all_but_the_threshold_may_collude() -> None:
    release = FreE2TParameters(**parameters(EPS_4))
    dummies = DummyTags(decay=1.0, shift=9, threshold=30)
    assert 0 < float(public_view(release, colluders=29).delta(4.0)) <= 1
    for colluders in (30, -1, 1.5):
        with pytest.raises(ParameterError, match="colluders = "):
            public_view(release, colluders=colluders)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="colluders = "):
            synthesis_server_view(release, dummies=dummies, colluders=colluders)  # type: ignore[arg-type]


# --- what the guarantees carry --------------------------------------------------------------------


def test_guarantees_carry_their_conditions() -> None:
    release = FreE2TParameters(**parameters(EPS_4))
    dummies = DummyTags(decay=1.0, shift=9, threshold=30)
    noise = DistributedNoise(granularity=2.0**-12)
    plain = public_view(release)
    assert (plain.adjacency, plain.view) == (Adjacency(), View())
    assert plain.assumptions == ASSUMPTIONS
    assert isinstance(plain.profile, TightTotal)
    shared = public_view(release, noise=noise, colluders=2)
    assert isinstance(shared.profile, DistributedTotal)
    assert set(NOISE_ASSUMPTIONS) <= set(shared.assumptions)
    server = synthesis_server_view(release, dummies=dummies)
    assert server.view == View(party="synthesis-server")
    assert set(TAG_ASSUMPTIONS) <= set(server.assumptions)
    assert "server-views.md" in server.source
    both = synthesis_server_view(release, dummies=dummies, noise=noise)
    assert isinstance(both.profile, DistributedTotal)
    assert both.profile.padding is not None
    for view in (plain, shared, server, both):
        assert all(text.endswith(".") and "\n" not in text for text in view.assumptions)
        assert len(set(view.assumptions)) == len(view.assumptions)


def test_dummies_have_to_fit() -> None:
    release = FreE2TParameters(**parameters(EPS_4))
    with pytest.raises(
        ParameterError, match=r"^dummies.threshold = 20: the release's, 30, is need"
    ):
        synthesis_server_view(release, dummies=DummyTags(decay=1.0, shift=9, threshold=20))
    # neither a coin of the dummies' own, nor "one cell", makes the bound smaller
    wanted = synthesis_server_view(release, dummies=DummyTags(decay=2.0, shift=9, threshold=30))
    for change in ({"sampling_rate": 0.01}, {"cells": 1}):
        dummies = replace(DummyTags(decay=2.0, shift=9, threshold=30), **change)  # type: ignore[arg-type]
        other = synthesis_server_view(release, dummies=dummies)
        assert float(other.log_delta(2.0)) == float(wanted.log_delta(2.0))
    # at a threshold of 2 there is one cell, and no move between cells
    pair = FreE2TParameters(**parameters(EPS_4, threshold=2))
    one, two = (
        float(
            synthesis_server_view(
                pair, dummies=DummyTags(decay=1.0, shift=5, threshold=2, cells=cells)
            ).log_delta(2.0)
        )
        for cells in (1, 2)
    )
    assert one < two


def test_fault_deltas_of_the_two_parts_add() -> None:
    """Not the greater of the two: a record alone and a released bucket are different outcomes."""
    p, tau = 0.5, 2
    dummies = DummyTags(decay=0.7, shift=1, threshold=tau, cells=1)
    released = JointRelease(sampling_rate=p, threshold=tau, shift=0.5, others=1)
    tags = TagPadding(dummies=dummies)
    hidden = tags.log_added(np.array([1]), sampling_rate=p, threshold=tau, log_ratio=np.log(3.0))
    epsilon = float(np.log1p(p * 2))  # a' = 3
    both = float(bucket(p, 0.5, dummies, others=1).delta_add(epsilon))
    apart = float(released.delta_add(epsilon)), float(p * np.exp(hidden[0]))
    assert min(apart) > 0.01
    assert both == pytest.approx(sum(apart), rel=1e-9)


def test_fault_delta_below_the_infinity_mass_gives_inf() -> None:
    release = FreE2TParameters(**parameters(EPS_4))
    server = synthesis_server_view(release, dummies=DummyTags(decay=1.0, shift=9, threshold=30))
    least = float(server.delta(np.inf))
    assert np.isinf(server.epsilon([least * 0.99, 1e-300, 0.0])).all()
    assert np.isfinite(server.epsilon(least * 1.01))
    assert server.epsilon(1.0) == 0


# --- the tagging server ---------------------------------------------------------------------------


def small_release() -> Guarantee:
    return public_view(FreE2TParameters(**parameters(EPS_4)))


def test_tagging_server_refusals() -> None:
    release = small_release()
    with pytest.raises(ParameterError, match=r"every user has to request a tag \(requests = 'all'"):
        tagging_server_view(release, requests="sampled", records_public=True)
    replaced = replace(release, adjacency=Adjacency(relation="replace-one"))
    with pytest.raises(ParameterError, match="not private|one record shows with probability up to"):
        tagging_server_view(replaced, requests="sampled")
    with pytest.raises(ParameterError, match="the number of tag requests, which add-remove adjac"):
        tagging_server_view(release)
    with pytest.raises(ParameterError, match="requests = 'some': 'all' or 'sampled' is needed"):
        tagging_server_view(replaced, requests="some")  # type: ignore[arg-type]
    server = replace(replaced, view=View(party="synthesis-server"))
    with pytest.raises(ParameterError, match="release.view = synthesis-server: the public view's"):
        tagging_server_view(server)


def test_tagging_server_allowed() -> None:
    release = small_release()
    declared = tagging_server_view(release, records_public=True)
    replaced = replace(release, adjacency=Adjacency(relation="replace-one"))
    kept = tagging_server_view(replaced)
    for view in (declared, kept):
        assert view.view == View(party="tagging-server")
        assert view.assumptions[-1] == REQUEST_ASSUMPTION
        assert view.profile is release.profile
    assert kept.adjacency.relation == "replace-one"
    helped = tagging_server_view(
        public_view(FreE2TParameters(**parameters(EPS_4)), colluders=3), records_public=True
    )
    assert helped.view == View(party="tagging-server", colluders=3)


def requests_law(*, heavy: int, alone: int, p: float, threshold: int, sampled: bool) -> Floats:
    """Law of (tag requests, released count of the heavy bucket or 0), ``alone`` elsewhere."""
    law = np.zeros((heavy + alone + 1, heavy + 1))
    for n in range(heavy + 1):
        for m in range(alone + 1):
            mass = binom.pmf(n, heavy, p) * binom.pmf(m, alone, p)
            shown = n if n >= threshold else 0
            law[n + m if sampled else heavy + alone, shown] += mass
    return law


@pytest.mark.parametrize(("p", "others", "threshold"), [(0.3, 12, 3), (0.6, 8, 4), (0.1, 40, 2)])
def test_requests_of_sampled_users_are_not_private(p: float, others: int, threshold: int) -> None:
    """Replace-one: x alone in a bucket of its own, or y in the heavy bucket of all others."""
    public = CoinChain(base=SampleThreshold(sampling_rate=p, threshold=threshold), sampling_rate=p)
    seen = binom.sf(threshold - 1, others, p)  # the heavy bucket is released
    for epsilon in (0.5, 2.0, 5.0, 20.0):

        def divergence(*, sampled: bool, growth: float = float(np.exp(epsilon))) -> float:
            x, y = np.zeros((2, others + 2, others + 2))
            one = requests_law(heavy=others, alone=1, p=p, threshold=threshold, sampled=sampled)
            two = requests_law(heavy=others + 1, alone=0, p=p, threshold=threshold, sampled=sampled)
            x[:, : others + 1], y[:] = one, two
            return float(np.maximum(x - growth * y, 0).sum())

        shown, kept = divergence(sampled=True), divergence(sampled=False)
        bound = float(public.delta(epsilon))
        assert shown >= p * seen * (1 - 1e-9)  # at every epsilon
        assert kept <= bound + 1e-12
        if epsilon >= 2:
            assert shown > 2 * bound
