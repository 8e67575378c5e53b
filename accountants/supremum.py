"""Suprema over all bucket sizes by branch and bound, with a rigorous tail; many at once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountants.ranges import Floats

Counts = NDArray[np.int64]
Evaluate = Callable[[Counts, Counts, Counts, Floats], tuple[Floats, Floats]]

TOLERANCE = 2e-7  # relative, added to the answer
_DEEP = -800.0  # e^-800 is below every double
_ENOUGH = -750.0  # so is this, and a block whose bound lies below it is not cut any further
_MOST = 4000  # blocks at a time; beyond it the answer gets less close, not the memory larger
_DIGITS = 9.0  # e^-9 times the tolerance: what may be left unsummed, relative to the best value
_BLOCKS = 6
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
    at_least: Floats | None = None,
    tolerance: float = TOLERANCE,
) -> Suprema:
    """Return upper bounds of suprema of J over N >= ``first``, close to them.

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
    at_least : ndarray, shape (problems,), optional
        Logarithms below which a supremum does not matter: about this is returned if it is lower.
    tolerance : float
        How far above the supremum an answer may lie, relative (added to the logarithm).

    Returns
    -------
    Suprema
        Values are ``-inf`` where J vanishes everywhere; below e^-750 they need not be close.
    """
    every = np.arange(problems)
    limit = _LIMIT if last is None else last
    if limit < first:
        return Suprema(np.full(problems, -np.inf), np.full(problems, max(limit, 0)))

    def bounds(
        problem: Counts, starts: Counts, widths: Counts, floor: Floats
    ) -> tuple[Floats, Floats]:
        own, widened = evaluate(problem, starts, widths, floor)
        if per_record:
            weight = np.log(starts) - 1e-15
            return own - weight, widened - weight
        return own, widened

    digits = _DIGITS - float(np.log(tolerance))
    at = np.full(problems, first) if guess is None else np.clip(guess, first, limit)
    best = np.full(problems, -np.inf) if at_least is None else at_least.astype(float)
    own, _ = bounds(every, at, np.zeros_like(at), np.maximum(_DEEP, best - digits))
    np.maximum(best, own, out=best)
    begin, size = _blocks(first, limit, 2 * int(at.max()))
    rest = np.full(problems, -np.inf)  # bounds of the blocks that are not cut to the end
    step = tolerance
    problem = np.repeat(every, len(begin))
    starts, widths = np.tile(begin, problems), np.tile(size, problems)
    while len(problem):
        floor = np.maximum(_DEEP, best - digits)[problem]
        own, widened = bounds(problem, starts, widths, floor)
        before = best.copy()
        np.maximum.at(best, problem, own)
        better = (own == best[problem]) & (own > before[problem])
        at[problem[better]] = starts[better]
        with np.errstate(invalid="ignore"):
            excess = widened - best[problem]
        alive = (widths > 0) & (excess > step) & (widened > _ENOUGH)
        if np.count_nonzero(alive) > _MOST:
            step = float(np.partition(excess[alive], -_MOST // 2)[-_MOST // 2])
            alive &= excess > step
        dropped = (widths > 0) & ~alive
        np.maximum.at(rest, problem[dropped], widened[dropped])
        problem, starts, widths = _split(problem[alive], starts[alive], widths[alive])
    return Suprema(np.maximum(best, rest), at)


def _blocks(first: int, limit: int, reach: int) -> tuple[Counts, Counts]:
    """Blocks of growing width from ``first``, past ``reach``; the last one ends at ``limit``.

    Without a limit of the caller's, the last block's width removes every threshold, which makes
    its bound hold for all larger N as well.
    """
    starts = [first]
    width = max(1, first // 4)
    while (len(starts) < _BLOCKS or starts[-1] <= reach) and starts[-1] + width <= limit:
        starts.append(starts[-1] + width)
        width *= 2
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
