"""Many simulated audits of mechanisms with known curve: bounds rarely exceed the truth.

Each test allows so many violations that a valid estimator exceeds them with probability below 1e-6.
"""

import pytest
from scipy.stats import binom

from benchmarks.estimators import cases, ours, uncorrected, violations
from dpaudit.estimators import ConfidenceBand, Split

AUDITS = 120
ALLOWED = int(binom.isf(1e-7, AUDITS, 0.05)) + 1


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case[0].name} at {case[1]}")
@pytest.mark.parametrize("strategy", [Split(), ConfidenceBand()], ids=["Split", "ConfidenceBand"])
def test_violations_stay_within_their_binomial_error(case: tuple, strategy: object) -> None:
    assert violations(ours(strategy), case, AUDITS) <= ALLOWED


def test_the_harness_sees_an_estimator_that_is_not_valid() -> None:
    """Sixty thresholds of the upper tail, none paid for: far more than 5% at epsilon 0."""

    def greedy(inside: object, outside: object, delta: float) -> float:
        return max(uncorrected(inside, outside, delta), uncorrected(-outside, -inside, delta)) * 1.0

    null = cases()[0]
    assert violations(greedy, null, 400) > 400 * 0.05
