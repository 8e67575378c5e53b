"""Uniform random bits, and exact Bernoulli coins made from them.

A release that claims differential privacy must toss its coins and draw its noise from bits that
nobody can predict. :class:`SystemBits` reads them from the operating system and cannot be seeded.
:class:`SeededBits` is for trials and experiments: whoever uses it gets results marked as such.
"""

import os
from fractions import Fraction
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from accountants.errors import ParameterError

Words = NDArray[np.uint64]

SMALLEST_PROBABILITY = 2.0**-64
"""Coins rarer than this are refused: 128 bits would no longer hold their probability exactly."""

_CHUNK = 1 << 20  # coins at a time: 8 MB of words


@runtime_checkable
class BitSource(Protocol):
    """A stream of independent, uniform 64-bit words."""

    @property
    def experiment(self) -> bool:
        """Whether the words can be reproduced, so that a release made from them is no release."""
        ...

    def words(self, count: int) -> Words:
        """Return the next ``count`` words, shape (count,)."""
        ...


class SystemBits:
    """The operating system's cryptographic generator (``os.urandom``); it takes no seed."""

    @property
    def experiment(self) -> bool:
        """Always False."""
        return False

    def words(self, count: int) -> Words:
        """Return the next ``count`` words, shape (count,)."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


class SeededBits:
    """Words of numpy's PCG-64 generator, for trials and experiments only.

    Parameters
    ----------
    seed : int or numpy.random.SeedSequence
        The same seed gives the same words.
    """

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    @property
    def experiment(self) -> bool:
        """Always True."""
        return True

    def words(self, count: int) -> Words:
        """Return the next ``count`` words, shape (count,)."""
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)


def fresh_seed() -> int:
    """Return a seed in [0, 2**63) from the operating system, to be recorded and published."""
    return int.from_bytes(os.urandom(8), "little") >> 1


def bernoulli(source: BitSource, *, probability: float, count: int) -> NDArray[np.bool_]:
    """Toss ``count`` independent coins, each heads with exactly the double ``probability``.

    A 128-bit uniform integer is compared with the integer ``probability * 2**128``, which every
    double in [2**-64, 1) makes exactly. Only a tie in the upper 64 bits asks for the lower ones.

    Parameters
    ----------
    source : BitSource
        Where the bits come from.
    probability : float
        Probability of heads, in [2**-64, 1).
    count : int
        Number of coins, >= 0.

    Returns
    -------
    ndarray of bool, shape (count,)
        True is heads. Working memory beyond it: about 10 MB.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.

    Examples
    --------
    >>> bernoulli(SeededBits(1), probability=0.5, count=4).shape
    (4,)
    """
    if count < 0:
        raise ParameterError(f"count = {count!r}: a whole number >= 0 is needed")
    value = float(probability)
    if not SMALLEST_PROBABILITY <= value < 1:
        raise ParameterError(f"probability = {probability!r}: a number in [2**-64, 1) is needed")
    upper, lower = divmod(int(Fraction(value) * 2**128), 2**64)
    heads = np.empty(count, dtype=np.bool_)
    for start in range(0, count, _CHUNK):
        part = heads[start : start + _CHUNK]
        words = source.words(len(part))
        np.less(words, np.uint64(upper), out=part)
        if lower:
            ties = np.flatnonzero(words == np.uint64(upper))
            part[ties] = source.words(len(ties)) < np.uint64(lower)
    return heads
