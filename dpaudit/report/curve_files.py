"""A deployment's curves as a file: one SVG drawing, or one CSV table."""

import csv
import io
from collections.abc import Mapping, Sequence
from math import floor, isfinite, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpaudit.errors import InputError, shown
from dpaudit.report import svg
from dpaudit.report.figures import decade_ticks
from dpaudit.report.files import write_whole
from dpaudit.report.numbers import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = (".svg", ".csv")
_DECADES = 8


def checked_target(out: Path) -> Path:
    """Return ``out`` if its name says what to write.

    Raises
    ------
    InputError
        If it ends in neither .svg nor .csv, or its folder does not exist.
    """
    if out.suffix.lower() not in KINDS:
        raise InputError(f"{shown(out)}: a name that ends in .svg or .csv is needed")
    if not out.parent.is_dir():
        raise InputError(f"{shown(out)}: the folder {shown(out.parent)} does not exist")
    return out


def write_curves(result: Mapping[str, Any], out: Path) -> None:
    """Write the curves to ``out``, whole or not at all.

    Raises
    ------
    InputError
        If the name is not allowed or the file cannot be written.
    """
    target = checked_target(out)
    write_whole(target, drawing(result) if target.suffix.lower() == ".svg" else table(result))


def table(result: Mapping[str, Any]) -> str:
    """Return the curves as CSV: a column says which curve a row belongs to; empty is unknown."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("curve", "x", "tight", "paper"))
    for curve, x in (("delta(epsilon)", "epsilon"), ("beta(alpha)", "alpha")):
        for point in result["delta" if x == "epsilon" else "beta"]:
            paper = point["paper"]
            rows.writerow(
                (curve, repr(point[x]), repr(point["tight"]), "" if paper is None else repr(paper))
            )
    return text.getvalue()


def drawing(result: Mapping[str, Any]) -> str:
    """Return the curves as one SVG document: delta(epsilon) left, beta(alpha) right."""
    claim = result["claim"]
    with svg.canvas(9.0, 3.9) as figure:
        left = figure.add_axes((0.09, 0.15, 0.39, 0.70))
        right = figure.add_axes((0.58, 0.15, 0.39, 0.70))
        _delta(left, result["delta"], float(claim["epsilon"]), float(claim["delta"]))
        _beta(right, result["beta"])
        figure.legend(*left.get_legend_handles_labels(), loc="upper left", ncols=3,
                      bbox_to_anchor=(0.08, 0.98))  # fmt: skip
        return svg.document(figure)


def _delta(axes: "Axes", points: Sequence[Mapping[str, Any]], epsilon: float, delta: float) -> None:
    bottom = 10.0 ** floor(log10(delta) - _DECADES)
    axes.set_yscale("log")
    for key, color, dash, label in (
        ("tight", svg.BOUND, "-", "tight (proved)"),
        ("paper", svg.MEASURED, (0, (5, 2)), "paper"),
    ):
        kept = [(p["epsilon"], p[key]) for p in points if p[key] is not None and p[key] > 0]
        if kept:
            axes.plot(*zip(*kept, strict=True), color=color, linestyle=dash, linewidth=1.8,
                      label=label)  # fmt: skip
    axes.plot([epsilon], [delta], color=svg.CLAIM, marker="D", linestyle="none",
              label=f"claim ({number(epsilon)}, {number(delta)})")  # fmt: skip
    axes.set_xlim(0, max(float(p["epsilon"]) for p in points))
    axes.set_ylim(bottom, 1.0)
    decade_ticks(axes, bottom)
    axes.set_xlabel("ε")
    axes.set_ylabel("δ(ε), at most")


def _beta(axes: "Axes", points: Sequence[Mapping[str, Any]]) -> None:
    alphas = [p["alpha"] for p in points]
    axes.plot([0, 1], [1, 0], color=svg.MUTED, linewidth=1.0)
    axes.annotate("perfect privacy", (0.6, 0.42), color=svg.MUTED, fontsize=8)
    for key, color, dash in (("tight", svg.BOUND, "-"), ("paper", svg.MEASURED, (0, (5, 2)))):
        values = [p[key] for p in points]
        if all(value is not None and isfinite(value) for value in values):
            axes.plot(alphas, values, color=color, linestyle=dash, linewidth=1.8)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xlabel("type I error α of any test")  # noqa: RUF001
    axes.set_ylabel("type II error β(α), at least")  # noqa: RUF001
