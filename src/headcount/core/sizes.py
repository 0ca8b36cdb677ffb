"""What a job would take, estimated from its sizes before any work: memory and time.

An estimate counts only what is sure to be needed, so a refusal is never wrong by much; what passes
may still take more. Above the limit the job is refused with one line that tells the estimate and
how to allow more:

    HEADCOUNT_MAX_GB        memory; without it what the machine has free now
    HEADCOUNT_MAX_MINUTES   time; without it one minute for a plan or a build, ten for what comes
                            before a training run (compiling), and thirty days for the run
"""

import math
import os
from pathlib import Path

from headcount.core.errors import InputError, require

MEMORY, MINUTES = "HEADCOUNT_MAX_GB", "HEADCOUNT_MAX_MINUTES"
PREPARATION_MINUTES = 10.0
TRAINING_MINUTES = 30 * 24 * 60.0
UNKNOWN_MEMORY = 4e9  # bytes, where the system does not say what is free


def require_memory(needed: float, what: str, fix: str) -> None:
    """Refuse a job that needs at least so many bytes, where the machine has fewer."""
    limit = memory_limit()
    require(
        needed <= limit,
        f"{what}: at least {_gigabytes(needed)} of memory",
        f"at most {_gigabytes(limit)}",
        f"{fix}, or allow more with {MEMORY}={math.ceil(min(needed, 1e30) / 1e9)}",
    )


def require_time(seconds: float, what: str, fix: str, usual: float = PREPARATION_MINUTES) -> None:
    """Refuse a job that takes at least so many seconds, where fewer are allowed."""
    stated = _stated(MINUTES)
    limit = 60 * (usual if stated is None else stated)
    require(
        seconds <= limit,
        f"{what}: at least {_spoken(seconds)}",
        f"at most {_spoken(limit)}",
        f"{fix}, or allow more with {MINUTES}={math.ceil(min(seconds, 1e30) / 60)}",
    )


def memory_limit() -> float:
    """Bytes that a job may take."""
    stated = _stated(MEMORY)
    return 1e9 * stated if stated is not None else min(_free(), _container())


def _stated(name: str) -> float | None:
    text = os.environ.get(name, "")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise InputError(f"{name}={text}", "a positive number", "correct or unset it")
    return value


def _free() -> float:
    """What programs could still take, by the system's own estimate."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError):
        return UNKNOWN_MEMORY


def _container() -> float:
    """What a container leaves; no limit where there is none."""
    group = Path("/sys/fs/cgroup")
    try:
        most = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
        return math.inf if most == "max" else max(0.0, float(most) - used)
    except (OSError, ValueError):
        return math.inf


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.2g} GB"


def _spoken(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= length:
            return _counted(seconds / length, unit)
    return _counted(seconds, "seconds")


def _counted(value: float, units: str) -> str:
    text = f"{value:.2g}"
    return f"{text} {units.removesuffix('s') if text == '1' else units}"
