r"""What a measured Gaussian mu means, and its conversion to and from (epsilon, delta).

`ScoreAuditor.gaussian_mu` bounds ``mu_lower = Phi^-1(TPR) - Phi^-1(FPR)`` from below. What follows:

1. **Without any assumption on the mechanism**: it is not mu-GDP for any ``mu < mu_lower``, as a
   mu-GDP mechanism gives every test ``Phi^-1(TPR) - Phi^-1(FPR) <= mu`` (Dong, Roth and Su,
   "Gaussian differential privacy", JRSS B 2022, Definition 4 and equation 6). A claim of mu-GDP
   with a smaller mu is refuted. About (epsilon, delta) it says what the one measured pair of rates
   says, and no more: at other deltas the mechanism may be much more private than a Gaussian one.
2. **If the pair of neighbours behind the scores has a Gaussian trade-off curve**
   ``G_mu(a) = Phi(Phi^-1(1 - a) - mu)`` for some mu (a Gaussian mechanism released once or
   composed, observed without subsampling; any attack, not only the optimal one), then
   ``mu >= mu_lower`` and the whole curve follows: at every epsilon its delta is at least

   .. math:: \delta(\varepsilon) = \Phi(\mu/2 - \varepsilon/\mu)
             - e^{\varepsilon} \Phi(-\mu/2 - \varepsilon/\mu)

   at ``mu = mu_lower`` (Balle and Wang 2018, Theorem 8), which rises in mu. Subsampling, clipping
   that bites on one side, or a final answer that hides part of the noisy values break the
   assumption; DP-SGD is Gaussian only in the limit of many steps.

The assumption cannot be verified from scores: it is stated with each converted value.
"""

from __future__ import annotations

import numpy as np

from accountants.errors import ParameterError
from accountants.gaussian import log_hockey_stick
from dpaudit.estimators.arrays import as_numbers, as_rates, refuse_where

ASSUMPTION = "the two neighbours' trade-off curve is that of two Gaussians of equal variance"
"""What a conversion between mu and (epsilon, delta) rests on; a bound on mu itself does not."""

_LARGEST_MU = 1e4


def epsilon_from_mu(mu: float, *, delta: float) -> float:
    """Return the epsilon that a Gaussian trade-off curve has at a delta.

    A lower bound on mu gives a lower bound on epsilon, if `ASSUMPTION` holds.

    Parameters
    ----------
    mu : float
        0 to 1e4.
    delta : float
        0 to 1.

    Returns
    -------
    float
        The largest epsilon found whose delta exceeds `delta`, rounded down; 0 where none does, inf
        at a delta of 0 with a mu above 0.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """
    value, slack = _checked_mu(mu), float(as_rates("delta", delta))
    if value == 0.0 or slack >= delta_from_mu(value, epsilon=0.0):
        return 0.0
    if slack == 0.0:
        return float("inf")
    low, high = 0.0, 1.0
    while delta_from_mu(value, epsilon=high) > slack:
        low, high = high, 2.0 * high
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high) if delta_from_mu(value, epsilon=middle) > slack else (low, middle)
        )
    return low


def delta_from_mu(mu: float, *, epsilon: float) -> float:
    """Return the delta that a Gaussian trade-off curve has at an epsilon.

    A lower bound on mu gives a lower bound on delta, if `ASSUMPTION` holds.

    Parameters
    ----------
    mu : float
        0 to 1e4.
    epsilon : float
        0 or more.

    Returns
    -------
    float
        The value, rounded down.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """
    value, eps = _checked_mu(mu), float(as_numbers("epsilon", epsilon))
    refuse_where("epsilon", np.asarray(eps), np.asarray(not eps >= 0.0), "0 or more")
    if value == 0.0 or eps == np.inf:
        return 0.0
    # The accountant's value is an upper bound; more than its padding is taken off, a multiple of
    # exp(-x^2 / 2) at the nearer of the formula's arguments (certified against mpmath in tests).
    near, far = max(eps / value - value / 2.0, 0.0), eps / value + value / 2.0
    padding = float(np.exp(-0.5 * near * near)) * (1e-12 + 1e-14 * far)
    above = float(np.exp(float(log_hockey_stick(eps, value))))
    return max(above * (1.0 - 2e-9) - padding, 0.0)


def mu_from_epsilon(epsilon: float, *, delta: float) -> float:
    """Return the largest mu for which mu-GDP implies (epsilon, delta)-DP.

    A claim of (epsilon, delta) of a Gaussian mechanism is a claim of mu-GDP with this mu: a
    measured lower bound above it refutes the claim, if `ASSUMPTION` holds.

    Parameters
    ----------
    epsilon : float
        0 or more.
    delta : float
        0 to 1.

    Returns
    -------
    float
        The value, rounded up; 0 at a delta of 0 and a finite epsilon, inf where every mu up to 1e4
        qualifies.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """
    eps, slack = float(as_numbers("epsilon", epsilon)), float(as_rates("delta", delta))
    refuse_where("epsilon", np.asarray(eps), np.asarray(not eps >= 0.0), "0 or more")
    if eps == np.inf or slack == 1.0 or delta_from_mu(_LARGEST_MU, epsilon=eps) <= slack:
        return float("inf")
    if slack == 0.0:
        return 0.0
    low, high = 0.0, _LARGEST_MU
    for _ in range(120):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if delta_from_mu(middle, epsilon=eps) > slack else (middle, high)
    return float(np.nextafter(high, np.inf))


def _checked_mu(mu: float) -> float:
    """Refuse a mu out of range."""
    value = float(as_numbers("mu", mu))
    if not 0.0 <= value <= _LARGEST_MU:
        raise ParameterError(f"mu = {value:.12g}: allowed are 0 to 10000")
    return value
