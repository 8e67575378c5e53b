"""Reading scores: what is read is what was written, and malformed files get one clear line."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit.data.score_file import read_scores
from dpaudit.errors import DataError

rows = st.lists(
    st.tuples(st.floats(allow_nan=False), st.sampled_from([0, 1])), min_size=0, max_size=30
)


def write(path: Path, scores: object, members: object, names: tuple[str, str]) -> Path:
    scores, members = np.asarray(scores, float), np.asarray(members, int)
    if path.suffix == ".npy":
        np.save(path, np.column_stack([scores, members]))
    elif path.suffix == ".parquet":
        pq.write_table(pa.table({"other": scores, names[0]: scores, names[1]: members}), path)
    else:
        lines = [f"other,{names[0]},{names[1]}"]
        lines += [f"x,{s!r},{m}" for s, m in zip(scores.tolist(), members.tolist(), strict=True)]
        path.write_text("\n".join(lines) + "\n")
    return path


@settings(max_examples=50, deadline=None, derandomize=True)
@given(rows, st.sampled_from([".csv", ".parquet", ".npy"]), st.booleans())
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    pairs: list[tuple[float, int]],
    suffix: str,
    renamed: bool,
) -> None:
    scores, members = [s for s, _ in pairs], [m for _, m in pairs]
    names = ("loss", "in training") if renamed and suffix != ".npy" else ("score", "member")
    path = write(tmp_path_factory.mktemp("scores") / f"s{suffix}", scores, members, names)
    columns = {"score_column": names[0], "member_column": names[1]}
    found = read_scores(path, **({} if names[0] == "score" else columns))
    assert found.in_scores.tolist() == [s for s, m in pairs if m == 1]
    assert found.out_scores.tolist() == [s for s, m in pairs if m == 0]


def test_parquet_types(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    table = {"score": pa.array([1, 2, 3], pa.int32()), "member": pa.array([True, False, True])}
    pq.write_table(pa.table(table), path)
    found = read_scores(path)
    assert found.in_scores.tolist() == [1, 3]
    assert found.out_scores.tolist() == [2]


MALFORMED = {
    "no header": ("s.csv", b"", "there is nothing in it"),
    "no column": ("s.csv", b"score,in\n1,1\n", "no column 'member'"),
    "column twice": ("s.csv", b"score,score,member\n1,1,1\n", "2 times the column 'score'"),
    "no number": ("s.csv", b"score,member\n1,1\nhigh,0\n", "line 3: score = 'high': a number"),
    "empty": ("s.csv", b"score,member\n,0\n", "line 2: score = ''"),
    "underscore": ("s.csv", b"score,member\n1_0,0\n", "score = '1_0'"),
    "short row": ("s.csv", b"score,member\n1\n", "line 2 has 1 fields"),
    "member 2": ("s.csv", b"score,member\n1,1\n1,2\n", "1 of 2 members are neither 0 nor 1"),
    "member nan": ("s.csv", b"score,member\n1,nan\n", "members are neither 0 nor 1"),
    "NaN": ("s.csv", b"score,member\nnan,1\n1,0\nNaN,1\n", "2 of 3 scores are NaN, first in row 1"),
    "quote": ("s.csv", b'score,member\n"1,1\n', "is not CSV"),
    "encoding": ("s.csv", "score,member".encode("utf-16"), "it looks like UTF-16"),
    "missing": ("none.csv", None, "cannot be read"),
    "ending": ("s.txt", b"1 1", "a .csv, .parquet or .npy file is needed"),
    "not npy": ("s.npy", b"PK\x03\x04 no numbers", "cannot be read as .npy"),
    "empty npy": ("s.npy", b"", "cannot be read as .npy"),
    "not parquet": ("s.parquet", b"PAR0", "cannot be read as parquet"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_files_get_one_line(tmp_path: Path, kind: str) -> None:
    name, content, said = MALFORMED[kind]
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=said) as caught:
        read_scores(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "array",
    [np.zeros(4), np.zeros((3, 3)), np.array([["a", "b"]]), np.zeros((2, 2), complex)],
)
def test_other_arrays_are_refused(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "s.npy", array)
    with pytest.raises(DataError, match=r"shape \(n, 2\)"):
        read_scores(tmp_path / "s.npy")


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    path = tmp_path / "s.npy"
    np.save(path, np.array([[print, 1]], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match=r"cannot be read as \.npy"):
        read_scores(path)


def test_nulls_and_texts_in_parquet_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    pq.write_table(pa.table({"score": [1.0, None], "member": [1, 0]}), path)
    with pytest.raises(DataError, match="1 nulls"):
        read_scores(path)
    pq.write_table(pa.table({"score": ["1.0"], "member": [1]}), path)
    with pytest.raises(DataError, match="not numbers"):
        read_scores(path)


def test_npy_has_no_columns_to_name(tmp_path: Path) -> None:
    np.save(tmp_path / "s.npy", np.zeros((2, 2)))
    with pytest.raises(DataError, match="no columns to name"):
        read_scores(tmp_path / "s.npy", score_column="score")
