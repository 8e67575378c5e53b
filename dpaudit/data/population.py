"""Records of users: each text once, or a simulated population that repeats real texts.

Users of a real service repeat themselves, so their embeddings form heavy buckets; a corpus of
distinct texts has none. A *simulated population* draws each user's text from a corpus with Zipf
frequencies. The texts are real, the frequencies are not: everything that shows such a population
must call it simulated.
"""

from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from accountants.errors import ParameterError
from dpaudit.data.corpus import Corpus

DEFAULT_ZIPF = 1.0
_STREAM = crc32(b"dpaudit simulated population")  # keeps this seed's stream apart from others'
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Records:
    """The records of a deployment, with every different text held once.

    Attributes
    ----------
    texts : tuple of str
        The different texts, in order of first appearance.
    rows : ndarray of int32, shape (records,)
        For each record, the index of its text. Read-only.
    simulated : bool
        Whether the frequencies were simulated.
    zipf : float or None
        The exponent of the simulated frequencies.
    """

    texts: tuple[str, ...]
    rows: NDArray[np.int32]
    simulated: bool
    zipf: float | None

    @property
    def records(self) -> int:
        """Number of records."""
        return len(self.rows)


def records_of(
    corpus: Corpus, *, population: int | None = None, zipf: float | None = None, seed: int = 0
) -> Records:
    """Return the corpus as records: its texts one by one, or a simulated population over them.

    Parameters
    ----------
    corpus : Corpus
        The texts.
    population : int, optional
        Number of simulated users; None takes every text of the corpus as one record.
    zipf : float, optional
        Exponent of the simulated frequencies (1 unless given), only with ``population``.
    seed : int
        Fixes the simulated population; not used without one.

    Raises
    ------
    ParameterError
        If ``zipf`` is given without ``population``, or a value is out of range.
    """
    first: dict[str, int] = {}
    rows = np.fromiter(
        (first.setdefault(text, len(first)) for text in corpus.texts),
        dtype=np.int32,
        count=len(corpus.texts),
    )
    if population is None:
        if zipf is not None:
            raise ParameterError(f"zipf = {zipf!r}: allowed only together with population")
    else:
        zipf = DEFAULT_ZIPF if zipf is None else zipf
        rows = simulate_population(len(first), records=population, zipf=zipf, seed=seed)
    rows.flags.writeable = False
    return Records(tuple(first), rows, simulated=population is not None, zipf=zipf)


def simulate_population(n_texts: int, *, records: int, zipf: float, seed: int) -> NDArray[np.int32]:
    """Draw a simulated population: for each record, which text its user wrote.

    Parameters
    ----------
    n_texts : int
        Number of different texts to draw from, >= 1.
    records : int
        Number of users, >= 1.
    zipf : float
        Exponent s >= 0, finite: a text of rank j is drawn with probability proportional to
        ``j**-s``. Ranks are a random permutation of the texts; s = 0 makes all equally likely.
    seed : int
        Fixes the ranks and the draws, >= 0. The stream is not shared with other uses of the seed.

    Returns
    -------
    ndarray of int32, shape (records,)
        Indices in ``[0, n_texts)``, independent draws.

    Raises
    ------
    ParameterError
        If a value is out of range.
    """
    for name, value, least in (("n_texts", n_texts, 1), ("records", records, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or value != int(value) or value < least:
            raise ParameterError(f"{name} = {value!r}: a whole number >= {least} is needed")
    if not 0 <= zipf < np.inf:
        raise ParameterError(f"zipf = {zipf!r}: a finite number >= 0 is needed")
    rng = np.random.default_rng([_STREAM, seed])
    by_rank = rng.permutation(n_texts).astype(np.int32)
    cumulative = np.cumsum(np.arange(1, n_texts + 1, dtype=np.float64) ** -float(zipf))
    cumulative /= cumulative[-1]
    rows = np.empty(records, dtype=np.int32)
    for start in range(0, records, _CHUNK):
        part = rows[start : start + _CHUNK]
        # u < 1 = cumulative[-1], so the rank found is always below n_texts.
        part[:] = by_rank[np.searchsorted(cumulative, rng.random(len(part)), side="right")]
    return rows
