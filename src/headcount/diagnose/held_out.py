"""Which model is enough: the simplest whose held-out loss is within one standard error of the best,
or within 1 % of what the best explains (so that tiny effects of near-deterministic data do not
count).
"""

import dataclasses
import enum
from collections.abc import Iterable, Sequence

import numpy as np

from headcount.diagnose.samples import Column, Setting

ERRORS, SHARE = 1.0, 0.01
SERIES_BLOCKS = 25


class ModelKind(enum.StrEnum):
    """The models that explain, and the learner that only predicts."""

    NONE = "none"
    LAGS = "lags"
    ADDITIVE = "additive"
    MAP = "map"
    POINTER = "pointer"
    RECALL = "recall"
    EXP = "exp"
    POWER = "power"
    DENSE = "dense"
    GENERIC = "generic"


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A model with its loss on every judged row. `detail` is whatever the engine needs again."""

    kind: ModelKind
    columns: tuple[Column, ...]
    simplicity: float
    losses: np.ndarray  # [m], in the order of the folds
    name: str
    detail: object = None
    plain: np.ndarray | None = None  # [m], where `losses` stand behind a filter: without it

    @property
    def loss(self) -> float:
        return float(self.losses.mean())


@dataclasses.dataclass(frozen=True)
class Judged:
    """Candidates, the one chosen, and the unit in which differences are averaged."""

    candidates: tuple[Candidate, ...]
    chosen: Candidate
    blocks: int | None  # None: rows

    @property
    def none(self) -> Candidate:
        return next(c for c in self.candidates if c.kind is ModelKind.NONE)

    @property
    def best(self) -> Candidate:
        return min(self.candidates, key=lambda c: c.loss)

    def gain(self, candidate: Candidate) -> tuple[float, float]:
        """How much smaller the loss is than without memory, and its standard error."""
        return mean_error(self.none.losses - candidate.losses, self.blocks)

    def loss_error(self, candidate: Candidate) -> float | None:
        """The standard error of a model's loss, as a share of the answers' own."""
        none, losses = (c.losses if c.plain is None else c.plain for c in (self.none, candidate))
        base = float(none.mean())
        return mean_error(losses, self.blocks)[1] / base if base > 0 else None

    def explained(self, candidate: Candidate) -> tuple[float, float] | None:
        """The share of the answers' own loss that a model explains, and its standard error."""
        none, losses = (c.losses if c.plain is None else c.plain for c in (self.none, candidate))
        base = float(none.mean())
        gain = float((none - losses).mean())  # of all rows: blocks differ in size, R² is at most 1
        error = mean_error(none - losses, self.blocks)[1]
        return (gain / base, error / base) if base > 0 else None


def mean_error(values: np.ndarray, blocks: int | None) -> tuple[float, float]:
    """Mean and standard error; over contiguous blocks where rows are not independent."""
    if blocks is not None and len(values) >= 2 * blocks:
        values = np.array([block.mean() for block in np.array_split(values, blocks)])
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def block_count(setting: Setting, judged: int) -> int | None:
    return None if setting is Setting.ROWS else min(SERIES_BLOCKS, max(judged // 4, 2))


def judge(candidates: Sequence[Candidate], blocks: int | None) -> Judged:
    """Explanatory candidates only take part in the choice."""
    explaining = [c for c in candidates if c.kind is not ModelKind.GENERIC]
    best = min(explaining, key=lambda c: c.loss)
    none = next(c for c in candidates if c.kind is ModelKind.NONE)
    slack = SHARE * (none.loss - best.loss)
    for candidate in sorted(explaining, key=lambda c: (c.simplicity, c.loss)):
        excess, error = mean_error(candidate.losses - best.losses, blocks)
        if candidate is best or excess <= max(ERRORS * error, slack):
            return Judged(tuple(candidates), candidate, blocks)
    raise AssertionError("the best candidate is within its own reach")


def by_simplicity(candidates: Iterable[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda c: (c.simplicity, c.loss))
