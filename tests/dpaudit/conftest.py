"""Sample results and the command line in this process, for several files of tests."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dpaudit
from dpaudit import cli
from tests.dpaudit.command_line import Done, Run


@pytest.fixture(scope="session")
def samples() -> ModuleType:
    """Return ``report/sample.py`` as a module."""
    path = Path(__file__).parent / "report" / "sample.py"
    spec = importlib.util.spec_from_file_location("report_samples", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process."""

    def call(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["dpaudit", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        captured = capsys.readouterr()
        code = caught.value.code
        assert isinstance(code, int)
        return Done(code, captured.out, captured.err)

    return call


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Any], None]:
    """Let ``dpaudit.verify``, ``calibrate`` or ``audit`` answer with a given result or error."""

    def answer(name: str, value: Any) -> None:
        def command(*args: object, **kwargs: object) -> Any:
            print("a library talks")  # which must not reach standard output
            if isinstance(value, BaseException):
                raise value
            return value

        monkeypatch.setattr(dpaudit, name, command, raising=False)

    return answer
