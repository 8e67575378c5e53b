"""Number the occupied cells: records with equal cells share a bucket."""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_CHUNK = 1 << 15  # rows compared at a time


def assign_buckets(cells: Integers) -> tuple[Integers, int]:
    """Give every distinct row of ``cells`` a number.

    Rows are sorted by a 64-bit hash; rows with equal hashes are then compared, so the result is
    exact. Should two different rows share a hash (probability about n^2 / 2^65), the rows are
    sorted in full instead.

    The numbers count *all* occupied cells: they are private, and never part of a release.

    Parameters
    ----------
    cells : ndarray of int64, shape (n, k)
        Cell of every record.

    Returns
    -------
    buckets : ndarray of int64, shape (n,)
        Number of every record's bucket, in 0 .. number - 1.
    number : int
        Number of distinct rows.
    """
    if len(cells) == 0:
        return np.empty(0, dtype=np.int64), 0
    hashes = _row_hashes(cells)
    order = np.argsort(hashes)
    ordered = hashes[order]
    new = np.empty(len(cells), dtype=np.bool_)
    new[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    if _collides(cells, order, new):
        _, inverse = np.unique(cells, axis=0, return_inverse=True)
        buckets = inverse.reshape(-1).astype(np.int64)
        return buckets, int(buckets.max()) + 1
    buckets = np.empty(len(cells), dtype=np.int64)
    buckets[order] = np.cumsum(new) - 1
    return buckets, int(new.sum())


def _row_hashes(cells: Integers) -> NDArray[np.uint64]:
    """Hash every row to 64 bits: a sum of products with fixed odd numbers, modulo 2^64."""
    multipliers = np.random.Generator(np.random.PCG64(0x9E3779B97F4A7C15)).integers(
        0, 2**64, size=cells.shape[1], dtype=np.uint64
    ) | np.uint64(1)
    hashes = np.zeros(len(cells), dtype=np.uint64)
    for start in range(0, len(cells), _CHUNK):
        part = cells[start : start + _CHUNK].view(np.uint64)
        hashes[start : start + _CHUNK] = (part * multipliers).sum(axis=1, dtype=np.uint64)
    return hashes


def _collides(cells: Integers, order: NDArray[np.intp], new: NDArray[np.bool_]) -> bool:
    """Whether neighbours in hash order have equal hashes but different cells."""
    for start in range(0, len(order) - 1, _CHUNK):
        rows = cells[order[start : start + _CHUNK + 1]]
        differ = (rows[1:] != rows[:-1]).any(axis=1)
        if (differ & ~new[start + 1 : start + len(rows)]).any():
            return True
    return False
