"""Archives that are not trusted: only the named file comes out, and only to the place asked for."""

import errno
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from dpaudit.archives import copy_member
from dpaudit.errors import AssetError


def zip_of(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def tar_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def copied(archive: Path, member: str, limit: int = 100) -> bytes:
    out = io.BytesIO()
    copy_member(archive, member, out, limit=limit)
    return out.getvalue()


def test_the_named_file_and_nothing_else(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    wheel = zip_of(inner / "a.whl", **{"data/x": b"yes", "../evil": b"no", "/evil": b"no"})
    assert copied(wheel, "data/x") == b"yes"
    tar = tar_of(inner / "a.tar.gz", (entry("../evil"), b"no"), (entry("data/x"), b"yes"))
    assert copied(tar, "data/x") == b"yes"
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.tar.gz", "a.whl", "inner"]


def test_output_is_appended(tmp_path: Path) -> None:
    out = io.BytesIO()
    for name in ("1", "2"):
        copy_member(zip_of(tmp_path / f"{name}.zip", x=name.encode()), "x", out, limit=9)
    assert out.getvalue() == b"12"


def test_links_and_folders_are_refused(tmp_path: Path) -> None:
    said = "is a link or no regular file"
    kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE)
    for number, kind in enumerate(kinds):
        tar = tar_of(tmp_path / f"{number}.tar.gz", (entry("x", kind, "/etc/passwd"), b""))
        with pytest.raises(AssetError, match=said):
            copied(tar, "x")
    link = zipfile.ZipInfo("x")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("folder/", "")
    for member in ("x", "folder/"):
        with pytest.raises(AssetError, match=said):
            copied(tmp_path / "link.zip", member)


def test_size_is_bounded(tmp_path: Path) -> None:
    bomb = zip_of(tmp_path / "bomb.zip", x=b"0" * 10_000_000)
    assert bomb.stat().st_size < 20_000
    with pytest.raises(AssetError, match="bomb.zip: x is larger than 100 bytes"):
        copied(bomb, "x")
    tar = tar_of(tmp_path / "bomb.tar.gz", (entry("x"), b"0" * 10_000_000))
    with pytest.raises(AssetError, match="bomb.tar.gz: x is larger than 100 bytes"):
        copied(tar, "x")
    assert copied(zip_of(tmp_path / "a.zip", x=b"0" * 100), "x") == b"0" * 100


def test_absent_members(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="a.zip: there is no y in it"):
        copied(zip_of(tmp_path / "a.zip", x=b""), "y")
    with pytest.raises(AssetError, match="a.tar.gz: there is no y in it"):
        copied(tar_of(tmp_path / "a.tar.gz", (entry("x"), b"")), "y")


def test_damaged_archives(tmp_path: Path) -> None:
    content = bytes(range(256)) * 40
    whole_zip = zip_of(tmp_path / "a.zip", x=content).read_bytes()
    whole_tar = tar_of(tmp_path / "a.tar.gz", (entry("x"), content)).read_bytes()
    flipped = bytearray(whole_zip)
    flipped[60] ^= 0xFF
    for name, raw in {
        "no.zip": b"no archive",
        "cut.zip": whole_zip[:-30],
        "flipped.zip": bytes(flipped),
        "no.tar.gz": b"no archive",
        "cut.tar.gz": whole_tar[:-30],
    }.items():
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(AssetError, match=f"^{name}: the archive is damaged: "):
            copied(tmp_path / name, "x", limit=100_000)


def test_a_full_disk_is_not_called_a_damaged_archive(tmp_path: Path) -> None:
    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(AssetError, match=r"^a\.zip: x: No space left on device$"):
        copy_member(zip_of(tmp_path / "a.zip", x=b"1"), "x", Full(), limit=9)
