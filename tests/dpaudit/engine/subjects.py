"""Mechanisms and attacks that the tests of the engine audit; importable by worker processes."""

import time
from typing import Any

import numpy as np

from dpaudit.engine import Failure

LEVEL = 1.0
TRUTH = float(1 / (1 + np.exp(-LEVEL)))


def response(bit: bool, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Randomised response with epsilon 1."""
    return np.asarray(bit ^ (rng.random(trials) >= TRUTH))


def blind(bit: bool, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Ignore the input."""
    return rng.random(trials)


def laplace(value: float, rng: np.random.Generator) -> float:
    """Return the Laplace mechanism with epsilon 1, one release a call."""
    return float(value + rng.laplace())


def slow(value: float, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Take about a hundredth of a second a block."""
    time.sleep(0.01)
    return value + rng.laplace(size=trials)


def leaky_crash(value: bool, rng: np.random.Generator) -> int:
    """Release nothing, but crash four times as often with the canary."""
    if rng.random() < (0.4 if value else 0.1):
        raise ValueError("no release")
    return 0


def times_out(value: bool, rng: np.random.Generator) -> Any:
    """Report a time-out of its own, alike on both sides."""
    return Failure("timeout", "5 s") if rng.random() < 0.2 else float(rng.random())


def loses_blocks(value: bool, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Crash in some blocks as a whole, with the canary only."""
    if value and rng.random() < 0.3:
        raise RuntimeError("out of memory")
    return np.asarray(value ^ (rng.random(trials) >= TRUTH))


def too_few(value: bool, trials: int, rng: np.random.Generator) -> np.ndarray:
    return rng.random(trials - 1)


class Itself:
    """Take the release as its score."""

    def score(self, releases: Any) -> Any:
        return releases


class Learner:
    """Remember which side's training releases are larger; refuse to score what it learned from."""

    def __init__(self) -> None:
        self.sign = 0.0
        self.seen: frozenset[float] = frozenset()

    def fit(self, inside: Any, outside: Any) -> None:
        self.sign = float(np.sign(np.mean(inside) - np.mean(outside)))
        self.seen = frozenset(np.concatenate([inside, outside]).tolist())

    def score(self, releases: Any) -> Any:
        values = np.asarray(releases, float)
        everything = 2 * len(values) >= len(self.seen)  # a store checks how it scores these
        assert everything or self.seen.isdisjoint(values.tolist())
        return self.sign * values
