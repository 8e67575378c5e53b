"""Embeddings kept on disk by content hash."""

import contextlib
import os
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpaudit.cache_dir import cache_directory

Vectors = NDArray[np.float32]


def load_vectors(key: str, shape: tuple[int, int]) -> Vectors | None:
    """Return the stored vectors, or None if there are none that are whole and fit.

    Parameters
    ----------
    key : str
        Hexadecimal hash of everything the vectors depend on.
    shape : tuple of int
        The shape they must have.
    """
    try:
        vectors = np.load(_path(key), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    sound = (
        isinstance(vectors, np.ndarray)
        and vectors.shape == shape
        and vectors.dtype == np.float32
        and np.isfinite(vectors).all()
    )
    return vectors if sound else None


def store_vectors(key: str, vectors: Vectors) -> None:
    """Store vectors; a reader never sees half a file. A full or read-only disk is no error."""
    path = _path(key)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                np.save(file, vectors, allow_pickle=False)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def _path(key: str) -> Path:
    return cache_directory() / "embeddings" / f"{key}.npy"
