"""The papers' formulas and the tight values, as functions of what the papers state.

Every function returns one number for :mod:`benchmarks.paper_vs_tight`.
"""

from dataclasses import dataclass, replace
from math import comb, exp, expm1, inf, log, log1p, sqrt

from numpy import logaddexp

from accountants import (
    AnalyticGaussian,
    FreE2TParameters,
    GridCollision,
    JointRelease,
    PaperTotal,
    SampleThreshold,
    SampleThresholdPaper,
    TightTotal,
    tight_noise_std,
)
from accountants.distributed_gaussian import DistributedGaussian
from accountants.distributed_total import DistributedNoise, DistributedTotal
from accountants.double_geometric import TruncatedDoubleGeometric, smallest_shift
from accountants.dummy_tags import DummyTags
from accountants.federated_text import FederatedClient
from accountants.group_release import GroupRelease, SampleThresholdGroupPaper
from accountants.inversion import smallest_epsilon, smallest_scale
from accountants.noisy_votes import GaussianRelease, NoisyProfile, NoisyVotes
from accountants.replace_one import replace_one
from accountants.semantic_support import SemanticSupport
from accountants.zcdp import ZeroConcentrated, classic_epsilon
from dpaudit.estimators import clopper_pearson, epsilon_lower

DELTA = 1e-6
RECORDS = 10**6
GRANULARITY = 2.0**-16  # ours: the paper's is not stated


@dataclass(frozen=True, kw_only=True)
class Published:
    """What Fre-E2T publishes for one claim at delta = 1e-6: p, tau, v and m."""

    claim: float
    sampling_rate: float
    threshold: int
    budget_factor: float
    multiplier: str

    @property
    def release(self) -> FreE2TParameters:
        """The release at the published noise: r = 0.5, u = 2.4, k = 20, d = 768, N = 1e6."""
        return FreE2TParameters(
            records_max=RECORDS,
            embedding_dim=768,
            projection_dim=20,
            grid_edge=20**-0.5,
            sampling_rate=self.sampling_rate,
            threshold=self.threshold,
            noise_std=float(self.multiplier) * 1.2,
            radius=0.5,
            sensitivity_ratio=2.4,
            budget_factor=self.budget_factor,
            lattice_step=0.0,
        )


TWO = Published(claim=2.0, sampling_rate=0.2, threshold=20, budget_factor=5.0, multiplier="4.72")
CLAIMS = (
    Published(claim=4.0, sampling_rate=0.3, threshold=30, budget_factor=4.0, multiplier="1.78"),
    Published(claim=8.0, sampling_rate=0.5, threshold=50, budget_factor=4.0, multiplier="0.95"),
    Published(claim=16.0, sampling_rate=0.6, threshold=60, budget_factor=3.0, multiplier="0.43"),
)


# --- sample-and-threshold, and the calibration ---------------------------------------------------


def closed_form(*, sampling_rate: float, threshold: int, budget_factor: float) -> float:
    """Return delta of the closed form."""
    lemma = SampleThresholdPaper(sampling_rate=sampling_rate, threshold=threshold)
    return lemma.budget(budget_factor)[1]


def exact_count(*, sampling_rate: float, threshold: int, budget_factor: float) -> float:
    """Return delta of the same at the closed form's epsilon, over all bucket sizes."""
    lemma = SampleThresholdPaper(sampling_rate=sampling_rate, threshold=threshold)
    count = SampleThreshold(sampling_rate=sampling_rate, threshold=threshold)
    return float(count.delta(lemma.budget(budget_factor)[0]))


def calibrated_multiplier(*, claim: float, published: Published) -> float:
    """Return Algorithm 3's multiplier, rounded up to two decimals."""
    return (
        PaperTotal(parameters=published.release)
        .calibrate(epsilon=claim, delta=DELTA)
        .noise_multiplier
    )


def calibrated_noise(*, claim: float, published: Published) -> float:
    """Return Algorithm 3's noise."""
    return PaperTotal(parameters=published.release).calibrate(epsilon=claim, delta=DELTA).noise_std


def joint_multiplier(*, claim: float, published: Published) -> float:
    """Return the multiplier that Theorem J needs at the paper's coupling distance and delta."""
    release = published.release
    left = log(DELTA - PaperTotal(parameters=release).terms.delta_sens)

    def log_delta(scale: float) -> float:
        return float(joint(release, 1 / scale).log_delta(claim))

    return smallest_scale(log_delta, left, relative=1e-6)


def tight_noise(*, claim: float, published: Published) -> float:
    """Return the noise for which the u-free total meets the claim."""
    return tight_noise_std(published.release, epsilon=claim, delta=DELTA)


def joint(release: FreE2TParameters, shift: float) -> JointRelease:
    """Return the accountant of count and sum at one shift."""
    return JointRelease(
        sampling_rate=release.sampling_rate, threshold=release.threshold, shift=shift
    )


def paper_total(*, multiplier: float, published: Published) -> float:
    """Return the paper's total epsilon at a multiplier."""
    release = replace(published.release, noise_std=multiplier * 1.2)
    return float(PaperTotal(parameters=release).epsilon(DELTA))


def joint_total(*, multiplier: float, published: Published) -> float:
    """Return epsilon by Theorem J at the paper's coupling distance and collision term."""
    release = published.release
    left = DELTA - PaperTotal(parameters=release).terms.delta_sens
    return float(joint(release, 1 / multiplier).epsilon(left))


def union_total(*, records_max: int, published: Published) -> float:
    """Return the paper's total epsilon with the union over records in the collision term."""
    release = replace(published.release, records_max=records_max)
    terms = PaperTotal(parameters=release).terms
    left = DELTA - terms.delta_fre - terms.delta_sens_union
    if left <= 0:
        return inf
    gaussian = AnalyticGaussian(noise_multiplier=terms.noise_multiplier)
    return terms.epsilon_fre + float(gaussian.epsilon(left))


def tight_total(*, multiplier: float, published: Published) -> float:
    """Return epsilon of the u-free total."""
    release = replace(published.release, noise_std=multiplier * 1.2)
    return float(TightTotal(parameters=release).epsilon(DELTA))


# --- the grid ------------------------------------------------------------------------------------


def collision(*, ratio: float, projection_dim: int = 20) -> float:
    """Return the probability that two points at distance u r share a cell of edge 2 r / sqrt(k)."""
    grid = GridCollision(edge=2 * 0.5 / sqrt(projection_dim), projection_dim=projection_dim)
    return float(grid.probability(ratio * 0.5))


def union(*, records_max: int, published: Published) -> float:
    """Return kappa N f^k."""
    release = replace(published.release, records_max=records_max)
    return PaperTotal(parameters=release).terms.delta_sens_union


def pairs_collide(*, records: int, ratio: float) -> float:
    """Return the expected number of pairs at distance ``ratio`` r that share a cell."""
    return comb(records, 2) * collision(ratio=ratio)


def support_bound(*, records_max: int, published: Published) -> float:
    """Return the bound of delta* at r* = r, t = 100, the best distance; above 1 says nothing."""
    release = replace(published.release, records_max=records_max)
    found = SemanticSupport(parameters=release, frequency=100).upper_bound()
    return exp(min(found.log_total, 700.0))


def support_lower(*, frequency: int, published: Published) -> float:
    """Return a delta* at r* = r below which the release does not come."""
    support = SemanticSupport(parameters=published.release, frequency=frequency)
    return exp(support.log_lower_bound())


# --- dummies -------------------------------------------------------------------------------------


def messages(*, shift: int, threshold: int) -> float:
    """Return the expected messages of Algorithm 5."""
    return DummyTags(decay=1.0, shift=shift, threshold=threshold).expected_messages


def dummy_delta(*, decay: float, shift: int, cells: int) -> float:
    """Return delta at epsilon = 2 of the padded counts, p = 0.2."""
    dummies = DummyTags(decay=decay, shift=shift, threshold=20, sampling_rate=0.2, cells=cells)
    return float(dummies.delta(2.0))


def unit_shift(*, sensitivity: int, epsilon: float, delta: float) -> float:
    """Return the smallest shift where epsilon is the decay of one unit."""
    return smallest_shift(sensitivity=sensitivity, decay=epsilon, delta=delta)


def claim_shift(*, sensitivity: int, epsilon: float, delta: float) -> float:
    """Return the smallest shift that gives (epsilon, delta) for the whole change."""
    return TruncatedDoubleGeometric.for_claim(
        epsilon=epsilon, delta=delta, sensitivity=sensitivity
    ).shift


# --- the distributed sum -------------------------------------------------------------------------


def concentrated(*, multiplier: float, published: Published) -> float:
    """Return the paper's concentrated bound with the conversion of Canonne, Kamath and Steinke."""
    left, epsilon_fre = budget(published)
    return epsilon_fre + float(ZeroConcentrated(rho=0.5 / multiplier**2).epsilon(left))


def classic(*, multiplier: float, published: Published) -> float:
    """Return the same with rho + 2 sqrt(rho ln 1/delta)."""
    left, epsilon_fre = budget(published)
    return epsilon_fre + float(classic_epsilon(left, rho=0.5 / multiplier**2))


def budget(published: Published) -> tuple[float, float]:
    """Return delta left for the sum, and the count's epsilon."""
    terms = PaperTotal(parameters=published.release).terms
    return DELTA - terms.delta_fre - terms.delta_sens, terms.epsilon_fre


def concentrated_noise(*, claim: float, published: Published) -> float:
    """Return the noise for the claim by the concentrated bound."""
    left, epsilon_fre = budget(published)
    return 1.2 * smallest_scale(
        lambda m: float(ZeroConcentrated(rho=0.5 / m**2).log_delta(claim - epsilon_fre)), log(left)
    )


def direct_sum(*, multiplier: float, published: Published) -> float:
    """Return the paper's composition with the discrete sum bounded directly (shared dither)."""
    left, epsilon_fre = budget(published)
    threshold = published.threshold
    mechanism = DistributedGaussian(
        contributors=threshold,
        bound=1.2,
        granularity=GRANULARITY,
        local_noise_std=multiplier * 1.2 / sqrt(threshold),
        dimension=1024,
        rounding="shared dither",
    )
    return epsilon_fre + float(mechanism.direct().epsilon(left))


def distributed_total(*, multiplier: float, published: Published) -> float:
    """Bound the whole release with discrete noise shared by the contributors, u-free."""
    release = replace(published.release, noise_std=multiplier * 1.2)
    noise = DistributedNoise(granularity=GRANULARITY)
    return float(DistributedTotal(parameters=release, noise=noise).epsilon(DELTA))


# --- other adjacencies ---------------------------------------------------------------------------


def group_closed_form(*, records: int, published: Published) -> float:
    """Return delta of Appendix D's closed form for ``records`` records in one bucket."""
    return _group_lemma(records, published).budget(published.budget_factor)[1]


def group_exact(*, records: int, published: Published) -> float:
    """Return delta of the same count at the closed form's epsilon, over all bucket sizes."""
    count = GroupRelease(
        sampling_rate=published.sampling_rate,
        threshold=published.threshold,
        shift=0.0,
        records=records,
    )
    epsilon = _group_lemma(records, published).budget(published.budget_factor)[0]
    return float(count.delta(epsilon))


def group_black_box(*, records: int, published: Published) -> float:
    """Return delta of group privacy applied to the closed form for one record."""
    epsilon, delta = _group_lemma(1, published).budget(published.budget_factor)
    return expm1(records * epsilon) / expm1(epsilon) * delta


def _group_lemma(records: int, published: Published) -> SampleThresholdGroupPaper:
    return SampleThresholdGroupPaper(
        sampling_rate=published.sampling_rate, threshold=published.threshold, records=records
    )


def replaced(*, claim: float) -> float:
    """Return the replace-one epsilon of a Gaussian, (claim, 1e-6) under add-remove; p = 0.6."""
    return float(replace_one(_gaussian(claim).guarantee(), sampling_rate=0.6).epsilon(DELTA))


def generic(*, claim: float) -> float:
    """Return the same by (2 epsilon, (1 + e^epsilon) delta), at the best epsilon."""
    release = _gaussian(claim).release

    def log_delta(epsilon: float) -> float:
        half = min(epsilon, 1e6) / 2
        return float(release.log_delta(half) + logaddexp(0.0, half))

    return float(smallest_epsilon(log_delta, DELTA))


def _gaussian(claim: float) -> NoisyVotes:
    noise_std = GaussianRelease.calibrate(sensitivity=1.0, epsilon=claim, delta=DELTA).noise_std
    return NoisyVotes(nearest=1, noise_std=noise_std)


def generic_delta(*, claim: float, delta: float) -> float:
    """Return delta at twice the claim by the generic route, as the paper's formula has it."""
    return (1 + exp(claim)) * delta


def replaced_total(*, multiplier: float, published: Published) -> float:
    """Return the replace-one epsilon of the whole release: u-free, and the record's coin."""
    added = tight_total(multiplier=multiplier, published=published)
    return added - log1p(-published.sampling_rate)


# --- federated text generation -------------------------------------------------------------------


def votes_claimed(*, claim: float) -> float:
    """Return epsilon of 10 votes at the sensitivity 1 that their noise was made for."""
    return float(
        _voter(claim, 10).paper_sum(delta=1e-5, counted=("votes",), vote_sensitivity=1.0).epsilon
    )


def votes_true(*, claim: float, nearest: int) -> float:
    """Return epsilon of K votes at the sensitivity sqrt(K)."""
    return float(_voter(claim, nearest).paper_sum(delta=1e-5, counted=("votes",)).epsilon)


def _voter(claim: float, nearest: int) -> FederatedClient:
    noise_std = GaussianRelease.calibrate(sensitivity=1, epsilon=claim, delta=1e-5).noise_std
    return FederatedClient(
        votes=NoisyVotes(nearest=nearest, noise_std=noise_std), profile=NoisyProfile(noise_std=1.0)
    )


def client_sum(*, votes: float, profile: float) -> float:
    """Return the sum of the two epsilons, each at half of delta = 1e-5."""
    return float(_weak(votes, profile).paper_sum(delta=1e-5).epsilon)


def client_joint(*, votes: float, profile: float) -> float:
    """Return epsilon of both Gaussians together at delta = 1e-5."""
    return float(_weak(votes, profile).tight.epsilon(1e-5))


def _weak(votes: float, profile: float) -> FederatedClient:
    first, second = (
        GaussianRelease.calibrate(sensitivity=1, epsilon=epsilon, delta=5e-6).noise_std
        for epsilon in (votes, profile)
    )
    return FederatedClient(
        votes=NoisyVotes(nearest=1, noise_std=first), profile=NoisyProfile(noise_std=second)
    )


# --- empirical epsilon ---------------------------------------------------------------------------


def ceiling(*, candidates: int, trials: int, tail: float) -> float:
    """Return the greatest empirical epsilon: every guess right."""
    rate = clopper_pearson.lower(trials, trials, tail=tail)
    return epsilon_lower(rate, (1 - rate) / (candidates - 1), delta=0.0)
