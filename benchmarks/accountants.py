"""Compare the accountants with brute force and with dp-accounting: accuracy and time.

    python -m benchmarks.accountants

Each row evaluates one number twice: with an accountant, and by the plainest code that gives the
same number (mpmath, a loop over all bucket sizes, a dense grid of distances), or by dp-accounting
where it can express it. The second table times what `dpaudit verify` and `dpaudit calibrate` spend
their time on, for the three configurations of the Fre-E2T paper.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.special import erf, ndtr

from accountants import (
    AnalyticGaussian,
    FreE2TParameters,
    JointRelease,
    SampleThreshold,
    TightTotal,
    tight_noise_std,
)

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

DELTA = 1e-6
GOAL_EPSILON = 0.5  # seconds
GOAL_NOISE = 1.5
# claim -> sampling rate, threshold, noise_std
PAPER = {4.0: (0.3, 30, 2.136), 8.0: (0.5, 50, 1.14), 16.0: (0.6, 60, 0.516)}
# close together around the best split, where the total is sensitive to the distance
DISTANCES = np.concatenate(
    [np.linspace(0.05, 0.4, 15), np.linspace(0.4, 0.9, 160), [1.0, 2.0, 9.0]]
)


@dataclass(frozen=True)
class Row:
    """One number, evaluated twice, with the seconds that each way took."""

    name: str
    ours: float
    theirs: float
    seconds: float
    their_seconds: float

    @property
    def error(self) -> float:
        """Ours over theirs, minus 1."""
        return self.ours / self.theirs - 1


def timed(function: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Return the value of ``function`` and the median of its times, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        value = float(function())
        times.append(time.perf_counter() - start)
    return value, statistics.median(times)


def parameters(claim: float) -> FreE2TParameters:
    """Return the paper's release for one claim, without rounding to a lattice."""
    rate, threshold, noise = PAPER[claim]
    return FreE2TParameters(
        records_max=10**6,
        embedding_dim=768,
        projection_dim=20,
        grid_edge=20**-0.5,
        sampling_rate=rate,
        threshold=threshold,
        noise_std=noise,
        radius=0.5,
        lattice_step=0.0,
    )


# --- the plain ways -----------------------------------------------------------------------------


def digits_joint(*, p: float, threshold: int, mu: float, others: int, epsilon: float) -> float:
    """Theorem J ("add") with 50 digits."""
    import mpmath as mp

    with mp.workdps(50):
        rate, shift = mp.mpf(p), mp.mpf(mu)
        ratio = 1 + (mp.exp(epsilon) - 1) / rate

        def mass(n: int) -> Any:
            return mp.binomial(others, n) * rate**n * (1 - rate) ** (others - n)

        total = mass(others)
        for n in range(threshold, others + 1):
            b = mp.log(ratio * mass(n) / mass(n - 1))
            first, second = mp.ncdf(shift / 2 - b / shift), mp.ncdf(-shift / 2 - b / shift)
            total += mass(n - 1) * (first - mp.exp(b) * second)
        return float(rate * total)


def plain_joint(
    *, p: float, threshold: int, shifts: Floats, others: Counts, epsilon: float
) -> Floats:
    """Theorem J ("add") straight from its formula; shape (shifts, others)."""
    from scipy.stats import binom

    a = 1 + np.expm1(epsilon) / p
    table = np.zeros((len(shifts), len(others)))
    x = shifts[:, None]
    for j, size in enumerate(others):
        n = np.arange(threshold, size + 1)
        n = n[np.abs(n - size * p) < 12 * np.sqrt(size * p * (1 - p)) + 60]
        b = np.log(a * (size - n + 1) / n * p / (1 - p))[None, :]
        stick = ndtr(x / 2 - b / x) - np.exp(b) * ndtr(-x / 2 - b / x)
        table[:, j] = np.maximum(stick, 0) @ binom.pmf(n - 1, size, p) + p**size
    return p * table


def plain_count(*, p: float, threshold: int, epsilon: float, largest: int) -> float:
    """Sample-and-threshold ("add"), the largest over all sizes up to ``largest``."""
    from scipy.stats import binom

    best = 0.0
    for size in range(threshold, largest + 1):
        n = np.arange(threshold, size + 1)
        gain = binom.pmf(n, size, p) - np.exp(epsilon) * binom.pmf(n, size - 1, p)
        best = max(best, float(np.maximum(gain, 0).sum()))
    return best


def plain_total(claim: float, epsilon: float) -> float:
    """Evaluate the u-free bound on a dense grid of distances, not certified between them."""
    p, threshold, noise = PAPER[claim]
    most = int(4 * threshold / p)
    others = np.concatenate(
        [np.arange(threshold, most), np.geomspace(most, 999_999, 20).astype(int)]
    )
    table = plain_joint(
        p=p, threshold=threshold, shifts=DISTANCES / noise, others=others, epsilon=epsilon
    )
    c = 1 / DISTANCES
    f = erf(c / np.sqrt(2)) - np.sqrt(2 / np.pi) * (1 - np.exp(-c * c / 2)) / c
    far = 1e6 * f**20 * (table / others).max(axis=1)
    beyond = np.append(np.maximum.accumulate(far[::-1])[::-1][1:], 0.0)
    return float(np.min(table.max(axis=1) + beyond))


def plain_epsilon(claim: float) -> float:
    """Epsilon of :func:`plain_total` at ``DELTA``, by bisection."""
    low, high = 0.0, claim
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if plain_total(claim, middle) > DELTA else (low, middle)
    return high


# --- the rows -----------------------------------------------------------------------------------


def compare(
    name: str,
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    *,
    rounds: int,
    their_rounds: int = 1,
) -> Row:
    """Evaluate and time both."""
    value, seconds = timed(ours, rounds)
    their_value, their_seconds = timed(theirs, their_rounds)
    return Row(name, value, their_value, seconds, their_seconds)


def brute_force(rounds: int) -> list[Row]:
    """Compare Theorem J at one size and over all sizes, and the count alone, with plain code."""
    epsilon, mu, budget = 4.0, 1 / 0.95, -4 * float(np.log(0.7))
    joint = JointRelease(sampling_rate=0.5, threshold=50, shift=mu)
    fixed = replace(joint, others=130)
    count = SampleThreshold(sampling_rate=0.3, threshold=30)

    def with_digits() -> float:
        return digits_joint(p=0.5, threshold=50, mu=mu, others=130, epsilon=epsilon)

    def every_size() -> float:
        shifts, sizes = np.array([mu]), np.arange(50, 2001)
        table = plain_joint(p=0.5, threshold=50, shifts=shifts, others=sizes, epsilon=epsilon)
        return float(table.max())

    def every_count() -> float:
        return plain_count(p=0.3, threshold=30, epsilon=budget, largest=2000)

    return [
        compare(
            "J at N = 130 | mpmath, 50 digits",
            lambda: fixed.delta_add(epsilon),
            with_digits,
            rounds=rounds,
        ),
        compare(
            "J over all N | every N to 2000",
            lambda: joint.delta(epsilon),
            every_size,
            rounds=rounds,
        ),
        compare(
            "count over all N | every N to 2000",
            lambda: count.delta(budget),
            every_count,
            rounds=rounds,
        ),
    ]


def dp_accounting_rows(rounds: int) -> list[Row]:
    """Compare the Gaussian, and Theorem J's limit of many records, with dp-accounting."""
    import dp_accounting
    from dp_accounting.pld import privacy_loss_distribution

    gaussian = AnalyticGaussian(noise_multiplier=0.95)
    many = JointRelease(sampling_rate=0.3, threshold=30, shift=0.8, others=10**8)

    def subsampled() -> float:
        pld = privacy_loss_distribution.from_gaussian_mechanism(
            1 / 0.8, sampling_prob=0.3, value_discretization_interval=1e-4
        )
        return float(pld.get_delta_for_epsilon(1.0))

    return [
        compare(
            "Gaussian epsilon | dp-accounting",
            lambda: gaussian.epsilon(DELTA),
            lambda: dp_accounting.get_epsilon_gaussian(0.95, DELTA),
            rounds=rounds,
            their_rounds=rounds,
        ),
        compare(
            "Gaussian noise | dp-accounting",
            lambda: AnalyticGaussian.calibrate(epsilon=8.0, delta=DELTA).noise_multiplier,
            lambda: dp_accounting.get_sigma_gaussian(8.0, DELTA),
            rounds=rounds,
            their_rounds=rounds,
        ),
        compare(
            "J at N = 1e8 | dp-accounting, PLD",
            lambda: many.delta(1.0),
            subsampled,
            rounds=rounds,
        ),
    ]


def tight_row(claim: float, rounds: int) -> Row:
    """Compare the tight epsilon of one configuration with a dense grid of distances."""
    total = TightTotal(parameters=parameters(claim))
    return compare(
        f"tight epsilon, claim {claim:g} | grid of D",
        lambda: total.epsilon(DELTA),
        lambda: plain_epsilon(claim),
        rounds=rounds,
    )


def goals(claim: float, rounds: int) -> list[tuple[str, float, float, float]]:
    """Return (what, value, seconds, goal) for one configuration of the paper."""
    release = parameters(claim)
    epsilon = timed(lambda: TightTotal(parameters=release).epsilon(DELTA), rounds)
    noise = timed(lambda: tight_noise_std(release, epsilon=claim, delta=DELTA), rounds)
    return [("epsilon", *epsilon, GOAL_EPSILON), ("noise_std", *noise, GOAL_NOISE)]


# --- the tables ---------------------------------------------------------------------------------


def show_comparisons(rows: Sequence[Row], console: Console) -> None:
    """Print values, their relative difference, times and their ratio."""
    table = Table(title="accountants against plain code and dp-accounting")
    for column in ("ours | theirs", "value", "error", "ms", "their ms", "ratio"):
        table.add_column(column, justify="left" if column.startswith("ours |") else "right")
    for row in rows:
        table.add_row(
            row.name,
            f"{row.ours:.6g}",
            f"{row.error:+.1e}",
            f"{1e3 * row.seconds:.2f}",
            f"{1e3 * row.their_seconds:.2f}",
            f"{row.their_seconds / row.seconds:.1f}",
        )
    console.print(table)


def show_goals(rounds: int, console: Console) -> None:
    """Print the times of the tight total for the paper's configurations, beside the goals."""
    table = Table(title="tight total, paper's configurations (medians)")
    for column in ("claim", "answer", "value", "seconds", "of the goal", "goal"):
        table.add_column(column, justify="right")
    for claim in PAPER:
        for name, value, seconds, goal in goals(claim, rounds):
            table.add_row(
                f"{claim:g}",
                name,
                f"{value:.5g}",
                f"{seconds:.3f}",
                f"{seconds / goal:.2f}",
                f"< {goal:g} s {'met' if seconds < goal else 'missed'}",
            )
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    console = Console(width=100)
    timed(lambda: JointRelease(sampling_rate=0.3, threshold=3, shift=1.0).delta(1.0), 1)  # warm up
    rows = [*brute_force(given.rounds), *dp_accounting_rows(given.rounds)]
    rows += [tight_row(claim, given.rounds) for claim in PAPER]
    show_comparisons(rows, console)
    show_goals(given.rounds, console)


if __name__ == "__main__":
    main()
