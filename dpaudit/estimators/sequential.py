r"""A bound on epsilon that holds at every moment of an audit, so that it may stop or run on.

The event S is fixed in advance; trials of both sides come in any order, also one that depends on
what was seen. With k successes in n trials of rate p,

.. math::
   M(p) = \frac{B(k + 1/2, n - k + 1/2) / B(1/2, 1/2)}{p^k (1 - p)^{n - k}}

is a martingale of mean 1 at the true rate (a mixture of likelihood ratios over Jeffreys' prior;
Robbins 1970). The sides are independent, so :math:`M_+(p) M_-(q)` is one too, and by Ville's
inequality it ever reaches 1/error with probability at most the error. If the mechanism is
:math:`(\epsilon, \delta)`-private its rates satisfy :math:`p \le e^\epsilon q + \delta`; so
whenever the product is at least 1/error at *every* such pair, the claim is refuted, at any time,
with that error for all times together. The least product lies on the line
:math:`p = e^\epsilon q + \delta`, where its logarithm is convex. Proof and cost:
``docs/proofs/confidence-sequence.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from scipy.special import betaln

from accountants import ranges
from accountants.errors import ParameterError
from dpaudit.estimators.arrays import error_of
from dpaudit.estimators.clopper_pearson import MAX_TRIALS
from dpaudit.estimators.epsilon_bounds import Direction, as_direction
from dpaudit.estimators.score_estimate import ScoreEstimate

_SLACK = 1e-9  # of the logarithm: more than a search that ends a little early
_ROUNDING = 1e-13  # and of each trial
_EPSILON_MAX = 60.0
_STEPS = 200
_ASSUMPTIONS = (
    "trials are independent, and on each side identically distributed",
    "direction and event were fixed before the first of these trials",
)


@dataclass(frozen=True, kw_only=True)
class SequentialCounts:
    """Counts of one fixed event so far; `update` returns the counts after more trials.

    Attributes
    ----------
    true_positives, positives : int
        Hits among the trials of the positive side, and their number.
    false_positives, negatives : int
        The same of the negative side.
    direction : {"add", "remove"}
        Whether the trials with the canary are the positives.
    threshold : float or None
        What the event is, if it is a threshold; only recorded.

    Raises
    ------
    ParameterError
        If a count is not a whole number in its range.
    """

    true_positives: int = 0
    positives: int = 0
    false_positives: int = 0
    negatives: int = 0
    direction: Direction = "add"
    threshold: float | None = None

    def __post_init__(self) -> None:
        """Check the counts."""
        as_direction(self.direction)
        for hits, trials in (("true_positives", "positives"), ("false_positives", "negatives")):
            most = ranges.whole(trials, getattr(self, trials), low=0, high=MAX_TRIALS)
            ranges.whole(hits, getattr(self, hits), low=0, high=most)

    def update(
        self,
        *,
        true_positives: int = 0,
        positives: int = 0,
        false_positives: int = 0,
        negatives: int = 0,
    ) -> SequentialCounts:
        """Return the counts with those of more trials added.

        Raises
        ------
        ParameterError
            If a number is not a whole number >= 0, or hits exceed their trials.
        """
        new = SequentialCounts(
            true_positives=true_positives,
            positives=positives,
            false_positives=false_positives,
            negatives=negatives,
        )
        return replace(
            self,
            true_positives=self.true_positives + new.true_positives,
            positives=self.positives + new.positives,
            false_positives=self.false_positives + new.false_positives,
            negatives=self.negatives + new.negatives,
        )

    def log_evidence(self, *, epsilon: float, delta: float = 0.0) -> float:
        """Return the logarithm of the evidence against (epsilon, delta), rounded down.

        Parameters
        ----------
        epsilon, delta : float
            The claim: epsilon >= 0, delta in [0, 1].

        Returns
        -------
        float
            At least ln(1/error) at any time with probability at most the error if the claim holds;
            0 if the rates seen do not speak against it.
        """
        epsilon = ranges.non_negative("epsilon", epsilon)
        delta = float(ranges.deltas(delta))
        return max(0.0, self._least(epsilon, delta)[0] - self._slack)

    def refutes(self, *, epsilon: float, delta: float = 0.0, confidence: float = 0.95) -> bool:
        """Whether the claim is refuted now; it may be asked as often as one likes."""
        return self.log_evidence(epsilon=epsilon, delta=delta) >= -math.log(error_of(confidence))

    def epsilon(self, *, delta: float = 0.0, confidence: float = 0.95) -> ScoreEstimate:
        """Return the largest epsilon refuted at ``delta``.

        Parameters
        ----------
        delta : float
            0 to 1.
        confidence : float
            One-sided, for all times together; 0.5 to 1 - 1e-9.

        Returns
        -------
        ScoreEstimate
            With a reason if the bound is 0.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        """
        goal = -math.log(error_of(confidence)) + self._slack
        delta = float(ranges.deltas(delta))
        low = 0.0
        value, high_rate, low_rate = self._least(0.0, delta)
        reason = None
        if value < goal:
            reason = "the evidence against epsilon 0 does not reach the confidence"
        else:
            high = _EPSILON_MAX
            for _ in range(60):
                middle = (low + high) / 2
                value, p, q = self._least(middle, delta)
                if value >= goal:
                    low, high_rate, low_rate = middle, p, q
                else:
                    high = middle
        sides = (self.positives, self.negatives)
        inside, outside = sides if self.direction == "add" else sides[::-1]
        return ScoreEstimate(
            quantity="epsilon",
            lower=low,
            given={"delta": delta},
            confidence=confidence,
            direction=self.direction,
            threshold=self.threshold,
            true_positives=self.true_positives,
            false_positives=self.false_positives,
            trials_in=inside,
            trials_out=outside,
            tpr_lower=high_rate,
            fpr_upper=low_rate,
            error_shares={"both rates, at all times": 1.0 - confidence},
            method="product of two mixture martingales, valid at every time",
            assumptions=_ASSUMPTIONS,
            reason=reason,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SequentialCounts:
        """Return the counts that `to_dict` wrote.

        Raises
        ------
        ParameterError
            If keys are missing or unknown, or a value is not allowed.
        """
        names = set(cls.__dataclass_fields__)
        if set(values) != names:
            wrong = ", ".join(sorted(names ^ set(values)))
            raise ParameterError(f"counts: missing or unknown keys: {wrong}")
        return cls(**values)

    @property
    def _slack(self) -> float:
        return _SLACK + _ROUNDING * (self.positives + self.negatives)

    def _least(self, epsilon: float, delta: float) -> tuple[float, float, float]:
        """Return the least ln M(p) M(q) over the pairs that the claim allows, and that pair."""
        k, n, j, m = self.true_positives, self.positives, self.false_positives, self.negatives
        start = _log_prior(k, n) + _log_prior(j, m)
        seen = (k / n if n else 0.0, j / m if m else 1.0)
        factor = math.exp(epsilon)
        if seen[0] <= factor * seen[1] + delta or delta >= 1:
            return start - _log_likelihood(k, n, seen[0]) - _log_likelihood(j, m, seen[1]), *seen

        def value(q: float) -> float:
            p = min(factor * q + delta, 1.0)
            return start - _log_likelihood(k, n, p) - _log_likelihood(j, m, q)

        # on the line; q lies between the rate seen and where p reaches the one seen
        low, high = seen[1], min((seen[0] - delta) / factor, 1.0)
        for _ in range(_STEPS):
            third = (high - low) / 3
            if value(low + third) <= value(high - third):
                high -= third
            else:
                low += third
            if third <= 1e-15 * high:
                break
        q = (low + high) / 2
        return min(value(low), value(q), value(high)), min(factor * q + delta, 1.0), q


def _log_prior(hits: int, trials: int) -> float:
    """Logarithm of the mixture's numerator, B(k + 1/2, n - k + 1/2) / B(1/2, 1/2)."""
    value = float(betaln(hits + 0.5, trials - hits + 0.5)) - math.log(math.pi)
    return value - 1e-14 * abs(value)


def _log_likelihood(hits: int, trials: int, rate: float) -> float:
    """Return k ln p + (n - k) ln (1 - p), 0 ln 0 being 0."""
    value = 0.0
    if hits:
        value += hits * math.log(rate) if rate > 0 else -math.inf
    if trials - hits:
        value += (trials - hits) * math.log1p(-rate) if rate < 1 else -math.inf
    return value
