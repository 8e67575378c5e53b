"""A result as JSON: ASCII, infinities as the string "inf", never NaN."""

import json
from collections.abc import Mapping
from math import isinf, isnan
from typing import Any


def encode(result: Mapping[str, Any]) -> str:
    """Return ``result`` as one JSON object, indented, without a final line break.

    Everything outside ASCII is escaped, so that control and direction characters of an audited
    text reach no terminal.

    Raises
    ------
    ValueError
        If a number is NaN.
    TypeError
        If a value has no JSON form.
    """
    return json.dumps(jsonable(result), indent=2, allow_nan=False)


def jsonable(value: Any) -> Any:
    """Return ``value`` with tuples as lists, numpy scalars as numbers and infinities as text.

    Raises
    ------
    ValueError
        If a number is NaN.
    TypeError
        If a value has no JSON form.
    """
    match value:
        case None | bool() | str():
            return value
        case Mapping():
            return {_key(key): jsonable(item) for key, item in value.items()}
        case list() | tuple():
            return [jsonable(item) for item in value]
        case int():
            return int(value)
        case float():
            return _finite(float(value))
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return jsonable(value.tolist())
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} is no text")
    return key


def _finite(value: float) -> float | str:
    if isnan(value):
        raise ValueError("a result must not hold NaN")
    if isinf(value):
        return "inf" if value > 0 else "-inf"
    return value
