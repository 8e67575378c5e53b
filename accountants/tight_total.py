r"""The whole Fre-E2T release, tight and without a sensitivity ratio (the u-free bound).

Projection and offset are public and independent of the data, so delta is an average over them.
Given them, the bucket of the record that differs holds m others and Theorem J, averaged over the
coupling partner x' uniform among them, bounds delta by the mean of
:math:`J(\epsilon; m, |x-x'|/\sigma)`.
Members nearer than any :math:`D_0` are bounded by :math:`J(\epsilon; m, D_0/\sigma)`; each
farther record shares the bucket with probability :math:`f(L \sqrt k/D)^k`. Hence for every
:math:`D_0 \ge 0`

.. math::
   \delta(\epsilon) \le \sup_m J(\epsilon; m, D_0/\sigma)
     + N \sup_{D > D_0} f(L \sqrt k / D)^k \sup_{m \ge \max(1, \tau-1)} J(\epsilon; m, D/\sigma)/m.

The second supremum is certified on cells of D: f at the left end, J at the right end. With
embeddings rounded to a lattice of step g, J is taken at :math:`D + g \sqrt d`. Proof and
assumptions: ``docs/proofs/u-free-total.md``.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from accountants import ranges
from accountants.distance_suprema import DEEP
from accountants.fre_e2t import FreE2TParameters
from accountants.inversion import falling_certified
from accountants.joint_terms import Direction
from accountants.profile import PrivacyProfile
from accountants.ranges import Floats
from accountants.tag_padding import TagPadding
from accountants.u_free import Split, UFreeBound

_EPSILON_MAX = 1e6
_MARGIN = 7e-4  # in ln delta: what certifying may add to an estimate
_LITTLE = 1e3  # noise this many times below the grid's edge: no epsilon may be enough
_MATTERS = 2e-3  # in ln delta: the remove direction's own split is looked for beyond it
_EPSILON_WIDTH = 2e-4  # estimates of epsilon are found to this, relative to max(0.1, epsilon)


@dataclass(frozen=True, kw_only=True)
class TightTotal(PrivacyProfile):
    """Theorem J with the u-free collision term, for one release of Fre-E2T.

    Parameters
    ----------
    parameters : FreE2TParameters
        The release; ``sensitivity_ratio`` and ``budget_factor`` play no part.
    padding : TagPadding, optional
        For the synthesis server's view, which holds tags below the threshold among dummies.

    Notes
    -----
    Adjacency: add-remove of one record. View: public, central, with the projection and offset
    published; with ``padding`` the synthesis server's. Assumptions: :data:`ASSUMPTIONS`.
    """

    parameters: FreE2TParameters
    padding: TagPadding | None = None

    def log_delta(self, epsilon: ArrayLike) -> Floats:
        """Upper bound of ln delta at each ``epsilon`` >= 0; same shape."""
        values = ranges.epsilons(epsilon)
        logs = [self.split(float(e)).log_delta for e in values.ravel()]
        return np.array(logs, dtype=float).reshape(values.shape)

    def epsilon(self, delta: ArrayLike) -> Floats:
        """Epsilon at which the bound meets each ``delta`` in [0, 1], rounded up; same shape.

        ``inf`` where no epsilon does. :meth:`delta` chooses its split afresh and may come out up
        to 1e-3 (relative) higher at that epsilon; both are bounds.
        """
        targets = ranges.deltas(delta)
        return np.array([self._epsilon(float(d)) for d in targets.ravel()]).reshape(targets.shape)

    def split(
        self,
        epsilon: float,
        starts: dict[Direction, Split] | None = None,
        *,
        level: float = -25.0,
    ) -> Split:
        """Return the certified near and far parts of the bound in its worse direction.

        ``starts`` may hold the splits of an epsilon close by, and ``level`` say how low a ln delta
        is expected; how close the bound is depends on them a little, its validity does not.
        """
        if self.parameters.sampling_rate == 1:  # a released count gives the record away
            return self._sure
        near_by = starts or {}
        add = self._bound(epsilon, "add", near_by.get("add"), level).certified()
        if add.log_delta < level - 3 and level > DEEP:
            return self.split(epsilon, starts, level=max(2 * level - 20, DEEP))
        if not self._remove_counts(epsilon):
            return add
        remove = self._bound(epsilon, "remove", near_by.get("remove"), level)
        worse = remove.certified(add, below=add)  # any split is valid; the best one if it matters
        if worse.log_delta > add.log_delta + _MATTERS:
            own = self._bound(epsilon, "remove", near_by.get("remove"), level).certified()
            worse = min(worse, own, key=lambda part: part.log_delta)
        return max(add, worse, key=lambda part: part.log_delta)

    def estimate(
        self, epsilon: float, starts: dict[Direction, Split], *, level: float = -25.0
    ) -> float:
        """Return ln delta, not certified, to find where to look; not close far below ``level``.

        ``starts`` holds the splits of an epsilon (or a noise) close by, and is brought up to
        date; only speed depends on it.
        """
        if self.parameters.sampling_rate == 1:
            return self._sure.log_delta
        add = self._bound(epsilon, "add", starts.get("add"), level).estimate()
        starts["add"] = add
        if not self._remove_counts(epsilon):
            return add.log_delta
        remove = self._bound(epsilon, "remove", starts.get("remove"), level)
        if remove.glance(add) <= add.log_delta:
            starts["remove"] = replace(add, sizes=remove.searched_sizes)
            return add.log_delta
        starts["remove"] = remove.estimate()
        return max(add.log_delta, starts["remove"].log_delta)

    def _bound(
        self, epsilon: float, direction: Direction, start: Split | None, level: float
    ) -> UFreeBound:
        return UFreeBound(
            parameters=self.parameters,
            epsilon=epsilon,
            direction=direction,
            start=start,
            padding=self.padding,
            level=level,
        )

    @property
    def _sure(self) -> Split:
        """Return the bound where every record is sampled."""
        reached = (
            self.padding is not None or self.parameters.records_max >= self.parameters.threshold
        )
        return Split(0.0 if reached else -np.inf, -np.inf, 0.0, 0.0, 0.0)

    def _remove_counts(self, epsilon: float) -> bool:
        """Whether the remove direction costs anything: it does not from ln 1/(1-p) on."""
        rate = self.parameters.sampling_rate
        return rate < 1 and bool(epsilon < -np.log1p(-rate))

    def _epsilon(self, delta: float) -> float:
        if delta == 0:
            return float("inf")
        goal = float(np.log(delta))
        if self.parameters.sampling_rate == 1:
            return 0.0 if self._sure.log_delta <= goal else float("inf")
        if self._bound(np.inf, "add", None, goal).nearest() > goal:
            return float("inf")
        p = self.parameters
        hardly_any = p.noise_std * _LITTLE < p.grid_edge
        if hardly_any and self.estimate(_EPSILON_MAX, {}, level=goal) > goal:
            return float("inf")
        starts: dict[Direction, Split] = {}
        return falling_certified(
            lambda epsilon: self.estimate(epsilon, starts, level=goal) - goal + _MARGIN,
            lambda epsilon: self.split(epsilon, starts, level=goal).log_delta - goal,
            low=0.0,
            high=float(min(1.0, -2 * np.log1p(-p.sampling_rate))),
            limit=_EPSILON_MAX,
            tolerance=lambda epsilon: _EPSILON_WIDTH * max(0.1, epsilon),
        )


ROUNDED_NOISE = (
    "A real release rounds embeddings to a lattice and adds exactly rounded continuous Gaussian "
    "noise; the rounding is inside the bound."
)
ONE_RECORD = (
    "One record is what one user contributes; a user with several records needs group privacy."
)
ASSUMPTIONS = (
    "The number of records does not exceed records_max.",
    "The records were chosen independently of the public projection and grid offset.",
    "Each release draws a fresh projection and offset; releases that reuse one share its "
    "far-collision event.",
    "Each record is sampled with its own honest coin, independent of everything else.",
    "Embeddings and projection are computed as stated: entries N(0, 1/k), an offset uniform on a "
    "cell, no data-dependent clip, origin or clamp.",
    ROUNDED_NOISE,
    ONE_RECORD,
)
"""What has to hold for the tight total to be a guarantee."""
