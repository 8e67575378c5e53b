r"""A user with several records in one bucket: count and noisy sum together (Theorem J for groups).

A user has l records in one bucket, which holds N others; every other record lies within
:math:`\Delta` of each of the user's. Each record is sampled with probability p by its own coin; if
the sampled count n is at least :math:`\tau`, the count and the sum plus
:math:`N(0, \sigma^2 I)` are released, otherwise nothing. With :math:`\mu = \Delta/\sigma`,
:math:`q_0 = (1-p)^l`, :math:`w_k = Bin(l,p)(k)/(1-q_0)`, :math:`P_N` the Bin(N, p) mass and
:math:`a' = 1 + (e^\epsilon - 1)/(1-q_0)`,

.. math::
   \delta_{add}(\epsilon) \le (1-q_0) \sum_{n \ge \tau} \sup_S \Big[
       \sum_{k=1}^l w_k P_N(n-k) N(k\mu, 1)(S) - a' P_N(n) N(0,1)(S) \Big],

and for :math:`\epsilon < l \ln 1/(1-p)`, with :math:`c = 1 - q_0 e^\epsilon` and
:math:`b = (1-q_0) e^\epsilon / c`,

.. math::
   \delta_{remove}(\epsilon) \le c \Big\{ \sum_{n \ge \tau} \sup_S \Big[
       P_N(n) N(0,1)(S) - b \sum_k w_k P_N(n-k) N(k\mu, 1)(S) \Big] + [F - b G]_+ \Big\},

where :math:`F = \Pr(Bin(N,p) < \tau)` and :math:`G = \sum_k w_k \Pr(Bin(N,p) < \tau - k)`; it is
zero from there on. Attained when the others coincide, and the user's records coincide at distance
:math:`\Delta` from them. l = 1 is :class:`accountants.joint_release.JointRelease`. Proof:
``docs/proofs/group-release.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.errors import ParameterError
from accountants.gaussian import exp_up
from accountants.group_terms import GroupTerms
from accountants.inversion import smallest_epsilon
from accountants.joint_release import OTHERS_LIMIT
from accountants.joint_terms import DIRECTIONS, Direction
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from accountants.size_search import Sizes, smallest_epsilon_over_sizes
from accountants.supremum import log_suprema

RECORDS_LIMIT = 1000
_UNIT = 2.0**-53
_DEEP = -800.0  # e^-800 < 1e-345: below every double
_MANY = 1e8  # sampled records, times l, from which a larger bucket is bounded by this one


@dataclass(frozen=True, kw_only=True)
class GroupRelease(PrivacyProfile):
    r"""Theorem J for a user with ``records`` records in one bucket.

    Parameters
    ----------
    sampling_rate : float
        p in (0, 1]; at 1 a released count gives the user away, and delta is 1.
    threshold : int
        :math:`\tau \ge 1`; released when the sampled count is at least this.
    shift : float
        :math:`\mu`, the distance of another record from any of the user's over the noise standard
        deviation, >= 0; ``inf`` for no noise, 0 for the count alone.
    records : int
        l, the user's records in the bucket, 1 to 1000.
    others : int, optional
        N, the number of other records in the bucket; without it the supremum over
        0..``others_max`` is taken.
    others_max : int, optional
        Public upper bound of N; without it the supremum is over all N.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.

    Notes
    -----
    Adjacency: add-remove of l records of one user, all in one bucket. For another arrangement of
    them over buckets use :class:`accountants.group_privacy.GroupProfile`. View: public. Assumes
    that each record's coin is honest and its own. Suprema lie within a relative 2e-7 above the
    exact value; below e^-750 they need not be close. Rates below 1e-4 with deltas far below 1e-50
    may take a minute.
    """

    sampling_rate: float
    threshold: int
    shift: float
    records: int
    others: int | None = None
    others_max: int | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.sampling_rate(self.sampling_rate)
        ranges.release_threshold(self.threshold)
        ranges.non_negative("shift", self.shift, finite=False)
        ranges.whole("records", self.records, low=1, high=RECORDS_LIMIT)
        for name in ("others", "others_max"):
            value = getattr(self, name)
            if value is not None:
                ranges.whole(name, value, high=OTHERS_LIMIT)

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta, the worse of both directions; same shape as ``epsilon``."""
        return self._each(epsilon, DIRECTIONS)

    def log_delta_add(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta when the user is present in the first argument; same shape."""
        return self._each(epsilon, ("add",))

    def log_delta_remove(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta when the user is absent from the first argument; same shape."""
        return self._each(epsilon, ("remove",))

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Smallest epsilon at each ``delta`` in [0, 1], rounded up; ``inf`` if none; same shape."""
        if self.others is not None or self._sure is not None:
            return smallest_epsilon(self.log_delta, delta)
        return smallest_epsilon_over_sizes(
            self._at_sizes, self._certified, delta, sizes=self._sizes, unit=self._unit
        )

    @property
    def _sure(self) -> float | None:
        """Return ln delta where it is the same at every epsilon: p = 1, or too few records."""
        most = self.others_max if self.others is None else self.others
        if most is not None and most < self.threshold - self.records:
            return -np.inf
        return 0.0 if self.sampling_rate == 1 else None

    @property
    def _typical(self) -> int:
        """A bucket size of which about the threshold is sampled."""
        typical = min(self.threshold / self.sampling_rate, float(OTHERS_LIMIT))
        most = OTHERS_LIMIT if self.others_max is None else self.others_max
        return min(max(int(typical), self.threshold - 1), most)

    @property
    def _sizes(self) -> Sizes:
        """The bucket sizes over which the supremum is taken."""
        return Sizes(
            first=max(self.threshold - self.records, 0),
            last=OTHERS_LIMIT if self.others_max is None else self.others_max,
            start=self._typical,
            width=min(1.0 / self.threshold**0.5, 0.25),
        )

    @property
    def _unit(self) -> float:
        """Scale of epsilon below which nothing happens: ln 1/(1-p), at most 1."""
        return float(min(1.0, -np.log1p(-self.sampling_rate)))

    def _terms(self, epsilon: float, direction: Direction) -> GroupTerms:
        return GroupTerms(
            sampling_rate=self.sampling_rate,
            threshold=self.threshold,
            records=self.records,
            shift=self.shift,
            epsilon=epsilon,
            direction=direction,
        )

    def _each(self, epsilon: ArrayLike, directions: Sequence[Direction]) -> Floats:
        values = ranges.epsilons(epsilon)
        if self._sure is not None:
            return np.full(values.shape, self._sure)
        one = self._fixed if self.others is not None else self._supremum
        logs = [one(float(e), directions) for e in values.ravel()]
        return np.array(logs, dtype=float).reshape(values.shape)

    def _fixed(self, epsilon: float, directions: Sequence[Direction]) -> float:
        """Return ln J at N = others; beyond many sampled records at that number or more."""
        assert self.others is not None
        many = max(_MANY / self.records, 4.0 * (self.threshold + self.records))
        size = min(self.others, int(min(many / self.sampling_rate, float(OTHERS_LIMIT))))
        wide = OTHERS_LIMIT * (size < self.others)
        values = [
            self._terms(epsilon, direction).evaluate(
                np.zeros(1, np.int64), np.array([size]), np.array([wide]), np.array([_DEEP])
            )[int(wide > 0)]
            for direction in directions
        ]
        return max(float(value[0]) for value in values)

    def _supremum(self, epsilon: float, directions: Sequence[Direction]) -> float:
        """Return the supremum of ln J over N, the greater of ``directions``."""
        return self._certified(epsilon, -np.inf, directions)[0]

    def _certified(
        self, epsilon: float, at_least: float, directions: Sequence[Direction] = DIRECTIONS
    ) -> tuple[float, dict[Direction, int]]:
        """Return the supremum, or about ``at_least`` if it is lower, and where it is attained."""
        value = at_least
        places: dict[Direction, int] = {}
        for direction in directions:
            terms = self._terms(epsilon, direction)
            if direction == "remove" and epsilon >= -terms.log_none:
                continue  # exactly 0
            found = log_suprema(
                terms.evaluate,
                problems=1,
                first=max(self.threshold - self.records, 0),
                last=self.others_max,
                guess=np.array([self._typical]),
                at_least=np.array([value]),
            )
            value = max(value, float(found.values[0]))
            places[direction] = int(found.at[0])
        return value, places

    def _at_sizes(
        self, epsilon: float, direction: Direction, sizes: Sequence[int], floor: float
    ) -> Floats:
        """Return ln J at each of the bucket sizes given, exact up to e^``floor``."""
        rows = np.array(sizes, dtype=np.int64)
        nothing = np.zeros_like(rows)
        floors = np.full(len(rows), max(floor, _DEEP))
        own, _ = self._terms(epsilon, direction).evaluate(nothing, rows, nothing, floors)
        return own


@dataclass(frozen=True, kw_only=True)
class SampleThresholdGroupPaper(PrivacyProfile):
    r"""The count alone, in closed form (Fre-E2T, Appendix D).

    For :math:`v \ge 1`: :math:`\epsilon = l v \ln 1/(1-p)`, :math:`q = 1 - (1-p)^{v+1}`,
    :math:`m_0 = \tau/q + l - 1`, :math:`\delta = \exp(-m_0 D(\tau/m_0 \| p))`, and 1 where
    :math:`\tau \le p\, m_0`. Proof: ``docs/proofs/group-release.md``.

    Parameters
    ----------
    sampling_rate : float
        p, strictly between 0 and 1.
    threshold : int
        :math:`\tau \ge 1`.
    records : int
        l >= 1, the user's records in one bucket.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """

    sampling_rate: float
    threshold: int
    records: int

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.open_unit("sampling_rate", self.sampling_rate)
        ranges.positive_integer("threshold", self.threshold)
        ranges.positive_integer("records", self.records)

    @property
    def unit_epsilon(self) -> float:
        """Return l ln 1/(1-p), the epsilon of budget factor 1; below it this says nothing."""
        return float(-self.records * np.log1p(-self.sampling_rate))

    def budget(self, budget_factor: float) -> tuple[float, float]:
        """Return (epsilon, delta) at budget factor v >= 1, both rounded up.

        Raises
        ------
        ParameterError
            If ``budget_factor`` is not a finite number >= 1.
        """
        if not 1 <= budget_factor < np.inf:
            raise ParameterError(
                f"budget_factor = {budget_factor!r}: a finite number >= 1 is needed"
            )
        epsilon = budget_factor * self.unit_epsilon * (1 + 8 * _UNIT)
        return epsilon, float(exp_up(self._log_delta(np.asarray(budget_factor, float))))

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; 0 below l ln 1/(1-p); same shape."""
        factor = ranges.epsilons(epsilon) / self.unit_epsilon * (1 - 8 * _UNIT)
        return np.where(factor < 1, 0.0, self._log_delta(np.maximum(factor, 1.0)))

    def _log_delta(self, factor: Floats) -> Floats:
        p, tau = self.sampling_rate, float(self.threshold)
        kept = np.exp((factor + 1) * np.log1p(-p))  # 1 - q
        spare = tau * kept / (1 - kept) + self.records - 1  # m0 - tau
        size = tau + spare
        with np.errstate(divide="ignore", invalid="ignore"):
            released = tau * (np.log(tau / size) - np.log(p))
            rest = np.where(spare > 0, spare * (np.log(spare / size) - np.log1p(-p)), 0.0)
        error = 16 * _UNIT * (size + tau * abs(np.log(p)) + np.abs(released) + 2 * np.abs(rest))
        value = np.where(tau > p * size, -(released + rest) + error, 0.0)
        return np.asarray(np.minimum(value, 0.0))
