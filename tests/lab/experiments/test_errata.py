"""The errata page: complete, and its numbers computed."""

import re

import pytest

from headcount.core.errors import InputError
from headcount.lab.experiments.errata import ERRATA, FINDINGS, Erratum, every_evidence
from headcount.lab.experiments.errata_evidence import jackson


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


def test_every_point_has_evidence_of_its_own_in_neutral_words():
    texts = [" ".join((e.printed, e.found, e.does)) for e in (*FINDINGS, *ERRATA)]
    assert not [text for text in texts for word in ("slip", "silently", "hoped", "wrong") if word in text]
    seen = {e.id: e.seen for e in (*FINDINGS, *ERRATA) if e.seen}
    assert set(seen) == {"3", "7", "8", "22", "25"}  # matters of reading; all others are computed
    assert len(set(seen.values())) == len(seen)
    with pytest.raises(InputError, match="evidence and seen"):
        Erratum("x", "w", "p", "f", "d")


def test_jackson_constants_are_below_one_where_they_are_used():
    assert max(jackson(n, m) for n in range(1, 8) for m in range(1, 60)) <= 1
    assert max(jackson(n, m) for n in range(8, 16) for m in range(n, 60)) <= 1
    assert jackson(8, 5) > 1
    assert jackson(1, 1) == pytest.approx(0.5)  # 2 / 4 by the interpolation of a constant


def test_evidence_is_computed():
    points = (*FINDINGS, *ERRATA)
    said = {e.id: shown for e, shown in zip(points, every_evidence(), strict=True)}
    assert all(said.values())
    assert sum(e.evidence is not None for e in points) == 28
    assert "= 0 as printed, 2.1 transposed" in said["1"]  # rate x g
    assert "g_1 = 3 reads 5, the head for g_2 = 5 reads 1;" in said["2"]
    assert "1.1 without 1/log 2 counts as 0.762" in said["2"]
    assert "0.05 changes 0 of 10 lags, a retrieval error of 0.06 changes 10 of 10" in said["9"]  # 1/18 = 0.056
    assert "63.5" in said["4"]
    assert re.search(r"8 lin heads leave [34]\.?\d*e-08 of 7\.48", said["18"])
    assert "1e-07" in said["19"]
    assert "4.5e-05" in said["19"]
    assert "2.89" in said["21"]
    assert "2.70" in said["21"]
    assert "1 for" in said["F6"]
    assert "a factor of 1.73" in said["12"]  # sqrt 3 for memories that cost about the same
    assert "(2, 3, 3) in whole numbers" in said["13"]
    assert "n = 1 with C =" in said["15"]
    assert said["20"].count("by 0") == 2
    assert "0.559 against" in said["24"]
    assert "K = 8: 4 against 9" in said["F8"]
    assert float(said["17"].split()[-1]) < 1e-15
