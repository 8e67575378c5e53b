r"""The u-free bound at one epsilon: choosing the split distance and certifying the far part.

The far part is :math:`N \sup_{D > D_0} f(L \sqrt k / D)^k S(D)` with
:math:`S(D) = \sup_m J(\epsilon; m, D/\sigma) / m`. Between two distances at which S is known it is
bounded by a chord, because **J is convex in** :math:`t = \mathrm{erf}(\mu / \sqrt 8)`, the total
variation of the two Gaussians: for every b,
:math:`\partial H_{e^b} / \partial \mu = \varphi(b/\mu - \mu/2)`, so

.. math::
   \frac{\partial^2 H / \partial \mu^2}{\partial H / \partial \mu}
     = \frac{b^2}{\mu^3} - \frac{\mu}{4} \ge -\frac{\mu}{4} = \frac{t''(\mu)}{t'(\mu)},

which says that H is convex as a function of t; sums with positive weights and suprema keep that.
On a fine grid inside each cell, f is then taken at the left end and the chord at the right end.
"""

from dataclasses import dataclass, field, replace
from math import exp, inf, log

import numpy as np
from scipy.special import erf, erfc

from accountants.distance_suprema import DEEP, UNKNOWN, DistanceSuprema, Sizes
from accountants.fre_e2t import FreE2TParameters
from accountants.gaussian import exp_up
from accountants.joint_terms import Direction
from accountants.ranges import Floats
from accountants.tag_padding import TagPadding

_STEP = 0.01  # in ln D, for slopes
_FAR_TOLERANCE = 5e-4  # relative slack of the far supremum
_ROUNDS = 60
_INNER = 400  # points at which a cell's chord is compared with f
_RELEVANT = 12.0  # a logarithm: parts this much below the whole do not matter
_GAIN, _BETTER = 1e-4, 1e-3  # logarithms: when to stop looking for a better split
_IRRELEVANT = 1.5  # a logarithm: far parts this much below the highest need not be known
_UNIT = 2.0**-53
_RANGE = np.linspace(-2.4, 2.4, 17)
_AROUND_STEP = 0.1
_AROUND = _AROUND_STEP * np.arange(-3.0, 4.0)
_AROUND_PEAK = np.array([-1.2, -0.4, -0.1, 0.0, 0.1, 0.4, 1.2])
_SCAN, _FINER = np.linspace(-0.6, 1.2, 13), np.array([-0.8, -0.4, 0.0, 0.4, 0.8])
_AROUND_SPLIT, _SPLIT_AT = np.array([-0.4, -0.15, -0.05, 0.05, 0.15, 0.5, 1.2, 2.2]), 3
_NEAR_CELLS = np.array([0.0, 0.002, 0.006, 0.015, 0.04])


@dataclass(frozen=True)
class Split:
    """A bound of ln delta: its near and far parts (logarithms) and the distance D0 between.

    ``peak`` (where the far part is highest, about) and ``balance`` (where near and far balance)
    say where to look at the next epsilon, as do ``sizes``, near the best bucket sizes of both.
    """

    log_near: float
    log_far: float
    distance: float
    peak: float
    balance: float
    sizes: Sizes = UNKNOWN

    @property
    def log_delta(self) -> float:
        """ln(near + far), rounded up, at most 0."""
        value = float(np.logaddexp(self.log_near, self.log_far))
        return min(value + 4 * _UNIT * (1 + abs(value)) if np.isfinite(value) else value, 0.0)

    def parts(self) -> tuple[float, float]:
        """Near and far parts as deltas, rounded up."""
        near, far = exp_up([self.log_near, self.log_far])
        return float(near), float(far)


@dataclass(kw_only=True)
class UFreeBound:
    """Near and far suprema at one epsilon, remembered by distance.

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
    start : Split, optional
        The split at an epsilon close by; only speed depends on it.
    level : float
        About the ln delta that is expected; estimates far below it need not be close.
    """

    parameters: FreE2TParameters
    epsilon: float
    direction: Direction
    padding: TagPadding | None = None
    start: Split | None = None
    level: float = -25.0
    _searched: DistanceSuprema = field(init=False)

    def __post_init__(self) -> None:
        """Prepare the search."""
        self._searched = self._suprema(certified=False, start=self.start)

    def near(self, distances: Floats) -> Floats:
        """Logarithm of sup over m of J(epsilon; m, D / sigma) at each D, searched."""
        return self._searched.near(distances)

    def far(self, distances: Floats) -> Floats:
        """Logarithm of N f(D)^k sup over m of J(epsilon; m, D / sigma) / m at each D, searched."""
        return self._searched.far(distances)

    def estimate(self) -> Split:
        """Return the best split found; its far part is not certified between distances seen."""
        found = None if self.start is None else self._better(self.start)
        return replace(found or self._scanned(), sizes=self.searched_sizes)

    def _better(self, start: Split) -> Split | None:
        """Return the split of the kind that was best at ``start``, where it is seen to be best."""
        if start.distance > 0:
            found = self._balanced(start.balance)
            if found is None or not self._settled(found):
                return None
            return replace(found, peak=found.distance)
        whole = self._all_far(start.peak)
        # a split nearer than the peak has the same far part; one beyond it, this near part
        if self.near(np.array([whole.peak]))[0] >= whole.log_delta:
            return replace(whole, balance=whole.peak)
        return None

    def _settled(self, found: Split) -> bool:
        """Whether a split is seen to be the best one.

        Calling everything far is worse, far falls beyond it, and no split close by is better.
        """
        distances = found.distance * np.exp(_AROUND_SPLIT)
        far = self.far(distances)
        if np.max(far[:_SPLIT_AT]) <= found.log_delta or np.max(far[_SPLIT_AT:]) > found.log_far:
            return False
        beyond = np.maximum.accumulate(far[::-1])[::-1]
        beyond[:_SPLIT_AT] = np.maximum(beyond[:_SPLIT_AT], found.log_far)
        inner = slice(1, _SPLIT_AT + 2)
        total = np.logaddexp(self.near(distances[inner]), beyond[inner])
        return bool(np.min(total) > found.log_delta - _BETTER)

    def certified(self, split: Split | None = None, *, below: Split | None = None) -> Split:
        """Return the bound with all its suprema certified.

        The split is the best one found, or the one given. Parts that are lower than those of
        ``below`` are returned as about those.
        """
        found = self.estimate() if split is None else split
        sharp = self._suprema(certified=True, start=found)
        least = (-inf, -inf) if below is None else (below.log_near, below.log_far)
        near = float(sharp.near(np.array([found.distance]), at_least=least[0])[0])
        far = _certified_far(sharp, found, least[1])
        return replace(found, log_near=near, log_far=far)

    def glance(self, split: Split) -> float:
        """Return ln delta at a split found for the other direction, not certified."""
        far = self.far(np.array([max(split.distance, split.peak), split.peak]))
        return float(np.logaddexp(self.near(np.array([split.distance]))[0], np.max(far)))

    def _scanned(self) -> Split:
        """Scan distances, then look closer where near and far beyond add up to least."""
        center, found = self._first_guess(), None
        for spread in (_SCAN, 0.12 * _FINER, 0.03 * _FINER):
            distances = center * np.exp(spread)
            far = self.far(distances)
            beyond = np.maximum.accumulate(far[::-1])[::-1]
            if found is not None:
                beyond = np.maximum(beyond, self._searched.highest_far(float(distances[-1])))
            total = np.logaddexp(self.near(distances), beyond)
            best = int(np.argmin(total))
            if found is None or total[best] < found.log_delta:
                at = float(distances[best])
                near = float(self.near(distances[best : best + 1])[0])
                found = Split(near, float(beyond[best]), at, at, at)
            center = found.distance
        assert found is not None
        better = self._balanced(found.distance)
        if better is not None and self._settled(better):
            found = replace(better, peak=better.distance)
        whole = self._all_far()
        rises = self._searched.highest_far(found.distance)  # far may rise again
        if whole.peak > found.distance:
            rises = max(rises, whole.log_far)
        found = replace(found, log_far=max(found.log_far, rises))
        if whole.log_delta <= found.log_delta + _GAIN:
            return replace(whole, balance=found.balance)
        return replace(found, peak=whole.peak)

    def _all_far(self, peak: float | None = None) -> Split:
        """Split at 0: the far part is the highest value over all distances.

        It may have several peaks (small distances, where the sum hardly counts; one for each kind
        of bucket size), so the whole range is looked at, then the two best places; only around
        ``peak``, where it was at an epsilon close by, if that is still one.
        """
        near = float(self.near(np.zeros(1))[0])
        if peak is not None:
            fine = peak * np.exp(_AROUND_PEAK)
            heights = self.far(fine)
            if 2 <= np.argmax(heights) <= 4:
                found = self._peak(near, fine, heights)
                if np.argmax(heights) == 3:
                    return found
                fine = found.peak * np.exp(_AROUND_STEP * np.arange(-1.0, 2.0))
                return self._peak(near, fine, self.far(fine))
        coarse = self._first_guess() * np.exp(_RANGE)
        values = self.far(coarse)
        with np.errstate(invalid="ignore"):
            rises = np.diff(values, prepend=-inf, append=-inf)
        tops = np.flatnonzero((rises[:-1] >= 0) & (rises[1:] <= 0))
        tops = tops[np.argsort(values[tops])[-2:]] if len(tops) else np.array([np.argmax(values)])
        fine = np.concatenate([coarse[top] * np.exp(_AROUND) for top in tops])
        heights = self.far(fine)
        return self._peak(near, fine, heights)

    def _peak(self, near: float, distances: Floats, heights: Floats) -> Split:
        """Return the split at 0, far's height that of the parabola through the highest three."""
        best = int(np.argmax(heights))
        height, peak = float(heights[best]), float(distances[best])
        if 0 < best < len(heights) - 1:
            before, _, after = np.log(distances[best - 1 : best + 2] / peak)
            left, middle, right = heights[best - 1 : best + 2]
            with np.errstate(invalid="ignore", divide="ignore"):
                rise, fall = (left - middle) / before, (right - middle) / after
                bend = (rise - fall) / (before - after)
                lean = rise - bend * before
            if np.isfinite(bend) and bend < 0:
                height -= float(lean * lean / (4 * bend))
                peak *= exp(min(max(-lean / (2 * bend), before), after))
        return Split(near, height, 0.0, peak, 0.0)

    def _balanced(self, start: float) -> Split | None:
        """Balance the slopes of ln near (rising) and ln far (falling) in ln D, by Newton's steps.

        None where far does not fall at ``start``: its supremum then lies elsewhere.
        """
        x = log(start)
        best: Split | None = None
        stalled = 0
        for _ in range(8):
            pair = np.exp(np.array([x, x + _STEP]))
            near, far = self.near(pair), self.far(pair)
            with np.errstate(invalid="ignore"):
                up, down = (near[1] - near[0]) / _STEP, (far[0] - far[1]) / _STEP
            if not (np.isfinite(up) and np.isfinite(down) and up > 0 and down > 0.05):
                return best
            at = float(pair[0])
            here = Split(float(near[0]), float(far[0]), at, at, at)
            stalled += best is not None and here.log_delta > best.log_delta - _GAIN
            if best is None or here.log_delta < best.log_delta:
                best = here
            if stalled == 2:
                return best
            move = float((far[0] + log(down) - near[0] - log(up)) / (up + down))
            if abs(move) * min(up, down) < 5e-3:
                return best
            x += min(max(move, -0.2), 0.2)
        return best

    @property
    def searched_sizes(self) -> Sizes:
        """Bucket sizes near the best ones found by the search."""
        return self._searched.best_sizes()

    def exact(self) -> DistanceSuprema:
        """Return both parts certified, at any distance."""
        return self._suprema(certified=True, start=None)

    def nearest(self) -> float:
        """Logarithm of the near part at distance 0, certified: no split is below it."""
        return float(self.exact().near(np.zeros(1))[0])

    def _suprema(self, *, certified: bool, start: Split | None) -> DistanceSuprema:
        return DistanceSuprema(
            parameters=self.parameters,
            epsilon=self.epsilon,
            direction=self.direction,
            padding=self.padding,
            certified=certified,
            depth=max(self.level - _RELEVANT, DEEP),
            sizes=UNKNOWN if start is None else start.sizes,
        )

    def _first_guess(self) -> float:
        """Where near and far are of one size: f^k = (a bucket's others) / N."""
        others = self.parameters.threshold / self.parameters.sampling_rate
        share = min(others / self.parameters.records_max, 0.5)
        return self.parameters.grid.distance(log(share))


def _certified_far(sharp: DistanceSuprema, split: Split, below: float) -> float:
    """Logarithm of the supremum of far beyond the split, up, by cutting cells of D.

    Where it is lower than ``below``, about that is returned.
    """
    if split.distance > 0:
        edges = split.distance * np.exp(np.concatenate([_NEAR_CELLS, [0.1, 0.3, 0.6, 1.0]]))
    else:
        around = np.concatenate([-_NEAR_CELLS, _NEAR_CELLS, [-2, -1, -0.5, 0.5, 1.0]])
        edges = np.concatenate([[0.0], split.peak * np.exp(around)])
    edges = np.unique(edges)
    first = np.array([max(split.distance, split.peak)])
    best = max(below, float(sharp.far(first)[0]))
    end = float(sharp.share(np.array([inf]))[0])
    while sharp.log_collisions(edges[-1:])[0] + end > best and edges[-1] < 1e300:
        edges = np.append(edges, 2 * edges[-1])
    tail = float(sharp.log_collisions(edges[-1:])[0] + end)
    bounds = np.array([-inf])
    for _ in range(_ROUNDS):
        share = sharp.share(edges, at_least=best - _IRRELEVANT)
        best = max(best, float(np.max(sharp.log_collisions(edges) + share)), tail)
        bounds, where = _cell_bounds(sharp, edges, share)
        high = bounds > best + _FAR_TOLERANCE
        if not high.any():
            break
        edges = np.unique(np.concatenate([edges, where[high]]))
    return max(best, tail, float(np.max(bounds)))


def _cell_bounds(sharp: DistanceSuprema, edges: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Bound of far on each cell between ``edges``, up, and a point at which to cut it."""
    left, right = edges[:-1, None], edges[1:, None]
    points = left + (right - left) * np.linspace(0, 1, _INNER + 1)[None, :]
    points[:, -1] = edges[1:]
    step = _share_of_variation(sharp.shifts(points) / 8**0.5)
    top = np.where(np.isfinite(share[1:]), share[1:], 0.0)[:, None]
    low = np.exp(np.minimum(share[:-1, None] - top, 0.0))
    with np.errstate(divide="ignore"):
        chord = np.log(low + (1 - low) * step) + top
    chord = np.where(np.isfinite(share[1:])[:, None], chord, -np.inf)
    values = sharp.log_collisions(points[:, :-1]) + chord[:, 1:]
    best = np.argmax(values, axis=1)
    rows = np.arange(len(best))
    inner = np.clip(best, _INNER // 8, _INNER - _INNER // 8)
    return values[rows, best] + 1e-12, points[rows, inner]


def _share_of_variation(x: Floats) -> Floats:
    """Return (erf(x) - erf(first)) / (erf(last) - erf(first)) along each row, rounded up.

    From the complement where that is the smaller one, or the differences would vanish near 1;
    ``slip`` bounds the rounding of x and of the function.
    """
    start = x[:, :1]
    t = np.where(start > 1, -erfc(x), erf(x))
    steep = np.where(start > 1, np.minimum(start, 100.0) ** 2, 0.0)
    slip = 2e-15 * (1 + steep) * np.max(np.abs(t), axis=1, keepdims=True) + 1e-300
    width = t[:, -1:] - t[:, :1] - slip
    share = (t - t[:, :1] + slip) / np.where(width > 0, width, 1.0)
    return np.where(width > 0, np.minimum(share, 1.0), 1.0)
