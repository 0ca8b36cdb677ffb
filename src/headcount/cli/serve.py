"""`headcount serve`: the explorer in the browser."""

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from headcount.cli.common import console, print_json, progress, safe
from headcount.core.errors import require


def serve(
    port: Annotated[int, typer.Option(help="port to listen on; 0 takes any that is free")] = 8642,
    open_page: Annotated[bool, typer.Option("--open", help="open the page in a browser")] = False,
    root: Annotated[
        Path, typer.Option(help="folder whose models, stores and reports may be opened")
    ] = Path(),
    host: Annotated[
        str, typer.Option(help="address to listen on; any but loopback lets others in")
    ] = "127.0.0.1",
    workers: Annotated[int, typer.Option(help="worker processes")] = 2,
    static: Annotated[
        Path | None,
        typer.Option(help="write the page with precomputed answers to this folder instead"),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="with --static: print one JSON document")
    ] = False,
) -> None:
    """The explorer: draw a memory, move a slider, get the proof. Serves until ^C."""
    require(1 <= workers <= 32, f"{workers} workers", "1 to 32", "pass for example --workers 2")
    require(
        static is not None or not json,
        "--json without --static",
        "a server, or --static DIR --json",
        "leave out --json",
    )
    if static is not None:
        from headcount.web.static_site import PAGE, write_site

        with progress() as say:
            site = write_site(static, say)
        if json:
            print_json({"folder": str(static), "views": site.views, "bytes": site.size})
        else:
            console.print(
                f"{site.views} views written; open {safe(str(static / PAGE))}, or put the folder on"
                " any web server"
            )
        return
    installed = all(importlib.util.find_spec(name) for name in ("starlette", "uvicorn"))
    require(
        installed,
        "the explorer without starlette and uvicorn",
        "the extra 'web'",
        "pip install 'headcount[web]'",
    )
    from headcount.web.server import serve as run

    run(root, host, port, open_page, workers, lambda line: print(line, flush=True))


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("serve")(serve)
