"""`headcount cache`: where answers are kept, how many, how large; `--clear` removes them."""

from typing import Annotated

import typer

from headcount.cli.common import console, print_json
from headcount.cli.options import JSON
from headcount.core.cache import clear, contents


def cache(
    remove: Annotated[bool, typer.Option("--clear", help="remove every answer")] = False,
    json: JSON = False,
) -> None:
    """Answers that are kept on disk: what was asked before is read again (HEADCOUNT_CACHE=PATH
    moves them, HEADCOUNT_CACHE=off keeps none, HEADCOUNT_CACHE_MB=256 bounds them).
    """
    removed = clear() if remove else None
    now = contents()
    folder = None if now.folder is None else str(now.folder)
    if json:
        values = {"folder": folder, "entries": now.entries, "bytes": now.size, "limit": now.limit}
        print_json({**values, "removed": removed.entries if removed else 0})
        return
    if removed is not None:
        console.print(f"removed {removed.entries} answers, {removed.size / 1e6:.1f} MB")
    if folder is None:
        console.print("off: no answers are kept")
        return
    console.print(folder, markup=False)
    used = f"{now.entries} answers, {now.size / 1e6:.1f} of at most {now.limit / 1e6:.0f} MB"
    console.print(used)


def register(app: typer.Typer) -> None:
    app.command("cache")(cache)
