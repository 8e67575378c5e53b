"""Canaries that test the release stage against Theorem J, and nothing else.

The worst-case canary is placed to refute a *claim*, where signals are rare; many faults of an
implementation hardly show there. Three more canaries, each with coinciding neighbours given their
collision, lie where Theorem J allows little and a fault shows much:

- *far, bucket below its threshold*: a release there is nearly always of a bucket that should not
  have been released, or whose coins are not independent;
- *far, bucket at its threshold*: thresholds off by little, and coins that are not fair;
- *near, heavy bucket*: too little noise.

They never enter the verdict on the claim: a distance and size of one's own choosing prove nothing
about the total over projections.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from accountants import ExplicitDataset, FreE2TParameters
from dpaudit.auditing.bucket_scores import TrialSettings
from dpaudit.auditing.worst_case import Given, run_trials

MOST_TRIALS = 20_000  # on each side; what the faults named above take
_PLACES = (
    ("far, bucket below its threshold", 10.0, 0.75),
    ("far, bucket at its threshold", 4.0, 1.0),
    ("near, heavy bucket", 2.0, 1.3),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Diagnostic:
    """One canary: where it lies, and its trials."""

    place: str
    given: Given
    trials: int

    def to_dict(self) -> dict[str, Any]:
        """Return where the canary lies, without its scores."""
        return {
            "place": self.place,
            "distance": self.given.dataset.distance,
            "neighbours": self.given.dataset.neighbours,
            "trials_per_side": self.trials,
        }


def measure_diagnostics(
    parameters: FreE2TParameters,
    *,
    trials: int,
    seed: np.random.SeedSequence,
    settings: TrialSettings,
) -> list[Diagnostic]:
    """Run the diagnostic canaries that fit into ``records_max``.

    Parameters
    ----------
    parameters : FreE2TParameters
        The release.
    trials : int
        Trials on each side, cut to ``MOST_TRIALS``.
    seed : numpy.random.SeedSequence
        Of all their trials.
    settings : TrialSettings
        How trials are run, and of which implementation.
    """
    number = min(trials, MOST_TRIALS)
    found = []
    for (place, shift, fill), stream in zip(_PLACES, seed.spawn(len(_PLACES)), strict=True):
        neighbours = max(1, round(fill * parameters.threshold / parameters.sampling_rate))
        if neighbours + 1 > parameters.records_max:
            continue
        dataset = ExplicitDataset(
            parameters=parameters,
            distance=shift * parameters.noise_std,
            neighbours=neighbours,
            clusters=1,
        )
        scores = run_trials(dataset, trials=number, seed=stream, settings=settings, label=place)
        found.append(Diagnostic(place=place, given=Given(dataset, scores), trials=number))
    return found
