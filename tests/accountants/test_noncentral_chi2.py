"""The noncentral chi-square bounds against mpmath, arb and closed forms, deep in both tails."""

import time
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv

from accountants import ParameterError
from accountants import noncentral_chi2 as chi2

CLOSE = 1e-6
ROUNDING = 1e-13  # of the logarithm itself


def mixture(x: float, degrees: int, noncentrality: float) -> tuple[Any, Any]:
    """CDF and survival by plain recursion over every term, to 50 digits."""
    y, m, a = mp.mpf(x) / 2, mp.mpf(noncentrality) / 2, mp.mpf(degrees) / 2
    top = int(x + noncentrality) + 400
    g = mp.exp(-y + (a + top) * mp.log(y) - mp.loggamma(a + top + 1))
    w = mp.exp(-m + top * mp.log(m) - mp.loggamma(top + 1)) if m else mp.mpf(0)
    central, cdf = g, w * g
    for j in range(top - 1, -1, -1):
        g = g * (a + j + 1) / y
        w = w * (j + 1) / m if m else mp.mpf(j == 0)
        central += g
        cdf += w * central
    rest = mp.gammainc(a, y, regularized=True) if degrees < 60 else upper_gamma(a, y)
    w, g, sf = mp.exp(-m), mp.exp(-y + a * mp.log(y) - mp.loggamma(a + 1)), mp.mpf(0)
    for j in range(top if m else 1):
        sf += w * rest
        rest += g
        g = g * y / (a + j + 1)
        w = w * m / (j + 1)
    return cdf, sf


def upper_gamma(a: Any, y: Any) -> Any:
    """Q(a, y) for a in steps of one half, by recursion from below."""
    e = mp.mpf(0) if mp.isint(a) else mp.mpf(1) / 2
    total = mp.mpf(0) if e == 0 else mp.erfc(mp.sqrt(y))
    g = mp.exp(-y + e * mp.log(y) - mp.loggamma(e + 1))
    while e < a:
        total += g
        e += 1
        g = g * y / e
    return total


def closed_form(x: float, degrees: int, noncentrality: float) -> tuple[Any, Any]:
    """CDF and survival for odd degrees: error functions and Bessel densities."""
    root, shift = mp.sqrt(mp.mpf(x)), mp.sqrt(mp.mpf(noncentrality))
    two = mp.sqrt(2)
    sf = (mp.erfc((root - shift) / two) + mp.erfc((root + shift) / two)) / 2
    cdf = (mp.erfc((shift - root) / two) - mp.erfc((shift + root) / two)) / 2
    for d in range(3, degrees + 1, 2):  # F_d = F_{d-2} - 2 f_d
        order = mp.mpf(d) / 2 - 1
        ratio = (root / shift) ** order
        density = mp.exp(-(root**2 + shift**2) / 2) * ratio * half_bessel(d, root * shift) / 2
        cdf -= 2 * density
        sf += 2 * density
    return cdf, sf


def half_bessel(d: int, z: Any) -> Any:
    """I_{d/2-1}(z) for odd d >= 3 by the upward recursion, at the working precision."""
    below = mp.sqrt(2 / (mp.pi * z)) * mp.cosh(z)  # order -1/2
    value = mp.sqrt(2 / (mp.pi * z)) * mp.sinh(z)  # order 1/2
    order = mp.mpf(1) / 2
    for _ in range((d - 3) // 2):
        below, value = value, below - 2 * order / z * value
        order += 1
    return value


def enclosure(x: float, degrees: int, noncentrality: float) -> tuple[tuple[float, float], ...]:
    values = {"degrees": degrees, "noncentrality": noncentrality}
    return (
        (float(chi2.log_cdf_down(x, **values)), float(chi2.log_cdf_up(x, **values))),
        (float(chi2.log_sf_down(x, **values)), float(chi2.log_sf_up(x, **values))),
    )


def check(x: float, degrees: int, noncentrality: float, exact: tuple[Any, Any]) -> None:
    """Both tails enclose the exact values, and closely."""
    for (down, up), truth in zip(enclosure(x, degrees, noncentrality), exact, strict=True):
        assert down <= up <= 0
        log = mp.log(truth) if truth < 0.5 else mp.log1p(truth - 1)
        assert mp.mpf(down) <= log + mp.mpf(10) ** -45
        assert mp.mpf(up) >= log - mp.mpf(10) ** -45
        slack = CLOSE + ROUNDING * abs(float(log))
        assert up - float(log) <= slack
        assert float(log) - down <= slack


# --- certification ------------------------------------------------------------------------------


@settings(max_examples=200)
@given(
    st.one_of(st.integers(1, 40), st.sampled_from([99, 100, 767, 768, 3001])),
    st.one_of(st.just(0.0), st.floats(-25, 6).map(lambda v: float(np.exp(v)))),
    st.floats(-12, 6.5).map(lambda v: float(np.exp(v))),
)
@example(1, 0.0, 1e-6)
@example(2, 0.0, 1400.0)
@example(768, 600.0, 0.01)
def test_mixture_is_enclosed(degrees: int, noncentrality: float, x: float) -> None:
    with mp.workdps(60):
        check(x, degrees, noncentrality, mixture(x, degrees, noncentrality))


@settings(max_examples=200)
@given(
    st.sampled_from([1, 3, 5, 9]),
    st.floats(0, 12).map(lambda v: 10.0**v),
    st.floats(-30, 30),
    st.floats(-6, 6),
    st.booleans(),
)
@example(1, 1e12, 0.0, 0.0, True)
@example(9, 1e12, -30.0, 0.0, True)
@example(3, 1e10, 12.0, 0.0, True)
@example(1, 1e12, 0.0, -0.5, False)
@example(3, 1e-3, 0.0, 15.0, False)
def test_wide_windows_are_enclosed(
    degrees: int, noncentrality: float, deviations: float, log_ratio: float, near: bool
) -> None:
    """Near the mean (in standard deviations) and far from it, up to 1e12."""
    root = np.sqrt(noncentrality) + deviations
    x = float(root * root) if near else noncentrality * 10.0**log_ratio
    x = float(np.clip(x, 1e-12, 1e12))
    with mp.workdps(250):  # the Bessel recursion loses digits where x times noncentrality is small
        check(x, degrees, noncentrality, closed_form(x, degrees, noncentrality))


@pytest.mark.parametrize(
    ("x", "degrees", "noncentrality"),
    [(3000.0, 768, 2e4), (2e4, 768, 2e4), (2.6e4, 100_000, 100.0), (3e4, 768, 2e4), (10.0, 4, 3e4)],
)
def test_deep_and_long(x: float, degrees: int, noncentrality: float) -> None:
    with mp.workdps(60):
        check(x, degrees, noncentrality, mixture(x, degrees, noncentrality))


def test_far_below_the_doubles() -> None:
    """Logarithms below -1e5, where scipy returns 0."""
    with mp.workdps(80):
        exact = closed_form(1e5, 3, 9e5)
        check(1e5, 3, 9e5, exact)
        assert mp.log(exact[0]) < -1e5
        assert mp.log(closed_form(9e5, 3, 1e5)[1]) < -1e5
        check(9e5, 3, 1e5, closed_form(9e5, 3, 1e5))


@settings(max_examples=200)
@given(st.integers(1, 100_000), st.floats(-200, 12).map(lambda v: float(10.0**v)))
@example(100_000, 1e12)
@example(1, 1e-280)
@example(768, 768.0)
def test_central_against_arb(degrees: int, x: float) -> None:
    """Without noncentrality: the incomplete gamma function, in ball arithmetic."""
    from flint import arb, ctx

    before = ctx.prec
    try:
        ctx.prec = 256
        a, y = arb(degrees) / 2, arb(x) / 2
        lower, upper = _arb_gamma(a, y)
    finally:
        ctx.prec = before
    for (down, up), log in zip(enclosure(x, degrees, 0.0), (lower, upper), strict=True):
        if log is None:
            continue
        value = float(log.mid())
        slack = CLOSE + ROUNDING * abs(value)
        assert bool(log >= arb(down) - arb(10) ** -60)
        assert bool(log <= arb(up) + arb(10) ** -60)
        assert up - value <= slack
        assert value - down <= slack


def _arb_gamma(a: Any, y: Any) -> tuple[Any, Any]:
    """Logarithms of P(a, y) and Q(a, y); None where the ball does not separate it from 0."""
    lower, upper = y.gamma_lower(a, 1), y.gamma_upper(a, 1)
    return tuple(part.log() if bool(part > 0) else None for part in (lower, upper))  # type: ignore


# --- shape --------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(
    st.integers(1, 2000),
    st.floats(-3, 9).map(lambda v: 10.0**v),
    st.floats(-3, 9).map(lambda v: 10.0**v),
    st.floats(1.001, 3),
)
def test_monotone(degrees: int, noncentrality: float, x: float, factor: float) -> None:
    """The CDF grows with x and falls with the noncentrality and with d; the bounds nearly so."""

    def down(point: float, d: int, nc: float) -> float:
        return float(chi2.log_cdf_down(point, degrees=d, noncentrality=nc))

    top = float(chi2.log_cdf_up(x, degrees=degrees, noncentrality=noncentrality))
    bottom = down(x, degrees, noncentrality)
    assert down(x / factor, degrees, noncentrality) <= top
    assert down(x, degrees, noncentrality * factor) <= top
    assert down(x, degrees + 2, noncentrality) <= top
    larger = float(chi2.log_cdf_up(x * factor, degrees=degrees, noncentrality=noncentrality))
    assert bottom <= larger
    assert top <= float(
        chi2.chernoff_log_cdf(x, degrees=degrees, noncentrality=noncentrality)
    ) + CLOSE + ROUNDING * abs(top)


@settings(max_examples=300)
@given(
    st.sampled_from([1, 2, 768, 100_000]),
    st.sampled_from([0.0, 5e-324, 1e-300, 1.0, 1e6, 1e12, 1.1e12, 1e24, 1e300]),
    st.sampled_from([0.0, 5e-324, 1e-300, 1e-280, 1.0, 1e6, 1e12, 1.1e12, 1e24, 1e308, np.inf]),
)
def test_extreme_arguments(degrees: int, noncentrality: float, x: float) -> None:
    """No NaN, nothing above 0, no warning, at any finite argument; the two tails are consistent."""
    (cdf_down, cdf_up), (sf_down, sf_up) = enclosure(x, degrees, noncentrality)
    for down, up in ((cdf_down, cdf_up), (sf_down, sf_up)):
        assert not np.isnan(down)
        assert not np.isnan(up)
        assert down <= up <= 0
    assert np.exp(cdf_up) + np.exp(sf_up) >= 1 - 1e-15
    assert np.exp(cdf_down) + np.exp(sf_down) <= 1 + 1e-15
    if x == 0:
        assert cdf_up == -np.inf
        assert sf_down == 0
    if np.isinf(x):
        assert cdf_down == 0
        assert sf_up == -np.inf


def test_beyond_the_summed_range() -> None:
    """Chernoff's bound has the exact exponent there: (root x - root nc)^2 / 2 in one dimension."""
    up = float(chi2.log_cdf_up(1e16, degrees=1, noncentrality=4e16))
    assert -0.5e16 <= up <= -0.5e16 * (1 - 1e-12)
    assert chi2.log_cdf_down(1e16, degrees=1, noncentrality=4e16) == -np.inf
    assert float(chi2.log_cdf_down(4e16, degrees=1, noncentrality=1e16)) == pytest.approx(0)


def test_shapes() -> None:
    values = {"degrees": np.array([2, 3]), "noncentrality": np.array([0.0, 1.0])}
    down, up = (bound(np.ones((3, 1)), **values) for bound in (chi2.log_cdf_down, chi2.log_cdf_up))
    assert down.shape == up.shape == (3, 2)
    assert chi2.log_cdf_up(1.0, degrees=2, noncentrality=0.0).shape == ()
    assert np.all(down <= up)


def test_exponential_law() -> None:
    """Two degrees: survival e^(-x/2) exactly."""
    x = np.array([1e-12, 1e-3, 1.0, 50.0, 1e4, 1e9])
    up = chi2.log_sf_up(x, degrees=2, noncentrality=0.0)
    down = chi2.log_sf_down(x, degrees=2, noncentrality=0.0)
    assert np.all(down <= -x / 2)
    assert np.all(-x / 2 <= up)
    np.testing.assert_allclose(up, -x / 2, rtol=1e-13, atol=3e-12)


def test_frequency() -> None:
    """Simulated normals are where the bounds say; errs with probability below 1e-6."""
    rng = np.random.default_rng(3)
    trials, degrees, shift, x = 400_000, 4, 1.7, 5.0
    z = rng.normal(size=(trials, degrees))
    z[:, 0] += shift
    hits = int(np.sum(np.sum(z * z, axis=1) <= x))
    low = betaincinv(hits, trials - hits + 1, 5e-7)
    high = betaincinv(hits + 1, trials - hits, 1 - 5e-7)
    values = {"degrees": degrees, "noncentrality": shift * shift}
    assert low <= np.exp(chi2.log_cdf_down(x, **values))
    assert np.exp(chi2.log_cdf_up(x, **values)) <= high


def test_no_hang_and_quick() -> None:
    """One value in milliseconds (a loose limit: the machine may be busy)."""
    start = time.process_time()
    for nc in np.geomspace(1e-3, 1e5, 40):
        chi2.log_cdf_up(nc, degrees=768, noncentrality=nc)
    assert time.process_time() - start < 40 * 0.025


@pytest.mark.parametrize(
    ("x", "degrees", "noncentrality"),
    [
        (-1, 3, 1),
        (np.nan, 3, 1),
        (1, 0, 1),
        (1, 2.5, 1),
        (1, 100_001, 1),
        (1, np.nan, 1),
        (1, 3, -1),
        (1, 3, np.nan),
        (1, 3, np.inf),
    ],
)
def test_refused(x: float, degrees: float, noncentrality: float) -> None:
    with pytest.raises(ParameterError):
        chi2.log_cdf_up(x, degrees=degrees, noncentrality=noncentrality)
