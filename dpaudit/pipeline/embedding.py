"""Embed texts with a sentence-transformers model, so that a text's vector depends on it alone.

Batches usually let texts influence each other a little: a batch is padded to its longest text, and
sums are ordered by its shape. A difference of 1e-7 can move a record to another cell, so adding one
record would move others, which no analysis of the release allows for. Here every batch has one of a
few fixed shapes: a text is padded to the next width of a fixed ladder, and all batches of a width
have the same number of rows, the last one filled up with empty texts. Equal shapes run through
equal code; that a text then gets the same bits in any company is tested, not proved. Models whose
batches cannot be shaped so are given one text at a time.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpaudit.errors import ModelError, shown
from dpaudit.pipeline.device import Device, resolve_device
from dpaudit.pipeline.model_files import NO_PACKAGE, folder_sha256, model_folder
from dpaudit.pipeline.vector_cache import load_vectors, store_vectors

Vectors = NDArray[np.float32]
DType = Literal["float32", "float16", "bfloat16"]

_BATCH_TOKENS = 2048  # tokens in a batch, padding included
_LONGEST_TEXT = 8192  # tokens, for models that state no limit
_LAYOUT = f"1 {_BATCH_TOKENS} {_LONGEST_TEXT}"  # in the cache key: how batches are made
_TEXTS_AT_A_TIME = 4096  # tokenized at once to learn their lengths


@dataclass(frozen=True, eq=False)
class Embedder:
    """A loaded embedding model; :func:`load_embedder` makes it.

    Attributes
    ----------
    name : str
        The name it was loaded by.
    dimension : int
        Length of a vector, d.
    device : {"cpu", "cuda"}
        Where it runs.
    dtype : {"float32", "float16", "bfloat16"}
        Type of its weights.
    normalised : bool
        Whether the model itself scales vectors to length 1; nothing is added to what it does.
    sha256 : str
        Hash of its files.
    """

    name: str
    dimension: int
    device: Device
    dtype: DType
    normalised: bool
    sha256: str = field(repr=False)
    _model: Any = field(repr=False)

    def encode(
        self, texts: Sequence[str], *, progress: bool = False, cache: bool = True
    ) -> Vectors:
        """Embed texts; equal texts are embedded once.

        Parameters
        ----------
        texts : sequence of str
            At least one text; the model's tokenizer cuts off what exceeds its longest input.
        progress : bool
            Show a progress bar on standard error.
        cache : bool
            Keep the vectors in dpaudit's cache folder, and take them from there, by a hash of the
            model's files, its type and processor, library versions and the texts.

        Returns
        -------
        ndarray of float32, shape (len(texts), d)

        Raises
        ------
        ModelError
            If there is no text, or the model fails or gives NaN or infinity for one.
        """
        if not texts:
            raise ModelError("no text to embed: at least one is needed")
        distinct = list(dict.fromkeys(texts))
        key = self._cache_key(distinct)
        vectors = load_vectors(key, (len(distinct), self.dimension)) if cache else None
        if vectors is None:
            vectors = self._embed(distinct, progress)
            if cache:
                store_vectors(key, vectors)
        if len(distinct) == len(texts):
            return vectors
        position = {text: row for row, text in enumerate(distinct)}
        return vectors[[position[text] for text in texts]]

    def _embed(self, texts: list[str], progress: bool) -> Vectors:
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        try:
            with _progress_bar(len(texts), shown_to_user=progress) as bar:
                for rows, part in _batches(self._model, texts):
                    vectors[rows] = part[: len(rows)]
                    bar(len(rows))
        except (RuntimeError, ValueError, IndexError, KeyError, TypeError) as problem:
            raise ModelError(f"model '{shown(self.name)}' failed: {_reason(problem)}") from None
        bad = ~np.isfinite(vectors).all(axis=1)
        if bad.any():
            text = shown(texts[int(bad.argmax())], limit=40)
            raise ModelError(
                f"model '{shown(self.name)}' gives NaN or infinity for the text '{text}'"
            )
        return vectors

    def _cache_key(self, texts: list[str]) -> str:
        import sentence_transformers
        import torch
        import transformers

        versions = [m.__version__ for m in (torch, transformers, sentence_transformers)]
        digest = sha256()
        for part in (self.sha256, self.dtype, self.device, _LAYOUT, *versions, *texts):
            raw = part.encode("utf-8", "surrogatepass")
            digest.update(len(raw).to_bytes(8, "little"))
            digest.update(raw)
        return digest.hexdigest()


def load_embedder(
    name_or_path: str,
    *,
    device: str = "auto",
    dtype: DType = "float32",
    dimension: int | None = None,
    directory: Path | None = None,
) -> Embedder:
    """Load an embedding model.

    Parameters
    ----------
    name_or_path : str
        A bundled name (``minilm``), a folder, or a hub identifier.
    device : {"auto", "cpu", "cuda"}
        Where to run it.
    dtype : {"float32", "float16", "bfloat16"}
        Type of the weights.
    dimension : int, optional
        The dimension that the deployment states; another one is an error.
    directory : Path, optional
        Folder against which a relative path is resolved.

    Raises
    ------
    ModelError
        If the extra ``models`` is not installed, or the model cannot be found, is not safe to load,
        fails to load, or has another dimension.
    """
    if dtype not in get_args(DType):
        raise ModelError(f"dtype = {dtype!r}: one of {', '.join(get_args(DType))} is needed")
    try:
        import sentence_transformers  # noqa: F401
    except ImportError:
        raise ModelError(NO_PACKAGE) from None
    where = resolve_device(device)
    folder = model_folder(name_or_path, directory=directory)
    try:
        model = _load(folder, where, dtype)
        found = len(model.encode(["length"], show_progress_bar=False)[0])
    except Exception as problem:  # a damaged model makes the libraries raise almost anything
        raise ModelError(
            f"model '{shown(name_or_path)}' cannot be loaded: {_reason(problem)}"
        ) from None
    if dimension is not None and found != dimension:
        raise ModelError(
            f"model '{shown(name_or_path)}' gives {found} dimensions, but the deployment states "
            f"embedding_dim = {dimension}"
        )
    return Embedder(
        name=name_or_path,
        dimension=found,
        device=where,
        dtype=dtype,
        normalised=any(type(module).__name__ == "Normalize" for module in model),
        sha256=folder_sha256(folder),
        _model=model,
    )


def _load(folder: Path, device: Device, dtype: DType) -> Any:
    import torch
    from sentence_transformers import SentenceTransformer

    with _without_library_bars():
        model = SentenceTransformer(
            str(folder),
            device=device,
            trust_remote_code=False,
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        )
    return model.to(getattr(torch, dtype)).eval()


@contextmanager
def _without_library_bars() -> Iterator[None]:
    """Silence the progress bars of transformers, and put its setting back."""
    import transformers.utils.logging

    setting: Any = transformers.utils.logging
    before = setting.is_progress_bar_enabled()
    setting.disable_progress_bar()
    try:
        yield
    finally:
        if before:
            setting.enable_progress_bar()


def _batches(model: Any, texts: list[str]) -> Iterator[tuple[list[int], Vectors]]:
    """Yield (positions of texts, their vectors, possibly followed by vectors of filling)."""
    import torch

    if not _takes_fixed_shapes(model):
        for row, text in enumerate(texts):
            yield [row], model.encode([text], batch_size=1, show_progress_bar=False)
        return
    limit = model.max_seq_length or _LONGEST_TEXT
    by_width: dict[int, list[int]] = {}
    for start in range(0, len(texts), _TEXTS_AT_A_TIME):
        part = texts[start : start + _TEXTS_AT_A_TIME]
        tokens = model.tokenizer(part, truncation=True, max_length=limit)["input_ids"]
        for row, ids in enumerate(tokens, start=start):
            by_width.setdefault(min(_padded(len(ids)), limit), []).append(row)
    for width, members in by_width.items():
        size = max(1, _BATCH_TOKENS // width)
        for start in range(0, len(members), size):
            rows = members[start : start + size]
            features = model.tokenizer(
                [texts[row] for row in rows] + [""] * (size - len(rows)),
                padding="max_length",
                truncation=True,
                max_length=width,
                return_tensors="pt",
            )
            with torch.inference_mode():
                vectors = model(dict(features.to(model.device)))["sentence_embedding"]
            yield rows, vectors.float().cpu().numpy()


def _takes_fixed_shapes(model: Any) -> bool:
    """Whether batches can be made here: a transformer with a padding tokenizer and no prompt."""
    return (
        type(model[0]).__name__ == "Transformer"
        and getattr(model.tokenizer, "pad_token", None) is not None
        and not getattr(model, "default_prompt_name", None)
    )


def _padded(length: int) -> int:
    """Return the least of 8, 12, 16, 24, 32, 48, 64, 96 ... that is at least ``length``."""
    width = 8
    while width < length:
        width = width * 3 // 2 if width & (width - 1) == 0 else width * 4 // 3
    return width


def _reason(problem: Exception) -> str:
    first_line = str(problem).strip().split("\n", 1)[0]
    return shown(first_line or type(problem).__name__, limit=160)


@contextmanager
def _progress_bar(total: int, *, shown_to_user: bool) -> Iterator[Any]:
    """Give a function that moves a progress bar on standard error on by a number of texts."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeRemainingColumn(), console=Console(stderr=True), disable=not shown_to_user
    ) as bar:
        task = bar.add_task("embedding texts", total=total)
        yield lambda count: bar.advance(task, count)
