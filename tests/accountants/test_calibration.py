"""The smallest noise for a claim."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants import FreE2TParameters, ParameterError, TightTotal, tight_noise_std
from tests.accountants import oracles
from tests.accountants.oracles import EPS_4, EPS_8, EPS_16, Published, parameters


def release(case: Published, **changes: Any) -> FreE2TParameters:
    return FreE2TParameters(**parameters(case, **changes))


@pytest.mark.parametrize(
    ("case", "coarse", "converged"),
    [(EPS_4, 0.500, 0.489), (EPS_8, 0.349, 0.3393), (EPS_16, 0.225, 0.2195)],
)
def test_reference_values(case: Published, coarse: float, converged: float) -> None:
    noise = tight_noise_std(release(case), epsilon=case.claim, delta=1e-6)
    assert noise < coarse
    assert noise == pytest.approx(converged, rel=5e-3)
    plain = [
        oracles.plain_u_free(
            p=case.sampling_rate,
            threshold=case.threshold,
            noise_std=noise * share,
            epsilon=case.claim,
            distances=oracles.DISTANCES,
        )
        for share in (1.0, 0.995)
    ]
    assert plain[0] <= 1e-6 < plain[1]


@settings(max_examples=12)
@given(
    st.floats(0.1, 0.8),
    st.integers(2, 50),
    st.floats(-2, 2),
    st.floats(0.05, 16),
    st.floats(-20, -2),
)
def test_enough_and_not_more(
    p: float, threshold: int, log_start: float, epsilon: float, log_delta: float
) -> None:
    case = Published(epsilon, p, threshold, 2, 1.0, float(np.exp(log_start)))
    delta = float(np.exp(log_delta))
    noise = tight_noise_std(release(case), epsilon=epsilon, delta=delta)
    if np.isinf(noise):
        huge = TightTotal(parameters=release(case, noise_std=1e12))
        assert huge.delta(epsilon) > delta * (1 - 1e-3)
        return
    assert TightTotal(parameters=release(case, noise_std=noise)).delta(epsilon) <= delta * (
        1 + 1e-15
    )
    if noise > 1e-12:
        less = TightTotal(parameters=release(case, noise_std=noise * 0.98))
        assert less.log_delta(epsilon) > log_delta - 5e-3


def test_estimates_that_are_too_high_do_not_cost_noise() -> None:
    """A plateau behind a cliff: starting at 1, the search once stopped at 0.607."""
    case = Published(3.0, 0.25, 3, 2, 1.0, 1.0)
    noise = tight_noise_std(release(case), epsilon=3.0, delta=float(np.exp(-4.0)))
    assert 0.38 < noise < 0.40


def test_where_it_starts_does_not_matter() -> None:
    found = [
        tight_noise_std(release(EPS_8, noise_std=start), epsilon=8.0, delta=1e-6)
        for start in (1e-4, 1.14, 300.0)
    ]
    assert found == pytest.approx([found[1]] * 3, rel=2e-3)


def test_no_noise_is_enough() -> None:
    # the count alone: a threshold of 1 shows a lone record with probability p
    assert tight_noise_std(release(EPS_4, threshold=1), epsilon=4.0, delta=1e-6) == np.inf


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, 0.1), (-1, 0.1), (np.nan, 0.1), (np.inf, 0.1), (1, 0), (1, 1)]
)
def test_ranges(epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError):
        tight_noise_std(release(EPS_4), epsilon=epsilon, delta=delta)
