import pytest

from dpaudit.auditing.error_budget import delta_grid, error_budget, violation_share
from dpaudit.auditing.findings import VIOLATION, decide, violation_findings


@pytest.mark.parametrize(
    ("proved", "measured", "verdict", "code", "findings"),
    [
        (True, 0.5, "proved", 0, 0),
        (False, 0.5, "open", 3, 0),
        (False, 4.5, "refuted", 1, 0),
        (True, 4.5, "refuted", 1, 1),
        (False, 4.0, "open", 3, 0),
    ],
)
def test_verdicts(proved: bool, measured: float, verdict: str, code: int, findings: int) -> None:
    got = decide(
        proved=proved, measured_epsilon=measured, claim_epsilon=4.0, confidence=0.99, findings=[]
    )
    assert (got[0], len(got[1]), got[2]) == (verdict, findings, code)


def test_a_finding_sets_the_exit_code() -> None:
    found = violation_findings(
        [{"direction": "add", "epsilon": 1.0, "measured": 0.1, "bound": 0.01}], "here", "Theorem J"
    )
    assert found[0]["code"] == VIOLATION
    got = decide(
        proved=True, measured_epsilon=0.0, claim_epsilon=4.0, confidence=0.99, findings=found
    )
    assert got == ("proved", found, 1)


@pytest.mark.parametrize("confidence", [0.51, 0.9, 0.99, 1 - 1e-9])
def test_the_split_does_not_exceed_the_error(confidence: float) -> None:
    budget = error_budget(confidence=confidence, delta=1e-6)
    assert sum(budget.split.values()) <= 1 - confidence
    assert budget.tail == pytest.approx((1 - confidence) / 2)
    assert 12 * 6 * violation_share(canaries=6, collision_tests=6) <= 12 * 6e-6
    assert violation_share(canaries=6, collision_tests=6) * (6 * 4 + 6) <= 1e-6


def test_delta_grid() -> None:
    assert delta_grid(1e-6) == pytest.approx((1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6))
    assert delta_grid(0.3) == (0.3,)
    assert delta_grid(3e-3) == pytest.approx((1e-1, 1e-2, 3e-3))
    assert len(delta_grid(1e-300)) == 10
