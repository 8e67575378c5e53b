"""What the tests of server views share: cases, strategies and plain evaluations."""

from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from accountants import FreE2TParameters, JointRelease, TightTotal
from accountants.dummy_tags import DummyTags
from accountants.ranges import Floats
from accountants.tag_padding import TagPadding
from tests.accountants.oracles import Published, parameters

decays = st.floats(-2.5, 1.2).map(lambda x: float(np.exp(x)))


# --- the view of one bucket, by listing its outcomes ----------------------------------------------


@cache
def histogram(decay: float, shift: int, cells: int, multiplicity: int) -> Floats:
    """Law of the padded cells 1..tau-1, with one tag of ``multiplicity`` (0: none)."""
    weights = np.exp(-decay * np.abs(np.arange(2 * shift + 1) - shift))
    weights /= weights.sum()
    law = np.ones(())
    for cell in range(1, cells + 1):
        row = np.zeros(2 * shift + 2)
        at = int(cell == multiplicity)
        row[at : at + len(weights)] = weights
        law = np.multiply.outer(law, row)
    return law.ravel()


def bucket(p: float, mu: float, dummies: DummyTags, **more: Any) -> JointRelease:
    return JointRelease(
        sampling_rate=p,
        threshold=dummies.threshold,
        shift=mu,
        padding=TagPadding(dummies=dummies),
        **more,
    )


# --- the whole release ----------------------------------------------------------------------------


def total(case: Published, dummies: DummyTags | None = None, **changes: Any) -> TightTotal:
    padding = None if dummies is None else TagPadding(dummies=dummies)
    return TightTotal(parameters=FreE2TParameters(**parameters(case, **changes)), padding=padding)
