"""Releases as JSON and back, bit for bit: only for mechanisms that cannot repeat them."""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from typing import Any

import numpy as np

from dpaudit.errors import ParameterError


def encode(value: Any) -> Any:
    """Write a release in JSON's own types.

    Parameters
    ----------
    value : object
        Numbers, texts, bytes, None, lists, tuples, dicts and arrays, nested.

    Returns
    -------
    object
        What `json.dumps` takes.

    Raises
    ------
    ParameterError
        If the release holds anything else.
    """
    match value:
        case np.ndarray() if value.dtype != object:
            content = b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
            return {"$array": [value.dtype.str, list(value.shape), content]}
        case np.generic():
            return {"$scalar": encode(np.asarray(value))["$array"]}
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else {"$float": str(value)}
        case bytes():
            return {"$bytes": b64encode(value).decode("ascii")}
        case list():
            return [encode(item) for item in value]
        case tuple():
            return {"$tuple": [encode(item) for item in value]}
        case dict():
            return {"$dict": [[encode(key), encode(item)] for key, item in value.items()]}
    raise ParameterError(
        f"a release of type {type(value).__name__} cannot be stored, and the mechanism cannot "
        "repeat it: allowed are numbers, texts, bytes, None, arrays, and lists, tuples and dicts "
        "of them"
    )


def decode(value: Any) -> Any:
    """Undo `encode`.

    Parameters
    ----------
    value : object
        What `encode` returned, after a trip through JSON.

    Returns
    -------
    object
        The release.

    Raises
    ------
    ValueError
        If it is nothing that `encode` returns.
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [decode(item) for item in value]
        case {"$array": [str(kind), list(shape), str(content)]}:
            flat = np.frombuffer(b64decode(content, validate=True), dtype=np.dtype(kind))
            return flat.reshape(shape).copy()
        case {"$scalar": array}:
            return decode({"$array": array})[()]
        case {"$float": str(text)}:
            return float(text)
        case {"$bytes": str(text)}:
            return b64decode(text, validate=True)
        case {"$tuple": list(items)}:
            return tuple(decode(item) for item in items)
        case {"$dict": list(items)}:
            return {decode(key): decode(item) for key, item in items}
    raise ValueError("not a stored release")
