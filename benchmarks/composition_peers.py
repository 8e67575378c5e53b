"""What the accountants are compared with: plain scipy, dp-accounting and riskcal."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from accountants.profile import PrivacyProfile
from benchmarks.accountants import plain_joint

DELTA = 1e-6
RATE = 0.3
SHIFT = 1 / 1.78
BISECTIONS = 20
ALPHAS = np.linspace(0.001, 0.999, 500)
CURVE_POINTS = 5
SGD_SIZE, SGD_BATCH, SGD_STEPS = 10_000, 100, 1000
SGD_EPSILON, SGD_DELTA = 8.0, 1e-5


# --- plain scipy --------------------------------------------------------------------------------


def plain_group(*, threshold: int, epsilon: float, records: int = 1, step: int = 1) -> float:
    """Count alone, both directions and "nothing", largest over every step-th size to 4 tau/p."""
    best, growth = 0.0, math.exp(epsilon)
    for size in range(max(0, threshold - records), 4 * round(threshold / RATE), step):
        n = np.arange(threshold, size + records + 1)
        with_all = np.append(
            binom.pmf(n, size + records, RATE), binom.cdf(threshold - 1, size + records, RATE)
        )
        without = np.append(binom.pmf(n, size, RATE), binom.cdf(threshold - 1, size, RATE))
        added = np.maximum(with_all - growth * without, 0).sum()
        removed = np.maximum(without - growth * with_all, 0).sum()
        best = max(best, float(added), float(removed))
    return best


def plain_sum(*, threshold: int, epsilon: float, step: int = 1) -> float:
    """Count and sum (the "add" direction, which is the worse one here), over the same sizes."""
    sizes = np.arange(threshold, 4 * round(threshold / RATE), step)
    table = plain_joint(
        p=RATE, threshold=threshold, shifts=np.array([SHIFT]), others=sizes, epsilon=epsilon
    )
    return float(table.max())


def bisected(delta: Callable[..., float]) -> float:
    """Return the epsilon of a falling delta, within 16 / 2^20."""
    low, high = 0.0, 16.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(epsilon=middle) > DELTA else (low, middle)
    return high


# --- dp-accounting and riskcal ------------------------------------------------------------------


def pair_epsilon(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return epsilon of two discrete distributions on the same outcomes, by dp-accounting."""
    from dp_accounting.pld import privacy_loss_distribution

    with np.errstate(divide="ignore"):
        one, other = (dict(enumerate(np.log(masses))) for masses in (first, second))
    pld = privacy_loss_distribution.from_two_probability_mass_functions(
        one, other, value_discretization_interval=1e-4, symmetric=False
    )
    return float(pld.get_epsilon_for_delta(DELTA))


def fixed_count(threshold: int, others: int) -> float:
    """Return epsilon of the count with ``others`` others, by dp-accounting."""
    n = np.arange(threshold, others + 2)
    return pair_epsilon(
        *(
            np.append(binom.pmf(n, size, RATE), binom.cdf(threshold - 1, size, RATE))
            for size in (others, others + 1)
        )
    )


def one_cell(decay: float, shift: int) -> float:
    """Return epsilon of one cell's dummies, by dp-accounting."""
    masses = np.exp(-decay * np.abs(np.arange(2 * shift + 1) - shift))
    masses /= masses.sum()
    return pair_epsilon(np.append(masses, 0.0), np.append(0.0, masses))


def rdp_epsilon(rho: float) -> float:
    """Return epsilon of a concentrated bound, by dp-accounting's Rényi orders."""
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    orders = rdp.DEFAULT_RDP_ORDERS
    return float(rdp.compute_epsilon(orders, [rho * order for order in orders], DELTA)[0])


def gaussian_epsilon() -> float:
    """Return epsilon of the Gaussian, by dp-accounting."""
    import dp_accounting

    return float(dp_accounting.get_epsilon_gaussian(0.95, DELTA))


@cache
def gaussian_pld() -> Any:
    """Return the distribution of which trade-off curves are drawn; not timed."""
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution.from_gaussian_mechanism(
        0.95, value_discretization_interval=1e-4
    )


def riskcal_curve() -> float:
    """Return the mean of the curve by riskcal."""
    from riskcal.analysis.conversions import (  # type: ignore[import-untyped]
        get_beta_from_pld,
    )

    return float(np.mean(get_beta_from_pld(gaussian_pld(), alpha=ALPHAS)))


def searched_curve() -> float:
    """Return the mean of a few points, each searched with dp-accounting's delta(epsilon)."""
    pld = gaussian_pld()
    chosen = ALPHAS[:: len(ALPHAS) // CURVE_POINTS][:CURVE_POINTS]
    betas = []
    for alpha in chosen:

        def lost(epsilon: float, alpha: float = float(alpha)) -> float:
            delta = float(pld.get_delta_for_epsilon(epsilon))
            return delta - 1 + math.exp(epsilon) * alpha

        found = minimize_scalar(lost, bounds=(-20, 20), method="bounded", options={"xatol": 1e-6})
        betas.append(max(-float(found.fun), 0.0))
    return float(np.mean(betas))


def sgd_noise() -> float:
    """Return the noise multiplier of DP-SGD, by dp-accounting."""
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    rate = SGD_BATCH / SGD_SIZE

    def event(noise: float) -> Any:
        step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
        return dp_accounting.SelfComposedDpEvent(step, SGD_STEPS)

    return float(
        dp_accounting.calibrate_dp_mechanism(PLDAccountant, event, SGD_EPSILON, SGD_DELTA, tol=1e-6)
    )


def connected(profile: PrivacyProfile, *, interval: float, end: float, count: int) -> float:
    """Return epsilon of ``count`` releases by dp-accounting, all grid points connected."""
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    last = round(end / interval)
    upper = profile.delta(interval * np.arange(last + 1))
    below = interval * np.arange(-last, 0)
    deltas = np.concatenate([-np.expm1(below) + np.exp(below) * upper[:0:-1], upper])
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(interval, -last, last, deltas)
    pld = privacy_loss_distribution.PrivacyLossDistribution(pmf)
    return float(pld.self_compose(count).get_epsilon_for_delta(DELTA))
