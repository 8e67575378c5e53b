"""Compare the accountants with dp-accounting, riskcal and plain scipy: time and memory.

    python -m benchmarks.composition

Each job is done by an accountant and, where there is one, by a peer that gives the same number: a
loop over all bucket sizes with scipy.stats.binom, dp-accounting, or riskcal. Times are medians over
the rounds, ours with all caches emptied first; where a peer would take minutes, a part of its work
is measured and the rest extrapolated, which the table says. Memory is the peak of a process of its
own over what it holds after the imports.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.composition_jobs import JOBS, Job

GOAL_MB = 200.0


@dataclass(frozen=True)
class Outcome:
    """What was measured of one job: seconds, values, megabytes."""

    job: Job
    seconds: float
    value: float
    peer_seconds: float | None
    peer_value: float | None
    megabytes: float | None = None
    peer_megabytes: float | None = None

    @property
    def ratio(self) -> float | None:
        """The peer's time over ours; more than 1 means that ours is faster."""
        return None if self.peer_seconds is None else self.peer_seconds / self.seconds

    @property
    def verdicts(self) -> list[str]:
        """Each goal, met or missed."""
        found = []
        if self.job.goal_seconds is not None:
            met = self.seconds < self.job.goal_seconds
            found.append(f"< {self.job.goal_seconds:g} s {_word(met)}")
        if self.ratio is not None:
            met = self.ratio >= self.job.goal_ratio
            found.append(f"ratio >= {self.job.goal_ratio:g} {_word(met)}")
        if self.megabytes is not None:
            found.append(f"< {GOAL_MB:g} MB {_word(self.megabytes < GOAL_MB)}")
        return found


def _word(met: bool) -> str:
    return "met" if met else "MISSED"


def empty_caches() -> None:
    """Empty every cache of the accountants' functions."""
    for name, module in list(sys.modules.items()):
        if name.startswith("accountants"):
            for thing in list(vars(module).values()):
                if callable(getattr(thing, "cache_clear", None)):
                    thing.cache_clear()


def timed(
    function: Callable[[], float], rounds: int, budget: float, clock: Callable[[], float]
) -> tuple[float, float]:
    """Return the last value and the median time; fewer rounds once ``budget`` seconds are used."""
    times: list[float] = []
    value = 0.0
    while len(times) < rounds and sum(times) < budget:
        empty_caches()
        start = clock()
        value = float(function())
        times.append(clock() - start)
    return value, statistics.median(times)


def measure(job: Job, rounds: int, clock: Callable[[], float]) -> Outcome:
    """Time a job and its peer, after one call of ours if there are several rounds."""
    if job.prepare is not None:
        job.prepare()
    if rounds > 1:
        job.ours()  # imports
    value, seconds = timed(job.ours, rounds, 20.0, clock)
    if job.peer is None:
        return Outcome(job, seconds, value, None, None)
    peer_value, peer_seconds = timed(job.peer, rounds, 10.0, clock)
    shown = None if job.times > 1 else peer_value
    return Outcome(job, seconds, value, peer_seconds * job.times, shown)


# --- memory -------------------------------------------------------------------------------------


def peak_megabytes() -> float:
    """Return this process's largest resident size so far (Linux)."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return float(line.split()[1]) / 1e3
    raise RuntimeError("/proc/self/status has no VmHWM")


def report_memory(name: str, part: str) -> None:
    """Do one job, in this process, and print how much memory it took."""
    (job,) = [one for one in JOBS if one.name == name]
    function = job.ours if part == "ours" else job.peer
    assert function is not None
    if job.prepare is not None:
        job.prepare()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the imports' peak
    before = peak_megabytes()
    function()
    print(json.dumps(peak_megabytes() - before))


def memory_of(name: str, part: str) -> float:
    """Return the megabytes that a job takes in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.composition", "--memory", name, "--part", part]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.strip().splitlines()[-1]))


def with_memory(outcome: Outcome) -> Outcome:
    """Measure the memory of a job, and of its peer where that is a library."""
    job = outcome.job
    peer = memory_of(job.name, "peer") if job.peer_is_library else None
    return Outcome(
        job,
        outcome.seconds,
        outcome.value,
        outcome.peer_seconds,
        outcome.peer_value,
        memory_of(job.name, "ours"),
        peer,
    )


# --- the table ----------------------------------------------------------------------------------


def show(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print one table, and how many goals were missed."""
    table = Table(title="accountants against libraries and plain scipy (medians)")
    for column in ("job", "ours", "peer", "ratio", "MB", "goals"):
        table.add_column(column, justify="right" if column in ("ratio", "MB") else "left")
    for one in outcomes:
        peer = "-"
        if one.peer_seconds is not None:
            about = ", extrapolated" if one.job.times > 1 else ""
            value = "" if one.peer_value is None else f"{one.peer_value:.6g} in "
            peer = f"{value}{_seconds(one.peer_seconds)} ({one.job.peer_name}{about})"
        table.add_row(
            one.job.name,
            f"{one.value:.6g} in {_seconds(one.seconds)}",
            peer,
            "-" if one.ratio is None else f"{one.ratio:.3g}",
            _memory(one),
            "\n".join(one.verdicts),
        )
    console.print(table)
    verdicts = [verdict for one in outcomes for verdict in one.verdicts]
    missed = sum(verdict.endswith("MISSED") for verdict in verdicts)
    console.print(f"{len(verdicts) - missed} of {len(verdicts)} goals met, {missed} missed")


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 0.1 else f"{1e3 * value:.3g} ms"


def _memory(outcome: Outcome) -> str:
    if outcome.megabytes is None:
        return "-"
    own = f"{outcome.megabytes:.0f}"
    return own if outcome.peer_megabytes is None else f"{own} (peer {outcome.peer_megabytes:.0f})"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-memory", action="store_true", help="times only: no other processes")
    parser.add_argument("--cpu", action="store_true", help="processor time, for a busy machine")
    parser.add_argument("--only", metavar="TEXT", help="jobs with this in their name")
    parser.add_argument("--memory", metavar="JOB", help=argparse.SUPPRESS)
    parser.add_argument("--part", choices=("ours", "peer"), default="ours", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.memory is not None:
        report_memory(given.memory, given.part)
        return
    clock = time.process_time if given.cpu else time.perf_counter
    outcomes = []
    for job in JOBS:
        if given.only is None or given.only in job.name:
            outcome = measure(job, given.rounds, clock)
            outcomes.append(outcome if given.no_memory else with_memory(outcome))
    show(outcomes, Console(width=130))


if __name__ == "__main__":
    main()
