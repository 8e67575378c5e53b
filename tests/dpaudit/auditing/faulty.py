"""Release stages with one fault each, a plain correct one, and a small release to audit."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accountants import FreE2TParameters
from dpaudit.pipeline.release import Release, ReleaseParameters
from dpaudit.pipeline.trials import ReleaseFunction

EPS8 = FreE2TParameters(
    records_max=10**6,
    embedding_dim=4,
    projection_dim=4,
    grid_edge=0.5,
    sampling_rate=0.5,
    threshold=50,
    noise_std=1.14,
    radius=0.5,
)
"""Sampling, threshold and noise published for epsilon 8, in few dimensions."""

Words = NDArray[np.uint64]


def faulty_release(
    *,
    noise_factor: float = 1.0,
    noise_over_count: bool = False,
    threshold_shift: int = 0,
    unsampled_count: bool = False,
    always_sampled_row: int | None = None,
    shared_coins: int = 1,
) -> ReleaseFunction:
    """Return a release stage; without an argument it is correct.

    ``shared_coins`` records in a row toss one coin; ``always_sampled_row`` is a row of the vectors
    whose records are always sampled.
    """

    def release(
        vectors: NDArray[Any],
        buckets: ArrayLike,
        number: int,
        *,
        rows: ArrayLike | None = None,
        parameters: ReleaseParameters,
        coins: Any,
        noise: Any,
    ) -> Release:
        place = np.asarray(buckets)
        row = np.arange(len(vectors)) if rows is None else np.asarray(rows)
        words: Words = coins.words(len(place))
        within = np.arange(len(place)) - np.searchsorted(place, place)
        words = words[np.arange(len(place)) - within % shared_coins]
        sampled = words < np.uint64(parameters.sampling_rate * 2.0**64)
        if always_sampled_row is not None:
            sampled |= row == always_sampled_row
        counts = np.bincount(place[sampled], minlength=number)
        judged = np.bincount(place, minlength=number) if unsampled_count else counts
        released = np.flatnonzero(judged >= parameters.threshold + threshold_shift)
        table = np.bincount(
            place[sampled] * len(vectors) + row[sampled], minlength=number * len(vectors)
        ).reshape(number, -1)
        std = np.full(len(released), parameters.noise_std * noise_factor)
        if noise_over_count:
            std /= np.maximum(counts[released], 1)
        sums = (table @ vectors)[released]
        sums = sums + std[:, None] * noise.standard_normal(sums.shape)
        return Release(
            buckets=released,
            counts=counts[released],
            noisy_sums=sums,
            noise="float-gaussian",
            lattice_step=None,
            experiment=True,
        )

    return release


FAULTS: dict[str, Callable[[], ReleaseFunction]] = {
    "noise ten times too small": lambda: faulty_release(noise_factor=0.1),
    "noise too small by half": lambda: faulty_release(noise_factor=0.5),
    "no noise": lambda: faulty_release(noise_factor=0.0),
    "noise for a sum added to a mean": lambda: faulty_release(noise_over_count=True),
    "threshold on the unsampled count": lambda: faulty_release(unsampled_count=True),
    "threshold off by two": lambda: faulty_release(threshold_shift=-2),
    "canary always sampled": lambda: faulty_release(always_sampled_row=1),
    "one coin for eight records": lambda: faulty_release(shared_coins=8),
    "one coin for two records": lambda: faulty_release(shared_coins=2),
}
