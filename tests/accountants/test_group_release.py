"""Theorem J for groups: reference values, mpmath, and the divergence of the releases themselves."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import beta, binom

from accountants import JointRelease, ParameterError
from accountants.gaussian_mixture import log_mixture_deficit, log_mixture_excess
from accountants.group_release import GroupRelease, SampleThresholdGroupPaper
from accountants.group_terms import GroupTerms
from tests.accountants import oracles

COIN = -np.log1p(-0.3)
CERTIFIED = settings(max_examples=200, deadline=None, derandomize=True)
rates = st.floats(0.02, 0.98)
shifts = st.one_of(st.just(0.0), st.floats(-6, 2.0).map(lambda x: float(np.exp(x))))
epsilons = st.one_of(st.floats(0, 0.5), st.floats(0, 15))


# --- mpmath: half-lines, so that the oracle is a lower bound wherever its cut lies --------------


def _cut(logs: np.ndarray, shifts: np.ndarray) -> float:
    """Where ln sum_k w_k e^(s_k y - s_k^2/2) = 0, in floating point."""
    finite = np.isfinite(logs)
    logs, moved = logs[finite], shifts[finite]

    def height(y: float) -> float:
        return float(logsumexp(logs + moved * y - moved**2 / 2))

    reach = 1.0
    while height(reach) < 0 or height(-reach) > 0:
        reach *= 2
    return float(brentq(height, -reach, reach, xtol=1e-300, rtol=1e-14))


def _half_line(weights: list, shifts: list, excess: bool):
    """Sup of sum w_k N(s_k) - N(0) (or its negative) over half-lines, a little below at most."""
    if max(shifts) == 0:
        gain = sum(weights) - 1
        return max(gain if excess else -gain, mp.mpf(0))
    logs = np.array([float(mp.log(w)) if w else -np.inf for w in weights])
    y = mp.mpf(_cut(logs, np.array(shifts, float)))
    for _ in range(2):
        parts = [w * mp.exp(s * y - s * s / 2) for w, s in zip(weights, shifts, strict=True)]
        y -= (
            mp.log(sum(parts)) * sum(parts) / sum(s * q for s, q in zip(shifts, parts, strict=True))
        )
    above = mp.ncdf(-y)
    mixed = sum(
        w * (mp.ncdf(s - y) if excess else mp.ncdf(y - s))
        for w, s in zip(weights, shifts, strict=True)
    )
    return max(mixed - above if excess else mp.ncdf(y) - mixed, mp.mpf(0))


def group_oracle(direction: str, *, p, threshold, mu, records, others, epsilon):
    """Return the divergence for coinciding others and user's records, at working precision."""
    rate, shift, grown = mp.mpf(p), mp.mpf(mu), mp.exp(mp.mpf(epsilon))
    some = [oracles.mass(k, records, rate) for k in range(1, records + 1)]
    none = (1 - rate) ** records
    moved = [k * shift for k in range(1, records + 1)]
    total = mp.mpf(0)
    if direction == "add":
        ratio = grown - none  # (1 - q0) a', against unnormalised weights
        for n in range(threshold, others + records + 1):
            here = [w * oracles.mass(n - k, others, rate) for k, w in enumerate(some, 1)]
            against = ratio * oracles.mass(n, others, rate)
            if against == 0:
                total += sum(here)
            else:
                total += against * _half_line([h / against for h in here], moved, True)
        return total
    left = 1 - none * grown
    if left <= 0:
        return total
    hidden = left * sum(oracles.mass(n, others, rate) for n in range(threshold))
    for k, w in enumerate(some, 1):
        hidden -= grown * w * sum(oracles.mass(n, others, rate) for n in range(threshold - k))
    total = max(hidden, mp.mpf(0))
    for n in range(threshold, others + 1):
        against = left * oracles.mass(n, others, rate)
        here = [grown * w * oracles.mass(n - k, others, rate) for k, w in enumerate(some, 1)]
        total += against * _half_line([h / against for h in here], moved, False)
    return total


@CERTIFIED
@given(rates, st.integers(1, 12), shifts, st.integers(1, 6), st.integers(0, 18), epsilons)
@example(0.3, 1, 1.0, 3, 0, 0.1)
@example(0.3, 4, 0.5, 4, 0, 0.0)
@example(0.5, 6, 0.0, 3, 12, 0.4)
@example(0.9, 3, 1e-4, 2, 18, 1.0)
def test_against_mpmath(
    p: float, threshold: int, mu: float, records: int, others: int, epsilon: float
) -> None:
    ours = GroupRelease(
        sampling_rate=p, threshold=threshold, shift=mu, records=records, others=others
    )
    for direction, log_delta in (
        ("add", float(ours.log_delta_add(epsilon))),
        ("remove", float(ours.log_delta_remove(epsilon))),
    ):
        with mp.workdps(45):
            exact = group_oracle(
                direction, p=p, threshold=threshold, mu=mu, records=records, others=others,
                epsilon=epsilon,
            )  # fmt: skip
            if exact <= 0:
                assert log_delta < -600 or np.exp(log_delta) < 1e-14
                continue
            truth = mp.log(exact)
            assert log_delta >= truth
            room = 1e-6 + (0 if direction == "add" else 1e-12 / exact)
            if truth > -650:
                assert log_delta <= truth + room


@CERTIFIED
@given(
    st.lists(st.tuples(st.floats(-60, 20), st.floats(0, 8)), min_size=1, max_size=5),
    st.booleans(),
)
def test_mixture_against_mpmath(parts: list[tuple[float, float]], excess: bool) -> None:
    logs, moved = (np.array(column) for column in zip(*parts, strict=True))
    moved = np.maximum(moved, 0.01)
    function = log_mixture_excess if excess else log_mixture_deficit
    value = float(function(logs[None, :], moved)[0])
    with mp.workdps(60):
        exact = _half_line([mp.exp(mp.mpf(x)) for x in logs], [mp.mpf(x) for x in moved], excess)
        if exact > mp.mpf(10) ** -280:
            assert mp.log(exact) <= value <= mp.log(exact) + 1e-6


# --- reference values ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("records", "exact", "paper"),
    [(1, 1.955e-12, 2.926e-10), (2, 9.3e-12, 1.1e-9), (5, 1.5e-10, 3.6e-8), (10, 8.0e-9, 2.8e-6)],
)
def test_reference_values(records: int, exact: float, paper: float) -> None:
    ours = GroupRelease(sampling_rate=0.3, threshold=30, shift=0.0, records=records)
    form = SampleThresholdGroupPaper(sampling_rate=0.3, threshold=30, records=records)
    epsilon, delta = form.budget(4)
    assert epsilon == pytest.approx(4 * records * COIN, rel=1e-12)
    assert ours.delta(epsilon) == pytest.approx(exact, rel=0.06)
    assert delta == pytest.approx(paper, rel=0.06)
    assert form.delta(epsilon * (1 + 1e-12)) == pytest.approx(delta, rel=1e-9)


@CERTIFIED
@given(st.floats(0.01, 0.95), st.integers(1, 60), st.integers(1, 12), st.floats(1, 8))
def test_paper_form_is_a_bound(p: float, threshold: int, records: int, v: float) -> None:
    epsilon, delta = SampleThresholdGroupPaper(
        sampling_rate=p, threshold=threshold, records=records
    ).budget(v)
    ours = GroupRelease(sampling_rate=p, threshold=threshold, shift=0.0, records=records)
    assert ours.delta(epsilon) <= delta * (1 + 1e-6)


@pytest.mark.parametrize("v", [1.0, 30.0, 1e6])
def test_paper_form_at_its_ends(v: float) -> None:
    form = SampleThresholdGroupPaper(sampling_rate=1e-9, threshold=3, records=4)
    epsilon, delta = form.budget(v)
    assert 0 < delta <= 1
    assert epsilon > 0
    assert form.log_delta([0.0, 1e-12, np.inf]).tolist()[:2] == [0.0, 0.0]
    with pytest.raises(ParameterError, match="budget_factor"):
        form.budget(0.5)


# --- one record ---------------------------------------------------------------------------------


@CERTIFIED
@given(st.floats(0.1, 0.98), st.integers(1, 40), shifts, epsilons, st.floats(0, 0.7))
def test_one_record_is_theorem_j(
    p: float, threshold: int, mu: float, epsilon: float, share: float
) -> None:
    """Remove direction too: at a share of ln 1/(1-p), at which it vanishes."""
    one = GroupRelease(sampling_rate=p, threshold=threshold, shift=mu, records=1)
    other = JointRelease(sampling_rate=p, threshold=threshold, shift=mu)
    low = -share * float(np.log1p(-p))
    for name, at in (("log_delta_add", epsilon), ("log_delta_remove", low)):
        first, second = float(getattr(one, name)(at)), float(getattr(other, name)(at))
        if max(first, second) > -600:
            assert first == pytest.approx(second, abs=2e-6)


# --- brute force --------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.5])
def test_all_subsets_listed(threshold: int, epsilon: float) -> None:
    """Users' records anywhere within reach are below the bound; coinciding ones attain it."""
    p, noise = 0.4, 1.0
    y = np.linspace(-14, 16, 30001)
    ours = GroupRelease(sampling_rate=p, threshold=threshold, shift=0.7, records=2, others=3)
    cases = {
        "attained": ([0.0, 0.0, 0.0], [0.7, 0.7]),
        "apart": ([0.0, 0.1, 0.3], [0.6, 0.7]),
        "both sides": ([0.0, 0.0, 0.0], [0.7, -0.7]),
        "spread": ([-0.35, 0.35, 0.0], [0.35, -0.2]),
    }
    for name, (rest, user) in cases.items():
        without = oracles.release_density(rest, p, threshold, noise, y)
        present = oracles.release_density(rest + user, p, threshold, noise, y)
        for first, second, bound in (
            (present, without, float(np.exp(ours.log_delta_add(epsilon)))),
            (without, present, float(np.exp(ours.log_delta_remove(epsilon)))),
        ):
            found = oracles.divergence(first, second, epsilon, y)
            assert found <= bound + 1e-6
            if name == "attained":
                assert found == pytest.approx(bound, abs=1e-6)


@CERTIFIED
@given(st.floats(0.02, 0.98), st.integers(1, 15), st.integers(1, 8), st.integers(0, 30), epsilons)
def test_count_alone_from_its_two_binomials(
    p: float, threshold: int, records: int, others: int, epsilon: float
) -> None:
    n = np.arange(threshold, others + records + 1)
    without, present = binom.pmf(n, others, p), binom.pmf(n, others + records, p)
    hidden = binom.cdf(threshold - 1, others, p), binom.cdf(threshold - 1, others + records, p)
    grown = np.exp(epsilon)
    add = np.sum(np.maximum(present - grown * without, 0)) + max(hidden[1] - grown * hidden[0], 0)
    remove = np.sum(np.maximum(without - grown * present, 0)) + max(
        hidden[0] - grown * hidden[1], 0
    )
    ours = GroupRelease(
        sampling_rate=p, threshold=threshold, shift=0.0, records=records, others=others
    )
    assert np.exp(ours.log_delta_add(epsilon)) == pytest.approx(add, rel=1e-8, abs=1e-12)
    assert np.exp(ours.log_delta_remove(epsilon)) == pytest.approx(remove, rel=1e-8, abs=1e-12)


def test_monte_carlo_stays_below() -> None:
    """Clopper-Pearson at 1e-8 on each of 2 rates and 6 events: error probability 1.2e-7."""
    rng = np.random.default_rng(5)
    trials, p, threshold, mu, others, records = 400_000, 0.3, 12, 0.4, 35, 3
    for epsilon in (0.5, 1.5, 3.0):
        bound = GroupRelease(
            sampling_rate=p, threshold=threshold, shift=mu, records=records, others=others
        )
        counts = rng.binomial(others, p, (2, trials))
        user = rng.binomial(records, p, trials)
        noise = rng.standard_normal((2, trials))
        present = (counts[0] + user, noise[0] + mu * user)
        without = (counts[1], noise[1])
        for cut in (3.0, 5.0):
            hit, false = (
                int(np.count_nonzero((n >= threshold) & (0.35 * n + mu * y > cut + 2)))
                for n, y in (present, without)
            )
            low = beta.ppf(1e-8, hit, trials - hit + 1) if hit else 0.0
            high = beta.isf(1e-8, false + 1, trials - false)
            assert low - np.exp(epsilon) * high <= np.exp(bound.log_delta_add(epsilon))


# --- all sizes ----------------------------------------------------------------------------------


@CERTIFIED
@given(
    rates, st.integers(1, 40), shifts, st.integers(1, 40), st.integers(0, 200), st.integers(0, 60),
    st.floats(0, 1), st.booleans(), st.floats(0, 5),
)  # fmt: skip
def test_a_block_bound_covers_its_sizes(
    p: float, threshold: int, mu: float, records: int, others: int, width: int, inner: float,
    add: bool, epsilon: float,
) -> None:  # fmt: skip
    """J at every N' of N..N+w is at most the bound that the search takes for the block."""
    terms = GroupTerms(
        sampling_rate=p, threshold=threshold, shift=mu, records=records,
        epsilon=epsilon if add else min(epsilon, -0.95 * records * float(np.log1p(-p))),
        direction="add" if add else "remove",
    )  # fmt: skip
    sizes = np.array([others, others + round(inner * width), others + width])
    zero = np.zeros(3, np.int64)
    own, _ = terms.evaluate(zero, sizes, zero, np.full(3, -800.0))
    for slack in (width, 2**52):
        _, wide = terms.evaluate(zero[:1], sizes[:1], np.array([slack]), np.array([-60.0]))
        assert np.max(own) <= wide[0] + 1e-11


@pytest.mark.parametrize(("records", "epsilon"), [(40, 0.5), (40, 6.0), (300, 0.5), (300, 30.0)])
def test_many_records_by_direct_quadrature(records: int, epsilon: float) -> None:
    """The positive part of the difference of both densities, summed over counts."""
    p, threshold, mu, others = 0.05, 10, 0.3, 60
    k = np.arange(records + 1)
    y = np.linspace(-9, mu * (records * p + 60) + 9, 3001)
    user = binom.pmf(k, records, p)
    density = np.exp(-((y - mu * k[:, None]) ** 2) / 2) / np.sqrt(2 * np.pi)
    user, density = (np.where(x > 1e-120, x, 0.0) for x in (user, density))  # subnormals are slow
    total = 0.0
    for n in range(threshold, others + 60):  # p (N + l) is at most 18
        others_mass = np.where(n >= k, binom.pmf(n - k, others, p), 0.0)
        present = np.where((weight := user * others_mass) > 1e-60, weight, 0.0) @ density
        gain = np.maximum(present - np.exp(epsilon) * binom.pmf(n, others, p) * density[0], 0)
        total += float(np.sum(gain) * (y[1] - y[0]))
    ours = GroupRelease(
        sampling_rate=p, threshold=threshold, shift=mu, records=records, others=others
    )
    assert np.exp(ours.log_delta_add(epsilon)) == pytest.approx(total, rel=2e-4)


@CERTIFIED
@given(rates, st.integers(1, 40), shifts, st.integers(1, 9), st.floats(0, 8), st.floats(0.05, 6))
def test_no_size_exceeds_the_supremum(
    p: float, threshold: int, mu: float, records: int, epsilon: float, scale: float
) -> None:
    everywhere = GroupRelease(sampling_rate=p, threshold=threshold, shift=mu, records=records)
    size = int(scale * threshold / p)
    here = GroupRelease(
        sampling_rate=p, threshold=threshold, shift=mu, records=records, others=size
    )
    for name in ("log_delta_add", "log_delta_remove"):
        value = float(getattr(here, name)(epsilon))
        if value > -600:
            assert value <= float(getattr(everywhere, name)(epsilon)) + 1e-9


@pytest.mark.parametrize(("records", "epsilon"), [(2, 0.2), (3, 1.0), (6, 1.5), (40, 3.0)])
def test_supremum_is_that_of_all_sizes(records: int, epsilon: float) -> None:
    settings_ = {"sampling_rate": 0.3, "threshold": 12, "shift": 0.4, "records": records}
    best = {"log_delta_add": -np.inf, "log_delta_remove": -np.inf}
    for size in range(130):
        here = GroupRelease(others=size, **settings_)  # type: ignore[arg-type]
        for name in best:
            best[name] = max(best[name], float(getattr(here, name)(epsilon)))
    for name, value in best.items():
        found = float(getattr(GroupRelease(**settings_), name)(epsilon))  # type: ignore[arg-type]
        assert found == pytest.approx(value, abs=1e-6)


@CERTIFIED
@given(
    st.floats(0.02, 0.9), st.integers(1, 30), shifts, st.integers(1, 6), epsilons,
    st.sampled_from(["sampling_rate", "threshold", "shift", "records", "epsilon"]),
    st.floats(0.01, 1),
)  # fmt: skip
def test_monotone_over_all_sizes(
    p: float, threshold: int, mu: float, records: int, epsilon: float, which: str, step: float
) -> None:
    """Theorems of docs/proofs/group-release.md, in the add direction."""
    here = {"sampling_rate": p, "threshold": threshold, "shift": mu, "records": records}
    there = dict(here)
    later = epsilon
    if which == "sampling_rate":
        there[which] = p + (0.99 - p) * step
    elif which == "threshold":
        there[which] = threshold + max(1, int(20 * step))
    elif which == "shift":
        there[which] = mu * (1 + step) + 0.01 * step
    elif which == "records":
        there[which] = records + max(1, int(4 * step))
    else:
        later = epsilon + step
    low = float(GroupRelease(**here).log_delta_add(epsilon))  # type: ignore[arg-type]
    high = float(GroupRelease(**there).log_delta_add(later))  # type: ignore[arg-type]
    if which in ("threshold", "epsilon"):
        low, high = high, low
    if low > -600:
        assert low <= high + 1e-6


@settings(max_examples=60, deadline=None, derandomize=True)
@given(rates, st.integers(1, 30), shifts, st.integers(1, 6), st.floats(-400, -0.5))
def test_epsilon_is_enough_and_not_more(
    p: float, threshold: int, mu: float, records: int, log_delta: float
) -> None:
    ours = GroupRelease(sampling_rate=p, threshold=threshold, shift=mu, records=records)
    delta = float(np.exp(log_delta))
    epsilon = float(ours.epsilon(delta))
    if np.isinf(epsilon):
        assert ours.log_delta(np.inf) > np.log(delta) - 1e-6
        return
    assert ours.log_delta(epsilon) <= np.log(delta) + 1e-12
    if epsilon > 1e-2:
        assert ours.log_delta(epsilon * (1 - 1e-6)) > np.log(delta) - 1e-6


# --- extremes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [1e-9, 0.3, 1 - 1e-9, 1.0])
@pytest.mark.parametrize("records", [1, 7, 1000])
@pytest.mark.parametrize("shift", [0.0, 1e-8, 3.0, 1e9, np.inf])
def test_extreme_ranges(rate: float, records: int, shift: float) -> None:
    ours = GroupRelease(
        sampling_rate=rate, threshold=20, shift=shift, records=records, others=int(30 / rate)
    )
    values = ours.log_delta([0.0, 1e-12, 1.0, 40.0, 1500.0, 1e9, np.inf])
    assert not np.isnan(values).any()
    assert (values <= 0).all()
    assert (np.diff(values[np.isfinite(values)]) <= 1e-9).all()
    if shift == np.inf or rate == 1:  # as much at infinity: outcomes give the user away
        assert values[-1] == pytest.approx(values[-2], abs=1e-9)
    elif shift < 1e9:
        assert values[-1] <= values[-2] + 1e-9


def test_the_supremum_at_tiny_rates_and_many_records() -> None:
    for rate, threshold, records in ((1e-9, 3, 2), (1e-6, 12, 5), (0.2, 100, 300)):
        ours = GroupRelease(sampling_rate=rate, threshold=threshold, shift=0.5, records=records)
        values = ours.log_delta([0.0, 1.0, np.inf])
        assert (np.diff(values) <= 0).all()
        assert (values <= 0).all()
        assert not np.isnan(values).any()
    assert ours.epsilon(1.0) == 0
    assert ours.epsilon(0.0) == np.inf


def test_sure_cases() -> None:
    none = GroupRelease(sampling_rate=0.3, threshold=9, shift=1.0, records=3, others=5)
    assert none.delta([0, 1, np.inf]).tolist() == [0, 0, 0]
    some = GroupRelease(sampling_rate=0.3, threshold=9, shift=1.0, records=4, others=5)
    assert some.delta(np.inf) == pytest.approx(
        binom.sf(8, 9, 0.3), rel=1e-9
    )  # only all nine reach it
    every = GroupRelease(sampling_rate=1, threshold=9, shift=1.0, records=4, others=5)
    assert every.delta([0, 5, np.inf]).tolist() == [1, 1, 1]
    assert every.epsilon(0.5) == np.inf


@pytest.mark.parametrize(
    "change",
    [
        {"sampling_rate": 0}, {"sampling_rate": np.nan}, {"threshold": 0}, {"threshold": 1.5},
        {"shift": -1.0}, {"shift": np.nan}, {"records": 0}, {"records": 2.5}, {"records": 1001},
        {"others": -1}, {"others_max": -1},
    ],
)  # fmt: skip
def test_ranges(change: dict[str, float]) -> None:
    good = {"sampling_rate": 0.3, "threshold": 5, "shift": 1.0, "records": 2}
    with pytest.raises(ParameterError, match=next(iter(change))):
        GroupRelease(**(good | change))  # type: ignore[arg-type]


def test_shapes() -> None:
    ours = GroupRelease(sampling_rate=0.3, threshold=5, shift=1.0, records=2, others=20)
    assert ours.delta(1.0).shape == ()
    assert ours.delta([[0.1, 0.2]]).shape == (1, 2)
    assert ours.epsilon([[1e-3], [1e-4]]).shape == (2, 1)
