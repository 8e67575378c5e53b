"""The likelihood ratio of a real bucket: exact where members coincide, and free of coordinates."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from accountants import ParameterError
from attacks import BucketLikelihood, CoincidingLikelihood

Floats = NDArray[np.float64]


def bucket(canary: Floats, members: Floats, copies: Any, **changes: Any) -> BucketLikelihood:
    values: dict[str, Any] = {"sampling_rate": 0.4, "threshold": 3, "noise_std": 0.6} | changes
    return BucketLikelihood(
        canary=canary, members=members, copies=np.asarray(copies, dtype=np.int64), **values
    )


def releases(
    rng: np.random.Generator, others: int, point: Floats, threshold: int = 3
) -> tuple[NDArray[np.bool_], NDArray[np.int64], Floats]:
    """Made-up releases near n times a point, some of them empty."""
    counts = rng.integers(threshold, max(others + 2, threshold + 1), size=40)
    released = rng.random(40) < 0.8
    sums = counts[:, None] * point + rng.normal(size=(40, len(point)))
    counts = np.where(released, counts, 0)
    return released, counts, np.where(released[:, None], sums, 0.0)


@pytest.mark.parametrize(
    ("copies", "dimension"), [([7], 4), ([3, 1, 8], 4), ([1], 3), ([2], 1), ([40], 2)]
)
def test_equals_the_exact_ratio_where_members_coincide(copies: list[int], dimension: int) -> None:
    rng = np.random.default_rng(1)
    point, canary = rng.normal(size=(2, dimension))
    members = np.tile(point, (len(copies), 1))
    exact = CoincidingLikelihood(
        sampling_rate=0.4,
        threshold=3,
        neighbours=sum(copies),
        shift=float(np.linalg.norm(canary - point)) / 0.6,
    )
    released, counts, sums = releases(rng, sum(copies), point)
    expected = exact.scores(released, counts, sums, canary=canary, neighbour=point, noise_std=0.6)
    found = bucket(canary, members, copies).scores(released, counts, sums)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_a_canary_equal_to_all_members_leaves_the_count() -> None:
    rng = np.random.default_rng(2)
    point = rng.normal(size=3)
    released, counts, sums = releases(rng, 9, point)
    exact = CoincidingLikelihood(sampling_rate=0.4, threshold=3, neighbours=9, shift=0.0)
    expected = exact.scores(released, counts, sums, canary=point, neighbour=point, noise_std=0.6)
    found = bucket(point, point[None], [9]).scores(released, counts, sums)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_does_not_depend_on_the_coordinates(size: int) -> None:
    """Rotation and translation of all vectors (n times it for a sum of n) change nothing."""
    rng = np.random.default_rng(3)
    dimension = 4
    members, canary = rng.normal(size=(size, dimension)), rng.normal(size=dimension)
    copies = rng.integers(1, 9, size=size)
    others = int(copies.sum())
    released, counts, sums = releases(rng, others, members.mean(axis=0))
    plain = bucket(canary, members, copies).scores(released, counts, sums)
    turn, _ = np.linalg.qr(rng.normal(size=(dimension, dimension)))
    move = 20 * rng.normal(size=dimension)
    moved = bucket(canary @ turn + move, members @ turn + move, copies)
    again = moved.scores(released, counts, sums @ turn + counts[:, None] * move)
    np.testing.assert_allclose(again, plain, rtol=1e-7, atol=1e-7)
    assert np.isfinite(plain[counts <= others]).all()
    assert (plain[counts == others + 1] == np.inf).all()


def test_order_and_splitting_of_copies_do_not_matter() -> None:
    rng = np.random.default_rng(4)
    members, canary = rng.normal(size=(3, 5)), rng.normal(size=5)
    released, counts, sums = releases(rng, 9, members.mean(axis=0))
    plain = bucket(canary, members, [4, 2, 3]).scores(released, counts, sums)
    again = bucket(canary, members[[2, 0, 1, 0]], [3, 1, 2, 3]).scores(released, counts, sums)
    np.testing.assert_allclose(again, plain, rtol=1e-9, atol=1e-9)


def test_one_other_member() -> None:
    """With one other member the mixture is explicit: it or the canary alone, or both."""
    member, canary = np.array([0.0, 0.0]), np.array([2.0, 0.0])
    found = bucket(canary, member[None], [1], threshold=1, noise_std=1.0)
    scores = found.scores(
        np.array([True, True, True, False]), [1, 1, 2, 0],
        np.array([[0.0, 3.0], [2.0, 3.0], [2.0, 0.0], [0.0, 0.0]]),
    )  # fmt: skip
    for score, offset in zip(scores[:2], (0.0, 2.0), strict=True):
        # P_1(0) / P_1(1) = 0.6 / 0.4
        ratio = 0.6 / 0.4 * np.exp(2 * offset - 2)
        assert score == pytest.approx(np.log(0.6 + 0.4 * ratio))
    assert scores[2] == np.inf
    assert scores[3] == pytest.approx(np.log(0.6))


@pytest.mark.parametrize("seed", [1, 2])
def test_separates_better_than_the_count_alone(seed: int) -> None:
    """Mean score with the canary above that without, by 6 standard errors."""
    from dpaudit.pipeline import bucket_trials
    from dpaudit.pipeline.release import ReleaseParameters

    rng = np.random.default_rng(seed)
    members = 0.3 * rng.normal(size=(6, 4))
    canary = np.array([2.0, 0.0, 0.0, 0.0])
    adversary = bucket(canary, members, [2] * 6)
    settings = ReleaseParameters(sampling_rate=0.4, threshold=3, noise_std=0.6)
    rows = np.repeat(np.arange(6), 2)
    sides = []
    for child, chosen in enumerate((np.append(rows, 6), rows)):
        blocks = bucket_trials(
            np.vstack([members, canary]), chosen, trials=4000, parameters=settings,
            seed=np.random.SeedSequence([seed, child]),
        )  # fmt: skip
        sides.append(
            np.concatenate([adversary.scores(b.released, b.counts, b.sums) for b in blocks])
        )
    inside, outside = (np.clip(side, -5, 5) for side in sides)
    assert inside.mean() - outside.mean() > 6 * np.hypot(inside.std(), outside.std()) / 4000**0.5


@given(
    size=st.integers(1, 6),
    dimension=st.integers(1, 5),
    threshold=st.integers(1, 12),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.0, 1e-9, 1e-3, 1.0, 1e6]),
)
def test_never_nan(size: int, dimension: int, threshold: int, seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    members, canary = scale * rng.normal(size=(size, dimension)), scale * rng.normal(size=dimension)
    copies = rng.integers(1, 4, size=size)
    released, counts, sums = releases(rng, int(copies.sum()), members.mean(axis=0), threshold)
    scores = bucket(canary, members, copies, threshold=threshold).scores(released, counts, sums)
    assert not np.isnan(scores).any()


@pytest.mark.parametrize(
    "change",
    [
        {"canary": np.zeros(3)},
        {"members": np.zeros((0, 2)), "copies": []},
        {"copies": [1]},
        {"noise_std": 0.0},
        {"threshold": 0},
        {"sampling_rate": 1.0},
    ],
)
def test_bad_parameters(change: dict[str, Any]) -> None:
    fine: dict[str, Any] = {"canary": np.zeros(2), "members": np.ones((2, 2)), "copies": [1, 2]}
    with pytest.raises(ParameterError):
        bucket(**(fine | change))
