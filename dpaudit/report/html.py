"""A report as one HTML page that needs nothing else: no script, no request, no font."""

import re
from collections.abc import Mapping
from typing import Any

from dpaudit.report import page, svg
from dpaudit.report.contents import page_of
from dpaudit.report.page import visible

# No line break inside "ε ≥ 5.9": the signs and their neighbours belong together.
_BOUND = re.compile(r"(?<=\S) (?=[=≤≥] )|(?<=[=≤≥]) (?=\S)")


def render(result: Mapping[str, Any]) -> str:
    """Return the page on a result of ``audit`` or ``verify``; equal results give equal pages."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def drawn(figure: page.Figure) -> Markup:
        # Nothing in a drawing comes from outside; embedded() escapes the two texts.
        return Markup(
            svg.embedded(
                figure.draw(),
                name=figure.name,
                title=figure.caption,
                description=figure.description,
            )
        )

    environment = Environment(
        loader=PackageLoader("dpaudit.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Every expression of the template passes through here before it is escaped.
        finalize=lambda value: _text(value) if type(value) is str else value,
    )
    environment.filters["drawn"] = drawn
    environment.filters["kind"] = lambda block: type(block).__name__
    return environment.get_template("report.html.j2").render(page=page_of(result))


def _text(value: str) -> str:
    return _BOUND.sub("\N{NO-BREAK SPACE}", visible(value))
