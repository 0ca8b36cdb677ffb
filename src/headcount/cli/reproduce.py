"""`headcount reproduce`: the paper's experiments and further checks as one resumable sweep, then
verdicts, figures and a report.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from headcount.cli.common import console, number, print_json, progress

if TYPE_CHECKING:
    from headcount.pipeline import Reproduction


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            help="1a 1b 2a 2b 3a 3b 4a 4b, rates, depth, heads, bias, failures, or all (default)"
        ),
    ] = None,
    profile: Annotated[
        str,
        typer.Option(
            help="smoke (under 2 minutes on 2 cores), laptop (15 minutes) or full (2 hours)"
        ),
    ] = "smoke",
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
    workers: Annotated[
        int | None, typer.Option(help="worker processes; without it one per core")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Run the experiments as registered hypotheses: verdicts, the four numbers of every arm,
    figures, errata, report.html.

    Interrupted, it goes on where it stopped when the same command is run again.
    """
    from headcount.pipeline import reproduce as run

    with progress() as say:
        done = run(experiments, profile, out, corpus=corpus, workers=workers, say=say)
    if json:
        print_json(done.to_json())
        return
    console.print(table(done) if done.verdicts else "no hypothesis is among these experiments")
    if profile != "full" and done.verdicts:
        console.print(
            f"profile {profile}: fewer steps, seeds, cells, arms or parts than registered;"
            " --profile full judges the claims"
        )
    console.print(f"{done.seconds:.0f} s; report: {escape(str(done.page))}")


def table(done: "Reproduction") -> Table:
    """One line per verdict."""
    shown = Table(title=f"Verdicts, profile {done.profile}", title_justify="left", box=None)
    for name in ("", "variant", "verdict", "effect", "interval", "p (Holm)", "seeds", "claim"):
        shown.add_column(
            name, justify="right" if name in ("effect", "p (Holm)", "seeds") else "left"
        )
    for outcome in done.outcomes:
        verdict = outcome.verdict
        if verdict is None:
            continue
        interval = "" if verdict.ci is None else f"[{verdict.ci.low:.2g}, {verdict.ci.high:.2g}]"
        qualified = f" ({verdict.qualifier})" if verdict.qualifier else ""
        shown.add_row(
            outcome.study.id,
            str(outcome.study.variant),
            escape(verdict.outcome.text + qualified),
            number(verdict.measured),
            interval,
            number(verdict.p_adjusted),
            str(verdict.seeds),
            escape(verdict.hypothesis.claim),
        )
    return shown


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(reproduce)
