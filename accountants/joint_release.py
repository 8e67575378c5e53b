r"""The count and the noisy sum of a bucket, released together (Theorem J).

A bucket holds N records besides the one that differs, each within distance :math:`\Delta` of it.
Every record is sampled with probability p; if the sampled count n is at least :math:`\tau`, the
bucket's count and its sum plus :math:`N(0, \sigma^2 I)` are released, otherwise nothing. With
:math:`\mu = \Delta/\sigma`, :math:`a' = 1 + (e^\epsilon - 1)/p` and :math:`P_N` the Bin(N, p) mass,

.. math::
   \delta_{add}(\epsilon) \le p \sum_{n \ge \tau} P_N(n-1)\,
       H_{a' P_N(n)/P_N(n-1)}(N(\mu,1) \| N(0,1)),

and for :math:`\epsilon < \ln 1/(1-p)`, with :math:`c = 1 - (1-p) e^\epsilon` and
:math:`b = p e^\epsilon / c`,

.. math::
   \delta_{remove}(\epsilon) \le c \Big\{ \sum_{n \ge \tau} P_N(n)
       H_{b P_N(n-1)/P_N(n)}(N(\mu,1) \| N(0,1))
       + [\Pr(n' < \tau) - b \Pr(n' < \tau - 1)]_+ \Big\}

(zero from there on). Proved in ``docs/proofs/theorem-j.md``; attained when all other records
coincide at distance :math:`\Delta`.

**All N at once.** Write :math:`J_\tau(N)` for either bound. Adding one more record that is always
present is post-processing of the unthresholded release (add a coin to the count), so
:math:`J_{\tau}(N') \le J_{\tau - w}(N)` for :math:`N \le N' \le N + w`, and
:math:`J_\tau(N') \le J_0(N)` for every :math:`N' \ge N`. These two make the supremum over all N
a finite search with a rigorous tail: see :mod:`accountants.supremum`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.gaussian import exp_up
from accountants.inversion import smallest_epsilon
from accountants.joint_terms import DIRECTIONS, Direction, JointTerms
from accountants.noise_growth import NoiseGrowth
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from accountants.size_search import Sizes, smallest_epsilon_over_sizes
from accountants.supremum import log_suprema
from accountants.tag_padding import TagPadding

_UNIT = 2.0**-53
OTHERS_LIMIT = 2**52
_DEEP = -800.0  # e^-800 < 1e-345: below every double
_MANY = 1e8  # sampled records from which a larger bucket is bounded by this one


@dataclass(frozen=True, kw_only=True)
class JointRelease(PrivacyProfile):
    r"""Theorem J: sampled count and noisy sum, for a fixed number of others or for all numbers.

    Parameters
    ----------
    sampling_rate : float
        p in (0, 1]; at 1 a released count gives the record away, and delta is 1.
    threshold : int
        :math:`\tau \ge 1`; released when the sampled count is at least this.
    shift : float
        :math:`\mu` = distance over noise standard deviation, >= 0; ``inf`` for no noise.
    others : int, optional
        N, the number of other records in the bucket; without it the supremum over
        0..``others_max`` is taken.
    others_max : int, optional
        Public upper bound of N; without it the supremum is over all N up to 2^52 (where
        p >= 1e-14, larger ones make no difference).
    growth : NoiseGrowth, optional
        For noise that grows with the count; ``shift`` is then that at the threshold.
    padding : TagPadding, optional
        For the synthesis server's view: tags below the threshold among dummies.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.

    Notes
    -----
    Adjacency: add-remove of one record. View: public (the released pairs), or the synthesis
    server's with ``padding``. Assumes the record's coin is honest and its own. Beyond 1e8 sampled
    records a bucket is bounded by one of that size (delta falls with N there).
    """

    sampling_rate: float
    threshold: int
    shift: float
    others: int | None = None
    others_max: int | None = None
    growth: NoiseGrowth | None = None
    padding: TagPadding | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.sampling_rate(self.sampling_rate)
        ranges.release_threshold(self.threshold)
        ranges.non_negative("shift", self.shift, finite=False)
        for name in ("others", "others_max"):
            value = getattr(self, name)
            if value is not None:
                ranges.whole(name, value, high=OTHERS_LIMIT)

    def log_delta_add(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta when the record is present in the first argument; same shape."""
        return self._each(epsilon, ("add",))

    def log_delta_remove(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta when the record is absent from the first argument; same shape."""
        return self._each(epsilon, ("remove",))

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta, the worse of both directions; same shape as ``epsilon``."""
        return self._each(epsilon, DIRECTIONS)

    def delta_add(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of delta when the record is present in the first argument; same shape."""
        return exp_up(self.log_delta_add(epsilon))

    def delta_remove(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of delta when the record is absent from the first argument; same shape."""
        return exp_up(self.log_delta_remove(epsilon))

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
        if self.sampling_rate < 1:
            return None
        most = self.others_max if self.others is None else self.others
        reached = most is None or most >= self.threshold - 1
        return 0.0 if reached or self.padding is not None else -np.inf

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
            first=0 if self.padding is not None else self.threshold - 1,
            last=OTHERS_LIMIT if self.others_max is None else self.others_max,
            start=self._typical,
            width=min(1.0 / self.threshold**0.5, 0.25),
        )

    @property
    def _unit(self) -> float:
        """Scale of epsilon below which nothing happens: ln 1/(1-p), at most 1."""
        return float(min(1.0, -np.log1p(-self.sampling_rate)))

    def _terms(self, epsilon: float, direction: Direction) -> JointTerms:
        return JointTerms(
            sampling_rate=self.sampling_rate,
            threshold=self.threshold,
            shifts=np.array([self.shift], float),
            epsilon=epsilon,
            direction=direction,
            growth=self.growth,
            padding=self.padding,
        )

    def _each(self, epsilon: ArrayLike, directions: Sequence[Direction]) -> Floats:
        values = ranges.epsilons(epsilon)
        if self._sure is not None:
            return np.full(values.shape, self._sure)
        one = self._fixed if self.others is not None else self._supremum
        logs = [one(float(e), directions) for e in values.ravel()]
        return np.array(logs, dtype=float).reshape(values.shape)

    def _fixed(self, epsilon: float, directions: Sequence[Direction]) -> float:
        """Return ln J at N = others."""
        assert self.others is not None
        many = max(_MANY, 4.0 * self.threshold) / self.sampling_rate
        many = min(self.others, int(min(many, float(OTHERS_LIMIT))))
        size, wide = np.array([many]), np.array([OTHERS_LIMIT * (many < self.others)])
        deep = np.array([_DEEP])
        values = [
            self._terms(epsilon, direction).evaluate(np.zeros(1, np.int64), size, wide, deep)
            for direction in directions
        ]
        return max(float(wider[0] if wide[0] else own[0]) for own, wider in values)

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
            if direction == "remove" and epsilon >= -np.log1p(-self.sampling_rate):
                continue  # exactly 0
            found = log_suprema(
                self._terms(epsilon, direction).evaluate,
                problems=1,
                first=0 if self.padding is not None else self.threshold - 1,
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
        terms = self._terms(epsilon, direction)
        nothing = np.zeros_like(rows)
        own, _ = terms.evaluate(nothing, rows, nothing, np.full(len(rows), max(floor, _DEEP)))
        return own


def average_delta(
    epsilon: ArrayLike,
    *,
    distances: ArrayLike,
    sampling_rate: float,
    threshold: int,
    noise_std: float,
    direction: Direction | None = None,
) -> Floats:
    """Bound delta for one bucket with known distances: the average over its members of J.

    Parameters
    ----------
    epsilon : array_like
        Each >= 0.
    distances : array_like, shape (N,)
        Distance from the differing record to each other member of its bucket; equal ones are
        evaluated once.
    sampling_rate, threshold, noise_std
        As in :class:`JointRelease`; ``noise_std`` > 0 in the distances' unit.
    direction : {"add", "remove"}, optional
        One direction only; by default the worse of both.

    Returns
    -------
    ndarray
        Same shape as ``epsilon``, rounded up.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.

    Notes
    -----
    Source: the remark after Theorem J (the coupling partner is uniform among the others).
    """
    ranges.open_unit("sampling_rate", sampling_rate)
    ranges.release_threshold(threshold)
    ranges.positive("noise_std", noise_std)
    lengths, times = np.unique(np.asarray(distances, float).ravel(), return_counts=True)
    others = int(times.sum())
    if others == 0:
        lengths, times = np.array([0.0]), np.array([1])
    values = ranges.epsilons(epsilon)
    weights = times / times.sum()
    rows = np.full(len(lengths), others)
    ways = DIRECTIONS if direction is None else (direction,)
    averages = np.zeros((len(ways), values.size))
    for i, way in enumerate(ways):
        for j, e in enumerate(values.ravel()):
            terms = JointTerms(
                sampling_rate=sampling_rate,
                threshold=threshold,
                shifts=lengths / noise_std * (1 + 4 * _UNIT),
                epsilon=float(e),
                direction=way,
            )
            averages[i, j] = weights @ np.exp(terms.at(rows)) * (1 + 1e-12)
    return np.asarray(np.minimum(averages.max(axis=0), 1.0).reshape(values.shape))
