"""The randomly shifted grid behind a random projection, and the buckets it makes.

A record x in R^d lies in the cell floor((Z x - o) / L), coordinate by coordinate, where Z is k x d
with independent N(0, 1/k) entries and o is uniform on [0, L)^k, independent of Z. Cells are signed
and unbounded. Two records at distance D then share a cell with probability f(L sqrt(k) / D)^k
(Fre-E2T, Lemma 2; :class:`accountants.GridCollision`), for this law and no other: there is no clip,
clamp or origin that depends on the data, and a record's cell depends on that record alone
(:mod:`dpaudit.pipeline.cells`).
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from accountants.errors import ParameterError
from accountants.ranges import positive, positive_integer
from dpaudit.pipeline.cells import exact_cells, torch_product
from dpaudit.pipeline.device import resolve_device
from dpaudit.pipeline.randomness import fresh_seed
from dpaudit.pipeline.rows import BATCH_ROWS, Matrix, checked_matrix, row_blocks

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


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
            product = block @ matrix if where == "cpu" else torch_product(block, matrix, where)
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
        return exact_cells(
            vectors,
            projection=self.projection,
            offset=self.offset,
            edge=self.edge,
            device=resolve_device(device),
            batch_rows=batch_rows,
        )
