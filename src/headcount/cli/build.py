"""`headcount build TARGET`: weights by formula, checked, written as a model folder."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from headcount.cli.common import console, number, print_json, progress, tell
from headcount.cli.options import JSON, LENGTH, MODEL_FOLDER, TARGET
from headcount.core.claims import Precision
from headcount.core.files import refuse_occupied
from headcount.core.plural import counted

if TYPE_CHECKING:
    from headcount.construct import Construction


NORMALISER = Annotated[
    str | None,
    typer.Option(
        help="none, softmax, softmax-sink, softmax-bos or softmax-tail; default: the first that"
        " works"
    ),
]


def build(
    target: TARGET,
    bias: Annotated[str, typer.Option(help="lin, log, log1p, peak, table, rope or none")] = "lin",
    tol: Annotated[
        float | None,
        typer.Option(help="largest error of an answer (default 0.01 unless --heads is given)"),
    ] = None,
    heads: Annotated[
        int | None, typer.Option(help="instead of --tol: so many heads per layer")
    ] = None,
    width: Annotated[
        int | None, typer.Option(help="FFN neurons at most; without it as many as exactness takes")
    ] = None,
    precision: Annotated[
        str,
        typer.Option(help="float32 or float64: the type the model is written and meant to run in"),
    ] = "float32",
    normaliser: NORMALISER = None,
    length: LENGTH = None,
    construction: Annotated[
        str | None,
        typer.Option("--construction", help="this one alone; see headcount list construction"),
    ] = None,
    # the old name of --construction; `bound --theorem` is a theorem of the paper
    theorem: Annotated[str | None, typer.Option("--theorem", hidden=True)] = None,
    out: MODEL_FOLDER = None,
    json: JSON = False,
) -> None:
    """A real model for a memory, by formula: no training. Checked against the target's float64
    reference, or nothing is written.
    """
    from headcount.construct import construct  # jax: not needed for --help
    from headcount.construct.construct import small_ones_beside

    if out is not None:
        refuse_occupied(out)
    with progress() as say:
        say(f"building {target}")
        made = construct(
            target, bias, heads, width, precision, tol=tol, normaliser=normaliser, length=length,
            theorem=construction or theorem,
        )  # fmt: skip
    if out is not None:
        made.save(out, target)
    if json:
        print_json({**made.to_json(target), "folder": None if out is None else str(out)})
        return
    tell(f"{target}: {made.theorem}")
    console.print(table(made))
    for note in made.notes:
        tell(f"note: {note}")
    if construction is None and theorem is None and (beside := small_ones_beside(made)):
        options = " or ".join(f"--construction {name}" for name in beside)
        tell(f"the first that applies was taken; {options} may be smaller: headcount plan compares")
    if out is not None:
        console.print(f"written to {escape(str(out))}", markup=True)


def table(made: "Construction") -> Table:
    """The numbers of a build, then its error budget."""
    a = made.architecture
    shown = Table(show_header=False, box=None)
    shown.add_row(
        "architecture",
        f"{counted(a.layers, 'layer')}, heads {list(a.heads_per_layer)},"
        f" neurons {list(a.width_per_layer)}, stream {a.stream}",
    )
    shown.add_row("parts", f"bias {a.bias}, attention {a.attention}, normaliser {a.normaliser}")
    shown.add_row("parameters", str(made.parameters))
    shown.add_row(
        "promised",
        f"error at most {number(made.promised.at(Precision.FLOAT64))} in float64,"
        f" {number(made.promised.at(Precision.FLOAT32))} in float32 ({made.status})",
    )
    shown.add_row(
        "measured",
        f"sup {number(made.measured.sup)}, mse {number(made.measured.mse)} over"
        f" {made.measured.answers} answers of {made.measured.inputs} sequences",
    )
    shown.add_row("float32", f"sup {number(made.float32.sup)}")
    for line in made.budget:
        shown.add_row(
            f"layer {line.layer} {line.part}",
            f"{line.space}: {number(line.measured)} of {number(line.promised)} promised"
            f" ({escape(line.why)} before rounding)",
        )
    return shown


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("build")(build)
