"""``dpaudit estimate``: bounds from anyone's scores."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.known_mechanisms import gaussian, nothing
from tests.dpaudit.command_line import Run, strict


def scores(folder: Path, inside: np.ndarray, outside: np.ndarray, name: str = "scores.npy") -> Path:
    path = folder / name
    member = np.concatenate([np.ones(len(inside)), np.zeros(len(outside))])
    table = np.column_stack([np.concatenate([inside, outside]), member])
    if path.suffix == ".npy":
        np.save(path, table)
    else:
        lines = ["loss,trained", *(f"{s!r},{m:.0f}" for s, m in table.tolist())]
        path.write_text("\n".join(lines))
    return path


def test_a_gaussian(run: Run, tmp_path: Path) -> None:
    """Epsilon 2 at delta 1e-2, 1e5 trials a side: error at most 1e-6 that the bound exceeds it."""
    path = scores(tmp_path, *gaussian(2.0, 1e-2).sample(10**5, np.random.default_rng(3)))
    done = run("estimate", path, "--delta", 0.01, "--confidence", 1 - 1e-6, "--json")
    found = strict(done.out)
    assert (done.code, found["command"]) == (0, "estimate")
    assert 1.5 < found["epsilon"]["lower"] <= 2.0
    assert found["epsilon"]["upper"] is None
    assert sum(found["epsilon"]["error_shares"].values()) <= 1e-6 * (1 + 1e-9)
    assert (found["trials_in"], found["trials_out"]) == (10**5, 10**5)


def test_nothing_shows_nothing(run: Run, tmp_path: Path) -> None:
    path = scores(tmp_path, *nothing().sample(2000, np.random.default_rng(0)))
    found = strict(run("estimate", path, "--confidence", 1 - 1e-6, "--json").out)
    assert found["epsilon"]["lower"] == 0
    assert found["epsilon"]["reason"]


def test_the_order_of_the_rows_does_not_matter_much(run: Run, tmp_path: Path) -> None:
    """Sorted rows would ruin a split in the file's order."""
    inside, outside = gaussian(2.0, 1e-2).sample(20_000, np.random.default_rng(4))
    bounds = [
        strict(run("estimate", scores(tmp_path, *pair), "--delta", 0.01, "--json").out)
        for pair in ((inside, outside), (np.sort(inside), np.sort(outside)))
    ]
    values = [bound["epsilon"]["lower"] for bound in bounds]
    assert min(values) > 1
    assert values[0] == pytest.approx(values[1], rel=0.2)


def test_named_columns_and_a_sentence(run: Run, tmp_path: Path) -> None:
    path = scores(tmp_path, np.ones(500), np.zeros(500), "scores.csv")
    done = run("estimate", path, "--score", "loss", "--member", "trained")
    assert done.code == 0
    assert done.out.startswith("epsilon >= ")
    assert "- trials are independent" in done.out
    assert "no column 'score'" in run("estimate", path).error


@pytest.mark.parametrize("rows", [(0, 0), (5, 0), (0, 5), (1, 1)])
def test_too_few_trials_give_zero_with_a_reason(
    run: Run, tmp_path: Path, rows: tuple[int, int]
) -> None:
    path = scores(tmp_path, np.ones(rows[0]), np.zeros(rows[1]))
    found = strict(run("estimate", path, "--json").out)
    assert found["epsilon"]["lower"] == 0
    assert found["epsilon"]["reason"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--delta", "1.5"), "delta = 1.5"),
        (("--delta", "nan"), "delta = nan"),
        (("--confidence", "0.2"), "confidence = 0.2"),
    ],
)
def test_bad_options(run: Run, tmp_path: Path, options: tuple[str, str], said: str) -> None:
    path = scores(tmp_path, np.ones(5), np.zeros(5))
    assert said in run("estimate", path, *options).error


def test_nan_scores_are_counted(run: Run, tmp_path: Path) -> None:
    path = scores(tmp_path, np.array([1.0, np.nan]), np.zeros(3))
    assert "1 of 5 scores are NaN" in run("estimate", path).error
