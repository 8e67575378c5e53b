"""Read rows of a (memory-mapped) matrix block by block, and complain about a bad one by number."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.errors import DataError

Matrix = NDArray[Any]

BATCH_ROWS = 16384
"""Rows read at a time by default: threads then rarely wait for each other; 50 MB of 768 floats."""


def checked_matrix(vectors: Matrix, *, dimension: int | None = None) -> Matrix:
    """Return ``vectors`` if it is a real floating-point matrix (of the given width); no copy.

    Raises
    ------
    DataError
        If it is not.
    """
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or vectors.dtype.itemsize > 8:
        raise DataError(
            f"vectors of shape {vectors.shape} and type {vectors.dtype}: "
            "a matrix of 16, 32 or 64-bit floating-point numbers, one row a record, is needed"
        )
    if dimension is not None and vectors.shape[1] != dimension:
        raise DataError(
            f"vectors have {vectors.shape[1]} dimensions, where {dimension} are expected"
        )
    return vectors


def row_blocks(vectors: Matrix, batch_rows: int) -> Iterator[tuple[int, Matrix]]:
    """Yield (number of the first row, block of rows); blocks are views where possible."""
    for start in range(0, len(vectors), batch_rows):
        yield start, np.asarray(vectors[start : start + batch_rows])


def refuse_non_finite(block: Matrix, row_numbers: NDArray[np.int64]) -> None:
    """Raise if a row of ``block`` holds NaN or infinity.

    Raises
    ------
    DataError
        Naming the first such row by its entry in ``row_numbers``.
    """
    bad = ~np.isfinite(block).all(axis=1)
    if bad.any():
        raise DataError(
            f"row {int(row_numbers[bad.argmax()])} of the vectors holds NaN or infinity"
        )
