"""From a deployment to its records."""

from pathlib import Path
from typing import Any

import pytest

from dpaudit import Deployment
from dpaudit.data.load import load_records
from dpaudit.errors import DataError


def deployment(folder: Path, *, records_max: int = 100, **data: Any) -> Deployment:
    tables: dict[str, Any] = {
        "deployment": {"name": "test", "system": "fre-e2t"},
        "claim": {"epsilon": 4.0, "delta": 1e-6, "adjacency": "add-remove", "view": "public"},
        "fre_e2t": {
            "records_max": records_max,
            "embedding_dim": 384,
            "projection_dim": 20,
            "radius": 0.5,
            "sampling_rate": 0.3,
            "threshold": 30,
            "noise_std": 2.136,
        },
    }
    if data:
        tables["data"] = data
    return Deployment.from_dict(tables, directory=folder, source="x.toml")


def test_paths_count_from_the_folder_of_the_deployment_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\nb\na\n")
    corpus, records = load_records(deployment(tmp_path, texts="a.txt"))
    assert corpus.texts == ("a", "b", "a")
    assert records.rows.tolist() == [0, 1, 0]
    _, simulated = load_records(deployment(tmp_path, texts="a.txt", population=50, zipf=0.5))
    assert (simulated.records, simulated.simulated, simulated.zipf) == (50, True, 0.5)


def test_more_records_than_records_max(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\nb\nc\n")
    with pytest.raises(DataError, match=r"^x\.toml: number of texts = 3: at most .* = 2 is"):
        load_records(deployment(tmp_path, records_max=2, texts="a.txt"))
    with pytest.raises(DataError, match=r"\[data\] population = 3: at most .* = 2 is needed"):
        load_records(deployment(tmp_path, records_max=2, texts="a.txt", population=3))


def test_data_is_needed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x\.toml: a \[data\] section that names texts is needed"):
        load_records(deployment(tmp_path))
