r"""Malicious submitters: what is left of threshold and noise when some contributors are not honest.

Up to m submitters know, or choose, what they contribute: their coins, vectors and noise. Their part
of a bucket's count is known, so a release says only that at least :math:`\tau - m` honest records
were sampled; their vectors can be subtracted; and with shared noise only the honest shares,
:math:`(\tau - m)\, \sigma_{local}^2`, protect the sum. Proof: ``docs/proofs/group-release.md``.
"""

from dataclasses import replace
from math import sqrt

from accountants import ranges
from accountants.errors import ParameterError
from accountants.fre_e2t import FreE2TParameters

MALICIOUS_ASSUMPTION = (
    "At most {count} submitters of any bucket deviate from the protocol or tell what they know."
)
_UNIT = 2.0**-53


def honest_threshold(*, threshold: int, malicious: int) -> int:
    """Return the number of honest records that a release is sure to hold.

    Parameters
    ----------
    threshold : int
        The release threshold, >= 1.
    malicious : int
        How many contributors of one bucket are not honest, >= 0.

    Raises
    ------
    ParameterError
        If a value is out of range, or no honest record is sure to be left.
    """
    ranges.positive_integer("threshold", threshold)
    ranges.whole("malicious", malicious)
    if malicious >= threshold:
        raise ParameterError(
            f"malicious = {malicious!r}: fewer than threshold = {threshold} are needed, or a "
            "released bucket may hold no honest record"
        )
    return threshold - malicious


def honest_noise_std(*, threshold: int, malicious: int, local_noise_std: float) -> float:
    """Return the noise that the honest contributors of a released bucket add, rounded down.

    Parameters
    ----------
    threshold, malicious : int
        As for :func:`honest_threshold`.
    local_noise_std : float
        What one contributor adds to each coordinate, >= 0.

    Raises
    ------
    ParameterError
        If a value is out of range, or no honest record is sure to be left.
    """
    honest = honest_threshold(threshold=threshold, malicious=malicious)
    ranges.non_negative("local_noise_std", local_noise_std)
    return sqrt(honest) * (1 - 2 * _UNIT) * local_noise_std * (1 - 2 * _UNIT)


def with_malicious(
    parameters: FreE2TParameters, *, malicious: int, shared_noise: bool
) -> FreE2TParameters:
    """Return the release as it protects honest users among ``malicious`` others.

    Parameters
    ----------
    parameters : FreE2TParameters
        The release as it is set up.
    malicious : int
        How many contributors of one bucket are not honest, >= 0 and below the threshold.
    shared_noise : bool
        Whether the contributors add the noise (each a threshold-th of the variance), or a trusted
        party does.

    Raises
    ------
    ParameterError
        If ``malicious`` is out of range.
    """
    honest = honest_threshold(threshold=parameters.threshold, malicious=malicious)
    noise = parameters.noise_std
    if shared_noise and malicious:
        noise *= sqrt(honest / parameters.threshold) * (1 - 4 * _UNIT)
    return replace(parameters, threshold=honest, noise_std=noise)
