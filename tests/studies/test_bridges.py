import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.memory.named import targets
from headcount.studies.bridges import (
    IGNORED,
    Segment,
    read_mad,
    read_segment,
    segment_of,
    write_mad,
    write_segment,
)


@pytest.fixture(scope="module")
def segment():
    return segment_of(targets.build("recall:pairs=2,symbols=4"), samples=5, length=8)


def test_labels_are_the_answers_where_they_are_asked(segment):
    target = targets.build("recall:pairs=2,symbols=4")
    answers = target.reference(segment.inputs)
    rows = target.read.rows(8)
    asked = segment.labels[:, rows] != IGNORED
    assert asked.any()
    np.testing.assert_array_equal(segment.labels[:, rows][asked], answers[asked])
    others = np.setdiff1d(np.arange(8), rows)
    assert (segment.labels[:, others] == IGNORED).all()


def test_both_formats_come_back(segment, tmp_path):
    other = read_segment(write_segment(segment, tmp_path / "s"))
    folder = write_mad({"train": segment, "test": segment}, tmp_path / "mad")
    for found in (other, read_mad(folder), read_mad(folder, "test"), read_mad(folder / "test")):
        np.testing.assert_array_equal(found.inputs, segment.inputs)
        np.testing.assert_array_equal(found.labels, segment.labels)
    x, y, mask = other.arrays()
    assert (y[mask] == segment.labels[mask]).all()
    assert (y[~mask] == 0).all()
    assert x is other.inputs


@pytest.mark.parametrize(
    ("inputs", "labels", "message"),
    [
        (np.zeros((2, 3)), np.zeros((2, 3), int), "integers"),
        (np.zeros((2, 3), int), np.zeros((2, 4), int), "one label per token"),
        (np.zeros((2, 3), int), np.full((2, 3), IGNORED), "without labels"),
        (np.zeros((2, 3), int), np.full((2, 3), -3), "labels >= 0"),
        (np.full((2, 3), -1), np.zeros((2, 3), int), "negative tokens; expected tokens >= 0"),
    ],
)
def test_what_is_no_segment_is_refused(inputs, labels, message):
    with pytest.raises(InputError, match=message):
        Segment(inputs, labels)


def test_files_that_are_none_are_refused(tmp_path, segment):
    (tmp_path / "junk.npz").write_bytes(b"\x00junk")
    with pytest.raises(InputError, match="inputs and labels"):
        read_segment(tmp_path / "junk.npz")
    with pytest.raises(InputError, match=r"inputs\.npy"):
        read_mad(tmp_path)
    with pytest.raises(InputError, match="free place"):
        write_segment(segment, write_segment(segment, tmp_path / "twice"))
    with pytest.raises(InputError, match="integer tokens"):
        segment_of(targets.build("fixed:lags=1"), 2, 4)


def test_a_place_that_is_none_is_refused_in_one_line(tmp_path, segment):
    with pytest.raises(InputError, match=r"cannot write .*x\.npz"):
        write_segment(segment, tmp_path / "nodir" / "x")
    with pytest.raises(InputError, match="name of a file"):
        write_segment(segment, "")
    assert not list(tmp_path.iterdir())


def test_the_ending_is_added_and_replaces_nothing(tmp_path, segment):
    names = [write_segment(segment, tmp_path / name).name for name in ("data.v1", "data", "b.npz")]
    assert names == ["data.v1.npz", "data.npz", "b.npz"]
    assert {file.name for file in tmp_path.iterdir()} == set(names)  # nothing is left beside them


def test_a_misspelt_split_is_refused_also_of_a_flat_folder(tmp_path, segment):
    flat = write_mad({"train": segment}, tmp_path / "mad") / "train"
    for split in ("train", "test"):
        np.testing.assert_array_equal(read_mad(flat, split).inputs, segment.inputs)
    with pytest.raises(InputError, match=r"unknown split 'tset' .*expected one of test, train"):
        read_mad(flat, "tset")
    with pytest.raises(InputError, match="unknown split 'valid'"):
        write_mad({"valid": segment}, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_folder_is_not_written_over_nor_written_empty(tmp_path, segment):
    with pytest.raises(InputError, match="no segment; expected one for train or test"):
        write_mad({}, tmp_path / "none")
    assert not (tmp_path / "none").exists()
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")  # a saved model is not ours to replace
    written = write_mad({"train": segment}, tmp_path / "mad")
    for taken in (written, tmp_path / "model"):
        with pytest.raises(
            InputError, match="exists and is no empty folder; expected a free place"
        ):
            write_mad({"train": segment}, taken)
    assert (tmp_path / "model" / "config.json").is_file()
    (tmp_path / "empty").mkdir()
    assert read_mad(write_mad({"train": segment}, tmp_path / "empty")).inputs.size
