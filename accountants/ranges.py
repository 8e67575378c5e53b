"""Range checks shared by the accountants: each repeats the value and says what is allowed."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accountants.errors import ParameterError

Floats = NDArray[np.float64]

THRESHOLD_LIMIT = 10**6


def positive(name: str, value: float, *, finite: bool = True) -> float:
    """Return ``value`` as a float > 0.

    Raises
    ------
    ParameterError
        If it is not a positive number (or not finite where ``finite`` is asked for).
    """
    number = float(value)
    if not number > 0 or (finite and math.isinf(number)):
        allowed = "a finite number > 0" if finite else "a number > 0"
        raise ParameterError(f"{name} = {value!r}: {allowed} is needed")
    return number


def non_negative(name: str, value: float, *, finite: bool = True) -> float:
    """Return ``value`` as a float >= 0.

    Raises
    ------
    ParameterError
        If it is negative, NaN (or infinite where ``finite`` is asked for).
    """
    number = float(value)
    if not number >= 0 or (finite and math.isinf(number)):
        allowed = "a finite number >= 0" if finite else "a number >= 0"
        raise ParameterError(f"{name} = {value!r}: {allowed} is needed")
    return number


def open_unit(name: str, value: float) -> float:
    """Return ``value`` as a float strictly between 0 and 1.

    Raises
    ------
    ParameterError
        If it lies outside (0, 1) or is NaN.
    """
    number = float(value)
    if not 0 < number < 1:
        raise ParameterError(f"{name} = {value!r}: a number strictly between 0 and 1 is needed")
    return number


def positive_integer(name: str, value: int) -> int:
    """Return ``value`` as an int >= 1.

    Raises
    ------
    ParameterError
        If it is not a whole number >= 1.
    """
    number = int(value) if np.isfinite(value) else 0
    if isinstance(value, bool) or number != value or number < 1:
        raise ParameterError(f"{name} = {value!r}: a whole number >= 1 is needed")
    return number


def whole(name: str, value: int, *, low: int = 0, high: int | None = None) -> int:
    """Return ``value`` as an int from ``low`` to ``high``.

    Raises
    ------
    ParameterError
        If it is not a whole number in that range.
    """
    number = int(value) if np.isfinite(value) else low - 1
    beyond = number < low or (high is not None and number > high)
    if isinstance(value, bool) or number != value or beyond:
        allowed = f">= {low}" if high is None else f"from {low} to {high}"
        raise ParameterError(f"{name} = {value!r}: a whole number {allowed} is needed")
    return number


def sampling_rate(value: float) -> float:
    """Return ``value`` as a float in (0, 1]; 1 means that every record is sampled.

    Raises
    ------
    ParameterError
        If it lies outside (0, 1] or is NaN.
    """
    number = float(value)
    if not 0 < number <= 1:
        raise ParameterError(f"sampling_rate = {value!r}: a number in (0, 1] is needed")
    return number


def release_threshold(value: int) -> int:
    """Return ``value`` as a threshold on a sampled count, 1 to 1e6 (counts are summed one by one).

    Raises
    ------
    ParameterError
        If it lies outside that range.
    """
    number = positive_integer("threshold", value)
    if number > THRESHOLD_LIMIT:
        raise ParameterError(f"threshold = {value!r}: at most {THRESHOLD_LIMIT:.0e} is supported")
    return number


def epsilons(value: ArrayLike) -> Floats:
    """Return ``value`` as an array of epsilons, each >= 0 (infinity allowed).

    Raises
    ------
    ParameterError
        If one is negative or NaN.
    """
    array = np.asarray(value, dtype=np.float64)
    if not np.all(array >= 0):
        raise ParameterError(f"epsilon = {value!r}: numbers >= 0 are needed")
    return array


def deltas(value: ArrayLike) -> Floats:
    """Return ``value`` as an array of deltas, each in [0, 1].

    Raises
    ------
    ParameterError
        If one lies outside [0, 1] or is NaN.
    """
    array = np.asarray(value, dtype=np.float64)
    if not np.all((array >= 0) & (array <= 1)):
        raise ParameterError(f"delta = {value!r}: numbers in [0, 1] are needed")
    return array
