"""What a deployment guarantees to whom it claims: one step after another, and the noise it needs.

The first step is the release itself against the public; what the claim adds (the servers' views,
colluding users, several records of one user, replace-one adjacency) follows, each with its source.
The last step is the one that the claim is about.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, inf, log

from accountants import FreE2TParameters, ParameterError, tight_noise_std
from accountants.distributed_total import DistributedNoise
from accountants.dummy_tags import DummyTags
from accountants.guarantee import Guarantee
from accountants.inversion import smallest_scale
from accountants.modular_sum import ModularSum
from accountants.replace_one import replace_one
from accountants.server_views import public_view, synthesis_server_view, tagging_server_view
from accountants.user_records import group_of
from dpaudit.deployment import Deployment
from dpaudit.errors import DeploymentError
from dpaudit.parameters import release_parameters

_NOISE_WIDTH = 1e-4  # relative
_LARGEST = 1e9  # times the noise given: no noise is needed beyond it


def guarantee_steps(
    deployment: Deployment, parameters: FreE2TParameters | None = None
) -> list[Guarantee]:
    """Return the guarantees that lead to the claimed one, which is the last.

    Parameters
    ----------
    deployment : Deployment
        What is claimed, and how the mechanism is set.
    parameters : FreE2TParameters, optional
        Another release than the deployment's, for example with other noise.

    Raises
    ------
    DeploymentError
        If the view that the deployment claims is not private: one line that says why.
    ParameterError
        If the accountants cannot take a parameter.
    """
    claim = deployment.claim
    release = release_parameters(deployment) if parameters is None else parameters
    noise = distributed_noise(deployment)
    steps = [public_view(release, noise=noise)]
    if claim.colluders:
        steps.append(public_view(release, noise=noise, colluders=claim.colluders))
    if claim.view == "synthesis-server":
        dummies = dummy_tags(deployment)
        assert dummies is not None
        steps.append(
            synthesis_server_view(release, dummies=dummies, noise=noise, colluders=claim.colluders)
        )
    if claim.records_per_user > 1:
        steps.append(group_of(steps[-1], records=claim.records_per_user))
    if claim.adjacency == "replace-one":
        steps.append(replace_one(steps[-1], sampling_rate=release.sampling_rate))
    if claim.view == "tagging-server":
        section = deployment.distributed
        try:
            steps.append(
                tagging_server_view(
                    steps[-1],
                    requests="all" if section is None else section.tag_requests,
                    records_public=claim.records_public,
                )
            )
        except ParameterError as error:
            raise DeploymentError(f"{deployment.source}: {error}") from None
    return steps


def claimed_noise_std(deployment: Deployment, *, epsilon: float, delta: float) -> float:
    """Return the smallest ``noise_std`` with which the claimed view meets (epsilon, delta).

    Within about 1e-4 relative above the smallest; ``inf`` if none is enough.

    Raises
    ------
    DeploymentError, ParameterError
        As for :func:`guarantee_steps`, or if ``epsilon`` or ``delta`` is out of range.
    """
    release = release_parameters(deployment)
    if len(guarantee_steps(deployment)) == 1 and deployment.distributed is None:
        return tight_noise_std(release, epsilon=epsilon, delta=delta)

    def log_delta(scale: float) -> float:
        changed = replace(release, noise_std=release.noise_std * scale)
        return float(guarantee_steps(deployment, changed)[-1].log_delta(epsilon))

    if log_delta(_LARGEST) > log(delta):
        return inf
    found = smallest_scale(log_delta, log(delta), relative=_NOISE_WIDTH)
    return release.noise_std * found


def distributed_noise(deployment: Deployment) -> DistributedNoise | None:
    """Return how the noise is shared, or None for central noise."""
    section = deployment.distributed
    if section is None:
        return None
    return DistributedNoise(
        granularity=section.granularity,
        rounding=section.rounding,
        local_noise=section.local_noise,
        rotated=section.rotated,
    )


def dummy_tags(deployment: Deployment) -> DummyTags | None:
    """Return the dummies of each cell, or None without a section ``[dummies]``."""
    section = deployment.dummies
    if section is None:
        return None
    return DummyTags(
        decay=section.decay,
        shift=section.shift,
        threshold=deployment.fre_e2t.threshold,
        sampling_rate=deployment.fre_e2t.sampling_rate,
    )


def modular_sum(deployment: Deployment) -> ModularSum | None:
    """Return the sum over all records on integers, or None for central noise."""
    section = deployment.distributed
    noise = distributed_noise(deployment)
    if section is None or noise is None:
        return None
    release = deployment.fre_e2t
    return ModularSum(
        contributors=release.records_max,
        clip_norm=section.norm_bound,
        granularity=section.granularity,
        local_noise_std=release.noise_std / exp(log(release.threshold) / 2),
        dimension=noise.coordinates(release.embedding_dim),
        rotated=section.rotated,
        rounding="independent" if section.rounding == "independent" else "shared dither",
    )


def guarantee_rows(
    steps: Sequence[Guarantee], *, epsilon: float, delta: float
) -> list[dict[str, object]]:
    """Return one row for each step, with its epsilon at ``delta`` and its delta at ``epsilon``."""
    return [
        {
            "name": step.name,
            "adjacency": str(step.adjacency),
            "view": str(step.view),
            "epsilon": float(step.epsilon(delta)),
            "delta": float(step.delta(epsilon)),
            "source": step.source,
        }
        for step in steps
    ]
