"""What a threshold is chosen for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from accountants.errors import ParameterError
from dpaudit.estimators.arrays import FloatArray, as_numbers, as_rates, refuse_where
from dpaudit.estimators.epsilon_bounds import log_ratio, rate_gap


@dataclass(frozen=True, kw_only=True)
class ThresholdChoice:
    """An objective to maximise over thresholds; made by one of the class methods.

    Attributes
    ----------
    delta : float or None
        If given, maximise the lower bound on epsilon at this delta.
    epsilons : tuple of float
        Otherwise maximise ``delta_lower(epsilon) - reference`` over the thresholds and over these
        epsilons together.
    references : tuple of float
        One reference value for each of `epsilons`.
    """

    delta: float | None = None
    epsilons: tuple[float, ...] = ()
    references: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.delta is not None:
            as_rates("delta", self.delta)
        if (self.delta is None) == (not self.epsilons):
            raise ParameterError("a threshold choice takes either a delta or one epsilon or more")
        if len(self.references) != len(self.epsilons):
            raise ParameterError(
                f"{len(self.epsilons)} epsilons take as many references, not {len(self.references)}"
            )
        eps = as_numbers("epsilon", self.epsilons or [0.0])
        refuse_where("epsilon", eps, ~(eps >= 0.0), "0 or more")
        as_rates("delta_reference", self.references or [0.0])

    @classmethod
    def maximise_epsilon(cls, *, delta: float) -> ThresholdChoice:
        """Maximise the lower bound on epsilon.

        Parameters
        ----------
        delta : float
            The delta at which epsilon is bounded, 0 to 1.

        Returns
        -------
        ThresholdChoice
            The objective.

        Raises
        ------
        ParameterError
            If delta is out of range.
        """
        return cls(delta=float(delta))

    @classmethod
    def maximise_delta(cls, *, epsilon: float) -> ThresholdChoice:
        """Maximise the lower bound on delta.

        Parameters
        ----------
        epsilon : float
            The epsilon at which delta is bounded, 0 or more.

        Returns
        -------
        ThresholdChoice
            The objective.

        Raises
        ------
        ParameterError
            If epsilon is NaN or negative.
        """
        return cls(epsilons=(float(epsilon),), references=(0.0,))

    @classmethod
    def maximise_excess(
        cls, *, epsilons: float | Sequence[float], delta_references: float | Sequence[float]
    ) -> ThresholdChoice:
        """Maximise by how much the lower bound on delta exceeds an upper bound.

        To test an analysis: the epsilon at which the measured curve comes closest to violating the
        analysed one is chosen together with the threshold, before the bounding trials are seen.

        Parameters
        ----------
        epsilons : float or sequence of float
            The epsilons to choose among, each 0 or more.
        delta_references : float or sequence of float
            The upper bound on delta at each of them, 0 to 1.

        Returns
        -------
        ThresholdChoice
            The objective.

        Raises
        ------
        ParameterError
            If a value is out of range or the lengths differ.
        """
        return cls(
            epsilons=tuple(float(value) for value in np.atleast_1d(epsilons)),
            references=tuple(float(value) for value in np.atleast_1d(delta_references)),
        )

    def best(self, tpr_lower: FloatArray, fpr_upper: FloatArray) -> tuple[int, float | None, float]:
        """Return the threshold at which the objective is largest.

        Parameters
        ----------
        tpr_lower, fpr_upper : ndarray
            Bounds on the two rates at each threshold; shape (thresholds,), not empty.

        Returns
        -------
        index : int
            The first of the best thresholds; the widest rate gap if no threshold shows anything.
        epsilon : float or None
            The epsilon chosen with it; None when epsilon is what is maximised.
        value : float
            The objective there, possibly negative or -inf.
        """
        if self.delta is not None:
            values = log_ratio(tpr_lower, fpr_upper, delta=self.delta)[np.newaxis]
        else:
            eps = np.asarray(self.epsilons)[:, np.newaxis]
            reference = np.asarray(self.references)[:, np.newaxis]
            values = rate_gap(tpr_lower, fpr_upper, epsilon=eps) - reference
        row, index = np.unravel_index(int(np.argmax(values)), values.shape)
        best = float(values[row, index])
        if best == -np.inf:
            index = np.argmax(tpr_lower - fpr_upper)
        return int(index), None if self.delta is not None else self.epsilons[int(row)], best


@dataclass(frozen=True, kw_only=True)
class ChosenThreshold:
    """A threshold and what the selection trials promise of it.

    Attributes
    ----------
    threshold : float or None
        In the scores' unit and orientation; None if a side has no selection trials.
    epsilon : float or None
        The epsilon chosen with it, where the objective bounds delta.
    objective : float
        The objective on the selection trials: a prediction, not a bound.
    """

    threshold: float | None
    epsilon: float | None
    objective: float
