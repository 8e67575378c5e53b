r"""Noise that every contributor adds a share of: a bucket with more of them carries more noise.

With local noise of variance :math:`\sigma^2/\tau` from each of n contributors the sum carries
:math:`n \sigma^2/\tau`, so the shift of Theorem J at count n is
:math:`\mu \sqrt{(1 - \lambda) / (\min(n, m)/\tau - \lambda)}`, where :math:`\mu` is the shift at
the threshold, m a count from which further noise is not made use of, and :math:`\lambda` the share
that smoothing takes (``docs/proofs/discrete-to-continuous.md``).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants import ranges
from accountants.errors import ParameterError
from accountants.ranges import Floats

_UNIT = 2.0**-53


@dataclass(frozen=True, kw_only=True)
class NoiseGrowth:
    r"""How the noise of a bucket grows with its count.

    Parameters
    ----------
    threshold : int
        :math:`\tau \ge 1`, the count at which a shift is stated.
    most : int
        m >= ``threshold``: beyond it further noise is not counted (post-processing).
    loss : float
        :math:`\lambda` in [0, 1): smoothing's share of the variance at the threshold.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """

    threshold: int
    most: int
    loss: float = 0.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges.positive_integer("threshold", self.threshold)
        ranges.whole("most", self.most, low=self.threshold)
        if not 0 <= self.loss < 1:
            raise ParameterError(f"loss = {self.loss!r}: a number in [0, 1) is needed")

    def stretch(self, counts: NDArray[np.int64]) -> Floats:
        """Return the factor on the shift at each of ``counts`` >= 1, rounded up; same shape.

        ``inf`` below the threshold where the smoothing takes all the noise there is.
        """
        room = np.minimum(counts, self.most) / self.threshold - self.loss * (1 + 2 * _UNIT)
        room = room - 4 * _UNIT * np.minimum(counts, self.most) / self.threshold
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.sqrt((1 - self.loss) / np.maximum(room, 0.0)) * (1 + 4 * _UNIT)
        return np.asarray(factor)
