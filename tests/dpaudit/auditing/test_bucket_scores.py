"""The canaries' trials on the engine: the same however they are run, kept, and resumed."""

from pathlib import Path

import numpy as np
import pytest

from accountants import ExplicitDataset, FreE2TParameters
from dpaudit import Deployment, ParameterError, audit
from dpaudit.auditing.bucket_scores import TrialSettings
from dpaudit.auditing.worst_case import run_trials
from dpaudit.engine import StoreError

PARAMETERS = FreE2TParameters(
    records_max=10**6,
    embedding_dim=24,
    projection_dim=20,
    grid_edge=20**-0.5,
    sampling_rate=0.5,
    threshold=50,
    noise_std=1.14,
    radius=0.5,
)
DATASET = ExplicitDataset(parameters=PARAMETERS, distance=1.2, neighbours=100, clusters=1)


def scores(seed: int = 1, **options: object) -> list[np.ndarray]:
    found = run_trials(
        DATASET,
        trials=100_000,
        seed=np.random.SeedSequence(seed),
        settings=TrialSettings(**options),  # type: ignore[arg-type]
    ).scores
    return [found.selection_in, found.selection_out, found.bounding_in, found.bounding_out]


def test_workers_store_and_resume_change_nothing(tmp_path: Path) -> None:
    plain = scores()
    kept = scores(store=tmp_path)
    [folder] = tmp_path.iterdir()
    assert folder.name == "worst-case"
    files = sorted(folder.glob("*.parquet"))
    assert len(files) > 2
    files[1].unlink()
    others = [scores(workers=2), kept, scores(store=tmp_path, resume=True)]
    for other in others:
        assert all(np.array_equal(a, b) for a, b in zip(plain, other, strict=True))


def test_another_seed_is_another_audit(tmp_path: Path) -> None:
    scores(store=tmp_path)
    with pytest.raises(StoreError, match="has changed since"):
        scores(seed=2, store=tmp_path, resume=True)


def test_a_store_needs_a_seed_and_resuming_a_store(tmp_path: Path) -> None:
    deployment = Deployment.from_toml(Path(__file__).parents[3] / "examples" / "bundled.toml")
    with pytest.raises(ParameterError, match="resume: a store is needed"):
        audit(deployment, resume=True)
    unseeded = deployment.to_dict()
    unseeded["audit"].pop("seed", None)
    with pytest.raises(ParameterError, match="a seed is needed"):
        audit(Deployment.from_dict(unseeded), store=tmp_path)
