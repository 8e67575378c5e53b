"""A result on a terminal: plain sentences and tables, in colour where the terminal shows it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from dpaudit.report import guarantee
from dpaudit.report.attack import conditional_estimates
from dpaudit.report.numbers import lower, number, percent, upper
from dpaudit.report.page import Table, Tone, visible
from dpaudit.report.verdict import findings_of, verdict_of

if TYPE_CHECKING:
    from rich.console import Console

Result = Mapping[str, Any]

_STYLES: dict[Tone, str] = {
    "good": "bold green",
    "bad": "bold red",
    "open": "bold yellow",
    "alarm": "bold white on red",
}


def show(result: Result, file: TextIO, *, written: Path | None = None) -> None:
    """Print the answer of ``verify``, ``calibrate`` or ``audit`` to ``file``.

    Parameters
    ----------
    result : mapping
        What one of the three returned.
    file : text file
        A terminal or anything else; ``NO_COLOR`` and the width of a terminal are respected.
    written : Path, optional
        The report's page, to be mentioned.
    """
    console = _console(file)
    _line(console, f"{result['deployment']['name']}", style="bold")
    if result["command"] == "calibrate":
        _calibration(console, result)
    else:
        _guarantee(console, result)
    for finding in findings_of(result):
        _line(console)
        _line(console, f"FINDING {finding.code}", style=_STYLES["alarm"])
        _line(console, f"{finding.message} {finding.detail}".strip())
    _line(console)
    if result["command"] == "calibrate":
        _feasibility(console, result)
    else:
        verdict = verdict_of(result)
        _line(console, verdict.word, style=_STYLES[verdict.tone])
        _line(console, verdict.sentence)
    warned = [f"{item['code']}: {item['message']}" for item in result["warnings"]]
    _listed(console, "Warnings", warned)
    _listed(console, "Assumptions", result["assumptions"])
    if written is not None:
        _line(console)
        _line(console, f"Report: {written}")


def show_assets(rows: Sequence[Mapping[str, Any]], file: TextIO) -> None:
    """Print the optional assets as a table."""
    cells = tuple(
        (
            str(item["name"]),
            str(item["version"]),
            f"{item['download_bytes'] / 1e6:.1f}",
            "yes" if item["path"] else "no",
            f"{item['what']}; licence {item['licence']}",
        )
        for item in rows
    )
    columns = ("name", "version", "MB", "cached", "what")
    _table(_console(file), Table("Optional assets", columns, cells, words=(0, 1, 3, 4)))


def _console(file: TextIO) -> "Console":
    from rich.console import Console

    return Console(file=file, highlight=False, markup=False, emoji=False)


def _line(console: "Console", text: str = "", *, style: str | None = None) -> None:
    from rich.text import Text

    console.print(Text(visible(text), style=style or ""))


def _table(console: "Console", table: Table) -> None:
    from rich import box
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    for at, column in enumerate(table.columns):
        numeric = at not in table.words
        # A number is cut visibly, never folded or silently cropped; words are folded.
        drawn.add_column(
            Text(visible(column)),
            justify="right" if numeric else "left",
            no_wrap=numeric,
            overflow="ellipsis" if numeric else "fold",
        )
    for row in table.rows:
        drawn.add_row(*(Text(visible(cell)) for cell in row))
    _line(console)
    _line(console, table.caption, style="bold")
    console.print(drawn)


def _listed(console: "Console", heading: str, texts: Sequence[str]) -> None:
    from rich.table import Table as Drawn
    from rich.text import Text

    if not texts:
        return
    _line(console)
    _line(console, heading, style="bold")
    drawn = Drawn.grid(padding=(0, 1))
    for text in texts:
        drawn.add_row("-", Text(visible(text)))
    console.print(drawn)


def _guarantee(console: "Console", result: Result) -> None:
    claim = result["claim"]
    _line(
        console,
        f"Claim: ({number(claim['epsilon'])}, {number(claim['delta'])})-differentially private, "
        f"{claim['adjacency']} of {_records(claim)}, {claim['view']} view"
        + (f" with {claim['colluders']} colluding users" if claim.get("colluders") else ""),
    )
    if "measured" not in result:  # an audit's report has the terms
        for table in (
            guarantee.paper_terms(result),
            guarantee.tight_terms(result),
            guarantee.steps(result),
            guarantee.costs(result),
        ):
            if table.rows:
                _table(console, table)
    _table(console, guarantee.accountings(result))
    _line(console)
    _line(console, guarantee.noise_sentence(result))
    if "measured" in result:
        _measured(console, result["measured"])


def _records(claim: Result) -> str:
    records = claim.get("records_per_user", 1)
    return "one record" if records == 1 else f"{number(records)} records of one user"


def _measured(console: "Console", measured: Result) -> None:
    worst = measured["worst_case"]
    _table(
        console,
        conditional_estimates(
            worst["conditional"],
            caption="Worst-case canary, given its collision",
            reference="Theorem J ε",
            key="theorem_j_epsilon",
            short=True,
        ),
    )
    _line(
        console,
        f"{number(worst['clusters'])} clusters of {number(worst['neighbours'])} records at "
        f"distance {number(worst['distance'])}. The collision has probability "
        f'{lower(worst["collision_probability"])}; the line "measured" above has it in, at '
        f"{percent(measured['confidence'])} confidence.",
    )
    if worst.get("note"):
        _line(console, str(worst["note"]))


def _calibration(console: "Console", result: Result) -> None:
    target, paper, tight = result["target"], result["paper"] or {}, result["tight"]
    _line(console, f"Target: ε = {number(target['epsilon'])}, δ = {number(target['delta'])}")
    rows = [
        ("paper (Algorithm 3)", _noise(paper.get("noise_std"))),
        ("tight (proved)", _noise(tight["noise_std"])),
    ]
    _table(console, Table("Smallest noise_std", ("accounting", "noise_std"), tuple(rows)))
    sweep = tuple(
        (
            number(row["sampling_rate"]),
            number(row["threshold"]),
            _noise(row["paper_noise_std"]),
            _noise(row["tight_noise_std"]),
        )
        for row in result["sweep"]
    )
    if not sweep:
        return
    columns = ("sampling_rate", "threshold", "paper", "tight")
    _table(console, Table("Noise by sampling rate", columns, sweep, words=()))


def _feasibility(console: "Console", result: Result) -> None:
    noise = result["tight"]["noise_std"]
    if noise is None:
        _line(console, "Infeasible", style=_STYLES["bad"])
        _line(console, "No noise meets the target with this sampling rate and threshold.")
        return
    _line(console, "Feasible", style=_STYLES["good"])
    _line(console, f"noise_std = {upper(noise, digits=6)} meets the target, by the tight bound.")


def _noise(value: Any) -> str:
    return "none suffices" if value is None else upper(value)
