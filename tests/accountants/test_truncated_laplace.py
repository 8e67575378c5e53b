"""The truncated shifted discrete Laplace law: many digits, brute force, and the exact sampler."""

import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from accountants import ParameterError
from accountants.truncated_laplace import TruncatedLaplace, _bernoulli, _bernoulli_exp

decays = st.floats(np.log(1e-12), np.log(1e3)).map(lambda x: float(np.clip(np.exp(x), 1e-12, 1e3)))
shifts = st.one_of(st.integers(0, 40), st.floats(0, np.log(1e9)).map(lambda x: int(np.exp(x))))
Source = Callable[[int], bytes]


def seeded(seed: int) -> Source:
    return np.random.default_rng(seed).bytes


def masses(decay: float, shift: int) -> list[mp.mpf]:
    """All 2t + 1 masses, from the definition."""
    weights = [mp.exp(-mp.mpf(decay) * abs(x - shift)) for x in range(2 * shift + 1)]
    total = mp.fsum(weights)
    return [w / total for w in weights]


def close(found: float, exact: mp.mpf, error: float) -> bool:
    """Whether a logarithm is right to within its error."""
    return bool(abs(mp.mpf(found) - mp.log(exact)) <= error)


# --- against the definition, small ----------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(decays, st.integers(0, 12))
@example(1e-12, 0)
@example(1e3, 12)
def test_against_the_definition(decay: float, shift: int) -> None:
    law = TruncatedLaplace(decay=decay, shift=shift)
    points = np.arange(-1, 2 * shift + 2)
    log_pmf, log_cdf, log_survival = (
        law.log_pmf(points),
        law.log_cdf(points),
        law.log_survival(points),
    )
    with mp.workdps(60):
        exact = masses(decay, shift)
        for i, x in enumerate(points[1:-1], start=1):
            assert close(log_pmf[i], exact[x], law.log_error)
            assert close(log_cdf[i], mp.fsum(exact[: x + 1]), law.log_error)
            if x < 2 * shift:
                assert close(log_survival[i], mp.fsum(exact[x + 1 :]), law.log_error)
        assert close(law.log_end_mass, exact[0], law.log_error)
        if shift:
            assert close(law.log_p_plus, mp.fsum(exact[shift : 2 * shift]), law.log_error)
            assert close(law.log_p_minus, mp.fsum(exact[:shift]), law.log_error)
        variance = mp.fsum(e * (x - shift) ** 2 for x, e in enumerate(exact))
        assert abs(law.variance - variance) <= 1e-14 * variance + 1e-300
    assert log_pmf[0] == log_pmf[-1] == log_cdf[0] == log_survival[-1] == -np.inf
    assert log_cdf[-1] == log_survival[0] == 0
    assert law.mean == shift


def test_off_the_support() -> None:
    law = TruncatedLaplace(decay=0.5, shift=3)
    assert law.pmf([-1, 7, 2.5, np.inf, -np.inf]).tolist() == [0.0] * 5
    assert law.pmf([[3]]).shape == (1, 1)
    assert float(law.cdf(2.9)) == float(law.cdf(2))
    assert float(law.cdf(np.inf)) == 1
    assert float(law.survival(np.inf)) == 0
    assert float(law.cdf(-np.inf)) == 0
    with pytest.raises(ParameterError, match="x = "):
        law.pmf(np.nan)


# --- extreme ranges, from the closed forms at many digits -----------------------------------------


@settings(max_examples=300, deadline=None, derandomize=True)
@given(decays, shifts, st.floats(0, 1))
@example(1e-12, 10**9, 0.3)
@example(1e-12, 1, 0.0)
@example(1e3, 10**9, 1.0)
@example(1e3, 0, 0.0)
def test_against_many_digits(decay: float, shift: int, where: float) -> None:
    law = TruncatedLaplace(decay=decay, shift=shift)
    x = int(where * shift)
    with mp.workdps(600):
        r = mp.exp(-mp.mpf(decay))
        a = (1 - r) / (1 + r - 2 * r ** (shift + 1))
        below = a * (r ** (shift - x) - r ** (shift + 1)) / (1 - r)  # x <= t
        assert close(float(law.log_pmf(x)), a * r ** (shift - x), law.log_error)
        assert close(float(law.log_pmf(2 * shift - x)), a * r ** (shift - x), law.log_error)
        assert close(float(law.log_cdf(x)), below, law.log_error)
        if x < 2 * shift:
            assert close(float(law.log_survival(x)), 1 - below, law.log_error)
            assert close(float(law.log_survival(2 * shift - x - 1)), below, law.log_error)
        assert close(law.log_end_mass, a * r**shift, law.log_error)
        if shift:
            assert close(law.log_p_plus, a * (1 - r**shift) / (1 - r), law.log_error)
            assert close(law.log_p_minus, a * r * (1 - r**shift) / (1 - r), law.log_error)
    assert law.log_error < (1e-12 if decay * shift < 100 else 1e-9 * max(1.0, decay * shift / 1e5))


@pytest.mark.parametrize("shift", [1, 1000, 10**9])
def test_variance_at_the_ends(shift: int) -> None:
    flat = TruncatedLaplace(decay=1e-12, shift=shift).variance
    assert flat == pytest.approx(shift * (shift + 1) / 3, rel=1e-3)  # uniform on 2t + 1 points
    steep = TruncatedLaplace(decay=30.0, shift=shift).variance
    assert steep == pytest.approx(2 * np.exp(-30.0), rel=1e-9)
    assert TruncatedLaplace(decay=1e3, shift=shift).variance == 0  # 1e-434 underflows
    wide = TruncatedLaplace(decay=0.5, shift=10**6).variance
    assert wide == pytest.approx(2 * np.exp(-0.5) / (1 - np.exp(-0.5)) ** 2, rel=1e-12)


@pytest.mark.parametrize(
    ("decay", "shift"),
    [
        *((bad, 1) for bad in (0, -1, np.nan, np.inf, 9e-13, 1001)),
        *((1, bad) for bad in (-1, 1.5, np.nan, 10**9 + 1, np.inf, True)),
    ],
)
def test_ranges(decay: float, shift: int) -> None:
    with pytest.raises(ParameterError, match=r"(decay|shift) = "):
        TruncatedLaplace(decay=decay, shift=shift)


# --- the sampler ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decay", "shift"), [(0.7, 3), (1.0, 9), (2.5, 4), (0.05, 5), (1e-12, 6), (0.3, 1), (7.3, 2)]
)
def test_sampler_follows_the_law(decay: float, shift: int) -> None:
    # chi-square with cells of at least 10 expected; a chance of about 1e-7 each, seed fixed
    law = TruncatedLaplace(decay=decay, shift=shift)
    size = 200_000
    seen = np.bincount(law.sample(size, random_bytes=seeded(3)), minlength=2 * shift + 1)
    expected = size * law.pmf(np.arange(2 * shift + 1))
    rare = expected < 10
    seen = np.append(seen[~rare], seen[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum() + 1e-9)
    statistic = float((((seen - expected) ** 2) / np.maximum(expected, 1)).sum())
    assert statistic < chi2.isf(1e-7, df=len(seen))


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1), Fraction(1, 3), Fraction(7, 2)])
def test_bernoulli_of_an_exponential(x: Fraction) -> None:
    size = 200_000
    share = _bernoulli_exp(x, size, seeded(5)).mean()
    # Hoeffding: a chance of 2e-7
    assert abs(share - np.exp(-float(x))) < np.sqrt(np.log(1e7) / (2 * size))


def test_ties_of_64_bits_are_decided_by_further_ones() -> None:
    third = (1 << 64) // 3  # 1/3 = third/2^64 + (1/3)/2^64: the digits repeat

    def source(words: list[int]) -> Source:
        given_out = iter(words)
        return lambda count: b"".join(
            next(given_out).to_bytes(8, "little") for _ in range(count // 8)
        )

    def one(words: list[int]) -> bool:
        return bool(_bernoulli(1, 3, 1, source(words))[0])

    assert one([third - 1])
    assert not one([third + 1])
    assert one([third, third - 1])
    assert not one([third, third + 1])
    assert one([third, third, third, 0])
    words = [(numerator << 64) // 7 for numerator in (1, 2, 4)]  # the next 64 digits of 1/7 differ
    assert bool(_bernoulli(1, 7, 1, source([*words[:2], words[2] - 1]))[0])
    assert not bool(_bernoulli(1, 7, 1, source([*words[:2], words[2] + 1]))[0])
    assert not bool(_bernoulli(1, 2, 1, source([1 << 63]))[0])  # equal: not below
    assert bool(_bernoulli(1, 2, 1, source([(1 << 63) - 1]))[0])
    assert bool(_bernoulli(5, 5, 1, source([]))[0])


def test_sampler_speed_and_draws() -> None:
    used = 0

    def counting(count: int) -> bytes:
        nonlocal used
        used += count
        return generator(count)

    generator = seeded(7)
    started = time.perf_counter()
    TruncatedLaplace(decay=1.747, shift=9).sample(100_000, random_bytes=counting)
    assert time.perf_counter() - started < 10
    # 4 digits of at most 2 turns of a coin and at most e / (1 - 1/e) words, twice
    assert used / 100_000 < 2 * (1 + 4 * 2 * (1 + 8 * np.e / (1 - np.exp(-1))))


def test_fault_unbounded_rejection() -> None:
    law = TruncatedLaplace(decay=1e-3, shift=5)
    for byte in (b"\x00", b"\x01", b"\xff", b"\x55"):
        started = time.perf_counter()
        with suppress(ParameterError):  # an error or numbers in range, and soon
            drawn = law.sample(10, random_bytes=byte.__mul__)
            assert ((drawn >= 0) & (drawn <= 10)).all()
        assert time.perf_counter() - started < 5
    with pytest.raises(ParameterError, match="1000 turns"):
        law.sample(10, random_bytes=b"\xff".__mul__)  # always beyond the shift
    with pytest.raises(ParameterError, match="bytes where"):
        law.sample(10, random_bytes=lambda count: b"\x01" * (count - 1))


def test_fault_rounded_laplace_taken_for_geometric() -> None:
    # at decay 1 the mass of the centre is (1 - r)/(1 + r) = .462; a rounded Laplace has .393
    law = TruncatedLaplace(decay=1.0, shift=60)
    assert float(law.pmf(60)) == pytest.approx(0.46211716, abs=1e-8)
    size = 200_000
    share = (law.sample(size, random_bytes=seeded(11)) == 60).mean()
    width = np.sqrt(np.log(1e7) / (2 * size))  # Hoeffding: a chance of 2e-7
    assert abs(share - 0.46211716) < width
    assert abs(share - (1 - np.exp(-0.5))) > 5 * width


def test_fault_threshold_off_by_one() -> None:
    # scale 1, threshold 5, one user: 1 + noise >= 5
    law = TruncatedLaplace(decay=1.0, shift=100)
    assert float(law.survival(100 + 3)) == pytest.approx(0.013390, abs=1e-6)
    assert float(law.survival(100 + 4)) == pytest.approx(0.004926, abs=1e-6)


@pytest.mark.parametrize("decay", [1e-12, 1e-9, 1e3])
def test_fault_saturation_at_limits(decay: float) -> None:
    law = TruncatedLaplace(decay=decay, shift=10**9)
    drawn = law.sample(2000, random_bytes=seeded(13))
    assert drawn.dtype == np.int64
    assert drawn.min() >= 0
    assert drawn.max() <= 2 * 10**9
    if decay < 1e-6:
        assert drawn.max() > 2**31 - 1 - 2 * 10**8  # past what a wrapped int32 would reach
        assert np.mean(drawn > 10**9) == pytest.approx(0.5, abs=0.06)  # Hoeffding: 2e-6
    else:
        assert (drawn == 10**9).all()


def test_sizes() -> None:
    law = TruncatedLaplace(decay=0.5, shift=2)
    assert law.sample(0).shape == (0,)
    assert law.sample(70_000).shape == (70_000,)  # more than one batch; the system's randomness
    assert (TruncatedLaplace(decay=0.5, shift=0).sample(5, random_bytes=bytes) == 0).all()
    for size in (-1, 1.5):
        with pytest.raises(ParameterError, match="size = "):
            law.sample(size)  # type: ignore[arg-type]
