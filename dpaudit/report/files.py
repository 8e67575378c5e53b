"""Write the three files of a report into a folder, each whole or not at all."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from dpaudit.errors import InputError, shown

NAMES = ("result.json", "report.html", "report.md")


@contextmanager
def prepared_folder(out: Path | str) -> Iterator[Path]:
    """Make the folder of a report and check that it can be written, before a long computation.

    If what runs inside the ``with`` block fails, folders that were made here and are still empty
    are removed again.

    Raises
    ------
    InputError
        If ``out`` is no folder, or cannot be made or written.
    """
    folder = Path(out)
    made = _make(folder)
    try:
        _check_writable(folder)
        yield folder
    except BaseException:
        for path in made:
            with suppress(OSError):  # not empty: something of the report is in it
                path.rmdir()
        raise


def write(result: Mapping[str, Any], out: Path | str) -> None:
    """Write ``result.json``, ``report.html`` and ``report.md`` of an audit.

    Parameters
    ----------
    result : mapping
        What :func:`dpaudit.audit` returned; that of :func:`dpaudit.verify` gives a report
        without a measurement.
    out : Path or str
        The folder, made if need be; files of these names in it are replaced.

    Raises
    ------
    InputError
        If the folder cannot be made or written.
    """
    from dpaudit.report.html import render as html
    from dpaudit.report.json import encode
    from dpaudit.report.markdown import render as markdown

    # Everything is rendered before anything is replaced.
    texts = (encode(result) + "\n", html(result), markdown(result))
    folder = Path(out)
    _make(folder)
    _check_writable(folder)
    for name, text in zip(NAMES, texts, strict=True):
        write_whole(folder / name, text)


def _make(folder: Path) -> list[Path]:
    """Make ``folder`` with its parents; return what was made, innermost first."""
    try:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise _refused(folder, error) from None
    return missing


def _check_writable(folder: Path) -> None:
    for name in NAMES:
        if (folder / name).is_dir():
            raise InputError(f"{shown(folder / name, limit=200)}: is a folder: a file is needed")
    try:
        with NamedTemporaryFile(dir=folder, prefix=".dpaudit-"):
            pass
    except OSError as error:
        raise _refused(folder, error) from None


def write_whole(target: Path, text: str) -> None:
    """Put ``text`` in the place of ``target`` in one step, with the usual permissions.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    scratch = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        try:
            with scratch.open("w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(target)
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as error:
        raise _refused(target, error) from None


def _refused(path: Path, error: OSError | ValueError) -> InputError:
    if isinstance(error, FileExistsError | NotADirectoryError):
        reason = "is not a folder, or lies below a file: a folder for the report is needed"
    else:
        reason = f"cannot be written: {shown(getattr(error, 'strerror', None) or error, limit=200)}"
    return InputError(f"{shown(path, limit=200)}: {reason}")
