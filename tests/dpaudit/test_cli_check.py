"""``dpaudit check``: a callable as a black box."""

from pathlib import Path

import pytest

from tests.dpaudit.command_line import Run, strict

MODULE = """
def answer(bit, trials, rng):
    return bit ^ (rng.random(trials) < 0.25)

def one(bit, rng):
    return bool(bit ^ (rng.random() < 0.25))

def broken(bit, rng):
    raise RuntimeError("oops\\nin two lines")

three = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"checked_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


@pytest.mark.parametrize(("claim", "code", "verdict"), [(0.5, 1, "refuted"), (1.1, 3, "open")])
@pytest.mark.parametrize("function", ["answer", "one"])
def test_verdicts(
    run: Run, module: str, function: str, claim: float, code: int, verdict: str
) -> None:
    """The true epsilon is ln 3; a bound above it has probability at most 1e-6."""
    options = ["--epsilon", claim, "--in", "true", "--out", "false", "--trials", 20_000]
    done = run("check", f"{module}:{function}", *options, "--confidence", 1 - 1e-6, "--json")
    found = strict(done.out)
    assert (done.code, found["verdict"]) == (code, verdict)
    assert 0.9 < found["result"]["epsilon"] < 1.0986123


def test_to_be_read(run: Run, module: str) -> None:
    done = run("check", f"{module}:answer", "--epsilon", 0.5, "--in", "true", "--out", "false")
    assert done.code == 1
    assert done.out.startswith(
        "REFUTED: the claim epsilon = 0.5, delta = 0 is refuted: epsilon >= "
    )


def test_what_fails_is_counted(run: Run, module: str) -> None:
    done = run("check", f"{module}:broken", "--epsilon", 1, "--trials", 1000, "--json")
    found = strict(done.out)
    assert done.code == 3
    assert found["result"]["epsilon"] == 0
    assert found["result"]["failure_example"] == "crash: RuntimeError: oops\\nin two lines"


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("{}", (), "module:function is needed"),
        ("{}:nothing", (), "it has no nothing"),
        ("no_such_module:f", (), "cannot be imported: ModuleNotFoundError"),
        ("{}:three", (), "a callable is needed"),
        ("{}:answer", ("--in", "{{"), "in = '{{': JSON is needed"),
        ("{}:answer", ("--form", "many"), "form = 'many'"),
        ("{}:answer", ("--delta", "2"), "delta = 2"),
    ],
)
def test_bad_input(run: Run, module: str, name: str, options: tuple[str, ...], said: str) -> None:
    assert said in run("check", name.format(module), "--epsilon", 1, *options).error
