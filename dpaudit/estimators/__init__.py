"""Statistics that turn trial outcomes into bounds: no privacy mechanism, no model, no data.

- `clopper_pearson`: one-sided bounds on a rate.
- `epsilon_lower`, `delta_lower`: from two rate bounds to a point of the privacy curve.
- `split_threshold`, `SplitScores`: from attack scores to lower bounds that stay valid for the best
  of many thresholds.
- `predicted_epsilon`, `predicted_delta`: what an audit of a known attack will show.
- `two_sided_binomial_p_value`, `family_split`: testing a frequency, sharing an error.
"""

from dpaudit.estimators import clopper_pearson
from dpaudit.estimators.binomial_test import family_split, two_sided_binomial_p_value
from dpaudit.estimators.epsilon_bounds import (
    Direction,
    EpsilonEstimate,
    delta_lower,
    epsilon_lower,
)
from dpaudit.estimators.predicted_bounds import (
    predicted_delta,
    predicted_epsilon,
    predicted_rates,
)
from dpaudit.estimators.rate_bounds import RateBounds
from dpaudit.estimators.split_threshold import SplitScores, split_threshold
from dpaudit.estimators.threshold_choice import ChosenThreshold, ThresholdChoice

__all__ = [
    "ChosenThreshold",
    "Direction",
    "EpsilonEstimate",
    "RateBounds",
    "SplitScores",
    "ThresholdChoice",
    "clopper_pearson",
    "delta_lower",
    "epsilon_lower",
    "family_split",
    "predicted_delta",
    "predicted_epsilon",
    "predicted_rates",
    "split_threshold",
    "two_sided_binomial_p_value",
]
