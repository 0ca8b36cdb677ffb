"""`study rivals`: Transformers against recurrences, convolutions and sliding windows on the same
memories, made equal in parameters, in state, or in work.

For each memory and contender: the learning rate is chosen on a pilot seed, the chosen one is run
with the registered seeds (more where seeds do not agree whether the memory is reached), and what
is left is put down to one of four causes:

    approximation   no weights of this kind leave less than 1% of the variance
    precision       known weights leave less, but not once they are rounded to float32
    optimisation    known weights leave less, training did not find them
    unknown         no weights of this size are known here

A diagonal linear recurrence *is* a sum of exponentials. With complex modes for half of the lags it
holds any kernel (`known_floors.modes_of`); with fewer its floor is that of `fit` with a lin bias.
"""

import dataclasses
import enum
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headcount.core.arguments import checked
from headcount.core.errors import HeadcountError, require, unknown
from headcount.core.files import ready_folder
from headcount.experiments.floors import fitted
from headcount.lab.study import Profile
from headcount.lab.sweep.engine import AbstractEngine
from headcount.lab.sweep.progress import Say, silent
from headcount.model.cost import Cost
from headcount.studies.collection import SHARE, MemoryTask, chosen
from headcount.studies.contenders import (
    CONTENDERS,
    LOCAL,
    TAPS,
    Measure,
    amount,
    cost_of,
    layers_of,
    maker,
    near,
    sized,
)
from headcount.studies.decomposition import Floor
from headcount.studies.kept_workers import kept
from headcount.studies.known_floors import linear_kernel, recurrence_floor
from headcount.studies.trials import (
    Learned,
    by_looks,
    learned,
    recipe,
    spec_of,
    told_split,
    trained,
)
from headcount.theory.rounding import Dtype
from headcount.train.run_spec import RunSpec

PILOT_SEED, FIRST_SEED = 11, 6000
NORMED = 1e-9  # of the variance: at most what float32 costs weights behind a norm (`floor_of`)
MODES = 8  # real ones of a diagonal recurrence whose floor is fitted: more contain them
LAPTOP = ("lag-5", "lag-30", "power-light", "choice", "two-hops", "recall", "selective-copy")
SPARED = "lstm"  # of the contenders on a laptop: the GRU stands for both


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much a profile runs."""

    memories: tuple[str, ...]
    contenders: tuple[str, ...]
    steps: int
    seeds: tuple[int, ...]  # looks: more seeds only where the first do not agree
    rates: tuple[float, ...]
    compiler: str
    batch: int = 64

    def recipe(self, task: MemoryTask, lr: float) -> dict[str, Any]:
        return recipe(task, self.steps, lr, self.compiler, self.batch)


EFFORTS = {
    Profile.SMOKE: Effort(
        ("lag-5", "recall"), ("transformer", "gru", "ssm"), 60, (5,), (3e-3,), "low"
    ),
    Profile.LAPTOP: Effort(
        LAPTOP, tuple(n for n in CONTENDERS if n != SPARED), 1000, (5, 10), (3e-3, 1e-2), "medium",
        batch=32,
    ),
    Profile.FULL: Effort(
        (), tuple(CONTENDERS), 2000, (5, 10), (1e-3, 3e-3, 1e-2), "high", batch=32
    ),
}  # fmt: skip


class Cause(enum.StrEnum):
    """Why a memory was not reached."""

    REACHED = "reached"
    APPROXIMATION = "approximation"
    PRECISION = "precision"
    OPTIMISATION = "optimisation"
    UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True)
class Minimum:
    """The smallest models known for a memory: each size is the least of the rows of `plan` that
    reach it, so that they need not be of one model. Rows that serve sequences of one length count:
    a task has one.
    """

    layers: int
    heads: int
    parameters: int
    construction: str  # of the model with the fewest parameters
    layers_proved: int = 1  # no model like the one with the fewest layers has fewer


@dataclasses.dataclass(frozen=True)
class Rival:
    """One contender on one memory."""

    task: MemoryTask
    model: str
    size: Cost
    learned: Learned
    floor: Floor  # shares of the variance: what it must leave, or can come down to
    minimum: Minimum | None
    share: float  # of the budget, that it has

    @property
    def reached(self) -> bool:
        return self.learned.reached(self.task)

    @property
    def cause(self) -> Cause:
        if self.reached:
            return Cause.REACHED
        if self.floor.approximation is None:
            return Cause.UNKNOWN
        if self.floor.approximation > SHARE:
            return Cause.APPROXIMATION
        return Cause.PRECISION if self.floor.known > SHARE else Cause.OPTIMISATION

    def to_json(self) -> dict[str, Any]:
        return {
            "memory": self.task.name, "family": str(self.task.family), "model": self.model,
            "learned": self.learned.loss, "accuracy": self.learned.accuracy,
            "interval": self.learned.interval.to_json(),
            "floor": self.floor.approximation, "precision": self.floor.precision,
            "minimum": None if self.minimum is None else dataclasses.asdict(self.minimum),
            "reached": self.reached, "cause": str(self.cause), "seeds": len(self.learned.losses),
            "seeds_reached": self.learned.seeds_reached(self.task),
            "share": self.share, **dataclasses.asdict(self.size),
        }  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Rivals:
    """Every contender on every memory."""

    measure: Measure
    profile: Profile
    rows: tuple[Rival, ...]

    def counts(self) -> dict[str, tuple[int, int]]:
        """Contender → (memories reached, memories tried)."""
        found: dict[str, tuple[int, int]] = {}
        for row in self.rows:
            got, of = found.get(row.model, (0, 0))
            found[row.model] = (got + row.reached, of + 1)
        return found

    def sentences(self) -> tuple[str, ...]:
        ranked = sorted(self.counts().items(), key=lambda item: -item[1][0])
        told = ", ".join(f"{name} {got} of {of}" for name, (got, of) in ranked)
        said = [f"At equal {self.measure}, memories reached: {told}.", *self._told_shares()]
        for cause in (Cause.APPROXIMATION, Cause.PRECISION, Cause.OPTIMISATION):
            missed = [f"{r.model} on {r.task.name}" for r in self.rows if r.cause is cause]
            if missed:
                rest = f" and {len(missed) - 8} more" if len(missed) > 8 else ""
                said.append(f"Missed for {cause}: {', '.join(missed[:8])}{rest}.")
        said += told_split((f"{r.model} on {r.task.name}", r.learned, r.task) for r in self.rows)
        unknown_ = sum(r.cause is Cause.UNKNOWN for r in self.rows)
        if unknown_:
            said.append(f"In {unknown_} of {len(self.rows)} cases no weights of that shape are"
                        " known here, so that the cause is open.")  # fmt: skip
        return tuple(said)

    def _told_shares(self) -> list[str]:
        """A sentence on contenders whose amount is not the budget; none where all are near."""
        off: dict[str, list[float]] = {}
        for row in self.rows:
            if not near(row.share):
                off.setdefault(row.model, []).append(row.share)
        told = []
        for name, shares in off.items():
            ends = dict.fromkeys(f"{share:.0%}" for share in (min(shares), max(shares)))
            told.append(f"{name} {' to '.join(ends)} on {len(shares)} of {self.counts()[name][1]}")
        if not told:
            return []
        return [f"Not equal, shares of the budget of {self.measure}: {', '.join(told)}."]

    def to_json(self) -> dict[str, Any]:
        return {
            "equal": str(self.measure), "profile": str(self.profile),
            "rows": [row.to_json() for row in self.rows], "sentences": list(self.sentences()),
        }  # fmt: skip


@checked
def rivals(
    memories: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    *,
    equal: str = "parameters",
    profile: str = "laptop",
    folder: str | Path = "rivals",
    engine: AbstractEngine | None = None,
    say: Say = silent,
) -> Rivals:
    """Train every contender on every memory at an equal amount of `equal`."""
    effort, measure = _known(profile, equal)
    tasks = chosen(list(memories or effort.memories))
    names = list(models or effort.contenders)
    for name in names:
        maker(name)
    require(tasks and names, "nothing to compare", "a memory and a model", "name some")
    sizes = {(t.name, n): sized(n, t, measure, budget(t, measure)) for t in tasks for n in names}
    place = _ready(folder)
    by_name = {task.name: task for task in tasks}
    with kept(engine) as held:
        fields = {key: size.model for key, size in sizes.items()}
        rates = pilot(by_name, fields, effort, place, held, say)
        runs = {
            key: functools.partial(seeds_of, by_name[key[0]], model, effort, rates[key])
            for key, model in fields.items()
        }
        found = by_looks(runs, by_name, effort.seeds, place, held, say)
    say("what is known without training: floors, and the smallest model of each memory")
    rows = [
        Rival(by_name[key[0]], key[1], sizes[key].cost, got,
              floor_of(by_name[key[0]], key[1], sizes[key].modes, sizes[key].model["width"]),
              minimum_of(by_name[key[0]]), sizes[key].share)
        for key, got in found.items()
    ]  # fmt: skip
    return Rivals(measure, Profile(profile), tuple(rows))


def planned(
    memories: Sequence[str] | None, models: Sequence[str] | None, equal: str, profile: str
) -> list[RunSpec]:
    """Pilot and runs: what a dry run counts."""
    effort, measure = _known(profile, equal)
    specs = []
    for task in chosen(list(memories or effort.memories)):
        for name in models or effort.contenders:
            model = sized(name, task, measure, budget(task, measure)).model
            specs += planned_of(task, model, effort)
    return specs


def _known(profile: str, equal: str) -> tuple[Effort, Measure]:
    """What the two words stand for; others are refused."""
    if profile not in list(Profile):
        raise unknown("profile", profile, list(Profile))
    if equal not in list(Measure):
        raise unknown("measure", equal, list(Measure))
    return EFFORTS[Profile(profile)], Measure(equal)


def budget(task: MemoryTask, measure: Measure) -> int:
    """What a Transformer of a standard width takes."""
    return amount(cost_of(task, maker("transformer")(task, measure.budget_width)), measure)


def _ready(folder: str | Path) -> Path:
    return ready_folder(folder) / "runs.sqlite"


def seeds_of(
    task: MemoryTask, model: Mapping[str, Any], effort: Effort, lr: float, seeds: int
) -> list[RunSpec]:
    """The registered runs of one model on one memory."""
    train = effort.recipe(task, lr)
    return [spec_of(task, model, train, FIRST_SEED + i) for i in range(seeds)]


def planned_of(task: MemoryTask, model: Mapping[str, Any], effort: Effort) -> list[RunSpec]:
    """Pilot and first look of one model on one memory."""
    return [*_tries(task, model, effort).values(),
            *seeds_of(task, model, effort, effort.rates[0], effort.seeds[0])]  # fmt: skip


def pilot(
    tasks: Mapping[str, MemoryTask], models: Mapping[tuple[str, str], Mapping[str, Any]],
    effort: Effort, store: Path, engine: AbstractEngine | None, say: Say,
) -> dict[tuple[str, str], float]:  # fmt: skip
    """The learning rate of each (memory, model), by one pilot seed."""
    tried = {key: _tries(tasks[key[0]], model, effort) for key, model in models.items()}
    specs = [spec for each in tried.values() for spec in each.values()]
    finals = trained(specs, store, engine, say) if specs else {}
    losses = {key: {lr: learned([spec], finals).loss for lr, spec in each.items()}
              for key, each in tried.items()}  # fmt: skip
    return {key: min(each, key=each.__getitem__, default=effort.rates[0])
            for key, each in losses.items()}  # fmt: skip


def _tries(task: MemoryTask, model: Mapping[str, Any], effort: Effort) -> dict[float, RunSpec]:
    """A pilot run for each learning rate, where there is a choice."""
    if len(effort.rates) == 1:
        return {}
    return {lr: spec_of(task, model, effort.recipe(task, lr), PILOT_SEED) for lr in effort.rates}


@functools.lru_cache(maxsize=256)
def floor_of(task: MemoryTask, name: str, modes: int = 0, width: int = 0) -> Floor:
    """The share of the variance that a contender must leave, or can come down to, on a linear
    memory, and what rounding to float32 adds; empty where nothing is known.

    Tables. Two softmax heads with a free number per lag, one for each sign, hold any kernel. Layer
    norm is no obstacle in the limit: of (c, -c, v, -v) it gives v sqrt(2)/c up to a share
    v^2/(2 c^2), so that a large constant beside the values leaves as little as one likes; with
    c = 1000 v both this and float32 are far below `NORMED`.

    Convolutions. Offsets that keep ReLU on its linear side make L layers of size 4 a tensor train
    over the digits of the lag, whose ranks are at most 4^floor(L/2): so many channels hold any
    kernel on 4^L lags, and one more takes the constants away. With fewer channels: unknown.

    One layer that sees the last tokens only leaves all that lies further back. A diagonal
    recurrence with `modes` complex modes for half of the lags holds any kernel. With fewer it
    reaches what few real modes reach; where that is not enough, others may do better: unknown.
    """
    kernel = linear_kernel(task.target)
    if kernel is None:
        return Floor()
    if name in ("dp-free", "transformer"):
        return Floor(0.0, NORMED)
    if name == "convolution":
        enough = width > TAPS ** (layers_of(task.length) // 2)
        return Floor(0.0, NORMED) if enough else Floor()
    if name == "local" and task.depth == 1:
        energy = kernel.values(task.length) ** 2
        return Floor(float(energy[LOCAL:].sum() / energy.sum()), 0.0)
    if name != "ssm":
        return Floor()
    turning = recurrence_floor(kernel.values(task.length), modes)
    if turning.approximation is not None:
        return turning
    fits = [fitted(kernel, "lin", few, task.length, certify=False, residual=True)
            for few in (1, 2, 4, MODES)]  # fmt: skip
    exact, rounded = (
        min(float((error / fit.errors.kernel.l2) ** 2) for error, fit in zip(errors, fits,
                                                                            strict=True))
        for errors in ([fit.errors.absolute.l2 for fit in fits],
                       [fit.rounded[str(Dtype.FLOAT32)].error.l2 for fit in fits])
    )  # fmt: skip
    return Floor(exact, max(0.0, rounded - exact)) if exact <= SHARE else Floor()


@functools.lru_cache(maxsize=256)
def minimum_of(task: MemoryTask) -> Minimum | None:
    """The smallest models that `plan` finds for an error of 0.1."""
    from headcount.construct.plan import plan
    from headcount.construct.plan_minimum import minima

    try:
        made = plan(task.target, tol=0.1, length=task.length)
    except HeadcountError:
        return None
    known = [(row, row.architecture, row.parameters) for row in made.rows if row.reachable]
    rows = [(row, a, size) for row, a, size in known if a is not None and size is not None]
    if not rows:
        return None
    smallest, _, parameters = min(rows, key=lambda each: each[2])
    shallow, least, _ = min(rows, key=lambda each: (each[1].layers, each[2]))
    proved = {each.size: each.least for each in minima(task.target, shallow, task.length)}
    return Minimum(least.layers, min(a.heads for _, a, _ in rows), parameters,
                   smallest.construction, proved.get("layers", 1))  # fmt: skip
