"""`headcount reproduce`: the paper's experiments and further checks as one resumable sweep, then
verdicts, figures and a report.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from headcount.cli.common import console, number, print_json, progress, tell
from headcount.cli.options import JSON, WORKERS

if TYPE_CHECKING:
    from headcount.pipeline import Reproduction

EXPERIMENTS = Annotated[
    list[str] | None,
    typer.Argument(
        help="1a 1b 2a 2b 3a 3b 4a 4b, rates, depth, heads, bias, failures, or all"
        " (default: the paper's eight; with --profile full all)"
    ),
]


def reproduce(
    experiments: EXPERIMENTS = None,
    profile: Annotated[
        str,
        typer.Option(
            help="smoke (under a minute, judges nothing), laptop (under 10 minutes on 2 cores) or"
            " full (2 hours)"
        ),
    ] = "laptop",
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="output folder (default: reproduction-PROFILE, with the experiments if not all)",
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            help="a text file or a folder of texts for 1a and 3b, instead of the standard library"
        ),
    ] = None,
    workers: WORKERS = None,
    replication: Annotated[
        int,
        typer.Option(help="0 has the registered seeds; 1, 2, … repeat what is judged with others"),
    ] = 0,
    retune: Annotated[
        bool,
        typer.Option(
            "--retune",
            help="instead: repeat the pilot that chose each arm's learning rate, schedule and"
            " initial rates, and show what it would choose",
        ),
    ] = False,
    json: JSON = False,
) -> None:
    """Run the experiments as registered claims: verdicts, the four numbers of every arm,
    figures, errata, report.html.

    Interrupted, it goes on where it stopped when the same command is run again.
    """
    if retune:
        _retune(experiments or [], out, json)
        return
    from headcount.cli.live_grid import watcher
    from headcount.pipeline import reproduce as run

    with watcher() as (say, told):
        done = run(
            experiments, profile, out, corpus=corpus, workers=workers, replication=replication,
            say=say, told=told,
        )  # fmt: skip
    if json:
        print_json(done.to_json())
        return
    if str(done.profile) == "smoke":
        tell("Profile smoke shows that everything runs. It judges nothing: --profile laptop does.")
    else:
        console.print(table(done) if done.verdicts else "no claim is among these experiments")
    console.print(f"{done.seconds:.0f} s; report: {escape(str(done.page))}")


def _retune(names: list[str], out: Path | None, json: bool) -> None:
    """The pilot again, beside what is registered; nothing is replaced."""
    from headcount.experiments.pilot import chosen_table
    from headcount.experiments.pilot import retune as pilot
    from headcount.experiments.tuning import registration, written

    folder = out or Path("pilot")
    with progress() as say:
        found = pilot(names, folder, say)
    written(found, folder / "registration.json")
    if json:
        print_json({name: each.to_json() for name, each in found.items()})
        return
    console.print(escape(chosen_table(registration(), found)), soft_wrap=True)
    console.print(f"the whole pilot: {escape(str(folder / 'registration.json'))}")


def table(done: "Reproduction") -> Table:
    """One line per claim."""
    shown = Table(title=f"Verdicts, profile {done.profile}", title_justify="left", box=None)
    for name in ("", "kind", "verdict", "effect", "interval", "scale", "seeds", "power", "claim"):
        shown.add_column(name, justify="right" if name in ("effect", "seeds", "power") else "left")
    for verdict in done.verdicts:
        interval = verdict.interval
        ends = "" if interval is None else f"[{interval.low:.2g}, {interval.high:.2g}]"
        shown.add_row(
            verdict.insight,
            str(verdict.kind) + (" (further)" if verdict.further else ""),
            str(verdict.outcome),
            number(verdict.effect),
            ends,
            verdict.scale,
            str(verdict.seeds or "–"),
            "–" if verdict.power is None else f"{verdict.power:.0%}",
            escape(verdict.claim),
        )
    return shown


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(reproduce)
