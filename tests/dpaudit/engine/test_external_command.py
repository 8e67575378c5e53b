"""Programs as mechanisms: their releases, and everything they can do wrong."""

import sys

import numpy as np
import pytest

from dpaudit.engine import ExternalCommand, audit
from dpaudit.errors import ParameterError

PROGRAM = """
import json, random, sys, time
given = json.loads(sys.stdin.read())
random.seed(given["seed"])
kind = sys.argv[1]
for _ in range(given["trials"]):
    bit = given["data"] ^ (random.random() < .25)
    if kind == "crash" and bit: sys.exit("no " + "luck")
    if kind == "slow" and bit: time.sleep(30)
    print("yes" if kind == "malformed" and bit else json.dumps(bit))
    if kind == "many": print(1)
"""


class Released:
    def score(self, releases: list[int]) -> np.ndarray:
        return np.asarray(releases, float)


def command(kind: str, **options: object) -> ExternalCommand:
    return ExternalCommand([sys.executable, "-c", PROGRAM, kind], **options)  # type: ignore[arg-type]


def test_a_program_is_audited() -> None:
    """Randomised response with epsilon ln 3."""
    program = command("good", trials_per_run=2000, seedable=True)
    setting = {"data_in": 1, "data_out": 0, "trials": 40_000, "confidence": 1 - 1e-6}
    result = audit(program, Released(), **setting)
    assert 0.9 < result.epsilon <= np.log(3)
    assert result.epsilon == audit(program, Released(), workers=2, **setting).epsilon


@pytest.mark.parametrize(
    ("kind", "failure", "said"),
    [
        ("crash", "crash", "exit code 1: no luck"),
        ("malformed", "malformed", "a line that is not JSON"),
        ("many", "malformed", "2 lines for 1 trials"),
        ("slow", "timeout", "no answer within 0.5 s"),
    ],
)
def test_failures_are_counted(kind: str, failure: str, said: str) -> None:
    number = 24 if kind == "slow" else 60
    program = command(kind, timeout=0.5 if kind == "slow" else 30)
    result = audit(program, Released(), data_in=1, data_out=0, trials=number, block=2, workers=2)
    assert result.failures["bounding"]["in"][failure] > 0
    assert said in str(result.failure_example)
    assert result.estimate.trials_in == result.plan.phase_trials("bounding")


def test_a_run_of_many_trials_that_fails_is_lost() -> None:
    program = command("crash", trials_per_run=5)
    result = audit(program, Released(), data_in=1, data_out=0, trials=100)
    assert result.epsilon == 0
    assert result.failures["bounding"]["in"]["block-crash"] > 0


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        ("ls -l", {}, "a list of program and arguments"),
        ([], {}, "a program is needed"),
        (["x"], {"timeout": 0}, "timeout = 0"),
        (["x"], {"trials_per_run": 0}, "trials_per_run = 0"),
    ],
)
def test_refused(given: object, options: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        ExternalCommand(given, **options)  # type: ignore[arg-type]


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(ParameterError, match="cannot be started"):
        audit(ExternalCommand(["/no/such/program"]), Released(), data_in=1, data_out=0, trials=50)
