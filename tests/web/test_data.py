"""A dropped file: its ending is checked, and a diagnosis is called where there is one."""

import importlib.util
import sys
import types

import pytest

from headcount.core.errors import InputError
from headcount.web.views import dropped_files as data


def test_other_endings_are_refused():
    with pytest.raises(InputError, match="ends in"):
        data.data_view("x.exe", b"MZ")


def test_without_a_diagnosis_it_says_so(monkeypatch):
    monkeypatch.setattr(data, "available", lambda: False)
    with pytest.raises(InputError, match="upgrade"):
        data.data_view("x.csv", b"1\n2\n")


def test_the_file_goes_to_the_diagnosis_under_a_name_of_its_own(monkeypatch):
    seen = []

    class Found:
        def to_json(self):
            return {"lags": [1], "value": float("nan")}

    def read(path):
        seen.append((path.name, path.read_bytes()))
        return "sequences"

    monkeypatch.setattr(data, "available", lambda: True)
    fake = types.SimpleNamespace(diagnose=lambda sequences: Found())
    monkeypatch.setitem(sys.modules, data.FOLDER, fake)
    monkeypatch.setitem(sys.modules, data.READER, types.SimpleNamespace(read=read))
    assert data.data_view("../../up.CSV", b"1\n") == {"lags": [1], "value": None}
    assert seen == [("data.csv", b"1\n")]


def test_it_is_available_where_the_folder_is():
    assert data.available() is (importlib.util.find_spec(data.FOLDER) is not None)
