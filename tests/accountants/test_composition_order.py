"""Composition: order, peers, Monte Carlo, the convolution and guarantees."""

import itertools
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as peer

from accountants.composition import (
    INDEPENDENT,
    ComposedProfile,
    SumProfile,
    compose_sequentially,
    compose_sum,
)
from accountants.errors import MismatchError, ParameterError
from accountants.gaussian import log_hockey_stick
from accountants.guarantee import Adjacency, Guarantee, View
from accountants.loss_distribution import LossDistribution
from accountants.profile import PrivacyProfile
from accountants.tilted_convolution import convolve, cut, put_on_grid
from tests.accountants.composition_cases import (
    Gaussian,
    Laplace,
    Response,
    composed,
    response_delta,
)


def about(
    profile: PrivacyProfile, *, name: str = "M", relation: str = "add-remove", colluders: int = 0
) -> Guarantee:
    return Guarantee(
        name=name,
        profile=profile,
        adjacency=Adjacency(relation=relation),  # type: ignore[arg-type]
        view=View(colluders=colluders),
        assumptions=(f"{name} is run as said.",),
        source=f"{name}, exact",
    )


# --- order, peers, Monte Carlo ------------------------------------------------------------------


def test_monotone_in_counts_levels_and_epsilon() -> None:
    grid = np.linspace(0, 30, 40)
    logs = [composed((Response(level=0.5), n)).log_delta(grid) for n in (2, 3, 10, 40)]
    for fewer, more in itertools.pairwise(logs):
        assert np.all(fewer <= more + 1e-6)
    logs = [composed((Response(level=x), 12)).log_delta(grid) for x in (0.1, 0.5, 2.0)]
    for lower, higher in itertools.pairwise(logs):
        assert np.all(lower <= higher + 1e-6)
    curve = logs[-1][np.isfinite(logs[-1])]
    assert np.all(np.diff(curve) <= 1e-9)


@pytest.mark.parametrize("count", [2, 30, 365])
def test_agrees_with_dp_accounting(count: int) -> None:
    theirs = peer.from_laplace_mechanism(5.0).self_compose(count)
    ours = composed((Laplace(level=0.2), count), points=1000)
    for delta in (0.1, 1e-3, 1e-6, 1e-9):
        expected = theirs.get_epsilon_for_delta(delta)
        assert float(ours.epsilon(delta)) == pytest.approx(expected, rel=2e-3, abs=1e-4)


def test_one_release_is_its_own_profile() -> None:
    grid = np.linspace(0, 40, 50)
    assert np.array_equal(
        composed((Gaussian(shift=2.0), 1)).log_delta(grid), log_hockey_stick(grid, 2.0)
    )


def test_splitting_the_counts_changes_little() -> None:
    whole = composed((Gaussian(shift=0.3), 40))
    split = composed((Gaussian(shift=0.3), 15), (Gaussian(shift=0.3), 25))
    for epsilon in (0.0, 2.0, 8.0):
        assert float(split.log_delta(epsilon)) == pytest.approx(
            float(whole.log_delta(epsilon)), abs=1e-3
        )


def test_never_above_the_plain_sum() -> None:
    profiles = (Gaussian(shift=0.5), Response(level=0.3), Laplace(level=0.2))
    counts, grid = (2, 3, 1), np.linspace(0, 12, 30)
    plain = SumProfile(profiles=profiles, counts=counts, shares=(1 / 3, 1 / 2, 1 / 6))
    both = ComposedProfile(profiles=profiles, counts=counts)
    assert np.all(both.log_delta(grid) <= plain.log_delta(grid) + 1e-12)


def test_monte_carlo_is_never_above() -> None:
    """Six Laplace and two Gaussian releases: a mean of 4e5 samples in [0, 1].

    Hoeffding: with probability at most 5e-8 for each of 12 epsilons the mean is too high by more
    than its margin.
    """
    rng = np.random.default_rng(20)
    size, level, shift = 400_000, 0.5, 0.8
    profile = composed((Laplace(level=level), 6), (Gaussian(shift=shift), 2))
    noise = rng.laplace(size=(size, 6)) / level
    losses = (level * (np.abs(noise + 1) - np.abs(noise))).sum(1)  # against a mean one lower
    losses += (shift * rng.normal(size=(size, 2)) + shift**2 / 2).sum(1)
    margin = np.sqrt(np.log(1 / 5e-8) / (2 * size))
    for epsilon in np.linspace(0, 5, 12):
        mean = float(np.mean(-np.expm1(np.minimum(epsilon - losses, 0.0))))
        bound = float(profile.delta(epsilon))
        assert mean - margin <= bound
        assert bound <= mean + margin + 0.01  # and the mean is not far below


# --- tilted convolution -------------------------------------------------------------------------


def test_grid_and_cut_dominate() -> None:
    loss = LossDistribution.from_masses({-4.0: 0.3, 0.123: 0.4, 2.5: 0.2999, 9.0: 1e-4})
    for rare in (-200.0, -5.0):
        losses, logs, apart = cut(loss, tilt=3.0, log_rare=rare)
        assert (losses[-1] == 9.0) == (rare == -200.0)
        total = float(np.exp(logs).sum() + np.exp(apart))
        assert 1 <= total <= 1 + 1e-9 or rare == -200.0
        part = put_on_grid(loss, tilt=3.0, step=0.05, log_rare=rare)
        grid = (part.first + np.arange(len(part.weights))) * 0.05
        for epsilon in (0.0, 0.1, 1.0, 2.4):
            masses = part.weights * np.exp(part.cumulant - 3.0 * grid)
            factor = -np.expm1(np.minimum(epsilon - grid, 0.0))
            found = float(masses @ factor) + float(np.exp(part.log_apart))
            truth = float(loss.delta(epsilon))
            assert found >= truth * (1 - 1e-10)
            assert found <= truth * 1.01 + 1e-3


@pytest.mark.parametrize("tilt", [0.01, 0.5, 3.0, 40.0])
def test_every_tilt_and_window_gives_a_bound(tilt: float) -> None:
    """Also where it is a bad one: too small a grid, the wrong spread, wrapped ends."""
    loss = LossDistribution.from_profile(Response(level=0.4, leak=1e-5))
    part = put_on_grid(loss, tilt=tilt, step=0.01, log_rare=-50.0)
    for top, points in ((900, 2048), (500, 512), (100, 256), (-50, 128), (3000, 4096)):
        found = convolve([part], [20], tilt=tilt, step=0.01, top=top, points=points, spread=1.0)
        for epsilon in (0.0, 0.33, 1.0, 4.0, 7.9, 9.0):
            with mp.workprec(200):
                truth = mp.log(response_delta(0.4, 20, epsilon, 1e-5))
            assert found.log_delta(epsilon) >= truth


# --- guarantees ---------------------------------------------------------------------------------


def test_guarantee_of_all_releases() -> None:
    one, two = about(Gaussian(shift=0.5)), about(Response(level=0.2), name="R")
    whole = compose_sequentially([one, two], counts=[4, 2], name="both")
    assert whole.adjacency == one.adjacency
    assert whole.view == one.view
    assert set(one.assumptions + two.assumptions + INDEPENDENT) == set(whole.assumptions)
    assert "M, exact" in whole.source
    assert "R, exact" in whole.source
    expected = composed((one.profile, 4), (two.profile, 2)).delta(1.0)
    assert float(whole.delta(1.0)) == float(expected)
    assert float(compose_sequentially([one], name="one").delta(1.0)) == float(one.delta(1.0))


def test_other_neighbours_or_views_are_refused() -> None:
    one = about(Gaussian(shift=0.5))
    for other in (
        about(Gaussian(shift=0.5), relation="replace-one"),
        about(Gaussian(shift=0.5), colluders=1),
        replace(one, adjacency=Adjacency(records=2)),
    ):
        with pytest.raises(MismatchError):
            compose_sequentially([one, other], name="x")
        with pytest.raises(MismatchError):
            compose_sum([one, other], shares=[0.5, 0.5], name="x")


def test_sum_is_the_sum() -> None:
    one, two = about(Gaussian(shift=0.5)), about(Laplace(level=0.7), name="L")
    whole = compose_sum([one, two], shares=[0.75, 0.25], counts=[3, 1], name="sum")
    for epsilon in (0.0, 1.0, 4.0, 40.0):
        expected = 3 * float(one.delta(epsilon / 4)) + float(two.delta(epsilon / 4))
        assert float(whole.delta(epsilon)) == pytest.approx(min(expected, 1.0), rel=1e-12)
        assert float(whole.delta(epsilon)) >= min(expected, 1.0) * (1 - 1e-15)
    assert float(whole.delta(np.inf)) == 0
    free = compose_sum([one, two], shares=[1.0, 0.0], name="sum")
    assert float(free.delta(np.inf)) == 0
    assert float(free.delta(2.0)) >= float(two.delta(0.0))


@pytest.mark.parametrize("counts", [(), (1, 2), (0,), (-1,), (1.5,), (True,), (10**8,), (np.nan,)])
def test_counts_refused(counts: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError):
        ComposedProfile(profiles=(Gaussian(shift=1.0),), counts=counts)
    with pytest.raises(ParameterError):
        compose_sequentially([about(Gaussian(shift=1.0))], counts=counts, name="x")


def test_other_values_refused() -> None:
    gaussian = Gaussian(shift=1.0)
    with pytest.raises(ParameterError):
        compose_sequentially([], name="x")
    with pytest.raises(ParameterError):
        ComposedProfile(profiles=(), counts=())
    with pytest.raises(ParameterError):
        composed((gaussian, 2), points=3)
    with pytest.raises(ParameterError):
        composed((gaussian, 2), tail=0.0)
    for shares in ((), (1.1,), (-0.1,), (np.nan,), (0.5, 0.5)):
        with pytest.raises(ParameterError):
            SumProfile(profiles=(gaussian,), counts=(1,), shares=shares)
