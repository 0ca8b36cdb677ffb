"""`headcount list`: everything that is registered, with formula and reference."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from headcount.cli.common import console, print_json
from headcount.cli.options import JSON
from headcount.core.errors import unknown

if TYPE_CHECKING:
    from headcount.core.registry import Registry


def registries() -> "dict[str, Registry[Any]]":
    """All registries by their noun, in the order a reader would ask for them."""
    from headcount.construct import constructions
    from headcount.memory.inputs import inputs
    from headcount.memory.kernels import kernels
    from headcount.memory.lag_functions import lag_functions
    from headcount.memory.named import targets
    from headcount.memory.read import reads
    from headcount.memory.readouts import readouts
    from headcount.model.baselines import baselines
    from headcount.model.biases import biases
    from headcount.model.embedding import positions
    from headcount.model.ffn import ffns
    from headcount.model.normalisers import normalisers
    from headcount.model.norms import norms
    from headcount.model.scores import scores

    every: "tuple[Registry[Any], ...]" = (
        targets,
        readouts,
        lag_functions,
        kernels,
        inputs,
        reads,
        biases,
        positions,
        scores,
        normalisers,
        ffns,
        norms,
        baselines,
        constructions,
    )
    return {registry.noun: registry for registry in every}


def rows(sort: str | None) -> list[dict[str, str]]:
    """One row per entry; all sorts, or one."""
    every = registries()
    if sort is not None and sort not in every:
        raise unknown("sort of part", sort, every)
    return [
        {
            "sort": noun,
            "name": entry.name,
            "formula": entry.formula,
            "summary": entry.summary,
            "options": ", ".join(p.name for p in entry.parameters),
            "reference": str(entry.ref),
        }
        for noun, registry in every.items()
        if sort in (None, noun)
        for entry in registry.entries()
    ]


def list_parts(
    sort: Annotated[
        str | None,
        typer.Argument(help="memory, readout, kernel, input, bias, attention, … (default: all)"),
    ] = None,
    json: JSON = False,
) -> None:
    """What is registered: memories, readouts, kernels, inputs, biases, attention, normalisers,
    FFNs, norms.
    """
    found = rows(sort)
    if json:
        print_json(found)
        return
    for noun in dict.fromkeys(row["sort"] for row in found):
        table = Table(
            "name",
            "formula",
            "options",
            "reference",
            title=noun,
            title_justify="left",
            show_edge=False,
            pad_edge=False,
        )
        for row in found:
            if row["sort"] == noun:
                table.add_row(
                    *(escape(row[column]) for column in ("name", "formula", "options", "reference"))
                )
        console.print(table)
        console.print()


def register(app: typer.Typer) -> None:
    app.command("list")(list_parts)
