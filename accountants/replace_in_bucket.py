r"""Count and noisy sum of a bucket when one of its records is replaced by another one there.

A bucket holds N other records; x is replaced by y, both in this bucket. Each record is sampled with
probability p; at a sampled count of at least :math:`\tau` the count and the sum plus
:math:`N(0, \sigma^2 I)` are released. The count has one law in both cases, only the sum tells them
apart. With all others within :math:`\Delta` of x and of y, y within :math:`\Delta'` of x,
:math:`\mu = \Delta/\sigma` and :math:`\mu' = \Delta'/\sigma`,

.. math::
   \delta(\epsilon) \le p \sum_{n \ge \tau} P_N(n-1) \sup_S \Big[ N(0,1)(S)
     - \tfrac{1-p}{p} (e^\epsilon - 1) \tfrac{P_N(n)}{P_N(n-1)} N(\mu,1)(S)
     - e^\epsilon N(\mu',1)(S) \Big].

Attained when the others coincide on the segment from x to y. Proof: ``docs/proofs/replace-one.md``.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.binomial import log_pmf, log_reached, log_upper_tail
from accountants.errors import ParameterError
from accountants.gaussian import log_hockey_stick
from accountants.gaussian_mixture import log_mixture_deficit
from accountants.joint_release import OTHERS_LIMIT
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from accountants.supremum import Counts, log_suprema

_UNIT = 2.0**-53
_DEEP = -800.0  # e^-800 < 1e-345: below every double
_MANY = 1e8  # sampled records from which a larger bucket is bounded by this one


@dataclass(frozen=True, kw_only=True)
class ReplaceInBucket(PrivacyProfile):
    r"""Replace-one adjacency within one bucket: count and noisy sum together.

    Parameters
    ----------
    sampling_rate : float
        p in (0, 1].
    threshold : int
        :math:`\tau \ge 1`.
    shift : float
        :math:`\mu`, the distance of the other records from the replaced one over the noise
        standard deviation, >= 0; ``inf`` for no noise.
    replaced_shift : float, optional
        :math:`\mu' \le 2 \mu`, the same for the distance between the two records; the default is
        :math:`2\mu`, which the triangle inequality allows if y too is within reach of the others.
    others : int, optional
        N; without it the supremum over 0..``others_max`` is taken.
    others_max : int, optional
        Public upper bound of N; without it the supremum is over all N.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.

    Notes
    -----
    Adjacency: replace-one, both records in one bucket. Where the replaced record may move to
    another bucket use :class:`accountants.replace_one.CoinChain`. View: public.
    """

    sampling_rate: float
    threshold: int
    shift: float
    replaced_shift: float | None = None
    others: int | None = None
    others_max: int | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.sampling_rate(self.sampling_rate)
        ranges.release_threshold(self.threshold)
        ranges.non_negative("shift", self.shift, finite=False)
        if self.replaced_shift is not None:
            ranges.non_negative("replaced_shift", self.replaced_shift, finite=False)
            if self.replaced_shift > 2 * self.shift:
                raise ParameterError(
                    f"replaced_shift = {self.replaced_shift!r}: at most twice shift = "
                    f"{self.shift!r} is needed"
                )
        for name in ("others", "others_max"):
            value = getattr(self, name)
            if value is not None:
                ranges.whole(name, value, high=OTHERS_LIMIT)

    @property
    def distance(self) -> float:
        """Return the distance between the two records over the noise standard deviation."""
        return 2 * self.shift if self.replaced_shift is None else self.replaced_shift

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        values = ranges.epsilons(epsilon)
        most = self.others_max if self.others is None else self.others
        never = most is not None and most < self.threshold - 1
        if never or self.distance == 0:  # nothing to see
            return np.full(values.shape, -np.inf)
        if self.sampling_rate == 1:
            if np.isinf(self.distance):
                return np.zeros(values.shape)
            return log_hockey_stick(values, self.distance * (1 + 2 * _UNIT))
        one = self._supremum if self.others is None else self._fixed
        common = np.isfinite(self.distance)  # noise: both laws live on the same outputs
        logs = [-np.inf if common and np.isinf(e) else one(float(e)) for e in values.ravel()]
        return np.array(logs, dtype=float).reshape(values.shape)

    def _fixed(self, epsilon: float) -> float:
        """Return ln delta at N = others; beyond many sampled records at that number or more."""
        assert self.others is not None
        many = max(_MANY, 4.0 * self.threshold) / self.sampling_rate
        size = min(self.others, int(min(many, float(OTHERS_LIMIT))))
        wide = OTHERS_LIMIT * (size < self.others)
        values = _ReplacedTerms(release=self, epsilon=epsilon).evaluate(
            np.zeros(1, np.int64), np.array([size]), np.array([wide]), np.array([_DEEP])
        )
        return float(values[int(wide > 0)][0])

    def _supremum(self, epsilon: float) -> float:
        typical = int(min(self.threshold / self.sampling_rate, float(OTHERS_LIMIT)))
        found = log_suprema(
            _ReplacedTerms(release=self, epsilon=epsilon).evaluate,
            problems=1,
            first=self.threshold - 1,
            last=self.others_max,
            guess=np.array([typical]),
        )
        return float(found.values[0])


@dataclass(frozen=True, kw_only=True)
class _ReplacedTerms:
    """The sum at one epsilon, for many N in one call."""

    release: ReplaceInBucket
    epsilon: float

    def evaluate(
        self, problem: Counts, others: Counts, slack: Counts, floor: Floats
    ) -> tuple[Floats, Floats]:
        """As :meth:`accountants.group_terms.GroupTerms.evaluate`."""
        p, threshold = self.release.sampling_rate, self.release.threshold
        own, widened = np.full((2, len(others)), -np.inf)
        for i, (size, wide, least) in enumerate(zip(others, slack, floor, strict=True)):
            lowered = max(threshold - int(wide), 1)
            mean = float(size) * p
            start = np.floor(mean - np.sqrt(-2 * mean * least)) - 1
            first = max(int(start), lowered)
            reach = np.sqrt(2 * mean * (1 - p) * -least) - least
            last = max(int(min(np.ceil(max(mean + reach, threshold)) + 2, size + 1.0)), first)
            counts = np.arange(first, last + 1)
            terms = self._terms(counts, int(size))
            skipped = least if first > lowered else -np.inf
            rest = float(log_upper_tail(last, size, p))
            kept = np.where(counts >= threshold, terms, -np.inf)
            own[i] = _log_sum(kept, skipped, rest)
            below = counts < threshold
            terms[below] += log_reached(
                threshold - counts[below], np.full(int(below.sum()), wide), p
            )
            widened[i] = _log_sum(terms, skipped, rest)
        factor = float(np.log(p)) + 2 * _UNIT
        return np.minimum(factor + own, 0.0), np.minimum(factor + widened, 0.0)

    def _terms(self, counts: Counts, size: int) -> Floats:
        """Logarithm of each count's contribution, up."""
        p, epsilon = self.release.sampling_rate, self.epsilon
        odds = np.log(p) - np.log1p(-p)
        mass, slip = log_pmf(counts - 1, size, p)
        if np.isinf(epsilon):  # with noise the sum's law has full support
            return mass + slip if np.isinf(self.release.distance) else np.full(len(mass), -np.inf)
        with np.errstate(divide="ignore"):
            ratio = np.log(np.maximum(size - counts + 1.0, 0.0) / counts) + odds  # P(n) / P(n-1)
            grown = epsilon + np.log(-np.expm1(-epsilon)) if epsilon > 0 else -np.inf
            out = ratio + (grown - odds)  # the record left out, another one in its place
        error = 8 * _UNIT * (2 + np.where(np.isfinite(out), np.abs(out), 0.0) + 2 * abs(odds))
        weights = np.stack([out - error, np.full(len(counts), epsilon)], axis=1)
        shifts = np.array([self.release.shift, self.release.distance]) * (1 + 2 * _UNIT)
        return np.asarray(mass + slip + log_mixture_deficit(weights, shifts))


def _log_sum(terms: Floats, *ends: float) -> float:
    """Logarithm of the sum of ``terms`` and ``ends``, up."""
    values = np.append(terms, ends)
    top = float(np.max(values))
    if not np.isfinite(top):
        return top
    total = float(np.log(np.sum(np.exp(values - top)))) + top
    return total + 2 * _UNIT * (8 + len(values)) + 4 * _UNIT * abs(top)
