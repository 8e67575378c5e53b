"""Terminal output: complete, within the width, no colour where none is wanted, no escapes."""

import io
import re
from pathlib import Path
from types import ModuleType

import pytest

from dpaudit.report.text import show, show_assets


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(result: dict[str, object], *, file: io.StringIO | None = None) -> str:
    out = file or io.StringIO()
    show(result, out)
    return out.getvalue()


def test_verification(samples: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    text = shown(samples.verified())
    assert "Claim: (4, 1.0e-6)-differentially private" in text
    for key in samples.verified()["paper"]["terms"]:
        assert len([line for line in text.splitlines() if line.rstrip().endswith(key)]) == 1
    assert re.search(r"^paper \(not a bound here\) +3\.99 +9\.158e-7", text, re.MULTILINE)
    assert re.search(r"^tight \(proved\) +0\.6411 +2\.068e-16", text, re.MULTILINE)
    assert "A noise_std of 0.4366 would suffice for the claim" in text
    assert text.index("\nProved\n") < text.index("\nWarnings\n") < text.index("\nAssumptions\n")
    assert "missing-union: the paper's collision term" in text
    assert "\x1b" not in text


def test_nothing_finite(samples: ModuleType) -> None:
    text = shown(samples.unbounded())
    assert re.search(r"tight \(proved\) +∞ +1 *$", text, re.MULTILINE)
    assert re.search(r"paper \(not a bound here\) +∞ +none *$", text, re.MULTILINE)
    assert "No amount of noise meets the claim" in text


def test_audit(samples: ModuleType) -> None:
    out = io.StringIO()
    show(samples.refuted(), out, written=Path("there/report.html"))
    text = out.getvalue()
    assert "measured (at least)" in text
    assert "8,333 clusters of 120 records" in text
    assert "epsilon_fre" not in text  # the report has the terms
    assert text.endswith("Report: there/report.html\n")


def test_findings_stand_before_the_verdict(samples: ModuleType) -> None:
    text = shown(samples.violated())
    assert text.index("FINDING implementation-violates-analysis") < text.index(
        "The implementation violates its analysis"
    )


def test_calibration(samples: ModuleType) -> None:
    text = shown(samples.calibrated())
    assert "Target: ε = 8, δ = 1.0e-6" in text
    assert re.search(r"paper \(Algorithm 3\) +1\.14", text)
    assert re.search(r" 0\.1 +10 +none suffices +none suffices", text)
    assert "noise_std = 0.339351 meets the target" in text  # rounded up
    text = shown(samples.infeasible())
    assert re.search(r"tight \(proved\) +none suffices", text)
    assert "No noise meets the target" in text


def test_hostile_text_reaches_no_terminal(samples: ModuleType) -> None:
    text = shown(samples.hostile())
    assert not set(text) & ({chr(c) for c in range(32) if c != 10} | set("\u202e\u200b"))
    assert "[link](http://a.b)" in text  # and is not taken for markup either


@pytest.mark.parametrize("width", [30, 50, 80])
def test_narrow_terminals(samples: ModuleType, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for make in (samples.refuted, samples.calibrated, samples.verified):
        assert max(len(line) for line in shown(make()).splitlines()) <= width


def test_colour_only_where_wanted(samples: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    green = "\x1b[1;32m"
    assert green in shown(samples.verified(), file=Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert green not in shown(samples.verified(), file=Terminal())


def test_assets() -> None:
    rows = [
        {"name": "a", "version": "1", "what": "w", "licence": "MIT", "download_bytes": 2_500_000,
         "path": None},
        {"name": "b", "version": "2", "what": "w", "licence": "MIT", "download_bytes": 1_000_000,
         "path": "/cache/b"},
    ]  # fmt: skip
    out = io.StringIO()
    show_assets(rows, out)
    assert re.search(r"^a +1 +2\.5 +no +w; licence MIT", out.getvalue(), re.MULTILINE)
    assert re.search(r"^b +2 +1\.0 +yes ", out.getvalue(), re.MULTILINE)
