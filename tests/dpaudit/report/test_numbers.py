"""Numbers in reports: short, and never past the bound they state."""

from decimal import Decimal
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.report.numbers import MISSING, lower, number, percent, upper

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4.0, "4"),
        (1e-6, "1.0e-6"),
        (8.945235178993187e-11, "8.945e-11"),
        (0.33935091808607254, "0.3394"),
        (15.9654, "15.97"),
        (123456.7, "123,500"),
        (9999.96, "10,000"),
        (1e22, "1.0e22"),
        (5e-324, "5.0e-324"),
        (1_000_000, "1,000,000"),
        (0.0, "0"),
        (-0.5, "-0.5"),
        (inf, "∞"),
        ("inf", "∞"),
        (-inf, "-∞"),
        (None, MISSING),
    ],
)
def test_number(value: object, text: str) -> None:
    assert number(value) == text


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        number(nan)


@given(FINITE)
def test_bounds_are_rounded_outward(value: float) -> None:
    exact = Decimal(repr(value))
    assert Decimal(lower(value).replace(",", "")) <= exact <= Decimal(upper(value).replace(",", ""))


@given(FINITE)
def test_four_digits_are_close(value: float) -> None:
    shown = Decimal(number(value).replace(",", ""))
    assert abs(shown - Decimal(repr(value))) <= abs(shown) * Decimal("5.1e-4")


def test_a_bound_never_looks_equal_to_a_claim_that_it_misses() -> None:
    assert upper(4.00004, unlike=4.0) == "4.001"
    assert lower(4.00004, unlike=4.0) == "4.00004"
    assert upper(3.99999, unlike=4.0) == "3.99999"
    assert upper(4.0, unlike=4.0) == "4"
    assert upper(None, unlike=4.0) == MISSING


def test_percent() -> None:
    assert percent(0.99) == "99%"
    assert percent(0.9999999) == "99.99999%"
    assert percent(0.23186, digits=4) == "23.19%"
