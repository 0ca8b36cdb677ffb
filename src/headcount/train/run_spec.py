"""The recipe of a training run: plain values, validated, hashable. Its content hash is the identity
of the run.

>>> model, recipe = {"attention": "dp-free", "ffn": "none"}, {"steps": 100, "lr": 0.01}
>>> spec = RunSpec(memory="exp-4b", model=model, train=recipe, seed=3)
>>> spec.model.heads, spec.train.batch, len(spec.content_hash)
(1, 100, 16)
>>> RunSpec.from_values(spec.to_plain()).content_hash == spec.content_hash
True
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Annotated, Any

import pydantic

from headcount.core.errors import require, shown
from headcount.core.registry import PartSpec
from headcount.core.spec import Count, Number, Positive, Share, Spec, content_hash
from headcount.memory.named import targets
from headcount.memory.target import AbstractTarget
from headcount.model.baselines import baselines
from headcount.model.spec import ModelSpec

STEPS = 1000  # where neither steps nor epochs are given


class Loss(enum.StrEnum):
    """What is minimised."""

    AUTO = "auto"  # cross-entropy for labels, squared otherwise
    SQUARED = "squared"
    CROSS_ENTROPY = "cross-entropy"
    # the exact expectation of the squared loss: linear model, linear target, iid inputs
    POPULATION = "population"


class Method(enum.StrEnum):
    """Which step follows from a gradient (Optax)."""

    ADAMW = "adamw"
    SGD = "sgd"
    MUON = "muon"  # orthogonal steps of matrices, AdamW for everything else


class Shape(enum.StrEnum):
    """How the learning rate goes from its peak to `final` times its peak."""

    CONSTANT = "constant"
    LINEAR = "linear"
    COSINE = "cosine"
    EXPONENTIAL = "exponential"
    INVERSE_SQRT = "inverse-sqrt"  # sqrt(warmup / step): `final` plays no part


class Effort(enum.StrEnum):
    """What the compiler spends on a run. On ten shapes of the experiments, against high:"""

    HIGH = "high"
    # compiles in a third of the time, runs 1 to 1.6 times as long: for seconds of training
    MEDIUM = "medium"
    # compiles in a tenth of the time, runs 3 to 8 times as long: for a fraction of a second
    LOW = "low"


class OptimiserSpec(Spec):
    """AdamW, SGD with momentum b1, or Muon. Weight decay acts on matrices only (no rates, offsets
    or norms); clip 0 is none.
    """

    method: Method = Method.ADAMW
    b1: Share = 0.9
    b2: Share = 0.999
    eps: Positive = 1e-8
    weight_decay: Annotated[float, pydantic.Field(ge=0, allow_inf_nan=False)] = 0.0
    # largest global norm of a gradient
    clip: Annotated[float, pydantic.Field(ge=0, allow_inf_nan=False)] = 0.0


class ScheduleSpec(Spec):
    """A linear rise over `warmup` steps, then a shape down to `final` times the peak."""

    shape: Shape = Shape.CONSTANT
    warmup: Number = 0
    final: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.0


class DataSpec(Spec):
    """Fresh sequences every step (samples 0), or a finite set, reshuffled every epoch.

    Of a finite set the share `validation` is never trained on; with `patience` p the run stops
    after p log points without a smaller validation loss, and the weights are those of the smallest.
    """

    samples: Number = 0
    epochs: Number = 0  # instead of steps
    validation: Share = 0.0
    test: Share = 0.2  # of the user's arrays; everything else is tested on fresh sequences
    patience: Number = 0

    @pydantic.model_validator(mode="after")
    def _check(self) -> "DataSpec":
        require(
            not self.patience or self.validation > 0,
            f"patience {self.patience} without validation",
            "a share",
            "set validation=0.2",
        )
        return self


class EvaluationSpec(Spec):
    """Test sequences that training never meets; 0 means as in training. Longer ones show length
    generalisation.
    """

    batches: Count = 8
    batch: Number = 0
    length: Number = 0


class TrainSpec(Spec):
    """How a model is trained. `length` 0 is that of the user's arrays, or 128, or the target's
    shortest if that is more.

    `log` is a number of equally spaced points, or the steps themselves; the last step is always
    one.
    """

    steps: Number = 0  # 0: from data.epochs, or 1000
    batch: Count = 100
    length: Number = 0
    lr: Positive = 1e-3
    loss: Loss = Loss.AUTO
    optimiser: OptimiserSpec = OptimiserSpec()
    schedule: ScheduleSpec = ScheduleSpec()
    data: DataSpec = DataSpec()
    evaluation: EvaluationSpec = EvaluationSpec()
    log: Count | tuple[Count, ...] = 20
    limit: Positive = 1e8  # a larger training loss counts as diverged
    # bfloat16: forward and backward pass; weights, losses and the optimiser stay in float32
    precision: Annotated[str, pydantic.Field(pattern="^(float32|float64|bfloat16)$")] = "float32"
    effort: Effort = Effort.HIGH

    @property
    def kept_in(self) -> str:
        """The type of weights, data and losses."""
        return "float32" if self.precision == "bfloat16" else self.precision

    @pydantic.model_validator(mode="after")
    def _check(self) -> "TrainSpec":
        twice = self.steps and self.data.epochs
        require(
            not twice,
            f"steps {self.steps} and epochs {self.data.epochs}",
            "one of the two",
            "leave one out",
        )
        return self


def read_model(value: Any) -> ModelSpec | PartSpec:
    """A Transformer by its fields, or a baseline by kind ("gru:width=32", or a mapping)."""
    if isinstance(value, ModelSpec):
        return value
    if isinstance(value, (str, PartSpec)) or (isinstance(value, Mapping) and "kind" in value):
        return baselines.spec(value)
    require(
        isinstance(value, Mapping),
        f"model {shown(value)}",
        "fields of a Transformer, or a baseline",
        "for example model={'heads': 4}",
    )
    return ModelSpec.from_values(value)


def read_memory(value: Any) -> PartSpec:
    """A target with every option filled in: it is built once, so a corpus enters with its hash
    and bad options are refused.
    """
    target = targets.build(value)
    require(
        targets.base in type(target).__mro__
        and getattr(type(target), "kind", None) in targets.names(),
        f"memory {type(target).__name__}",
        "a registered target",
        "register it, or call train() with the object",
    )
    return PartSpec(
        kind=target.kind,
        options={f.name: getattr(target, f.name) for f in dataclasses.fields(target)},  # type: ignore[arg-type]
    )


class RunSpec(Spec):
    """One run: a memory, a model, how to train it, a seed."""

    memory: Annotated[PartSpec, pydantic.BeforeValidator(read_memory)]
    model: Annotated[ModelSpec | PartSpec, pydantic.PlainValidator(read_model)] = (
        ModelSpec.from_values({})
    )
    train: TrainSpec = TrainSpec()
    seed: Annotated[int, pydantic.Field(ge=0, lt=2**32)] = 0

    @property
    def content_hash(self) -> str:
        """The identity of the run."""
        return content_hash(self)

    def target(self) -> AbstractTarget:
        return targets.build(self.memory)
