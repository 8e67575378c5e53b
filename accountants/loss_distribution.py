r"""The privacy loss distribution that dominates a privacy profile.

A profile bounds :math:`\delta(\epsilon)` for epsilon >= 0 in both directions. Each direction's
curve is convex in :math:`\alpha = e^\epsilon`, so between two samples it lies below the chord of
any upper bounds of its values there, and for epsilon < 0 it is at most
:math:`1 - \alpha + \alpha \delta(-\epsilon)`. The chords of the samples' lower convex hull are the
curve of a discrete pair whose losses are the hull's vertices: with slopes
:math:`S_{k-1} > S_k` (downwards) left and right of the vertex at :math:`\alpha_k`, the first
distribution has there the mass :math:`\alpha_k (S_{k-1} - S_k)` (connecting the dots, Doroshenko
et al. 2022), and at minus that loss :math:`e^{-\epsilon_k}` times as much. Everything is a
logarithm and rounded up. Proof: ``docs/proofs/composition.md``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from accountants import ranges
from accountants.errors import ParameterError
from accountants.gaussian import exp_up
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

Places = NDArray[np.int64]

_UNIT = 2.0**-53
_START = 17  # samples before the first refinement
_EPSILON_END, _EPSILON_MAX = 1500.0, 1e6  # where sampling ends if there is no end, in any case
_NEAREST = 1e-9  # samples are not closer, relative to epsilon
_GRID_MAX = 2**23
_NEGLIGIBLE = 1e-40  # mass at the lowest losses that is moved up rather than given a grid
_UNNORMALISED = 1e-6
_BLOCK = 2**21


@dataclass(frozen=True, kw_only=True, eq=False)
class LossDistribution(PrivacyProfile):
    r"""A discrete privacy loss, given by the masses of the first of two distributions.

    Parameters
    ----------
    losses : ndarray
        Finite, strictly rising, at least one; natural logarithms of probability ratios.
    log_masses : ndarray
        Natural logarithm of the mass at each loss, rounded up; ``-inf`` allowed.
    log_infinity : float
        Natural logarithm of the mass at infinite loss; ``-inf`` for none.

    Raises
    ------
    ParameterError
        If the arrays do not fit, the losses do not rise, or all masses do not sum to 1 within 1e-6.
    """

    losses: Floats
    log_masses: Floats
    log_infinity: float

    def __post_init__(self) -> None:
        """Check what is given."""
        losses, logs = np.asarray(self.losses, float), np.asarray(self.log_masses, float)
        if losses.ndim != 1 or losses.shape != logs.shape or losses.size == 0:
            raise ParameterError(
                f"losses, log_masses = arrays of shapes {losses.shape}, {logs.shape}: "
                "two of the same length >= 1 are needed"
            )
        if not (np.isfinite(losses).all() and np.all(np.diff(losses) > 0)):
            raise ParameterError("losses = an array: finite, strictly rising numbers are needed")
        total = float(np.exp(np.minimum(logs, 1.0)).sum() + np.exp(min(self.log_infinity, 1.0)))
        if not abs(total - 1) <= _UNNORMALISED:  # NaN, too
            raise ParameterError(f"sum of the masses = {total!r}: 1 is needed")

    @classmethod
    def from_masses(
        cls, masses: Mapping[float, float], *, infinity: float = 0.0
    ) -> "LossDistribution":
        """Return the distribution with ``masses`` at finite losses and ``infinity`` at infinity.

        What is missing to a sum of 1 is put at infinity.

        Raises
        ------
        ParameterError
            If a mass is negative or NaN, or all do not sum to 1 within 1e-6.
        """
        losses, values = zip(*sorted(masses.items()), strict=True) if masses else ((), ())
        return _from_arrays(np.array(losses, float), np.array(values, float), infinity)

    @classmethod
    def from_profile(
        cls,
        profile: PrivacyProfile,
        *,
        points: int = 200,
        tail: float = 1e-30,
        tolerance: float = 1e-3,
    ) -> "LossDistribution":
        """Return a distribution that dominates ``profile`` in both directions.

        Parameters
        ----------
        profile : PrivacyProfile
            Evaluated at about ``points`` epsilons, besides one inversion at ``tail``.
        points : int
            Samples, >= 20. Too few make the result larger, never too small.
        tail : float
            Where delta is below it, in (0, 1), sampling ends: what is left goes to infinity.
        tolerance : float
            Samples are added until the chords exceed delta by at most about this in ln delta
            (where delta > ``tail``), > 0, or ``points`` are used, where delta is greatest first.

        Raises
        ------
        ParameterError
            If a parameter is not allowed.

        Notes
        -----
        Asymmetric mechanisms lose by it: the worse direction at each epsilon is taken for both.
        """
        ranges.whole("points", points, low=20)
        log_tail = float(np.log(ranges.open_unit("tail", tail)))
        ranges.positive("tolerance", tolerance)
        epsilons, logs = _samples(profile, points, log_tail, tolerance)
        return _hull(epsilons, np.minimum.accumulate(logs))

    @cached_property
    def log_total(self) -> float:
        """Ln of the sum of all masses, rounded up; a little above 0, as the masses are."""
        total = float(np.logaddexp(np.logaddexp.reduce(self.log_masses), self.log_infinity))
        return max(total, 0.0) + 4 * _UNIT * (1 + len(self.losses))

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0 (``inf`` allowed); same shape."""
        values = ranges.epsilons(epsilon)
        flat = values.ravel()
        result = np.empty(flat.shape)
        rows = max(_BLOCK // len(self.losses), 1)
        for start in range(0, flat.size, rows):
            result[start : start + rows] = self._log_delta(flat[start : start + rows])
        return result.reshape(values.shape)

    def _log_delta(self, epsilon: Floats) -> Floats:
        """Sum over the losses above each epsilon; one dimension."""
        above = np.maximum(self.losses - epsilon[:, None], 0.0)  # at 0 it adds nothing
        with np.errstate(divide="ignore"):
            terms = self.log_masses + np.log(-np.expm1(-above))
        peak = np.maximum(terms.max(axis=1), self.log_infinity)
        shift = np.where(np.isfinite(peak), peak, 0.0)
        total = np.exp(terms - shift[:, None]).sum(axis=1) + np.exp(self.log_infinity - shift)
        with np.errstate(divide="ignore"):
            value = shift + np.log(total)
        size = np.where(np.isfinite(value), np.abs(value), 0.0)
        return np.asarray(np.minimum(value + 128 * _UNIT * (1 + size), 0.0))

    def to_pld(self, *, interval: float = 1e-4) -> "PrivacyLossDistribution":
        """Return it as dp_accounting's ``PrivacyLossDistribution``, symmetric and pessimistic.

        Parameters
        ----------
        interval : float
            Distance of the grid's points, > 0: ``value_discretization_interval`` there. Each mass
            is split between its two neighbours so that both distributions keep their masses.

        Raises
        ------
        ParameterError
            If ``interval`` is not allowed, or the grid would have more than 2**23 points.

        Notes
        -----
        For distributions that are the same in both directions, as those of :meth:`from_profile`.
        dp_accounting's compositions do not add the error of their transforms;
        :class:`accountants.composition.ComposedProfile` does.
        """
        from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

        step = ranges.positive("interval", interval)
        masses = exp_up(self.log_masses)
        low = min(int(np.searchsorted(np.cumsum(masses), _NEGLIGIBLE)), len(masses) - 1)
        losses = np.maximum(self.losses, self.losses[low])
        span = (losses[-1] - losses[0]) / step
        if span + 2 > _GRID_MAX or abs(losses).max() / step > 2**52:
            least = (losses[-1] - losses[0]) / (_GRID_MAX - 4)
            raise ParameterError(
                f"interval = {interval!r}: at least {least:.3g} is needed for losses from "
                f"{losses[0]:.4g} to {losses[-1]:.4g}"
            )
        places, upper = split(losses, step)
        rounded: dict[int, float] = {}
        for place, share, mass in zip(
            places.tolist(), upper.tolist(), masses.tolist(), strict=True
        ):
            for where, part in ((place, 1 - share), (place + 1, share)):
                if part > 0 and mass > 0:
                    part = min(part * (1 + 4 * _UNIT) + _UNIT, 1.0)
                    rounded[where] = rounded.get(where, 0.0) + mass * part
        return PrivacyLossDistribution.create_from_rounded_probability(
            rounded or {0: 0.0}, float(exp_up(self.log_infinity)), step
        )


def split(losses: Floats, step: float) -> tuple[Places, Floats]:
    r"""Return the grid points at or below ``losses``, and the share that goes to the next one.

    With neighbours a <= l <= b the share of b is :math:`(1 - e^{a-l}) / (1 - e^{a-b})`, which keeps
    the masses of both distributions. Losses are raised by their rounding first.

    Parameters
    ----------
    losses : ndarray
        Any real numbers.
    step : float
        Distance of the points, > 0.

    Returns
    -------
    places : ndarray
        Whole numbers, as int64.
    share : ndarray
        In [0, 1], rounded up.
    """
    raised = losses + 8 * _UNIT * np.abs(losses)
    places = np.floor(raised / step)
    above = np.clip(raised - places * step + 2 * _UNIT * np.abs(raised), 0.0, step)
    share = np.expm1(-above) / np.expm1(-step) * (1 + 8 * _UNIT)
    return places.astype(np.int64), np.minimum(share, 1.0)


def dominating(
    profile: PrivacyProfile, *, points: int = 200, tail: float = 1e-30
) -> LossDistribution:
    """Return :meth:`LossDistribution.from_profile`, remembered where ``profile`` can be hashed.

    Raises
    ------
    ParameterError
        If a parameter is not allowed.
    """
    try:
        hash(profile)
    except TypeError:
        return LossDistribution.from_profile(profile, points=points, tail=tail)
    return _remembered(profile, points, tail)


@lru_cache(maxsize=64)
def _remembered(profile: PrivacyProfile, points: int, tail: float) -> LossDistribution:
    return LossDistribution.from_profile(profile, points=points, tail=tail)


def of_pld(pld: "PrivacyLossDistribution") -> tuple[LossDistribution, ...]:
    """Return the one or two directions of dp_accounting's ``pld``.

    Reads attributes that dp_accounting 0.6 does not document. Negative masses down to -1e-12, as
    Fourier transforms leave them, are taken as 0.

    Raises
    ------
    ParameterError
        If its masses are negative or not normalised.
    """
    pmfs = [pld._pmf_remove] if pld._symmetric else [pld._pmf_remove, pld._pmf_add]
    found = []
    for pmf in pmfs:
        if hasattr(pmf, "_loss_probs"):
            places, masses = np.array(sorted(pmf._loss_probs.items()), float).T
        else:
            masses = np.asarray(pmf._probs, float)
            places = pmf._lower_loss + np.arange(len(masses), dtype=float)
        masses = np.where((masses < 0) & (masses >= -1e-12), 0.0, masses)
        found.append(_from_arrays(places * pmf._discretization, masses, float(pmf._infinity_mass)))
    return tuple(found)


def _from_arrays(losses: Floats, masses: Floats, infinity: float) -> LossDistribution:
    """Put what is missing to a sum of 1 at infinity; check signs."""
    if not (np.all(masses >= 0) and infinity >= 0):
        raise ParameterError("masses = an array: numbers >= 0 are needed")
    total = float(masses.sum()) + infinity
    if not (len(masses) and abs(total - 1) <= _UNNORMALISED):
        raise ParameterError(f"sum of the masses = {total!r}: 1 is needed")
    rounding = _UNIT * (2 + np.log2(len(masses) + 1))
    missing = 1 - total * (1 - rounding)
    infinity = infinity + missing if missing > 2 * rounding else infinity
    with np.errstate(divide="ignore"):
        logs = np.log(masses)
        last = float(np.log(infinity))
    logs = logs + 2 * rounding + 4 * _UNIT * np.where(np.isfinite(logs), np.abs(logs), 0.0)
    return LossDistribution(losses=losses, log_masses=logs, log_infinity=last + 2 * rounding)


# --- from samples of a profile to a distribution -------------------------------------------------


def _end(profile: PrivacyProfile, log_tail: float) -> float:
    """Return the epsilon up to which the profile is sampled."""
    end = float(profile.epsilon(float(np.exp(log_tail))))
    if np.isinf(end):  # delta does not fall to 0: until it has almost reached what it falls to
        floor = float(np.logaddexp(float(profile.log_delta(np.inf)) + 1e-3, log_tail))
        end = float(profile.epsilon(min(float(np.exp(floor)), 1.0)))
    return _EPSILON_END if np.isinf(end) else min(end, _EPSILON_MAX)


def _samples(
    profile: PrivacyProfile, points: int, log_tail: float, tolerance: float
) -> tuple[Floats, Floats]:
    """Return rising epsilons from 0 and upper bounds of ln delta there."""
    epsilons = np.unique(np.linspace(0.0, _end(profile, log_tail), _START))
    logs = np.asarray(profile.log_delta(epsilons), float)
    excess = np.full(len(epsilons) - 1, np.inf)  # of the chord's middle, as far as is known
    while (room := points - len(epsilons)) > 0:
        apart = np.diff(epsilons) > _NEAREST * (1e-3 + epsilons[1:])
        todo = np.flatnonzero((excess > tolerance) & apart & (logs[:-1] > log_tail))
        if todo.size == 0:
            break
        worth = np.log(excess[todo]) + logs[todo] / 4
        todo = np.sort(todo[np.argsort(-worth, kind="stable")[: (room + 1) // 2]])
        middle = epsilons[todo] + (epsilons[todo + 1] - epsilons[todo]) / 2
        values = np.asarray(profile.log_delta(middle), float)
        chord = _log_chord(epsilons, logs, todo, middle)
        quarter = np.maximum(chord - np.maximum(values, log_tail), 0.0) / 4
        excess[todo] = quarter
        excess = np.insert(excess, todo, quarter)
        epsilons = np.insert(epsilons, todo + 1, middle)
        logs = np.insert(logs, todo + 1, values)
    return epsilons, logs


def _log_chord(epsilons: Floats, logs: Floats, left: Places, middle: Floats) -> Floats:
    """Ln of the chord (in e^epsilon) of the interval that begins at sample ``left``."""
    a, b = epsilons[left], epsilons[left + 1]
    share = np.exp(middle - b) * np.expm1(a - middle) / np.expm1(a - b)
    with np.errstate(divide="ignore"):
        value = np.logaddexp(logs[left] + np.log1p(-share), logs[left + 1] + np.log(share))
    return np.asarray(value)


def _hull(epsilons: Floats, logs: Floats) -> LossDistribution:
    """Return the distribution of the symmetric lower convex hull of falling samples."""
    points = [(float(a), float(u)) for a, u in zip(epsilons, logs, strict=True)]
    kept: list[tuple[float, float]] = []
    slopes: list[float] = []  # ln of the slope that leads to each kept vertex
    for point in points:
        while kept and _log_slope(kept[-1], point) >= slopes[-1]:
            kept.pop()
            slopes.pop()
        slopes.append(_log_slope(kept[-1], point) if kept else _log_first_slope(*point))
        kept.append(point)
        if point[1] == -np.inf:
            break
    losses, masses = [], []
    for (loss, log), left, right in zip(kept, slopes, [*slopes[1:], -np.inf], strict=True):
        if left == -np.inf:
            continue
        size = loss + abs(left) + (abs(log) if log > -np.inf else 0.0)
        error = 16 * _UNIT * (1 + size + (abs(right) if right > -np.inf else 0.0))
        jump = float(np.log(-np.expm1(-(max(left - right, 0.0) + 2 * error))))
        losses.append(loss)
        masses.append(loss + left + jump + error)
    if not losses:  # delta = 1 at every sample
        return LossDistribution(
            losses=np.zeros(1), log_masses=np.full(1, -np.inf), log_infinity=0.0
        )
    positive, log_masses = np.array(losses), np.array(masses)
    mirrored = log_masses - positive + 4 * _UNIT * (1 + np.abs(log_masses) + positive)
    if positive[0] == 0:
        log_masses[0] = np.logaddexp(log_masses[0], mirrored[0]) + 4 * _UNIT
        negative, mirrored = -positive[:0:-1], mirrored[:0:-1]
    else:
        negative, mirrored = -positive[::-1], mirrored[::-1]
    return LossDistribution(
        losses=np.concatenate((negative, positive)),
        log_masses=np.concatenate((mirrored, log_masses)),
        log_infinity=kept[-1][1],
    )


def _log_slope(left: tuple[float, float], right: tuple[float, float]) -> float:
    """Ln of the fall of delta over the rise of e^epsilon between two samples."""
    (a, u), (b, v) = left, right
    if not u > v:
        return -np.inf
    return float(u + np.log(-np.expm1(v - u)) - b - np.log(-np.expm1(a - b)))


def _log_first_slope(epsilon: float, log: float) -> float:
    """Ln of the slope from a sample's mirror image to itself: (1 - delta) / (1 + e^epsilon)."""
    if log >= 0:
        return -np.inf
    return float(np.log(-np.expm1(log)) - np.logaddexp(0.0, epsilon))
