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
    assert (found["columns"], found["command"]) == ([], "headcount diagnose data.csv")
    assert "Diagnosis of &lt;b&gt;mine.CSV" in found["page"]
    assert "<script" not in found["page"]


def _two_columns(last):
    """`driver` moves `price` two steps later; a column of dates stands first."""
    rng = np.random.default_rng(1)
    driver = rng.normal(size=160)
    price = np.concatenate([[0.0, 0.0], driver[:-2]]) + 0.1 * rng.normal(size=160)
    columns = {"driver": driver, "price": price}
    names = [name for name in columns if name != last] + [last]
    days = np.datetime64("2024-01-01") + np.arange(160)
    rows = (f"{day},{columns[names[0]][i]},{columns[last][i]}" for i, day in enumerate(days))
    return "\n".join([f"day,{','.join(names)}", *rows]).encode()


def test_the_last_of_several_columns_is_predicted():
    found = data.data_view("prices.csv", _two_columns("price"))
    assert [(lag["channel"], lag["lag"]) for lag in found["lags"]] == [("driver", 2)]
    assert found["sentence"].startswith("The next element of price depends on lag 2 of driver")
    assert found["columns"] == ["driver", "price"]
    assert found["command"] == "headcount diagnose prices.csv --target next:price"
    told = {note["kind"]: note["text"] for note in found["notes"]}
    assert (
        told["last column"]
        == "column price, the last one, is predicted from its past and the others'"
    )


def test_a_column_to_predict_is_named():
    found = data.data_view("prices.csv", _two_columns("driver"), "price")
    assert [(lag["channel"], lag["lag"]) for lag in found["lags"]] == [("driver", 2)]
    assert "last column" not in {note["kind"] for note in found["notes"]}
    with pytest.raises(InputError, match="no column 'prise'"):
        data.data_view("prices.csv", _two_columns("driver"), "prise")
    with pytest.raises(InputError, match="only these have columns; leave the column"):
        data.data_view("prices.txt", b"some words", "price")


def test_a_fault_names_the_file_as_it_is_called():
    with pytest.raises(InputError, match=r"^prices\.csv line 3 has 1 cells"):
        data.data_view("prices.csv", b"a,b\n1,2\n3\n")
    with pytest.raises(InputError, match=r"^data\.csv line 3 has 1 cells"):
        data.data_view("<b>.csv", b"a,b\n1,2\n3\n")
