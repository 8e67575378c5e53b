"""Drawings: repeatable, themed, and right at the edges."""

import re
from math import inf

import matplotlib as mpl
import pytest

from dpaudit.report import figures, svg

CURVE = [
    {"epsilon": e, "low": low, "high": high}
    for e, low, high in [(0.0, 0.1, 0.2), (1.0, 0.01, 0.05), (2.0, 0.0, 1e-3), (3.0, 0.0, 0.0)]
]
SIZES = [
    {"size_from": 1, "size_to": 1, "buckets": 9},
    {"size_from": 2, "size_to": 3, "buckets": 0},
    {"size_from": 64, "size_to": 127, "buckets": 120},
    {"size_from": 128, "size_to": 255, "buckets": 3},
]


def curves(**changed: object) -> str:
    return figures.delta_curves(
        CURVE, measured="low", bound="high", labels=("above", "below"), **changed
    )  # type: ignore[arg-type]


def line(**changed: float | None) -> str:
    values = {"measured": 1.0, "tight": 3.0, "claimed": 4.0, "paper": 3.99} | changed
    return figures.number_line(**values)  # type: ignore[arg-type]


def texts(drawing: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawing)


DRAWINGS = {
    "curves": curves,
    "line": line,
    "sizes": lambda: figures.bucket_sizes(SIZES, heavy=100.0),
}


@pytest.mark.parametrize("name", sorted(DRAWINGS))
def test_is_repeatable_whatever_the_users_settings(name: str) -> None:
    first = DRAWINGS[name]()
    with mpl.rc_context({"svg.fonttype": "path", "lines.linewidth": 9, "font.size": 30}):
        assert DRAWINGS[name]() == first
    assert first.startswith("<svg")
    assert first.endswith("</svg>")


@pytest.mark.parametrize("name", sorted(DRAWINGS))
def test_is_inline_themed_and_textual(name: str) -> None:
    drawing = DRAWINGS[name]()
    assert not re.search(r"<(style|script|image|metadata|a)\b|<!|<\?", drawing)
    assert not re.search(r"(fill|stroke): #", drawing.replace("fill: #ffffff", ""))
    assert "var(--" in drawing
    assert texts(drawing)


def test_embedding_makes_ids_unique_and_names_the_drawing() -> None:
    one = svg.embedded(curves(), name="one", title="a < b", description="c & d")
    two = svg.embedded(curves(), name="two", title="t", description="d")
    ids = re.findall(r'\bid="([^"]+)"', one + two)
    assert len(ids) == len(set(ids))
    for drawing in (one, two):
        known = set(re.findall(r'\bid="([^"]+)"', drawing))
        used = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', drawing)
        assert {a or b for a, b in used} <= known
        assert "xmlns" not in drawing
        assert "xlink" not in drawing
        assert "viewBox" in drawing.split(">")[0]
        assert "width=" not in drawing.split(">")[0]
    assert '<title id="one-title">a &lt; b</title>' in one
    assert 'aria-labelledby="one-title one-description"' in one


def test_curves_say_when_nothing_was_measured() -> None:
    shown = texts(figures.delta_curves(
        [{**point, "low": 0.0} for point in CURVE],
        measured="low", bound="high", labels=("above", "below"),
    ))  # fmt: skip
    assert "below: 0 at this number of trials" in shown
    assert "below" in texts(curves())


def test_curves_show_the_claim_and_whole_powers() -> None:
    shown = texts(curves(claim=(4.0, 1e-6), reached=[(2.5, 1e-5)]))
    assert "claim (4, 1.0e-6)" in shown
    assert "1e0" in shown
    assert {"1e-6", "1e-7"} & set(shown)


@pytest.mark.parametrize("high", [0.0, 1e-300, 1.0])
def test_curves_at_the_edges(high: float) -> None:
    flat = [{"epsilon": 0.0, "low": 0.0, "high": high}]
    drawing = figures.delta_curves(
        flat, measured="low", bound="high", labels=("a", "b"), claim=(1e-3, 1e-12)
    )
    assert "nan" not in drawing.lower().replace("dominant", "")


def test_bucket_sizes() -> None:
    shown = texts(figures.bucket_sizes(SIZES, heavy=100.0))
    assert "threshold / p = 100" in shown
    assert not any("threshold" in t for t in texts(figures.bucket_sizes(SIZES, heavy=None)))
    assert figures.bucket_sizes([{"size_from": 1, "size_to": 1, "buckets": 0}], heavy=None)
    assert figures.bucket_sizes(SIZES, heavy=1e9)
    assert figures.bucket_sizes(SIZES, heavy=1.4)


def test_line_labels() -> None:
    shown = texts(line())
    assert {"claimed 4", "paper 3.99", "tight ≤ 3", "measured ≥ 1"} <= set(shown)
    assert "tight ≤ ∞ →" in texts(line(tight=inf))
    assert "paper ∞ →" in texts(line(paper=inf))
    assert "paper 43.2 →" in texts(line(paper=43.2))
    assert not any("paper" in t for t in texts(line(paper=None)))
    assert not any("measured" in t for t in texts(line(measured=None)))


@pytest.mark.parametrize("measured", [0.0, 0.2, 3.0, 5.9, 100.0])
@pytest.mark.parametrize("tight", [0.05, 0.64, 4.0, 14.8])
@pytest.mark.parametrize("claimed", [0.1, 4.0, 50.0])
def test_line_labels_stay_inside(measured: float, tight: float, claimed: float) -> None:
    drawing = line(measured=measured, tight=tight, claimed=claimed, paper=claimed)
    width = float(re.findall(r'viewBox="0 0 ([0-9.]+)', drawing)[0])
    placed = re.findall(r'text-anchor: (start|end)[^"]*" x="([0-9.-]+)"[^>]*>([^<]+)<', drawing)
    assert len(placed) == 4
    for anchor, x, text in placed:
        length = 5.5 * len(text)  # points, at 10 point bold
        start = float(x) - (length if anchor == "end" else 0)
        assert start >= -6
        assert start + length <= width + 6
