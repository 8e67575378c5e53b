"""The curves that ``dpaudit curve`` draws, and the files it writes."""

import csv
import io
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from accountants import AnalyticGaussian
from dpaudit import Deployment
from dpaudit.errors import InputError
from dpaudit.guarantee_curves import guarantee_curves, least_type_two
from dpaudit.report.curve_files import checked_target, drawing, table, write_curves

EXAMPLE = Path(__file__).parents[2] / "examples" / "paper-eps4.toml"


@pytest.fixture(scope="module")
def curves() -> dict[str, Any]:
    return guarantee_curves(Deployment.from_toml(EXAMPLE), points=24)


def test_delta_falls_and_the_claim_lies_above_the_tight_curve(curves: dict[str, Any]) -> None:
    points = curves["delta"]
    tight = np.array([point["tight"] for point in points])
    assert np.all(np.diff(tight) <= 0)
    assert points[0]["epsilon"] == 0
    assert points[-1]["epsilon"] >= 4
    at_claim = next(point for point in points if point["epsilon"] >= 4)
    assert at_claim["tight"] < 1e-6
    # the paper says nothing below its epsilon for sampling and threshold
    assert points[0]["paper"] is None
    assert at_claim["paper"] is not None


def test_beta_is_a_trade_off_curve_above_the_papers(curves: dict[str, Any]) -> None:
    alpha, tight, paper = (
        np.array([point[key] for point in curves["beta"]]) for key in ("alpha", "tight", "paper")
    )
    assert np.all(np.diff(tight) <= 1e-15)
    assert np.all(tight <= 1 - alpha + 1e-15)
    assert np.all(tight >= paper - 1e-12)
    assert np.all(np.diff(tight, 2) >= -1e-12)  # a maximum of lines is convex


def test_least_type_two_lies_below_the_exact_gaussian_and_close() -> None:
    epsilons = np.linspace(0, 12, 400)
    deltas = AnalyticGaussian(noise_multiplier=1.0).delta(epsilons)
    alphas = np.linspace(0, 1, 101)
    exact = norm.cdf(norm.ppf(1 - alphas) - 1.0)
    found = least_type_two(alphas, epsilons=epsilons, deltas=deltas)
    assert np.all(found <= exact + 1e-15)
    assert np.max(exact - found) < 1e-4


def test_the_table_reads_back(curves: dict[str, Any]) -> None:
    rows = list(csv.DictReader(io.StringIO(table(curves))))
    assert len(rows) == len(curves["delta"]) + len(curves["beta"])
    assert float(rows[3]["tight"]) == curves["delta"][3]["tight"]
    assert rows[0]["paper"] == ""
    assert rows[-1]["curve"] == "beta(alpha)"


def test_the_drawing_is_one_plain_svg(curves: dict[str, Any]) -> None:
    text = drawing(curves)
    root = ET.fromstring(text)
    assert root.tag.endswith("svg")
    assert "var(" not in text
    assert "1e-6" in text
    assert "type I error" in text
    assert text == drawing(curves)


def test_files_are_written_whole_or_refused(curves: dict[str, Any], tmp_path: Path) -> None:
    for name in ("curve.svg", "CURVE.CSV"):
        write_curves(curves, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    for wrong in ("curve.png", "curve"):
        with pytest.raises(InputError, match=r"ends in \.svg or \.csv"):
            checked_target(tmp_path / wrong)
    with pytest.raises(InputError, match="does not exist"):
        checked_target(tmp_path / "none" / "curve.svg")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(InputError):
        write_curves(curves, tmp_path / "folder.svg")
