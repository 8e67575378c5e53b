"""The result of an audit in one run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from dpaudit.estimators.one_run_tail import Side
from dpaudit.estimators.plain_values import plain, rounded_down, rounded_up

ASSUMPTIONS = (
    "each canary was included independently with the stated probability, a fixed number included "
    "is not the same",
    "every guess depends on the inclusion only through the output of the run",
    "the claim is about adding or removing one canary, whatever the other canaries are",
)


@dataclass(frozen=True, kw_only=True)
class OneRunEstimate:
    """A lower bound on epsilon from the guesses about many canaries in one run.

    With probability at least `confidence` the mechanism is not (e, delta)-DP for any e below
    `lower`; where `mu` is given, its trade-off curve is not bounded by the Gaussian one of any
    parameter below `mu`.

    Attributes
    ----------
    lower : float
        Lower bound on epsilon at `delta`; infinite only for a Gaussian curve at delta 0.
    upper : None
        There is no upper bound: another attack may show more.
    delta : float
        The delta at which epsilon is bounded.
    significance : float
        Probability that the statement is false, over all that was tried.
    direction : {"both", "add", "remove"}
        "add": all guesses are "in", and the bound is on what a canary adds; "remove": all are
        "out"; "both": the claim is refuted in one of the directions.
    in_threshold, out_threshold : float or None
        The lowest score guessed "in" and the highest guessed "out"; None if there is none or if
        counts were given.
    guesses, correct : int
        Guesses behind the bound, and right ones among them.
    canaries : int
        Canaries about which guesses could be made.
    held_out : int
        Canaries that only served to choose the number of guesses.
    inclusion : float
        Probability with which each was included.
    tried : tuple of int
        The numbers of guesses among which the error was shared equally.
    tail : float
        The share of the error spent on the guesses behind the bound.
    ties : int
        Guesses drawn at random among equal scores.
    seed : int or None
        Of those draws and of the held-out part; None if counts were given.
    mu : float or None
        Lower bound on the parameter of a Gaussian trade-off curve, if that was asked for.
    method : str
        Which bound was used.
    assumptions : tuple of str
        What the statement rests on.
    reason : str or None
        Why nothing was shown, or None if something was.
    """

    lower: float
    delta: float
    significance: float
    side: Side
    in_threshold: float | None
    out_threshold: float | None
    guesses: int
    correct: int
    canaries: int
    held_out: int
    inclusion: float
    tried: tuple[int, ...]
    tail: float
    ties: int
    seed: int | None
    method: str
    assumptions: tuple[str, ...] = ASSUMPTIONS
    mu: float | None = None
    reason: str | None = None
    upper: None = None

    @property
    def confidence(self) -> float:
        """One minus the significance."""
        return 1.0 - self.significance

    @property
    def direction(self) -> Literal["both", "add", "remove"]:
        """Which neighbour plays P in the refuted inequality ``P(S) <= e^epsilon Q(S) + delta``."""
        if self.side == "both":
            return "both"
        return "add" if self.side == "in" else "remove"

    def __str__(self) -> str:
        """Return the estimate as one sentence, its bounds rounded down."""
        given = f"epsilon >= {rounded_down(self.lower)} at delta = {self.delta:.6g}"
        if self.mu is not None:
            given += f" (mu >= {rounded_down(self.mu)})"
        if self.reason is not None:
            return f"{given}: nothing shown, {self.reason}."
        among = f", the best of {len(self.tried)} numbers of guesses" if len(self.tried) > 1 else ""
        return (
            f"{given}, with error at most {rounded_up(self.significance)} "
            f"(one run, direction {self.direction}: {self.correct} of {self.guesses} "
            f"guesses right about {self.canaries} canaries{among})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain values for JSON.

        Returns
        -------
        dict
            One entry per attribute, `confidence` and `direction`; infinities as "inf" and "-inf".
        """
        entries = {**asdict(self), "confidence": self.confidence, "direction": self.direction}
        return {key: plain(value) for key, value in entries.items()}
