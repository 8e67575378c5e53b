"""The command line: verify, calibrate and audit."""

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dpaudit
from dpaudit import DataError, InputError
from tests.dpaudit.command_line import EXAMPLES, ROOT, TOML, Done, Run, strict, write

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
        ["check"],
        ["estimate"],
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
    seen: list[tuple[Any, ...]] = []

    def audit(deployment: Any, **options: Any) -> Any:
        seen.append((deployment.deployment.name, *options.values()))
        return samples.proved()

    monkeypatch.setattr(dpaudit, "audit", audit, raising=False)
    run("audit", EXAMPLES / "bundled.toml", "--out", tmp_path)
    run(
        "audit",
        EXAMPLES / "bundled.toml",
        "--out",
        tmp_path,
        "--trials",
        "5000",
        "--workers",
        "2",
        "--store",
        tmp_path / "trials",
        "--resume",
    )
    assert seen == [
        ("bundled", None, 1, None, False, True),
        ("bundled", 5000, 2, tmp_path / "trials", True, True),
    ]
