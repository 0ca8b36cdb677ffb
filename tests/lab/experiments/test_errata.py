"""The errata page: complete, and its numbers computed."""

import re

from headcount.lab.experiments.errata import ERRATA, FINDINGS


def test_every_point_is_there_once():
    assert [e.id for e in ERRATA] == [str(i) for i in range(1, 26)]  # 24 of the paper's text, and what 4a leaves open
    assert [e.id for e in FINDINGS] == [f"F{i}" for i in range(1, 9)]


def test_every_point_says_what_is_printed_found_and_done():
    for e in (*FINDINGS, *ERRATA):
        assert e.where
        assert e.printed
        assert e.found
        assert e.does
        assert "arXiv:2402.00522" in str(e.ref)


def test_evidence_is_computed():
    said = {e.id: e.evidence() for e in (*FINDINGS, *ERRATA) if e.evidence is not None}
    assert all(said.values())
    assert len(said) >= 12
    assert "63.5" in said["4"]
    assert re.search(r"8 lin heads leave [34]\.?\d*e-08 of 7\.48", said["18"])
    assert "1e-07" in said["19"]
    assert "4.5e-05" in said["19"]
    assert "2.89" in said["21"]
    assert "2.70" in said["21"]
    assert "1 for" in said["F6"]
    assert float(said["17"].split()[-1]) < 1e-15
