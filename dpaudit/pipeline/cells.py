"""Cells of a grid as the exact floor of the numbers that are stored.

Matrix products round, and how they round may depend on how many rows are multiplied at once. So
that this can never move a record, a cell here is the floor of the *exact* real number (z.x - o) / L
that the stored z, x, o and L stand for. It is computed in single precision first; rows that come
within a proved error bound of a cell border are computed again in double precision, and what is
still within the bound is decided in rational arithmetic.

The bound: whatever the order of summation, |fl(z.x) - z.x| <= gamma_n |z|.|x| over n columns, with
gamma_n = n u / (1 - n u) (Higham, *Accuracy and Stability of Numerical Algorithms*, section 3.1),
and |z|.|x| <= ||z|| ||x||. In single precision n is at most 512: the products of wider matrices are
taken in parts and added in double precision. Eight further units are added for the rounding of
inputs and results, and the smallest normal number for every product that may underflow.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.errors import DataError
from dpaudit.pipeline.device import Device
from dpaudit.pipeline.rows import Matrix, refuse_non_finite, row_blocks

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53  # unit roundoffs
_LARGEST_CELL = 2.0**62
_PART = 512  # columns multiplied at a time in single precision
_MOST_SINGLE = 1 << 18  # columns for which a squared norm in single precision is good to 2%


def exact_cells(
    vectors: Matrix,
    *,
    projection: Floats,
    offset: Floats,
    edge: float,
    device: Device,
    batch_rows: int,
) -> Integers:
    """Return floor((Z x - o) / L) for every row x, exactly.

    Parameters
    ----------
    vectors : ndarray or memmap of floats, shape (n, d)
        Records, read block by block.
    projection, offset, edge
        Z, shape (k, d), o, shape (k,), and L > 0.
    device : {"cpu", "cuda"}
        Where to multiply; the result is the same.
    batch_rows : int
        Rows read at a time; the result is the same.

    Returns
    -------
    ndarray of int64, shape (n, k)

    Raises
    ------
    DataError
        If a row (named) holds NaN or infinity, or its cell does not fit 62 bits.
    """
    cells = np.empty((len(vectors), len(projection)), dtype=np.int64)
    double = _Product(projection, offset, edge, device, _DOUBLE)
    if device == "cpu" and vectors.dtype.itemsize <= 4 and vectors.shape[1] <= _MOST_SINGLE:
        single = _Product(projection, offset, edge, device, _SINGLE)
        rows = _decide(vectors, cells, single, batch_rows)
    else:
        rows = np.arange(len(vectors))
    for start in range(0, len(rows), batch_rows):
        part = rows[start : start + batch_rows]
        block = vectors[part]
        floors, decided = double.floors(block)
        refuse_non_finite(block, part)
        outside = ~(np.abs(floors) < _LARGEST_CELL).all(axis=1)
        if outside.any():
            raise DataError(
                f"row {int(part[outside.argmax()])} of the vectors lies too far out: "
                f"cells of edge {edge!r} need |Z x| / edge < 2**62"
            )
        cells[part] = floors
        for row, coordinate in np.argwhere(~decided):
            cells[part[row], coordinate] = _rational_cell(
                block[row], projection[coordinate], float(offset[coordinate]), edge
            )
    return cells


def torch_product(block: Matrix, matrix: Matrix, device: str) -> Floats:
    """Multiply in double precision on a PyTorch device."""
    import torch

    native = torch.tensor(block.astype(block.dtype.newbyteorder("=")), device=device)
    product = native.to(torch.float64) @ torch.tensor(matrix, device=device)
    return np.asarray(product.cpu().numpy(), dtype=np.float64)


def _decide(
    vectors: Matrix, cells: Integers, product: "_Product", batch_rows: int
) -> NDArray[np.int64]:
    """Fill in the rows that a product decides in full; return the numbers of the others."""
    undecided = [np.empty(0, dtype=np.int64)]
    for start, block in row_blocks(vectors, batch_rows):
        floors, decided = product.floors(block)
        rows = np.flatnonzero(~decided.all(axis=1))
        floors[rows] = 0
        cells[start : start + len(block)] = floors
        undecided.append(rows + start)
    return np.concatenate(undecided)


class _Product:
    """x -> floor((Z x - o) / L) in one precision on one device, where its error bound allows."""

    def __init__(
        self, projection: Floats, offset: Floats, edge: float, device: Device, unit: float
    ) -> None:
        self._device = device
        self._type: Any = np.float32 if unit == _SINGLE else np.float64
        self._tiny = float(np.finfo(self._type).tiny)
        with np.errstate(over="ignore"):
            scaled = projection.T / edge
            typed = scaled.astype(self._type)
            longest = float(np.sqrt((scaled**2).sum(axis=0)).max())
        d = len(scaled)
        width = -(-d // -(-d // _PART)) if unit == _SINGLE else d
        columns = [slice(start, start + width) for start in range(0, d, width)]
        self._parts = [(part, np.ascontiguousarray(typed[part])) for part in columns]
        self._offset = offset / edge
        # The error of fl(Z x / L - o / L) is at most slope ||x|| + constant; 1.02 covers that of
        # the computed norm.
        self._slope = 1.02 * ((width + 8) * unit + d * _DOUBLE) * longest + d * self._tiny
        self._constant = 16 * _DOUBLE + (d + 8) * self._tiny * (longest + 1)

    def floors(self, block: Matrix) -> tuple[Floats, NDArray[np.bool_]]:
        """Return floors, shape (rows, k), and where they are certain; others may be NaN."""
        with np.errstate(all="ignore"):
            from_middle = self._multiply(block)
            from_middle -= self._offset
            floors = np.floor(from_middle)
            from_middle -= floors
            from_middle -= 0.5
            np.abs(from_middle, out=from_middle)
            allowed = 0.5 - self._constant - self._norms(block) * self._slope
            return floors, from_middle < allowed[:, None]

    def _multiply(self, block: Matrix) -> Floats:
        if self._device == "cuda":
            return torch_product(block, self._parts[0][1], "cuda")
        same = block.astype(self._type, copy=False)
        product = np.zeros((len(block), len(self._offset)))
        for columns, z in self._parts:
            product += same[:, columns] @ z
        return product

    def _norms(self, block: Matrix) -> Floats:
        """Return the rows' Euclidean norms, at most 1% too small.

        Squares too small for the type vanish, so four times the smallest normal number is added
        under the root for each coordinate; squares too large give infinity, which is safe.
        """
        same = block.astype(self._type, copy=False)
        squares = _row_squares(same).astype(np.float64)
        norms: Floats = np.sqrt(squares + 4 * block.shape[1] * self._tiny)
        return norms


def _row_squares(rows: Matrix) -> Matrix:
    """Return each row's scalar product with itself; numpy 2 has a faster way."""
    if hasattr(np, "vecdot"):
        return np.asarray(np.vecdot(rows, rows))
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _rational_cell(x: Matrix, z: Floats, offset: float, edge: float) -> int:
    """Return floor((z.x - o) / L) of the numbers as stored."""
    products = (Fraction(a) * Fraction(b) for a, b in zip(z.tolist(), x.tolist(), strict=True))
    return math.floor((sum(products, Fraction()) - Fraction(offset)) / Fraction(edge))
