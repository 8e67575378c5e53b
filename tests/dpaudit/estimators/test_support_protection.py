"""delta*: counts and conditional probabilities agree, and the latter see far below 1/trials."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import binom

from accountants.errors import ParameterError
from accountants.noncentral_chi2 import centroid_hit_probability
from dpaudit.estimators.support_protection import (
    log_any_hit,
    support_from_hits,
    support_from_log_values,
)

DIMENSION, RADIUS = 6, 1.0


def trials(noise: float, number: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Twelve records at .8 of the radius from two texts, each sampled by a coin of .5.

    Hits of the noisy centroid, and the logarithm of their probability given the coins.
    """
    rng = np.random.default_rng(seed)
    records = rng.normal(size=(12, DIMENSION))
    records *= 0.8 / np.linalg.norm(records, axis=1, keepdims=True)
    texts = np.stack([np.zeros(DIMENSION), np.full(DIMENSION, 0.1)])
    hits, logs = np.zeros((number, 2)), np.full((number, 2), -np.inf)
    for i in range(number):
        some = records[rng.random(12) < 0.5]
        if len(some) < 3:
            continue
        center = some.mean(axis=0)
        noisy = center + rng.normal(0, noise / len(some), DIMENSION)
        hits[i] = np.linalg.norm(texts - noisy, axis=1) <= RADIUS
        logs[i], _ = centroid_hit_probability(
            offset_norm=np.linalg.norm(texts - center, axis=1),
            count=np.full(2, len(some)),
            noise_std=noise,
            radius=RADIUS,
            dimension=DIMENSION,
        )
    return hits, logs


def test_both_estimators_agree_and_the_exact_one_is_narrower() -> None:
    hits, logs = trials(8.0, 1500, 0)
    truth = np.exp(trials(8.0, 6000, 1)[1]).mean(axis=0)
    for counted, exact in zip(support_from_hits(hits), support_from_log_values(logs), strict=True):
        true = truth.max() if counted.which == "worst" else truth.mean()
        assert counted.lower < true < counted.upper
        assert exact.lower < true * 1.02
        assert exact.upper > true * 0.98
        assert exact.upper - exact.lower < 0.8 * (counted.upper - counted.lower)
        assert "delta* of the" in str(exact)


def test_far_below_one_over_the_trials() -> None:
    """So much noise in many dimensions that a hit has probability about 1e-60."""
    rng = np.random.default_rng(0)
    logs, _ = centroid_hit_probability(
        offset_norm=rng.uniform(0.5, 0.6, 400),
        count=np.full(400, 30),
        noise_std=300.0,
        radius=1.0,
        dimension=50,
    )
    worst, average = support_from_log_values(logs[:, None])
    mean = float(mp.log(mp.fsum(mp.exp(float(x)) for x in logs) / 400))
    assert mean < -100
    assert mean - 0.1 < worst.log_lower <= mean + 0.05
    assert average.log_lower == pytest.approx(worst.log_lower, abs=0.05)
    counted, _ = support_from_hits(np.zeros((400, 1)))
    assert counted.lower == 0
    assert counted.text is None


def test_a_known_most_scales_the_upper_bound() -> None:
    logs = np.log(np.random.default_rng(0).uniform(0, 1e-6, (500, 3)))
    loose = support_from_log_values(logs)[0].upper
    tight = support_from_log_values(logs, most=1e-6)[0].upper
    assert 1e-3 < loose < 1e-2
    assert 5e-7 < tight < 6e-7


def test_the_worst_text_is_covered_simultaneously() -> None:
    """Twenty texts of .3: the largest lower bound exceeds .3 in at most a fifth of 300 audits.

    More failures than allowed have probability below 1e-6; so for the upper bound.
    """
    rng = np.random.default_rng(3)
    low = high = 0
    for _ in range(300):
        worst, average = support_from_hits(rng.random((100, 20)) < 0.3, confidence=0.8)
        low += worst.lower > 0.3
        high += worst.upper < 0.3
        assert average.lower <= average.upper
    assert max(low, high) <= binom.isf(1e-7, 300, 0.2) + 1


def test_texts_of_one_trial_may_depend_on_each_other() -> None:
    """All texts are hit together: the average must not be taken for 50 independent trials."""
    rng = np.random.default_rng(4)
    failures = 0
    for _ in range(200):
        together = np.repeat(rng.random((40, 1)) < 0.5, 50, axis=1)
        _, average = support_from_hits(together, confidence=0.8)
        failures += not average.lower <= 0.5 <= average.upper
    assert failures <= binom.isf(1e-7, 200, 0.4) + 1


@pytest.mark.parametrize("logs", [[-1.0, -2.0], [-40.0, -41.0, -700.0], [-np.inf, -3.0], [0.0, -1]])
def test_any_hit_against_mpmath(logs: list[float]) -> None:
    with mp.workdps(60):
        none = mp.fprod(1 - mp.exp(x) for x in logs)
        truth = float(mp.log(1 - none))
    found = float(log_any_hit(logs))
    assert truth - 1e-12 * (1 + abs(truth)) <= found <= truth + 1e-14 * (1 + abs(truth))
    assert log_any_hit(np.empty((3, 0))).tolist() == [-math.inf] * 3


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: support_from_hits([1, 0]), "shape \\(trials, texts\\)"),
        (lambda: support_from_hits(np.zeros((0, 3))), "both at least 1"),
        (lambda: support_from_hits([[0.5]]), "hits = 0.5"),
        (lambda: support_from_hits([[1]], confidence=0.3), "confidence = 0.3"),
        (lambda: support_from_log_values([[0.1]]), "log_values = 0.1"),
        (lambda: support_from_log_values([[np.nan]]), "log_values = nan"),
        (lambda: log_any_hit([0.5]), "log_probabilities"),
    ],
)
def test_refused(call: object, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        call()  # type: ignore[operator]
