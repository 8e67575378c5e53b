"""Audit every mechanism of the bug catalogue and write the table of docs/catalogue.md.

    python -m benchmarks.catalogue [--out docs/catalogue.md]

The settings are those of ``dpaudit.testing.assert_private``: an attack that learns from the
releases alone, an error of 1e-6 a mechanism, seed 0.
"""

import argparse
from pathlib import Path

from dpaudit.engine import BlockMechanism, audit
from tests.catalogue.entries import TRIALS, Entry, Function
from tests.catalogue.test_catalogue import CATALOGUE

HEAD = """# The bug catalogue

Mechanisms with one fault each, as they are seen in the field, beside their correct twins
([tests/catalogue](../tests/catalogue)). Each pair of inputs is run {trials:,} times a side where
nothing else is said; an attack learns from a fifth of the releases, without knowing the mechanism,
and the bound on epsilon at the claimed delta holds with error 1e-6. A broken mechanism is caught
where the bound exceeds the claim; a bound of its twin must not. Made by
`python -m benchmarks.catalogue`.

| fault | claim | broken shows | twin shows | trials |
|---|---|---|---|---|
"""


def bound(entry: Entry, function: Function) -> float:
    """Return the lower bound that the default attack shows."""
    result = audit(
        BlockMechanism(function),
        data_in=entry.data_in,
        data_out=entry.data_out,
        delta=entry.delta,
        epsilon=entry.epsilon,
        trials=entry.trials,
        confidence=1 - 1e-6,
    )
    return result.epsilon


def row(entry: Entry) -> str:
    """Return a line of the table, bounds rounded down."""
    shown = [int(bound(entry, f) * 100) / 100 for f in (entry.broken, entry.correct)]
    assert shown[0] > entry.epsilon >= shown[1], entry.name
    claim = f"{entry.epsilon:.3g}" + (f", δ = {entry.delta:.2g}" if entry.delta else "")
    trials = "" if entry.trials == TRIALS else f"{entry.trials:,}"
    cells = [f"**{entry.name}**: {entry.fault}", claim, *(f"{x:.2f}" for x in shown), trials]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/catalogue.md"))
    out = parser.parse_args().out
    rows = [row(entry) for entry in CATALOGUE]
    out.write_text(HEAD.format(trials=TRIALS) + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
