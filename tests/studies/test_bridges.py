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
