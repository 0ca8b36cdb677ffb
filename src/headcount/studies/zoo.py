"""`zoo`: one model against the whole collection of memories, beside the smallest known.

A model is one of

    text or fields   "gru:width=32", {"layers": 2, "heads": 4, …}: a Transformer or a baseline,
                     trained here as one resumable sweep
    a contender      "transformer", "gated", …: sized as in `study rivals`
    a function       task → predictor: the user's own model with the user's own training; a
                     predictor maps x (as `task.batches` gives it) to answers [B, R, o]
    modules          `equinox_model(make)`, `torch_model(make)` (`studies/own_models.py`): a maker
                     of modules, trained by a plain Adam loop

Worked example: a "model" that knows nothing reaches nothing.

    >>> import numpy as np
    >>> profile = zoo(lambda task: lambda x: np.zeros((len(x), 1, 1)), ["lag-1", "lag-5"])
    >>> profile.reached, len(profile.rows)
    (0, 2)
"""

import contextlib
import dataclasses
import functools
import html
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headcount.core.arguments import checked
from headcount.core.errors import InputError, require, unknown
from headcount.core.files import ready_folder
from headcount.lab.study import Profile
from headcount.lab.sweep.engine import AbstractEngine
from headcount.lab.sweep.progress import Say, silent
from headcount.memory.named import unnamed
from headcount.model.base import AbstractModel
from headcount.model.baselines import baselines
from headcount.studies import rivals
from headcount.studies.collection import MemoryTask, chosen, share_right
from headcount.studies.contenders import CONTENDERS, Measure, cost_of, maker
from headcount.studies.decomposition import Floor
from headcount.studies.kept_workers import kept
from headcount.studies.known_floors import floor_of, linear_kernel
from headcount.studies.rivals import Minimum, minimum_of, pilot, planned_of, seeds_of
from headcount.studies.trials import Learned, by_looks, told_split
from headcount.train.run_spec import RunSpec, read_model

# One model instead of eight: there is time for more steps and seeds.
EFFORTS = rivals.EFFORTS | {
    Profile.LAPTOP: dataclasses.replace(rivals.EFFORTS[Profile.LAPTOP], steps=2000),
    Profile.FULL: dataclasses.replace(
        rivals.EFFORTS[Profile.FULL], steps=10_000, seeds=(10, 20), batch=64
    ),
}
TEST_SEED, TESTS, BATCH = 4242, 10, 200
Predictor = Callable[[np.ndarray], Any]
OwnModel = Callable[[MemoryTask], Predictor]


@dataclasses.dataclass(frozen=True)
class ZooRow:
    """One memory."""

    task: MemoryTask
    learned: Learned
    minimum: Minimum | None
    layers: int | None = None
    parameters: int | None = None
    refused: str = ""  # why the model cannot be asked
    floor: Floor = Floor()  # shares of the variance

    @property
    def reached(self) -> bool:
        return not self.refused and self.learned.reached(self.task)

    @property
    def outcome(self) -> str:
        return "reached" if self.reached else self.refused or "not reached"

    @property
    def spare_layers(self) -> int:
        """Layers beyond those of the smallest model known, where the memory is reached."""
        if not self.reached or self.layers is None or self.minimum is None:
            return 0
        return max(0, self.layers - self.minimum.layers)

    def to_json(self) -> dict[str, Any]:
        found = None if self.refused else self.learned
        return {
            "memory": self.task.name, "family": str(self.task.family),
            "learned": found and found.loss, "accuracy": found and found.accuracy,
            "interval": found and found.interval.to_json(), 
            "floor": self.floor.approximation, "precision": self.floor.precision,
            "minimum": None if self.minimum is None else dataclasses.asdict(self.minimum),
            "reached": self.reached, "seeds": found and len(found.losses),
            "seeds_reached": found and found.seeds_reached(self.task),
            "layers": self.layers, "parameters": self.parameters, "refused": self.refused,
        }  # fmt: skip


@dataclasses.dataclass(frozen=True)
class ZooProfile:
    """A model's profile over the collection."""

    model: str
    rows: tuple[ZooRow, ...]
    profile: Profile | None = None  # None where the user trained

    @property
    def reached(self) -> int:
        return sum(row.reached for row in self.rows)

    def __repr__(self) -> str:
        return f"<zoo: {self.model} reaches {self.reached} of {len(self.rows)} memories>"

    def _repr_html_(self) -> str:
        lines = "".join(
            f"<tr><td>{row.task.name}</td><td>{row.task.family}</td><td>{_left(row)}</td>"
            f"<td>{html.escape(row.outcome)}</td></tr>"
            for row in self.rows
        )
        head = "<tr><th>memory</th><th>family</th><th>result</th><th></th></tr>"
        told = html.escape(" ".join(self.sentences()))
        return f"<p>{told}</p><table>{head}{lines}</table>"

    def sentences(self) -> tuple[str, ...]:
        said = [f"{self.model} reaches {self.reached} of {len(self.rows)} memories."]
        said += [
            f"On {row.task.name} it uses {row.layers} layers where {row.minimum.layers} suffice"
            + (
                f" (at least {row.minimum.layers_proved} is proved for models of that kind)."
                if row.minimum.layers_proved > 1
                else "."
            )
            for row in self.rows
            if row.spare_layers and row.minimum is not None
        ]
        asked = [row for row in self.rows if not row.refused]
        said += told_split((row.task.name, row.learned, row.task) for row in asked)
        return tuple(said)

    def to_json(self) -> dict[str, Any]:
        return {"model": self.model, "profile": self.profile and str(self.profile),
                "reached": self.reached, "memories": len(self.rows),
                "rows": [{"model": self.model, **row.to_json()} for row in self.rows],
                "sentences": list(self.sentences())}  # fmt: skip


def _left(row: ZooRow) -> str:
    """The share of right labels, or of the variance that is left."""
    if row.refused:
        return ""
    right = row.learned.accuracy
    if right is None:
        return f"{row.learned.loss:.2g} of the variance left"
    return f"{share_right(right)} right"


@checked
def zoo(
    model: str | Mapping[str, Any] | OwnModel,
    memories: Sequence[str] | None = None,
    *,
    profile: str = "laptop",
    folder: str | Path | None = None,
    engine: AbstractEngine | None = None,
    minima: bool = False,
    say: Say = silent,
) -> ZooProfile:
    """A model's profile. `minima` also plans the smallest model of every memory."""
    if profile not in list(Profile):
        raise unknown("profile", profile, list(Profile))
    tasks = _tasks(memories, Profile(profile))
    require(
        not isinstance(model, AbstractModel),
        "one model for all memories, whose tokens differ",
        "a name, a spec, or a function from a task to a predictor",
        "for example zoo('gru:width=32', folder='zoo')",
    )
    if callable(model):
        rows = [_own(model, task, minima) for task in tasks]
        return ZooProfile(getattr(model, "__name__", "your model"), tuple(rows))
    require(folder is not None, "a model to train", "a folder for its runs", "pass folder=")
    return _trained(model, tasks, Profile(profile), Path(folder or "zoo"), engine, minima, say)


def _own(model: OwnModel, task: MemoryTask, minima: bool) -> ZooRow:
    """Test losses of the user's predictor, on sequences of a seed of their own."""
    predictor = model(task)
    off, total, right, counted = [], [], 0.0, 0
    batches = task.batches(TEST_SEED, BATCH)
    for _ in range(TESTS):
        x, y, mask = next(batches)
        answer = np.asarray(predictor(x), np.float64)
        shape = (*y.shape, task.target.outputs) if task.target.labels else y.shape
        require(answer.shape == shape, f"answers of shape {list(answer.shape)} on {task.name}",
                f"{list(shape)}", "return one answer per read")  # fmt: skip
        if task.target.labels:
            right += float((answer.argmax(-1) == y)[mask].sum())
            counted += int(mask.sum())
        else:
            off.append((answer - y)[mask])
            total.append(y[mask])
    minimum = minimum_of(task) if minima else None
    if task.target.labels:
        accuracy = right / max(1, counted)
        return ZooRow(task, Learned((1 - accuracy,), (accuracy,)), minimum)
    share = np.mean(np.concatenate(off) ** 2) / np.var(np.concatenate(total))
    return ZooRow(task, Learned((float(share),)), minimum)


def planned(
    model: str | Mapping[str, Any], memories: Sequence[str] | None, profile: str
) -> list[RunSpec]:
    """The runs of memories that the model can be asked: what a dry run counts."""
    if profile not in list(Profile):
        raise unknown("profile", profile, list(Profile))
    effort = EFFORTS[Profile(profile)]
    specs: list[RunSpec] = []
    tasks = _tasks(memories, Profile(profile))
    _fields(model, tasks[0])  # an unknown model is no memory's fault
    for task in tasks:
        with contextlib.suppress(InputError):
            specs += planned_of(task, _fitting(model, task), effort)
    return specs


def _tasks(memories: Sequence[str] | None, profile: Profile) -> tuple[MemoryTask, ...]:
    """The whole collection, but for the smoke profile."""
    few = EFFORTS[profile].memories if profile is Profile.SMOKE else ()
    return chosen(list(memories or few))


def _fitting(model: str | Mapping[str, Any], task: MemoryTask) -> dict[str, Any]:
    """The fields of the model for a memory; what does not fit it is refused."""
    fields = _fields(model, task)
    cost_of(task, fields)  # builds it
    return fields


def _floor(task: MemoryTask, fields: Mapping[str, Any]) -> Floor:
    """The floor of the model on a linear memory, as shares of the variance of the answer."""
    kernel = linear_kernel(task.target)
    if kernel is None:
        return Floor()
    found = floor_of(task.target, fields, task.length)
    inputs: Any = getattr(unnamed(task.target), "inputs", None)
    variance = inputs.variance * float((kernel.values(task.length) ** 2).sum())
    if found.approximation is None or variance <= 0:
        return Floor(why=found.why)
    return Floor(found.approximation / variance, (found.precision or 0.0) / variance, found.why)


def _trained(
    model: str | Mapping[str, Any], tasks: Sequence[MemoryTask], profile: Profile, folder: Path,
    engine: AbstractEngine | None, minima: bool, say: Say,
) -> ZooProfile:  # fmt: skip
    effort = EFFORTS[profile]
    models: dict[tuple[str, str], dict[str, Any]] = {}
    refused, rows = {}, []
    _fields(model, tasks[0])  # an unknown model is no memory's fault
    for task in tasks:
        try:
            models[task.name, ""] = _fitting(model, task)
        except InputError as error:
            refused[task.name] = str(error)
    asked = f"{model} on {len(tasks)} memories"
    require(
        models, asked, "a memory that it can be asked", f"it says: {list(refused.values())[:1]}"
    )
    by_name = {task.name: task for task in tasks}
    ready_folder(folder)  # what is refused leaves nothing behind
    with kept(engine) as held:
        store = folder / "runs.sqlite"
        rates = pilot(by_name, models, effort, store, held, say)
        runs = {key: functools.partial(seeds_of, by_name[key[0]], fields, effort, rates[key])
                for key, fields in models.items()}  # fmt: skip
        got = by_looks(runs, by_name, effort.seeds, store, held, say)
    for task in tasks:
        if minima:
            say(f"the smallest model known for {task.name}")
        minimum = minimum_of(task) if minima else None
        if task.name in refused:
            rows.append(ZooRow(task, Learned(()), minimum, refused=refused[task.name]))
            continue
        fields = models[task.name, ""]
        layers, size = int(fields.get("layers", 1)), cost_of(task, fields).parameters
        rows.append(ZooRow(task, got[task.name, ""], minimum, layers, size,
                           floor=_floor(task, fields)))  # fmt: skip
    return ZooProfile(str(model), tuple(rows), profile)


def _fields(model: str | Mapping[str, Any], task: MemoryTask) -> dict[str, Any]:
    """The fields of the model for one memory: a contender's depend on the task."""
    if isinstance(model, str) and model in CONTENDERS:
        return maker(model)(task, Measure.PARAMETERS.budget_width)
    if isinstance(model, str) and model.partition(":")[0] not in baselines.names():
        raise unknown("model", model, list(dict.fromkeys([*CONTENDERS, *baselines.names()])))
    return read_model(model).to_plain()
