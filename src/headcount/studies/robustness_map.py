"""The map of `study robustness`: cells with their outcomes, and what the whole says."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from headcount.lab.judge.statistics import Interval, Looks, Region, median_interval
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
    losses: np.ndarray  # [2, seeds] of the two models, shares of the best constant's; inf: diverged
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

    @property
    def void(self) -> int:
        """Seeds on which both models diverge: they compare nothing."""
        return int(np.isinf(self.losses).all(axis=0).sum())

    @property
    def left(self) -> tuple[float, float]:
        """What each model leaves, by its median seed."""
        first, second = np.median(self.losses, axis=1)
        return float(first), float(second)

    @property
    def learned(self) -> bool:
        """Has at least one of the two learned the memory?"""
        return min(self.left) <= self.probe.enough

    def p(self, support: bool, looks: Looks | None = None) -> float:
        if self.void:
            return 1.0
        claim = self.probe.claim
        regions = (claim.support,) if support else claim.refute
        if not self.learned:
            regions = tuple(apart(region, claim.margin) for region in regions)
        return float(min(region.p(self.effects, looks) for region in regions))

    def to_json(self) -> dict[str, Any]:
        return {
            "insight": self.probe.insight, "factor": self.factor, "variant": self.name,
            "outcome": str(self.outcome), "effect": self.effect,
            "interval": self.interval.to_json(), "scale": self.probe.claim.scale.unit,
            "seeds": len(self.effects), "void": self.void, "learned": self.learned,
            "losses": dict(zip(self.probe.claim.arms, self.left, strict=True)),
        }  # fmt: skip


def apart(region: Region, margin: float) -> Region:
    """The part of a region where the models differ by more than the margin. Where neither learns
    anything they are alike, which says nothing of their designs: only a difference does.

    >>> apart(Region(high=0.3), 0.3), apart(Region(low=0.3), 0.3)
    (Region(low=-inf, high=-0.3), Region(low=0.3, high=inf))
    """
    return region if region.low >= margin else Region(high=-margin)


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
        """Combinations whose factors do not add up: by the median seed, the effect differs by more
        than the margin from that of the base plus what each factor changes alone.
        """
        alone = {(c.probe.insight, c.variants): c for c in self.cells if len(c.variants) == 1}
        mixed, p = [], []
        for cell in (c for c in self.cells if len(c.variants) > 1):
            insight, margin = cell.probe.insight, cell.probe.claim.margin
            parts = [alone.get((insight, (variant,))) for variant in (BASE, *cell.variants)]
            known = [part for part in parts if part is not None]
            if len(known) == len(parts):
                more = excess(cell, known[0], known[1:])
                mixed.append(cell)
                p.append(
                    min(1.0, 2 * min(Region(low=margin).p(more), Region(high=-margin).p(more)))
                )
        if not mixed:
            return []
        found = stats.false_discovery_control(p) <= LEVEL
        return [cell for cell, real in zip(mixed, found, strict=True) if real and not cell.void]

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
            open_ = [c for c in cells if not c.outcome.decided]
            told += f"; {len(open_)} undecided" if open_ else ""
            idle = sum(not c.learned for c in open_)
            told += f", {idle} of them because neither model learned the memory" if idle else ""
            same = len(every) - len(cells)
            said.append(told + (f"; {same} more change no figure." if same else "."))
        for row in self.verdicts():
            parts = [f"{word} on {', '.join(row[word])}" for word in SAID.values() if row[word]]
            named = f"{row['alternative']} instead of {row['instead_of']}"
            said.append(f"{named[0].upper()}{named[1:]}: {'; '.join(parts)}.")
        said.append(f"{len(self.cells)} cells were judged together (false discovery rate 5%): asked"
                    " alone, a cell may be decided that is undecided here.")  # fmt: skip
        return tuple(said)

    def to_json(self) -> dict[str, Any]:
        return {
            "profile": str(self.profile), "judged_together": len(self.cells),
            "map": [cell.to_json() | {"as_base": self.as_base(cell)} for cell in self.cells],
            "turning": [cell.to_json() for cell in self.turning()],
            "factors": [{"factor": f, "turned": n, "cells": of} for f, n, of in self.factors()],
            "interactions": [cell.to_json() for cell in self.interactions()],
            "alternatives": self.verdicts(),
            "refused": [dict(zip(("insight", "factor", "variant", "reason"), r, strict=True))
                        for r in self.refused],
            "sentences": list(self.sentences()),
        }  # fmt: skip


def excess(cell: Cell, base: Cell, single: Sequence[Cell]) -> np.ndarray:
    """Seed by seed, a combination's effect beyond base and single changes: [seeds of the fewest].

    >>> probe = PROBES[0]
    >>> one, two, four = (
    ...     Cell(probe, (BASE,), np.full(3, effect), np.zeros((2, 3))) for effect in (1, 2, 4)
    ... )
    >>> excess(four, one, [two, two])  # 4 - (1 + 1 + 1)
    array([1., 1., 1.])
    """
    seeds = min(len(each.effects) for each in (cell, base, *single))
    start = base.effects[:seeds]
    changes = sum((each.effects[:seeds] - start for each in single), np.zeros(seeds))
    return cell.effects[:seeds] - start - changes


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
