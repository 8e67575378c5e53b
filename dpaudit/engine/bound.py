"""From counts of the bounding trials to a bound on epsilon."""

from __future__ import annotations

from dpaudit.engine.blocks import CountedBatch
from dpaudit.engine.event import Event
from dpaudit.engine.plan import Plan
from dpaudit.engine.result import AuditEstimate
from dpaudit.estimators.arrays import error_of
from dpaudit.estimators.joint_rates import JointRegion
from dpaudit.estimators.score_bounds import INDEPENDENT, RatePair, least_shown
from dpaudit.estimators.score_quantity import EpsilonAt

TIMEOUTS = "whether a trial times out does not depend on the load of the machine"
INTERRUPTIONS = (
    "the mechanism cannot repeat its releases: where the audit was interrupted did not depend on "
    "the outcomes of the batches then in progress"
)
_NOTHING = "all selection trials of a side were lost with their blocks"


def bound_counts(
    event: Event | None,
    inside: CountedBatch,
    outside: CountedBatch,
    *,
    plan: Plan,
    delta: float,
    confidence: float,
    assumptions: tuple[str, ...] = (),
) -> AuditEstimate:
    """Bound epsilon by the joint region of both rates, laid out for the counts expected.

    Parameters
    ----------
    event : Event or None
        What was counted, chosen on other trials; None bounds nothing.
    inside, outside : CountedBatch
        Counts of all bounding trials of each side.
    plan : Plan
        How many trials did what.
    delta : float
        0 to 1.
    confidence : float
        One-sided: the whole error goes to the joint region, as direction, threshold and the
        scores of failures were chosen on other trials.
    assumptions : tuple of str
        More of them.

    Returns
    -------
    AuditEstimate
        The bound, 0 with a reason if nothing is shown.
    """
    quantity, error = EpsilonAt(delta=delta), error_of(confidence)
    direction = "add" if event is None else event.direction
    positives, negatives = (inside, outside) if direction == "add" else (outside, inside)
    high, low, reason = 0.0, 1.0, _NOTHING if event is None else None
    if event is not None:
        region = JointRegion.for_counts(
            quantity,
            true_positives=event.true_positives,
            false_positives=event.false_positives,
            positives=positives.trials,
            negatives=negatives.trials,
            error=error,
        )
        _, high, low = least_shown(
            quantity,
            region,
            positives.positives,
            positives.trials,
            negatives.positives,
            negatives.trials,
        )
    if event is not None and "timeout" in event.failures:
        assumptions = (TIMEOUTS, *assumptions)
    chosen = plan.phase_trials("selection")
    pair = RatePair(
        direction=direction,
        threshold=None if event is None else event.threshold,
        true_positives=positives.positives,
        false_positives=negatives.positives,
        trials_in=inside.trials,
        trials_out=outside.trials,
        tpr_lower=high,
        fpr_upper=low,
        error_shares={
            "joint region of both rates": error,
            "choice of attack, direction, threshold and failure scores (on other trials)": 0.0,
        },
        method=(
            "joint Clopper-Pearson region of both rates, event chosen on "
            f"{chosen} + {chosen} other trials"
        ),
        assumptions=(INDEPENDENT, *assumptions),
        reason=reason,
    )
    return AuditEstimate.of(pair.estimate(quantity, confidence=confidence))
