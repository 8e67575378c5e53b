"""Faults of mechanisms that a trusted curator runs: wrong noise, sensitivity or bounds."""

from typing import Any

import numpy as np

from tests.catalogue.entries import Entry
from tests.catalogue.noise import geometric


def sums(scale: float) -> Any:
    """Clip to 0..10, sum, and add noise for a sensitivity of ``scale``."""

    def release(data: list[int], trials: int, rng: np.random.Generator) -> Any:
        return int(np.clip(data, 0, 10).sum()) + geometric(rng, 1 / scale, trials)

    return release


def unclipped(data: list[int], trials: int, rng: np.random.Generator) -> Any:
    return sum(data) + geometric(rng, 0.1, trials)


def clamped_place(data: list[int], trials: int, rng: np.random.Generator) -> Any:
    """Clamp the cell a value falls into, not the value that is summed there."""
    cells = np.minimum(np.array(data) // 5, 1)
    totals = np.array([sum(v for v, c in zip(data, cells, strict=True) if c == k) for k in (0, 1)])
    return totals + geometric(rng, 0.1, (trials, 2))


def clamped_value(data: list[int], trials: int, rng: np.random.Generator) -> Any:
    return clamped_place([min(v, 10) for v in data], trials, rng)


def vector(divide: float, *, shared: bool = False, whole: bool = False) -> Any:
    """Eight coordinates, each 0 or 1, at most one of a record's being 1 unless ``whole``."""

    def release(data: list[int], trials: int, rng: np.random.Generator) -> Any:
        noise = geometric(rng, divide, (trials, 1 if shared else 8))
        return np.array(data) + noise

    return release


def histogram(epsilon: float) -> Any:
    def release(data: list[int], trials: int, rng: np.random.Generator) -> Any:
        return np.bincount(data, minlength=3) + geometric(rng, epsilon, (trials, 3))

    return release


def rounded_gaussian(sigma: float) -> Any:
    """Integer counts of two cells; noise is rounded, so no low bits are left."""

    def release(data: list[int], trials: int, rng: np.random.Generator) -> Any:
        return np.array(data) + np.rint(rng.normal(0, sigma, (trials, 2))).astype(int)

    return release


def own_bound(data: list[int], trials: int, rng: np.random.Generator) -> Any:
    return sum(data) + geometric(rng, 1 / max(data), trials)


def own_origin(data: list[float], trials: int, rng: np.random.Generator) -> Any:
    cells = np.floor(np.array(data) - min(data)).astype(int)
    return np.bincount(np.minimum(cells, 3), minlength=4) + geometric(rng, 1.0, (trials, 4))


def fixed_origin(data: list[float], trials: int, rng: np.random.Generator) -> Any:
    cells = np.clip(np.floor(np.array(data)).astype(int), 0, 3)
    return np.bincount(cells, minlength=4) + geometric(rng, 1.0, (trials, 4))


def towards_zero(count: int, trials: int, rng: np.random.Generator) -> Any:
    return count + np.trunc(rng.laplace(size=trials)).astype(int)


def counted(count: int, trials: int, rng: np.random.Generator) -> Any:
    return count + geometric(rng, 1.0, trials)


def wraps(count: int, trials: int, rng: np.random.Generator) -> Any:
    return int(np.array(count).astype(np.int8)) + geometric(rng, 1.0, trials)


def saturates(count: int, trials: int, rng: np.random.Generator) -> Any:
    return min(count, 127) + geometric(rng, 1.0, trials)


def float_noise(count: int, trials: int, rng: np.random.Generator) -> Any:
    return count + rng.laplace(size=trials)


def snapped(count: int, trials: int, rng: np.random.Generator) -> Any:
    return count + geometric(rng, 2.0**-10, trials) * 2.0**-10


def one_sided(count: int, trials: int, rng: np.random.Generator) -> Any:
    return count + np.abs(geometric(rng, 1.0, trials))


def bounded(count: int, trials: int, rng: np.random.Generator) -> Any:
    return count + np.clip(geometric(rng, 1.0, trials), -2, 2)


def scale_is_epsilon(count: int, trials: int, rng: np.random.Generator) -> Any:
    return count + geometric(rng, 1 / 0.5, trials)


def scale_is_inverse(count: int, trials: int, rng: np.random.Generator) -> Any:
    return count + geometric(rng, 0.5, trials)


def fixed_seed(count: int, trials: int, rng: np.random.Generator) -> Any:
    return count + geometric(np.random.default_rng(1), 1.0, 1).repeat(trials)


def exact_beside(data: list[int], trials: int, rng: np.random.Generator) -> Any:
    noisy = sum(data) + geometric(rng, 0.1, trials)
    return np.stack([noisy, np.full(trials, len(data))], axis=1)


def noisy_beside(data: list[int], trials: int, rng: np.random.Generator) -> Any:
    noisy = sum(data) + geometric(rng, 0.05, trials)
    return np.stack([noisy, len(data) + geometric(rng, 0.5, trials)], axis=1)


def cached(count: int, trials: int, rng: np.random.Generator) -> Any:
    """Answer two queries, of which the canary touches the first, with one draw of noise."""
    noise = geometric(rng, 1.0, (trials, 1))
    return np.array([count, 5]) + noise


def fresh(count: int, trials: int, rng: np.random.Generator) -> Any:
    return np.array([count, 5]) + geometric(rng, 1.0, (trials, 2))


def only_present(data: list[str], trials: int, rng: np.random.Generator) -> Any:
    keys = sorted(set(data))
    noise = geometric(rng, 1.0, (trials, len(keys)))
    counts = [data.count(key) for key in keys]
    return [dict(zip(keys, (counts + row).tolist(), strict=True)) for row in noise]


def whole_domain(data: list[str], trials: int, rng: np.random.Generator) -> Any:
    keys = ["ache", "cold", "flu"]
    counts = [data.count(key) for key in keys]
    noise = geometric(rng, 1.0, (trials, len(keys)))
    return [dict(zip(keys, (counts + row).tolist(), strict=True)) for row in noise]


def exponential(factor: float) -> Any:
    """Choose among three scores, each of sensitivity 1 and moving either way."""

    def release(scores: list[int], trials: int, rng: np.random.Generator) -> Any:
        weights = np.exp(factor * np.array(scores, float))
        return rng.choice(len(scores), trials, p=weights / weights.sum())

    return release


def sparse_vector(*, query_noise: bool) -> Any:
    """Say of each query whether it is above 0, until the first that is."""

    def release(queries: list[int], trials: int, rng: np.random.Generator) -> Any:
        threshold = geometric(rng, 0.5, (trials, 1))
        noise = geometric(rng, 0.25, (trials, len(queries))) if query_noise else 0
        above = np.array(queries) + noise > threshold
        first = np.where(above.any(axis=1), above.argmax(axis=1), len(queries))
        return first

    return release


MANY = [0, 3, 7, 10, 2, 9, 4, 6, 1, 8]
CENTRAL = [
    Entry(
        name="mean noise on a sum",
        fault="Noise for the sensitivity of a mean of ten is added to the sum.",
        data_in=[*MANY, 10], data_out=MANY, broken=sums(1.0), correct=sums(10.0),
    ),
    Entry(
        name="noise over dimension",
        fault="The noise of each of eight coordinates is divided by eight.",
        data_in=[1] + [0] * 7, data_out=[0] * 8, broken=vector(8.0), correct=vector(1.0),
    ),
    Entry(
        name="one draw for all coordinates",
        fault="One draw of noise is added to all coordinates, so that differences are exact.",
        data_in=[1] + [0] * 7, data_out=[0] * 8,
        broken=vector(1.0, shared=True), correct=vector(1.0),
    ),
    Entry(
        name="clipped by coordinate",
        fault="Each coordinate is clipped to 1, and noise is added for a vector of length 1.",
        data_in=[1] * 8, data_out=[0] * 8, broken=vector(1.0), correct=vector(1 / 8),
    ),
    Entry(
        name="sensitivity off by 2",
        fault="A replaced record changes two cells of a histogram; noise is added for one.",
        data_in=[0, 1, 1], data_out=[2, 1, 1], broken=histogram(1.0), correct=histogram(0.5),
    ),
    Entry(
        name="sensitivity off by the root of 2",
        fault="Gaussian noise for one changed cell, where replacing a record changes two.",
        epsilon=1.5, delta=0.01,
        data_in=[1, 0], data_out=[0, 1],
        broken=rounded_gaussian(1.50), correct=rounded_gaussian(2.12),
        trials=400_000,
    ),
    Entry(
        name="not clipped",
        fault="Values are summed as they are, with noise for values up to 10.",
        data_in=[*MANY, 90], data_out=MANY, broken=unclipped, correct=sums(10.0),
    ),
    Entry(
        name="clamped edge cell",
        fault="A value beyond the grid is counted in its last cell, and summed there unclipped.",
        data_in=[*MANY, 90], data_out=MANY, broken=clamped_place, correct=clamped_value,
    ),
    Entry(
        name="data-dependent clip",
        fault="The clipping bound, and with it the noise, is the largest value of the data.",
        data_in=[*MANY, 1000], data_out=MANY, broken=own_bound, correct=sums(10.0),
    ),
    Entry(
        name="data-dependent grid origin",
        fault="The grid begins at the smallest value, so one record moves all others' cells.",
        data_in=[0.2, 1.1, 1.2, 1.3, 2.4], data_out=[1.1, 1.2, 1.3, 2.4],
        broken=own_origin, correct=fixed_origin,
    ),
    Entry(
        name="noise rounded towards zero",
        fault="Laplace noise is cut to an integer before it is added: P[0] is .632, not .462.",
        data_in=1, data_out=0, broken=towards_zero, correct=counted,
    ),
    Entry(
        name="wraps around",
        fault="The count is kept in eight bits and wraps around instead of saturating.",
        data_in=128, data_out=127, broken=wraps, correct=saturates,
    ),
    Entry(
        name="low bits",
        fault="Floating-point Laplace noise: the low bits of the sum give the count away.",
        data_in=1, data_out=0, broken=float_noise, correct=snapped,
    ),
    Entry(
        name="one-sided noise",
        fault="Noise is never negative, so a release below the count is impossible.",
        data_in=1, data_out=0, broken=one_sided, correct=counted,
    ),
    Entry(
        name="bounded noise",
        fault="Noise is cut at 2, and delta is claimed to be 0.",
        data_in=1, data_out=0, broken=bounded, correct=counted,
    ),
    Entry(
        name="scale for epsilon",
        fault="The noise's scale is epsilon, not its inverse.",
        epsilon=0.5, data_in=1, data_out=0,
        broken=scale_is_epsilon, correct=scale_is_inverse,
    ),
    Entry(
        name="fixed seed",
        fault="The generator is made afresh from one seed, so the noise is always the same.",
        data_in=1, data_out=0, broken=fixed_seed, correct=counted,
    ),
    Entry(
        name="exact count beside",
        fault="The number of records is released as it is, beside the noisy sum.",
        data_in=[*MANY, 0], data_out=MANY, broken=exact_beside, correct=noisy_beside,
    ),
    Entry(
        name="cached noise",
        fault="A second query is answered with the noise of the first.",
        data_in=1, data_out=0, broken=cached, correct=fresh,
    ),
    Entry(
        name="empty bucket reveals absence",
        fault="Only keys that somebody has are released, with noisy counts.",
        data_in=["cold", "flu"], data_out=["cold"], broken=only_present, correct=whole_domain,
    ),
    Entry(
        name="exponential without the 2",
        fault="The exponential mechanism's weights lack the factor 2 in the denominator.",
        data_in=[1, 0, 0], data_out=[0, 1, 1], broken=exponential(1.0), correct=exponential(0.5),
    ),
    Entry(
        name="sparse vector without query noise",
        fault="Only the threshold is noisy, so some answers are impossible on one side.",
        data_in=[0, 1], data_out=[1, 0],
        broken=sparse_vector(query_noise=False), correct=sparse_vector(query_noise=True),
    ),
]  # fmt: skip
