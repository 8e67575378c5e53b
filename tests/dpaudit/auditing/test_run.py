"""The audit from file to verdict, with the bundled texts and model."""

import json
from pathlib import Path
from typing import Any

import pytest

from dpaudit import DataError, Deployment, ModelError, audit
from dpaudit.pipeline.trials import ReleaseFunction
from tests.dpaudit.auditing.faulty import faulty_release

EXAMPLES = Path(__file__).parents[3] / "examples"

pytestmark = [pytest.mark.model, pytest.mark.slow]


def bundled(**sections: dict[str, Any]) -> Deployment:
    return Deployment.from_toml(EXAMPLES / "bundled.toml").replace(**sections)


def test_the_bundled_deployment_is_proved() -> None:
    """Seeded: no chance is involved in a repetition."""
    result = audit(bundled(), trials=4000)
    assert (result["verdict"], result["exit_code"], result["findings"]) == ("proved", 0, [])
    assert 0 <= result["measured"]["epsilon"] <= result["tight"]["epsilon"]
    assert result["tight"]["epsilon"] <= result["claim"]["epsilon"]
    assert result["pipeline"]["experiment"] is True
    assert result["pipeline"]["noise"] == "exact-rounded-gaussian"
    assert result["data"]["simulated_population"] is True
    assert result["measured"]["in_distribution"]["conditional"] is True
    assert len(result["measured"]["diagnostics"]) == 3
    again = audit(bundled(), trials=4000)
    assert json.dumps(result) == json.dumps(again)


def test_without_a_seed_the_release_is_no_experiment() -> None:
    tables = bundled().to_dict()
    del tables["audit"]["seed"]
    result = audit(Deployment.from_dict(tables), trials=200)
    assert result["pipeline"]["experiment"] is False
    assert result["measured"]["seed"] is None


def test_the_broken_deployment_is_refuted() -> None:
    """Its claim is wrong, its implementation is not: no finding. Seeded."""
    result = audit(Deployment.from_toml(EXAMPLES / "broken.toml"))
    assert (result["verdict"], result["exit_code"], result["findings"]) == ("refuted", 1, [])
    assert result["claim"]["epsilon"] < result["measured"]["epsilon"]
    assert result["measured"]["epsilon"] <= result["tight"]["epsilon"]
    assert result["measured"]["delta"] > 100 * result["claim"]["delta"]


@pytest.mark.parametrize(
    "release",
    [
        faulty_release(noise_factor=0.1),
        faulty_release(unsampled_count=True),
        faulty_release(threshold_shift=-2),
        faulty_release(shared_coins=8),
    ],
)
def test_a_faulty_release_stage_is_a_loud_finding(release: ReleaseFunction) -> None:
    """20 000 trials a side; seeded."""
    result = audit(bundled(), trials=20_000, release=release)
    assert result["exit_code"] == 1
    assert {f["code"] for f in result["findings"]} == {"implementation-violates-analysis"}


def test_bad_input() -> None:
    with pytest.raises(DataError, match="records_max"):
        audit(bundled(fre_e2t={"records_max": 1000}), trials=200)
    with pytest.raises(ModelError, match="384 dimensions"):
        audit(bundled(fre_e2t={"embedding_dim": 768}), trials=200)
    tables = bundled().to_dict()
    del tables["model"]
    with pytest.raises(ModelError, match=r"\[model\]"):
        audit(Deployment.from_dict(tables), trials=200)
    del tables["data"]
    with pytest.raises(DataError, match=r"\[data\]"):
        audit(Deployment.from_dict(tables), trials=200)
