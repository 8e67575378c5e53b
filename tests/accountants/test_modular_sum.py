"""The bit width of a modular sum, against enumeration and simulated rotations."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import hadamard

from accountants import ParameterError
from accountants.conditional_rounding import rounded_sensitivity
from accountants.modular_sum import ModularSum, coarsest_granularity, finest_granularity

Floats = NDArray[np.float64]


def plan(**changes: Any) -> ModularSum:
    values: dict[str, Any] = {
        "contributors": 30,
        "clip_norm": 1.0,
        "granularity": 2.0**-10,
        "local_noise_std": 2.136 / np.sqrt(30),
        "dimension": 1024,
    }
    return ModularSum(**(values | changes))


def noise_sum(scale: float, count: int) -> tuple[NDArray[np.int64], Floats]:
    reach = int(13 * scale) + 6
    x = np.arange(-reach, reach + 1)
    one = np.exp(-x * x / (2 * scale * scale))
    one /= one.sum()
    total = one
    for _ in range(count - 1):
        total = np.convolve(total, one)
    middle = len(total) // 2
    return np.arange(-middle, middle + 1), total


# --- against enumeration ------------------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(0.3, 5), st.integers(1, 6), st.integers(0, 6), st.integers(2, 9))
def test_never_below_the_enumerated_probability(
    scale: float, count: int, size: int, bits: int
) -> None:
    """All vectors at the clip norm, one coordinate, both signs."""
    ours = ModularSum(
        contributors=count,
        clip_norm=float(size),
        granularity=1.0,
        local_noise_std=scale,
        dimension=1,
    )
    x, p = noise_sum(scale, count)
    half = 2 ** (bits - 1)
    for sign in (1, -1):
        total = x + sign * count * size
        truth = p[(total >= half) | (total < -half)].sum()
        assert ours.failure(bits) >= truth - 1e-14


def test_close_to_the_enumerated_probability() -> None:
    """The sub-Gaussian tail loses a factor that is polynomial, not a bit."""
    scale, count, size = 3.0, 5, 4
    ours = ModularSum(
        contributors=count,
        clip_norm=float(size),
        granularity=1.0,
        local_noise_std=scale,
        dimension=1,
    )
    x, p = noise_sum(scale, count)
    truth = p[x + count * size >= 64].sum()
    assert truth <= ours.failure(7) <= 40 * truth


@pytest.mark.parametrize("units", [3, 4])
def test_fault_wrap_at_the_integer_limit(units: int) -> None:
    """With 4 bits, 7 fits and 8 wraps; noise of 0.01 units is 0 but for e^-1000."""
    ours = ModularSum(
        contributors=1 if units == 3 else 2,
        clip_norm=7.0 if units == 3 else 4.0,
        granularity=1.0,
        local_noise_std=0.01,
        dimension=1,
    )
    assert ours.failure(4) == (5e-324 if units == 3 else 1.0)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5])
def test_wrapping_costs_no_privacy(epsilon: float) -> None:
    """Post-processing: the hockey-stick modulo 8 is at most that of the sum itself."""
    x, p = noise_sum(2.0, 3)
    before = np.zeros(8), np.zeros(8)
    np.add.at(before[0], (x + 3) % 8, p)
    np.add.at(before[1], x % 8, p)
    wrapped = np.maximum(before[0] - np.exp(epsilon) * before[1], 0).sum()
    pad = np.zeros(3)
    first, second = np.concatenate([pad, p]), np.concatenate([p, pad])
    assert wrapped <= np.maximum(first - np.exp(epsilon) * second, 0).sum()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.integers(1, 10**6),
    st.floats(0, 5),
    st.floats(0.01, 2),
    st.floats(0.01, 3),
    st.integers(1, 4096),
    st.integers(4, 40),
    st.sampled_from([None, "independent", "shared dither", "conditional"]),
)
def test_certified(
    n: int, c: float, g: float, sigma: float, d: int, bits: int, rounding: Any
) -> None:
    """The formulas at 50 digits; a coordinate of c/g units is rounded up to the next unit."""
    ours = ModularSum(
        contributors=n,
        clip_norm=c,
        granularity=g,
        local_noise_std=sigma,
        dimension=d,
        rotated=rounding is not None,
        rounding=rounding or "independent",
        rounding_bias=0.4,
    )
    with mp.workdps(50):
        size, noise = mp.mpf(c) / g, n * (mp.mpf(sigma) / g) ** 2
        spread, half = (n * size) ** 2 / d, mp.mpf(2) ** (bits - 1)

        def tail(room: Any, variance: Any) -> Any:
            return mp.log(2 * d) - room**2 / (2 * variance) if room > 0 else mp.mpf(0)

        truth = min(mp.mpf(0), tail(half - n * mp.ceil(size), noise))
        if rounding is not None:
            truth = min(truth, tail(half - n, spread + noise))
        if rounding in ("independent", "conditional"):
            accepted = mp.mpf(1) if rounding == "independent" else 1 - mp.mpf(0.4)
            truth = min(truth, tail(half, spread + noise + mp.mpf(n) / 4) - n * mp.log(accepted))
        value = ours.log_failure(bits)
        assert truth <= value <= truth + mp.mpf("1e-6") * (1 + abs(truth))


def test_every_rounded_coordinate_is_counted() -> None:
    """Norm 2.5 may round to 3 units a vector: three of them make 9, and 5 bits hold 15."""
    ours = ModularSum(
        contributors=3, clip_norm=2.5, granularity=1.0, local_noise_std=1.0, dimension=1
    )
    x, p = noise_sum(1.0, 3)
    assert ours.failure(5) >= p[x + 9 >= 16].sum()
    assert ours.failure(5) < 1
    assert ours.failure(4) == 1  # 9 does not fit


# --- rotated ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounding", ["independent", "shared dither"])
@pytest.mark.parametrize("worst", [True, False])
def test_rotated_never_below_the_simulated_share(rounding: Any, worst: bool) -> None:
    """Hoeffding with 4000 sums: errs with probability below 1e-6."""
    generator = np.random.default_rng(5)
    count, d, g, scale, trials = 20, 16, 0.05, 2.0, 4000
    rotation = hadamard(d) / np.sqrt(d)
    x = np.ones((count, d)) / np.sqrt(d) if worst else generator.normal(size=(count, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    ours = ModularSum(
        contributors=count,
        clip_norm=1.0,
        granularity=g,
        local_noise_std=scale * g,
        dimension=d,
        rotated=True,
        rounding=rounding,
    )
    grid = np.arange(-40, 41)
    one = np.exp(-grid * grid / (2 * scale * scale))
    one /= one.sum()
    signs = generator.choice([-1.0, 1.0], size=(trials, d))
    turned = (x[None] * signs[:, None]) @ rotation / g
    many = generator.uniform(size=(trials, 1 if rounding == "shared dither" else count, d))
    total = np.floor(turned + many).sum(axis=1)
    total += generator.choice(grid, p=one, size=(trials, d, count)).sum(axis=2)
    for bits in (8, 9, 10):
        half = 2 ** (bits - 1)
        share = ((total >= half) | (total < -half)).any(axis=1).mean()
        room = np.sqrt(np.log(1e7) / (2 * trials))
        assert share - room <= ours.failure(bits)
    assert ours.failure(ours.smallest_bits()) <= 1e-4


def test_rotation_saves_bits() -> None:
    """Fre-E2T's first configuration: 17 bits in the worst case, 15 after a rotation."""
    assert plan().smallest_bits() == 17
    assert plan(rotated=True).smallest_bits() == 15
    assert plan(rotated=True, rounding="conditional").smallest_bits() == 15
    assert plan(rotated=True, rounding="shared dither").smallest_bits() == 15


# --- bit width and granularity ------------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.integers(1, 10**7),
    st.floats(0, 10),
    st.floats(-12, 0),
    st.floats(-6, 3),
    st.integers(1, 4096),
    st.booleans(),
    st.floats(-20, -0.5),
)
def test_smallest_bits_and_monotone(
    n: int, c: float, log_g: float, log_s: float, d: int, rotated: bool, log_fail: float
) -> None:
    values: dict[str, Any] = {
        "contributors": n,
        "clip_norm": c,
        "granularity": float(np.exp(log_g)),
        "local_noise_std": float(np.exp(log_s)),
        "dimension": d,
    }
    goal = float(np.exp(log_fail))
    ours = ModularSum(**values, rotated=rotated)
    bits = ours.smallest_bits(failure=goal)
    assert ours.failure(bits) <= goal
    assert bits == 1 or ours.failure(bits - 1) > goal
    assert ours.log_failure(bits + 1) <= ours.log_failure(bits) <= 0
    assert ModularSum(**values, rotated=True).log_failure(bits) <= ModularSum(**values).log_failure(
        bits
    )
    for name, value in (("contributors", n + 1), ("clip_norm", c + 0.1), ("dimension", 2 * d)):
        if name != "dimension" or not rotated:  # more coordinates flatten further
            more = ModularSum(**(values | {name: value}), rotated=rotated)
            assert more.log_failure(bits) >= ours.log_failure(bits) - 1e-9


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(-6, 3),
    st.integers(1, 5000),
    st.floats(-12, 1),
    st.sampled_from(["conditional", "independent", "shared dither"]),
    st.booleans(),
)
def test_coarsest_granularity(
    log_bound: float, d: int, log_inflation: float, rounding: Any, power: bool
) -> None:
    bound, inflation = float(np.exp(log_bound)), float(np.exp(log_inflation))
    found = coarsest_granularity(
        bound=bound,
        dimension=d,
        local_noise_std=0.4,
        inflation=inflation,
        rounding=rounding,
        least_scale=2.0,
        power_of_two=power,
    )

    def met(g: float) -> bool:
        inflated = rounded_sensitivity(bound=bound, granularity=g, dimension=d, rounding=rounding)
        return inflated <= bound * (1 + inflation) and 0.4 / g >= 2.0

    assert met(found)
    assert not met(2 * found if power else found * (1 + 1e-8))
    assert not power or np.log2(found) == np.round(np.log2(found))


@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize(("n", "bits"), [(30, 18), (1000, 24), (10**5, 30)])
def test_finest_granularity(n: int, bits: int, power: bool, rotated: bool) -> None:
    values: dict[str, Any] = {
        "contributors": n,
        "clip_norm": 1.0,
        "local_noise_std": 0.4,
        "dimension": 1024,
        "rotated": rotated,
    }
    found = finest_granularity(**values, bits=bits, power_of_two=power)
    assert ModularSum(**values, granularity=found).failure(bits) <= 1e-4
    below = found / 2 if power else found * (1 - 1e-8)
    assert ModularSum(**values, granularity=below).failure(bits) > 1e-4
    assert 0.4 / found >= 0.5
    assert not power or np.log2(found) == np.round(np.log2(found))


def test_too_few_bits_are_refused() -> None:
    with pytest.raises(ParameterError, match="bits = 6: too few"):
        finest_granularity(
            bits=6, contributors=10**4, clip_norm=1.0, local_noise_std=0.4, dimension=1024
        )
    with pytest.raises(ParameterError, match="no bit width"):
        plan(clip_norm=1e95, granularity=1.0).smallest_bits()


# --- ranges -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [1e-300, 1e-9, 1.0, 1e90])
@pytest.mark.parametrize("g", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("rounding", ["conditional", "independent", "shared dither"])
def test_extremes(sigma: float, g: float, rotated: bool, rounding: Any) -> None:
    for n, c in ((1, 0.0), (10**15, 1.0), (3, 1e80)):
        ours = plan(
            contributors=n,
            clip_norm=c,
            granularity=g,
            local_noise_std=sigma,
            rotated=rotated,
            rounding=rounding,
        )
        values = [ours.failure(bits) for bits in (1, 2, 16, 64, 300)]
        assert all(0 <= value <= 1 for value in values)
        assert values == sorted(values, reverse=True)
        assert not any(np.isnan(ours.log_failure(bits)) for bits in (1, 64, 300))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("contributors", 0),
        ("contributors", 10**16),
        ("clip_norm", -1.0),
        ("clip_norm", np.nan),
        ("clip_norm", 1e200),
        ("granularity", 0.0),
        ("local_noise_std", 0.0),
        ("local_noise_std", np.inf),
        ("dimension", 0),
        ("rounding", "none"),
        ("rounding_bias", 1.0),
    ],
)
def test_refused(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=r"= .*needed"):
        plan(**{name: value})


def test_refused_elsewhere() -> None:
    for bits in (0, 301, 1.5, True):
        with pytest.raises(ParameterError, match="bits"):
            plan().failure(bits)
    for failure in (0.0, 1.0, np.nan):
        with pytest.raises(ParameterError, match="failure"):
            plan().smallest_bits(failure=failure)
    values: dict[str, Any] = {"bound": 1.0, "dimension": 4, "local_noise_std": 1.0}
    for changes in (
        {"inflation": 0.0},
        {"inflation": np.nan},
        {"inflation": 0.1, "bound": 0.0},
        {"inflation": 0.1, "least_scale": 0.0},
        {"inflation": 0.1, "bound": 1e-300},
    ):
        with pytest.raises(ParameterError):
            coarsest_granularity(**(values | changes))
