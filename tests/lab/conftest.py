"""Programs that training compiles are kept for the run of the tests: many studies share them."""

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("HEADCOUNT_CACHE", str(tmp_path_factory.getbasetemp() / "programs"))
