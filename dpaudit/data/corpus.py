"""A corpus: texts in a fixed order, with where they come from and a hash of what they say."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from dpaudit.errors import DataError


@dataclass(frozen=True)
class Corpus:
    """Texts, one a record, duplicates included.

    Attributes
    ----------
    texts : tuple of str
        In the order of the source; none is blank, and at least two differ.
    source : str
        A path, or the package and version that carries the texts.
    licence : str or None
        As the source states it; None where nothing is known.
    sha256 : str
        Hash of the texts and their order, :func:`texts_sha256`.
    skipped_blank : int
        Blank lines, rows or values that were left out.
    """

    texts: tuple[str, ...]
    source: str
    licence: str | None
    sha256: str
    skipped_blank: int = 0

    @property
    def distinct(self) -> int:
        """Number of different texts."""
        return len(set(self.texts))


def corpus_of(
    places: Iterable[tuple[str, str]], *, source: str, licence: str | None = None
) -> Corpus:
    """Return the corpus of ``(place, text)`` pairs, blank texts left out and counted.

    Parameters
    ----------
    places : iterable of (str, str)
        Where a text stands, as a message would name it (``line 3``), and the text.
    source, licence : str
        As in :class:`Corpus`.

    Raises
    ------
    DataError
        If a text holds a NUL or cannot be written as UTF-8, or fewer than two differ.
    """
    texts: list[str] = []
    blank = 0
    for place, text in places:
        if not text.strip():
            blank += 1
            continue
        if "\0" in text:
            raise DataError(f"{source}: {place} holds a NUL character: plain text is needed")
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise DataError(f"{source}: {place} holds half a surrogate pair: Unicode is needed")
        texts.append(text)
    if not texts:
        found = f"all {blank} texts are blank" if blank else "there is no text in it"
        raise DataError(f"{source}: {found}: at least 2 different texts are needed")
    if len(set(texts)) < 2:
        found = "there is only 1 text" if len(texts) == 1 else f"all {len(texts)} texts are equal"
        raise DataError(f"{source}: {found}: at least 2 different texts are needed")
    return Corpus(tuple(texts), source, licence, texts_sha256(texts), blank)


def texts_sha256(texts: Sequence[str]) -> str:
    """Return the SHA-256 of ``texts`` in order, each preceded by its length in bytes (UTF-8)."""
    digest = sha256()
    for text in texts:
        raw = text.encode()
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.hexdigest()
