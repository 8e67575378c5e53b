"""What an audit of a known attack will show, predicted from expected counts.

With true rates TPR and FPR and n bounding trials a side, the counts concentrate at ``n TPR`` and
``n FPR``; putting these into the Clopper-Pearson formula predicts the measured bound to within its
sampling noise. Used to design canaries for a given number of trials and to test an audit's power.
"""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from dpaudit.estimators.arrays import FloatArray, Number, as_numbers, as_rates, broadcast
from dpaudit.estimators.clopper_pearson import lower_at_expected_count, upper_at_expected_count
from dpaudit.estimators.epsilon_bounds import delta_lower, epsilon_lower


@overload
def predicted_epsilon(
    true_positive_rate: Number,
    false_positive_rate: Number,
    *,
    trials: Number,
    tail: Number,
    delta: Number,
) -> float: ...
@overload
def predicted_epsilon(
    true_positive_rate: ArrayLike,
    false_positive_rate: ArrayLike,
    *,
    trials: ArrayLike,
    tail: ArrayLike,
    delta: ArrayLike,
) -> FloatArray: ...
def predicted_epsilon(
    true_positive_rate: ArrayLike,
    false_positive_rate: ArrayLike,
    *,
    trials: ArrayLike,
    tail: ArrayLike,
    delta: ArrayLike,
) -> float | FloatArray:
    """Predict the measured lower bound on epsilon.

    Parameters
    ----------
    true_positive_rate, false_positive_rate : array_like of float
        The attack's true rates, one entry per threshold, 0 to 1.
    trials : array_like of int
        Bounding trials on each side, 1 to 1e9.
    tail : array_like of float
        Error probability of each rate bound, 1e-30 to 0.5.
    delta : array_like of float
        The delta at which epsilon is bounded, 0 to 1.

    Returns
    -------
    float or ndarray
        The prediction; the arguments broadcast. It is not a confidence bound.

    Raises
    ------
    ParameterError
        If a value is out of range.
    """
    tpr_lower, fpr_upper = predicted_rates(
        true_positive_rate, false_positive_rate, trials=trials, tail=tail
    )
    return epsilon_lower(tpr_lower, fpr_upper, delta=delta)


@overload
def predicted_delta(
    true_positive_rate: Number,
    false_positive_rate: Number,
    *,
    trials: Number,
    tail: Number,
    epsilon: Number,
) -> float: ...
@overload
def predicted_delta(
    true_positive_rate: ArrayLike,
    false_positive_rate: ArrayLike,
    *,
    trials: ArrayLike,
    tail: ArrayLike,
    epsilon: ArrayLike,
) -> FloatArray: ...
def predicted_delta(
    true_positive_rate: ArrayLike,
    false_positive_rate: ArrayLike,
    *,
    trials: ArrayLike,
    tail: ArrayLike,
    epsilon: ArrayLike,
) -> float | FloatArray:
    """Predict the measured lower bound on delta.

    Parameters
    ----------
    true_positive_rate, false_positive_rate, trials, tail : array_like
        As for `predicted_epsilon`.
    epsilon : array_like of float
        The epsilon at which delta is bounded, 0 or more.

    Returns
    -------
    float or ndarray
        The prediction; the arguments broadcast. It is not a confidence bound.

    Raises
    ------
    ParameterError
        If a value is out of range.
    """
    tpr_lower, fpr_upper = predicted_rates(
        true_positive_rate, false_positive_rate, trials=trials, tail=tail
    )
    return delta_lower(tpr_lower, fpr_upper, epsilon=epsilon)


def predicted_rates(
    true_positive_rate: ArrayLike,
    false_positive_rate: ArrayLike,
    *,
    trials: ArrayLike,
    tail: ArrayLike,
) -> tuple[FloatArray, FloatArray]:
    """Predict both rate bounds from expected counts.

    Parameters
    ----------
    true_positive_rate, false_positive_rate, trials, tail : array_like
        As for `predicted_epsilon`.

    Returns
    -------
    tuple of ndarray
        Predicted lower bound on the true- and upper bound on the false-positive rate.

    Raises
    ------
    ParameterError
        If a value is out of range.
    """
    positive, negative, n = broadcast(
        true_positive_rate=as_rates("true_positive_rate", true_positive_rate),
        false_positive_rate=as_rates("false_positive_rate", false_positive_rate),
        trials=as_numbers("trials", trials),
    )
    return (
        np.asarray(lower_at_expected_count(positive * n, n, tail=tail)),
        np.asarray(upper_at_expected_count(negative * n, n, tail=tail)),
    )
