"""Which folders are accepted as models; nothing here loads one."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dpaudit.errors import ModelError
from dpaudit.pipeline.model_files import folder_sha256, model_folder

TRANSFORMER = {
    "idx": 0,
    "name": "0",
    "path": "",
    "type": "sentence_transformers.models.Transformer",
}
DENSE = {"idx": 1, "name": "1", "path": "1_Dense", "type": "sentence_transformers.models.Dense"}


def make(folder: Path, *modules: dict[str, Any], files: tuple[str, ...]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if modules:
        (folder / "modules.json").write_text(json.dumps(modules))
    for file in files:
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text("weights")
    return folder


def test_safetensors_are_accepted(tmp_path: Path) -> None:
    files = ("model.safetensors", "pytorch_model.bin", "1_Dense/model.safetensors")
    folder = make(tmp_path / "m", TRANSFORMER, DENSE, files=files)
    assert model_folder(str(folder)) == folder
    assert model_folder("m", directory=tmp_path) == folder
    plain = make(tmp_path / "plain", files=("model.safetensors",))
    assert model_folder(str(plain)) == plain


@pytest.mark.parametrize(
    "files",
    [
        ("pytorch_model.bin",),
        ("model.safetensors", "1_Dense/pytorch_model.bin"),
        ("model.pt",),
    ],
)
def test_pickled_weights_are_refused(files: tuple[str, ...], tmp_path: Path) -> None:
    folder = make(tmp_path / "m", TRANSFORMER, DENSE, files=files)
    with pytest.raises(ModelError, match="pickled weights only"):
        model_folder(str(folder))


def test_no_weights(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no safetensors weights"):
        model_folder(str(make(tmp_path / "m", files=("config.json",))))


def test_code_of_its_own_is_refused(tmp_path: Path) -> None:
    module = TRANSFORMER | {"type": "custom_st.Transformer"}
    folder = make(tmp_path / "m", module, files=("model.safetensors",))
    with pytest.raises(ModelError, match=r"needs code of its own \(custom_st.Transformer\)"):
        model_folder(str(folder))


def test_paths_outside_are_refused(tmp_path: Path) -> None:
    module = TRANSFORMER | {"path": "../other"}
    make(tmp_path / "other", files=("model.safetensors",))
    folder = make(tmp_path / "m", module, files=("model.safetensors",))
    with pytest.raises(ModelError, match="points outside the folder"):
        model_folder(str(folder))


@pytest.mark.parametrize("content", ["{", "{}", "[1]", "\xff\xfe"])
def test_malformed_modules(content: str, tmp_path: Path) -> None:
    folder = make(tmp_path / "m", files=("model.safetensors",))
    (folder / "modules.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(ModelError, match="not a list of modules"):
        model_folder(str(folder))


@pytest.mark.parametrize("name", ["", "./none", "../none", "/none/at/all", "a/b/c", "~/none-here"])
def test_missing_folders(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such folder"):
        model_folder(name, directory=tmp_path / "empty")


def test_hub_identifiers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    folder = make(tmp_path / "snapshot", TRANSFORMER, files=("model.safetensors",))
    asked: list[tuple[str, list[str]]] = []

    def fake(identifier: str, *, allow_patterns: list[str]) -> str:
        asked.append((identifier, allow_patterns))
        return str(folder)

    monkeypatch.setattr(hub, "snapshot_download", fake)
    assert model_folder("owner/name") == folder
    assert model_folder("all-MiniLM-L6-v2") == folder
    assert [name for name, _ in asked] == ["owner/name", "sentence-transformers/all-MiniLM-L6-v2"]
    assert not any(pattern in (".bin", "*.bin", "*.py", "*") for pattern in asked[0][1])


def test_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")

    def fail(*_: object, **__: object) -> None:
        raise ConnectionError("no route to host\nand a long explanation\nover many lines")

    monkeypatch.setattr(hub, "snapshot_download", fail)
    with pytest.raises(ModelError, match="cannot be downloaded: no route to host") as caught:
        model_folder("owner/name")
    assert "\n" not in str(caught.value)


def test_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test run is offline; a model that was never fetched is one clear line."""
    pytest.importorskip("huggingface_hub")
    with pytest.raises(ModelError, match="neither a folder nor in the local cache") as caught:
        model_folder("dpaudit-tests/no-such-model")
    assert "\n" not in str(caught.value)


def test_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ModelError, match=r"pip install 'dpaudit\[models\]'"):
        model_folder("owner/name")


def test_hash_covers_what_is_read(tmp_path: Path) -> None:
    folder = make(tmp_path / "m", TRANSFORMER, files=("model.safetensors", "notes.md"))
    before = folder_sha256(folder)
    (folder / "notes.md").write_text("other")
    assert folder_sha256(folder) == before
    (folder / "model.safetensors").write_text("other")
    assert folder_sha256(folder) != before
