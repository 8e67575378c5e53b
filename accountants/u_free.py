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

from accountants.fre_e2t import FreE2TParameters
from accountants.gaussian import exp_up
from accountants.joint_release import Direction, JointTerms
from accountants.ranges import Floats
from accountants.supremum import Counts, Suprema, log_suprema

_STEP = 0.01  # in ln D, for slopes
_FAR_TOLERANCE = 5e-4  # relative slack of the far supremum
_ROUNDS = 60
_INNER = 400  # points at which a cell's chord is compared with f
_UNIT = 2.0**-53
_RANGE = np.linspace(-2.4, 2.4, 17)
_AROUND_STEP = 0.1
_AROUND = _AROUND_STEP * np.arange(-3.0, 4.0)
_SCAN = np.linspace(-0.6, 1.2, 13)
_NEAR_CELLS = np.array([0.0, 0.002, 0.006, 0.015, 0.04])


@dataclass(frozen=True)
class Split:
    """A bound of ln delta: its near and far parts (logarithms) and the distance D0 between.

    ``peak`` (where the far part is highest, about) and ``balance`` (where near and far balance)
    say where to look at the next epsilon.
    """

    log_near: float
    log_far: float
    distance: float
    peak: float
    balance: float

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
    start : Split, optional
        The split at an epsilon close by; only speed depends on it.
    """

    parameters: FreE2TParameters
    epsilon: float
    direction: Direction
    start: Split | None = None
    _known: dict[tuple[bool, float], tuple[float, int]] = field(default_factory=dict)

    def near(self, distances: Floats) -> Floats:
        """Logarithm of sup over m of J(epsilon; m, D / sigma) at each D of ``distances``, up."""
        return self._suprema(distances, per_record=False)

    def far(self, distances: Floats) -> Floats:
        """Logarithm of N f(D)^k sup over m of J(epsilon; m, D / sigma) / m at each D, up."""
        return self._log_collisions(distances) + self._suprema(distances, per_record=True)

    def estimate(self) -> Split:
        """Return the best split found; its far part is not certified between distances seen."""
        found = None if self.start is None else self._better(self.start)
        return found or self._scanned()

    def _better(self, start: Split) -> Split | None:
        """Choose between splitting where near and far balance and calling everything far.

        The one that was worse at ``start`` is tried only where one value does not rule it out.
        None where ``start`` does not lead to a balance.
        """
        if start.distance > 0:
            found = self._balanced(start.balance)
            if (
                found
                and start.peak <= found.distance
                and self.far(np.array([start.peak]))[0] > found.log_delta
            ):
                return replace(found, peak=start.peak)
            whole = self._all_far()
        else:
            whole = self._all_far()
            if self.near(np.array([start.balance]))[0] > whole.log_delta:
                return replace(whole, balance=start.balance)
            found = self._balanced(start.balance)
        if found is None:
            return None
        if whole.peak > found.distance:  # far falls at the balance, but rises again beyond it
            found = replace(found, log_far=max(found.log_far, whole.log_far))
        best = min(found, whole, key=lambda split: split.log_delta)
        return replace(best, balance=found.distance, peak=whole.peak)

    def certified(self, split: Split | None = None) -> Split:
        """Return the bound with its far supremum certified for all distances beyond the split.

        The split is the best one found, or the one given.
        """
        found = self.estimate() if split is None else split
        far = self._certified_far(found)
        return replace(found, log_near=float(self.near(np.array([found.distance]))[0]), log_far=far)

    def glance(self, split: Split) -> float:
        """Return ln delta at a split found for the other direction, not certified."""
        far = self.far(np.array([max(split.distance, split.peak), split.peak]))
        return float(np.logaddexp(self.near(np.array([split.distance]))[0], np.max(far)))

    def _scanned(self) -> Split:
        """Scan distances for the peak of far and the best split beyond it, then refine both."""
        distances = self._first_guess() * np.exp(_SCAN)
        near, far = self.near(distances), self.far(distances)
        beyond = np.maximum.accumulate(far[::-1])[::-1]
        best = int(np.argmin(np.logaddexp(near, beyond)))
        peak, at = float(distances[int(np.argmax(far))]), float(distances[best])
        coarse = Split(float(near[best]), float(beyond[best]), at, peak, at)
        fine = self._better(coarse) or replace(self._all_far(), balance=at)
        return min(coarse, fine, key=lambda split: split.log_delta)

    def _all_far(self) -> Split:
        """Split at 0: the far part is the highest value over all distances.

        It may have several peaks (small distances, where the sum hardly counts; one for each kind
        of bucket size), so the whole range is looked at, then the two best places.
        """
        near = float(self.near(np.zeros(1))[0])
        coarse = self._first_guess() * np.exp(_RANGE)
        values = self.far(coarse)
        with np.errstate(invalid="ignore"):
            rises = np.diff(values, prepend=-inf, append=-inf)
        tops = np.flatnonzero((rises[:-1] >= 0) & (rises[1:] <= 0))
        tops = tops[np.argsort(values[tops])[-2:]] if len(tops) else np.array([np.argmax(values)])
        fine = np.concatenate([coarse[top] * np.exp(_AROUND) for top in tops])
        heights = self.far(fine)
        best = int(np.argmax(heights))
        height, peak = float(heights[best]), float(fine[best])
        if 0 < best % len(_AROUND) < len(_AROUND) - 1:
            left, middle, right = heights[best - 1 : best + 2]
            with np.errstate(invalid="ignore"):
                bend, lean = left - 2 * middle + right, (right - left) / 2
            if np.isfinite(bend) and bend < 0:
                height -= float(lean * lean / (2 * bend))
                peak *= exp(-_AROUND_STEP * lean / bend)
        return Split(near, height, 0.0, peak, 0.0)

    def _balanced(self, start: float) -> Split | None:
        """Balance the slopes of ln near (rising) and ln far (falling) in ln D, by Newton's steps.

        None where far does not fall at ``start``: its supremum then lies elsewhere.
        """
        x = log(start)
        best: Split | None = None
        for _ in range(8):
            pair = np.exp(np.array([x, x + _STEP]))
            near, far = self.near(pair), self.far(pair)
            with np.errstate(invalid="ignore"):
                up, down = (near[1] - near[0]) / _STEP, (far[0] - far[1]) / _STEP
            if not (np.isfinite(up) and np.isfinite(down) and up > 0 and down > 0.05):
                return best
            at = float(pair[0])
            here = Split(float(near[0]), float(far[0]), at, at, at)
            if best is None or here.log_delta < best.log_delta:
                best = here
            move = float((far[0] + log(down) - near[0] - log(up)) / (up + down))
            if abs(move) * min(up, down) < 5e-3:
                return best
            x += min(max(move, -0.2), 0.2)
        return best

    def _certified_far(self, split: Split) -> float:
        """Logarithm of the supremum of far beyond the split, up, by cutting cells of D."""
        if split.distance > 0:
            edges = split.distance * np.exp(np.concatenate([_NEAR_CELLS, [0.1, 0.3, 0.6, 1.0]]))
        else:
            around = np.concatenate([-_NEAR_CELLS, _NEAR_CELLS, [-2, -1, -0.5, 0.5, 1.0]])
            edges = np.concatenate([[0.0], split.peak * np.exp(around)])
        edges = np.unique(edges)
        end = float(self._suprema(np.array([inf]), per_record=True)[0])
        best = float(np.max(self.far(edges)))
        while self._log_collisions(edges[-1:])[0] + end > best and edges[-1] < 1e300:
            edges = np.append(edges, 2 * edges[-1])
        tail = float(self._log_collisions(edges[-1:])[0] + end)
        for _ in range(_ROUNDS):
            bounds, where = self._cell_bounds(edges)
            best = max(best, float(np.max(self.far(edges))), tail)
            high = bounds > best + _FAR_TOLERANCE
            if not high.any():
                break
            edges = np.unique(np.concatenate([edges, where[high]]))
        return max(best, tail, float(np.max(bounds)))

    def _cell_bounds(self, edges: Floats) -> tuple[Floats, Floats]:
        """Bound of far on each cell between ``edges``, up, and a point at which to cut it."""
        share = self._suprema(edges, per_record=True)
        left, right = edges[:-1, None], edges[1:, None]
        points = left + (right - left) * np.linspace(0, 1, _INNER + 1)[None, :]
        points[:, -1] = edges[1:]
        step = _share_of_variation(self._shifts(points) / 8**0.5)
        top = np.where(np.isfinite(share[1:]), share[1:], 0.0)[:, None]
        low = np.exp(np.minimum(share[:-1, None] - top, 0.0))
        with np.errstate(divide="ignore"):
            chord = np.log(low + (1 - low) * step) + top
        chord = np.where(np.isfinite(share[1:])[:, None], chord, -np.inf)
        values = self._log_collisions(points[:, :-1]) + chord[:, 1:]
        best = np.argmax(values, axis=1)
        rows = np.arange(len(best))
        inner = np.clip(best, _INNER // 8, _INNER - _INNER // 8)
        return values[rows, best] + 1e-12, points[rows, inner]

    def _log_collisions(self, distances: Floats) -> Floats:
        return self.parameters.grid.log_probability(distances) + (
            log(self.parameters.records_max) + 1e-15
        )

    def _shifts(self, distances: Floats) -> Floats:
        moved = distances + self.parameters.rounding
        return np.asarray(moved / self.parameters.noise_std * (1 + 4 * _UNIT))

    def _suprema(self, distances: Floats, *, per_record: bool) -> Floats:
        keys = [(per_record, float(d)) for d in distances]
        missing = np.array([key[1] for key in dict.fromkeys(keys) if key not in self._known])
        if len(missing):
            found = self._search(missing, per_record)
            for d, value, at in zip(missing, found.values, found.at, strict=True):
                self._known[(per_record, float(d))] = (float(value), int(at))
        return np.array([self._known[key][0] for key in keys])

    def _search(self, distances: Floats, per_record: bool) -> Suprema:
        p = self.parameters
        terms = JointTerms(
            sampling_rate=p.sampling_rate,
            threshold=p.threshold,
            shifts=self._shifts(distances),
            epsilon=self.epsilon,
            direction=self.direction,
        )
        last = p.records_max - 1
        first = max(1, p.threshold - 1) if per_record else min(p.threshold - 1, last)
        return log_suprema(
            terms.evaluate,
            problems=len(distances),
            first=first,
            last=last,
            per_record=per_record,
            guess=self._guesses(distances, per_record),
        )

    def _guesses(self, distances: Floats, per_record: bool) -> Counts | None:
        """Where the nearest distance already known had its supremum."""
        known = [(d, at) for (kind, d), (_, at) in self._known.items() if kind == per_record]
        if not known:
            return None
        table = np.array(known)
        nearest = np.argmin(np.abs(table[:, 0][None, :] - distances[:, None]), axis=1)
        return np.asarray(table[nearest, 1], dtype=np.int64)

    def _first_guess(self) -> float:
        """Where near and far are of one size: f^k = (a bucket's others) / N."""
        others = self.parameters.threshold / self.parameters.sampling_rate
        share = min(others / self.parameters.records_max, 0.5)
        return self.parameters.grid.distance(log(share))


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
