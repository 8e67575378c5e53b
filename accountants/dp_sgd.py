r"""DP-SGD: clipped gradients of a Poisson sample, summed, with Gaussian noise, many times.

Every step samples each of the n records with probability q = B/n, clips each gradient to norm C,
adds :math:`N(0, (\sigma C)^2 I)` to their *sum* and divides by the constant B (Abadi et al. 2016).
All iterates together are the composition of :mod:`accountants.subsampled_gaussian`; a model, a
text or a label computed from them costs nothing more.

Two ways to get this wrong are refused or made explicit: q is computed here, from batch and data
set (a rate off by the batch size is no parameter), and :func:`noise_multiplier` says what noise
added to the mean of a batch amounts to.
"""

from dataclasses import dataclass, replace

import numpy as np

from accountants import ranges
from accountants.errors import ParameterError
from accountants.guarantee import Adjacency, Guarantee, Relation, View
from accountants.inversion import falling_root
from accountants.subsampled_gaussian import GaussianSteps, SubsampledGaussians

_LEAST, _MOST = 1e-3, 1e6  # noise multipliers
_SAMPLING = "Each step samples every record on its own with probability batch_size/dataset_size; "
ASSUMPTIONS = (
    _SAMPLING + "a pass over shuffled batches of one size is not covered.",
    "Batch size, data set size, steps, clipping norm and noise are fixed in advance and public.",
    "Each record's gradient is clipped before the sum, and the noise is added to the sum.",
    "Sampling coins and noise of all steps are independent and secret.",
)


@dataclass(frozen=True, kw_only=True)
class DpSgd:
    r"""DP-SGD on one client's data.

    Parameters
    ----------
    dataset_size : int
        n, the client's own number of records, >= 1.
    batch_size : int
        B, expected, 1 to n.
    steps : int
        T >= 1, local steps in one round.
    noise_multiplier : float
        :math:`\sigma`, noise standard deviation of the sum over the clipping norm, 1e-3 to 1e6.
    rounds : int
        How many rounds the client takes part in, >= 1: steps multiply.
    relation : {"add-remove", "replace-one"}
        Neighbours; one record.

    Raises
    ------
    ParameterError
        If a value is not allowed; in particular if B > n.

    Notes
    -----
    Under "replace-one" the pair of mixtures at distance twice the clipping norm is used: the
    worst, and attained (``docs/proofs/federated-text.md``). A user with several records is not
    covered: their coins are separate (use black-box group privacy).
    """

    dataset_size: int
    batch_size: int
    steps: int
    noise_multiplier: float
    rounds: int = 1
    relation: Relation = "add-remove"

    def __post_init__(self) -> None:
        """Check the ranges."""
        size = ranges.positive_integer("dataset_size", self.dataset_size)
        if ranges.positive_integer("batch_size", self.batch_size) > size:
            raise ParameterError(
                f"batch_size = {self.batch_size!r}: at most dataset_size = {size} is needed, "
                "the records of this client"
            )
        ranges.positive_integer("steps", self.steps)
        ranges.positive_integer("rounds", self.rounds)
        _ = self.profile  # checks the rest

    @property
    def sampling_rate(self) -> float:
        """B/n, rounded up."""
        return min(float(np.nextafter(self.batch_size / self.dataset_size, 2.0)), 1.0)

    @property
    def gaussian_steps(self) -> GaussianSteps:
        """All steps of all rounds."""
        return GaussianSteps(
            sampling_rate=self.sampling_rate,
            noise_multiplier=self.noise_multiplier,
            count=self.steps * self.rounds,
        )

    @property
    def profile(self) -> SubsampledGaussians:
        """The upper bound of delta(epsilon)."""
        return SubsampledGaussians(steps=(self.gaussian_steps,), relation=self.relation)

    def guarantee(self) -> Guarantee:
        """Return the profile with what it is conditional on."""
        return Guarantee(
            name="DP-SGD",
            profile=self.profile,
            adjacency=Adjacency(relation=self.relation),
            view=View(),
            assumptions=ASSUMPTIONS,
            source="Abadi et al. 2016; Zhu, Dong and Wang 2022, Theorems 10 and 11; "
            "docs/proofs/federated-text.md",
        )

    @classmethod
    def calibrate(
        cls,
        *,
        epsilon: float,
        delta: float,
        dataset_size: int,
        batch_size: int,
        steps: int,
        rounds: int = 1,
        relation: Relation = "add-remove",
    ) -> "DpSgd":
        """Return the one with the smallest noise multiplier seen to give (epsilon, delta).

        Raises
        ------
        ParameterError
            If a value is not allowed (``epsilon`` finite and >= 0, ``delta`` in (0, 1)), or no
            noise multiplier up to 1e6 is enough.

        Notes
        -----
        The multiplier is found to one part in 1e6 and never below what the bound needs.
        """
        ranges.non_negative("epsilon", epsilon)
        goal = float(np.log(ranges.open_unit("delta", delta)))
        model = cls(
            dataset_size=dataset_size,
            batch_size=batch_size,
            steps=steps,
            noise_multiplier=1.0,
            rounds=rounds,
            relation=relation,
        )

        def excess(log_multiplier: float) -> float:
            multiplier = min(max(float(np.exp(log_multiplier)), _LEAST), _MOST)
            profile = replace(model, noise_multiplier=multiplier).profile
            return float(profile.log_delta(epsilon)) - goal

        low, high = 0.0, 0.0
        value_low = value_high = excess(0.0)
        end, start = float(np.log(_MOST)), float(np.log(_LEAST))
        while value_high > 0:
            if high >= end:
                raise ParameterError(
                    f"epsilon = {epsilon!r} with delta = {delta!r}: no noise multiplier up to "
                    f"{_MOST:.0e} is seen to be enough"
                )
            low, value_low, high = high, value_high, min(high + max(0.5, abs(high)), end)
            value_high = excess(high)
        while value_low <= 0 and low > start:
            high, value_high, low = low, value_low, max(low - max(0.5, abs(low)), start)
            value_low = excess(low)
        found = low
        if value_low > 0:
            found = falling_root(
                excess,
                low,
                high,
                value_low=value_low,
                value_high=value_high,
                tolerance=lambda _: 1e-6,
            )
        return replace(model, noise_multiplier=min(max(float(np.exp(found)), _LEAST), _MOST))


def noise_multiplier(
    *, noise_std: float, clip_norm: float, averaged_over: float | None = None
) -> float:
    """Return the noise multiplier of a step from the noise that it adds.

    Parameters
    ----------
    noise_std : float
        Standard deviation of the noise, per coordinate, > 0, in the gradient's unit.
    clip_norm : float
        Norm to which each gradient is clipped, > 0.
    averaged_over : float, optional
        The constant by which the sum was divided before the noise was added, > 0; without it the
        noise was added to the sum. Noise made for a sum and added to a mean is that much larger
        than needed; noise made for a mean and added to a sum, that much too small.

    Raises
    ------
    ParameterError
        If a value is not allowed.
    """
    ranges.positive("noise_std", noise_std)
    ranges.positive("clip_norm", clip_norm)
    times = 1.0 if averaged_over is None else ranges.positive("averaged_over", averaged_over)
    return float(noise_std * times / clip_norm * (1 - 4 * 2.0**-53))
