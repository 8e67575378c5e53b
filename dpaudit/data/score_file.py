"""Read attack scores from a file: .csv, .parquet or .npy.

A row is one trial: its score (higher means "with the canary") and whether the canary was in (1) or
out (0). Nothing is guessed and nothing is dropped: a missing, NaN or other value is an error that
says where it is, and how many there are.
"""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.data.reading import position, read_text, reason
from dpaudit.errors import DataError, shown

SCORE, MEMBER = "score", "member"

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreFile:
    """The scores of both sides, each in the file's order.

    Attributes
    ----------
    source : str
        The file, as messages name it.
    in_scores, out_scores : ndarray of float64
        Scores of the trials with and without the canary; infinities are allowed.
    """

    source: str
    in_scores: Floats
    out_scores: Floats


def read_scores(
    path: Path, *, score_column: str | None = None, member_column: str | None = None
) -> ScoreFile:
    """Return the scores in a file.

    Parameters
    ----------
    path : Path
        A .csv or .parquet file with columns ``score`` and ``member``, or a .npy file with an array
        of shape (n, 2) that holds them in that order.
    score_column, member_column : str, optional
        Other names of the columns; not for .npy files.

    Raises
    ------
    DataError
        With one line on what is wrong, where, and what is needed.
    """
    source = shown(path, limit=200)
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".parquet", ".npy"):
        raise DataError(f"{source}: a .csv, .parquet or .npy file is needed")
    names = (score_column or SCORE, member_column or MEMBER)
    if suffix == ".npy":
        if score_column is not None or member_column is not None:
            raise DataError(f"{source}: a .npy file has no columns to name")
        return _checked(source, *_npy(path, source))
    read = _csv if suffix == ".csv" else _parquet
    return _checked(source, *read(path, source, names))


def _checked(source: str, scores: Floats, members: Floats) -> ScoreFile:
    wrong = np.flatnonzero((members != 0) & (members != 1))
    if len(wrong):
        raise DataError(
            f"{source}: {len(wrong)} of {len(members)} members are neither 0 nor 1, "
            f"first {members[wrong[0]]:g} in row {wrong[0] + 1}: 1 (in) or 0 (out) is needed"
        )
    missing = np.flatnonzero(np.isnan(scores))
    if len(missing):
        raise DataError(
            f"{source}: {len(missing)} of {len(scores)} scores are NaN, first in row "
            f"{missing[0] + 1}: numbers and infinities are allowed"
        )
    inside = members == 1
    return ScoreFile(source=source, in_scores=scores[inside], out_scores=scores[~inside])


def _csv(path: Path, source: str, names: tuple[str, str]) -> tuple[Floats, Floats]:
    rows = csv.reader(io.StringIO(read_text(path, source), newline=""), strict=True)
    scores: list[float] = []
    members: list[float] = []
    try:
        header = next(rows, None)
        if header is None:
            raise DataError(f"{source}: there is nothing in it: a header line is needed")
        at, is_in = (position(name, header, source) for name in names)
        for row in rows:
            if not row:
                continue  # an empty line, which is no row
            if len(row) != len(header):
                raise DataError(
                    f"{source}: line {rows.line_num} has {len(row)} fields: "
                    f"{len(header)}, as in the header, are needed"
                )
            scores.append(_number(row[at], names[0], source, rows.line_num))
            members.append(_number(row[is_in], names[1], source, rows.line_num))
    except csv.Error as error:
        raise DataError(f"{source}: line {rows.line_num} is not CSV: {error}") from None
    return np.array(scores, float), np.array(members, float)


def _number(text: str, name: str, source: str, line: int) -> float:
    try:
        if "_" not in text:  # which Python takes for a separator
            return float(text)
    except ValueError:
        pass
    raise DataError(
        f"{source}: line {line}: {shown(name)} = '{shown(text)}': a number is needed"
    ) from None


def _npy(path: Path, source: str) -> tuple[Floats, Floats]:
    try:
        with path.open("rb") as file:  # .npy only: np.load would open archives and pickles, too
            array = np.lib.format.read_array(file, allow_pickle=False)
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise DataError(f"{source}: cannot be read as .npy: {reason(error)}") from None
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "biuf":
        raise DataError(
            f"{source}: an array of {array.dtype} of shape {array.shape}: numbers of shape (n, 2), "
            "score and member, are needed"
        )
    return array[:, 0].astype(np.float64), array[:, 1].astype(np.float64)


def _parquet(path: Path, source: str, names: tuple[str, str]) -> tuple[Floats, Floats]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(
            f"{source}: pyarrow is needed to read it (pip install 'dpaudit[demo]')"
        ) from None
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            for name in names:
                kind = schema.types[position(name, schema.names, source)]
                if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and not (
                    name == names[1] and pa.types.is_boolean(kind)
                ):
                    raise DataError(f"{source}: column '{shown(name)}' is {kind}: not numbers")
            table = file.read(columns=list(dict.fromkeys(names)))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(f"{source}: cannot be read as parquet: {reason(error)}") from None
    scores, members = (_column(table, name, source) for name in names)
    return scores, members


def _column(table: Any, name: str, source: str) -> Floats:
    column = table.column(name)
    if column.null_count:
        raise DataError(
            f"{source}: column '{shown(name)}' holds {column.null_count} nulls: "
            "a number in every row is needed"
        )
    return np.asarray(column.to_numpy(), dtype=np.float64)
