"""Checks and conversions shared by the estimators' vectorised functions."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accountants.errors import ParameterError

FloatArray: TypeAlias = NDArray[np.float64]
Number: TypeAlias = "float | np.integer | np.floating"

LARGEST_CONFIDENCE = 1.0 - 1e-9


def as_numbers(name: str, value: ArrayLike) -> FloatArray:
    """Convert to float64, refusing what is not a real number.

    Parameters
    ----------
    name : str
        How an error calls the value.
    value : array_like
        Any shape.

    Returns
    -------
    ndarray
        The same values as float64; NaN passes, for the caller's range check to refuse.

    Raises
    ------
    ParameterError
        If the values are not integers or floating-point numbers.
    """
    try:
        array = np.asarray(value)
    except ValueError:
        raise ParameterError(f"{name} must be numbers in a regular array") from None
    if array.dtype.kind not in "iuf":
        raise ParameterError(f"{name} must be numbers, not {array.dtype}")
    return array.astype(np.float64)


def refuse_where(name: str, value: FloatArray, wrong: NDArray[np.bool_], allowed: str) -> None:
    """Refuse an array in which some values are wrong, repeating the first of them.

    Parameters
    ----------
    name : str
        How the error calls the value.
    value : ndarray
        The values.
    wrong : ndarray of bool
        True where a value is not acceptable; the shape of `value`.
    allowed : str
        What is allowed, for the message.

    Raises
    ------
    ParameterError
        If any value is wrong.
    """
    if np.any(wrong):
        first = float(value[wrong].flat[0])
        raise ParameterError(f"{name} = {first:.12g}: allowed are {allowed}")


def as_rates(name: str, value: ArrayLike) -> FloatArray:
    """Convert probabilities to float64, refusing any outside [0, 1].

    Parameters
    ----------
    name : str
        How an error calls the value.
    value : array_like
        Any shape.

    Returns
    -------
    ndarray
        The same values as float64.

    Raises
    ------
    ParameterError
        If a value is not a number from 0 to 1.
    """
    rates = as_numbers(name, value)
    refuse_where(name, rates, ~((rates >= 0.0) & (rates <= 1.0)), "0 to 1")
    return rates


def checked_counts(
    successes: ArrayLike, trials: ArrayLike, *, whole: bool, most: int
) -> tuple[FloatArray, FloatArray]:
    """Validate success counts out of trials.

    Parameters
    ----------
    successes, trials : array_like
        Counts, ``0 <= successes <= trials <= most``; they broadcast.
    whole : bool
        Whether the successes must be whole numbers (the trials always must).
    most : int
        Largest number of trials accepted.

    Returns
    -------
    tuple of ndarray
        Both as float64, broadcast to one shape.

    Raises
    ------
    ParameterError
        If a count is not a number, negative, not whole or out of range.
    """
    k, n = as_numbers("successes", successes), as_numbers("trials", trials)
    allowed = f"whole numbers from 0 to {most}"
    refuse_where("trials", n, ~((n >= 0) & (n <= most) & (n == np.floor(n))), allowed)
    refuse_where("successes", k, ~(k >= 0), "0 or more")
    if whole:
        refuse_where("successes", k, k != np.floor(k), "whole numbers")
    k, n = broadcast(successes=k, trials=n)
    refuse_where("successes", k, k > n, "at most the number of trials")
    return k, n


def error_of(confidence: float) -> float:
    """Return one minus a confidence, which is exact, refusing one out of range.

    Parameters
    ----------
    confidence : float
        0.5 to 1 - 1e-9.

    Returns
    -------
    float
        The error.

    Raises
    ------
    ParameterError
        If the confidence is out of range.
    """
    if not 0.5 <= confidence <= LARGEST_CONFIDENCE:
        raise ParameterError(f"confidence = {confidence:.12g}: allowed are 0.5 to 1 - 1e-9")
    return 1.0 - float(confidence)


def broadcast(**arrays: FloatArray) -> tuple[FloatArray, ...]:
    """Broadcast named arrays to one shape.

    Parameters
    ----------
    **arrays : ndarray
        The arrays, under the names an error calls them by.

    Returns
    -------
    tuple of ndarray
        Read-only views of one shape, in the order given.

    Raises
    ------
    ParameterError
        If the shapes do not broadcast.
    """
    try:
        return tuple(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ParameterError(f"these shapes do not broadcast: {shapes}") from None


def unwrapped(value: FloatArray) -> float | FloatArray:
    """Return an array without axes as a plain float, any other unchanged.

    Parameters
    ----------
    value : ndarray
        Any shape.

    Returns
    -------
    float or ndarray
        The value.
    """
    return float(value) if value.ndim == 0 else value
