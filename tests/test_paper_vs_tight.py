"""The page that compares papers with dpaudit: it is what the code gives, row by row."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from benchmarks import paper_formulas, paper_vs_tight
from benchmarks.paper_rows import sections
from benchmarks.paper_verdict import Row

PAGE = Path(__file__).resolve().parents[1] / paper_vs_tight.PAGE
ROWS = [row for rows in sections().values() for row in rows]
CELLS = [
    pytest.param(cell, id=f"{number}-{cell.func.__name__}")
    for number, row in enumerate(ROWS)
    for cell in (row.formula, row.tight)
    if cell is not None
]
# The generic replace-one formula has no accountant: it is plain arithmetic on the paper's claim.
NO_ACCOUNTANT = {"generic_delta"}


def cells(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_the_page_is_what_the_code_gives() -> None:
    written, text = PAGE.read_text(encoding="utf-8"), paper_vs_tight.page()
    assert len(cells(text)) > 60
    assert len(cells(written)) == len(cells(text))
    for old, new in zip(cells(written), cells(text), strict=True):
        assert [*old[:4], *old[6:]] == [*new[:4], *new[6:]]
        for before, after in zip(old[4:6], new[4:6], strict=True):
            assert is_number(before) == is_number(after), old
            if is_number(before):  # one unit in the fourth digit
                assert float(before) == pytest.approx(float(after), rel=1.001e-3), old
            else:
                assert before == after
    prose = [line for line in written.splitlines() if not line.startswith("|")]
    assert prose == [line for line in text.splitlines() if not line.startswith("|")]


def varied(name: str, value: float) -> float:
    if name == "cells":
        return 3 - value
    if isinstance(value, int):
        return 2 * value
    return 0.1 * value if name == "delta" else 0.5 * value


@pytest.mark.parametrize("cell", CELLS)
def test_every_parameter_of_a_row_changes_its_value(cell: "partial[float]") -> None:
    value = float(cell())
    names = [name for name, given in cell.keywords.items() if isinstance(given, int | float)]
    assert names
    for name in names:
        other = cell.func(**{**cell.keywords, name: varied(name, cell.keywords[name])})
        assert float(other) != value, name


class Called(Exception):  # noqa: N818
    """An accountant was asked."""


class Refusing:
    """Stands for an accountant; raises when it is used."""

    def __call__(self, *_: object, **__: object) -> None:
        raise Called

    def __getattr__(self, name: str) -> None:
        raise Called


@pytest.mark.parametrize("cell", CELLS)
def test_every_row_asks_an_accountant(
    cell: "partial[float]", monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, thing in vars(paper_formulas).copy().items():
        module = getattr(thing, "__module__", None) or getattr(thing, "__name__", "")
        if str(module).startswith(("accountants", "dpaudit")) and name != "FreE2TParameters":
            monkeypatch.setattr(paper_formulas, name, Refusing())
    if cell.func.__name__ in NO_ACCOUNTANT:
        assert float(cell()) > 0
    else:
        with pytest.raises(Called):
            cell()


REFERENCES = [
    ("delta of the count, p = 0.3, tau = 30, v = 4", 2.926e-10, 1.955e-12),
    ("delta of the count, p = 0.5, tau = 50, v = 4", 3.802e-13, 8.88e-15),
    ("delta of the count, p = 0.6, tau = 60, v = 3", 1.765e-11, 4.58e-13),
    ("delta of the count, p = 0.1, tau = 10, v = 5", 7.71e-5, 4.96e-7),
    ("noise multiplier m, claim 4", 1.78, 0.919),
    ("noise multiplier m, claim 8", 0.95, 0.598),
    ("noise multiplier m, claim 16", 0.43, 0.355),
    ("total epsilon at m = 4.72", 2.0038, None),
    ("total epsilon at m = 1.78", 3.9894, 1.558),
    ("total epsilon at m = 0.95", 7.9534, 4.428),
    ("total epsilon at m = 0.43", 15.9654, 12.510),
    ("total epsilon at m = 1.78, with the union over records", None, 0.689),
    ("total epsilon at m = 0.95, with the union over records", None, 1.518),
    ("total epsilon at m = 0.43, with the union over records", None, 4.654),
    ("noise sigma, claim 4", 2.136, 0.489),
    ("noise sigma, claim 8", 1.14, 0.339),
    ("noise sigma, claim 16", 0.516, 0.220),
    ("f(2/u)^k at Delta = 2 r", 2.1605e-9, None),
    ("f(2/u)^k at Delta = 2.4 r", 8.945e-11, None),
    ("delta_sens = kappa N f^k, p = 0.3, N = 1e6", 8.945e-11, 2.1e-7),
    ("delta_sens = kappa N f^k, p = 0.5, N = 1e6", 8.945e-11, 3.7e-7),
    ("delta_sens = kappa N f^k, p = 0.6, N = 1e6", 8.945e-11, 4.6e-7),
    ("delta* of support protection, p = 0.3", 2.5e7, None),
    ("delta* that is attained, p = 0.3", None, 2e-58),
    ("delta* that is attained, p = 0.5", None, 4.4e-3),
    ("delta* that is attained, p = 0.6", None, 0.495),
    ("delta at epsilon = 2, lambda = 2, one cell (p = 0.2, t = 9)", None, 0.0615),
    ("the same at lambda = 1.747", None, 4.2e-8),
    ("total epsilon by the concentrated bound, sigma = 2.136", 4.175, None),
    ("total epsilon by the concentrated bound, sigma = 1.14", 8.307, None),
    ("total epsilon by the concentrated bound, sigma = 0.516", 16.777, None),
    ("noise sigma by the concentrated bound, claim 4", 2.268, None),
    ("noise sigma by the concentrated bound, claim 8", 1.199, None),
    ("noise sigma by the concentrated bound, claim 16", 0.541, None),
    ("delta of the count, 2 records of a user, p = 0.3", 1.1e-9, 9.3e-12),
    ("delta of the count, 5 records of a user, p = 0.3", 3.6e-8, 1.5e-10),
    ("delta of the count, 10 records of a user, p = 0.3", 2.8e-6, 8.0e-9),
    ("the same by black-box group privacy, 2 records", 1.5e-9, None),
    ("the same by black-box group privacy, 5 records", 1.2e-7, None),
    ("the same by black-box group privacy, 10 records", 1.5e-4, None),
    ("replace-one delta at epsilon = 32 from (16, 1e-6)", 8.9, None),
    ("replace-one epsilon at 1e-6 from (16, 1e-6), p = 0.6", None, 16.92),
    ("epsilon of K = 10 votes, noise made for sensitivity 1 at (7, 1e-5)", 7.0, 30.5),
    ("votes and profile, 7 and 1, delta = 1e-5 in all", 8.0, 6.90),
    ("greatest empirical epsilon, 2 candidates, 1e4 trials, 99%", 7.5427, None),
]


@pytest.mark.parametrize(("quantity", "formula", "tight"), REFERENCES)
def test_the_page_holds_the_reference_values(
    quantity: str, formula: float | None, tight: float | None
) -> None:
    (row,) = [row for row in cells(PAGE.read_text(encoding="utf-8")) if row[2] == quantity]
    for text, value in zip(row[4:6], (formula, tight), strict=True):
        if value is not None:  # the references have two to four digits
            assert float(text) == pytest.approx(value, rel=4e-3 if 0.01 < value < 1e3 else 0.04)


def stated(stated: str = "", **given: float) -> Row:
    return Row(paper="", section="", quantity="", stated=stated, why="", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "formula", "tight", "verdict"),
    [
        (stated("1.78"), 1.784, None, "yes"),
        (stated("1.78"), 1.786, None, "no: the formula gives another value"),
        (stated("1.78"), 1.774, None, "no: the formula gives another value"),
        (stated("8.9e-11"), 8.94e-11, 1e-10, "no: too small"),
        (stated("1710"), 1710.0, 1710.0, "yes"),
        (stated("1.78"), 1.78, 0.9, "yes, loose"),
        (stated("4", claim=4.0), 3.99, 1.5, "yes, loose"),
        (stated("4", claim=4.0), 4.01, 1.5, "formula no, claim holds"),
        (stated("4", claim=4.0), 4.01, None, "no: the formula exceeds it"),
        (stated("4", claim=4.0), 3.99, 4.01, "no: too small"),
        (stated("4", claim=4.0), 3.99, 3.99, "yes"),
        (stated("at most 1", claim=1.0), 8.9, None, "vacuous"),
        (stated("at most 1", claim=1.0), 8.9, 2.0, "vacuous"),
        (stated("at most 1", claim=1.0), 8.9, 0.5, "formula no, claim holds"),
        (stated("never", impossible=1e-6), 1e-5, 1e-7, "no"),
        (stated("never", impossible=1e-6), 1e-5, 1e-5, "yes"),
        (stated(), 2.0, 1.0, "yes, loose"),
        (stated(), 1.0, 1.0, "yes"),
        (stated(), 1.0, 2.0, "no: too small"),
        (stated(), 1.0, None, "-"),
    ],
)
def test_verdicts(row: Row, formula: float, tight: float | None, verdict: str) -> None:
    assert row.verdict(formula, tight) == verdict


def test_check_exits_with_1_if_the_page_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paper_vs_tight, "page", lambda: "a page\n")
    file = tmp_path / "page.md"
    run: Callable[..., None] = paper_vs_tight.main
    for text in (None, "another page\n"):
        if text is not None:
            file.write_text(text, encoding="utf-8")
        with pytest.raises(SystemExit) as stopped:
            run(["--check", str(file)])
        assert stopped.value.code == 1
        assert "write it again" in capsys.readouterr().err
    run(["--write", str(file)])
    run(["--check", str(file)])
    assert file.read_text(encoding="utf-8") == "a page\n"
