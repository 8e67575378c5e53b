"""Malicious submitters: the honest share, and the divergence with an adversary's records inside."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants import FreE2TParameters, JointRelease, ParameterError, TightTotal
from accountants.malicious import (
    ASSUMPTIONS,
    honest_noise_std,
    honest_parameters,
    honest_threshold,
)
from accountants.noise_growth import NoiseGrowth
from tests.accountants import oracles


def release(**changes: object) -> FreE2TParameters:
    return FreE2TParameters(**oracles.parameters(oracles.EPS_4, **changes))


def with_known_records(
    members: list[float], known: list[float], threshold: int, noise: float, y: np.ndarray
) -> tuple[float, np.ndarray]:
    """Honest members sampled by their coins, the adversary's always: what is released."""
    _, rows = oracles.release_density(members, 0.4, 0, noise, y - sum(known))
    counts = np.arange(len(rows)) + len(known)
    hidden = float(np.sum(rows[counts < threshold]) * (y[1] - y[0]))
    return hidden, rows[counts >= threshold]


@pytest.mark.parametrize("known", [0, 1, 2])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.0, 2.0])
def test_an_adversary_with_records_in_the_bucket(known: int, epsilon: float) -> None:
    """Its count and vectors are known; the bound at tau - m covers it, and is attained."""
    y = np.linspace(-16, 20, 30001)
    threshold, rest, user, planted = 3, [0.0, 0.0, 0.0], [0.8], [2.0, -1.5][:known]
    first = with_known_records(rest + user, planted, threshold, 1.0, y)
    second = with_known_records(rest, planted, threshold, 1.0, y)
    honest = JointRelease(
        sampling_rate=0.4,
        threshold=honest_threshold(threshold=threshold, malicious=known),
        shift=0.8,
        others=3,
    )
    for one, other, bound in (
        (first, second, float(honest.delta_add(epsilon))),
        (second, first, float(honest.delta_remove(epsilon))),
    ):
        assert oracles.divergence(one, other, epsilon, y) == pytest.approx(bound, abs=1e-6)
    if known:  # the configured threshold says too little
        naive = JointRelease(sampling_rate=0.4, threshold=threshold, shift=0.8, others=3)
        found = oracles.divergence(first, second, epsilon, y)
        assert found > float(naive.delta_add(epsilon)) + 1e-4


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(1, 2000), st.floats(0, 1), st.floats(0, 1e6))
def test_the_honest_share(threshold: int, share: float, local: float) -> None:
    malicious = int(share * (threshold - 1))
    honest = honest_threshold(threshold=threshold, malicious=malicious)
    assert honest == threshold - malicious >= 1
    noise = honest_noise_std(threshold=threshold, malicious=malicious, local_noise_std=local)
    assert noise**2 <= honest * local**2 * (1 + 1e-15)
    assert noise == pytest.approx(np.sqrt(honest) * local, rel=1e-14)


def test_parameters_of_the_honest() -> None:
    base = release(threshold=40, noise_std=2.0)
    central = honest_parameters(base, malicious=4, distributed=False)
    assert central == replace(base, threshold=36)
    shared = honest_parameters(base, malicious=4, distributed=True)
    local = 2.0 / np.sqrt(40)
    assert shared.threshold == 36
    assert shared.noise_std == pytest.approx(
        honest_noise_std(threshold=40, malicious=4, local_noise_std=local), rel=1e-14
    )
    assert shared.noise_std <= 2.0 * np.sqrt(36 / 40)
    growing = replace(base, noise_growth=NoiseGrowth(threshold=40, most=80))
    assert honest_parameters(growing, malicious=4, distributed=True).noise_growth is None
    with pytest.raises(ParameterError, match="distributed"):
        honest_parameters(growing, malicious=4, distributed=False)
    assert honest_parameters(base, malicious=0, distributed=False) == base
    assert len(set(ASSUMPTIONS)) == 4


def test_delta_rises_with_malicious_submitters() -> None:
    logs = [
        float(
            TightTotal(
                parameters=honest_parameters(release(), malicious=m, distributed=shared)
            ).log_delta(1.0)
        )
        for shared in (False, True)
        for m in (0, 5, 15)
    ]
    assert logs[0] < logs[1] < logs[2]
    assert logs[3] == pytest.approx(logs[0], abs=1e-2)
    assert logs[3] < logs[4] < logs[5]
    assert logs[4] > logs[1]
    assert logs[5] > logs[2]


def test_the_noise_that_is_left_is_below_the_one_configured() -> None:
    """With the growth dropped, the bound is that of the noise at the new threshold."""
    growing = release(noise_growth=NoiseGrowth(threshold=30, most=60))
    left = honest_parameters(growing, malicious=6, distributed=True)
    kept = replace(left, noise_growth=NoiseGrowth(threshold=24, most=48))
    assert TightTotal(parameters=left).log_delta(1.0) >= TightTotal(parameters=kept).log_delta(1.0)


@pytest.mark.parametrize("malicious", [-1, 30, 31, 1.5, np.nan, np.inf])
def test_nothing_honest_left(malicious: int) -> None:
    with pytest.raises(ParameterError, match="malicious"):
        honest_threshold(threshold=30, malicious=malicious)
    with pytest.raises(ParameterError, match="malicious"):
        honest_noise_std(threshold=30, malicious=malicious, local_noise_std=1.0)
    with pytest.raises(ParameterError, match="malicious"):
        honest_parameters(release(), malicious=malicious, distributed=True)


@pytest.mark.parametrize("noise", [-1.0, np.nan, np.inf])
def test_noise_ranges(noise: float) -> None:
    with pytest.raises(ParameterError, match="local_noise_std"):
        honest_noise_std(threshold=30, malicious=3, local_noise_std=noise)


# --- faults the field has had -------------------------------------------------------------------


def test_fault_threshold_off_by_one() -> None:
    """With m = tau - 1 one honest record is left, and that is the last m allowed."""
    assert honest_threshold(threshold=5, malicious=4) == 1
    with pytest.raises(ParameterError, match="no honest record"):
        honest_threshold(threshold=5, malicious=5)
