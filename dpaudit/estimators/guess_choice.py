"""How many guesses a one-run audit makes.

The bound on right guesses holds for a number of guesses that was fixed before the scores were
matched with the inclusion. Trying several numbers and keeping the best needs a correction:

- `FixedGuesses`: one number or one share of the canaries, fixed in advance.
- `GeometricGuesses`: several numbers fixed in advance, among which the error is shared equally.
- `HeldOutGuesses`: a random part of the canaries chooses the share to guess, the rest bounds.

The canaries of one run share its output, so held-out canaries are not independent trials. They may
choose all the same: given the inclusion of the choosing part, the run is still
(epsilon, delta)-DP in each of the others, whose inclusion is still independent and fair. What they
choose depends on the output, however, so the bound for a number of guesses that depends on the
output applies (equation (2) of `dpaudit.estimators.one_run_tail`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from accountants.errors import ParameterError
from dpaudit.estimators.guess_counts import CanaryScores
from dpaudit.estimators.one_run_tail import Side, one_run_epsilon_lower, stakes


@dataclass(frozen=True)
class FixedGuesses:
    """One number of guesses.

    Attributes
    ----------
    guesses : int or float
        A whole number (int): so many guesses, at most the number of canaries. A fraction (float)
        above 0, at most 1: so large a share of the canaries, rounded down, but at least one guess.
    """

    guesses: int | float

    def __post_init__(self) -> None:
        """Check the range."""
        allowed = "whole numbers from 1, and fractions above 0 up to 1"
        number, whole = self.guesses, isinstance(self.guesses, int | np.integer)
        if isinstance(number, bool):
            raise ParameterError(f"guesses = {number}: allowed are {allowed}")
        if not (number >= 1 if whole else 0.0 < number <= 1.0):
            raise ParameterError(f"guesses = {number!r}: allowed are {allowed}")

    def numbers(self, canaries: int, *, side: Side, inclusion: float, tail: float) -> list[int]:
        """Return the numbers of guesses to try: one.

        Parameters
        ----------
        canaries : int
            Number of canaries.
        side, inclusion, tail
            Not used.

        Returns
        -------
        list of int
            The number, at most `canaries`; empty without canaries.

        Raises
        ------
        ParameterError
            If a whole number exceeds the canaries.
        """
        if isinstance(self.guesses, int | np.integer):
            if self.guesses > canaries > 0:
                raise ParameterError(
                    f"guesses = {self.guesses}: allowed are at most as many as canaries, {canaries}"
                )
            return [int(self.guesses)] if canaries else []
        return [max(1, int(self.guesses * canaries))] if canaries else []


@dataclass(frozen=True)
class GeometricGuesses:
    """Numbers in geometric steps, from all that can be guessed to the fewest that can show much.

    Attributes
    ----------
    ratio : float
        Each number is the one before divided by this, rounded down; 1.1 to 100.
    """

    ratio: float = 4.0

    def __post_init__(self) -> None:
        """Check the range."""
        if not 1.1 <= self.ratio <= 100.0:
            raise ParameterError(f"ratio = {self.ratio:g}: allowed are numbers from 1.1 to 100")

    def numbers(self, canaries: int, *, side: Side, inclusion: float, tail: float) -> list[int]:
        """Return the numbers of guesses to try.

        Parameters
        ----------
        canaries : int
            Number of canaries.
        side : {"both", "in", "out"}
            What is guessed; one-sided guesses begin at half the canaries.
        inclusion : float
            Probability of inclusion.
        tail : float
            Error probability to be shared.

        Returns
        -------
        list of int
            Falling; the last is the fewest guesses whose being all right would refute epsilon = 0.
            Only the largest if even that would not.
        """
        largest = canaries if side == "both" else (canaries + 1) // 2
        if largest < 1:
            return []
        steps = int(math.log(largest) / math.log(self.ratio)) + 1
        log_odds, _ = stakes(canaries, side=side, inclusion=inclusion)
        blind = -math.log1p(math.exp(-log_odds))  # ln of the chance of one right guess
        fewest = math.ceil(math.log(tail / steps) / blind)
        candidates = (int(largest / self.ratio**step) for step in range(steps))
        return [largest, *sorted({n for n in candidates if fewest <= n < largest}, reverse=True)]


@dataclass(frozen=True)
class HeldOutGuesses:
    """A random part of the canaries chooses the share of the others to guess.

    Attributes
    ----------
    fraction : float
        Share of the canaries that choose, above 0 and below 1.
    """

    fraction: float = 0.25

    def __post_init__(self) -> None:
        """Check the range."""
        if not 0.0 < self.fraction < 1.0:
            raise ParameterError(
                f"fraction = {self.fraction:g}: allowed are numbers between 0 and 1"
            )

    def choose(
        self,
        choosing: CanaryScores,
        bounding: int,
        *,
        delta: float,
        tail: float,
        side: Side,
        inclusion: float,
        rng: np.random.Generator,
    ) -> int:
        """Choose a number of guesses from the choosing canaries.

        Parameters
        ----------
        choosing : CanaryScores
            The canaries that choose.
        bounding : int
            How many canaries there are to be guessed.
        delta, tail, side, inclusion
            Of the bound to come.
        rng : numpy.random.Generator
            Decides among equal scores.

        Returns
        -------
        int
            The number that would give the best bound at the accuracy seen, with the error shared
            among the numbers so that few lucky guesses do not win; 0 without canaries.
        """
        rule = GeometricGuesses(ratio=1.5)
        numbers = rule.numbers(bounding, side=side, inclusion=inclusion, tail=tail)
        if not numbers or not choosing.canaries:
            return 0
        scale = choosing.canaries / bounding
        correct = []
        for number in numbers:
            seen = choosing.count(max(1, int(number * scale)), side=side, rng=rng)
            correct.append(int(number * (seen.correct / seen.guesses)))
        found = one_run_epsilon_lower(
            correct,
            numbers,
            canaries=bounding,
            delta=delta,
            tail=tail / len(numbers),
            side=side,
            inclusion=inclusion,
            fixed_guesses=delta == 0.0,
        )
        return numbers[int(np.argmax(found))]


GuessRule: TypeAlias = FixedGuesses | GeometricGuesses | HeldOutGuesses
"""How the number of guesses is decided."""
