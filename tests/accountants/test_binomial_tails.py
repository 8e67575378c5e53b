"""Binomial tails for any number of trials, against mpmath."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from accountants import JointRelease
from accountants.binomial import CDF_ERROR, cdf, log_reached

sizes = st.floats(0, 15.6).map(lambda x: int(10**x))


def tails(j: int, m: int, p: float) -> tuple[mp.mpf, mp.mpf]:
    """Pr[Bin <= j] and Pr[Bin > j], summed from the side that is small, with 60 digits."""
    with mp.workdps(60):
        rate = mp.mpf(p)
        odds = rate / (1 - rate)
        mass = mp.exp(
            mp.loggamma(m + 1)
            - mp.loggamma(j + 1)
            - mp.loggamma(m - j + 1)
            + j * mp.log(rate)
            + (m - j) * mp.log1p(-rate)
        )
        total, k = mp.mpf(0), j
        if j <= m * rate:
            while k >= 0 and (mass > total * mp.mpf(10) ** -35 or total == 0):
                total, mass, k = total + mass, mass * k / ((m - k + 1) * odds), k - 1
            return total, 1 - total
        k, mass = j + 1, mass * (m - j) * odds / (j + 1)
        while k <= m and (mass > total * mp.mpf(10) ** -35 or total == 0):
            total, mass, k = total + mass, mass * (m - k) * odds / (k + 1), k + 1
        return 1 - total, total


@settings(max_examples=300, deadline=None, derandomize=True)
@given(sizes, st.floats(-12, 4), st.floats(1e-9, 1 - 1e-9), st.floats(-12, 6), st.booleans())
@example(1339108902, math.log10(2.2), 0.5, -0.8, True)
@example(10**12, math.log10(5), 0.5, 0.0, True)
def test_within_the_error_that_is_said(
    m: int, log_mean: float, rate: float, deviations: float, rare: bool
) -> None:
    p = 10.0**log_mean / m if rare else rate
    assume(1e-12 < p < 1)
    mean = m * p
    assume(mean < 2e4)
    j = int(min(max(mean + deviations * max(mean, 1.0) ** 0.5, 0.0), m - 1))
    below, above = tails(j, m, p)
    if below > 1e-290:
        assert abs(float(cdf(j, m, p) / below - 1)) <= CDF_ERROR
    if above > 1e-290 and m <= 2**51:
        found, truth = float(log_reached(j + 1, m, p)), float(mp.log(above))
        assert truth - 1e-15 <= found
        assert found <= truth + 3 * CDF_ERROR or j + 1 <= mean


@pytest.mark.parametrize(
    ("j", "m", "value"), [(-1, 5, 0.0), (5, 5, 1.0), (9, 5, 1.0), (0, 0, 1.0), (-1, 0, 0.0)]
)
def test_ends(j: int, m: int, value: float) -> None:
    assert float(cdf(j, m, 0.3)) == value
    reached = float(log_reached(max(j + 1, 1), m, 0.3))
    assert reached == -np.inf or j < 0 < m


@pytest.mark.parametrize(("others", "p", "threshold"), [(10**9, 5e-9, 3), (10**12, 5e-12, 3)])
@pytest.mark.parametrize("part", [0.1, 0.5])
def test_fault_one_minus_p_is_rounded(others: int, p: float, threshold: int, part: float) -> None:
    """With the tail from 1 - p "nothing" was too low: by 8e-10 and 2e-8 of it at N = 1e9."""
    epsilon = p * part
    found = float(
        JointRelease(sampling_rate=p, threshold=threshold, shift=0.0, others=others).delta_remove(
            epsilon
        )
    )
    with mp.workdps(60):
        rate, e = mp.mpf(p), mp.exp(mp.mpf(epsilon))
        c = 1 - (1 - rate) * e
        b = rate * e / c

        def mass(n: int) -> mp.mpf:
            if n < 0:
                return mp.mpf(0)
            return mp.binomial(others, n) * rate**n * (1 - rate) ** (others - n)

        total = mp.fsum(max(mass(n) - b * mass(n - 1), 0) for n in range(threshold, threshold + 60))
        below = [mp.fsum(mass(n) for n in range(t)) for t in (threshold, threshold - 1)]
        truth = float(c * (total + max(below[0] - b * below[1], 0)))
    assert truth <= found <= truth * (1 + 1e-6)
