"""The contract of verify: keys, verdicts, warnings, and what is infeasible."""

from math import inf, isnan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit import Deployment, verify

EXAMPLES = Path(__file__).parents[2] / "examples"


def deployment(**changes: Any) -> Deployment:
    claim = {"epsilon": 4.0, "delta": 1e-6, "adjacency": "add-remove", "view": "public"}
    release: dict[str, Any] = {
        "records_max": 1_000_000,
        "embedding_dim": 768,
        "projection_dim": 20,
        "radius": 0.5,
        "sampling_rate": 0.3,
        "threshold": 30,
        "noise_std": 2.136,
        "sensitivity_ratio": 2.4,
        "budget_factor": 4,
    }
    for key, value in changes.items():
        (claim if key in claim else release)[key] = value
    release = {key: value for key, value in release.items() if value is not None}
    tables = {"deployment": {"name": "t", "system": "fre-e2t"}, "claim": claim, "fre_e2t": release}
    return Deployment.from_dict(tables)


def codes(result: dict[str, Any]) -> set[str]:
    return {warning["code"] for warning in result["warnings"]}


@pytest.mark.parametrize(
    ("name", "paper", "tight", "noise"),
    [
        ("paper-eps4", 3.9894, 0.6889, 0.4888),
        ("paper-eps8", 7.9534, 1.5183, 0.3393),
        ("paper-eps16", 15.9654, 4.6547, 0.2195),
    ],
)
def test_the_published_configurations(name: str, paper: float, tight: float, noise: float) -> None:
    result = verify(Deployment.from_toml(EXAMPLES / f"{name}.toml"))
    assert (result["verdict"], result["exit_code"]) == ("proved", 0)
    assert result["paper"]["epsilon"] == pytest.approx(paper, abs=5e-5)
    assert tight - 1e-4 <= result["tight"]["epsilon"] <= tight + 0.002
    assert result["tight"]["noise_std_for_claim"] == pytest.approx(noise, rel=5e-3)
    assert result["tight"]["delta"] < result["claim"]["delta"]
    assert "missing-union" in codes(result)
    assert result["paper"]["is_bound"] is False
    terms = result["paper"]["terms"]
    assert set(terms) >= {"epsilon_fre", "delta_fre", "delta_sens", "delta_sens_union", "kappa"}
    assert all(isinstance(line, str) for line in result["assumptions"])


def test_the_broken_example_is_open() -> None:
    result = verify(Deployment.from_toml(EXAMPLES / "broken.toml"))
    assert (result["verdict"], result["exit_code"]) == ("open", 3)
    assert "paper-misses-claim" in codes(result)


def test_noise_rounded_down() -> None:
    """The paper's row for epsilon 2: p = .2, v = 5, m = 4.72, total 2.0038."""
    result = verify(
        deployment(
            epsilon=2.0, sampling_rate=0.2, threshold=20, budget_factor=5, noise_std=4.72 * 1.2
        )
    )
    assert result["paper"]["epsilon"] == pytest.approx(2.0038, abs=5e-5)
    assert "noise-rounded-down" in codes(result)


def test_budget_factor_below_one() -> None:
    assert "budget-factor-below-one" in codes(verify(deployment(budget_factor=0.5)))


def test_deltas_that_do_not_sum() -> None:
    result = verify(deployment(sensitivity_ratio=1.2))
    assert "delta-not-summing" in codes(result)
    assert result["paper"]["epsilon"] == inf
    assert result["paper"]["terms"]["delta_agg"] is None


def test_epsilon_below_sampling() -> None:
    result = verify(deployment(epsilon=1.0))
    assert "epsilon-below-sampling" in codes(result)
    assert result["paper"]["delta"] is None
    assert result["paper"]["terms"]["epsilon_agg"] is None


def test_without_the_papers_parameters() -> None:
    result = verify(deployment(sensitivity_ratio=None))
    assert "paper-parameters-missing" in codes(result)
    assert result["paper"]["epsilon"] is None
    assert result["verdict"] == "proved"


def test_no_noise_suffices() -> None:
    result = verify(deployment(threshold=2))
    assert {"no-noise-suffices", "tight-infeasible"} <= codes(result)
    assert result["tight"]["noise_std_for_claim"] is None
    assert result["tight"]["epsilon"] == inf
    assert result["verdict"] == "open"


@settings(max_examples=25)
@given(
    epsilon=st.floats(0.05, 40),
    delta=st.floats(1e-12, 0.1),
    sampling_rate=st.floats(0.05, 0.9),
    threshold=st.integers(1, 60),
    noise_std=st.floats(0.05, 10),
    records_max=st.integers(1, 10**9),
    projection_dim=st.integers(1, 24),
    sensitivity_ratio=st.floats(0.5, 6),
    budget_factor=st.floats(0.5, 8),
)
def test_every_deployment_gets_an_answer(**changes: Any) -> None:
    result = verify(deployment(**changes))
    numbers = [
        value
        for part in (result["paper"], result["paper"]["terms"], result["tight"])
        for value in part.values()
        if isinstance(value, float)
    ]
    assert not any(isnan(value) or value < 0 for value in numbers)
    proved = result["tight"]["epsilon"] <= changes["epsilon"]
    assert result["verdict"] == ("proved" if proved else "open")
    noise = result["tight"]["noise_std_for_claim"]
    if noise is None:
        assert not proved
    elif proved:
        assert noise <= changes["noise_std"] * (1 + 1e-2)
