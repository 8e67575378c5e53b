"""The u-free bound's two suprema over bucket sizes, at any distance: searched, or certified.

A searched value looks at a few bucket sizes around the best one known: fast, nearly always the
supremum, never above it, and good enough to choose where to split. A certified one is an upper
bound over all sizes.
"""

from dataclasses import dataclass, field
from math import log

import numpy as np

from accountants.fre_e2t import FreE2TParameters
from accountants.joint_terms import Direction, JointTerms
from accountants.ranges import Floats
from accountants.supremum import Counts, log_suprema
from accountants.tag_padding import TagPadding

Sizes = tuple[int, int, int, int]
"""Near the best bucket sizes: of near and far last, of near and far at distance 0; 0: unknown."""

UNKNOWN: Sizes = (0, 0, 0, 0)

TOLERANCE = 1.5e-4  # how far above the supremum a certified value may lie, relative
_UNIT = 2.0**-53
_FLOOR = -19.0  # searched sums leave out what is this much smaller (a logarithm)
DEEP = -800.0
_LEVEL, _ROOM, _GAIN = -20.0, 8.0, 1e-5
_FAR = 20  # searched bucket sizes go up to this many times a typical one
_RAGGED, _TEETH = 100, np.array([[-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]])
_GRID = np.linspace(-1.0, 1.0, 13)
_MOVES = 12
_BETWEEN = 8


@dataclass(kw_only=True)
class DistanceSuprema:
    """Near and far suprema at one epsilon and direction, remembered by distance.

    Parameters
    ----------
    parameters : FreE2TParameters
        The release.
    epsilon : float
        >= 0.
    direction : {"add", "remove"}
        Which dataset holds the record that differs.
    padding : TagPadding, optional
        For the synthesis server's view; it counts in the near part, once.
    certified : bool
        Whether values are upper bounds over all bucket sizes, or searched.
    sizes : Sizes
        Bucket sizes near the best ones; only speed depends on them.
    depth : float
        Searched near parts below this, and far parts that cannot reach it, need not be close.
    """

    parameters: FreE2TParameters
    epsilon: float
    direction: Direction
    padding: TagPadding | None = None
    certified: bool = False
    sizes: Sizes = UNKNOWN
    depth: float = DEEP
    _known: dict[tuple[bool, float], tuple[float, int]] = field(default_factory=dict)

    def near(self, distances: Floats, *, at_least: float = -np.inf) -> Floats:
        """Logarithm of sup over m of J(epsilon; m, D / sigma) at each D of ``distances``.

        Where it is below ``at_least``, about that is returned.
        """
        return self._values(distances, False, np.full(len(distances), at_least))

    def far(self, distances: Floats, *, at_least: float = -np.inf) -> Floats:
        """Logarithm of N f(D)^k sup over m of J(epsilon; m, D / sigma) / m at each D."""
        return self.log_collisions(distances) + self.share(distances, at_least=at_least)

    def share(self, distances: Floats, *, at_least: float = -np.inf) -> Floats:
        """Logarithm of sup over m of J(epsilon; m, D / sigma) / m at each D of ``distances``.

        Where the far part is below ``at_least``, a share that makes it about that is returned.
        """
        least = np.full(len(distances), -np.inf)
        if at_least > -np.inf:
            least = np.minimum(at_least - self.log_collisions(distances), 0.0)
        return self._values(distances, True, least)

    def best_sizes(self) -> Sizes:
        """Return the bucket sizes last found best, for :attr:`sizes` of another one."""
        last = {per_record: at for (per_record, _), (_, at) in self._known.items()}
        quiet = [
            self._known.get((kind, 0.0), (0.0, self.sizes[2 + kind]))[1] for kind in (False, True)
        ]
        return last.get(False, self.sizes[0]), last.get(True, self.sizes[1]), quiet[0], quiet[1]

    def highest_far(self, distance: float) -> float:
        """Return the highest far part known at ``distance`` or beyond."""
        known = [
            float(self.log_collisions(np.array([d]))[0]) + value
            for (per_record, d), (value, _) in self._known.items()
            if per_record and distance <= d < np.inf
        ]
        return max(known, default=-np.inf)

    def log_collisions(self, distances: Floats) -> Floats:
        """Logarithm of N f(L sqrt(k)/D)^k, up, at each D of ``distances``."""
        return self.parameters.grid.log_probability(distances) + (
            log(self.parameters.records_max) + 1e-15
        )

    def shifts(self, distances: Floats) -> Floats:
        """Shift of each distance, rounding included, up."""
        moved = (distances + self.parameters.rounding) * (1 + 4 * _UNIT)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(moved > 0, moved / self.parameters.noise_std, 0.0)

    def _values(self, distances: Floats, per_record: bool, at_least: Floats) -> Floats:
        keys = [(per_record, float(d)) for d in distances]
        new = {key[1]: i for i, key in enumerate(keys) if key not in self._known}
        if new:
            missing = np.array(list(new))
            values, places = self._search(missing, per_record, at_least[list(new.values())])
            for d, value, at in zip(missing, values, places, strict=True):
                self._known[(per_record, float(d))] = (float(value), int(at))
        return np.array([self._known[key][0] for key in keys])

    def _search(
        self, distances: Floats, per_record: bool, at_least: Floats
    ) -> tuple[Floats, Counts]:
        p = self.parameters
        terms = JointTerms(
            sampling_rate=p.sampling_rate,
            threshold=p.threshold,
            shifts=self.shifts(distances),
            epsilon=self.epsilon,
            direction=self.direction,
            growth=p.noise_growth,
            padding=None if per_record else self.padding,
        )
        last = p.records_max - 1
        first = max(1, p.threshold - 1) if per_record else min(p.threshold - 1, last)
        if self.padding is not None and not per_record:
            first = 0
        if not self.certified and first <= last:
            if distances[0] > 0 and (per_record, 0.0) not in self._known:
                self._values(np.zeros(1), per_record, np.full(1, -np.inf))
            guess, level, wide = self._guesses(distances, per_record)
            depth = self.depth - (log(p.records_max) if per_record else 0.0)
            climb = _Climb(
                terms=terms,
                at=np.clip(guess, first, last),
                first=first,
                last=min(last, first + _FAR * self._typical),
                per_record=per_record,
                level=np.maximum(level, depth),
                depth=depth,
                landmarks=self._landmarks(first, per_record, depth),
            )
            climb.run(wide=wide)
            return climb.best, climb.at
        guess, _, _ = self._guesses(distances, per_record)
        if distances[0] == 0 and len(distances) > 1:
            guess[1:], _, _ = self._guesses(distances[1:], per_record)
        found = log_suprema(
            terms.evaluate,
            problems=len(distances),
            first=first,
            last=last,
            per_record=per_record,
            guess=guess,
            at_least=at_least,
            tolerance=TOLERANCE,
        )
        return found.values, found.at

    def _landmarks(self, first: int, per_record: bool, depth: float) -> list[int]:
        """Bucket sizes where there may be a peak other than the nearest distance's."""
        marks = [self._typical]
        if (per_record, 0.0) in self._known:
            marks.append(self._known[(per_record, 0.0)][1])
        if self.padding is not None and not per_record:
            marks.append(first)
            low = max(self.parameters.threshold - 1, 1)  # where the tag may be hidden or released
            marks += np.geomspace(low, max(low, self._typical), _BETWEEN).astype(int).tolist()
        p = self.parameters
        if p.threshold * log(p.sampling_rate) > depth:  # every record sampled: not too rare
            marks.append(first)
        return marks

    @property
    def _typical(self) -> int:
        """A bucket size of which about the threshold is sampled."""
        p = self.parameters
        return int(min(max(p.threshold / p.sampling_rate, p.threshold), float(p.records_max)))

    def _guesses(self, distances: Floats, per_record: bool) -> tuple[Counts, Floats, bool]:
        """Return, from the nearest distances known, where the suprema may be and how low ln J is.

        The third is whether that is a mere guess.
        """
        known = [
            (d, at, value + (log(max(at, 1)) if per_record else 0.0))
            for (kind, d), (value, at) in self._known.items()
            if kind == per_record and value > -np.inf and (d > 0) == bool(distances[0] > 0)
        ]
        if known:
            table = np.array(known)
            nearest = np.argmin(np.abs(table[:, 0][None, :] - distances[:, None]), axis=1)
            return table[nearest, 1].astype(np.int64), table[nearest, 2], False
        hint = self.sizes[per_record + 2 * bool(distances[0] == 0)]
        guess = np.full(len(distances), hint or self._typical, dtype=np.int64)
        return guess, np.full(len(distances), min(_LEVEL, self.depth + 30.0)), hint == 0


@dataclass(kw_only=True)
class _Climb:
    """A search for the best bucket size of each problem, from a guess; values of J, or of J/N."""

    terms: JointTerms
    at: Counts
    first: int
    last: int
    per_record: bool
    level: Floats  # about how low each ln J is expected
    depth: float
    landmarks: list[int]
    best: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.best = np.full(len(self.at), -np.inf)

    def run(self, *, wide: bool) -> None:
        """Find the peaks, again from scratch where ln J lies far below the level expected."""
        rows = np.arange(len(self.at))
        while len(rows):
            self._climb(rows, wide=wide)
            low = self.best[rows] + self._scale(self.at[rows]) < self.level[rows] - _ROOM
            rows = rows[low & (self.level[rows] > self.depth)]
            self.level[rows] = np.maximum(2 * self.level[rows] - 10, self.depth)
            self.best[rows] = -np.inf

    def _climb(self, rows: Counts, *, wide: bool) -> None:
        every = rows
        step = min(0.5 / self.terms.threshold**0.5, 0.2)  # about the width of the peak in ln N
        trio = step * np.array([[-1.0, 0.0, 1.0]])
        marks = np.repeat(np.array([self.landmarks]), len(rows), axis=0)
        near = self._around(rows, trio)
        values = self._evaluate(rows, np.concatenate([near, marks], axis=1))
        near_best = bool((np.argmax(values, axis=1) < trio.size).all())
        reach = 1.5
        while wide and reach > step:
            self._look(rows, reach * _GRID[None, :])
            reach /= 6
        for move in range(_MOVES):
            before = self.best[rows].copy()
            known = move == 0 and near_best and not wide
            tops = _tops(values[:, : trio.size] if known else self._look(rows, trio))
            self._look(rows, step * tops[:, None])
            height = self.best[rows] + self._scale(self.at[rows])
            with np.errstate(invalid="ignore"):
                gained = ~(self.best[rows] - before < _GAIN) & (height > self.depth)
            rows = rows[(np.abs(tops) > 1) & gained]
            if not len(rows):
                break
        if self.terms.threshold <= _RAGGED:  # a saw of a few sizes' period rides on the peak
            relevant = every[self.best[every] + self._scale(self.at[every]) > self.depth]
            if len(relevant):
                self._evaluate(relevant, self.at[relevant][:, None] + _TEETH)

    def _look(self, rows: Counts, spread: Floats) -> Floats:
        """Evaluate at e^spread times ``at``; one row of values a problem."""
        return self._evaluate(rows, self._around(rows, spread))

    def _around(self, rows: Counts, spread: Floats) -> Floats:
        return np.asarray(np.rint(np.maximum(self.at[rows], 1)[:, None] * np.exp(spread)))

    def _evaluate(self, rows: Counts, wanted: Floats | Counts) -> Floats:
        """Evaluate each problem at its row of sizes, and move to the best one."""
        sizes = np.clip(wanted, self.first, self.last).astype(np.int64)
        known = np.isfinite(self.best[rows])[:, None]
        scale = self._scale(sizes)
        floor = (
            np.where(known, self.best[rows][:, None] + scale, self.level[rows][:, None]) + _FLOOR
        )
        own, _ = self.terms.evaluate(
            np.repeat(rows, sizes.shape[1]),
            sizes.ravel(),
            np.zeros(sizes.size, np.int64),
            np.maximum(floor, DEEP).ravel(),
        )
        values: Floats = own.reshape(sizes.shape) - scale
        top = np.argmax(values, axis=1)
        lines = np.arange(len(rows))
        better = values[lines, top] > self.best[rows]
        self.at[rows[better]] = sizes[lines, top][better]
        self.best[rows] = np.maximum(self.best[rows], values[lines, top])
        return values

    def _scale(self, sizes: Counts) -> Floats:
        return np.log(np.maximum(sizes, 1)) * self.per_record


def _tops(values: Floats) -> Floats:
    """Where the parabola through each row's values at -1, 0, 1 is highest, as seen from the best.

    Uphill where it has no top; at most 5 steps away.
    """
    left, middle, right = values.T
    best = np.argmax(values, axis=1) - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        bend = left - 2 * middle + right
        top = np.where(bend < 0, (left - right) / (2 * bend), 5.0 * best)
    top = np.where(np.isfinite(top), top, 5.0 * best)
    return np.asarray(np.clip(top, -5, 5) - best)
