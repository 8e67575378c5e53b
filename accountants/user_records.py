r"""Guarantees for all records of one user together, wherever they fall: by group privacy.

Equal steps of one record each, so

.. math::
   \delta_m(\epsilon) \le \frac{e^\epsilon - 1}{e^{\epsilon/m} - 1}\, \delta(\epsilon/m),

however the records are spread over the buckets (``docs/proofs/group-release.md``).
:class:`accountants.group_privacy.GroupProfile` looks for better steps and for the least bound up to
each epsilon, at the price of many evaluations of the base; this one is for a base that takes a
tenth of a second an epsilon.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.errors import ParameterError
from accountants.guarantee import Guarantee
from accountants.inversion import falling_root
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from accountants.tight_total import ONE_RECORD

_UNIT = 2.0**-53
_RELATIVE, _EPSILON_MAX = 1e-4, 1e6
_LADDER = np.geomspace(1e-3, 1e3, 25)


@dataclass(frozen=True, kw_only=True)
class UserRecords(PrivacyProfile):
    """Black-box group privacy of ``size`` records, from a bound for one.

    Parameters
    ----------
    base : PrivacyProfile
        Bound for one record, in both directions.
    size : int
        m, 1 to 1e6.

    Raises
    ------
    ParameterError
        If ``size`` is out of range.
    """

    base: PrivacyProfile
    size: int

    def __post_init__(self) -> None:
        """Check the range."""
        ranges.whole("size", self.size, low=1, high=10**6)

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape.

        The bound rises again once e^epsilon outgrows the base's decline; what holds at a smaller
        epsilon holds at a larger one, but is not looked for here (except at ``inf``).
        """
        values = ranges.epsilons(epsilon)
        bound = self._at(np.where(np.isinf(values), 0.0, values))
        if np.isinf(values).any():
            least = float(np.min(self._at(self.size * _LADDER)))
            none = np.isneginf(self.base.log_delta(np.inf))
            bound = np.where(np.isinf(values), -np.inf if none else least, bound)
        return np.asarray(bound)

    def _at(self, values: Floats) -> Floats:
        """Upper bound of ln delta at finite epsilons."""
        step = values / self.size
        step = np.where(step > 0, np.nextafter(step, 0.0), step)
        there = np.asarray(self.base.log_delta(step))
        total = there + self._log_times(step) + 16 * _UNIT * (2 + values)
        return np.asarray(np.minimum(np.where(np.isneginf(there), -np.inf, total), 0.0))

    def _log_times(self, step: ArrayLike) -> Floats:
        """Return the logarithm of the sum of e^(i step), i < m."""
        s = np.asarray(step, float)
        with np.errstate(invalid="ignore", divide="ignore"):
            long = s * (self.size - 1) + np.log(np.expm1(-s * self.size) / np.expm1(-s))
        return np.asarray(np.where(s > 0, long, np.log(self.size)))

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Smallest epsilon seen to meet each ``delta`` in [0, 1], within 1e-3; same shape."""
        targets = ranges.deltas(delta)
        if self.size == 1:
            return self.base.epsilon(targets)
        return np.array([self._one(float(d)) for d in targets.ravel()]).reshape(targets.shape)

    def _one(self, delta: float) -> float:
        """Find the first crossing from the least epsilon that is possible, going up."""
        if delta == 1:
            return 0.0
        low = self.size * float(self.base.epsilon(delta))
        if delta == 0 or not np.isfinite(low):
            return low

        def excess(epsilon: float) -> float:
            return float(self._at(np.asarray(epsilon))) - float(np.log(delta))

        value_low = excess(low)
        if value_low <= 0:
            return low
        step = 0.05 * low + 1e-3
        high, least = low + step, value_low
        while (value_high := excess(high)) > 0:
            if value_high > least + 1.0 or high > _EPSILON_MAX:  # it rises again
                return float("inf")
            low, value_low, least = high, value_high, min(least, value_high)
            high, step = high + 2 * step, 2 * step
        return falling_root(
            excess,
            low,
            high,
            value_low=value_low,
            value_high=value_high,
            tolerance=lambda epsilon: _RELATIVE * epsilon,
        )


def group_of(guarantee: Guarantee, *, records: int) -> Guarantee:
    """Return the guarantee for ``records`` records of one user, wherever they fall.

    Parameters
    ----------
    guarantee : Guarantee
        For one record, under add-remove adjacency.
    records : int
        l, 1 to 1e6.

    Raises
    ------
    ParameterError
        If the guarantee is for more than one record or not under add-remove adjacency, or
        ``records`` is out of range.
    """
    if guarantee.adjacency.relation != "add-remove" or guarantee.adjacency.records != 1:
        raise ParameterError(
            f"adjacency of '{guarantee.name}' is {guarantee.adjacency}: add-remove of 1 record is "
            "needed"
        )
    ranges.whole("records", records, low=1, high=10**6)
    if records == 1:
        return guarantee
    return replace(
        guarantee,
        profile=UserRecords(base=guarantee.profile, size=records),
        adjacency=replace(guarantee.adjacency, records=records),
        assumptions=(
            *(text for text in guarantee.assumptions if text != ONE_RECORD),
            f"One user contributes at most {records} records.",
        ),
        source=guarantee.source + "; group privacy (docs/proofs/group-release.md)",
    )
