"""Many independent releases of one bucket: the raw material of an audit.

A block of trials is one call of :func:`~dpaudit.pipeline.release.release_buckets` on as many copies
of the bucket, so what is audited is the very implementation that releases.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accountants.ranges import positive_integer
from dpaudit.pipeline.randomness import BitSource, SeededBits
from dpaudit.pipeline.release import Release, ReleaseParameters, release_buckets

_MOST_RECORDS = 1 << 22  # records in a block: about 100 MB of indices and coins
_MOST_VALUES = 1 << 23  # coordinates in a block: 64 MB of sums
_MOST_TRIALS = 1 << 15


class ReleaseFunction(Protocol):
    """The signature of :func:`~dpaudit.pipeline.release.release_buckets`."""

    def __call__(
        self,
        vectors: NDArray[Any],
        buckets: ArrayLike,
        number: int,
        *,
        rows: ArrayLike | None = None,
        parameters: ReleaseParameters,
        coins: BitSource,
        noise: BitSource | np.random.Generator,
    ) -> Release:
        """Release buckets."""
        ...


@dataclass(frozen=True, eq=False)
class TrialReleases:
    """The outcomes of independent trials, as the adversary sees them.

    Attributes
    ----------
    released : ndarray of bool, shape (trials,)
        Whether the bucket was released.
    counts : ndarray of int64, shape (trials,)
        Its sampled count; 0 where nothing was released.
    sums : ndarray of float64, shape (trials, d)
        Its noisy sum; 0 where nothing was released.
    """

    released: NDArray[np.bool_]
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.released)


def trials_per_block(*, members: int, dimension: int) -> int:
    """Return how many trials one block holds; it depends on these two numbers only.

    Parameters
    ----------
    members, dimension : int
        Records in the bucket and coordinates of a vector, >= 1.
    """
    fits = min(_MOST_RECORDS // max(1, members), _MOST_VALUES // max(1, dimension), _MOST_TRIALS)
    return max(1, fits)


def bucket_trials(
    vectors: NDArray[Any],
    rows: ArrayLike,
    *,
    trials: int,
    parameters: ReleaseParameters,
    seed: np.random.SeedSequence,
    noise: Literal["float", "exact"] = "float",
    release: ReleaseFunction = release_buckets,
) -> Iterator[TrialReleases]:
    """Release one bucket many times, independently, in blocks of bounded memory.

    Block i draws its coins and noise from children of ``seed`` that depend on i alone (``seed`` is
    not changed), so blocks are the same however many of them are run.

    Parameters
    ----------
    vectors : ndarray of floats, shape (r, d)
        Distinct vectors.
    rows : array_like of int, shape (m,)
        The members of the bucket: a row of ``vectors`` for each; it may be empty.
    trials : int
        Number of trials, >= 1.
    parameters : ReleaseParameters
        Sampling rate, threshold, noise and lattice.
    seed : numpy.random.SeedSequence
        Seed of all trials: they are an experiment.
    noise : {"float", "exact"}
        Floating-point noise, or the rounded Gaussian of a real release (about twice the time).
    release : ReleaseFunction
        The implementation to try; by default the one that makes real releases.

    Yields
    ------
    TrialReleases
        Blocks of at most ``trials_per_block(members=m, dimension=d)`` trials, ``trials`` in all.

    Raises
    ------
    DataError, ParameterError
        As for :func:`~dpaudit.pipeline.release.release_buckets`.
    """
    positive_integer("trials", trials)
    members = np.asarray(rows, dtype=np.int64)
    size = trials_per_block(members=len(members), dimension=vectors.shape[1])
    for index, start in enumerate(range(0, trials, size)):
        yield block_trials(
            vectors,
            members,
            trials=min(size, trials - start),
            block=index,
            parameters=parameters,
            seed=seed,
            noise=noise,
            release=release,
        )


def block_trials(
    vectors: NDArray[Any],
    rows: ArrayLike,
    *,
    trials: int,
    block: int,
    parameters: ReleaseParameters,
    seed: np.random.SeedSequence,
    noise: Literal["float", "exact"] = "float",
    release: ReleaseFunction = release_buckets,
) -> TrialReleases:
    """Release one bucket in one block of trials; see :func:`bucket_trials`.

    Parameters
    ----------
    trials, block : int
        How many trials, and the number of the block, >= 0, whose randomness they have.
    vectors, rows, parameters, seed, noise, release
        As for :func:`bucket_trials`.
    """
    members = np.asarray(rows, dtype=np.int64)
    coin_seed, noise_seed = _children(seed, block)
    outcome = release(
        vectors,
        np.repeat(np.arange(trials), len(members)),
        trials,
        rows=np.tile(members, trials),
        parameters=parameters,
        coins=SeededBits(coin_seed),
        noise=SeededBits(noise_seed)
        if noise == "exact"
        else np.random.Generator(np.random.PCG64(noise_seed)),
    )
    return _spread(outcome, trials)


def _children(
    seed: np.random.SeedSequence, index: int
) -> tuple[np.random.SeedSequence, np.random.SeedSequence]:
    """Return the two seeds of a block, without the counter that ``SeedSequence.spawn`` advances."""
    coins, noise = (
        np.random.SeedSequence(
            seed.entropy, spawn_key=(*seed.spawn_key, index, role), pool_size=seed.pool_size
        )
        for role in (0, 1)
    )
    return coins, noise


def _spread(outcome: Release, number: int) -> TrialReleases:
    """Give every trial its place, also those that released nothing."""
    released = np.zeros(number, dtype=np.bool_)
    released[outcome.buckets] = True
    if released.all():
        return TrialReleases(released, outcome.counts, outcome.noisy_sums)
    counts = np.zeros(number, dtype=np.int64)
    counts[outcome.buckets] = outcome.counts
    sums = np.zeros((number, outcome.noisy_sums.shape[1]))
    sums[outcome.buckets] = outcome.noisy_sums
    return TrialReleases(released, counts, sums)
