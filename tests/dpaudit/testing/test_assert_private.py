"""``assert_private``: catches what breaks its claim, and nothing else."""

from typing import Any

import numpy as np
import pytest

from dpaudit.engine import PerTrial
from dpaudit.errors import ParameterError
from dpaudit.testing import assert_private
from dpaudit.testing.callables import as_callable_mechanism


def response(bit: bool, trials: int, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(bit ^ (rng.random(trials) < 0.25))


def one(bit: bool, rng: np.random.Generator) -> bool:
    return bool(bit ^ (rng.random() < 0.25))


@pytest.mark.parametrize("mechanism", [response, one, PerTrial(one)])
def test_a_kept_claim_passes_and_a_broken_one_fails(mechanism: Any) -> None:
    setting = {"data_in": True, "data_out": False, "trials": 20_000}
    result = assert_private(mechanism, epsilon=np.log(3), **setting)
    assert 0.9 < result.epsilon <= np.log(3)
    with pytest.raises(AssertionError) as caught:
        assert_private(mechanism, epsilon=0.8, **setting)
    text = str(caught.value)
    assert "\n" not in text
    for part in (
        "the claim epsilon = 0.8",
        "is refuted",
        "at most 1e-06",
        "seed=0",
        "trials=20000",
    ):
        assert part in text


def test_a_function_with_randomness_of_its_own() -> None:
    rng = np.random.default_rng(0)

    def mechanism(bit: bool) -> bool:
        return bool(bit ^ (rng.random() < 0.25))

    assert_private(mechanism, epsilon=np.log(3), data_in=True, data_out=False, trials=5000)


def test_pairs_share_the_error_and_the_worst_is_named() -> None:
    pairs = [(False, False), (True, False)]
    result = assert_private(response, epsilon=np.log(3), pairs=pairs, trials=20_000)
    assert result.epsilon > 0.9
    assert result.confidence == pytest.approx(1 - 5e-7, abs=1e-12)
    with pytest.raises(AssertionError, match="pair 1 of 2"):
        assert_private(response, epsilon=0.5, pairs=pairs, trials=20_000)


def test_the_same_outcome_every_time() -> None:
    setting = {"epsilon": 2.0, "data_in": True, "data_out": False, "trials": 5000}
    first, second = (assert_private(response, **setting).epsilon for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mechanism": 3}, "a callable is needed"),
        ({"mechanism": lambda: 0}, "takes 0 arguments"),
        ({"mechanism": lambda *data: 0}, "f\\(data\\)"),
        ({"form": "blocks"}, "form = 'blocks'"),
        ({"error": 0}, "error = 0"),
        ({"epsilon": -1}, "epsilon = -1"),
        ({"pairs": []}, "at least one pair"),
        ({"pairs": [(0, 1)], "data_in": 1}, "one or the other"),
    ],
)
def test_refused(changes: dict[str, Any], said: str) -> None:
    setting = {"mechanism": response, "epsilon": 1.0, **changes}
    if "pairs" not in changes:
        setting |= {"data_in": True, "data_out": False}
    with pytest.raises(ParameterError, match=said):
        assert_private(setting.pop("mechanism"), **setting)


def test_forms() -> None:
    assert as_callable_mechanism(response).seedable
    assert as_callable_mechanism(one).seedable
    assert not as_callable_mechanism(lambda data: data).seedable
    assert as_callable_mechanism(lambda data, scale=2: data, form="unseeded").preferred_block
