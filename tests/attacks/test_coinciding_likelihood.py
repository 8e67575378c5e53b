"""The likelihood ratio where Theorem J is attained: densities, rates, simulated releases."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom, binomtest, norm

from accountants import JointRelease, ParameterError
from attacks import CoincidingLikelihood
from dpaudit.pipeline import bucket_trials
from dpaudit.pipeline.release import ReleaseParameters

Floats = NDArray[np.float64]
CASES = [(0.3, 30, 91, 0.21), (0.5, 50, 130, 1.05), (0.6, 60, 110, 4.0), (0.5, 3, 2, 1.0)]
CASES += [(0.2, 1, 1, 0.7), (0.5, 4, 10, 0.0)]


def likelihood(p: float, threshold: int, others: int, shift: float) -> CoincidingLikelihood:
    return CoincidingLikelihood(
        sampling_rate=p, threshold=threshold, neighbours=others, shift=shift
    )


def density(n: int, y: float, *, p: float, others: int, shift: float, present: bool) -> Any:
    """Joint density of (released count, offset) by its mixture, to 50 digits."""

    def mass(k: int) -> Any:
        if not 0 <= k <= others:
            return mp.mpf(0)
        return mp.binomial(others, k) * mp.mpf(p) ** k * (1 - mp.mpf(p)) ** (others - k)

    absent = mass(n) * mp.npdf(mp.mpf(y))
    if not present:
        return absent
    return (1 - mp.mpf(p)) * absent + mp.mpf(p) * mass(n - 1) * mp.npdf(mp.mpf(y) - mp.mpf(shift))


@pytest.mark.parametrize(("p", "threshold", "others", "shift"), CASES)
def test_log_ratio_is_that_of_the_two_mixtures(
    p: float, threshold: int, others: int, shift: float
) -> None:
    counts = np.unique(np.linspace(threshold, max(others, threshold), 7).astype(int))
    with mp.workdps(50):
        for n in counts[counts <= others]:
            for y in (-6.0, -0.3, 0.0, 1.7, 8.0):
                pair = [
                    density(int(n), y, p=p, others=others, shift=shift, present=present)
                    for present in (True, False)
                ]
                expected = float(mp.log(pair[0] / pair[1]))
                found = float(likelihood(p, threshold, others, shift).log_ratio(n, y))
                assert found == pytest.approx(expected, rel=1e-11, abs=1e-12)


def test_a_count_that_only_the_record_reaches_is_certain() -> None:
    assert likelihood(0.5, 3, 5, 1.0).log_ratio(6, -50.0) == np.inf
    # one that nobody reaches is no evidence at all
    assert likelihood(0.5, 3, 5, 0.0).log_ratio(9, 0.0) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize(("p", "threshold", "others", "shift"), CASES)
def test_nothing(p: float, threshold: int, others: int, shift: float) -> None:
    """An empty release never speaks for presence; its ratio is that of the two binomial tails."""
    found = likelihood(p, threshold, others, shift)
    absent = binom.cdf(threshold - 1, others, p)
    sampled = binom.cdf(threshold - 2, others, p)
    score = found.scores(
        np.array([False]), [0], np.zeros((1, 2)), canary=np.ones(2), neighbour=np.zeros(2),
        noise_std=1.0,
    )  # fmt: skip
    assert score[0] <= 0
    expected = np.log((1 - p) + p * sampled / absent)
    assert score[0] == pytest.approx(expected, abs=1e-12)
    if threshold == 1:
        assert score[0] == pytest.approx(np.log1p(-p))
    if threshold > others + 1:
        assert score[0] == 0


@pytest.mark.parametrize(("p", "threshold", "others", "shift"), CASES)
def test_rates_of_the_optimal_test_attain_theorem_j(
    p: float, threshold: int, others: int, shift: float
) -> None:
    """TPR - e^s FPR at the threshold s is the hockey-stick divergence: Neyman and Pearson."""
    s = np.array([1e-3, 0.05, 0.3, 1.0, 2.0, 4.0, 8.0])
    tpr, fpr = likelihood(p, threshold, others, shift).add_rates(s)
    exact = JointRelease(sampling_rate=p, threshold=threshold, shift=shift, others=others)
    np.testing.assert_allclose(tpr - np.exp(s) * fpr, exact.delta_add(s), rtol=1e-6, atol=1e-12)
    assert np.all(np.diff(tpr) <= 1e-15)
    assert np.all(np.diff(fpr) <= 1e-15)


def test_no_other_threshold_does_better() -> None:
    found = likelihood(0.5, 50, 130, 1.05)
    tpr, fpr = found.add_rates(np.linspace(0.01, 8, 500))
    for epsilon in (0.3, 1.0, 2.5):
        best = float(found.add_rates([epsilon])[0][0] - np.exp(epsilon) * found.add_rates(
            [epsilon]
        )[1][0])  # fmt: skip
        assert np.max(tpr - np.exp(epsilon) * fpr) <= best * (1 + 1e-9)


def test_rates_without_a_reachable_threshold_are_zero() -> None:
    tpr, fpr = likelihood(0.5, 9, 7, 1.0).add_rates([0.5, 1.0])
    assert not tpr.any()
    assert not fpr.any()


def simulated(
    p: float, threshold: int, others: int, shift: float, trials: int
) -> tuple[Floats, Floats]:
    """Scores of simulated releases with and without the canary, in five dimensions."""
    rng = np.random.default_rng(5)
    neighbour, step = rng.normal(size=(2, 5))
    noise = 0.8
    canary = neighbour + step / np.linalg.norm(step) * shift * noise
    settings = ReleaseParameters(sampling_rate=p, threshold=threshold, noise_std=noise)
    found = likelihood(p, threshold, others, shift)
    sides = []
    for seed, rows in ((1, [0] * others + [1]), (2, [0] * others)):
        blocks = bucket_trials(
            np.stack([neighbour, canary]), rows, trials=trials, parameters=settings,
            seed=np.random.SeedSequence(seed),
        )  # fmt: skip
        parts = [
            found.scores(
                b.released, b.counts, b.sums, canary=canary, neighbour=neighbour, noise_std=noise
            )
            for b in blocks
        ]
        sides.append(np.concatenate(parts))
    return sides[0], sides[1]


@pytest.mark.parametrize(
    ("p", "threshold", "others", "shift"), [(0.5, 6, 12, 1.05), (0.3, 2, 1, 2.0), (0.4, 1, 3, 0.5)]
)
def test_rates_agree_with_simulated_releases(
    p: float, threshold: int, others: int, shift: float
) -> None:
    """Twelve binomial tests in all, error <= 1e-6 each side and threshold."""
    trials = 40_000
    inside, outside = simulated(p, threshold, others, shift, trials)
    thresholds = (0.1, 0.5)
    tpr, fpr = likelihood(p, threshold, others, shift).add_rates(thresholds)
    for s, true, false in zip(thresholds, tpr, fpr, strict=True):
        assert binomtest(int((inside >= s).sum()), trials, float(true)).pvalue > 1e-6
        assert binomtest(int((outside >= s).sum()), trials, min(float(false), 1)).pvalue > 1e-6
        assert 0 < true < 1


def test_mean_of_the_ratio_is_one_without_the_canary() -> None:
    """E[e^score] = 1 under absence, as for every likelihood ratio: within 5 standard errors."""
    inside, outside = simulated(0.5, 6, 12, 0.5, 100_000)
    ratio = np.exp(outside)
    assert abs(ratio.mean() - 1) < 5 * ratio.std() / np.sqrt(len(ratio))
    assert np.exp(-inside).mean() <= 1 + 5 * np.exp(-inside).std() / np.sqrt(len(inside))


def test_scores_see_the_offset_along_the_step_only() -> None:
    found = likelihood(0.5, 2, 6, 1.5)
    canary, neighbour = np.array([3.0, 1.0]), np.array([0.0, 1.0])
    sums = np.array([[4.0, 77.0], [4.0, -3.0]])
    scores = found.scores(
        np.array([True, True]), [3, 3], sums, canary=canary, neighbour=neighbour, noise_std=2.0
    )
    assert scores[0] == scores[1] == found.log_ratio(3, 2.0)


def test_a_canary_at_its_neighbours_leaves_the_count() -> None:
    found = likelihood(0.5, 2, 6, 0.0)
    point = np.array([1.0, 2.0])
    scores = found.scores(
        np.array([True]), [4], np.array([[9.0, 9.0]]), canary=point, neighbour=point, noise_std=1.0
    )
    ratio = binom.pmf(3, 6, 0.5) / binom.pmf(4, 6, 0.5)
    assert scores[0] == pytest.approx(np.log(0.5 + 0.5 * ratio))


@given(
    p=st.floats(1e-3, 0.999),
    threshold=st.integers(1, 80),
    others=st.integers(1, 400),
    shift=st.floats(0, 50),
    s=st.floats(1e-6, 60),
)
def test_rates_are_probabilities(
    p: float, threshold: int, others: int, shift: float, s: float
) -> None:
    """0 <= FPR <= e^-s TPR (+ rounding) and TPR <= Pr[released]: nowhere NaN."""
    tpr, fpr = likelihood(p, threshold, others, shift).add_rates([s])
    released = p * binom.sf(threshold - 2, others, p) + (1 - p) * binom.sf(threshold - 1, others, p)
    assert 0 <= fpr[0] <= np.exp(-s) * tpr[0] * (1 + 1e-9) + 1e-300
    assert tpr[0] <= released * (1 + 1e-9)
    nothing = likelihood(p, threshold, others, shift).log_nothing_ratio()
    assert nothing <= 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sampling_rate": 1.0}, "sampling_rate = 1.0"),
        ({"threshold": 0}, "threshold = 0"),
        ({"neighbours": 0}, "neighbours = 0"),
        ({"shift": float("inf")}, "shift = inf"),
        ({"shift": float("nan")}, "shift = nan"),
    ],
)
def test_bad_parameters(change: dict[str, Any], message: str) -> None:
    fine = {"sampling_rate": 0.5, "threshold": 2, "neighbours": 3, "shift": 1.0}
    with pytest.raises(ParameterError, match=message):
        CoincidingLikelihood(**(fine | change))


@pytest.mark.parametrize("threshold", [0.0, -1.0, float("nan")])
def test_bad_log_thresholds(threshold: float) -> None:
    with pytest.raises(ParameterError, match="log_thresholds"):
        likelihood(0.5, 2, 3, 1.0).add_rates([1.0, threshold])


def test_shift_is_in_units_of_the_noise() -> None:
    """The sum of n neighbours plus the canary lies shift noise widths beyond n neighbours."""
    found = likelihood(0.5, 1, 1, 3.0)
    near = float(found.log_ratio(1, 3.0))
    expected = np.log(0.5 + 0.5 * norm.pdf(0) / norm.pdf(3))
    assert near == pytest.approx(expected)
