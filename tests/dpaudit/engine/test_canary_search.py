"""The search for a pair: it finds the telling one, on trials that the audit does not use."""

import numpy as np
import pytest

from dpaudit.engine import BlockMechanism, audit, search_canaries
from dpaudit.errors import ParameterError


def response(bit: int, trials: int, rng: np.random.Generator) -> np.ndarray:
    return np.asarray((rng.random(trials) < (0.5, 0.6, 0.9)[bit]) * 1.0)


def uniform(_: int, trials: int, rng: np.random.Generator) -> np.ndarray:
    return rng.random(trials)


class Itself:
    """Keep every release that was scored."""

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []

    def score(self, releases: np.ndarray) -> np.ndarray:
        self.seen.append(releases)
        return releases


def test_the_telling_pair_is_found() -> None:
    pairs = [(0, 0), (1, 0), (2, 0)]
    found = search_canaries(BlockMechanism(response), pairs, Itself())
    assert (found.data_in, found.data_out, found.mode) == (2, 0, "searched")
    assert found.evidence["pair"] == 2
    assert len(found.evidence["shown"]) == 3
    result = audit(BlockMechanism(response), Itself(), canary=found, confidence=1 - 1e-6)
    assert 1.3 < result.epsilon <= np.log(0.5 / 0.1)
    assert result.to_dict()["config"]["canary"]["mode"] == "searched"


def test_the_search_and_the_audit_share_no_trial() -> None:
    attack = Itself()
    found = search_canaries(BlockMechanism(uniform), [(0, 0)], attack, seed=3)
    searched = np.concatenate(attack.seen)
    attack.seen.clear()
    audit(BlockMechanism(uniform), attack, canary=found, seed=3, trials=10_000)
    assert not np.isin(np.concatenate(attack.seen), searched).any()


def test_no_candidates_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least one pair"):
        search_canaries(BlockMechanism(response), [], Itself())
