r"""Hockey-stick divergence between a Gaussian and a weighted mixture of ones on one side of it.

For weights :math:`w_k \ge 0` and shifts :math:`s_k \ge 0` the two suprema

.. math::
   \sup_S \sum_k w_k N(s_k, 1)(S) - N(0,1)(S), \qquad
   \sup_S N(0,1)(S) - \sum_k w_k N(s_k, 1)(S)

are attained by half-lines, since the ratio of the densities,
:math:`\sum_k w_k e^{s_k y - s_k^2/2}`, rises with y. Splitting :math:`N(0,1)` into parts
:math:`\beta_k`, one for each k, bounds both by sums of divergences between two Gaussians:

.. math::
   \sum_k w_k H_{\beta_k / w_k}(N(s_k,1) \| N(0,1)), \qquad
   \sum_k \beta_k H_{w_k / \beta_k}(N(s_k,1) \| N(0,1)).

Every split is valid. That in proportion to :math:`w_k e^{s_k y^* - s_k^2/2}`, where :math:`y^*` is
the end of the half-line, gives every k the cut :math:`y^*`, and equality. So an error in
:math:`y^*` costs closeness (to second order), never validity. Vectors at distances at most
:math:`s_k` from a common point, in any directions, obey the same bounds.
Proof: ``docs/proofs/group-release.md``.
"""

import numpy as np

from accountants.gaussian import log_hockey_stick
from accountants.ranges import Floats

_UNIT = 2.0**-53
_FAR = 1e150  # shifts from here on stand for infinity
_STEPS = 60
_CLOSE = 1e-11


def log_mixture_excess(log_weights: Floats, shifts: Floats) -> Floats:
    r"""Return upper bounds of :math:`\ln \sup_S \sum_k w_k N(s_k,1)(S) - N(0,1)(S)`.

    Parameters
    ----------
    log_weights : ndarray, shape (m, K)
        Upper bounds of the :math:`\ln w_k`; ``-inf`` is allowed.
    shifts : ndarray, shape (K,)
        The :math:`s_k \ge 0`; ``inf`` is allowed.

    Returns
    -------
    ndarray, shape (m,)
        ``-inf`` where all weights are 0.
    """
    far = shifts >= _FAR
    parts = [log_weights[:, far]]
    if not far.all():
        weights, near = log_weights[:, ~far], shifts[~far]
        exponents, size = _exponents(weights, near)
        slip = 8 * _UNIT * (4 + size)
        with np.errstate(invalid="ignore"):
            g = log_row_sum(exponents + slip)[:, None]
            b = exponents - weights - g - slip - 8 * _UNIT * (np.abs(g) + np.abs(weights))
            stick = log_hockey_stick(np.where(np.isnan(b), np.inf, b), near)
        parts.append(np.where(weights > -np.inf, weights + stick, -np.inf))
    return log_row_sum(np.concatenate(parts, axis=1))


def log_mixture_deficit(log_weights: Floats, shifts: Floats) -> Floats:
    r"""Return upper bounds of :math:`\ln \sup_S N(0,1)(S) - \sum_k w_k N(s_k,1)(S)`.

    Parameters
    ----------
    log_weights : ndarray, shape (m, K)
        Lower bounds of the :math:`\ln w_k`; ``-inf`` is allowed.
    shifts : ndarray, shape (K,)
        The :math:`s_k \ge 0`; ``inf`` is allowed.

    Returns
    -------
    ndarray, shape (m,)
        At most 0.
    """
    near = shifts[shifts < _FAR]
    weights = log_weights[:, shifts < _FAR]
    none = np.zeros(len(weights))
    if len(near) == 0:
        return none
    exponents, size = _exponents(weights, near)
    with np.errstate(invalid="ignore"):
        share = exponents - log_row_sum(exponents, down=True)[:, None]
        x = weights - share - 8 * _UNIT * (4 + size + np.abs(share))
        stick = log_hockey_stick(np.where(np.isnan(x), np.inf, x), near)
        value = log_row_sum(np.where(weights > -np.inf, share + stick, -np.inf))
    some = np.any(weights > -np.inf, axis=1)
    return np.where(some, np.minimum(value, 0.0), none)


def log_row_sum(logs: Floats, *, down: bool = False) -> Floats:
    """Return the logarithm of each row's sum of exponentials, up (or down); shape (m,)."""
    if logs.shape[1] == 0:
        return np.full(len(logs), -np.inf)
    top = np.max(logs, axis=1)
    base = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        value = np.log(np.sum(np.exp(logs - base[:, None]), axis=1)) + base
    slip = 2 * _UNIT * (8 + logs.shape[1]) + 4 * _UNIT * np.abs(base)
    return np.asarray(value - slip if down else value + slip)


def _exponents(log_weights: Floats, shifts: Floats) -> tuple[Floats, Floats]:
    """Return :math:`ln w_k + s_k y - s_k^2/2` at about the y where they add up to 1.

    The second array is the size of the numbers added, for bounds of their rounding. With
    t = y times the largest shift the exponents have slopes in [0, 1], so the logarithm of the sum
    is convex in t and Newton's steps from the right of its root approach it from there.
    """
    top = float(np.max(shifts))
    slopes = shifts / top if top > 0 else np.ones_like(shifts)
    drop = shifts * shifts / 2
    fixed = log_weights - drop
    t = np.zeros(len(fixed))
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.where((slopes > 0) & np.isfinite(fixed), -fixed / slopes, np.inf)
    start = np.min(alone, axis=1)
    open_rows = np.flatnonzero(np.isfinite(start))
    t[open_rows] = start[open_rows]
    for _ in range(_STEPS):
        if not len(open_rows):
            break
        here = fixed[open_rows] + slopes * t[open_rows, None]
        highest = np.max(here, axis=1)
        parts = np.exp(here - highest[:, None])
        total = np.sum(parts, axis=1)
        value = np.log(total) + highest
        slope = parts @ slopes / total
        kept = np.abs(value) > _CLOSE * np.maximum(1.0, np.abs(t[open_rows]) * _UNIT / _CLOSE * 64)
        kept &= slope > 1e-9
        open_rows, value, slope = open_rows[kept], value[kept], slope[kept]
        t[open_rows] -= value / slope
    moved = slopes * t[:, None]
    with np.errstate(invalid="ignore"):
        size = np.abs(moved) + drop + np.where(np.isfinite(log_weights), np.abs(log_weights), 0.0)
    return fixed + moved, size
