"""What is kept of a run: from what a program returned to what a reader is told. Outcomes are
values: a run that diverges is a result, not a crash.
"""

import dataclasses
import enum
import importlib.metadata
import platform
from typing import Any, NamedTuple

import numpy as np

from headcount.memory.target import AbstractTarget
from headcount.train.population import target_variance
from headcount.train.run_plan import Plan
from headcount.train.run_spec import Loss, TrainSpec
from headcount.train.splits import Splits
from headcount.train.step import Row

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
    metrics: dict[str, list[float]]  # one value per log point; "step" says which
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
    """The largest resident size of this process so far, in bytes; 0 where it is not told."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class Ending(NamedTuple):
    """The first fields of a `Record`, which depend on the spec and the seed alone."""

    outcome: Outcome
    step: int | None
    sentence: str
    metrics: dict[str, list[float]]
    final: dict[str, float]


def ending(
    plan: Plan,
    spec: TrainSpec,
    rows: Row,
    stops: np.ndarray,
    diverged: int,
    scale: float,
    shares: tuple[float, ...],
) -> Ending:
    """How the run ended. `scale` is the loss of the best constant answer, `shares` are those of
    the plan's slices among the test reads.
    """
    # log points; those after the end were skipped
    reached = int(np.count_nonzero(rows.step == stops))
    if reached and not np.isfinite(rows.eval_loss[reached - 1]) and not diverged:
        diverged, reached = int(rows.step[reached - 1]), reached - 1
    metrics = _metrics(plan, rows, reached, scale, shares)
    if diverged:
        sentence = f"diverged at step {diverged}: the loss was not finite or above {spec.limit:g}"
        return Ending(Outcome.DIVERGED, diverged, sentence, metrics, {})
    best = (
        int(np.argmin(rows.validation_loss[:reached]))
        if plan.validation and spec.data.patience
        else reached - 1
    )
    final = {name: values[best] for name, values in metrics.items()}
    final |= {f"{name}_share": share for name, share in zip(plan.slices, shares, strict=True)}
    found = f"test loss {final['eval_loss']:.4g}" + (
        f", accuracy {final['accuracy']:.1%}" if "accuracy" in final else ""
    )
    if reached < len(stops):
        done = int(stops[reached - 1])
        sentence = (
            f"stopped early at step {done}: smallest validation loss at step {final['step']},"
            f" {found}"
        )
        return Ending(Outcome.STOPPED_EARLY, done, sentence, metrics, final)
    sentence = f"finished {stops[-1]} steps: {found}"
    return Ending(Outcome.FINISHED, None, sentence, metrics, final)


def _metrics(
    plan: Plan, rows: Row, reached: int, scale: float, shares: tuple[float, ...]
) -> dict[str, list[float]]:
    """The columns that say something, as plain numbers; an empty slice has no loss."""
    named = {"step": rows.step, "train_loss": rows.train_loss, "eval_loss": rows.eval_loss}
    if plan.loss is Loss.CROSS_ENTROPY:
        named["accuracy"] = rows.accuracy
    elif scale > 0:
        named["relative_loss"] = rows.eval_loss.astype(np.float64) / scale
    if plan.validation:
        named["validation_loss"] = rows.validation_loss
    named |= {lag_column(lag): rows.lag_errors[:, i] for i, lag in enumerate(plan.lags)}
    named |= {
        f"{name}_loss": rows.slice_losses[:, i]
        for i, name in enumerate(plan.slices)
        if shares[i] > 0
    }
    return {name: column[:reached].tolist() for name, column in named.items()}


def lag_column(lag: int) -> str:
    """The name of a lag's error among the metrics: 0 where the lag is read exactly, 1 where it
    is not read.
    """
    return f"lag_{lag}_error"


def shares(splits: Splits) -> tuple[float, ...]:
    """Of each slice among the test reads that count."""
    reads = 0 if splits.test is None else int(np.count_nonzero(splits.test.mask))
    return tuple(int(np.count_nonzero(part)) / max(reads, 1) for part in splits.slices)


def scale(plan: Plan, splits: Splits) -> float:
    """The squared loss of the best constant answer: the variance of y, exactly or on the test
    sequences that count.
    """
    test = splits.test
    if test is None:
        assert isinstance(plan.source, AbstractTarget)  # or the loss was refused
        return target_variance(plan.source, plan.read, plan.test.length)
    if plan.loss is Loss.CROSS_ENTROPY:
        return 0.0
    y = np.asarray(test.y, np.float64)[np.asarray(test.mask)]  # [reads, o]
    return float(((y - y.mean(0)) ** 2).mean()) if len(y) else 0.0
