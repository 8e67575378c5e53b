"""Drawings that matplotlib makes, as SVG to put inside a page.

Colours are drawn as stand-ins and leave as CSS variables with a fallback, so that a page can show
one drawing in light and in dark. The text stays text, and equal input gives equal bytes.
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, MUTED, LINE, PAGE = "#010101", "#020202", "#030303", "#040404"
BOUND, MEASURED, CLAIM, PAPER, BAND = "#050505", "#060606", "#070707", "#080808", "#090909"

_VARIABLES = {
    INK: "var(--ink, #1c2430)",
    MUTED: "var(--muted, #5a6675)",
    LINE: "var(--line, #d5dbe3)",
    PAGE: "var(--page, #ffffff)",
    BOUND: "var(--bound, #1f5fa8)",
    MEASURED: "var(--measured, #b3541e)",
    CLAIM: "var(--claim, #1c2430)",
    PAPER: "var(--paper, #6b4fa0)",
    BAND: "var(--band, #dbe7f5)",
}
_SETTINGS: Any = {  # matplotlib's stubs list every key there is
    "svg.fonttype": "none",
    "svg.hashsalt": "dpaudit",
    "font.family": "sans-serif",
    "font.size": 10.0,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 10.0,
    "legend.borderaxespad": 0.0,
    "legend.handlelength": 2.2,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}
_ID = re.compile(r'\bid="([^"]+)"')
_REFERENCE = re.compile(r'(href="#|url\(#)([^")]+)')


@contextmanager
def canvas(width: float, height: float) -> Iterator["Figure"]:
    """Yield an empty figure, in inches, with the settings of a report in force.

    Draw and call :func:`source` inside the ``with`` block; whatever the user's own matplotlib
    settings are, they play no part.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield Figure(figsize=(width, height))


def source(figure: "Figure") -> str:
    """Return the figure's SVG element, without date, generator, style sheet or prologue."""
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", metadata=nothing)
    text = buffer.getvalue()
    text = text[text.index("<svg") :].rstrip()
    text = re.sub(r"\s*<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"font-family: [^;\"]+", "font-family: sans-serif", text)
    for stand_in, variable in _VARIABLES.items():
        text = text.replace(stand_in, variable)
    return text


def document(figure: "Figure") -> str:
    """Return the figure as an SVG file of its own: plain colours on white."""
    text = source(figure)
    for variable in _VARIABLES.values():
        text = text.replace(variable, variable[variable.index("#") : -1])
    head, _, body = text.partition(">")
    return f'{head}><rect width="100%" height="100%" fill="#ffffff"/>{body}\n'


def embedded(drawing: str, *, name: str, title: str, description: str) -> str:
    """Return ``drawing`` for one place in a page: sized by its container, named, ids of its own.

    Parameters
    ----------
    drawing : str
        From :func:`source`.
    name : str
        Prefix of every id: letters, digits and hyphens, unique on the page.
    title, description : str
        For those who do not see it; escaped here.
    """
    text = _ID.sub(rf'id="{name}-\1"', drawing)
    text = _REFERENCE.sub(rf"\1{name}-\2", text)
    head, _, body = text.partition(">")
    head = re.sub(r'\s(width|height|version|xmlns(:xlink)?)="[^"]*"', "", head)
    body = body.replace("xlink:href=", "href=")
    return (
        f'{head} role="img" aria-labelledby="{name}-title {name}-description">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-description">{escape(description)}</desc>{body}'
    )
