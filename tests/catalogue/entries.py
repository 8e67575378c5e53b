"""What a catalogue entry is: a mechanism with one fault, beside its correct twin."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[[Any, int, np.random.Generator], Any]
TRIALS = 100_000


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A broken mechanism and its twin, with the claim that only the twin keeps.

    Attributes
    ----------
    name : str
        Short.
    fault : str
        What is wrong, in one sentence.
    epsilon, delta : float
        The claim of both.
    data_in, data_out : object
        Neighbouring inputs on which the fault shows.
    broken, correct : callable
        ``f(data, trials, rng)`` -> releases.
    trials : int
        On each input, for the broken one to be caught.
    """

    name: str
    fault: str
    epsilon: float = 1.0
    delta: float = 0.0
    data_in: Any
    data_out: Any
    broken: Function
    correct: Function
    trials: int = TRIALS
