"""The drawings of a report. All text in them is ours; none comes from audited data."""

from collections.abc import Mapping, Sequence
from math import ceil, floor, inf, isfinite, log10
from typing import TYPE_CHECKING, Any

from dpaudit.report import svg
from dpaudit.report.number_line import number_line
from dpaudit.report.numbers import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["bucket_sizes", "decade_ticks", "delta_curves", "number_line"]

_WIDTH = 5.2
_DECADES = 6  # shown below the claimed delta
_USUAL_DELTA = 1e-6


def delta_curves(
    curve: Sequence[Mapping[str, Any]],
    *,
    measured: str,
    bound: str,
    labels: tuple[str, str],
    claim: tuple[float, float] | None = None,
    reached: Sequence[tuple[float, float]] = (),
) -> str:
    """Draw delta against epsilon: an upper bound, a measured lower bound and a claim.

    Parameters
    ----------
    curve : sequence of mapping
        Points with ``epsilon`` and the two keys below.
    measured, bound : str
        Keys of the lower and the upper bound.
    labels : (str, str)
        What to call the upper and the lower bound.
    claim : (float, float), optional
        Claimed epsilon and delta.
    reached : sequence of (float, float)
        The two bounds behind the verdict, with marks of their own: they hold at a threshold chosen
        for the claim, the curve's points at thresholds chosen for each.

    Returns
    -------
    str
        An SVG element.
    """
    points = sorted(curve, key=lambda point: float(point["epsilon"]))
    epsilon = [float(point["epsilon"]) for point in points]
    high = [float(point[bound]) for point in points]
    low = [float(point[measured]) for point in points]
    decided = [(at, delta) for at, delta in reached if delta > 0]
    bottom = _bottom(
        [*high, *low, *(delta for _, delta in decided)], claim[1] if claim else _USUAL_DELTA
    )
    with svg.canvas(_WIDTH, 3.7) as figure:
        axes = figure.add_axes((0.13, 0.14, 0.84, 0.64))
        axes.set_yscale("log")
        axes.plot(epsilon, _positive(high), color=svg.BOUND, linewidth=1.8, label=labels[0])
        shown = any(value >= bottom for value in low)
        axes.plot(
            epsilon,
            _positive(low),
            color=svg.MEASURED,
            linewidth=1.6,
            linestyle=(0, (5, 2)),
            marker="o",
            markersize=3.5,
            label=labels[1] if shown else f"{labels[1]}: 0 at this number of trials",
        )
        if decided:
            axes.plot(
                [at for at, _ in decided],
                [delta for _, delta in decided],
                color=svg.MEASURED,
                marker="^",
                markersize=7,
                linestyle="none",
                label="behind the verdict",
                zorder=4,
                clip_on=False,
            )
        seen = [e for e, value in zip(epsilon, high, strict=True) if value >= bottom]
        right = max([*seen[-1:], *([claim[0]] if claim else []), 0.1]) * 1.06
        if claim:
            axes.plot(
                [claim[0]],
                [claim[1]],
                color=svg.CLAIM,
                marker="D",
                markersize=6,
                linestyle="none",
                label=f"claim ({number(claim[0])}, {number(claim[1])})",
                zorder=4,
                clip_on=False,
            )
        axes.set_xlim(0, right)
        axes.set_ylim(bottom, 1.0)
        axes.set_xlabel("ε")
        axes.set_ylabel("δ")
        decade_ticks(axes, bottom)
        axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.03), ncols=1 + bool(decided))
        return svg.source(figure)


def bucket_sizes(sizes: Sequence[Mapping[str, int]], *, heavy: float | None) -> str:
    """Draw how many buckets hold how many records, and from where on buckets are released.

    Parameters
    ----------
    sizes : sequence of mapping
        ``size_from`` and ``size_to`` (both included) and ``buckets``; not empty.
    heavy : float, optional
        Size at which about half of the buckets are released: threshold / sampling rate.

    Returns
    -------
    str
        An SVG element.
    """
    bins = [(int(b["size_from"]), int(b["size_to"]) + 1, int(b["buckets"])) for b in sizes]
    bins = [entry for entry in bins if entry[2] > 0]
    most = max((count for _, _, count in bins), default=1)
    with svg.canvas(_WIDTH, 2.9) as figure:
        axes = figure.add_axes((0.13, 0.18, 0.84, 0.66))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.grid(visible=False, axis="x")
        for start, end, count in bins:
            released = heavy is not None and start >= heavy
            axes.bar(
                start,
                count,
                width=end - start,
                bottom=0,
                align="edge",
                color=svg.BOUND if released else svg.MUTED,
                edgecolor=svg.PAGE,
                linewidth=1.0,
            )
        left = min((start for start, _, _ in bins), default=1)
        right = max([end for _, end, _ in bins] + [10] + ([heavy * 1.5] if heavy else []))
        axes.set_xlim(min(left, heavy or inf) * 0.9, right * 1.1)
        axes.set_ylim(0.7, most * 1.8)
        if heavy is not None:
            axes.axvline(heavy, color=svg.CLAIM, linewidth=1.2, linestyle=(0, (5, 2)))
            beyond = log10(heavy / (left * 0.9)) / log10(right * 1.1 / (left * 0.9)) > 0.6
            axes.annotate(
                f"threshold / p = {number(heavy)}",
                (heavy, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(-5 if beyond else 5, 6),
                textcoords="offset points",
                ha="right" if beyond else "left",
                va="bottom",
            )
        axes.set_xlabel("records in a bucket")
        axes.set_ylabel("buckets")
        _whole_powers(axes)
        return svg.source(figure)


def _bottom(values: Sequence[float], delta: float) -> float:
    """Return the power of ten at which the delta axis ends."""
    floor_at = delta * 10.0**-_DECADES
    least = min((value for value in values if value >= floor_at), default=delta)
    return float(10.0 ** (floor(log10(min(least, delta))) - (1 if least >= delta else 0)))


def _positive(values: Sequence[float]) -> list[float]:
    """Return ``values`` with what a logarithmic axis cannot show as gaps."""
    return [value if value > 0 and isfinite(value) else float("nan") for value in values]


def decade_ticks(axes: "Axes", bottom: float) -> None:
    """Mark powers of ten from 1 down to ``bottom`` on a logarithmic vertical axis, as text."""
    from matplotlib.ticker import (
        FixedLocator,
        FuncFormatter,
        MaxNLocator,
        NullFormatter,
        NullLocator,
    )

    lowest = round(log10(bottom))
    step = max(1, ceil(-lowest / 7))
    axes.yaxis.set_major_locator(FixedLocator([10.0**e for e in range(0, lowest - 1, -step)]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"1e{round(log10(value))}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(float(value))))


def _whole_powers(axes: "Axes") -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(base=10))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{round(value):,}"))
        axis.set_minor_locator(NullLocator())
