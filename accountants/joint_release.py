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

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc

from accountants import ranges
from accountants.binomial import log_pmf, log_upper_tail
from accountants.errors import ParameterError
from accountants.gaussian import exp_up, log_hockey_stick
from accountants.inversion import smallest_epsilon
from accountants.ranges import Floats
from accountants.supremum import log_suprema

Direction = Literal["add", "remove"]
DIRECTIONS: tuple[Direction, ...] = ("add", "remove")
Counts = NDArray[np.int64]

_UNIT = 2.0**-53
_DEEP = -800.0  # e^-800 < 1e-345: below every double
OTHERS_LIMIT = 2**52


@dataclass(frozen=True, kw_only=True)
class JointRelease:
    r"""Theorem J: sampled count and noisy sum, for a fixed number of others or for all numbers.

    Parameters
    ----------
    sampling_rate : float
        p, strictly between 0 and 1.
    threshold : int
        :math:`\tau \ge 1`; released when the sampled count is at least this.
    shift : float
        :math:`\mu` = distance over noise standard deviation, >= 0; ``inf`` for no noise.
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
    Adjacency: add-remove of one record. View: public (the released pairs). Assumes the record's
    coin is honest and its own.
    """

    sampling_rate: float
    threshold: int
    shift: float
    others: int | None = None
    others_max: int | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.open_unit("sampling_rate", self.sampling_rate)
        ranges.release_threshold(self.threshold)
        ranges.non_negative("shift", self.shift, finite=False)
        for name in ("others", "others_max"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= OTHERS_LIMIT:
                raise ParameterError(f"{name} = {value!r}: 0 to {OTHERS_LIMIT} is needed")

    def log_delta_add(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta when the record is present in the first argument; same shape."""
        return self._each(epsilon, "add")

    def log_delta_remove(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta when the record is absent from the first argument; same shape."""
        return self._each(epsilon, "remove")

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta, the worse of both directions; same shape as ``epsilon``."""
        return np.maximum(self._each(epsilon, "add"), self._each(epsilon, "remove"))

    def delta_add(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of delta when the record is present in the first argument; same shape."""
        return exp_up(self.log_delta_add(epsilon))

    def delta_remove(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of delta when the record is absent from the first argument; same shape."""
        return exp_up(self.log_delta_remove(epsilon))

    def delta(self, epsilon: ArrayLike) -> Floats:
        """Smallest delta at each ``epsilon`` >= 0, rounded up; same shape."""
        return exp_up(self.log_delta(epsilon))

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Smallest epsilon at each ``delta`` in [0, 1], rounded up; same shape."""
        return smallest_epsilon(self.log_delta, delta)

    def _each(self, epsilon: ArrayLike, direction: Direction) -> Floats:
        values = ranges.epsilons(epsilon)
        return np.array([self._one(float(e), direction) for e in values.ravel()]).reshape(
            values.shape
        )

    def _one(self, epsilon: float, direction: Direction) -> float:
        terms = JointTerms(
            sampling_rate=self.sampling_rate,
            threshold=self.threshold,
            shifts=np.array([self.shift], float),
            epsilon=epsilon,
            direction=direction,
        )
        if self.others is not None:
            return float(terms.at(np.array([self.others]))[0])
        found = log_suprema(
            terms.evaluate, problems=1, first=self.threshold - 1, last=self.others_max
        )
        return float(found.values[0])


@dataclass(frozen=True, kw_only=True)
class JointTerms:
    """The sum of Theorem J at one epsilon and direction, for many shifts and N in one call.

    Parameters
    ----------
    sampling_rate, threshold
        As in :class:`JointRelease`.
    shifts : ndarray, shape (q,)
        The shift of each of q problems.
    epsilon : float
        >= 0, possibly ``inf``.
    direction : {"add", "remove"}
        Whether the record that differs is present or absent in the first argument.
    """

    sampling_rate: float
    threshold: int
    shifts: Floats
    epsilon: float
    direction: Direction

    def at(self, others: Counts) -> Floats:
        """Upper bounds of ln J for problem i at N = ``others[i]``; shape (q,)."""
        own, _ = self.evaluate(
            np.arange(len(others)), others, np.zeros_like(others), np.full(len(others), _DEEP)
        )
        return own

    def evaluate(
        self, problem: Counts, others: Counts, slack: Counts, floor: Floats
    ) -> tuple[Floats, Floats]:
        r"""Return upper bounds of :math:`\ln J_\tau(N)` and :math:`\ln J_{\tau-w}(N)`.

        Parameters
        ----------
        problem : ndarray of int, shape (b,)
            Which shift each row takes.
        others : ndarray of int, shape (b,)
            N.
        slack : ndarray of int, shape (b,)
            w >= 0; :math:`\tau - w` is cut at 1, where a count of 0 is "nothing".
        floor : ndarray, shape (b,)
            Sampled counts at either end whose total probability is below e^floor are bounded by
            that probability instead of being summed.

        Returns
        -------
        own, widened : ndarray, shape (b,)
            At most 0.
        """
        factor, log_ratio = self._factor()
        if factor == -np.inf:
            nothing = np.full(others.shape, -np.inf)
            return nothing, nothing
        p = self.sampling_rate
        lowered = np.maximum(self.threshold - slack, 1)  # a count of 0 says what "nothing" says
        first = _first_count(others, lowered, p, floor)
        last = np.maximum(_last_count(others, self.threshold, p, floor), first)
        lengths = last - first + 1
        begin = np.cumsum(lengths) - lengths
        counts = np.arange(int(lengths.sum())) - np.repeat(begin - first, lengths)
        terms = self._log_terms(
            counts, np.repeat(others, lengths), np.repeat(self.shifts[problem], lengths), log_ratio
        )
        skipped = np.where(first > lowered, floor + 0.7, -np.inf)  # twice: terms and "nothing"
        rest = log_upper_tail(last - (self.direction == "add") + 1, others, p)
        ends = [skipped, rest]
        if self.direction == "remove":
            ends.append(self._log_nothing(others, self.threshold, log_ratio))
        kept = np.where(counts >= self.threshold, terms, -np.inf)
        below = np.flatnonzero((counts < self.threshold) & (np.repeat(slack, lengths) > 0))
        if self.direction == "remove":
            terms[below] = self._log_gain(
                terms[below],
                counts[below],
                np.repeat(others, lengths)[below],
                np.repeat(self.shifts[problem], lengths)[below],
                log_ratio,
            )
        terms[below] += _log_reached(
            self.threshold - counts[below], np.repeat(slack, lengths)[below], p
        )
        return (
            np.minimum(factor + _log_sum(kept, begin, ends) + 1e-15, 0.0),
            np.minimum(factor + _log_sum(terms, begin, ends) + 1e-15, 0.0),
        )

    def _factor(self) -> tuple[float, float]:
        """Logarithm of the factor before the sum, up, and ln of a' or b, down."""
        p, epsilon = self.sampling_rate, self.epsilon
        if self.direction == "add":
            if np.isinf(epsilon):
                return float(np.log(p)), float("inf")
            log_a = epsilon + np.log1p((1 - p) / p * -np.expm1(-epsilon))
            return float(np.log(p)) + _UNIT, float(log_a - 8 * _UNIT * (1 + log_a))
        if epsilon >= -np.log1p(-p):
            return -np.inf, float("inf")
        lost = (1 - p) * np.expm1(epsilon)
        c = p - lost + 8 * _UNIT * (p + lost)
        log_b = np.log(p) + epsilon - np.log(c)
        return float(np.log(c)), float(log_b - 8 * _UNIT * (1 + abs(np.log(p)) + epsilon))

    def _log_terms(
        self, counts: Counts, others: Counts, shifts: Floats, log_ratio: float
    ) -> Floats:
        """Logarithm of each count's contribution, up."""
        p = self.sampling_rate
        odds = np.log(p) - np.log1p(-p)
        with np.errstate(all="ignore"):
            log_r = np.log((others - counts + 1.0) / counts) + odds  # P(n) / P(n-1)
            error = 8 * _UNIT * (2 + np.abs(log_r) + abs(odds))
            if self.direction == "add":
                drawn, b = counts - 1, np.where(counts > others, -np.inf, log_ratio + log_r - error)
            else:
                drawn, b = counts, np.where(counts > others, np.inf, log_ratio - log_r - error)
        mass, slip = log_pmf(drawn, others, p)
        return np.asarray(mass + slip + log_hockey_stick(b, shifts))

    def _log_nothing(self, others: Counts, threshold: int | Counts, log_ratio: float) -> Floats:
        """Logarithm of [Pr(Bin < t) - b Pr(Bin < t - 1)]_+, up; b >= 1."""
        limit = np.broadcast_to(np.asarray(threshold), others.shape)
        p = self.sampling_rate
        mass, slip = log_pmf(limit - 1, others, p)
        top = np.clip(limit - 2, 0, others)  # Pr(Bin <= top) = I_{1-p}(N - top, top + 1)
        part = betainc(np.maximum(others - top, 1), top + 1, 1 - p) * (1 - 1e-12)
        below = np.where(limit < 2, 0.0, np.where(top >= others, 1.0, part))
        excess = np.expm1(max(log_ratio, 0.0)) * np.where(np.isnan(below), 0.0, below)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(np.exp(mass + slip) - excess, 0.0)))

    def _log_gain(
        self, terms: Floats, counts: Counts, others: Counts, shifts: Floats, log_ratio: float
    ) -> Floats:
        r"""Logarithm of what releasing the count n as well adds to the sum ("remove"), up.

        "Nothing" loses :math:`b P(n-1) - P(n)` to it as long as it counts at the threshold n, and
        :math:`H_\alpha(P \| Q) + \alpha - 1 = \alpha H_{1/\alpha}(Q \| P)`.
        """
        p = self.sampling_rate
        error = 16 * _UNIT * (4 + abs(log_ratio) + abs(np.log(p)))
        with np.errstate(all="ignore"):
            log_r = np.log((others - counts + 1.0) / counts) + np.log(p) - np.log1p(-p)
            b = np.where(counts > others, np.inf, log_ratio - log_r + error * (1 + np.abs(log_r)))
        mass, slip = log_pmf(counts - 1, others, p)
        gain = log_ratio + error + mass + slip + log_hockey_stick(-b, shifts)
        return np.where(np.isfinite(self._log_nothing(others, counts, log_ratio)), gain, terms)


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


def _first_count(others: Counts, lowered: Counts, p: float, floor: Floats) -> Counts:
    """Smallest count to sum: below it Chernoff's bound exp(-t^2 / 2 mean) is under e^floor."""
    mean = others * p
    start = np.floor(mean - np.sqrt(-2 * mean * floor)) - 1
    return np.asarray(np.maximum(np.maximum(start, lowered), 1), dtype=np.int64)


def _last_count(others: Counts, threshold: int, p: float, floor: Floats) -> Counts:
    """Largest count to sum: beyond it Bernstein's bound is below e^floor; at most N + 1."""
    mean = others * p
    room = np.sqrt(2 * mean * (1 - p) * -floor) - floor
    reach = np.ceil(np.maximum(mean + room, threshold)) + 2
    return np.asarray(np.minimum(reach, others + 1.0), dtype=np.int64)


def _log_sum(terms: Floats, begin: Counts, ends: list[Floats]) -> Floats:
    """Logarithm of the sum of each run of ``terms`` (starting at ``begin``) and of ``ends``, up."""
    top = np.maximum.reduceat(terms, begin)
    for end in ends:
        top = np.maximum(top, end)
    top = np.where(np.isfinite(top), top, 0.0)
    lengths = np.diff(begin, append=len(terms))
    total = np.add.reduceat(np.exp(terms - np.repeat(top, lengths)), begin)
    for end in ends:
        total = total + np.exp(end - top)
    with np.errstate(divide="ignore"):
        value = np.log(total) + top
    # pairwise or not, a sum of n positive terms is within n units in the last place
    slack = 2 * _UNIT * (8 + lengths) + 4 * _UNIT * np.abs(top)
    return np.asarray(value + slack)


def _log_reached(steps: Counts, trials: Counts, p: float) -> Floats:
    """Logarithm of Pr[Bin(trials, p) >= steps], up; ``trials`` beyond 2^51 stand for any number."""
    tail = betainc(np.minimum(steps, trials), np.maximum(trials - steps + 1, 1), p) * (1 + 1e-11)
    sure = (trials > 2**51) | (steps <= trials * p)
    with np.errstate(divide="ignore"):
        reached = np.log(np.where(sure, 1.0, np.minimum(tail, 1.0)))
    return np.where(steps > trials, -np.inf, reached)
