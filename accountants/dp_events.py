"""Guarantees as events of dp_accounting, and an accountant that composes them with its own.

``GuaranteeAccountant().compose(ProfileDpEvent(guarantee), count=365)`` composes a guarantee of this
package with Gaussian, Laplace, sampled, self-composed and composed events of dp_accounting. Made
for dp_accounting 0.6: it overrides ``PLDAccountant._maybe_compose``, which is not public there.

The numbers are dp_accounting's. Its compositions are discrete Fourier transforms in double
precision, whose error is not added to its results (3e-15 of delta for a hundred responses).
:func:`accountants.composition.compose_sequentially` composes guarantees with all errors added.
"""

from typing import Any

import attr
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant

from accountants import ranges
from accountants.errors import ParameterError
from accountants.guarantee import Guarantee, Relation, View
from accountants.loss_distribution import dominating

RELATIONS: dict[NeighboringRelation, Relation] = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "add-remove",
    NeighboringRelation.REPLACE_ONE: "replace-one",
}
"""dp_accounting's relations of which guarantees can speak; of the others they say nothing."""

_Problem = PrivacyAccountant.CompositionErrorDetails


@attr.s(frozen=True, auto_attribs=True, eq=False, repr=False)
class ProfileDpEvent(dp_event.DpEvent):  # type: ignore[misc]
    """The release of something that has a guarantee.

    Attributes
    ----------
    guarantee : Guarantee
        Its profile, adjacency and view. Two events are equal if their guarantees are.
    """

    guarantee: Guarantee

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProfileDpEvent):
            return NotImplemented
        return bool(self.guarantee == other.guarantee)

    def __hash__(self) -> int:
        given = self.guarantee
        return hash((given.name, given.adjacency, given.view, given.source))

    def __repr__(self) -> str:
        given = self.guarantee
        return f"ProfileDpEvent({given.name!r}: {given.adjacency}, {given.view})"


class GuaranteeAccountant(PLDAccountant):  # type: ignore[misc]
    """Composes guarantees and events of dp_accounting.

    Parameters
    ----------
    neighboring_relation : NeighboringRelation
        One record added or removed, or replaced. A guarantee about other neighbours is refused, as
        is every guarantee under ``REPLACE_SPECIAL``.
    value_discretization_interval : float
        Distance of the grid's points, > 0.
    view : View
        Of which guarantees may speak; events of dp_accounting are taken as released to that view.
    points : int
        Samples of each profile, >= 20.

    Raises
    ------
    ParameterError
        If a value is not allowed.
    """

    _pld: Any

    def __init__(
        self,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
        value_discretization_interval: float = 1e-4,
        *,
        view: View | None = None,
        points: int = 200,
    ) -> None:
        interval = ranges.positive("value_discretization_interval", value_discretization_interval)
        super().__init__(neighboring_relation, interval)
        self.view = View() if view is None else view
        self._points = ranges.whole("points", points, low=20)

    def compose(self, event: dp_event.DpEvent, count: int = 1) -> "GuaranteeAccountant":
        """Add ``event``, ``count`` times, and return this accountant.

        Raises
        ------
        dp_accounting.UnsupportedEventError
            If the event, or a part of it, is not supported: another relation or view, sampling of a
            guarantee, or an event unknown here.
        ParameterError
            If ``count`` is not a whole number >= 1, or the grid is too fine for a guarantee.
        """
        super().compose(event, ranges.positive_integer("count", count))
        return self

    def get_epsilon(self, target_delta: float) -> float:
        """Return the epsilon at ``target_delta`` in [0, 1]; ``inf`` if there is none.

        Raises
        ------
        ParameterError
            If ``target_delta`` lies outside [0, 1] or is NaN.
        """
        target = float(ranges.deltas(target_delta))
        if target == 1:
            return 0.0
        return max(float(super().get_epsilon(target)), 0.0)

    def get_delta(self, target_epsilon: float) -> float:
        """Return the delta at ``target_epsilon`` >= 0.

        Raises
        ------
        ParameterError
            If ``target_epsilon`` is negative or NaN.
        """
        target = float(ranges.epsilons(target_epsilon))
        if target == float("inf") and not self._contains_non_dp_event:
            pmfs = {self._pld._pmf_remove, self._pld._pmf_add}
            return min(max(float(pmf._infinity_mass) for pmf in pmfs), 1.0)
        return min(max(float(super().get_delta(target)), 0.0), 1.0)

    def _maybe_compose(self, event: dp_event.DpEvent, count: int, do_compose: bool) -> Any:
        if isinstance(event, ProfileDpEvent):
            problem = self._mismatch(event.guarantee)
            if problem:
                return _Problem(invalid_event=event, error_message=problem)
            if do_compose:
                loss = dominating(event.guarantee.profile, points=self._points)
                pld = loss.to_pld(interval=self._value_discretization_interval)
                self._pld = self._pld.compose(pld.self_compose(count))
            return None
        if isinstance(event, dp_event.RandomizedResponseDpEvent):
            return self._randomized_response(event, count, do_compose)
        return super()._maybe_compose(event, count, do_compose)

    def _mismatch(self, guarantee: Guarantee) -> str | None:
        """Say why ``guarantee`` cannot be composed here, or None."""
        relation = RELATIONS.get(self.neighboring_relation)
        if relation is None:
            return f"a guarantee says nothing about {self.neighboring_relation.name}"
        if guarantee.adjacency.relation != relation or guarantee.adjacency.records != 1:
            return f"adjacency is {guarantee.adjacency}, {relation} of 1 record is needed"
        if guarantee.view != self.view:
            return f"view is {guarantee.view}, {self.view} is needed"
        return None

    def _randomized_response(
        self, event: dp_event.RandomizedResponseDpEvent, count: int, do_compose: bool
    ) -> Any:
        """Compose ``count`` times: dp_accounting 0.6 composes it once, whatever the count."""
        trivial = event.num_buckets == 1 or event.noise_parameter == 0
        if not do_compose or count == 1 or trivial:
            return super()._maybe_compose(event, count, do_compose)
        one = privacy_loss_distribution.from_randomized_response(
            noise_parameter=event.noise_parameter,
            num_buckets=event.num_buckets,
            value_discretization_interval=self._value_discretization_interval,
            neighboring_relation=self.neighboring_relation,
        )
        self._pld = self._pld.compose(one.self_compose(count))
        return None


def relation_of(guarantee: Guarantee) -> NeighboringRelation:
    """Return dp_accounting's neighbours for those of ``guarantee``.

    Raises
    ------
    ParameterError
        If a user contributes more than one record.
    """
    if guarantee.adjacency.records != 1:
        raise ParameterError(f"adjacency = {guarantee.adjacency}: one record is needed")
    names = {ours: theirs for theirs, ours in RELATIONS.items()}
    return names[guarantee.adjacency.relation]
