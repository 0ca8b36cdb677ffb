"""From judged studies to a report: arms with their four numbers, one figure a study, verdicts, specs."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from headcount.core.spec import plain
from headcount.lab.experiments.study import Study, Variant
from headcount.lab.reproduce import ArmOutcome, Reproduction, StudyOutcome
from headcount.report.arms import Arm, Learned, Metric, Possible, Promised, Representable
from headcount.report.figure_data import MOST_FAMILIES, Axis, Curve, FigureData
from headcount.report.records import Erratum, Experiment, Report, SignatureRow, SpecFile, Table, VerdictRow


def report_of(
    result: Reproduction,
    *,
    profile: str,
    command: str,
    seconds: float,
    store: str,
    errata: Sequence[Erratum] = (),
    tables: Sequence[Table] = (),
    figures: Sequence[FigureData] = (),
    signatures: Sequence[SignatureRow] = (),
    sections: Sequence[Experiment] = (),
    notes: Sequence[str] = (),
) -> Report:
    """Everything that `headcount reproduce` shows."""
    outcomes = result.outcomes
    return Report(
        title="Headcount: the experiments, their verdicts and the four numbers",
        profile=profile,
        seconds=seconds,
        command=command,
        experiments=(*_experiments(outcomes), *sections),
        verdicts=tuple(_verdicts(outcomes)),
        arms=tuple(row for outcome in outcomes for arm in outcome.arms for row in arm_rows(outcome.study, arm)),
        figures=(*(figure for outcome in outcomes if (figure := study_figure(outcome)) is not None), *figures),
        tables=tuple(tables),
        signatures=tuple(signatures),
        errata=tuple(errata),
        specs=tuple(spec_file(outcome.study) for outcome in outcomes),
        notes=tuple(notes),
        versions=tuple(sorted(result.versions.items())),
        store=store,
    )


def _experiments(outcomes: Iterable[StudyOutcome]) -> list[Experiment]:
    """One section an id; the variants of an experiment share it."""
    found: dict[str, Experiment] = {}
    for outcome in outcomes:
        study = outcome.study
        earlier = found.get(study.id)
        settings = (*(earlier.settings if earlier else ()), (str(study.variant), setting_of(study)))
        leads = earlier is None or study.variant is Variant.AS_MEANT
        title = study.title if leads or earlier is None else earlier.title
        check = study.variant is Variant.FURTHER and (earlier is None or earlier.check)
        found[study.id] = Experiment(study.id, title, settings, check)
    return list(found.values())


def setting_of(study: Study) -> str:
    """The question and the notes as sentences."""
    return " ".join((study.question, *(f"{note[0].upper()}{note[1:]}." for note in study.notes)))


def _verdicts(outcomes: Iterable[StudyOutcome]) -> Iterable[VerdictRow]:
    for outcome in outcomes:
        if outcome.verdict is not None:
            study = outcome.study
            row = outcome.verdict.to_json()
            unique = row["id"] if study.variant is Variant.AS_MEANT else f"{row['id']}-{study.variant.replace(' ', '-')}"
            yield VerdictRow.from_json({**row, "id": unique}, experiment=study.id, variant=str(study.variant))


def metric_of(study: Study) -> Metric:
    """What the study's numbers count."""
    return Metric(study.y_label, ratios=study.ratios)


def arm_rows(study: Study, outcome: ArmOutcome) -> list[Arm]:
    """One row a cell: the first three numbers are the same in all of them, the learned one is not."""
    n, rows = outcome.numbers, []
    for learned in outcome.learned:
        finished = math.isfinite(learned.mean)
        rows.append(
            Arm(
                study.id,
                outcome.arm.name,
                metric_of(study),
                str(study.variant),
                Promised(n.promised, n.promised_text),
                Possible(n.possible, n.lower, "; ".join(filter(None, (n.certificate, n.note)))),
                Representable(_finite(n.float32), _finite(n.bfloat16)),
                Learned(
                    learned.mean if finished else None,
                    learned.low if finished else None,
                    learned.high if finished else None,
                    len(learned.losses),
                    learned.diverged,
                ),
                outcome.parameters,
                learned.cell if len(outcome.learned) > 1 else "",
            )
        )
    return rows


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def study_figure(outcome: StudyOutcome) -> FigureData | None:
    """Loss against the study's x, one colour a series: learned (cells pooled, band over their intervals), floor, the paper's figures."""
    study = outcome.study
    placed = [a for a in outcome.arms if a.arm.x is not None]
    name = study.key.replace(" ", "-")
    unit = Axis(study.y_label, "log" if study.y_log else "linear")
    caption = (
        "Learned: mean over seeds and cells; the band reaches from the lowest to the highest 90% interval of a cell. " + study.question
    )
    if len(placed) == len(outcome.arms) and len({a.arm.series for a in placed}) <= MOST_FAMILIES:
        curves = _curves_by_series(placed, study)
        x = Axis(study.x_label, "log" if study.x_log else "linear")
    else:
        curves = _dots(outcome.arms, study)
        x = Axis("", "category", tuple(a.arm.name for a in outcome.arms))
    return FigureData(name, study.id, f"{study.title} ({study.variant})", x, unit, tuple(curves), caption) if curves else None


def _curves_by_series(arms: Sequence[ArmOutcome], study: Study) -> list[Curve]:
    curves = []
    for series in dict.fromkeys(a.arm.series for a in arms):
        mine = sorted((a for a in arms if a.arm.series == series), key=lambda a: a.arm.x or 0.0)
        x = tuple(float(a.arm.x or 0.0) for a in mine)
        pooled = [_pooled(a, study.y_log) for a in mine]
        if any(p is not None for p in pooled):
            y, low, high = (tuple(None if p is None else p[i] for p in pooled) for i in (1, 0, 2))
            curves.append(Curve(f"{series} learned", "measured", x, y, low, high, series))
        floors = tuple(a.numbers.floor for a in mine)
        if any(f is not None for f in floors):
            curves.append(Curve(f"{series} possible", "floor", x, floors, family=series))
        reported = [(float(a.arm.x or 0.0), a.arm.paper) for a in mine if a.arm.paper is not None]
        if reported:
            curves.append(Curve(f"{series}, paper", "paper", tuple(p[0] for p in reported), tuple(p[1] for p in reported), family=series))
    return curves


def _dots(arms: Sequence[ArmOutcome], study: Study) -> list[Curve]:
    x = tuple(float(i) for i in range(len(arms)))
    pooled = [_pooled(a, study.y_log) for a in arms]
    curves = []
    if any(p is not None for p in pooled):
        y, low, high = (tuple(None if p is None else p[i] for p in pooled) for i in (1, 0, 2))
        curves.append(Curve("learned", "measured", x, y, low, high))
    floors = tuple(a.numbers.floor for a in arms)
    if any(f is not None for f in floors):
        curves.append(Curve("possible", "floor", x, floors))
    reported = [(float(i), a.arm.paper) for i, a in enumerate(arms) if a.arm.paper is not None]
    if reported:
        curves.append(Curve("paper", "paper", tuple(p[0] for p in reported), tuple(p[1] for p in reported)))
    return curves


def _pooled(outcome: ArmOutcome, ratio: bool) -> tuple[float, float, float] | None:
    """(lowest end, mean, highest end) over the cells that finished."""
    cells = [cell for cell in outcome.learned if math.isfinite(cell.mean)]
    if not cells:
        return None
    means = np.array([cell.mean for cell in cells])
    mean = float(10 ** np.log10(means).mean()) if ratio else float(means.mean())
    return min(mean, *(cell.low for cell in cells)), mean, max(mean, *(cell.high for cell in cells))


def spec_file(study: Study) -> SpecFile:
    """The study as it ran: arms, cells, seeds."""
    arms = {arm.name: plain(dict(arm.run)) for arm in study.arms}
    cells = {name: plain(dict(changes)) for name, changes in study.cells.items()}
    return SpecFile.of(study.key, {"id": study.id, "variant": str(study.variant), "arms": arms, "cells": cells, "seeds": list(study.seeds)})
