r"""A joint confidence region for two rates: sharper than one Clopper-Pearson bound on each.

With A of m positives and B of n negatives above a threshold fixed in advance, let

.. math:: U(p) = \Pr[\mathrm{Bin}(m, p) \ge A], \qquad V(q) = \Pr[\mathrm{Bin}(n, q) \le B]

at the true rates p and q. Clopper-Pearson bounds at tails u and v hold unless ``U < u`` or
``V < v``. The usual union of both spends the error on an L-shaped set of (U, V) in the unit square;
any other set does as well, provided that it is a lower set.

**Theorem.** Let D be a lower set of the unit square (with a point it contains all points below and
to the left), fixed without looking at A and B. Then ``Pr[(U, V) in D] <= area(D)``.

*Proof.* U and V are p-values: ``Pr[U <= x] <= x``, and they are independent, as the two sides are.
D is ``{u < g(v)}`` up to its boundary, with g falling. Given V, ``Pr[U <= g(V)] <= g(V)``. As g
falls and V is stochastically not smaller than a uniform variable W,
``E g(V) <= E g(W) = area(D)``. ∎

Here D is the complement of a staircase: ``(U, V)`` outside D means that for some step i both
``U >= u_i`` and ``V >= v_i``, hence ``p >= lower(A; u_i)`` and ``q <= upper(B; v_i)``. A quantity
that rises in p and falls in q is therefore at least the **smallest** of its values at these pairs,
with probability at least ``1 - area(D)``. With one step this is the usual box.

The steps are laid out for the counts that are expected (from theory or from other trials): along
the curve on which the quantity, at those counts, is constant. When the counts come out as expected
the bound is then the area-quantile of the quantity under independent beta laws of both rates,
which is the "melded" bound of Fay, Proschan and Brittain (Biometrics 71, 2015), here with a proof.
For two relative errors s and t it loses ``1.64 sqrt(s^2 + t^2)`` where two Clopper-Pearson bounds
at 95% lose ``1.96 (s + t)``. Unexpected counts make it weaker, never invalid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from accountants.errors import ParameterError
from dpaudit.estimators import clopper_pearson
from dpaudit.estimators.arrays import FloatArray
from dpaudit.estimators.score_quantity import Quantity

_STEPS = 128
_BISECTIONS = 18
_SMALLEST = 1e-12
_LARGEST = 1.0 - 1e-9
_SHRINK = 1.0 - 1e-9  # more than the rounding of an area summed over the steps


@dataclass(frozen=True, eq=False)
class JointRegion:
    """A staircase of pairs of tails, one of which holds for both rates.

    Attributes
    ----------
    tpr_tails : ndarray
        Tails of the lower bound on the true-positive rate, rising; shape (steps,), from 1e-30 to
        1 - 1e-9 (a tail above 1/2 belongs to a bound that fails more often than not by itself).
    fpr_tails : ndarray
        Tails of the upper bound on the false-positive rate, falling; same shape and range.
    """

    tpr_tails: FloatArray
    fpr_tails: FloatArray

    def __post_init__(self) -> None:
        """Check shapes, ranges and orders."""
        u, v = self.tpr_tails, self.fpr_tails
        if u.ndim != 1 or u.shape != v.shape or u.size == 0:
            raise ParameterError("tails must be two vectors of one length, at least 1")
        both = np.concatenate([u, v])
        if not np.all((both >= clopper_pearson.MIN_TAIL) & (both <= _LARGEST)):
            raise ParameterError("tails: allowed are 1e-30 to 1 - 1e-9")
        if np.any(np.diff(u) < 0.0) or np.any(np.diff(v) > 0.0):
            raise ParameterError("tails: those of the true-positive rate rise, the others fall")

    @property
    def error(self) -> float:
        """Probability that no pair of bounds holds: the area outside the staircase, rounded up."""
        return _area(self.tpr_tails, self.fpr_tails) / _SHRINK

    @classmethod
    def box(cls, *, tpr_tail: float, fpr_tail: float) -> JointRegion:
        """Return the region of two separate Clopper-Pearson bounds.

        Parameters
        ----------
        tpr_tail, fpr_tail : float
            The tails, 1e-30 to 1 - 1e-9.

        Returns
        -------
        JointRegion
            One step; its error is ``tpr_tail + fpr_tail - tpr_tail * fpr_tail``.

        Raises
        ------
        ParameterError
            If a tail is out of range.
        """
        return cls(np.array([float(tpr_tail)]), np.array([float(fpr_tail)]))

    @classmethod
    def for_counts(
        cls,
        quantity: Quantity,
        *,
        true_positives: float,
        false_positives: float,
        positives: int,
        negatives: int,
        error: float,
    ) -> JointRegion:
        """Lay the region out for expected counts.

        Parameters
        ----------
        quantity : Quantity
            What the region is to bound.
        true_positives, false_positives : float
            Expected counts, need not be whole; not those that will be bounded.
        positives, negatives : int
            Trials of each side that will be bounded.
        error : float
            Probability that the bound may fail, 2e-12 to 0.5.

        Returns
        -------
        JointRegion
            Its error is at most `error`; the equal box if no region shows anything.

        Raises
        ------
        ParameterError
            If a count or the error is out of range.
        """
        if not 2e-12 <= error <= 0.5:
            raise ParameterError(f"error = {error:.12g}: allowed are 2e-12 to 0.5")
        budget = error * _SHRINK**2
        equal = cls.box(tpr_tail=budget / 2.0, fpr_tail=budget / 2.0)
        if not positives or not negatives:
            return equal
        tails = _tail_grid(budget)
        a = min(max(float(true_positives), 0.0), float(positives))
        # The formula of the lower bound at a count that need not be whole: a plan, not a bound.
        rates = special.betaincinv(a, positives - a + 1.0, tails) if a > 0.0 else 0.0 * tails
        b = min(max(float(false_positives), 0.0), negatives - 1e-9)

        def staircase(level: float) -> tuple[FloatArray, FloatArray]:
            """Return the steps on which the quantity is `level` at the expected counts."""
            fpr = quantity.fpr_at(level, rates)
            other = special.betaincc(b + 1.0, negatives - b, fpr)
            keep = other <= _LARGEST
            # Beyond the grid's end the other tail is kept from rising by rounding.
            falling = np.minimum.accumulate(other[keep])
            return tails[keep], np.maximum(falling, _SMALLEST)

        # Between what the equal box shows at the expected counts and what both medians show.
        tail = budget / 2.0
        halves = special.betaincinv(max(a, 1e-9), positives - a + 1.0, [tail, 0.5])
        others = special.betainccinv(b + 1.0, negatives - b, [tail, 0.5])
        low, high = (float(value) for value in quantity.lower(halves, others))
        if not np.isfinite(low) or not np.isfinite(high):
            return equal
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            u, v = staircase(middle)
            if u.size and _area(u, v) <= budget:
                low = middle
            else:
                high = middle
        u, v = staircase(low)
        if not u.size or _area(u, v) > budget:
            return equal
        return cls(u, v)

    def bounds(
        self, true_positives: int, positives: int, false_positives: int, negatives: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the pairs of rate bounds, one of which holds.

        Parameters
        ----------
        true_positives, positives, false_positives, negatives : int
            Observed counts and numbers of trials, at most 1e9.

        Returns
        -------
        tuple of ndarray
            Lower bounds on the true- and upper bounds on the false-positive rate, rounded outward.

        Raises
        ------
        ParameterError
            If a count is out of range.
        """
        return (
            _lower(true_positives, positives, self.tpr_tails),
            _upper(false_positives, negatives, self.fpr_tails),
        )


def _lower(successes: int, trials: int, tails: FloatArray) -> FloatArray:
    """Return Clopper-Pearson lower bounds; above 1/2 by ``upper(k - 1; 1 - tail)``, lowered."""
    bound = np.asarray(
        clopper_pearson.lower(successes, trials, tail=np.minimum(tails, 0.5)), dtype=np.float64
    )
    far = tails > 0.5
    if successes > 0 and np.any(far):
        mirrored = clopper_pearson.upper(successes - 1, trials, tail=1.0 - tails[far])
        bound[far] = np.maximum(mirrored * (1.0 - _outward(successes - 1, trials)), bound[far])
    return bound


def _upper(successes: int, trials: int, tails: FloatArray) -> FloatArray:
    """Return Clopper-Pearson upper bounds; above 1/2 by ``lower(k + 1; 1 - tail)``, raised."""
    bound = np.asarray(
        clopper_pearson.upper(successes, trials, tail=np.minimum(tails, 0.5)), dtype=np.float64
    )
    far = tails > 0.5
    if successes < trials and np.any(far):
        mirrored = clopper_pearson.lower(successes + 1, trials, tail=1.0 - tails[far])
        bound[far] = np.minimum(mirrored * (1.0 + _outward(successes + 1, trials)), bound[far])
    return bound


def _outward(successes: int, trials: int) -> float:
    """Return more than twice the relative shift that `clopper_pearson` makes.

    Once undoes its rounding to the other side, once rounds to this one. One minus a tail of 1/2 or
    more is exact in floating point.
    """
    rarer = min(successes, trials - successes) + 1.0
    return float(2.0 * (4e-12 + 8e-15 * trials / np.sqrt(rarer)) + 1e-14)


def _tail_grid(budget: float) -> FloatArray:
    """Return tails from far below the budget to 1/2: dense in units of the normal quantile."""
    deepest = float(special.ndtri(max(_SMALLEST, budget * 1e-4)))
    return np.asarray(special.ndtr(np.linspace(deepest, -0.8 * deepest, _STEPS)))


def _area(u: FloatArray, v: FloatArray) -> float:
    """Return the area of the unit square outside the staircase."""
    steps = np.diff(np.append(u, 1.0))
    return float(u[0] + np.sum(steps * v))
