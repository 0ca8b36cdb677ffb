"""`study finite-sample`: learning curves over n (or heads, neurons, layers), taken apart.

    1 pilot    the learning rate, on fresh data and pilot seeds, by the worst of its runs
    2 effort   as many steps as are enough (`enough_effort`)
    3 curve    every size with n samples and with fresh data, same initial weights, same steps
    4 floor    what is known of the architecture without training (`known_floors`)
    5 terms    approximation + precision + optimisation + estimation = excess risk
    6 needed   the samples that an error needs; sizes near the answer are measured too
    7 bounds   explicit statements for so many samples, beside the curve (`theory.sample_bounds`)

Everything trained is one resumable sweep per step in one store: the same command goes on where it
stopped.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np

from headcount.core.arguments import checked
from headcount.core.errors import require
from headcount.core.files import ready_folder
from headcount.lab.study import Profile
from headcount.lab.sweep.driver import sweep
from headcount.lab.sweep.engine import AbstractEngine
from headcount.lab.sweep.progress import Say, progress_teller, silent
from headcount.lab.sweep.schema import FINISHED
from headcount.lab.sweep.store import Store
from headcount.lab.sweep.trainer import Trainer
from headcount.memory.target import AbstractTarget
from headcount.model.save import load
from headcount.studies.decomposition import Floor, RiskPoint
from headcount.studies.enough_effort import Arm, EnoughEffort, enough_effort
from headcount.studies.explicit_bounds import of_design, of_weights, useful
from headcount.studies.kept_workers import kept
from headcount.studies.known_floors import floor_of
from headcount.studies.learning_design import AXES, FIRST_SEED, PILOT_SEEDS, RATES, Effort
from headcount.studies.learning_design import Design as Design
from headcount.studies.learning_design import planned as planned
from headcount.studies.needed_words import needed_words
from headcount.studies.sample_planner import SamplesNeeded, more_sizes, samples_needed
from headcount.theory.sample_bounds import SampleClaim, effective_samples
from headcount.train.population import exact_risk
from headcount.train.run_spec import RunSpec

# sizes near an answer that are measured too: four halve a bracket of 3 to below 1.1
MORE_SIZES = {Profile.SMOKE: 0, Profile.LAPTOP: 4, Profile.FULL: 8}


@dataclasses.dataclass(frozen=True)
class FiniteSample:
    """What a finite-sample study found."""

    target: str
    model: dict[str, Any]
    profile: Profile
    axis: str
    noise: float
    series: bool
    effort: EnoughEffort
    curve: tuple[RiskPoint, ...]
    bounds: tuple[tuple[int | None, SampleClaim], ...]
    needed: SamplesNeeded | None
    notes: tuple[str, ...]
    trivial: float  # the risk of the best constant answer
    labels: bool = False  # then risks are in nats, and bounds on shares of wrong answers

    def to_json(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "model": self.model,
            "profile": str(self.profile),
            "axis": self.axis,
            "noise": self.noise,
            "series": self.series,
            "effort": self.effort.to_json(),
            "trivial": self.trivial,
            "curve": [point.to_json() for point in self.curve],
            "bounds": [
                {"n": n, "claim": claim.to_json(), "value": claim.value} for n, claim in self.bounds
            ],
            "useful": [dataclasses.asdict(use) for use in useful(self.bounds)],
            "n_needed": None if self.needed is None else self.needed.to_json(),
            "notes": list(self.notes),
            "sentences": list(self.sentences()),
        }

    def sentences(self) -> tuple[str, ...]:
        """The answer, from the data."""
        last = self.curve[-1]
        size = f"{last.n} samples" if last.n else "fresh data"
        said = [
            f"With {size} the risk is {last.risk.value:.3g} (best constant answer:"
            f" {self.trivial:.3g}); its largest part there is {last.dominant}."
        ]
        if self.needed is not None:
            said.append(needed_words(self.needed, last))
        said.append(self.effort.sentence())
        said += [use.sentence() for use in useful(self.bounds)]
        return tuple(said)


@checked
def finite_sample(
    target: AbstractTarget | str,
    model: Mapping[str, Any] | str | None = None,
    *,
    noise: float = 0.0,
    series: bool = False,
    over: str = "n",
    sizes: Sequence[int] | None = None,
    samples: int = 0,
    error: float | None = None,
    length: int | None = None,
    profile: str = "laptop",
    first_seed: int = FIRST_SEED,
    seeds: int | None = None,
    folder: str | Path = "finite-sample",
    engine: AbstractEngine | None = None,
    say: Say = silent,
) -> FiniteSample:
    """The learning curve of a model on a memory, taken apart.

    `over` is n, heads, neurons or layers; `sizes` are the values on that axis; along another axis
    than n each model is trained on `samples` samples. `error` asks for the samples that reach it.
    Another `first_seed` repeats the study with other seeds; it begins with `seeds` of them.
    """
    design = Design.of(target, model, noise, series, over, sizes, samples, error, length, profile,
                       first_seed, seeds)  # fmt: skip
    check_error(over, error)
    require(samples >= 0, f"samples {samples}", "1 or more", "pass for example samples=1000")
    design.spec(design.sizes[-1], 0, Effort(RATES[0], 1), first_seed)  # refused before a folder is
    with kept(engine) as held:
        return _Study(design, Path(folder), held, say).run()


def check_error(over: str, error: float | None) -> None:
    """An error asks for a number of samples, which another axis than n does not have."""
    fine = error is None or over not in AXES
    require(fine, f"error {error} over {over}", "an error over n only, for it asks for a number of"
            " samples", "use --over n, or leave --error out")  # fmt: skip


def _told(floor: Floor) -> str:
    """What stands behind a floor, as a sentence of its own."""
    if floor.approximation is None:
        return floor.why
    return f"approximation is the error of the best weights known: {floor.why}"


class _Study:
    """The steps, in order."""

    def __init__(self, design: Design, folder: Path, engine: AbstractEngine | None, say: Say):
        self.design, self.folder, self.engine, self.say = design, folder, engine, say
        ready_folder(folder)
        self.store = folder / "runs.sqlite"
        self.weights = self.store.with_name(self.store.name + ".weights")
        self._exact: dict[str, float] = {}

    def run(self) -> FiniteSample:
        d = self.design
        first, most = d.seeds
        floors = {size: floor_of(d.target, d.model_at(size), d.length) for size in d.models}
        reached = self.effort(self.pilot(), first, floors)
        effort = reached.effort
        sizes, seeds = list(d.sizes), first
        points = self.curve(sizes, effort, seeds, floors)
        needed = self.needed(points)
        while needed is not None:
            room = len(sizes) < len(d.sizes) + MORE_SIZES[d.profile]
            more = more_sizes(needed, sizes, [point.risks for point in points]) if room else []
            if more:
                sizes = sorted({*sizes, *more})
            elif needed.wide and seeds < most:
                seeds = min(most, seeds + 5)
            else:
                break
            points = self.curve(sizes, effort, seeds, floors)
            needed = self.needed(points)
        notes = tuple(dict.fromkeys(_told(floor) for floor in floors.values() if floor.why))
        return FiniteSample(d.name, d.model, d.profile, d.axis, d.noise, d.series, reached,
                            tuple(points), tuple(self.bounds(points, effort)), needed, notes,
                            self.trivial, d.target.labels)  # fmt: skip

    def pilot(self) -> float:
        """The learning rate whose worst pilot run on fresh data is best."""
        d = self.design
        size = d.sizes[-1]
        steps = d.steps[0]
        specs = {(r, s): d.spec(size, 0, Effort(r, steps), s) for r in RATES for s in PILOT_SEEDS}
        losses = self.losses(list(specs.values()))
        worst = {r: max(losses[specs[r, s].content_hash] for s in PILOT_SEEDS) for r in RATES}
        return min(RATES, key=lambda r: worst[r])

    def effort(self, rate: float, seeds: int, floors: Mapping[int, Floor]) -> EnoughEffort:
        """Steps that are enough for fresh data and for the smallest number of samples."""
        d = self.design
        arms = [*((size, 0) for size in d.models), (d.sizes[0], d.samples_at(d.sizes[0]))]

        def risks(arms: Sequence[Arm], effort: Effort) -> dict[Arm, np.ndarray]:
            return self.risks(arms, effort, seeds)

        known = {size: floor.known for size, floor in floors.items()}
        return enough_effort(arms, risks, rate, d.steps, d.error, self.trivial, known)

    def risks(self, arms: Sequence[Arm], effort: Effort, seeds: int) -> dict[Arm, np.ndarray]:
        """The risk of every seed [seeds] of each (size, samples)."""
        used = range(self.design.first_seed, self.design.first_seed + seeds)
        specs = {arm: [self.design.spec(*arm, effort, s) for s in used] for arm in arms}
        every = [spec for group in specs.values() for spec in group]
        losses = self.losses(every)
        if self.design.exact:
            losses |= {spec.content_hash: self.exact_risk(spec) for spec in every
                       if spec.train.data.samples}  # fmt: skip
        return {arm: np.array([losses[spec.content_hash] for spec in group])
                for arm, group in specs.items()}  # fmt: skip

    def curve(
        self, sizes: Sequence[int], effort: Effort, seeds: int, floors: Mapping[int, Floor]
    ) -> list[RiskPoint]:
        d = self.design
        arms = [*((m, 0) for m in d.models), *((n, d.samples_at(n)) for n in sizes)]
        found = self.risks(arms, effort, seeds)

        def point(size: int) -> RiskPoint:
            model = size if d.axis != "n" else d.models[0]
            n = d.samples_at(size)
            at = {} if d.axis == "n" else {d.axis: size}
            counted = effective_samples(n, d.length, not d.series)
            return RiskPoint(n, at, found[size, n], found[model, 0], floors[model], counted,
                             together=len(sizes))  # fmt: skip

        return [point(size) for size in sizes]

    def losses(self, specs: Sequence[RunSpec]) -> dict[str, float]:
        """Final test losses by run; a run that diverged counts as the constant answer's would not:
        as infinite, refused here.
        """
        unique = {spec.content_hash: spec for spec in specs}
        summary = sweep(
            list(unique.values()), self.store, engine=self.engine, runner=Trainer(weights=True),
            watch=progress_teller(self.say),
        )  # fmt: skip
        if summary.interrupted:
            raise KeyboardInterrupt
        with Store(self.store, read_only=True) as opened:
            rows = {row.id: row for row in opened.rows(set(unique))[0]}
        failed = [row for row in rows.values() if row.status != FINISHED]
        fix = "see headcount status"
        require(not failed, f"{len(failed)} runs failed", "runs that finish", fix)
        final = {id: row.record["final"].get("eval_loss", math.inf) for id, row in rows.items()}
        return {id: value if math.isfinite(value) else 1e8 for id, value in final.items()}

    def needed(self, points: Sequence[RiskPoint]) -> SamplesNeeded | None:
        d = self.design
        if d.error is None or d.axis != "n":
            return None
        risks = np.stack([point.risks for point in points])
        found = samples_needed([point.n or 1 for point in points], risks, d.error, points[0].fresh)
        near = (
            points[-1]
            if found.n is None
            else min(points, key=lambda p: abs(math.log((p.n or 1) / (found.n or 1))))
        )
        return dataclasses.replace(found, dominant=str(near.dominant))

    def exact_risk(self, spec: RunSpec) -> float:
        """The expected loss of stored weights; they stay once computed."""
        id = spec.content_hash
        if id not in self._exact:
            model = load(self.weights / id)
            d = self.design
            self._exact[id] = float(_exact_risk(model, d.target, d.length))
        return self._exact[id]

    @functools.cached_property
    def trivial(self) -> float:
        """The variance of clean answers, on test sequences of a seed of its own."""
        import jax

        drawn = self.design.target.sample(jax.random.key(77), 4000, self.design.length)
        if self.design.target.labels:
            return math.log(self.design.target.outputs)
        return float(np.var(np.asarray(drawn.y, np.float64)))

    def bounds(
        self, points: Sequence[RiskPoint], effort: Effort
    ) -> list[tuple[int | None, SampleClaim]]:
        """Before training, then for the weights that the first seed ended with at each size."""
        d = self.design
        first = of_design(d.target, d.length, d.noise)
        found: list[tuple[int | None, SampleClaim]] = [(None, claim) for claim in first]
        for point in points:
            size = next(iter(point.at.values()), point.n or 0)
            spec = d.spec(size, d.samples_at(size), effort, d.first_seed)
            place = self.weights / spec.content_hash
            if place.exists():
                claims = of_weights(load(place), d.target, d.length, point.effective or 1,
                                    independent=not d.series, noise=bool(d.noise))  # fmt: skip
                found += [(point.n, claim) for claim in claims]
        return found


_exact_risk = eqx.filter_jit(exact_risk)  # compiled once for a model
