"""OpenDP privacy profiles made of ours."""

import builtins
from typing import Any

import numpy as np
import opendp.prelude as dp
import pytest
from numpy.typing import ArrayLike

from accountants.errors import ParameterError
from accountants.gaussian import log_hockey_stick
from accountants.loss_distribution import LossDistribution
from accountants.opendp_profile import to_opendp
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats


class Gaussian(PrivacyProfile):
    def log_delta(self, epsilon: ArrayLike) -> Floats:
        return log_hockey_stick(epsilon, 1.0)


@pytest.fixture
def _features() -> Any:
    dp.enable_features("contrib", "honest-but-curious")
    yield
    dp.disable_features("contrib", "honest-but-curious")


@pytest.mark.usefixtures("_features")
def test_delta_and_epsilon_are_ours() -> None:
    for profile in (Gaussian(), LossDistribution.from_profile(Gaussian())):
        theirs = to_opendp(profile)
        for epsilon in (0.0, 0.1, 1.0, 5.0, 30.0, 700.0, 1500.0):
            assert theirs.delta(epsilon=epsilon) == float(profile.delta(epsilon))
        for delta in (0.3, 1e-2, 1e-6, 1e-12, 1e-20):
            found = theirs.epsilon(delta=delta)
            assert found == pytest.approx(float(profile.epsilon(delta)), rel=1e-9)
            assert float(profile.delta(found)) <= delta * (1 + 1e-9)


@pytest.mark.usefixtures("_features")
def test_agrees_with_the_gaussian_of_opendp() -> None:
    measurement = dp.m.make_gaussian(
        dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0
    )
    theirs = dp.c.make_zCDP_to_approxDP(measurement).map(1.0)
    ours = to_opendp(Gaussian())
    for delta in (1e-3, 1e-6, 1e-9):
        assert ours.epsilon(delta=delta) <= theirs.epsilon(delta=delta) * (1 + 1e-9)
        assert ours.epsilon(delta=delta) >= theirs.epsilon(delta=delta) * 0.8


@pytest.mark.usefixtures("_features")
def test_negative_epsilon_is_refused() -> None:
    for bad in (-1.0, float("nan")):
        with pytest.raises(dp.OpenDPException):
            to_opendp(Gaussian()).delta(epsilon=bad)


def test_features_not_enabled() -> None:
    dp.disable_features("contrib", "honest-but-curious")
    with pytest.raises(ParameterError, match="enable_features"):
        to_opendp(Gaussian())


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *args: Any, **options: Any) -> Any:
        if name.startswith("opendp"):
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ParameterError, match="pip install opendp"):
        to_opendp(Gaussian())


def test_values_are_plain_floats() -> None:
    assert isinstance(float(np.asarray(Gaussian().delta(1.0))), float)
