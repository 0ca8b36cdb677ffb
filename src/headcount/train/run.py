"""Training a model on a memory: from a spec or from objects to trained weights and a record.

>>> import headcount as hc
>>> model = hc.ModelSpec(attention="dp-free", ffn="none", width=4)
>>> run = hc.train("exp-4b", model, hc.TrainSpec(steps=20, loss="population"))
>>> str(run.record.outcome), run.record.metrics["step"][-1]
('finished', 20)
"""

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from headcount.core.arguments import checked
from headcount.core.errors import require
from headcount.core.html_table import html_table
from headcount.core.seeds import Seeds
from headcount.model.base import AbstractModel
from headcount.train.compiled import Program, compiled
from headcount.train.data import source_of
from headcount.train.optimiser import Numbers
from headcount.train.run_plan import Plan, check_model, check_sizes, plan_of, shape_key, stops_of
from headcount.train.run_record import Record as Record
from headcount.train.run_record import ending, peak_memory, scale, shares, versions
from headcount.train.run_spec import RunSpec, TrainSpec, read_model
from headcount.train.splits import Splits, splits_of
from headcount.train.step import Keys, Params, Row, whole_run
from headcount.train.weights import fresh_model, structure

KEPT = 32  # programs held by one process


@dataclasses.dataclass(frozen=True)
class Run:
    """Trained weights and the figures of the run."""

    model: AbstractModel
    record: Record

    def __repr__(self) -> str:
        return f"Run({type(self.model).__name__}: {self.record.sentence})"

    def _repr_html_(self) -> str:
        last = {name: f"{values[-1]:.4g}" for name, values in self.record.metrics.items() if values}
        return html_table(self.record.sentence, last, [last.values()])

    def plot(self) -> Any:
        """The losses over the steps, as a matplotlib figure."""
        from headcount.core.picture import line_plot  # matplotlib

        metrics = dict(self.record.metrics)
        steps = metrics.pop("step")
        return line_plot(steps, metrics, ("step", "loss or error"), self.record.sentence)


@checked
def train(
    target: Any, model: Any, spec: TrainSpec | Mapping[str, Any] | None = None, seed: int = 0
) -> Run:
    """Train a model on a target.

    `target`: any target (object or text such as "exp-4a"), a function (key, batch, length) → (x,
    y), or arrays (x, y). `model`: a `ModelSpec` (or its fields as a mapping), a baseline's name
    ("gru:width=32"), or a model with weights.
    """
    spec = spec if isinstance(spec, TrainSpec) else TrainSpec.from_values(spec or {})
    with jax.enable_x64(spec.precision == "float64"):
        source = source_of(target, spec.length, spec.kept_in)
        plan = plan_of(source, spec)
        recipe = None if isinstance(model, eqx.Module) else read_model(model)
        skeleton = model if recipe is None else structure(recipe, source)
        check_model(plan, skeleton, spec.data.samples)
        check_sizes(plan, recipe, skeleton, spec)
        given = model if recipe is None else fresh_model(recipe, source, seed)
        return _run(plan, given, spec, seed)


def train_group(specs: Sequence[RunSpec]) -> Iterator[tuple[RunSpec, Record]]:
    """Runs of one shape (`shape_key`) from one compiled program; yields as each is done.

    Never batched by `vmap`: that changes the bits of sums, so a run would depend on its company,
    and it gains little where time is spent (benchmarks/training.py, CPU time of 8 runs: 2.0 x at 27
    us per step, 1.3 x at 42 us, 0.8 to 0.9 x with dot products). A run is a single call, so nothing
    is lost between steps; more cores are used by more processes.
    """
    keys = {shape_key(spec) for spec in specs}
    require(
        len(keys) <= 1,
        f"a group of {len(keys)} shapes",
        "runs with equal shape_key",
        "group them by shape_key",
    )
    for spec in specs:
        yield spec, train(spec.target(), spec.model, spec.train, spec.seed).record


def _run(plan: Plan, model: AbstractModel, spec: TrainSpec, seed: int) -> Run:
    arguments, rest = arguments_of(plan, model, spec, seed)
    program = _program(plan, rest, arguments)
    started = time.perf_counter()
    params, rows, diverged = jax.block_until_ready(program.call(*arguments))
    seconds = {"compile": program.seconds, "run": time.perf_counter() - started}
    _, numbers, _, splits = arguments
    rows = jax.tree.map(np.asarray, rows)
    stops = np.asarray(numbers.stops)
    ended = ending(plan, spec, rows, stops, int(diverged), scale(plan, splits), shares(splits))
    record = Record(
        **ended._asdict(),
        seconds=seconds,
        peak_memory_bytes=peak_memory(),
        program_memory_bytes=program.memory,
        versions=versions(),
    )
    return Run(eqx.combine(params, rest), record)


Arguments = tuple[Params, Numbers, Keys, Splits]


def arguments_of(
    plan: Plan, model: AbstractModel, spec: TrainSpec, seed: int
) -> tuple[Arguments, Any]:
    """What a compiled run is called with, and the rest of the model (its structure and whatever
    is not trained).
    """
    seeds = Seeds(seed)
    numbers = Numbers.of(spec, stops_of(spec, plan.samples, plan.batch))
    keys = Keys(seeds.data("train"), seeds.shuffle())
    params, rest = eqx.partition(model, eqx.is_inexact_array)
    return (params, numbers, keys, splits_of(plan, seeds)), rest


def run_function(
    plan: Plan, rest: Any
) -> Callable[[Params, Numbers, Keys, Splits], tuple[Params, Row, jax.Array]]:
    """The run as a function of its arguments, to be compiled."""

    def answers(params: Params, x: jax.Array) -> jax.Array:
        if not plan.half:
            return eqx.combine(params, rest)(x, plan.read)
        params, x = jax.tree.map(_halved, (params, x))
        return eqx.combine(params, rest)(x, plan.read).astype(plan.precision)

    return functools.partial(whole_run, plan, answers)


def _halved(array: jax.Array) -> jax.Array:
    return array.astype("bfloat16") if eqx.is_inexact_array(array) else array


_PROGRAMS: dict[Any, Program] = {}  # of this process; the disk keeps them for others


def _program(plan: Plan, rest: Any, arguments: Arguments) -> Program:
    """The compiled run; its compile time counts for the first run that needs it."""
    leaves, tree = jax.tree.flatten(arguments)
    shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)
    known = (plan, tree, shapes, jax.tree.structure(rest), tuple(jax.tree.leaves(rest)))
    try:
        found = _PROGRAMS.get(known)
    except TypeError:  # a model or source that cannot be hashed is compiled every time
        return compiled(run_function(plan, rest), *arguments, effort=plan.effort)
    if found is not None:
        return found._replace(seconds=0.0)
    while len(_PROGRAMS) >= KEPT:
        _PROGRAMS.pop(next(iter(_PROGRAMS)))
    _PROGRAMS[known] = compiled(run_function(plan, rest), *arguments, effort=plan.effort)
    return _PROGRAMS[known]
