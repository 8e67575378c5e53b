"""The smallest noise for which the tight total meets a claim."""

from dataclasses import replace
from math import exp, log

from accountants import ranges
from accountants.fre_e2t import FreE2TParameters
from accountants.inversion import falling_certified
from accountants.joint_release import JointRelease
from accountants.joint_terms import Direction
from accountants.tight_total import TightTotal
from accountants.u_free import Split

_WIDTH = 1e-4  # relative, of the noise
_SPAN = 40.0  # the search covers e^-40 .. e^40 times the grid's edge


def tight_noise_std(parameters: FreE2TParameters, *, epsilon: float, delta: float) -> float:
    """Return the smallest ``noise_std`` at which the tight total is (epsilon, delta).

    Parameters
    ----------
    parameters : FreE2TParameters
        The release; its ``noise_std`` is only where the search begins.
    epsilon, delta : float
        The claim: epsilon > 0, delta in (0, 1).

    Returns
    -------
    float
        In the unit of the embeddings, within about 1e-4 relative above the smallest;
        ``inf`` if the sampled count alone already misses the claim.

    Raises
    ------
    ParameterError
        If ``epsilon`` or ``delta`` lies outside its range.
    """
    ranges.positive("epsilon", epsilon)
    ranges.open_unit("delta", delta)
    goal = log(delta)
    count = JointRelease(
        sampling_rate=parameters.sampling_rate,
        threshold=parameters.threshold,
        shift=0.0,
        others_max=parameters.records_max - 1,
    )
    if float(count.log_delta(epsilon)) > goal:
        return float("inf")
    starts: dict[Direction, Split] = {}

    def total(log_noise: float) -> TightTotal:
        return TightTotal(parameters=replace(parameters, noise_std=exp(log_noise)))

    def estimate(log_noise: float) -> float:
        return total(log_noise).estimate(epsilon, starts, level=goal) - goal + 7e-4

    least = log(parameters.grid_edge) - _SPAN
    start = parameters.noise_std
    low = log(start if 0 < start < float("inf") else parameters.grid_edge)
    step = 0.5
    while estimate(low) <= 0:
        if low < least:
            break
        low, step = low - step, 2 * step
    found = falling_certified(
        estimate,
        lambda log_noise: total(log_noise).split(epsilon, starts, level=goal).log_delta - goal,
        low=low,
        high=low + 0.5,
        limit=log(parameters.grid_edge) + _SPAN,
        tolerance=lambda _: _WIDTH,
        least=min(low, least),
    )
    return exp(found)
