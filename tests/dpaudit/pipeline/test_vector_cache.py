"""Stored embeddings come back whole or not at all."""

from pathlib import Path

import numpy as np
import pytest

from dpaudit.pipeline.vector_cache import load_vectors, store_vectors

KEY = "0" * 64


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPAUDIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "embeddings"


def test_round_trip(folder: Path) -> None:
    vectors = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    assert load_vectors(KEY, (5, 3)) is None
    store_vectors(KEY, vectors)
    loaded = load_vectors(KEY, (5, 3))
    assert loaded is not None
    np.testing.assert_array_equal(loaded, vectors)
    assert [path.name for path in folder.iterdir()] == [f"{KEY}.npy"]


def test_what_does_not_fit_is_not_used() -> None:
    store_vectors(KEY, np.zeros((5, 3), dtype=np.float32))
    assert load_vectors(KEY, (5, 4)) is None
    store_vectors(KEY, np.full((5, 3), np.nan, dtype=np.float32))
    assert load_vectors(KEY, (5, 3)) is None


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "pickle", "double"])
def test_damaged_files_are_not_used(damage: str, folder: Path) -> None:
    store_vectors(KEY, np.zeros((5, 3), dtype=np.float32))
    path = folder / f"{KEY}.npy"
    match damage:
        case "cut":
            path.write_bytes(path.read_bytes()[:-4])
        case "empty":
            path.write_bytes(b"")
        case "text":
            path.write_text("not an array")
        case "pickle":
            np.save(path, np.array([{}], dtype=object), allow_pickle=True)
        case "double":
            np.save(path, np.zeros((5, 3)))
    assert load_vectors(KEY, (5, 3)) is None
    store_vectors(KEY, np.ones((5, 3), dtype=np.float32))
    assert load_vectors(KEY, (5, 3)) is not None


def test_a_disk_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DPAUDIT_CACHE", str(tmp_path / "file"))
    store_vectors(KEY, np.zeros((1, 1), dtype=np.float32))
    assert load_vectors(KEY, (1, 1)) is None


def test_a_failed_write_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", fail)
    store_vectors(KEY, np.zeros((1, 1), dtype=np.float32))
    assert list(folder.iterdir()) == []
