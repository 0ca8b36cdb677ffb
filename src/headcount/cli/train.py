"""`headcount train SPEC [a.b=c …]`: train one model on one memory."""

from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from headcount.cli.common import console, print_json, progress, tell
from headcount.cli.options import JSON, MODEL_FOLDER
from headcount.core.errors import require
from headcount.core.files import read_mapping, refuse_occupied
from headcount.core.overrides import with_changes

if TYPE_CHECKING:
    from headcount.train.run_record import Record
    from headcount.train.run_spec import RunSpec
    from headcount.train.what_was_learned import Learned

SHOWN = 12  # log points in the table
TOLD = 8  # heads that are told one by one
EXAMPLE = """\
# headcount train run.yaml   (changes: headcount train run.yaml model.heads=4 seed=1)
memory: {kind: fixed, lags: [3], readout: linear}
model: {heads: 2, width: 8, attention: dp-free, bias: table, ffn: none}
train: {steps: 1000, length: 32, loss: population}
seed: 0
"""


def train(
    spec: Annotated[
        Path | None,
        typer.Argument(help="a .toml, .yaml or .json file with memory, model, train and seed"),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            help="changes to it: train.lr=0.003 seed=4 model.heads=8", metavar="[A.B=C]…"
        ),
    ] = None,
    out: MODEL_FOLDER = None,
    example: Annotated[
        bool, typer.Option("--example", help="print a small ready spec and end")
    ] = False,
    json: JSON = False,
) -> None:
    """Train one model on one memory and say what it learned. Divergence is a result too."""
    if example:
        typer.echo(EXAMPLE, nl=False)
        return
    require(spec is not None, "no spec", "a file", "write one: headcount train --example")
    assert spec is not None
    values = with_changes(read_mapping(spec), changes or [])
    if out is not None:
        refuse_occupied(out)
    from headcount.memory.target import short_sequence
    from headcount.model.save import save

    # jax: not needed for --help or a misspelt file
    from headcount.train.run import train as trained
    from headcount.train.run_spec import RunSpec
    from headcount.train.what_was_learned import what_was_learned

    run = RunSpec.from_values(values)
    with progress() as say:
        say(f"training on {run.memory.kind}")
        done = trained(run.target(), run.model, run.train, run.seed)
    if out is not None:
        length = run.train.length
        tokens = short_sequence(run.target(), length)
        save(done.model, out, _note(run, done.record), length=length or None, example=tokens)
    learned = what_was_learned(run.target(), done.model, run.train.length)
    if json:
        print_json(
            {
                "run": run.content_hash,
                "learned": learned.to_json(),
                "spec": run.to_plain(),
                **done.record.to_json(),
                "folder": None if out is None else str(out),
            }
        )
        return
    tell_run(run, done.record, learned)
    if out is not None:
        console.print(f"written to {escape(str(out))}")


def _note(run: "RunSpec", record: "Record") -> str:
    """What it learned from, how that ended, and the whole spec, which trains it again."""
    spec = dumps(run.to_plain(), indent=2)
    return (
        f"Trained by headcount train on the memory `{run.memory.kind}` (its options are under"
        f" The numbers): {record.sentence}. Run {run.content_hash}.\n\n```json\n{spec}\n```"
    )


def tell_run(run: "RunSpec", record: "Record", learned: "Learned") -> None:
    """The metrics, how it ended, what was learned, what it cost."""
    console.print(table(record))
    console.print(f"{escape(record.sentence)}.")
    for line in learned.sentences(record.final.get("relative_loss"), TOLD):
        tell(line)
    seconds, memory = record.seconds, record.peak_memory_bytes / 1e6
    console.print(
        f"{seconds['run']:.2g} s (and {seconds['compile']:.2g} s to compile), peak memory"
        f" {memory:.0f} MB, run {run.content_hash}."
    )


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
