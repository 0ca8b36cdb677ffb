"""`headcount train SPEC [a.b=c …]`: train one model on one memory."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from headcount.cli.common import console, print_json, progress
from headcount.core.files import read_mapping, refuse_occupied
from headcount.core.overrides import with_changes

if TYPE_CHECKING:
    from headcount.train.run_record import Record

SHOWN = 12  # log points in the table


def train(
    spec: Annotated[
        Path, typer.Argument(help="a .toml, .yaml or .json file with memory, model, train and seed")
    ],
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            help="changes to it: train.lr=0.003 seed=4 model.heads=8", metavar="[A.B=C]…"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="folder for config.json, model.safetensors and README.md"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Train one model on one memory and say what it learned. Divergence is a result too."""
    values = with_changes(read_mapping(spec), changes or [])
    if out is not None:
        refuse_occupied(out)
    from headcount.model.save import save

    # jax: not needed for --help or a misspelt file
    from headcount.train.run import train as trained
    from headcount.train.run_spec import RunSpec

    run = RunSpec.from_values(values)
    with progress() as say:
        say(f"training on {run.memory.kind}")
        done = trained(run.target(), run.model, run.train, run.seed)
    if out is not None:
        save(
            done.model,
            out,
            f"Trained by headcount train: {done.record.sentence}. Run {run.content_hash}.",
        )
    if json:
        print_json(
            {
                "run": run.content_hash,
                "spec": run.to_plain(),
                **done.record.to_json(),
                "folder": None if out is None else str(out),
            }
        )
        return
    console.print(table(done.record))
    seconds, memory = done.record.seconds, done.record.peak_memory_bytes / 1e6
    console.print(f"{escape(done.record.sentence)}.")
    console.print(
        f"{seconds['run']:.2f} s (and {seconds['compile']:.2f} s to compile), peak memory"
        f" {memory:.0f} MB, run {run.content_hash}."
    )
    if out is not None:
        console.print(f"written to {escape(str(out))}")


def table(record: "Record") -> Table:
    """The metrics at some of the log points, first and last among them."""
    shown = Table(*record.metrics, title_justify="left", show_edge=False, pad_edge=False)
    points = len(record.metrics["step"])
    rows = (
        sorted({round(i * (points - 1) / max(SHOWN - 1, 1)) for i in range(SHOWN)})
        if points
        else []
    )
    for row in rows:
        shown.add_row(*(f"{values[row]:.5g}" for values in record.metrics.values()))
    return shown


def register(app: typer.Typer) -> None:
    app.command("train")(train)
