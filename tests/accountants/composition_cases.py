"""What the tests of composition share: cases, strategies and plain evaluations."""

from dataclasses import dataclass

import mpmath as mp
import numpy as np
from numpy.typing import ArrayLike

from accountants.composition import (
    ComposedProfile,
)
from accountants.gaussian import log_hockey_stick
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats


@dataclass(frozen=True, kw_only=True)
class Gaussian(PrivacyProfile):
    shift: float

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        return log_hockey_stick(epsilon, self.shift)


@dataclass(frozen=True, kw_only=True)
class Response(PrivacyProfile):
    """Binary randomised response with ``level`` = ln(p/q), and infinite loss with ``leak``."""

    level: float
    leak: float = 0.0

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        eps = np.asarray(epsilon, float)
        with np.errstate(divide="ignore"):
            inner = np.log(-np.expm1(np.minimum(eps - self.level, -0.0)))
            inner = inner - np.logaddexp(0.0, -self.level) + np.log1p(-self.leak)
            value = np.logaddexp(inner, np.log(self.leak))
        size = np.where(np.isfinite(value), np.abs(value), 0.0)
        return np.asarray(np.minimum(value + 1e-15 * (1 + size), 0.0))


@dataclass(frozen=True, kw_only=True)
class Laplace(PrivacyProfile):
    """Sensitivity over scale is ``level``."""

    level: float

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            half = np.minimum((np.asarray(epsilon, float) - self.level) / 2, -0.0)
            return np.asarray(np.log(-np.expm1(half)) * (1 - 1e-15))


def composed(*parts: tuple[PrivacyProfile, int], **options: float) -> ComposedProfile:
    return ComposedProfile(
        profiles=tuple(profile for profile, _ in parts),
        counts=tuple(count for _, count in parts),
        **options,  # type: ignore[arg-type]
    )


# --- oracles ------------------------------------------------------------------------------------


def response_delta(level: float, count: int, epsilon: float, leak: float = 0.0) -> mp.mpf:
    """Delta of ``count`` randomised responses, by the binomial sum."""
    e0, eps, keep = mp.mpf(level), mp.mpf(epsilon), (1 - mp.mpf(leak)) ** count
    p, q = 1 / (1 + mp.exp(-e0)), 1 / (1 + mp.exp(e0))
    total = mp.mpf(0)
    for k in range(count + 1):
        loss = (2 * k - count) * e0
        if loss > eps:
            total += mp.binomial(count, k) * p**k * q ** (count - k) * -mp.expm1(eps - loss)
    return keep * total + 1 - keep
