"""The command line: how it ends, as a process of its own, assets, curves and bad texts."""

import os
import subprocess
import sys
from collections.abc import Callable
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dpaudit
from dpaudit import cli_output
from dpaudit.asset_registry import ASSETS
from tests.dpaudit.command_line import EXAMPLES, ROOT, SECTIONS, TOML, Done, Run, strict, write

# --- what ends a command otherwise


def test_interrupted(run: Run, answers: Callable[[str, Any], None]) -> None:
    answers("verify", KeyboardInterrupt())
    done = run("verify", EXAMPLES / "paper-eps4.toml", "--json")
    assert (done.code, done.out) == (130, "")
    assert done.err.endswith("interrupted\n")


def test_a_bug_keeps_its_traceback_and_is_no_verdict(
    run: Run, answers: Callable[[str, Any], None]
) -> None:
    answers("verify", ZeroDivisionError("oops"))
    done = run("verify", EXAMPLES / "paper-eps4.toml", "--json")
    assert done.code == cli_output.BUG
    assert done.code not in (0, 1, 2, 3)
    assert done.out == ""
    assert "ZeroDivisionError: oops" in done.err
    assert "this is a bug in dpaudit" in done.err


def test_a_nan_in_a_result_is_a_bug_and_prints_nothing(
    run: Run, answers: Callable[[str, Any], None], samples: ModuleType
) -> None:
    answers("verify", {**samples.verified(), "oops": float("nan")})
    done = run("verify", EXAMPLES / "paper-eps4.toml", "--json")
    assert (done.code, done.out) == (cli_output.BUG, "")
    answers("verify", {**samples.verified(), "fine": inf})
    done = run("verify", EXAMPLES / "paper-eps4.toml", "--json")
    assert strict(done.out)["fine"] == "inf"


# --- processes


def process(*arguments: str, **changed: Any) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "dpaudit", *arguments],
        cwd=ROOT,
        capture_output="stdout" not in changed,
        check=False,
        **changed,
    )


def test_python_m() -> None:
    done = process("--version")
    assert (done.returncode, done.stdout) == (0, f"dpaudit {dpaudit.__version__}\n".encode())
    done = process("verify", "examples/none.toml")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"error: examples/none.toml: cannot be read: No such file or directory\n"


def test_output_that_cannot_show_every_sign() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = process("verify", "examples/paper-eps4.toml", env=environment)
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"\\u03b5" in done.stdout


def test_a_reader_that_goes_away() -> None:
    read, write_end = os.pipe()
    os.close(read)
    for command in (["verify", "examples/paper-eps4.toml", "--json"], ["--version"]):
        done = process(*command, stdout=write_end, stderr=subprocess.PIPE)
        assert (done.returncode, done.stderr) == (141, b"")
    os.close(write_end)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk() -> None:
    with Path("/dev/full").open("wb") as full:
        for more in ([], ["--json"]):
            done = process(
                "verify", "examples/paper-eps4.toml", *more, stdout=full, stderr=subprocess.PIPE
            )
            assert done.returncode == 2
            assert done.stderr == (
                b"error: standard output: cannot be written: No space left on device\n"
            )


def loaded(arguments: list[str]) -> set[str]:
    """Return the top-level modules that a command imports."""
    code = (
        "import sys; from dpaudit.cli import main\n"
        f"sys.argv = ['dpaudit', *{arguments!r}]\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "print(*{m.split('.')[0] for m in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


HEAVY = {"torch", "transformers", "sentence_transformers", "matplotlib", "jinja2", "statsmodels"}


def test_what_is_not_loaded() -> None:
    calculating = HEAVY | {"numpy", "scipy", "accountants"}
    assert not loaded(["--version"]) & (calculating | {"pydantic", "rich"})
    assert not loaded(["verify", "--help"]) & calculating
    assert not loaded(["verify", "examples/paper-eps4.toml"]) & HEAVY
    assert not loaded(["verify", "examples/paper-eps4.toml", "--json"]) & (HEAVY | {"rich"})


# --- assets


def test_assets_list(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPAUDIT_CACHE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "assets" / "vader-3.3.2").mkdir(parents=True)
    done = run("assets", "list")
    assert (done.code, done.err) == (0, "")
    for name in ASSETS:
        assert name in done.out
    result = strict(run("assets", "list", "--json").out)
    assert result["command"] == "assets list"
    assert [row["name"] for row in result["assets"]] == list(ASSETS)
    paths = {row["name"]: row["path"] for row in result["assets"]}
    assert paths["mpnet"] is None
    assert paths["vader"] == str(tmp_path / "assets" / "vader-3.3.2")


def test_assets_get(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def get(name: str, *, echo: Callable[[str], object]) -> Path:
        echo(f"fetching {name}")
        return tmp_path / name

    monkeypatch.setattr("dpaudit.assets.get", get)
    assert run("assets", "get", "vader") == Done(0, f"{tmp_path / 'vader'}\n", "fetching vader\n")
    done = run("assets", "get", "vader", "--json")
    assert (done.code, done.err) == (0, "fetching vader\n")
    assert strict(done.out) == {
        "dpaudit": dpaudit.__version__,
        "command": "assets get",
        "name": "vader",
        "path": str(tmp_path / "vader"),
    }


def test_an_unknown_asset(run: Run) -> None:
    assert run("assets", "get", "gpt", "--json").error == (
        "asset 'gpt': one of smollm2, mpnet, vader is needed"
    )


# --- audit, with texts that cannot be used

TEXTS: dict[str, tuple[str, str | bytes | None, str]] = {
    "missing": ("texts.txt", None, "cannot be read"),
    "empty": ("texts.txt", "", "there is no text in it"),
    "blank": ("texts.txt", " \n\t\n", "are blank"),
    "one text": ("texts.txt", "only one\n", "only 1 text"),
    "equal texts": ("texts.txt", "same\nsame\n", "are equal"),
    "UTF-16": ("texts.txt", "one\ntwo\n".encode("utf-16"), "not UTF-8"),
    "binary": ("texts.txt", bytes(range(256)), "not UTF-8"),
    "csv without column": ("texts.csv", "a,b\n1,2\n", "no column 'text'"),
    "broken jsonl": ("texts.jsonl", "{\n", "not JSON"),
    "broken parquet": ("texts.parquet", b"PAR1", "parquet"),
}


@pytest.mark.parametrize("kind", sorted(TEXTS))
def test_malformed_texts(run: Run, tmp_path: Path, kind: str) -> None:
    name, content, said = TEXTS[kind]
    if content is not None:
        raw = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(raw)
    file = write(tmp_path, TOML + SECTIONS.replace("texts.txt", name))
    done = run("audit", file, "--out", tmp_path / "out", "--json")
    assert said in done.error
    assert name in done.error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TOML, "[data]"),
        (TOML + SECTIONS.split("[model]")[0], "[model]"),
        (TOML.replace("1_000_000", "2") + SECTIONS, "records_max"),
    ],
)
def test_deployments_that_cannot_be_audited(run: Run, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "texts.txt").write_text("one\ntwo\nthree\n")
    file = write(tmp_path, text)
    assert said in run("audit", file, "--out", tmp_path / "out").error
    assert not (tmp_path / "out").exists()


@pytest.mark.model
def test_a_model_of_another_dimension(run: Run, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("one\ntwo\nthree\n")
    text = (TOML + SECTIONS).replace("embedding_dim = 384", "embedding_dim = 768")
    error = run("audit", write(tmp_path, text), "--out", tmp_path / "out").error
    assert "384" in error
    assert "768" in error


@pytest.mark.model
@pytest.mark.slow
def test_the_broken_example_is_refuted_with_a_report(tmp_path: Path) -> None:
    """One seeded audit; the refutation is by a margin far beyond any chance (see the audit's)."""
    out = tmp_path / "report"
    command = ("audit", "examples/broken.toml", "--trials", "20000", "--out", str(out), "--json")
    done = process(*command)
    assert done.returncode == 1, done.stderr.decode()
    result = strict(done.stdout.decode())
    assert result["verdict"] == "refuted"
    assert result["findings"] == []
    assert result["measured"]["epsilon"] > 4
    assert done.stdout == (out / "result.json").read_bytes()
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Refuted" in page
    assert page.count("<svg") == 5
    assert "Refuted" in (out / "report.md").read_text(encoding="utf-8")


# --- curve --------------------------------------------------------------------------------------


def test_curve_writes_what_its_name_says(run: Run, tmp_path: Path) -> None:
    for name in ("curve.svg", "curve.csv"):
        done = run("curve", EXAMPLES / "paper-eps4.toml", "--out", tmp_path / name)
        assert done.code == 0
        assert done.out.strip() == str(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000


@pytest.mark.parametrize("name", ["curve.png", "none/curve.svg"])
def test_curve_refuses_other_names_before_it_computes(run: Run, tmp_path: Path, name: str) -> None:
    done = run("curve", EXAMPLES / "paper-eps4.toml", "--out", tmp_path / name)
    assert "curve" in done.error
