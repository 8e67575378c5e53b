"""Files that are either whole or not there, also after a crash of the machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

_SUFFIX = ".partial"


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under another name, force it to disk, and rename it.

    Parameters
    ----------
    path : Path
        Where the file will be; its folder exists.
    write : callable
        Is given the open binary file.

    Raises
    ------
    OSError
        If the file cannot be written; nothing is left at `path` then.
    """
    partial = path.with_name(f".{path.name}{_SUFFIX}")
    with partial.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Force a folder's entries to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_partial(folder: Path) -> None:
    """Remove what interrupted writes left in a folder."""
    for path in folder.glob(f".*{_SUFFIX}"):
        path.unlink(missing_ok=True)
