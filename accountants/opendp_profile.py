"""Profiles as OpenDP privacy profiles."""

from typing import Any

import numpy as np

from accountants.errors import ParameterError
from accountants.profile import PrivacyProfile


def to_opendp(profile: PrivacyProfile) -> Any:
    """Return ``profile`` as an ``opendp.measures`` privacy profile.

    Its ``delta(epsilon)`` and ``epsilon(delta)`` are those of ``profile``; OpenDP inverts by
    bisection, with some sixty evaluations. It is the distance of OpenDP's smoothed max
    divergence, as user-defined measurements and its own ones have it.

    Parameters
    ----------
    profile : PrivacyProfile
        Evaluated again at every call: for one that takes long, give its
        :class:`accountants.loss_distribution.LossDistribution`.

    Raises
    ------
    ParameterError
        If OpenDP is not installed, or its features "contrib" and "honest-but-curious", which a
        user-defined profile needs, are not enabled.
    """
    try:
        from opendp.measures import new_privacy_profile
        from opendp.mod import OpenDPException
    except ImportError as error:
        raise ParameterError(
            "opendp = not installed: `pip install opendp` is needed for OpenDP privacy profiles"
        ) from error

    def curve(epsilon: float) -> float:
        value = float(epsilon)
        if not value >= 0:
            raise ValueError(f"epsilon = {epsilon!r}: a number >= 0 is needed")
        return float(np.asarray(profile.delta(value)))

    try:
        return new_privacy_profile(curve)  # type: ignore[no-untyped-call]
    except (AssertionError, OpenDPException) as error:
        raise ParameterError(
            "OpenDP features = not enabled: "
            'opendp.prelude.enable_features("contrib", "honest-but-curious") is needed'
        ) from error
