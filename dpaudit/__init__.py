"""dpaudit: what a differentially private deployment guarantees, and what an adversary achieves.

The names of the Python API, and every error, are loaded on first use, so that ``import
dpaudit`` costs next to nothing::

    from dpaudit import Deployment, audit, calibrate, verify

    deployment = Deployment.from_toml("examples/paper-eps4.toml")
    print(verify(deployment)["tight"]["epsilon"])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpaudit.auditing import audit
    from dpaudit.calibration import calibrate
    from dpaudit.deployment import Deployment
    from dpaudit.errors import (
        AssetError,
        DataError,
        DeploymentError,
        DpauditError,
        InputError,
        ModelError,
        NotBuiltError,
        ParameterError,
    )
    from dpaudit.estimators import (
        Bonferroni,
        ConfidenceBand,
        Explicit,
        ScoreAuditor,
        ScoreEstimate,
        Split,
        epsilon_one_run,
        epsilon_one_run_fdp,
    )
    from dpaudit.verification import verify

__version__ = "0.1.0"

__all__ = [
    "AssetError",
    "Bonferroni",
    "ConfidenceBand",
    "DataError",
    "Deployment",
    "DeploymentError",
    "DpauditError",
    "Explicit",
    "InputError",
    "ModelError",
    "NotBuiltError",
    "ParameterError",
    "ScoreAuditor",
    "ScoreEstimate",
    "Split",
    "__version__",
    "audit",
    "calibrate",
    "epsilon_one_run",
    "epsilon_one_run_fdp",
    "verify",
]

# No submodule may be called verify, audit or calibrate: importing it would hide the function.
_HOME = {
    "Deployment": "dpaudit.deployment",
    "audit": "dpaudit.auditing",
    "calibrate": "dpaudit.calibration",
    "verify": "dpaudit.verification",
    **dict.fromkeys(
        (
            "Bonferroni",
            "ConfidenceBand",
            "Explicit",
            "ScoreAuditor",
            "ScoreEstimate",
            "Split",
            "epsilon_one_run",
            "epsilon_one_run_fdp",
        ),
        "dpaudit.estimators",
    ),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME.get(name, "dpaudit.errors")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
