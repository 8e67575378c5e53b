"""Trials follow the mechanism's law, in blocks that do not depend on each other."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, binomtest, chisquare, kstest

from accountants.errors import ParameterError
from dpaudit.pipeline import trials as module
from dpaudit.pipeline.release import Release, ReleaseParameters, release_buckets
from dpaudit.pipeline.trials import TrialReleases, bucket_trials, trials_per_block

PARAMETERS = ReleaseParameters(sampling_rate=0.3, threshold=4, noise_std=0.7)
VECTORS: NDArray[np.float64] = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]])
ROWS = [0] + [1] * 12


def run(trials: int, seed: int = 1, **changes: Any) -> TrialReleases:
    options: dict[str, Any] = {
        "parameters": PARAMETERS,
        "seed": np.random.SeedSequence(seed),
    } | changes
    blocks = list(bucket_trials(VECTORS, ROWS, trials=trials, **options))
    assert sum(len(block) for block in blocks) == trials
    return TrialReleases(
        *(
            np.concatenate([getattr(block, name) for block in blocks])
            for name in ("released", "counts", "sums")
        )
    )


@pytest.mark.parametrize("noise", ["float", "exact"])
def test_law(noise: str) -> None:
    """Release rate, counts and noise, each tested at an error <= 1e-6."""
    trials = 40_000
    outcome = run(trials, noise=noise)
    n, p, threshold = len(ROWS), 0.3, 4
    assert binomtest(int(outcome.released.sum()), trials, binom.sf(3, n, p)).pvalue > 1e-6
    counts = outcome.counts[outcome.released]
    assert counts.min() >= threshold
    expected = binom.pmf(np.arange(threshold, 9), n, p)
    expected = np.append(expected, binom.sf(8, n, p))
    observed = np.bincount(np.minimum(counts, 9) - threshold, minlength=6)
    assert chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-6
    sums = outcome.sums[outcome.released] / 0.7
    assert kstest(sums[:, 2], "norm").pvalue > 1e-6
    assert kstest(sums[:, 3], "norm").pvalue > 1e-6
    # Given the count, the canary is among the sampled with probability count / n.
    total = (outcome.sums[:, 0] + outcome.sums[:, 1] / 2)[outcome.released] - counts
    assert kstest(total / (0.7 * np.sqrt(1.25)), "norm").pvalue > 1e-6
    assert abs(outcome.sums[outcome.released, 0].mean() - counts.mean() / n) < 0.05


def test_what_is_not_released_is_zero() -> None:
    outcome = run(500)
    closed = ~outcome.released
    assert 0 < closed.sum() < 500
    assert not outcome.counts[closed].any()
    assert not outcome.sums[closed].any()
    assert (outcome.counts[outcome.released] >= 4).all()


def test_everything_released() -> None:
    outcome = run(300, parameters=replace(PARAMETERS, sampling_rate=1 - 2.0**-53))
    assert outcome.released.all()
    assert (outcome.counts == len(ROWS)).all()


def test_an_empty_bucket_releases_nothing() -> None:
    [block] = bucket_trials(
        VECTORS, [], trials=50, parameters=PARAMETERS, seed=np.random.SeedSequence(1)
    )
    assert not block.released.any()
    assert block.sums.shape == (50, 4)


def test_seeds_reproduce_and_are_left_alone() -> None:
    seed = np.random.SeedSequence(4)
    one, again = run(200, seed=0), run(200, seed=0)
    np.testing.assert_array_equal(one.sums, again.sums)
    list(bucket_trials(VECTORS, ROWS, trials=10, parameters=PARAMETERS, seed=seed))
    assert seed.n_children_spawned == 0
    assert (run(200, seed=2).sums != one.sums).any()


def test_children_of_one_seed_are_independent_streams() -> None:
    first, second = np.random.SeedSequence(9).spawn(2)
    one, other = (
        next(bucket_trials(VECTORS, ROWS, trials=300, parameters=PARAMETERS, seed=seed))
        for seed in (first, second)
    )
    assert (one.counts != other.counts).any()


def test_blocks_do_not_depend_on_how_many_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_TRIALS", 64)
    many, few = run(64 * 5 + 7), run(64 * 2)
    np.testing.assert_array_equal(many.counts[:128], few.counts)
    np.testing.assert_array_equal(many.sums[:128], few.sums)
    assert (many.sums[:64] != many.sums[64:128]).any()
    seed = np.random.SeedSequence(1)
    blocks = bucket_trials(VECTORS, ROWS, trials=327, parameters=PARAMETERS, seed=seed)
    assert [len(block) for block in blocks] == [64] * 5 + [7]


def test_blocks_are_bounded() -> None:
    for members, dimension in ((1, 1), (130, 768), (10**5, 384), (10**9, 10**5)):
        size = trials_per_block(members=members, dimension=dimension)
        assert size == 1 or (size * members <= 2**22 and size * dimension <= 2**23)


def test_another_implementation_can_be_tried() -> None:
    """A mechanism that forgets its noise is what an audit has to catch."""
    calls = []

    def noiseless(*args: Any, **kwargs: Any) -> Release:
        calls.append(len(args[1]))
        parameters = replace(kwargs.pop("parameters"), noise_std=1e-9)
        return release_buckets(*args, parameters=parameters, **kwargs)

    outcome = run(100, release=noiseless)
    assert calls == [100 * len(ROWS)]
    assert np.abs(outcome.sums[:, 2:]).max() < 1e-7


def test_bad_number_of_trials() -> None:
    with pytest.raises(ParameterError, match="trials = 0"):
        run(0)
