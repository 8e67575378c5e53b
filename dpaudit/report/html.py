"""A report as one HTML page that needs nothing else: no script, no request, no font."""

import re
from collections.abc import Mapping
from typing import Any

from dpaudit.report import page, svg
from dpaudit.report.contents import page_of
from dpaudit.report.page import visible

# No line break inside "ε ≥ 5.9" or "1.0e-6".
_TOGETHER = re.compile(r"\S+ [=≤≥] \S+|\d+(?:\.\d+)?e-\d+")


def render(result: Mapping[str, Any]) -> str:
    """Return the page on a result of ``audit`` or ``verify``; equal results give equal pages."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    def plain(text: str) -> Markup:
        return escape(visible(text))

    def running(text: str) -> Markup:
        # Escaped before the spans go in, so that they are the only markup in it.
        return Markup(_TOGETHER.sub(r'<span class="w">\g<0></span>', str(plain(text))))

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
        finalize=lambda value: running(value) if type(value) is str else value,
    )
    environment.filters["drawn"] = drawn
    environment.filters["plain"] = plain  # for attributes, where no span may stand
    environment.filters["kind"] = lambda block: type(block).__name__
    return environment.get_template("report.html.j2").render(page=page_of(result))
