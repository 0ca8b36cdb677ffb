"""Options that several verbs have, each declared once, and the engine that three of them choose."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headcount.core.errors import require, unknown

if TYPE_CHECKING:
    from headcount.lab.sweep.engine import AbstractEngine

TARGET = Annotated[
    str,
    typer.Argument(
        help="fixed:lags=3+17, essential:kernel=power:1.5, recall:pairs=6, …, or a"
        " .toml/.yaml/.json spec file"
    ),
]
LENGTH = Annotated[int | None, typer.Option(help="longest sequence to serve (default 1024)")]
JSON = Annotated[bool, typer.Option("--json", help="print one JSON document")]
WORKERS = Annotated[int | None, typer.Option(help="worker processes; without it one per core")]
ENGINE = Annotated[str, typer.Option(help="local, or ray for a cluster")]
MODEL_FOLDER = Annotated[
    Path | None,
    typer.Option("-o", "--out", help="folder for the model: config, weights, README, run.py"),
]
ENGINES = ("local", "ray")


def engine_of(
    name: str, workers: int | None, address: str | None = None, pin: bool = False
) -> "AbstractEngine":
    """The engine by name; options of the other one are refused."""
    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    if name == "ray":
        from headcount.lab.sweep.ray_engine import RayEngine

        require(not pin, "--pin with the ray engine", "a local engine", "drop --pin")
        return RayEngine(address, workers)
    from headcount.lab.sweep.local_engine import LocalEngine

    require(
        address is None,
        f"--address {address} with the local engine",
        "--engine ray",
        "add --engine ray, or drop --address",
    )
    return LocalEngine(workers, pin)
