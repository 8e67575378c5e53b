"""Conversions between mu and (epsilon, delta): high-precision oracle, rounding, refutation."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from accountants.errors import ParameterError
from dpaudit.estimators.gaussian_mu import delta_from_mu, epsilon_from_mu, mu_from_epsilon
from dpaudit.estimators.score_auditor import ScoreAuditor
from dpaudit.estimators.threshold_strategies import ConfidenceBand


def exact_delta(mu, epsilon):
    """Theorem 8 of Balle and Wang 2018, in 60 digits."""
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@given(st.floats(1e-4, 60.0), st.floats(0.0, 60.0))
@settings(deadline=None, max_examples=80)
def test_delta_is_rounded_down(mu, epsilon):
    exact, found = exact_delta(mu, epsilon), delta_from_mu(mu, epsilon=epsilon)
    assert found <= exact
    if exact > 1e-200:
        near = max(epsilon / mu - mu / 2, 0.0)
        assert found >= float(exact) * (1 - 1e-8) - 1e-11 * math.exp(-near * near / 2)


@given(st.floats(0.01, 20.0), st.floats(1e-12, 0.9))
@settings(deadline=None, max_examples=60)
def test_epsilon_is_rounded_down_and_inverts(mu, delta):
    epsilon = epsilon_from_mu(mu, delta=delta)
    if epsilon > 0:
        assert exact_delta(mu, epsilon) >= delta
        assert mu_from_epsilon(epsilon, delta=delta) == pytest.approx(mu, rel=1e-6)
    else:
        assert exact_delta(mu, 0) <= delta * (1 + 1e-6) + 1e-9


def test_reference_value_and_limits():
    # Analytic Gaussian at epsilon 50, delta 1e-6: sigma .156593 (Balle and Wang 2018).
    assert mu_from_epsilon(50.0, delta=1e-6) == pytest.approx(1 / 0.156593, rel=2e-6)
    assert epsilon_from_mu(1.0, delta=0.0) == math.inf
    assert epsilon_from_mu(0.0, delta=0.0) == 0.0
    assert delta_from_mu(0.0, epsilon=0.0) == 0.0
    assert delta_from_mu(1.0, epsilon=math.inf) == 0.0
    assert mu_from_epsilon(1.0, delta=0.0) == 0.0
    assert mu_from_epsilon(1.0, delta=1.0) == math.inf


@pytest.mark.parametrize("mean", [0.5, 2.0])
def test_measured_mu_of_gaussian_scores_is_nearly_the_mean(mean):
    """Quantile-spaced scores, so that nothing is random but the split."""
    size = 20_000
    scores = ndtri((np.arange(size) + 0.5) / size)
    auditor = ScoreAuditor(scores + mean, scores)
    for found in (auditor.gaussian_mu(), auditor.gaussian_mu(threshold_strategy=ConfidenceBand())):
        assert 0.85 * mean < found.lower < mean
        assert (found.quantity, found.given) == ("mu", {})
        assert str(found).startswith("mu >= ")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: delta_from_mu(-1.0, epsilon=1.0), "mu = -1"),
        (lambda: delta_from_mu(math.nan, epsilon=1.0), "mu = nan"),
        (lambda: delta_from_mu(1.0, epsilon=-1.0), "epsilon = -1"),
        (lambda: epsilon_from_mu(1.0, delta=2.0), "delta = 2"),
        (lambda: mu_from_epsilon(math.nan, delta=0.1), "epsilon = nan"),
    ],
)
def test_refuses_parameters_out_of_range(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
