"""Markdown: the content of the page, and nothing from outside acts as markup."""

import re
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dpaudit.report.markdown import escaped, render
from dpaudit.report.page import visible

PARSER = MarkdownIt("commonmark").enable("table")
NAMES = ("proved", "refuted", "open", "violated", "hostile", "verified", "unbounded")
ALLOWED = set(
    re.findall(r"\w+", "h1 h2 h3 p strong table thead tbody tr th td ul li blockquote hr")
)


def tags(markdown: str) -> set[str]:
    return set(re.findall(r"<([a-z][a-z0-9]*)", PARSER.render(markdown)))


def plain(markdown: str) -> str:
    """Return the text of one paragraph, or fail if it is anything else."""
    first, inline, last = PARSER.parse(markdown)
    assert (first.type, last.type) == ("paragraph_open", "paragraph_close")
    children = inline.children or []
    assert {child.type for child in children} <= {"text", "text_special"}
    return "".join(child.content for child in children)


@pytest.mark.parametrize("name", NAMES)
def test_is_plain_markdown(samples: ModuleType, name: str) -> None:
    text = render(samples.RESULTS[name]())
    assert tags(text) <= ALLOWED
    assert not set(text) & ({chr(c) for c in range(32) if c != 10} | set("\u202e\u200b"))
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert render(samples.RESULTS[name]()) == text


@pytest.mark.parametrize("name", NAMES)
def test_tables_keep_their_shape(samples: ModuleType, name: str) -> None:
    widths: list[int] = []
    for token in PARSER.parse(render(samples.RESULTS[name]())):
        if token.type == "tr_open":
            widths.append(0)
        elif token.type in ("td_open", "th_open"):
            widths[-1] += 1
        elif token.type == "table_close":
            assert len(set(widths)) == 1
            widths.clear()


def test_holds_what_the_page_holds(samples: ModuleType) -> None:
    text = render(samples.refuted())
    for heading in ("What was claimed", "Worst-case canary", "Assumptions", "Warnings"):
        assert f"# {heading}\n" in text
    assert "achieves ε ≥ 5.932 at δ = 1.0e-6" in text
    assert "| tight (proved) | 14.81 | 0.01793 |" in text
    assert "<svg" not in text


@given(st.text(min_size=1))
def test_any_text_is_shown_as_it_stands(text: str) -> None:
    shown = visible(text).strip()
    if shown:
        assert plain(escaped(text)) == shown


@given(st.text(alphabet="ab1 \\`*_{}[]()<>#+-.!|~=&;:/@w\"'$", min_size=1))
def test_any_markup_is_shown_as_it_stands(text: str) -> None:
    if text.strip():
        assert plain(escaped(text)) == text.strip()


@pytest.mark.parametrize("text", ["http://a.b", "HTTPS://A.B", "www.a.b", "a@b.c", "mailto:a"])
def test_nothing_becomes_a_link_by_itself(text: str) -> None:
    shown = escaped(text)
    assert not re.search(r"://|www\.|@|mailto:", shown, re.IGNORECASE)
    assert plain(shown) == text
