"""Validity, power and speed of the estimators, beside jax_privacy where it is installed.

    python -m benchmarks.estimators [--quick] [--out docs/estimators.md]

*Validity*: how often a bound at 95% exceeds the true epsilon, over many simulated audits; at most
5% are allowed, up to the binomial error of the number of audits. *Power*: the mean bound over the
true epsilon. *Speed*: seconds for 1e6 scores a side, all thresholds.
"""

import argparse
import importlib.util
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.known_mechanisms import (
    KnownMechanism,
    gaussian,
    laplace,
    nothing,
    nothing_with_ties,
    randomised_response,
    subsampled_gaussian,
)
from dpaudit.estimators import ConfidenceBand, ScoreAuditor, Split

Floats = NDArray[np.float64]
Estimator = Callable[[Floats, Floats, float], float]
CONFIDENCE = 0.95


def ours(strategy: Any) -> Estimator:
    """Return one of dpaudit's estimators."""

    def estimate(inside: Floats, outside: Floats, delta: float) -> float:
        auditor = ScoreAuditor(inside, outside)
        return auditor.epsilon(
            delta=delta, confidence=CONFIDENCE, direction="both", threshold_strategy=strategy
        ).lower

    return estimate


def uncorrected(inside: Floats, outside: Floats, delta: float) -> float:
    """Take the best threshold without paying for the choice: what must not be done."""
    from dpaudit.estimators import clopper_pearson, epsilon_lower

    at = np.unique(np.concatenate([inside, outside]))
    at = at[np.linspace(0, len(at) - 1, min(len(at), 500)).astype(int)]
    hits = len(inside) - np.searchsorted(np.sort(inside), at)
    false = len(outside) - np.searchsorted(np.sort(outside), at)
    tail = (1 - CONFIDENCE) / 2
    low = clopper_pearson.lower(hits, len(inside), tail=tail)
    high = clopper_pearson.upper(false, len(outside), tail=tail)
    return float(np.max(epsilon_lower(low, high, delta=delta)))


def jax_estimators() -> dict[str, Estimator]:
    """Return jax_privacy's, if it is installed."""
    if importlib.util.find_spec("jax_privacy") is None:
        return {}
    from jax_privacy import auditing

    def using(strategy: Any) -> Estimator:
        def estimate(inside: Floats, outside: Floats, delta: float) -> float:
            auditor = auditing.CanaryScoreAuditor(inside, outside)
            return float(
                auditor.epsilon_clopper_pearson(
                    1 - CONFIDENCE, delta, one_sided=True, threshold_strategy=strategy
                )
            )

        return estimate

    return {
        "jax Bonferroni": using(auditing.Bonferroni()),
        "jax Split": using(auditing.Split(seed=0)),
    }


def estimators() -> dict[str, Estimator]:
    """Return all that are compared."""
    return {
        "Split (default)": ours(Split(seed=0)),
        "ConfidenceBand": ours(ConfidenceBand()),
        **jax_estimators(),
    }


def cases() -> list[tuple[KnownMechanism, float]]:
    """Mechanisms and the deltas at which they are bounded."""
    return [
        (nothing(), 0.0),
        (nothing_with_ties(), 0.0),
        (randomised_response(1.0), 0.0),
        (randomised_response(4.0, 8), 0.0),
        (laplace(1.0), 0.0),
        (laplace(4.0), 0.01),
        (gaussian(0.5, 0.01), 0.01),
        (gaussian(2.0, 0.01), 0.01),
        (gaussian(8.0, 0.01), 0.01),
        (subsampled_gaussian(0.1, 0.5), 0.01),
    ]


def violations(estimator: Estimator, case: tuple[KnownMechanism, float], audits: int) -> int:
    """Count the audits of 1000 trials a side whose bound exceeds the truth."""
    mechanism, delta = case
    truth = mechanism.epsilon(delta)
    rng = np.random.default_rng(0)
    return sum(estimator(*mechanism.sample(1000, rng), delta) > truth for _ in range(audits))


def power(
    estimator: Estimator, case: tuple[KnownMechanism, float], trials: int, audits: int
) -> float:
    """Return the mean bound over the true epsilon."""
    mechanism, delta = case
    rng = np.random.default_rng(1)
    bounds = [estimator(*mechanism.sample(trials, rng), delta) for _ in range(audits)]
    return float(np.mean(bounds)) / mechanism.epsilon(delta)


def validity_table(audits: int) -> list[str]:
    """Return the lines of the validity table."""
    methods = {**estimators(), "best threshold, uncorrected": uncorrected}
    lines = [f"| mechanism | {' | '.join(methods)} |", "|---" * (len(methods) + 1) + "|"]
    for case in cases():
        shares = [violations(method, case, audits) / audits for method in methods.values()]
        cells = [f"{share:.1%}" for share in shares]
        lines.append(f"| {case[0].name}, δ = {case[1]:g} | {' | '.join(cells)} |")
    return lines


def power_table(sizes: Sequence[tuple[int, int]]) -> list[str]:
    """Return the lines of the power table; ``sizes`` are trials and audits."""
    methods = estimators()
    lines = [f"| mechanism | trials | {' | '.join(methods)} |", "|---" * (len(methods) + 2) + "|"]
    for case in cases():
        if case[0].epsilon(case[1]) == 0:
            continue
        for trials, audits in sizes:
            cells = [f"{power(method, case, trials, audits):.3f}" for method in methods.values()]
            name = f"{case[0].name}, δ = {case[1]:g}"
            lines.append(f"| {name} | {trials:,} | {' | '.join(cells)} |")
    return lines


def speed_table(trials: int) -> list[str]:
    """Return the lines of the speed table."""
    inside, outside = gaussian(2.0, 0.01).sample(trials, np.random.default_rng(2))
    lines = ["| estimator | seconds |", "|---|---|"]
    for name, method in estimators().items():
        method(inside[:1000], outside[:1000], 0.01)  # imports and compilation
        start = time.perf_counter()
        method(inside, outside, 0.01)
        lines.append(f"| {name} | {time.perf_counter() - start:.3f} |")
    return lines


def page(*, quick: bool) -> str:
    """Measure everything and return the page."""
    audits = 100 if quick else 1000
    sizes = [(1000, 20)] if quick else [(1000, 200), (10_000, 60), (100_000, 10), (1_000_000, 3)]
    largest = 100_000 if quick else 1_000_000
    parts = [
        "# The estimators, measured",
        "Made by `python -m benchmarks.estimators`. Both directions, one-sided 95%.",
        f"## Validity\n\nShare of {audits:,} audits (1000 trials a side) whose bound exceeds the "
        "true epsilon; 5% are allowed.",
        "\n".join(validity_table(audits)),
        "## Power\n\nMean bound over the true epsilon.",
        "\n".join(power_table(sizes)),
        f"## Speed\n\n{largest:,} scores a side, sorting included.",
        "\n".join(speed_table(largest)),
    ]
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few audits")
    parser.add_argument("--out", type=Path, help="a file to write")
    given = parser.parse_args(arguments)
    text = page(quick=given.quick)
    if given.out is None:
        print(text)
    else:
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
