"""Faults of local mechanisms and of text rewriting, and of totals that are never formed."""

from typing import Any

import numpy as np

from tests.catalogue.entries import Entry
from tests.catalogue.noise import geometric, keep, respond

VOCABULARY = ["the", "cat", "dog", "sat", "ran", "a", "mat", "far"]
STOP_WORDS = {"the", "a"}


def response(truth: float, outputs: int) -> Any:
    def release(value: int, trials: int, rng: np.random.Generator) -> Any:
        return respond(rng, value, outputs, truth, trials)

    return release


def unary(one: float, zero: float) -> Any:
    """Report each of six bits by itself: 1 with probability ``one`` if it is set, else ``zero``."""

    def release(value: int, trials: int, rng: np.random.Generator) -> Any:
        chance = np.where(np.arange(6) == value, one, zero)
        return (rng.random((trials, 6)) < chance).astype(int)

    return release


def rewriter(epsilon: float, *, skip_stop_words: bool = False, fallback: float = 0.0) -> Any:
    """Rewrite each word by randomised response over the vocabulary."""
    size = len(VOCABULARY)

    def release(text: str, trials: int, rng: np.random.Generator) -> Any:
        words = text.split()
        columns = []
        for word in words:
            place = VOCABULARY.index(word)
            new = respond(rng, place, size, keep(epsilon, size), trials)
            if fallback:
                new = np.where(rng.random(trials) < fallback, place, new)
            if skip_stop_words and word in STOP_WORDS:
                new = np.full(trials, place)
            columns.append(new)
        return [" ".join(VOCABULARY[i] for i in row) for row in np.stack(columns, axis=1)]

    return release


def dropped_words(text: str, trials: int, rng: np.random.Generator) -> Any:
    """Drop words that are not in the vocabulary; rewrite the others."""
    known = " ".join(word for word in text.split() if word in VOCABULARY)
    return rewriter(0.5)(known, trials, rng) if known else [""] * trials


def replaced_words(text: str, trials: int, rng: np.random.Generator) -> Any:
    """Two words, unknown ones taken for "the": the length is public."""
    known = " ".join(word if word in VOCABULARY else "the" for word in text.split())
    return rewriter(0.5)(known, trials, rng)


def rounds(epsilon: float) -> Any:
    def release(value: int, trials: int, rng: np.random.Generator) -> Any:
        return value + geometric(rng, epsilon, (trials, 3))

    return release


def reports(*, shared: bool) -> Any:
    """Two users report a number each, with noise of their own or from one seed."""

    def release(values: list[int], trials: int, rng: np.random.Generator) -> Any:
        return np.array(values) + geometric(rng, 1.0, (trials, 1 if shared else 2))

    return release


def sampled(rate: float) -> Any:
    """Randomised response of epsilon 1.5 if a user is sampled, else a coin."""

    def release(value: int, trials: int, rng: np.random.Generator) -> Any:
        found = respond(rng, value, 2, keep(1.5, 2), trials)
        return np.where(rng.random(trials) < rate, found, rng.integers(0, 2, trials))

    return release


def memoised(*, changing: bool) -> Any:
    """Report twice; with ``changing`` the second report is fresh only if the value has changed."""

    def release(values: list[int], trials: int, rng: np.random.Generator) -> Any:
        first = respond(rng, values[0], 4, keep(0.5, 4), trials)
        second = respond(rng, values[1], 4, keep(0.5, 4), trials)
        if changing and values[0] == values[1]:
            second = first
        return np.stack([first, second], axis=1)

    return release


AMPLIFIED = float(np.log1p(0.25 * np.expm1(1.5)))
LOCAL = [
    Entry(
        name="response for two outputs",
        fault="Randomised response over eight values keeps the truth as if there were two.",
        data_in=0, data_out=1, broken=response(keep(1.0, 2), 8), correct=response(keep(1.0, 8), 8),
    ),
    Entry(
        name="unary encoding with wrong q",
        fault="Optimised unary encoding sets other bits half as often as it must.",
        data_in=0, data_out=1,
        broken=unary(0.5, 0.5 / (np.e + 1)), correct=unary(0.5, 1 / (np.e + 1)),
    ),
    Entry(
        name="unary encoding with all of epsilon",
        fault="Symmetric unary encoding uses epsilon for each of the two bits that differ.",
        data_in=0, data_out=1,
        broken=unary(keep(1.0, 2), 1 - keep(1.0, 2)),
        correct=unary(keep(0.5, 2), 1 - keep(0.5, 2)),
    ),
    Entry(
        name="stop-words unchanged",
        fault="Stop-words are copied, all other words are rewritten.",
        data_in="the", data_out="cat",
        broken=rewriter(1.0, skip_stop_words=True), correct=rewriter(1.0),
    ),
    Entry(
        name="fallback to the original token",
        fault="Where no replacement is found, the original word is kept.",
        data_in="dog", data_out="cat",
        broken=rewriter(1.0, fallback=0.3), correct=rewriter(1.0),
    ),
    Entry(
        name="per-token epsilon",
        fault="Each of four words is rewritten with epsilon, which is claimed for the text.",
        data_in="the cat sat far", data_out="a dog ran mat",
        broken=rewriter(1.0), correct=rewriter(0.25),
    ),
    Entry(
        name="length reveals unknown words",
        fault="Words outside the vocabulary are dropped, so the length tells how many there were.",
        data_in="cat dog", data_out="cat zygote", broken=dropped_words, correct=replaced_words,
    ),
    Entry(
        name="per-round epsilon",
        fault="Three rounds with epsilon each, which is claimed for all of them.",
        data_in=1, data_out=0, broken=rounds(1.0), correct=rounds(1 / 3),
    ),
    Entry(
        name="same seed for every user",
        fault="All users draw their noise from one seed, so differences are exact.",
        data_in=[1, 0], data_out=[0, 0], broken=reports(shared=True), correct=reports(shared=False),
    ),
    Entry(
        name="sampling that does not happen",
        fault="Amplification by a sampling rate of a quarter is claimed, everybody is sampled.",
        epsilon=AMPLIFIED, data_in=1, data_out=0, broken=sampled(1.0), correct=sampled(0.25),
    ),
    Entry(
        name="memoised changes",
        fault="A report is drawn afresh only if the value has changed, which shows the change.",
        data_in=[0, 1], data_out=[0, 0],
        broken=memoised(changing=True), correct=memoised(changing=False),
    ),
]  # fmt: skip
