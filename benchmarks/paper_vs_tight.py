"""Write the page that compares what the papers state with what dpaudit computes.

    python -m benchmarks.paper_vs_tight --write docs/paper-vs-tight.md
    python -m benchmarks.paper_vs_tight --check docs/paper-vs-tight.md

A row holds what a paper states, the paper's own formula and the tight value; both are functions of
the parameters that the paper gives, evaluated when the page is written. The verdict follows from
the numbers.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from math import comb, expm1, inf, log, log1p, sqrt
from pathlib import Path

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
from accountants.group_privacy import GroupProfile
from accountants.inversion import smallest_epsilon, smallest_scale
from accountants.noisy_votes import (
    GaussianRelease,
    NoisyProfile,
    NoisyVotes,
    joint_shift,
)
from accountants.replace_one import ReplaceOneProfile
from accountants.zcdp import ZeroConcentrated, classic_epsilon
from dpaudit.estimators import clopper_pearson, epsilon_lower

Value = Callable[[], float]

DELTA = 1e-6
RECORDS = 10**6
GRANULARITY = 2.0**-16  # ours: the paper's is not stated
SLACK = 0.01  # a stated bound this much (relative) above the tight value is called loose


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


TWO = Published(
    claim=2.0, sampling_rate=0.2, threshold=20, budget_factor=5.0, multiplier="4.72"
)
CLAIMS = (
    Published(claim=4.0, sampling_rate=0.3, threshold=30, budget_factor=4.0, multiplier="1.78"),
    Published(claim=8.0, sampling_rate=0.5, threshold=50, budget_factor=4.0, multiplier="0.95"),
    Published(claim=16.0, sampling_rate=0.6, threshold=60, budget_factor=3.0, multiplier="0.43"),
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One number of a paper.

    Parameters
    ----------
    paper, section, quantity : str
        Where it is, and what.
    stated : str
        As printed there; empty where the paper gives the formula only.
    formula, tight : partial, optional
        The paper's formula and dpaudit's own value, as functions of named parameters.
    claim : float, optional
        For a claim: the value must be at most this. Otherwise ``stated`` is compared as a number,
        to the digits printed.
    why : str
        One sentence.
    """

    paper: str
    section: str
    quantity: str
    stated: str = ""
    formula: partial[float] | None = None
    tight: partial[float] | None = None
    claim: float | None = None
    why: str

    def cells(self) -> list[str]:
        """Evaluate the row."""
        formula = None if self.formula is None else float(self.formula())
        tight = None if self.tight is None else float(self.tight())
        return [
            self.paper,
            self.section,
            self.quantity,
            self.stated or "-",
            shown(formula),
            shown(tight),
            self.verdict(formula, tight),
            self.why,
        ]

    def verdict(self, formula: float | None, tight: float | None) -> str:
        """Say whether the paper's value is the formula's, and whether it is a bound."""
        if self.claim is not None:
            limit, allowed = self.claim, self.claim * (1 + 1e-9)
        elif self.stated:
            digit = Decimal(self.stated).as_tuple().exponent
            half = 0.5 * 10.0 ** int(digit)
            limit = float(self.stated)
            allowed = limit + half * (1 + 1e-9)
            if formula is not None and not limit - half * (1 + 1e-9) <= formula <= allowed:
                return "no: the formula gives another value"
        else:
            assert formula is not None
            limit, allowed = formula, formula * (1 + 1e-6)
        if formula is not None and formula > allowed:
            return "no: the formula exceeds the claim"
        if tight is None:
            return "yes"
        if tight > allowed:
            return "no: too small"
        return "yes, loose" if tight < limit * (1 - SLACK) and tight < 2 * limit - allowed else "yes"


def shown(value: float | None) -> str:
    """Write a number with 4 significant digits."""
    return "-" if value is None else f"{value:.4g}"


# --- sample-and-threshold, and the calibration ---------------------------------------------------


def closed_form(*, sampling_rate: float, threshold: int, budget_factor: float) -> float:
    """Delta of the closed form."""
    lemma = SampleThresholdPaper(sampling_rate=sampling_rate, threshold=threshold)
    return lemma.budget(budget_factor)[1]


def exact_count(*, sampling_rate: float, threshold: int, budget_factor: float) -> float:
    """Delta of the same at the closed form's epsilon, over all bucket sizes."""
    lemma = SampleThresholdPaper(sampling_rate=sampling_rate, threshold=threshold)
    count = SampleThreshold(sampling_rate=sampling_rate, threshold=threshold)
    return float(count.delta(lemma.budget(budget_factor)[0]))


def calibrated_multiplier(*, claim: float, published: Published) -> float:
    """Algorithm 3's multiplier, rounded up to two decimals."""
    return PaperTotal(parameters=published.release).calibrate(
        epsilon=claim, delta=DELTA
    ).noise_multiplier


def calibrated_noise(*, claim: float, published: Published) -> float:
    """Algorithm 3's noise."""
    return PaperTotal(parameters=published.release).calibrate(epsilon=claim, delta=DELTA).noise_std


def joint_multiplier(*, claim: float, published: Published) -> float:
    """The multiplier that Theorem J needs at the paper's coupling distance and delta."""
    release = published.release
    left = log(DELTA - PaperTotal(parameters=release).terms.delta_sens)

    def log_delta(scale: float) -> float:
        return float(joint(release, 1 / scale).log_delta(claim))

    return smallest_scale(log_delta, left, relative=1e-6)


def tight_noise(*, claim: float, published: Published) -> float:
    """The noise for which the u-free total meets the claim."""
    return tight_noise_std(published.release, epsilon=claim, delta=DELTA)


def joint(release: FreE2TParameters, shift: float) -> JointRelease:
    """Count and sum at one shift."""
    return JointRelease(
        sampling_rate=release.sampling_rate, threshold=release.threshold, shift=shift
    )


def paper_total(*, multiplier: float, published: Published) -> float:
    """The paper's total epsilon at a multiplier."""
    release = replace(published.release, noise_std=multiplier * 1.2)
    return float(PaperTotal(parameters=release).epsilon(DELTA))


def joint_total(*, multiplier: float, published: Published) -> float:
    """Epsilon by Theorem J at the paper's coupling distance and collision term."""
    release = published.release
    left = DELTA - PaperTotal(parameters=release).terms.delta_sens
    return float(joint(release, 1 / multiplier).epsilon(left))


def union_total(*, records_max: int, published: Published) -> float:
    """The paper's total epsilon with the union over records in the collision term."""
    release = replace(published.release, records_max=records_max)
    terms = PaperTotal(parameters=release).terms
    left = DELTA - terms.delta_fre - terms.delta_sens_union
    if left <= 0:
        return inf
    gaussian = AnalyticGaussian(noise_multiplier=terms.noise_multiplier)
    return terms.epsilon_fre + float(gaussian.epsilon(left))


def tight_total(*, multiplier: float, published: Published) -> float:
    """Epsilon of the u-free total."""
    release = replace(published.release, noise_std=multiplier * 1.2)
    return float(TightTotal(parameters=release).epsilon(DELTA))


# --- the grid ------------------------------------------------------------------------------------


def collision(*, ratio: float, projection_dim: int = 20) -> float:
    """Probability that two points at distance u r share a cell of edge 2 r / sqrt(k)."""
    grid = GridCollision(edge=2 * 0.5 / sqrt(projection_dim), projection_dim=projection_dim)
    return float(grid.probability(ratio * 0.5))


def union(*, records_max: int, published: Published) -> float:
    """Kappa N f^k."""
    release = replace(published.release, records_max=records_max)
    return PaperTotal(parameters=release).terms.delta_sens_union


def pairs_collide(*, records: int, ratio: float) -> float:
    """Expected number of pairs at distance ``ratio`` r that share a cell."""
    return comb(records, 2) * collision(ratio=ratio)


# --- dummies -------------------------------------------------------------------------------------


def messages(*, shift: int, threshold: int) -> float:
    """Expected messages of Algorithm 5."""
    return DummyTags(decay=1.0, shift=shift, threshold=threshold).expected_messages


def dummy_delta(*, decay: float, shift: int, cells: int) -> float:
    """Delta at epsilon = 2 of the padded counts, p = 0.2."""
    dummies = DummyTags(decay=decay, shift=shift, threshold=20, sampling_rate=0.2, cells=cells)
    return float(dummies.delta(2.0))


def unit_shift(*, sensitivity: int, epsilon: float, delta: float) -> float:
    """Smallest shift where epsilon is the decay of one unit."""
    return smallest_shift(sensitivity=sensitivity, decay=epsilon, delta=delta)


def claim_shift(*, sensitivity: int, epsilon: float, delta: float) -> float:
    """Smallest shift that gives (epsilon, delta) for the whole change."""
    return TruncatedDoubleGeometric.for_claim(
        epsilon=epsilon, delta=delta, sensitivity=sensitivity
    ).shift


# --- the distributed sum -------------------------------------------------------------------------


def concentrated(*, multiplier: float, published: Published) -> float:
    """The paper's concentrated bound with the conversion of Canonne, Kamath and Steinke."""
    left, epsilon_fre = budget(published)
    return epsilon_fre + float(ZeroConcentrated(rho=0.5 / multiplier**2).epsilon(left))


def classic(*, multiplier: float, published: Published) -> float:
    """The same with rho + 2 sqrt(rho ln 1/delta)."""
    left, epsilon_fre = budget(published)
    return epsilon_fre + float(classic_epsilon(left, rho=0.5 / multiplier**2))


def budget(published: Published) -> tuple[float, float]:
    """Delta left for the sum, and the count's epsilon."""
    terms = PaperTotal(parameters=published.release).terms
    return DELTA - terms.delta_fre - terms.delta_sens, terms.epsilon_fre


def concentrated_noise(*, claim: float, published: Published) -> float:
    """Noise for the claim by the concentrated bound, its multiplier rounded up."""
    left, epsilon_fre = budget(published)
    found = smallest_scale(
        lambda m: float(ZeroConcentrated(rho=0.5 / m**2).log_delta(claim - epsilon_fre)), log(left)
    )
    return -(-found * 100 // 1) / 100 * 1.2


def direct_sum(*, multiplier: float, published: Published) -> float:
    """The paper's composition, the discrete sum bounded directly (shared dither)."""
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
    """The whole release with discrete noise shared by the contributors, u-free."""
    release = replace(published.release, noise_std=multiplier * 1.2)
    noise = DistributedNoise(granularity=GRANULARITY)
    return float(DistributedTotal(parameters=release, noise=noise).epsilon(DELTA))


# --- other adjacencies ---------------------------------------------------------------------------


def group_closed_form(*, records: int, published: Published) -> float:
    """Appendix D: exp(-m0 D(tau/m0 || p)), m0 = tau/q + l - 1."""
    p, tau = published.sampling_rate, published.threshold
    m0 = tau / -expm1((published.budget_factor + 1) * log1p(-p)) + records - 1
    x = tau / m0
    return float(
        2.718281828459045 ** (-m0 * (x * log(x / p) + (1 - x) * log((1 - x) / (1 - p))))
    )


def group_black_box(*, records: int, published: Published) -> float:
    """Group privacy of the exact count, at the closed form's epsilon."""
    p, tau = published.sampling_rate, published.threshold
    count = SampleThreshold(sampling_rate=p, threshold=tau)
    epsilon, _ = SampleThresholdPaper(sampling_rate=p, threshold=tau).budget(
        published.budget_factor
    )
    return float(GroupProfile(base=count, size=records).delta(records * epsilon))  # type: ignore[arg-type]
