"""A black-box attack that learns, from releases alone, which outcomes tell two inputs apart.

Each feature of :mod:`attacks.release_features` is cut into bins (every value of its own where there
are few, else by quantiles) and scored by the logarithm of how much more often its bin occurred with
the canary. On half of the training releases the bins are learned, on the other half the features
are compared: by the lower bound of the rates' ratio at the best threshold, which a lucky bin with
few releases does not win. The best feature is compared with sums of the best few. Then the bins are
learned again from all releases.

In the spirit of StatDP (Ding et al. 2018) and DP-Sniper (Bichsel et al. 2021), which search events
as well. Whatever is learned, an audit stays valid: the trials that bound are others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv

from attacks.release_features import Column, release_features

Floats = NDArray[np.float64]

_BINS = 64
_SMOOTHING = 0.5
_TAIL = 1e-3  # of each rate when features are compared
_SUMS = (2, 4, 8)
_WORDS = 4096  # categories kept of one feature


@dataclass(frozen=True, eq=False)
class _Bins:
    """One feature's bins and their scores."""

    edges: Floats | None
    scores: Floats  # one a bin; the last one is "no number"
    words: dict[str, float] | None = None

    @classmethod
    def learned(cls, inside: Column, outside: Column) -> "_Bins":
        if inside.dtype == object or outside.dtype == object:
            return cls._words(inside, outside)
        pooled = np.concatenate([inside, outside])
        finite = pooled[np.isfinite(pooled)]
        values, counts = np.unique(finite, return_counts=True)
        if len(values) > _BINS:
            quantiles = np.quantile(finite, np.linspace(0, 1, _BINS + 1)[1:-1], method="lower")
            heavy = values[counts > len(finite) / _BINS]  # a value that is often hit: its own bin
            above = np.nextafter(heavy, np.inf)
            edges = np.unique(np.concatenate([quantiles, heavy, above]))
        else:
            edges = values
        ones = np.bincount(_places(inside, edges), minlength=len(edges) + 2)
        others = np.bincount(_places(outside, edges), minlength=len(edges) + 2)
        return cls(edges, _log_ratio(ones, others))

    @classmethod
    def _words(cls, inside: Column, outside: Column) -> "_Bins":
        names, places = np.unique(
            np.concatenate([inside, outside]).astype(str), return_inverse=True
        )
        ones = np.bincount(places[: len(inside)], minlength=len(names))
        others = np.bincount(places[len(inside) :], minlength=len(names))
        scores = _log_ratio(ones, others)
        kept = np.argsort(-np.abs(scores) * np.minimum(ones + others, 100), kind="stable")[:_WORDS]
        return cls(None, np.zeros(1), {str(names[i]): float(scores[i]) for i in kept})

    def score(self, column: Column | None, number: int) -> Floats:
        if column is None:
            return np.zeros(number)
        if self.words is not None:
            return np.array([self.words.get(str(value), 0.0) for value in column])
        if column.dtype == object or self.edges is None:
            return np.zeros(number)
        return self.scores[_places(column, self.edges)]


class LearnedEvents:
    """The default attack on a mechanism of which nothing is known but its releases.

    Deterministic: the same training releases give the same scores.

    Parameters
    ----------
    delta : float
        The delta at which epsilon will be bounded, 0 to 1: what is rarer than it does not count.
    low_bits : bool
        Whether to look at the low bits of floating-point releases, which give away the input of
        most mechanisms that add floating-point noise (Mironov 2012). Without it, what is bounded
        is what an adversary sees who gets rounded numbers.
    """

    def __init__(self, *, delta: float = 0.0, low_bits: bool = True) -> None:
        self.delta = delta
        self.low_bits = low_bits
        self._chosen: dict[str, _Bins] = {}

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that the scores are made of, the best first."""
        return tuple(self._chosen)

    def fit(self, releases_in: Any, releases_out: Any) -> None:
        """Learn from releases with and without the canary.

        Parameters
        ----------
        releases_in, releases_out : sequence or array
            Training releases; none of them may be among those that bound.
        """
        inside = release_features(releases_in, low_bits=self.low_bits)
        outside = release_features(releases_out, low_bits=self.low_bits)
        names = [name for name in inside if name in outside]
        sizes = len(_any(inside)), len(_any(outside))
        half = sizes[0] // 2, sizes[1] // 2
        scores = {}
        for name in names:
            bins = _Bins.learned(inside[name][: half[0]], outside[name][: half[1]])
            scores[name] = (
                bins.score(inside[name][half[0] :], sizes[0] - half[0]),
                bins.score(outside[name][half[1] :], sizes[1] - half[1]),
            )
        worths = {name: _worth(*scores[name], self.delta) for name in names}
        ranked = sorted(names, key=lambda name: -worths[name])  # stable: ties in order
        best, most = ranked[:1], worths[ranked[0]] if ranked else 0.0
        for number in _SUMS:
            together = ranked[:number]
            if len(together) < number:
                break
            worth = _worth(*_sums(scores, together), self.delta)
            if worth > most:
                best, most = together, worth
        self._chosen = {name: _Bins.learned(inside[name], outside[name]) for name in best}

    def score(self, releases: Any) -> Floats:
        """Return one score a release, shape (n,), higher meaning "with the canary"."""
        columns = release_features(releases, low_bits=self.low_bits)
        total = np.zeros(len(releases))
        for name, bins in self._chosen.items():
            total += bins.score(columns.get(name), len(releases))
        return total


def _places(column: Column, edges: Floats) -> NDArray[np.int64]:
    """Return each number's bin; the last bin is for NaN."""
    places = np.searchsorted(edges, column, side="right")
    return np.where(np.isnan(column), len(edges) + 1, places)


def _log_ratio(ones: NDArray[Any], others: NDArray[Any]) -> Floats:
    """Return the smoothed logarithm of the ratio of two histograms."""
    parts = len(ones) * _SMOOTHING
    ratio = np.log((ones + _SMOOTHING) / (ones.sum() + parts))
    return np.asarray(ratio - np.log((others + _SMOOTHING) / (others.sum() + parts)))


def _sums(scores: dict[str, tuple[Floats, Floats]], names: Sequence[str]) -> tuple[Floats, Floats]:
    ones, others = zip(*(scores[name] for name in names), strict=True)
    return np.sum(ones, axis=0), np.sum(others, axis=0)


def _worth(inside: Floats, outside: Floats, delta: float) -> float:
    """Return about the epsilon that scores show, at the best threshold and in either direction."""
    values = np.unique(np.concatenate([inside, outside]))
    if len(values) > 512:
        values = values[np.linspace(0, len(values) - 1, 512).astype(int)]
    best = 0.0
    for ones, others in ((inside, outside), (-outside, -inside)):
        thresholds = values if ones is inside else -values
        hits = len(ones) - np.searchsorted(np.sort(ones), thresholds)
        false = len(others) - np.searchsorted(np.sort(others), thresholds)
        low = betaincinv(np.maximum(hits, 1), len(ones) - hits + 1, _TAIL) * (hits > 0)
        high = betainccinv(false + 1, np.maximum(len(others) - false, 1), _TAIL)
        high = np.where(false == len(others), 1.0, high)
        best = max(best, float(np.max(np.log(np.maximum(low - delta, 1e-300) / high))))
    return best


def _any(columns: dict[str, Column]) -> Column:
    return next(iter(columns.values()), np.empty(0))
