"""Suprema over all bucket sizes by branch and bound, with a rigorous tail; many at once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants.ranges import Floats

Counts = NDArray[np.int64]
Evaluate = Callable[[Counts, Counts, Counts, Floats], tuple[Floats, Floats]]

_TOLERANCE = 2e-7  # relative, added to the answer
_DEEP = -800.0  # e^-800 is below every double
_ENOUGH = -750.0  # so is this, and a block whose bound lies below it is not cut any further
_MOST = 4000  # blocks at a time; beyond it the answer gets less close, not the memory larger
_DIGITS = 24.0  # e^-24: what may be left unsummed, relative to the best value seen
_BLOCKS = 6
_GROWTH = 2.0
_LIMIT = 2**52


@dataclass(frozen=True)
class Suprema:
    """``values``: upper bounds of the suprema's logarithms; ``at``: where they are (nearly)."""

    values: Floats
    at: Counts


def log_suprema(
    evaluate: Evaluate,
    *,
    problems: int,
    first: int,
    last: int | None = None,
    per_record: bool = False,
    guess: Counts | None = None,
) -> Suprema:
    """Return upper bounds, within 2e-7 relative, of suprema of J over N >= ``first``.

    Parameters
    ----------
    evaluate : callable
        (problem, N, w, floor), all of shape (b,), -> upper bounds of ln J(N) and of ln J(N') for
        every N' in N..N+w, as :meth:`accountants.joint_release.JointTerms.evaluate`; with w so
        large that the threshold vanishes, the second holds for every N' >= N.
    problems : int
        How many suprema.
    first, last : int
        Range of N; no ``last`` means all N.
    per_record : bool
        Take the supremum of J(N)/N instead (``first`` >= 1).
    guess : ndarray of int, shape (problems,), optional
        N that are probably near the best ones; only speed depends on them.

    Returns
    -------
    Suprema
        Values are ``-inf`` where J vanishes everywhere; below e^-750 they need not be close.
    """
    every = np.arange(problems)
    limit = _LIMIT if last is None else last
    if limit < first:
        return Suprema(np.full(problems, -np.inf), np.full(problems, first))

    def bounds(
        problem: Counts, starts: Counts, widths: Counts, floor: Floats
    ) -> tuple[Floats, Floats]:
        own, widened = evaluate(problem, starts, widths, floor)
        if per_record:
            weight = np.log(starts) - 1e-15
            return own - weight, widened - weight
        return own, widened

    at = np.full(problems, first) if guess is None else np.clip(guess, first, limit)
    best, _ = bounds(every, at, np.zeros_like(at), np.full(problems, _DEEP))
    begin, size = _blocks(first, limit, max(1, first // 4))
    rest = np.full(problems, -np.inf)  # bounds of the blocks that are not cut to the end
    tolerance = _TOLERANCE
    problem = np.repeat(every, len(begin))
    starts, widths = np.tile(begin, problems), np.tile(size, problems)
    while len(problem):
        floor = np.maximum(_DEEP, best - _DIGITS)[problem]
        own, widened = bounds(problem, starts, widths, floor)
        before = best.copy()
        np.maximum.at(best, problem, own)
        better = (own == best[problem]) & (own > before[problem])
        at[problem[better]] = starts[better]
        with np.errstate(invalid="ignore"):
            excess = widened - best[problem]
        open_ = (excess > _TOLERANCE) & (widths > 0)
        alive = open_ & (excess > tolerance) & (widened > _ENOUGH)
        if np.count_nonzero(alive) > _MOST:
            tolerance = float(np.partition(excess[alive], -_MOST // 2)[-_MOST // 2])
            alive &= excess > tolerance
        dropped = open_ & ~alive
        np.maximum.at(rest, problem[dropped], widened[dropped])
        problem, starts, widths = _split(problem[alive], starts[alive], widths[alive])
    found = np.where(np.isfinite(best), best + _TOLERANCE, best)
    return Suprema(np.maximum(found, rest), at)


def _blocks(first: int, limit: int, step: int) -> tuple[Counts, Counts]:
    """Blocks of growing width from ``first``; the last one reaches ``limit``.

    Without a limit of the caller's, the last block's width removes every threshold, which makes
    its bound hold for all larger N as well.
    """
    starts = [first]
    width = float(step)
    while len(starts) < _BLOCKS and starts[-1] + int(width) <= limit:
        starts.append(starts[-1] + int(width))
        width *= _GROWTH
    ends = [*(s - 1 for s in starts[1:]), limit]
    begin = np.array(starts, dtype=np.int64)
    return begin, np.array(ends, dtype=np.int64) - begin


def _split(problem: Counts, starts: Counts, widths: Counts) -> tuple[Counts, Counts, Counts]:
    """Four children of each block; far wider blocks are cut geometrically near their start."""
    lengths = widths + 1
    far = widths > 4 * np.maximum(starts, 64)
    quarter = np.where(far, np.maximum(starts, 64) // 4 + 1, -(-lengths // 4))
    pieces = []
    for piece in range(4):
        begin = starts + piece * quarter
        end = starts + lengths if piece == 3 else np.minimum(begin + quarter, starts + lengths)
        kept = begin < end
        pieces.append((problem[kept], begin[kept], (end - begin - 1)[kept]))
    groups, begins, sizes = zip(*pieces, strict=True)
    return np.concatenate(groups), np.concatenate(begins), np.concatenate(sizes)
