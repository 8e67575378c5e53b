r"""The whole Fre-E2T release for a user with several records in one bucket (u-free bound).

As :class:`accountants.tight_total.TightTotal`, with Theorem J for groups and a union over the pairs
of a user's record and the record that stands in for it. For every :math:`D_0 \ge 0`

.. math::
   \delta(\epsilon) \le \sup_m J_l(\epsilon; m, D_0/\sigma)
     + N \sup_{D > D_0} f(L \sqrt k/D)^k \min\Big\{
         l \sup_m \frac{J_l(\epsilon; m, D/\sigma)}{m},\ R \Big\},
   \qquad
   R_{add} = \sup_{m \ge \tau} \frac1m \sum_{j=1}^l j\, Bin(l,p)(j) \Pr[j + Bin(m,p) \ge \tau],

and :math:`R_{remove}` is the smaller of :math:`e^\epsilon R_{add}` and
:math:`(1 - (1-p)^l e^\epsilon)\, l \sup_m \Pr[Bin(m,p) \ge \tau]/m`. With embeddings rounded to a
lattice, :math:`J_l` is taken at D plus what rounding adds. Proof: ``docs/proofs/group-release.md``.
"""

import heapq
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

from accountants import ranges
from accountants.binomial import log_pmf
from accountants.fre_e2t import FreE2TParameters
from accountants.group_release import RECORDS_LIMIT, GroupRelease
from accountants.group_terms import GroupTerms
from accountants.inversion import falling_certified
from accountants.joint_terms import DIRECTIONS
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from accountants.supremum import Counts, log_suprema
from accountants.tight_total import ASSUMPTIONS as TIGHT_ASSUMPTIONS

_UNIT = 2.0**-53
_DEEP = -1000.0
_EPSILON_MAX = 1e6
_MARGIN = 3e-2  # in ln delta: what certifying may add to an estimate
_CLOSE = 2e-2  # relative slack of the far supremum
_CELLS = 400
_COARSE, _FINE = 10, 6  # distances at which the bound is looked at


@dataclass(frozen=True, kw_only=True)
class GroupTotal(PrivacyProfile):
    """Theorem J for groups with the u-free collision term, for one release of Fre-E2T.

    Parameters
    ----------
    parameters : FreE2TParameters
        The release; ``sensitivity_ratio`` and ``budget_factor`` play no part. Noise that grows with
        the count is taken as that at the threshold.
    records : int
        l, how many records one user contributes, 1 to 1000.

    Raises
    ------
    ParameterError
        If ``records`` lies outside its range.

    Notes
    -----
    Adjacency: add-remove of l records of one user **that fall into one bucket**, as copies of one
    text do. Records at different places may fall into different buckets, whatever the grid; for
    them use :class:`accountants.group_privacy.GroupProfile` of
    :class:`accountants.tight_total.TightTotal`. View: public, central. Assumptions:
    :data:`ASSUMPTIONS`. The far supremum is within a few per cent, so at l = 1 the bound lies a
    little above ``TightTotal``.
    """

    parameters: FreE2TParameters
    records: int

    def __post_init__(self) -> None:
        """Check the range."""
        ranges.whole("records", self.records, low=1, high=RECORDS_LIMIT)

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        values = ranges.epsilons(epsilon)
        logs = [self._certified(float(e), self.distance(float(e))) for e in values.ravel()]
        return np.array(logs, dtype=float).reshape(values.shape)

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Epsilon at which the bound meets each ``delta`` in [0, 1], rounded up; same shape."""
        targets = ranges.deltas(delta)
        return np.array([self._epsilon(float(d)) for d in targets.ravel()]).reshape(targets.shape)

    def distance(self, epsilon: float) -> float:
        """Return the distance D0 at which the bound at ``epsilon`` is (about) lowest."""
        return self._estimate(epsilon)[1]

    def _epsilon(self, delta: float) -> float:
        if delta == 1:
            return 0.0
        sure = self.parameters.sampling_rate == 1
        if delta == 0 or sure:
            return 0.0 if float(self.delta(0.0)) <= delta else inf
        goal = float(np.log(delta))
        if float(self._near(0.0).log_delta(inf)) > goal:
            return inf
        return falling_certified(
            lambda epsilon: self._estimate(epsilon)[0] - goal + _MARGIN,
            lambda epsilon: self._certified(epsilon, self.distance(epsilon)) - goal,
            low=0.0,
            high=1.0,
            limit=_EPSILON_MAX,
            tolerance=lambda epsilon: 1e-3 * max(0.1, epsilon),
        )

    def _estimate(self, epsilon: float) -> tuple[float, float]:
        """Return ln delta, not certified, and the D0 where it is lowest, by interpolation."""
        most = self._log_cap(epsilon)
        if self.parameters.sampling_rate == 1 or most == -inf:
            return float(self._near(0.0).log_delta(epsilon)), 0.0
        low = max(self._reaches(most, 0.0), 1e-9 * self.parameters.grid_edge)
        least = max(float(self._near(low).log_delta(epsilon)), _DEEP)
        high = max(self._reaches(most, least - 3.0), 1.5 * low)
        points = np.linspace(np.log(low), np.log(high), _COARSE)
        near: dict[float, float] = {}
        share: dict[float, float] = {}
        for spread in (0, _FINE):
            for x in points:
                at = float(np.exp(x))
                near[x] = float(self._near(at).log_delta(epsilon))
                share[x] = self._share_at(epsilon, at, most, 1e-3)
            known = np.array(sorted(near))
            fine = np.linspace(known[0], known[-1], _CELLS)
            nears, shares = (
                np.interp(fine, known, np.maximum([table[x] for x in known], 4 * _DEEP))
                for table in (near, share)
            )
            far = shares + np.array([self._log_collisions(float(np.exp(x))) for x in fine])
            total = np.logaddexp(nears, np.maximum.accumulate(far[::-1])[::-1])
            best = int(np.argmin(total))
            width = (points[1] - points[0]) / 2
            points = fine[best] + width * np.linspace(-1, 1, spread or _FINE)
            points = points[points >= known[0]]
        return float(total[best]), float(np.exp(fine[best]))

    def _certified(self, epsilon: float, distance: float) -> float:
        """Logarithm of the bound with D0 = ``distance``, up."""
        near = float(self._near(distance).log_delta(epsilon))
        most = self._log_cap(epsilon)
        if near == 0 or most == -inf or self.parameters.sampling_rate == 1:
            return near
        value = float(np.logaddexp(near, self._log_far(epsilon, distance, most, near - 5.0)))
        return min(value + 4 * _UNIT * (1 + abs(value)) if np.isfinite(value) else value, 0.0)

    def _log_far(self, epsilon: float, distance: float, most: float, at_least: float) -> float:
        """Logarithm of the far part beyond ``distance``, up, by cutting cells of D.

        On a cell the collision probability is that of its left end, the share that of its right
        end. About ``at_least`` is returned where it is lower.
        """
        best = at_least
        left = distance
        cells: list[tuple[float, float, float]] = []
        beyond = most + self._log_collisions(left)
        while beyond > best + _CLOSE:
            right = max(1.25 * left, 1e-9 * self.parameters.grid_edge)
            best, cells = self._cut(epsilon, left, right, most, best, cells)
            left = right
            if self._share_at(epsilon, right, most, _CLOSE / 2) >= most:
                break
            beyond = most + self._log_collisions(left)
        rest = most + self._log_collisions(left)
        best = max(best, rest)
        for _ in range(_CELLS):
            if not cells or -cells[0][0] <= best + _CLOSE:
                break
            _, begin, end = heapq.heappop(cells)
            middle = float(np.sqrt(begin * end)) if begin > 0 else end / 2
            best, cells = self._cut(epsilon, begin, middle, most, best, cells)
            best, cells = self._cut(epsilon, middle, end, most, best, cells)
        return max(best, -cells[0][0] if cells else -inf)

    def _cut(
        self,
        epsilon: float,
        left: float,
        right: float,
        most: float,
        best: float,
        cells: list[tuple[float, float, float]],
    ) -> tuple[float, list[tuple[float, float, float]]]:
        """Add the cell from ``left`` to ``right``; ``best`` rises to the value at its right end."""
        share = self._share_at(epsilon, right, most, _CLOSE / 4)
        heapq.heappush(cells, (-(share + self._log_collisions(left)), left, right))
        return max(best, share + self._log_collisions(right)), cells

    @cached_property
    def _shares(self) -> dict[tuple[float, float], tuple[float, float]]:
        return {}

    def _share_at(self, epsilon: float, distance: float, most: float, tolerance: float) -> float:
        """Logarithm of the smaller of l sup_m J_l(D/sigma)/m and e^``most``, up."""
        known = self._shares.get((epsilon, distance))
        if known is not None and known[1] <= tolerance:
            return known[0]
        p = self.parameters
        value = -inf
        for way in DIRECTIONS:
            terms = GroupTerms(
                sampling_rate=p.sampling_rate,
                threshold=p.threshold,
                records=self.records,
                shift=self._shift(distance),
                epsilon=epsilon,
                direction=way,
            )
            if way == "remove" and epsilon >= -terms.log_none:
                continue
            found = log_suprema(
                terms.evaluate,
                problems=1,
                first=max(1, p.threshold - self.records),
                last=p.records_max - 1,
                per_record=True,
                guess=np.array([int(min(p.threshold / p.sampling_rate, 2.0**50))]),
                at_least=np.array([value]),
                tolerance=tolerance,
            )
            value = max(value, float(found.values[0]))
        value = min(value + float(np.log(self.records)) * (1 + 4 * _UNIT), most)
        if len(self._shares) > 10000:
            self._shares.clear()
        self._shares[epsilon, distance] = value, tolerance
        return value

    def _near(self, distance: float) -> GroupRelease:
        p = self.parameters
        return GroupRelease(
            sampling_rate=p.sampling_rate,
            threshold=p.threshold,
            shift=self._shift(distance),
            records=self.records,
            others_max=p.records_max - 1,
        )

    def _shift(self, distance: float) -> float:
        """Return the distance with what rounding adds, over the noise, up."""
        if self.parameters.noise_std == 0:
            return inf
        apart = (distance + self.parameters.rounding) * (1 + 4 * _UNIT)
        return apart / self.parameters.noise_std * (1 + 4 * _UNIT)

    def _log_collisions(self, distance: float) -> float:
        """Logarithm of N f(L sqrt(k) / D)^k, up."""
        p = self.parameters
        return float(p.grid.log_probability(distance)) + float(np.log(p.records_max)) * (
            1 + 4 * _UNIT
        )

    def _reaches(self, log_far: float, level: float) -> float:
        """Return the distance at which far is about e^``level``; 0 if it never is above."""
        goal = level - log_far - float(np.log(self.parameters.records_max))
        return self.parameters.grid.distance(goal) if goal < 0 else 0.0

    def _log_cap(self, epsilon: float) -> float:
        """Logarithm of R, the greater of both directions, up."""
        added, removed = self._far
        coin = -self.records * float(np.log1p(-min(self.parameters.sampling_rate, 1 - _UNIT)))
        if epsilon >= coin:
            return added
        factor = -np.expm1(min(epsilon - coin * (1 - 8 * _UNIT), 0.0)) + 8 * _UNIT
        reverse = min(epsilon + added, removed + float(np.log(factor)))
        return max(added, reverse + 8 * _UNIT * (1 + epsilon))

    @cached_property
    def _far(self) -> tuple[float, float]:
        """Logarithms, up, of both far shares' suprema over m, the second without its factor."""
        p = self.parameters
        if p.sampling_rate == 1:
            return 0.0, 0.0
        k = np.arange(self.records + 1)
        mass, slip = log_pmf(k, self.records, p.sampling_rate)
        added = np.asarray(np.exp(mass + slip) * k * (1 + 8 * _UNIT), float)
        removed = np.zeros(self.records + 1)
        removed[0] = self.records
        return self._share(added), self._share(removed)

    def _share(self, weights: Floats) -> float:
        """Logarithm of the supremum over m of sum_k weights[k] Pr[k + Bin(m, p) >= tau] / m, up."""
        p = self.parameters

        def evaluate(
            problem: Counts, others: Counts, slack: Counts, floor: Floats
        ) -> tuple[Floats, Floats]:
            return self._reached(weights, others), self._reached(weights, others + slack)

        found = log_suprema(
            evaluate,
            problems=1,
            first=p.threshold,  # the partners are among the sampled ones
            last=p.records_max - 1,
            per_record=True,
            guess=np.array([int(min(p.threshold / p.sampling_rate, 2.0**50))]),
        )
        return float(found.values[0])

    def _reached(self, weights: Floats, others: Counts) -> Floats:
        used = np.flatnonzero(weights > 0)
        need = np.maximum(self.parameters.threshold - used, 0)
        size = others[:, None].astype(float)
        rest = np.maximum(size - need + 1.0, 1.0)
        tail = betainc(np.maximum(need, 1), rest, self.parameters.sampling_rate) * (1 + 1e-12)
        tail = np.where(need == 0, 1.0, np.where(need > size, 0.0, np.minimum(tail, 1.0)))
        with np.errstate(divide="ignore"):
            value = np.log(tail @ weights[used])
        return np.asarray(value + 4 * _UNIT * (4 + len(used) + np.where(value > -inf, -value, 0)))


ASSUMPTIONS = (
    *(text for text in TIGHT_ASSUMPTIONS if "One record is what one user" not in text),
    "All records of one user fall into one bucket, as copies of one text do.",
)
"""What has to hold for the group's total to be a guarantee."""
