"""Find the folder of an embedding model, and refuse what should not be loaded from it.

Weights are taken from safetensors files only: pickled ones can run code when they are read. Module
types outside the sentence_transformers package are refused for the same reason.
"""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from dpaudit.data.bundled import BUNDLED_MODELS, bundled_model
from dpaudit.errors import ModelError, shown
from dpaudit.file_hash import file_sha256

NO_PACKAGE = "embedding texts needs the extra 'models': pip install 'dpaudit[models]'"

_READ = ("*.json", "*.txt", "*.safetensors", "*.model")
_PICKLED = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"})
_OWN_MODULES = "sentence_transformers."


def model_folder(name: str, *, directory: Path | None = None) -> Path:
    """Return the folder that holds a model, checked, after a download if it needs one.

    Parameters
    ----------
    name : str
        A bundled name (``minilm``), the path of a folder, or an identifier on the Hugging Face hub,
        in this order of precedence.
    directory : Path, optional
        Folder against which a relative path is resolved; by default the current one.

    Raises
    ------
    ModelError
        If there is no such model, it cannot be downloaded, or it is not safe to load.
    """
    if name in BUNDLED_MODELS:
        return _checked(bundled_model(name).path, name)
    path = (directory or Path()) / Path(name).expanduser()
    if path.is_dir():
        return _checked(path, name)
    if not name or Path(name).is_absolute() or name[0] in ".~" or name.count("/") > 1:
        known = ", ".join(f"'{known}'" for known in BUNDLED_MODELS)
        raise ModelError(
            f"model '{shown(name)}': no such folder; give a folder, a model identifier such as "
            f"sentence-transformers/all-MiniLM-L6-v2, or a bundled name ({known})"
        )
    return _checked(_downloaded(name), name)


def folder_sha256(folder: Path) -> str:
    """Return one hash of all files of a model that can change its vectors.

    Raises
    ------
    ModelError
        If a file cannot be read.
    """
    digest = sha256()
    files = sorted({path for pattern in _READ for path in folder.rglob(pattern) if path.is_file()})
    for path in files:
        name = path.relative_to(folder).as_posix()
        digest.update(f"{name}\n{file_sha256(path, ModelError)}\n".encode())
    return digest.hexdigest()


def _downloaded(name: str) -> Path:
    """Return the folder of a hub model, from the hub's own cache if it is there."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise ModelError(NO_PACKAGE) from None
    identifier = name if "/" in name else f"sentence-transformers/{name}"
    try:
        return Path(snapshot_download(identifier, allow_patterns=list(_READ)))
    except Exception as problem:  # the hub's client raises errors of many unrelated classes
        reason = shown(str(problem).strip().split("\n", 1)[0] or type(problem).__name__, limit=160)
        raise ModelError(
            f"model '{shown(name)}' is neither a folder nor in the local cache, "
            f"and cannot be downloaded: {reason}"
        ) from None


def _checked(folder: Path, name: str) -> Path:
    """Return the folder if everything that would be loaded from it is data, not code."""
    weights = False
    for module in _modules(folder, name):
        if not str(module.get("type", "")).startswith(_OWN_MODULES):
            raise ModelError(
                f"model '{shown(name)}' needs code of its own ({shown(module.get('type'))}): "
                "models that bring code are not loaded"
            )
        part = folder / str(module.get("path", ""))
        if not part.resolve().is_relative_to(folder.resolve()):
            raise ModelError(f"model '{shown(name)}': modules.json points outside the folder")
        files = [path for path in part.iterdir() if path.is_file()] if part.is_dir() else []
        safe = any(path.suffix == ".safetensors" for path in files)
        pickled = next((path for path in files if path.suffix in _PICKLED), None)
        if pickled is not None and not safe:
            raise ModelError(
                f"model '{shown(name)}' has pickled weights only ({shown(pickled.name)}), which "
                "can run code when read: convert them to safetensors"
            )
        weights = weights or safe
    if not weights:
        raise ModelError(f"model '{shown(name)}' holds no safetensors weights")
    return folder


def _modules(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the entries of modules.json; a plain transformers model is one module."""
    path = folder / "modules.json"
    if not path.exists():
        return [{"type": f"{_OWN_MODULES}Transformer", "path": ""}]
    try:
        modules = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        modules = None
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise ModelError(f"model '{shown(name)}': modules.json is not a list of modules")
    return modules
