"""Shared discrete noise: true discrete Gaussians listed, the continuous ideal, ends and ranges."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from accountants import FreE2TParameters, JointRelease, ParameterError, TightTotal
from accountants.discrete_closeness import CloseProfile, best_smoothing, convolution_slack
from accountants.distributed_total import DistributedNoise, DistributedTotal, largest_slack
from accountants.dummy_tags import DummyTags
from accountants.noise_growth import NoiseGrowth
from accountants.ranges import Floats
from accountants.tag_padding import TagPadding
from tests.accountants.oracles import EPS_4, EPS_8, EPS_16, PUBLISHED, Published, parameters

CLOSE = 2e-3


def shared(case: Published, *, colluders: int = 0, **changes: Any) -> DistributedTotal:
    noise = {"granularity": 2.0**-12} | {
        k: changes.pop(k) for k in list(changes) if k in DistributedNoise.__dataclass_fields__
    }
    return DistributedTotal(
        parameters=FreE2TParameters(**parameters(case, **changes)),
        noise=DistributedNoise(**noise),  # type: ignore[arg-type]
        colluders=colluders,
    )


# --- true discrete Gaussians ----------------------------------------------------------------------


def discrete_sum(scale: float, contributors: int, reach: int) -> Floats:
    """Law of the sum of discrete Gaussians on -reach..reach, by convolution."""
    x = np.arange(-reach, reach + 1)
    one = np.exp(-x * x / (2 * scale**2))
    one /= one.sum()
    total = np.zeros(2 * reach + 1)
    total[reach] = 1.0
    for _ in range(contributors):
        total = np.convolve(total, one, mode="same")
    return total


def listed(
    *,
    p: float,
    threshold: int,
    others: int,
    distance: int,
    scale: float,
    known: int,
    per_count: bool,
    epsilon: float,
) -> tuple[float, float]:
    """Both directions of (honest count, integer sum); ``known`` colluders are in the bucket."""
    reach = int(14 * scale * np.sqrt(others + 2)) + distance + 4
    growth = np.exp(epsilon)
    laws = []
    for there in (True, False):
        nothing = float(binom.cdf(threshold - known - 1, others + there, p))
        rows = []
        for n in range(max(threshold - known, 0), others + 2):
            own = scale * np.sqrt(threshold / (n + known)) if per_count else scale
            noise = discrete_sum(own, n, reach)
            row = binom.pmf(n, others, p) * (1 - p * there) * noise
            if there and n >= 1:
                row = row + p * binom.pmf(n - 1, others, p) * np.roll(noise, distance)
            rows.append(row)
        laws.append((nothing, np.array(rows)))
    add, remove = (
        max(a[0] - growth * b[0], 0) + float(np.maximum(a[1] - growth * b[1], 0).sum())
        for a, b in (laws, laws[::-1])
    )
    return add, remove


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(0.1, 0.9),
    st.integers(1, 4),
    st.integers(0, 4),
    st.integers(1, 6),
    st.floats(0.75, 3),
    st.integers(0, 2),
    st.booleans(),
    st.one_of(st.floats(0, 0.5), st.floats(0, 3)),
)
@example(0.5, 2, 3, 2, 0.8, 0, False, 0.2)
@example(0.5, 4, 4, 2, 1.0, 2, True, 0.2)
def test_bounds_true_discrete_gaussians(
    p: float,
    threshold: int,
    others: int,
    distance: int,
    scale: float,
    known: int,
    per_count: bool,
    epsilon: float,
) -> None:
    """One bucket in one dimension, others coinciding, through the slack and noise of the total."""
    assume(known < threshold)
    granularity = 0.25
    total = DistributedTotal(
        parameters=FreE2TParameters(
            records_max=others + 1 + known,
            embedding_dim=1,
            projection_dim=1,
            grid_edge=1.0,
            sampling_rate=p,
            threshold=threshold,
            noise_std=granularity * scale * np.sqrt(threshold),
            radius=1.0,
        ),
        noise=DistributedNoise(
            granularity=granularity,
            rotated=False,
            local_noise="count" if per_count else "threshold",
        ),
        colluders=known,
    )
    assume(np.isfinite(total.slack))
    release = total.total.parameters
    ours = CloseProfile(
        base=JointRelease(
            sampling_rate=p,
            threshold=release.threshold,
            shift=distance * granularity / release.noise_std,
            growth=release.noise_growth,
            others=others,
        ),
        slack=total.slack,
    )
    truth = listed(
        p=p,
        threshold=threshold,
        others=others,
        distance=distance,
        scale=scale,
        known=known,
        per_count=per_count,
        epsilon=epsilon,
    )
    assert max(truth) <= float(ours.delta(epsilon)) + 1e-12
    # colluders elsewhere, or not sampled, are covered as well
    if not per_count:
        fewer = listed(
            p=p,
            threshold=threshold,
            others=others,
            distance=distance,
            scale=scale,
            known=0,
            per_count=False,
            epsilon=epsilon,
        )
        assert max(fewer) <= float(ours.delta(epsilon)) + 1e-12


def test_close_to_true_discrete_gaussians() -> None:
    """With noise of several steps the bound is the truth but for the smoothing's share."""
    truth = max(
        listed(
            p=0.5,
            threshold=2,
            others=3,
            distance=20,
            scale=20.0,
            known=0,
            per_count=False,
            epsilon=0.3,
        )
    )
    total = DistributedTotal(
        parameters=FreE2TParameters(
            records_max=4,
            embedding_dim=1,
            projection_dim=1,
            grid_edge=1.0,
            sampling_rate=0.5,
            threshold=2,
            noise_std=20 * np.sqrt(2),
            radius=1.0,
        ),
        noise=DistributedNoise(granularity=1.0, rotated=False),
    )
    release = total.total.parameters
    ours = CloseProfile(
        base=JointRelease(
            sampling_rate=0.5,
            threshold=2,
            shift=20 / release.noise_std,
            growth=release.noise_growth,
            others=3,
        ),
        slack=total.slack,
    )
    assert truth <= float(ours.delta(0.3)) <= truth * 1.002


# --- the slack at every number of contributors ----------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(-1.2, 2).map(lambda x: float(np.exp(x))),
    st.integers(1, 40),
    st.floats(0, 14).map(lambda x: int(np.exp(x))),
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
)
@example(1.2, 2, 10**6, [0.0, 0.0, 0.5])  # the largest slack is that of two contributors
@example(0.9, 5, 10**6, [0.0, 1.0, 0.5])
@example(0.25, 1, 1, [0.0, 1.0, 0.5])
def test_largest_slack(scale: float, first: int, more: int, shares: list[float]) -> None:
    last = first + more - 1
    found = largest_slack(scale, first, last)
    seen = [convolution_slack(local_scale=scale, contributors=n) for n in (first, last)]
    for share in shares:
        n = int(np.clip(round(first * (last / first) ** share), first, last))
        seen.append(convolution_slack(local_scale=scale, contributors=n))
    assert found >= max(seen)
    if last - first < 30:
        every = [
            convolution_slack(local_scale=scale, contributors=n) for n in range(first, last + 1)
        ]
        assert max(every) <= found
        assert np.isinf(found) or found <= max(every) * 1.03 + 1e-280


def test_the_slack_covers_every_count() -> None:
    """Small counts have a larger slack than large ones where the local noise is wide."""
    total = shared(
        Published(1.0, 0.5, 2, 2, 1.0, 1.0),
        granularity=1 / (1.5 * np.sqrt(2)),
        embedding_dim=1024,
        threshold=2,
    )
    growth = total.total.parameters.noise_growth
    most = 2 if growth is None else growth.most
    smooth = best_smoothing(local_scale=1.5, contributors=2, dimension=1024).slack
    for contributors in (2, 3, 10, 10**6):
        if contributors <= most:
            one = convolution_slack(local_scale=1.5, contributors=contributors)
            assert total.slack >= (1024 * one + smooth) * (1 - 1e-9)


# --- the whole release ----------------------------------------------------------------------------


@pytest.mark.parametrize("case", PUBLISHED)
@pytest.mark.parametrize("local_noise", ["threshold", "count"])
def test_close_to_the_continuous_ideal(case: Published, local_noise: str) -> None:
    fine = shared(case, granularity=2.0**-16, local_noise=local_noise)
    growth = NoiseGrowth(threshold=case.threshold, most=10**6)
    ideal = TightTotal(
        parameters=FreE2TParameters(
            **parameters(case), noise_growth=growth if local_noise == "threshold" else None
        )
    )
    ours, theirs = float(fine.epsilon(1e-6)), float(ideal.epsilon(1e-6))
    assert theirs * (1 - 1e-3) <= ours <= theirs + 1e-2
    assert float(fine.log_delta(theirs)) >= np.log(1e-6) - CLOSE


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    st.floats(0.1, 0.8),
    st.integers(2, 30),
    st.floats(-2, 1).map(lambda x: float(np.exp(x))),
    st.floats(-12, -4).map(lambda x: float(2.0**x)),
    st.sampled_from(["shared", "independent"]),
    st.floats(0, 5),
)
def test_above_the_continuous_ideal(
    p: float, threshold: int, noise: float, step: float, rounding: str, epsilon: float
) -> None:
    case = Published(1.0, p, threshold, 2, 1.0, noise)
    ours = float(shared(case, granularity=step, rounding=rounding).log_delta(epsilon))
    grows = NoiseGrowth(threshold=threshold, most=10**6)
    release = FreE2TParameters(**parameters(case), noise_growth=grows)
    ideal = float(TightTotal(parameters=release).log_delta(epsilon))
    assert ours >= ideal - CLOSE


@pytest.mark.parametrize("local_noise", ["threshold", "count"])
def test_monotone_in_granularity_and_colluders(local_noise: str) -> None:
    def value(**changes: Any) -> float:
        return float(shared(EPS_8, local_noise=local_noise, **changes).log_delta(1.5))

    finer = [value(granularity=2.0**-x) for x in (14, 11, 8, 6)]
    assert all(first <= second + CLOSE for first, second in pairwise(finer))
    more = [value(colluders=c) for c in (0, 1, 10, 40)]
    assert all(first <= second + CLOSE for first, second in pairwise(more))
    assert more[-1] > more[0] + 0.1
    assert value(rounding="independent", granularity=2.0**-11) > finer[1] + 1e-4
    assert value(rotated=False, granularity=2.0**-11) < finer[1] + CLOSE  # 768, not 1024


def test_hopeless_granularity_gives_no_guarantee() -> None:
    for total in (
        shared(EPS_4, granularity=10.0),
        shared(EPS_16, granularity=2.0**-10, local_noise="count"),  # a thousandth of the noise each
        shared(EPS_4, granularity=1e90),
    ):
        assert total.slack == np.inf
        assert total.epsilon([1e-6, 0.5, 1.0]).tolist() == [np.inf, np.inf, 0.0]
        assert total.delta([0.0, 5.0, np.inf]).tolist() == [1.0, 1.0, 1.0]


def test_padded_tags_keep_their_own_part() -> None:
    """The hidden part has no discrete noise: with no bucket ever released it is all there is."""
    dummies = DummyTags(decay=1.0, shift=3, threshold=30)
    total = DistributedTotal(
        parameters=FreE2TParameters(**parameters(EPS_4, records_max=20)),
        noise=DistributedNoise(granularity=2.0**-12),
        padding=TagPadding(dummies=dummies, threshold=30),
    )
    alone = DummyTags(decay=1.0, shift=3, threshold=30, sampling_rate=0.3)
    assert float(total.log_delta(1.0)) == pytest.approx(float(alone.log_added(1.0)), abs=1e-3)
    unpadded = shared(EPS_4, records_max=20)
    assert float(unpadded.delta(1.0)) == 0


# --- ranges ---------------------------------------------------------------------------------------


def test_ranges() -> None:
    for name, value in (
        ("granularity", 0.0),
        ("granularity", np.inf),
        ("granularity", np.nan),
        ("rounding", "none"),
        ("local_noise", "all"),
    ):
        with pytest.raises(ParameterError, match=f"^{name} = "):
            DistributedNoise(**({"granularity": 1e-3} | {name: value}))  # type: ignore[arg-type]
    for changes in ({"noise_std": 0.0}, {"noise_std": np.inf}):
        with pytest.raises(ParameterError, match="^noise_std = "):
            shared(EPS_4, **changes)
    for colluders in (30, 31, -1, 0.5):
        with pytest.raises(ParameterError, match="^colluders = "):
            shared(EPS_4, colluders=colluders)  # type: ignore[arg-type]
    assert DistributedNoise(granularity=0.5).coordinates(768) == 1024
    assert DistributedNoise(granularity=0.5, rotated=False).coordinates(768) == 768
    both = [
        DistributedNoise(granularity=0.5, rounding=way).rounding_distance(4)  # type: ignore[arg-type]
        for way in ("shared", "independent")
    ]
    assert both == pytest.approx([1.0, 2.0], rel=1e-12)
    assert both[0] >= 1
    assert both[1] >= 2


def test_fault_delta_below_the_infinity_mass_gives_inf() -> None:
    total = shared(EPS_4)
    assert total.epsilon([0.0, 1e-300, 1.0]).tolist() == [np.inf, np.inf, 0.0]
    assert 0 < float(total.delta(np.inf)) < 1e-15
