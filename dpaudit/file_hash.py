"""Hash a file without reading it into memory."""

from hashlib import sha256
from pathlib import Path

from dpaudit.errors import InputError, shown

_BLOCK = 1 << 20


def file_sha256(path: Path, error: type[InputError] = InputError) -> str:
    """Return the SHA-256 of a file, read in blocks.

    Raises
    ------
    InputError
        (or the given kind of it) if the file cannot be read.
    """
    digest = sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as problem:
        raise error(f"{shown(path, limit=200)}: cannot be read: {problem.strerror}") from None
    return digest.hexdigest()
