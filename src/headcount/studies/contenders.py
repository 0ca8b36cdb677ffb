"""Models that are compared, made equal in parameters, state or work per sequence by their width.

transformer   dot products, a free number per lag, pre-norm
dp-free       the same without dot products
local         dot products that see the last 16 tokens (sliding window)
gru, lstm     gated recurrences
ssm           a diagonal linear recurrence (S4D, LRU)
gated         a selective linear recurrence with a matrix state (Mamba, GLA)
convolution   dilated causal convolutions
"""

import dataclasses
import enum
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

from headcount.core.errors import unknown
from headcount.model.cost import Cost
from headcount.studies.collection import MemoryTask
from headcount.train import weights
from headcount.train.run_spec import read_model

LOCAL = 16
TAPS = 4  # of a convolution's layer
LEAST, STEP = 4, 2  # widths that are tried


class Measure(enum.StrEnum):
    """What is made equal."""

    PARAMETERS = "parameters"
    STATE = "state"
    WORK = "work"  # floating-point operations of a sequence, hence of equal training steps

    @property
    def budget_width(self) -> int:
        """Of the Transformer whose amount is the budget. Its state is that of all tokens: at a
        usual width no recurrence has as much and trains in the time of a study.
        """
        return 8 if self is Measure.STATE else 24

    @property
    def widest(self) -> int:
        return 48 if self is Measure.STATE else 256


Maker = Callable[[MemoryTask, int], dict[str, Any]]  # task and width → fields of a model


def _transformer(task: MemoryTask, width: int, **changes: Any) -> dict[str, Any]:
    return {
        "layers": task.depth, "heads": 4, "width": width, "head_dim": max(2, width // 4),
        "hidden": 2 * width, "norm": "pre-ln", "readout": "linear",
        "bias": {"kind": "table", "window": task.length}, **changes,
    }  # fmt: skip


CONTENDERS: dict[str, Maker] = {
    "transformer": lambda task, width: _transformer(task, width),
    "dp-free": lambda task, width: _transformer(task, width, attention="dp-free"),
    "local": lambda task, width: _transformer(
        task, width, bias={"kind": "table", "window": min(LOCAL, task.length)}
    ),
    "gru": lambda task, width: {"kind": "gru", "width": width},
    "lstm": lambda task, width: {"kind": "lstm", "width": width},
    "ssm": lambda task, width: {"kind": "ssm", "width": width, "states": 8, "hidden": 2 * width},
    "gated": lambda task, width: {
        "kind": "gated", "width": width, "keys": max(4, width // 2), "values": max(4, width // 2),
        "hidden": 2 * width, "layers": task.depth,
    },
    "convolution": lambda task, width: {
        "kind": "convolution", "width": width, "layers": layers_of(task.length), "size": TAPS,
    },
}  # fmt: skip


def layers_of(length: int) -> int:
    """Layers of `TAPS` taps whose reach covers the sequence."""
    depth = 1
    while TAPS**depth < length:
        depth += 1
    return depth


def maker(name: str) -> Maker:
    if name not in CONTENDERS:
        raise unknown("contender", name, list(CONTENDERS))
    return CONTENDERS[name]


def cost_of(task: MemoryTask, model: Mapping[str, Any]) -> Cost:
    """From shapes alone."""
    return weights.cost_of(read_model(model), task.target, task.length)


def amount(price: Cost, measure: Measure) -> int:
    return {
        Measure.PARAMETERS: price.parameters, Measure.STATE: price.state, Measure.WORK: price.flops,
    }[measure]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Sized:
    """A contender at the width that comes nearest to a budget."""

    name: str
    model: dict[str, Any]
    cost: Cost
    off: float  # log2 of its amount over the budget

    @property
    def modes(self) -> int:
        """Of a diagonal recurrence: one per channel and state; of others 0."""
        return self.model["width"] * self.model["states"] if self.name == "ssm" else 0


def sized(name: str, task: MemoryTask, measure: Measure, budget: float) -> Sized:
    """The width whose amount comes nearest to the budget, in ratio: amounts grow with the width, so
    that it is bisected.
    """

    @functools.cache
    def at(width: int) -> Sized:
        model = maker(name)(task, width)
        price = cost_of(task, model)
        return Sized(name, model, price, math.log2(amount(price, measure) / budget))

    low, high = LEAST, measure.widest
    while high - low > STEP:
        middle = low + (high - low) // (2 * STEP) * STEP
        low, high = (middle, high) if at(middle).off <= 0 else (low, middle)
    return min((at(low), at(high)), key=lambda found: abs(found.off))
