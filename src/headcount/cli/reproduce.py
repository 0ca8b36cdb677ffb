"""`headcount reproduce`: the paper's experiments and further checks as one resumable sweep, then verdicts, figures and a report."""

import multiprocessing
import shlex
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from headcount.cli.common import console, number, print_json, progress, progress_console
from headcount.cli.sweep import watcher
from headcount.core.errors import CheckFailed, require, unknown

if TYPE_CHECKING:
    from headcount.report.records import Report

EXPECTED = {"smoke": "about 2.5 minutes", "laptop": "under 15 minutes", "full": "under 2 hours"}


def reproduce(
    experiments: Annotated[
        list[str] | None, typer.Argument(help="1a 1b 2a 2b 3a 3b 4a 4b, rates, depth, heads, bias, or all (default)")
    ] = None,
    profile: Annotated[str, typer.Option(help="smoke (about 2.5 minutes on 2 cores), laptop (15 minutes) or full (2 hours)")] = "smoke",
    out: Annotated[Path | None, typer.Option("-o", "--out", help="output folder (default: reproduction-PROFILE)")] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="a text file or a folder of texts for 1a and 3b, instead of the standard library")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="worker processes; without it one a core")] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Run the experiments as registered hypotheses: verdicts, the four numbers of every arm, figures, errata, report.html.

    Interrupted, it goes on where it stopped when the same command is run again.
    """
    if profile not in EXPECTED:
        raise unknown("profile", profile, EXPECTED)
    from headcount.lab.experiments import chosen

    names = chosen(experiments or [])
    require(corpus is None or corpus.exists(), f"corpus {corpus}", "an existing file or folder", "check the path")
    folder = out or Path(f"reproduction-{profile}")
    command = _command(names if experiments else [], profile, out, corpus)
    report = run(names, profile, folder, corpus, workers, command)
    from headcount.report.write import summary, write

    page = write(report, folder)
    if json:
        print_json(summary(report, page))
        return
    console.print(table(report))
    if profile != "full":
        console.print(f"profile {profile}: fewer steps, seeds or cells than registered; --profile full judges the claims")
    console.print(f"{report.seconds:.0f} s; report: {escape(str(page))}")


def run(names: list[str], profile: str, folder: Path, corpus: Path | None, workers: int | None, command: str) -> "Report":
    """Everything between the command and the files."""
    from headcount.lab.experiments import studies_of
    from headcount.lab.experiments.patterns_of import diagnosed
    from headcount.lab.experiments.study import Profile
    from headcount.lab.local import LocalEngine
    from headcount.lab.reproduce import Reproduction, finals_of, reproduce
    from headcount.report import checks
    from headcount.report.reproduction import report_of

    started = time.perf_counter()
    studies = studies_of(names, Profile(profile), None if corpus is None else str(corpus))
    folder.mkdir(parents=True, exist_ok=True)
    _announce(studies, profile)
    with watcher() as watch, progress() as say, Beside(side_work, names, profile) as beside:
        store = folder / "runs.sqlite"
        result = reproduce(studies, store, engine=LocalEngine(workers), watch=watch, trained=beside.start, say=say)
        if not isinstance(result, Reproduction):
            raise KeyboardInterrupt if result.interrupted else CheckFailed(f"{result.missing} runs are missing; run the same command again")
        found = [(o.study.key, diagnosed(o.study, finals_of(o), {a.arm.name: a.numbers for a in o.arms})) for o in result.outcomes]
        say("rates and errata")
        tables, errata = beside.result()
    return report_of(
        result,
        profile=profile,
        command=command,
        seconds=time.perf_counter() - started,
        store="runs.sqlite",
        errata=errata,
        tables=[checks.rate_table(tables)] if tables else [],
        figures=checks.rate_figures(tables),
        signatures=checks.signature_rows(found),
        sections=[checks.RATES] if tables else [],
    )


def side_work(names: list[str], profile: str) -> tuple[Any, Any]:
    """What needs no training: rate tables, and the errata with their evidence."""
    from headcount.lab.experiments.rates import rates
    from headcount.lab.experiments.study import Profile
    from headcount.report.checks import errata_page

    return (rates(Profile(profile)) if "rates" in names else ()), errata_page()


class Beside:
    """A call in a process of its own, beside the rest; ended with it, whatever happens."""

    def __init__(self, function: Callable[..., Any], *arguments: Any):
        self.call = (function, *arguments)

    def __enter__(self) -> "Beside":
        context = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(1, context, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN))
        self.future: Future[Any] | None = None
        return self

    def start(self) -> None:
        self.future = self.pool.submit(*self.call)

    def result(self) -> Any:
        assert self.future is not None
        return self.future.result()

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:  # ^C or an error: nobody waits for it
            for process in list((self.pool._processes or {}).values()):
                process.terminate()
        self.pool.shutdown(wait=kind is None, cancel_futures=True)


def _announce(studies: Any, profile: str) -> None:
    """What is about to run, before it starts."""
    from headcount.lab.experiments.study import planned

    runs = [run for study in studies for run in planned(study)]
    unique = len({run.spec.content_hash for run in runs})
    progress_console.print(f"{len(studies)} studies, {unique} training runs; profile {profile}: {EXPECTED[profile]} on 2 free cores")


def _command(names: list[str], profile: str, out: Path | None, corpus: Path | None) -> str:
    options = ["--profile", profile] + (["-o", str(out)] if out else []) + (["--corpus", str(corpus)] if corpus else [])
    return shlex.join(["headcount", "reproduce", *names, *options])


def table(report: "Report") -> Table:
    """One line a verdict."""
    shown = Table(title=f"Verdicts, profile {report.profile}", title_justify="left", box=None)
    for name in ("", "variant", "verdict", "effect", "interval", "p (Holm)", "seeds", "claim"):
        shown.add_column(name, justify="right" if name in ("effect", "p (Holm)", "seeds") else "left")
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
