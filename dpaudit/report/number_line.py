"""The line of epsilons: measured lower bound, tight upper bound, claim and the paper's figure."""

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from dpaudit.report import svg
from dpaudit.report.numbers import lower, number, upper

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _HEIGHT = 5.2, 1.95
_LETTER = 0.0115  # width of a letter as a share of the line
_OFF_SCALE = 2.5  # a paper's figure this many times beyond the others is only pointed at
_LEVELS = (0.5, 1.15)
_SIDES = ("left", "right")  # where the leader stands, seen from the label


@dataclass(frozen=True)
class _Mark:
    """A value on the line, ``at`` as a share of it, and its label."""

    at: float
    label: str
    color: str
    marker: str

    @property
    def width(self) -> float:
        return _LETTER * len(self.label)

    def extent(self, side: str) -> tuple[float, float]:
        """Return where the label begins and ends if it is aligned to ``side``."""
        return (
            (self.at, self.at + self.width) if side == "left" else (self.at - self.width, self.at)
        )

    def overflow(self, side: str) -> float:
        start, end = self.extent(side)
        return max(0.0, -start) + max(0.0, end - 1)


def number_line(
    *, measured: float | None, tight: float, claimed: float, paper: float | None
) -> str:
    """Draw the four figures on one line of epsilon; the truth lies in the shaded stretch.

    Parameters
    ----------
    measured : float or None
        Measured lower bound; None where no attack was run.
    tight, claimed : float
        Proved upper bound (may be ``inf``) and claim.
    paper : float or None
        What the paper's accounting gives (may be ``inf``); None where it gives nothing.

    Returns
    -------
    str
        An SVG element.
    """
    main = [value for value in (measured, tight, claimed) if value is not None and isfinite(value)]
    end = max(main)
    if paper is not None and paper <= _OFF_SCALE * end:
        end = max(end, paper)
    end *= 1.08

    def mark(value: float, label: str, color: str, marker: str) -> _Mark:
        inside = value <= end
        return _Mark(
            value / end if inside else 1.0,
            label if inside else f"{label} →",
            color,
            marker if inside else ">",
        )

    above = [mark(claimed, f"claimed {number(claimed)}", svg.CLAIM, "D")]
    if paper is not None:
        above.append(mark(paper, f"paper {upper(paper)}", svg.PAPER, "s"))
    bound = mark(tight, f"tight ≤ {upper(tight, unlike=claimed)}", svg.BOUND, "o")
    below = [bound]
    start = 0.0
    if measured is not None:
        start = measured / end
        text = f"measured ≥ {lower(measured, unlike=claimed)}"
        below.append(mark(measured, text, svg.MEASURED, "^"))
    with svg.canvas(_WIDTH, _HEIGHT) as figure:
        axes = figure.add_axes((0.03, 0.24, 0.94, 0.74))
        axes.set_xlim(0, 1)
        axes.set_ylim(-1.6, 1.6)
        axes.grid(visible=False)
        if bound.at > start:
            axes.barh(0, bound.at - start, left=start, height=0.34, color=svg.BAND)
        axes.plot([0, 1], [0, 0], color=svg.MUTED, linewidth=1.0)
        _place(axes, above, up=1)
        _place(axes, below, up=-1)
        _ticks(axes, end)
        return svg.source(figure)


def _place(axes: "Axes", marks: list[_Mark], *, up: int) -> None:
    """Draw one or two marks with their labels, on levels of their own, none covering another."""
    if len(marks) == 1:
        (only,) = marks
        _draw(axes, only, min(_SIDES, key=only.overflow), up * _LEVELS[0])
        return
    near, near_side, far, far_side = min(_placements(marks), key=_badness)
    _draw(axes, near, near_side, up * _LEVELS[0])
    _draw(axes, far, far_side, up * _LEVELS[1])


def _placements(marks: list[_Mark]) -> list[tuple[_Mark, str, _Mark, str]]:
    return [
        (near, near_side, far, far_side)
        for near, far in (marks, marks[::-1])
        for near_side in _SIDES
        for far_side in _SIDES
    ]


def _badness(placement: tuple[_Mark, str, _Mark, str]) -> float:
    """Return how far labels leave the line, and whether the far leader crosses the near label."""
    near, near_side, far, far_side = placement
    start, end = near.extent(near_side)
    # At one place the leaders coincide, and either side is free of both.
    crossed = far.at != near.at and start <= far.at <= end
    return near.overflow(near_side) + far.overflow(far_side) + (1.0 if crossed else 0.0)


def _draw(axes: "Axes", mark: _Mark, side: str, height: float) -> None:
    axes.plot([mark.at, mark.at], [0, height], color=mark.color, linewidth=1.0, clip_on=False)
    axes.plot([mark.at], [0], color=mark.color, marker=mark.marker, markersize=7, clip_on=False)
    axes.annotate(
        mark.label,
        (mark.at, height),
        xytext=(4 if side == "left" else -4, 0),
        textcoords="offset points",
        ha=side,
        va="center",
        color=mark.color,
        fontweight="bold" if mark.color != svg.PAPER else "normal",
    )


def _ticks(axes: "Axes", end: float) -> None:
    from matplotlib.ticker import MaxNLocator

    values = [float(v) for v in MaxNLocator(nbins=6).tick_values(0, end) if 0 <= v <= end]
    axes.set_xticks([value / end for value in values], [number(value) for value in values])
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("ε")
