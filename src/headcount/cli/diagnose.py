"""`headcount diagnose DATA`: the memory of a user's own sequences, and an architecture for it."""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from headcount.cli.common import console, number, print_json, progress, tell
from headcount.core.beside import Apart
from headcount.core.errors import InputError
from headcount.core.files import refuse_occupied

if TYPE_CHECKING:
    from headcount.diagnose import Diagnosis


def diagnose(
    data: Annotated[
        str,
        typer.Argument(
            help=".npy, .npz, .csv, .parquet, .jsonl, .txt, a folder of texts, or a saved model"
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(help="column to explain by the others; next:COL predicts the next COL"),
    ] = None,
    max_lag: Annotated[int | None, typer.Option(help="largest lag to search")] = None,
    lags: Annotated[str | None, typer.Option(help="only these lags: 1,2,4,8")] = None,
    alpha: Annotated[float, typer.Option(help="chance of finding what is not there")] = 0.05,
    seed: Annotated[int, typer.Option(help="of the replicates")] = 0,
    order: Annotated[int, typer.Option(help="3: search products of three lags too")] = 2,
    detrend: Annotated[
        bool, typer.Option("--detrend", help="advise for what trend and season leave")
    ] = False,
    segments: Annotated[
        str | None, typer.Option(help="column that changes where a new sequence begins")
    ] = None,
    tokens: Annotated[str | None, typer.Option(help="words, bytes or top-k")] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="train the advised model and two rivals")
    ] = False,
    learner: Annotated[bool, typer.Option(help="compare with a generic learner")] = True,
    advice: Annotated[bool, typer.Option(help="plan an architecture")] = True,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="folder for a one-page report")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Which memory do these sequences have? Lags, adaptivity, tail, trend and season, with error
    rates that hold; then the architecture that this memory needs.
    """
    process = _loading(Path(data)) if learner else None
    from headcount.diagnose import diagnose as run  # numpy and scipy: not needed for --help
    from headcount.diagnose.learner import waiting
    from headcount.diagnose.read import read

    with waiting(process):
        box = _model(Path(data), max_lag)
        for option, value in (("--target", target), ("--segments", segments), ("--tokens", tokens)):
            if box and value is not None:
                fix = f"leave {option} out"
                raise InputError(f"{option} {value} for a saved model", "none", fix)
        if out is not None:
            refuse_occupied(out)
        with progress() as say:
            found = run(
                box.pop("x", None)
                or read(Path(data), target=target, segments=segments, tokens=tokens),
                **box,
                max_lag=max_lag,
                lags=None if lags is None else lag_list(lags),
                alpha=alpha,
                seed=seed,
                order=order,
                detrend=detrend,
                learner=learner,
                advise=advice,
                verify=verify,
                progress=lambda step: say(f"diagnosing: {step}"),
            )
    if out is not None:
        from headcount.report.diagnosis_page import write_page  # matplotlib

        write_page(found, out, data)
    if json:
        print_json({"data": data, **found.to_json()})
    else:
        show(found)
        if out is not None:
            console.print(f"report: {escape(str(out / 'report.html'))}")
    if found.interrupted:  # what is known is printed; a script still learns that it was not all
        raise KeyboardInterrupt


def _model(path: Path, max_lag: int | None) -> dict[str, Any]:
    """A folder that holds a saved model is a black box."""
    if not (path / "config.json").exists():
        return {}
    from headcount.diagnose.black_box import saved_box  # jax

    box, symbols = saved_box(path)
    return {"x": box, "symbols": symbols, "window": (max_lag or USUAL_WINDOW - 1) + 1}


def _loading(data: Path) -> Apart | None:
    """A process that loads the generic learner beside our own imports, for files of real values."""
    real = data.suffix.lower() in (".npy", ".npz", ".csv", ".parquet") and data.exists()
    if not real or importlib.util.find_spec("sklearn") is None:
        return None
    return Apart("sklearn.ensemble", "headcount.diagnose.learner")


USUAL_WINDOW = 32


def lag_list(text: str) -> tuple[int, ...]:
    """'1,2,4' as numbers."""
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise InputError(f"lags {text!r}", "whole numbers", "for example --lags 1,2,4,8") from None


def show(found: "Diagnosis") -> None:
    """The sentence, then the tables."""
    from headcount.diagnose.words import closing, note_words, sentence

    tell(sentence(found))
    for table in tables(found):
        console.print()
        console.print(table)
    console.print()
    for note in found.notes:
        tell(f"note: {note_words(note)}")
    tell(closing(found))


def tables(found: "Diagnosis") -> list[Table]:
    """Lags, map, models, and how it was found."""
    from headcount.diagnose.words import model_words

    made = []
    if found.lags:
        unit = "held-out nats" if found.method.tokens else "held-out partial R²"
        table = _table("lag", "channel", unit, "95 % interval", "p (adjusted)", "enters")
        for lag in found.lags:
            ends = "–" if lag.ci is None else f"{lag.ci[0]:.3f} … {lag.ci[1]:.3f}"
            with_ = f" with lag {', '.join(map(str, lag.partners))}" if lag.partners else ""
            table.add_row(
                str(lag.lag),
                escape(lag.channel),
                number(lag.effect),
                ends,
                number(lag.p),
                f"{lag.family}{with_}",
            )
        made.append(table)
    if found.map:
        table = _table("level", "value", "lags read", "p (adjusted)")
        for entry in found.map:
            lags = ", ".join(map(str, entry.lags))
            table.add_row(str(entry.level), escape(entry.value), lags, number(entry.p))
        made.append(table)
    if found.models:
        table = _table("model", "held-out gain", "s.e.", "")
        for model in found.models:
            chosen = "chosen" if model.chosen else ""
            table.add_row(
                escape(model_words(model)), f"{model.gain:.3f}", f"{model.error:.3f}", chosen
            )
        made.append(table)
    if found.verified is not None:
        made.append(_verified(found))
    made.append(_facts(found))
    return made


def _table(*columns: str) -> Table:
    table = Table(box=None, title_justify="left")
    for column in columns:
        table.add_column(column)
    return table


def _verified(found: "Diagnosis") -> Table:
    assert found.verified is not None
    low, high = found.verified.expected
    table = _table("trained", "layers", "heads", "bias", "attention", "held-out loss", "")
    for run in found.verified.runs:
        inside = "as foretold" if run.loss <= high else f"above {number(high)}"
        sizes = (str(run.layers), str(run.heads), run.bias, run.attention)
        table.add_row(run.role, *sizes, number(run.loss), inside)
    table.title = f"foretold loss {number(low)} … {number(high)}"
    return table


def _facts(found: "Diagnosis") -> Table:
    from headcount.diagnose.words import facts

    table = Table(box=None, show_header=False)
    for name, words in facts(found):
        table.add_row(name, escape(words))
    return table


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("diagnose")(diagnose)
