r"""Semantic support protection (Fre-E2T, Definitions 2 to 4): what can be proved of it.

A text x* is (r, t)-infrequent if fewer than t records lie within r of it. (r, t, r*, delta*)-SSP:
for every data set and every infrequent x*, some released centroid lies within r* of x* with
probability at most delta*. With psi = r*/r, for every D and every whole a >= 0,

.. math::
   \delta^* \le p^2 \binom N2 f(L \sqrt k/D)^k + \Pr[Bin(t-1,p) > a]
       + p N \sup_{\tau \le n \le N} \frac1n F_{d,\lambda_n}\big((\psi r n/\sigma)^2\big),

F the noncentral chi-square CDF, :math:`\sigma \sqrt{\lambda_n}` the greatest of 0,
:math:`(n-a)\sqrt{r^2 - D^2/2} - a r` and :math:`\sqrt{n(n-a) r^2 - n(n-1) D^2/2}`. Proof, and a
lower bound, in ``docs/proofs/semantic-support.md``. At the paper's defaults the first term is above
1 for every D < sqrt(2) r, and :class:`SupportReport` says that nothing is proved.

Not differential privacy: there are no neighbours and no epsilon.
"""

import heapq
import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx

from accountants import noncentral_chi2, ranges
from accountants.binomial import log_pmf
from accountants.errors import ParameterError
from accountants.fre_e2t import FreE2TParameters
from accountants.gaussian import exp_up
from accountants.grid_collision import GridCollision
from accountants.noncentral_chi2 import centroid_hit_probability, scaled_square
from accountants.ranges import Floats

_SLACK = 2.0**-50  # relative, for a handful of roundings
_TOLERANCE = 1e-3  # of a logarithm: how far above the supremum over n the noise term may lie
_MOST_STEPS = 4000  # then the term is what is proved so far
_CELLS = 400  # counts that the lower bound evaluates one by one


def log_far_pairs(
    distance: float, *, grid: GridCollision, records: int, sampling_rate: float = 1.0
) -> float:
    r"""Return the first term's logarithm, :math:`\ln p^2 \binom N2 f(L\sqrt k/D)^k`, rounded up.

    With p = 1 it counts all pairs, sampled or not. ``distance`` > 0, ``records`` >= 1.
    """
    ranges.positive("distance", distance, finite=False)
    ranges.positive_integer("records", records)
    sampled = 2 * float(np.log(ranges.sampling_rate(sampling_rate)))
    if records == 1:
        return -np.inf
    pairs = math.log(records) + math.log(records - 1) - math.log(2)
    value = pairs + sampled + float(grid.log_probability(distance))
    return value if np.isinf(value) else value + _SLACK * (pairs - sampled + abs(value) + 1)


def nonvacuous_region(
    *, records: int, projection_dim: int, allowed: float, sampling_rate: float = 1.0
) -> float:
    """Return c such that L <= c D/sqrt(k) keeps the first term at ``allowed``, rounded down.

    Together with psi < :func:`psi_limit` of the same D it is what Theorem S needs in order to say
    something. ``records`` >= 2, ``allowed`` in (0, 1); p = 1 counts all pairs.

    Raises
    ------
    ParameterError
        If an argument lies outside its range, or ``allowed`` is not below the number of pairs.
    """
    ranges.whole("records", records, low=2)
    goal = float(np.log(ranges.open_unit("allowed", allowed))) * (1 + _SLACK)
    grid = GridCollision(edge=1.0, projection_dim=projection_dim)
    first = partial(log_far_pairs, grid=grid, records=records, sampling_rate=sampling_rate)
    pairs = first(1e-100)
    if not goal - pairs < 0:
        raise ParameterError(f"allowed = {allowed!r}: below the number of sampled pairs is needed")
    distance = grid.distance(goal - pairs)
    while first(distance) > goal:
        distance *= 1 + 1e-12
    return float(projection_dim**0.5 / distance) * (1 - _SLACK)


def psi_limit(*, distance: float, radius: float) -> float:
    """Return sqrt(1 - D^2/(2 r^2)), below which psi must lie; both > 0; 0 where there is none."""
    ratio = ranges.positive("distance", distance) / ranges.positive("radius", radius)
    return float(np.sqrt(max(1 - min(ratio, 2.0) ** 2 / 2, 0.0)))


@dataclass(frozen=True, kw_only=True)
class SupportReport:
    """A bound of delta* with its terms, each an upper bound (natural logarithms).

    Attributes
    ----------
    distance, near_limit
        D and a; D is ``inf`` where no geometry is used (noise alone).
    log_collision : float
        Two sampled records farther apart than D share a cell.
    log_near : float
        More than a records within r of x* are sampled.
    log_noise : float
        The noise carries some centroid to within r*, otherwise.
    log_all_pairs : float
        The first term without the sampling rate; not part of the total.
    """

    distance: float
    near_limit: int
    log_collision: float
    log_near: float
    log_noise: float
    log_all_pairs: float

    @property
    def log_total(self) -> float:
        """Logarithm of the three terms' sum, rounded up; may be positive."""
        total = np.logaddexp(np.logaddexp(self.log_collision, self.log_near), self.log_noise)
        return float(total + _SLACK * (1 + abs(total))) if np.isfinite(total) else float(total)

    @property
    def vacuous(self) -> bool:
        """Whether nothing is proved: the terms sum to 1 or more."""
        return self.log_total >= 0

    @property
    def delta(self) -> float | None:
        """The bound of delta*; ``None`` where it is vacuous."""
        return None if self.vacuous else float(exp_up(self.log_total))

    def __str__(self) -> str:
        """One line with every term."""
        logs = (self.log_collision, self.log_near, self.log_noise, self.log_total)
        parts = "collision {:.3g}, near members {:.3g}, noise {:.3g}, sum {:.3g}".format(
            *np.exp(np.minimum(logs, 700.0))
        )
        verdict = "vacuous, nothing is proved" if self.vacuous else f"delta* <= {self.delta:.6g}"
        return f"{verdict} ({parts}; D = {self.distance:.6g}, a = {self.near_limit})"


@dataclass(frozen=True, kw_only=True)
class SemanticSupport:
    """Semantic support protection of one Fre-E2T release.

    Parameters
    ----------
    parameters : FreE2TParameters
        The release; ``radius`` is r, ``noise_std`` must be positive and finite, ``embedding_dim``
        at most 1e5, and noise that grows with the count is not covered.
    frequency : int
        t, 1 to 1e6: x* has fewer than t records within r.
    psi : float
        r*/r > 0.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.

    Notes
    -----
    Source: Fre-E2T, Definitions 2 to 4. Records and x* do not depend on projection and offset.
    """

    parameters: FreE2TParameters
    frequency: int
    psi: float = 1.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.whole("frequency", self.frequency, low=1, high=ranges.THRESHOLD_LIMIT)
        ranges.positive("psi", self.psi)
        ranges.positive("noise_std", self.parameters.noise_std)
        limit = noncentral_chi2.DEGREES_LIMIT
        ranges.whole("embedding_dim", self.parameters.embedding_dim, low=1, high=limit)
        if self.parameters.noise_growth is not None:  # more noise can raise the chance of a hit
            raise ParameterError(f"noise_growth = {self.parameters.noise_growth!r}: None is needed")

    def upper_bound(
        self, *, distance: float | None = None, near_limit: int | None = None
    ) -> SupportReport:
        """Return Theorem S at D > 0 and a >= 0, each optimised unless given.

        Raises
        ------
        ParameterError
            If an argument lies outside its range.
        """
        if distance is not None:
            ranges.positive("distance", distance, finite=False)
        if near_limit is not None:
            ranges.whole("near_limit", near_limit)
        near = _log_near(self.frequency - 1, self.parameters.sampling_rate)
        if distance is not None and near_limit is not None:
            return self._certified(distance, near_limit, near)
        found = self._certified(*self._choose(near, distance, near_limit), near)
        if distance is None and near_limit is None and not (alone := self.noise_only()).vacuous:
            return min(found, alone, key=lambda report: report.log_total)
        return found

    def noise_only(self) -> SupportReport:
        """Return what the noise proves by itself, wherever the records lie and however bucketed.

        Nearly always vacuous: the centroid of a large bucket has little noise.
        """
        return self._certified(np.inf, self.frequency - 1, np.array([-np.inf]))

    def log_noise_only(self, count: ArrayLike) -> Floats:
        """Bound ln Pr[hit] of one released bucket with ``count`` contributors, whatever they are.

        The worst centroid is x* itself (central chi-square). Sum over a release's counts.
        """
        return self._copies(count, 1 + _SLACK)[1]

    def log_lower_bound(self) -> float:
        """Return ln of a lower bound of delta*: t - 1 copies of x* (on the lattice) in one cell."""
        release = self.parameters
        copies, p = min(self.frequency - 1, release.records_max), release.sampling_rate
        if copies < release.threshold:
            return -np.inf
        if p == 1:
            return float(self._copies(copies, 1 - _SLACK)[0])
        counts = np.arange(release.threshold, copies + 1)
        value, error = log_pmf(counts, copies, p)
        # counts beyond the first of a cell hit more often than that one
        starts = np.unique(np.linspace(0, len(counts) - 1, min(len(counts), _CELLS)).astype(int))
        shares = np.logaddexp.reduceat(value - error, starts)
        shares -= _SLACK * (1 + len(counts) / len(starts)) * (2 + np.abs(shares))
        total = float(np.logaddexp.reduce(shares + self._copies(counts[starts], 1 - _SLACK)[0]))
        return min(total - _SLACK * len(starts) * (2 + abs(total)), 0.0)

    def _copies(self, count: ArrayLike, rounding: float) -> tuple[Floats, Floats]:
        """Return ln of the bounds of a hit by ``count`` members that all lie at x*."""
        return centroid_hit_probability(
            offset_norm=0.0,
            count=count,
            noise_std=self.parameters.noise_std,
            radius=self.psi * self.parameters.radius * rounding,
            dimension=self.parameters.embedding_dim,
        )

    def _choose(
        self, near: Floats, distance: float | None, near_limit: int | None
    ) -> tuple[float, int]:
        """Return a good D and a, by estimates of the noise term on a grid."""
        limits = _candidates(near) if near_limit is None else np.array([near_limit])
        widest = float(np.sqrt(2.0)) * self.parameters.radius
        low, high, best = 0.0, 1.0, (np.inf, distance or widest / 2, int(limits[-1]))
        for _ in range(1 if distance is not None else 3):
            shares = np.linspace(low, high, 26)[1:-1]
            tails = near[np.minimum(limits, len(near) - 1)]
            for one in widest * shares if distance is None else [distance]:
                noise = [_Noise(self, float(one), int(a)).estimate() for a in limits]
                terms = np.logaddexp(self._far_pairs(float(one)), np.logaddexp(tails, noise))
                j = int(np.argmin(terms))
                if terms[j] < best[0]:
                    best = (float(terms[j]), float(one), int(limits[j]))
            at, width = int(np.searchsorted(limits, best[2])), (high - low) / 12
            ends = limits[max(at - 1, 0)], limits[min(at + 1, len(limits) - 1)]
            limits = np.unique(np.linspace(*ends, 20).astype(np.int64))
            low, high = max(best[1] / widest - width, 0.0), min(best[1] / widest + width, 1.0)
        return best[1], best[2]

    def _far_pairs(self, distance: float, *, all_pairs: bool = False) -> float:
        return log_far_pairs(
            distance,
            grid=self.parameters.grid,
            records=self.parameters.records_max,
            sampling_rate=1.0 if all_pairs else self.parameters.sampling_rate,
        )

    def _certified(self, distance: float, near_limit: int, near: Floats) -> SupportReport:
        p, records = self.parameters.sampling_rate, self.parameters.records_max
        sampled = float(np.log(p)), float(np.log(records))
        noise = _Noise(self, distance, near_limit).supremum()
        slack = _SLACK * (1 + abs(noise) + sampled[1] - sampled[0]) if np.isfinite(noise) else 0.0
        return SupportReport(
            distance=distance,
            near_limit=near_limit,
            log_collision=self._far_pairs(distance),
            log_near=float(near[min(near_limit, len(near) - 1)]),
            log_noise=noise + sampled[0] + sampled[1] + slack,
            log_all_pairs=self._far_pairs(distance, all_pairs=True),
        )


class _Noise:
    """Upper bounds of ln F/n, F the chance that n members' centroid hits, all in the geometry."""

    def __init__(self, support: SemanticSupport, distance: float, near_limit: int) -> None:
        """Round so that every bound errs upwards; rounding to a lattice may move a record."""
        release = support.parameters
        self.release, self.limit = release, float(near_limit)
        self.share = float(np.log(release.sampling_rate * release.records_max))
        self.target = support.psi * release.radius * (1 + _SLACK)
        self.far = max(release.radius - release.rounding, 0.0) * (1 - _SLACK)
        self.near = (release.radius + release.rounding) * (1 + _SLACK)
        self.spread = min(distance + release.rounding, 4 * release.radius) * (1 + _SLACK)
        square = self.far**2 * (1 - _SLACK) - self.spread**2 / 2 * (1 + _SLACK)
        self.rho = float(np.sqrt(max(square, 0.0))) * (1 - _SLACK)

    def linear(self, n: Floats) -> Floats:
        """Return (n - a) rho - a r, rounded down."""
        part, lost = (n - self.limit) * self.rho, self.limit * self.near
        return np.asarray(part - lost - _SLACK * (np.abs(part) + lost))

    def norms(self, n: Floats) -> Floats:
        """Return a lower bound of the norm of the sum of n offsets from x*."""
        far = n * np.maximum(n - self.limit, 0.0) * self.far**2
        spread = n * (n - 1) * self.spread**2 / 2
        apart = np.sqrt(np.maximum(far - spread - _SLACK * (far + spread), 0.0)) * (1 - _SLACK)
        return np.maximum(apart, np.maximum(self.linear(n), 0.0))

    def arguments(self, low: Floats, high: Floats) -> dict[str, Floats]:
        """Return the worst x and noncentrality for counts from ``low`` to ``high``."""
        std = self.release.noise_std
        # rising in n, or (a wide spread) a concave function's root: least at an end
        norm = np.minimum(self.norms(low), self.norms(high))
        x, nc = scaled_square(self.target, high, std)[1], scaled_square(norm, 1, std)[0]
        return {"x": x, "noncentrality": nc, "degrees": np.array(self.release.embedding_dim)}

    def rough(self, low: Floats, high: Floats) -> Floats:
        """Bound ln F/n for all n from ``low`` to ``high``, by closed forms."""
        bound = noncentral_chi2.chernoff_log_cdf(**self.arguments(low, high))
        if self.rho > self.target * (1 + _SLACK):  # then this gap grows with n
            gap = self.linear(low) - self.target * low * (1 + _SLACK)
            square = (np.clip(gap / self.release.noise_std, 0.0, 1e150) * (1 - _SLACK)) ** 2
            bound = np.minimum(bound, -square / 2 * (1 - _SLACK))
        return np.asarray(bound - np.log(low) + _SLACK * (1 + np.abs(bound) + np.log(low)))

    def close(self, low: float, high: float) -> float:
        """Bound ln F/n for all n from ``low`` to ``high``, closely where they are equal."""
        value = noncentral_chi2.log_cdf_up(**self.arguments(np.array(low), np.array(high)))
        return float(value - np.log(low) + _SLACK * (1 + np.abs(value) + np.log(low)))

    def counts(self) -> Floats:
        """Return some counts from the threshold to N, and those where the norms leave 0: a peak."""
        first, last = self.release.threshold, self.release.records_max
        if first > last:
            return np.empty(0)
        inverse = self.far / max(self.rho, 1e-9 * self.near)  # r/rho
        bend = np.floor(self.limit * min(1 + inverse, inverse**2))
        grid = np.round(np.geomspace(first, last, 160)), bend + np.arange(-8.0, 25.0)
        return np.unique(np.clip(np.concatenate(grid), first, last))

    def estimate(self) -> float:
        """Return about the noise term's logarithm: the saddle-point approximation at some counts.

        Chernoff's bound times e^(z^2/2) Phi(-z), z the tilt in standard deviations of x.
        """
        given = self.arguments(n := self.counts(), n)
        x, nc, d = (np.minimum(given[key], 1e100) for key in ("x", "noncentrality", "degrees"))
        tilt = np.clip(2 * x / (d + np.sqrt(d * d + 4 * nc * x)), 1e-50, 1.0)
        z = (1 - tilt) / 2 * np.sqrt(2 * d + 4 * nc * tilt)
        close = noncentral_chi2.chernoff_log_cdf(**given) + np.log(erfcx(z / np.sqrt(2)) / 2)
        return float(np.max(close - np.log(n), initial=-np.inf)) + self.share

    def supremum(self) -> float:
        """Return the supremum's logarithm: above by 1e-3 (0.1 where the term is above 1)."""
        if not len(n := self.counts()):
            return -np.inf
        peak = float(n[int(np.argmax(self.rough(n, n)))])
        best = self.close(peak, peak)
        ends = np.append(n[1:] - 1, float(self.release.records_max))
        heap = [(-b, s, e, False) for b, s, e in np.column_stack([self.rough(n, ends), n, ends])]
        heapq.heapify(heap)
        for _ in range(_MOST_STEPS):
            bound, start, end, is_close = heap[0]
            if -bound <= best + (_TOLERANCE if best + self.share < 0 else 0.1):
                break
            heapq.heappop(heap)
            if not is_close:  # single counts end here, at most the best one
                value = min(self.close(start, end), -bound)
                best = max(best, value) if start == end else best
                heapq.heappush(heap, (-value, start, end, True))
                continue
            middle = float(np.floor((start + end) / 2))
            for left, right in ((start, middle), (middle + 1, end)):
                value = min(float(self.rough(np.array(left), np.array(right))), -bound)
                heapq.heappush(heap, (-value, left, right, False))
        return float(max(best, -heap[0][0]))


def _log_near(others: int, p: float) -> Floats:
    """Return upper bounds of ln Pr[Bin(others, p) > a] at a = 0..others."""
    if p == 1 or others == 0:
        return np.append(np.zeros(others), -np.inf)
    value, error = log_pmf(np.arange(1, others + 1), others, p)
    sums = np.logaddexp.accumulate((value + error)[::-1])[::-1]
    # from the top down: an error made at j counts for as many steps as the sum remembers
    return np.append(np.minimum(sums + _SLACK * others * (2 + np.abs(sums)), 0.0), -np.inf)


def _candidates(near: Floats) -> NDArray[np.int64]:
    """Return values of a at which the tail has fallen by steps, from certainty to none."""
    levels = np.concatenate([np.arange(12) / 4, np.linspace(3, 60, 20), [90.0, 700.0, np.inf]])
    return np.unique(np.searchsorted(-near, levels).clip(max=len(near) - 1))
