r"""Submitters who do not follow the protocol, or collude: what honest ones are left with.

At most m records in any one bucket are submitted by an adversary, who knows their vectors, whether
they are counted and what noise they carry. Taken away from the release they leave the honest count
and the honest sum, released at an honest count of at least :math:`\tau - s` for some
:math:`s \le m`; a lower threshold only shows more. So every bound holds with

.. math::
   \tau \to \tau - m, \qquad \sigma^2 \to (\tau - m)\, \sigma_{local}^2,

the second where each contributor adds noise of variance :math:`\sigma_{local}^2`; central noise
stays. Proof and assumptions: ``docs/proofs/group-release.md``.
"""

from dataclasses import replace

import numpy as np

from accountants import ranges
from accountants.errors import ParameterError
from accountants.fre_e2t import FreE2TParameters

_UNIT = 2.0**-53


def honest_threshold(*, threshold: int, malicious: int) -> int:
    r"""Return :math:`\tau - m`, the least number of honest records in a released bucket.

    Parameters
    ----------
    threshold : int
        :math:`\tau`, 1 to 1e6.
    malicious : int
        m, at most this many records of a bucket are the adversary's, 0 to :math:`\tau - 1`.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range; with m >= tau nothing honest may be left.
    """
    ranges.release_threshold(threshold)
    ranges.whole("malicious", malicious)
    if malicious >= threshold:
        raise ParameterError(
            f"malicious = {malicious!r}: a whole number below the threshold, {threshold}, is "
            "needed; a released bucket may hold no honest record otherwise"
        )
    return int(threshold) - int(malicious)


def honest_noise_std(*, threshold: int, malicious: int, local_noise_std: float) -> float:
    r"""Return :math:`\sqrt{\tau - m}\, \sigma_{local}`, the noise that is sure, rounded down.

    Parameters
    ----------
    threshold, malicious
        As for :func:`honest_threshold`.
    local_noise_std : float
        :math:`\sigma_{local} \ge 0`, of each contributor's own noise in each coordinate.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """
    honest = honest_threshold(threshold=threshold, malicious=malicious)
    ranges.non_negative("local_noise_std", local_noise_std)
    return float(np.sqrt(honest) * local_noise_std * (1 - 4 * _UNIT))


def honest_parameters(
    parameters: FreE2TParameters, *, malicious: int, distributed: bool
) -> FreE2TParameters:
    """Return the release as honest users are left with it; bounds of it hold for them.

    Parameters
    ----------
    parameters : FreE2TParameters
        The release as configured; ``noise_std`` is the whole noise at the threshold.
    malicious : int
        m, at most this many records of a bucket are the adversary's, below the threshold.
    distributed : bool
        Whether the contributors add the noise, an equal share each; False for central noise.

    Raises
    ------
    ParameterError
        If ``malicious`` is out of range, or central noise is said to grow with the count. Noise
        that grows is taken at the new threshold, without its growth.
    """
    honest = honest_threshold(threshold=parameters.threshold, malicious=malicious)
    if not distributed:
        if parameters.noise_growth is not None:
            raise ParameterError(
                "distributed = False: noise that grows with the count is the contributors' own"
            )
        return replace(parameters, threshold=honest)
    share = np.sqrt(honest / parameters.threshold) * (1 - 4 * _UNIT)
    noise_std = float(parameters.noise_std * share)
    return replace(parameters, threshold=honest, noise_std=noise_std, noise_growth=None)


ASSUMPTIONS = (
    "At most `malicious` sampled records of any one bucket are the adversary's.",
    "The adversary fixes its records without seeing the honest users' coins and noise; it may know "
    "the public projection and offset.",
    "Honest records were chosen independently of the public projection and offset.",
    "With distributed noise every honest contributor to a released bucket adds its whole share; "
    "one who drops out after being counted is to be counted among the malicious.",
)
"""What has to hold for bounds of :func:`honest_parameters` to be guarantees."""
