"""The engine: valid, the same however it is run, and no trial is ever dropped."""

import numpy as np
import pytest

from dpaudit.engine import BlockMechanism, CanaryPair, PerTrial, audit, worst_case
from dpaudit.errors import DpauditError, ParameterError
from tests.dpaudit.engine import subjects
from tests.dpaudit.engine.subjects import LEVEL, Itself, Learner

SURE = 1 - 1e-6
PAIR = {"data_in": True, "data_out": False}


def comparable(result: object) -> dict[str, object]:
    found = result.to_dict()  # type: ignore[attr-defined]
    del found["timings"], found["resumed"]
    return found


def test_randomised_response_is_bounded_closely() -> None:
    """The bound exceeds the true epsilon with probability at most 1e-6."""
    result = audit(
        BlockMechanism(subjects.response), Itself(), **PAIR, confidence=SURE, trials=10**6
    )
    assert 0.97 * LEVEL < result.epsilon <= LEVEL
    assert result.verdict == "no claim"
    assert result.estimate.trials_in == result.estimate.trials_out


@pytest.mark.parametrize(("claim", "verdict"), [(0.5, "refuted"), (1.0, "not refuted")])
def test_verdicts(claim: float, verdict: str) -> None:
    result = audit(
        BlockMechanism(subjects.response), Itself(), **PAIR, epsilon=claim, confidence=SURE
    )
    assert result.verdict == verdict
    assert f"is {verdict}: epsilon >= " in str(result)


def test_violations_at_nothing_are_rare() -> None:
    """At 80% at most 20% of 200 audits may claim a leak; more than 80 has probability < 1e-8."""
    claims = sum(
        audit(
            BlockMechanism(subjects.blind),
            Itself(),
            **PAIR,
            confidence=0.8,
            trials=2000,
            seed=seed,
        ).epsilon
        > 0
        for seed in range(200)
    )
    assert claims <= 80


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_one_release_a_call(delta: float) -> None:
    result = audit(
        PerTrial(subjects.laplace),
        Itself(),
        data_in=1.0,
        data_out=0.0,
        delta=delta,
        trials=30_000,
        confidence=SURE,
    )
    assert 0.6 < result.epsilon <= LEVEL + 2 * np.log1p(-delta)


@pytest.mark.parametrize(
    "options",
    [{"batch": 1}, {"batch": 7}, {"workers": 2}, {"workers": 2, "backend": "threading"}],
)
def test_the_same_however_it_is_run(options: dict[str, object]) -> None:
    setting = {**PAIR, "trials": 20_000, "seed": 5}
    for mechanism in (BlockMechanism(subjects.response), PerTrial(subjects.leaky_crash)):
        once = audit(mechanism, Itself(), **setting)
        again = audit(mechanism, Itself(), **setting, **options)
        assert comparable(once) == comparable(again)


def test_seeds_and_block_sizes_matter() -> None:
    setting = {**PAIR, "trials": 20_000}
    results = [
        audit(BlockMechanism(subjects.response), Itself(), **setting, **other)
        for other in ({"seed": 1}, {"seed": 2}, {"seed": 1, "block": 500})
    ]
    assert len({result.estimate.true_positives for result in results}) == 3


def test_an_attack_learns_from_trials_that_are_not_bounded() -> None:
    """`Learner` fails if it has to score a few releases that it learned from."""
    result = audit(
        BlockMechanism(subjects.slow),
        Learner(),
        data_in=0.0,
        data_out=1.0,
        trials=40_000,
        confidence=SURE,
    )
    assert 0.5 < result.epsilon <= LEVEL
    assert result.plan.training > 0


# --- failures -----------------------------------------------------------------------------------


def test_a_failure_rate_that_depends_on_the_data_is_found() -> None:
    """Crashes of .4 and .1: epsilon is ln 4, although no release tells anything."""
    result = audit(PerTrial(subjects.leaky_crash), Itself(), **PAIR, confidence=SURE, trials=20_000)
    assert 1.0 < result.epsilon <= np.log(4)
    assert result.event is not None
    assert result.event.failures == ("crash",)
    assert result.failed > 5000
    assert "ValueError: no release" in str(result.failure_example)
    assert "trials failed, and were counted" in str(result)


def test_failures_may_be_kept_out_of_the_event() -> None:
    result = audit(
        PerTrial(subjects.leaky_crash), Itself(), **PAIR, failure_events=False, trials=5000
    )
    assert result.event is not None
    assert result.event.failures == ()
    assert result.estimate.trials_in == result.plan.phase_trials("bounding")


def test_time_outs_are_outcomes() -> None:
    result = audit(PerTrial(subjects.times_out), Itself(), **PAIR, confidence=SURE, trials=5000)
    assert result.epsilon == 0
    assert result.failures["bounding"]["in"]["timeout"] > 500


def test_lost_blocks_count_against_the_audit() -> None:
    """Without them the bound would be about 1; a third of the positives is given up."""
    result = audit(
        BlockMechanism(subjects.loses_blocks), Itself(), **PAIR, block=500, trials=100_000
    )
    assert 0.2 < result.epsilon < 0.9
    lost = result.failures["bounding"]["in"]["block-crash"]
    assert lost % 500 == 0
    assert lost > 0
    assert "in" in result.failures["selection"]


def test_a_mechanism_that_gives_too_few_releases_shows_nothing() -> None:
    result = audit(BlockMechanism(subjects.too_few), Itself(), **PAIR, trials=2000)
    assert result.epsilon == 0
    assert result.estimate.reason
    assert "releases were asked for" in str(result.failure_example)


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mechanism": subjects.response}, "wrap it in BlockMechanism"),
        ({"attack": object()}, "an object with score"),
        ({"delta": 1.5}, "delta = 1.5"),
        ({"delta": float("nan")}, "delta = nan"),
        ({"epsilon": -1}, "epsilon = -1"),
        ({"confidence": 0.3}, "confidence = 0.3"),
        ({"trials": 0}, "trials = 0"),
        ({"trials": 1}, "leave none to bound with"),
        ({"seed": -1}, "seed = -1"),
        ({"workers": 0}, "workers = 0"),
        ({"backend": "spark"}, "backend = 'spark'"),
        ({"workers": 2, "backend": "inprocess"}, "workers = 2"),
        ({"resume": True}, "a store is needed"),
        ({"batch": 0}, "batch = 0"),
        ({"training": 10}, "no fit method"),
    ],
)
def test_refused(changes: dict[str, object], said: str) -> None:
    setting = {
        "mechanism": BlockMechanism(subjects.response),
        "attack": Itself(),
        **PAIR,
        "trials": 1000,
        **changes,
    }
    with pytest.raises(DpauditError, match=said) as caught:
        audit(setting.pop("mechanism"), setting.pop("attack"), **setting)
    assert "\n" not in str(caught.value)


def test_nan_scores_are_an_error() -> None:
    class Wrong:
        def score(self, releases: np.ndarray) -> np.ndarray:
            return np.full(len(releases), np.nan)

    with pytest.raises(ParameterError, match="NaN"):
        audit(BlockMechanism(subjects.blind), Wrong(), **PAIR, trials=1000)


def test_a_canary_pair_may_be_given() -> None:
    class Analysis:
        def worst_case(self) -> tuple[bool, bool]:
            return True, False

    pair = worst_case(Analysis())
    assert pair.mode == "worst case"
    result = audit(BlockMechanism(subjects.response), Itself(), canary=pair, trials=10_000)
    assert result.epsilon > 0
    assert result.to_dict()["config"]["canary"] == {"mode": "worst case"}
    with pytest.raises(ParameterError, match="one or the other"):
        audit(
            BlockMechanism(subjects.response),
            Itself(),
            canary=CanaryPair(data_in=True, data_out=False),
            data_in=True,
        )
