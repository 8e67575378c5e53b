"""A guarantee: a privacy profile with all that it is conditional on.

A bound means nothing without who is protected (adjacency), against whom (view) and what has to
hold (assumptions). :class:`Guarantee` keeps them with the profile, and refuses to be combined with
a guarantee about something else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.errors import MismatchError, ParameterError
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats

Relation = Literal["add-remove", "replace-one"]
Party = Literal["public", "synthesis-server", "tagging-server"]
RELATIONS: tuple[Relation, ...] = ("add-remove", "replace-one")
PARTIES: tuple[Party, ...] = ("public", "synthesis-server", "tagging-server")


@dataclass(frozen=True, kw_only=True)
class Adjacency:
    """Which data sets are neighbours.

    Parameters
    ----------
    relation : {"add-remove", "replace-one"}
        Whether records are added or removed, or replaced while the number of records stays.
    records : int
        How many records one user contributes, >= 1: neighbours differ in all of them.

    Raises
    ------
    ParameterError
        If a value is not allowed.
    """

    relation: Relation = "add-remove"
    records: int = 1

    def __post_init__(self) -> None:
        """Check the values."""
        if self.relation not in RELATIONS:
            raise ParameterError(f"relation = {self.relation!r}: one of {RELATIONS} is needed")
        ranges.positive_integer("records", self.records)

    def __str__(self) -> str:
        """Return, for example, "add-remove of 1 record"."""
        return f"{self.relation} of {self.records} record{'' if self.records == 1 else 's'}"


@dataclass(frozen=True, kw_only=True)
class View:
    """Whose view of the protocol a guarantee holds for.

    Parameters
    ----------
    party : {"public", "synthesis-server", "tagging-server"}
        Who looks: everybody who reads the release, or one of the two servers.
    colluders : int
        How many users pass all that they know to that party, >= 0.

    Raises
    ------
    ParameterError
        If a value is not allowed.
    """

    party: Party = "public"
    colluders: int = 0

    def __post_init__(self) -> None:
        """Check the values."""
        if self.party not in PARTIES:
            raise ParameterError(f"party = {self.party!r}: one of {PARTIES} is needed")
        ranges.whole("colluders", self.colluders)

    def __str__(self) -> str:
        """Return, for example, "public" or "synthesis-server with 3 users"."""
        if self.colluders == 0:
            return self.party
        return f"{self.party} with {self.colluders} user{'' if self.colluders == 1 else 's'}"


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A privacy profile, and what it is conditional on.

    Parameters
    ----------
    name : str
        What is guaranteed: the mechanism, in a few words.
    profile : PrivacyProfile
        The upper bound of delta(epsilon).
    adjacency : Adjacency
        Which data sets are neighbours.
    view : View
        Whose view.
    assumptions : tuple of str
        What has to hold, one sentence each.
    source : str
        Theorem, paper and proof.
    """

    name: str
    profile: PrivacyProfile
    adjacency: Adjacency
    view: View
    assumptions: tuple[str, ...]
    source: str

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        return self.profile.log_delta(epsilon)

    def delta(self, epsilon: ArrayLike) -> Floats:
        """Delta at each ``epsilon`` >= 0, rounded up; same shape."""
        return self.profile.delta(epsilon)

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Smallest epsilon seen to meet each ``delta`` in [0, 1]; same shape."""
        return self.profile.epsilon(delta)

    def about(self, guarantees: Sequence["Guarantee"]) -> None:
        """Check that ``guarantees`` speak of this one's neighbours and view.

        Raises
        ------
        MismatchError
            If one has another adjacency or view.
        """
        for other in guarantees:
            for what in ("adjacency", "view"):
                mine, theirs = getattr(self, what), getattr(other, what)
                if mine != theirs:
                    raise MismatchError(
                        f"{what} of '{self.name}' is {mine}, of '{other.name}' {theirs}: "
                        "guarantees of one kind are needed"
                    )


@dataclass(frozen=True)
class LeastProfile(PrivacyProfile):
    """The least of several bounds of one mechanism, at each epsilon."""

    profiles: tuple[PrivacyProfile, ...]

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        return np.asarray(np.min([profile.log_delta(epsilon) for profile in self.profiles], axis=0))


@dataclass(frozen=True)
class GreatestProfile(PrivacyProfile):
    """The greatest of several bounds: of mechanisms of which a record meets only one."""

    profiles: tuple[PrivacyProfile, ...]

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        return np.asarray(np.max([profile.log_delta(epsilon) for profile in self.profiles], axis=0))


def best_of(guarantees: Sequence[Guarantee], *, delta: float) -> Guarantee:
    """Return the one of several proofs about one mechanism with the least epsilon at ``delta``.

    Raises
    ------
    MismatchError
        If they differ in adjacency or view.
    ParameterError
        If there is none, or ``delta`` is not in [0, 1].
    """
    _some(guarantees)
    guarantees[0].about(guarantees[1:])
    return min(guarantees, key=lambda guarantee: float(guarantee.epsilon(delta)))


def in_parallel(guarantees: Sequence[Guarantee], *, name: str) -> Guarantee:
    """Return the guarantee of mechanisms on disjoint data: the greatest delta at each epsilon.

    Valid where a user's data enter one of them only (parallel composition, add-remove adjacency).
    Under replace-one adjacency the record may move from one mechanism's data to another's, which
    add-remove guarantees of the two have to cover; it is refused.

    Raises
    ------
    MismatchError
        If they differ in adjacency or view.
    ParameterError
        If there is none, or the adjacency is replace-one.
    """
    _some(guarantees)
    guarantees[0].about(guarantees[1:])
    if guarantees[0].adjacency.relation == "replace-one":
        raise ParameterError(
            "parallel composition under replace-one adjacency: a replaced record may change sides; "
            "combine add-remove guarantees and convert the result"
        )
    return Guarantee(
        name=name,
        profile=GreatestProfile(tuple(guarantee.profile for guarantee in guarantees)),
        adjacency=guarantees[0].adjacency,
        view=guarantees[0].view,
        assumptions=merged_assumptions(guarantees),
        source="parallel composition of: "
        + "; ".join(guarantee.source for guarantee in guarantees),
    )


def merged_assumptions(guarantees: Sequence[Guarantee]) -> tuple[str, ...]:
    """Return the assumptions of all ``guarantees``, each once, in order."""
    return tuple(dict.fromkeys(text for given in guarantees for text in given.assumptions))


def _some(guarantees: Sequence[Guarantee]) -> None:
    if not guarantees:
        raise ParameterError("guarantees = []: at least one is needed")
