"""DP-SGD: its sampling rate, calibration, and what it is conditional on."""

from collections.abc import Callable

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from accountants.dp_sgd import DpSgd, noise_multiplier
from accountants.errors import ParameterError
from accountants.gaussian import log_hockey_stick
from accountants.subsampled_gaussian import SubsampledGaussians


def model(**changes: object) -> DpSgd:
    values: dict[str, object] = {
        "dataset_size": 1000,
        "batch_size": 32,
        "steps": 100,
        "noise_multiplier": 0.8,
    }
    return DpSgd(**(values | changes))  # type: ignore[arg-type]


def test_parity_with_dp_accounting_events() -> None:
    accountant = PLDAccountant(value_discretization_interval=1e-3)
    accountant.compose(
        SelfComposedDpEvent(PoissonSampledDpEvent(32 / 1000, GaussianDpEvent(0.8)), 100)
    )
    for delta in (1e-3, 1e-6):
        ours = float(model().guarantee().epsilon(delta))
        assert ours == pytest.approx(accountant.get_epsilon(delta), rel=1e-3)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_sampling_rate_is_never_below_batch_over_records(one: int, two: int) -> None:
    batch, size = min(one, two), max(one, two)
    rate = model(dataset_size=size, batch_size=batch).sampling_rate
    numerator, denominator = rate.as_integer_ratio()
    assert numerator * size >= batch * denominator
    assert rate <= min(batch / size * (1 + 1e-15), 1)


def test_fault_sampling_rate_off_by_the_batch_size() -> None:
    # the rate is B/n of the client's own data; 1/n or B/(all clients' records) is too good
    right = float(model().guarantee().epsilon(1e-5))
    for wrong in (model(batch_size=1), model(dataset_size=50_000)):
        assert float(wrong.guarantee().epsilon(1e-5)) < 0.5 * right
    with pytest.raises(ParameterError, match=r"batch_size = 1001: at most dataset_size = 1000"):
        model(batch_size=1001)
    # the whole data set in every batch is a Gaussian, without amplification
    everything = model(batch_size=1000)
    assert everything.sampling_rate == 1
    assert float(everything.profile.log_delta(40.0)) == pytest.approx(
        float(log_hockey_stick(40.0, 10 / 0.8)), rel=1e-9
    )


def test_fault_noise_for_a_sum_added_to_a_mean() -> None:
    # sigma C on the sum is sigma C/B on the mean
    assert noise_multiplier(noise_std=2.4, clip_norm=3) == pytest.approx(0.8)
    assert noise_multiplier(noise_std=0.075, clip_norm=3, averaged_over=32) == pytest.approx(0.8)
    # noise made for the mean, added to the sum: the privacy is gone
    little = noise_multiplier(noise_std=0.075, clip_norm=3)
    assert little == pytest.approx(0.8 / 32)
    right = float(model().guarantee().epsilon(1e-5))
    assert float(model(noise_multiplier=little).guarantee().epsilon(1e-5)) > 100 * right


def test_fault_composition_count_ignored() -> None:
    once, thrice = model(), model(rounds=3)
    assert thrice.profile == model(steps=300).profile
    assert float(thrice.profile.epsilon(1e-5)) > 1.4 * float(once.profile.epsilon(1e-5))


def test_fault_replace_one_taken_as_add_remove() -> None:
    add_remove, replace = model().guarantee(), model(relation="replace-one").guarantee()
    assert str(add_remove.adjacency) == "add-remove of 1 record"
    assert str(replace.adjacency) == "replace-one of 1 record"
    assert float(replace.epsilon(1e-5)) > 1.2 * float(add_remove.epsilon(1e-5))


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 1e-5), (7.0, 1e-5), (1500.0, 1e-300), (0.0, 1e-3)]
)
def test_calibration_is_enough_and_not_much_more(
    epsilon: float, delta: float, relation: str
) -> None:
    found = DpSgd.calibrate(
        epsilon=epsilon,
        delta=delta,
        dataset_size=1000,
        batch_size=32,
        steps=20,
        relation=relation,  # type: ignore[arg-type]
    )
    assert float(found.profile.log_delta(epsilon)) <= np.log(delta)
    less = model(
        steps=20, noise_multiplier=found.noise_multiplier * 0.999, relation=relation
    ).profile
    assert isinstance(less, SubsampledGaussians)
    assert float(less.log_delta(epsilon)) > np.log(delta)


def test_calibration_at_the_ends() -> None:
    small = DpSgd.calibrate(epsilon=1e11, delta=0.4, dataset_size=10, batch_size=5, steps=1)
    assert small.noise_multiplier == pytest.approx(1e-3)
    with pytest.raises(ParameterError, match="no noise multiplier up to"):
        DpSgd.calibrate(epsilon=0, delta=1e-12, dataset_size=10, batch_size=9, steps=1000)


def test_assumptions_are_said() -> None:
    text = " ".join(model().guarantee().assumptions)
    for word in ("on its own", "shuffled", "public", "clipped", "sum", "independent"):
        assert word in text


@pytest.mark.parametrize(
    "build",
    [
        lambda: model(dataset_size=0),
        lambda: model(batch_size=0),
        lambda: model(batch_size=1.5),
        lambda: model(steps=0),
        lambda: model(steps=10**6, rounds=100),
        lambda: model(rounds=0),
        lambda: model(noise_multiplier=0),
        lambda: model(noise_multiplier=float("inf")),
        lambda: model(relation="both"),
        lambda: noise_multiplier(noise_std=0, clip_norm=1),
        lambda: noise_multiplier(noise_std=1, clip_norm=-1),
        lambda: noise_multiplier(noise_std=1, clip_norm=1, averaged_over=0),
        lambda: DpSgd.calibrate(epsilon=-1, delta=0.1, dataset_size=10, batch_size=5, steps=1),
        lambda: DpSgd.calibrate(
            epsilon=float("inf"), delta=0.1, dataset_size=10, batch_size=5, steps=1
        ),
        lambda: DpSgd.calibrate(epsilon=1, delta=0, dataset_size=10, batch_size=5, steps=1),
    ],
)
def test_values_that_are_not_allowed(build: Callable[[], object]) -> None:
    with pytest.raises(ParameterError):
        build()
