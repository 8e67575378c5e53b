"""Run every benchmark: ``python -m benchmarks``; ``--quick`` uses a tenth of the records."""

import argparse
from collections.abc import Sequence

from benchmarks import accountants, composition, engine, estimators, pipeline


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmarks of the accountants, composition, estimators, engine and pipeline."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round, 100 000 records")
    parser.add_argument("--folder", help="where the pipeline puts its matrix (3 GB by default)")
    given = parser.parse_args(arguments)
    accountants.main(["--rounds", "1"] if given.quick else [])
    composition.main(["--rounds", "1", "--no-memory"] if given.quick else [])
    estimators.main(["--quick"] if given.quick else [])
    engine.main(["--quick"] if given.quick else [])
    options = ["--rounds", "1", "--records", "100000"] if given.quick else []
    pipeline.main(options + (["--folder", given.folder] if given.folder else []))


if __name__ == "__main__":
    main()
