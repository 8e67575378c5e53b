"""What is drawn holds: deployments load, mechanisms keep the epsilon that is said of them."""

from hypothesis import given, settings

from dpaudit import Deployment
from dpaudit.testing import assert_private
from dpaudit.testing.strategies import (
    KnownPrivacy,
    deployments,
    geometric_counts,
    mechanisms,
    randomised_responses,
)

FEW = settings(max_examples=25, deadline=None, derandomize=True)


@FEW
@given(deployments())
def test_deployments_survive_a_round_trip(deployment: Deployment) -> None:
    again = Deployment.from_dict(deployment.to_dict())
    assert again.to_dict() == deployment.to_dict()
    assert deployment.claim.view == "public"


@FEW
@given(mechanisms())
def test_mechanisms_keep_what_is_said_of_them(known: KnownPrivacy) -> None:
    """Each assertion errs with probability at most 1e-9."""
    assert_private(
        known.mechanism,
        epsilon=known.epsilon,
        delta=known.delta,
        data_in=known.data_in,
        data_out=known.data_out,
        trials=20_000,
        error=1e-9,
    )


@FEW
@given(randomised_responses(least=1.0, most=3.0) | geometric_counts(least=1.0, most=3.0))
def test_and_no_less(known: KnownPrivacy) -> None:
    """Half of the epsilon is refuted, at these sizes."""
    result = assert_private(
        known.mechanism,
        epsilon=100.0,
        data_in=known.data_in,
        data_out=known.data_out,
        trials=40_000,
        error=1e-3,
    )
    assert known.epsilon / 2 < result.epsilon <= known.epsilon
