"""Warnings: where a paper's statement is not a bound, or a quantity does not exist."""

from dataclasses import dataclass, field
from math import isfinite, isinf

from accountants import FreE2TParameters, PaperCalibration, PaperTerms

_ROUNDING = 0.005  # a multiplier this little below the needed one, relative, was rounded down


@dataclass
class WarningList:
    """Warnings in the order found, each with a stable code and one sentence."""

    entries: list[dict[str, str]] = field(default_factory=list)

    def add(self, code: str, message: str) -> None:
        """Append one warning."""
        self.entries.append({"code": code, "message": message})


def paper_warnings(
    warnings: WarningList,
    *,
    parameters: FreE2TParameters,
    terms: PaperTerms,
    calibrated: PaperCalibration,
    claim: tuple[float, float],
    paper_epsilon: float,
) -> None:
    """Add a warning for every place where the paper's accounting is not a bound or breaks down.

    Parameters
    ----------
    warnings : WarningList
        Receives them.
    parameters : FreE2TParameters
        The release, with the paper's u and v.
    terms : PaperTerms
        Its terms.
    calibrated : PaperCalibration
        Algorithm 3's noise for the claim.
    claim : (float, float)
        Claimed epsilon and delta.
    paper_epsilon : float
        The paper's total at the claimed delta.
    """
    epsilon, delta = claim
    factor = parameters.budget_factor or 0.0
    if factor < 1:
        warnings.add(
            "budget-factor-below-one",
            f"budget_factor = {factor:g}: Lemma 1 needs at least 1; below it the remove direction "
            "and an empty release are not covered, so nothing proves the paper's total",
        )
    if terms.kappa * parameters.records_max > 1:
        warnings.add(
            "missing-union",
            f"the paper's collision term {terms.delta_sens:.3g} is that of one pair; over "
            f"{parameters.records_max} records it is {terms.delta_sens_union:.3g} "
            f"(claimed delta: {delta:.3g}), so the paper's total is not a bound",
        )
    spent = terms.delta_fre + terms.delta_sens
    with_union = terms.delta_fre + terms.delta_sens_union
    if spent >= delta or with_union >= delta:
        which = "" if spent >= delta else "with the union over records, "
        warnings.add(
            "delta-not-summing",
            f"{which}delta_fre + delta_sens = {max(spent, with_union if which else spent):.3g} "
            f"leaves nothing of delta = {delta:.3g} for the noisy sum",
        )
    if epsilon < terms.epsilon_fre:
        warnings.add(
            "epsilon-below-sampling",
            f"epsilon = {epsilon:.4g} is below epsilon_fre = {terms.epsilon_fre:.4g}: the paper "
            "has nothing left for the noisy sum, and no delta at this epsilon",
        )
    if paper_epsilon > epsilon and not isinf(paper_epsilon):
        exact, given = calibrated.noise_multiplier_exact, terms.noise_multiplier
        if isfinite(exact) and exact * (1 - _ROUNDING) <= given < exact:
            warnings.add(
                "noise-rounded-down",
                f"the noise multiplier {given:.4g} lies just below the needed {exact:.6g}, as if "
                f"rounded down: by the paper's own sum epsilon is {paper_epsilon:.4f}, above the "
                "claim",
            )
        else:
            warnings.add(
                "paper-misses-claim",
                f"by the paper's own accounting epsilon is {paper_epsilon:.4g}, above the claim",
            )
