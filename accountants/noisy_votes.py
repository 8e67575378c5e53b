r"""Noisy votes and noisy profiles: counts with Gaussian noise, at their exact L2 sensitivity.

A private text votes for the K synthetic texts nearest to it within its control code; the profile
counts the texts of each control code. Both are sums of one vector per record:

=======================================  ================  =======================
one record contributes                   add-remove        replace-one
=======================================  ================  =======================
K votes, for distinct candidates         sqrt(K)           sqrt(2 K)
K votes, also several for a candidate    K                 sqrt(2) K
one control code                         1                 sqrt(2)
up to c of m control codes               sqrt(c)           sqrt(min(2 c, m))
=======================================  ================  =======================

For a user with several records each is multiplied by their number. All are attained but the last
where m is small. The noise is that of the analytic Gaussian mechanism (Balle and Wang 2018), and
releases compose exactly: shifts (sensitivity over noise) add in squares. Proofs:
``docs/proofs/federated-text.md``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.gaussian import AnalyticGaussian, log_hockey_stick
from accountants.guarantee import Adjacency, Guarantee, View
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats

_SOURCE = "Balle and Wang 2018, Theorem 8; docs/proofs/federated-text.md"
_NOISE = "The noise is Gaussian, independent for every count, fresh for every release, and secret."


@dataclass(frozen=True, kw_only=True)
class GaussianRelease(PrivacyProfile):
    """A vector with Gaussian noise of one standard deviation in every coordinate.

    Parameters
    ----------
    sensitivity : float
        L2 sensitivity, > 0, under whatever adjacency is meant.
    noise_std : float
        Noise standard deviation, > 0, in the same unit.
    count : int
        How many times it is released with fresh noise, >= 1.

    Raises
    ------
    ParameterError
        If a value is not allowed, or the ratio of the first two overflows.
    """

    sensitivity: float
    noise_std: float
    count: int = 1

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.positive("sensitivity", self.sensitivity)
        ranges.positive("noise_std", self.noise_std)
        ranges.positive_integer("count", self.count)
        ranges.positive("sensitivity/noise_std", float(self.sensitivity) / float(self.noise_std))

    @property
    def shift(self) -> float:
        """Distance in units of the noise, of all releases together, rounded up."""
        one = float(self.sensitivity) / float(self.noise_std)
        return float(one * np.sqrt(self.count) * (1 + 2.0**-50))

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        return log_hockey_stick(ranges.epsilons(epsilon), self.shift)

    @classmethod
    def calibrate(
        cls, *, sensitivity: float, epsilon: float, delta: float, count: int = 1
    ) -> "GaussianRelease":
        """Return the one with the smallest noise for (``epsilon``, ``delta``), all releases.

        Raises
        ------
        ParameterError
            If a value is not allowed, see :meth:`AnalyticGaussian.calibrate`.
        """
        ranges.positive("sensitivity", sensitivity)
        times = float(np.sqrt(ranges.positive_integer("count", count)))
        one = AnalyticGaussian.calibrate(epsilon=epsilon, delta=delta).noise_multiplier
        noise_std = one * times * float(sensitivity) * (1 + 2.0**-48)
        return cls(sensitivity=sensitivity, noise_std=noise_std, count=count)


def joint_shift(releases: Iterable[GaussianRelease]) -> float:
    """Return the shift of all ``releases`` together, rounded up; 0 without any."""
    shifts = np.array([release.shift for release in releases])
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(shifts) * (1 + 2.0**-50 * (1 + len(shifts))))


def vote_sensitivity(*, nearest: int, adjacency: Adjacency, distinct: bool = True) -> float:
    """L2 sensitivity of votes, rounded up.

    Parameters
    ----------
    nearest : int
        K >= 1, votes of one record.
    adjacency : Adjacency
        Neighbours.
    distinct : bool
        Whether a record's votes go to K different candidates.

    Raises
    ------
    ParameterError
        If ``nearest`` is not a whole number >= 1.
    """
    votes = ranges.positive_integer("nearest", nearest)
    square = votes if distinct else votes**2
    return _rounded_root(square * (1 if adjacency.relation == "add-remove" else 2), adjacency)


def profile_sensitivity(
    *, adjacency: Adjacency, codes_per_record: int = 1, codes: int | None = None
) -> float:
    """L2 sensitivity of the counts of control codes, rounded up.

    Parameters
    ----------
    adjacency : Adjacency
        Neighbours.
    codes_per_record : int
        c >= 1: how many codes a record may have; more than one where codes overlap.
    codes : int, optional
        m, how many codes there are; at least c.

    Raises
    ------
    ParameterError
        If a value is not allowed.

    Notes
    -----
    Of counts, not of shares: a share divides by the number of records, which is private under
    add-remove adjacency.
    """
    per_record = ranges.positive_integer("codes_per_record", codes_per_record)
    square = per_record if adjacency.relation == "add-remove" else 2 * per_record
    if codes is not None:
        square = min(square, ranges.whole("codes", codes, low=per_record))
    return _rounded_root(square, adjacency)


def _rounded_root(square: int, adjacency: Adjacency) -> float:
    return float(np.sqrt(float(square)) * adjacency.records * (1 + 2.0**-51))


@dataclass(frozen=True, kw_only=True)
class NoisyVotes:
    """Votes of private texts for synthetic ones, with Gaussian noise.

    Parameters
    ----------
    nearest : int
        K >= 1, votes of one private text.
    noise_std : float
        Standard deviation of the noise on each candidate's votes, > 0.
    distinct : bool
        Whether a text's votes go to K different candidates.
    rounds : int
        How many times, with fresh noise, >= 1.
    adjacency : Adjacency
        Neighbours.

    Raises
    ------
    ParameterError
        If a value is not allowed.
    """

    nearest: int
    noise_std: float
    distinct: bool = True
    rounds: int = 1
    adjacency: Adjacency = field(default_factory=Adjacency)

    def __post_init__(self) -> None:
        """Check the values."""
        _ = self.release

    @property
    def release(self) -> GaussianRelease:
        """The votes as a Gaussian release."""
        sensitivity = vote_sensitivity(
            nearest=self.nearest, adjacency=self.adjacency, distinct=self.distinct
        )
        return GaussianRelease(sensitivity=sensitivity, noise_std=self.noise_std, count=self.rounds)

    def guarantee(self) -> Guarantee:
        """Return the exact profile with what it is conditional on."""
        return Guarantee(
            name="noisy votes",
            profile=self.release,
            adjacency=self.adjacency,
            view=View(),
            assumptions=(
                f"A private text gives at most {self.nearest} votes"
                + (", each to another candidate." if self.distinct else "."),
                "The candidates are public or were released with a guarantee of their own.",
                _NOISE,
            ),
            source=_SOURCE,
        )


@dataclass(frozen=True, kw_only=True)
class NoisyProfile:
    """Numbers of private texts for each control code, with Gaussian noise.

    Parameters
    ----------
    noise_std : float
        Standard deviation of the noise on each count, > 0.
    codes_per_record, codes
        As in :func:`profile_sensitivity`.
    rounds : int
        How many times, with fresh noise, >= 1.
    adjacency : Adjacency
        Neighbours.

    Raises
    ------
    ParameterError
        If a value is not allowed.
    """

    noise_std: float
    codes_per_record: int = 1
    codes: int | None = None
    rounds: int = 1
    adjacency: Adjacency = field(default_factory=Adjacency)

    def __post_init__(self) -> None:
        """Check the values."""
        _ = self.release

    @property
    def release(self) -> GaussianRelease:
        """The counts as a Gaussian release."""
        sensitivity = profile_sensitivity(
            adjacency=self.adjacency, codes_per_record=self.codes_per_record, codes=self.codes
        )
        return GaussianRelease(sensitivity=sensitivity, noise_std=self.noise_std, count=self.rounds)

    def guarantee(self) -> Guarantee:
        """Return the exact profile with what it is conditional on."""
        return Guarantee(
            name="noisy profile",
            profile=self.release,
            adjacency=self.adjacency,
            view=View(),
            assumptions=(
                f"A private text has at most {self.codes_per_record} control code"
                + ("." if self.codes_per_record == 1 else "s."),
                "The control codes are public, and a count is released for every one of them.",
                _NOISE,
            ),
            source=_SOURCE,
        )
