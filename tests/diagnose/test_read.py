"""Files in, sequences out, or one line that says why not."""

import datetime
import json

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.diagnose.columns import csv_columns, from_frame
from headcount.diagnose.diagnose import rows_of
from headcount.diagnose.read import read
from headcount.diagnose.samples import Setting


@pytest.fixture
def numbers():
    return np.random.default_rng(0).normal(size=80)


FIRST, DAY = datetime.date(2020, 1, 1), datetime.timedelta(days=1)


def written(path, text):
    path.write_text(text)
    return path


def test_a_csv_with_header_dates_and_target(tmp_path, numbers):
    lines = "\n".join(f"{FIRST + i * DAY},{v},{-(v**2)}" for i, v in enumerate(numbers))
    found = read(written(tmp_path / "a.csv", "when,x,y\n" + lines), target="y")
    assert (found.channels, found.setting) == (("x",), Setting.PAIRED)
    assert [note.kind for note in found.notes] == ["time column"]
    ahead = read(tmp_path / "a.csv", target="next:y")
    assert (ahead.channels, ahead.target, ahead.setting) == (("x", "y"), 1, Setting.SELF)


def test_a_csv_without_header(tmp_path, numbers):
    found = read(written(tmp_path / "a.csv", "\n".join(map(str, numbers))))
    assert np.allclose(found.values[:, 0], numbers)


def test_segments_separate_sequences(tmp_path, numbers):
    lines = "\n".join(f"{i // 20},{v}" for i, v in enumerate(numbers))
    found = read(written(tmp_path / "a.csv", "run,x\n" + lines), segments="run")
    assert found.starts.tolist() == [0, 20, 40, 60, 80]


def test_arrays_text_and_lists(tmp_path, numbers):
    np.savez(tmp_path / "a.npz", x=numbers.reshape(8, 10), y=numbers[:8])
    assert read(tmp_path / "a.npz").setting is Setting.ROWS
    text = read(written(tmp_path / "a.txt", "to be or not to be " * 50))
    assert text.tokens
    assert len(text.alphabet) == 7
    words = read(tmp_path / "a.txt", tokens="words")
    assert set(words.alphabet) == {"to", "be", "or", "not"}
    cut = read(tmp_path / "a.txt", tokens="top-2")
    assert cut.alphabet[-1] == "<other>"
    assert cut.notes[0].numbers["share"] == pytest.approx(4 / 6)
    lists = "\n".join(json.dumps(["a", "b", "a"] * 10) for _ in range(5))
    assert read(written(tmp_path / "a.jsonl", lists)).lengths.tolist() == [30] * 5


def test_frames(numbers):
    for name in ("pandas", "polars"):
        frames = pytest.importorskip(name)
        frame = frames.DataFrame({"x": numbers, "y": numbers**2})
        assert from_frame(frame, "y").channels == ("x",)


def test_parquet(tmp_path, numbers):
    arrow, parquet = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    parquet.write_table(arrow.table({"x": numbers}), tmp_path / "a.parquet")
    assert np.allclose(read(tmp_path / "a.parquet").values[:, 0], numbers)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", bytes(range(256)), "is no text"),
        ("a.csv", b"a,b\n1,2\n3\n", "line 3 has 1 cells"),
        ("a.csv", b"a\n1\nx\n2\n", "holds numbers and 'x'"),
        ("a.csv", b"a,b\n1,2\n3,5\n7,4\n", "one column, or a target"),
        ("a.csv", b"", "is empty"),
        ("a.npy", b"junk", "cannot read"),
        ("a.jsonl", b"[1, 2]\nnonsense\n", "line 2 is no JSON"),
        ("a.jsonl", b'[1, "a"]\n', "mixes int, str"),
        ("a.zip", b"x", "ending .zip"),
        ("a.txt", b"ab", "without content"),
        ("a.csv", b"a,b\n", "one line"),
        ("a.jsonl", b'{"x": ["a", "b", "a"], "y": "a"}\n', "shorter"),
        ("a.csv", b"when\n2020-01-01\n2020-01-02\n", "no column of values"),
        ("a.csv", b"when,x\n2020-01-03,1\n2020-01-02,5\n2020-01-01,2\n", "runs back in time"),
        ("a.csv", b"1e300\n2e300\n3e250\n", "change the unit"),
    ],
)
def test_what_is_refused(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        read(tmp_path / name)


def test_odd_time_and_empty_columns_are_told(tmp_path, numbers):
    def notes(days):
        lines = "\n".join(f"{FIRST + d * DAY},,{v}" for d, v in zip(days, numbers, strict=True))
        return [n.kind for n in read(written(tmp_path / "a.csv", "when,e,x\n" + lines)).notes]

    even = list(range(80))
    assert notes(even) == ["time column", "empty column"]
    assert notes([d * d for d in even]) == ["time column", "time uneven", "empty column"]
    assert notes([*even[:50], *even[:30]]) == ["time column", "time goes back", "empty column"]


def test_a_file_too_large_to_read_is_measured_first(tmp_path):
    path = written(tmp_path / "a.csv", "1\n" * 40_000)
    with path.open("r+b") as file:
        file.truncate(2_000_000_000)  # holes: nothing is written
    with pytest.raises(InputError, match="holds about 1,000,000,000 lines"):
        read(path)


def test_symbols_have_answers(tmp_path):
    rows = [{"x": list("abcabcab"), "y": "up"}, {"x": list("bcabcabc"), "y": "down"}]
    lines = "\n".join(json.dumps(row) for row in rows * 40)
    found = read(written(tmp_path / "a.jsonl", lines))
    assert (found.setting, found.labels) == (Setting.ROWS, ("down", "up"))
    assert found.answers[[7, 15]].tolist() == [1, 0]


@pytest.mark.parametrize("form", ["%Y-%m", "%d/%m/%Y", "%d.%m.%Y", "%b %Y", "%Y-%m-%d"])
def test_dates_are_time(tmp_path, numbers, form):
    days = [datetime.date(2000 + i // 12, i % 12 + 1, 15).strftime(form) for i in range(80)]
    lines = "\n".join(f"{day},{v}" for day, v in zip(days, numbers, strict=True))
    found = read(written(tmp_path / "a.csv", "when,x\n" + lines))
    assert [note.numbers["name"] for note in found.notes] == ["when"]
    with pytest.raises(InputError, match="dates in column when"):
        read(tmp_path / "a.csv", target="when")


def test_options_that_do_not_fit(tmp_path, numbers):
    np.save(tmp_path / "a.npy", numbers)
    for options in ({"target": "y"}, {"segments": "y"}, {"tokens": "letters"}):
        with pytest.raises(InputError, match=f"--{next(iter(options))}"):
            read(tmp_path / "a.npy", **options)


def test_cells_hold_one_value():
    frames = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="lists in column x"):
        from_frame(frames.DataFrame({"x": [[1, 2], [3]] * 50}))


def test_a_wrong_column_is_named(tmp_path, numbers):
    path = written(tmp_path / "a.csv", "sales,price\n" + "\n".join(f"{v},{v**2}" for v in numbers))
    with pytest.raises(InputError, match="nearest: 'sales'"):
        read(path, target="sale")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_lag": 60}, "rows after lagging"),
        ({"max_lag": 25}, "at most a quarter"),
        ({"max_lag": 0}, "at least 1"),
        ({"lags": (0, 1)}, "whole numbers from 1"),
        ({"max_lag": 500}, "a shorter one"),
        ({"max_lag": 10**9}, "1,000,000,000 in 80 elements"),
    ],
)
def test_too_many_lags(tmp_path, numbers, options, words):
    np.save(tmp_path / "a.npy", numbers)
    with pytest.raises(InputError, match=words):
        rows_of(read(tmp_path / "a.npy"), options.get("max_lag"), options.get("lags"))


@pytest.mark.parametrize(
    "line",
    [
        f"[{'9' * 400},1,2,3,4,5,6,7,8]",
        f"[1.5,{'9' * 400},2,3,4,5,6,7,8]",
        f'{{"x": [1,2,3,4,5,6,7,8,9,1], "y": {"9" * 400}}}',
        f'{{"x": [1,2,3,4,5,6,7,8,9,1], "y": [{"9" * 400}]}}',
        '{"x": [1,2,3,4,5,6,7,8,9,1], "y": ["a"]}',
    ],
)
def test_numbers_that_no_float_holds_are_refused(tmp_path, line):
    path = written(tmp_path / "a.jsonl", f"{line}\n" * 60)
    with pytest.raises(InputError, match=r"real numbers|infinite") as told:
        read(path)
    assert "\n" not in str(told.value)


def test_a_line_ends_at_a_line_break_and_nowhere_else(tmp_path):
    """U+2028 is a letter of JSON, and a cell in quotes may hold a line break."""
    lines = [["a\u2028", "b", "b", "a\u2028", "b", "a\u2028", "a\u2028", "b"]] * 20
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    assert read(written(tmp_path / "a.jsonl", text)).alphabet[0] == "a\u2028"
    rows = "".join(f'"x\ny{i % 2}"\n' for i in range(200))
    found = csv_columns(written(tmp_path / "a.csv", rows))
    assert sorted(set(found["column0"].tolist())) == ["x\ny0", "x\ny1"]
