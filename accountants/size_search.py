"""From delta to epsilon where delta is a supremum over bucket sizes, by cutting planes.

At a few bucket sizes the bound is cheap. The search for epsilon runs on those, and looks for better
sizes around them; then the supremum is certified at the epsilon found, which either holds or names
a size that was missing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.inversion import falling_root
from accountants.joint_terms import DIRECTIONS, Direction
from accountants.ranges import Floats

AtSizes = Callable[[float, Direction, Sequence[int], float], Floats]
Certified = Callable[[float, float], tuple[float, dict[Direction, int]]]

_EPSILON_MAX = 1e9
_ROUNDS = 40
_CLIMBS = 6  # how often better sizes are looked for before certifying
_ROOM = 2.5e-7  # in ln delta: a little more than a certified supremum may lie above the truth
_SLACK = 4e-7
_DIGITS = 24.0
_COARSE, _FINE = 1e-4, 1e-9  # widths of the bracket, relative to max(1e-3 unit, epsilon)
_WIDE = np.linspace(-1.5, 1.5, 13)
_TEETH = np.arange(-5.0, 6.0)
_GAIN = 1e-7  # in ln delta: what a better size must bring


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The bucket sizes among which the supremum is taken.

    Attributes
    ----------
    first, last : int
        The smallest and the largest.
    start : int
        One to begin with.
    width : float
        About how wide the peak is, in the logarithm of the size; only speed depends on it.
    """

    first: int
    last: int
    start: int
    width: float


def smallest_epsilon_over_sizes(
    at_sizes: AtSizes, certified: Certified, delta: ArrayLike, *, sizes: Sizes, unit: float
) -> Floats:
    """Return the smallest epsilon at which the certified supremum is at most delta, rounded up.

    Parameters
    ----------
    at_sizes : callable
        (epsilon, direction, sizes, floor) -> ln delta at each of those bucket sizes, exact up to
        e^floor.
    certified : callable
        (epsilon, at_least) -> an upper bound of ln delta over all sizes and both directions
        (``at_least`` or a little more if it is lower), and where each direction attains it.
    delta : array_like
        Targets in [0, 1].
    sizes : Sizes
        Where to look.
    unit : float
        Scale of the smallest epsilons of interest.

    Returns
    -------
    ndarray
        Same shape; ``inf`` where no epsilon up to 1e9 is enough.

    Raises
    ------
    ParameterError
        If a delta lies outside [0, 1].
    """
    targets = ranges.deltas(delta)
    best: dict[Direction, list[int]] = {way: [sizes.start] for way in DIRECTIONS}
    answers = []
    for target in targets.ravel():
        search = _Search(at_sizes, certified, sizes, unit, best, float(target))
        answers.append(search.smallest())
    return np.array(answers, dtype=float).reshape(targets.shape)


@dataclass
class _Search:
    """The search for one delta; ``best`` holds the sizes that count, in each direction."""

    at_sizes: AtSizes
    certified: Certified
    sizes: Sizes
    unit: float
    best: dict[Direction, list[int]]
    delta: float
    room: float = _ROOM
    slopes: dict[Direction, float] = field(default_factory=dict)

    @property
    def goal(self) -> float:
        return float(np.log(self.delta)) if self.delta > 0 else -np.inf

    def smallest(self) -> float:
        if self.delta == 1:
            return 0.0
        if max(self._excess(np.inf, way) for way in DIRECTIONS) > 0:
            return float("inf")
        found, climbs = 0.0, 0
        for _ in range(_ROUNDS):
            rough = climbs < _CLIMBS and self.goal > -np.inf
            worst: Direction = "add"
            for way in DIRECTIONS:
                root = self._root(way, found, _COARSE if rough else _FINE)
                worst, found = (way, root) if root > found else (worst, found)
            if np.isinf(found):
                return found
            if rough:
                climbs = climbs + 1 if self._climb(worst, found, wide=climbs == 0) else _CLIMBS
                # the root lies in a bracket of this width, of which `found` is the upper end
                found = max(0.0, found - 1.01 * _COARSE * max(1e-3 * self.unit, found))
                continue
            if (missed := self._failure(found)) <= 0:
                return found
            if max(self._excess(found, way, self.room) for way in DIRECTIONS) <= 0:
                self.room += max(_ROOM, min(missed, 1.0) / 4)  # every size that counts was there
        while self._failure(found) > 0:  # never seen: the sizes settle after a few rounds
            found = 2 * max(found, self.unit)
            if found > _EPSILON_MAX:
                return float("inf")
        return found

    def _values(self, epsilon: float, way: Direction, sizes: Sequence[int]) -> Floats:
        return self.at_sizes(epsilon, way, sizes, self.goal - _DIGITS)

    def _excess(self, epsilon: float, way: Direction, room: float = 0.0) -> float:
        value = float(np.max(self._values(epsilon, way, self.best[way])))
        if np.isfinite(self.goal):
            return value - self.goal + room
        return -1.0 if value == -np.inf else 1.0

    def _failure(self, epsilon: float) -> float:
        """By how much the certified supremum exceeds the goal; its sizes are taken in."""
        value, places = self.certified(epsilon, self.goal - _SLACK)
        for way, at in places.items():
            if at not in self.best[way]:
                self.best[way].append(at)
        return 0.0 if value == self.goal else value - self.goal

    def _root(self, way: Direction, low: float, width: float) -> float:
        """Return a point at or above ``low`` where this direction's excess was seen to be <= 0."""

        def excess(epsilon: float) -> float:
            return self._excess(epsilon, way, self.room)

        value_low = excess(low)
        if value_low <= 0:
            return low
        step = self.unit if low == 0 else max(low, self.unit)
        if way in self.slopes and np.isfinite(value_low):
            step = 1.5 * value_low / self.slopes[way]
        high = low + step
        while (value_high := excess(high)) > 0:
            low, value_low, high, step = high, value_high, high + 2 * step, 2 * step
            if high > _EPSILON_MAX:
                return float("inf")
        seen = [(low, value_low), (high, value_high)]

        def remembered(epsilon: float) -> float:
            value = excess(epsilon)
            seen.append((epsilon, value))
            return value

        root = falling_root(
            remembered,
            low,
            high,
            value_low=value_low,
            value_high=value_high,
            tolerance=lambda epsilon: width * max(1e-3 * self.unit, epsilon),
        )
        self._keep_slope(way, seen, root)
        return root

    def _keep_slope(self, way: Direction, seen: list[tuple[float, float]], root: float) -> None:
        """Remember how fast the direction falls at the root, from the two points closest to it."""
        close = sorted((abs(x - root), x, y) for x, y in seen if np.isfinite(y))[:2]
        if len(close) == 2 and close[0][1] != close[1][1]:
            slope = (close[0][2] - close[1][2]) / (close[1][1] - close[0][1])
            if slope > 0:
                self.slopes[way] = slope

    def _climb(self, way: Direction, epsilon: float, *, wide: bool) -> bool:
        """Take in the best size around the best one known; whether it is better."""
        known = self._values(epsilon, way, self.best[way])
        at, height = self.best[way][int(np.argmax(known))], float(np.max(known))
        before = height
        spread = _WIDE
        while wide and spread[1] - spread[0] > self.sizes.width / 2:
            at, height = self._highest(way, epsilon, at, height, at * np.exp(spread))
            spread = spread / 6
        for shrink in (0.4, 0.06):
            step = shrink * self.sizes.width
            trio = np.rint(at * np.exp(step * np.arange(-1.0, 2.0)))
            left, middle, right = self._values(epsilon, way, self._inside(trio, unique=False))
            if not np.isfinite([left, middle, right]).all():
                break
            bend = left - 2 * middle + right
            if bend >= 0:
                break
            top = at * np.exp(step * np.clip((left - right) / (2 * bend), -3.0, 3.0))
            at, height = self._highest(way, epsilon, at, height, np.append(trio, top))
        at, height = self._highest(way, epsilon, at, height, at + _TEETH)
        if at in self.best[way]:
            return False
        self.best[way].append(at)
        return height > before + _GAIN

    def _highest(
        self, way: Direction, epsilon: float, at: int, height: float, wanted: Floats
    ) -> tuple[int, float]:
        """Return the best of ``at`` and the sizes ``wanted``, and the value there."""
        sizes = self._inside(wanted)
        values = self._values(epsilon, way, sizes)
        top = int(np.argmax(values))
        if float(values[top]) <= height:
            return at, height
        return sizes[top], float(values[top])

    def _inside(self, wanted: Floats, *, unique: bool = True) -> list[int]:
        sizes = np.clip(np.rint(wanted), self.sizes.first, self.sizes.last).astype(np.int64)
        return [int(size) for size in (np.unique(sizes) if unique else sizes)]
