"""What of a run is fixed when its program is compiled, checked before any work."""

import dataclasses
import math
from typing import NamedTuple

import jax

from headcount.core.errors import InputError, require
from headcount.core.spec import content_hash
from headcount.memory.named.text import AbstractText
from headcount.memory.read import AbstractRead
from headcount.train.data import Arrays, Source, length_of
from headcount.train.population import check_population, lags_read
from headcount.train.run_sizes import check_data, check_run, check_weights
from headcount.train.run_spec import STEPS, Effort, Loss, OptimiserSpec, RunSpec, Shape, TrainSpec
from headcount.train.weights import structure

# Of a text: answers that the window has shown after the same context, and all others.
SLICES = ("repeat", "novel")


class TestSize(NamedTuple):
    """How much is drawn for testing."""

    batches: int
    batch: int
    length: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """The static part of a run. Equal plans and equally shaped models share one program."""

    source: Source
    read: AbstractRead
    loss: Loss
    batch: int
    length: int
    samples: int  # in the training split; 0 for fresh data
    validation: int  # sequences; 0 for none
    test: TestSize
    points: int
    schedule: Shape
    optimiser: OptimiserSpec
    precision: str
    effort: Effort
    # whose errors are told apart: those of a fixed memory, where the loss is exact
    lags: tuple[int, ...] = ()
    # parts of the test reads whose losses are told apart: those of a text
    slices: tuple[str, ...] = ()
    half: bool = False  # answers are computed in bfloat16

    @property
    def epoch(self) -> int:
        """Steps in an epoch: whole batches of the training split."""
        return max(1, self.samples // self.batch)


def plan_of(source: Source, spec: TrainSpec) -> Plan:
    """The plan of a spec for a source; impossible combinations are refused with all reasons."""
    length = length_of(source, spec.length)
    samples, validation, batch = _finite(source, spec)
    if not isinstance(source, Arrays):
        points = _points(spec, steps_of(spec, samples, batch))
        check_data(spec, length, source.dim, samples + validation, points)
    test_batch, test_length = spec.evaluation.batch or spec.batch, spec.evaluation.length or length
    if not isinstance(source, Arrays):
        source.check_length(test_length)
    loss = _loss(source, spec)
    return Plan(
        source,
        source.read,
        loss,
        batch,
        length,
        samples,
        validation,
        TestSize(spec.evaluation.batches, test_batch, test_length),
        len(stops_of(spec, samples, batch)),
        spec.schedule.shape,
        _structure(spec.optimiser),
        spec.kept_in,
        spec.effort,
        lags_read(source) if loss is Loss.POPULATION else (),
        SLICES if isinstance(source, AbstractText) else (),
        spec.precision == "bfloat16",
    )


def _structure(spec: OptimiserSpec) -> OptimiserSpec:
    """Which parts the optimiser has; their numbers are traced."""
    return OptimiserSpec(
        method=spec.method, weight_decay=float(spec.weight_decay > 0), clip=float(spec.clip > 0)
    )


def _finite(source: Source, spec: TrainSpec) -> tuple[int, int, int]:
    """(training sequences or 0, validation sequences, batch)."""
    data = spec.data
    n = len(source.batch.x) if isinstance(source, Arrays) else data.samples
    if n == 0:
        require(
            data.validation == 0,
            "a validation split of fresh data",
            "a finite number of samples",
            "set data.samples",
        )
        require(
            data.epochs == 0,
            f"{data.epochs} epochs of fresh data",
            "a finite number of samples, or steps",
            "set data.samples or steps",
        )
        return 0, 0, spec.batch
    validation = round(data.validation * n)
    tested = round(data.test * n) if isinstance(source, Arrays) else 0
    training = n - validation - tested
    require(
        training >= 1,
        f"{n} samples with {validation} for validation",
        "at least one for training",
        "use more samples",
    )
    require(
        validation or not data.validation,
        f"{data.validation:g} of {n} samples",
        "at least one for validation",
        "use more samples",
    )
    return training, validation, min(spec.batch, training)


def steps_of(spec: TrainSpec, samples: int, batch: int) -> int:
    """How many steps: as given, or as many as the epochs have."""
    epochs = spec.data.epochs
    return spec.steps or (epochs * max(1, samples // batch) if epochs else STEPS)


def _points(spec: TrainSpec, steps: int) -> int:
    """How many log points there are at most."""
    return min(spec.log, steps) if isinstance(spec.log, int) else len(spec.log) + 1


def stops_of(spec: TrainSpec, samples: int, batch: int) -> tuple[int, ...]:
    """The log points; the last step is always one."""
    steps = steps_of(spec, samples, batch)
    if isinstance(spec.log, int) and spec.log >= steps:
        return tuple(range(1, steps + 1))
    if isinstance(spec.log, int):
        return tuple(sorted({math.ceil(steps * (i + 1) / spec.log) for i in range(spec.log)}))
    late = [step for step in spec.log if step > steps]
    require(
        not late,
        f"log points {late} in a run of {steps} steps",
        f"at most {steps}",
        "drop them or train longer",
    )
    return tuple(sorted({*spec.log, steps}))


def _loss(source: Source, spec: TrainSpec) -> Loss:
    natural = Loss.CROSS_ENTROPY if source.labels else Loss.SQUARED
    if spec.loss in (Loss.AUTO, natural):
        return natural
    if spec.loss is Loss.POPULATION and not source.labels:
        require(spec.precision != "bfloat16", "an exact loss in bfloat16", "float32 or float64",
                "use loss=squared")  # fmt: skip
        return Loss.POPULATION
    raise InputError(
        f"loss {spec.loss} for {'labels' if source.labels else 'real answers'}",
        f"{natural} (or auto)",
        "choose the loss that fits the target",
    )


def shape_key(spec: RunSpec) -> str:
    """Runs with equal keys share one compiled program: they differ in seed and in traced numbers
    only. It is a hash of the plan, and of the model's structure with shapes in place of weights.

    Traced are the steps and log points (not how many points), learning rate, schedule, moments,
    weight decay, clip, limit, patience, and everything that only decides which weights training
    starts from (such as the rates of a bias). An impossible combination is refused here, before any
    work.
    """
    with jax.enable_x64(spec.train.precision == "float64"):
        source = spec.target()
        plan = plan_of(source, spec.train)
        skeleton = structure(spec.model, source)
        check_model(plan, skeleton, spec.train.data.samples)
        check_sizes(plan, spec.model, skeleton, spec.train)
        leaves, tree = jax.tree.flatten(skeleton)
    fields = {
        f.name: getattr(plan, f.name)
        for f in dataclasses.fields(plan)
        if f.name not in ("source", "read")
    }
    shapes = [f"{leaf.dtype}{list(leaf.shape)}" for leaf in leaves]
    return content_hash(
        {"memory": spec.memory, "plan": fields, "model": str(tree), "shapes": shapes}
    )


def check_sizes(plan: Plan, recipe: object, model: object, spec: TrainSpec) -> None:
    """Refuse a run that would not fit in memory or never end."""
    steps = steps_of(spec, plan.samples, plan.batch)
    check_run(recipe, spec, check_weights(model), steps, plan.length)


def check_model(plan: Plan, model: object, samples: int) -> None:
    """Refuse a model that the target or the loss cannot use."""
    wanted = (plan.source.vocabulary, plan.source.dim, plan.source.outputs)
    vocabulary, dim = getattr(model, "tokens", wanted[:2])
    outputs = getattr(model, "outputs", wanted[2])
    fits = (
        dim == wanted[1]
        and outputs >= wanted[2]
        and (vocabulary is None) == (wanted[0] is None)
        and (vocabulary or 0) >= (wanted[0] or 0)
    )
    exact = outputs == wanted[2] or plan.source.labels
    require(
        fits and exact,
        f"a model for (vocabulary, dim, outputs) = {(vocabulary, dim, outputs)}",
        f"{wanted}, as the target has",
        "build it with the target's sizes",
    )
    if plan.loss is Loss.POPULATION:
        check_population(plan.source, model, plan.length, samples)
