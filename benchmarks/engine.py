"""Speed, overhead and memory of the audit engine.

    python -m benchmarks.engine [--quick]

*Overhead*: an audit's CPU time over that of the bare mechanism, called for the same blocks, and of
the attack's scores and a count. *Memory*: peak of a process of its own for few and for many trials.
The peer is the loop that ldp-audit runs: one report at a time in Python.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from dpaudit.engine import BlockMechanism, audit
from dpaudit.engine.plan import block_generator

BLOCK = 1 << 16
TRUTH = float(np.exp(1.0) / (np.exp(1.0) + 7))


def report(value: int, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Randomised response of eight outputs, as int8."""
    other = rng.integers(0, 7, trials, dtype=np.int8)
    other += other >= value
    return np.where(rng.random(trials, dtype=np.float32) < TRUTH, np.int8(value), other)


class Matches:
    """Whether the report is the canary's value."""

    def score(self, releases: np.ndarray) -> np.ndarray:
        """Return true where it is."""
        return np.asarray(releases == 0)


def audited(trials: int) -> float:
    """Return the seconds of an audit."""
    start = time.process_time()
    result = audit(
        BlockMechanism(report), Matches(), data_in=0, data_out=1, trials=trials, block=BLOCK
    )
    assert result.epsilon > 0.9 or trials < 10**6
    return time.process_time() - start


def bare(trials: int) -> float:
    """Return the seconds of the mechanism, the scores and a count alone, for as many trials."""
    start = time.process_time()
    attack, total = Matches(), 0
    for block in range(-(-trials // BLOCK)):
        for side, value in (("out", 1), ("in", 0)):
            rng = block_generator(0, (), side, block)  # type: ignore[arg-type]
            total += int(np.count_nonzero(attack.score(report(value, BLOCK, rng))))
    return time.process_time() - start


def one_at_a_time(trials: int) -> float:
    """Return the seconds of a loop that makes and compares one report after another."""
    rng = np.random.default_rng(0)
    start = time.process_time()
    hits = 0
    for _ in range(trials):
        value = 0 if rng.random() < TRUTH else 1 + int(rng.integers(0, 7))
        hits += value == 0
    return time.process_time() - start


def megabytes(trials: int) -> float:
    """Return the peak memory of a process that audits."""
    code = f"from benchmarks.engine import audited, peak; audited({trials}); print(peak())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def peak() -> float:
    """Return this process's peak memory in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials")
    trials = 3 * 10**6 if parser.parse_args(arguments).quick else 3 * 10**7
    audited(BLOCK * 40)
    ours = min(audited(trials) for _ in range(3))
    alone = min(bare(trials) for _ in range(3))
    longer = min(audited(4 * trials) for _ in range(2)) / min(bare(4 * trials) for _ in range(2))
    loop = one_at_a_time(200_000) / 200_000
    few, many = megabytes(10**6), megabytes(trials)
    table = Table("what", "measured", "goal")
    rate = 2 * trials / ours
    table.add_row("trials a second, one core", f"{rate:.3g}", ">= 3e7")
    table.add_row("over one at a time", f"{rate * loop:.3g} times", ">= 15 times")
    table.add_row("over the bare mechanism", f"{ours / alone - 1:+.1%}", "< 5%")
    table.add_row("the same, four times as long", f"{longer - 1:+.1%}", "< 5%")
    table.add_row("memory, 1e6 and all trials", f"{few:.0f} and {many:.0f} MB", "constant")
    Console().print(table)


if __name__ == "__main__":
    main()
