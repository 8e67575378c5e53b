"""The report's folder: checked early, written whole, errors in one line."""

import json
import os
import stat
from pathlib import Path
from types import ModuleType

import pytest

from dpaudit import InputError
from dpaudit.report import files, prepared_folder, write


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_writes_three_files_and_nothing_else(tmp_path: Path, samples: ModuleType) -> None:
    out = tmp_path / "new" / "report"
    write(samples.refuted(), out)
    assert names(out) == sorted(files.NAMES)
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert result["verdict"] == "refuted"
    assert (out / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (out / "report.md").read_text(encoding="utf-8").startswith("# broken")


def test_replaces_an_earlier_report_and_leaves_other_files(
    tmp_path: Path, samples: ModuleType
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    write(samples.refuted(), tmp_path)
    write(samples.proved(), str(tmp_path))
    assert names(tmp_path) == sorted([*files.NAMES, "notes.txt"])
    assert json.loads((tmp_path / "result.json").read_text())["verdict"] == "proved"


def test_files_have_the_usual_permissions(tmp_path: Path, samples: ModuleType) -> None:
    before = os.umask(0o027)
    try:
        write(samples.proved(), tmp_path)
    finally:
        os.umask(before)
    for name in files.NAMES:
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640


def test_equal_results_give_equal_bytes(tmp_path: Path, samples: ModuleType) -> None:
    write(samples.refuted(), tmp_path / "a")
    write(samples.refuted(), tmp_path / "b")
    for name in files.NAMES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def refused(out: Path | str) -> str:
    with pytest.raises(InputError) as caught, prepared_folder(out):
        raise AssertionError("the folder was accepted")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("x")
    wanted = "is not a folder, or lies below a file: a folder for the report is needed"
    assert refused(taken) == f"{taken}: {wanted}"
    assert refused(taken / "below") == f"{taken / 'below'}: {wanted}"


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "report.md").mkdir()
    assert refused(tmp_path) == f"{tmp_path / 'report.md'}: is a folder: a file is needed"


def test_unusable_paths(tmp_path: Path) -> None:
    assert "cannot be written" in refused("a\0b")
    assert "cannot be written" in refused(tmp_path / ("x" * 300))
    assert "\\n" in refused(tmp_path / "a\nb" / ("x" * 300))


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*args: object, **kwargs: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "NamedTemporaryFile", deny)
    assert refused(tmp_path / "new") == f"{tmp_path / 'new'}: cannot be written: Permission denied"
    assert names(tmp_path) == []  # and what was made for it is gone


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, samples: ModuleType
) -> None:
    write(samples.proved(), tmp_path)
    before = (tmp_path / "result.json").read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"result\.json: cannot be written: No space left"):
        write(samples.refuted(), tmp_path)
    assert (tmp_path / "result.json").read_bytes() == before
    assert names(tmp_path) == sorted(files.NAMES)


def test_folders_made_in_vain_are_removed(tmp_path: Path) -> None:
    def fail() -> None:
        with prepared_folder(tmp_path / "a" / "b"):
            assert (tmp_path / "a" / "b").is_dir()
            raise RuntimeError("the audit failed")

    with pytest.raises(RuntimeError):
        fail()
    assert names(tmp_path) == []
    (tmp_path / "a").mkdir()
    with pytest.raises(RuntimeError):
        fail()
    assert names(tmp_path) == ["a"]
    with prepared_folder(tmp_path / "a" / "b"):
        pass
    assert names(tmp_path / "a") == ["b"]


def test_the_check_leaves_nothing_behind(tmp_path: Path) -> None:
    with prepared_folder(tmp_path) as folder:
        assert folder == tmp_path
        assert names(tmp_path) == []
