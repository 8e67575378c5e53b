"""The default black-box attack: it finds what there is, and nothing where there is nothing."""

import numpy as np
import pytest

from attacks.learned_events import LearnedEvents
from attacks.release_features import release_features

N = 8000


def gap(attack: LearnedEvents, inside: object, outside: object) -> float:
    """Return the greatest difference of the two sides' rates over thresholds of the scores."""
    ones, others = np.sort(attack.score(inside)), np.sort(attack.score(outside))
    at = np.concatenate([ones, others])
    rates = [np.searchsorted(side, at) / len(side) for side in (ones, others)]
    return float(np.max(np.abs(rates[0] - rates[1])))


def fitted(make: object, **options: bool) -> float:
    """Fit on some releases, return the gap on others; ``make(bit, rng)`` gives releases."""
    rng = np.random.default_rng(0)
    attack = LearnedEvents(delta=0.1, **options)
    attack.fit(make(True, rng), make(False, rng))  # type: ignore[operator]
    return gap(attack, make(True, rng), make(False, rng))  # type: ignore[operator]


CASES = {
    "a number": lambda b, rng: rng.normal(1.0 * b, size=N),
    "one of ten coordinates": lambda b, rng: rng.normal(size=(N, 10)) + np.eye(10)[3] * b,
    "two-sided": lambda b, rng: rng.normal(size=N) * (1 + 1.5 * b),
    "integers": lambda b, rng: rng.poisson(3 + 2 * b, N),
    "texts": lambda b, rng: ["yes" if u < 0.3 + 0.4 * b else "no" for u in rng.random(N)],
    "nothing or a number": lambda b, rng: [None if u < 0.2 + 0.4 * b else u for u in rng.random(N)],
    "tuples": lambda b, rng: [(1, "a" if u < 0.3 + 0.4 * b else "b") for u in rng.random(N)],
    "dicts with missing keys": lambda b, rng: [
        {"n": 1} if u < 0.3 + 0.4 * b else {"n": 1, "m": 2} for u in rng.random(N)
    ],
    "lengths of lists": lambda b, rng: [[0] * int(k) for k in rng.poisson(3 + 2 * b, N)],
    "words": lambda b, rng: ["w " * int(k) for k in rng.poisson(3 + 2 * b, N)],
    "infinite and NaN": lambda b, rng: np.where(
        rng.random(N) < 0.2 + 0.4 * b, np.nan, np.where(rng.random(N) < 0.5, np.inf, 0.0)
    ),
    "repeats": lambda b, rng: np.where(
        (rng.random(N) < 0.2 + 0.4 * b)[:, None], 1.0, rng.normal(size=(N, 2))
    ),
    "a value among noise": lambda b, rng: np.where(
        rng.random(N) < 0.3 * b, 0.123, rng.normal(size=N)
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_finds_what_differs(name: str) -> None:
    assert fitted(CASES[name]) > 0.2


def test_low_bits_of_floating_point_noise() -> None:
    """Laplace noise around 0 and 1: the best test of exact numbers has a gap of .393."""

    def make(bit: bool, rng: np.random.Generator) -> np.ndarray:
        return bit + rng.laplace(size=N)

    assert fitted(make) > 0.45
    assert 0.33 < fitted(make, low_bits=False) < 0.43


def test_nothing_to_find() -> None:
    """A gap of .05 between two samples of 8000 has probability below 1e-7."""
    assert fitted(lambda _, rng: rng.normal(size=(N, 3))) < 0.05
    assert fitted(lambda _, rng: ["a" if u < 0.5 else "b" for u in rng.random(N)]) < 0.05


def test_the_same_every_time() -> None:
    scores = []
    for _ in range(2):
        rng = np.random.default_rng(5)
        attack = LearnedEvents()
        attack.fit(rng.normal(1, size=N), rng.normal(size=N))
        scores.append(attack.score(rng.normal(size=100)))
    assert np.array_equal(*scores)


@pytest.mark.parametrize("kind", ["other shape", "other type", "unseen value", "none"])
def test_other_releases_than_it_learned_from_are_scored(kind: str) -> None:
    rng = np.random.default_rng(0)
    attack = LearnedEvents()
    attack.fit(["a"] * 50 + ["b"] * 50, ["b"] * 100)
    releases = {
        "other shape": rng.normal(size=(5, 2)),
        "other type": [1, "x", None, (1,), b"y"],
        "unseen value": ["c"] * 5,
        "none": [],
    }[kind]
    found = attack.score(releases)
    assert found.shape == (len(releases),)
    assert np.isfinite(found).all()


def test_features_have_one_value_a_release() -> None:
    for releases in ([1, None, "x", (1, 2)], np.zeros((4, 2, 3)), [{}, {"a": [1]}, {}, {"b": 2}]):
        assert all(len(column) == 4 for column in release_features(releases).values())
