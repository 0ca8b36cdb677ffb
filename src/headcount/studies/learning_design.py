"""The checked question of a finite-sample study, and the runs that it asks for."""

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from headcount.core.errors import InputError, require, unknown
from headcount.core.overrides import merged
from headcount.core.spec import plain
from headcount.lab.judge.statistics import FEWEST_SEEDS
from headcount.lab.study import Profile
from headcount.memory.named import targets
from headcount.memory.named.observed import LARGEST_SIGMA, Noisy, Series
from headcount.memory.target import AbstractTarget, Family
from headcount.train.population import check_population
from headcount.train.run_spec import RunSpec, read_model
from headcount.train.weights import cost_of, structure

AXES = {"heads": "heads", "neurons": "hidden", "layers": "layers"}  # axis → field of the model
SIZES = {
    Profile.SMOKE: (30, 300),
    Profile.LAPTOP: (30, 100, 300, 1000, 3000, 10_000),
    Profile.FULL: (30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
}
SEEDS = {Profile.SMOKE: (5, 5), Profile.LAPTOP: (5, 10), Profile.FULL: (5, 20)}  # first, most
STEPS = {Profile.SMOKE: (200, 800), Profile.LAPTOP: (500, 4000), Profile.FULL: (2500, 20_000)}
BATCH, SMALL_BATCH = 100, 32
SMALL_MODEL = 1e5  # operations of a sequence: larger models take small batches
# Operations of all runs together, about 1.5e10 a second on one core: steps are doubled within it.
MOST_WORK = {Profile.SMOKE: 1.5e12, Profile.LAPTOP: 1.3e13, Profile.FULL: 2e14}
FORWARD_AND_BACK = 3  # operations of a training step over those of its forward pass
RATES = (1e-3, 3e-3, 1e-2, 3e-2)
PILOT_SEEDS, FIRST_SEED = (11, 12), 5000
LARGEST_BYTES = 2e9  # of one training set


class Effort(NamedTuple):
    """What every run of a curve spends on training."""

    rate: float
    steps: int


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
    first_seed: int = FIRST_SEED
    seeds: tuple[int, int] = (5, 5)  # first, most

    @classmethod
    def of(
        cls, target, model, noise, series, over, sizes, samples, error, length, profile,
        first_seed=FIRST_SEED, seeds=None,
    ) -> "Design":  # fmt: skip
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
        most = 1 if built.labels else LARGEST_SIGMA
        require(0 <= noise < most, f"noise {noise}", f"a number from 0 to below {most:g}",
                "pass for example --noise 0.1")  # fmt: skip
        observed = Noisy(built, noise) if noise else built
        observed = Series(observed) if series else observed
        chosen = _model(model, built, reach)
        largest = max(given) if over == "n" else samples
        size = 4.0 * largest * reach * max(1, built.dim)
        require(size <= LARGEST_BYTES, f"{largest} samples of {reach} tokens ({size / 1e9:.1f} GB)",
                f"at most {LARGEST_BYTES / 1e9:g} GB", "fewer samples or --length")  # fmt: skip
        enough = seeds is None or seeds >= FEWEST_SEEDS
        require(enough, f"{seeds} seeds", f"at least {FEWEST_SEEDS}", "pass for example seeds=5")
        few, most = SEEDS[Profile(profile)]
        looks = (few, most) if seeds is None else (seeds, max(seeds, most))
        name = target if isinstance(target, str) else built.kind
        values = tuple(sorted(given))
        return cls(name, built, observed, chosen, Profile(profile), over, values, samples, error,
                   reach, noise, series, first_seed, looks)  # fmt: skip

    @property
    def models(self) -> tuple[int, ...]:
        """Sizes with a model of their own."""
        return self.sizes[:1] if self.axis == "n" else self.sizes

    @functools.cached_property
    def operations(self) -> int:
        """Of a forward pass of the largest model on one sequence."""
        sizes = [read_model(self.model_at(size)) for size in self.models]
        return max(cost_of(recipe, self.target, self.length).flops for recipe in sizes)

    @property
    def batch(self) -> int:
        return BATCH if self.operations <= SMALL_MODEL else SMALL_BATCH

    @property
    def compiler(self) -> str:
        """What it spends on a program. Short runs of small models are over before a better program
        is made; those of large ones are not, and their best program is also made soonest.
        """
        quick = {Profile.SMOKE: "low", Profile.LAPTOP: "medium", Profile.FULL: "high"}
        return quick[self.profile] if self.operations <= SMALL_MODEL else "high"

    @functools.cached_property
    def steps(self) -> tuple[int, int]:
        """The first number of steps and the last that they may be doubled to: the profile's, or
        as many as its time allows for a model of this size.
        """
        first, most = STEPS[self.profile]
        each = FORWARD_AND_BACK * self.batch * self.operations
        while (
            most > first and each * sum(_planned_steps(self, first, most)) > MOST_WORK[self.profile]
        ):
            most //= 2
        return first, most

    @functools.cached_property
    def exact(self) -> bool:
        """Are expectations exact: a linear memory of independent tokens and a linear model? Then
        fresh data are the whole law, and the risk of weights is a formula: no sample is drawn.
        """
        skeleton = structure(read_model(self.model_at(self.models[0])), self.target)
        try:
            check_population(self.target, skeleton, self.length, 0)
        except InputError:
            return False
        return True

    def model_at(self, size: int) -> dict[str, Any]:
        return self.model if self.axis == "n" else merged(self.model, {AXES[self.axis]: size})

    def samples_at(self, size: int) -> int:
        return size if self.axis == "n" else self.samples

    def spec(self, size: int, samples: int, effort: Effort, seed: int) -> RunSpec:
        """One run; samples 0 are fresh data."""
        rate, steps = effort
        train = {
            "steps": steps, "lr": rate, "length": self.length, "batch": self.batch,
            "schedule": {"shape": "cosine", "warmup": max(1, steps // 20), "final": 0.01},
            "data": {"samples": samples}, "evaluation": {"batches": 40}, "log": 4,
            "effort": self.compiler,
        }  # fmt: skip
        whole = self.exact and not samples
        memory = plain(self.target if whole else self.observed)
        train |= {"loss": "population"} if whole else {}
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
    """The runs if the effort must grow to its most, before any is added near an answer: what a
    dry run counts.
    """
    first, most = design.steps
    seeds = range(design.first_seed, design.first_seed + design.seeds[0])
    last = design.sizes[-1]
    runs = [design.spec(last, 0, Effort(r, first), s) for r in RATES for s in PILOT_SEEDS]
    for size, samples, steps in _planned_arms(design, first, most):
        runs += [design.spec(size, samples, Effort(RATES[-1], steps), s) for s in seeds]
    return runs


def _planned_arms(design: Design, first: int, most: int) -> list[tuple[int, int, int]]:
    """(size, samples, steps) of what is run with every seed, each once: the arms whose steps are
    doubled, then every size.
    """
    smallest = design.sizes[0]
    doubled = [*((m, 0) for m in design.models), (smallest, design.samples_at(smallest))]
    efforts = [first // 2]
    while efforts[-1] < most:
        efforts.append(2 * efforts[-1])
    arms = [(*arm, steps) for arm in doubled for steps in efforts]
    every = [(n, design.samples_at(n), most) for n in design.sizes]
    return list(dict.fromkeys([*arms, *every]))


def _planned_steps(design: Design, first: int, most: int) -> list[int]:
    """The steps of every planned run."""
    arms = [steps for *_, steps in _planned_arms(design, first, most)]
    return [first] * len(RATES) * len(PILOT_SEEDS) + arms * design.seeds[0]
