"""The jobs of :mod:`benchmarks.composition`: one number each, by an accountant and by a peer."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any

from accountants import (
    AnalyticGaussian,
    FreE2TParameters,
    JointRelease,
    SampleThreshold,
    TightTotal,
    tight_noise_std,
)
from accountants.composition import ComposedProfile
from accountants.distributed_gaussian import DistributedGaussian
from accountants.dp_sgd import DpSgd
from accountants.dummy_tags import DummyTags, calibrate_dummies
from accountants.group_release import GroupRelease
from accountants.noisy_votes import GaussianRelease
from accountants.profile import PrivacyProfile
from accountants.server_views import synthesis_server_view
from accountants.trade_off import TradeOff
from accountants.zcdp import ZeroConcentrated
from benchmarks import composition_peers as peers
from benchmarks.accountants import PAPER, parameters
from benchmarks.composition_peers import ALPHAS, DELTA, RATE, SHIFT

_SIZES = 10  # where the loop is slow, every tenth size is looked at


@dataclass(frozen=True, kw_only=True)
class Job:
    """One number, computed by an accountant and perhaps by a peer.

    Parameters
    ----------
    name : str
        Of the job, unique.
    ours, peer : callable
        Return the number.
    peer_name : str
        What the peer is.
    times : int
        By how much the peer's time is multiplied, where it does a part of the job only.
    goal_seconds, goal_ratio : float
        What is aimed at: our time, and the peer's time over ours.
    peer_is_library : bool
        Whether the peer's memory is worth knowing.
    prepare : callable, optional
        Called first; neither timed nor counted as memory.
    """

    name: str
    ours: Callable[[], float]
    peer: Callable[[], float] | None = None
    peer_name: str = ""
    times: int = 1
    goal_seconds: float | None = None
    goal_ratio: float = 1.0
    peer_is_library: bool = False
    prepare: Callable[[], object] | None = None


# --- ours ---------------------------------------------------------------------------------------


def our_curve() -> float:
    """Return the mean of our trade-off curve."""
    return float(TradeOff.from_pld(peers.gaussian_pld()).beta(ALPHAS).mean())


def our_epsilon(profile: PrivacyProfile | SampleThreshold | AnalyticGaussian) -> float:
    """Return epsilon at 1e-6."""
    return float(profile.epsilon(DELTA))


def composed(profile: PrivacyProfile, count: int) -> float:
    """Return epsilon of ``count`` releases."""
    return our_epsilon(ComposedProfile(profiles=(profile,), counts=(count,)))


def shared(threshold: int) -> DistributedGaussian:
    """Noise of the paper's first configuration, shared by ``threshold`` contributors."""
    return DistributedGaussian(
        contributors=threshold,
        bound=1.2,
        granularity=2.0**-16,
        local_noise_std=2.136 / threshold**0.5,
        dimension=1024,
        rounding="shared dither",
    )


def server(threshold: int) -> float:
    """Return epsilon of the synthesis server's view, with the paper's first noise and N = 1e6."""
    release = replace(parameters(4.0), threshold=threshold)
    dummies = calibrate_dummies(epsilon=4.0, delta=1e-7, sampling_rate=RATE, threshold=threshold)
    return float(synthesis_server_view(release, dummies=dummies).epsilon(DELTA))


def many_records(claim: float, records: int) -> FreE2TParameters:
    """One of the paper's releases with so many records."""
    return replace(parameters(claim), records_max=records)


def sgd_ours() -> float:
    """Return the noise multiplier of DP-SGD."""
    return DpSgd.calibrate(
        epsilon=peers.SGD_EPSILON,
        delta=peers.SGD_DELTA,
        dataset_size=peers.SGD_SIZE,
        batch_size=peers.SGD_BATCH,
        steps=peers.SGD_STEPS,
    ).noise_multiplier


# --- the list -----------------------------------------------------------------------------------


def size_jobs(threshold: int) -> list[Job]:
    """Return epsilon of every accountant with a threshold, at one threshold."""
    slow = threshold > 100
    times = peers.BISECTIONS * _SIZES if slow else 1
    others = 3 * threshold

    def plain(delta: Callable[..., float], epsilon: float) -> Callable[[], float]:
        """One evaluation, every tenth size, where bisection over all would take minutes."""
        return (
            partial(delta, epsilon=epsilon, step=_SIZES) if slow else partial(peers.bisected, delta)
        )

    count = SampleThreshold(sampling_rate=RATE, threshold=threshold)
    fixed = replace(count, others=others)
    joint = JointRelease(sampling_rate=RATE, threshold=threshold, shift=SHIFT)
    group = GroupRelease(sampling_rate=RATE, threshold=threshold, shift=0.0, records=5)
    about: dict[str, Any] = {"peer_name": "scipy loop", "times": times, "goal_seconds": 1.0}
    tau = f"tau = {threshold}"
    return [
        Job(
            name=f"count, {tau}",
            ours=partial(our_epsilon, count),
            peer=plain(partial(peers.plain_group, threshold=threshold), 0.05),
            **about,
        ),
        Job(
            name=f"count of a user with 5 records, {tau}",
            ours=partial(our_epsilon, group),
            peer=plain(partial(peers.plain_group, threshold=threshold, records=5), 0.3),
            **about,
        ),
        Job(
            name=f"count and sum, {tau}",
            ours=partial(our_epsilon, joint),
            peer=plain(partial(peers.plain_sum, threshold=threshold), 1.4),
            **about,
        ),
        Job(
            name=f"count, N = {others}, {tau}",
            ours=partial(our_epsilon, fixed),
            peer=partial(peers.fixed_count, threshold, others),
            peer_name="dp-accounting",
            goal_seconds=1.0,
            peer_is_library=True,
        ),
        Job(
            name=f"distributed noise, Rényi routes, {tau}",
            ours=lambda: our_epsilon(shared(threshold)),
            goal_seconds=1.0,
        ),
        Job(
            name=f"distributed noise, direct, {tau}",
            ours=lambda: our_epsilon(shared(threshold).direct()),
            goal_seconds=1.0,
        ),
        Job(name=f"synthesis server, {tau}", ours=partial(server, threshold), goal_seconds=1.0),
    ]


def plain_jobs() -> list[Job]:
    """Return epsilon of the accountants without a threshold."""
    library: dict[str, Any] = {"peer_name": "dp-accounting", "peer_is_library": True}
    cell = DummyTags(decay=1.0, shift=20, threshold=30, cells=1)
    return [
        Job(
            name="dummies of one cell",
            ours=partial(our_epsilon, cell),
            peer=partial(peers.one_cell, 1.0, 20),
            goal_seconds=1.0,
            **library,
        ),
        Job(
            name="Gaussian",
            ours=partial(our_epsilon, AnalyticGaussian(noise_multiplier=0.95)),
            peer=peers.gaussian_epsilon,
            goal_seconds=1.0,
            **library,
        ),
        Job(
            name="concentrated bound",
            ours=partial(our_epsilon, ZeroConcentrated(rho=0.5)),
            peer=partial(peers.rdp_epsilon, 0.5),
            goal_seconds=1.0,
            **library,
        ),
    ]


def total_jobs() -> list[Job]:
    """Return jobs for the u-free total and its calibration."""
    jobs = []
    for records in (10**6, 10**9):
        for claim in PAPER:
            release = many_records(claim, records)
            jobs.append(
                Job(
                    name=f"u-free total, claim {claim:g}, N = {records:.0e}",
                    ours=partial(lambda one: our_epsilon(TightTotal(parameters=one)), release),
                    goal_seconds=0.5,
                )
            )
            jobs.append(
                Job(
                    name=f"its noise, claim {claim:g}, N = {records:.0e}",
                    ours=partial(tight_noise_std, release, epsilon=claim, delta=DELTA),
                    goal_seconds=1.5,
                )
            )
    return jobs


def composition_jobs() -> list[Job]:
    """Trade-off curves, DP-SGD and composition."""
    library: dict[str, Any] = {"peer_name": "dp-accounting", "peer_is_library": True}
    joint = JointRelease(sampling_rate=RATE, threshold=30, shift=SHIFT)
    gaussian = GaussianRelease(sensitivity=1.0, noise_std=10.0)
    return [
        Job(
            name="trade-off curve, 500 points (mean of beta)",
            ours=our_curve,
            peer=peers.riskcal_curve if find_spec("riskcal") else None,
            peer_name="riskcal",
            goal_seconds=0.1,
            peer_is_library=find_spec("riskcal") is not None,
            prepare=peers.gaussian_pld,
        ),
        Job(
            name="the same curve, searched point by point",
            ours=our_curve,
            peer=peers.searched_curve,
            peer_name="dp-accounting, 5 points measured",
            times=len(ALPHAS) // peers.CURVE_POINTS,
            goal_seconds=0.1,
            prepare=peers.gaussian_pld,
        ),
        Job(
            name="DP-SGD noise, q = 0.01, 1000 steps",
            ours=sgd_ours,
            peer=peers.sgd_noise,
            **library,
        ),
        Job(
            name="100 Gaussians",
            ours=partial(composed, gaussian, 100),
            peer=partial(peers.connected, gaussian, interval=1e-4, end=2.0, count=100),
            **library,
        ),
        Job(
            name="100 counts and sums, tau = 30",
            ours=partial(composed, joint, 100),
            peer=partial(peers.connected, joint, interval=5e-3, end=10.0, count=100),
            **library,
        ),
    ]


JOBS = [
    *composition_jobs(),
    *plain_jobs(),
    *size_jobs(30),
    *size_jobs(1000),
    *total_jobs(),
]
