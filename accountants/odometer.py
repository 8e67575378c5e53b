r"""Privacy budgets over many releases: an odometer, and a schedule fixed in advance.

What may be added up depends on who chooses, and when.

* :class:`Odometer`: each next mechanism, its parameters and its delta may be chosen after seeing
  all earlier outputs. Then the plain sums of epsilons and deltas are valid as a filter: no run is
  started that would bring a sum above its budget (Rogers, Roth, Ullman and Vadhan 2016, Theorem
  3.6). Composed privacy losses are not: whoever chooses the next mechanism by the loss so far can
  exceed them (there is a counterexample in ``docs/proofs/composition.md``).
* :class:`Schedule`: the mechanisms and their order were fixed before the first run, whatever the
  data; only inputs may depend on outputs, and one may stop early. Then their losses compose
  (:mod:`accountants.composition`), which allows more runs for the same budget.

Both are immutable: a charge returns a new one, and a refused charge changes nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from accountants import ranges
from accountants.composition import ComposedProfile
from accountants.errors import MismatchError, ParameterError
from accountants.guarantee import Adjacency, Guarantee, View


class BudgetExceededError(ParameterError):
    """A run would bring what is spent above the budget; it must not be made."""


@dataclass(frozen=True, kw_only=True)
class Charge:
    """Runs that were charged.

    Parameters
    ----------
    name : str
        Of the guarantee.
    epsilon, delta : float
        Of each run: finite and >= 0; in [0, 1].
    count : int
        Runs, >= 1.

    Raises
    ------
    ParameterError
        If a value is not allowed.
    """

    name: str
    epsilon: float
    delta: float
    count: int = 1

    def __post_init__(self) -> None:
        """Check the values."""
        if not isinstance(self.name, str):
            raise ParameterError(f"name = {self.name!r}: a text is needed")
        ranges.non_negative("epsilon", self.epsilon)
        _delta(self.delta)
        ranges.positive_integer("count", self.count)


@dataclass(frozen=True, kw_only=True)
class Odometer:
    """Sums of epsilon and delta; valid for mechanisms chosen adaptively.

    Parameters
    ----------
    epsilon_budget : float
        Finite, >= 0.
    delta_budget : float
        In [0, 1].
    adjacency : Adjacency
        About which neighbours all guarantees have to speak.
    view : View
        About which view.
    charges : tuple of Charge
        What was spent so far.

    Raises
    ------
    ParameterError
        If a value is not allowed.
    BudgetExceededError
        If the charges exceed the budget.
    """

    epsilon_budget: float
    delta_budget: float
    adjacency: Adjacency
    view: View
    charges: tuple[Charge, ...] = ()

    def __post_init__(self) -> None:
        """Check the values, and that the budget holds."""
        ranges.non_negative("epsilon_budget", self.epsilon_budget)
        _delta(self.delta_budget)
        for name, spent, budget in (
            ("epsilon", self.epsilon, self.epsilon_budget),
            ("delta", self.delta, self.delta_budget),
        ):
            if spent > budget:
                raise BudgetExceededError(f"{name} = {spent!r}: at most {budget!r} is budgeted")

    @property
    def epsilon(self) -> float:
        """Sum of the epsilons, correctly rounded: it is at most half a unit in the last place off.

        The guarantee after the charges is (``epsilon``, ``delta``).
        """
        return _total([(charge.epsilon, charge.count) for charge in self.charges])

    @property
    def delta(self) -> float:
        """Sum of the deltas, correctly rounded."""
        return _total([(charge.delta, charge.count) for charge in self.charges])

    def charge(
        self,
        guarantee: Guarantee,
        *,
        delta: float | None = None,
        epsilon: float | None = None,
        count: int = 1,
    ) -> "Odometer":
        """Return the odometer after ``count`` runs, each charged one point of its profile.

        The point is that at ``delta`` or that at ``epsilon``, of which exactly one is given.

        Raises
        ------
        MismatchError
            If the guarantee is about other neighbours or another view.
        BudgetExceededError
            If not all of the runs fit in the budget; none is charged.
        ParameterError
            If a value is not allowed.
        """
        _about(guarantee, self.adjacency, self.view)
        if (delta is None) == (epsilon is None):
            raise ParameterError(f"delta, epsilon = {delta!r}, {epsilon!r}: one of them is needed")
        if epsilon is not None:
            spent = ranges.non_negative("epsilon", epsilon)
            delta = float(guarantee.delta(spent))
        elif delta is not None:
            spent = float(guarantee.epsilon(_delta(delta)))
            if math.isinf(spent):
                raise BudgetExceededError(f"epsilon of '{guarantee.name}' at {delta!r} = inf")
        charge = Charge(name=guarantee.name, epsilon=spent, delta=float(delta or 0), count=count)
        return replace(self, charges=(*self.charges, charge))

    def can_run(
        self,
        guarantee: Guarantee,
        *,
        delta: float | None = None,
        epsilon: float | None = None,
        count: int = 1,
    ) -> bool:
        """Whether :meth:`charge` would be accepted; raises what it raises but for the budget."""
        try:
            self.charge(guarantee, delta=delta, epsilon=epsilon, count=count)
        except BudgetExceededError:
            return False
        return True

    def to_dict(self) -> dict[str, Any]:
        """Return all as texts, numbers, lists and dicts, for a JSON file."""
        return {
            "epsilon_budget": self.epsilon_budget,
            "delta_budget": self.delta_budget,
            "adjacency": dict(vars(self.adjacency)),
            "view": dict(vars(self.view)),
            "charges": [dict(vars(charge)) for charge in self.charges],
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Odometer":
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        ParameterError
            If a key is missing or unknown, or a value is not allowed.
        """
        table = _keys("odometer", given, Odometer)
        if not isinstance(table["charges"], list):
            raise ParameterError(f"charges = {table['charges']!r}: a list is needed")
        return cls(
            epsilon_budget=_number("epsilon_budget", table["epsilon_budget"]),
            delta_budget=_number("delta_budget", table["delta_budget"]),
            adjacency=Adjacency(**_keys("adjacency", table["adjacency"], Adjacency)),
            view=View(**_keys("view", table["view"], View)),
            charges=tuple(_read_charge(charge) for charge in table["charges"]),
        )


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Runs of mechanisms fixed in advance, in order; their privacy losses compose.

    Parameters
    ----------
    epsilon_budget : float
        Finite, >= 0: of all runs made, at ``delta_budget``.
    delta_budget : float
        In [0, 1].
    plan : sequence of (Guarantee, int)
        What is run and how often, in this order; declared before the first run.
    done : int
        Runs made so far, from 0 to all that are planned.
    points : int
        Samples of each profile, >= 20.

    Raises
    ------
    MismatchError
        If two guarantees of the plan differ in adjacency or view.
    ParameterError
        If a value is not allowed.
    BudgetExceededError
        If the runs made exceed the budget.

    Notes
    -----
    How many runs fit does not depend on any output, so that the runs that fit are themselves a
    plan fixed in advance, and their composition bounds every prefix of them, stopped whenever and
    for whatever reason.
    """

    epsilon_budget: float
    delta_budget: float
    plan: tuple[tuple[Guarantee, int], ...]
    done: int = 0
    points: int = 200

    def __post_init__(self) -> None:
        """Check the values, and that the budget holds."""
        ranges.non_negative("epsilon_budget", self.epsilon_budget)
        _delta(self.delta_budget)
        ranges.whole("points", self.points, low=20)
        if not self.plan:
            raise ParameterError("plan = (): at least one run is needed")
        self.plan[0][0].about([guarantee for guarantee, _ in self.plan[1:]])
        for _, count in self.plan:
            ranges.positive_integer("count", count)
        ranges.whole("done", self.done, high=self.planned)
        if not self._fits(self.done):
            raise BudgetExceededError(
                f"done = {self.done!r}: the epsilon of so many runs at delta = "
                f"{self.delta_budget!r} is above {self.epsilon_budget!r}"
            )

    @property
    def planned(self) -> int:
        """All runs of the plan."""
        return sum(count for _, count in self.plan)

    @cached_property
    def allowed(self) -> int:
        """How many runs of the plan fit in the budget: 0 to all."""
        low, high = self.done, self.planned
        while low < high:  # delta grows with the number of runs
            middle = (low + high + 1) // 2
            if self._fits(middle):
                low = middle
            else:
                high = middle - 1
        return low

    def epsilon(self, *, delta: float) -> float:
        """Return epsilon at ``delta`` in [0, 1] of the runs made so far; ``inf`` if none.

        Holds if stopping now was planned; the bound that covers stopping for any reason is
        ``epsilon_budget`` at ``delta_budget``.

        Raises
        ------
        ParameterError
            If ``delta`` is not allowed.
        """
        _delta(delta)
        composed = self._composed(self.done)
        return 0.0 if composed is None else float(composed.epsilon(delta))

    def charge(self, guarantee: Guarantee, *, count: int = 1) -> "Schedule":
        """Return the schedule after ``count`` runs of ``guarantee``.

        Raises
        ------
        ParameterError
            If the plan does not have these runs next, or ``count`` is not allowed.
        BudgetExceededError
            If not all of the runs fit in the budget.
        """
        end = self.done + ranges.positive_integer("count", count)
        position = 0
        for planned, number in self.plan:
            if position < end and position + number > self.done and planned != guarantee:
                raise ParameterError(
                    f"guarantee = '{guarantee.name}': the plan has '{planned.name}' next"
                )
            position += number
        if end > position:
            raise ParameterError(
                f"count = {count!r}: the plan has {position - self.done} runs left"
            )
        return replace(self, done=end)

    def can_run(self, guarantee: Guarantee, *, count: int = 1) -> bool:
        """Whether :meth:`charge` would be accepted: planned next, and within the budget.

        Raises
        ------
        ParameterError
            If ``count`` is not allowed.
        """
        ranges.positive_integer("count", count)
        try:
            self.charge(guarantee, count=count)
        except ParameterError:
            return False
        return True

    def _composed(self, runs: int) -> ComposedProfile | None:
        profiles, counts, left = [], [], runs
        for guarantee, number in self.plan:
            used = min(number, left)
            if used > 0:
                profiles.append(guarantee.profile)
                counts.append(used)
            left -= used
        if not counts:
            return None
        return ComposedProfile(profiles=tuple(profiles), counts=tuple(counts), points=self.points)

    def _fits(self, runs: int) -> bool:
        composed = self._composed(runs)
        return composed is None or bool(composed.delta(self.epsilon_budget) <= self.delta_budget)


def _total(parts: Sequence[tuple[float, int]]) -> float:
    """Return the correctly rounded sum of numbers taken several times each."""
    exact = [float(value).as_integer_ratio() for value, _ in parts]
    scale = math.lcm(*(below for _, below in exact))
    total = sum(
        above * (scale // below) * int(count)
        for (above, below), (_, count) in zip(exact, parts, strict=True)
    )
    try:
        return total / scale
    except OverflowError:
        return math.inf


def _delta(value: float) -> float:
    return float(ranges.deltas(value).reshape(()))


def _about(guarantee: Guarantee, adjacency: Adjacency, view: View) -> None:
    for what, mine in (("adjacency", adjacency), ("view", view)):
        theirs = getattr(guarantee, what)
        if theirs != mine:
            raise MismatchError(f"{what} of '{guarantee.name}' = {theirs}: {mine} is needed")


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)):
        raise ParameterError(f"{name} = {value!r}: a number is needed")
    return float(value)


def _keys(name: str, given: Any, kind: type) -> dict[str, Any]:
    """Return ``given`` if it is a table with exactly the fields of ``kind``."""
    needed = tuple(kind.__dataclass_fields__)  # type: ignore[attr-defined]
    if not isinstance(given, Mapping) or set(given) != set(needed):
        found = sorted(map(str, given)) if isinstance(given, Mapping) else given
        raise ParameterError(f"{name} = {found!r}: a table with the keys {needed} is needed")
    return dict(given)


def _read_charge(given: Any) -> Charge:
    table = _keys("charge", given, Charge)
    count = table["count"]
    if isinstance(count, bool) or not isinstance(count, int):
        raise ParameterError(f"count = {count!r}: a whole number >= 1 is needed")
    return Charge(
        name=table["name"],
        epsilon=_number("epsilon", table["epsilon"]),
        delta=_number("delta", table["delta"]),
        count=count,
    )
