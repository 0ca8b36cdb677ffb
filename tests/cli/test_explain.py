import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headcount.cli import app
from headcount.cli.verb_examples import EXAMPLES
from headcount.core.errors import InputError
from headcount.core.glossary import explained, page, terms
from tests.command import run as in_process

DOCS = Path(__file__).parents[2] / "docs"


def run(*words: str) -> str:
    return CliRunner().invoke(app, list(words), catch_exceptions=False).stdout


def test_the_page_is_made_from_the_same_data():
    assert (DOCS / "glossary.md").read_text() == page()


def test_a_word_its_aliases_and_a_part():
    assert "holds one memory" in run("explain", "slot")
    assert explained("dp-free") == explained("Dot-product-free") == explained("dp free")
    assert explained("lower-bound") == explained("at least")
    assert "Formula: -p s" in run("explain", "lin")
    assert json.loads(run("explain", "sup error", "--json"))["entries"][0]["where"]
    assert run("explain", "sup", "error") == run("explain", "sup error")
    assert "slot" in run("explain")
    both = run("explain", "slot", "rope")
    assert "holds one memory" in both
    assert "Formula" in both
    assert "[theory" not in "".join(term.plain for term in terms())


def test_a_term_stands_in_bold_where_it_is_explained_and_no_two_are_asked_for_alike():
    for term in terms():
        assert term.text.lower().startswith(f"**{term.names[0]}"), term
        assert all(name == name.lower() and name in term.text.lower() for name in term.names), term
    first = [term.names[0] for term in terms()]
    assert len(set(first)) == len(first)


def test_an_unknown_word_gets_the_nearest():
    with pytest.raises(InputError, match="unknown term 'slto' \\(nearest: 'slot'\\)"):
        CliRunner().invoke(app, ["explain", "slto"], catch_exceptions=False)


@pytest.mark.parametrize("verb", [command.name for command in app.registered_commands])
def test_every_verb_has_an_example_under_its_help(verb):
    assert EXAMPLES[verb].startswith(f"headcount {verb}")
    shown = " ".join(run(verb, "-h").split())
    assert EXAMPLES[verb] in shown
    assert "headcount explain TERM" in shown


def test_a_usage_error_points_to_the_help_of_the_whole_verb():
    done = in_process("study", "rivals", "--no-such")
    assert done.code == 2
    assert done.stderr.rstrip().endswith("see headcount study rivals --help")
