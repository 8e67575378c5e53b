"""A user with several records: the whole release, and faults the field has had."""

import numpy as np
import pytest
from scipy.stats import binom

from accountants import FreE2TParameters, JointRelease, ParameterError, TightTotal
from accountants.group_privacy import GroupProfile
from accountants.group_release import GroupRelease
from accountants.group_total import GroupTotal
from tests.accountants import oracles

# --- the whole release --------------------------------------------------------------------------


@pytest.mark.parametrize("far", [[3.0], [3.0, -2.5], [0.9]])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.2])
@pytest.mark.parametrize("threshold", [1, 2, 4])
def test_far_members_cost_at_most_their_share(
    far: list[float], epsilon: float, threshold: int
) -> None:
    """One bucket with some members beyond D0: J at D0, and both ways to pay for the rest."""
    p, records, close = 0.4, 2, 0.5
    rest = [0.0, 0.0, 0.1, *(0.5 + x for x in far)][-4:]
    user = [0.5] * records
    m, y = len(rest), np.linspace(-16, 22, 30001)
    k = np.arange(records + 1)
    reached = float(binom.pmf(k, records, p) * k @ binom.sf(threshold - k - 1, m, p)) * len(far) / m
    kept = max(1 - (1 - p) ** records * np.exp(epsilon), 0.0)
    hit = float(binom.sf(threshold - 1, m, p)) * kept * records * len(far) / m
    without = oracles.release_density(rest, p, threshold, 1.0, y)
    present = oracles.release_density(rest + user, p, threshold, 1.0, y)

    def bound(name: str, shift: float) -> float:
        ours = GroupRelease(
            sampling_rate=p, threshold=threshold, shift=shift, records=records, others=m
        )
        return float(np.exp(getattr(ours, name)(epsilon)))

    for name, first, second, price in (
        ("log_delta_add", present, without, reached),
        ("log_delta_remove", without, present, min(np.exp(epsilon) * reached, hit)),
    ):
        found = oracles.divergence(first, second, epsilon, y)
        shares = records / m * sum(bound(name, abs(x)) for x in far)
        assert found <= bound(name, close) + min(price, shares) + 1e-6


def test_far_share_in_closed_form() -> None:
    """Sum over j: j Bin(l,p)(j) Pr[j + Bin(m,p) >= tau] = l p Pr[1 + Bin(m+l-1,p) >= tau]."""
    for records in (1, 4, 25):
        sizes = np.arange(30, 400)
        closed = records * 0.3 * np.max(binom.sf(28, sizes + records - 1, 0.3) / sizes)
        added, _ = GroupTotal(parameters=_release(), records=records)._far
        assert np.exp(added) == pytest.approx(closed, rel=1e-6)


def _release(**changes: object) -> FreE2TParameters:
    return FreE2TParameters(**oracles.parameters(oracles.EPS_4, **changes))


def test_total_of_one_record_is_about_the_tight_total() -> None:
    for epsilon in (0.5, 1.0):
        one = float(GroupTotal(parameters=_release(), records=1).log_delta(epsilon))
        tight = float(TightTotal(parameters=_release()).log_delta(epsilon))
        assert tight - 0.03 <= one <= tight + 0.1
    assert GroupTotal(parameters=_release(), records=1).epsilon(1e-6) == pytest.approx(
        0.689, abs=0.01
    )


@pytest.mark.parametrize("records", [2, 5])
def test_total_lies_below_the_plain_union(records: int) -> None:
    """near(D0) + N f^k R at a few D0, evaluated plainly, is never below what is returned."""
    release, epsilon = _release(), 4.0
    p, threshold, sizes = 0.3, 30, np.arange(30, 2000)
    k = np.arange(1, records + 1)
    reached = binom.sf(threshold - k[None, :] - 1, sizes[:, None], p)
    share = np.max(reached @ (k * binom.pmf(k, records, p)) / sizes)
    plain = []
    for distance in (0.4, 0.8, 1.1, 1.3):
        near = GroupRelease(
            sampling_rate=p, threshold=threshold, shift=distance / 2.136, records=records
        )
        collide = oracles.plain_collision(
            edge=1 / np.sqrt(20), projection_dim=20, distances=np.array([distance])
        )
        plain.append(float(near.delta(epsilon)) + 1e6 * share * float(collide[0]))
    ours = float(GroupTotal(parameters=release, records=records).delta(epsilon))
    assert ours <= min(plain) * 1.03


@pytest.mark.parametrize("records", [1, 3])
def test_total_is_not_below_one_cluster(records: int) -> None:
    """Clusters of m copies at D share the bucket with probability f^k, and attain J there."""
    release, total = _release(), GroupTotal(parameters=_release(), records=records)
    for distance, size in ((0.3, 90), (0.5, 110), (0.7, 120)):
        for epsilon in (0.5, 3.0):
            one = GroupRelease(
                sampling_rate=0.3, threshold=30, shift=distance / 2.136, records=records,
                others=size,
            )  # fmt: skip
            low = float(one.log_delta_add(epsilon)) + float(
                release.grid.log_probability_down(distance)
            )
            assert low <= total.log_delta(epsilon)


def test_total_at_its_ends() -> None:
    total = GroupTotal(parameters=_release(), records=2)
    values = total.log_delta([0.0, 4.0, 1500.0, np.inf])
    assert (np.diff(values) <= 1e-6).all()
    assert not np.isnan(values).any()
    assert total.epsilon([1.0, 0.0]).tolist() == [0, np.inf]
    assert total.epsilon(1e-30) == np.inf
    sure = GroupTotal(parameters=_release(sampling_rate=1.0), records=2)
    assert sure.delta([0, 3, np.inf]).tolist() == [1, 1, 1]
    few = GroupTotal(parameters=_release(records_max=20), records=2)
    assert few.delta([0, 3]).tolist() == [0, 0]
    loud = GroupTotal(parameters=_release(noise_std=0.0), records=2)
    assert 0 < loud.delta(3.0) <= 1
    rounded = GroupTotal(parameters=_release(lattice_step=0.05), records=2)
    assert rounded.log_delta(3.0) > total.log_delta(3.0)
    with pytest.raises(ParameterError, match="records"):
        GroupTotal(parameters=_release(), records=0)


# --- faults the field has had -------------------------------------------------------------------


def test_fault_threshold_off_by_one() -> None:
    """The threshold itself is released: a strict comparison is the next threshold's release."""
    y = np.linspace(-12, 14, 20001)
    rest, user = [0.0, 0.0], [0.5, 0.5]
    found = oracles.divergence(
        oracles.release_density(rest + user, 0.4, 3, 1.0, y),
        oracles.release_density(rest, 0.4, 3, 1.0, y), 0.5, y,
    )  # fmt: skip
    same, strict = (
        GroupRelease(sampling_rate=0.4, threshold=t, shift=0.5, records=2, others=2).log_delta_add(
            0.5
        )
        for t in (3, 4)
    )
    assert np.exp(same) == pytest.approx(found, rel=1e-4)
    assert np.exp(strict) < found / 2


def test_fault_sampling_rate_off() -> None:
    """A rate taken too low by the user's share, l p, or too high, is seen in delta."""
    right, wrong = (
        float(GroupRelease(sampling_rate=p, threshold=30, shift=0.4, records=3).delta(2.0))
        for p in (0.3, 0.25)
    )
    assert wrong < right / 2


def test_fault_per_user_total_not_formed() -> None:
    """A user with ten records is not protected as one with a single record, nor ten times less."""
    one = JointRelease(sampling_rate=0.3, threshold=30, shift=0.56)
    ten = GroupRelease(sampling_rate=0.3, threshold=30, shift=0.56, records=10)
    assert ten.delta(4.0) > 100 * float(one.delta(4.0))
    assert ten.epsilon(1e-6) > 10 * float(one.epsilon(1e-6))
    assert ten.delta(20.0) <= GroupProfile(base=one, size=10).delta(20.0)


def test_fault_overflow_at_large_epsilon() -> None:
    ours = GroupRelease(sampling_rate=0.3, threshold=30, shift=8.0, records=30, others=90)
    values = ours.log_delta([700.0, 709.0, 710.0, 1500.0])
    assert np.isfinite(values).all()
    assert (np.diff(values) <= 0).all()
    epsilon = float(ours.epsilon(1e-9))
    assert ours.delta(epsilon) <= 1e-9
