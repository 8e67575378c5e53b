r"""Sequential composition: several releases about the same people, seen together.

Every release's profile is dominated by a discrete symmetric pair
(:mod:`accountants.loss_distribution`). The composition of the pairs dominates the composition of
the releases, also where a later one is chosen knowing the earlier ones' outputs, as long as each
one's profile was fixed in advance (Zhu, Dong and Wang 2022, Theorem 10). The losses are tilted by
:math:`e^{\theta l}` before they are convolved, so that small deltas have small relative errors; all
errors are bounded and added. Where the plain sum of epsilons and deltas is less, it counts.
Proof: ``docs/proofs/composition.md``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.errors import ParameterError
from accountants.guarantee import Guarantee, merged_assumptions
from accountants.inversion import smallest_epsilon
from accountants.loss_distribution import LossDistribution, dominating
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from accountants.tilted_convolution import TiltedSum, convolve, cut, log_any, put_on_grid

INDEPENDENT = (
    "The composed releases draw all their randomness independently: noise, coins and projections "
    "are fresh in each.",
    "The profile of each release was fixed in advance; only its inputs may depend on earlier "
    "outputs.",
)

COUNT_MAX = 10**7
_UNIT = 2.0**-53
_TILTS = 2.0 ** (np.arange(-96, 121) / 4)
_POINTS_MIN, _POINTS_MAX = 2**13, 2**18
_SPREAD = 1e-4  # what the grid may add to ln delta, where its size allows
_SPAN = 12.0  # standard deviations of the composed loss on each side of its mean
_RARE = 20.0  # minus ln of what single losses may add to delta by being taken as infinite
_EPSILON_MAX = 1e8
_KEPT = 32  # convolutions remembered


@dataclass(frozen=True, kw_only=True)
class SumProfile(PrivacyProfile):
    r"""Basic composition at a fixed split: epsilons add, deltas add.

    Parameters
    ----------
    profiles : tuple of PrivacyProfile
        At least one.
    counts : tuple of int
        How often each is used, >= 1.
    shares : tuple of float
        For each, the part of epsilon that all its uses share equally; >= 0, together at most 1.

    Raises
    ------
    ParameterError
        If the lengths differ or a value is not allowed.

    Notes
    -----
    Source: Dwork and Roth 2014, Theorem 3.16.
    """

    profiles: tuple[PrivacyProfile, ...]
    counts: tuple[int, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the values."""
        _same_length(self.profiles, self.counts, "counts")
        _same_length(self.profiles, self.shares, "shares")
        for share in self.shares:
            ranges.non_negative("share", share)
        if math.fsum(self.shares) > 1:
            raise ParameterError(f"shares = {self.shares!r}: at most 1 in sum is needed")

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        values = ranges.epsilons(epsilon)
        total = np.full(values.shape, -np.inf)
        finite = np.where(np.isinf(values), 0.0, values)
        for profile, count, share in zip(self.profiles, self.counts, self.shares, strict=True):
            each = np.where(np.isinf(values), np.inf, finite * (share / count) * (1 - 8 * _UNIT))
            total = np.logaddexp(total, float(np.log(count)) + profile.log_delta(each))
        return np.minimum(total * (1 - 4 * _UNIT) + 4 * _UNIT * len(self.counts), 0.0)


@dataclass(frozen=True, kw_only=True)
class ComposedProfile(PrivacyProfile):
    r"""Several releases together, each profile any number of times.

    Parameters
    ----------
    profiles : tuple of PrivacyProfile
        At least one.
    counts : tuple of int
        How often each is used, 1 to 1e7.
    points : int
        Samples of each profile, >= 20: see :meth:`LossDistribution.from_profile`.
    tail : float
        Where a single delta is below it, its loss counts as infinite; in (0, 1).

    Raises
    ------
    ParameterError
        If the lengths differ or a value is not allowed.

    Notes
    -----
    Profiles are sampled once, at the first call; each epsilon then takes a convolution and one
    evaluation of each profile (for the plain sum). Below the number of releases times ``tail`` only
    the plain sum is sharp. One release in all is its own profile, unsampled.
    """

    profiles: tuple[PrivacyProfile, ...]
    counts: tuple[int, ...]
    points: int = 200
    tail: float = 1e-30

    def __post_init__(self) -> None:
        """Check the values."""
        _same_length(self.profiles, self.counts, "counts")
        ranges.whole("points", self.points, low=20)
        ranges.open_unit("tail", self.tail)

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        values = ranges.epsilons(epsilon)
        if sum(self.counts) == 1:
            return self.profiles[0].log_delta(values)
        logs = [self._convolved(float(e)) for e in values.ravel()]
        composed = np.array(logs, dtype=float).reshape(values.shape)
        for plain in self._plain:
            composed = np.minimum(composed, plain.log_delta(values))
        return composed

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Smallest epsilon seen to meet each ``delta`` in [0, 1]; ``inf`` if none; same shape."""
        targets = ranges.deltas(delta)
        if sum(self.counts) == 1:
            return self.profiles[0].epsilon(targets)
        found = [self._epsilon(float(target)) for target in targets.ravel()]
        return np.array(found, dtype=float).reshape(targets.shape)

    @cached_property
    def distributions(self) -> tuple[LossDistribution, ...]:
        """The pairs that dominate the profiles, in their order."""
        return tuple(
            dominating(profile, points=self.points, tail=self.tail) for profile in self.profiles
        )

    @cached_property
    def _plain(self) -> tuple[SumProfile, ...]:
        """Basic compositions: equal parts, and parts in proportion to the greatest losses."""
        total = sum(self.counts)
        splits = [np.array(self.counts, float) / total]
        if len(self.counts) > 1:
            ends = np.array([max(float(one.losses[-1]), 0.0) for one in self.distributions])
            if (weighted := float(ends @ self.counts)) > 0:
                splits.append(ends * self.counts / weighted)
        return tuple(
            SumProfile(
                profiles=self.profiles,
                counts=self.counts,
                shares=tuple((shares * (1 - 1e-15 * len(shares))).tolist()),
            )
            for shares in splits
        )

    @cached_property
    def _kept(self) -> dict[tuple[int, float], TiltedSum]:
        return {}

    @cached_property
    def _moments(self) -> tuple[Floats, Floats, Floats]:
        """Cumulant of the composed finite loss, its tilted mean and variance, at each tilt."""
        sums = [np.zeros(len(_TILTS)) for _ in range(3)]
        for one, count in zip(self.distributions, self.counts, strict=True):
            terms = one.log_masses + _TILTS[:, None] * one.losses
            peak = np.maximum(terms.max(axis=1), -1e300)
            weights = np.exp(terms - peak[:, None])
            total = np.maximum(weights.sum(axis=1), 1e-300)
            mean = weights @ one.losses / total
            variance = (weights * (one.losses - mean[:, None]) ** 2).sum(axis=1) / total
            for i, value in enumerate((peak + np.log(total), mean, variance)):
                sums[i] = sums[i] + count * value
        return sums[0], sums[1], sums[2]

    @cached_property
    def _log_infinity(self) -> float:
        """Ln of the mass at infinity, rounded up."""
        pairs = zip(self.counts, self.distributions, strict=True)
        return log_any([(count, one.log_infinity, one.log_total) for count, one in pairs])

    @cached_property
    def _most(self) -> float:
        """The greatest finite loss, rounded up; at least 0."""
        ends = [float(one.losses[-1]) for one in self.distributions]
        most = sum(count * end for count, end in zip(self.counts, ends, strict=True))
        return max(most * (1 + 4 * _UNIT * (1 + len(ends))), 0.0)

    def _epsilon(self, delta: float) -> float:
        """Invert with one tilt, then move up until :meth:`log_delta` is small enough, too."""
        goal = float(np.log(delta)) if delta > 0 else -np.inf
        if not self._log_infinity < goal < 0:
            return float(smallest_epsilon(self.log_delta, delta))
        estimates = (self._moments[0] + _log_factor(_TILTS) - goal) / _TILTS
        place = int(np.argmin(estimates))
        one = self._remembered(place, _rounded_floor(goal))
        start = min(max(float(estimates[place]), 1e-3), _EPSILON_MAX)

        def tilted(epsilon: float) -> float:
            return -np.inf if np.isinf(epsilon) else one.log_delta(epsilon)

        found = min(float(smallest_epsilon(tilted, delta, relative=1e-9, start=start)), self._most)
        step = 1e-9 * max(found, 1e-3)
        for _ in range(12):
            if float(self.log_delta(found)) <= goal:
                return found
            found, step = found + step, 4 * step
        return float(smallest_epsilon(self.log_delta, delta))

    def _convolved(self, epsilon: float) -> float:
        """Upper bound of ln delta of the composed pairs at one epsilon."""
        if self._log_infinity >= 0:
            return 0.0
        if epsilon >= self._most:
            return self._log_infinity
        estimates = self._moments[0] + _log_factor(_TILTS) - _TILTS * epsilon
        place = int(np.argmin(estimates))
        estimate = float(np.logaddexp(min(estimates[place], 0.0), self._log_infinity))
        return self._remembered(place, _rounded_floor(estimate)).log_delta(epsilon)

    def _remembered(self, place: int, floor: float) -> TiltedSum:
        key = (place, floor)
        if key not in self._kept:
            if len(self._kept) >= _KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = self._compose(*key)
        return self._kept[key]

    def _compose(self, place: int, floor: float) -> TiltedSum:
        """Convolve the pairs, tilted; accurate where ln delta is above ``floor``."""
        tilt, total = float(_TILTS[place]), sum(self.counts)
        gap = float(np.log1p(1 / tilt))  # of the tilted mean and epsilon, at the best tilt
        spread = max(float(np.sqrt(self._moments[2][place])), gap / _SPAN, 1e-12)
        mean = float(self._moments[1][place])
        rare = floor - _RARE - float(np.log(total))
        ends = [cut(one, tilt=tilt, log_rare=rare)[0] for one in self.distributions]
        widest = max(float(losses[-1] - losses[0]) for losses in ends)
        period = 2 * (_SPAN * spread + widest + gap)
        fine = min(
            float(np.sqrt(8 * _SPREAD / (total * tilt * (1 + tilt)))),
            float(2 * np.sqrt(_SPREAD / total)) * spread,
        )
        points = int(min(max(period / max(fine, 1e-300), _POINTS_MIN), _POINTS_MAX))
        points = 2 ** (points - 1).bit_length()
        step = max(period / (points - 8), 1e-12 * (1 + abs(mean) + self._most))
        if (greatest := float(ends[0][-1])) > 16 * step:
            step = greatest / math.ceil(greatest / step)  # that loss lies on the grid
        return convolve(
            [put_on_grid(one, tilt=tilt, step=step, log_rare=rare) for one in self.distributions],
            self.counts,
            tilt=tilt,
            step=step,
            top=int(np.ceil((mean + _SPAN * spread + widest) / step)),
            points=points,
            spread=spread,
        )


def _log_factor(tilt: Floats) -> Floats:
    """Ln of the greatest 1 - e^-x times e^-(tilt x): what delta gains over Chernoff's bound."""
    return np.asarray(tilt * np.log(tilt) - (1 + tilt) * np.log1p(tilt))


def _rounded_floor(log_delta: float) -> float:
    """Return a little less, rounded coarsely so that nearby epsilons share a convolution."""
    return 8 * math.floor((min(log_delta, 0.0) - 4) / 8)


def _same_length(profiles: Sequence[object], values: Sequence[object], name: str) -> None:
    """Check the profiles and as many numbers; counts have to be whole.

    Raises
    ------
    ParameterError
        If there is no profile, the lengths differ, or a count is not a whole number >= 1.
    """
    if not profiles or len(values) != len(profiles):
        raise ParameterError(
            f"profiles, {name} = {len(profiles)}, {len(values)} of them: "
            "as many of both are needed, at least one"
        )
    if name == "counts":
        for value in values:
            ranges.whole("count", value, low=1, high=COUNT_MAX)  # type: ignore[arg-type]


def compose_sequentially(
    guarantees: Sequence[Guarantee],
    *,
    counts: Sequence[int] | None = None,
    name: str,
    points: int = 200,
) -> Guarantee:
    """Return the guarantee of all releases together.

    Parameters
    ----------
    guarantees : sequence of Guarantee
        At least one, of one adjacency and view.
    counts : sequence of int, optional
        How often each is released, >= 1; once by default.
    name : str
        Of the whole.
    points : int
        Samples of each profile, >= 20.

    Raises
    ------
    MismatchError
        If two differ in adjacency or view.
    ParameterError
        If there is none, or a value is not allowed.
    """
    profiles, number = _checked(guarantees, counts)
    return _joined(
        guarantees,
        name=name,
        profile=ComposedProfile(profiles=profiles, counts=number, points=points),
        source="sequential composition (Zhu, Dong and Wang 2022, Theorem 10; "
        "docs/proofs/composition.md)",
    )


def compose_sum(
    guarantees: Sequence[Guarantee],
    *,
    shares: Sequence[float],
    counts: Sequence[int] | None = None,
    name: str,
) -> Guarantee:
    """Return the guarantee of all releases by the plain sum: epsilons add, deltas add.

    Parameters
    ----------
    guarantees : sequence of Guarantee
        At least one, of one adjacency and view.
    shares : sequence of float
        The part of epsilon of each (of all its uses together), >= 0, at most 1 in sum.
    counts : sequence of int, optional
        How often each is released, >= 1; once by default.
    name : str
        Of the whole.

    Raises
    ------
    MismatchError
        If two differ in adjacency or view.
    ParameterError
        If there is none, or a value is not allowed.
    """
    profiles, number = _checked(guarantees, counts)
    return _joined(
        guarantees,
        name=name,
        profile=SumProfile(profiles=profiles, counts=number, shares=tuple(shares)),
        source="basic composition (Dwork and Roth 2014, Theorem 3.16)",
    )


def _checked(
    guarantees: Sequence[Guarantee], counts: Sequence[int] | None
) -> tuple[tuple[PrivacyProfile, ...], tuple[int, ...]]:
    if not guarantees:
        raise ParameterError("guarantees = []: at least one is needed")
    guarantees[0].about(guarantees[1:])
    profiles = tuple(guarantee.profile for guarantee in guarantees)
    return profiles, (1,) * len(profiles) if counts is None else tuple(counts)


def _joined(
    guarantees: Sequence[Guarantee], *, name: str, profile: PrivacyProfile, source: str
) -> Guarantee:
    return replace(
        guarantees[0],
        name=name,
        profile=profile,
        assumptions=(*merged_assumptions(guarantees), *INDEPENDENT),
        source=source + " of: " + "; ".join(dict.fromkeys(one.source for one in guarantees)),
    )
