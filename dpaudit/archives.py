"""Copy single named files out of zip and tar archives that are not trusted.

An archive never chooses where a file is written: the caller names the member and the place, so a
member called ``../../x`` can do nothing. Links and special files are refused, and copying stops
at a size that the caller sets.
"""

import stat
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import IO

from dpaudit.errors import AssetError, shown

_BLOCK = 1 << 20
_DAMAGED = (
    OSError,  # also what a seek to a nonsensical place raises
    ValueError,
    EOFError,
    NotImplementedError,  # a compression method that zipfile does not know
    RuntimeError,  # an encrypted member
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
)


def copy_member(archive: Path, member: str, target: IO[bytes], *, limit: int) -> None:
    """Append one regular file of an archive to an open binary file.

    Parameters
    ----------
    archive : Path
        A zip archive (.zip, .whl) or a gzipped tar archive (.gz).
    member : str
        Full name of the file inside the archive.
    target : binary file
        Open for writing.
    limit : int
        Largest size in bytes that may come out.

    Raises
    ------
    AssetError
        If the archive is damaged, has no such regular file, or the file exceeds ``limit``.
    """
    copy = _from_tar if archive.suffix == ".gz" else _from_zip
    try:
        copy(archive, member, target, limit)
    except _DAMAGED as error:
        raise AssetError(
            f"{shown(archive.name)}: the archive is damaged: {shown(error, limit=120)}"
        ) from None


def _from_zip(archive: Path, member: str, target: IO[bytes], limit: int) -> None:
    with zipfile.ZipFile(archive) as opened:
        try:
            info = opened.getinfo(member)
        except KeyError:
            raise _absent(archive, member) from None
        kind = stat.S_IFMT(info.external_attr >> 16)  # 0 where the writer recorded no mode
        if info.is_dir() or kind not in (0, stat.S_IFREG):
            raise _irregular(archive, member)
        with opened.open(info) as source:
            _copy(source, target, limit, f"{archive.name}: {member}")


def _from_tar(archive: Path, member: str, target: IO[bytes], limit: int) -> None:
    with tarfile.open(archive, "r:gz") as opened:
        for info in opened:
            if info.name != member:
                continue
            source = opened.extractfile(info) if info.isreg() else None
            if source is None:
                raise _irregular(archive, member)
            with source:
                _copy(source, target, limit, f"{archive.name}: {member}")
            return
    raise _absent(archive, member)


def _copy(source: IO[bytes], target: IO[bytes], limit: int, what: str) -> None:
    left = limit
    while block := source.read(min(_BLOCK, left + 1)):
        left -= len(block)
        if left < 0:
            raise AssetError(f"{shown(what, limit=200)} is larger than {limit} bytes")
        try:
            target.write(block)
        except OSError as error:
            raise AssetError(f"{shown(what, limit=200)}: {error.strerror}") from None


def _absent(archive: Path, member: str) -> AssetError:
    return AssetError(f"{shown(archive.name)}: there is no {shown(member)} in it")


def _irregular(archive: Path, member: str) -> AssetError:
    return AssetError(f"{shown(archive.name)}: {shown(member)} is a link or no regular file")
