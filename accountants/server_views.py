r"""What each party of the two-server protocol learns, as guarantees.

*Public*: the released counts and noisy sums. *Synthesis server*: these, and the tags below the
threshold among dummies; a tag is either released or padded, so the epsilons of the two parts are a
maximum and their deltas add, with one supremum over N. *Tagging server*: the number of tag requests
and, like everybody, the release. Proofs, and what is refused and why:
``docs/proofs/server-views.md``.

A coalition of c users with a party knows their records, coins and noise: what is left of a
bucket's count is at least :math:`\tau - c`, and their share of distributed noise is gone.
"""

from dataclasses import replace
from typing import Literal

from accountants import ranges
from accountants.distributed_total import DistributedNoise, DistributedTotal
from accountants.dummy_tags import DummyTags
from accountants.errors import ParameterError
from accountants.fre_e2t import FreE2TParameters
from accountants.guarantee import Adjacency, Guarantee, View
from accountants.profile import PrivacyProfile
from accountants.tag_padding import TagPadding
from accountants.tight_total import ASSUMPTIONS, ROUNDED_NOISE, TightTotal

Requests = Literal["all", "sampled"]

CENTRAL = "Theorem J with the u-free collision term (docs/proofs/u-free-total.md)"
DISTRIBUTED = (
    "Theorem J with the u-free collision term and discrete noise "
    "(docs/proofs/discrete-to-continuous.md)"
)
SERVER = "Theorem J with padded tags and the u-free collision term (docs/proofs/server-views.md)"
NOISE_ASSUMPTIONS = (
    "Every honest contributor adds its share of the noise; one who drops out after being counted "
    "is to be counted among the colluders.",
    "The sums are computed on integers; a wrap of the modulus is post-processing.",
)
TAG_ASSUMPTIONS = (
    "Tags are pseudorandom to the synthesis server (the PRF's advantage is to be added to delta).",
    "The tagging server draws the dummies as stated and does not collude with the synthesis "
    "server.",
)
REQUEST_ASSUMPTION = (
    "Every user requests a tag, sampled or not, and the number of users is public: the requests "
    "then say nothing."
)


def public_view(
    parameters: FreE2TParameters, *, noise: DistributedNoise | None = None, colluders: int = 0
) -> Guarantee:
    """Return what the release guarantees against everybody, or against ``colluders`` users.

    Parameters
    ----------
    parameters : FreE2TParameters
        The release.
    noise : DistributedNoise, optional
        For noise that the contributors share; central noise without it.
    colluders : int
        How many users pass on all that they know, >= 0.

    Raises
    ------
    ParameterError
        If ``colluders`` is not a whole number below the threshold.
    """
    return Guarantee(
        name="release",
        profile=_profile(parameters, noise, colluders, None),
        adjacency=Adjacency(),
        view=View(colluders=colluders),
        assumptions=_assumptions(noise),
        source=DISTRIBUTED if noise else CENTRAL,
    )


def synthesis_server_view(
    parameters: FreE2TParameters,
    *,
    dummies: DummyTags,
    noise: DistributedNoise | None = None,
    colluders: int = 0,
) -> Guarantee:
    """Return what the synthesis server's view guarantees, alone or with ``colluders`` users.

    Parameters
    ----------
    parameters, noise, colluders
        As for :func:`public_view`.
    dummies : DummyTags
        The dummies of each cell; the participation coin is the release's, whatever theirs says,
        and so is the number of cells that a record changes (two for thresholds above 2).

    Raises
    ------
    ParameterError
        If ``colluders`` is not a whole number below the threshold, or the dummies are for another
        threshold.

    Notes
    -----
    Colluders who hold the record's tag only move it to other cells, whose dummies are alike.
    """
    if dummies.threshold != parameters.threshold:
        raise ParameterError(
            f"dummies.threshold = {dummies.threshold}: the release's, {parameters.threshold}, "
            "is needed"
        )
    cells = dummies.cells if parameters.threshold == 2 else 2  # above 2, tags move between cells
    padding = TagPadding(
        dummies=replace(dummies, sampling_rate=1.0, cells=cells), threshold=parameters.threshold
    )
    return Guarantee(
        name="release and padded tags",
        profile=_profile(parameters, noise, colluders, padding),
        adjacency=Adjacency(),
        view=View(party="synthesis-server", colluders=colluders),
        assumptions=_assumptions(noise) + TAG_ASSUMPTIONS,
        source=SERVER,
    )


def tagging_server_view(
    release: Guarantee, *, requests: Requests = "all", records_public: bool = False
) -> Guarantee:
    """Return what the tagging server's view guarantees, given what the release does.

    Parameters
    ----------
    release : Guarantee
        The public view's guarantee, under the adjacency that is wanted.
    requests : {"all", "sampled"}
        Who requests a tag: every user, or only those whose coin fell on "take part".
    records_public : bool
        Whether the number of users is public knowledge, which nobody's privacy depends on.

    Raises
    ------
    ParameterError
        If the view is not private: under add-remove adjacency with a number of users that is not
        public, or where only sampled users request tags.
    """
    if release.view.party != "public":
        raise ParameterError(
            f"release.view = {release.view}: the public view's guarantee is needed"
        )
    if requests not in ("all", "sampled"):
        raise ParameterError(f"requests = {requests!r}: 'all' or 'sampled' is needed")
    if requests == "sampled":
        raise ParameterError(
            "tagging-server view: the number of sampled users less the released counts tells how "
            "many tags stay below the threshold, so one record shows with probability up to its "
            "sampling rate; every user has to request a tag (requests = 'all')"
        )
    if release.adjacency.relation == "add-remove" and not records_public:
        raise ParameterError(
            "tagging-server view: it sees the number of tag requests, which add-remove adjacency "
            "protects; use replace-one adjacency, or declare the number of records public"
        )
    return replace(
        release,
        name="release and number of tag requests",
        view=replace(release.view, party="tagging-server"),
        assumptions=(*release.assumptions, REQUEST_ASSUMPTION),
        source=release.source + "; requests say nothing (docs/proofs/server-views.md)",
    )


def _assumptions(noise: DistributedNoise | None) -> tuple[str, ...]:
    if noise is None:
        return ASSUMPTIONS
    return (*(text for text in ASSUMPTIONS if text != ROUNDED_NOISE), *NOISE_ASSUMPTIONS)


def _profile(
    parameters: FreE2TParameters,
    noise: DistributedNoise | None,
    colluders: int,
    padding: TagPadding | None,
) -> PrivacyProfile:
    if noise is not None:
        return DistributedTotal(
            parameters=parameters, noise=noise, colluders=colluders, padding=padding
        )
    ranges.whole("colluders", colluders, high=parameters.threshold - 1)
    honest = replace(parameters, threshold=parameters.threshold - colluders)
    return TightTotal(parameters=honest, padding=padding)
