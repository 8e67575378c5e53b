"""Read texts from a file: .txt (one a line), .csv, .jsonl or .parquet.

Files are UTF-8, with or without a byte order mark. Nothing is guessed: a wrong encoding, a row of
the wrong length or a value that is not text is an error that names the file and the place.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from dpaudit.data.bundled import BUNDLED_TEXTS, bundled_texts
from dpaudit.data.corpus import Corpus, corpus_of
from dpaudit.data.reading import position, read_text, reason
from dpaudit.errors import DataError, shown

DEFAULT_COLUMN = "text"

Places = Iterable[tuple[str, str]]


def load_corpus(texts: str, *, column: str | None = None, directory: Path | None = None) -> Corpus:
    """Return the texts that a deployment's ``[data]`` section names.

    Parameters
    ----------
    texts : str
        A bundled name (:data:`~dpaudit.data.bundled.BUNDLED_TEXTS`), or a path ending in .txt,
        .csv, .jsonl or .parquet.
    column : str, optional
        Column (or JSON key) that holds the text; ``text`` unless given. Not for .txt files and
        bundled texts.
    directory : Path, optional
        Folder that relative paths count from; the current one unless given.

    Raises
    ------
    DataError
        With one line on what is wrong, where, and what is needed.
    """
    if texts in BUNDLED_TEXTS:
        if column is not None:
            raise DataError(f"column = '{shown(column)}': bundled texts have no columns")
        return bundled_texts(texts)
    suffix = Path(texts).suffix.lower()
    if suffix not in _READERS and suffix != ".txt":
        names = ", ".join(f"'{name}'" for name in BUNDLED_TEXTS)
        raise DataError(
            f"texts = '{shown(texts)}': a .txt, .csv, .jsonl or .parquet file, "
            f"or one of {names}, is needed"
        )
    path = (directory or Path()) / Path(texts).expanduser()
    source = shown(path, limit=200)
    if suffix == ".txt":
        if column is not None:
            raise DataError(f"{source}: column = '{shown(column)}': a .txt file has no columns")
        return corpus_of(_lines(read_text(path, source)), source=source)
    return corpus_of(_READERS[suffix](path, source, column or DEFAULT_COLUMN), source=source)


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line with its number; only line feeds and carriage returns end a line."""
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        yield f"line {number}", line.rstrip("\n")


def _csv_rows(path: Path, source: str, column: str) -> Iterator[tuple[str, str]]:
    rows = csv.reader(io.StringIO(read_text(path, source), newline=""), strict=True)
    try:
        header = next(rows, None)
        if header is None:
            raise DataError(f"{source}: there is no text in it: a header line is needed")
        at = position(column, header, source)
        for row in rows:
            if not row:
                continue  # an empty line, which is no row
            if len(row) != len(header):
                raise DataError(
                    f"{source}: line {rows.line_num} has {len(row)} fields: "
                    f"{len(header)}, as in the header, are needed"
                )
            yield f"line {rows.line_num}", row[at]
    except csv.Error as error:
        raise DataError(f"{source}: line {rows.line_num} is not CSV: {error}") from None


def _jsonl_rows(path: Path, source: str, column: str) -> Iterator[tuple[str, str]]:
    wanted = f"a JSON string, or an object with '{shown(column)}', is needed"
    for place, line in _lines(read_text(path, source)):
        if not line.strip():
            yield place, ""
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else "not readable"
            raise DataError(f"{source}: {place} is not JSON ({why}): {wanted}") from None
        if isinstance(value, dict):
            if column not in value:
                keys = ", ".join(shown(key) for key in value) or "none"
                raise DataError(f"{source}: {place} has no '{shown(column)}' (keys: {keys})")
            value = value[column]
        if not isinstance(value, str):
            raise DataError(f"{source}: {place} holds no text but {_kind(value)}: {wanted}")
        yield place, value


def _parquet_rows(path: Path, source: str, column: str) -> Iterator[tuple[str, str]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(
            f"{source}: pyarrow is needed to read it (pip install 'dpaudit[demo]')"
        ) from None
    number = 0
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            kind = schema.types[position(column, schema.names, source)]
            if pa.types.is_dictionary(kind):
                kind = kind.value_type
            if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
                raise DataError(f"{source}: column '{shown(column)}' is {kind}: text is needed")
            for batch in file.iter_batches(columns=[column]):
                for value in batch.column(0).to_pylist():
                    number += 1
                    if value is None:
                        raise DataError(f"{source}: row {number} holds no text but null")
                    yield f"row {number}", value
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(f"{source}: cannot be read as parquet: {reason(error)}") from None


def _kind(value: object) -> str:
    names = {"NoneType": "null", "bool": "true or false", "list": "a list", "dict": "an object"}
    return names.get(type(value).__name__, "a number")


_READERS: dict[str, Callable[[Path, str, str], Places]] = {
    ".csv": _csv_rows,
    ".jsonl": _jsonl_rows,
    ".parquet": _parquet_rows,
}
