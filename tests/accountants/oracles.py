"""Independent evaluations to test against: mpmath to many digits, quadrature, and plain numpy."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import mpmath as mp
import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, ndtr

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Published:
    """One configuration of the Fre-E2T paper; m is its printed noise multiplier."""

    claim: float
    sampling_rate: float
    threshold: int
    budget_factor: float
    multiplier: float
    noise_std: float


EPS_4 = Published(4.0, 0.3, 30, 4, 1.78, 2.136)
EPS_8 = Published(8.0, 0.5, 50, 4, 0.95, 1.14)
EPS_16 = Published(16.0, 0.6, 60, 3, 0.43, 0.516)
PUBLISHED = (EPS_4, EPS_8, EPS_16)


# distances for plain_u_free: close together where the best split and the far peak lie
DISTANCES = np.unique(
    np.concatenate([np.linspace(0.02, 0.4, 20), np.linspace(0.4, 1.0, 240), np.geomspace(1, 9, 20)])
)


def parameters(case: Published, **changes: Any) -> dict[str, Any]:
    """Return the paper's Fre-E2T parameters for one configuration, without rounding."""
    values: dict[str, Any] = {
        "records_max": 10**6,
        "embedding_dim": 768,
        "projection_dim": 20,
        "grid_edge": 1 / np.sqrt(20),
        "sampling_rate": case.sampling_rate,
        "threshold": case.threshold,
        "noise_std": case.noise_std,
        "radius": 0.5,
        "sensitivity_ratio": 2.4,
        "budget_factor": case.budget_factor,
        "lattice_step": 0.0,
    }
    return values | changes


# --- mpmath -------------------------------------------------------------------------------------


def hockey_stick(b: Any, mu: Any) -> Any:
    """H_{e^b}(N(mu,1) || N(0,1)) at the working precision; b may be infinite, mu 0."""
    if b == -mp.inf:
        return mp.mpf(1)
    if b == mp.inf:
        return mp.mpf(0)
    if mu == 0:
        return mp.mpf(max(1 - mp.exp(b), 0))
    root = mp.sqrt(2)
    return (mp.erfc((b / mu - mu / 2) / root) - mp.exp(b) * mp.erfc((b / mu + mu / 2) / root)) / 2


def mass(n: int, trials: int, p: Any) -> Any:
    """Bin(trials, p) at n, at the working precision."""
    if not 0 <= n <= trials:
        return mp.mpf(0)
    return mp.binomial(trials, n) * p**n * (1 - p) ** (trials - n)


def joint_release(
    direction: str, *, p: float, threshold: int, mu: float, others: int, epsilon: float
) -> Any:
    """Theorem J in one direction, at the working precision."""
    q, shift, growth = mp.mpf(p), mp.mpf(mu), mp.exp(mp.mpf(epsilon))
    if direction == "add":
        ratio = 1 + (growth - 1) / q
        total = mp.mpf(0)
        for n in range(threshold, others + 2):
            here, there = mass(n - 1, others, q), mass(n, others, q)
            b = mp.log(ratio * there / here) if there else -mp.inf
            total += here * hockey_stick(b, shift)
        return q * total
    factor = 1 - (1 - q) * growth
    if factor <= 0:
        return mp.mpf(0)
    ratio = q * growth / factor
    total = sum((mass(n, others, q) for n in range(threshold)), mp.mpf(0))
    total -= ratio * sum((mass(n, others, q) for n in range(threshold - 1)), mp.mpf(0))
    total = max(total, mp.mpf(0))
    for n in range(threshold, others + 1):
        here, there = mass(n, others, q), mass(n - 1, others, q)
        total += here * hockey_stick(mp.log(ratio * there / here), shift)
    return factor * total


def coordinate_collision(c: Any) -> Any:
    """f(c) at the working precision."""
    c = mp.mpf(c)
    return mp.erf(c / mp.sqrt(2)) - mp.sqrt(2 / mp.pi) * (1 - mp.exp(-c * c / 2)) / c


# --- quadrature over the released pairs ---------------------------------------------------------


def release_density(
    members: Sequence[float], p: float, threshold: int, noise: float, y: Floats
) -> tuple[float, Floats]:
    """Return the probability of "nothing" and the density at (count, y), by listing all subsets.

    ``members`` are points on a line; the result has one row for each count from ``threshold``
    to ``len(members)``.
    """
    size = len(members)
    rows = np.zeros((max(size - threshold + 1, 0), len(y)))
    nothing = 0.0
    for n in range(size + 1):
        weight = p**n * (1 - p) ** (size - n)
        for chosen in combinations(members, n):
            if n < threshold:
                nothing += weight
            else:
                rows[n - threshold] += weight * normal_density((y - sum(chosen)) / noise) / noise
    return nothing, rows


def coinciding_density(
    others: int, with_record: bool, p: float, threshold: int, mu: float, y: Floats
) -> tuple[float, Floats]:
    """As :func:`release_density` for N others at 0 and, if asked, the record at mu; noise 1."""
    from scipy.stats import binom

    counts = np.arange(threshold, others + 2)[:, None]
    absent = binom.pmf(counts, others, p) * normal_density(y)
    nothing = binom.cdf(threshold - 1, others, p)
    if not with_record:
        return float(nothing), absent
    present = binom.pmf(counts - 1, others, p) * normal_density(y - mu)
    hidden = (1 - p) * nothing + p * binom.cdf(threshold - 2, others, p)
    return float(hidden), (1 - p) * absent + p * present


def normal_density(y: Floats) -> Floats:
    """Return the standard normal density."""
    return np.asarray(np.exp(-y * y / 2) / np.sqrt(2 * np.pi))


def divergence(
    first: tuple[float, Floats], second: tuple[float, Floats], epsilon: float, y: Floats
) -> float:
    """Return the hockey-stick divergence of two releases, each "nothing" and a density on y."""
    rows = max(len(first[1]), len(second[1]))
    total = max(first[0] - np.exp(epsilon) * second[0], 0.0)
    for n in range(rows):
        a = first[1][n] if n < len(first[1]) else np.zeros_like(y)
        b = second[1][n] if n < len(second[1]) else np.zeros_like(y)
        total += float(np.sum(np.maximum(a - np.exp(epsilon) * b, 0.0))) * (y[1] - y[0])
    return float(total)


# --- plain numpy, for many N at once ------------------------------------------------------------


def plain_joint(
    *, p: float, threshold: int, shifts: Floats, others: NDArray[np.int64], epsilon: float
) -> Floats:
    """Theorem J ("add"), straight from its formula; shape (shifts, others)."""
    from scipy.stats import binom

    a = 1 + np.expm1(epsilon) / p
    result = np.zeros((len(shifts), len(others)))
    for j, size in enumerate(others):
        mean, spread = size * p, np.sqrt(size * p * (1 - p))
        low = max(threshold, int(mean - 12 * spread) - 12)
        high = min(int(size), max(int(mean + 12 * spread) + 60, threshold + 60))
        n = np.arange(low, high + 1)
        if low <= size:
            odds = (size - n + 1) / n * p / (1 - p)
            b = np.log(a * odds)[None, :]
            x = shifts[:, None]
            stick = ndtr(x / 2 - b / x) - np.exp(b) * ndtr(-x / 2 - b / x)
            result[:, j] = np.maximum(stick, 0) @ binom.pmf(n - 1, size, p)
        if high == size and size + 1 >= threshold:
            result[:, j] += p**size
    return p * result


def plain_collision(*, edge: float, projection_dim: int, distances: Floats) -> Floats:
    """f(L sqrt(k)/D)^k in plain floating point."""
    c = edge * np.sqrt(projection_dim) / distances
    f = erf(c / np.sqrt(2)) - np.sqrt(2 / np.pi) * (1 - np.exp(-c * c / 2)) / c
    return np.asarray(f**projection_dim)


def plain_u_free(
    *, p: float, threshold: int, noise_std: float, epsilon: float, distances: Floats
) -> float:
    """Min over D0 of near + far on a grid of D, for the paper's grid and 1e6 records ("add")."""
    most = int(4 * threshold / p)
    others = np.unique(
        np.concatenate([np.arange(threshold - 1, most), np.geomspace(most, 10**6 - 1, 40)])
    ).astype(np.int64)
    table = plain_joint(
        p=p, threshold=threshold, shifts=distances / noise_std, others=others, epsilon=epsilon
    )
    near = table.max(axis=1)
    share = (table / others).max(axis=1)
    collide = plain_collision(edge=1 / np.sqrt(20), projection_dim=20, distances=distances)
    far = 1e6 * collide * share
    beyond = np.append(np.maximum.accumulate(far[::-1])[::-1][1:], 0.0)
    return float(np.min(near + beyond))
