"""The runner that trains: runs with equal `shape_key` share one compiled program."""

import dataclasses
import functools
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.core.arguments import checked
from headcount.core.spec import Spec, canonical_json
from headcount.lab.sweep.engine import AbstractRunner

if TYPE_CHECKING:
    from headcount.train.run_spec import RunSpec

START, PER_OPERATION = 0.1, 2e-10  # seconds on a core of 2026
FEW, MORE = 20, 220  # steps of the short runs of a calibration


@checked
@dataclasses.dataclass(frozen=True)
class Trainer(AbstractRunner):
    """Trains `RunSpec`s; with `weights` the trained models come along."""

    weights: bool = False

    def read(self, values: Mapping[str, Any]) -> "RunSpec":
        from headcount.train.run_spec import RunSpec  # jax: not needed to open a store

        return RunSpec.from_values(values)

    def key(self, spec: Spec) -> str:
        return _key(canonical_json({**spec.to_plain(), "seed": 0}))

    def work(self, spec: Spec) -> float:
        """By the operations of its forward passes."""
        run: Any = spec
        return START + PER_OPERATION * max(1, run.train.steps) * _operations(self.key(spec), run)

    def run(self, specs: Sequence[Spec]) -> Iterator[tuple[Spec, dict[str, Any], dict[str, bytes]]]:
        from headcount.train.run import train, train_group

        runs: Any = specs
        if not self.weights:
            for spec, record in train_group(runs):
                yield spec, record.to_json(), {}
            return
        for spec in runs:
            done = train(spec.target(), spec.model, spec.train, spec.seed)
            yield (spec, done.record.to_json(), _files(done.model, spec))

    def shortened(self, spec: Spec) -> tuple[Spec, Spec, Spec, float]:
        from headcount.train.run_plan import plan_of, steps_of

        run: Any = spec
        plan = plan_of(run.target(), run.train)
        few, more = max(FEW, plan.points), max(MORE, 2 * plan.points)
        first, second, third = (_cut(run, steps, plan.points) for steps in (few + 1, few, more))
        return (
            first,
            second,
            third,
            (steps_of(run.train, plan.samples, plan.batch) - few) / (more - few),
        )


@functools.lru_cache(maxsize=100_000)
def _key(text: str) -> str:
    """The shape of a run, which its seed does not change; a large plan asks for the same one
    many times.
    """
    from headcount.lab.sweep.schema import loads
    from headcount.train.run import shape_key
    from headcount.train.run_spec import RunSpec

    return shape_key(RunSpec.from_values(loads(text)))


_OPERATIONS: dict[str, float] = {}


def _operations(key: str, run: "RunSpec") -> float:
    """Of one step; the same for runs of one shape."""
    if key not in _OPERATIONS:
        import equinox as eqx

        from headcount.model.cost import cost
        from headcount.train.run_plan import plan_of
        from headcount.train.run_spec import Loss
        from headcount.train.weights import structure

        plan = plan_of(run.target(), run.train)

        def count(model: Any) -> None:
            sequences = 1 if plan.loss is Loss.POPULATION else max(1, plan.batch)
            _OPERATIONS[key] = float(sequences * cost(model, plan.length, plan.read).flops)

        eqx.filter_eval_shape(count, structure(run.model, plan.source))  # shapes only
    return _OPERATIONS[key]


def _cut(run: "RunSpec", steps: int, points: int) -> "RunSpec":
    """The same program for fewer steps: as many log points, no epochs."""
    plain = run.to_plain()
    plain["train"] |= {"steps": steps, "log": points}
    plain["train"]["data"] |= {"epochs": 0}
    return type(run).from_values(plain)


def _files(model: Any, run: "RunSpec") -> dict[str, bytes]:
    """A saved model as bytes, to be written where the store is."""
    from headcount.memory.target import short_sequence
    from headcount.model.save import save

    with tempfile.TemporaryDirectory() as folder:
        note = f"Trained by headcount sweep: run {run.content_hash}."
        note += f"\n\n```json\n{json.dumps(run.to_plain(), indent=2)}\n```"
        length = run.train.length
        example = short_sequence(run.target(), length)
        place = save(model, Path(folder) / "model", note, length=length or None, example=example)
        return {file.name: file.read_bytes() for file in sorted(place.iterdir())}
