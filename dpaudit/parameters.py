"""From a deployment file to the accountants' parameters."""

from accountants import FreE2TParameters
from dpaudit.deployment import Deployment


def release_parameters(deployment: Deployment) -> FreE2TParameters:
    """Return the accountants' view of a deployment's ``[fre_e2t]`` section."""
    section = deployment.fre_e2t
    return FreE2TParameters(
        records_max=section.records_max,
        embedding_dim=section.embedding_dim,
        projection_dim=section.projection_dim,
        grid_edge=section.grid_edge,
        sampling_rate=section.sampling_rate,
        threshold=section.threshold,
        noise_std=section.noise_std,
        radius=section.radius,
        sensitivity_ratio=section.sensitivity_ratio,
        budget_factor=section.budget_factor,
    )
