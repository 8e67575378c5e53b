"""The HTML page: self-contained, escaped, named for those who do not see it, repeatable."""

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

from dpaudit.report import html

NAMES = ("proved", "refuted", "open", "violated", "hostile", "verified", "unbounded")
ALLOWED = set(
    re.findall(
        r"\w+",
        "html head meta title style body main header section h1 h2 h3 p bdi dl div dt dd table "
        "caption thead tbody tr th td ul li code blockquote figure figcaption footer span "
        "svg desc defs g path use text tspan clippath rect",
    )
)


class Page(HTMLParser):
    """What the tests ask of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.headings: list[tuple[str, str]] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag != "meta":
            self.open.append(tag)
        if tag in ("h1", "h2", "h3"):
            self.headings.append((tag, ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag != "meta":
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self.open and self.open[-1] in ("h1", "h2", "h3", "bdi"):
            tag, text = self.headings[-1]
            self.headings[-1] = (tag, text + data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))


def page(samples: ModuleType, name: str) -> Page:
    return Page(html.render(samples.RESULTS[name]()))


@pytest.mark.parametrize("name", NAMES)
def test_is_well_formed_and_needs_nothing_else(samples: ModuleType, name: str) -> None:
    found = page(samples, name)
    assert found.open == []
    assert set(found.tags) <= ALLOWED
    assert not [a for a, _ in found.attributes if a.startswith("on") or a in ("src", "srcset")]
    assert all(value.startswith("#") for a, value in found.attributes if a.endswith("href"))
    styles = [value for a, value in found.attributes if a == "style"]
    assert not [value for value in styles if re.search(r"url\((?!#)", value)]
    style_sheet = found.source.split("<style>")[1].split("</style>")[0]
    assert "url(" not in style_sheet
    assert "@import" not in style_sheet
    assert "default-src 'none'" in found.source
    if name != "hostile":
        assert "http:" not in found.source
        assert "https:" not in found.source


@pytest.mark.parametrize("name", NAMES)
def test_is_accessible(samples: ModuleType, name: str) -> None:
    found = page(samples, name)
    assert ("lang", "en") in found.attributes
    assert ("name", "viewport") in found.attributes
    assert len(found.ids) == len(set(found.ids))
    named = [value for a, value in found.attributes if a == "aria-labelledby"]
    assert {one for value in named for one in value.split()} <= set(found.ids)
    assert found.tags["svg"] == found.tags["figure"] == found.tags["desc"] >= 1
    assert found.attributes.count(("role", "img")) == found.tags["svg"]
    assert found.tags["caption"] == found.tags["table"]
    assert [tag for tag, _ in found.headings].count("h1") == 1
    assert found.headings[0][0] == "h1"
    assert all(text.strip() for _, text in found.headings)


@pytest.mark.parametrize("name", NAMES)
def test_is_repeatable(samples: ModuleType, name: str) -> None:
    make = samples.RESULTS[name]
    first = html.render(make())
    assert html.render(make()) == first
    assert not re.search(r"\b20[0-9]{2}-[01][0-9]-", first)  # no date
    assert "matplotlib v" not in first.lower()


def test_no_text_from_outside_becomes_markup(samples: ModuleType) -> None:
    found = page(samples, "hostile")
    assert found.tags["script"] == 0
    assert found.tags["b"] == 0
    assert '<script>alert("x")</script>' in found.text
    raw = set(found.source)
    assert not raw & {chr(c) for c in range(32) if c != 10}
    assert not raw & set("\u202e\u202c\u200b\x7f\ue000\u2066")
    assert "\\u202eright-to-left\\u202c" in found.text
    assert "\\x1b[31m" in found.text
    assert "\U0001f600" in found.text


def test_a_script_tag_in_the_name_of_the_deployment(samples: ModuleType) -> None:
    result = samples.proved()
    result["deployment"]["name"] = "</title></style><script>alert(1)</script>"
    source = html.render(result)
    assert "<script" not in source
    assert source.count("</title>") == 1 + source.count("</desc>")
    assert source.count("</style>") == 1


@pytest.mark.parametrize(
    ("name", "word", "sentence"),
    [
        ("proved", "Proved", "guarantees ε ≤ 0.6411 at δ = 1.0e-6, and no attack contradicted it"),
        ("refuted", "Refuted", "achieves ε ≥ 5.932 at δ = 1.0e-6, at 99% confidence"),
        ("open", "Open", "ε ≤ 14.81 is guaranteed at δ = 1.0e-6, and the attack shows ε ≥ 5.932"),
        ("violated", "The implementation violates its analysis", "look for a bug"),
        ("verified", "Proved", "The mechanism guarantees ε ≤ 0.6411 at δ = 1.0e-6."),
        ("unbounded", "Open", "no ε is guaranteed at δ = 1.0e-6, and no attack was run"),
    ],
)
def test_says_the_verdict_first(samples: ModuleType, name: str, word: str, sentence: str) -> None:
    found = page(samples, name)
    assert found.headings[1] == ("h2", word)
    assert sentence in found.text
    assert found.text.index(sentence) < found.text.index("What was claimed")


def test_order_of_the_sections(samples: ModuleType) -> None:
    headings = [text for _, text in page(samples, "violated").headings]
    assert headings == [
        "violated",
        "The implementation violates its analysis",
        "implementation-violates-analysis",
        "What was claimed",
        "What is guaranteed",
        "What an adversary achieved",
        "Worst-case canary",
        "In-distribution canary (conditional; not part of the verdict)",
        "Does the grid collide as computed?",
        "Does the release stage keep to Theorem J elsewhere?",
        "The buckets of one release",
        "How it was run",
        "The mechanism as configured",
        "Errors allowed",
        "Assumptions",
        "Warnings",
    ]


def test_numbers_that_contradict_each_other_are_called_so(samples: ModuleType) -> None:
    text = page(samples, "violated").text
    assert "measured ε ≥ 5.932, proved ε ≤ 0.6411: they contradict each other" in text
    assert "with probability at most 1.0e-6" in text
    assert "where the true ε can lie" not in text


def test_absent_parts_are_said_to_be_absent(samples: ModuleType) -> None:
    text = page(samples, "open").text
    assert "There is no in-distribution result in this run." in text
    assert "About 14,000,000 trials on each side" in text
    verified = page(samples, "verified").text
    assert "no attack was run" in verified
    assert "What an adversary achieved" not in verified


def test_results_read_back_from_json_give_the_same_page(samples: ModuleType) -> None:
    from dpaudit.report.json import jsonable

    for make in samples.RESULTS.values():
        assert html.render(jsonable(make())) == html.render(make())


def test_a_result_without_optional_parts(samples: ModuleType) -> None:
    result = samples.proved()
    del result["fre_e2t"]
    result["paper"] = None
    result["warnings"] = []
    for key in ("tables_note", "violation_error", "trial_noise", "seed"):
        del result["measured"][key]
    text = Page(html.render(result)).text
    assert "threshold / p" not in text
    assert "Warnings None." in text


def test_the_template_is_part_of_the_package() -> None:
    folder = Path(html.__file__).parent
    assert (folder / "templates" / "report.html.j2").is_file()
