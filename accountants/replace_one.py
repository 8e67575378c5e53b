r"""From add-remove to replace-one adjacency.

Let P, Q, R be the outcomes with x, without either, and with y in its place, and let
:math:`\delta` bound both neighbours of Q in both directions. Two routes, proved in
``docs/proofs/replace-one.md``:

*generic*: :math:`\delta_R(\epsilon) \le (1 + e^{\epsilon/2})\, \delta(\epsilon/2)`;

*coin*: if y takes part with a coin of its own of probability p, then :math:`Q \le R/(1-p)`, so
:math:`\delta_R(\epsilon) \le \delta(\epsilon - c)` with :math:`c = \ln 1/(1-p)`, and
:math:`\delta_R(\epsilon) \le 1 - a + a\, \delta(-\ln a)`, :math:`a = e^{\epsilon - c}`, below c.

With l records replaced, c is l times as large. Where x and y fall into one bucket the pair is
explicit and :class:`ReplaceInBucket` bounds it directly.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.binomial import log_upper_tail
from accountants.errors import ParameterError
from accountants.gaussian import log_hockey_stick
from accountants.guarantee import Guarantee
from accountants.inversion import smallest_epsilon
from accountants.joint_release import JointRelease
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats

Route = Literal["coin", "generic"]

_UNIT = 2.0**-53


@dataclass(frozen=True, kw_only=True)
class ReplaceOneProfile(PrivacyProfile):
    r"""Replace-one from an add-remove bound: the better route at each epsilon.

    Parameters
    ----------
    base : PrivacyProfile
        Add-remove bound of the same records, in both directions.
    sampling_rate : float
        p in (0, 1]: each record's own coin. At 1 only the generic route is left.
    records : int
        l >= 1 records replaced together.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """

    base: PrivacyProfile
    sampling_rate: float
    records: int = 1

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.sampling_rate(self.sampling_rate)
        ranges.positive_integer("records", self.records)

    @property
    def coin_epsilon(self) -> float:
        """Return l ln 1/(1-p), rounded up: what the coin route adds; ``inf`` at p = 1."""
        if self.sampling_rate == 1:
            return float("inf")
        return float(-np.log1p(-self.sampling_rate)) * self.records * (1 + 4 * _UNIT)

    def log_delta_by(self, route: Route, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta by one route, at each ``epsilon`` >= 0; same shape."""
        values = ranges.epsilons(epsilon)
        if route == "generic":
            half = values / 2
            value = np.asarray(self.base.log_delta(half)) + np.logaddexp(0.0, half)
            value = np.where(np.isinf(half), self.base.log_delta(np.inf), value)
            return np.asarray(np.minimum(value + 4 * _UNIT * (2 + half), 0.0))
        if self.sampling_rate == 1:
            return np.zeros(values.shape)
        gap = np.where(np.isinf(values), np.inf, values - self.coin_epsilon)
        gap = np.where(np.isfinite(gap), np.nextafter(gap, -np.inf), gap)
        there = np.asarray(self.base.log_delta(np.abs(gap)))
        low = np.minimum(gap, 0.0)
        with np.errstate(divide="ignore"):
            below = np.log(-np.expm1(low) + np.exp(low + there)) + 8 * _UNIT
        return np.asarray(np.minimum(np.where(gap < 0, below, there), 0.0))

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        return np.minimum(self.log_delta_by("coin", epsilon), self.log_delta_by("generic", epsilon))

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Epsilon by the better route at each ``delta`` in [0, 1], rounded up; same shape."""
        targets = ranges.deltas(delta)
        return np.array([self._routes(float(d))[0] for d in targets.ravel()]).reshape(targets.shape)

    def route(self, delta: float) -> Route:
        """Return which route gives the smaller epsilon at ``delta``.

        Raises
        ------
        ParameterError
            If ``delta`` does not lie in [0, 1].
        """
        ranges.deltas(delta)
        return self._routes(delta)[1]

    def _routes(self, delta: float) -> tuple[float, Route]:
        if delta == 1:
            return 0.0, "generic"
        step = self.coin_epsilon
        direct = float(self.base.epsilon(delta))
        coin = float(np.nextafter(direct + step, np.inf)) if np.isfinite(step) else float("inf")
        if np.isinf(coin):
            generic = float(smallest_epsilon(lambda e: self.log_delta_by("generic", e), delta))
            return generic, "generic"
        if direct > step:  # the generic route costs twice epsilon, and delta besides
            return coin, "coin"
        # a half of at most c meets delta / (1 + e^c)
        half = float(self.base.epsilon(delta / (1 + np.exp(step)) * (1 - 8 * _UNIT)))
        return (2 * half, "generic") if half <= step and 2 * half < coin else (coin, "coin")


def replace_one(guarantee: Guarantee, *, sampling_rate: float) -> Guarantee:
    """Return the replace-one guarantee that follows from an add-remove one.

    Parameters
    ----------
    guarantee : Guarantee
        Under add-remove adjacency, of any number of records of one user.
    sampling_rate : float
        p in (0, 1]: the coin with which each record takes part.

    Raises
    ------
    ParameterError
        If the guarantee is not an add-remove one, or ``sampling_rate`` is out of range.
    """
    if guarantee.adjacency.relation != "add-remove":
        raise ParameterError(
            f"adjacency of '{guarantee.name}' is {guarantee.adjacency}: add-remove is needed"
        )
    return replace(
        guarantee,
        profile=ReplaceOneProfile(
            base=guarantee.profile,
            sampling_rate=sampling_rate,
            records=guarantee.adjacency.records,
        ),
        adjacency=replace(guarantee.adjacency, relation="replace-one"),
        source=guarantee.source + "; replace-one by the record's coin or in two steps "
        "(docs/proofs/replace-one.md)",
    )


@dataclass(frozen=True, kw_only=True)
class ReplaceInBucket(PrivacyProfile):
    r"""A record replaced by another one of the same bucket: count and noisy sum.

    With :math:`\alpha = e^\epsilon`, :math:`a = 1 + (\alpha - 1)/p` and :math:`\beta = \alpha/a`,
    advanced joint convexity gives

    .. math::
       \delta \le (1 - \beta)\, J(\epsilon; N, \Delta/\sigma)
          + \beta\, p \Pr[1 + Bin(N, p) \ge \tau]\, H_a(N(\mu, 1) \| N(0, 1)),

    J the "add" bound of Theorem J and :math:`\mu` the distance of the two records over
    :math:`\sigma`.

    Parameters
    ----------
    sampling_rate : float
        p in (0, 1].
    threshold : int
        :math:`\tau \ge 1`.
    shift : float
        :math:`\Delta/\sigma \ge 0`: to every other record of the bucket.
    replaced_shift : float
        :math:`\mu \ge 0`; at most twice ``shift`` if there are others.
    others : int, optional
        N; without it the bound holds for every N.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.

    Notes
    -----
    Adjacency: replace-one of one record, within one bucket. View: public.
    """

    sampling_rate: float
    threshold: int
    shift: float
    replaced_shift: float
    others: int | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        _ = self._joint
        ranges.non_negative("replaced_shift", self.replaced_shift, finite=False)

    @property
    def _joint(self) -> JointRelease:
        return JointRelease(
            sampling_rate=self.sampling_rate,
            threshold=self.threshold,
            shift=self.shift,
            others=self.others,
        )

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        eps = ranges.epsilons(epsilon)
        p = self.sampling_rate
        with np.errstate(invalid="ignore", divide="ignore"):
            log_a = eps + np.log1p((1 - p) / p * -np.expm1(-eps))
            log_a = np.where(np.isinf(eps), np.inf, log_a - 8 * _UNIT * (1 + log_a))
            log_beta = np.where(np.isinf(eps), np.log(p), np.minimum(eps - log_a, 0.0))
            log_rest = np.log(-np.expm1(np.minimum(log_beta, -0.0)))
        apart = np.log(p) + log_hockey_stick(log_a, self.replaced_shift)
        if self.others is not None:
            reached = log_upper_tail(self.threshold - 1, self.others, p) if p < 1 else 0.0
            apart = apart + (reached if self.threshold > 1 else 0.0)
        joint = self._joint.log_delta_add(eps) if p < 1 else np.zeros(eps.shape)
        total = np.logaddexp(log_rest + joint, log_beta + apart)
        return np.asarray(np.minimum(total + 1e-14, 0.0))
