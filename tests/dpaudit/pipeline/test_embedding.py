"""A real model: vectors depend on the text alone, come from the cache, and fit the deployment."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpaudit.data.bundled import BUNDLED_MODELS
from dpaudit.errors import ModelError
from dpaudit.pipeline import embedding as module
from dpaudit.pipeline.embedding import Embedder, load_embedder

TEXTS = [
    "What is the weather like?",
    "hello",
    "",
    "  hello ",
    "Ein Satz mit Umlauten: äöü.",
    "word " * 40,
    "a long text " * 300,
    *(f"text number {number} " * (1 + number % 9) for number in range(40)),
]


def test_padded_lengths() -> None:
    ladder = [module._padded(length) for length in range(1, 2000)]
    assert all(width >= length for length, width in enumerate(ladder, start=1))
    assert all(width <= max(8, 1.5 * length) for length, width in enumerate(ladder, start=1))
    assert sorted(set(ladder))[:8] == [8, 12, 16, 24, 32, 48, 64, 96]


def test_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ModelError, match=r"pip install 'dpaudit\[models\]'"):
        load_embedder("minilm")


def test_bad_dtype() -> None:
    with pytest.raises(ModelError, match="dtype = 'int8'"):
        load_embedder("minilm", dtype="int8")  # type: ignore[arg-type]


class OneAtATime(list[Any]):
    """A model whose batches cannot be shaped; it records what it was given."""

    tokenizer = None

    def __init__(self) -> None:
        super().__init__(["Pooling"])
        self.seen: list[list[str]] = []

    def encode(self, texts: list[str], **_: Any) -> np.ndarray[Any, Any]:
        self.seen.append(texts)
        return np.array([[len(text), np.nan if text == "bad" else 1] for text in texts])


def test_models_with_other_inputs_get_single_texts() -> None:
    model = OneAtATime()
    embedder = Embedder("stub", 2, "cpu", "float32", False, "", model)
    vectors = embedder.encode(["one", "three", "one"], cache=False)
    assert vectors.tolist() == [[3, 1], [5, 1], [3, 1]]
    assert model.seen == [["one"], ["three"]]
    with pytest.raises(ModelError, match="gives NaN or infinity for the text 'bad'"):
        embedder.encode(["one", "bad"], cache=False)
    with pytest.raises(ModelError, match="no text to embed"):
        embedder.encode([], cache=False)


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    pytest.importorskip("sentence_transformers")
    assert "minilm" in BUNDLED_MODELS
    return load_embedder("minilm", device="cpu", dimension=384)


@pytest.fixture(scope="module")
def vectors(minilm: Embedder) -> np.ndarray[Any, Any]:
    return minilm.encode(TEXTS, cache=False)


@pytest.mark.model
def test_attributes(minilm: Embedder) -> None:
    assert (minilm.name, minilm.dimension, minilm.device) == ("minilm", 384, "cpu")
    assert minilm.normalised
    assert "sha256" not in repr(minilm)


@pytest.mark.model
def test_vectors_are_the_models_own(minilm: Embedder, vectors: np.ndarray[Any, Any]) -> None:
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    own = minilm._model.encode(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(vectors, own, atol=5e-6)


@pytest.mark.model
def test_a_vector_does_not_depend_on_other_texts(
    minilm: Embedder, vectors: np.ndarray[Any, Any]
) -> None:
    """Bit for bit: otherwise adding one record would move others."""
    for chosen in ([0], [6, 0, 3], list(range(20, 45)), list(range(len(TEXTS)))[::-1]):
        part = minilm.encode([TEXTS[row] for row in chosen], cache=False)
        np.testing.assert_array_equal(part, vectors[chosen])


@pytest.mark.model
def test_equal_texts(minilm: Embedder, vectors: np.ndarray[Any, Any]) -> None:
    twice = minilm.encode([TEXTS[1], TEXTS[0], TEXTS[1]], cache=False)
    np.testing.assert_array_equal(twice, vectors[[1, 0, 1]])


@pytest.mark.model
def test_cache(
    minilm: Embedder,
    vectors: np.ndarray[Any, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DPAUDIT_CACHE", str(tmp_path))
    calls = []
    embed = Embedder._embed

    def counted(self: Embedder, texts: list[str], progress: bool) -> Any:
        calls.append(len(texts))
        return embed(self, texts, progress)

    monkeypatch.setattr(Embedder, "_embed", counted)
    texts = [*TEXTS[:5], TEXTS[0]]
    for _ in range(2):
        np.testing.assert_array_equal(minilm.encode(texts), vectors[[0, 1, 2, 3, 4, 0]])
    assert calls == [5]
    [file] = (tmp_path / "embeddings").iterdir()
    file.write_bytes(b"damaged")
    np.testing.assert_array_equal(minilm.encode(texts), vectors[[0, 1, 2, 3, 4, 0]])
    assert calls == [5, 5]
    minilm.encode(["hel", "lo"])
    minilm.encode(["hell", "o"])
    assert calls == [5, 5, 2, 2]


@pytest.mark.model
def test_progress_goes_to_standard_error(
    minilm: Embedder, capsys: pytest.CaptureFixture[str]
) -> None:
    minilm.encode(TEXTS[:3], progress=True, cache=False)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "embedding texts" in captured.err
    minilm.encode(TEXTS[:3], cache=False)
    assert capsys.readouterr().err == ""


@pytest.mark.model
def test_other_dimension(minilm: Embedder) -> None:
    with pytest.raises(ModelError, match=r"gives 384 dimensions, .* embedding_dim = 768"):
        load_embedder("minilm", device="cpu", dimension=768)


@pytest.mark.model
def test_damaged_model(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_text("no weights")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        load_embedder(str(tmp_path), device="cpu")
    assert "\n" not in str(caught.value)
