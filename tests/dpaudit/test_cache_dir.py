"""Where the cache lies."""

import sys
from pathlib import Path

import pytest

from dpaudit.cache_dir import cache_directory
from dpaudit.errors import InputError


def test_the_variable_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("DPAUDIT_CACHE", "~/own")
    assert cache_directory() == Path("/home/someone/own")


def test_platform_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPAUDIT_CACHE", "")
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_directory() == Path("/xdg/dpaudit")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_directory() == Path("/home/someone/.cache/dpaudit")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_directory() == Path("/home/someone/Library/Caches/dpaudit")


def test_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("DPAUDIT_CACHE")
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(InputError, match="set DPAUDIT_CACHE"):
        cache_directory()
