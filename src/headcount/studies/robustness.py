"""`study robustness`: which insights of the paper survive which other architectures.

Each cell of the map is one probe (an insight as a small comparison) in one variant: the effect on
the scale of its claim, seed by seed, and an exact sign test that its median lies on the claimed
side of the margin, and one that it lies on the other. Over the whole map the false discovery rate
is controlled at 5% (Benjamini and Hochberg), for support and for refutation alike: among the cells
called supported at most 5% are wrong in expectation. Cells that are still undecided get more seeds,
and the p-values are those of `Looks`, so that looking again costs nothing more.

A space-filling sample of combinations (each factor's options used about equally often) shows
whether factors act together: an interaction is a combination whose outcome is decided and differs
from that of every factor in it alone.

The paper's cheaper designs (`studies/alternatives.py`) are cells of the same map.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from headcount.core.arguments import checked
from headcount.core.errors import InputError, unknown
from headcount.core.overrides import merged
from headcount.lab.judge.statistics import Interval, Looks, median_interval
from headcount.lab.judge.verdict import Outcome
from headcount.lab.study import Profile
from headcount.lab.sweep.engine import AbstractEngine
from headcount.lab.sweep.progress import Say, silent
from headcount.studies.alternatives import ALTERNATIVES, Alternative
from headcount.studies.probes import BASE, PROBES, VARIANTS, Probe, Variant
from headcount.studies.trials import trained
from headcount.train.run_plan import shape_key
from headcount.train.run_spec import RunSpec

FIRST_SEED, LEVEL, DIVERGED = 7000, 0.05, 1e8
FACTORS_COMBINED = 3
SAID = {Outcome.SUPPORTED: "as good", Outcome.REFUTED: "worse", Outcome.UNDECIDED: "undecided"}


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much a profile runs."""

    steps: float  # times those of the probe
    seeds: tuple[int, ...]  # looks
    factors: tuple[str, ...]  # none: all
    combinations: int  # per insight
    compiler: str
    alternatives: bool = True  # without being asked for
    without: frozenset[str] = frozenset()  # options left out: every shape is compiled once

    @property
    def looks(self) -> Looks:
        return Looks(self.seeds)


SPARED = frozenset({"log", "kerple-power", "fire", "peak", "rope", "peak-tmx", "x4", "gaussian"})
EFFORTS = {
    Profile.SMOKE: Effort(0.1, (5,), ("optimiser", "rate"), 0, "low", False, frozenset({"muon"})),
    Profile.LAPTOP: Effort(0.5, (7, 10), (), 1, "medium", without=SPARED),
    Profile.FULL: Effort(2.0, (10, 20), (), 6, "high"),
}


@dataclasses.dataclass(frozen=True)
class Cell:
    """One insight in one variant (several joined in a combination)."""

    probe: Probe
    variants: tuple[Variant, ...]
    effects: np.ndarray  # [seeds]
    outcome: Outcome = Outcome.UNDECIDED

    @property
    def factor(self) -> str:
        return " + ".join(v.factor for v in self.variants)

    @property
    def name(self) -> str:
        return " + ".join(v.name for v in self.variants)

    @property
    def effect(self) -> float:
        return float(np.median(self.effects))

    @property
    def interval(self) -> Interval:
        return median_interval(self.effects)

    def p(self, support: bool, looks: Looks | None = None) -> float:
        claim = self.probe.claim
        regions = (claim.support,) if support else claim.refute
        return float(min(region.p(self.effects, looks) for region in regions))

    def to_json(self) -> dict[str, Any]:
        return {
            "insight": self.probe.insight, "factor": self.factor, "variant": self.name,
            "outcome": str(self.outcome), "effect": self.effect,
            "interval": self.interval.to_json(), "scale": self.probe.claim.scale.unit,
            "seeds": len(self.effects),
        }  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Robustness:
    """The whole map."""

    profile: Profile
    cells: tuple[Cell, ...]  # insights and alternatives
    refused: tuple[tuple[str, str, str, str], ...]  # insight, factor, variant, why

    def of(self, insight: str) -> tuple[Cell, ...]:
        return tuple(cell for cell in self.cells if cell.probe.insight == insight)

    def base(self, insight: str) -> Cell:
        return next(cell for cell in self.of(insight) if cell.variants == (BASE,))

    def as_base(self, cell: Cell) -> bool:
        """Does the variant change no figure at all? T5's bias is a table on short sequences; such
        a cell is no further evidence.
        """
        base = next((c for c in self.of(cell.probe.insight) if c.variants == (BASE,)), cell)
        return cell is not base and np.array_equal(cell.effects, base.effects[: len(cell.effects)])

    def turning(self) -> list[Cell]:
        """Decided cells that differ from a decided base, by how far their effect moved."""
        found = []
        for cell in self.cells:
            base = self.base(cell.probe.insight)
            if cell.outcome.decided and base.outcome.decided and cell.outcome != base.outcome:
                found.append(cell)
        key = {id(c): abs(c.effect - self.base(c.probe.insight).effect) for c in found}
        return sorted(found, key=lambda cell: -key[id(cell)])

    def factors(self) -> list[tuple[str, int, int]]:
        """Factors by how many of their cells turn a conclusion: (factor, turned, tried)."""
        turned, alone = self.turning(), [c for c in self.cells if len(c.variants) == 1]
        counts = {
            factor: (sum(c.factor == factor for c in turned),
                     sum(c.factor == factor for c in alone))
            for factor in dict.fromkeys(v.factor for v in VARIANTS)
        }  # fmt: skip
        rows = [(factor, *count) for factor, count in counts.items() if count[1]]
        return sorted(rows, key=lambda row: (-row[1], row[2]))

    def verdicts(self) -> list[dict[str, Any]]:
        """Each alternative: the memories on which the cheaper design is as good, is worse, or may
        be either.
        """
        told = []
        for alternative in ALTERNATIVES:
            found = {p.insight: self.of(p.insight) for p in alternative.probes}
            names: dict[Outcome, list[str]] = {outcome: [] for outcome in SAID}
            for insight, cells in found.items():
                for cell in cells:
                    names[cell.outcome].append(insight.partition(": ")[2])
            if any(names.values()):
                told.append({
                    "alternative": alternative.name, "instead_of": alternative.instead_of,
                    **{SAID[outcome]: where for outcome, where in names.items()},
                })  # fmt: skip
        return told

    def interactions(self) -> list[Cell]:
        """Combinations that are decided against every one of their factors alone."""
        alone = {(c.probe.insight, c.variants[0]): c.outcome for c in self.cells
                 if len(c.variants) == 1}  # fmt: skip
        return [
            cell
            for cell in self.cells
            if len(cell.variants) > 1
            and cell.outcome.decided
            and all(
                (other := alone.get((cell.probe.insight, v))) is not None
                and other.decided
                and other != cell.outcome
                for v in cell.variants
            )
        ]

    def sentences(self) -> tuple[str, ...]:
        said = []
        for probe in PROBES:
            every = self.of(probe.insight)
            cells = [cell for cell in every if not self.as_base(cell)]
            if not cells:
                continue
            held = sum(cell.outcome is Outcome.SUPPORTED for cell in cells)
            against = [c for c in cells if c.outcome is Outcome.REFUTED]
            told = f"{probe.insight}, {probe.sentence}: in {held} of {len(cells)} variants"
            if against:
                names = ", ".join(f"{c.factor} {c.name}" for c in against[:4])
                more = f" and {len(against) - 4} more" if len(against) > 4 else ""
                told += f"; not with {names}{more}"
            open_ = len(cells) - held - len(against)
            told += f"; {open_} undecided" if open_ else ""
            same = len(every) - len(cells)
            said.append(told + (f"; {same} more change no figure." if same else "."))
        for row in self.verdicts():
            parts = [f"{word} on {', '.join(row[word])}" for word in SAID.values() if row[word]]
            named = f"{row['alternative']} instead of {row['instead_of']}"
            said.append(f"{named[0].upper()}{named[1:]}: {'; '.join(parts)}.")
        return tuple(said)

    def to_json(self) -> dict[str, Any]:
        return {
            "profile": str(self.profile), 
            "map": [cell.to_json() | {"as_base": self.as_base(cell)} for cell in self.cells],
            "turning": [cell.to_json() for cell in self.turning()],
            "factors": [{"factor": f, "turned": n, "cells": of} for f, n, of in self.factors()],
            "interactions": [cell.to_json() for cell in self.interactions()],
            "alternatives": self.verdicts(),
            "refused": [dict(zip(("insight", "factor", "variant", "reason"), r, strict=True))
                        for r in self.refused],
            "sentences": list(self.sentences()),
        }  # fmt: skip


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
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    open_ = list(questions)
    cells: dict[Question, Cell] = {}
    for seeds in effort.seeds:
        specs = {q: _specs(q, effort, seeds) for q in open_}
        every = [spec for pair in specs.values() for side in pair for spec in side]
        finals = trained(every, place / "runs.sqlite", engine, say)
        cells |= {q: Cell(*q, _effects(q, pair, finals)) for q, pair in specs.items()}
        decided = judged(list(cells.values()), effort.looks)
        cells = dict(zip(cells, decided, strict=True))
        open_ = [q for q, cell in cells.items() if not cell.outcome.decided]
        if not open_:
            break
    return Robustness(Profile(profile), tuple(cells.values()), tuple(refused))


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
    known = [probe.insight for probe in PROBES] + [a.name for a in ALTERNATIVES]
    for insight in insights or ():
        if insight not in known:
            raise unknown("insight", insight, known)
    effort, questions, refused = EFFORTS[Profile(profile)], [], []
    for probe in (p for p in PROBES if not insights or p.insight in insights):
        used = [v for v in VARIANTS if v.name not in effort.without
                and (not effort.factors or v.factor in effort.factors)]  # fmt: skip
        good: list[tuple[Variant, ...]] = [(BASE,)]
        plain = _hashes((probe, (BASE,)), effort)
        for variant in (v for v in used if v.applies(probe)):
            why = _refusal((probe, (variant,)), effort)
            if why:
                refused.append((probe.insight, variant.factor, variant.name, why))
            elif _hashes((probe, (variant,)), effort) != plain:  # else it is the base itself
                good.append((variant,))
        mixed = [c for c in combinations(probe, [v[0] for v in good[1:]], effort.combinations)
                 if not _refusal((probe, c), effort)]  # fmt: skip
        questions += [(probe, variants) for variants in (*good, *mixed)]
    wanted = [a for a in ALTERNATIVES if a.name in (insights or ())]
    if effort.alternatives and not insights:
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
            if all(singles[i].factor != singles[j].factor for j in picked):
                picked.append(i)
            if len(picked) == FACTORS_COMBINED:
                break
        for i in picked:
            used[i] += 1
        if len(picked) > 1:
            made.append(tuple(singles[i] for i in picked))
    return made


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
    )  # fmt: skip


def _specs(question: Question, effort: Effort, seeds: int) -> tuple[list[RunSpec], list[RunSpec]]:
    probe, variant = question[0], joined(question[1])
    steps = max(20, round(effort.steps * probe.steps))
    train = {
        "steps": steps, "lr": probe.lr * variant.rate, "length": probe.length * variant.length,
        "batch": 64, "evaluation": {"batches": 16}, "log": 2, "effort": effort.compiler,
        "optimiser": {"b2": 0.98, "clip": 1.0},
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
        return str(error)
    return ""


def _effects(
    question: Question, pair: tuple[list[RunSpec], list[RunSpec]],
    finals: Mapping[str, Mapping[str, float]],
) -> np.ndarray:  # fmt: skip
    claim = question[0].claim
    name = "eval_loss" if question[0].tokens else "relative_loss"
    levels = {
        arm: claim.scale.level(
            np.array([finals[spec.content_hash].get(name, DIVERGED) for spec in side]), 1.0
        )
        for arm, side in zip(claim.arms, pair, strict=True)
    }
    return claim.effects(levels, 1.0)


def judged(cells: list[Cell], looks: Looks | None = None) -> list[Cell]:
    """Outcomes with the false discovery rate controlled over all cells, on both sides."""
    support = stats.false_discovery_control([cell.p(True, looks) for cell in cells])
    refute = stats.false_discovery_control([cell.p(False, looks) for cell in cells])
    found = []
    for cell, yes, no in zip(cells, support, refute, strict=True):
        outcome = Outcome.UNDECIDED
        if yes <= LEVEL:
            outcome = Outcome.SUPPORTED
        elif no <= LEVEL:
            outcome = Outcome.REFUTED
        found.append(dataclasses.replace(cell, outcome=outcome))
    return found
