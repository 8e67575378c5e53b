"""Federated text generation: joint totals, the paper's sum, parallel composition."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv

from accountants.dp_sgd import DpSgd
from accountants.errors import MismatchError, ParameterError
from accountants.federated_text import FederatedClient, FederatedText, PaperSum
from accountants.gaussian import log_hockey_stick
from accountants.guarantee import Adjacency
from accountants.noisy_votes import GaussianRelease, NoisyProfile, NoisyVotes

REPLACE = Adjacency(relation="replace-one")


def weak(
    vote_noise: float = 3.0, profile_noise: float = 4.0, nearest: int = 10, **changes: object
) -> FederatedClient:
    return FederatedClient(
        votes=NoisyVotes(nearest=nearest, noise_std=vote_noise, **changes),  # type: ignore[arg-type]
        profile=NoisyProfile(noise_std=profile_noise, **changes),  # type: ignore[arg-type]
    )


def strong(
    *, votes: bool = False, relation: str = "add-remove", rounds: int = 1, **changes: object
) -> FederatedClient:
    adjacency = Adjacency(relation=relation)  # type: ignore[arg-type]
    values: dict[str, object] = {
        "dataset_size": 1000,
        "batch_size": 32,
        "steps": 30,
        "noise_multiplier": 0.9,
        "rounds": rounds,
        "relation": relation,
    }
    return FederatedClient(
        training=DpSgd(**(values | changes)),  # type: ignore[arg-type]
        profile=NoisyProfile(noise_std=4.0, rounds=rounds, adjacency=adjacency),
        votes=NoisyVotes(nearest=5, noise_std=9.0, rounds=rounds, adjacency=adjacency)
        if votes
        else None,
    )


# --- reference values ---------------------------------------------------------------------------


def test_joint_gaussian_composition_of_7_and_1_is_6_90() -> None:
    # each at half of a total delta of 1e-5: basic composition has 8
    parts = [
        GaussianRelease.calibrate(sensitivity=1, epsilon=epsilon, delta=5e-6) for epsilon in (7, 1)
    ]
    client = FederatedClient(
        votes=NoisyVotes(nearest=1, noise_std=parts[0].noise_std),
        profile=NoisyProfile(noise_std=parts[1].noise_std),
    )
    paper = client.paper_sum(delta=1e-5)
    assert paper.is_bound
    assert paper.epsilon == pytest.approx(8, abs=1e-6)
    assert [term.epsilon for term in paper.terms] == pytest.approx([7, 1], abs=1e-6)
    assert float(client.tight.epsilon(1e-5)) == pytest.approx(6.90, abs=5e-3)


def test_ten_votes_with_noise_for_one() -> None:
    noise_std = GaussianRelease.calibrate(sensitivity=1, epsilon=7, delta=1e-5).noise_std
    client = weak(vote_noise=noise_std)
    claim = client.paper_sum(delta=1e-5, counted=("votes",), vote_sensitivity=1.0)
    assert claim.epsilon == pytest.approx(7, abs=1e-6)
    assert not claim.is_bound
    assert claim.missing[0] == "Profile: not counted."
    assert claim.missing[1].startswith("Votes: the sensitivity is 3.16228")
    true = client.paper_sum(delta=1e-5, counted=("votes",))
    assert true.epsilon == pytest.approx(30.510, abs=1e-3)


# --- tight and paper ----------------------------------------------------------------------------


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.floats(0.3, 100),
    st.floats(0.3, 100),
    st.integers(1, 20),
    st.integers(1, 5),
    st.sampled_from([Adjacency(), REPLACE, Adjacency(records=3)]),
    st.floats(-12, -0.4),
)
def test_weak_client_tight_is_at_most_the_papers_sum(
    vote_noise: float,
    profile_noise: float,
    nearest: int,
    rounds: int,
    adjacency: Adjacency,
    exponent: float,
) -> None:
    client = weak(vote_noise, profile_noise, nearest, rounds=rounds, adjacency=adjacency)
    delta = 10.0**exponent
    paper = client.paper_sum(delta=delta)
    assert paper.is_bound
    assert sum(term.delta for term in paper.terms) <= delta
    assert float(client.tight.epsilon(delta)) <= paper.epsilon * (1 + 1e-9) + 1e-12


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    st.integers(1, 200),
    st.floats(0.5, 3),
    st.booleans(),
    st.sampled_from(["add-remove", "replace-one"]),
    st.floats(-9, -2),
)
def test_strong_client_tight_is_at_most_the_papers_sum(
    batch: int, multiplier: float, votes: bool, relation: str, exponent: float
) -> None:
    client = strong(
        votes=votes, relation=relation, batch_size=batch, noise_multiplier=multiplier, steps=7
    )
    delta = 10.0**exponent
    paper = client.paper_sum(delta=delta)
    assert len(paper.terms) == (3 if votes else 2)
    assert float(client.tight.epsilon(delta)) <= paper.epsilon * (1 + 1e-4)
    for part in client.parts:
        alone = getattr(client, part).guarantee()
        assert float(alone.epsilon(delta)) <= float(client.tight.epsilon(delta)) * (1 + 1e-4)


def test_weak_client_is_one_gaussian_exactly() -> None:
    client = weak(rounds=3)
    shift = np.sqrt(3 * (10 / 3.0**2 + 1 / 4.0**2))
    for epsilon in (0.0, 1.0, 8.0, 100.0):
        assert float(client.tight.log_delta(epsilon)) == pytest.approx(
            float(log_hockey_stick(epsilon, shift)), rel=1e-10
        )


def test_strong_client_by_monte_carlo_is_never_above() -> None:
    # the likelihood-ratio test on 10 steps, votes and profile; error probability 1e-6 in all
    rate, mu, steps, trials = 0.3, 1.25, 10, 60_000
    client = strong(votes=True, batch_size=300, noise_multiplier=0.8, steps=steps)
    shift = np.sqrt(5 / 81 + 1 / 16)
    random = np.random.default_rng(11)
    losses = []
    for present in (1.0, 0.0):
        x = random.normal(size=(trials, steps))
        x += mu * present * (random.random(size=(trials, steps)) < rate)
        loss = np.log1p(rate * np.expm1(mu * x - mu * mu / 2)).sum(axis=1)
        other = random.normal(size=trials) + shift * present
        losses.append(loss + shift * other - shift * shift / 2)
    epsilons = (0.0, 1.0, 3.0, 5.0)
    alpha = 1e-6 / (2 * len(epsilons))
    for epsilon in epsilons:
        hits = [int(np.sum(loss > epsilon)) for loss in losses]
        low = float(betaincinv(hits[0], trials - hits[0] + 1, alpha))
        high = float(betaincinv(hits[1] + 1, trials - hits[1], 1 - alpha))
        bound = float(client.tight.delta(epsilon))
        assert low - np.exp(epsilon) * high <= bound
        if epsilon <= 1:
            estimate = (hits[0] - np.exp(epsilon) * hits[1]) / trials
            assert estimate == pytest.approx(bound, abs=0.03)


# --- what a claim leaves out --------------------------------------------------------------------


def test_votes_of_strong_clients_not_counted() -> None:
    client = strong(votes=True)
    claim = client.paper_sum(delta=1e-5, counted=("training", "profile"))
    assert claim.missing == ("Votes: not counted.",)
    assert claim.epsilon < client.paper_sum(delta=1e-5).epsilon


def test_fault_rounds_not_counted() -> None:
    client = weak(rounds=10)
    claim = client.paper_sum(delta=1e-5, count_rounds=False)
    assert claim.missing == ("One round is counted, not all of them.",)
    total = client.paper_sum(delta=1e-5)
    assert total.is_bound
    assert total.epsilon > 10 * claim.epsilon
    assert claim.epsilon < float(client.tight.epsilon(1e-5)) < total.epsilon
    assert weak(rounds=1).paper_sum(delta=1e-5, count_rounds=False).is_bound


def test_fault_replace_one_sensitivity_taken_as_add_remove() -> None:
    client = weak(adjacency=REPLACE)
    claim = client.paper_sum(delta=1e-5, vote_sensitivity=np.sqrt(10), profile_sensitivity=1.0)
    assert len(claim.missing) == 2
    assert "replace-one" in claim.missing[0]
    assert claim.epsilon < client.paper_sum(delta=1e-5).epsilon
    generous = client.paper_sum(delta=1e-5, vote_sensitivity=5.0, profile_sensitivity=2.0)
    assert generous.is_bound


# --- the federation -----------------------------------------------------------------------------


def test_parallel_composition_is_the_worst_client() -> None:
    clients = (weak(), strong(), weak(vote_noise=6.0), weak())
    whole = FederatedText(clients=clients).guarantee()
    each = [float(client.tight.epsilon(1e-6)) for client in clients]
    assert float(whole.epsilon(1e-6)) == max(each)
    assert float(whole.log_delta(2.0)) == max(
        float(client.tight.log_delta(2.0)) for client in clients
    )
    assert "Every text, and every user, belongs to one client only." in whole.assumptions
    paper = FederatedText(clients=clients).paper_sum(delta=1e-6)
    assert isinstance(paper, PaperSum)
    assert paper.epsilon == max(client.paper_sum(delta=1e-6).epsilon for client in clients)
    assert float(whole.epsilon(1e-6)) < paper.epsilon


def test_replaced_text_stays_with_its_client() -> None:
    clients = (weak(adjacency=REPLACE), strong(relation="replace-one"))
    whole = FederatedText(clients=clients).guarantee()
    assert whole.adjacency == REPLACE
    assert any("does not move" in text for text in whole.assumptions)
    assert float(whole.epsilon(1e-6)) == max(float(c.tight.epsilon(1e-6)) for c in clients)


def test_guarantee_says_what_it_is_conditional_on() -> None:
    given = strong(votes=True).guarantee()
    assert given.name == "strong client: training, votes, profile"
    assert len(given.assumptions) == len(set(given.assumptions))
    assert any("on its own" in text for text in given.assumptions)
    assert weak().guarantee().name == "weak client: votes, profile"


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1.0, 709.8, 1500.0, np.inf])
def test_extreme_ranges(epsilon: float) -> None:
    for client in (weak(), strong(votes=True), strong(noise_multiplier=0.02)):
        delta = float(client.tight.delta(epsilon))
        assert 0 <= delta <= 1
        assert np.isinf(epsilon) == (delta == 0)


def test_extreme_deltas() -> None:
    client = strong(steps=3)
    found = client.tight.epsilon([1.0, 0.5, 1e-300, 0.0])
    assert found[0] == 0 <= found[1] < found[2] < np.inf == found[3]
    tiny = client.paper_sum(delta=1e-300)
    assert found[2] < tiny.epsilon < np.inf


@pytest.mark.parametrize(
    "build",
    [
        lambda: FederatedClient(profile=NoisyProfile(noise_std=1.0)),
        lambda: FederatedText(clients=()),
        lambda: weak().paper_sum(delta=0),
        lambda: weak().paper_sum(delta=1.0),
        lambda: weak().paper_sum(delta=0.1, counted=()),
        lambda: weak().paper_sum(delta=0.1, counted=("training",)),
        lambda: weak().paper_sum(delta=0.1, counted=("votes", "votes")),
        lambda: weak().paper_sum(delta=0.1, vote_sensitivity=0.0),
    ],
)
def test_values_that_are_not_allowed(build: Callable[[], object]) -> None:
    with pytest.raises(ParameterError):
        build()


def test_adjacencies_that_differ_are_refused() -> None:
    with pytest.raises(MismatchError):
        replace(weak(), profile=NoisyProfile(noise_std=1.0, adjacency=REPLACE))
    with pytest.raises(MismatchError):
        replace(strong(), profile=NoisyProfile(noise_std=1.0, adjacency=REPLACE))
    with pytest.raises(MismatchError):
        replace(strong(), profile=NoisyProfile(noise_std=1.0, adjacency=Adjacency(records=2)))
    with pytest.raises(MismatchError):
        FederatedText(clients=(weak(), weak(adjacency=REPLACE)))
