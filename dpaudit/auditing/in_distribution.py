"""The in-distribution canary: a real text in its own bucket, under the run's fixed projection.

Its result is conditional on that projection and corpus. It is compared with what Theorem J gives
for this very bucket, the average over its members x' of J(epsilon; m, |x - x'| / sigma), and never
enters the verdict on the total claim.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accountants import FreE2TParameters, average_delta
from accountants.inversion import smallest_epsilon
from accountants.joint_terms import Direction
from accountants.ranges import Floats
from attacks.bucket_likelihood import BucketLikelihood
from dpaudit.auditing.bucket_scores import TrialSettings, bucket_scores
from dpaudit.auditing.error_budget import ErrorBudget
from dpaudit.auditing.measurement import CanaryScores, curve_points
from dpaudit.pipeline.release import ReleaseParameters
from dpaudit.pipeline.trials import TrialReleases

_MOST_MEMBERS = 4000
_MOST_CANDIDATES = 400
_MOST_COINS = 2 * 10**8  # on each side; trials are cut to it
_PROBE = 0.25  # epsilon at which candidates are compared


@dataclass(frozen=True, eq=False, kw_only=True)
class Neighbourhood:
    """A text and the other members of its bucket.

    Attributes
    ----------
    row : int
        The text.
    members : ndarray of int, shape (r,)
        Rows of the distinct texts of the bucket's other members.
    copies : ndarray of int, shape (r,)
        How many members have each.
    distances : ndarray, shape (r,)
        Their distances from the text.
    """

    row: int
    members: NDArray[np.int64]
    copies: NDArray[np.int64]
    distances: Floats

    @property
    def others(self) -> int:
        """Number of other members."""
        return int(self.copies.sum())

    def delta(
        self, epsilons: Floats, parameters: FreE2TParameters, *, direction: Direction | None = None
    ) -> Floats:
        """Upper bound of delta for this bucket: the average of J over its members."""
        spread = np.repeat(self.distances, self.copies) * (1 + 1e-9)
        return average_delta(
            epsilons,
            distances=spread,
            sampling_rate=parameters.sampling_rate,
            threshold=parameters.threshold,
            noise_std=parameters.noise_std,
            direction=direction,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class InDistribution:
    """The canary and its trials."""

    place: Neighbourhood
    parameters: FreE2TParameters
    scores: CanaryScores
    trials: int

    def reference(self, direction: Direction, epsilons: Floats) -> Floats:
        """Upper bound of delta in one direction."""
        return self.place.delta(epsilons, self.parameters, direction=direction)

    def epsilon(self, delta: float) -> float:
        """Upper bound of epsilon at ``delta``, in the worse direction."""

        def log_delta(epsilon: float) -> float:
            value = float(self.place.delta(np.array(epsilon), self.parameters))
            return float(np.log(value)) if value > 0 else -np.inf

        return float(smallest_epsilon(log_delta, delta, relative=1e-5))

    def test_epsilons(self) -> Floats:
        """Epsilons at which the measured curve is compared with the analysis."""
        found = [self.epsilon(level) for level in (0.3, 0.1, 0.03, 0.01, 1e-3)]
        finite = np.array([e for e in found if np.isfinite(e)])
        top = float(finite.max(initial=1.0))
        return np.unique(np.concatenate([[0.0], finite, top * np.array([1.5, 2.0])]))


def choose_text(
    vectors: Floats,
    rows: NDArray[np.integer[Any]],
    row_buckets: NDArray[np.int64],
    *,
    parameters: FreE2TParameters,
) -> Neighbourhood | None:
    """Choose the text whose own bucket is the most telling by analysis, before any trial.

    Parameters
    ----------
    vectors : ndarray, shape (n, d)
        Distinct texts' vectors.
    rows : ndarray of int, shape (records,)
        Text of each record.
    row_buckets : ndarray of int, shape (n,)
        Bucket of each distinct text, under the run's projection.
    parameters : FreE2TParameters
        The release.

    Returns
    -------
    Neighbourhood or None
        The canary joins as one record more. None if no bucket can be released.
    """
    copies = np.bincount(rows, minlength=len(vectors))
    number = int(row_buckets.max()) + 1
    sizes = np.bincount(row_buckets, weights=copies, minlength=number)
    texts = np.bincount(row_buckets[copies > 0], minlength=number)
    least = max(1, parameters.threshold - 1)
    usable = (sizes >= least) & (sizes <= max(_MOST_MEMBERS, least))
    candidates = np.flatnonzero(usable[row_buckets] & (copies > 0))
    # a bucket of equal texts shows only its count: look at mixed ones first, and among them at
    # those near their threshold, the most telling ones
    nearness = np.abs(sizes[row_buckets] * parameters.sampling_rate - parameters.threshold)
    order = np.lexsort([nearness[candidates], texts[row_buckets[candidates]] < 2])
    candidates = candidates[order][:_MOST_CANDIDATES]
    mixed = texts[row_buckets[candidates]] >= 2
    candidates = candidates[mixed] if mixed.any() else candidates
    best: tuple[float, Neighbourhood] | None = None
    for row in candidates:
        members = np.flatnonzero((row_buckets == row_buckets[row]) & (copies > 0))
        place = Neighbourhood(
            row=int(row),
            members=members,
            copies=copies[members].astype(np.int64),
            distances=np.linalg.norm(vectors[members] - vectors[row], axis=1),
        )
        telling = float(place.delta(np.array(_PROBE), parameters))
        if best is None or telling > best[0]:
            best = (telling, place)
    return None if best is None else best[1]


def measure_in_distribution(
    place: Neighbourhood,
    vectors: Floats,
    *,
    parameters: FreE2TParameters,
    trials: int,
    seed: np.random.SeedSequence,
    settings: TrialSettings,
) -> InDistribution:
    """Release the text's bucket many times without and with one more user of it."""
    trials = max(100, min(trials, _MOST_COINS // (place.others + 1)))
    local = np.concatenate([vectors[place.members], vectors[place.row][None]])
    members = np.repeat(np.arange(len(place.members)), place.copies)
    adversary = BucketLikelihood(
        sampling_rate=parameters.sampling_rate,
        threshold=parameters.threshold,
        noise_std=parameters.noise_std,
        canary=local[-1],
        members=local[:-1],
        copies=place.copies,
    )

    def scorer(releases: TrialReleases) -> Floats:
        return adversary.scores(releases.released, releases.counts, releases.sums)

    scores = bucket_scores(
        "a real text",
        scorer,
        vectors=local,
        without=members.tolist(),
        canary=len(local) - 1,
        parameters=ReleaseParameters(
            sampling_rate=parameters.sampling_rate,
            threshold=parameters.threshold,
            noise_std=parameters.noise_std,
        ),
        trials=trials,
        seed=seed,
        first=0,
        settings=settings,
    )
    return InDistribution(place=place, parameters=parameters, scores=scores, trials=trials)


def describe(found: InDistribution, budget: ErrorBudget, *, text: str) -> dict[str, Any]:
    """Return the canary as the result file holds it, curve included."""
    scores, tail = found.scores, budget.tail
    uppers = [found.epsilon(delta) for delta in budget.deltas]
    rows = [scores.epsilon(delta, tail=tail) for delta in budget.deltas]
    measured = max(row["epsilon"] for row in rows)
    points = curve_points(uppers, least=0.5, measured=measured)
    return {
        "text": text,
        "bucket_members": found.place.others,
        "bucket_texts": len(found.place.members),
        "conditional": True,
        "trials_per_side": found.trials,
        "bounding_trials_per_side": found.scores.bounding_trials,
        "estimates": [
            {**row, "average_j_epsilon": upper} for row, upper in zip(rows, uppers, strict=True)
        ],
        "delta_curve": [
            {
                "epsilon": float(e),
                "delta_lower": scores.delta(float(e), tail=tail),
                "average_j": float(u),
            }
            for e, u in zip(points, found.place.delta(points, found.parameters), strict=True)
        ],
        "note": (
            "Conditional on this run's projection, grid and corpus: one more user of this text in "
            "its own bucket. It does not enter the verdict on the total claim."
        ),
    }
