"""The paper's own accounting, to the digits it prints."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from accountants import AnalyticGaussian, FreE2TParameters, PaperTotal, ParameterError
from tests.accountants.oracles import EPS_4, EPS_8, EPS_16, PUBLISHED, Published, parameters


def paper(case: Published, **changes: Any) -> PaperTotal:
    return PaperTotal(parameters=FreE2TParameters(**parameters(case, **changes)))


@pytest.mark.parametrize(
    ("case", "total", "exact"),
    [(EPS_4, 3.9894, 1.77338), (EPS_8, 7.9534, 0.94259), (EPS_16, 15.9654, 0.42909)],
)
def test_reference_values(case: Published, total: float, exact: float) -> None:
    ours = paper(case)
    assert ours.epsilon(1e-6) == pytest.approx(total, abs=5e-5)
    assert ours.terms.noise_multiplier == pytest.approx(case.multiplier)
    assert ours.terms.coupling_distance == pytest.approx(1.2)
    found = ours.calibrate(epsilon=case.claim, delta=1e-6)
    assert found.noise_multiplier_exact == pytest.approx(exact, abs=5e-6)
    assert found.noise_multiplier == pytest.approx(case.multiplier)
    assert found.noise_std == pytest.approx(case.noise_std)


def test_reference_terms() -> None:
    terms = paper(EPS_4).terms
    assert terms.epsilon_fre == pytest.approx(1.4267, abs=5e-5)
    assert terms.delta_fre == pytest.approx(2.926e-10, rel=2e-4)
    assert terms.delta_sens == pytest.approx(8.945e-11, rel=1e-4)
    assert terms.delta_sens_union == pytest.approx(2.1e-7, abs=5e-9)
    assert paper(EPS_8).terms.delta_sens_union == pytest.approx(3.7e-7, abs=5e-9)
    assert paper(EPS_16).terms.delta_sens_union == pytest.approx(4.6e-7, abs=5e-9)


@pytest.mark.parametrize(
    ("claim", "p", "v"),
    [(1.0, 0.15, 5), (2.0, 0.2, 5), (4.0, 0.3, 4), (8.0, 0.5, 4), (16.0, 0.6, 3)],
)
def test_every_row_of_the_paper_is_feasible(claim: float, p: float, v: float) -> None:
    """The threshold is 100 p in every configuration of the paper (t = 100)."""
    plan = paper(Published(claim, p, round(100 * p), v, 1.0, 1.0)).calibrate(
        epsilon=claim, delta=1e-6
    )
    assert np.isfinite(plan.noise_std)
    enough = paper(Published(claim, p, round(100 * p), v, 1.0, plan.noise_std))
    assert claim - 0.05 <= enough.epsilon(1e-6) <= claim


def test_the_row_that_was_rounded_down() -> None:
    """The paper's eps = 2 row prints m = 4.72, which misses the claim by 0.0038."""
    case = Published(2.0, 0.2, 20, 5, 4.72, 4.72 * 1.2)
    ours = paper(case)
    assert ours.epsilon(1e-6) == pytest.approx(2.0038, abs=5e-5)
    found = ours.calibrate(epsilon=2.0, delta=1e-6)
    assert found.noise_multiplier_exact > 4.72
    assert found.noise_multiplier == pytest.approx(4.74)


@settings(max_examples=200)
@given(
    st.floats(0.05, 0.8),
    st.integers(5, 80),
    st.floats(0.5, 8),
    st.floats(-2, 3),
    st.floats(0.01, 30),
    st.floats(-30, -1),
)
def test_delta_epsilon_and_calibration_agree(
    p: float, threshold: int, v: float, log_noise: float, epsilon: float, log_delta: float
) -> None:
    case = Published(epsilon, p, threshold, v, 1.0, float(np.exp(log_noise)))
    ours, delta = paper(case), float(np.exp(log_delta))
    terms = ours.terms
    found = float(ours.epsilon(delta))
    if terms.delta_fre + terms.delta_sens >= delta:
        assert found == np.inf
    elif np.isfinite(found):
        assert found >= terms.epsilon_fre
        assert ours.delta(found) <= delta * (1 + 1e-12)
    curve = float(ours.delta(epsilon))
    assert np.isnan(curve) == (epsilon < terms.epsilon_fre)
    plan = ours.calibrate(epsilon=epsilon, delta=delta)
    if plan.epsilon_agg <= 0 or plan.delta_agg <= 0:
        assert plan.noise_std == np.inf
        return
    assert plan.noise_multiplier >= plan.noise_multiplier_exact * (1 - 1e-15)
    assert plan.noise_multiplier - plan.noise_multiplier_exact <= 0.01 + 1e-9
    assume(plan.noise_std < 1e9)
    enough = paper(case, noise_std=plan.noise_std)
    assert enough.delta(epsilon) <= delta * (1 + 1e-9)


def test_the_terms_add_up() -> None:
    ours = paper(EPS_8)
    gaussian = AnalyticGaussian(noise_multiplier=ours.terms.noise_multiplier)
    left = 6.0 - ours.terms.epsilon_fre
    expected = float(gaussian.delta(left)) + ours.terms.delta_fre + ours.terms.delta_sens
    assert ours.delta(6.0) == pytest.approx(expected, rel=1e-14)


def test_where_it_says_nothing() -> None:
    ours = paper(EPS_4)
    assert ours.epsilon(1e-10) == np.inf  # delta_fre + delta_sens is more
    assert ours.epsilon(0) == np.inf
    assert np.isnan(ours.delta(0.1))
    assert np.isfinite(ours.epsilon(1))
    assert ours.delta(np.inf) == pytest.approx(ours.terms.delta_fre + ours.terms.delta_sens)
    assert ours.delta([[2.0, 0.1]]).shape == (1, 2)
    assert ours.epsilon([[1e-6], [1e-5]]).shape == (2, 1)


@pytest.mark.parametrize("case", PUBLISHED)
def test_its_collision_term_leaves_out_the_number_of_records(case: Published) -> None:
    few, many = paper(case, records_max=10**3).terms, paper(case, records_max=10**7).terms
    assert few.delta_sens == many.delta_sens
    assert many.delta_sens_union == pytest.approx(1e4 * few.delta_sens_union, rel=1e-12)
    assert many.delta_sens_union > 1e-6
    assert paper(case, records_max=10**12, grid_edge=2.0).terms.delta_sens_union == 1


@pytest.mark.parametrize("missing", ["sensitivity_ratio", "budget_factor"])
def test_what_is_missing_is_named(missing: str) -> None:
    with pytest.raises(ParameterError, match=missing):
        paper(EPS_4, **{missing: None})


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, 1e-6), (-1, 1e-6), (np.inf, 1e-6), (1, 0), (1, 1), (np.nan, 0.1)]
)
def test_no_calibration(epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError):
        paper(EPS_4).calibrate(epsilon=epsilon, delta=delta)
