"""The worst-case canary: coinciding neighbours at a distance, stratified by the collision."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from accountants import ExplicitDataset, FreE2TParameters, TightTotal
from accountants.joint_terms import Direction
from accountants.ranges import Floats
from attacks.canary_design import CanaryDesign, design_canary, likelihood_of
from dpaudit.auditing.bucket_scores import TrialSettings, bucket_scores
from dpaudit.auditing.error_budget import ErrorBudget
from dpaudit.auditing.measurement import CanaryScores, curve_points, delta_given
from dpaudit.estimators import RateBounds, ThresholdChoice, predicted_rates
from dpaudit.pipeline.release import ReleaseParameters
from dpaudit.pipeline.trials import TrialReleases

_MOST_TRIALS = 10**9
_LEVELS = (0.5, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4)


@dataclass(frozen=True, eq=False)
class Given:
    """Trials of a canary with coinciding neighbours, given that they share its cell.

    Attributes
    ----------
    dataset : ExplicitDataset
        Distance, neighbours and clusters.
    scores : CanaryScores
        Log-likelihood ratios of the trials.
    """

    dataset: ExplicitDataset
    scores: CanaryScores

    def reference(self, direction: Direction, epsilons: Floats) -> Floats:
        """Theorem J, which is attained here."""
        joint = self.dataset.conditional
        return joint.delta_add(epsilons) if direction == "add" else joint.delta_remove(epsilons)

    def test_epsilons(self) -> Floats:
        """Epsilons at which the measured curve is compared with Theorem J: over its range."""
        joint = self.dataset.conditional
        found = joint.epsilon([level for level in _LEVELS if level < float(joint.delta(0.0))])
        finite = found[np.isfinite(found)]
        top = float(finite.max(initial=1.0))
        return np.unique(np.concatenate([[0.0], finite, top * np.array([1.25, 1.5, 2.0])]))

    def violations(self, *, tail: float) -> list[dict[str, Any]]:
        """Test the trials against Theorem J in both directions."""
        return self.scores.violations(self.reference, self.test_epsilons(), tail=tail)


@dataclass(frozen=True, eq=False, kw_only=True)
class WorstCase:
    """The canary, its trials and the rate bounds that decide.

    Attributes
    ----------
    design : CanaryDesign
        Distance, neighbours, clusters, and what they were expected to show.
    scores : CanaryScores
        Log-likelihood ratios, given the collision.
    verdict : RateBounds
        The rates that can change the verdict, at a threshold chosen for the claim.
    """

    design: CanaryDesign
    scores: CanaryScores
    verdict: RateBounds

    @property
    def dataset(self) -> ExplicitDataset:
        """The dataset around the canary."""
        return self.design.dataset

    @property
    def chance(self) -> float:
        """Probability that exactly one cluster shares the canary's cell, rounded down."""
        return self.dataset.collision_probability

    def total_epsilon(self, delta: float) -> float:
        """Lower bound on the total epsilon at ``delta``, by the rates behind the verdict."""
        return self.verdict.epsilon(delta=delta_given(delta, self.chance)).epsilon

    def total_delta(self, epsilon: float) -> float:
        """Lower bound on the total delta at ``epsilon``, by the rates behind the verdict."""
        return self.verdict.delta(epsilon=epsilon).delta * self.chance * (1 - 1e-15)

    @property
    def given(self) -> Given:
        """The trials, given the collision."""
        return Given(self.dataset, self.scores)


def measure_worst_case(
    parameters: FreE2TParameters,
    *,
    epsilon: float,
    delta: float,
    trials: int,
    budget: ErrorBudget,
    seed: np.random.SeedSequence,
    settings: TrialSettings,
    design: CanaryDesign | None = None,
) -> WorstCase:
    """Design the canary for the trials at hand, run them and bound the rates.

    Parameters
    ----------
    parameters : FreE2TParameters
        The release.
    epsilon, delta : float
        The claim.
    trials : int
        Trials on each side; the first half chooses thresholds, the second bounds.
    budget : ErrorBudget
        Error of each bound.
    seed : numpy.random.SeedSequence
        Of all trials.
    settings : TrialSettings
        How trials are run, and of which implementation.
    design : CanaryDesign, optional
        A canary given instead of a designed one.
    """
    if design is None:
        design = designed(
            parameters,
            epsilon=epsilon,
            delta=delta,
            trials=trials - trials // 2,
            tail=budget.tail,
        )
    scores = run_trials(design.dataset, trials=trials, seed=seed, settings=settings)
    chance = design.dataset.collision_probability
    if design.predicted_delta > delta or delta >= chance:
        objective = ThresholdChoice.maximise_delta(epsilon=epsilon)
    else:
        objective = ThresholdChoice.maximise_epsilon(delta=delta / chance)
    return WorstCase(
        design=design, scores=scores, verdict=scores.bound(objective, tail=budget.tail)
    )


def designed(
    parameters: FreE2TParameters, *, epsilon: float, delta: float, trials: int, tail: float
) -> CanaryDesign:
    """Return the canary that ``trials`` bounding trials a side are expected to show best."""

    def predict(tpr: Floats, fpr: Floats) -> tuple[Floats, Floats]:
        return predicted_rates(np.clip(tpr, 0, 1), np.clip(fpr, 0, 1), trials=trials, tail=tail)

    return design_canary(parameters, epsilon=epsilon, delta=delta, predict=predict)


def run_trials(
    dataset: ExplicitDataset,
    *,
    trials: int,
    seed: np.random.SeedSequence,
    settings: TrialSettings,
    label: str = "worst case",
) -> CanaryScores:
    """Release the canary's bucket ``trials`` times without and with it, and score each release."""
    p = dataset.parameters
    vectors = _pair(p.embedding_dim, dataset.distance, seed.spawn(1)[0])
    adversary = likelihood_of(dataset)

    def scorer(releases: TrialReleases) -> Floats:
        return adversary.scores(
            releases.released,
            releases.counts,
            releases.sums,
            canary=vectors[1],
            neighbour=vectors[0],
            noise_std=p.noise_std,
        )

    return bucket_scores(
        label,
        scorer,
        vectors=vectors,
        without=[0] * dataset.neighbours,
        canary=1,
        parameters=ReleaseParameters(
            sampling_rate=p.sampling_rate, threshold=p.threshold, noise_std=p.noise_std
        ),
        trials=trials,
        seed=seed,
        first=1,
        settings=settings,
    )


def trials_needed(
    parameters: FreE2TParameters, *, epsilon: float, delta: float, tail: float
) -> int | None:
    """Return about how many trials a side a refutation would take; None if more than 1e9."""
    for exponent in range(6, 19):
        bounding = round(10 ** (exponent / 2))
        if bounding > _MOST_TRIALS:
            break
        design = designed(parameters, epsilon=epsilon, delta=delta, trials=bounding, tail=tail)
        if design.predicted_delta > delta:
            return 2 * bounding
    return None


def describe(
    found: WorstCase, budget: ErrorBudget, tight: TightTotal, *, epsilon: float
) -> dict[str, Any]:
    """Return the worst case as the result file holds it, tables and curves included."""
    joint, chance, scores = found.dataset.conditional, found.chance, found.scores
    uppers = [float(joint.epsilon(delta)) for delta in budget.deltas]
    given = [scores.epsilon(delta, tail=budget.tail) for delta in budget.deltas]
    total = [scores.epsilon(delta, tail=budget.tail, factor=chance) for delta in budget.deltas]
    measured = [max(row["epsilon"] for row in rows) for rows in (given, total)]
    points = curve_points([epsilon, *uppers], least=1.0, measured=measured[0])
    total_points = curve_points([epsilon], least=1.0, measured=measured[1])
    return {
        "distance": found.dataset.distance,
        "neighbours": found.dataset.neighbours,
        "clusters": found.dataset.clusters,
        "collision_probability": chance,
        "predicted_epsilon": found.design.predicted_epsilon,
        "predicted_delta": found.design.predicted_delta,
        "direction": found.verdict.direction,
        "threshold": found.verdict.threshold,
        "true_positives": found.verdict.true_positives,
        "false_positives": found.verdict.false_positives,
        "tpr_lower": found.verdict.tpr_lower,
        "fpr_upper": found.verdict.fpr_upper,
        "conditional": {
            "estimates": [
                {**row, "theorem_j_epsilon": upper}
                for row, upper in zip(given, uppers, strict=True)
            ],
            "delta_curve": [
                {
                    "epsilon": float(e),
                    "delta_lower": scores.delta(float(e), tail=budget.tail),
                    "theorem_j": float(j),
                }
                for e, j in zip(points, joint.delta(points), strict=True)
            ],
        },
        "total": {
            "estimates": total,
            "delta_curve": [
                {
                    "epsilon": float(e),
                    "delta_lower": scores.delta(float(e), tail=budget.tail, factor=chance),
                    "tight_upper": float(u),
                }
                for e, u in zip(total_points, tight.delta(total_points), strict=True)
            ],
        },
    }


def _pair(dimension: int, distance: float, seed: np.random.SeedSequence) -> Floats:
    """Return a unit vector, and a point at ``distance`` from it; shape (2, d)."""
    rng = np.random.default_rng(seed)
    first, step = rng.standard_normal((2, dimension))
    first /= np.linalg.norm(first)
    if dimension > 1:
        step -= (step @ first) * first
    step /= np.linalg.norm(step)
    return np.stack([first, first + distance * step])
