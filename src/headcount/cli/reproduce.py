"""`headcount reproduce`: the paper's experiments and further checks as one resumable sweep, then
verdicts, figures and a report.
"""

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from headcount.cli.common import console, number, print_json, progress, progress_console
from headcount.cli.sweep import watcher
from headcount.core.errors import CheckFailed, require, unknown

if TYPE_CHECKING:
    from headcount.lab.experiments.study import Profile
    from headcount.report.records import Report

EXPECTED = {"smoke": "under 2 minutes", "laptop": "under 15 minutes", "full": "under 2 hours"}


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
        int | None, typer.Option(help="worker processes; without it one a core")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Run the experiments as registered hypotheses: verdicts, the four numbers of every arm,
    figures, errata, report.html.

    Interrupted, it goes on where it stopped when the same command is run again.
    """
    if profile not in EXPECTED:
        raise unknown("profile", profile, EXPECTED)
    from headcount.lab.experiments import chosen

    names = chosen(word.lower() for word in experiments or [])
    selected = [] if names == chosen([]) else names
    folder = out or Path("-".join(["reproduction", profile, *selected]))
    require(
        workers is None or workers >= 1,
        f"{workers} workers",
        "at least 1",
        "leave the option out for one a core",
    )
    _check_corpus(corpus, folder, profile)
    command = _command(selected, profile, out, corpus)
    from headcount.lab.experiments.study import Profile
    from headcount.report.write import check_replaced

    check_replaced(folder, profile, names)
    report, page = run(
        names, Profile(profile), folder, None if corpus is None else str(corpus), workers, command
    )
    if json:
        from headcount.report.write import summary

        print_json(summary(report, page))
        return
    console.print(table(report) if report.verdicts else "no hypothesis is among these experiments")
    if profile != "full" and report.verdicts:
        console.print(
            f"profile {profile}: fewer steps, seeds, cells, arms or parts than registered;"
            " --profile full judges the claims"
        )
    console.print(f"{report.seconds:.0f} s; report: {escape(str(page))}")


def run(
    names: list[str],
    profile: "Profile",
    folder: Path,
    corpus: str | None,
    workers: int | None,
    command: str,
) -> tuple["Report", Path]:
    """Everything between the command and the files; returns the report and the path of its page."""
    from headcount.lab.aside import Aside
    from headcount.lab.experiments import studies_of
    from headcount.lab.experiments.patterns_of import diagnosed
    from headcount.lab.local import LocalEngine
    from headcount.lab.reproduce import Reproduction, finals_of, reproduce
    from headcount.lab.untrained import Untrained
    from headcount.report.checks import Beside
    from headcount.report.folder import ready
    from headcount.report.reproduction import report_of
    from headcount.report.write import write

    started = time.perf_counter()
    studies = studies_of(names, profile, corpus)
    ready(folder)
    _announce(studies, profile)
    with watcher() as watch, progress() as say, Aside() as aside:
        work = Untrained(aside, names, profile, corpus, say)
        store = folder / "runs.sqlite"
        result = reproduce(
            studies, store, engine=LocalEngine(workers), watch=watch, numbers=work.numbers
        )
        if not isinstance(result, Reproduction):
            raise (
                KeyboardInterrupt
                if result.interrupted
                else CheckFailed(f"{result.missing} runs are missing; run the same command again")
            )
        found = [
            (o.study.key, diagnosed(o.study, finals_of(o), {a.arm.name: a.numbers for a in o.arms}))
            for o in result.outcomes
        ]
        beside = Beside.of(work.errata(), found, work.tables())
        seconds = time.perf_counter() - started
        report = report_of(
            result,
            profile=profile,
            command=command,
            seconds=seconds,
            store="runs.sqlite",
            beside=beside,
        )
        say("figures")
        return report, write(report, folder, aside.map)


def _check_corpus(corpus: Path | None, folder: Path, profile: str) -> None:
    """A corpus that can be read and stays as it is: the output must not grow inside it."""
    if corpus is None:
        return
    require(corpus.exists(), f"corpus {corpus}", "an existing file or folder", "check the path")
    inside = corpus.resolve() in (folder.resolve(), *folder.resolve().parents)
    require(
        not inside,
        f"corpus {corpus} with the output {folder} inside it",
        "an output folder outside the corpus",
        "choose one with -o",
    )
    from headcount.lab.experiments.exp_1a import SIZES
    from headcount.lab.experiments.language import check_corpus
    from headcount.lab.experiments.study import Profile

    check_corpus(SIZES[Profile(profile)], str(corpus))  # those of 3b are alike


def _announce(studies: Any, profile: str) -> None:
    """What is about to run, before it starts."""
    from headcount.lab.experiments.study import planned

    runs = [run for study in studies for run in planned(study)]
    unique = len({run.spec.content_hash for run in runs})
    counted = "1 study" if len(studies) == 1 else f"{len(studies)} studies"
    progress_console.print(
        f"{counted}, {unique} training runs; profile {profile}: {EXPECTED[profile]} on 2 free cores"
    )


def _command(names: list[str], profile: str, out: Path | None, corpus: Path | None) -> str:
    options = (
        ["--profile", profile]
        + (["-o", str(out)] if out else [])
        + (["--corpus", str(corpus)] if corpus else [])
    )
    return shlex.join(["headcount", "reproduce", *names, *options])


def table(report: "Report") -> Table:
    """One line a verdict."""
    shown = Table(title=f"Verdicts, profile {report.profile}", title_justify="left", box=None)
    for name in ("", "variant", "verdict", "effect", "interval", "p (Holm)", "seeds", "claim"):
        shown.add_column(
            name, justify="right" if name in ("effect", "p (Holm)", "seeds") else "left"
        )
    for row in report.verdicts:
        interval = "" if row.ci is None else f"[{row.ci[0]:.2g}, {row.ci[1]:.2g}]"
        said = row.verdict + (f" ({row.qualifier})" if row.qualifier else "")
        shown.add_row(
            row.experiment,
            row.variant,
            escape(said),
            number(row.measured),
            interval,
            number(row.p_adjusted),
            str(row.seeds),
            escape(row.claim),
        )
    return shown


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(reproduce)
