"""What a report consists of, apart from how it is shown: HTML, Markdown and terminal share it.

Every string is plain text. A renderer escapes all of them and passes them through
:func:`visible`, so no text from outside can act as markup, wherever it comes from.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dpaudit.errors import shown

Tone: TypeAlias = Literal["good", "bad", "open", "alarm"]

_LIMIT = 2000


def visible(text: object, *, limit: int = _LIMIT) -> str:
    """Return ``text`` on one line, with control, direction and invisible characters spelled out."""
    return shown(text, limit=limit)


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Named values, in order."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """A table; the columns in ``words`` hold text, the others numbers."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Bullets:
    """A list of sentences, each with a code in front where it has one."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Quote:
    """A text that is not ours, word for word."""

    label: str
    text: str


@dataclass(frozen=True)
class Figure:
    """A figure: ``draw`` returns the SVG; ``description`` says in words what it shows."""

    name: str
    caption: str
    description: str
    draw: Callable[[], str]


Block: TypeAlias = Paragraph | Facts | Table | Bullets | Quote | Figure


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it; ``part_of_above`` makes it a subsection."""

    heading: str
    blocks: tuple[Block, ...]
    part_of_above: bool = False


@dataclass(frozen=True)
class Finding:
    """Something that must not be overlooked."""

    code: str
    message: str
    detail: str


@dataclass(frozen=True)
class Verdict:
    """The answer: one word, one sentence, and the numbers it rests on."""

    tone: Tone
    word: str
    sentence: str
    numbers: str


@dataclass(frozen=True)
class Page:
    """A whole report."""

    title: str
    subtitle: str
    verdict: Verdict
    number_line: Figure
    findings: tuple[Finding, ...]
    sections: tuple[Section, ...]
    footer: str
