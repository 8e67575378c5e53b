"""Write the page that compares what the papers state with what dpaudit computes.

    python -m benchmarks.paper_vs_tight --write docs/paper-vs-tight.md
    python -m benchmarks.paper_vs_tight --check docs/paper-vs-tight.md

A row (:mod:`benchmarks.paper_rows`) holds what a paper states, the paper's own formula and the
tight value; both are functions of the parameters that the paper gives
(:mod:`benchmarks.paper_formulas`), evaluated when the page is written. The verdict follows from
the numbers (:mod:`benchmarks.paper_verdict`).
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.paper_rows import sections

PAGE = Path("docs/paper-vs-tight.md")
COLUMNS = (
    "paper",
    "section",
    "quantity",
    "paper's value",
    "paper's formula",
    "tight value",
    "agree?",
    "why",
)

HEAD = """# What the papers state, and what dpaudit computes

<!-- Do not edit: python -m benchmarks.paper_vs_tight --write docs/paper-vs-tight.md -->

Every number in the two columns after the paper's is computed when this page is written: *paper's
formula* evaluates what the paper says, *tight value* is the smallest value that dpaudit proves, or
the exact one. Both have four significant digits. *Agree?* compares them:

- **yes**: the formula gives what the paper prints, and it is enough;
- **yes, loose**: enough, and more than one percent above the tight value;
- **formula no, claim holds**: the paper's own formula misses the claim, the tight value meets it;
- **no**: the formula gives another value, or the stated one is too small;
- **vacuous**: the bound of a probability is above 1;
- **-**: the paper prints no value and there is nothing to compare with.

Unless a row says otherwise: N = 1e6 records, k = 20, r = 0.5, u = 2.4, L = 2r/sqrt(k) and
delta = 1e-6.
The three published configurations (p, tau, v) are (0.3, 30, 4), (0.5, 50, 4) and (0.6, 60, 3), for
claims of 4, 8 and 16. Sources: *Fre-E2T* is arXiv 2609.10104; *B&C* Bharadwaj and Cormode 2022;
*Nebula* Shamsabadi et al. 2025; *KLS21* Kairouz, Liu and Steinke 2021; *RAFT* arXiv 2603.07027;
*TeDA* "Beyond Theoretical Bounds: Empirical Privacy Loss Calibration for Text Rewriting Under Local
DP"; *DG* arXiv 2110.08177, Eq. 11. Where the paper's value is "-" the paper gives the formula only,
or its text was not available.
"""


def page() -> str:
    """Return the page, every row evaluated."""
    lines = [HEAD]
    for title, rows in sections().items():
        lines.append(f"## {title}\n")
        lines.append("| " + " | ".join(COLUMNS) + " |")
        lines.append("|" + "---|" * len(COLUMNS))
        lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
        lines.append("")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write or check the page; print it without an option."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--write", type=Path, metavar="FILE", help="write the page there")
    chosen.add_argument("--check", type=Path, metavar="FILE", help="exit 1 if it differs")
    given = parser.parse_args(arguments)
    text = page()
    if given.write is not None:
        given.write.write_text(text, encoding="utf-8")
    elif given.check is None:
        print(text)
    elif not given.check.exists() or given.check.read_text(encoding="utf-8") != text:
        print(f"{given.check} is not what the code gives: write it again", file=sys.stderr)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
