"""A dropped file: its ending is checked, and its diagnosis comes with the page about it."""

import numpy as np
import pytest

from headcount.core.errors import HeadcountError, InputError
from headcount.web.views import dropped_files as data


def test_other_endings_are_refused():
    with pytest.raises(InputError, match="ends in"):
        data.data_view("x.exe", b"MZ")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.npy", b"\x93NUMPY\x01\x00 not an array"),
        ("x.jsonl", b"[" * 100_000),
        ("x.csv", b"x\n" + b"9" * 200_000),
        ("x.csv", b"\x00\xff"),
        ("x.txt", b"\x00" * 1000),
    ],
)
def test_a_file_that_is_no_data_is_refused_in_one_line(name, content):
    with pytest.raises(HeadcountError) as told:
        data.data_view(name, content)
    assert "\n" not in str(told.value)


def test_a_file_is_diagnosed_under_its_own_name():
    rng, x = np.random.default_rng(0), [0.0] * 3
    while len(x) < 120:
        x.append(0.7 * x[-3] + rng.normal())
    found = data.data_view("../../<b>mine.CSV", "\n".join(["x", *map(str, x)]).encode())
    assert found["sentence"].startswith("The next element depends on lag 3")
    assert found["closing"]
    assert "Diagnosis of &lt;b&gt;mine.CSV" in found["page"]
    assert "<script" not in found["page"]
