"""`study finite-sample`: learning curves over n (or heads, neurons, layers), taken apart.

    1 pilot    the learning rate, on fresh data and pilot seeds, by the worst of its runs
    2 curve    every size with n samples and with fresh data, same initial weights, same steps
    3 floor    what is known of the architecture without training (`known_floors`)
    4 terms    approximation + precision + optimisation + estimation = excess risk
    5 needed   the samples that an error needs; sizes near the answer are measured too
    6 bounds   explicit statements for so many samples, beside the curve (`theory.sample_bounds`)

Everything trained is one resumable sweep per step in one store: the same command goes on where it
stopped.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headcount.core.arguments import checked
from headcount.core.errors import require, unknown
from headcount.core.overrides import merged
from headcount.core.spec import plain
from headcount.lab.study import Profile
from headcount.lab.sweep.driver import sweep
from headcount.lab.sweep.engine import AbstractEngine
from headcount.lab.sweep.progress import Say, progress_teller, silent
from headcount.lab.sweep.schema import FINISHED
from headcount.lab.sweep.store import Store
from headcount.lab.sweep.trainer import Trainer
from headcount.memory.named import targets
from headcount.memory.named.observed import Noisy, Series
from headcount.memory.target import AbstractTarget, Family
from headcount.model.save import load
from headcount.studies.decomposition import Floor, RiskPoint
from headcount.studies.explicit_bounds import of_design, of_weights
from headcount.studies.known_floors import floor_of
from headcount.studies.sample_planner import SamplesNeeded, samples_needed
from headcount.theory.sample_bounds import SampleClaim, effective_samples
from headcount.train.run_spec import RunSpec, read_model

AXES = {"heads": "heads", "neurons": "hidden", "layers": "layers"}  # axis → field of the model
SIZES = {
    Profile.SMOKE: (30, 300),
    Profile.LAPTOP: (30, 100, 300, 1000, 3000, 10_000),
    Profile.FULL: (30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
}
SEEDS = {Profile.SMOKE: (5, 5), Profile.LAPTOP: (5, 10), Profile.FULL: (5, 20)}  # first, most
STEPS = {Profile.SMOKE: 200, Profile.LAPTOP: 3000, Profile.FULL: 10_000}
RATES = (1e-3, 3e-3, 1e-2, 3e-2)
PILOT_SEEDS, FIRST_SEED = (11, 12), 5000
LARGEST_BYTES = 2e9  # of one training set


@dataclasses.dataclass(frozen=True)
class FiniteSample:
    """What a finite-sample study found."""

    target: str
    model: dict[str, Any]
    profile: Profile
    axis: str
    noise: float
    series: bool
    rate: float
    curve: tuple[RiskPoint, ...]
    bounds: tuple[tuple[int | None, SampleClaim], ...]
    needed: SamplesNeeded | None
    notes: tuple[str, ...]
    trivial: float  # the risk of the best constant answer

    def to_json(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "model": self.model,
            "profile": str(self.profile),
            "axis": self.axis,
            "noise": self.noise,
            "series": self.series,
            "lr": self.rate,
            "trivial": self.trivial,
            "curve": [point.to_json() for point in self.curve],
            "bounds": [
                {"n": n, "claim": claim.to_json(), "value": claim.value} for n, claim in self.bounds
            ],
            "n_needed": None if self.needed is None else self.needed.to_json(),
            "notes": list(self.notes),
            "sentences": list(self.sentences()),
        }

    def sentences(self) -> tuple[str, ...]:
        """The answer, from the data."""
        last = self.curve[-1]
        size = f"{last.n} samples" if last.n else "fresh data"
        said = [
            f"With {size} the risk is {last.risk.value:.3g} of {self.trivial:.3g}; its largest"
            f" part there is {last.dominant}."
        ]
        need = self.needed
        if need is not None and need.n is None:
            fresh = float(last.fresh.mean())
            said.append(
                f"No number of samples reaches {need.error:g} with this model and training: fresh"
                f" data leave {fresh:.3g}."
            )
        elif need is not None:
            drawn = " (drawn on beyond the sizes measured)" if need.extrapolated else ""
            said.append(
                f"A risk of {need.error:g} takes about {_count(need.n)} samples"
                f" [{_count(need.low)}, {_count(need.high)}]{drawn}; {need.dominant} dominates"
                " there."
            )
        methods = dict.fromkeys(c.method for n, c in self.bounds if n is not None)
        for method in methods:
            sizes = [n for n, c in self.bounds if c.method == method and n and not c.trivial]
            said.append(
                f"The {method} bound says something from n = {min(sizes)} on, of the sizes tried."
                if sizes
                else f"The {method} bound says no more than the range of the loss at these sizes."
            )
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
    folder: str | Path = "finite-sample",
    engine: AbstractEngine | None = None,
    say: Say = silent,
) -> FiniteSample:
    """The learning curve of a model on a memory, taken apart.

    `over` is n, heads, neurons or layers; `sizes` are the values on that axis; along another axis
    than n each model is trained on `samples` samples. `error` asks for the samples that reach it.
    """
    design = Design.of(target, model, noise, series, over, sizes, samples, error, length, profile)
    study = _Study(design, Path(folder), engine, say)
    return study.run()


@dataclasses.dataclass(frozen=True)
class Design:
    """A checked question."""

    name: str
    target: AbstractTarget
    observed: AbstractTarget  # with noise, as a series
    model: dict[str, Any]
    profile: Profile
    axis: str
    sizes: tuple[int, ...]
    samples: int
    error: float | None
    length: int
    noise: float
    series: bool

    @classmethod
    def of(
        cls, target, model, noise, series, over, sizes, samples, error, length, profile
    ) -> "Design":
        built = targets.build(target)
        if profile not in list(Profile):
            raise unknown("profile", profile, list(Profile))
        if over != "n" and over not in AXES:
            raise unknown("axis", over, ["n", *AXES])
        fine = error is None or 0 < error < math.inf
        require(fine, f"error {error}", "a finite number > 0", "pass for example --error 0.01")
        require(over == "n" or samples >= 2, f"{over} without samples", "how many samples each"
                " model is trained on", "pass --samples 1000")  # fmt: skip
        given = tuple(sizes) if sizes else (SIZES[Profile(profile)] if over == "n" else (1, 2, 4))
        good = all(isinstance(size, int) and size >= 1 for size in given)
        require(good and len(set(given)) == len(given), f"sizes {given}", "different whole"
                " numbers >= 1", "pass for example --sizes 100,1000")  # fmt: skip
        reach = max(2 * built.shortest, 32) if length is None else length
        built.check_length(reach)
        observed = Noisy(built, noise) if noise else built
        observed = Series(observed) if series else observed
        chosen = _model(model, built, reach)
        largest = max(given) if over == "n" else samples
        size = 4.0 * largest * reach * max(1, built.dim)
        require(size <= LARGEST_BYTES, f"{largest} samples of {reach} tokens ({size / 1e9:.1f} GB)",
                f"at most {LARGEST_BYTES / 1e9:g} GB", "fewer samples or --length")  # fmt: skip
        name = target if isinstance(target, str) else built.kind
        values = tuple(sorted(given))
        return cls(name, built, observed, chosen, Profile(profile), over, values, samples, error,
                   reach, noise, series)  # fmt: skip

    def model_at(self, size: int) -> dict[str, Any]:
        return self.model if self.axis == "n" else merged(self.model, {AXES[self.axis]: size})

    def samples_at(self, size: int) -> int:
        return size if self.axis == "n" else self.samples

    def spec(self, size: int, samples: int, rate: float, seed: int) -> RunSpec:
        """One run; samples 0 are fresh data."""
        steps = STEPS[self.profile]
        train = {
            "steps": steps, "lr": rate, "length": self.length, "batch": 100,
            "schedule": {"shape": "cosine", "warmup": max(1, steps // 20), "final": 0.01},
            "data": {"samples": samples}, "evaluation": {"batches": 40}, "log": 4,
            "effort": {"smoke": "low", "laptop": "medium", "full": "high"}[self.profile],
        }  # fmt: skip
        memory = plain(self.observed)
        return RunSpec.from_values(
            {"memory": memory, "model": self.model_at(size), "train": train, "seed": seed}
        )


def _model(
    given: Mapping[str, Any] | str | None, target: AbstractTarget, length: int
) -> dict[str, Any]:
    """A baseline by text; fields of a Transformer change those of the default one."""
    if isinstance(given, str) or (given and "kind" in given):
        return read_model(given).to_plain()
    return merged(default_model(target, length), given or {})


def default_model(target: AbstractTarget, length: int) -> dict[str, Any]:
    """A model that can do it, small: by the family of the memory."""
    profile = target.memory_profile()
    table = {"kind": "table", "window": length}
    if target.labels:
        return {"layers": profile.retrievals + 1, "heads": 4, "width": 32, "hidden": 64,
                "bias": table, "norm": "pre-ln", "readout": "linear"}  # fmt: skip
    if profile.family is Family.ESSENTIAL:
        return {"attention": "dp-free", "ffn": "none", "readout": "linear", "bias": "lin",
                "heads": 4, "width": 16, "head_dim": 1}  # fmt: skip
    if profile.family is Family.FIXED:
        return {"attention": "dp-free", "bias": table, "heads": max(1, profile.memories),
                "width": 16, "head_dim": 4, "hidden": 64}  # fmt: skip
    return {"layers": profile.retrievals + 1, "heads": 4, "width": 32, "hidden": 64, "bias": table,
            "readout": "linear"}  # fmt: skip


def planned(design: Design) -> list[RunSpec]:
    """The runs before any is added near an answer: what a dry run counts."""
    rate, first = RATES[-1], SEEDS[design.profile][0]
    pilot = [design.spec(design.sizes[-1], 0, r, s) for r in RATES for s in PILOT_SEEDS]
    models = design.sizes[:1] if design.axis == "n" else design.sizes
    seeds = range(FIRST_SEED, FIRST_SEED + first)
    fresh = [design.spec(m, 0, rate, s) for m in models for s in seeds]
    return [*pilot, *fresh, *(design.spec(n, design.samples_at(n), rate, s)
                              for n in design.sizes for s in seeds)]  # fmt: skip


class _Study:
    """The steps, in order."""

    def __init__(self, design: Design, folder: Path, engine: AbstractEngine | None, say: Say):
        self.design, self.folder, self.engine, self.say = design, folder, engine, say
        folder.mkdir(parents=True, exist_ok=True)
        self.store = folder / "runs.sqlite"

    def run(self) -> FiniteSample:
        d = self.design
        rate = self.pilot()
        first, most = SEEDS[d.profile]
        floors = {size: floor_of(d.target, d.model_at(size), d.length) for size in self.models()}
        sizes, seeds = list(d.sizes), first
        points = self.curve(sizes, rate, seeds, floors)
        needed = self.needed(points)
        while d.axis == "n" and needed is not None and needed.n is not None:
            more = _near(needed.n, sizes) if d.profile is not Profile.SMOKE else []
            wide = needed.high is not None and needed.low and needed.high > 2 * needed.low
            if more:
                sizes = sorted({*sizes, *more})
            elif wide and seeds < most:
                seeds = min(most, seeds + 5)
            else:
                break
            points = self.curve(sizes, rate, seeds, floors)
            needed = self.needed(points)
        notes = tuple(dict.fromkeys(floor.why for floor in floors.values() if floor.why))
        return FiniteSample(d.name, d.model, d.profile, d.axis, d.noise, d.series, rate,
                            tuple(points), tuple(self.bounds(points, rate)), needed, notes,
                            self.trivial(points))  # fmt: skip

    def models(self) -> tuple[int, ...]:
        """Sizes with a model of their own."""
        return self.design.sizes[:1] if self.design.axis == "n" else self.design.sizes

    def pilot(self) -> float:
        """The learning rate whose worst pilot run on fresh data is best."""
        d = self.design
        size = d.sizes[-1]
        specs = {(r, s): d.spec(size, 0, r, s) for r in RATES for s in PILOT_SEEDS}
        losses = self.losses(list(specs.values()))
        worst = {r: max(losses[specs[r, s].content_hash] for s in PILOT_SEEDS) for r in RATES}
        return min(RATES, key=lambda r: worst[r])

    def curve(
        self, sizes: Sequence[int], rate: float, seeds: int, floors: Mapping[int, Floor]
    ) -> list[RiskPoint]:
        d = self.design
        used = range(FIRST_SEED, FIRST_SEED + seeds)
        fresh = {m: [d.spec(m, 0, rate, s) for s in used] for m in self.models()}
        tried = {n: [d.spec(n, d.samples_at(n), rate, s) for s in used] for n in sizes}
        every = [spec for group in (*fresh.values(), *tried.values()) for spec in group]
        losses = self.losses(every)

        def of(specs: Sequence[RunSpec]) -> np.ndarray:
            return np.array([losses[spec.content_hash] for spec in specs])

        def point(size: int) -> RiskPoint:
            model = size if d.axis != "n" else self.models()[0]
            n = d.samples_at(size)
            at = {} if d.axis == "n" else {d.axis: size}
            counted = effective_samples(n, d.length, not d.series)
            return RiskPoint(n, at, of(tried[size]), of(fresh[model]), floors[model], counted)

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
        fresh = float(points[0].fresh.mean())
        found = samples_needed([point.n or 1 for point in points], risks, d.error, fresh)
        near = (
            points[-1]
            if found.n is None
            else min(points, key=lambda p: abs(math.log((p.n or 1) / (found.n or 1))))
        )
        return dataclasses.replace(found, dominant=str(near.dominant))

    def trivial(self, points: Sequence[RiskPoint]) -> float:
        """The variance of clean answers, on test sequences of a seed of its own."""
        import jax

        drawn = self.design.target.sample(jax.random.key(77), 4000, self.design.length)
        if self.design.target.labels:
            return math.log(self.design.target.outputs)
        return float(np.var(np.asarray(drawn.y, np.float64)))

    def bounds(
        self, points: Sequence[RiskPoint], rate: float
    ) -> list[tuple[int | None, SampleClaim]]:
        """Before training, then for the weights that the first seed ended with at each size."""
        d = self.design
        first = of_design(d.target, d.model, d.length, d.noise)
        found: list[tuple[int | None, SampleClaim]] = [(None, claim) for claim in first]
        for point in points:
            size = next(iter(point.at.values()), point.n or 0)
            spec = d.spec(size, d.samples_at(size), rate, FIRST_SEED)
            place = self.store.with_name(self.store.name + ".weights") / spec.content_hash
            if place.exists():
                claims = of_weights(load(place), d.target, d.length, point.effective or 1,
                                    independent=not d.series, noise=bool(d.noise))  # fmt: skip
                found += [(point.n, claim) for claim in claims]
        return found


def _count(n: float | None) -> str:
    """Two digits of a number of samples, as a reader writes it.

    >>> _count(1234.5), _count(2.5e6)
    ('1,200', '2,500,000')
    """
    return f"{float(f'{n:.2g}'):,.0f}" if n is not None and math.isfinite(n) else "infinitely many"


def _near(n: float, sizes: Sequence[int]) -> list[int]:
    """A size near the answer that was not measured, where none lies within a factor 1.5."""
    if not math.isfinite(n) or n > 3 * max(sizes) or n < min(sizes):
        return []
    aim = max(2, round(n))
    return [] if any(2 / 3 <= size / aim <= 1.5 for size in sizes) else [aim]
