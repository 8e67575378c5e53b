"""``dpaudit estimate``: a lower bound on epsilon from anyone's attack scores in a file."""

from pathlib import Path
from typing import Any

import dpaudit
from dpaudit.data.score_file import read_scores
from dpaudit.estimators.score_auditor import ScoreAuditor
from dpaudit.estimators.threshold_strategies import Split

SHUFFLED = (
    "the rows were shuffled by a fixed seed before some of them chose the threshold: a file's "
    "order need not be that of the trials"
)


def estimate_file(
    path: Path,
    *,
    delta: float = 0.0,
    confidence: float = 0.95,
    seed: int = 0,
    score_column: str | None = None,
    member_column: str | None = None,
) -> dict[str, Any]:
    """Bound epsilon from below by the scores in a file.

    Parameters
    ----------
    path : Path
        See :func:`dpaudit.data.score_file.read_scores`.
    delta : float
        The delta at which epsilon is bounded, 0 to 1.
    confidence : float
        One-sided, over everything that was tried; above 0.5 and below 1.
    seed : int
        Of the shuffle that says which trials choose the threshold, >= 0. Trying several and
        taking the best is not covered by the confidence.
    score_column, member_column : str, optional
        Other names of the columns.

    Returns
    -------
    dict
        ``epsilon`` (``lower``, ``upper``, and all of
        :class:`~dpaudit.estimators.score_estimate.ScoreEstimate`), ``sentence``, ``trials_in``,
        ``trials_out`` and ``source``.

    Raises
    ------
    DataError, ParameterError
        If the file or a parameter cannot be used.
    """
    scores = read_scores(path, score_column=score_column, member_column=member_column)
    estimate = ScoreAuditor(scores.in_scores, scores.out_scores).epsilon(
        delta=delta, confidence=confidence, threshold_strategy=Split(seed=seed)
    )
    found = estimate.to_dict()
    found["assumptions"] = [*found["assumptions"], SHUFFLED]
    return {
        "dpaudit": dpaudit.__version__,
        "command": "estimate",
        "source": scores.source,
        "trials_in": int(scores.in_scores.size),
        "trials_out": int(scores.out_scores.size),
        "seed": seed,
        "epsilon": found,
        "sentence": str(estimate),
    }
