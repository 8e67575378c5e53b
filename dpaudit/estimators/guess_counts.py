"""Guesses about canaries, counted from attack scores: the highest are "in", the lowest "out".

Which canaries are guessed depends on the scores' ranks alone, never on what was included. Where the
last place is shared by equal scores, the guessed ones among them are drawn at random; the draw is
independent of the inclusion, so the guesses are those of a randomised attack and every bound on an
attack holds for them. Breaking ties by the order of the scores does not: with the included
canaries listed first, it turns a constant score into a perfect attack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from accountants.errors import ParameterError
from dpaudit.estimators.arrays import FloatArray
from dpaudit.estimators.one_run_tail import Side
from dpaudit.estimators.scores import as_scores


@dataclass(frozen=True, kw_only=True)
class GuessCounts:
    """Guesses made and how many of them were right.

    Attributes
    ----------
    guesses : int
        Guesses made.
    correct : int
        Right ones.
    in_threshold, out_threshold : float or None
        The lowest score guessed "in" and the highest guessed "out"; None without such guesses.
    ties : int
        Places that were drawn at random among equal scores.
    """

    guesses: int
    correct: int
    in_threshold: float | None
    out_threshold: float | None
    ties: int


@dataclass(frozen=True, eq=False)
class CanaryScores:
    """Scores of the canaries of one run, ready for counting guesses; made by `from_scores`.

    Attributes
    ----------
    inside, outside : ndarray
        float64 scores of the included and of the left-out canaries, each sorted ascending.
    pooled : ndarray
        All of them, sorted ascending.
    """

    inside: FloatArray
    outside: FloatArray
    pooled: FloatArray

    @classmethod
    def from_scores(cls, in_scores: Any, out_scores: Any) -> CanaryScores:
        """Sort the scores.

        Parameters
        ----------
        in_scores, out_scores : array_like or torch.Tensor
            One score a canary, of the included and of the left-out ones; shape (canaries,). A
            higher score means "in". One side may be empty.

        Returns
        -------
        CanaryScores
            The record.

        Raises
        ------
        ParameterError
            If the scores are not vectors of real numbers, or some are NaN.
        """
        inside = np.sort(as_scores("in_scores", in_scores))
        outside = np.sort(as_scores("out_scores", out_scores))
        # The stable sort merges the two sorted runs.
        pooled = np.sort(np.concatenate([inside, outside]), kind="stable")
        return cls(inside=inside, outside=outside, pooled=pooled)

    @property
    def canaries(self) -> int:
        """Number of canaries."""
        return int(self.pooled.size)

    def count(self, guesses: int, *, side: Side, rng: np.random.Generator) -> GuessCounts:
        """Make a number of guesses and count the right ones.

        Parameters
        ----------
        guesses : int
            0 to the number of canaries. With side "both" half of them, rounded up, are "in".
        side : {"both", "in", "out"}
            What is guessed.
        rng : numpy.random.Generator
            Decides among equal scores.

        Returns
        -------
        GuessCounts
            The counts.

        Raises
        ------
        ParameterError
            If there are fewer canaries than guesses.
        """
        if not 0 <= guesses <= self.canaries:
            raise ParameterError(
                f"guesses = {guesses}: allowed are 0 to the number of canaries, {self.canaries}"
            )
        highest = {"both": (guesses + 1) // 2, "in": guesses, "out": 0}[side]
        lowest = guesses - highest
        correct, ties = 0, 0
        in_threshold = out_threshold = None
        taken_in = taken_out = 0  # of the scores equal to in_threshold
        if highest:
            in_threshold = float(self.pooled[self.canaries - highest])
            above_in, tied_in = _above(self.inside, in_threshold)
            above_out, tied_out = _above(self.outside, in_threshold)
            places = highest - above_in - above_out
            taken_in, drawn = _draw(tied_in, tied_out, places, rng)
            taken_out = places - taken_in
            correct, ties = above_in + taken_in, drawn
        if lowest:
            out_threshold = float(self.pooled[lowest - 1])
            below_in, tied_in = _below(self.inside, out_threshold)
            below_out, tied_out = _below(self.outside, out_threshold)
            if out_threshold == in_threshold:
                tied_in, tied_out = tied_in - taken_in, tied_out - taken_out
            places = lowest - below_in - below_out
            right, drawn = _draw(tied_out, tied_in, places, rng)
            correct, ties = correct + below_out + right, ties + drawn
        return GuessCounts(
            guesses=guesses,
            correct=correct,
            in_threshold=in_threshold,
            out_threshold=out_threshold,
            ties=ties,
        )

    def split(
        self, fraction: float, *, rng: np.random.Generator
    ) -> tuple[CanaryScores, CanaryScores]:
        """Divide the canaries at random, included and left-out ones alike.

        The two sides are not divided separately: the number of included canaries in one part would
        then tell that of the other.

        Parameters
        ----------
        fraction : float
            Expected share of the first part, above 0 and below 1; its size is rounded down.
        rng : numpy.random.Generator
            Decides who goes where.

        Returns
        -------
        tuple of CanaryScores
            The two parts.
        """
        first = np.zeros(self.canaries, dtype=bool)
        first[: int(fraction * self.canaries)] = True
        rng.shuffle(first)
        chosen_in, chosen_out = first[: self.inside.size], first[self.inside.size :]
        return (
            CanaryScores.from_scores(self.inside[chosen_in], self.outside[chosen_out]),
            CanaryScores.from_scores(self.inside[~chosen_in], self.outside[~chosen_out]),
        )


def _above(ascending: FloatArray, threshold: float) -> tuple[int, int]:
    """Count the scores above a threshold and those equal to it."""
    first = int(np.searchsorted(ascending, threshold, side="left"))
    last = int(np.searchsorted(ascending, threshold, side="right"))
    return ascending.size - last, last - first


def _below(ascending: FloatArray, threshold: float) -> tuple[int, int]:
    """Count the scores below a threshold and those equal to it."""
    first = int(np.searchsorted(ascending, threshold, side="left"))
    last = int(np.searchsorted(ascending, threshold, side="right"))
    return first, last - first


def _draw(right: int, wrong: int, places: int, rng: np.random.Generator) -> tuple[int, int]:
    """Fill places from equal scores; return how many are right, and how many were drawn."""
    if places == right + wrong:
        return right, 0
    return int(rng.hypergeometric(right, wrong, places)), places
