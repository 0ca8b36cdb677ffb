"""`headcount plan TARGET --tol EPS`: the smallest architecture found of each kind, side by side."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from headcount.cli.common import console, number, print_json, progress

if TYPE_CHECKING:
    from headcount.construct import Plan


def plan(
    target: Annotated[
        str,
        typer.Argument(
            help=(
                "fixed:lags=3+17, essential:kernel=power:1.5, recall:pairs=6, …, or a"
                " .toml/.yaml/.json spec file"
            )
        ),
    ],
    tol: Annotated[float, typer.Option(help="largest error of an answer")] = 0.01,
    dtype: Annotated[
        str, typer.Option(help="float32 or float64: where the error must hold")
    ] = "float32",
    normaliser: Annotated[str | None, typer.Option(help="plan for this normaliser only")] = None,
    length: Annotated[
        int | None, typer.Option(help="longest sequence to serve (default 1024)")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """For a memory and a tolerance: layers, heads and neurons with each positional bias and
    attention kind, and which to take.
    """
    from headcount.construct import plan as make_plan  # jax: not needed for --help

    with progress() as say:
        made = make_plan(target, tol, dtype, normaliser=normaliser, length=length, progress=say)
    if json:
        print_json(made.to_json(target))
        return
    console.print(table(target, made))
    best = made.recommended
    if best is None or best.architecture is None:
        console.print("recommended: nothing here reaches the tolerance")
        return
    a = best.architecture
    console.print(
        f"recommended: bias {best.bias}, attention {best.attention}, {a.layers} layers, {a.heads}"
        f" heads, {a.width} neurons, {best.parameters} parameters"
    )
    console.print(f"build it: {escape(made.command(target))}")


def table(target: str, made: "Plan") -> Table:
    """One line per bias and attention kind."""
    shown = Table(
        title=(
            f"{target}: error at most {made.tol:g} in {made.precision}, up to {made.length} tokens"
        ),
        title_justify="left",
        box=None,
    )
    for name in (
        "bias",
        "attention",
        "normaliser",
        "layers",
        "heads",
        "neurons",
        "parameters",
        "error",
        "status",
        "float32",
        "reachable",
        "by",
    ):
        shown.add_column(
            name,
            justify=(
                "right"
                if name in ("layers", "heads", "neurons", "parameters", "error", "float32")
                else "left"
            ),
        )
    for row in made.rows:
        a = row.architecture
        sizes = [str(a.layers), str(a.heads), str(a.width), str(row.parameters)] if a else [""] * 4
        # what stands behind the error: "proved" or "measured"
        status = "" if row.status is None else row.status.name.lower()
        errors = [number(row.error), status, number(row.error_float32)] if a else [""] * 3
        verdict = {True: "yes", False: "no", None: "undecided"}[row.reachable]
        shown.add_row(
            row.bias,
            row.attention,
            row.normaliser,
            *sizes,
            *errors,
            verdict,
            escape(str(row.source) if row.reachable else row.reason),
        )
    return shown


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("plan")(plan)
