r"""Replace-one adjacency, from add-remove guarantees and directly.

Let x be replaced by y, M(X) be the release without either, and :math:`\delta` an add-remove profile
that covers both directions.

*Generic.* Two steps of group privacy: :math:`\delta_{rep}(2\epsilon) \le (1 + e^\epsilon)
\delta(\epsilon)`, or unequal steps (:class:`accountants.group_privacy.GroupProfile`).

*By the coin.* If y takes part with probability at most p, :math:`M(X+y) \ge (1-p) M(X)`; with l
records for one user :math:`M(X+y) \ge (1-p)^l M(X)`. With :math:`\lambda = l \ln 1/(1-p)`

.. math::
   \delta_{rep}(\epsilon) \le \delta(\epsilon - \lambda) \text{ for } \epsilon \ge \lambda, \qquad
   \delta_{rep}(\epsilon) \le 1 - \alpha + \alpha\, \delta(\lambda - \epsilon),\;
   \alpha = e^{\epsilon - \lambda}, \text{ below},

and never more than :math:`1 - (1-p)^l`, the probability that one of them takes part at all.

*Into another bucket* of its own coins and noise: :func:`across_buckets`.

*Within one bucket*, by Theorem J's argument:
:class:`accountants.replace_in_bucket.ReplaceInBucket`.

Proofs: ``docs/proofs/replace-one.md``.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.composition import ComposedProfile
from accountants.errors import ParameterError
from accountants.gaussian import exp_up
from accountants.guarantee import Guarantee
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from accountants.user_records import UserRecords

GENERIC = "two steps of add-remove"
COIN = "participation coin"

_UNIT = 2.0**-53


@dataclass(frozen=True, kw_only=True)
class CoinChain(PrivacyProfile):
    r"""Replace-one from add-remove, by the participation coin of the record that is put in.

    Parameters
    ----------
    base : PrivacyProfile
        The add-remove profile, both directions.
    sampling_rate : float
        p in (0, 1]; every record takes part with this probability at most, by its own coin.
    records : int
        l >= 1, how many records are replaced at once; the base covers as many.

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
    def surcharge(self) -> float:
        """Return l ln 1/(1-p), what the coin costs in epsilon, rounded up; ``inf`` at p = 1."""
        if self.sampling_rate == 1:
            return float("inf")
        return float(-self.records * np.log1p(-self.sampling_rate) * (1 + 4 * _UNIT))

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        values = ranges.epsilons(epsilon)
        surcharge = self.surcharge
        if np.isinf(surcharge):
            return np.zeros(values.shape)
        gap = values - surcharge
        gap = gap - 4 * _UNIT * (np.where(np.isinf(gap), 0.0, np.abs(gap)) + surcharge)
        some = float(np.log(-np.expm1(-surcharge))) * (1 - 4 * _UNIT) + 4 * _UNIT
        above = np.minimum(self.base.log_delta(np.maximum(gap, 0.0)), min(some, 0.0))
        if np.all(gap >= 0):
            return above
        down = np.maximum(surcharge * (1 - 16 * _UNIT) - values, 0.0)
        back = exp_up(self.base.log_delta(down))
        alpha = np.exp(np.minimum(gap, 0.0))
        below = -np.expm1(np.minimum(gap, 0.0)) + alpha * back
        with np.errstate(divide="ignore"):
            low = np.minimum(np.log(below) + 16 * _UNIT, min(some, 0.0))
        return np.where(gap >= 0, above, low)

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Return the base's epsilon at each ``delta``, and the surcharge; rounded up; same shape.

        0 where one of the records hardly ever takes part; not the smallest one below the surcharge.
        """
        targets = ranges.deltas(delta)
        surcharge = self.surcharge
        if np.isinf(surcharge):
            return np.where(targets < 1, np.inf, 0.0)
        some = -np.expm1(-surcharge) * (1 + 16 * _UNIT)
        there = np.asarray(self.base.epsilon(targets)) + surcharge
        moved = np.nextafter(there * (1 + 16 * _UNIT), np.inf)
        return np.where(targets >= some, 0.0, moved)


def across_buckets(base: PrivacyProfile, *, points: int = 200) -> ComposedProfile:
    """Return the bound for a record replaced by one in another bucket.

    One bucket loses a record and another gains one; their coins and noise are independent, and
    nothing else is released of them, so this is ``base`` composed with itself.

    Parameters
    ----------
    base : PrivacyProfile
        One bucket's add-remove profile, both directions, for buckets of any size.
    points : int
        Samples of it, >= 20; see :class:`accountants.composition.ComposedProfile`.

    Raises
    ------
    ParameterError
        If ``points`` is too small.

    Notes
    -----
    Adjacency: replace-one. View: that of ``base``. For the count alone
    (:class:`accountants.sample_threshold.SampleThreshold`) it covers one bucket as well, where a
    replaced record changes nothing. Proof: ``docs/proofs/replace-one.md``.
    """
    return ComposedProfile(profiles=(base,), counts=(2,), points=points)


@dataclass(frozen=True, kw_only=True)
class ReplaceOne(PrivacyProfile):
    """The least of all routes to replace-one adjacency that are valid, at each epsilon.

    Parameters
    ----------
    routes : tuple of (str, PrivacyProfile)
        Each with its name.

    Raises
    ------
    ParameterError
        If there is none.
    """

    routes: tuple[tuple[str, PrivacyProfile], ...]

    def __post_init__(self) -> None:
        """Check that there is a route."""
        if not self.routes:
            raise ParameterError("routes = (): at least one is needed")

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        return np.asarray(np.min([route.log_delta(epsilon) for _, route in self.routes], axis=0))

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Least epsilon of the routes at each ``delta`` in [0, 1]; same shape."""
        targets = ranges.deltas(delta)
        best = [self._best(float(target))[0] for target in targets.ravel()]
        return np.array(best, dtype=float).reshape(targets.shape)

    def winner(self, delta: float) -> str:
        """Return the name of the route with the least epsilon at ``delta``.

        Raises
        ------
        ParameterError
            If ``delta`` is not in [0, 1].
        """
        return self._best(float(ranges.deltas(delta)))[1]

    def _best(self, delta: float) -> tuple[float, str]:
        """Return the least epsilon at ``delta`` and the route; a route already too high is left."""
        best, name = np.inf, self.routes[0][0]
        for other, route in self.routes:
            if np.isfinite(best) and route.delta(best * (1 - 1e-9)) > delta:
                continue
            epsilon = float(route.epsilon(delta))
            if epsilon < best:
                best, name = epsilon, other
        return best, name


def replace_one(guarantee: Guarantee, *, sampling_rate: float) -> Guarantee:
    """Return the guarantee under replace-one adjacency that follows from an add-remove one.

    Parameters
    ----------
    guarantee : Guarantee
        For add-remove adjacency, of any number of records of one user.
    sampling_rate : float
        p in (0, 1], with which each record takes part at most; at 1 the coin helps nothing.

    Returns
    -------
    Guarantee
        Its profile is a :class:`ReplaceOne`, which names the route that is best at a delta.

    Raises
    ------
    ParameterError
        If ``sampling_rate`` lies outside (0, 1], or the adjacency is not add-remove.
    """
    ranges.sampling_rate(sampling_rate)
    if guarantee.adjacency.relation != "add-remove":
        raise ParameterError(
            f"guarantee.adjacency = {guarantee.adjacency}: an add-remove guarantee is needed"
        )
    routes: list[tuple[str, PrivacyProfile]] = [
        (GENERIC, UserRecords(base=guarantee.profile, size=2))  # the base may be slow
    ]
    assumptions = guarantee.assumptions
    if sampling_rate < 1:
        coin = CoinChain(
            base=guarantee.profile,
            sampling_rate=sampling_rate,
            records=guarantee.adjacency.records,
        )
        routes.insert(0, (COIN, coin))
        assumptions += (
            f"Each record takes part with probability at most {sampling_rate:g}, by its own coin; "
            "otherwise the release does not depend on it.",
        )
    return replace(
        guarantee,
        profile=ReplaceOne(routes=tuple(routes)),
        adjacency=replace(guarantee.adjacency, relation="replace-one"),
        assumptions=assumptions,
        source=guarantee.source + "; replace-one (docs/proofs/replace-one.md)",
    )
