"""Every accountant over the whole range of its parameters: finite, inf or a one-line refusal.

Never a NaN, a negative value, a delta above 1, an epsilon that grows with delta, or a warning,
which pytest turns into an error. Cases are chosen to be fast; none is timed.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, Protocol

import numpy as np
import pytest
from numpy.typing import ArrayLike

from accountants import (
    AnalyticGaussian,
    FreE2TParameters,
    GridCollision,
    JointRelease,
    PaperTotal,
    ParameterError,
    SampleThreshold,
    SampleThresholdPaper,
    TightTotal,
)
from accountants.discrete_closeness import CloseProfile, DirectDistributedGaussian
from accountants.distributed_gaussian import DistributedGaussian
from accountants.distributed_total import DistributedNoise, DistributedTotal
from accountants.double_geometric import TruncatedDoubleGeometric
from accountants.dummy_tags import DummyTags
from accountants.noise_growth import NoiseGrowth
from accountants.noisy_votes import GaussianRelease
from accountants.ranges import Floats
from accountants.replace_in_bucket import ReplaceInBucket
from accountants.replace_one import CoinChain
from accountants.tag_padding import TagPadding
from accountants.zcdp import ZeroConcentrated

EPSILONS = (0.0, 5e-324, 1e-9, 1e-3, 1.0, 10.0, 709.0, 710.0, 1500.0, 1e308, np.inf)
DELTAS = (0.0, 5e-324, 1e-300, 1e-100, 1e-6, 0.5, 1 - 2**-53, 1.0)
FEW_EPSILONS = (0.0, 1.0, 1500.0, np.inf)
FEW_DELTAS = (0.0, 1e-300, 1e-6, 0.5, 1.0)
RATES = (1e-9, 0.5, 1 - 1e-9, 1.0)
SCALES = (0.0, 1e-6, 1.0, 1e6, np.inf)

Build = Callable[[], Any]
Case = tuple[str, Build]


class Curve(Protocol):
    """What all of them offer."""

    def delta(self, epsilon: ArrayLike) -> Floats: ...

    def epsilon(self, delta: ArrayLike) -> Floats: ...


def built(build: Build) -> Any:
    """Return the accountant, or None where its parameters are refused in one line."""
    try:
        return build()
    except ParameterError as refusal:
        line = str(refusal)
        assert line
        assert "\n" not in line
        assert "need" in line or "supported" in line
        return None


def check_delta(curve: Any, epsilons: tuple[float, ...], *, silent: bool = False) -> None:
    """Values in [0, 1] that fall in epsilon; their logarithms agree; NaN only where ``silent``."""
    deltas = np.asarray(curve.delta(np.array(epsilons)))
    assert deltas.shape == (len(epsilons),)
    if silent:
        deltas = deltas[~np.isnan(deltas)]
    assert not np.isnan(deltas).any()
    assert np.all((deltas >= 0) & (deltas <= 1))
    # certified searches are close to their own tolerance, 2e-7 for J, 2e-3 for totals
    assert np.all(deltas[1:] <= deltas[:-1] * (1 + 3e-3) + 1e-300)
    if hasattr(curve, "log_delta") and not silent:
        logs = np.asarray(curve.log_delta(np.array(epsilons)))
        assert not np.isnan(logs).any()
        assert np.all(logs <= 0)


def check_epsilon(curve: Any, deltas: tuple[float, ...]) -> None:
    """Values from 0 to inf that fall in delta; 0 at delta = 1."""
    epsilons = np.asarray(curve.epsilon(np.array(deltas)))
    assert epsilons.shape == (len(deltas),)
    assert not np.isnan(epsilons).any()
    assert np.all(epsilons >= 0)
    with np.errstate(invalid="ignore"):
        assert np.all(
            (epsilons[1:] <= epsilons[:-1] * (1 + 1e-2) + 1e-6) | (epsilons[:-1] == np.inf)
        )


def refuses(curve: Any) -> None:
    for wrong in (-1e-300, -np.inf, np.nan):
        with pytest.raises(ParameterError, match="epsilon = "):
            curve.delta(wrong)
        with pytest.raises(ParameterError, match="delta = "):
            curve.epsilon(wrong)
    with pytest.raises(ParameterError, match="delta = "):
        curve.epsilon(1.1)


# --- closed forms and single sums: every point ----------------------------------------------------


def closed_forms() -> Iterator[Case]:
    for scale in (0.0, 5e-324, 1e-6, 0.1, 1.0, 1e6, 1e300, np.inf):
        yield f"gaussian {scale}", lambda s=scale: AnalyticGaussian(noise_multiplier=s)
        yield f"release {scale}", lambda s=scale: GaussianRelease(sensitivity=1.0, noise_std=s)
        yield f"zcdp {scale}", lambda s=scale: ZeroConcentrated(rho=s)
        if scale < 1e6:
            yield (
                f"close {scale}",
                lambda s=scale: CloseProfile(base=ZeroConcentrated(rho=0.1), slack=s),
            )
    for p, tau in product(RATES, (1, 2, 50, 10**6)):
        yield (
            f"paper {p} {tau}",
            lambda p=p, t=tau: SampleThresholdPaper(sampling_rate=p, threshold=t),
        )
    for p, tau, decay, shift in product(RATES, (1, 10**6), (1e-12, 1.0, 1e3), (0, 9, 10**9)):
        yield (
            f"dummies {p} {tau} {decay} {shift}",
            lambda p=p, t=tau, d=decay, s=shift: DummyTags(
                decay=d, shift=s, threshold=t, sampling_rate=p
            ),
        )
    for decay, shift, change in product((1e-12, 1.0, 1e3), (0, 9, 10**9), (1, 10, 10**9)):
        yield (
            f"geometric {decay} {shift} {change}",
            lambda d=decay, s=shift, c=change: TruncatedDoubleGeometric(
                decay=d, shift=s, sensitivity=c
            ),
        )


@pytest.mark.parametrize("case", list(closed_forms()), ids=lambda case: case[0])
def test_closed_forms(case: Case) -> None:
    curve = built(case[1])
    if curve is None:
        return
    check_delta(curve, EPSILONS)
    check_epsilon(curve, DELTAS)
    refuses(curve)


# --- one bucket -----------------------------------------------------------------------------------


def buckets() -> Iterator[Case]:
    for p, tau, shift in product(RATES, (1, 2, 50), (0.0, 1e-6, 1.0, 1e6, np.inf)):
        for others in (None, 0, 49):
            if p == 1e-9 and tau == 50 and others is None:
                continue  # some seconds each
            at = {"sampling_rate": p, "threshold": tau, "others": others}
            yield (
                f"joint {p} {tau} {shift} {others}",
                lambda a=at, s=shift: JointRelease(shift=s, **a),
            )
    for p, tau in product(RATES, (1, 50)):
        if p == 1e-9 and tau == 50:
            continue
        yield f"counts {p} {tau}", lambda p=p, t=tau: SampleThreshold(sampling_rate=p, threshold=t)
        yield (
            f"chain {p} {tau}",
            lambda p=p, t=tau: CoinChain(
                base=SampleThresholdPaper(sampling_rate=p, threshold=t), sampling_rate=p
            ),
        )
        for shift in (0.0, 1.0, np.inf):
            for colluders in (0, 1):
                yield (
                    f"padded {p} {tau} {shift} {colluders}",
                    lambda p=p, t=tau, s=shift, c=colluders: JointRelease(
                        sampling_rate=p,
                        threshold=max(t - c, 1),
                        shift=s,
                        padding=TagPadding(
                            dummies=DummyTags(decay=1.0, shift=9, threshold=t), threshold=t
                        ),
                    ),
                )
            yield (
                f"growing {p} {tau} {shift}",
                lambda p=p, t=tau, s=shift: JointRelease(
                    sampling_rate=p,
                    threshold=t,
                    shift=s,
                    growth=NoiseGrowth(threshold=t, most=10**12, loss=0.5),
                ),
            )


@pytest.mark.parametrize("case", list(buckets()), ids=lambda case: case[0])
def test_buckets(case: Case) -> None:
    curve = built(case[1])
    if curve is None:
        return
    check_delta(curve, FEW_EPSILONS)
    check_epsilon(curve, FEW_DELTAS)


def large_thresholds() -> Iterator[Case]:
    for p in (0.5, 1 - 1e-9):
        yield (
            f"many {p}",
            lambda p=p: JointRelease(sampling_rate=p, threshold=50, shift=1.0, others=10**12),
        )
    for p, shift in product((1e-9, 0.5, 1 - 1e-9), (1.0,)):
        yield (
            f"joint {p} {shift}",
            lambda p=p, s=shift: JointRelease(
                sampling_rate=p, threshold=10**6, shift=s, others=int(10**6 / p)
            ),
        )
        yield (
            f"padded {p} {shift}",
            lambda p=p, s=shift: JointRelease(
                sampling_rate=p,
                threshold=10**6,
                shift=s,
                others=10**12,
                padding=TagPadding(dummies=DummyTags(decay=1.0, shift=9, threshold=10**6)),
            ),
        )


@pytest.mark.parametrize("case", list(large_thresholds()), ids=lambda case: case[0])
def test_large_thresholds(case: Case) -> None:
    check_delta(case[1](), (1e-3, np.inf))


def replaced() -> Iterator[Case]:
    for p, tau, shift in product(RATES, (1, 50), (0.0, 1.0, np.inf)):
        yield (
            f"replaced {p} {tau} {shift}",
            lambda p=p, t=tau, s=shift: ReplaceInBucket(
                sampling_rate=p, threshold=t, shift=s, others=60
            ),
        )


@pytest.mark.parametrize("case", list(replaced()), ids=lambda case: case[0])
def test_replaced_in_a_bucket(case: Case) -> None:
    curve = built(case[1])
    if curve is not None:
        check_delta(curve, FEW_EPSILONS)


# --- shared discrete noise ------------------------------------------------------------------------


def shared() -> Iterator[Case]:
    for noise, step, n in product((1e-6, 1.0, 1e6), (1e-9, 1.0), (1, 10**12)):
        at = {"granularity": step, "local_noise_std": noise, "contributors": n, "dimension": 1024}
        yield (
            f"direct {noise} {step} {n}",
            lambda a=at: DirectDistributedGaussian(sensitivity=1.0, **a),
        )
        yield f"kls {noise} {step} {n}", lambda a=at: DistributedGaussian(bound=1.0, **a)


@pytest.mark.parametrize("case", list(shared()), ids=lambda case: case[0])
def test_shared_noise(case: Case) -> None:
    curve = built(case[1])
    if curve is None:
        return
    check_delta(curve, FEW_EPSILONS)
    check_epsilon(curve, (0.0, 1e-6, 1.0))


# --- whole releases -------------------------------------------------------------------------------


def release(**changes: Any) -> FreE2TParameters:
    values: dict[str, Any] = {
        "records_max": 10**6,
        "embedding_dim": 768,
        "projection_dim": 20,
        "grid_edge": 0.2236,
        "sampling_rate": 0.5,
        "threshold": 50,
        "noise_std": 1.0,
        "radius": 0.5,
        "sensitivity_ratio": 2.4,
        "budget_factor": 4,
    }
    return FreE2TParameters(**(values | changes))


CHANGES: tuple[dict[str, Any], ...] = (
    *({"sampling_rate": p} for p in RATES[1:]),
    *({"noise_std": s} for s in SCALES),
    *({"threshold": t} for t in (1, 2)),
    *({"records_max": n} for n in (1, 49, 50, 10**12)),
    *({"grid_edge": x} for x in (1e-9, 1e9)),
    {"projection_dim": 1},
    {"lattice_step": 1e6},
    {"sampling_rate": 1.0, "records_max": 1},
)


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_tight_totals(changes: dict[str, Any]) -> None:
    check_delta(TightTotal(parameters=release(**changes)), (0.0, np.inf))


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_paper_totals(changes: dict[str, Any]) -> None:
    """The paper says nothing below its own epsilon: NaN there, and nowhere else."""
    total = built(lambda: PaperTotal(parameters=release(**changes)))
    if total is None:
        return
    least = total.terms.epsilon_fre
    check_delta(total, EPSILONS, silent=True)
    if np.isfinite(least):
        assert not np.isnan(total.delta([least, least + 1, np.inf])).any()
    check_epsilon(total, DELTAS)


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_padded_totals(changes: dict[str, Any]) -> None:
    threshold = changes.get("threshold", 50)
    padding = TagPadding(dummies=DummyTags(decay=1.0, shift=9, threshold=threshold))
    check_delta(TightTotal(parameters=release(**changes), padding=padding), (1.0, np.inf))


@pytest.mark.parametrize("step", [1e-9, 2.0**-10, 1.0, 1e6])
@pytest.mark.parametrize("way", ["threshold", "count"])
@pytest.mark.parametrize("noise_std", [1e-6, 1.0, 1e6])
def test_distributed_totals(step: float, way: str, noise_std: float) -> None:
    total = built(
        lambda: DistributedTotal(
            parameters=release(noise_std=noise_std),
            noise=DistributedNoise(granularity=step, local_noise=way),  # type: ignore[arg-type]
            colluders=7,
        )
    )
    if total is not None:
        check_delta(total, (1.0, np.inf))


@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 1500.0])
def test_tight_total_between(epsilon: float) -> None:
    check_delta(TightTotal(parameters=release()), (epsilon,))


@pytest.mark.parametrize("changes", [{}, {"noise_std": 1e6}, {"records_max": 10}], ids=str)
def test_epsilon_of_totals(changes: dict[str, Any]) -> None:
    check_epsilon(TightTotal(parameters=release(**changes)), (0.0, 1e-300, 0.5, 1.0))


# --- the grid -------------------------------------------------------------------------------------


@pytest.mark.parametrize("edge", [5e-324, 1e-300, 1e-6, 1.0, 1e300])
@pytest.mark.parametrize("dim", [1, 20, 10**6])
def test_grids(edge: float, dim: int) -> None:
    grid = built(lambda: GridCollision(edge=edge, projection_dim=dim))
    if grid is None:
        return
    distances = np.array([0.0, 5e-324, 1e-300, 1e-6, 1.0, 1e6, 1e300, np.inf])
    for values in (grid.log_probability(distances), grid.log_probability_down(distances)):
        assert not np.isnan(values).any()
        assert np.all(values <= 0)
    assert np.all(grid.log_probability(distances) >= grid.log_probability_down(distances))
    chances = grid.probability(distances)
    assert np.all((chances >= 0) & (chances <= 1))
    assert np.all(np.diff(chances) <= 1e-12)
