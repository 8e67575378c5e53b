r"""The sum of Theorem J for a user with several records in one bucket, for many sizes in one call.

See :mod:`accountants.group_release` for the statement. Everything is an upper bound, in logarithms.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from accountants.binomial import CDF_ERROR, cdf, log_pmf, log_reached, log_upper_tail
from accountants.gaussian_mixture import log_mixture_deficit, log_mixture_excess, log_row_sum
from accountants.joint_terms import Direction
from accountants.ranges import Floats
from accountants.supremum import Counts

Mask = NDArray[np.bool_]

_UNIT = 2.0**-53
_CHUNK = 2_000_000  # numbers in a table at a time
_FEW = 32  # up to this many records none is left out of the mixture


@dataclass(frozen=True, kw_only=True)
class GroupTerms:
    """The sum at one epsilon and direction, for many N in one call.

    Parameters
    ----------
    sampling_rate : float
        p strictly between 0 and 1.
    threshold, records : int
        As in :class:`accountants.group_release.GroupRelease`.
    shift : float
        Distance over noise standard deviation, >= 0, for each record; ``inf`` for no noise.
    epsilon : float
        >= 0, possibly ``inf``.
    direction : {"add", "remove"}
        Whether the user's records are present or absent in the first argument.
    """

    sampling_rate: float
    threshold: int
    records: int
    shift: float
    epsilon: float
    direction: Direction

    @property
    def log_none(self) -> float:
        """Logarithm of the probability that no record of the user is sampled."""
        return float(self.records * np.log1p(-self.sampling_rate))

    def evaluate(
        self, problem: Counts, others: Counts, slack: Counts, floor: Floats
    ) -> tuple[Floats, Floats]:
        r"""Return upper bounds of :math:`\ln J_\tau(N)` and of all :math:`\ln J_\tau(N..N+w)`.

        Parameters
        ----------
        problem : ndarray of int, shape (b,)
            Not used: there is one problem.
        others : ndarray of int, shape (b,)
            N.
        slack : ndarray of int, shape (b,)
            w >= 0; from :math:`\tau` on the second bound holds for every larger N.
        floor : ndarray, shape (b,)
            Parts of total probability below e^floor are bounded by it instead of being summed.

        Returns
        -------
        own, widened : ndarray, shape (b,)
            At most 0.
        """
        factor, log_ratio = self._factor()
        own, widened = np.full((2, len(others)), -np.inf)
        if factor == -np.inf or not len(others):
            return own, widened
        least = float(np.min(floor))
        kept = self._columns(least - max(log_ratio, 0.0) * (self.direction == "remove"))
        left_out = least if len(kept) < self.records else -np.inf
        lowered = np.maximum(self.threshold - slack, 1)  # a count of 0 says what "nothing" says
        first, last = self._range(others, lowered, floor)
        work = np.cumsum((last - first + 1) * (len(kept) + 1)) // _CHUNK
        for chunk in np.unique(work):
            rows = np.flatnonzero(work == chunk)
            run = _Run(
                terms=self, log_ratio=log_ratio, kept=kept, others=others[rows], slack=slack[rows],
                first=first[rows], last=last[rows],
            )  # fmt: skip
            skipped = np.where(first[rows] > lowered[rows], floor[rows] + 0.7, -np.inf)
            ends = [skipped, self._beyond(others[rows], last[rows]), np.full(len(rows), left_out)]
            released, widening, hidden = run.sums()
            own[rows] = _log_total([released, hidden, *ends])
            widened[rows] = _log_total([released, widening, hidden, *ends])
        return np.minimum(factor + own + 1e-15, 0.0), np.minimum(factor + widened + 1e-15, 0.0)

    @cached_property
    def log_some(self) -> float:
        """Logarithm of the probability that some record of the user is sampled."""
        return float(np.log(-np.expm1(self.log_none)))

    @cached_property
    def weights(self) -> tuple[Floats, Floats]:
        """Logarithms of the probabilities of 1..l sampled records, given one, and their error."""
        k = np.arange(1, self.records + 1)
        mass, slip = log_pmf(k, self.records, self.sampling_rate)
        size = abs(np.log(self.sampling_rate)) + abs(self.log_some)
        return mass - self.log_some, slip + 8 * _UNIT * (2 + size)

    def nothing(self, others: Counts, limit: Counts, log_b: float) -> tuple[Floats, Floats]:
        """Return ln [F - b G]_+ up, and G down, of "fewer than ``limit`` sampled".

        F is its probability without the user, G with one record of the user sampled at least.
        """
        p, size = self.sampling_rate, self.records
        mass, slip = self.weights
        k = np.arange(1, size + 1)
        at_least = np.logaddexp.accumulate((mass + slip)[::-1])[::-1] + 4 * _UNIT * size
        j = np.arange(size)
        lost, error = log_pmf(limit[:, None] - 1 - j, others[:, None], p)
        log_gap = log_row_sum(lost + error + at_least)  # F - G
        below = cdf(limit[:, None] - k - 1, others[:, None], p) @ np.exp(mass - slip)
        below = below * (1 - CDF_ERROR - 4 * _UNIT * size)
        with np.errstate(divide="ignore", invalid="ignore"):
            taken = np.log(below) + _log_expm1(max(log_b, 0.0)) * (1 - 4 * _UNIT)
            share = np.exp(np.minimum(taken - log_gap, 0.0)) * (1 - 1e-13)
            rest = np.where(taken >= log_gap, -np.inf, log_gap + np.log1p(-share))
        return np.where(below > 0, rest, log_gap), below

    def _factor(self) -> tuple[float, float]:
        """Logarithm of the factor before the sum, up, and ln of a' or b, down."""
        epsilon, none, some = self.epsilon, self.log_none, self.log_some
        if self.direction == "add":
            if np.isinf(epsilon):
                return some, float("inf")
            odds = np.exp(min(none - some, 700.0))
            log_a = epsilon + np.log1p(odds * -np.expm1(-epsilon))
            slip = 8 * _UNIT * (2 + log_a + abs(some))
            return some + 4 * _UNIT * (1 + abs(some)), float(log_a - slip)
        if epsilon >= -none:
            return -np.inf, float("inf")
        lost = np.exp(none + epsilon) * -np.expm1(-epsilon)  # q0 (e^epsilon - 1)
        chance = np.exp(some)
        slip = 8 * _UNIT * (chance + lost * (1 + epsilon - none))
        c = chance - lost + slip
        log_b = some + epsilon - np.log(c)
        return float(np.log(c)), float(log_b - 8 * _UNIT * (1 + abs(some) + epsilon + abs(log_b)))

    def _columns(self, floor: float) -> Counts:
        """Numbers of the user's records to sum over: the others' probability is below e^floor."""
        mass, slip = self.weights
        k = np.arange(1, self.records + 1)
        if self.records <= _FEW:
            return k
        logs = mass + slip
        low = np.logaddexp.accumulate(logs) < floor - 1
        high = np.logaddexp.accumulate(logs[::-1])[::-1] < floor - 1
        inside = ~(low | high)
        if not inside.any():
            inside[int(np.argmax(logs))] = True
        return k[inside]

    def _range(self, others: Counts, lowered: Counts, floor: Floats) -> tuple[Counts, Counts]:
        """First and last count to sum, by Chernoff's and Bernstein's bounds."""
        p = self.sampling_rate
        mean = others * p
        start = np.floor(mean - np.sqrt(-2 * mean * floor)) - 1
        first = np.asarray(np.maximum(np.maximum(start, lowered), 1), dtype=np.int64)
        mean = (others + self.records - 1.0) * p + 1
        room = np.sqrt(2 * mean * (1 - p) * -floor) - floor
        reach = np.ceil(np.maximum(mean + room, self.threshold)) + 2
        last = np.minimum(reach, others + float(self.records)).astype(np.int64)
        return first, np.maximum(last, first)

    def _beyond(self, others: Counts, last: Counts) -> Floats:
        """Logarithm of the probability of counts beyond ``last``, up.

        Given one sampled record of the user the count is at most 1 + Bin(N + l - 1, p).
        """
        if self.direction == "add":
            return log_upper_tail(last, others + self.records - 1, self.sampling_rate)
        return log_upper_tail(last + 1, others, self.sampling_rate)


@dataclass(kw_only=True)
class _Run:
    """The counts ``first``..``last`` of some bucket sizes, flattened."""

    terms: GroupTerms
    log_ratio: float
    kept: Counts
    others: Counts
    slack: Counts
    first: Counts
    last: Counts

    def sums(self) -> tuple[Floats, Floats, Floats]:
        """Logarithms, up: of the released counts, of what widening adds, of "nothing"."""
        terms, p = self.terms, self.terms.sampling_rate
        self._lengths = self.last - self.first + 1
        self._begin = np.cumsum(self._lengths) - self._lengths
        counts = self._spread_counts()
        sizes = np.repeat(self.others, self._lengths)
        mass, joint, ratio, slip = self._tables(counts, sizes)
        self._shifts = terms.shift * self.kept * (1 + 2 * _UNIT)
        above = counts >= terms.threshold
        below = ~above & (np.repeat(self.slack, self._lengths) > 0)
        hidden = np.full(len(self.others), -np.inf)
        if terms.direction == "add":
            values = self._added(mass, joint, ratio, slip, counts <= sizes)
            gains = values[below]
        else:
            limit = np.full_like(self.others, terms.threshold)
            hidden, _ = terms.nothing(self.others, limit, self.log_ratio)
            values = self._removed(mass, ratio, slip, counts <= sizes)
            gains = np.where(
                self._nothing_counts(mass, joint)[below],
                self._reversed(mass, joint, ratio, slip, counts <= sizes, below),
                values[below],
            )
        widening = np.full(len(counts), -np.inf)
        steps = terms.threshold - counts[below]
        widening[below] = gains + log_reached(steps, np.repeat(self.slack, self._lengths)[below], p)
        return (
            self._log_sums(np.where(above, values, -np.inf)),
            self._log_sums(widening),
            hidden,
        )

    def _spread_counts(self, before: int = 0) -> Counts:
        """Return all counts, each run beginning ``before`` earlier."""
        lengths = self._lengths + before
        begin = np.cumsum(lengths) - lengths
        offset = np.repeat(begin - self.first + before, lengths)
        return np.asarray(np.arange(int(lengths.sum())) - offset, dtype=np.int64)

    def _tables(self, counts: Counts, sizes: Counts) -> tuple[Floats, Floats, Floats, Floats]:
        """Return ln P(n), up; ln w_k P(n-k), up; ln w_k P(n-k)/P(n) and its error.

        Shapes (m,), (m, K), (m, K), (m, K). The ratio is summed from exact factors.
        """
        p, most = self.terms.sampling_rate, int(self.kept[-1])
        weight, slip = (values[self.kept - 1] for values in self.terms.weights)
        longer = self._spread_counts(most)
        trials = np.repeat(self.others, self._lengths + most)
        value, error = log_pmf(longer, trials, p)
        lead = np.arange(len(counts)) + most * np.repeat(
            np.arange(1, len(self.others) + 1), self._lengths
        )
        joint = weight + slip + (value + error)[lead[:, None] - self.kept]
        odds = np.log1p(-p) - np.log(p)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.log(np.maximum(longer, 0) / np.maximum(trials - longer + 1.0, 1.0)) + odds
        step = step[lead[:, None] - np.arange(most)]
        ratio = np.cumsum(step, axis=1)[:, self.kept - 1]
        large = np.log(sizes[:, None] + 2.0) + abs(odds)  # bounds the finite steps
        wrong = np.abs(weight) + self.kept * (2 + abs(odds) + (self.kept + 1) * large)
        return (value + error)[lead], joint, weight + ratio, slip + 4 * _UNIT * (4 + wrong)

    def _added(
        self, mass: Floats, joint: Floats, ratio: Floats, slip: Floats, inside: Mask
    ) -> Floats:
        """Logarithm of each count's contribution ("add"), up."""
        values = log_row_sum(joint)
        if np.isinf(self.log_ratio):
            return values if np.isinf(self.terms.shift) else np.where(inside, -np.inf, values)
        within = np.flatnonzero(inside)
        slip = slip[within] + 2 * _UNIT * self.log_ratio
        raised = np.asarray(ratio[within] + slip - self.log_ratio, float)
        excess = log_mixture_excess(raised, np.asarray(self._shifts, float))
        excess += self.log_ratio + mass[within]
        excess += 4 * _UNIT * (self.log_ratio + np.abs(mass[within]))
        values[within] = np.minimum(values[within], excess)
        return values

    def _removed(self, mass: Floats, ratio: Floats, slip: Floats, inside: Mask) -> Floats:
        """Logarithm of each count's contribution ("remove"), up."""
        values = np.full(len(mass), -np.inf)
        within = np.flatnonzero(inside)
        slip = slip[within] + 2 * _UNIT * abs(self.log_ratio)
        lowered = np.asarray(ratio[within] - slip + self.log_ratio, float)
        deficit = log_mixture_deficit(lowered, np.asarray(self._shifts, float))
        values[within] = mass[within] + deficit
        return values

    def _reversed(
        self, mass: Floats, joint: Floats, ratio: Floats, slip: Floats, inside: Mask, at: Mask
    ) -> Floats:
        r"""Logarithm of what releasing a count as well adds while "nothing" counts ("remove"), up.

        That is the contribution, and :math:`b \sum_k w_k P(n-k) - P(n)` that "nothing" loses.
        """
        log_b = self.log_ratio + 32 * _UNIT * (1 + abs(self.log_ratio))
        rows = np.flatnonzero(at)
        values = log_row_sum(joint[rows]) + log_b
        within = inside[rows]
        raised = (ratio + slip)[rows[within]] + log_b
        values[within] = np.minimum(
            values[within],
            mass[rows[within]] + log_mixture_excess(raised, np.asarray(self._shifts, float)),
        )
        return values

    def _nothing_counts(self, mass: Floats, joint: Floats) -> Floats:
        """Whether "nothing" may still count when the threshold is each count, one by one."""
        p = self.terms.sampling_rate
        _, start = self.terms.nothing(self.others, self.first, self.log_ratio)
        with_user = np.repeat(start, self._lengths)
        with_user += self._sum_before(np.exp(log_row_sum(joint))) * (1 - 1e-6)
        without = np.repeat(cdf(self.first - 1, self.others, p), self._lengths) * (1 + CDF_ERROR)
        without += self._sum_before(np.exp(mass)) * (1 + 1e-12) + 1e-300
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(without) > np.log(with_user) + self.log_ratio)

    def _sum_before(self, values: Floats) -> Floats:
        """Sum of each run's values before each of its counts."""
        runs = np.split(values, self._begin[1:])
        return np.concatenate([np.cumsum(run) - run for run in runs])

    def _log_sums(self, logs: Floats) -> Floats:
        """Logarithm of the sum over each run, up."""
        top = np.maximum.reduceat(logs, self._begin)
        base = np.where(np.isfinite(top), top, 0.0)
        total = np.add.reduceat(np.exp(logs - np.repeat(base, self._lengths)), self._begin)
        with np.errstate(divide="ignore"):
            value = np.log(total) + base
        return np.asarray(value + 2 * _UNIT * (8 + self._lengths) + 4 * _UNIT * np.abs(base))


def _log_total(parts: list[Floats]) -> Floats:
    return log_row_sum(np.stack(parts, axis=1))


def _log_expm1(x: float) -> float:
    """Logarithm of e^x - 1 for x >= 0."""
    if x == 0:
        return -np.inf
    return float(x + np.log(-np.expm1(-x)))
