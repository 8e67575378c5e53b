"""What the tests of subsampled gaussian share: cases, strategies and plain evaluations."""

import mpmath as mp
import numpy as np
from hypothesis import strategies as st

from accountants.composed_loss import composed_loss, exponent_at, rounded_floor
from accountants.connect_the_dots import Direction
from accountants.subsampled_gaussian import GaussianSteps, SubsampledGaussians
from tests.accountants.oracles import hockey_stick

WAYS: tuple[Direction, ...] = ("remove", "add", "replace")
multipliers = st.floats(-1.2, 2.5).map(lambda x: float(np.exp(x)))


def sampled(
    rate: float, multiplier: float, count: int, relation: str = "add-remove", release: float = 0.0
) -> SubsampledGaussians:
    step = GaussianSteps(sampling_rate=rate, noise_multiplier=multiplier, count=count)
    return SubsampledGaussians(
        steps=(step,),
        relation="replace-one" if relation == "replace" else "add-remove",
        release_shift=release,
    )


def on_grid(parts: tuple[tuple[float, float, int], ...], way: Direction, epsilon: float) -> float:
    """Return ln delta by the grid, also where there is a closed form."""
    place, estimate = exponent_at(parts, way, epsilon)
    return composed_loss(parts, way, place, rounded_floor(estimate)).log_delta(epsilon)


def typical(rate: float, multiplier: float, count: int, place: float) -> float:
    """Return an epsilon some standard deviations from the mean, were the loss a Gaussian's."""
    shift = rate / multiplier * np.sqrt(count)
    return float(shift * place + shift**2 / 2)


# --- one step, exact ----------------------------------------------------------------------------


def one_step(rate: float, shift: float, epsilon: float, way: Direction) -> mp.mpf:
    """Return delta of one step at any real epsilon, at the working precision."""
    q, mu, growth = mp.mpf(rate), mp.mpf(shift), mp.exp(mp.mpf(epsilon))
    if way == "remove":
        if growth <= 1 - q:
            return 1 - growth
        return q * hockey_stick(mp.log1p((growth - 1) / q), mu)
    if way == "add":
        part = 1 - (1 - q) * growth
        return part * hockey_stick(mp.log(growth * q / part), mu) if part > 0 else mp.mpf(0)
    # the loss rises with the place: a half-line, found from its closed form
    scale = (1 - q) / q * mp.exp(mu**2 / 2)
    half = mp.mpf(epsilon) / 2
    x = (half + mp.asinh(scale * mp.sinh(half))) / mu

    def above(mean: mp.mpf) -> mp.mpf:
        return mp.erfc((x - mean) / mp.sqrt(2)) / 2

    own, other = above(mu), above(-mu)
    return (1 - q) * above(mp.mpf(0)) * (1 - growth) + q * own - growth * q * other
