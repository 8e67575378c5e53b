"""The audit at its default settings catches every broken mechanism, and no correct one."""

import pytest

from dpaudit.engine import BlockMechanism
from dpaudit.testing import assert_private
from tests.catalogue.central import CENTRAL
from tests.catalogue.entries import TRIALS, Entry
from tests.catalogue.local import LOCAL
from tests.catalogue.thresholds import THRESHOLDS

CATALOGUE = [*CENTRAL, *LOCAL, *THRESHOLDS]
NAMES = [entry.name for entry in CATALOGUE]


def test_there_are_thirty_pairs_with_names_of_their_own() -> None:
    assert len(CATALOGUE) >= 30
    assert len(set(NAMES)) == len(CATALOGUE)


@pytest.mark.parametrize("entry", CATALOGUE, ids=NAMES)
def test_the_broken_one_is_caught(entry: Entry) -> None:
    with pytest.raises(AssertionError, match="is refuted"):
        assert_private(
            BlockMechanism(entry.broken),
            epsilon=entry.epsilon,
            delta=entry.delta,
            data_in=entry.data_in,
            data_out=entry.data_out,
            trials=entry.trials,
        )


@pytest.mark.parametrize("entry", CATALOGUE, ids=NAMES)
def test_its_twin_is_not_flagged(entry: Entry) -> None:
    """Seeded; it would err with probability at most 1e-6."""
    result = assert_private(
        BlockMechanism(entry.correct),
        epsilon=entry.epsilon,
        delta=entry.delta,
        data_in=entry.data_in,
        data_out=entry.data_out,
        trials=max(entry.trials, TRIALS),
    )
    assert not result.refuted
