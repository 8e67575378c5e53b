"""Budgets: sums for adaptive choices, compositions for schedules; nothing beyond, ever."""

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from accountants.composition import ComposedProfile
from accountants.errors import DpauditError, MismatchError, ParameterError
from accountants.gaussian import log_hockey_stick
from accountants.guarantee import Adjacency, Guarantee, View
from accountants.odometer import BudgetExceededError, Charge, Odometer, Schedule
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats


@dataclass(frozen=True, kw_only=True)
class Gaussian(PrivacyProfile):
    shift: float

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        return log_hockey_stick(epsilon, self.shift)


@dataclass(frozen=True, kw_only=True)
class Pure(PrivacyProfile):
    """(level, 0), and infinite loss with probability ``leak``; nothing else is known."""

    level: float
    leak: float = 0.0

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(np.where(np.asarray(epsilon) >= self.level, self.leak, 1.0))


def about(profile: PrivacyProfile, *, name: str = "M", records: int = 1) -> Guarantee:
    return Guarantee(
        name=name,
        profile=profile,
        adjacency=Adjacency(records=records),
        view=View(),
        assumptions=(),
        source="exact",
    )


def odometer(epsilon: float = 1.0, delta: float = 1e-6) -> Odometer:
    return Odometer(epsilon_budget=epsilon, delta_budget=delta, adjacency=Adjacency(), view=View())


DAILY = about(Gaussian(shift=0.05), name="daily")


# --- sums ---------------------------------------------------------------------------------------


def test_ten_tenths_fit_and_an_eleventh_does_not() -> None:
    state, tenth = odometer(), about(Pure(level=0.1))
    for day in range(10):
        assert state.can_run(tenth, epsilon=0.1)
        state = state.charge(tenth, epsilon=0.1)
        assert state.epsilon == pytest.approx(0.1 * (day + 1), rel=1e-12)
    assert state.epsilon == 1.0
    assert state.delta == 0.0
    assert not state.can_run(tenth, epsilon=0.1)
    before = state
    with pytest.raises(BudgetExceededError, match=r"epsilon = 1\.1.*: at most 1\.0 is budgeted"):
        state.charge(tenth, epsilon=0.1)
    assert state == before
    assert len(state.charges) == 10


def test_one_point_is_charged() -> None:
    by_delta = odometer().charge(DAILY, delta=1e-7)
    assert by_delta.epsilon == float(DAILY.epsilon(1e-7))
    by_epsilon = odometer().charge(DAILY, epsilon=0.3)
    assert (by_epsilon.epsilon, by_epsilon.delta) == (0.3, float(DAILY.delta(0.3)))
    for bad in ({}, {"delta": 1e-7, "epsilon": 0.3}, {"epsilon": -1.0}, {"epsilon": np.nan}):
        with pytest.raises(ParameterError):
            odometer().charge(DAILY, **bad)
    assert odometer().can_run(DAILY, epsilon=0.3)
    assert not odometer().can_run(DAILY, epsilon=0.1)  # its delta there is above the budget


def test_delta_budget_counts_too() -> None:
    state = odometer(epsilon=100.0)
    state = state.charge(DAILY, delta=4e-7, count=2)
    assert state.delta == 8e-7
    assert state.can_run(DAILY, delta=1e-7)
    with pytest.raises(BudgetExceededError, match="delta = "):
        state.charge(DAILY, delta=4e-7)
    assert state.epsilon == pytest.approx(2 * float(DAILY.epsilon(4e-7)))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.floats(0, 3), st.floats(0, 1e-3), st.integers(1, 10**6)), max_size=8),
    st.floats(0, 1e6),
)
def test_sums_are_exact_to_the_last_place(
    charges: list[tuple[float, float, int]], budget: float
) -> None:
    exact = sum((Fraction(epsilon) * count for epsilon, _, count in charges), Fraction(0))
    kept = tuple(Charge(name="M", epsilon=e, delta=0.0, count=n) for e, _, n in charges)

    def build() -> Odometer:
        return replace(odometer(epsilon=budget), charges=kept)

    if float(exact) > budget:
        with pytest.raises(BudgetExceededError):
            build()
    else:
        assert build().epsilon == float(exact)
        assert exact <= Fraction(budget) * (1 + Fraction(1, 2**52)) + Fraction(1, 10**300)


def test_infinite_epsilon_is_never_charged() -> None:
    leaking = about(Pure(level=0.1, leak=1e-3))
    for delta in (0.0, 9e-4):
        assert not odometer(delta=1.0).can_run(leaking, delta=delta)
    assert odometer(delta=1.0).can_run(leaking, delta=1e-3 * (1 + 1e-12))
    assert not odometer().can_run(DAILY, delta=0.0)


def test_others_are_refused() -> None:
    for call in (odometer().charge, odometer().can_run):
        with pytest.raises(MismatchError):
            call(about(Pure(level=0.1), records=2), delta=0.0)
        with pytest.raises(MismatchError):
            call(replace(DAILY, view=View(colluders=1)), delta=1e-9)
        for bad in (np.nan, -1e-9, 1.1):
            with pytest.raises(ParameterError):
                call(DAILY, delta=bad)
        for count in (0, -1, 1.5, True):
            with pytest.raises(ParameterError):
                call(DAILY, delta=1e-9, count=count)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(-1, 0), (np.inf, 0), (np.nan, 0), (1, -1e-9), (1, 1.1), (1, np.nan)]
)
def test_budgets_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError):
        odometer(epsilon=epsilon, delta=delta)


def test_the_error_is_one_of_ours() -> None:
    assert issubclass(BudgetExceededError, ParameterError)
    assert issubclass(BudgetExceededError, DpauditError)


Pairs = list[tuple[mp.mpf, mp.mpf]]


def response(level: mp.mpf) -> Pairs:
    p, q = 1 / (1 + mp.exp(-level)), 1 / (1 + mp.exp(level))
    return [(p, q), (q, p)]


def leaking(chance: mp.mpf) -> Pairs:
    return [(chance, mp.mpf(0)), (mp.mpf(0), chance), (1 - chance, 1 - chance)]


def tree_delta(first: Pairs, then: list[Pairs], epsilon: mp.mpf) -> mp.mpf:
    """Delta of ``first``, and of the one of ``then`` that its outcome chooses."""
    outcomes = [
        (p * a, q * b) for (p, q), second in zip(first, then, strict=True) for a, b in second
    ]
    return sum((max(p - mp.exp(epsilon) * q, mp.mpf(0)) for p, q in outcomes), mp.mpf(0))


def test_composed_losses_are_no_filter() -> None:
    """Two mechanisms, the second chosen by the first's output; every fixed sequence is fine.

    First a response of level ln 3. After the outcome with the greater loss comes another one,
    after the other outcome a mechanism that leaks with the delta that two responses have at 3/2.
    Each sequence, fixed in advance, has that delta; the choice has a quarter more.
    """
    level, epsilon = mp.log(3), mp.mpf(3) / 2
    first = response(level)
    twice = tree_delta(first, [response(level)] * 2, epsilon)
    leak = leaking(twice)
    assert float(twice) == pytest.approx(0.28240, abs=1e-5)
    assert float(tree_delta(first, [leak, leak], epsilon)) == pytest.approx(float(twice))
    chosen = tree_delta(first, [response(level), leak], epsilon)
    assert float(chosen) == pytest.approx(1.25 * float(twice))
    # the sums of epsilons and deltas hold, whatever is chosen
    for then in ([response(level), leak], [leak, response(level)], [leak, leak]):
        assert tree_delta(first, then, 2 * level) <= twice


# --- to and from a file -------------------------------------------------------------------------


def test_written_and_read() -> None:
    state = odometer().charge(DAILY, delta=1e-8, count=3).charge(DAILY, delta=2e-8)
    text = json.dumps(state.to_dict(), allow_nan=False)
    assert Odometer.from_dict(json.loads(text)) == state
    assert Odometer.from_dict(odometer().to_dict()) == odometer()


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon_budget": "1"},
        {"epsilon_budget": True},
        {"epsilon_budget": None},
        {"delta_budget": 2.0},
        {"surplus": 1},
        {"view": {"party": "public"}},
        {"view": {"party": "everybody", "colluders": 0}},
        {"adjacency": {"relation": "add-remove", "records": 0}},
        {"adjacency": []},
        {"charges": {}},
        {"charges": ["x"]},
        {"charges": [{"name": "M", "epsilon": 0.1, "delta": 0.0}]},
        {"charges": [{"name": "M", "epsilon": 0.1, "delta": 0.0, "count": 1.0}]},
        {"charges": [{"name": "M", "epsilon": 0.1, "delta": 0.0, "count": True}]},
        {"charges": [{"name": 3, "epsilon": 0.1, "delta": 0.0, "count": 1}]},
        {"charges": [{"name": "M", "epsilon": -0.1, "delta": 0.0, "count": 1}]},
        {"charges": [{"name": "M", "epsilon": float("nan"), "delta": 0.0, "count": 1}]},
        {"charges": [{"name": "M", "epsilon": 5.0, "delta": 0.0, "count": 1}]},
    ],
)
def test_what_is_not_exactly_that_is_refused(change: dict[str, Any]) -> None:
    given_table = {**odometer().to_dict(), **change}
    with pytest.raises(ParameterError):
        Odometer.from_dict(given_table)
    missing = odometer().to_dict()
    del missing["charges"]
    with pytest.raises(ParameterError):
        Odometer.from_dict(missing)


# --- schedules ----------------------------------------------------------------------------------


def schedule(epsilon: float = 1.0, runs: int = 365, **more: Any) -> Schedule:
    return Schedule(epsilon_budget=epsilon, delta_budget=1e-6, plan=((DAILY, runs),), **more)


def test_a_year_of_runs_composes() -> None:
    year = schedule(epsilon=5.0)
    assert year.allowed == 365
    after = year.charge(DAILY, count=364).charge(DAILY)
    exact = float(Gaussian(shift=0.05 * float(np.sqrt(365))).epsilon(1e-6))
    assert exact <= after.epsilon(delta=1e-6) <= exact * 1.001
    assert after.epsilon(delta=0.0) == np.inf
    assert year.epsilon(delta=1e-6) == 0
    # the plain sums allow far fewer
    assert not odometer(epsilon=5.0).can_run(DAILY, delta=1e-6 / 365, count=100)


def test_the_run_that_would_exceed_is_refused() -> None:
    plan = schedule(epsilon=1.0)
    runs = plan.allowed
    assert 0 < runs < 365
    exact = [float(Gaussian(shift=0.05 * float(np.sqrt(n))).delta(1.0)) for n in (runs, runs + 2)]
    assert exact[0] <= 1e-6 < exact[1]
    full = plan.charge(DAILY, count=runs)
    assert not full.can_run(DAILY)
    before = full
    with pytest.raises(BudgetExceededError, match=f"done = {runs + 1}"):
        full.charge(DAILY)
    assert full == before
    with pytest.raises(BudgetExceededError):
        plan.charge(DAILY, count=runs + 1)
    assert schedule(epsilon=0.0).allowed == 0


def test_only_what_is_planned_in_its_order() -> None:
    other = about(Pure(level=0.2), name="other")
    plan = Schedule(
        epsilon_budget=10.0, delta_budget=1e-6, plan=((DAILY, 2), (other, 1), (DAILY, 1))
    )
    assert plan.planned == 4
    with pytest.raises(ParameterError, match="the plan has 'daily' next"):
        plan.charge(other)
    with pytest.raises(ParameterError, match="'other' next"):
        plan.charge(DAILY, count=3)
    after = plan.charge(DAILY, count=2).charge(other).charge(DAILY)
    with pytest.raises(ParameterError, match="0 runs left"):
        after.charge(DAILY)
    expected = ComposedProfile(profiles=(DAILY.profile, other.profile), counts=(3, 1))
    assert after.epsilon(delta=1e-6) == pytest.approx(float(expected.epsilon(1e-6)), rel=1e-3)


def test_schedules_refused() -> None:
    for more in (
        {"done": 366},
        {"done": -1},
        {"points": 3},
        {"plan": ()},
        {"plan": ((DAILY, 0),)},
        {"delta_budget": np.nan},
        {"epsilon_budget": -1.0},
    ):
        given_values: dict[str, Any] = {
            "epsilon_budget": 1.0,
            "delta_budget": 1e-6,
            "plan": ((DAILY, 365),),
            **more,
        }
        with pytest.raises(ParameterError):
            Schedule(**given_values)
    with pytest.raises(BudgetExceededError):
        schedule(epsilon=0.1, done=365)
    with pytest.raises(MismatchError):
        Schedule(
            epsilon_budget=1.0,
            delta_budget=1e-6,
            plan=((DAILY, 1), (replace(DAILY, view=View(colluders=1)), 1)),
        )
    with pytest.raises(ParameterError):
        schedule().can_run(DAILY, count=0)
    with pytest.raises(ParameterError):
        schedule().epsilon(delta=np.nan)
