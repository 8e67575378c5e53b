r"""delta* of semantic support protection, measured: how often a release comes near a text.

For a text x* and a radius :math:`r^*`, :math:`\delta^*(x^*)` is the probability that some released
centroid lies within :math:`r^*` of it (Fre-E2T, Definitions 2-4). Two kinds of trials bound it:

- *hits*: in each trial, whether one did (:func:`support_from_hits`);
- *conditional probabilities*: each trial fixes coins and projection only, and gives the exact
  probability over the noise, a noncentral chi-square (Rao-Blackwell;
  :func:`support_from_log_values` with :func:`log_any_hit`). The mean is the same and the spread
  smaller, and values far below 1/trials are measured.

One release may be compared with all texts: trials are independent, texts within a trial need not
be. *Worst text*: each text's lower bound has its share of the error, and the largest of them is a
bound on the largest :math:`\delta^*`; the largest of the upper bounds needs no share, as it
suffices that the bound of the text with the largest :math:`\delta^*`, whichever it is, holds.
*Average*: the mean over the texts in one trial is one value, and trials are independent.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from accountants.errors import ParameterError
from dpaudit.estimators import clopper_pearson
from dpaudit.estimators.arrays import FloatArray, as_numbers, error_of, refuse_where
from dpaudit.estimators.bounded_mean import log_mean_lower, mean_upper
from dpaudit.estimators.plain_values import plain, rounded_down, rounded_up

_ASSUMPTIONS = (
    "trials are independent, with fresh projection, coins and noise",
    "the texts were chosen without looking at these trials",
)


@dataclass(frozen=True, kw_only=True)
class SupportEstimate:
    """Bounds on delta* over the texts that were tested.

    Attributes
    ----------
    which : {"worst", "average"}
        Of the texts.
    lower, upper : float
        Each holds with probability at least ``confidence``. Beyond the tested texts ``lower``
        still bounds the worst text, ``upper`` nothing.
    log_lower : float
        Natural logarithm of ``lower``, meaningful where that underflows.
    confidence : float
        One-sided.
    text : int or None
        Which text gives ``lower``; None for the average, or where nothing was shown.
    texts, trials : int
        How many.
    method : str
        How the trials were bounded.
    assumptions : tuple of str
        What the statement rests on.
    """

    which: Literal["worst", "average"]
    lower: float
    upper: float
    log_lower: float
    confidence: float
    text: int | None
    texts: int
    trials: int
    method: str
    assumptions: tuple[str, ...] = _ASSUMPTIONS

    def __str__(self) -> str:
        """Return one sentence, its numbers rounded to the safe side."""
        low = rounded_down(self.lower)
        if self.lower == 0 and self.log_lower > -math.inf:
            low = f"exp({self.log_lower:.6g})"
        name = "the worst" if self.which == "worst" else "the average"
        return (
            f"delta* of {name} of {self.texts} texts is at least {low} and at most "
            f"{rounded_up(self.upper)}, each with confidence {rounded_down(self.confidence)} "
            f"({self.trials} trials; {self.method})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain values for JSON."""
        values = {**asdict(self), "assumptions": list(self.assumptions)}
        return {key: plain(value) for key, value in values.items()}


def support_from_hits(
    hits: ArrayLike, *, confidence: float = 0.95
) -> tuple[SupportEstimate, SupportEstimate]:
    """Bound delta* from what each trial hit.

    Parameters
    ----------
    hits : array_like of bool or 0/1, shape (trials, texts)
        Whether some release of the trial lay within the radius of the text.
    confidence : float
        One-sided, 0.5 to 1 - 1e-9.

    Returns
    -------
    worst, average : SupportEstimate
        Clopper-Pearson for the worst text, a bound of a mean for the average.

    Raises
    ------
    ParameterError
        If the array has another shape or other values, or the confidence is out of range.
    """
    table = _table("hits", np.asarray(hits, dtype=float))
    refuse_where("hits", table, (table != 0) & (table != 1), "0 and 1")
    tail = error_of(confidence)
    trials, texts = table.shape
    counts = table.sum(axis=0)
    lows = np.asarray(clopper_pearson.lower(counts, trials, tail=tail / texts))
    highs = np.asarray(clopper_pearson.upper(counts, trials, tail=tail))
    best = int(np.argmax(lows))
    worst = _worst(lows, np.log(np.maximum(lows, 5e-324)), float(np.max(highs)), best, table.shape)
    method = "Clopper-Pearson, the lower bound simultaneous over the texts"
    with np.errstate(divide="ignore"):
        log_means = np.log(table.mean(axis=1))
    return (
        SupportEstimate(**worst, confidence=confidence, method=method),
        _average(log_means, table.mean(axis=1), 1.0, confidence, table.shape),
    )


def support_from_log_values(
    log_values: ArrayLike, *, confidence: float = 0.95, most: float = 1.0
) -> tuple[SupportEstimate, SupportEstimate]:
    """Bound delta* from the probability, given coins and projection, that each trial hits.

    Parameters
    ----------
    log_values : array_like, shape (trials, texts)
        Natural logarithms of the conditional probabilities, at most 0; see `log_any_hit`.
    confidence : float
        One-sided, 0.5 to 1 - 1e-9.
    most : float
        What no conditional probability can exceed, in (0, 1]: known, not observed. Upper bounds are
        proportional to it.

    Returns
    -------
    worst, average : SupportEstimate
        Both by bounds on means.

    Raises
    ------
    ParameterError
        If the array has another shape or other values, or a parameter is out of range.
    """
    logs = _table("log_values", as_numbers("log_values", log_values))
    refuse_where("log_values", logs, ~(logs <= math.log(most) + 1e-12), "at most ln(most)")
    tail = error_of(confidence)
    texts = logs.shape[1]
    values = np.minimum(np.exp(logs), most)
    lows = np.array([log_mean_lower(logs[:, i], tail=tail / texts) for i in range(texts)])
    highs = [mean_upper(values[:, i], most=most, tail=tail) for i in range(texts)]
    best = int(np.argmax(lows))
    worst = _worst(np.exp(lows), lows, max(highs), best, logs.shape)
    top = np.max(logs, axis=1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        log_means = np.log(np.mean(np.exp(logs - top), axis=1)) + top[:, 0]
    method = "Rao-Blackwell: bets on conditional probabilities, simultaneous over the texts"
    return (
        SupportEstimate(**worst, confidence=confidence, method=method),
        _average(log_means, values.mean(axis=1), most, confidence, logs.shape),
    )


def log_any_hit(log_probabilities: ArrayLike) -> FloatArray:
    """Return the logarithm of the probability that at least one of independent events happens.

    Parameters
    ----------
    log_probabilities : array_like, shape (..., events)
        Natural logarithms, at most 0: of each released centroid, given its bucket's sampled records
        (:func:`accountants.noncentral_chi2.centroid_hit_probability`).

    Returns
    -------
    ndarray, shape (...)
        ``-inf`` without events.
    """
    logs = as_numbers("log_probabilities", log_probabilities)
    refuse_where("log_probabilities", logs, ~(logs <= 0), "at most 0")
    if logs.shape[-1] == 0:
        return np.full(logs.shape[:-1], -np.inf)
    with np.errstate(divide="ignore"):
        none = np.sum(np.log1p(-np.exp(logs)), axis=-1)
        tiny = np.logaddexp.reduce(logs, axis=-1)  # where 1 - e^none would be rounded away
        exact = np.log(-np.expm1(none))
    found = np.where(tiny < -30, tiny + math.log1p(-1e-13), np.minimum(exact, 0.0))
    return np.asarray(found)


def _worst(
    lows: FloatArray, logs: FloatArray, high: float, best: int, shape: tuple[int, ...]
) -> dict[str, Any]:
    shown = float(lows[best]) > 0 or float(logs[best]) > -700
    return {
        "which": "worst",
        "lower": float(lows[best]),
        "upper": high,
        "log_lower": float(logs[best]) if shown or lows[best] > 0 else -math.inf,
        "text": best if shown else None,
        "trials": shape[0],
        "texts": shape[1],
    }


def _average(
    logs: FloatArray, values: FloatArray, most: float, confidence: float, shape: tuple[int, ...]
) -> SupportEstimate:
    low = log_mean_lower(logs, tail=error_of(confidence))
    return SupportEstimate(
        which="average",
        lower=math.exp(low),
        upper=mean_upper(np.minimum(values, most), most=most, tail=error_of(confidence)),
        log_lower=low,
        confidence=confidence,
        text=None,
        trials=shape[0],
        texts=shape[1],
        method="bets on the trials' averages over the texts",
    )


def _table(name: str, values: FloatArray) -> FloatArray:
    if values.ndim != 2 or 0 in values.shape:
        raise ParameterError(
            f"{name}: an array of shape (trials, texts), both at least 1, is needed, "
            f"not {values.shape}"
        )
    return values
