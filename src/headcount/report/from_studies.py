"""From judged studies to a report: sections, figures and tables of each study, specs, and the
rates.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from headcount.core.spec import plain
from headcount.lab.judge.evidence import FAR_ABOVE_FLOOR
from headcount.lab.judge.hypothesis import Reported
from headcount.lab.judge.statistics import FEWEST_SEEDS
from headcount.lab.study import Study, StudyRole, Variant
from headcount.lab.study_outcome import ArmOutcome, StudyOutcome
from headcount.report.document import Report, Section, SpecFile
from headcount.report.figure_data import MOST_FAMILIES, Axis, Curve, FigureData, Place
from headcount.report.headline import DEPTH, FLOOR, all_reported, headline_figure, headline_series
from headcount.report.rate_figures import RATES, rate_figures, rate_table
from headcount.report.study_tables import study_tables
from headcount.report.wording import number, plural

if TYPE_CHECKING:
    from headcount.experiments.errata import Erratum
    from headcount.experiments.further.rates import RateTable
    from headcount.experiments.tuning import Pilot

MOST_BANDS = 3  # of learning curves in one figure: more would cover each other


def report_of(
    outcomes: Sequence[StudyOutcome],
    *,
    rates: "Sequence[RateTable]" = (),
    errata: "Sequence[tuple[Erratum, str]]" = (),
    profile: str,
    command: str,
    store: str,
    versions: dict[str, str],
    pilots: "Mapping[str, Pilot] | None" = None,
) -> Report:
    """Everything that `headcount reproduce` shows. `pilots` are those of the registered settings,
    by 'insight/arm'.
    """
    said = all_reported(outcomes)
    drawn = [
        figure
        for outcome in outcomes
        for figure in study_figures(outcome, said.get(outcome.study.id, ()))
        if not is_one_point(figure)
    ]
    tables = [
        table
        for outcome in outcomes
        for table in study_tables(outcome, said.get(outcome.study.id, ()))
    ]
    drawn = _led_by_the_claim(drawn, outcomes)
    return Report(
        title="Headcount: the experiments, their verdicts and the four numbers",
        profile=profile,
        command=command,
        sections=(*_sections(outcomes), *((RATES,) if rates else ())),
        outcomes=tuple(outcomes),
        figures=(*drawn, *rate_figures(rates)),
        tables=(*tables, *((rate_table(rates),) if rates else ())),
        errata=tuple(errata),
        specs=tuple(spec_file(outcome.study) for outcome in outcomes),
        versions=tuple(sorted(versions.items())),
        store=store,
        pilots={name: pilot_text(pilot) for name, pilot in (pilots or {}).items()},
    )


def _led_by_the_claim(
    figures: Sequence[FigureData], outcomes: Sequence[StudyOutcome]
) -> list[FigureData]:
    """Where one experiment was asked for, the first screen shows what its claim is about, and not
    a further check beside it.
    """
    asked = {o.study.id for o in outcomes if o.study.variant is not Variant.FURTHER}
    meant = tuple(o.study.key for o in outcomes if o.study.variant is Variant.AS_MEANT)
    of_claims = (f for f in figures if f.place is Place.SECTION and f.name.startswith(meant))
    lead = next(of_claims, None)
    if len(asked) != 1 or lead is None:
        return list(figures)
    places = {Place.HEADLINE: Place.SECTION}
    return [
        dataclasses.replace(f, place=Place.HEADLINE if f is lead else places.get(f.place, f.place))
        for f in figures
    ]


def is_one_point(figure: FigureData) -> bool:
    """One place on the x axis is no picture: its numbers stand in the table of the arms."""
    return len({place for curve in figure.curves for place in curve.x}) < 2


def pilot_text(pilot: "Pilot") -> str:
    """What was chosen, and how much better it was than the next."""
    medians = {setting: float(np.median(losses)) for setting, losses in pilot.losses.items()}
    ranked = sorted(medians, key=lambda setting: medians[setting])
    seeds = max(map(len, pilot.losses.values()))
    told = f"best of {len(ranked)} settings on {seeds} pilot seeds: {number(medians[pilot.chosen])}"
    if len(ranked) > 1:
        told += f"; next {ranked[1].label}: {number(medians[ranked[1]])}"
    return told


def _sections(outcomes: Iterable[StudyOutcome]) -> list[Section]:
    """One section per id; the variants of an experiment share it."""
    found: dict[str, Section] = {}
    for outcome in outcomes:
        study = outcome.study
        earlier = found.get(study.id)
        settings = (*(earlier.settings if earlier else ()), (str(study.variant), setting_of(study)))
        leads = earlier is None or study.variant is Variant.AS_MEANT
        title = study.title if leads or earlier is None else earlier.title
        check = study.variant is Variant.FURTHER and (earlier is None or earlier.check)
        found[study.id] = Section(study.id, title, settings, check)
    return list(found.values())


def setting_of(study: Study) -> str:
    """The question and the notes as sentences."""
    return " ".join((asked(study), *(f"{_capital(note)}." for note in study.notes)))


def _capital(note: str) -> str:
    """A word gets a capital, a symbol (x_48, x) does not."""
    first = note.split()[0].rstrip(",:")
    return f"{note[0].upper()}{note[1:]}" if first.isalpha() and len(first) > 1 else note


def study_figures(outcome: StudyOutcome, reported: Sequence[Reported] = ()) -> list[FigureData]:
    """The figures of a study by its role, and the learning curves of the arms that were judged."""
    study = outcome.study
    if study.role is StudyRole.HEADLINE:
        made = headline_figure(
            headline_series(outcome, reported),
            name=study.key,
            section=study.id,
            title=study.title,
            y_label=study.y_label,
            asked=asked(study),
        )
        return [] if made is None else [made]
    placed = all(each.arm.x is not None for each in outcome.arms)
    tabled = study.role is StudyRole.READING_MAP or (
        study.role is StudyRole.SIZE_TABLE and not placed
    )
    drawn = [] if tabled else _loss_figures(outcome, tuple(map(str, reported)))
    return [*drawn, *curve_figures(outcome)]


def _loss_figures(outcome: StudyOutcome, reported: Sequence[str]) -> list[FigureData]:
    """One figure, or one per panel: losses that count different things share no axis."""
    study = outcome.study
    if not study.panels:
        return [figure for figure in (study_figure(outcome, reported),) if figure is not None]
    parts = [
        dataclasses.replace(
            outcome,
            study=dataclasses.replace(
                study, title=f"{study.title} {_capital(series)}", y_label=label
            ),
            arms=tuple(a for a in outcome.arms if a.arm.series == series),
        )
        for series, label in study.panels.items()
    ]
    drawn = [
        (series, study_figure(part, reported))
        for series, part in zip(study.panels, parts, strict=True)
    ]
    return [
        dataclasses.replace(figure, name=f"{figure.name}-{series}")
        for series, figure in drawn
        if figure is not None
    ]


def study_figure(outcome: StudyOutcome, reported: Sequence[str] = ()) -> FigureData | None:
    """Loss against the study's x, one colour a series: learned (cells pooled), what is possible,
    the paper's figures.

    `reported` is what the paper says of this experiment, in words: '< 1e-5' cannot be seen from a
    marker at 1e-5.
    """
    study = outcome.study
    placed = [a for a in outcome.arms if a.arm.x is not None]
    colours = len({a.arm.series for a in placed}) * (
        2 if any(a.arm.trained_length is not None for a in placed) else 1
    )
    if len(placed) == len(outcome.arms) and colours <= MOST_FAMILIES:
        groups = {
            series: [a for a in placed if a.arm.series == series]
            for series in dict.fromkeys(a.arm.series for a in placed)
        }
        curves = [
            curve
            for series, mine in groups.items()
            for curve in _curves(
                sorted(mine, key=_place), tuple(sorted(map(_place, mine))), outcome, plural(series)
            )
        ]
        x = Axis(study.x_label, "log" if study.x_log else "linear")
    else:
        curves = _curves(outcome.arms, tuple(float(i) for i in range(len(outcome.arms))), outcome)
        x = Axis("", "category", tuple(a.arm.name for a in outcome.arms))
    least = _least(curves) if study.y_log else None
    unit = Axis(study.y_label, "log" if study.y_log else "linear", least=least)
    title, name = f"{study.title} ({study.variant})", study.key.replace(" ", "-")
    return (
        FigureData(
            name, study.id, title, x, unit, tuple(curves), _caption(outcome, curves, reported)
        )
        if curves
        else None
    )


def _least(curves: Sequence[Curve]) -> float | None:
    """The lower edge of a logarithmic axis, where a computed floor lies so far below everything
    learned that decades without a point would squeeze the rest; None where none does.
    """
    told = [
        value
        for curve in curves
        if curve.kind not in ("floor", "lower")
        for value in (*curve.y, *curve.low)
        if value
    ]
    floors = [y for curve in curves if curve.kind in ("floor", "lower") for y in curve.y if y]
    if not told or not floors or min(floors) >= min(told) / DEPTH:
        return None
    drawn = [*told, *(floor for floor in floors if floor >= min(told) / DEPTH)]
    return float(10.0 ** math.floor(math.log10(min(drawn))))


def _caption(outcome: StudyOutcome, curves: Sequence[Curve], reported: Sequence[str]) -> str:
    """What the curves are; what the paper's markers stand for; the question."""
    kinds = {curve.kind for curve in curves}
    few = len(outcome.study.seeds) < FEWEST_SEEDS  # `summarised`: too few for an interval
    several = len(outcome.study.cells) > 1
    mean = "geometric mean" if outcome.study.ratios else "mean"
    over = "seeds and cells" if several else "seeds"
    ends = (
        "the band reaches from the lowest to the highest seed"
        if few
        else "the band reaches from the lowest to the highest 90% interval of a cell"
        if several
        else "the band is its 90% interval"
    )
    told = [f"Learned: {mean} over {over}; {ends}."]
    if len(outcome.study.seeds) == 1:
        told = [f"Learned: {mean} over cells, one seed." if several else "Learned: one seed."]
    if "cell" in kinds:
        told.append(f"Thin lines: the cells {', '.join(outcome.study.cells)} one by one.")
    if "floor" in kinds:
        told.append(FLOOR)
    if "lower" in kinds:
        classes = ", ".join(
            dict.fromkeys(a.numbers.lower_for for a in outcome.arms if a.numbers.lower_for)
        )
        which = f" ({classes})" if classes else ""
        told.append(
            f"Certified lower bounds{which} are drawn where what was learned is within"
            f" {FAR_ABOVE_FLOOR:g} times of them."
        )
    if "paper" in kinds and reported:
        told.append(f"The paper says: {'; '.join(reported)}.")
    return " ".join((*told, asked(outcome.study)))


def asked(study: Study) -> str:
    """The question; a claim under test is called so, lest it reads as a finding."""
    claims = [claim.claim for claim in study.claims]
    return f"Claim tested: {study.question}" if study.question in claims else study.question


def _place(outcome: ArmOutcome) -> float:
    return float(outcome.arm.x or 0.0)


def _curves(
    arms: Sequence[ArmOutcome], x: tuple[float, ...], outcome: StudyOutcome, series: str = ""
) -> list[Curve]:
    """Those of one colour; and of a second one for what was learned at the length of training,
    where the loss is that at another.
    """
    study = outcome.study
    lengths = sorted({length for a in arms if (length := a.arm.trained_length) is not None})
    family = series or ("at the tested length" if lengths else "arms")
    pooled = [_pooled(a, study.ratios) for a in arms]
    found = [_band(f"{family} learned", x, pooled, family), *_cell_curves(arms, x, study, family)]
    points = {
        "floor": [a.numbers.floor for a in arms],
        "lower": [_explains(a, p) for a, p in zip(arms, pooled, strict=True)],
        # the paper tests at the length of training
        "paper": [a.arm.paper if a.arm.trained_length is None else None for a in arms],
    }
    for kind, values in points.items():
        seen = [(place, y) for place, y in zip(x, values, strict=True) if y is not None]
        if seen:
            found.append(
                Curve(
                    f"{family} {kind}",
                    kind,
                    tuple(p[0] for p in seen),
                    tuple(p[1] for p in seen),
                    family=family,
                )
            )
    if lengths:
        own = ", ".join(
            filter(None, (series, f"at the trained length {' or '.join(map(str, lengths))}"))
        )
        short = [
            None if cell is None else (cell.low, cell.mean, cell.high)
            for cell in (outcome.at_trained_length(a) for a in arms)
        ]
        found.append(_band(f"{own} learned", x, short, own))
    return [curve for curve in found if curve is not None]


def _cell_curves(
    arms: Sequence[ArmOutcome], x: tuple[float, ...], study: Study, family: str
) -> list[Curve]:
    """The mean of every cell, where there are several: a band alone hides that a claim depends
    on the initialisation.
    """
    if len(study.cells) < 2:
        return []
    found = []
    for cell in study.cells:
        means = [
            next((c.mean for c in a.learned if c.cell == cell and c.finished), None) for a in arms
        ]
        if any(mean is not None for mean in means):
            found.append(Curve(f"{family} learned, {cell}", "cell", x, tuple(means), family=family))
    return found


def _band(
    name: str, x: tuple[float, ...], ends: Sequence[tuple[float, float, float] | None], family: str
) -> Curve | None:
    """A measured curve of (low, mean, high); None where nothing was measured."""
    low, mean, high = (tuple(None if each is None else each[i] for each in ends) for i in range(3))
    return (
        Curve(name, "measured", x, mean, low, high, family)
        if any(m is not None for m in mean)
        else None
    )


def _explains(outcome: ArmOutcome, pooled: tuple[float, float, float] | None) -> float | None:
    """The certified bound where it says why the loss is no smaller: the loss is not far above
    it. A bound of 0 says nothing.
    """
    bound = outcome.numbers.lower
    return bound if bound and pooled is not None and pooled[1] <= FAR_ABOVE_FLOOR * bound else None


def _pooled(outcome: ArmOutcome, ratio: bool) -> tuple[float, float, float] | None:
    """(lowest end, mean, highest end) over the cells that finished; geometric where losses are
    compared by ratio.
    """
    cells = [cell for cell in outcome.learned if cell.finished]
    if not cells:
        return None
    means = np.array([cell.mean for cell in cells])
    mean = float(10 ** np.log10(means).mean()) if ratio else float(means.mean())
    return min(mean, *(cell.low for cell in cells)), mean, max(mean, *(cell.high for cell in cells))


def curve_figures(outcome: StudyOutcome) -> list[FigureData]:
    """Learning curves of the arms that claims are about, so many to a figure as there are
    colours; those of losses that count different things apart.
    """
    study = outcome.study
    judged = dict.fromkeys(arm for h in study.hypotheses for arm in h.arms)
    groups: dict[str, list[Curve]] = {}
    for each in outcome.arms:
        if each.arm.name in judged and (curve := _learning(each)) is not None:
            groups.setdefault(study.loss_name(each.arm), []).append(curve)
    parts = [
        (label, curves[i : i + MOST_FAMILIES])
        for label, curves in groups.items()
        for i in range(0, len(curves), MOST_FAMILIES)
    ]
    return [
        FigureData(
            f"{study.key}-curves" + (f"-{i}" if len(parts) > 1 else ""),
            study.id,
            f"Learning curves: {study.title[:1].lower()}{study.title[1:]}",
            Axis("step", "log"),
            Axis(label, "log" if study.y_log else "linear"),
            tuple(curves if len(curves) <= MOST_BANDS else map(_without_band, curves)),
            "Median over seeds at the log points"
            + (
                "; the band reaches from the lowest to the highest."
                if len(curves) <= MOST_BANDS
                else "."
            ),
            Place.FOLDED,
        )
        for i, (label, curves) in enumerate(parts, start=1)
    ]


def _without_band(curve: Curve) -> Curve:
    return dataclasses.replace(curve, low=(), high=())


def _learning(each: ArmOutcome) -> Curve | None:
    """From the first step on; as far as half of the seeds go."""
    curve = each.curve
    points = [
        (float(step), low, median, high if math.isfinite(high) else median)
        for step, median, low, high in zip(
            curve.steps, curve.median, curve.low, curve.high, strict=True
        )
        if step > 0 and math.isfinite(median)
    ]
    if len(points) < 2:
        return None
    x, low, y, high = zip(*points, strict=True)
    return Curve(f"{each.arm.name} learning", "measured", x, y, low, high, each.arm.name)


def spec_file(study: Study) -> SpecFile:
    """The study as it ran: arms, cells, seeds."""
    arms = {arm.name: plain(dict(arm.run)) for arm in study.arms}
    cells = {name: plain(dict(changes)) for name, changes in study.cells.items()}
    return SpecFile.of(
        study.key,
        {
            "id": study.id,
            "variant": str(study.variant),
            "arms": arms,
            "cells": cells,
            "seeds": list(study.seeds),
        },
    )
