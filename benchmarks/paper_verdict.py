"""One number that a paper states, beside what dpaudit computes, and whether they agree."""

from dataclasses import dataclass
from decimal import Decimal
from functools import partial

SLACK = 0.01  # a stated bound this much (relative) above the tight value is called loose


@dataclass(frozen=True, kw_only=True)
class Row:
    """One number of a paper.

    Parameters
    ----------
    paper, section, quantity : str
        Where it is, and what.
    stated : str
        As printed there; empty where the paper gives the formula only.
    formula, tight : partial, optional
        The paper's formula and dpaudit's own value, as functions of named parameters.
    claim : float, optional
        For a claim: the values must be at most this. Otherwise ``stated`` is compared as a number,
        to the digits printed.
    impossible : float, optional
        For "cannot be met": the target that the paper says cannot be met.
    why : str
        One sentence.
    """

    paper: str
    section: str
    quantity: str
    stated: str = ""
    formula: partial[float] | None = None
    tight: partial[float] | None = None
    claim: float | None = None
    impossible: float | None = None
    why: str

    def cells(self) -> list[str]:
        """Evaluate the row."""
        formula = None if self.formula is None else float(self.formula())
        tight = None if self.tight is None else float(self.tight())
        return [
            self.paper,
            self.section,
            self.quantity,
            self.stated or "-",
            shown(formula),
            shown(tight),
            self.verdict(formula, tight),
            self.why,
        ]

    def verdict(self, formula: float | None, tight: float | None) -> str:
        """Say whether the paper's value is the formula's, and whether it is enough."""
        if self.impossible is not None:
            return "no" if tight is not None and tight <= self.impossible else "yes"
        if self.claim is not None:
            return _claimed(self.claim, formula, tight)
        if self.stated:
            stated = float(self.stated)
            half = 0.5 * 10.0 ** int(Decimal(self.stated).as_tuple().exponent) * (1 + 1e-9)
            if formula is not None and abs(formula - stated) > half:
                return "no: the formula gives another value"
            if tight is not None and tight > stated + half:
                return "no: too small"
            loose = tight is not None and stated - half > tight * (1 + SLACK)
            return "yes, loose" if loose else "yes"
        if formula is None or tight is None:
            return "-"
        if tight > formula * (1 + 1e-6):
            return "no: too small"
        return "yes, loose" if formula > tight * (1 + SLACK) else "yes"


def _claimed(claim: float, formula: float | None, tight: float | None) -> str:
    """Compare both values with a claim."""
    allowed = claim * (1 + 1e-9)
    given = [value for value in (formula, tight) if value is not None]
    if claim == 1 and min(given) > 1:  # a bound of a probability
        return "vacuous"
    if tight is not None and tight > allowed:
        return "no: too small"
    if formula is not None and formula > allowed:
        return "no: the formula exceeds it" if tight is None else "formula no, claim holds"
    loose = tight is not None and claim > tight * (1 + SLACK)
    return "yes, loose" if loose else "yes"


def shown(value: float | None) -> str:
    """Write a number with 4 significant digits."""
    return "-" if value is None else f"{value:.4g}"
