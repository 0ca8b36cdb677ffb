"""What is kept of a run. Outcomes are values: a run that diverges is a result, not a crash."""

import dataclasses
import enum
import importlib.metadata
import platform
from typing import Any

PACKAGES = ("headcount", "jax", "jaxlib", "equinox", "optax", "numpy")


class Outcome(enum.StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    DIVERGED = "diverged"
    STOPPED_EARLY = "stopped-early"


@dataclasses.dataclass(frozen=True)
class Record:
    """The figures of one run.

    `outcome`, `step`, `metrics` and `final` depend on the spec and the seed alone (bit for bit, on
    one machine); seconds, memory and versions do not belong to that claim. `final` is empty where
    the run diverged.
    """

    outcome: str
    step: int | None  # of the divergence or the stop; None for a run that finished
    sentence: str
    metrics: dict[str, list[float]]  # one value a log point; "step" says which
    final: dict[str, float]  # of the weights that the run returns
    seconds: dict[str, float]  # compile, run
    peak_memory_bytes: int  # of this process so far
    program_memory_bytes: int  # arguments, results and work space of the compiled program
    versions: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**dataclasses.asdict(self), "outcome": str(self.outcome)}


def versions() -> dict[str, str]:
    """What computed it."""
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
    }


def peak_memory() -> int:
    """The largest resident size of this process so far, in bytes; 0 where the platform does not
    tell.
    """
    try:
        import resource
    except ImportError:  # Windows
        return 0
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
