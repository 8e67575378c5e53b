"""One process at a time on a store: an advisory lock that the system drops when its holder dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpaudit.errors import InputError, shown


class StoreError(InputError):
    """A store of trials cannot be used: in use, changed, damaged, or not a store."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder.

    Parameters
    ----------
    folder : Path
        An existing folder; a file ``lock`` in it is locked, and stays.

    Raises
    ------
    StoreError
        If another process holds the lock.
    """
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip()
            raise StoreError(
                f"{shown(folder, limit=200)}: in use by another audit (process {shown(holder)})"
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode("ascii"), 0)
        yield
    finally:
        os.close(handle)
