"""The paper's insights as small comparisons that any architecture can be put into.

A probe is two models on one memory and a claim about them, as in `experiments`, but small: seconds
per run, so that hundreds of variants can be tried. It tests whether the *direction* of an insight
survives a variant, not the paper's own sizes.

Sizes and learning rates were chosen on pilot seeds (90 to 95) so that the insight shows without any
variant: where it does not, a map of variants would tell nothing.

A variant changes one factor in both models, or in the data, or in the training. Where a factor is
what the probe compares (the bias in 4a), the variant does not apply.
"""

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from headcount.core.overrides import merged
from headcount.lab.judge.hypothesis import AbstractPair, Benefit, NoBenefit
from headcount.lab.judge.statistics import Scale
from headcount.memory.named import targets
from headcount.theory.heads import DECAYS

Fields = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Probe:
    """Two models, "first" and "second", on one memory."""

    insight: str
    sentence: str
    memory: str
    length: int
    first: Fields
    second: Fields
    claim: AbstractPair
    compares: frozenset[str] = frozenset()  # factors that are the question itself
    steps: int = 600
    lr: float = 3e-3
    batch: int = 64

    @property
    def tokens(self) -> bool:
        return self.claim.scale is Scale.NATS

    @property
    def enough(self) -> float:
        """The share of the best constant's loss that a model leaves at most if it has learned the
        memory.
        """
        return ENOUGH_ON_TOKENS if self.tokens else ENOUGH

    @functools.cached_property
    def constant(self) -> float:
        """The loss of the best constant answer: losses of numbers are shares of it already."""
        return math.log(targets.build(self.memory).outputs) if self.tokens else 1.0


FIRST, SECOND = "first", "second"
ENOUGH, ENOUGH_ON_TOKENS = 0.1, 0.5


def table(length: int) -> dict[str, Any]:
    return {"kind": "table", "window": 2 * length}


def small(length: int, **fields: Any) -> dict[str, Any]:
    base = {"heads": 4, "width": 16, "head_dim": 4, "hidden": 32, "attention": "dp-free",
            "bias": table(length), "readout": "linear", "layers": 1}  # fmt: skip
    return {**base, **fields}


def gpt(length: int, **fields: Any) -> dict[str, Any]:
    return small(length, width=32, head_dim=8, hidden=64, attention="dot", norm="pre-ln", **fields)


def bare_heads(bias: str, heads: int) -> dict[str, Any]:
    return {"attention": "dp-free", "ffn": "none", "readout": "linear", "bias": {"kind": bias},
            "heads": heads, "width": 16, "head_dim": 1, "layers": 1}  # fmt: skip


RATIO, SHARE, NATS = Scale.LOG10_RATIO, Scale.EXPLAINED, Scale.NATS
# small enough to be learned in seconds: at their sizes the base of each insight shows its effect
HOPS, RECALL = "pointer-chain:hops=2,symbols=4", "recall:pairs=3,symbols=4"
ON_TOKENS: Mapping[str, Any] = {"steps": 1000, "lr": 1e-2, "batch": 32}
TEACHER = "fixed:lags=3+9,readout=teacher(neurons=8,seed=3),inputs=uniform:2"
PROBES: tuple[Probe, ...] = (
    Probe("1a", "two layers follow two hops better than one wide layer",
          HOPS, 16, gpt(16) | {"heads": 8, "hidden": 160}, gpt(16) | {"layers": 2},
          Benefit(FIRST, SECOND, NATS), frozenset({"layers"}), **{**ON_TOKENS, "steps": 1600}),
    Probe("1b", "a second layer adds at most 1% of the variance", TEACHER, 16,
          small(16, hidden=64), small(16, hidden=64, layers=2),
          NoBenefit(FIRST, SECOND, SHARE), frozenset({"layers"}), lr=1e-2, batch=32),
    Probe("2a", "neurons help with a complex readout",
          "fixed:lags=1,readout=teacher(neurons=32,seed=5),inputs=uniform:2", 8,
          small(8, heads=1, hidden=1), small(8, heads=1, hidden=64),
          Benefit(FIRST, SECOND, RATIO), frozenset({"neurons"}), lr=3e-2),
    Probe("2b", "heads help with several memories", "fixed:lags=1+5+9", 16,
          small(16, heads=1), small(16, heads=4),
          Benefit(FIRST, SECOND, RATIO), frozenset({"heads"})),
    Probe("3a", "dot products add at most 1% of the variance to fixed lags", TEACHER, 16,
          small(16, hidden=64), small(16, hidden=64, attention="dot"),
          NoBenefit(FIRST, SECOND, SHARE), frozenset({"score"}), lr=1e-2, batch=32),
    Probe("3b", "dot products help to recall", RECALL, 16,
          gpt(16, layers=2) | {"attention": "dp-free"}, gpt(16, layers=2),
          Benefit(FIRST, SECOND, NATS), frozenset({"score"}), **ON_TOKENS),
    Probe("4a", "one log head learns a heavy tail better than 8 lin heads",
          "essential:kernel=power:0.5", 128, bare_heads("lin", 8), bare_heads("log", 1),
          Benefit(FIRST, SECOND, RATIO), frozenset({"bias", "ffn", "score", "norm"}), lr=1e-2),
    Probe("4b", "one lin head learns a light tail better than 8 log heads",
          "essential:kernel=exp:2", 64, bare_heads("log1p", 8), bare_heads("lin", 1),
          Benefit(FIRST, SECOND, RATIO), frozenset({"bias", "ffn", "score", "norm"}),
          steps=2000, lr=1e-2),
)  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class Variant:
    """One option of one factor."""

    factor: str
    name: str
    model: Fields = dataclasses.field(default_factory=dict)
    train: Fields = dataclasses.field(default_factory=dict)
    width: int = 1  # times
    length: int = 1  # times
    noise: float = 0.0
    inputs: str = ""  # a law with {d} for the numbers of a token
    rate: float = 1.0  # times the learning rate
    spacing: str = ""  # of initial rates
    stay: float = 0.0  # the chance that a token repeats the one before it

    def applies(self, probe: Probe) -> bool:
        """Not to what the probe compares; laws of real tokens not to labels, nor those of integer
        tokens to numbers; initial rates only where heads have them.
        """
        if self.factor in probe.compares or (self.inputs and probe.tokens):
            return False
        if self.stay and not probe.tokens:
            return False
        if "neurons" in probe.compares and self.model.get("ffn") == "none":
            return False  # both models would be the same
        rated = all(fields["bias"]["kind"] in DECAYS for fields in (probe.first, probe.second))
        return rated or not self.spacing

    def models(self, probe: Probe) -> tuple[dict[str, Any], dict[str, Any]]:
        first, second = (merged(fields, self.model) for fields in (probe.first, probe.second))
        made = []
        for fields in (first, second):
            bias = (
                {**fields["bias"], "spacing": self.spacing, "low": 3e-4, "high": 10.0}
                if self.spacing
                else fields["bias"]
            )
            made.append({**fields, "width": self.width * fields["width"], "bias": bias})
        return made[0], made[1]

    def memory(self, probe: Probe) -> str:
        text = probe.memory
        if self.inputs:
            before, _, law = text.partition(",inputs=")
            size = law.partition(":")[2] or "1"  # as many numbers a token as before
            text = f"{before},inputs={self.inputs.format(d=size)}"
        if self.stay:
            text = f"sticky:of={_nested(text)},stay={self.stay:g}"
        return f"noisy:of={_nested(text)},sigma={self.noise:g}" if self.noise else text


def _nested(text: str) -> str:
    """A target's text as an option of another's."""
    kind, _, options = text.partition(":")
    return f"{kind}({options})"


def _parts(factor: str, field: str, names: str) -> Iterator[Variant]:
    for name in names.split():
        yield Variant(factor, name, model={field: name})


BASE = Variant("base", "as it is")
VARIANTS: tuple[Variant, ...] = (
    *_parts("bias", "bias", "lin log log1p kerple-log kerple-power alibi t5 fire peak rope none"),
    *_parts("score", "attention", "dp-free dot peak-tmx"),
    # softmax alone cancels the term of tmx
    Variant("score", "tmx", model={"attention": "tmx", "normaliser": "softmax-sink"}),
    *_parts("normaliser", "normaliser", "none sigmoid softmax-sink"),
    *_parts("norm", "norm", "none pre-ln post-ln pre-rms sandwich"),
    *_parts("ffn", "ffn", "gelu swiglu none"),
    Variant("residual", "none around the last network", model={"readout": "ffn"}),
    Variant("residual", "none at all", model={"norm": "no-residual"}),  # hence no norm either
    Variant("width", "x2", width=2),
    Variant("width", "x4", width=4),
    Variant("optimiser", "sgd", train={"optimiser": {"method": "sgd"}}, rate=10.0),
    Variant("optimiser", "muon", train={"optimiser": {"method": "muon"}}),
    Variant("rate", "x3", rate=3.0),
    Variant("rate", "/3", rate=1 / 3),
    Variant("initial rates", "log-spaced", spacing="log"),
    Variant("precision", "float64", train={"precision": "float64"}),
    Variant("precision", "bfloat16", train={"precision": "bfloat16"}),
    Variant("length", "x2", length=2),
    Variant("length", "x4", length=4),
    Variant("noise", "0.3", noise=0.3),
    Variant("inputs", "autoregressive", inputs="ar1(phi=0.7,d={d})"),
    Variant("inputs", "uniform", inputs="uniform:{d}"),
    Variant("inputs", "gaussian", inputs="gaussian:{d}"),
    Variant("inputs", "sticky", stay=0.3),
)
