"""The command line: exit codes, pure standard output, and one line for everything wrong."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dpaudit
from dpaudit import DataError, InputError, cli
from dpaudit.asset_registry import ASSETS

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
TOML = """\
[deployment]
name = "test"
system = "fre-e2t"
[claim]
epsilon = 4
delta = 1e-6
adjacency = "add-remove"
view = "public"
[fre_e2t]
records_max = 1_000_000
embedding_dim = 384
projection_dim = 20
radius = 0.5
sampling_rate = 0.3
threshold = 30
noise_std = 2.136
sensitivity_ratio = 2.4
budget_factor = 4
"""
SECTIONS = """\
[data]
texts = "texts.txt"
[model]
embedding = "minilm"
[audit]
trials = 200
seed = 7
"""


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The error line, of a run that printed nothing else."""
        assert self.code == 2
        assert self.out == ""
        assert self.err.startswith("error: ")
        assert self.err.count("\n") == 1
        return self.err[len("error: ") : -1]


Run = Callable[..., Done]


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


def write(folder: Path, text: str | bytes = TOML) -> Path:
    file = folder / "deployment.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def strict(text: str) -> dict[str, Any]:
    """Parse standard output as exactly one JSON object."""

    def refuse(name: str) -> object:
        raise AssertionError(f"{name} is not JSON")

    found = json.loads(text, parse_constant=refuse)
    assert isinstance(found, dict)
    assert text.endswith("}\n")
    return found


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


# --- help and version


def test_version(run: Run) -> None:
    assert run("--version") == Done(0, f"dpaudit {dpaudit.__version__}\n", "")


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["verify"],
        ["calibrate"],
        ["curve"],
        ["audit"],
        ["assets"],
        ["assets", "list"],
        ["assets", "get"],
    ],
)
def test_every_help_has_an_example(run: Run, command: list[str]) -> None:
    for flag in ("--help", "-h"):
        done = run(*command, flag)
        assert done.code == 0
        assert done.err == ""
        assert f"\n    dpaudit {' '.join(command)}" in done.out
        assert "\x1b" not in done.out


def test_examples_in_the_help_are_valid(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in run("--help").out.split():
        if words.endswith(".toml"):
            assert (ROOT / words).is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Usage: dpaudit"),
        (["verif"], "No such command"),
        (["verify"], "Missing argument"),
        (["verify", "a.toml", "b.toml"], "unexpected extra argument"),
        (["verify", "a.toml", "--jsn"], "--jsn"),
        (["calibrate", "a.toml"], "--epsilon"),
        (["calibrate", "a.toml", "--epsilon", "4"], "--delta"),
        (["calibrate", "a.toml", "--epsilon", "four", "--delta", "1e-6"], "--epsilon"),
        (["audit", "a.toml", "--trials", "99"], "--trials"),
        (["audit", "a.toml", "--trials", "1e5"], "--trials"),
        (["audit", "a.toml", "--trials", "1000000001"], "--trials"),
        (["assets"], "Usage: dpaudit assets"),
        (["assets", "get"], "Missing argument"),
    ],
)
def test_bad_usage(run: Run, arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert said in done.out + done.err
    assert "Traceback" not in done.err


# --- verify


def test_verify_proves_the_papers_configuration(run: Run) -> None:
    done = run("verify", EXAMPLES / "paper-eps4.toml")
    assert done.code == 0
    assert done.err == ""
    assert "\nProved\n" in done.out
    assert "missing-union" in done.out


def test_verify_json(run: Run) -> None:
    done = run("verify", EXAMPLES / "paper-eps8.toml", "--json")
    assert done.code == 0
    assert done.err == ""
    result = strict(done.out)
    assert result["verdict"] == "proved"
    assert result["claim"]["epsilon"] == 8.0
    assert result["tight"]["epsilon"] == pytest.approx(1.518, abs=0.002)
    assert result["tight"]["noise_std_for_claim"] == pytest.approx(0.339, rel=0.005)
    assert result["paper"]["terms"]["delta_sens"] == pytest.approx(8.945e-11, rel=1e-3)
    assert {"code", "message"} == set(result["warnings"][0])
    assert all(isinstance(text, str) for text in result["assumptions"])
    assert result["exit_code"] == 0


def test_verify_never_refutes(run: Run) -> None:
    done = run("verify", EXAMPLES / "broken.toml", "--json")
    assert done.code == 3
    assert strict(done.out)["verdict"] == "open"


def test_verify_with_nothing_feasible(run: Run, tmp_path: Path) -> None:
    text = TOML.replace("sampling_rate = 0.3", "sampling_rate = 0.9")
    text = text.replace("threshold = 30", "threshold = 1")
    done = run("verify", write(tmp_path, text), "--json")
    assert done.code == 3
    result = strict(done.out)
    assert result["paper"]["epsilon"] == "inf"
    assert result["paper"]["delta"] is None
    assert result["tight"]["noise_std_for_claim"] is None
    assert {w["code"] for w in result["warnings"]} >= {"delta-not-summing", "no-noise-suffices"}
    assert run("verify", write(tmp_path, text)).code == 3


def test_verify_without_the_papers_parameters(run: Run, tmp_path: Path) -> None:
    text = TOML.replace("sensitivity_ratio = 2.4\n", "")
    done = run("verify", write(tmp_path, text), "--json")
    assert done.code == 0
    assert strict(done.out)["paper"]["epsilon"] is None
    assert "paper-parameters-missing" in run("verify", write(tmp_path, text)).out


MALFORMED: dict[str, tuple[str | bytes, str]] = {
    "wrong type": (TOML.replace("noise_std = 2.136", 'noise_std = "2"'), "noise_std"),
    "bool": (TOML.replace("threshold = 30", "threshold = true"), "threshold"),
    "nan": (TOML.replace("noise_std = 2.136", "noise_std = nan"), "noise_std"),
    "inf": (TOML.replace("epsilon = 4", "epsilon = inf"), "epsilon"),
    "negative": (TOML.replace("radius = 0.5", "radius = -0.5"), "radius"),
    "threshold 0": (TOML.replace("threshold = 30", "threshold = 0"), "threshold"),
    "rate 0": (TOML.replace("sampling_rate = 0.3", "sampling_rate = 0"), "sampling_rate"),
    "rate 1": (TOML.replace("sampling_rate = 0.3", "sampling_rate = 1.0"), "sampling_rate"),
    "delta 0": (TOML.replace("delta = 1e-6", "delta = 0"), "delta"),
    "unknown key": (TOML.replace("noise_std", "noise_sdt"), "did you mean 'noise_std'?"),
    "unknown section": (TOML + "[adit]\n", "adit"),
    "missing section": (TOML.split("[fre_e2t]")[0], "fre_e2t"),
    "projects up": (TOML.replace("projection_dim = 20", "projection_dim = 400"), "projection_dim"),
    "adjacency": (TOML.replace("add-remove", "replace-two"), "'replace-one'"),
    "view": (TOML.replace('"public"', '"synthesis-server"'), "needs a section [dummies]"),
    "not TOML": ("[claim", "not TOML"),
    "empty": ("", "deployment"),
    "UTF-16": (TOML.encode("utf-16"), "not UTF-8"),
    "Latin-1": (TOML.replace("test", "t\u00e9st").encode("latin-1"), "not UTF-8"),
    "binary": (bytes(range(256)) * 8, "deployment.toml"),
    "too many digits": (TOML.replace("= 30", "= 3" + "0" * 5000), "deployment.toml"),
    "escape": (TOML.replace("public", "\\u001b[31m\\u202e"), "view"),
}


@pytest.mark.parametrize("kind", sorted(MALFORMED))
def test_malformed_deployments(run: Run, tmp_path: Path, kind: str) -> None:
    text, said = MALFORMED[kind]
    file = write(tmp_path, text)
    commands = (
        ["verify", file],
        ["verify", file, "--json"],
        ["calibrate", file, "--epsilon", "4", "--delta", "1e-6"],
        ["audit", file, "--out", tmp_path / "out", "--json"],
    )
    for command in commands:
        error = run(*command).error
        assert error.startswith(str(file))
        assert said in error
        assert error.isprintable()
    assert not (tmp_path / "out").exists()


def test_files_that_are_none(run: Run, tmp_path: Path) -> None:
    assert run("verify", tmp_path / "none.toml").error.endswith("No such file or directory")
    assert run("verify", tmp_path, "--json").error.endswith("Is a directory")
    assert "cannot be read" in run("verify", tmp_path / ("x" * 300)).error
    assert run("verify", tmp_path / "a\nb\x1b[31m.toml").error.isprintable()


# --- calibrate


def test_calibrate(run: Run) -> None:
    command = ("calibrate", EXAMPLES / "paper-eps8.toml", "--epsilon", "8", "--delta", "1e-6")
    done = run(*command, "--json")
    assert done.code == 0
    assert done.err == ""
    result = strict(done.out)
    assert result["target"] == {"epsilon": 8.0, "delta": 1e-6}
    assert result["paper"]["noise_std"] == pytest.approx(1.14)
    assert result["tight"]["noise_std"] == pytest.approx(0.339, rel=0.005)
    assert {row["sampling_rate"] for row in result["sweep"]} >= {0.1, 0.5}


def test_calibrate_shows_a_table(
    run: Run, answers: Callable[[str, Any], None], samples: ModuleType
) -> None:
    answers("calibrate", samples.infeasible())
    target = ("--epsilon", "8", "--delta", "1e-6")
    done = run("calibrate", EXAMPLES / "paper-eps8.toml", *target)
    assert done.code == 3
    assert "Infeasible" in done.out
    assert done.err == "a library talks\n"


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [("0", "1e-6"), ("-1", "1e-6"), ("nan", "1e-6"), ("inf", "1e-6"), ("4", "0"), ("4", "1"),
     ("4", "nan"), ("4", "-1e-6")],
)  # fmt: skip
def test_calibrate_refuses_a_bad_target(run: Run, epsilon: str, delta: str) -> None:
    done = run(
        "calibrate", EXAMPLES / "paper-eps4.toml", f"--epsilon={epsilon}", f"--delta={delta}"
    )
    wrong = "epsilon" if delta == "1e-6" else "delta"
    assert done.error.startswith(wrong)


# --- audit, with a stand-in for the audit itself


@pytest.mark.parametrize(
    ("name", "code"), [("proved", 0), ("refuted", 1), ("open", 3), ("violated", 1), ("hostile", 1)]
)
def test_audit_exit_codes_and_files(
    run: Run,
    answers: Callable[[str, Any], None],
    samples: ModuleType,
    tmp_path: Path,
    name: str,
    code: int,
) -> None:
    answers("audit", samples.AUDITS[name]())
    out = tmp_path / "report"
    done = run("audit", EXAMPLES / "bundled.toml", "--out", out)
    assert done.code == code
    assert done.err == "a library talks\n"
    assert f"report{os.sep}report.html" in done.out.replace("\n", "")
    assert sorted(path.name for path in out.iterdir()) == [
        "report.html",
        "report.md",
        "result.json",
    ]
    quiet = run("audit", EXAMPLES / "bundled.toml", "--out", out, "--json")
    assert quiet.code == code
    assert strict(quiet.out)["exit_code"] == code
    assert quiet.out == (out / "result.json").read_text(encoding="utf-8")


def test_audit_writes_into_a_folder_of_its_own(
    run: Run,
    answers: Callable[[str, Any], None],
    samples: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    answers("audit", samples.proved())
    assert run("audit", EXAMPLES / "bundled.toml").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["dpaudit-report"]


def test_audit_checks_the_folder_before_it_runs(
    run: Run, answers: Callable[[str, Any], None], tmp_path: Path
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("x")
    answers("audit", AssertionError("the audit ran"))
    error = run("audit", EXAMPLES / "bundled.toml", "--out", taken).error
    assert error.startswith(f"{taken}: is not a folder")


def test_audit_that_fails_leaves_no_folder(
    run: Run, answers: Callable[[str, Any], None], tmp_path: Path
) -> None:
    answers("audit", DataError("texts.txt: there is no text in it"))
    done = run("audit", EXAMPLES / "bundled.toml", "--out", tmp_path / "out", "--json")
    assert (done.code, done.out) == (2, "")
    assert done.err == "a library talks\nerror: texts.txt: there is no text in it\n"
    assert list(tmp_path.iterdir()) == []


def test_audit_is_shown_even_if_it_cannot_be_written(
    run: Run,
    answers: Callable[[str, Any], None],
    samples: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*args: object) -> None:
        raise InputError("report: cannot be written: No space left on device")

    answers("audit", samples.proved())
    monkeypatch.setattr("dpaudit.report.write", full)
    done = run("audit", EXAMPLES / "bundled.toml", "--out", tmp_path / "out", "--json")
    assert done.code == 2
    assert strict(done.out)["verdict"] == "proved"
    assert "error: report: cannot be written: No space left on device\n" in done.err


def test_audit_passes_its_options_on(
    run: Run, samples: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, int | None, bool]] = []

    def audit(deployment: Any, *, trials: int | None, progress: bool) -> Any:
        seen.append((deployment.deployment.name, trials, progress))
        return samples.proved()

    monkeypatch.setattr(dpaudit, "audit", audit, raising=False)
    run("audit", EXAMPLES / "bundled.toml", "--out", tmp_path)
    run("audit", EXAMPLES / "bundled.toml", "--out", tmp_path, "--trials", "5000")
    assert seen == [("bundled", None, True), ("bundled", 5000, True)]


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
    assert done.code == cli.BUG
    assert done.code not in (0, 1, 2, 3)
    assert done.out == ""
    assert "ZeroDivisionError: oops" in done.err
    assert "this is a bug in dpaudit" in done.err


def test_a_nan_in_a_result_is_a_bug_and_prints_nothing(
    run: Run, answers: Callable[[str, Any], None], samples: ModuleType
) -> None:
    answers("verify", {**samples.verified(), "oops": float("nan")})
    done = run("verify", EXAMPLES / "paper-eps4.toml", "--json")
    assert (done.code, done.out) == (cli.BUG, "")
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
