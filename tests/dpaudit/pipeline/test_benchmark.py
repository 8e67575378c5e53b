"""The benchmark runs and prints its table; times are not tested."""

from pathlib import Path

import pytest

pytest.importorskip("psutil")

from benchmarks import pipeline


def test_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = ["--records", "3000", "--dimension", "16", "--projection-dim", "4", "--rounds", "1"]
    pipeline.main([*size, "--folder", str(tmp_path)])
    out = capsys.readouterr().out
    assert "floor: read + product" in out
    assert "exact noise" in out
    assert "peak memory beyond the array" in out
    assert list(tmp_path.iterdir()) == []
