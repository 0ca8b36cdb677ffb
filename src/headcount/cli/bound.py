"""`headcount bound`: a theorem for a target and an architecture, with constants and assumptions."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from headcount.cli.common import console, number, print_json
from headcount.cli.options import JSON

if TYPE_CHECKING:
    from headcount.theory.theorems import Evaluated


def bound(
    theorem: Annotated[str, typer.Option(help="3.1, 4.1, 4.2, 4.3, 4.4, 4.5 or 5.1")],
    target: Annotated[
        str,
        typer.Option(
            help="fixed:lags=3+17, essential:kernel=power:2.5, …, or a .toml/.yaml/.json spec file"
        ),
    ],
    bias: Annotated[str, typer.Option(help="lin or log")] = "lin",
    heads: Annotated[int, typer.Option(help="heads per layer")] = 8,
    width: Annotated[int, typer.Option(help="FFN neurons per layer")] = 256,
    json: JSON = False,
) -> None:
    """What the paper promises, with every constant: the value, or why an assumption fails."""
    from headcount.theory.theorems import bound as evaluate  # jax: not needed for --help

    found = evaluate(theorem, target, bias, heads, width)
    if json:
        print_json(
            {"target": target, "bias": bias, "heads": heads, "width": width, **found.to_json()}
        )
    else:
        console.print(table(target, found))


def table(target: str, found: "Evaluated") -> Table:
    """The value, its parts, then the assumptions."""
    shown = Table(
        title=escape(f"{target}: {found.ref}"), title_justify="left", show_header=False, box=None
    )
    if not found.applies:
        shown.add_row("bound", "does not apply")
    else:
        size = number(found.value) if found.value is not None else f"10^{found.log10_value:.1f}"
        shown.add_row(
            "bound",
            f"error at most {size}"
            + (" (vacuous: heads that draw nothing do as well)" if found.vacuous else ""),
        )
    if found.log_attention is not None:
        shown.add_row(
            "attention",
            f"E_Attn = 10^{found.log_attention / 2.302585092994046:.2f} with n = {found.n}, heads"
            f" by memory {list(found.heads_split)}",
        )
        shown.add_row(
            "readout", f"E_FFN = {number(found.ffn)}, Lipschitz constant {number(found.lipschitz)}"
        )
    if found.lower is not None:
        shown.add_row(
            "lower bound",
            escape(
                f"{found.lower['value']:g} for {found.lower['for']} ({found.lower['source']}; the"
                f" paper prints {found.lower['printed']:.3g})"
            ),
        )
    for a in found.assumptions:
        shown.add_row(f"{'holds' if a.holds else 'FAILS'}: {a.name}", escape(a.why))
    return shown


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("bound")(bound)
