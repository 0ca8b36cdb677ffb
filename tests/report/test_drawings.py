"""Drawings are kept: the second report draws nothing."""

import dataclasses

import pytest

from headcount.core import cache, source_code
from headcount.report import drawings as module
from headcount.report import figures
from headcount.report.drawings import drawings
from tests.report import example

FIGURES = example.figures()


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Names of the figures that were drawn."""
    names: list[str] = []

    def files(figure):
        names.append(figure.name)
        return {"svg": b"<svg/>", "csv": figure.caption.encode()}

    monkeypatch.setattr(figures, "files", files)
    monkeypatch.setenv(cache.SWITCH, str(tmp_path / "cache"))
    monkeypatch.setattr(source_code, "_began", lambda: 2**63)  # sources may have changed just now
    return names


def test_what_was_drawn_is_not_drawn_again(drawn):
    two = FIGURES[:2]
    first = drawings(two)
    assert drawn == [figure.name for figure in two] == list(first)
    assert drawings(two) == first
    assert len(drawn) == 2


def test_other_data_and_another_matplotlib_are_drawn(drawn, monkeypatch):
    figure = FIGURES[0]
    drawings([figure])
    drawings([dataclasses.replace(figure, caption="other words")])
    assert len(drawn) == 2
    monkeypatch.setattr(module.metadata, "version", lambda name: "0.0")
    drawings([figure])
    assert len(drawn) == 3


def test_only_what_is_missing_is_given_to_others(drawn):
    drawings(FIGURES[:1])
    given = []

    def each(function, values):
        given.extend(values)
        return map(function, values)

    drawings(FIGURES[:2], each)
    assert given == [FIGURES[1]]
