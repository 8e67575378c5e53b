"""Sums of vectors by bucket, in double precision or exactly on a lattice.

Both kinds run through the same code. For exact sums every vector is first rounded to multiples of
the lattice step; as long as all partial sums stay below 2^53 (checked), sums of such integers in
double precision are exact in any order, and are then collected in 64-bit integers.
"""

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaudit.errors import DataError
from dpaudit.pipeline.device import Device
from dpaudit.pipeline.rows import Matrix, refuse_non_finite

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_WORKERS = min(4, os.cpu_count() or 1)  # numpy lets go of the interpreter lock
_CHUNK = 512  # vectors gathered at a time: they stay in the processor's cache
_WINDOW = 1 << 16  # entries sorted by bucket at a time, so that files are read roughly in order
_FEW_ROWS = 4096  # up to here a bucket-by-row table may be used,
_TABLE = 1 << 22  # if it has at most so many entries (32 MB)
_EXACT_DOUBLE = 2.0**53
_EXACT_INTEGER = 2.0**61  # leaves room for the noise, which also stays below 2**61


# prepare(block, rows, multiplicity, out): write what is added for rows of the vectors to ``out``;
# each value is added at most ``multiplicity`` times within a part.
Prepare = Callable[[Matrix, Integers, float, Floats], None]


@dataclass(frozen=True, eq=False)
class Members:
    """Who contributes to which sum: ``counts[i]`` copies of row ``rows[i]`` to ``buckets[i]``.

    Attributes
    ----------
    buckets, rows, counts : ndarray of int64, shape (m,)
        Entries; in the order of ``rows``, a file is read from its beginning to its end.
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

    def prepare(block: Matrix, rows: Integers, multiplicity: float, out: Floats) -> None:
        _largest(block, rows)
        out[:] = block

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

    def prepare(block: Matrix, rows: Integers, multiplicity: float, out: Floats) -> None:
        largest = _largest(block, rows) / step + 1
        if largest * multiplicity >= _EXACT_DOUBLE or largest * heaviest >= _EXACT_INTEGER:
            raise DataError(
                f"the vectors are too large for exact sums in multiples of {step!r} (a coordinate "
                f"of {_largest(block, rows):.3g} is among them): choose a larger lattice_step"
            )
        np.multiply(block, 1 / step, out=out, dtype=np.float64)
        np.rint(out, out=out)

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
    vectors: Matrix, members: Members, prepare: Prepare, device: Device
) -> Iterator[tuple[Integers, Floats]]:
    """Yield (distinct buckets, their sums over a part of the entries); all parts make the whole."""
    width = vectors.shape[1]
    if len(vectors) <= _FEW_ROWS and members.number * len(vectors) <= _TABLE:
        ready = np.empty(vectors.shape)
        most = float(_totals(members).max(initial=0))
        prepare(np.asarray(vectors), np.arange(len(vectors)), most, ready)
        yield np.arange(members.number), _table(members, len(vectors)) @ ready
        return
    add = _torch_add if device == "cuda" else _sparse_add
    own = threading.local()  # buffers that a thread keeps

    def part(entries: NDArray[np.intp]) -> tuple[Integers, Floats]:
        if not hasattr(own, "block"):
            own.block = np.empty((_CHUNK, width), vectors.dtype)
            own.ready = np.empty((_CHUNK, width))
        rows, counts = members.rows[entries], members.counts[entries].astype(np.float64)
        size = len(entries)
        block, ready = own.block[:size], own.ready[:size]
        np.take(vectors, rows, axis=0, out=block, mode="clip")
        prepare(block, rows, float(counts.sum()), ready)
        buckets, starts = np.unique(members.buckets[entries], return_index=True)
        return buckets, add(ready, counts, np.append(starts, size))

    yield from _in_threads(part, _sorted_chunks(members.buckets))


def _in_threads(
    work: Callable[[NDArray[np.intp]], tuple[Integers, Floats]],
    items: Iterator[NDArray[np.intp]],
) -> Iterator[tuple[Integers, Floats]]:
    """Yield the results in order; few are under way at a time, so memory stays bounded."""
    with ThreadPoolExecutor(_WORKERS) as pool:
        under_way: deque[Future[tuple[Integers, Floats]]] = deque()
        for item in items:
            under_way.append(pool.submit(work, item))
            if len(under_way) > 2 * _WORKERS:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


def _table(members: Members, rows: int) -> Floats:
    """Return how often each bucket holds each row, shape (number, rows)."""
    cell = members.buckets * rows + members.rows
    table = np.bincount(cell, weights=members.counts, minlength=members.number * rows)
    return table.astype(np.float64, copy=False).reshape(members.number, rows)


def _sorted_chunks(buckets: Integers) -> Iterator[NDArray[np.intp]]:
    """Yield chunks of entries in which those of a bucket are neighbours, windows kept in order."""
    for start in range(0, len(buckets), _WINDOW):
        order = start + np.argsort(buckets[start : start + _WINDOW], kind="stable")
        for chunk in range(0, len(order), _CHUNK):
            yield order[chunk : chunk + _CHUNK]


def _sparse_add(block: Floats, counts: Floats, ends: NDArray[np.intp]) -> Floats:
    """Sum ``counts[i] * block[i]`` over each run ``ends[j] <= i < ends[j + 1]``."""
    from scipy.sparse import csr_array

    shape = (len(ends) - 1, len(block))
    return np.asarray(csr_array((counts, np.arange(len(block)), ends), shape=shape) @ block)


def _torch_add(
    block: Floats, counts: Floats, ends: NDArray[np.intp], device: str = "cuda"
) -> Floats:
    """Do the same on a PyTorch device."""
    import torch

    runs = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    sums = torch.zeros(len(ends) - 1, block.shape[1], dtype=torch.float64, device=device)
    weighted = torch.tensor(block, device=device) * torch.tensor(counts, device=device)[:, None]
    sums.index_add_(0, torch.tensor(runs, device=device), weighted)
    return np.asarray(sums.cpu().numpy(), dtype=np.float64)
