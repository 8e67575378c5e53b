"""The contract of calibrate."""

import pytest

from dpaudit import ParameterError, calibrate, verify
from tests.dpaudit.test_verification import deployment


def test_the_paper_and_the_tight_noise() -> None:
    result = calibrate(deployment(), epsilon=4.0, delta=1e-6)
    assert (result["verdict"], result["exit_code"]) == ("feasible", 0)
    assert result["paper"]["noise_multiplier_exact"] == pytest.approx(1.77338, abs=5e-6)
    assert result["paper"]["noise_multiplier"] == 1.78
    assert result["paper"]["noise_std"] == pytest.approx(2.136)
    noise = result["tight"]["noise_std"]
    assert verify(deployment(noise_std=noise))["verdict"] == "proved"
    assert verify(deployment(noise_std=0.99 * noise))["verdict"] == "open"


def test_the_sweep_keeps_the_frequency_threshold() -> None:
    result = calibrate(deployment(), epsilon=4.0, delta=1e-6)
    rows = {row["sampling_rate"]: row for row in result["sweep"]}
    assert rows[0.5]["threshold"] == 50
    assert rows[0.3]["tight_noise_std"] == pytest.approx(result["tight"]["noise_std"], rel=1e-3)
    assert rows[0.1]["paper_noise_std"] is None  # epsilon_fre is small, delta_fre 7.7e-5 or so
    assert len(rows) == len(result["sweep"])


def test_infeasible() -> None:
    result = calibrate(deployment(threshold=2), epsilon=4.0, delta=1e-6)
    assert (result["verdict"], result["exit_code"]) == ("infeasible", 3)
    assert result["tight"] == {"noise_std": None, "feasible": False}


def test_without_the_papers_parameters() -> None:
    result = calibrate(deployment(budget_factor=None), epsilon=4.0, delta=1e-6)
    assert result["paper"] is None
    assert result["tight"]["feasible"]


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-6), (float("nan"), 1e-6), (1.0, 0.0)])
def test_targets_out_of_range(epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError):
        calibrate(deployment(), epsilon=epsilon, delta=delta)
