"""Features of releases of any kind: what a black-box attack looks at.

A release may be a number, a vector, a text, bytes, nothing, or tuples, lists and dicts of these.
Each feature is one column with a value a release: the whole release, its parts by their place,
lengths, which parts are missing or repeated, sums and extremes, and what floating-point noise gives
away (how many low bits are zero, the fraction). Columns are categories (as texts) or numbers.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]

MOST_PARTS = 64
"""Parts of a release looked at one by one."""
_LONGEST = 200
_LOW = (" zero bits", " fraction")
_MISSING = "\x00missing"


def release_features(releases: Any, *, low_bits: bool = True) -> dict[str, Column]:
    """Return the columns of n releases.

    Parameters
    ----------
    releases : sequence or array
        n releases; an array's first axis is the releases.
    low_bits : bool
        Whether to look at the low bits and fractions of floating-point numbers.

    Returns
    -------
    dict of str to ndarray, shape (n,)
        Numbers as float64 (NaN where there is none), categories as texts. Which columns there are
        depends on the releases; one that is absent elsewhere says nothing there.
    """
    columns = _features(releases)
    if low_bits:
        return columns
    return {name: c for name, c in columns.items() if not name.endswith(_LOW)}


def _features(releases: Any) -> dict[str, Column]:
    values = releases.detach().cpu().numpy() if hasattr(releases, "detach") else releases
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return _array_features(values)
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if all(isinstance(v, bool | int | float | np.number) for v in values):
        return _array_features(np.array([float(v) for v in values]))
    flat = [dict(_parts("", release)) for release in values]
    columns: dict[str, Column] = {"whole": np.array([_text(v) for v in values], dtype=object)}
    names = list(dict.fromkeys(name for parts in flat for name in parts))[:MOST_PARTS]
    for name in names:
        columns.update(_part_features(name, [parts.get(name, _MISSING) for parts in flat]))
    columns["parts"] = np.array([len(parts) for parts in flat], float)
    columns["distinct parts"] = np.array(
        [len({_text(p) for p in parts.values()}) for parts in flat], float
    )
    return columns


def _array_features(values: NDArray[Any]) -> dict[str, Column]:
    """Return the features of an array of numbers."""
    width = int(np.prod(values.shape[1:], dtype=int))
    table = values.reshape(len(values), width).astype(np.float64)
    columns: dict[str, Column] = {}
    with np.errstate(all="ignore"):
        if table.shape[1] > 1:
            columns["sum"] = table.sum(axis=1)
            columns["greatest"] = table.max(axis=1)
            columns["least"] = table.min(axis=1)
            columns["square"] = np.square(table).sum(axis=1)
            columns["place of the greatest"] = np.argmax(table, axis=1).astype(float)
            columns["repeats"] = (np.diff(np.sort(table, axis=1), axis=1) == 0).sum(axis=1) * 1.0
        for place in range(min(table.shape[1], MOST_PARTS)):
            column = table[:, place]
            columns[f"[{place}]"] = column
            if values.dtype.kind == "f":
                columns[f"[{place}] zero bits"] = _zero_bits(column)
                columns[f"[{place}] fraction"] = np.where(
                    np.isfinite(column), column - np.floor(column), np.nan
                )
    return columns


def _zero_bits(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many low bits of the significand are zero, 0 to 52."""
    bits = column.view(np.uint64) & np.uint64((1 << 52) - 1)
    lowest = bits & (~bits + np.uint64(1))
    return np.where(bits == 0, 52.0, np.log2(np.maximum(lowest, 1).astype(np.float64)))


def _parts(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return a release's parts with their places."""
    if isinstance(value, Mapping):
        found = [(f"{name}.{_text(key)}", item) for key, item in value.items()]
    elif isinstance(value, list | tuple | np.ndarray):
        found = [(f"{name}[{place}]", item) for place, item in enumerate(value)]
    else:
        return [(name, value)]
    parts = [(f"{name} length", float(len(value)))]
    for inner, item in found[:MOST_PARTS]:
        parts += _parts(inner, item)
    return parts


def _part_features(name: str, values: list[Any]) -> dict[str, Column]:
    """Return the features of one part: its number, or its text and the text's length."""
    if all(v is _MISSING or isinstance(v, bool | int | float | np.number) for v in values):
        numbers = np.array([np.nan if v is _MISSING else float(v) for v in values])
        return {
            f"{name}": numbers,
            f"{name} zero bits": _zero_bits(numbers),
        }
    columns: dict[str, Column] = {f"{name}": np.array([_text(v) for v in values], dtype=object)}
    if any(isinstance(v, str | bytes) for v in values):
        lengths = [float(len(v)) if isinstance(v, str | bytes) else np.nan for v in values]
        columns[f"{name} length"] = np.array(lengths)
        words = [float(len(v.split())) if isinstance(v, str | bytes) else np.nan for v in values]
        columns[f"{name} words"] = np.array(words)
    return columns


def _text(value: Any) -> str:
    """Write a value as a category."""
    return repr(value)[:_LONGEST] if not isinstance(value, str) else "'" + value[:_LONGEST]
