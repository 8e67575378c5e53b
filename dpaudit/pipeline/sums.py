"""Sums of vectors by bucket, in double precision or exactly on a lattice.

Both kinds run through the same code. For exact sums every vector is first rounded to multiples of
the lattice step; as long as all partial sums stay below 2^53 (checked), sums of such integers in
double precision are exact in any order, and are then collected in 64-bit integers.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaudit.errors import DataError
from dpaudit.pipeline.device import Device
from dpaudit.pipeline.rows import Matrix, refuse_non_finite

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_CHUNK = 4096  # vectors gathered at a time
_DENSE = 1 << 22  # largest bucket-by-row table: 32 MB
_EXACT_DOUBLE = 2.0**53
_EXACT_INTEGER = 2.0**61  # leaves room for the noise, which also stays below 2**61


@dataclass(frozen=True, eq=False)
class Members:
    """Who contributes to which sum: ``counts[i]`` copies of row ``rows[i]`` to ``buckets[i]``.

    Attributes
    ----------
    buckets, rows, counts : ndarray of int64, shape (m,)
        Entries, in the order of ``rows`` where they come from a file.
    number : int
        Number of sums.
    """

    buckets: Integers
    rows: Integers
    counts: Integers
    number: int


def bucket_sums(vectors: Matrix, members: Members, *, device: Device = "cpu") -> Floats:
    """Sum vectors by bucket in double precision.

    Parameters
    ----------
    vectors : ndarray or memmap of floats, shape (r, d)
        Only rows that are members are read, a few megabytes at a time.
    members : Members
        The entries to add up.
    device : {"cpu", "cuda"}
        Where to add.

    Returns
    -------
    ndarray of float64, shape (number, d)

    Raises
    ------
    DataError
        If a member's row holds NaN or infinity.
    """

    def prepare(block: Matrix, rows: Integers, multiplicity: float) -> Floats:
        _largest(block, rows)
        return block.astype(np.float64)

    sums = np.zeros((members.number, vectors.shape[1]))
    for buckets, partial in _partial_sums(vectors, members, prepare, device):
        sums[buckets] += partial
    return sums


def lattice_sums(
    vectors: Matrix, members: Members, *, step: float, device: Device = "cpu"
) -> Integers:
    """Round each vector to multiples of ``step`` and sum them by bucket, exactly.

    Parameters
    ----------
    vectors, members, device
        As for :func:`bucket_sums`.
    step : float
        Lattice step, a power of two, so that the scaling is exact; ties round to even.

    Returns
    -------
    ndarray of int64, shape (number, d)
        Sums in units of ``step``, below 2**61 in absolute value.

    Raises
    ------
    DataError
        If a member's row holds NaN or infinity, or values so large that a sum could overflow.
    """
    heaviest = float(_totals(members).max(initial=0))

    def prepare(block: Matrix, rows: Integers, multiplicity: float) -> Floats:
        largest = _largest(block, rows) / step + 1
        if largest * multiplicity >= _EXACT_DOUBLE or largest * heaviest >= _EXACT_INTEGER:
            raise DataError(
                f"the vectors are too large for exact sums in multiples of {step!r} (a coordinate "
                f"of {_largest(block, rows):.3g} is among them): choose a larger lattice_step"
            )
        scaled = block.astype(np.float64)
        scaled *= 1 / step
        return np.rint(scaled, out=scaled)

    sums = np.zeros((members.number, vectors.shape[1]), dtype=np.int64)
    for buckets, partial in _partial_sums(vectors, members, prepare, device):
        sums[buckets] += partial.astype(np.int64)
    return sums


def _totals(members: Members) -> Floats:
    totals = np.bincount(members.buckets, weights=members.counts, minlength=members.number)
    return totals.astype(np.float64, copy=False)


def _largest(block: Matrix, rows: Integers) -> float:
    """Return the largest absolute value of a block; refuse NaN and infinity."""
    largest = float(max(block.max(initial=0), -block.min(initial=0)))
    if not math.isfinite(largest):
        refuse_non_finite(block, rows)
    return largest


def _partial_sums(
    vectors: Matrix,
    members: Members,
    prepare: Callable[[Matrix, Integers, float], Floats],
    device: Device,
) -> Iterator[tuple[Integers, Floats]]:
    """Yield (distinct buckets, their sums over a part of the entries); all parts make the whole.

    ``prepare(block, rows, multiplicity)`` turns rows of ``vectors`` into what is added, each value
    at most ``multiplicity`` times.
    """
    table = members.number * len(vectors)
    if len(vectors) <= _CHUNK and table <= _DENSE:
        cell = members.buckets * len(vectors) + members.rows
        weights = np.bincount(cell, weights=members.counts, minlength=table)
        rows = np.arange(len(vectors))
        block = prepare(np.asarray(vectors), rows, float(_totals(members).max(initial=0)))
        yield np.arange(members.number), weights.reshape(members.number, len(vectors)) @ block
        return
    for start in range(0, len(members.rows), _CHUNK):
        part = slice(start, start + _CHUNK)
        rows, counts = members.rows[part], members.counts[part].astype(np.float64)
        block = prepare(vectors[rows], rows, float(counts.sum()))
        buckets, inverse = np.unique(members.buckets[part], return_inverse=True)
        add = _torch_add if device == "cuda" else _sparse_add
        yield buckets, add(block, inverse, counts, len(buckets))


def _sparse_add(block: Floats, bucket: Integers, counts: Floats, number: int) -> Floats:
    """Sum ``counts[i] * block[i]`` by ``bucket[i]``, as a sparse matrix product."""
    from scipy.sparse import csr_array

    order = np.argsort(bucket, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=number))])
    table = csr_array((counts[order], order, ends), shape=(number, len(block)))
    return np.asarray(table @ block)


def _torch_add(
    block: Floats, bucket: Integers, counts: Floats, number: int, device: str = "cuda"
) -> Floats:
    """Do the same on a PyTorch device."""
    import torch

    sums = torch.zeros(number, block.shape[1], dtype=torch.float64, device=device)
    weighted = torch.tensor(block, device=device) * torch.tensor(counts, device=device)[:, None]
    sums.index_add_(0, torch.tensor(bucket, device=device), weighted)
    return np.asarray(sums.cpu().numpy(), dtype=np.float64)
