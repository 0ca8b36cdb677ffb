"""Compiling once: ahead of time, with options for small steps, kept on disk for the next process.

*Options.* One thread a program: XLA's own threads waste a third of the CPU at these sizes, and with
one the order of sums, hence every bit, does not depend on the machine's load or on the number of
workers. Of XLA's library fusions only matrix products are wanted: its fused reductions cost three
times their loops (experiment 1b's step: 0.9 → 0.6 ms, jaxlib 0.10). A jaxlib that does not know an
option compiles without it.

*Disk.* One file per program, named by the hash of the program, the options, the versions and the
processor. A file is written beside its place and renamed, so that processes may share the folder
and a killed one leaves nothing half written; a file that does not read back is compiled anew.
`HEADCOUNT_CACHE` names the folder; "off" means none.
"""

import contextlib
import functools
import hashlib
import os
import platform
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jaxlib
from jax.experimental.serialize_executable import deserialize_and_load, serialize

from headcount.core.xla import PLAIN, QUICK, known
from headcount.train.run_spec import Effort

OPTIONS: dict[str, Any] = {
    "xla_cpu_multi_thread_eigen": False,
    "xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT",
}
SPARED: dict[Effort, Mapping[str, Any]] = {Effort.HIGH: {}, Effort.MEDIUM: PLAIN, Effort.LOW: QUICK}
DIGEST = 32  # bytes of SHA-256 before the program


class Program(NamedTuple):
    """A compiled program, the seconds it took to get it, and the memory it needs."""

    call: Callable[..., Any]
    seconds: float
    memory: int


def compiled(
    function: Callable[..., Any], *arguments: Any, effort: Effort = Effort.HIGH
) -> Program:
    """The function compiled for these arguments (arrays or shapes), from disk if it is there."""
    started = time.perf_counter()
    lowered = jax.jit(function).lower(*arguments)
    options = known({**OPTIONS, **SPARED[effort]})
    folder = cache_folder()
    if folder is None:
        program = lowered.compile(compiler_options=options)
    else:
        path = folder / _name(lowered.as_text(), options)
        program = _read(path, lowered) or _written(path, lowered.compile(compiler_options=options))
    used = program.memory_analysis()
    memory = (
        used.argument_size_in_bytes + used.output_size_in_bytes + used.temp_size_in_bytes
        if used
        else 0
    )
    return Program(program, time.perf_counter() - started, memory)


def cache_folder() -> Path | None:
    """Where programs are kept: HEADCOUNT_CACHE, else the user's cache folder; None where nothing
    can be kept.
    """
    chosen = os.environ.get("HEADCOUNT_CACHE", "")
    if chosen.lower() == "off":
        return None
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = (Path(chosen) if chosen else Path(home) / "headcount") / "compiled"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None  # a full or read-only home costs time, not the run
    return folder


@functools.cache
def _machine() -> str:
    """Compiled code is for one sort of processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        sort = "".join(
            sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))})
        )
    except OSError:
        sort = platform.processor()
    return f"{platform.machine()} {sort}"


def _name(text: str, options: dict[str, Any]) -> str:
    parts = (
        text,
        repr(sorted(options.items())),
        os.environ.get("XLA_FLAGS", ""),
        jax.__version__,
        jaxlib.__version__,
        _machine(),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def _read(path: Path, lowered: Any) -> Any | None:
    try:
        content = path.read_bytes()
        if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
            return None
        return deserialize_and_load(
            content[DIGEST:], lowered.in_tree, lowered.out_tree, execution_devices=jax.devices()[:1]
        )
    except Exception:  # missing, or made by something else under the same name: compile it
        return None


def _written(path: Path, program: Any) -> Any:
    # a full disk or a backend that cannot serialise costs time, not the run
    with contextlib.suppress(Exception):
        content = serialize(program)[0]
        descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            os.replace(beside, path)
        except OSError:
            os.unlink(beside)
    return program
