"""Numbers as a person reads them: a few digits, and a bound never rounded past itself."""

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from math import isinf, isnan
from typing import Any

DIGITS = 4
_MOST = 17  # digits at which every float differs from its neighbours
MISSING = "none"


def number(value: Any, *, digits: int = DIGITS) -> str:
    """Return ``value`` to ``digits`` significant digits: ``4``, ``0.3394``, ``8.945e-11``.

    Whole numbers given as ``int`` keep all their digits, grouped by commas; infinities become
    ``∞`` and None ``none``.
    """
    return _text(value, digits, ROUND_HALF_EVEN)


def upper(value: Any, *, digits: int = DIGITS, unlike: float | None = None) -> str:
    """Return an upper bound, rounded up.

    Parameters
    ----------
    value : float or None
        The bound.
    digits : int
        Significant digits.
    unlike : float, optional
        A number it stands beside: more digits are shown until the two look different, unless they
        are equal.
    """
    return _apart(value, digits, ROUND_CEILING, unlike)


def lower(value: Any, *, digits: int = DIGITS, unlike: float | None = None) -> str:
    """Return a lower bound, rounded down; parameters as for :func:`upper`."""
    return _apart(value, digits, ROUND_FLOOR, unlike)


def percent(share: float, *, digits: int = 10) -> str:
    """Return a share of 1 as a percentage: ``99%``."""
    return f"{100 * share:.{digits}g}%"


def _apart(value: Any, digits: int, rounding: str, unlike: float | None) -> str:
    shown = _text(value, digits, rounding)
    if unlike is None or value is None or value == unlike:
        return shown
    while digits < _MOST and shown == number(unlike, digits=digits):
        digits += 1
        shown = _text(value, digits, rounding)
    return shown


def _text(value: Any, digits: int, rounding: str) -> str:
    if value is None:
        return MISSING
    if value == "inf":
        return "∞"
    if isinstance(value, int):
        return f"{value:,}"
    value = float(value)
    if isnan(value):
        raise ValueError("a result must not hold NaN")
    if isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    return _rounded(Decimal(repr(value)), digits, rounding)


def _rounded(exact: Decimal, digits: int, rounding: str) -> str:
    place = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    kept = exact.quantize(place, rounding=rounding)
    exponent = kept.adjusted()
    if -3 <= exponent < 6:
        plain = f"{kept:f}"
        plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
        return plain if abs(kept) < 10_000 else f"{Decimal(plain):,f}"
    mantissa = f"{kept.scaleb(-exponent):f}".rstrip("0").rstrip(".")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"
