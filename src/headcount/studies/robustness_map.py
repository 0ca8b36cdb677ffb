"""The map of `study robustness`: cells with their outcomes, and what the whole says."""

import dataclasses
from typing import Any

import numpy as np
from scipy import stats

from headcount.lab.judge.statistics import Interval, Looks, median_interval
from headcount.lab.judge.verdict import Outcome
from headcount.lab.study import Profile
from headcount.studies.alternatives import ALTERNATIVES
from headcount.studies.probes import BASE, PROBES, VARIANTS, Probe, Variant

FIRM = 0.9  # of its variants support an insight: nearly nothing turns it
LEVEL = 0.05
SAID = {Outcome.SUPPORTED: "as good", Outcome.REFUTED: "worse", Outcome.UNDECIDED: "undecided"}


@dataclasses.dataclass(frozen=True)
class Cell:
    """One insight in one variant (several joined in a combination)."""

    probe: Probe
    variants: tuple[Variant, ...]
    effects: np.ndarray  # [seeds]
    outcome: Outcome = Outcome.UNDECIDED
    void: int = 0  # seeds on which both models diverge: they compare nothing

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
        if self.void:
            return 1.0
        claim = self.probe.claim
        regions = (claim.support,) if support else claim.refute
        return float(min(region.p(self.effects, looks) for region in regions))

    def to_json(self) -> dict[str, Any]:
        return {
            "insight": self.probe.insight, "factor": self.factor, "variant": self.name,
            "outcome": str(self.outcome), "effect": self.effect,
            "interval": self.interval.to_json(), "scale": self.probe.claim.scale.unit,
            "seeds": len(self.effects), "void": self.void,
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
        turned = self.turning()
        alone = [c for c in self.cells if len(c.variants) == 1 and not self.as_base(c)]
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

    def counted(self, insight: str) -> tuple[Cell, ...]:
        """The cells of an insight that are evidence of their own."""
        return tuple(cell for cell in self.of(insight) if not self.as_base(cell))

    def overview(self) -> tuple[str, ...]:
        """Two sentences on the whole: what survives, and what turns a conclusion."""
        by = {p.insight: self.counted(p.insight) for p in PROBES if self.of(p.insight)}
        cells = [cell for each in by.values() for cell in each]
        if len(by) < 2:
            return ()
        number = {o: sum(cell.outcome is o for cell in cells) for o in SAID}
        held = {
            insight: sum(cell.outcome is Outcome.SUPPORTED for cell in each) / len(each)
            for insight, each in by.items()
        }
        firm = [insight for insight, share in held.items() if share >= FIRM]
        said = [
            f"Of {len(cells)} variants of the paper's insights {number[Outcome.SUPPORTED]} support"
            f" theirs, {number[Outcome.REFUTED]} refute it, {number[Outcome.UNDECIDED]} are"
            " undecided"
            + (f"; at least {FIRM:.0%} of the variants support {', '.join(firm)}." if firm else ".")
        ]
        ranked = [f"{f} ({n} of {of} cells)" for f, n, of in self.factors() if n]
        if ranked:
            said.append(f"What turns a conclusion: {', '.join(ranked[:4])}.")
        return tuple(said)

    def sentences(self) -> tuple[str, ...]:
        said = list(self.overview())
        for probe in PROBES:
            every, cells = self.of(probe.insight), self.counted(probe.insight)
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
