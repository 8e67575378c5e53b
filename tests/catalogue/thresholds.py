"""Faults of thresholds, sampling coins and dummies, as Fre-E2T and its kin have them."""

from typing import Any

import numpy as np

from accountants import SampleThreshold
from tests.catalogue.entries import Entry
from tests.catalogue.noise import geometric, truncated

RATE, THRESHOLD = 0.3, 6
LEVEL = 1.0
DELTA = float(SampleThreshold(sampling_rate=RATE, threshold=THRESHOLD).delta(LEVEL))
COIN, FEW, FEW_LEVEL = 0.5, 3, 1.5
FEW_DELTA = float(SampleThreshold(sampling_rate=COIN, threshold=FEW).delta(FEW_LEVEL))


def thresholded(threshold: int, *, on_all: bool = False, one_coin: bool = False) -> Any:
    """Sample with rate .3 and release the sampled count if it reaches the threshold, else 0."""

    def release(number: int, trials: int, rng: np.random.Generator) -> Any:
        count = rng.binomial(number, RATE, trials)
        if one_coin:
            count = number * rng.binomial(1, RATE, trials)
        reached = np.full(trials, number) if on_all else count
        return np.where(reached >= threshold, count, 0)

    return release


def until_released(number: int, trials: int, rng: np.random.Generator) -> Any:
    """Sample again until the threshold is reached."""
    count = rng.binomial(number, COIN, trials)
    while (low := count < FEW).any():
        count[low] = rng.binomial(number, COIN, int(low.sum()))
    return count


def one_attempt(number: int, trials: int, rng: np.random.Generator) -> Any:
    count = rng.binomial(number, COIN, trials)
    return np.where(count >= FEW, count, 0)


def stable(threshold: int) -> Any:
    """Release a key's noisy count if it exceeds the threshold, keys of nobody never."""

    def release(count: int, trials: int, rng: np.random.Generator) -> Any:
        noisy = count + geometric(rng, 1.0, trials)
        return np.where((noisy >= threshold) & (count > 0), noisy, 0)

    return release


def tail(threshold: int) -> float:
    """Return Pr[1 + noise >= threshold]: the probability with which one user's key is seen."""
    return float(np.exp(-(threshold - 1)) / (1 + np.exp(-1)))


def tags(*, shift: int, dummies: bool = True) -> Any:
    """Show how many tags there are, among dummies."""

    def release(number: int, trials: int, rng: np.random.Generator) -> Any:
        hidden = truncated(rng, 1.0, shift, trials) + shift if dummies else 0
        return np.full(trials, number) + hidden

    return release


def edge(shift: int) -> float:
    """Return the probability of the lowest number of dummies: the delta of this shift."""
    values = np.arange(-shift, shift + 1)
    weights = np.exp(-np.abs(values).astype(float))
    return float(weights[0] / weights.sum())


THRESHOLDS = [
    Entry(
        name="threshold off by one",
        fault="A key is released from a noisy count of 4 on, with the delta of 5.",
        delta=tail(5), data_in=1, data_out=0, broken=stable(4), correct=stable(5),
    ),
    Entry(
        name="threshold on the unsampled count",
        fault="The threshold is compared with the number of records before sampling.",
        epsilon=LEVEL, delta=DELTA, data_in=THRESHOLD, data_out=THRESHOLD - 1,
        broken=thresholded(THRESHOLD, on_all=True), correct=thresholded(THRESHOLD),
    ),
    Entry(
        name="coin reused",
        fault="All records of a bucket share one sampling coin.",
        epsilon=LEVEL, delta=DELTA, data_in=18, data_out=17,
        broken=thresholded(THRESHOLD, one_coin=True), correct=thresholded(THRESHOLD),
    ),
    Entry(
        name="no threshold",
        fault="Every sampled count is released, however small.",
        epsilon=LEVEL, delta=DELTA, data_in=1, data_out=0,
        broken=thresholded(1), correct=thresholded(THRESHOLD),
    ),
    Entry(
        name="retry until released",
        fault="Sampling is repeated until the threshold is reached.",
        epsilon=FEW_LEVEL, delta=FEW_DELTA, data_in=FEW + 1, data_out=FEW,
        broken=until_released, correct=one_attempt,
    ),
    Entry(
        name="missing dummies",
        fault="The number of tags is seen as it is.",
        delta=edge(5), data_in=1, data_out=0,
        broken=tags(shift=5, dummies=False), correct=tags(shift=5),
    ),
    Entry(
        name="dummy shift too small",
        fault="Dummies are shifted by 2, with the delta of a shift by 5.",
        delta=edge(5), data_in=1, data_out=0, broken=tags(shift=2), correct=tags(shift=5),
    ),
]  # fmt: skip
