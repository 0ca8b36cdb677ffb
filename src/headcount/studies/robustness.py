"""`study robustness`: which insights of the paper survive which other architectures.

Each cell of the map is one probe (an insight as a small comparison) in one variant: the effect on
the scale of its claim, seed by seed, and an exact sign test that its median lies on the claimed
side of the margin, and one that it lies on the other. Over the whole map the false discovery rate
is controlled at 5% (Benjamini and Hochberg), for support and for refutation alike: among the cells
called supported at most 5% are wrong in expectation. Cells that are still undecided get more seeds,
and the p-values are those of `Looks`, so that looking again costs nothing more.

Where neither model learns the memory, the two are alike whatever their designs are. Such a cell is
decided by a difference only, never by the lack of one.

A space-filling sample of combinations (each factor's options used about equally often) shows
whether factors act together: an interaction is a combination whose effect is not the sum of what
its factors change alone.

The paper's cheaper designs (`studies/alternatives.py`) are cells of the same map.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headcount.core.arguments import checked
from headcount.core.errors import InputError, unknown
from headcount.core.files import ready_folder
from headcount.core.overrides import merged
from headcount.lab.judge.statistics import Looks
from headcount.lab.study import Profile
from headcount.lab.sweep.engine import AbstractEngine
from headcount.lab.sweep.progress import Say, silent
from headcount.studies.alternatives import ALTERNATIVES, Alternative
from headcount.studies.kept_workers import kept
from headcount.studies.probes import BASE, PROBES, VARIANTS, Probe, Variant
from headcount.studies.robustness_map import Cell as Cell
from headcount.studies.robustness_map import Robustness as Robustness
from headcount.studies.robustness_map import judged as judged
from headcount.studies.trials import trained
from headcount.train.run_plan import shape_key
from headcount.train.run_spec import RunSpec

FIRST_SEED, DIVERGED = 7000, 1e8
FACTORS_COMBINED = 3


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much a profile runs."""

    steps: float  # times those of the probe
    seeds: tuple[int, ...]  # looks
    factors: tuple[str, ...]  # none: all
    combinations: int  # per insight
    compiler: str | None  # what it spends on a program; None: as suits the probe
    alternatives: bool = True  # without being asked for
    without: frozenset[str] = frozenset()  # options, factors: every shape is compiled once
    tokens: frozenset[str] = frozenset()  # also left out of long runs: those on integer tokens

    @property
    def looks(self) -> Looks:
        return Looks(self.seeds)

    def tries(self, probe: Probe, variant: Variant) -> bool:
        named = {variant.name, variant.factor}
        if named & self.without or (probe.tokens and named & self.tokens):
            return False
        return not self.factors or variant.factor in self.factors

    def mixed(self, probe: Probe) -> int:
        """Combinations of an insight: none where even single options are left out."""
        return 0 if probe.tokens and self.tokens else self.combinations

    def compiles(self, probe: Probe) -> str:
        """What the compiler spends on a cell. Few short runs on real tokens are over before a
        better program is made: insight 2b compiles in 0.8 s and runs 0.07 s, not 3.5 s and 0.03 s.
        Runs on integer tokens take seconds, and their best program is also made soonest.
        """
        return self.compiler or ("high" if probe.tokens else "low")


SPARED = frozenset(
    {
        "log",
        "kerple-log",
        "kerple-power",
        "fire",
        "peak",
        "rope",
        "peak-tmx",
        "pre-rms",
        "sandwich",
        "x2",
        "x4",
        "float64",
        "uniform",
        "gaussian",
    }
)
TOKENS = frozenset(
    {
        "bias",
        "score",
        "normaliser",
        "ffn",
        "width",
        "optimiser",
        "precision",
        "length",
        "noise",
        "post-ln",
        "none around the last network",
        "none at all",
        "sticky",
    }
)
EFFORTS = {
    Profile.SMOKE: Effort(0.1, (5,), ("rate",), 0, "low", False),
    Profile.LAPTOP: Effort(0.5, (7, 10), (), 1, None, without=SPARED, tokens=TOKENS),
    Profile.FULL: Effort(1.0, (10, 20), (), 6, None),
}


Question = tuple[Probe, tuple[Variant, ...]]


@checked
def robustness(
    insights: Sequence[str] | None = None,
    *,
    profile: str = "laptop",
    folder: str | Path = "robustness",
    engine: AbstractEngine | None = None,
    say: Say = silent,
) -> Robustness:
    """The map of the insights asked for (none: all)."""
    questions, refused = asked(insights, profile)
    effort = EFFORTS[Profile(profile)]
    place = ready_folder(folder)
    with kept(engine) as held:
        cells = _cells(questions, effort, place / "runs.sqlite", held, say)
    return Robustness(Profile(profile), tuple(cells), tuple(refused))


def _cells(
    questions: list[Question], effort: Effort, store: Path, engine: AbstractEngine, say: Say
) -> list[Cell]:
    """Every cell after its last look. Those that are decided are not looked at again, nor those in
    which neither model learns: more seeds would teach them nothing (to stop there is always
    allowed, for it claims nothing).
    """
    open_ = list(questions)
    cells: dict[Question, Cell] = {}
    for seeds in effort.seeds:
        specs = {q: _specs(q, effort, seeds) for q in open_}
        every = [spec for pair in specs.values() for side in pair for spec in side]
        finals = trained(every, store, engine, say)
        cells |= {q: cell_of(q, pair, finals) for q, pair in specs.items()}
        decided = judged(list(cells.values()), effort.looks)
        cells = dict(zip(cells, decided, strict=True))
        open_ = [q for q, cell in cells.items() if not cell.outcome.decided and cell.learned]
        if not open_:
            break
    return list(cells.values())


def planned(insights: Sequence[str] | None, profile: str) -> list[RunSpec]:
    """The runs of the first look: what a dry run counts."""
    questions, _ = asked(insights, profile)
    effort = EFFORTS[Profile(profile)]
    pairs = [_specs(q, effort, effort.seeds[0]) for q in questions]
    return [spec for pair in pairs for side in pair for spec in side]


def asked(
    insights: Sequence[str] | None, profile: str
) -> tuple[list[Question], list[tuple[str, str, str, str]]]:
    """Every cell that can be trained, and those that cannot with the reason."""
    if profile not in list(Profile):
        raise unknown("profile", profile, list(Profile))
    known = {name.casefold(): name for name in
             (*(probe.insight for probe in PROBES), *(a.name for a in ALTERNATIVES))}  # fmt: skip
    for insight in insights or ():
        if insight.casefold() not in known:
            raise unknown("insight", insight, list(known.values()))
    named = {known[insight.casefold()] for insight in insights or ()}
    effort, questions, refused = EFFORTS[Profile(profile)], [], []
    for probe in (p for p in PROBES if not named or p.insight in named):
        used = [v for v in VARIANTS if effort.tries(probe, v)]
        good: list[tuple[Variant, ...]] = [(BASE,)]
        plain = _hashes((probe, (BASE,)), effort)
        for variant in (v for v in used if v.applies(probe)):
            why = _refusal((probe, (variant,)), effort)
            if why:
                refused.append((probe.insight, variant.factor, variant.name, why))
            elif _hashes((probe, (variant,)), effort) != plain:  # else it is the base itself
                good.append((variant,))
        mixed = [c for c in combinations(probe, [v[0] for v in good[1:]], effort.mixed(probe))
                 if not _refusal((probe, c), effort)]  # fmt: skip
        questions += [(probe, variants) for variants in (*good, *mixed)]
    wanted = [a for a in ALTERNATIVES if a.name in named]
    if effort.alternatives and not named:
        wanted = list(ALTERNATIVES)
    return [*questions, *_of_alternatives(wanted)], refused


def _of_alternatives(wanted: Sequence[Alternative]) -> list[Question]:
    return [(probe, (BASE,)) for alternative in wanted for probe in alternative.probes]


def _hashes(question: Question, effort: Effort) -> list[str]:
    """What the two arms are, whatever they are called."""
    return [side[0].content_hash for side in _specs(question, effort, 1)]


def combinations(probe: Probe, singles: list[Variant], count: int) -> list[tuple[Variant, ...]]:
    """Space-filling: each combination takes options of different factors that were used least."""
    rng = np.random.default_rng(sum(map(ord, probe.insight)))
    used = dict.fromkeys(range(len(singles)), 0)
    made = []
    for _ in range(count):
        order = sorted(used, key=lambda i: (used[i], rng.random()))
        picked: list[int] = []
        for i in order:
            if not any(_clash(singles[i], singles[j]) for j in picked):
                picked.append(i)
            if len(picked) == FACTORS_COMBINED:
                break
        for i in picked:
            used[i] += 1
        if len(picked) > 1:
            made.append(tuple(singles[i] for i in picked))
    return made


def _clash(one: Variant, other: Variant) -> bool:
    """Do both say the same thing of a model? Then one would undo the other."""
    return one.factor == other.factor or bool(set(one.model) & set(other.model))


def joined(variants: Sequence[Variant]) -> Variant:
    """Several variants as one."""
    model: Mapping[str, Any] = {}
    train: Mapping[str, Any] = {}
    for v in variants:
        model, train = merged(model, v.model), merged(train, v.train)
    return Variant(
        "", "", model, train, width=int(np.prod([v.width for v in variants])),
        length=int(np.prod([v.length for v in variants])), noise=max(v.noise for v in variants),
        inputs=next((v.inputs for v in variants if v.inputs), ""),
        rate=float(np.prod([v.rate for v in variants])),
        spacing=next((v.spacing for v in variants if v.spacing), ""),
        stay=max(v.stay for v in variants),
    )  # fmt: skip


def _specs(question: Question, effort: Effort, seeds: int) -> tuple[list[RunSpec], list[RunSpec]]:
    probe, variant = question[0], joined(question[1])
    steps = max(20, round(effort.steps * probe.steps))
    train = {
        "steps": steps, "lr": probe.lr * variant.rate, "length": probe.length * variant.length,
        "batch": probe.batch, "evaluation": {"batches": 16}, "log": 2,
        "effort": effort.compiles(probe), "optimiser": {"b2": 0.98, "clip": 1.0},
        "schedule": {"shape": "cosine", "warmup": max(1, steps // 20), "final": 0.02},
    }  # fmt: skip
    train = merged(train, variant.train)
    memory = variant.memory(probe)
    first, second = (
        [RunSpec.from_values({"memory": memory, "model": model, "train": train, "seed": seed})
         for seed in range(FIRST_SEED, FIRST_SEED + seeds)]
        for model in variant.models(probe)
    )  # fmt: skip
    return first, second


def _refusal(question: Question, effort: Effort) -> str:
    """Why a cell cannot be trained; empty where it can."""
    try:
        for side in _specs(question, effort, 1):
            shape_key(side[0])
    except InputError as error:
        return error.got
    return ""


def cell_of(
    question: Question, pair: tuple[list[RunSpec], list[RunSpec]],
    finals: Mapping[str, Mapping[str, float]],
) -> Cell:  # fmt: skip
    """The final figures of both models on every seed, and the effect; a run that diverged has no
    figure, or one beyond all sense.
    """
    probe, claim = question[0], question[0].claim
    name = "eval_loss" if probe.tokens else "relative_loss"
    losses = np.array([[finals[spec.content_hash].get(name, math.inf) for spec in side]
                       for side in pair])  # [2, seeds]  # fmt: skip
    losses = np.where(losses < DIVERGED, losses, math.inf)
    levels = claim.scale.level(np.minimum(losses, DIVERGED), 1.0)
    effects = claim.effects(dict(zip(claim.arms, levels, strict=True)), 1.0)
    return Cell(*question, effects, losses / probe.constant)
