"""The folder in which dpaudit keeps what it can make or fetch again."""

import os
import sys
from pathlib import Path

from dpaudit.errors import InputError


def cache_directory() -> Path:
    """Return the cache folder; it need not exist yet.

    The environment variable ``DPAUDIT_CACHE`` names it; otherwise it is ``dpaudit`` in the
    platform's own cache folder (``$XDG_CACHE_HOME`` or ``~/.cache`` on Linux).

    Raises
    ------
    InputError
        If no home folder is known and the variable is not set.
    """
    own = os.environ.get("DPAUDIT_CACHE")
    if own:
        return Path(own).expanduser()
    try:
        return _platform_cache() / "dpaudit"
    except RuntimeError:
        raise InputError("no home folder is known: set DPAUDIT_CACHE to a folder") from None


def _platform_cache() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    given = os.environ.get(variable)
    # The XDG specification says that a relative path is to be ignored.
    return Path(given) if given and Path(given).is_absolute() else Path.home() / ".cache"
