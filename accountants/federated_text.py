r"""Federated text generation with differential privacy (RAFT): what every client guarantees.

Each client holds texts of its own. A *strong* client fine-tunes a generator with DP-SGD and
releases a noisy profile of its control codes (and votes, where it takes part in the vote); a
*weak* client votes for synthetic texts and releases a profile (Wang, Gounley and Hanson 2026).
What is generated, resampled or trained from these releases is post-processing.

The paper adds the epsilons and the deltas of a client's releases (basic composition). All of them
are Gaussian, so their privacy losses are known and can be composed instead: Gaussian releases
exactly, DP-SGD with them on a grid. Clients hold disjoint texts, so the federation costs what its
worst client costs. Proofs: ``docs/proofs/federated-text.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.dp_sgd import DpSgd
from accountants.errors import MismatchError, ParameterError
from accountants.guarantee import (
    Adjacency,
    GreatestProfile,
    Guarantee,
    View,
    in_parallel,
    merged_assumptions,
)
from accountants.noisy_votes import GaussianRelease, NoisyProfile, NoisyVotes, joint_shift
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from accountants.subsampled_gaussian import SubsampledGaussians

Kind = Literal["strong", "weak"]
Part = Literal["training", "votes", "profile"]
PARTS: tuple[Part, ...] = ("training", "votes", "profile")

_POST = "Nothing else that depends on the client's texts leaves it."
_DISJOINT = "Every text, and every user, belongs to one client only."
_STAYS = "A replaced text is replaced at its client: it does not move to another."


@dataclass(frozen=True, kw_only=True)
class Term:
    """One summand of the paper's total.

    Parameters
    ----------
    part : {"training", "votes", "profile"}
        Which release.
    epsilon, delta : float
        Its guarantee, all rounds.
    """

    part: Part
    epsilon: float
    delta: float


@dataclass(frozen=True, kw_only=True)
class PaperSum:
    """A total by basic composition, and whether it is a bound.

    Parameters
    ----------
    terms : tuple of Term
        The summands.
    epsilon, delta : float
        Their sums, rounded up; ``epsilon`` may be ``inf``.
    missing : tuple of str
        Why the total is not a bound, one sentence each; empty if it is one.
    """

    terms: tuple[Term, ...]
    epsilon: float
    delta: float
    missing: tuple[str, ...] = ()

    @property
    def is_bound(self) -> bool:
        """Whether (epsilon, delta) is guaranteed."""
        return not self.missing


@dataclass(frozen=True, kw_only=True)
class FederatedClient:
    """One client's releases, all rounds.

    Parameters
    ----------
    profile : NoisyProfile
        Its control codes.
    training : DpSgd, optional
        Given for a strong client.
    votes : NoisyVotes, optional
        Needed without training.

    Raises
    ------
    ParameterError
        If there is neither training nor votes.
    MismatchError
        If their adjacencies differ.
    """

    profile: NoisyProfile
    training: DpSgd | None = None
    votes: NoisyVotes | None = None

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        if self.training is None and self.votes is None:
            raise ParameterError("training, votes = None, None: at least one is needed")
        if self.votes is not None and self.votes.adjacency != self.adjacency:
            raise MismatchError(
                f"adjacency of the votes is {self.votes.adjacency}, of the profile "
                f"{self.adjacency}: one is needed"
            )
        if self.training is not None and (
            self.training.relation != self.adjacency.relation or self.adjacency.records != 1
        ):
            raise MismatchError(
                f"adjacency of the training is {self.training.relation} of 1 record, of the "
                f"profile {self.adjacency}: one is needed"
            )

    @property
    def kind(self) -> Kind:
        """Whether the client trains."""
        return "weak" if self.training is None else "strong"

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are neighbours."""
        return self.profile.adjacency

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is released."""
        return tuple(part for part in PARTS if getattr(self, part) is not None)

    @property
    def tight(self) -> PrivacyProfile:
        """The joint profile of all releases: exact without training, else within about 1e-4."""
        votes = [] if self.votes is None else [self.votes.release]
        shift = joint_shift([*votes, self.profile.release])
        if self.training is None:
            return GaussianRelease(sensitivity=shift, noise_std=1.0)
        return SubsampledGaussians(
            steps=(self.training.gaussian_steps,),
            release_shift=shift,
            relation=self.adjacency.relation,
        )

    def guarantee(self) -> Guarantee:
        """Return the joint profile with what it is conditional on."""
        given = [getattr(self, part).guarantee() for part in self.parts]
        return Guarantee(
            name=f"{self.kind} client: " + ", ".join(self.parts),
            profile=self.tight,
            adjacency=self.adjacency,
            view=View(),
            assumptions=(*merged_assumptions(given), _POST),
            source="Wang, Gounley and Hanson 2026, composed jointly; docs/proofs/federated-text.md",
        )

    def paper_sum(
        self,
        *,
        delta: float,
        counted: Sequence[Part] | None = None,
        vote_sensitivity: float | None = None,
        profile_sensitivity: float | None = None,
        count_rounds: bool = True,
    ) -> PaperSum:
        """Return the total by basic composition, as a claim may have it.

        Parameters
        ----------
        delta : float
            In total, in (0, 1); an equal share goes to every release counted.
        counted : sequence of {"training", "votes", "profile"}, optional
            Which are added, all that there are by default. The paper has no votes for strong
            clients.
        vote_sensitivity, profile_sensitivity : float, optional
            What the claim takes them for; the true ones by default.
        count_rounds : bool
            Whether epsilon and delta are multiplied by the number of rounds.

        Returns
        -------
        PaperSum
            With the reasons for which it is not a bound.

        Raises
        ------
        ParameterError
            If a value is not allowed, or a part is counted that is not released.
        """
        ranges.open_unit("delta", delta)
        parts = self.parts if counted is None else tuple(counted)
        if not parts or len(set(parts)) < len(parts) or not set(parts) <= set(self.parts):
            raise ParameterError(f"counted = {parts!r}: some of {self.parts} are needed, once each")
        rounds = {part: int(getattr(self, part).rounds) for part in parts}
        claimed = {"votes": vote_sensitivity, "profile": profile_sensitivity}
        missing = [f"{part.capitalize()}: not counted." for part in self.parts if part not in parts]
        if not count_rounds and max(rounds.values()) > 1:
            missing.append("One round is counted, not all of them.")
        terms = []
        for part in parts:
            times = rounds[part] if count_rounds else 1
            share = delta / (len(parts) * times) * (1 - 2.0**-51)
            profile, short = self._one_round(part, claimed.get(part))
            missing += short
            epsilon = float(profile.epsilon(share)) * times
            terms.append(Term(part=part, epsilon=epsilon, delta=share * times))
        total = sum(term.epsilon for term in terms) * (1 + 8 * 2.0**-53)
        return PaperSum(
            terms=tuple(terms), epsilon=total, delta=float(delta), missing=tuple(missing)
        )

    def _one_round(
        self, part: Part, sensitivity: float | None
    ) -> tuple[PrivacyProfile, tuple[str, ...]]:
        """Return one round's profile of a part, and why it falls short of the true one."""
        given = replace(getattr(self, part), rounds=1)
        if isinstance(given, DpSgd):
            return given.profile, ()
        release: GaussianRelease = given.release
        if sensitivity is None:
            return release, ()
        claimed = ranges.positive(f"{part} sensitivity", sensitivity)
        short: tuple[str, ...] = ()
        if claimed < release.sensitivity * (1 - 1e-12):
            short = (
                f"{part.capitalize()}: the sensitivity is {release.sensitivity:.6g} under "
                f"{self.adjacency}, not {claimed:.6g}.",
            )
        return replace(release, sensitivity=claimed), short


@dataclass(frozen=True)
class WorstClient(PrivacyProfile):
    """The greatest of the clients' profiles; its epsilon is that of the worst client."""

    clients: GreatestProfile

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        return self.clients.log_delta(epsilon)

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Smallest epsilon seen to meet each ``delta`` in [0, 1]; ``inf`` if none; same shape."""
        each = [profile.epsilon(delta) for profile in self.clients.profiles]
        return np.asarray(np.max(each, axis=0))


@dataclass(frozen=True, kw_only=True)
class FederatedText:
    """A federation of clients with disjoint texts.

    Parameters
    ----------
    clients : tuple of FederatedClient
        At least one; equal ones are evaluated once.

    Raises
    ------
    ParameterError
        If there is none.
    MismatchError
        If their adjacencies differ.
    """

    clients: tuple[FederatedClient, ...]

    def __post_init__(self) -> None:
        """Check that the clients speak of the same neighbours."""
        if not self.clients:
            raise ParameterError("clients = (): at least one is needed")
        guarantees = self._distinct()
        guarantees[0].about(guarantees[1:])

    def _distinct(self) -> list[Guarantee]:
        return [client.guarantee() for client in dict.fromkeys(self.clients)]

    def guarantee(self) -> Guarantee:
        """Return the guarantee of all releases of all clients: parallel composition."""
        given = self._distinct()
        name = "federated text generation"
        if given[0].adjacency.relation == "add-remove":
            whole = in_parallel(given, name=name)
            assumptions = (*whole.assumptions, _DISJOINT)
        else:
            whole = replace(given[0], name=name)
            assumptions = (*merged_assumptions(given), _DISJOINT, _STAYS)
        profiles = GreatestProfile(tuple(one.profile for one in given))
        return replace(
            whole,
            profile=WorstClient(profiles),
            assumptions=assumptions,
            source="parallel composition; " + given[0].source,
        )

    def paper_sum(self, *, delta: float) -> PaperSum:
        """Return the greatest of the clients' sums, each over all that the client releases.

        Raises
        ------
        ParameterError
            If ``delta`` is not in (0, 1).
        """
        sums = [client.paper_sum(delta=delta) for client in dict.fromkeys(self.clients)]
        return max(sums, key=lambda one: one.epsilon)
