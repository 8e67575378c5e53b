"""Faults in the release stage are found at 20 000 diagnostic trials a side; no correct stage is."""

import numpy as np
import pytest

from dpaudit.auditing.bucket_scores import TrialSettings
from dpaudit.auditing.diagnostics import MOST_TRIALS, measure_diagnostics
from dpaudit.auditing.error_budget import violation_share
from dpaudit.pipeline.release import release_buckets
from dpaudit.pipeline.trials import ReleaseFunction
from tests.dpaudit.auditing.faulty import EPS8, FAULTS, faulty_release


def contradictions(release: ReleaseFunction, *, trials: int, seed: int) -> list[dict[str, object]]:
    found = measure_diagnostics(
        EPS8,
        trials=trials,
        seed=np.random.SeedSequence(seed),
        settings=TrialSettings(release=release),
    )
    share = violation_share(canaries=6, collision_tests=6)
    return [entry for one in found for entry in one.given.violations(tail=share)]


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_fault_is_found(fault: str) -> None:
    """Seeded: no chance is involved in a repetition."""
    assert contradictions(FAULTS[fault](), trials=MOST_TRIALS, seed=1)


@pytest.mark.parametrize("seed", range(10))
def test_a_correct_stage_is_not_flagged(seed: int) -> None:
    """By construction each seed errs with probability <= 1e-6."""
    assert not contradictions(release_buckets, trials=4000, seed=seed)
    assert not contradictions(faulty_release(), trials=4000, seed=seed + 100)
