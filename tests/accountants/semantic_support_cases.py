"""What the tests of semantic support share: cases, strategies and plain evaluations."""

from typing import Any

from accountants import FreE2TParameters
from tests.accountants import oracles
from tests.accountants.oracles import EPS_4, Published

R = 0.5  # the paper's radius


def published(case: Published = EPS_4, **changes: Any) -> FreE2TParameters:
    return FreE2TParameters(**oracles.parameters(case, **changes))


def small(**changes: Any) -> FreE2TParameters:
    """Four dimensions, a fine grid and a hundred records."""
    values: dict[str, Any] = {
        "records_max": 100,
        "embedding_dim": 4,
        "projection_dim": 8,
        "grid_edge": 0.02,
        "sampling_rate": 0.4,
        "threshold": 5,
        "noise_std": 0.2,
        "radius": R,
        "lattice_step": 0.0,
    }
    return FreE2TParameters(**(values | changes))
