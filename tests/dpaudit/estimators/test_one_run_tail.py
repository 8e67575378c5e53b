"""The one-run tail bound: exact against linear programs over all mechanisms, and rounded up."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import betainc, expit
from scipy.stats import binom

from accountants.errors import ParameterError
from dpaudit.estimators.one_run_tail import one_run_epsilon_lower, one_run_p_value


def best_mechanism(canaries, guesses, needed, epsilon, delta, *, side="both", inclusion=0.5):
    """Largest Pr[right >= needed] over all (epsilon, delta)-DP mechanisms, by linear programming.

    The mechanism releases the guesses themselves; post-processing loses nothing.
    """
    inputs = list(itertools.product([-1, 1], repeat=canaries))
    allowed = {"both": (-1, 0, 1), "in": (0, 1), "out": (-1, 0)}[side]
    outputs = [t for t in itertools.product(allowed, repeat=canaries) if np.abs(t).sum() == guesses]
    weight = [
        math.prod(inclusion if bit == 1 else 1 - inclusion for bit in source) for source in inputs
    ]
    cells = len(inputs) * len(outputs)
    neighbours = [
        (a, b)
        for a, b in itertools.permutations(range(len(inputs)), 2)
        if np.count_nonzero(np.subtract(inputs[a], inputs[b])) == 1
    ]
    rows, columns, values, bounds = [], [], [], []
    for pair, (a, b) in enumerate(neighbours):
        excess = cells + pair * len(outputs)
        for t in range(len(outputs)):
            columns += [a * len(outputs) + t, b * len(outputs) + t, excess + t]
            values += [1.0, -math.exp(epsilon), -1.0]
            rows += [len(bounds)] * 3
            bounds.append(0.0)
        columns += range(excess, excess + len(outputs))
        values += [1.0] * len(outputs)
        rows += [len(bounds)] * len(outputs)
        bounds.append(delta)
    size = cells + len(neighbours) * len(outputs)
    total = sparse.lil_matrix((len(inputs), size))
    gain = np.zeros(size)
    for a, source in enumerate(inputs):
        total[a, a * len(outputs) : (a + 1) * len(outputs)] = 1.0
        for t, output in enumerate(outputs):
            right = sum(x == y for x, y in zip(source, output, strict=True))
            gain[a * len(outputs) + t] = weight[a] * (right >= needed)
    solved = linprog(
        -gain,
        A_ub=sparse.csr_matrix((values, (rows, columns)), shape=(len(bounds), size)),
        b_ub=bounds,
        A_eq=total.tocsr(),
        b_eq=np.ones(len(inputs)),
    )
    return -solved.fun


CASES = [(1, 1, 1), (2, 1, 1), (2, 2, 1), (2, 2, 2), (3, 1, 1), (3, 2, 2), (3, 3, 2), (3, 3, 3)]


@pytest.mark.parametrize(("canaries", "guesses", "needed"), CASES)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.05), (0.7, 0.02), (1.5, 0.1), (1.0, 0.0)])
def test_bound_is_attained_by_the_best_of_all_mechanisms(canaries, guesses, needed, epsilon, delta):
    found = one_run_p_value(needed, guesses, canaries=canaries, epsilon=epsilon, delta=delta)
    best = best_mechanism(canaries, guesses, needed, epsilon, delta)
    assert found == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("side", ["in", "out"])
@pytest.mark.parametrize("inclusion", [0.5, 0.2])
@pytest.mark.parametrize(("canaries", "guesses", "needed"), [(2, 1, 1), (3, 1, 1), (3, 2, 2)])
def test_one_sided_bound_is_below_no_mechanism(side, inclusion, canaries, guesses, needed):
    best = best_mechanism(canaries, guesses, needed, 0.8, 0.03, side=side, inclusion=inclusion)
    found = one_run_p_value(
        needed,
        guesses,
        canaries=canaries,
        epsilon=0.8,
        delta=0.03,
        side=side,
        inclusion=inclusion,
    )
    assert best - 1e-9 <= found <= best + 0.15


def published(correct, guesses, canaries, epsilon, delta):
    """Steinke, Nasr and Jagielski 2023, Theorem 5.2, as printed and as their code has it."""
    q = expit(epsilon)
    at_least = binom.sf(correct - 1, guesses, q)
    shift = np.arange(1, correct + 1)
    steepest = np.max((binom.sf(correct - shift - 1, guesses, q) - at_least) / shift)
    return at_least + 2 * canaries * delta * steepest


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 400), st.floats(0, 1), st.integers(0, 400), st.floats(0, 4), st.floats(-9, 0))
def test_bound_is_below_the_published_one_where_that_is_of_use(
    guesses, share, others, epsilon, log_delta
):
    correct = max(1, round(share * guesses))
    canaries, delta = guesses + others, 10.0**log_delta
    theirs = published(correct, guesses, canaries, epsilon, delta)
    if theirs <= 0.5:
        found = one_run_p_value(correct, guesses, canaries=canaries, epsilon=epsilon, delta=delta)
        assert found <= theirs * (1 + 1e-9) + 1e-300


def test_published_bound_is_exceeded_by_a_mechanism_where_it_is_near_one():
    """Two canaries, two guesses, one right: the printed bound is not one (docs/proofs)."""
    best = best_mechanism(2, 2, 1, 2.0, 0.01)
    assert best > published(1, 2, 2, 2.0, 0.01) + 1e-4


def exact(correct, guesses, canaries, epsilon, delta):
    """Equation (1) in 60 digits, Q as a sum of positive terms."""
    with mpmath.workdps(60):
        odds = mpmath.exp(mpmath.mpf(epsilon))
        q, term, total = odds / (1 + odds), mpmath.mpf(1), mpmath.mpf(0)
        for right in range(correct, guesses + 1):
            total += term
            term *= (guesses - right) * odds / (right + 1)
            if term < total * mpmath.mpf(10) ** -40:
                break
        mass = mpmath.binomial(guesses, correct) * q**correct * (1 - q) ** (guesses - correct)
        at_least = mass * total
        return at_least + canaries * mpmath.mpf(delta) * total * (1 - at_least) / correct


@pytest.mark.parametrize("epsilon", [0.0, 0.15, 0.3, 0.6])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-3])
@pytest.mark.parametrize(
    ("correct", "guesses"), [(1, 1), (7, 10), (40, 40), (1100, 2000), (54_000, 100_000)]
)
def test_p_value_is_rounded_up_and_tight(correct, guesses, epsilon, delta):
    true = exact(correct, guesses, 2 * guesses, epsilon, delta)
    found = one_run_p_value(correct, guesses, canaries=2 * guesses, epsilon=epsilon, delta=delta)
    assert found >= min(true, 1)
    assert found <= min(true, 1) * (1 + 1e-6) + 1e-280


def test_p_value_survives_underflow():
    """All of 1e5 canaries guessed, 69 percent rightly: Q is below 1e-3000 at epsilon 0."""
    found = one_run_p_value(69_000, 100_000, canaries=100_000, epsilon=0.0, delta=1e-5)
    assert 0 < found < 1e-4
    low = one_run_epsilon_lower(69_000, 100_000, canaries=100_000, delta=1e-5, tail=0.05)
    assert math.log(0.69 / 0.31) - 0.02 < low < math.log(0.69 / 0.31)


def test_epsilon_at_delta_zero_is_that_of_clopper_pearson():
    """q^r = tail at r right guesses of r: q = tail^(1/r), epsilon = ln(q / (1 - q))."""
    q = 0.05 ** (1 / 20)
    found = one_run_epsilon_lower(20, 20, canaries=1000, delta=0.0, tail=0.05)
    assert found == pytest.approx(math.log(q / (1 - q)), rel=1e-9)
    assert found <= math.log(q / (1 - q))


counts = st.integers(1, 3000).flatmap(
    lambda r: st.tuples(st.integers(0, r), st.just(r), st.integers(r, 2 * r))
)


@settings(max_examples=200, deadline=None)
@given(
    counts,
    st.sampled_from([0.0, 1e-8, 1e-4, 0.1]),
    st.sampled_from([1e-12, 0.01, 0.3]),
    st.booleans(),
)
def test_epsilon_lower_is_where_the_p_value_passes_the_tail(drawn, delta, tail, fixed):
    correct, guesses, canaries = drawn
    given_counts = {"canaries": canaries, "delta": delta, "fixed_guesses": fixed}
    low = one_run_epsilon_lower(correct, guesses, tail=tail, **given_counts)
    above = one_run_p_value(correct, guesses, epsilon=low + 1e-6, **given_counts)
    assert above > tail
    if low > 0:
        assert one_run_p_value(correct, guesses, epsilon=low, **given_counts) <= tail


@settings(max_examples=100, deadline=None)
@given(counts, st.floats(0, 5), st.floats(0, 5), st.floats(-9, 0), st.booleans())
def test_p_value_is_monotone(drawn, epsilon, more, log_delta, fixed):
    correct, guesses, canaries = drawn
    delta = 10.0**log_delta
    base = one_run_p_value(
        correct, guesses, canaries=canaries, epsilon=epsilon, delta=delta, fixed_guesses=fixed
    )
    ups = [
        one_run_p_value(
            max(correct - 1, 0),
            guesses,
            canaries=canaries,
            epsilon=epsilon,
            delta=delta,
            fixed_guesses=fixed,
        ),
        one_run_p_value(
            correct,
            guesses,
            canaries=canaries + 1,
            epsilon=epsilon + more,
            delta=min(1.0, 2 * delta),
            fixed_guesses=fixed,
        ),
    ]
    assert min(ups) >= base * (1 - 1e-9)


@pytest.mark.parametrize(("blind", "delta"), [(0, 0.02), (2, 0.02), (30, 0.02), (2, 0.002)])
def test_number_of_guesses_may_follow_the_output(blind, delta):
    """The revealed canaries and some others are guessed, epsilon 0; error at most 1e-6.

    Each of 400 bits is revealed with probability delta, and the output shows which; 20 000 runs.
    """
    rng = np.random.default_rng(71)
    revealed = rng.binomial(400, delta, 20_000)
    right = revealed + rng.binomial(blind, 0.5, 20_000)
    for side, stake in (("both", 1), ("in", 2)):  # half the canaries are at stake on one side
        found = one_run_p_value(
            right,
            revealed + blind,
            canaries=400 * stake,
            epsilon=0.0,
            delta=delta,
            side=side,
            fixed_guesses=False,
        )
        for level in (0.3, 0.05):
            failures = np.sum(found <= level)
            assert failures == 0 or betainc(failures, 20_001 - failures, level) >= 1e-6


def test_arguments_broadcast():
    found = one_run_epsilon_lower(
        [60, 600], [100, 1000], canaries=1000, delta=[[0.0], [1e-4]], tail=0.05
    )
    assert found.shape == (2, 2)
    assert np.all(found[0] > found[1])
    assert found[0, 0] == one_run_epsilon_lower(60, 100, canaries=1000, delta=0.0, tail=0.05)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"correct": 11}, "successes = 11"),
        ({"guesses": 101}, "trials = 101"),
        ({"canaries": 0}, "canaries = 0"),
        ({"delta": float("nan")}, "delta = nan"),
        ({"delta": 1.5}, "delta = 1.5"),
        ({"tail": 0.0}, "tail = 0"),
        ({"side": "left"}, "side = 'left'"),
        ({"inclusion": 0.3}, "inclusion = 0.3"),
        ({"inclusion": 1.0, "side": "in"}, "inclusion = 1"),
    ],
)
def test_bad_input_is_refused_in_one_line(change, message):
    arguments = {"correct": 5, "guesses": 10, "canaries": 100, "delta": 0.0, "tail": 0.05, **change}
    with pytest.raises(ParameterError, match=message) as caught:
        one_run_epsilon_lower(arguments.pop("correct"), arguments.pop("guesses"), **arguments)
    assert "\n" not in str(caught.value)
