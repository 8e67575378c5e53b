"""JSON of a result: one object, strict JSON, nothing that a terminal would act on."""

import json
from math import inf, nan
from types import ModuleType

import numpy as np
import pytest

from dpaudit.report.json import encode, jsonable


def strict(text: str) -> object:
    def refuse(name: str) -> object:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_infinities_are_text_and_none_is_null() -> None:
    text = encode({"a": inf, "b": [-inf, None, 1e-300], "c": {"d": (1, 2.5)}})
    assert strict(text) == {"a": "inf", "b": ["-inf", None, 1e-300], "c": {"d": [1, 2.5]}}


def test_nan_and_strangers_are_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        encode({"a": {"b": [nan]}})
    with pytest.raises(TypeError, match="set has no JSON form"):
        encode({"a": {1}})
    with pytest.raises(TypeError, match="no text"):
        encode({"a": {1: 2}})


def test_numpy_values_become_plain() -> None:
    value = jsonable({"f": np.float64(0.5), "i": np.int64(3), "b": np.bool_(True), "a": np.ones(2)})
    assert value == {"f": 0.5, "i": 3, "b": True, "a": [1.0, 1.0]}
    assert [type(item) for item in value.values()] == [float, int, bool, list]
    assert jsonable(np.float32(inf)) == "inf"


def test_every_sample_is_ascii_and_comes_back(samples: ModuleType) -> None:
    for make in samples.RESULTS.values():
        text = encode(make())
        assert text.isascii()
        assert not set(text) & {chr(c) for c in range(32) if c != 10}
        assert strict(text) == jsonable(make())
