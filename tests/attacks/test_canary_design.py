"""The canary designed for a number of trials: what it predicts, and that it fits the release."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants import FreE2TParameters, ParameterError, TightTotal
from accountants.ranges import Floats
from attacks import CanaryDesign, design_canary
from attacks.canary_design import likelihood_of
from dpaudit.estimators import predicted_rates


def parameters(**changes: Any) -> FreE2TParameters:
    values: dict[str, Any] = {
        "records_max": 10**6,
        "embedding_dim": 384,
        "projection_dim": 20,
        "grid_edge": 1 / 20**0.5,
        "sampling_rate": 0.3,
        "threshold": 30,
        "noise_std": 0.2136,
        "radius": 0.5,
    }
    return FreE2TParameters(**(values | changes))


BROKEN = parameters()
PUBLISHED_16 = parameters(sampling_rate=0.6, threshold=60, noise_std=0.516)


def designed(
    release: FreE2TParameters, epsilon: float, *, delta: float = 1e-6, trials: int = 50_000
) -> CanaryDesign:
    predict = partial(predicted_rates, trials=trials, tail=0.005)
    return design_canary(release, epsilon=epsilon, delta=delta, predict=predict)


def test_a_refutation_is_predicted_for_a_tenth_of_the_noise() -> None:
    found = designed(BROKEN, 4.0)
    assert found.predicted_delta > 1e-3
    assert found.predicted_epsilon > 4.0
    assert 0.3 < found.dataset.distance < 1.0
    assert found.dataset.collision_probability > 0.01


def test_the_prediction_is_that_of_the_design_s_own_rates() -> None:
    found = designed(BROKEN, 4.0)
    tpr, fpr = likelihood_of(found.dataset).add_rates([found.log_threshold])
    low, high = predicted_rates(tpr, fpr, trials=50_000, tail=0.005)
    expected = found.dataset.collision_probability * (low[0] - np.exp(4.0) * high[0])
    assert found.predicted_delta == pytest.approx(float(expected), rel=1e-12)


def test_predictions_stay_below_the_tight_total() -> None:
    found = designed(BROKEN, 4.0)
    assert found.predicted_delta < float(TightTotal(parameters=BROKEN).delta(4.0))
    assert found.predicted_epsilon < float(TightTotal(parameters=BROKEN).epsilon(1e-6))


def test_more_trials_predict_more() -> None:
    few, many = (designed(BROKEN, 4.0, trials=n).predicted_delta for n in (20_000, 10**6))
    assert few < many


def test_many_clusters_beat_one() -> None:
    """A release for few records leaves room for one cluster, which cannot show the same."""
    alone = designed(replace(BROKEN, records_max=130), 4.0)
    assert alone.dataset.clusters == 1
    assert alone.predicted_delta < 1e-6 < designed(BROKEN, 4.0).predicted_delta


def test_no_refutation_is_predicted_at_epsilon_16() -> None:
    """The published noise meets its claim, and a count of 1e7 trials could not show otherwise."""
    for trials in (50_000, 10**7):
        found = designed(PUBLISHED_16, 16.0, trials=trials)
        assert found.predicted_delta == 0
        assert found.predicted_epsilon < 16
        # a probe of the implementation is left: the bucket can be released
        assert found.dataset.neighbours >= 59


def test_nothing_to_show_is_zero_and_not_negative_zero() -> None:
    found = designed(parameters(noise_std=20.0), 4.0, trials=500)
    assert str(found.predicted_delta) == "0.0"
    assert str(found.predicted_epsilon) == "0.0"


@pytest.mark.parametrize(("epsilon", "release"), [(4.0, BROKEN), (16.0, PUBLISHED_16)])
def test_deterministic(epsilon: float, release: FreE2TParameters) -> None:
    assert designed(release, epsilon) == designed(release, epsilon)


@pytest.mark.parametrize(("records", "threshold"), [(29, 30), (1, 2), (1, 1)])
def test_no_room_for_a_bucket(records: int, threshold: int) -> None:
    with pytest.raises(ParameterError, match=f"records_max = {records}"):
        designed(parameters(records_max=records, threshold=threshold), 4.0)


def test_just_enough_room() -> None:
    found = designed(parameters(records_max=30), 4.0)
    assert (found.dataset.neighbours, found.dataset.clusters) == (29, 1)


@settings(max_examples=25)
@given(
    records=st.integers(2, 10**7),
    threshold=st.integers(1, 60),
    p=st.floats(0.01, 0.99),
    noise=st.floats(1e-3, 1e3),
    k=st.integers(1, 400),
    epsilon=st.floats(0.01, 800),
    delta=st.floats(1e-12, 0.5),
    trials=st.integers(50, 10**6),
)
def test_every_design_fits_its_release(
    records: int,
    threshold: int,
    p: float,
    noise: float,
    k: int,
    epsilon: float,
    delta: float,
    trials: int,
) -> None:
    release = parameters(
        records_max=records,
        threshold=threshold,
        sampling_rate=p,
        noise_std=noise,
        projection_dim=k,
        grid_edge=1 / k**0.5,
    )
    if records < max(threshold, 2):
        with pytest.raises(ParameterError):
            designed(release, epsilon, delta=delta, trials=trials)
        return
    found = designed(release, epsilon, delta=delta, trials=trials)
    dataset = found.dataset
    assert dataset.neighbours * dataset.clusters + 1 <= records
    assert dataset.neighbours >= max(1, threshold - 1)
    values: Floats = np.array(
        [
            found.log_threshold,
            found.predicted_delta,
            found.predicted_epsilon,
            dataset.distance,
            dataset.collision_probability,
        ]
    )
    assert np.isfinite(values).all()
    assert (values >= 0).all()
    assert found.predicted_delta <= dataset.collision_probability <= 1
