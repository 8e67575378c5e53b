r"""The sum of Theorem J, for many distances and bucket sizes in one call.

See :mod:`accountants.joint_release` for the statement. Everything is an upper bound, in logarithms.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from accountants.binomial import CDF_ERROR, cdf, log_pmf, log_reached, log_upper_tail
from accountants.count_runs import CountRuns, Counts
from accountants.gaussian import log_hockey_stick
from accountants.noise_growth import NoiseGrowth
from accountants.ranges import Floats
from accountants.tag_padding import TagPadding

Direction = Literal["add", "remove"]
DIRECTIONS: tuple[Direction, ...] = ("add", "remove")

_UNIT = 2.0**-53
_DEEP = -800.0  # e^-800 < 1e-345: below every double


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
    growth : NoiseGrowth, optional
        How the noise grows with the count; ``shifts`` are then those at the threshold.
    padding : TagPadding, optional
        For the synthesis server, which sees tags below the threshold among dummies.
    """

    sampling_rate: float
    threshold: int
    shifts: Floats
    epsilon: float
    direction: Direction
    growth: NoiseGrowth | None = None
    padding: TagPadding | None = None

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
        runs = CountRuns.between(
            _first_count(others, lowered, p, floor),
            # own sums that end below the threshold are below e^floor
            _last_count(others, np.where(slack > 0, lowered, self.threshold), p, floor),
            others,
        )
        shifts = runs.spread(self.shifts[problem])
        if self.growth is not None:
            stretch = self.growth.stretch(runs.counts)  # may be inf
            shifts = np.multiply(shifts, stretch, out=np.zeros_like(shifts), where=shifts > 0)
        log_r = runs.log_ratios(p)
        terms = self._log_terms(runs, log_r, shifts, log_ratio)
        skipped = np.where(runs.first > lowered, floor + 0.7, -np.inf)  # twice: terms and "nothing"
        rest = log_upper_tail(runs.last, others, p)  # terms, and what "nothing" may lose beyond
        hidden, wide_hidden = self._hidden(others, slack, log_ratio)
        ends = [skipped, rest] if hidden is None else [skipped, rest, hidden]
        if not slack.any():
            own = np.minimum(factor + _log_sum(terms, runs, ends) + 1e-15, 0.0)
            return own, own
        wide_ends = [skipped, rest] if hidden is None else [skipped, rest, wide_hidden]
        if self.padding is not None and self.direction == "remove":  # a count of 0, released later
            none, slip = log_pmf(0, others, p)
            reached = log_reached(np.full(others.shape, self.threshold), slack, p)
            wide_ends.append(none + slip + reached)
        kept = np.where(runs.counts >= self.threshold, terms, -np.inf)
        below = np.flatnonzero((runs.counts < self.threshold) & (runs.spread(slack) > 0))
        if self.direction == "remove" and self.padding is None:
            masses = runs.log_masses(log_r, p, one_less=True)
            sure = runs.covered(masses, np.expm1(max(log_ratio, 0.0)), p)
            below_gain = below[~sure[below]]
            terms[below_gain] = self._log_gain(
                masses[below_gain], log_r[below_gain], shifts[below_gain], log_ratio
            )
        terms[below] += log_reached(
            self.threshold - runs.counts[below], runs.spread(slack)[below], p
        )
        return (
            np.minimum(factor + _log_sum(kept, runs, ends) + 1e-15, 0.0),
            np.minimum(factor + _log_sum(terms, runs, wide_ends) + 1e-15, 0.0),
        )

    def _hidden(
        self, others: Counts, slack: Counts, log_ratio: float
    ) -> tuple[Floats | None, Floats]:
        """Logarithm of what is not released, up: at N, and at all of N..N+w."""
        p, threshold = self.sampling_rate, self.threshold
        if self.padding is None:
            if self.direction == "add":
                return None, np.empty(0)
            nothing = self._log_nothing(others, threshold, log_ratio)
            return nothing, nothing
        if self.direction == "add":
            added = self.padding.log_added(
                others, sampling_rate=p, threshold=threshold, log_ratio=log_ratio
            )
            return added, added
        own, wide = (
            self.padding.log_removed(
                others, widths, sampling_rate=p, threshold=threshold, log_ratio=log_ratio
            )
            for widths in (np.zeros_like(slack), slack)
        )
        return own, wide

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
        self, runs: CountRuns, log_r: Floats, shifts: Floats, log_ratio: float
    ) -> Floats:
        """Logarithm of each count's contribution, up; ``log_r`` as :meth:`CountRuns.log_ratios`."""
        p = self.sampling_rate
        b = np.abs(log_r)
        b += 2 + abs(np.log(p) - np.log1p(-p))
        b *= -8 * _UNIT
        with np.errstate(invalid="ignore"):
            b += log_ratio
            b = b + log_r if self.direction == "add" else b - log_r
        none = np.isinf(log_r)
        if none.any():
            b[none] = -np.inf if self.direction == "add" else np.inf
        terms = runs.log_masses(log_r, p, one_less=self.direction == "add")
        terms += log_hockey_stick(b, shifts)
        return terms

    def _log_nothing(self, others: Counts, threshold: int | Counts, log_ratio: float) -> Floats:
        """Logarithm of [Pr(Bin < t) - b Pr(Bin < t - 1)]_+, up; b >= 1."""
        limit = np.broadcast_to(np.asarray(threshold), others.shape)
        p = self.sampling_rate
        mass, slip = log_pmf(limit - 1, others, p)
        excess = np.expm1(max(log_ratio, 0.0)) * cdf(limit - 2, others, p) * (1 - CDF_ERROR)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(np.exp(mass + slip) - excess, 0.0)))

    def _log_gain(self, masses: Floats, log_r: Floats, shifts: Floats, log_ratio: float) -> Floats:
        r"""Logarithm of what releasing the count n as well adds to the sum ("remove"), up.

        With ``masses`` = ln P(n - 1). "Nothing" loses :math:`b P(n-1) - P(n)` to it as long as it
        counts at the threshold n, and
        :math:`H_\alpha(P \| Q) + \alpha - 1 = \alpha H_{1/\alpha}(Q \| P)`. Where "nothing" does
        not count, :math:`P(n) \le b P(n-1)` (the ratio falls with n), so this is a bound as well.
        """
        error = 16 * _UNIT * (4 + abs(log_ratio) + abs(np.log(self.sampling_rate)))
        with np.errstate(invalid="ignore"):
            b = log_ratio - log_r + error * (1 + np.abs(log_r))
            b = np.where(np.isinf(log_r), np.inf, b)
        return np.asarray(log_ratio + error + masses + log_hockey_stick(-b, shifts))


def _first_count(others: Counts, lowered: Counts, p: float, floor: Floats) -> Counts:
    """Smallest count to sum: below it Chernoff's bound exp(-t^2 / 2 mean) is under e^floor."""
    mean = others * p
    start = np.floor(mean - np.sqrt(-2 * mean * floor)) - 1
    return np.asarray(np.maximum(np.maximum(start, lowered), 1), dtype=np.int64)


def _last_count(others: Counts, threshold: Counts, p: float, floor: Floats) -> Counts:
    """Largest count to sum: beyond it Bernstein's bound is below e^floor; at most N + 1."""
    mean = others * p
    room = np.sqrt(2 * mean * (1 - p) * -floor) - floor
    reach = np.ceil(np.maximum(mean + room, threshold)) + 2
    return np.asarray(np.minimum(reach, others + 1.0), dtype=np.int64)


def _log_sum(terms: Floats, runs: CountRuns, ends: list[Floats]) -> Floats:
    """Logarithm of the sum of each run of ``terms`` and of ``ends``, up."""
    top = np.maximum.reduceat(terms, runs.begin)
    for end in ends:
        top = np.maximum(top, end)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.add.reduceat(np.exp(terms - runs.spread(top)), runs.begin)
    for end in ends:
        total = total + np.exp(end - top)
    with np.errstate(divide="ignore"):
        value = np.log(total) + top
    # pairwise or not, a sum of n positive terms is within n units in the last place
    slack = 2 * _UNIT * (8 + runs.lengths) + 4 * _UNIT * np.abs(top)
    return np.asarray(value + slack)
