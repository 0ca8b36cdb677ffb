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
LEAST, STEP = 4, 2  # widths that are tried: even ones, and odd ones where these are off by more
NEAR = 0.08  # than this share of the budget


class Measure(enum.StrEnum):
    """What is made equal."""

    PARAMETERS = "parameters"
    STATE = "state"
    WORK = "work"  # floating-point operations of a sequence, hence of equal training steps

    @property
    def budget_width(self) -> int:
        """Of the Transformer whose amount is the budget. Its state is that of all tokens: at a
        usual width no GRU or LSTM has as much and trains in the time of a study.
        """
        return 8 if self is Measure.STATE else 24

    def widest(self, name: str) -> int:
        """Recurrences that carry as much as attention does on long sequences do not train in the
        time of a study: they are stopped below the budget, and `Sized.share` says how far.
        """
        return WIDEST_AT_EQUAL_STATE.get(name, 256) if self is Measure.STATE else 256


# Widths at which a step on 32 sequences of 128 tokens takes 10 to 20 ms of CPU; at width 128 a GRU
# takes about 40, a diagonal recurrence 100.
WIDEST_AT_EQUAL_STATE = {"gru": 48, "lstm": 48, "ssm": 48, "gated": 28}

Maker = Callable[[MemoryTask, int], dict[str, Any]]  # task and width → fields of a model


def _transformer(task: MemoryTask, width: int, **changes: Any) -> dict[str, Any]:
    return {
        "layers": task.depth, "heads": 4, "width": width, "head_dim": width // 4,
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

# A matrix state is cheapest where keys and values are as wide as the stream.
AT_EQUAL_STATE: dict[str, Maker] = {
    "gated": lambda task, width: CONTENDERS["gated"](task, width) | {
        "keys": width, "values": width,
    },
}  # fmt: skip


def layers_of(length: int) -> int:
    """Layers of `TAPS` taps whose reach covers the sequence."""
    depth = 1
    while TAPS**depth < length:
        depth += 1
    return depth


def maker(name: str, measure: Measure = Measure.PARAMETERS) -> Maker:
    if name not in CONTENDERS:
        raise unknown("contender", name, list(CONTENDERS))
    return (AT_EQUAL_STATE if measure is Measure.STATE else {}).get(name, CONTENDERS[name])


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
    def share(self) -> float:
        """Of the budget, that it has."""
        return 2.0**self.off

    @property
    def modes(self) -> int:
        """Of a diagonal recurrence: one per channel and state; of others 0."""
        return self.model["width"] * self.model["states"] if self.name == "ssm" else 0


def sized(name: str, task: MemoryTask, measure: Measure, budget: float) -> Sized:
    """The width whose amount comes nearest to the budget, in ratio; of widths with one amount the
    smallest. Odd widths are for budgets that even ones miss by more than `NEAR`.
    """

    @functools.cache
    def at(width: int) -> Sized:
        model = maker(name, measure)(task, width)
        price = cost_of(task, model)
        return Sized(name, model, price, math.log2(amount(price, measure) / budget))

    def nearest(step: int) -> Sized:
        """Amounts grow with the width, so that it is bisected."""
        low, high = LEAST, measure.widest(name)
        while high - low > step:
            middle = low + (high - low) // (2 * step) * step
            low, high = (middle, high) if at(middle).off <= 0 else (low, middle)
        return min((at(low), at(high)), key=lambda each: abs(each.off))

    found = nearest(STEP)
    if not near(found.share):
        found = nearest(1)
    width = found.model["width"]
    while width > LEAST and at(width - 1).off == found.off:
        width -= 1
    return at(width)


def near(share: float) -> bool:
    """Does so large a share of the budget count as equal?"""
    return abs(share - 1) <= NEAR
