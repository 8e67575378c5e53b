"""Stores: killed at any moment and resumed, an audit ends with the identical result."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from dpaudit.engine import BlockMechanism, PerTrial, StoreError, audit
from tests.dpaudit.engine import subjects
from tests.dpaudit.engine.subjects import Itself, Learner

ROOT = Path(__file__).resolve().parents[3]
SETTING = {"data_in": 1.0, "data_out": 0.0, "trials": 8000, "block": 100, "batch": 1, "seed": 3}
PROGRAM = """
import json, sys
from dpaudit.engine import BlockMechanism, audit
from tests.dpaudit.engine import subjects
result = audit(BlockMechanism(subjects.slow), subjects.Learner(), store=sys.argv[1], resume=True,
               data_in=1.0, data_out=0.0, trials=8000, block=100, batch=1, seed=3)
found = result.to_dict()
del found["timings"], found["resumed"]
print(json.dumps(found))
"""


def comparable(result: object) -> dict[str, object]:
    found = json.loads(json.dumps(result.to_dict()))  # type: ignore[attr-defined]
    del found["timings"], found["resumed"]
    return found


def start(store: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", PROGRAM, str(store)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow
def test_killed_and_resumed(tmp_path: Path) -> None:
    """SIGKILL at several moments, then the result of an audit that was never interrupted."""
    whole = audit(BlockMechanism(subjects.slow), Learner(), **SETTING)
    store = tmp_path / "trials"
    kills, before = 0, 0
    for extra in (3, 20, 45):
        process = start(store)
        while process.poll() is None:
            there = len(list(store.glob("*.parquet")))
            if there >= before + extra:
                process.send_signal(signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.005)
        process.communicate()
        before = len(list(store.glob("*.parquet")))
    assert kills == 3
    assert 0 < before < 128
    process = start(store)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err.decode()
    assert json.loads(out) == comparable(whole)


def test_a_store_holds_every_trial(tmp_path: Path) -> None:
    result = audit(PerTrial(subjects.leaky_crash), Itself(), store=tmp_path, **SETTING)
    table = pq.read_table(sorted(tmp_path.glob("*.parquet"))).to_pydict()
    assert len(table["score"]) == 2 * (8000 - 100 * result.plan.training)
    for side in ("in", "out"):
        trials = [t for t, s in zip(table["trial"], table["side"], strict=True) if s == side]
        assert sorted(trials) == list(range(8000))
    failed = sum(outcome == "crash" for outcome in table["outcome"])
    assert failed == result.failed == sum(score is None for score in table["score"])


def test_resuming_a_complete_audit_runs_next_to_nothing(tmp_path: Path) -> None:
    first = audit(BlockMechanism(subjects.slow), Learner(), store=tmp_path, **SETTING)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.parquet")}
    again = audit(BlockMechanism(subjects.slow), Learner(), store=tmp_path, resume=True, **SETTING)
    assert comparable(first) == comparable(again)
    assert again.resumed
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.parquet")}


def test_what_is_not_seedable_keeps_its_batches(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def unseeded(value: float) -> float:
        return float(value + rng.laplace())

    mechanism = PerTrial(unseeded, seedable=False, version="1")
    first = audit(mechanism, Itself(), store=tmp_path, **SETTING)
    some = sorted(tmp_path.glob("*.parquet"))[-5:]
    for path in some:
        path.unlink()
    kept = {path: path.read_bytes() for path in tmp_path.glob("*.parquet")}
    again = audit(mechanism, Itself(), store=tmp_path, resume=True, **SETTING)
    assert all(path.read_bytes() == content for path, content in kept.items())
    assert not again.seedable
    assert any("was interrupted" in text for text in again.estimate.assumptions)
    assert first.estimate.trials_in == again.estimate.trials_in


def test_a_mechanism_that_only_claims_to_be_seedable_is_found_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def lying(value: float, generator: np.random.Generator) -> float:
        return float(value + rng.laplace())

    mechanism = PerTrial(lying, version="1")
    audit(mechanism, Itself(), store=tmp_path, **SETTING)
    with pytest.raises(StoreError, match="came out differently"):
        audit(mechanism, Itself(), store=tmp_path, resume=True, **SETTING)


@pytest.mark.parametrize(
    "changes",
    [
        {"trials": 9000},
        {"block": 200},
        {"seed": 4},
        {"data_in": 2.0},
        {"delta": 0.1},
        {"confidence": 0.9},
        {"mechanism": BlockMechanism(subjects.blind)},
        {"attack": Learner()},
    ],
)
def test_a_changed_audit_is_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    audit(BlockMechanism(subjects.response), Itself(), store=tmp_path, **SETTING)
    setting = {
        "mechanism": BlockMechanism(subjects.response),
        "attack": Itself(),
        **SETTING,
        **changes,
    }
    with pytest.raises(StoreError, match="the audit has changed since: ") as caught:
        audit(
            setting.pop("mechanism"), setting.pop("attack"), store=tmp_path, resume=True, **setting
        )
    assert "\n" not in str(caught.value)


def test_stores_that_cannot_be_used(tmp_path: Path) -> None:
    def run(resume: bool = True) -> None:
        audit(BlockMechanism(subjects.response), Itself(), store=tmp_path, resume=resume, **SETTING)

    (tmp_path / "notes.txt").write_text("something else")
    with pytest.raises(StoreError, match="no audit's store"):
        run()
    (tmp_path / "notes.txt").unlink()
    run()
    with pytest.raises(StoreError, match="holds an audit already"):
        run(resume=False)
    batch = sorted(tmp_path.glob("*.parquet"))[0]
    content = batch.read_bytes()
    for wrong in (b"", content[: len(content) // 2], b"PAR1" + b"\0" * 50 + b"PAR1"):
        batch.write_bytes(wrong)
        with pytest.raises(StoreError, match=r"\.parquet"):
            run()
    batch.write_bytes(content)
    run()
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(StoreError, match="not JSON"):
        run()


def test_two_audits_at_once_are_refused(tmp_path: Path) -> None:
    store = tmp_path / "trials"
    process = start(store)
    try:
        while not list(store.glob("*.parquet")):
            assert process.poll() is None
            time.sleep(0.01)
        with pytest.raises(StoreError, match="in use by another audit"):
            audit(BlockMechanism(subjects.slow), Learner(), store=store, resume=True, **SETTING)
    finally:
        process.kill()
        process.communicate()
