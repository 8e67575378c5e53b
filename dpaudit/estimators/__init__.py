"""Statistics that turn trial outcomes into bounds: no privacy mechanism, no model, no data.

- `clopper_pearson`: one-sided bounds on a rate.
- `epsilon_lower`, `delta_lower`: from two rate bounds to a point of the privacy curve.
- `split_threshold`, `SplitScores`: from attack scores to lower bounds that stay valid for the best
  of many thresholds.
- `predicted_epsilon`, `predicted_delta`: what an audit of a known attack will show.
- `ScoreAuditor`: the same in one object, with thresholds fixed, chosen on some trials, or all
  under a band; `trade_off_band`: all of the measured trade-off curve against a nominal one.
- `epsilon_one_run`, `epsilon_one_run_fdp`: many canaries in one run.
- `support_from_hits`, `support_from_log_values`: delta* of semantic support protection.
- `SequentialCounts`: a bound at every time, for an audit that stops early or runs on.
- `candidate_guessing`, `two_counts`, `channel_counts`: which input was it?
- `two_sided_binomial_p_value`, `family_split`: testing a frequency, sharing an error.
"""

from dpaudit.estimators import clopper_pearson
from dpaudit.estimators.binomial_test import family_split, two_sided_binomial_p_value
from dpaudit.estimators.bounded_mean import log_mean_lower, mean_upper
from dpaudit.estimators.candidate_guessing import (
    CandidateEstimate,
    candidate_epsilon_lower,
    candidate_guessing,
    candidate_guessing_from_trials,
)
from dpaudit.estimators.confidence_band import rate_band
from dpaudit.estimators.epsilon_bounds import (
    Direction,
    EpsilonEstimate,
    delta_lower,
    epsilon_lower,
)
from dpaudit.estimators.gaussian_mu import delta_from_mu, epsilon_from_mu, mu_from_epsilon
from dpaudit.estimators.guess_choice import FixedGuesses, GeometricGuesses, HeldOutGuesses
from dpaudit.estimators.joint_rates import JointRegion
from dpaudit.estimators.nominal_trade_off import gaussian_trade_off, profile_trade_off
from dpaudit.estimators.one_run import epsilon_one_run, epsilon_one_run_from_counts
from dpaudit.estimators.one_run_curves import GaussianCurve, PointsCurve
from dpaudit.estimators.one_run_estimate import OneRunEstimate
from dpaudit.estimators.one_run_f_dp import (
    epsilon_one_run_fdp,
    one_run_curve_p_value,
    one_run_mu_lower,
)
from dpaudit.estimators.one_run_tail import one_run_epsilon_lower, one_run_p_value
from dpaudit.estimators.predicted_bounds import (
    predicted_delta,
    predicted_epsilon,
    predicted_rates,
)
from dpaudit.estimators.rate_bounds import RateBounds
from dpaudit.estimators.score_auditor import ScoreAuditor
from dpaudit.estimators.score_estimate import ScoreEstimate
from dpaudit.estimators.sequential import SequentialCounts
from dpaudit.estimators.split_threshold import SplitScores, split_threshold
from dpaudit.estimators.support_protection import (
    SupportEstimate,
    log_any_hit,
    support_from_hits,
    support_from_log_values,
)
from dpaudit.estimators.threshold_choice import ChosenThreshold, ThresholdChoice
from dpaudit.estimators.threshold_strategies import Bonferroni, ConfidenceBand, Explicit, Split
from dpaudit.estimators.trade_off_band import nominal_violation, trade_off_band
from dpaudit.estimators.two_counts import TwoCountEstimate, channel_counts, two_counts

__all__ = [
    "Bonferroni",
    "CandidateEstimate",
    "ChosenThreshold",
    "ConfidenceBand",
    "Direction",
    "EpsilonEstimate",
    "Explicit",
    "FixedGuesses",
    "GaussianCurve",
    "GeometricGuesses",
    "HeldOutGuesses",
    "JointRegion",
    "OneRunEstimate",
    "PointsCurve",
    "RateBounds",
    "ScoreAuditor",
    "ScoreEstimate",
    "SequentialCounts",
    "Split",
    "SplitScores",
    "SupportEstimate",
    "ThresholdChoice",
    "TwoCountEstimate",
    "candidate_epsilon_lower",
    "candidate_guessing",
    "candidate_guessing_from_trials",
    "channel_counts",
    "clopper_pearson",
    "delta_from_mu",
    "delta_lower",
    "epsilon_from_mu",
    "epsilon_lower",
    "epsilon_one_run",
    "epsilon_one_run_fdp",
    "epsilon_one_run_from_counts",
    "family_split",
    "gaussian_trade_off",
    "log_any_hit",
    "log_mean_lower",
    "mean_upper",
    "mu_from_epsilon",
    "nominal_violation",
    "one_run_curve_p_value",
    "one_run_epsilon_lower",
    "one_run_mu_lower",
    "one_run_p_value",
    "predicted_delta",
    "predicted_epsilon",
    "predicted_rates",
    "profile_trade_off",
    "rate_band",
    "split_threshold",
    "support_from_hits",
    "support_from_log_values",
    "trade_off_band",
    "two_counts",
    "two_sided_binomial_p_value",
]
