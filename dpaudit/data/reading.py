"""What the readers of texts and of scores share."""

from pathlib import Path

from dpaudit.errors import DataError, shown

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_text(path: Path, source: str) -> str:
    """Return the file's text, or say at which byte it stops being UTF-8."""
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DataError(f"{source}: cannot be read: {reason(error)}") from None
    mark = len(_BOM) if raw.startswith(_BOM) else 0
    try:
        return raw[mark:].decode()
    except UnicodeDecodeError as error:
        guess = "; it looks like UTF-16" if raw.startswith(_UTF16) else ""
        at = error.start + mark
        raise DataError(f"{source}: not UTF-8 text (byte {at}){guess}: UTF-8 is needed") from None


def position(column: str, names: list[str], source: str) -> int:
    """Return where ``column`` stands among ``names``; it has to stand there exactly once."""
    found = names.count(column)
    if found == 1:
        return names.index(column)
    listed = shown(", ".join(names), limit=300)
    many = "no" if found == 0 else f"{found} times the"
    raise DataError(f"{source}: {many} column '{shown(column)}' (columns: {listed})")


def reason(error: Exception) -> str:
    """Return what went wrong, on one line."""
    return shown(getattr(error, "strerror", None) or error, limit=200)
