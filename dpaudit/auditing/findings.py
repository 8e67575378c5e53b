"""Loud findings, and the verdict."""

from typing import Any

from dpaudit.auditing.collision import CollisionTest
from dpaudit.auditing.error_budget import VIOLATION_ERROR
from dpaudit.verification import EXIT_CODES, OPEN, PROVED, REFUTED

VIOLATION = "implementation-violates-analysis"


def violation_findings(
    violations: list[dict[str, Any]], where: str, bound: str
) -> list[dict[str, Any]]:
    """Return a finding for each measured delta above its upper bound."""
    return [
        _finding(
            f"{where} ({found['direction']} direction): delta at epsilon {found['epsilon']:.4g} is "
            f"at least {found['measured']:.3g}, where {bound} allows {found['bound']:.3g}",
            VIOLATION_ERROR,
        )
        for found in violations
    ]


def collision_findings(tests: list[CollisionTest], error: float) -> list[dict[str, Any]]:
    """Return a finding for each pair that shares cells more or less often than it should."""
    return [
        _finding(
            f"the grid: pairs at distance {test.distance:.4g} {test.place} share a coordinate's "
            f"cell in {test.observed:.4f} of {test.coordinates} cases, where Lemma 2 gives "
            f"{test.expected:.4f} (p-value {test.p_value:.1e})",
            VIOLATION_ERROR,
        )
        for test in tests
        if test.p_value < error
    ]


def decide(
    *,
    proved: bool,
    measured_epsilon: float,
    claim_epsilon: float,
    confidence: float,
    findings: list[dict[str, Any]],
) -> tuple[str, list[dict[str, Any]], int]:
    """Return the verdict, all findings, and the exit code.

    A claim that is proved for the analysed mechanism and refuted by the trials is a finding too:
    what ran is not what was analysed.
    """
    refuted = measured_epsilon > claim_epsilon
    if refuted and proved:
        findings = [
            *findings,
            _finding(
                f"the measured total epsilon {measured_epsilon:.4g} refutes the claim "
                f"{claim_epsilon:.4g}, which is proved for the analysed mechanism",
                1.0 - confidence,
            ),
        ]
    verdict = REFUTED if refuted else PROVED if proved else OPEN
    return verdict, findings, 1 if findings else EXIT_CODES[verdict]


def _finding(message: str, error: float) -> dict[str, Any]:
    return {
        "code": VIOLATION,
        "message": message[0].upper() + message[1:] + ".",
        "error_probability": error,
    }
