r"""A privacy profile: delta as a function of epsilon, an upper bound at every point.

Every accountant is one. :meth:`PrivacyProfile.log_delta` is what it proves; delta, epsilon and
everything in :mod:`accountants.guarantee` follow from it.
"""

from abc import ABC, abstractmethod

from numpy.typing import ArrayLike

from accountants.gaussian import exp_up
from accountants.inversion import smallest_epsilon
from accountants.ranges import Floats


class PrivacyProfile(ABC):
    r"""Base of the accountants: an upper bound of :math:`\delta(\epsilon)` for epsilon >= 0.

    The bound holds in both directions of its adjacency: whichever data set comes first.
    """

    @abstractmethod
    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0 (``inf`` allowed); same shape.

        At most 0; ``-inf`` only where delta is exactly 0. Falling in epsilon.

        Raises
        ------
        ParameterError
            If an epsilon is negative or NaN.
        """

    def delta(self, epsilon: ArrayLike) -> Floats:
        """Delta at each ``epsilon`` >= 0, rounded up; same shape."""
        return exp_up(self.log_delta(epsilon))

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Smallest epsilon seen to meet each ``delta`` in [0, 1]; ``inf`` if none; same shape."""
        return smallest_epsilon(self.log_delta, delta)
