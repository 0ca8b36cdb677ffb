"""The command line as a script sees it: exit codes, one JSON document on stdout, one line of
error on stderr.
"""

import json

from headcount.cli.listing import registries
from tests.command import run, run_alone


def test_help_names_every_verb():
    done = run_alone("--help")
    assert done.code == 0
    for verb in ("fit", "reproduce", "list", "doctor"):
        assert verb in done.stdout


def test_list_gives_every_entry_with_formula_and_reference():
    rows = json.loads(run("list", "--json").stdout)
    assert {(r["sort"], r["name"]) for r in rows} == {
        (noun, name) for noun, registry in registries().items() for name in registry.names()
    }
    assert {
        "memory",
        "readout",
        "kernel",
        "input",
        "bias",
        "attention",
        "normaliser",
        "ffn",
        "norm",
    } <= {r["sort"] for r in rows}
    for row in rows:
        assert row["formula"], row
        assert row["reference"], row
        assert row["summary"], row


def test_list_for_people_shows_formulas_with_brackets():
    done = run("list", "bias")
    assert done.code == 0
    assert "b_h[s]" in done.stdout


def test_doctor_reports_versions_and_float64():
    found = json.loads(run("doctor", "--json").stdout)
    assert found["x64_on_demand"] is True
    assert found["versions"]["jax"]
    assert "torch" in found["extras"]
    assert run("doctor").code == 0
