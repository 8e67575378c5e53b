r"""Norms and distances of vectors after random rounding to a grid of granularity g.

Three ways to round each coordinate to a neighbouring grid point:

- *conditional*: at random, unbiased, again and again until the norm meets a bound that holds
  with probability at least :math:`1 - \beta` (Kairouz, Liu and Steinke 2021). The sensitivity is
  a vector's norm: one vector is added, removed or set to 0.
- *independent*: each vector at random, with no further attempts. The sensitivity is the distance
  of a record x and the record x' that replaces it, :math:`\|x - x'\| \le D`: each coordinate of
  the difference moves by less than 2 g.
- *shared dither*: :math:`g \lfloor x/g + u \rfloor` with one public u for all contributors, drawn
  independently of the data. The same pair: each coordinate of the difference moves by less than g.

Proofs in ``docs/proofs/distributed-gaussian.md``. Every bound is rounded up.
"""

import math
from typing import Literal

from accountants import ranges
from accountants.errors import ParameterError

Rounding = Literal["conditional", "independent", "shared dither"]
ROUNDINGS: tuple[Rounding, ...] = ("conditional", "independent", "shared dither")
ROUNDING_BIAS = math.exp(-0.5)  # beta of Kairouz, Liu and Steinke 2021
_UP = 1 + 2.0**-48  # more than the rounding of the operations below


def conditional_norm(
    *, clip_norm: float, granularity: float, dimension: int, rounding_bias: float = ROUNDING_BIAS
) -> float:
    r"""Return the norm that a conditionally rounded vector cannot exceed.

    .. math::
       \tilde\Delta^2 = \min\{c^2 + g^2 d/4 + \sqrt{2 \ln(1/\beta)}\, g (c + g \sqrt d/2),\
                              (c + g \sqrt d)^2\}

    The first is the bound imposed by rounding again; the second holds for every rounding.

    Parameters
    ----------
    clip_norm : float
        c >= 0, bound of the vector's norm before rounding.
    granularity : float
        g > 0, in the same unit.
    dimension : int
        d >= 1, number of coordinates rounded (padding included).
    rounding_bias : float
        beta in (0, 1): the probability that a rounding is rejected is at most that.

    Returns
    -------
    float
        In the same unit, rounded up.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.

    Notes
    -----
    Kairouz, Liu and Steinke 2021. Where a deployment does not reject roundings, the
    second bound, :func:`plain_norm`, is the only one.
    """
    ranges.open_unit("rounding_bias", rounding_bias)
    every = plain_norm(clip_norm=clip_norm, granularity=granularity, dimension=dimension)
    side, spread = granularity * math.sqrt(dimension), math.sqrt(-2 * math.log(rounding_bias))
    # hypot and the product of roots: no square that overflows
    base = math.hypot(clip_norm, side / 2)
    more = math.sqrt(spread * granularity) * math.sqrt(clip_norm + side / 2)
    return min(math.hypot(base, more) * _UP, every)


def plain_norm(*, clip_norm: float, granularity: float, dimension: int) -> float:
    r"""Return :math:`c + g \sqrt d`, rounded up: no rounding to neighbours exceeds that norm.

    Parameters
    ----------
    clip_norm, granularity, dimension
        As in :func:`conditional_norm`.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """
    ranges.non_negative("clip_norm", clip_norm)
    ranges.positive("granularity", granularity)
    ranges.positive_integer("dimension", dimension)
    return _finite((clip_norm + granularity * math.sqrt(dimension)) * _UP)


def replaced_distance(
    *, distance: float, granularity: float, dimension: int, shared_dither: bool
) -> float:
    r"""Return how far the roundings of x and of x' can lie apart if :math:`\|x - x'\| \le D`.

    :math:`D + 2 g \sqrt d`, or :math:`D + g \sqrt d` with a shared public dither; the latter also
    where both are rounded to the nearest grid point.

    Parameters
    ----------
    distance : float
        D >= 0, before rounding.
    granularity : float
        g > 0, in the same unit.
    dimension : int
        d >= 1.
    shared_dither : bool
        Whether all contributors add one dither, public and independent of the data.

    Returns
    -------
    float
        In the same unit, rounded up.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """
    ranges.non_negative("distance", distance)
    ranges.positive("granularity", granularity)
    ranges.positive_integer("dimension", dimension)
    steps = 1 if shared_dither else 2
    return _finite((distance + steps * granularity * math.sqrt(dimension)) * _UP)


def rounded_sensitivity(
    *,
    bound: float,
    granularity: float,
    dimension: int,
    rounding: Rounding,
    rounding_bias: float = ROUNDING_BIAS,
) -> float:
    """Return the L2 sensitivity of a sum of rounded vectors, rounded up.

    Parameters
    ----------
    bound : float
        >= 0: the clip norm c for conditional rounding, the distance D of the replaced pair for
        the other two.
    granularity, dimension, rounding_bias
        As in :func:`conditional_norm`.
    rounding : {"conditional", "independent", "shared dither"}
        See the module.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """
    if rounding not in ROUNDINGS:
        raise ParameterError(f"rounding = {rounding!r}: one of {ROUNDINGS} is needed")
    if rounding == "conditional":
        return conditional_norm(
            clip_norm=bound,
            granularity=granularity,
            dimension=dimension,
            rounding_bias=rounding_bias,
        )
    return replaced_distance(
        distance=bound,
        granularity=granularity,
        dimension=dimension,
        shared_dither=rounding == "shared dither",
    )


def l1_sensitivity(*, l2: float, granularity: float, dimension: int) -> float:
    r"""Return :math:`\min\{\sqrt d\, D_2, D_2^2/g\}`, rounded up: L1 norm of a vector on the grid.

    The second because every coordinate is a whole multiple of g: :math:`|k| \le k^2`.

    Parameters
    ----------
    l2 : float
        D_2 >= 0, bound of the L2 norm.
    granularity, dimension
        As in :func:`conditional_norm`.

    Raises
    ------
    ParameterError
        If a parameter lies outside its range.
    """
    ranges.non_negative("l2", l2)
    ranges.positive("granularity", granularity)
    ranges.positive_integer("dimension", dimension)
    return _finite(l2 * min(math.sqrt(dimension), l2 / granularity) * _UP)


def padded_dimension(dimension: int) -> int:
    """Return the next power of two: the coordinates of a Walsh-Hadamard rotation; 768 -> 1024.

    Raises
    ------
    ParameterError
        If ``dimension`` is not a whole number >= 1.
    """
    return 1 << (ranges.positive_integer("dimension", dimension) - 1).bit_length()


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ParameterError(f"rounded norm = {value!r}: a finite number is needed")
    return value
