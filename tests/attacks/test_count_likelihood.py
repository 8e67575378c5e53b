"""What the count alone says, against scipy's binomials."""

import numpy as np
import pytest
from scipy.stats import binom

from attacks.count_likelihood import log_below, log_count_ratio, mixed


@pytest.mark.parametrize(("others", "p"), [(1, 0.5), (7, 0.3), (130, 0.5), (1000, 0.02)])
def test_ratio_of_counts(others: int, p: float) -> None:
    counts = np.arange(1, others + 1)
    expected = binom.logpmf(counts - 1, others, p) - binom.logpmf(counts, others, p)
    found = log_count_ratio(counts, others=others, sampling_rate=p)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_ratio_at_the_ends() -> None:
    found = log_count_ratio([0, 5, 6, 7, 100], others=5, sampling_rate=0.5)
    assert found.tolist() == [-np.inf, np.log(5), np.inf, 0.0, 0.0]


@pytest.mark.parametrize("p", [0.01, 0.4, 0.99])
def test_below(p: float) -> None:
    for threshold in range(1, 13):
        expected = binom.logcdf(threshold - 1, 12, p) if threshold <= 12 else 0.0
        found = log_below(threshold, others=12, sampling_rate=p)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert found <= 0
    assert log_below(0, others=12, sampling_rate=p) == -np.inf
    assert log_below(-3, others=12, sampling_rate=p) == -np.inf
    assert log_below(13, others=12, sampling_rate=p) == 0


def test_below_far_in_the_tail() -> None:
    """Where every mass underflows a double, the logarithm does not."""
    assert log_below(1, others=10**6, sampling_rate=0.5) == pytest.approx(-(10**6) * np.log(2))


def test_mixed() -> None:
    found = mixed([-np.inf, 0.0, 1000.0, np.inf], sampling_rate=0.25)
    assert found[0] == pytest.approx(np.log(0.75))
    assert found[1] == pytest.approx(0.0, abs=1e-15)
    assert found[2] == pytest.approx(1000 + np.log(0.25))
    assert found[3] == np.inf
