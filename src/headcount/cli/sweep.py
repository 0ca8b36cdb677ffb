"""`headcount sweep`, `status` and `results`: a plan of runs into a store, how it stands, and its
figures as a table.
"""

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from headcount.cli.common import console, number, print_json, progress, progress_console, safe, tell
from headcount.cli.options import ENGINE, JSON, WORKERS, engine_of
from headcount.core.errors import CheckFailed, require
from headcount.lab.sweep.progress import progress_teller, spoken

if TYPE_CHECKING:
    from headcount.lab.sweep.driver import Summary
    from headcount.lab.sweep.engine import AbstractEngine, Job
    from headcount.lab.sweep.estimate import Estimate
    from headcount.lab.sweep.results import StoreStatus

LINE_SECONDS = 10.0  # without a terminal, a line of progress no more often than this
SHOWN = 60  # runs listed by --dry-run for people; --json lists all
PLAN = Annotated[
    Path | None,
    typer.Argument(
        help="a .yaml, .toml or .json file: baseline, axes, changes, seeds (see --example)"
    ),
]
STORE = Annotated[
    Path, typer.Option(help="the file that holds the results; created where there is none")
]
DRY = Annotated[
    bool,
    typer.Option("--dry-run", help="list the runs, measure briefly, and tell what they will cost"),
]


def sweep(
    plan: PLAN = None,
    store: STORE = Path("runs.sqlite"),
    workers: WORKERS = None,
    engine: ENGINE = "local",
    address: Annotated[
        str | None,
        typer.Option(help="the Ray cluster; without it one is started here for the sweep"),
    ] = None,
    dry_run: DRY = False,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="end at the first run that fails")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="compute runs that failed before once more")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="drop the stored results of this plan and compute them again"),
    ] = False,
    weights: Annotated[
        bool, typer.Option("--weights", help="keep the trained models beside the store")
    ] = False,
    pin: Annotated[
        bool, typer.Option("--pin", help="keep each local worker on a core of its own")
    ] = False,
    example: Annotated[
        bool, typer.Option("--example", help="print a small ready plan and end")
    ] = False,
    json: JSON = False,
) -> None:
    """Compute every run of a plan that the store does not hold yet. Running the same command
    again continues.
    """
    if example:
        from headcount.lab.sweep.sweep_plan import EXAMPLE  # numpy and pydantic: not for --help

        sys.stdout.write(EXAMPLE)
        return
    require(plan is not None, "no plan", "a plan file", "write one from headcount sweep --example")
    assert plan is not None
    chosen = engine_of(engine, workers, address, pin)
    from headcount.lab.sweep import driver as lab
    from headcount.lab.sweep.trainer import Trainer

    runner = Trainer(weights=weights)
    if dry_run:
        jobs = lab.jobs_of(plan, runner)
        _dry_run(jobs, store, chosen, runner, json)
        return
    # Ray prints; stdout is for the answer alone
    with progress(LINE_SECONDS) as say, contextlib.redirect_stdout(sys.stderr):
        done = lab.sweep(
            plan, store, engine=chosen, runner=runner, fail_fast=fail_fast,
            retry_failed=retry_failed, force=force, watch=progress_teller(say),
        )  # fmt: skip
    if json:
        print_json(done.to_json())
    else:
        _print_summary(done)
    _conclude(done, force)


def status(
    store: Annotated[Path, typer.Argument(help="a file written by headcount sweep")],
    json: JSON = False,
) -> None:
    """How a store stands: finished, failed and why, running, still to do. Also while a sweep
    runs.
    """
    from headcount.lab.sweep.results import status as look

    found = look(store)
    if json:
        print_json(found.to_json())
    else:
        _print_status(found)


def results(
    store: Annotated[Path, typer.Argument(help="a file written by headcount sweep")],
    csv: Annotated[
        bool, typer.Option("--csv", help="CSV, one row per run (the default in a file or a pipe)")
    ] = False,
    parquet: Annotated[
        bool, typer.Option("--parquet", help="a Parquet file on stdout; needs the extra `data`")
    ] = False,
    curves: Annotated[
        bool,
        typer.Option(
            "--curves", help="one row per run, metric and logged step instead of one per run"
        ),
    ] = False,
    summary: Annotated[
        bool,
        typer.Option(
            "--summary",
            help="by axis: runs, and smallest, median and largest loss (the default on a terminal)",
        ),
    ] = False,
    json: JSON = False,
) -> None:
    """What a sweep found: a summary by axis, or the stored figures as a table on stdout, one row
    per run. Also while a sweep runs.
    """
    _one_form(csv, parquet, curves, summary, json)
    from headcount.lab.sweep import results as lab

    table, damaged = lab.results(store, curves)
    if damaged:
        progress_console.print(
            f"warning: {len(damaged)} damaged rows are left out (headcount sweep computes them"
            f" again): {safe(damaged[0])} …"
        )
    if summary or (sys.stdout.isatty() and not (csv or parquet or curves or json)):
        _print_axes(table, json)
    elif json:
        print_json(
            {
                "columns": list(table),
                "rows": [list(row) for row in zip(*table.values(), strict=True)],
                "damaged": damaged,
            }
        )
    elif parquet:
        sys.stdout.buffer.write(lab.to_parquet(table))
    else:
        sys.stdout.write(lab.to_csv(table))


def _one_form(csv: bool, parquet: bool, curves: bool, summary: bool, json: bool) -> None:
    """Results are asked for in one form that stdout can take."""
    require(
        not summary or not (csv or parquet or curves),
        "--summary with --csv, --parquet or --curves",
        "one of them",
        "drop the others (--summary --json is possible)",
    )
    require(
        csv + parquet + json <= 1,
        "more than one of --csv, --parquet and --json",
        "one of them",
        "drop the others",
    )
    require(
        not (parquet and sys.stdout.isatty()),
        "--parquet onto a terminal",
        "stdout in a file or a pipe",
        "add > results.parquet",
    )


def register(app: typer.Typer) -> None:
    app.command("sweep")(sweep)
    app.command("status")(status)
    app.command("results")(results)


def _print_axes(table: dict[str, list[Any]], json: bool) -> None:
    from headcount.lab.sweep.summary import by_axis

    rows = by_axis(table)
    if json:
        print_json({"axes": [row.to_json() for row in rows]})
        return
    shown = Table("axis", "value", "runs", "with loss", "smallest", "median", "largest", box=None)
    for row in rows:
        spread = (number(value) for value in (row.smallest, row.median, row.largest))
        words = safe(row.axis), safe(row.value)
        shown.add_row(*words, str(row.runs), str(row.finished), *spread)
    if not rows:
        tell("No runs are stored yet: headcount status tells what is to do.")
        return
    tell("The test loss of the runs with each value of an axis (--csv: every run, every figure):")
    console.print(shown)
    if any(row.finished < row.runs for row in rows):
        tell("Runs without a loss diverged, failed or are not done: headcount status tells.")


def _print_summary(done: "Summary") -> None:
    outcomes = (
        ", ".join(f"{count} {name}" for name, count in sorted(done.outcomes.items()))
        or "none stored"
    )
    console.print(
        f"{safe(done.store)}: {done.runs} runs: {outcomes}"
        + (f", {done.missing} missing" if done.missing else "")
    )
    parts = [
        f"{done.computed} computed now in {spoken(done.seconds)} ({spoken(done.cpu_seconds)} of CPU"
        " time)"
    ]
    parts += [f"{done.before} stored before"] if done.before else []
    parts += [f"{done.elsewhere} computed by another sweep meanwhile"] if done.elsewhere else []
    console.print(", ".join(parts))
    if done.complete:
        tell(f"headcount results {done.store} --summary tells them by axis; --csv: every figure")


def _conclude(done: "Summary", force: bool) -> None:
    """How it ended, for a script: nothing, ^C (130), or failed runs (1)."""
    if done.interrupted:
        if force:
            progress_console.print("what was computed again is stored: go on without --force")
        raise KeyboardInterrupt
    if done.failed:
        ended = "; ended at the first failure" if done.stopped else ""
        raise CheckFailed(
            f"{done.failed} of {done.runs} runs failed{ended}; see headcount status {done.store};"
            " --retry-failed computes them again"
        )


def _print_status(found: "StoreStatus") -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    rows: list[tuple[str, Any]] = [("runs", found.runs)]
    rows += [(f"  {name}", count) for name, count in sorted(found.outcomes.items())]
    rows += [("  running", found.running), ("  to do", found.waiting)]
    rows += [("  damaged", len(found.damaged))] if found.damaged else []
    rows += [("CPU time", spoken(found.cpu_seconds))]
    for name, value in rows:
        table.add_row(name, str(value))
    console.print(table)
    for line in found.sweeps:
        console.print(f"at work: {safe(line)}")
    for failure in found.failures:
        console.print(f"failed: {failure.id} {safe(failure.label)}: {safe(failure.error)}")
    for id in found.damaged:
        console.print(
            f"damaged: {safe(id)}: its checksum does not fit; headcount sweep computes it again"
        )


def _dry_run(
    jobs: "dict[str, Job]", path: Path, engine: "AbstractEngine", runner: Any, json: bool
) -> None:
    from headcount.lab.sweep.estimate import estimate
    from headcount.lab.sweep.results import labels
    from headcount.lab.sweep.store import Store

    rows: list[Any] = []
    if path.exists():
        with Store(path, read_only=True) as store:
            rows, _ = store.rows(jobs)
    with contextlib.redirect_stdout(sys.stderr):
        cost = estimate(jobs, rows, engine, runner)
    states = {row.id: row.status for row in rows}
    named = zip(jobs, labels([job.spec.to_plain() for job in jobs.values()]), strict=True)
    runs = [{"id": id, "run": label, "status": states.get(id, "to do")} for id, label in named]
    if json:
        print_json({"runs": runs, "estimate": cost.to_json()})
        return
    for run in runs[:SHOWN]:
        console.print(f"{run['id']}  {run['status']:<8}  {safe(run['run'])}")
    if len(runs) > SHOWN:
        console.print(f"… and {len(runs) - SHOWN} more (--json lists all)")
    tell(_told(cost, len(runs)))


def _told(cost: "Estimate", runs: int) -> str:
    if cost.to_do == 0:
        return f"{runs} runs, all stored: nothing to do"
    measured = f"{cost.measured} of {cost.shapes} shapes measured"
    if not cost.ends:
        return f"{runs} runs, {cost.to_do} to do; no shape could be measured in the time"
    return (
        f"{runs} runs, {cost.to_do} to do: about {cost.cpu_seconds / 60:.1f} CPU-minutes,"
        f" {spoken(cost.seconds)} on {cost.workers} workers, until {cost.ends} ({measured})"
    )
