"""`headcount reproduce`: the main job. Until the experiments exist it is the smoke run."""

import time
from typing import Annotated

import typer
from rich.table import Table

from headcount.cli.common import console, print_json, progress
from headcount.core.errors import unknown

PROFILES = ("smoke",)


def reproduce(
    profile: Annotated[str, typer.Option(help="smoke: the numbers that exist so far, in under two minutes")] = "smoke",
    seed: Annotated[int, typer.Option(help="root seed of the random inputs")] = 0,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Build targets and models and print promised, possible and representable, each checked on the model itself."""
    if profile not in PROFILES:
        raise unknown("profile", profile, PROFILES)
    from headcount.core.seeds import Seeds
    from headcount.lab import smoke

    Seeds(seed)  # an impossible seed is refused before any work

    started = time.perf_counter()
    with progress() as say:
        rows = list(smoke.run(seed, say))
    if json:
        print_json(smoke.summary(rows, started))
        return
    table = Table(title="Largest output error for inputs in [-1, 1] (l1 error over 1000 lags)", title_justify="left")
    for name in ("memory", "heads", "promised", "possible", "at least", "float32", "bfloat16", "learned"):
        table.add_column(name, justify="left" if name in ("memory", "heads", "learned") else "right")
    for row in rows:
        floor = f"{row.lower_bound:.3g}" + ("" if row.certified else " (not certified)")
        table.add_row(
            row.what, row.heads, row.promised, f"{row.possible:.3g}", floor, f"{row.float32:.3g}", f"{row.bfloat16:.3g}", "not yet"
        )
    console.print(table)
    console.print(
        f"Every model's error was compared with ball arithmetic. Learned: {rows[0].learned}. {time.perf_counter() - started:.0f} s, seed {seed}."
    )


def register(app: typer.Typer) -> None:
    app.command()(reproduce)
