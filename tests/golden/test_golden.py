"""Today's answers are the stored ones, except for what `differences.toml` tells.

A difference that is not told fails, and so does a line that tells of none any more.
"""

import functools
import json
from pathlib import Path

import pytest

from tests.golden.cases import CASES
from tests.golden.compare import (
    Difference,
    Kind,
    Told,
    biases_of,
    by_bias,
    differences,
    leaves,
    read_told,
)
from tests.golden.record import FILE, answer

TOLD = read_told(Path(__file__).with_name("differences.toml"))
STORED = json.loads(FILE.read_text())
BY_NAME = {case.name: case for case in CASES}


@functools.cache
def _compared(name: str) -> tuple[list[Difference], dict, dict]:
    """The differences of a case, and its leaves today and as stored."""
    before, now = STORED[name], json.loads(json.dumps(answer(BY_NAME[name])))
    if BY_NAME[name].verb == "plan":
        before, now = by_bias(before), by_bias(now, biases_of(before))
    return differences(name, before, now), leaves(now), leaves(before)


def _check(name: str) -> None:
    found, now, stored = _compared(name)
    untold = [str(d) for d in found if not any(told.covers(d, now, stored) for told in TOLD)]
    assert not untold, "differs from what is stored:\n" + "\n".join(untold)
    stale = [
        told
        for told in TOLD
        # a line about many cases must hold in one of them: `test_every_line_…`
        if told.case == name and not any(told.covers(d, now, stored) for d in found)
    ]
    assert not stale, f"told, but equal now: {stale}"


@pytest.mark.parametrize("name", [case.name for case in CASES if case.quick])
def test_quick_answers_are_the_stored_ones(name):
    _check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [case.name for case in CASES if not case.quick])
def test_answers_are_the_stored_ones(name):
    _check(name)


@pytest.mark.slow
@pytest.mark.parametrize("told", [told for told in TOLD if told.case not in STORED], ids=str)
def test_every_line_about_many_cases_still_holds_in_one(told):
    cases = [case.name for case in sorted(CASES, key=lambda case: not case.quick)]
    cases = [name for name in cases if told.matches_case(name)]
    assert any(
        told.covers(d, now, stored) for found, now, stored in map(_compared, cases) for d in found
    )


def test_every_case_is_stored_and_the_file_stays_small():
    assert set(STORED) == set(BY_NAME)
    assert len(BY_NAME) == len(CASES)
    assert FILE.stat().st_size < 400_000


def test_every_construction_and_target_family_is_among_the_cases():
    import headcount as hc

    text = json.dumps(STORED)
    for name in set(hc.constructions.names()) - LATER:
        assert f'"construction": "{name}"' in text or f"--theorem {name}" in text, name
    kinds = {word.split(":")[0] for case in CASES for word in case.words}
    untested = {"stdlib", "english"} | {
        name for name in hc.targets.names() if name.startswith("exp-")
    }
    assert set(hc.targets.names()) - untested - LATER <= kinds


# came after the answers were stored: compared with brute force, not with the past
LATER = {
    *("coded", "folded", "leaps", "named-lag", "shared"),
    *("noisy", "series", "sticky", "noisy-recall", "fuzzy-recall"),
}
BEFORE = {"a": 1.0, "text": "x", "rows": [{"name": "p", "v": 1.0}, {"name": "q", "v": None}]}


@pytest.mark.parametrize(
    ("now", "paths"),
    [
        (BEFORE, []),
        ({**BEFORE, "new": 3}, []),
        ({**BEFORE, "a": 1 + 1e-7}, []),
        ({**BEFORE, "a": 1 + 1e-5}, ["a"]),
        ({**BEFORE, "a": True}, ["a"]),
        ({**BEFORE, "text": "y"}, ["text"]),
        ({"a": 1.0, "rows": BEFORE["rows"]}, ["text"]),
        ({**BEFORE, "rows": BEFORE["rows"][::-1]}, []),
        ({**BEFORE, "rows": BEFORE["rows"][:1]}, ["rows[q].name", "rows[q].v"]),
        ({**BEFORE, "rows": [*BEFORE["rows"], {"name": "r"}]}, ["rows[r].name"]),
        ({**BEFORE, "rows": [{**BEFORE["rows"][0], "w": 1}, BEFORE["rows"][1]]}, []),
    ],
)
def test_what_counts_as_a_difference(now, paths):
    assert [d.path for d in differences("case", BEFORE, now)] == paths


def test_a_plan_is_compared_by_what_each_bias_takes():
    rows = [
        {
            "bias": "lin",
            "attention": "dot",
            "reachable": r,
            "layers": l,
            "heads": 1,
            "parameters": p,
        }
        for r, l, p in ((False, None, None), (True, 2, 9), (True, 1, 12))
    ]
    other = {**rows[0], "bias": "log"}
    unknown = {**rows[0], "bias": "rope", "reachable": None}
    asked = {"target": "t", "tol": 0.1, "dtype": "float32", "length": 8, "recommended": {}}
    before = {**asked, "rows": [rows[2], other]}
    now = by_bias({**asked, "rows": [*rows, other, unknown]}, biases_of(before))
    (smaller,) = differences("plan", by_bias(before), now)
    assert (smaller.path, smaller.before, smaller.now) == ("biases[lin].parameters", 12, 9)
    lost = by_bias({**asked, "rows": [{**rows[0], "reachable": None}, other]}, biases_of(before))
    paths = [d.path for d in differences("plan", by_bias(before), lost)]
    assert paths == [f"biases[lin].{f}" for f in ("reachable", "layers", "heads", "parameters")]


@pytest.mark.parametrize(
    ("told", "now", "covered"),
    [
        (Told("c*", "a", Kind.SMALLER_NOW, "why"), {"a": 0.5}, True),
        (Told("c*", "a", Kind.SMALLER_NOW, "why"), {"a": 1.5}, False),
        (Told("c*", "a", Kind.FALSE_BEFORE, "why"), {"a": 1.5}, True),
        (Told("d*", "a", Kind.FALSE_BEFORE, "why"), {"a": 1.5}, False),
        (Told("c", "a", Kind.RENAMED, "why", to="b"), {"b": 1.0}, True),
        (Told("c", "a", Kind.RENAMED, "why", to="b"), {"b": 2.0}, False),
        (Told("c", "*", Kind.REWORDED, "why"), {"a": 2.0}, False),
        (Told("c", "rows[*].v", Kind.SCOPE_SAID, "why"), {"a": 2.0}, False),
    ],
)
def test_what_a_line_covers(told, now, covered):
    (difference,) = differences("c", {"a": 1.0}, now)
    assert told.covers(difference, now) is covered


@pytest.mark.parametrize(
    ("kind", "case", "path", "now", "covered"),
    [
        ("as good", "fit x", "error.l2", {"error.l1": 1.0, "error.l2": 9.0}, True),
        ("as good", "fit x", "error.l1", {"error.l1": 0.9}, True),
        ("as good", "fit x", "error.l2", {"error.l1": 1.1, "error.l2": 9.0}, False),
        ("processor", "fit x", "error.l2", {"error.l1": 1.009, "error.l2": 9.0}, True),
        ("processor", "fit x", "error.l2", {"error.l1": 1.02, "error.l2": 9.0}, False),
        ("as good", "fit x --tol 2", "error.l1", {"error.l1": 1.1}, True),
        ("as good", "fit x --tol 2", "error.l1", {"error.l1": 0.9, "heads": 5}, False),
        ("as good", "fit x --dtype float32", "error.l1", {"error.l1": 1.1}, True),
        ("as good", "fit x --dtype float32", "error.l1", {"rounding.float32.l1": 3.0}, False),
        ("proves more", "fit x", "lower_bound.method", {"lower_bound.value": 0.7}, True),
        ("proves more", "fit x", "lower_bound.value", {"lower_bound.value": 0.4}, False),
    ],
)
def test_as_good_and_proves_more_are_checked(kind, case, path, now, covered):
    stored = {
        "norm": "l1", "error.l1": 1.0, "error.l2": 1.0, "rounding.float32.l1": 2.0,
        "lower_bound.value": 0.5, "lower_bound.method": "dual", "heads": 4,
    }  # fmt: skip
    told = Told("fit*", "*", Kind(kind), "why")
    difference = Difference(case, path, stored[path], now.get(path, "other"))
    assert told.covers(difference, stored | now, stored) is covered


def test_a_line_must_say_what_it_is():
    for bad in ({"kind": "nicer"}, {"kind": "renamed"}, {"kind": "false before", "to": "b"}):
        with pytest.raises((ValueError, AssertionError)):
            Told(**{"case": "c", "path": "a", "why": "w", **bad, "kind": Kind(bad["kind"])})
    with pytest.raises(AssertionError, match="say why"):
        Told("c", "a", Kind.FALSE_BEFORE, "")
