"""The tight total: reference values, a plain grid, the paper above it, explicit data below it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from accountants import (
    LATTICE_STEP,
    FreE2TParameters,
    JointRelease,
    PaperTotal,
    TightTotal,
    strongest_dataset,
)
from accountants.tight_total import ASSUMPTIONS
from tests.accountants import oracles
from tests.accountants.oracles import EPS_4, EPS_8, EPS_16, PUBLISHED, Published, parameters

CLOSE = 2e-3  # relative, of delta: the far part is certified to 5e-4, the split is nearly the best


def tight(case: Published, **changes: Any) -> TightTotal:
    return TightTotal(parameters=FreE2TParameters(**parameters(case, **changes)))


# --- reference values ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "coarse", "converged", "explicit"),
    [
        (EPS_4, 0.695, 0.6889, 0.585),
        (EPS_8, 1.560, 1.5183, 1.512),
        (EPS_16, 4.798, 4.6547, 4.645),
    ],
)
def test_reference_values(
    case: Published, coarse: float, converged: float, explicit: float
) -> None:
    epsilon = float(tight(case).epsilon(1e-6))
    assert explicit < epsilon < coarse
    assert epsilon == pytest.approx(converged, abs=1e-3)
    # the same bound on a dense grid of distances, in plain code (from below: it is not certified)
    plain = [
        oracles.plain_u_free(
            p=case.sampling_rate,
            threshold=case.threshold,
            noise_std=case.noise_std,
            epsilon=e,
            distances=oracles.DISTANCES,
        )
        for e in (epsilon, epsilon - 2e-3)
    ]
    assert plain[0] <= 1e-6 < plain[1]


@pytest.mark.parametrize("case", PUBLISHED)
def test_rounding_to_the_lattice_costs_next_to_nothing(case: Published) -> None:
    plain, real = tight(case), tight(case, lattice_step=LATTICE_STEP)
    coarse = tight(case, lattice_step=2.0**-8)
    epsilons = [float(ours.epsilon(1e-6)) for ours in (plain, real, coarse)]
    assert epsilons[0] == pytest.approx(epsilons[1], abs=1e-3)
    assert epsilons[2] > epsilons[1] + 0.02


# --- between what is known above and below ------------------------------------------------------

rates = st.floats(0.1, 0.8)
noises = st.floats(-2.5, 1).map(lambda x: float(np.exp(x)))


@settings(max_examples=60)
@given(
    rates,
    st.integers(5, 60),
    noises,
    st.floats(1, 5),
    st.floats(0.5, 4),
    st.floats(0.05, 15),
    st.sampled_from([10**3, 10**6, 10**8]),
)
def test_below_the_paper_where_that_is_a_bound(
    p: float, threshold: int, noise: float, v: float, u: float, over: float, records: int
) -> None:
    """Namely for v >= 1 and epsilon >= epsilon_fre, with the union over records put in."""
    case = Published(1.0, p, threshold, v, 1.0, noise)
    changes = {"sensitivity_ratio": u, "records_max": records}
    paper = PaperTotal(parameters=FreE2TParameters(**parameters(case, **changes)))
    terms = paper.terms
    epsilon = terms.epsilon_fre + over
    theirs = float(paper.delta(epsilon)) - terms.delta_sens + terms.delta_sens_union
    assume(theirs > 1e-290)
    assert tight(case, **changes).delta(epsilon) <= theirs * (1 + CLOSE)


@settings(max_examples=20)
@given(rates, st.integers(2, 60), noises, st.floats(0, 8), st.sampled_from([200, 10**4, 10**6]))
def test_above_every_explicit_dataset(
    p: float, threshold: int, noise: float, epsilon: float, records: int
) -> None:
    case = Published(1.0, p, threshold, 2, 1.0, noise)
    release = FreE2TParameters(**parameters(case, records_max=records))
    lower = strongest_dataset(release, epsilon=epsilon)
    upper = TightTotal(parameters=release)
    assert lower.delta(epsilon) <= upper.delta(epsilon)
    other = epsilon + 0.5
    assert lower.delta(other) <= upper.delta(other)


@settings(max_examples=20)
@given(rates, st.integers(1, 60), noises, st.floats(0, 8))
def test_above_a_bucket_of_coinciding_records(
    p: float, threshold: int, noise: float, epsilon: float
) -> None:
    """Records at distance 0 always share the bucket: the count alone is a lower bound."""
    case = Published(1.0, p, threshold, 2, 1.0, noise)
    count = JointRelease(sampling_rate=p, threshold=threshold, shift=0.0, others_max=10**6 - 1)
    assert tight(case).delta(epsilon) >= count.delta(epsilon) * (1 - 1e-6)


# --- monotone -----------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    rates,
    st.integers(2, 50),
    noises,
    st.floats(0.05, 8),
    st.sampled_from(["p", "threshold", "noise_std", "records_max", "epsilon", "lattice_step"]),
    st.floats(0.05, 1),
)
def test_monotone(
    p: float, threshold: int, noise: float, epsilon: float, which: str, step: float
) -> None:
    """Rises with p (tau >= 2) and N, falls with tau, sigma and epsilon: all theorems.

    docs/proofs/u-free-total.md. The split that is found is near the best one, hence a tolerance.
    """
    case = Published(1.0, p, threshold, 2, 1.0, noise)
    change: dict[str, Any] = {}
    match which:
        case "p":
            change = {"sampling_rate": p + (0.9 - p) * step}
        case "threshold":
            change = {"threshold": max(1, threshold - max(1, int(10 * step)))}
        case "noise_std":
            change = {"noise_std": noise / (1 + step)}
        case "records_max":
            change = {"records_max": int(10**6 * (1 + 100 * step))}
        case "lattice_step":
            change = {"lattice_step": noise * step / 100}
    before = epsilon + step if which == "epsilon" else epsilon
    low, high = float(tight(case).delta(before)), float(tight(case, **change).delta(epsilon))
    assume(high > 1e-290)
    # far below 1e-9 the split that is found may be some way from the best one: still a bound
    assert low <= high * (1 + (CLOSE if high > 1e-9 else 0.5))


# --- inverse, ends, shapes ----------------------------------------------------------------------


@settings(max_examples=25)
@given(rates, st.integers(1, 50), noises, st.floats(-60, -0.5))
def test_epsilon_is_enough_and_not_more(
    p: float, threshold: int, noise: float, log_delta: float
) -> None:
    case = Published(1.0, p, threshold, 2, 1.0, noise)
    ours, delta = tight(case), float(np.exp(log_delta))
    epsilon = float(ours.epsilon(delta))
    if np.isinf(epsilon):
        assert ours.delta(1e4) > delta * (1 - CLOSE)
        return
    assert ours.log_delta(epsilon) <= np.log(delta) + CLOSE  # by a split chosen afresh
    if epsilon > 0.05:
        assert ours.log_delta(epsilon * 0.99 - 0.01) > np.log(delta) - 5e-3


def test_round_trip() -> None:
    ours = tight(EPS_8)
    for epsilon in (0.3, 1.0, 3.0):
        delta = float(ours.delta(epsilon))
        assert ours.epsilon(delta) == pytest.approx(epsilon, abs=3e-3)


def test_ends() -> None:
    ours = tight(EPS_4)
    assert ours.epsilon(0) == np.inf
    assert ours.epsilon(1) == 0
    assert ours.epsilon(1e-300) == np.inf  # p^tau is more
    assert 0 < ours.delta(np.inf) < 1e-15
    assert ours.delta(np.inf) >= 0.3**30
    assert 0 < ours.delta(0) < 1
    logs = ours.log_delta([0.5, 2.0])
    assert np.exp(logs) == pytest.approx(ours.delta([0.5, 2.0]), rel=1e-12)


def test_down_to_1e_minus_200() -> None:
    ours = tight(Published(1.0, 0.05, 200, 2, 1.0, 30.0), records_max=1000)
    delta = float(ours.delta(5.0))
    assert 0 < delta < 1e-100
    assert np.log(delta) == pytest.approx(float(ours.log_delta(5.0)), rel=1e-10)
    assert ours.delta(ours.epsilon(1e-200)) <= 1e-200


def test_too_few_records_to_release_anything() -> None:
    ours = tight(EPS_4, records_max=29)
    assert ours.delta([0.0, 1.0]).tolist() == [0, 0]
    assert ours.epsilon(1e-12) == 0
    just = tight(EPS_4, records_max=30)
    assert just.delta(0) == pytest.approx(0.3**30, rel=1e-2)


def test_shapes() -> None:
    ours = tight(EPS_4)
    assert ours.delta(1.0).shape == ()
    assert ours.delta([[0.5], [1.0]]).shape == (2, 1)
    assert ours.epsilon([[1e-3, 1e-6]]).shape == (1, 2)


def test_assumptions_are_sentences() -> None:
    assert len(ASSUMPTIONS) == len(set(ASSUMPTIONS)) >= 6
    assert all(line.endswith(".") for line in ASSUMPTIONS)
    assert any("independently of the public projection" in line for line in ASSUMPTIONS)
