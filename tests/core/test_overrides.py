import pytest

from headcount.core.errors import InputError
from headcount.core.overrides import with_changes


def test_values_are_json_or_text():
    made = with_changes(
        {}, ["a=1", "b=0.5", "c=true", "d=[1,2]", "e=lin:0.1", "f=1e-3", 'g={"h": 1}', "i=x=y"]
    )
    assert made == {
        "a": 1,
        "b": 0.5,
        "c": True,
        "d": [1, 2],
        "e": "lin:0.1",
        "f": 1e-3,
        "g": {"h": 1},
        "i": "x=y",
    }


def test_levels_are_made_and_others_kept():
    start = {"train": {"lr": 1, "data": {"samples": 3}}, "seed": 1}
    assert with_changes(start, ["train.data.epochs=2"]) == {
        "train": {"lr": 1, "data": {"samples": 3, "epochs": 2}},
        "seed": 1,
    }
    assert start["train"]["data"] == {"samples": 3}
    assert with_changes({}, ["a.b.c=1"]) == {"a": {"b": {"c": 1}}}


def test_later_changes_win():
    assert with_changes({"seed": 0}, ["seed=1", "seed=2"]) == {"seed": 2}


@pytest.mark.parametrize(
    ("values", "change", "words"),
    [
        ({}, "seed", "write it like"),
        ({}, "=3", "write it like"),
        ({}, "a..b=3", "write it like"),
        ({"seed": 3}, "seed.x=3", "seed is 3"),
        ({"memory": "power:1.5"}, "memory.x=3", "options by name"),
    ],
)
def test_refused(values, change, words):
    with pytest.raises(InputError, match=words):
        with_changes(values, [change])
