"""Runs an audit's three phases: learn the attack, choose the event, count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product, zip_longest
from time import perf_counter

import numpy as np

from dpaudit.engine.attack_scores import Attack, Scores, fits
from dpaudit.engine.backends import Backend, Task
from dpaudit.engine.blocks import (
    CountedBatch,
    Example,
    Experiment,
    ReleasedBatch,
    ScoredBatch,
    add_counts,
    count_batch,
    count_scores,
    release_batch,
    score_batch,
)
from dpaudit.engine.event import Event, choose_event
from dpaudit.engine.outcomes import OUTCOMES, BlockOutcome, Codes
from dpaudit.engine.plan import PHASES, SIDES, Phase, Side, batches, blocks_in_batch
from dpaudit.engine.progress import progress_bar
from dpaudit.engine.store import TrialStore
from dpaudit.engine.training import fitted, joined
from dpaudit.estimators.arrays import FloatArray
from dpaudit.estimators.score_quantity import Quantity


@dataclass(frozen=True, kw_only=True)
class Trials:
    """What the trials of an audit gave.

    Attributes
    ----------
    event : Event or None
        What was counted.
    inside, outside : CountedBatch
        Counts of all bounding trials.
    failures : dict
        Phase, side and kind of failure -> trials.
    example : str or None
        The first failure.
    timings : dict
        Seconds of each phase, and bounding trials a second.
    """

    event: Event | None
    inside: CountedBatch
    outside: CountedBatch
    failures: dict[str, dict[str, dict[str, int]]]
    example: str | None
    timings: dict[str, float]


@dataclass(kw_only=True, eq=False)
class Runner:
    """Runs the phases of one experiment.

    Parameters
    ----------
    experiment : Experiment
        Without attack and event.
    backend : Backend
        Where batches run.
    batch : int or None
        Blocks in a batch, or None for a number by the mechanism's preference.
    store : TrialStore or None
        Where scores are kept.
    progress : bool
        Whether to show progress.
    label : str
        Shown instead of the phases' names.
    """

    experiment: Experiment
    backend: Backend
    batch: int | None = None
    store: TrialStore | None = None
    progress: bool = False
    label: str = ""
    _failures: Counter[tuple[str, str, str]] = field(default_factory=Counter, init=False)
    _first: tuple[int, int, int, str] | None = field(default=None, init=False)
    _seconds: dict[str, float] = field(default_factory=dict, init=False)

    def run(
        self, attack: Attack, *, quantity: Quantity, error: float, failure_events: bool
    ) -> Trials:
        """Run all phases.

        Parameters
        ----------
        attack : Attack
            Not fitted.
        quantity : Quantity
            What will be bounded.
        error : float
            Of the bound.
        failure_events : bool
            Whether failures may belong to the event.

        Returns
        -------
        Trials
            The same whatever backend, batch size and interruptions, if the mechanism is seedable.
        """
        learned: Attack | None = attack
        if fits(attack):
            learned = self.learn(attack)
        inside, outside = self.select(learned)
        bounding = self.experiment.plan.phase_trials("bounding")
        event = choose_event(
            inside,
            outside,
            bounding=bounding,
            quantity=quantity,
            error=error,
            failure_events=failure_events,
        )
        counts = self.count(learned, event)
        seconds = self._seconds["bounding"]
        return Trials(
            event=event,
            inside=counts["in"],
            outside=counts["out"],
            failures=self._failure_table(),
            example=None if self._first is None else self._first[-1],
            timings={
                **{f"{phase}_seconds": value for phase, value in self._seconds.items()},
                "bounding_trials_per_second": 2 * bounding / max(seconds, 1e-9),
            },
        )

    def learn(self, attack: Attack) -> Attack | None:
        """Fit the attack to the releases of the training blocks."""
        start = perf_counter()
        plan = self.experiment.plan
        found: dict[Side, dict[int, BlockOutcome]] = {side: {} for side in SIDES}
        if self.store is not None and not self.experiment.mechanism.seedable:
            for side in SIDES:
                found[side].update(self.store.read_training(side))
        with progress_bar(
            "training", 2 * plan.phase_trials("training"), shown=self.progress
        ) as step:
            for side in SIDES:
                step(sum(plan.size(block) for block in found[side]))
            missing: dict[Side, Sequence[int]] = {
                side: [block for block in plan.phase("training") if block not in found[side]]
                for side in SIDES
            }
            tasks = self._tasks("training", missing)
            for part in self.backend.run(release_batch, self.experiment, tasks):
                if self.store is not None and not self.experiment.mechanism.seedable:
                    self.store.append_training(part)
                found[part.side].update(zip(part.blocks, part.parts, strict=True))
                step(plan.trials_of(part.blocks))
        ordered: dict[Side, ReleasedBatch] = {}
        for side in SIDES:
            blocks = plan.phase("training")
            parts = [found[side][block] for block in blocks]
            ordered[side] = ReleasedBatch(side=side, blocks=blocks, parts=parts)
            for block, outcome in zip(blocks, parts, strict=True):
                example = None if outcome.example is None else (block, outcome.example)
                self._note("training", side, outcome.codes, example)
        releases = {side: joined(ordered[side].parts) for side in SIDES}
        learned = fitted(attack, releases["in"], releases["out"])
        if self.store is not None:
            self.store.check_attack(learned, releases["in"], releases["out"])
        self._seconds["training"] = perf_counter() - start
        return learned

    def select(
        self, attack: Attack | None
    ) -> tuple[tuple[FloatArray, Codes], tuple[FloatArray, Codes]]:
        """Return scores and outcome codes of the selection trials, with and without the canary."""
        plan = self.experiment.plan
        first = plan.phase("selection").start * plan.block
        number = plan.phase_trials("selection")
        scores: dict[Side, Scores] = {side: np.zeros(number) for side in SIDES}
        codes: dict[Side, Codes] = {side: np.zeros(number, dtype=np.uint8) for side in SIDES}
        experiment = self.experiment.with_attack(attack)
        for batch in self._scored(experiment, "selection"):
            start = batch.blocks.start * plan.block - first
            place = slice(start, start + batch.scores.size)
            scores[batch.side][place] = batch.scores
            if batch.codes is not None:
                codes[batch.side][place] = batch.codes
        return (scores["in"], codes["in"]), (scores["out"], codes["out"])

    def count(self, attack: Attack | None, event: Event | None) -> dict[Side, CountedBatch]:
        """Count the bounding trials of each side."""
        experiment = self.experiment.with_attack(attack).with_event(event)
        start = perf_counter()
        plan = experiment.plan
        blocks = plan.phase("bounding")
        totals: dict[Side, CountedBatch] = {
            side: count_scores(event, side, blocks, np.zeros(0), None) for side in SIDES
        }
        if self.store is not None:
            counted: Iterator[CountedBatch] = (
                count_scores(event, b.side, b.blocks, b.scores, b.codes, b.example)
                for b in self._scored(experiment, "bounding")
            )
        else:
            counted = self._counted(experiment)
        for batch in counted:
            totals[batch.side] = add_counts([totals[batch.side], batch], blocks)
        self._seconds["bounding"] = perf_counter() - start
        return totals

    def _counted(self, experiment: Experiment) -> Iterator[CountedBatch]:
        """Run the bounding blocks, keeping counts only."""
        plan = experiment.plan
        blocks = plan.phase("bounding")
        tasks = self._tasks("bounding", dict.fromkeys(SIDES, blocks))
        with progress_bar("bounding", 2 * plan.trials_of(blocks), shown=self.progress) as step:
            for batch in self.backend.run(count_batch, experiment, tasks):
                self._add("bounding", batch.side, batch.outcomes)
                if batch.example is not None:
                    self._example("bounding", batch.side, batch.example)
                step(batch.trials)
                yield batch

    def _scored(self, experiment: Experiment, phase: Phase) -> Iterator[ScoredBatch]:
        """Yield the scored batches of a phase: those kept, then those that are missing."""
        start = perf_counter()
        plan, store = experiment.plan, self.store
        missing: dict[Side, Sequence[int]] = {side: plan.phase(phase) for side in SIDES}
        kept: list[Task] = []
        if store is not None:
            kept = list(store.kept(phase))
            done = {side: {b for s, blocks in kept if s == side for b in blocks} for side in SIDES}
            missing = {
                side: [b for b in plan.phase(phase) if b not in done[side]] for side in SIDES
            }
            if kept and experiment.mechanism.seedable:
                store.check_repeat(score_batch, experiment, kept[0])
        total = 2 * plan.phase_trials(phase)
        with progress_bar(self.label or phase, total, shown=self.progress) as step:
            read = (store.read(*task) for task in kept) if store is not None else ()
            run = self.backend.run(score_batch, experiment, self._tasks(phase, missing))
            for batch, old in chain(((b, True) for b in read), ((b, False) for b in run)):
                if store is not None and not old:
                    store.append(batch)
                self._note(phase, batch.side, batch.codes, batch.example)
                step(batch.scores.size)
                yield batch
        self._seconds[phase] = perf_counter() - start

    def _tasks(self, phase: Phase, missing: Mapping[Side, Sequence[int]]) -> Iterator[Task]:
        """Yield batches of both sides in turn, so that what changes with time meets both alike."""
        size = blocks_in_batch(
            self.experiment.plan,
            batch=self.batch,
            preferred=self.experiment.mechanism.preferred_batch,
            workers=self.backend.workers,
            phase=phase,
        )
        for pair in zip_longest(*(batches(missing[side], size) for side in SIDES)):
            yield from (
                (side, blocks)
                for side, blocks in zip(SIDES, pair, strict=True)
                if blocks is not None
            )

    def _note(self, phase: Phase, side: Side, codes: Codes | None, example: Example | None) -> None:
        """Record the failures of a batch."""
        if codes is not None:
            self._add(phase, side, np.bincount(codes, minlength=len(OUTCOMES)).tolist())
        if example is not None:
            self._example(phase, side, example)

    def _add(self, phase: Phase, side: Side, outcomes: Sequence[int]) -> None:
        """Count the failures of a batch."""
        for name, number in zip(OUTCOMES[1:], outcomes[1:], strict=True):
            if number:
                self._failures[phase, side, name] += number

    def _example(self, phase: Phase, side: Side, example: Example) -> None:
        """Keep the first failure, whatever the order in which batches come back."""
        found = (PHASES.index(phase), example[0], SIDES.index(side), example[1])
        self._first = found if self._first is None else min(self._first, found)

    def _failure_table(self) -> dict[str, dict[str, dict[str, int]]]:
        """Return the failures by phase, side and kind, in a fixed order."""
        table: dict[str, dict[str, dict[str, int]]] = {}
        for phase, side, name in product(PHASES, SIDES, OUTCOMES):
            if number := self._failures[phase, side, name]:
                table.setdefault(phase, {}).setdefault(side, {})[name] = number
        return table
