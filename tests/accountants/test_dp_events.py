"""Guarantees in dp_accounting's accountants; the pages' examples run."""

import re
from dataclasses import dataclass
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from dp_accounting import UnsupportedEventError, dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import ArrayLike

from accountants.dp_events import GuaranteeAccountant, ProfileDpEvent, relation_of
from accountants.errors import ParameterError
from accountants.gaussian import log_hockey_stick
from accountants.guarantee import Adjacency, Guarantee, View
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats

ROOT = Path(__file__).resolve().parents[2]
ADD_REMOVE, REPLACE, SPECIAL = (
    NeighboringRelation.ADD_OR_REMOVE_ONE,
    NeighboringRelation.REPLACE_ONE,
    NeighboringRelation.REPLACE_SPECIAL,
)


@dataclass(frozen=True, kw_only=True)
class Gaussian(PrivacyProfile):
    shift: float

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        return log_hockey_stick(epsilon, self.shift)


@dataclass(frozen=True, kw_only=True)
class Response(PrivacyProfile):
    level: float

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            inner = np.log(-np.expm1(np.minimum(np.asarray(epsilon, float) - self.level, -0.0)))
        return np.asarray(inner - np.logaddexp(0.0, -self.level) + 1e-16)


def event(
    profile: PrivacyProfile,
    *,
    relation: str = "add-remove",
    records: int = 1,
    colluders: int = 0,
    name: str = "M",
) -> ProfileDpEvent:
    return ProfileDpEvent(
        Guarantee(
            name=name,
            profile=profile,
            adjacency=Adjacency(relation=relation, records=records),  # type: ignore[arg-type]
            view=View(colluders=colluders),
            assumptions=(),
            source="exact",
        )
    )


def test_composes_with_gaussian_events() -> None:
    mine = event(Gaussian(shift=1.0))
    accountant = GuaranteeAccountant()
    accountant.compose(mine, 3).compose(dp_event.GaussianDpEvent(1.0), 4)
    accountant.compose(dp_event.SelfComposedDpEvent(mine, 2))
    for delta in (1e-3, 1e-6, 1e-9):
        exact = float(Gaussian(shift=3.0).epsilon(delta))
        assert exact - 1e-9 <= accountant.get_epsilon(delta) <= exact * 1.0005
    for epsilon in (0.0, 2.0, 10.0):
        exact = float(Gaussian(shift=3.0).delta(epsilon))
        assert exact * (1 - 1e-9) - 1e-13 <= accountant.get_delta(epsilon) <= exact * 1.01 + 1e-12


def test_composes_with_sampled_and_nested_events() -> None:
    sampled = dp_event.PoissonSampledDpEvent(0.05, dp_event.GaussianDpEvent(1.2))
    mine = event(Gaussian(shift=0.7))
    nested = dp_event.ComposedDpEvent(
        [dp_event.SelfComposedDpEvent(sampled, 10), dp_event.ComposedDpEvent([mine]), sampled]
    )
    found = GuaranteeAccountant().compose(nested, 2).get_epsilon(1e-6)
    peer = PLDAccountant().compose(sampled, 22).compose(dp_event.GaussianDpEvent(1 / 0.7), 2)
    assert found == pytest.approx(peer.get_epsilon(1e-6), rel=1e-3)
    assert found >= peer.get_epsilon(1e-6) - 1e-6


def test_alone_it_is_the_peer() -> None:
    events = [dp_event.GaussianDpEvent(2.0), dp_event.LaplaceDpEvent(3.0), dp_event.NoOpDpEvent()]
    ours, theirs = GuaranteeAccountant(), PLDAccountant()
    for one in events:
        ours.compose(one, 3)
        theirs.compose(one, 3)
    assert ours.get_epsilon(1e-5) == theirs.get_epsilon(1e-5)
    assert ours.get_delta(1.0) == theirs.get_delta(1.0)
    assert ours.ledger == theirs.ledger


# --- field faults -------------------------------------------------------------------------------


def true_response(level: float, count: int, epsilon: float) -> float:
    with mp.workprec(300):
        p, q, total = 1 / (1 + mp.exp(-level)), 1 / (1 + mp.exp(level)), mp.mpf(0)
        for k in range(count + 1):
            loss = (2 * k - count) * mp.mpf(level)
            if loss > epsilon:
                weight = mp.binomial(count, k) * p**k * q ** (count - k)
                total += weight * -mp.expm1(epsilon - loss)
        return float(total)


def test_fault_composition_count_ignored() -> None:
    """100 binary responses with noise 1/2: dp_accounting reports 1.0987, true is 94.29."""
    response = dp_event.RandomizedResponseDpEvent(0.5, 2)
    assert PLDAccountant(REPLACE).compose(response, 100).get_epsilon(1e-6) < 1.1  # the fault
    for accountant in (
        GuaranteeAccountant(REPLACE).compose(response, 100),
        GuaranteeAccountant(REPLACE).compose(dp_event.SelfComposedDpEvent(response, 10), 10),
        GuaranteeAccountant(REPLACE).compose(
            event(Response(level=float(np.log(3))), relation="replace-one"), 100
        ),
    ):
        epsilon = accountant.get_epsilon(1e-6)
        assert epsilon == pytest.approx(94.29, abs=0.02)
        assert true_response(float(np.log(3)), 100, epsilon) <= 1e-6 + 1e-12  # of the transform


def test_trivial_responses_and_counts_refused() -> None:
    accountant = GuaranteeAccountant(REPLACE)
    accountant.compose(dp_event.RandomizedResponseDpEvent(0.0, 1), 7)
    assert accountant.get_epsilon(1e-9) == 0
    accountant.compose(dp_event.RandomizedResponseDpEvent(0.0, 2), 2)
    assert accountant.get_epsilon(0.5) == np.inf
    assert accountant.get_delta(3.0) == 1
    assert accountant.get_delta(np.inf) == 1
    for bad in (0, -1, 1.5, True, np.nan):
        with pytest.raises(ParameterError):
            accountant.compose(dp_event.NoOpDpEvent(), bad)  # type: ignore[arg-type]


def test_fault_delta_outside_zero_to_one() -> None:
    accountant = GuaranteeAccountant().compose(event(Gaussian(shift=1.0)), 2)
    for bad in (np.nan, -1e-9, 1.1):
        with pytest.raises(ParameterError):
            accountant.get_epsilon(bad)
    for bad in (np.nan, -1e-9):
        with pytest.raises(ParameterError):
            accountant.get_delta(bad)


def test_fault_delta_zero_and_below_the_infinity_mass() -> None:
    accountant = GuaranteeAccountant().compose(event(Gaussian(shift=1.0)), 2)
    assert accountant.get_epsilon(0.0) == np.inf
    assert accountant.get_epsilon(1e-300) == np.inf
    assert 0 < accountant.get_delta(np.inf) < 1e-12


def test_fault_negative_epsilon_near_delta_one_and_zero_taken_for_infinity() -> None:
    accountant = GuaranteeAccountant().compose(event(Gaussian(shift=0.5)))
    assert accountant.get_epsilon(0.999999) == 0
    assert accountant.get_epsilon(1.0) == 0


def test_fault_overflow_and_nan_at_large_epsilon() -> None:
    accountant = GuaranteeAccountant(value_discretization_interval=1e-2)
    accountant.compose(event(Response(level=731.15)), 2)
    assert accountant.get_epsilon(1e-6) == pytest.approx(1462.3, abs=0.05)
    assert accountant.get_epsilon(1e-6) >= 1462.299
    grid = [0.0, 700.0, 709.0, 709.8, 745.0, 1462.0, 1500.0, 1e300, np.inf]
    deltas = [accountant.get_delta(epsilon) for epsilon in grid]
    assert np.isfinite(deltas).all()
    assert all(0 <= delta <= 1 for delta in deltas)
    assert np.all(np.diff(deltas) <= 1e-12)


def test_fault_epsilon_grows_with_delta() -> None:
    accountant = GuaranteeAccountant().compose(event(Gaussian(shift=1.0)), 5)
    epsilons = [accountant.get_epsilon(delta) for delta in np.logspace(-12, 0, 40)]
    assert np.all(np.diff(epsilons) <= 0)


# --- what is refused ----------------------------------------------------------------------------


def test_other_neighbours_are_not_supported() -> None:
    plain = event(Gaussian(shift=1.0))
    replaced = event(Gaussian(shift=1.0), relation="replace-one")
    two = event(Gaussian(shift=1.0), records=2)
    for relation, supported in ((ADD_REMOVE, plain), (REPLACE, replaced), (SPECIAL, None)):
        accountant = GuaranteeAccountant(relation)
        for one in (plain, replaced, two):
            assert accountant.supports(one) is (one is supported)
            nested = dp_event.ComposedDpEvent([dp_event.SelfComposedDpEvent(one, 2)])
            assert accountant.supports(nested) is (one is supported)
            if one is not supported:
                with pytest.raises(UnsupportedEventError):
                    accountant.compose(nested)
        expected = 0 if supported is None else accountant.compose(supported).get_epsilon(1e-6)
        assert accountant.get_epsilon(1e-6) == expected


def test_other_views_are_not_supported() -> None:
    colluding = event(Gaussian(shift=1.0), colluders=2)
    assert not GuaranteeAccountant().supports(colluding)
    with pytest.raises(UnsupportedEventError, match="view is public with 2 users"):
        GuaranteeAccountant().compose(colluding)
    assert GuaranteeAccountant(view=View(colluders=2)).supports(colluding)
    assert not GuaranteeAccountant(view=View(party="synthesis-server")).supports(colluding)


def test_sampling_of_a_guarantee_and_unknown_events_are_not_supported() -> None:
    sampled = dp_event.PoissonSampledDpEvent(0.1, event(Gaussian(shift=1.0)))
    assert not GuaranteeAccountant().supports(sampled)
    assert not GuaranteeAccountant().supports(dp_event.UnsupportedDpEvent())
    assert not PLDAccountant().supports(event(Gaussian(shift=1.0)))
    with pytest.raises(TypeError):
        GuaranteeAccountant().compose(Gaussian(shift=1.0))


def test_a_refused_composition_leaves_no_trace() -> None:
    accountant = GuaranteeAccountant().compose(event(Gaussian(shift=1.0)))
    before = accountant.get_epsilon(1e-6), accountant.ledger
    mixed = dp_event.ComposedDpEvent(
        [event(Gaussian(shift=3.0)), event(Gaussian(shift=1.0), colluders=1)]
    )
    with pytest.raises(UnsupportedEventError):
        accountant.compose(mixed)
    assert (accountant.get_epsilon(1e-6), accountant.ledger) == before


def test_values_refused() -> None:
    with pytest.raises(ParameterError):
        GuaranteeAccountant(value_discretization_interval=0.0)
    with pytest.raises(ParameterError):
        GuaranteeAccountant(points=3)
    with pytest.raises(ParameterError, match="interval"):
        GuaranteeAccountant(value_discretization_interval=1e-7).compose(event(Gaussian(shift=30.0)))


def test_events_compare_hash_and_print() -> None:
    one, same = event(Gaussian(shift=1.0)), event(Gaussian(shift=1.0))
    assert one == same
    assert hash(one) == hash(same)
    assert one != event(Gaussian(shift=2.0))
    assert one != event(Gaussian(shift=1.0), name="N")
    assert one != dp_event.NoOpDpEvent()
    assert "add-remove of 1 record" in repr(one)
    assert ProfileDpEvent.from_named_tuple(one.to_named_tuple()) == one
    with pytest.raises(AttributeError):
        one.guarantee = same.guarantee  # type: ignore[misc]


def test_relation_of_a_guarantee() -> None:
    assert relation_of(event(Gaussian(shift=1.0)).guarantee) is ADD_REMOVE
    assert relation_of(event(Gaussian(shift=1.0), relation="replace-one").guarantee) is REPLACE
    with pytest.raises(ParameterError):
        relation_of(event(Gaussian(shift=1.0), records=2).guarantee)


# --- the page -----------------------------------------------------------------------------------


def test_examples_of_the_page_run() -> None:
    text = (ROOT / "docs" / "interoperation.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    scope: dict[str, object] = {}
    checked = 0
    for block in blocks:
        lines = []
        for line in block.splitlines():
            # "expression  # 1.234" promises the value, to the digits shown
            shown = re.fullmatch(r"(\S.*?)  # (-?[\d.]+(?:e-?\d+)?|True|False|inf)", line)
            if shown:
                checked += 1
                lines.append(f"_shown({shown[1]}, {shown[2]!r})")
            else:
                lines.append(line)
        scope["_shown"] = _shown
        exec(compile("\n".join(lines), "docs/interoperation.md", "exec"), scope)
    assert checked >= 8


def _shown(value: object, text: str) -> None:
    if text in ("True", "False"):
        assert value is (text == "True")
        return
    digits = text.split("e")[0]
    places = len(digits.partition(".")[2])
    unit = 10.0**-places * (10.0 ** int(text.split("e")[1]) if "e" in text else 1.0)
    assert float(value) == pytest.approx(float(text), rel=0, abs=unit * 0.6)  # type: ignore[arg-type]
