r"""Composition of Poisson-subsampled Gaussian mechanisms, certified, by tilted FFT.

One step samples every record with probability q and adds :math:`N(0, \sigma^2)` to a sum of
contributions of norm at most 1. With :math:`M_s = (1-q) N(0, \sigma^2) + q N(s, \sigma^2)` its
dominating pairs are :math:`(M_1, N(0, \sigma^2))` when the record is removed and
:math:`(N(0, \sigma^2), M_1)` when it is added (Zhu, Dong and Wang 2022, Theorem 11), and
:math:`(M_1, M_{-1})` when it is replaced (proved in ``docs/proofs/federated-text.md``).
Composition convolves the privacy losses (Zhu, Dong and Wang 2022, Theorem 10).

Each loss is moved to a grid by connecting the dots (Doroshenko et al. 2022): a bucket's mass goes
to its two ends so that both masses of the pair are kept, which only raises
:math:`\delta(\epsilon)`. The grid is computed from the masses of single buckets, each with a bound
of its rounding error, and not from differences of :math:`\delta`; the FFT is applied to the
distribution tilted by :math:`e^{\theta l}`, and its error bound is added. So the answer is an
upper bound at every delta, where an FFT without a tilt has a floor near 1e-13 below which it is
noise. Proof: ``docs/proofs/federated-text.md``.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.composed_loss import (
    ComposedLoss,
    composed_loss,
    exponent_at,
    exponent_for,
    places_for,
    rounded_floor,
)
from accountants.connect_the_dots import Direction
from accountants.errors import ParameterError
from accountants.gaussian import log_hockey_stick
from accountants.guarantee import RELATIONS, Relation
from accountants.inversion import smallest_epsilon
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats

_UNIT = 2.0**-53
_EPSILON_MAX = 1e12
COUNT_MAX = 10**7


@dataclass(frozen=True, kw_only=True)
class GaussianSteps:
    r"""Steps of one kind: a Gaussian sum over a Poisson sample, ``count`` times.

    Parameters
    ----------
    sampling_rate : float
        q in (0, 1].
    noise_multiplier : float
        Noise standard deviation over the greatest norm of one record's contribution, 1e-3 to 1e6.
    count : int
        How many, 1 to 1e7.

    Raises
    ------
    ParameterError
        If a value is not allowed.
    """

    sampling_rate: float = 1.0
    noise_multiplier: float
    count: int = 1

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.sampling_rate(self.sampling_rate)
        _finite_inverse("noise_multiplier", self.noise_multiplier)
        ranges.whole("count", self.count, low=1, high=COUNT_MAX)

    @property
    def shift(self) -> float:
        """Distance of the two means in units of the noise."""
        return 1.0 / self.noise_multiplier


@dataclass(frozen=True, kw_only=True)
class SubsampledGaussians(PrivacyProfile):
    r"""Adaptive composition of Poisson-subsampled Gaussian steps, and of other Gaussian releases.

    Parameters
    ----------
    steps : tuple of GaussianSteps
        At least one unless there is a release. Those with sampling rate 1 are one Gaussian,
        exactly.
    release_shift : float
        For Gaussian releases besides the steps: the root of the sum of squares of their
        sensitivity over noise standard deviation, 0 or 1e-6 to 1e3. The sensitivity is that of
        ``relation``.
    relation : {"add-remove", "replace-one"}
        Neighbours; one record.

    Raises
    ------
    ParameterError
        If there is neither step nor release, or a value is not allowed.

    Notes
    -----
    Assumes that the coins of all steps are independent, that rates and noise are fixed in advance,
    and that a step is a sum (not a mean over the sampled number). The bound exceeds the exact
    curve by about 1e-4 in ln delta, by more where 2**18 points are coarse (about 1e-3 for
    thousands of steps or a noise multiplier of .02); ``docs/proofs/federated-text.md`` says where
    it is loose. A call takes some tens of milliseconds and less than 100 MB, whatever the noise.
    """

    steps: tuple[GaussianSteps, ...]
    release_shift: float = 0.0
    relation: Relation = "add-remove"

    def __post_init__(self) -> None:
        """Check the values."""
        shift = ranges.non_negative("release_shift", self.release_shift)
        if not self.steps and shift == 0:
            raise ParameterError("steps = (): at least one is needed, or a release")
        if shift > 0:
            _finite_inverse("1/release_shift", 1 / shift)
        if self.relation not in RELATIONS:
            raise ParameterError(f"relation = {self.relation!r}: one of {RELATIONS} is needed")

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta, the worse of both directions; same shape as ``epsilon``."""
        return self._each(epsilon, self._directions)

    def log_delta_towards(self, epsilon: ArrayLike, direction: Direction) -> Floats:
        """Upper bound of ln delta in one direction ("remove": the first has the record).

        Raises
        ------
        ParameterError
            If the direction is not one of this relation's.
        """
        if direction not in self._directions:
            raise ParameterError(f"direction = {direction!r}: one of {self._directions} is needed")
        return self._each(epsilon, (direction,))

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Smallest epsilon seen to meet each ``delta`` in [0, 1]; ``inf`` if none; same shape."""
        targets = ranges.deltas(delta)
        found = [self._epsilon(float(target)) for target in targets.ravel()]
        return np.array(found, dtype=float).reshape(targets.shape)

    @cached_property
    def _parts(self) -> tuple[tuple[float, float, int], ...]:
        """Rate, shift and count of each kind; the unsampled ones as one Gaussian."""
        merged: dict[tuple[float, float], int] = {}
        square = float(self.release_shift) ** 2
        apart = 2 if self.relation == "replace-one" else 1  # unsampled, two contributions differ
        for step in self.steps:
            if step.sampling_rate == 1:
                square += step.count * (apart * step.shift) ** 2
            else:
                key = (float(step.sampling_rate), step.shift)
                merged[key] = merged.get(key, 0) + int(step.count)
        parts = [(rate, shift, count) for (rate, shift), count in sorted(merged.items())]
        if square > 0:
            parts.append((1.0, float(np.sqrt(square) * (1 + 8 * (1 + len(self.steps)) * _UNIT)), 1))
        return tuple(parts)

    @property
    def _gaussian(self) -> float | None:
        """The shift of the whole where nothing is sampled."""
        (rate, shift, _), *others = self._parts
        return shift if rate == 1 and not others else None

    @property
    def _single(self) -> bool:
        """Whether there is a closed form: one step, add-remove."""
        return len(self._parts) == 1 and self._parts[0][2] == 1 and self.relation == "add-remove"

    @property
    def _directions(self) -> tuple[Direction, ...]:
        return ("replace",) if self.relation == "replace-one" else ("remove", "add")

    def _each(self, epsilon: ArrayLike, directions: tuple[Direction, ...]) -> Floats:
        values = ranges.epsilons(epsilon)
        if self._gaussian is not None:
            return log_hockey_stick(values, self._gaussian)
        logs = [max(self._one(float(e), way) for way in directions) for e in values.ravel()]
        return np.array(logs, dtype=float).reshape(values.shape)

    def _one(self, epsilon: float, direction: Direction) -> float:
        if np.isinf(epsilon) or (direction == "add" and epsilon >= self._most_added):
            return -np.inf
        epsilon = min(epsilon, _EPSILON_MAX)  # delta falls
        if self._single:
            return _one_step(self._parts[0][0], self._parts[0][1], epsilon, direction)
        place, estimate = exponent_at(self._parts, direction, epsilon)
        floor = rounded_floor(estimate)
        value = min(
            composed_loss(self._parts, direction, one, floor).log_delta(epsilon)
            for one in places_for(self._parts, direction, place, epsilon)
        )
        for less in (2, 4, 8, 16, 32):  # where the estimates are bad: every tilt gives a bound
            if value <= estimate + 1e-2:
                break
            other = composed_loss(self._parts, direction, place - less, floor)
            value = min(value, other.log_delta(epsilon))
        return value

    @property
    def _most_added(self) -> float:
        """The greatest loss when the record is added, rounded up; ``inf`` with a Gaussian."""
        if any(rate == 1 for rate, _, _ in self._parts):
            return np.inf
        total = sum(-count * np.log1p(-rate) for rate, _, count in self._parts)
        return float(total * (1 + 64 * _UNIT))

    def _epsilon(self, delta: float) -> float:
        if delta == 0:
            return np.inf
        if delta == 1 or self._single or self._gaussian is not None:
            return float(smallest_epsilon(self.log_delta, delta))
        goal = float(np.log(delta))
        built: list[tuple[Direction, list[ComposedLoss]]] = []
        start = 1.0
        for way in self._directions:
            place, estimate = exponent_for(self._parts, way, goal)
            places = places_for(self._parts, way, place, estimate)
            floor = rounded_floor(goal)
            built.append((way, [composed_loss(self._parts, way, one, floor) for one in places]))
            start = start if way == "add" else max(estimate, 1e-3)

        def worse(epsilon: float) -> float:
            if np.isinf(epsilon):
                return -np.inf
            return max(
                -np.inf
                if way == "add" and epsilon >= self._most_added
                else min(one.log_delta(epsilon) for one in losses)
                for way, losses in built
            )

        found = float(smallest_epsilon(worse, delta, relative=1e-9, start=start))
        step = 1e-9
        while np.isfinite(found) and float(self.log_delta(found)) > goal:
            found, step = found + step * max(found, 1e-3), 2 * step
            if found > _EPSILON_MAX:
                return np.inf
        return found


def _one_step(rate: float, shift: float, epsilon: float, direction: Direction) -> float:
    """Return ln delta of a single step, rounded up: the Gaussian's at another epsilon."""
    if direction == "remove":
        part = 1.0
        excess = epsilon + np.log(-np.expm1(-epsilon)) if epsilon > 0 else -np.inf
        ratio = float(np.logaddexp(0.0, excess - np.log(rate)))
    else:
        part = float(-np.expm1(epsilon + np.log1p(-rate)))
        part += 8 * _UNIT * (1 + epsilon - float(np.log1p(-rate)))
        ratio = epsilon + float(np.log(rate) - np.log(part))
    room = 16 * _UNIT * (2 + abs(ratio) + abs(epsilon) + abs(float(np.log(rate))))
    value = float(log_hockey_stick(ratio - room, shift))
    value += float(np.log(part)) + (float(np.log(rate)) if direction == "remove" else 0.0)
    return min(value + 16 * _UNIT * (1 + abs(value)), 0.0)


def _finite_inverse(name: str, value: float) -> float:
    """Return ``value`` if its inverse can be put on a grid.

    Raises
    ------
    ParameterError
        If it is not from 1e-3 to 1e6.
    """
    number = ranges.positive(name, value)
    if not 1e-3 <= number <= 1e6:
        raise ParameterError(f"{name} = {value!r}: a number from 1e-3 to 1e6 is needed")
    return number
