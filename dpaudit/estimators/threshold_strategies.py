"""How a bound from scores deals with there being many thresholds.

The largest Clopper-Pearson bound over the thresholds of the same scores is not a lower bound: at a
true epsilon of 0 it exceeds 0 in 13% to 20% of the audits at a nominal 5%. Each strategy here is
valid at its stated error, whatever the scores' distributions, with or without ties:

- `Explicit`: one threshold fixed without looking at the scores.
- `Bonferroni`: several such thresholds, the error shared equally among them.
- `Split`: the threshold (and the direction) is chosen on a random share of the trials, the rest
  bounds it by a joint region laid out for the counts seen there (`joint_rates`). The default: the
  strongest in nearly every setting measured.
- `ConfidenceBand`: all thresholds at once, by one likelihood-ratio martingale a side
  (`confidence_band`). No trial is spent on selection and nothing is random; and it is what bounds a
  whole trade-off curve.

Two estimators of the literature are left out. The Katz-log interval for a ratio of rates is
asymptotic: it fails when a count is small, which is where a large epsilon is decided, and reports
leakage in 94% to 99% of null audits when maximised over thresholds. The joint Bayesian interval of
Zanella-Beguelin et al. (2023) has a credible level under a prior, and no error probability at a
fixed mechanism; it also takes one threshold and slow two-dimensional integrals. The joint region
has the same small volume, and a proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from accountants.errors import ParameterError


@dataclass(frozen=True)
class Explicit:
    """One threshold, fixed without looking at the scores.

    Parameters
    ----------
    threshold : float
        In the scores' unit; may be infinite. Scores equal to it count as positive.
    expected_rates : tuple of float, optional
        ``Pr[score >= threshold]`` with and without the canary, expected from theory (not from these
        scores): the joint region is laid out for them. Otherwise both rates are bounded separately.

    Raises
    ------
    ParameterError
        If the threshold is NaN or a rate lies outside 0 to 1.
    """

    threshold: float
    expected_rates: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        _refuse_nan(self.threshold)
        for rate in self.expected_rates or ():
            if not 0.0 <= rate <= 1.0:
                raise ParameterError(f"expected_rates holds {rate:.12g}: allowed are 0 to 1")


@dataclass(frozen=True)
class Bonferroni:
    """Several thresholds, fixed without looking at the scores.

    Parameters
    ----------
    thresholds : tuple of float
        In the scores' unit, at least one. Quantiles or ranks of the scores are not fixed in
        advance; use `ConfidenceBand` for them.

    Raises
    ------
    ParameterError
        If there is none, or one is NaN.
    """

    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the thresholds, and drop repetitions."""
        for threshold in self.thresholds:
            _refuse_nan(threshold)
        distinct = tuple(sorted({float(threshold) for threshold in self.thresholds}))
        if not distinct:
            raise ParameterError("thresholds is empty: at least one is needed")
        object.__setattr__(self, "thresholds", distinct)


@dataclass(frozen=True)
class Split:
    """Choose the threshold on some of the trials, bound it on the others.

    Parameters
    ----------
    threshold_estimation_frac : float, optional
        Share of each side's trials that choose, above 0 and below 1; by default it depends on the
        number of trials only: `default_fraction`.
    seed : int or None
        Seed of the random choice of these trials, so that sorted or grouped files do no harm. None
        takes the first of each side, for scores known to be in exchangeable order.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """

    threshold_estimation_frac: float | None = None
    seed: int | None = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        share = self.threshold_estimation_frac
        if share is not None and not 0.0 < share < 1.0:
            raise ParameterError(
                f"threshold_estimation_frac = {share:.12g}: allowed are numbers between 0 and 1"
            )
        if self.seed is not None and (self.seed != int(self.seed) or self.seed < 0):
            raise ParameterError(f"seed = {self.seed}: allowed are None and whole numbers from 0")

    def selecting(self, trials: int, other_trials: int) -> int:
        """Return how many of `trials` choose the threshold.

        Parameters
        ----------
        trials, other_trials : int
            Trials of this side and of the other, 0 or more.

        Returns
        -------
        int
            At least 1 and at most ``trials - 1`` if there are two trials; else 0.
        """
        if trials < 2:
            return 0
        share = self.threshold_estimation_frac
        if share is None:
            share = default_fraction(min(trials, other_trials))
        return min(max(round(share * trials), 1), trials - 1)


@dataclass(frozen=True)
class ConfidenceBand:
    """All thresholds at once, on all trials."""


ThresholdStrategy: TypeAlias = Explicit | Bonferroni | Split | ConfidenceBand


def default_fraction(trials: int) -> float:
    """Return the share of the trials that choose the threshold.

    Parameters
    ----------
    trials : int
        Trials of the smaller side.

    Returns
    -------
    float
        0.2 up to 1e5 trials, falling to 0.1 at 1e6: what measured best over Gaussian, Laplace,
        subsampled Gaussian and randomised-response scores, epsilon 0.5 to 8, delta 0 and 0.01.
    """
    return float(min(max(0.2 * (max(trials, 1) / 1e5) ** -0.30103, 0.1), 0.2))


def _refuse_nan(threshold: float) -> None:
    """Refuse a threshold that is not a number."""
    if math.isnan(threshold):
        raise ParameterError("threshold = nan: allowed are numbers and infinities")
