"""Release bucket counts and noisy embedding sums: sample, threshold, sum, add noise.

The mechanism of Fre-E2T for one grid: every record tosses a coin of its own; a bucket whose
*sampled* count reaches the threshold releases that count and the sum of its sampled vectors plus
N(0, std^2) in every coordinate; any other bucket releases nothing. :func:`release_buckets` is the
only implementation: real releases and the trials of an audit both call it.

With ``noise`` a :class:`~dpaudit.pipeline.randomness.BitSource`, vectors are rounded to multiples
of ``lattice_step``, summed in integers, and get an exactly sampled rounded Gaussian. This equals
rounding (sum of rounded vectors + continuous noise), so Theorem J holds by post-processing, with
every distance raised by ``lattice_step * sqrt(d)`` for the rounding of the vectors. With ``noise``
a numpy ``Generator``, floating-point noise is added, whose low bits can leak: for trials and
experiments only, and marked.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accountants.errors import ParameterError
from accountants.ranges import positive, positive_integer
from dpaudit.errors import DataError
from dpaudit.pipeline.bucketing import assign_buckets
from dpaudit.pipeline.device import resolve_device
from dpaudit.pipeline.grid import ShiftedGrid
from dpaudit.pipeline.randomness import SMALLEST_PROBABILITY, BitSource, bernoulli
from dpaudit.pipeline.rounded_gaussian import rounded_gaussian
from dpaudit.pipeline.rows import Matrix, checked_matrix
from dpaudit.pipeline.sums import Members, bucket_sums, lattice_sums

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Noise = Literal["exact-rounded-gaussian", "float-gaussian"]

LATTICE_STEP = 2.0**-24


@dataclass(frozen=True, kw_only=True)
class ReleaseParameters:
    """What governs a release once records are in buckets.

    Attributes
    ----------
    sampling_rate : float
        p, the probability that a record takes part, in [2**-64, 1).
    threshold : int
        A bucket is released when its sampled count is >= this; >= 1.
    noise_std : float
        Standard deviation added to every coordinate of a bucket's sum, > 0.
    lattice_step : float or None
        Lattice of exact releases, a power of two; None where noise is floating-point.

    Raises
    ------
    ParameterError
        If a value lies outside its range.
    """

    sampling_rate: float
    threshold: int
    noise_std: float
    lattice_step: float | None = LATTICE_STEP

    def __post_init__(self) -> None:
        if not SMALLEST_PROBABILITY <= self.sampling_rate < 1:
            raise ParameterError(
                f"sampling_rate = {self.sampling_rate!r}: a number in [2**-64, 1) is needed"
            )
        positive_integer("threshold", self.threshold)
        positive("noise_std", self.noise_std)
        if self.lattice_step is not None:
            positive("lattice_step", self.lattice_step)
            if math.frexp(self.lattice_step)[0] != 0.5:
                raise ParameterError(
                    f"lattice_step = {self.lattice_step!r}: a power of two is needed"
                )


@dataclass(frozen=True, eq=False, kw_only=True)
class Release:
    """What leaves the mechanism, and nothing else: no members, no true sums, no unreleased bucket.

    Attributes
    ----------
    buckets : ndarray of int64, shape (m,)
        The released buckets, ascending: the numbers the caller gave, or 0 .. m - 1 where ``cells``
        names them.
    counts : ndarray of int64, shape (m,)
        Sampled members of each.
    noisy_sums : ndarray of float64, shape (m, d)
        Sum of the sampled vectors, plus noise.
    noise : {"exact-rounded-gaussian", "float-gaussian"}
        How the noise was made.
    lattice_step : float or None
        Lattice of the vectors and noise, if exact.
    experiment : bool
        True if coins or noise can be reproduced or are floating-point: not fit for publication.
    cells : ndarray of int64, shape (m, k), or None
        Grid cell of each released bucket, in lexicographic order.
    """

    buckets: Integers
    counts: Integers
    noisy_sums: Floats
    noise: Noise
    lattice_step: float | None
    experiment: bool
    cells: Integers | None = None

    @property
    def centroids(self) -> Floats:
        """Noisy sums divided by counts, shape (m, d)."""
        return self.noisy_sums / self.counts[:, None]


@dataclass(frozen=True, eq=False, kw_only=True)
class PrivateBuckets:
    """Who is in which bucket: for the auditor in the room, never written beside a release.

    Attributes
    ----------
    buckets : ndarray of int64, shape (records,)
        Bucket of every record, in 0 .. number - 1.
    number : int
        Number of occupied buckets.
    released : ndarray of int64, shape (m,)
        For each bucket of the release, in its order, its number here.
    """

    buckets: Integers
    number: int
    released: Integers

    @property
    def sizes(self) -> Integers:
        """Number of records in each bucket, shape (number,)."""
        return np.bincount(self.buckets, minlength=self.number).astype(np.int64)


def release_buckets(
    vectors: Matrix,
    buckets: ArrayLike,
    number: int,
    *,
    rows: ArrayLike | None = None,
    parameters: ReleaseParameters,
    coins: BitSource,
    noise: BitSource | np.random.Generator,
    device: str = "cpu",
) -> Release:
    """Sample records, and release the count and noisy sum of every bucket that is heavy enough.

    Parameters
    ----------
    vectors : ndarray or memmap of floats, shape (r, d)
        Vectors; of a memmap only the rows that enter a released sum are read.
    buckets : array_like of int, shape (records,)
        Bucket of every record, in 0 .. number - 1.
    number : int
        Number of buckets.
    rows : array_like of int, shape (records,), optional
        Row of ``vectors`` that belongs to each record, where records share vectors. By default
        record i has row i.
    parameters : ReleaseParameters
        Sampling rate, threshold, noise and lattice.
    coins : BitSource
        Bits for the records' coins: one independent coin a record.
    noise : BitSource or numpy.random.Generator
        Bits for exact noise, or a generator for floating-point noise. Exact noise may share the
        source of the coins.
    device : {"auto", "cpu", "cuda"}
        Where to add vectors.

    Returns
    -------
    Release
        One draw. There is no retry, whatever comes out.

    Raises
    ------
    DataError
        If shapes do not match, an index is out of range, or a vector cannot be summed.
    ParameterError
        If exact noise is asked for without a lattice step.
    """
    checked_matrix(vectors)
    where = resolve_device(device)
    record_buckets = _indices("buckets", buckets, number)
    record_rows = None if rows is None else _indices("rows", rows, len(vectors))
    if len(record_buckets) != (len(vectors) if record_rows is None else len(record_rows)):
        raise DataError("each record needs one bucket and one row of the vectors")
    exact = not isinstance(noise, np.random.Generator)
    step = parameters.lattice_step if exact else None
    if exact and step is None:
        raise ParameterError("lattice_step = None: exact noise needs a lattice step")

    sampled = np.flatnonzero(
        bernoulli(coins, probability=parameters.sampling_rate, count=len(record_buckets))
    )
    counts = np.bincount(record_buckets[sampled], minlength=number)
    released = np.flatnonzero(counts >= parameters.threshold)
    members = _members(record_buckets, record_rows, sampled, released, number, len(vectors))
    shape = (len(released), vectors.shape[1])
    if isinstance(noise, np.random.Generator):
        sums = bucket_sums(vectors, members, device=where)
        sums += parameters.noise_std * noise.standard_normal(shape)
    else:
        assert step is not None
        lattice = lattice_sums(vectors, members, step=step, device=where)
        lattice += rounded_gaussian(
            noise, std=parameters.noise_std, step=step, count=lattice.size
        ).reshape(shape)
        sums = np.multiply(lattice, step, dtype=np.float64)
    return Release(
        buckets=released.astype(np.int64),
        counts=counts[released].astype(np.int64),
        noisy_sums=sums,
        noise="exact-rounded-gaussian" if exact else "float-gaussian",
        lattice_step=step,
        experiment=coins.experiment or isinstance(noise, np.random.Generator) or noise.experiment,
    )


def fre_e2t_release(
    vectors: Matrix,
    *,
    rows: ArrayLike | None = None,
    grid: ShiftedGrid,
    parameters: ReleaseParameters,
    coins: BitSource,
    noise: BitSource | np.random.Generator,
    device: str = "auto",
) -> tuple[Release, PrivateBuckets]:
    """Put records on the grid and release its heavy cells.

    Parameters
    ----------
    vectors, rows, parameters, coins, noise, device
        As for :func:`release_buckets`.
    grid : ShiftedGrid
        The public projection and grid, chosen independently of the records.

    Returns
    -------
    release : Release
        With ``cells`` set and in lexicographic order, so that nothing in it depends on buckets
        that are not released.
    private : PrivateBuckets
        The assignment of records to buckets.

    Raises
    ------
    DataError, ParameterError
        As for :func:`release_buckets` and :meth:`ShiftedGrid.cells`.
    """
    cells = grid.cells(vectors, device=device)
    row_buckets, number = assign_buckets(cells)
    buckets = row_buckets if rows is None else row_buckets[_indices("rows", rows, len(vectors))]
    release = release_buckets(
        vectors,
        buckets,
        number,
        rows=rows,
        parameters=parameters,
        coins=coins,
        noise=noise,
        device=device,
    )
    first_row = np.empty(number, dtype=np.int64)
    first_row[row_buckets[::-1]] = np.arange(len(cells) - 1, -1, -1)
    released_cells = cells[first_row[release.buckets]]
    order = np.lexsort(released_cells.T[::-1])
    public = replace(
        release,
        buckets=np.arange(len(order)),
        counts=release.counts[order],
        noisy_sums=release.noisy_sums[order],
        cells=released_cells[order],
    )
    private = PrivateBuckets(buckets=buckets, number=number, released=release.buckets[order])
    return public, private


def _indices(name: str, values: ArrayLike, end: int) -> Integers:
    """Return ``values`` as an int64 vector of numbers in 0 .. end - 1."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"{name} of shape {array.shape} and type {array.dtype}: a vector of whole numbers is "
            "needed"
        )
    if array.size and not (array.min() >= 0 and array.max() < end):
        raise DataError(f"{name} lie in {array.min()} .. {array.max()}: 0 .. {end - 1} is allowed")
    return array.astype(np.int64, copy=False)


def _members(
    buckets: Integers,
    rows: Integers | None,
    sampled: NDArray[np.intp],
    released: NDArray[np.intp],
    number: int,
    vectors: int,
) -> Members:
    """Return the sampled records of released buckets, records that share a row taken together."""
    position = np.full(number, -1, dtype=np.int64)
    position[released] = np.arange(len(released))
    bucket = position[buckets[sampled]]
    heavy = bucket >= 0
    bucket, record = bucket[heavy], sampled[heavy]
    if rows is None:
        return Members(bucket, record, np.ones(len(record), dtype=np.int64), len(released))
    row = rows[record]
    if len(released) * vectors <= 4 * len(record):  # a table is faster than sorting
        table = np.bincount(row * len(released) + bucket, minlength=len(released) * vectors)
        pair = np.flatnonzero(table)
        copies = table[pair]
    else:
        pair, copies = np.unique(row * len(released) + bucket, return_counts=True)
    row, bucket = np.divmod(pair, max(1, len(released)))
    return Members(bucket, row, copies.astype(np.int64), len(released))
