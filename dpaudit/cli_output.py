"""How commands print and end: pure standard output, one line for an error, exit codes."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any, NoReturn

import typer

import dpaudit

BAD_INPUT, BUG, INTERRUPTED, NO_READER = 2, 70, 130, 141


def head(command: str) -> dict[str, Any]:
    """Return how every JSON object begins."""
    return {"dpaudit": dpaudit.__version__, "command": command}


def answer(result: Mapping[str, Any], *, json: bool) -> NoReturn:
    """Print a result and exit with its code."""
    print_answer(result, json=json)
    raise typer.Exit(int(result["exit_code"]))


def print_answer(result: Mapping[str, Any], *, json: bool, written: Path | None = None) -> None:
    """Print a result, as JSON or to be read; ``written`` is the report beside it."""
    if json:
        print_json(result)
    else:
        from dpaudit.report.text import show

        printed(lambda: show(result, sys.stdout, written=written))


def print_json(result: Mapping[str, Any]) -> None:
    """Print one JSON object and nothing else."""
    from dpaudit.report.json import encode

    text = encode(result)
    printed(lambda: print(text))


def printed(show: Callable[[], None]) -> None:
    """Run ``show`` and flush, so that a failure to write is noticed here and not at exit."""
    try:
        show()
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _silence_stdout()
        raise failed(f"standard output: cannot be written: {error.strerror or error}") from None


@contextmanager
def quiet_stdout() -> Iterator[None]:
    """Send whatever a library prints to standard error: standard output is for the answer."""
    with redirect_stdout(sys.stderr):
        yield


@contextmanager
def honest_exit() -> Iterator[None]:
    """Turn whatever ends a command into an exit code that cannot be taken for a verdict."""
    try:
        yield
    except (SystemExit, typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        _silence_stdout()
        raise SystemExit(NO_READER) from None
    except Exception as error:
        if _is_ours(error):
            raise failed(str(error)) from None
        import traceback

        traceback.print_exc()
        print("error: this is a bug in dpaudit: please report it", file=sys.stderr)
        raise SystemExit(BUG) from None


def _is_ours(error: Exception) -> bool:
    from dpaudit.errors import DpauditError

    return isinstance(error, DpauditError)


def failed(message: str) -> SystemExit:
    """Print an error and return the exit that goes with bad input."""
    print(f"error: {message}", file=sys.stderr)
    return SystemExit(BAD_INPUT)


def _silence_stdout() -> None:
    """Let nothing more be written to standard output, not even while Python shuts down."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
