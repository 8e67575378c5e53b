"""One run of the pipeline on the deployment's own texts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accountants import FreE2TParameters
from dpaudit.pipeline.bucketing import assign_buckets
from dpaudit.pipeline.grid import ShiftedGrid
from dpaudit.pipeline.randomness import BitSource, SeededBits, SystemBits
from dpaudit.pipeline.release import Release, ReleaseParameters, fre_e2t_release

_STREAM = 0xF7E  # keeps the seeded release apart from the trials' streams


@dataclass(frozen=True, eq=False, kw_only=True)
class CorpusRun:
    """The release, and what only the auditor sees.

    Attributes
    ----------
    release : Release
        What would be published.
    projection_seed : int
        Of the public projection and offset.
    row_buckets : ndarray of int64, shape (n,)
        Bucket of each distinct text.
    sizes : ndarray of int64
        Records in each occupied bucket.
    """

    release: Release
    projection_seed: int
    row_buckets: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def to_dict(self) -> dict[str, Any]:
        """Return the run as the result file holds it: counts only, no member."""
        records = int(self.sizes.sum())
        return {
            "projection_seed": self.projection_seed,
            "buckets": len(self.sizes),
            "released_buckets": len(self.release.buckets),
            "released_records_share": float(self.release.counts.sum()) / records,
            "bucket_sizes": _histogram(self.sizes),
            "experiment": self.release.experiment,
            "noise": self.release.noise,
            "lattice_step": self.release.lattice_step,
        }


def run_corpus(
    vectors: NDArray[np.float32],
    rows: NDArray[np.int32],
    *,
    parameters: FreE2TParameters,
    projection_seed: int | None,
    seed: int | None,
    device: str,
) -> CorpusRun:
    """Project, bucket, sample, threshold, sum exactly and add exact noise, once.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n, d)
        Distinct texts' embeddings.
    rows : ndarray of int, shape (records,)
        Text of each record.
    parameters : FreE2TParameters
        The release.
    projection_seed : int, optional
        Public; drawn afresh (or from ``seed``) and recorded without it.
    seed : int, optional
        Makes coins and noise repeatable, which marks the release as an experiment; without it they
        are cryptographic.
    device : str
        Where to multiply.
    """
    bits: BitSource = SystemBits()
    if seed is not None:
        projection, private = np.random.SeedSequence([_STREAM, seed]).spawn(2)
        bits = SeededBits(private)
        if projection_seed is None:
            projection_seed = int(projection.generate_state(1, np.uint64)[0] >> 1)
    grid = ShiftedGrid.draw(
        embedding_dim=parameters.embedding_dim,
        projection_dim=parameters.projection_dim,
        edge=parameters.grid_edge,
        seed=projection_seed,
    )
    release, private_buckets = fre_e2t_release(
        vectors,
        rows=rows,
        grid=grid,
        parameters=ReleaseParameters(
            sampling_rate=parameters.sampling_rate,
            threshold=parameters.threshold,
            noise_std=parameters.noise_std,
            lattice_step=parameters.lattice_step,
        ),
        coins=bits,
        noise=bits,
        device=device,
    )
    sizes = private_buckets.sizes
    row_buckets, _ = assign_buckets(grid.cells(vectors, device=device))
    assert grid.seed is not None
    return CorpusRun(
        release=release,
        projection_seed=grid.seed,
        row_buckets=row_buckets,
        sizes=sizes[sizes > 0],
    )


def _histogram(sizes: NDArray[np.int64]) -> list[dict[str, int]]:
    """Count buckets with 1, 2-3, 4-7, ... records."""
    classes = np.bincount(np.log2(sizes).astype(np.int64) if len(sizes) else np.zeros(0, np.int64))
    return [
        {"size_from": 2**i, "size_to": 2 ** (i + 1) - 1, "buckets": int(number)}
        for i, number in enumerate(classes)
    ]
