"""The report as one HTML file: figures and style inside it, no script, nothing fetched, every
text escaped.
"""

import functools
import importlib.resources
from collections.abc import Iterable, Mapping
from typing import Any

import jinja2
from markupsafe import Markup

from headcount.lab.evidence import FAR_ABOVE_FLOOR
from headcount.lab.hypothesis import EQUAL_PARAMETERS
from headcount.lab.statistics import FEWEST_SEEDS, Scale
from headcount.report.arms import Arm
from headcount.report.figure_data import KIND_TEXT, FigureData
from headcount.report.inline import inline_svg
from headcount.report.palette import BADGES, DARK, LIGHT
from headcount.report.records import OUTCOMES, Experiment, Report, VerdictRow
from headcount.report.text import describe, duration, interval, number, plural

LONGEST_TABLE = 60  # rows of a figure's data that the page repeats; longer ones are in the CSV only


def html(report: Report, drawings: Mapping[str, bytes]) -> str:
    """The whole page. `drawings` holds each figure's SVG by the figure's name."""
    template = _environment().get_template("report.html")
    sections = [
        (title, [_section(report, e, drawings) for e in report.experiments if e.check is check])
        for title, check in SECTIONS
    ]
    return template.render(
        report=report,
        style=Markup(style_sheet()),  # ours, from the package
        sections=sections,
        counts=[
            (outcome, sum(row.verdict == outcome for row in report.verdicts))
            for outcome in OUTCOMES
        ],
        methods={
            "scales": list(Scale),
            "fewest": FEWEST_SEEDS,
            "far": FAR_ABOVE_FLOOR,
            "equal": EQUAL_PARAMETERS,
        },
    )


SECTIONS = (("The paper's experiments", False), ("Further checks", True))


def style_sheet() -> str:
    """The page's CSS: colours of both faces from the palette, then the rules."""
    faces = {
        face: (
            "".join(f"--{name}: {colour}; " for name, colour in colours.items())
            + "".join(
                f"--{badge(outcome)}: {getattr(look, face)}; " for outcome, look in BADGES.items()
            )
        )
        for face, colours in (("light", LIGHT), ("dark", DARK))
    }
    rules = (
        importlib.resources.files(__package__)
        .joinpath("templates/style.css")
        .read_text(encoding="utf-8")
    )
    dark = (
        "@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark;"
        f" {faces['dark']}}} }}"
    )
    return f":root {{ color-scheme: light; {faces['light']}}}\n{dark}\n{rules}"


def badge(outcome: str) -> str:
    """The class of an outcome.

    >>> badge("outside the theorem's assumptions")
    'outcome-outside'
    """
    return "outcome-" + {"not supported": "not"}.get(outcome, outcome.split()[0])


def _section(
    report: Report, experiment: Experiment, drawings: Mapping[str, bytes]
) -> dict[str, Any]:
    arms: tuple[Arm, ...] = report.of(experiment.id, "arms")
    return {
        "experiment": experiment,
        "verdicts": report.of(experiment.id, "verdicts"),
        "arms": _grouped(arms),
        "doubts": [doubt for arm in arms for doubt in arm.doubts()],
        "figures": [
            _figure(figure, drawings[figure.name]) for figure in report.of(experiment.id, "figures")
        ],
        "tables": report.of(experiment.id, "tables"),
    }


def _grouped(arms: Iterable[Arm]) -> list[tuple[str, str, list[list[Arm]]]]:
    """Arms by variant and metric, in the order given: one table each. The cells of an arm share
    a row.
    """
    groups: dict[tuple[str, str], dict[str, list[Arm]]] = {}
    for arm in arms:
        groups.setdefault((arm.variant, arm.metric.name), {}).setdefault(arm.name, []).append(arm)
    return [
        (variant, metric, list(members.values())) for (variant, metric), members in groups.items()
    ]


def _figure(figure: FigureData, svg: bytes) -> dict[str, Any]:
    rows = [
        (
            curve.family,
            KIND_TEXT[curve.kind],
            figure.x.categories[int(x)] if figure.x.scale == "category" else x,
            y,
            low,
            high,
        )
        for curve in figure.curves
        for x, y, low, high in curve.rows()
    ]
    drawing = inline_svg(svg, f"figure-{figure.name}", figure.title, describe(figure))
    # parsed and escaped by inline_svg
    return {
        "data": figure,
        "svg": Markup(drawing),
        "rows": rows if len(rows) <= LONGEST_TABLE else [],
    }


def _effect(row: VerdictRow) -> str:
    """The measured effect with its interval and unit."""
    return (
        number(row.measured)
        if row.measured is None
        else f"{number(row.measured)} {interval(row.ci)}".strip()
    )


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("headcount.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "interval": interval,
        "duration": duration,
        "badge": badge,
        "effect": _effect,
        "plural": plural,
    }
    environment.globals["signs"] = {outcome: look.sign for outcome, look in BADGES.items()}
    return environment
