"""The Fre-E2T pipeline: embed, project, bucket on a shifted grid, sample, threshold, sum, noise."""

from dpaudit.pipeline.bucketing import assign_buckets
from dpaudit.pipeline.device import resolve_device
from dpaudit.pipeline.embedding import Embedder, load_embedder
from dpaudit.pipeline.grid import ShiftedGrid
from dpaudit.pipeline.randomness import BitSource, SeededBits, SystemBits, bernoulli
from dpaudit.pipeline.release import (
    PrivateBuckets,
    Release,
    ReleaseParameters,
    fre_e2t_release,
    release_buckets,
)
from dpaudit.pipeline.trials import TrialReleases, bucket_trials, trials_per_block

__all__ = [
    "BitSource",
    "Embedder",
    "PrivateBuckets",
    "Release",
    "ReleaseParameters",
    "SeededBits",
    "ShiftedGrid",
    "SystemBits",
    "TrialReleases",
    "assign_buckets",
    "bernoulli",
    "bucket_trials",
    "fre_e2t_release",
    "load_embedder",
    "release_buckets",
    "resolve_device",
    "trials_per_block",
]
