r"""Group privacy of any profile: neighbours that are several steps, or buckets, apart.

*Steps.* Let :math:`X_0, \dots, X_m` be a chain of neighbours. For every
:math:`\epsilon_1 + \dots + \epsilon_m = \epsilon`

.. math::
   \delta_m(\epsilon) \le \sum_{i=1}^m e^{\epsilon_1 + \dots + \epsilon_{i-1}} \delta(\epsilon_i),

since :math:`P_0(S) \le e^{\epsilon_1} P_1(S) + \delta(\epsilon_1)`, and so on for :math:`P_1(S)`.
Equal steps give :math:`(e^{m\epsilon} - 1)/(e^\epsilon - 1)\, \delta(\epsilon)` at
:math:`m \epsilon`, the usual form. Later deltas weigh more, so steps that grow are better: the best
steps on a grid are found by dynamic programming.

*Buckets.* Where a user's records lie in c buckets that are sampled and released independently, each
with a profile that covers all of the user's records in it, basic composition gives
:math:`\delta_c(\epsilon) \le c\, \delta(\epsilon/c)`.

Proofs: ``docs/proofs/group-release.md``.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats

_UNIT = 2.0**-53
_FIRST, _LAST = -3, 20  # powers of 2 of the first and last range of epsilon that have a table
_CHAIN = 200  # up to this many steps the best ones are looked for
_BACK = 1 / 64  # how far back a fall of the bound by equal steps is looked for, relative
_FALLS = 0.1  # in ln delta: a range over which the bound falls by more than this is taken to fall


class Curve(Protocol):
    """Anything with an upper bound of ln delta that falls in epsilon: a profile, a guarantee."""

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        ...


@dataclass(frozen=True, kw_only=True)
class GroupProfile(PrivacyProfile):
    r"""Neighbours ``size`` steps of the base profile's adjacency apart.

    Parameters
    ----------
    base : Curve
        The profile of one step, both directions.
    size : int
        m, 1 to 1e6.
    resolution : int
        R, 2 to 64: for epsilon in (E/2, E], E a power of 2, steps are multiples of E / (m R) up to
        2 E / m. Each such range costs 2 R + 1 evaluations of the base, once. Beyond 200 steps only
        equal ones are tried.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.

    Notes
    -----
    It says nothing about where the records lie: l records of one user in any arrangement over
    buckets are l steps of a profile for one record. Between the points of its table the bound is a
    chord in :math:`e^\epsilon`, of which every hockey-stick divergence is a convex function.
    """

    base: Curve
    size: int
    resolution: int = 16

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.whole("size", self.size, low=1, high=10**6)
        ranges.whole("resolution", self.resolution, low=2, high=64)

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        values = ranges.epsilons(epsilon)
        logs = [self._one(float(e)) for e in values.ravel()]
        return np.array(logs, dtype=float).reshape(values.shape)

    def _one(self, epsilon: float) -> float:
        """Return the bound at one epsilon, equal steps of exactly its size included."""
        least = self._least(epsilon)
        if self.size > 1 and 0 < epsilon < np.inf:
            equal = self._equal(epsilon)
            if equal < least and equal <= self._equal(epsilon * (1 - _BACK)):
                return equal
        return least

    def _least(self, epsilon: float) -> float:
        """Return the bound at one epsilon, from the table."""
        if self.size == 1 or epsilon == 0 or np.isinf(epsilon):
            one = float(np.asarray(self.base.log_delta(epsilon)))
            if self.size == 1 or one == -np.inf:  # each step is absolutely continuous
                return one
            return min(one + self._log_weight(0.0), 0.0) if epsilon == 0 else self._floor()
        epsilon = min(epsilon, 2.0**_LAST)
        octave = max(int(np.ceil(np.log2(epsilon))), _FIRST)
        width, logs = self._table(octave)
        start = 0.0 if octave == _FIRST else 2.0 ** (octave - 1)
        cell = min(max(int((epsilon - start) / width), 0), len(logs) - 2)
        offset = max(epsilon * (1 - 4 * _UNIT) - start - cell * width, 0.0)
        if offset >= width:
            return float(logs[cell + 1])
        share = np.exp(offset - width) * np.expm1(-offset) / np.expm1(-width)
        share = share * (1 - 1e-12)
        low, high = float(logs[cell]), float(logs[cell + 1])
        if low == high:
            return low
        return min(low + float(np.log1p(share * np.expm1(high - low))) + 4 * _UNIT, low)

    def _floor(self) -> float:
        """Return the bound at infinity: the lowest that is found."""
        octave = 1
        while octave < _LAST and self._ends(octave)[1] < self._ends(octave)[0]:
            octave += 1
        return self._ends(octave)[1]

    def _ends(self, octave: int) -> tuple[float, float]:
        logs = self._table(octave)[1]
        return float(logs[0]), float(logs[-1])

    def _table(self, octave: int) -> tuple[float, Floats]:
        """Return the bound on a grid of epsilons from 2^(octave - 1) to 2^octave, and its width.

        Falling, and not above the end of the octave before, as far back as bounds do not fall.
        """
        if octave not in self._tables:
            width, logs = self._raw(octave)
            if octave > _FIRST:
                before = self._tables.get(octave - 1) or self._raw(octave - 1)
                if before[1][-1] > before[1][0] - _FALLS:
                    before = self._table(octave - 1)
                logs = np.minimum(logs, before[1][-1])
            self._tables[octave] = width, logs
        return self._tables[octave]

    @cached_property
    def _tables(self) -> dict[int, tuple[float, Floats]]:
        return {}

    def _raw(self, octave: int) -> tuple[float, Floats]:
        """Return the bound on a grid of one octave, and the grid's width."""
        fine = self.resolution
        top = 2.0**octave
        if self.size > _CHAIN:
            width = top / (2 * fine)
            logs = np.array([self._equal(i * width) for i in range(2 * fine + 1)])
        else:
            width = top / (self.size * fine)
            logs = self._chains(width)
        logs = np.minimum.accumulate(np.minimum(logs, 0.0))
        return width, logs if octave == _FIRST else logs[len(logs) // 2 :]

    def _chains(self, width: float) -> Floats:
        """Return the least sums over steps that are multiples of ``width``, by their total."""
        fine = self.resolution
        total = self.size * fine
        deltas = np.asarray(self.base.log_delta(width * (1 - 8 * _UNIT) * np.arange(2 * fine + 1)))
        best = deltas[np.minimum(np.arange(total + 1), 2 * fine)]
        for _ in range(1, self.size):
            longer = np.full(total + 1, np.inf)
            for first in range(min(2 * fine, total) + 1):
                with_first = np.logaddexp(deltas[first], first * width + best[: total + 1 - first])
                longer[first:] = np.minimum(longer[first:], with_first)
            best = longer
        return best + self._slip(total * width)

    def _equal(self, epsilon: float) -> float:
        """Return the logarithm of the sum over equal steps."""
        step = epsilon / self.size * (1 - 4 * _UNIT)  # a smaller step has a larger delta
        return float(np.asarray(self.base.log_delta(step))) + self._log_weight(step)

    def _log_weight(self, step: float) -> float:
        """Logarithm of the sum of e^(i step) over i < size, up."""
        if step * self.size < 1e-12:
            return float(np.log(self.size)) + 2e-12
        last = (self.size - 1) * step
        value = last + np.log(np.expm1(-self.size * step) / np.expm1(-step))
        return float(value + self._slip(last))

    def _slip(self, size: float) -> float:
        return 8 * _UNIT * (4 + size + self.size)


@dataclass(frozen=True, kw_only=True)
class BucketProfile(PrivacyProfile):
    r"""A user's records in several buckets, by basic composition.

    Parameters
    ----------
    base : Curve
        The profile of one bucket, for all records that a user may have in it.
    buckets : int
        c >= 1, in how many buckets at most a user's records lie.

    Raises
    ------
    ParameterError
        If ``buckets`` is not a whole number >= 1.
    """

    base: Curve
    buckets: int

    def __post_init__(self) -> None:
        """Check the range."""
        ranges.positive_integer("buckets", self.buckets)

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        share = ranges.epsilons(epsilon) / self.buckets * (1 - 4 * _UNIT)
        value = np.asarray(self.base.log_delta(share)) + np.log(self.buckets) * (1 + 4 * _UNIT)
        return np.asarray(np.minimum(value, 0.0))
