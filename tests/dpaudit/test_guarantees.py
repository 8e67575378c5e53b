"""What a deployment guarantees in each view and adjacency, as ``verify`` puts it together."""

from typing import Any

import numpy as np
import pytest

from accountants import DpauditError
from dpaudit import Deployment, DeploymentError, calibrate, verify
from dpaudit.guarantees import claimed_noise_std, guarantee_steps

RELEASE = {
    "records_max": 10**6,
    "embedding_dim": 768,
    "projection_dim": 20,
    "radius": 0.5,
    "sampling_rate": 0.3,
    "threshold": 30,
    "noise_std": 2.136,
    "sensitivity_ratio": 2.4,
    "budget_factor": 4.0,
}
DUMMIES = {"decay": 1.0, "shift": 20}
SHARED = {"granularity": 1e-4}


def deployment(claim: dict[str, Any] | None = None, **sections: Any) -> Deployment:
    base = {"epsilon": 4.0, "delta": 1e-6, "adjacency": "add-remove", "view": "public"}
    return Deployment.from_dict(
        {
            "deployment": {"name": "x", "system": "fre-e2t"},
            "claim": base | (claim or {}),
            "fre_e2t": RELEASE,
            **sections,
        },
        source="x",
    )


def last_epsilon(claim: dict[str, Any] | None = None, **sections: Any) -> float:
    return float(guarantee_steps(deployment(claim, **sections))[-1].epsilon(1e-6))


PUBLIC = 0.6889


def test_the_release_itself_is_the_first_step() -> None:
    (step,) = guarantee_steps(deployment())
    assert str(step.view) == "public"
    assert str(step.adjacency) == "add-remove of 1 record"
    assert float(step.epsilon(1e-6)) == pytest.approx(PUBLIC, abs=1e-3)


def test_the_synthesis_server_sees_more_than_the_public() -> None:
    found = last_epsilon({"view": "synthesis-server"}, dummies=DUMMIES)
    # a padded tag that moves: ln(1 + p (e^(2 lambda) - 1)), reached within its own delta
    assert found == pytest.approx(np.log(1 + 0.3 * np.expm1(2.0)), abs=1e-3)
    steps = guarantee_steps(deployment({"view": "synthesis-server"}, dummies=DUMMIES))
    assert [step.view.party for step in steps] == ["public", "synthesis-server"]


def test_without_dummies_the_synthesis_server_learns_who_took_part() -> None:
    found = last_epsilon({"view": "synthesis-server"}, dummies={"decay": 1.0, "shift": 0})
    assert found == np.inf


def test_colluders_take_threshold_and_shared_noise_away() -> None:
    alone = last_epsilon(distributed=SHARED)
    few, more = (last_epsilon({"colluders": c}, distributed=SHARED) for c in (3, 10))
    assert alone < few < more


def test_noise_that_grows_with_the_count_is_worth_a_little() -> None:
    growing = last_epsilon(distributed=SHARED | {"local_noise": "threshold"})
    constant = last_epsilon(distributed=SHARED | {"local_noise": "count"})
    assert growing < constant
    assert constant == pytest.approx(PUBLIC, abs=0.02)


def test_replace_one_costs_the_coin() -> None:
    found = last_epsilon({"adjacency": "replace-one"})
    assert found == pytest.approx(PUBLIC + np.log(1 / 0.7), abs=1e-3)


def test_a_users_records_together() -> None:
    one, two, five = (last_epsilon({"records_per_user": n}) for n in (1, 2, 5))
    assert 2 * one <= two * (1 + 1e-3)
    assert two < five


def test_the_tagging_server_counts_requests() -> None:
    with pytest.raises(DeploymentError, match=r"^x: tagging-server view: it sees the number"):
        guarantee_steps(deployment({"view": "tagging-server"}))
    public = last_epsilon({"view": "tagging-server", "records_public": True})
    assert public == pytest.approx(PUBLIC, abs=1e-3)
    replaced = last_epsilon({"view": "tagging-server", "adjacency": "replace-one"})
    assert replaced == pytest.approx(last_epsilon({"adjacency": "replace-one"}))


def test_requests_by_sampled_users_only_are_not_private() -> None:
    claim = {"view": "tagging-server", "adjacency": "replace-one"}
    with pytest.raises(DeploymentError, match="every user has to request a tag"):
        guarantee_steps(deployment(claim, distributed=SHARED | {"tag_requests": "sampled"}))


def test_verify_prints_one_row_a_step_with_its_source() -> None:
    claim = {"view": "synthesis-server", "colluders": 2}
    result = verify(deployment(claim, dummies=DUMMIES, distributed=SHARED | {"modulus_bits": 32}))
    rows = result["guarantees"]
    assert [row["view"] for row in rows] == [
        "public",
        "public with 2 users",
        "synthesis-server with 2 users",
    ]
    assert all("docs/proofs/" in row["source"] for row in rows)
    assert result["tight"]["epsilon"] == rows[-1]["epsilon"]
    assert result["protocol"]["dummies"]["expected_messages"] == 20 * 30 * 29 // 2
    assert 0 < result["protocol"]["sums"]["wrap_probability"] < 1e-3
    assert result["paper"]["terms"]["epsilon_distributed"] > result["paper"]["epsilon"]
    assert not result["paper"]["is_bound"]
    assert "together with 2 users" in result["assumptions"][0]


def test_the_noise_for_a_claim_is_enough_and_hardly_more() -> None:
    claim = {"view": "synthesis-server"}
    given = deployment(claim, dummies=DUMMIES)
    noise = claimed_noise_std(given, epsilon=4.0, delta=1e-6)
    for factor, met in ((1 + 1e-6, True), (0.98, False)):
        changed = given.replace(fre_e2t={"noise_std": noise * factor})
        delta = float(guarantee_steps(changed)[-1].delta(4.0))
        assert (delta <= 1e-6 * (1 + 1e-3)) == met
    assert calibrate(given, epsilon=4.0, delta=1e-6)["tight"]["noise_std"] == noise


def test_no_noise_is_enough_where_the_dummies_are_too_few() -> None:
    given = deployment({"view": "synthesis-server"}, dummies={"decay": 1.0, "shift": 2})
    assert claimed_noise_std(given, epsilon=4.0, delta=1e-6) == np.inf
    result = verify(given)
    assert result["verdict"] == "open"
    assert {"no-noise-suffices", "tight-infeasible"} <= {w["code"] for w in result["warnings"]}


def test_errors_are_ours() -> None:
    assert issubclass(DeploymentError, DpauditError)
