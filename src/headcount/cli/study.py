"""`headcount study finite-sample | robustness | rivals | mad` and `headcount zoo`."""

import dataclasses
import enum
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from headcount.cli.common import console, print_json, progress, progress_console, tell
from headcount.cli.options import ENGINE, JSON, WORKERS, engine_of
from headcount.core.errors import require

if TYPE_CHECKING:
    from headcount.report.study_page import StudyPage
    from headcount.train.run_spec import RunSpec

study = typer.Typer(invoke_without_command=True, help="Limited data, other architectures, rivals.")


@study.callback()
def which(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


PROFILE = Annotated[
    str, typer.Option(help="smoke (under 2 minutes), laptop (under 15) or full (3 hours)")
]
OUT = Annotated[Path | None, typer.Option("-o", "--out", help="folder for runs and report")]
DRY = Annotated[bool, typer.Option("--dry-run", help="only say how many runs it would be")]


class Counted(enum.StrEnum):
    """What the runs of a dry run are of all that may come."""

    FIRST = "the first look; more seeds follow where an answer is open"
    MOST = "at most; the study ends earlier where fewer steps are enough"


@dataclasses.dataclass(frozen=True)
class Ways:
    """The options that every study has: how it is carried out and told."""

    profile: PROFILE = "laptop"
    out: OUT = None
    engine: ENGINE = "local"
    workers: WORKERS = None
    dry_run: DRY = False
    json: JSON = False

    def carry_out(
        self,
        name: str,
        planned: "Callable[[], list[RunSpec]]",
        run: Callable[..., Any],
        page: "Callable[[Any], StudyPage]",
        counted: Counted = Counted.FIRST,
    ) -> None:
        """What the runs would cost; or the runs, the page in the folder, and what it says.

        `run` takes profile, folder, engine and say.
        """
        from headcount.report.study_page import refuse_study_taken

        folder = self.out or Path(name)
        engine = engine_of(self.engine, self.workers)
        if self.dry_run:
            _dry(planned(), folder / "runs.sqlite", counted, self.json)
            return
        refuse_study_taken(folder)  # before the work: a report can be written there in the end
        with progress() as say:
            found = run(profile=self.profile, folder=folder, engine=engine, say=say)
        told(found, page(found), folder, self.json)


def with_ways(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb whose last parameter is `ways`: its options, then those of `Ways`, for the parser."""
    own = list(inspect.signature(verb).parameters.values())[:-1]
    shared = list(inspect.signature(Ways).parameters.values())

    @functools.wraps(verb)
    def called(**given: Any) -> None:
        ways = Ways(**{each.name: given.pop(each.name) for each in shared})
        verb(**given, ways=ways)

    called.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in (*own, *shared)}
    return called


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

    if model is None:
        return with_changes({}, changes) if changes else None
    both = f"--model {model} and --set {' '.join(changes or ())}"
    expected = "one of them, for --set changes the default Transformer"
    require(not changes, both, expected, "write a baseline's fields into --model")
    return model


def told(found: Any, page: "StudyPage", folder: Path, json: bool) -> None:
    """Write the page, then print the document or the sentences and the table."""
    from headcount.report.one_page import cell
    from headcount.report.study_page import answered, write_page
    from headcount.report.wording import neat

    before = answered(folder)
    place = write_page(page, found.to_json(), folder)
    if before and before != answered(folder):
        note = f"note: the report of {before} in {folder} is replaced; its runs stay"
        progress_console.print(escape(note), soft_wrap=True)
    if json:
        print_json(found.to_json() | {"report": str(place)})
        return
    for sentence in filter(None, (page.banner, *page.sentences)):
        console.print(escape(neat(sentence)))
    table = Table(box=None)
    for name in page.columns:
        table.add_column(str(name), justify="right")
    for row in page.rows:
        table.add_row(*(escape(cell(value)) for value in row))
    console.print(table)
    console.print(f"report: {escape(str(place))}")


@study.command("finite-sample")
@with_ways
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
    *,
    ways: Ways,
) -> None:
    """A learning curve taken apart: approximation, precision, estimation, optimisation."""
    from headcount.report.finite_sample_page import page
    from headcount.studies import finite_sample as verb

    fields = changed(model, change)
    verb.check_error(over, error)
    asked: dict[str, Any] = {
        "noise": noise, "series": series, "over": over, "sizes": numbers(sizes, "sizes"),
        "samples": samples, "error": error, "length": length,
    }  # fmt: skip
    ways.carry_out(
        "finite-sample",
        lambda: verb.planned(verb.Design.of(target, fields, **asked, profile=ways.profile)),
        functools.partial(verb.finite_sample, target, fields, **asked),
        page,
        Counted.MOST,
    )


@study.command()
@with_ways
def rivals(
    memories: Annotated[
        list[str] | None, typer.Argument(help="names of the collection; see headcount zoo --list")
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="contenders; without it all of them")
    ] = None,
    equal: Annotated[str, typer.Option(help="parameters, state or work")] = "parameters",
    *,
    ways: Ways,
) -> None:
    """Transformers against recurrences and convolutions on the same memories."""
    from headcount.report.rivals_page import page
    from headcount.studies import rivals as verb

    ways.carry_out(
        "rivals",
        lambda: verb.planned(memories, model, equal, ways.profile),
        functools.partial(verb.rivals, memories, model, equal=equal),
        page,
    )


@study.command()
@with_ways
def robustness(
    insights: Annotated[
        list[str] | None,
        typer.Argument(help="1a … 4b, or a cheaper design such as TMX; without it all"),
    ] = None,
    *,
    ways: Ways,
) -> None:
    """Every insight of the paper against other architectures and trainings."""
    from headcount.report.robustness_page import page
    from headcount.studies import robustness as verb

    ways.carry_out(
        "robustness",
        lambda: verb.planned(insights, ways.profile),
        functools.partial(verb.robustness, insights),
        page,
    )


@study.command()
@with_ways
def mad(
    tasks: Annotated[list[str] | None, typer.Argument(help="without it all")] = None, *, ways: Ways
) -> None:
    """MAD's tasks and multi-query recall: is the predicted smallest architecture right?

    Example: headcount study mad "noisy recall" memorising --profile smoke
    """
    from headcount.report.rivals_page import mad_page
    from headcount.studies import mad_tasks as verb

    ways.carry_out(
        "mad",
        lambda: verb.planned(tasks, ways.profile),
        functools.partial(verb.mad, tasks),
        mad_page,
    )


@with_ways
def zoo(
    model: Annotated[
        str | None, typer.Argument(help="a contender (transformer, gru, …) or gru:width=32")
    ] = None,
    memories: Annotated[list[str] | None, typer.Option("--memory", help="some of them")] = None,
    listed: Annotated[bool, typer.Option("--list", help="the collection of memories")] = False,
    minima: Annotated[bool, typer.Option(help="plan the smallest model of each memory")] = True,
    *,
    ways: Ways,
) -> None:
    """A model's profile over the whole collection of memories, beside the smallest known."""
    if listed:
        from headcount.studies.collection import COLLECTION

        rows = [{"name": t.name, "family": str(t.family), "target": t.text, "length": t.length}
                for t in COLLECTION]  # fmt: skip
        if ways.json:
            print_json({"memories": rows})
        else:
            _print_collection(rows)
        return
    require(model, "no model", "a model", "for example headcount zoo gru:width=32")
    from headcount.report.zoo_page import page
    from headcount.studies import zoo as verb

    ways.carry_out(
        "zoo",
        lambda: verb.planned(str(model), memories, ways.profile),
        functools.partial(verb.zoo, str(model), memories, minima=minima),
        page,
    )


def _print_collection(rows: list[dict[str, Any]]) -> None:
    from headcount.studies.collection import RIGHT, SHARE

    tell(
        f"{len(rows)} memories. A model reaches one where it leaves at most {SHARE:.0%} of the"
        f" variance, or answers {RIGHT:.0%} right. headcount explain adaptive tells what a family"
        " is."
    )
    table = Table("name", "family", box=None, pad_edge=False)
    table.add_column("memory", overflow="fold")
    table.add_column("tokens", justify="right")
    for row in rows:
        table.add_row(row["name"], row["family"], escape(row["target"]), str(row["length"]))
    console.print(table)


def _dry(specs: "list[RunSpec]", store: Path, counted: Counted, json: bool) -> None:
    """What the runs that the store lacks would cost, from short trials of shapes; nothing is
    written.
    """
    from headcount.lab.sweep.driver import jobs_of
    from headcount.lab.sweep.estimate import estimate
    from headcount.lab.sweep.local_engine import LocalEngine
    from headcount.lab.sweep.progress import spoken
    from headcount.lab.sweep.store import Store
    from headcount.lab.sweep.trainer import Trainer

    runner, rows = Trainer(), []
    if store.is_file():
        with Store(store, read_only=True) as opened:
            rows = opened.rows()[0]
    with progress() as say:
        say(f"{len(specs)} runs: short trials of some shapes")
        found = estimate(jobs_of(specs, runner), rows, LocalEngine(), runner)
    if json:
        print_json({"runs": found.to_do, "counted": counted.name.lower(), **found.to_json()})
        return
    minutes = found.cpu_seconds / 60
    cost = f"{minutes:.0f} CPU minutes" if minutes >= 1.5 else f"{spoken(found.cpu_seconds)} of CPU"
    tried = f"{found.measured} of {found.shapes} shapes tried"
    tell(f"{found.to_do} runs, about {cost} ({tried}). That is {counted}.")


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.add_typer(study, name="study")
    app.command()(zoo)
