"""Drawings inside a page: ids of their own, colours as variables, text escaped."""

import re
from xml.etree import ElementTree

import pytest

from headcount.report.figures import render
from headcount.report.html import inline_svg
from tests.report import example

FIGURE = example.figures()[0]


@pytest.fixture(scope="module")
def drawing():
    return inline_svg(render(FIGURE)["svg"], "figure-x", "a <script> title", "described & told")


def test_it_is_one_labelled_image(drawing):
    root = ElementTree.fromstring(drawing)
    assert root.tag == "svg"
    assert root.get("role") == "img"
    ids = {element.get("id"): element.text for element in root.iter() if element.get("id")}
    assert [ids[name] for name in root.get("aria-labelledby").split()] == [
        "a <script> title",
        "described & told",
    ]
    assert "<script" not in drawing


def test_ids_are_its_own_and_references_find_them(drawing):
    ids = re.findall(r'\bid="([^"]+)"', drawing)
    assert all(name.startswith("figure-x-") for name in ids)
    assert len(set(ids)) == len(ids)
    used = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', drawing)
    assert len(used) > 10
    assert {one or other for one, other in used} <= set(ids)


def test_colours_are_variables_and_nothing_leaks(drawing):
    assert not re.search(r"#[0-9a-f]{6}\b", drawing.replace("#figure-x", ""))
    assert {"var(--c0)", "var(--c1)", "var(--ink)", "var(--grid)", "var(--paper)"} <= set(
        re.findall(r"var\(--\w+\)", drawing)
    )
    assert "<style" not in drawing  # a rule for * inside a drawing would hold for the whole page
    assert "http" not in drawing
