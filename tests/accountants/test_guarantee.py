"""Guarantees: what may be combined with what, and that every refusal is one clear line."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants import DpauditError, JointRelease, ParameterError
from accountants.errors import MismatchError
from accountants.guarantee import (
    PARTIES,
    RELATIONS,
    Adjacency,
    GreatestProfile,
    Guarantee,
    LeastProfile,
    View,
    best_of,
    in_parallel,
    merged_assumptions,
)


def guarantee(name: str = "release", *, shift: float = 0.5, **changes: object) -> Guarantee:
    base = Guarantee(
        name=name,
        profile=JointRelease(sampling_rate=0.3, threshold=5, shift=shift),
        adjacency=Adjacency(),
        view=View(),
        assumptions=("Coins are honest.", f"{name} was built as stated."),
        source="Theorem J",
    )
    return replace(base, **changes)  # type: ignore[arg-type]


OTHERS = (
    ("adjacency", Adjacency(relation="replace-one"), "replace-one of 1 record"),
    ("adjacency", Adjacency(records=2), "add-remove of 2 records"),
    ("view", View(party="synthesis-server"), "synthesis-server"),
    ("view", View(colluders=1), "public with 1 user"),
    ("view", View(party="tagging-server", colluders=3), "tagging-server with 3 users"),
)


# --- values ---------------------------------------------------------------------------------------


def test_a_guarantee_is_its_profile() -> None:
    given_ = guarantee()
    for epsilon in (0.0, 1.0, np.inf):
        assert given_.log_delta(epsilon) == given_.profile.log_delta(epsilon)
        assert given_.delta(epsilon) == given_.profile.delta(epsilon)
    for delta in (0.0, 1e-300, 1e-6, 1.0):
        assert given_.epsilon(delta) == given_.profile.epsilon(delta)
    assert given_.delta([0.1, 0.2]).shape == (2,)
    with pytest.raises(FrozenInstanceError):
        given_.name = "another"  # type: ignore[misc]


def test_words() -> None:
    assert str(Adjacency()) == "add-remove of 1 record"
    for _, value, text in OTHERS:
        assert str(value) == text
    assert str(View()) == "public"


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.floats(0.05, 3), min_size=1, max_size=4), st.floats(0, 5))
def test_least_and_greatest(shifts: list[float], epsilon: float) -> None:
    profiles = tuple(
        JointRelease(sampling_rate=0.3, threshold=5, shift=x, others=9) for x in shifts
    )
    logs = [float(p.log_delta(epsilon)) for p in profiles]
    assert float(LeastProfile(profiles).log_delta(epsilon)) == min(logs)
    assert float(GreatestProfile(profiles).log_delta(epsilon)) == max(logs)
    assert LeastProfile(profiles).log_delta([epsilon, np.inf]).shape == (2,)


def test_epsilon_of_the_greatest() -> None:
    profiles = tuple(
        JointRelease(sampling_rate=0.3, threshold=5, shift=x, others=9) for x in (0.3, 1.0, 2.0)
    )
    for delta in (0.1, 1e-2, 3e-3, 0.0):
        each = [float(profile.epsilon(delta)) for profile in profiles]
        assert float(GreatestProfile(profiles).epsilon(delta)) == pytest.approx(max(each), rel=1e-6)
        assert float(LeastProfile(profiles).epsilon(delta)) == pytest.approx(min(each), rel=1e-6)


# --- combining ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("what", "value", "text"), OTHERS)
@pytest.mark.parametrize("first", [True, False])
def test_other_neighbours_or_views_are_refused(
    what: str, value: object, text: str, first: bool
) -> None:
    mine, other = guarantee("mine"), guarantee("other", **{what: value})
    pair = [mine, other] if first else [other, mine]
    combine: list[Callable[[], Guarantee]] = [
        lambda: best_of(pair, delta=1e-2),
        lambda: in_parallel(pair, name="both"),
    ]
    for call in combine:
        with pytest.raises(MismatchError, match=f"^{what} of '{pair[0].name}' is ") as caught:
            call()
        line = str(caught.value)
        assert "\n" not in line
        assert text in line
        assert "mine" in line
        assert "other" in line
        assert isinstance(caught.value, ParameterError | DpauditError)
    # among three, the odd one is named
    with pytest.raises(MismatchError, match="of 'other'"):
        best_of([mine, guarantee("third"), other], delta=1e-2)


def test_best_of() -> None:
    wide, narrow = guarantee("wide", shift=2.0), guarantee("narrow", shift=0.2)
    assert best_of([wide, narrow], delta=1e-2) is narrow
    assert best_of([narrow, wide], delta=1e-2) is narrow
    assert best_of([wide], delta=1e-2) is wide
    assert best_of([wide, narrow], delta=1.0) is wide  # all are 0: the first
    assert best_of([wide, narrow], delta=0.0) is wide  # all are infinite: the first
    for delta in (-0.1, 1.1, np.nan):
        with pytest.raises(ParameterError, match="^delta = "):
            best_of([wide, narrow], delta=delta)


def test_in_parallel() -> None:
    wide, narrow = guarantee("wide", shift=2.0), guarantee("narrow", shift=0.2)
    both = in_parallel([wide, narrow], name="both")
    assert both.name == "both"
    assert both.delta([0.1, 2.0]).tolist() == wide.delta([0.1, 2.0]).tolist()
    assert both.source == "parallel composition of: Theorem J; Theorem J"
    assert (both.adjacency, both.view) == (wide.adjacency, wide.view)
    assert both.assumptions == (
        "Coins are honest.",
        "wide was built as stated.",
        "narrow was built as stated.",
    )
    assert best_of([both, narrow], delta=1e-2) is narrow


def test_parallel_under_replace_one_is_refused() -> None:
    """A replaced record may leave one part and enter the other, which costs both."""
    parts = [
        guarantee(x, adjacency=Adjacency(relation="replace-one", records=2)) for x in ("a", "b")
    ]
    with pytest.raises(ParameterError, match="replace-one adjacency: a replaced record may change"):
        in_parallel(parts, name="both")
    assert best_of(parts, delta=1e-2) in parts  # one mechanism, two proofs: allowed


def test_fault_replace_one_taken_as_add_remove() -> None:
    """Two disjoint parts: the replaced record shows in both, beyond either part's profile."""
    part = JointRelease(sampling_rate=0.5, threshold=1, shift=np.inf, others=0)
    epsilon = 0.2
    alone = float(part.delta(epsilon))
    # x in the first part or y in the second; each shows with probability 1/2
    one = {(1, 0): 0.5, (0, 0): 0.5}
    two = {(0, 1): 0.5, (0, 0): 0.5}
    truth = sum(max(one[k] - np.exp(epsilon) * two.get(k, 0.0), 0) for k in one)
    assert truth == pytest.approx(0.5)
    assert alone == pytest.approx(0.5)
    # at a larger epsilon, removed records no longer show in one part, but added ones still do
    later = guarantee(profile=part, adjacency=Adjacency(relation="replace-one"))
    with pytest.raises(ParameterError):
        in_parallel([later, later], name="both")


def test_nothing_to_combine() -> None:
    for call in (
        lambda: best_of([], delta=1e-2),
        lambda: in_parallel([], name="none"),
    ):
        with pytest.raises(ParameterError, match=r"^guarantees = \[\]: at least one is needed$"):
            call()
    assert merged_assumptions([]) == ()


def test_assumptions_are_merged_once_and_in_order() -> None:
    one = guarantee(assumptions=("a.", "b."))
    two = guarantee(assumptions=("b.", "c.", "a."))
    assert merged_assumptions([one, two]) == ("a.", "b.", "c.")
    assert merged_assumptions([two, one]) == ("b.", "c.", "a.")


# --- ranges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Adjacency(relation="substitute"), "relation = 'substitute': one of"),  # type: ignore[arg-type]
        (lambda: Adjacency(records=0), "records = 0: a whole number >= 1 is needed"),
        (lambda: Adjacency(records=1.5), "records = 1.5: a whole number"),  # type: ignore[arg-type]
        (lambda: Adjacency(records=True), "records = True: a whole number"),
        (lambda: View(party="nobody"), "party = 'nobody': one of"),  # type: ignore[arg-type]
        (lambda: View(colluders=-1), "colluders = -1: a whole number >= 0 is needed"),
        (lambda: View(colluders=np.inf), "colluders = inf: a whole number"),  # type: ignore[arg-type]
    ],
)
def test_ranges(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        build()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_all_names() -> None:
    assert {Adjacency(relation=x).relation for x in RELATIONS} == set(RELATIONS)
    assert {View(party=x).party for x in PARTIES} == set(PARTIES)
