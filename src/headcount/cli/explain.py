"""`headcount explain TERM`: a word of the glossary, or a registered part, in plain words."""

from typing import Annotated, Any

import typer

from headcount.cli.common import print_json, tell
from headcount.cli.listing import registries
from headcount.cli.options import JSON
from headcount.core.errors import InputError
from headcount.core.glossary import explained, terms


def explain(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="a term such as slot, sup error or dot-product-free; none: all", metavar="[TERM]"
        ),
    ] = None,
    json: JSON = False,
) -> None:
    """What a word means: the glossary, and every part that can be named (biases, memories, …)."""
    term = " ".join(words or [])
    if not words:
        names = sorted({each.names[0] for each in terms()})
        if json:
            print_json({"terms": names})
        else:
            tell(", ".join(names))
        return
    try:
        found = entries(term)
    except InputError:
        # several terms, each of one word?
        if len(words) == 1:
            raise
        found = [entry for word in words for entry in entries(word)]
    if json:
        print_json({"term": term, "entries": found})
        return
    for entry in found:
        tell(f"{entry['text']}  [{entry['where']}]")


def entries(term: str) -> list[dict[str, Any]]:
    """What the glossary says, then the parts of that name."""
    parts = [
        {
            "where": noun,
            "text": f"{term}: {registry[term].summary} Formula: {registry[term].formula}."
            f" {registry[term].ref}",
        }
        for noun, registry in registries().items()
        if term in registry.names()
    ]
    try:
        return [{"where": section, "text": t.plain} for section, t in explained(term)] + parts
    except InputError:
        if not parts:
            raise
    return parts


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("explain")(explain)
