"""The randomly shifted grid behind a random projection, and the buckets it makes.

A record x in R^d lies in the cell floor((Z x - o) / L), coordinate by coordinate, where Z is k x d
with independent N(0, 1/k) entries and o is uniform on [0, L)^k, independent of Z. Cells are signed
and unbounded. Two records at distance D then share a cell with probability f(L sqrt(k) / D)^k
(Fre-E2T, Lemma 2; :class:`accountants.GridCollision`), for this law and no other: there is no clip,
clamp or origin that depends on the data, and a record's cell depends on that record alone.

Exact cells
-----------
Matrix products round, and how they round may depend on how many rows are multiplied at once. So
that this can never move a record, a cell here is the floor of the *exact* real number that the
stored Z, x, o and L stand for. It is computed in single precision first; rows that come within a
proved error bound of a cell border are computed again in double precision, and what is still within
the bound is decided in rational arithmetic.

The bound: whatever the order of summation, |fl(z.x) - z.x| <= gamma_d |z|.|x| with
gamma_d = d u / (1 - d u) (Higham, *Accuracy and Stability of Numerical Algorithms*, section 3.1),
and |z|.|x| <= ||z|| ||x||; d is raised by 8 for the rounding of the inputs, the subtraction and the
division.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from accountants.errors import ParameterError
from accountants.ranges import positive, positive_integer
from dpaudit.errors import DataError
from dpaudit.pipeline.device import Device, resolve_device
from dpaudit.pipeline.randomness import fresh_seed
from dpaudit.pipeline.rows import (
    BATCH_ROWS,
    Matrix,
    checked_matrix,
    refuse_non_finite,
    row_blocks,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53  # unit roundoffs
_LARGEST_CELL = 2.0**62
_PART = 256  # columns multiplied at a time in single precision
_MOST_SINGLE = 1 << 18  # columns for which a squared norm in single precision is good to 2%


@dataclass(frozen=True, eq=False)
class ShiftedGrid:
    """A public projection and a public randomly shifted grid.

    Attributes
    ----------
    projection : ndarray of float64, shape (k, d)
        Z.
    offset : ndarray of float64, shape (k,)
        o, in [0, edge).
    edge : float
        Edge L of a cell, > 0.
    seed : int or None
        Seed from which :meth:`draw` made the two; it may be published.

    Raises
    ------
    ParameterError
        If shapes do not match or a value lies outside its range.
    """

    projection: Floats
    offset: Floats
    edge: float
    seed: int | None = None

    def __post_init__(self) -> None:
        positive("edge", self.edge)
        projection = np.array(self.projection, dtype=np.float64)
        offset = np.array(self.offset, dtype=np.float64)
        if projection.ndim != 2 or 0 in projection.shape or offset.shape != projection.shape[:1]:
            raise ParameterError(
                f"projection of shape {projection.shape} with offset of shape {offset.shape}: "
                "(k, d) and (k,) are needed"
            )
        if not np.isfinite(projection).all():
            raise ParameterError("projection holds NaN or infinity: finite numbers are needed")
        if not ((offset >= 0) & (offset < self.edge)).all():
            raise ParameterError(f"offset outside [0, {self.edge!r}), the range of one cell")
        for name, array in (("projection", projection), ("offset", offset)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @classmethod
    def draw(
        cls, *, embedding_dim: int, projection_dim: int, edge: float, seed: int | None = None
    ) -> Self:
        """Draw Z and o from a public seed, or from a fresh one that is recorded.

        Parameters
        ----------
        embedding_dim, projection_dim : int
            d and k, >= 1.
        edge : float
            L > 0; Fre-E2T takes 2 r / sqrt(k).
        seed : int, optional
            A seed >= 0. By default the operating system gives one, in [0, 2**63).

        Raises
        ------
        ParameterError
            If a parameter lies outside its range.
        """
        d = positive_integer("embedding_dim", embedding_dim)
        k = positive_integer("projection_dim", projection_dim)
        positive("edge", edge)
        public = fresh_seed() if seed is None else seed
        if public < 0:
            raise ParameterError(f"seed = {seed!r}: a whole number >= 0 is needed")
        for_projection, for_offset = np.random.SeedSequence(public).spawn(2)
        projection = np.random.Generator(np.random.PCG64(for_projection)).standard_normal((k, d))
        offset = np.random.Generator(np.random.PCG64(for_offset)).random(k) * edge
        return cls(projection / math.sqrt(k), offset, float(edge), public)

    @property
    def embedding_dim(self) -> int:
        """D, the number of columns of the projection."""
        return int(self.projection.shape[1])

    @property
    def projection_dim(self) -> int:
        """K, the number of coordinates of a cell."""
        return int(self.projection.shape[0])

    def project(
        self, vectors: Matrix, *, device: str = "auto", batch_rows: int = BATCH_ROWS
    ) -> Floats:
        """Return Z x for every row x, to double precision.

        The last bits may depend on the batch; :meth:`cells` does not.

        Parameters
        ----------
        vectors : ndarray or memmap of floats, shape (n, d)
            Records.
        device : {"auto", "cpu", "cuda"}
            Where to multiply.
        batch_rows : int
            Rows read at a time.

        Returns
        -------
        ndarray of float64, shape (n, k)

        Raises
        ------
        DataError
            If the vectors are not a floating-point matrix with d columns.
        """
        checked_matrix(vectors, dimension=self.embedding_dim)
        where = resolve_device(device)
        matrix = np.ascontiguousarray(self.projection.T)
        projected = np.empty((len(vectors), self.projection_dim))
        for start, block in row_blocks(vectors, batch_rows):
            product = block @ matrix if where == "cpu" else _torch_product(block, matrix, where)
            projected[start : start + len(block)] = product
        return projected

    def cells(
        self, vectors: Matrix, *, device: str = "auto", batch_rows: int = BATCH_ROWS
    ) -> Integers:
        """Return the exact cell floor((Z x - o) / L) of every row x.

        Parameters
        ----------
        vectors : ndarray or memmap of floats, shape (n, d)
            Records; a memmap is read once, block by block.
        device : {"auto", "cpu", "cuda"}
            Where to multiply. The result is the same everywhere.
        batch_rows : int
            Rows read at a time.

        Returns
        -------
        ndarray of int64, shape (n, k)
            Signed, unbounded cell coordinates.

        Raises
        ------
        DataError
            If the vectors are not a floating-point matrix with d columns, or a row (named) holds
            NaN or infinity, or lies so far out that its cell does not fit 62 bits.
        """
        checked_matrix(vectors, dimension=self.embedding_dim)
        where = resolve_device(device)
        products = [_Product(self, where, _DOUBLE)]
        if where == "cpu" and vectors.dtype.itemsize <= 4 and self.embedding_dim <= _MOST_SINGLE:
            products.insert(0, _Product(self, where, _SINGLE))
        cells = np.empty((len(vectors), self.projection_dim), dtype=np.int64)
        for start, block in row_blocks(vectors, batch_rows):
            numbers = np.arange(start, start + len(block))
            cells[start : start + len(block)] = _block_cells(self, block, numbers, products)
        return cells


class _Product:
    """x -> Z x / L in one precision on one device, with the bound on its error.

    In single precision the columns are taken in parts of at most 256, whose products are added in
    double precision: the bound then grows with 256 instead of d.
    """

    def __init__(self, grid: ShiftedGrid, device: Device, unit: float) -> None:
        self._device = device
        self._type: Any = np.float32 if unit == _SINGLE else np.float64
        self._tiny = float(np.finfo(self._type).tiny)
        with np.errstate(over="ignore"):
            scaled = grid.projection.T / grid.edge
            typed = scaled.astype(self._type)
        d = grid.embedding_dim
        width = min(d, _PART) if unit == _SINGLE else d
        columns = [slice(start, start + width) for start in range(0, d, width)]
        self._parts = [(part, np.ascontiguousarray(typed[part])) for part in columns]
        longest = float(np.sqrt((scaled**2).sum(axis=0)).max())
        # error of Z x / L - o / L  <=  slope ||x|| + constant
        self.slope = 1.02 * ((width + 8) * unit + d * _DOUBLE) * longest + d * self._tiny
        self.constant = 16 * _DOUBLE + (d + 8) * self._tiny * (longest + 1)

    def __call__(self, block: Matrix) -> Floats:
        """Return Z x / L in double precision; may hold NaN, silently."""
        if self._device == "cuda":
            return _torch_product(block, self._parts[0][1], "cuda")
        same = block.astype(self._type, copy=False)
        product = np.zeros((len(block), self._parts[0][1].shape[1]))
        for columns, z in self._parts:
            product += same[:, columns] @ z
        return product

    def norms(self, block: Matrix) -> Floats:
        """Return the rows' Euclidean norms, to a relative error of 1%.

        Squares too small for the type vanish, so four times the smallest normal number is added
        under the root for each coordinate; squares too large give infinity, which is safe.
        """
        same = block.astype(self._type, copy=False)
        squares = np.einsum("ij,ij->i", same, same).astype(np.float64)
        norms: Floats = np.sqrt(squares + 4 * block.shape[1] * self._tiny)
        return norms


def _torch_product(block: Matrix, matrix: Matrix, device: str) -> Floats:
    """Multiply in double precision on a PyTorch device."""
    import torch

    native = torch.tensor(block.astype(block.dtype.newbyteorder("=")), device=device)
    product = native.to(torch.float64) @ torch.tensor(matrix, device=device)
    return np.asarray(product.cpu().numpy(), dtype=np.float64)


def _block_cells(
    grid: ShiftedGrid, block: Matrix, numbers: Integers, products: list[_Product]
) -> Integers:
    """Decide the cells of a block with the first product; pass on the rows it cannot decide."""
    product, *better = products
    with np.errstate(all="ignore"):
        from_middle = product(block)
        from_middle -= grid.offset / grid.edge
        floors = np.floor(from_middle)
        from_middle -= floors
        from_middle -= 0.5
        np.abs(from_middle, out=from_middle)
        allowed = 0.5 - product.norms(block) * product.slope - product.constant
    if not better:
        decided = from_middle < allowed[:, None]
        return _decide_exactly(grid, block, numbers, floors, decided)
    rows = np.flatnonzero(~(from_middle.max(axis=1) < allowed))
    floors[rows] = 0
    cells = floors.astype(np.int64)
    if len(rows):
        cells[rows] = _block_cells(grid, block[rows], numbers[rows], better)
    return cells


def _decide_exactly(
    grid: ShiftedGrid,
    block: Matrix,
    numbers: Integers,
    floors: Floats,
    decided: NDArray[np.bool_],
) -> Integers:
    """Settle what double precision left open, in rational arithmetic; refuse rows that overflow."""
    refuse_non_finite(block, numbers)
    outside = ~(np.abs(floors) < _LARGEST_CELL).all(axis=1)
    if outside.any():
        raise DataError(
            f"row {int(numbers[outside.argmax()])} of the vectors lies too far out: "
            f"cells of edge {grid.edge!r} need |Z x| / edge < 2**62"
        )
    cells = floors.astype(np.int64)
    for row, coordinate in _open_positions(decided):
        cells[row, coordinate] = _exact_cell(grid, block[row], coordinate)
    return cells


def _open_positions(decided: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    for row, coordinate in np.argwhere(~decided):
        yield int(row), int(coordinate)


def _exact_cell(grid: ShiftedGrid, x: Matrix, coordinate: int) -> int:
    """floor((z.x - o) / L) of the numbers as stored."""
    z = grid.projection[coordinate].tolist()
    product = sum(
        (Fraction(a) * Fraction(b) for a, b in zip(z, x.tolist(), strict=True)), Fraction()
    )
    return math.floor((product - Fraction(float(grid.offset[coordinate]))) / Fraction(grid.edge))
