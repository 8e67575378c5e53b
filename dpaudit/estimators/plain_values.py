"""Writing results: numbers rounded to the safe side, and values that JSON has."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any


def plain(value: Any) -> Any:
    """Write an infinity as a string and a tuple as a list, as JSON has neither.

    Parameters
    ----------
    value : object
        Any.

    Returns
    -------
    object
        The same, but "inf" or "-inf" for an infinite float, and a list for a tuple.
    """
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def rounded_down(value: float) -> str:
    """Write a number with four significant digits, never above it.

    Parameters
    ----------
    value : float
        Any number.

    Returns
    -------
    str
        The digits.
    """
    return _rounded(value, ROUND_FLOOR)


def rounded_up(value: float) -> str:
    """Write a number with four significant digits, never below it.

    Parameters
    ----------
    value : float
        Any number.

    Returns
    -------
    str
        The digits.
    """
    return _rounded(value, ROUND_CEILING)


def rounded_error(confidence: float) -> str:
    """Write one minus a confidence, from its decimal digits, with four of them, never below it.

    Parameters
    ----------
    confidence : float
        Below 1.

    Returns
    -------
    str
        The digits: "0.05" for 0.95.
    """
    return (
        f"{float(Context(prec=4, rounding=ROUND_CEILING).plus(1 - Decimal(repr(confidence)))):.4g}"
    )


def _rounded(value: float, rounding: str) -> str:
    """Write a number with four significant digits, rounded in the given direction."""
    if not math.isfinite(value):
        return str(value)
    return f"{float(Context(prec=4, rounding=rounding).plus(Decimal(repr(float(value))))):.4g}"
