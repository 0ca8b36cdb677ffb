"""`headcount study finite-sample | robustness | rivals | mad` and `headcount zoo`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from headcount.cli.common import console, print_json, progress
from headcount.core.errors import require, unknown

if TYPE_CHECKING:
    from headcount.lab.sweep.engine import AbstractEngine
    from headcount.report.study_page import StudyPage
    from headcount.train.run_spec import RunSpec

study = typer.Typer(no_args_is_help=True, help="Limited data, other architectures, rivals.")
PROFILE = Annotated[
    str, typer.Option(help="smoke (under 2 minutes), laptop (under 15) or full (3 hours)")
]
OUT = Annotated[Path | None, typer.Option("-o", "--out", help="folder for runs and report")]
ENGINE = Annotated[str, typer.Option(help="local, or ray for a cluster")]
WORKERS = Annotated[int | None, typer.Option(help="worker processes; without it one per core")]
DRY = Annotated[bool, typer.Option("--dry-run", help="only say how many runs it would be")]
JSON = Annotated[bool, typer.Option("--json", help="print one JSON document")]


def engine_of(name: str, workers: int | None) -> "AbstractEngine":
    """The engine by name."""
    if name == "local":
        from headcount.lab.sweep.local_engine import LocalEngine

        return LocalEngine(workers)
    if name == "ray":
        from headcount.lab.sweep.ray_engine import RayEngine

        return RayEngine(workers=workers)
    raise unknown("engine", name, ["local", "ray"])


def numbers(text: str | None, what: str) -> list[int] | None:
    """'30,100' → [30, 100]."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    good = all(part.isdigit() and len(part) < 10 for part in parts)
    require(good, f"{what} {text!r}", "whole numbers joined by commas", "for example 100,1000")
    return [int(part) for part in parts]


def changed(model: str | None, changes: list[str] | None) -> Any:
    """A baseline by text, or the fields of a Transformer as key=value words."""
    from headcount.core.overrides import with_changes

    return model if model is not None or not changes else with_changes({}, changes)


def told(found: Any, page: "StudyPage", folder: Path, json: bool) -> None:
    """Write the page, then print the document or the sentences and the table."""
    from headcount.report.one_page import cell
    from headcount.report.study_page import write_page

    place = write_page(page, found.to_json(), folder)
    if json:
        print_json(found.to_json() | {"report": str(place)})
        return
    for sentence in page.sentences:
        console.print(escape(sentence))
    from rich.table import Table

    table = Table(box=None)
    for name in page.columns:
        table.add_column(str(name), justify="right")
    for row in page.rows:
        table.add_row(*(escape(cell(value)) for value in row))
    console.print(table)
    console.print(f"report: {escape(str(place))}")


@study.command("finite-sample")
def finite_sample(
    target: Annotated[str, typer.Argument(help="a memory, e.g. essential:kernel=exp:0.3")],
    model: Annotated[str | None, typer.Option(help="a baseline, e.g. filter:taps=8")] = None,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="a field of a Transformer, e.g. heads=4")
    ] = None,
    over: Annotated[str, typer.Option(help="n, heads, neurons or layers")] = "n",
    sizes: Annotated[str | None, typer.Option(help="values on that axis, e.g. 30,300,3000")] = None,
    samples: Annotated[int, typer.Option(help="samples where the axis is not n")] = 1000,
    noise: Annotated[float, typer.Option(help="deviation of noise on the answers")] = 0.0,
    series: Annotated[bool, typer.Option("--series", help="windows of one long series")] = False,
    error: Annotated[float | None, typer.Option(help="how many samples reach this risk?")] = None,
    length: Annotated[int | None, typer.Option(help="tokens of a sequence")] = None,
    profile: PROFILE = "laptop",
    out: OUT = None,
    engine: ENGINE = "local",
    workers: WORKERS = None,
    dry_run: DRY = False,
    json: JSON = False,
) -> None:
    """A learning curve taken apart: approximation, precision, estimation, optimisation."""
    from headcount.studies import finite_sample as verb

    fields = changed(model, change)
    if dry_run:
        design = verb.Design.of(target, fields, noise, series, over, numbers(sizes, "sizes"),
                                samples, error, length, profile)  # fmt: skip
        _dry(verb.planned(design), json)
        return
    folder = out or Path("finite-sample")
    with progress() as say:
        found = verb.finite_sample(
            target, fields, noise=noise, series=series, over=over, sizes=numbers(sizes, "sizes"),
            samples=samples, error=error, length=length, profile=profile, folder=folder,
            engine=engine_of(engine, workers), say=say,
        )  # fmt: skip
    from headcount.report.finite_sample_page import page

    told(found, page(found), folder, json)


@study.command()
def rivals(
    memories: Annotated[
        list[str] | None, typer.Argument(help="names of the collection; see headcount zoo --list")
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="contenders; without it all of them")
    ] = None,
    equal: Annotated[str, typer.Option(help="parameters, state or work")] = "parameters",
    profile: PROFILE = "laptop",
    out: OUT = None,
    engine: ENGINE = "local",
    workers: WORKERS = None,
    dry_run: DRY = False,
    json: JSON = False,
) -> None:
    """Transformers against recurrences and convolutions on the same memories."""
    from headcount.studies import rivals as verb

    if dry_run:
        _dry(verb.planned(memories, model, equal, profile), json)
        return
    folder = out or Path("rivals")
    with progress() as say:
        found = verb.rivals(memories, model, equal=equal, profile=profile, folder=folder,
                            engine=engine_of(engine, workers), say=say)  # fmt: skip
    from headcount.report.rivals_page import page

    told(found, page(found), folder, json)


@study.command()
def robustness(
    insights: Annotated[list[str] | None, typer.Argument(help="1a … 4b; without it all")] = None,
    profile: PROFILE = "laptop",
    out: OUT = None,
    engine: ENGINE = "local",
    workers: WORKERS = None,
    dry_run: DRY = False,
    json: JSON = False,
) -> None:
    """Every insight of the paper against other architectures and trainings."""
    from headcount.studies import robustness as verb

    if dry_run:
        _dry(verb.planned(insights, profile), json)
        return
    folder = out or Path("robustness")
    with progress() as say:
        found = verb.robustness(insights, profile=profile, folder=folder,
                                engine=engine_of(engine, workers), say=say)  # fmt: skip
    from headcount.report.robustness_page import page

    told(found, page(found), folder, json)


@study.command()
def mad(
    tasks: Annotated[list[str] | None, typer.Argument(help="without it all")] = None,
    profile: PROFILE = "laptop",
    out: OUT = None,
    engine: ENGINE = "local",
    workers: WORKERS = None,
    dry_run: DRY = False,
    json: JSON = False,
) -> None:
    """MAD's tasks and multi-query recall: is the predicted smallest architecture right?

    Example: headcount study mad "noisy recall" memorising --profile smoke
    """
    from headcount.studies import mad_tasks as verb

    if dry_run:
        _dry(verb.planned(tasks, profile), json)
        return
    folder = out or Path("mad")
    with progress() as say:
        found = verb.mad(tasks, profile=profile, folder=folder,
                         engine=engine_of(engine, workers), say=say)  # fmt: skip
    from headcount.report.rivals_page import mad_page

    told(found, mad_page(found), folder, json)


def zoo(
    model: Annotated[
        str | None, typer.Argument(help="a contender (transformer, gru, …) or gru:width=32")
    ] = None,
    memories: Annotated[list[str] | None, typer.Option("--memory", help="some of them")] = None,
    listed: Annotated[bool, typer.Option("--list", help="the collection of memories")] = False,
    minima: Annotated[bool, typer.Option(help="plan the smallest model of each memory")] = True,
    profile: PROFILE = "laptop",
    out: OUT = None,
    engine: ENGINE = "local",
    workers: WORKERS = None,
    dry_run: DRY = False,
    json: JSON = False,
) -> None:
    """A model's profile over the whole collection of memories, beside the smallest known."""
    from headcount.studies.collection import COLLECTION

    if listed:
        rows = [{"name": t.name, "family": str(t.family), "target": t.text, "length": t.length}
                for t in COLLECTION]  # fmt: skip
        if json:
            print_json({"memories": rows})
        else:
            for row in rows:
                console.print(f"{row['name']:15} {row['family']:10} {escape(str(row['target']))}")
        return
    require(model, "no model", "a model", "for example headcount zoo gru:width=32")
    from headcount.studies import zoo as verb

    if dry_run:
        _dry(verb.planned(str(model), memories, profile), json)
        return
    folder = out or Path("zoo")
    with progress() as say:
        found = verb.zoo(str(model), memories, profile=profile, folder=folder, minima=minima,
                         engine=engine_of(engine, workers), say=say)  # fmt: skip
    from headcount.report.rivals_page import zoo_page

    told(found, zoo_page(found), folder, json)


def _dry(specs: "list[RunSpec]", json: bool) -> None:
    """What the runs would cost, from short trials of each shape; nothing is written."""
    from headcount.lab.sweep.driver import jobs_of
    from headcount.lab.sweep.estimate import estimate
    from headcount.lab.sweep.local_engine import LocalEngine
    from headcount.lab.sweep.trainer import Trainer

    runner = Trainer()
    with progress() as say:
        say(f"{len(specs)} runs: short trials of each shape")
        found = estimate(jobs_of(specs, runner), (), LocalEngine(), runner)
    if json:
        print_json({"runs": found.to_do, **found.to_json()})
        return
    tried = f"{found.measured} of {found.shapes} shapes tried"
    console.print(f"{found.to_do} runs, about {found.cpu_seconds / 60:.0f} CPU minutes ({tried})")


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.add_typer(study, name="study")
    app.command()(zoo)
