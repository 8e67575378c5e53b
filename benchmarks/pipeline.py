"""Time the pipeline's numerical part against the floor that the machine sets.

    python -m benchmarks.pipeline

The floor is one read of the record matrix (its sum) and one product of it with a d x k matrix, in
single precision. The pipeline projects the records, puts them in cells and buckets, samples, sums
and adds noise, on the same memory-mapped file, in the same process; floor and pipeline take turns,
and medians are compared. Records are Zipf-distributed around 3000 centres, so most of them are in
buckets that are released. Memory is what the process holds besides pages of files.
"""

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
import psutil
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from dpaudit.pipeline import (
    Release,
    ReleaseParameters,
    ShiftedGrid,
    SystemBits,
    assign_buckets,
    release_buckets,
)

CENTRES = 3000
BLOCK = 16384
GOAL_RATIO = 3.0
GOAL_BYTES = 1e9
PARAMETERS = ReleaseParameters(sampling_rate=0.3, threshold=30, noise_std=2.136)

Matrix = NDArray[np.float32]


class PeakMemory:
    """The largest size of this process, file pages left out, sampled while a block runs."""

    def __enter__(self) -> Self:
        """Start sampling."""
        self.bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop sampling."""
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        process = psutil.Process()
        while True:
            info = process.memory_info()
            self.bytes = max(self.bytes, info.rss - getattr(info, "shared", 0))
            if self._stop.wait(0.005):
                return


@dataclass
class Timings:
    """Seconds by step, a list with one entry a round."""

    steps: dict[str, list[float]] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Note the time of the block under ``name``."""
        start = time.perf_counter()
        yield
        self.steps.setdefault(name, []).append(time.perf_counter() - start)

    def median(self, *steps: str) -> float:
        """Return the median over rounds of the sum of some steps."""
        rounds = zip(*(self.steps[step] for step in steps), strict=True)
        return float(statistics.median(sum(one_round) for one_round in rounds))


@dataclass(frozen=True)
class Outcome:
    """Timings and peak memory of one run."""

    timings: Timings
    peak_bytes: int
    released_share: float
    buckets: int

    @property
    def ratios(self) -> dict[str, float]:
        """Pipeline time over the floor, by kind of noise."""
        floor = self.timings.median("read", "product")
        return {
            noise: self.timings.median("cells", "buckets", f"release, {noise} noise") / floor
            for noise in ("exact", "float")
        }


def write_records(path: Path, *, records: int, dimension: int) -> None:
    """Write unit-length records around Zipf-distributed centres, in single precision."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((CENTRES, dimension), dtype=np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    weights = 1 / np.arange(1, CENTRES + 1)
    with path.open("wb") as file:
        for start in range(0, records, BLOCK):
            rows = min(BLOCK, records - start)
            block = centres[rng.choice(CENTRES, rows, p=weights / weights.sum())]
            block += 5e-4 * rng.standard_normal(block.shape, dtype=np.float32)
            file.write(block.tobytes())


def run(*, records: int, dimension: int, projection_dim: int, rounds: int, folder: Path) -> Outcome:
    """Measure floor and pipeline in turn.

    Parameters
    ----------
    records, dimension, projection_dim : int
        Size of the matrix, and k.
    rounds : int
        Number of measurements of each step, after one round that is not counted.
    folder : Path
        Where the matrix is written.
    """
    path = folder / "records.f4"
    write_records(path, records=records, dimension=dimension)
    vectors: Matrix = np.memmap(path, dtype=np.float32, mode="r", shape=(records, dimension))
    grid = ShiftedGrid.draw(
        embedding_dim=dimension,
        projection_dim=projection_dim,
        edge=1 / projection_dim**0.5,
        seed=1,
    )
    timings = Timings()
    with PeakMemory() as memory:
        for round_number in range(rounds + 1):
            if round_number == 1:
                timings = Timings()  # the first round filled caches
            measure_floor(vectors, grid, timings)
            release, number = measure_pipeline(vectors, grid, timings)
    sampled = PARAMETERS.sampling_rate * records
    return Outcome(timings, memory.bytes, float(release.counts.sum() / sampled), number)


def measure_floor(vectors: Matrix, grid: ShiftedGrid, timings: Timings) -> None:
    """Read the matrix once, then multiply it once, block by block."""
    matrix = np.ascontiguousarray(grid.projection.T, dtype=np.float32)
    product = np.empty((len(vectors), grid.projection_dim), dtype=np.float32)
    blocks = [
        (slice(start, start + BLOCK), np.asarray(vectors[start : start + BLOCK]))
        for start in range(0, len(vectors), BLOCK)
    ]
    with timings.step("read"):
        for _, block in blocks:
            block.sum()
    with timings.step("product"):
        for rows, block in blocks:
            product[rows] = block @ matrix


def measure_pipeline(vectors: Matrix, grid: ShiftedGrid, timings: Timings) -> tuple[Release, int]:
    """Run the pipeline with either kind of noise; return the last release and the buckets."""
    with timings.step("cells"):
        cells = grid.cells(vectors, device="cpu")
    with timings.step("buckets"):
        buckets, number = assign_buckets(cells)
    for name, noise in (("exact", SystemBits()), ("float", np.random.default_rng(1))):
        with timings.step(f"release, {name} noise"):
            release = release_buckets(
                vectors, buckets, number, parameters=PARAMETERS, coins=SystemBits(), noise=noise
            )
    return release, number


def show(outcome: Outcome, console: Console) -> None:
    """Print one table of times, ratios and memory."""
    floor = outcome.timings.median("read", "product")
    table = Table(title="pipeline against the floor (medians)")
    for column in ("step", "seconds", "of the floor", "goal"):
        table.add_column(column, justify="left" if column == "step" else "right")
    for step in outcome.timings.steps:
        seconds = outcome.timings.median(step)
        table.add_row(step, f"{seconds:.3f}", f"{seconds / floor:.2f}", "")
    table.add_section()
    table.add_row("floor: read + product", f"{floor:.3f}", "1.00", "")
    for noise, ratio in outcome.ratios.items():
        verdict = "met" if ratio <= GOAL_RATIO else "missed"
        table.add_row(
            f"pipeline, {noise} noise",
            f"{ratio * floor:.3f}",
            f"{ratio:.2f}",
            f"<= {GOAL_RATIO:g} {verdict}",
        )
    verdict = "met" if outcome.peak_bytes < GOAL_BYTES else "missed"
    table.add_row(
        "peak memory beyond the array",
        f"{outcome.peak_bytes / 1e6:.0f} MB",
        "",
        f"< {GOAL_BYTES / 1e6:.0f} MB {verdict}",
    )
    console.print(table)
    console.print(
        f"{outcome.buckets} buckets; {outcome.released_share:.0%} of the sampled records released"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--projection-dim", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to put the matrix (3 GB by default)")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        outcome = run(
            records=given.records,
            dimension=given.dimension,
            projection_dim=given.projection_dim,
            rounds=given.rounds,
            folder=Path(folder),
        )
    show(outcome, Console(width=100))


if __name__ == "__main__":
    main()
