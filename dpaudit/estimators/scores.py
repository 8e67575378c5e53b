"""Reading attack scores: any numeric vector in, float64 out, NaN refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from accountants.errors import ParameterError
from dpaudit.estimators.arrays import FloatArray


def as_scores(name: str, scores: Any) -> FloatArray:
    """Convert one side's scores to a float64 vector, keeping their order.

    Integers beyond 2^53 lose their last bits, which may merge neighbouring scores; an estimate
    stays valid, as it then rates the attack with the coarser scores.

    Parameters
    ----------
    name : str
        How an error calls the scores.
    scores : array_like or torch.Tensor
        One score a trial, shape (trials,); integers, booleans or floats of any precision, on any
        device. Infinite scores are legitimate.

    Returns
    -------
    ndarray
        A float64 copy.

    Raises
    ------
    ParameterError
        If the scores are not a vector of real numbers, or some are NaN.
    """
    values = scores.detach().cpu() if hasattr(scores, "detach") else scores
    if hasattr(values, "is_floating_point") and values.is_floating_point():
        values = values.double()  # bfloat16 has no numpy equivalent
    try:
        array = np.asarray(values)
    except ValueError:
        raise ParameterError(f"{name} must be a vector of numbers, not nested lists") from None
    if array.dtype.kind not in "biuf":
        raise ParameterError(f"{name} must be numbers, not {array.dtype}")
    if array.ndim != 1:
        raise ParameterError(f"{name} must be a vector, not an array of shape {array.shape}")
    array = array.astype(np.float64)
    missing = int(np.count_nonzero(np.isnan(array)))
    if missing:
        raise ParameterError(
            f"{name}: {missing} of {array.size} scores are NaN; numbers and infinities are allowed"
        )
    return array
