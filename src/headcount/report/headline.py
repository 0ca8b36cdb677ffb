"""The figure of the first screen: loss after training against the learning rate, one line per
model, with what each could reach and the two numbers that the paper gives.

The paper does not state its learning rate, so its numbers stand at a place of their own left of
the axis. A line for what a model could reach is drawn at the lower edge where it lies far below
everything that was learned: decades without a point would squeeze the rest.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from headcount.core.errors import require
from headcount.core.overrides import merged
from headcount.lab.judge.hypothesis import Reported
from headcount.lab.study_outcome import StudyOutcome
from headcount.report.figure_data import Axis, Curve, FigureData, Place
from headcount.report.wording import listed, number, plural

UNSTATED = "not stated"  # the learning rate of the paper
FLOOR = (
    "Floor: the loss of the best weights known, in float32 where that was computed; nothing is"
    " trained for it."
)
DEPTH = 1e3  # how far below everything learned a floor is still drawn in its place


@dataclasses.dataclass(frozen=True)
class Point:
    """One learning rate: median over seeds, the smallest and the largest of those that finished.
    `median` is inf where half of them diverged.
    """

    lr: float
    median: float
    low: float
    high: float
    seeds: int
    diverged: int = 0


@dataclasses.dataclass(frozen=True)
class HeadlineSeries:
    """One model over all learning rates."""

    name: str
    points: tuple[Point, ...]
    floor: float | None = None  # the best weights known
    lower: float | None = None  # certified: none are better
    paper: Reported | None = None


def headline_series(
    outcome: StudyOutcome, reported: Sequence[Reported] = ()
) -> tuple[HeadlineSeries, ...]:
    """Learning rates are read from the runs themselves, whether arms or cells differ by them.
    Arms of one series are one line, unless two of them have the same learning rate.
    """
    study = outcome.study
    groups: dict[str, list[tuple[Point, int]]] = {}
    for name in (lambda arm: arm.series or arm.name, lambda arm: arm.name):
        groups = {}
        for i, each in enumerate(outcome.arms):
            for learned in each.learned:
                train = merged(each.arm.run, study.cells[learned.cell]).get("train", {})
                require(
                    "lr" in train,
                    f"{study.key}, {each.arm.name}: no learning rate",
                    "train.lr in every run of the headline",
                    "name it in the arm or the cell",
                )
                point = _point(float(train["lr"]), learned.losses)
                groups.setdefault(name(each.arm), []).append((point, i))
        if all(len({p.lr for p, _ in found}) == len(found) for found in groups.values()):
            break
    series = []
    for title, found in groups.items():
        first = outcome.arms[found[0][1]]
        points = tuple(sorted((point for point, _ in found), key=lambda point: point.lr))
        known, said = first.numbers, published(first.arm.paper, reported)
        series.append(HeadlineSeries(plural(title), points, known.floor, known.lower, said))
    return tuple(series)


def published(value: float | None, reported: Sequence[Reported]) -> Reported | None:
    """What the paper says, with its relation ('<') where a claim carries it."""
    if value is None:
        return None
    same = (r for r in reported if math.isclose(r.value, value))
    return next(same, Reported("", value))


def _point(lr: float, losses: Sequence[float]) -> Point:
    finite = [loss for loss in losses if math.isfinite(loss)]
    low, high = (min(finite), max(finite)) if finite else (math.inf, math.inf)
    median = float(np.median(losses)) if losses else math.inf
    return Point(lr, median, low, high, len(losses), len(losses) - len(finite))


def headline_figure(
    series: Sequence[HeadlineSeries],
    *,
    name: str,
    section: str,
    title: str,
    y_label: str,
    asked: str = "",
) -> FigureData | None:
    """None where nothing finished."""
    rates = sorted({point.lr for each in series for point in each.points})
    seen = [
        value
        for each in series
        for value in (*_low(each), *(() if each.paper is None else (each.paper.value,)))
        if value > 0
    ]
    if not any(_low(each) for each in series):
        return None
    floors = [each.floor for each in series if each.floor is not None]
    drawn = [*seen, *(floor for floor in floors if floor >= min(seen) / DEPTH)]
    least = 10.0 ** math.floor(math.log10(min(drawn)))
    aside = rates[0] / (rates[-1] / rates[0]) ** 0.16 if len(rates) > 1 else rates[0] / 2
    curves = [curve for each in series for curve in _curves(each, rates, aside, min(seen))]
    marked = any(each.paper is not None for each in series)
    return FigureData(
        name,
        section,
        title,
        Axis("learning rate", "log", named=((aside, UNSTATED),) if marked else ()),
        Axis(y_label, "log", least=least if any(f < least for f in floors) else None),
        tuple(curves),
        _caption(series, asked),
        Place.HEADLINE,
    )


def _low(series: HeadlineSeries) -> list[float]:
    return [point.low for point in series.points if math.isfinite(point.median)]


def _curves(
    series: HeadlineSeries, rates: Sequence[float], aside: float, lowest: float
) -> list[Curve]:
    points = [point for point in series.points if math.isfinite(point.median)]
    found = []
    if points:
        medians = tuple(point.median for point in points)
        found.append(
            Curve(
                f"{series.name} learned",
                "measured",
                tuple(point.lr for point in points),
                medians,
                tuple(point.low for point in points),
                tuple(max(point.high, point.median) for point in points),
                series.name,
            )
        )
    if series.floor is not None:
        ends = (rates[0], rates[-1]) if len(rates) > 1 else (rates[0],)
        level = (series.floor,) * len(ends)
        # above the lowest loss there are lines enough
        note = f"floor of {series.name}: {number(series.floor, 2)}"
        note = note if series.floor < lowest else ""
        found.append(
            Curve(f"{series.name} floor", "floor", ends, level, family=series.name, note=note)
        )
    if series.paper is not None:
        relation = "" if series.paper.relation == "=" else f"{series.paper.relation} "
        note = f"{relation}{number(series.paper.value)}"
        mark = (series.paper.value,)
        found.append(
            Curve(f"{series.name} paper", "paper", (aside,), mark, family=series.name, note=note)
        )
    return found


def _caption(series: Sequence[HeadlineSeries], asked: str) -> str:
    seeds = sorted({point.seeds for each in series for point in each.points})
    counted = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0])
    told = [f"Median over {counted} seeds; the band reaches from the lowest to the highest."]
    if seeds == [1]:
        told = ["One seed."]
    runs = sum(point.seeds for each in series for point in each.points)
    diverged = sum(point.diverged for each in series for point in each.points)
    if diverged:
        told.append(f"{diverged} of {runs} runs diverged; where half did there is no point.")
    if any(each.floor is not None for each in series):
        told.append(FLOOR)
    certified = [f"{each.name} {number(each.lower, 2)}" for each in series if each.lower]
    if certified:
        told.append(f"Certified, no weights do better than: {listed(certified)}.")
    papers = [str(each.paper) for each in series if each.paper is not None and each.paper.what]
    if papers:
        told.append(f"The paper says: {'; '.join(papers)}; it does not state its learning rate.")
    return " ".join(filter(None, (*told, asked)))


def all_reported(outcomes: Sequence[StudyOutcome]) -> Mapping[str, tuple[Reported, ...]]:
    """What the paper says, by insight, each once."""
    found: dict[str, dict[str, Reported]] = {}
    for outcome in outcomes:
        study = outcome.study
        for claim in study.claims:
            mine = found.setdefault(study.id, {})
            mine.update({str(figure): figure for figure in claim.reported})
    return {insight: tuple(mine.values()) for insight, mine in found.items()}
