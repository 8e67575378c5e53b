"""The choice of a processor."""

import sys

import pytest

from dpaudit.errors import ModelError
from dpaudit.pipeline.device import resolve_device


def test_cpu() -> None:
    assert resolve_device("cpu") == "cpu"


def test_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert resolve_device("auto") == "cpu"
    with pytest.raises(ModelError, match="no CUDA processor"):
        resolve_device("cuda")


@pytest.mark.parametrize("present", [True, False])
def test_auto_takes_what_is_there(present: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: present)
    assert resolve_device("auto") == ("cuda" if present else "cpu")
    if not present:
        with pytest.raises(ModelError, match="no CUDA processor"):
            resolve_device("cuda")


def test_other_names_are_refused() -> None:
    with pytest.raises(ModelError, match="one of auto, cpu, cuda"):
        resolve_device("gpu")
