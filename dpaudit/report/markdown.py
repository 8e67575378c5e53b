"""A report as Markdown (CommonMark with tables); figures are left to the HTML page."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dpaudit.report.contents import page_of
from dpaudit.report.page import (
    Block,
    Bullets,
    Facts,
    Figure,
    Page,
    Paragraph,
    Quote,
    Table,
    visible,
)

# Every character that could begin or end markup, make a link or mention somebody. An underscore
# between letters does neither.
_MARKUP = re.compile(
    r"(?i)(?<=www)\.|(?<=[a-z]):(?=//)|(?<=mailto):|@|[&<>\\`*\[\]#!|~$]"
    r"|(?<![^\W_])_|_(?![^\W_])"
)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", ".": "&#46;", ":": "&#58;", "@": "&#64;"}
# At the start of a line: a list, a rule or a heading.
_AT_THE_START = re.compile(r"^([-+=]|\d+(?=[.)](\s|$)))")


def render(result: Mapping[str, Any]) -> str:
    """Return the report on a result of ``audit`` or ``verify``."""
    return "\n\n".join(_parts(page_of(result))) + "\n"


def escaped(text: str) -> str:
    """Return ``text`` so that Markdown shows it as it stands, invisible characters spelled out."""
    safe = _MARKUP.sub(lambda m: _ENTITIES.get(m.group(), f"\\{m.group()}"), visible(text).strip())
    return _AT_THE_START.sub(lambda m: _guarded(m[1]), safe)


def _guarded(start: str) -> str:
    return f"{start}\\" if start.isdigit() else f"\\{start}"


def _parts(page: Page) -> Iterator[str]:
    yield f"# {escaped(page.title)}"
    yield escaped(page.subtitle)
    yield f"## {escaped(page.verdict.word)}"
    yield escaped(page.verdict.sentence)
    yield f"**{escaped(page.verdict.numbers)}**"
    for finding in page.findings:
        yield f"### Finding: {escaped(finding.code)}"
        yield escaped(finding.message)
        if finding.detail:
            yield escaped(finding.detail)
    for section in page.sections:
        yield f"{'###' if section.part_of_above else '##'} {escaped(section.heading)}"
        for block in section.blocks:
            yield from _block(block)
    yield "---"
    yield escaped(page.footer)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(text):
            yield escaped(text)
        case Facts(rows):
            yield _table(("", ""), rows, (0, 1))
        case Table(caption, columns, rows, words):
            yield f"**{escaped(caption)}**"
            yield _table(columns, rows, words)
        case Bullets(items):
            yield "\n".join(
                f"- **{escaped(code)}**: {escaped(text)}" if code else f"- {escaped(text)}"
                for code, text in items
            )
        case Quote(label, text):
            yield f"{escaped(label)}:"
            yield f"> {escaped(text)}"
        case Figure():
            return


def _table(
    columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...], words: tuple[int, ...]
) -> str:
    rule = ["---" if at in words else "---:" for at in range(len(columns))]
    lines = [[escaped(text) for text in row] for row in (columns, *rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (lines[0], rule, *lines[1:]))
