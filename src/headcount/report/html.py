"""The report as one HTML file: figures and style inside it, no script, nothing fetched, every
text escaped.

Several drawings stand in one page, so ids of their SVG must not meet; the page has a light and a
dark face, so colours are variables (`palette.LIGHT` is what the drawing holds, the page's style
sheet says what each name is). The SVG is parsed and written again rather than edited as text, so
what comes out is well formed and escaped.
"""

import functools
import importlib.resources
import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import jinja2
from markupsafe import Markup

from headcount.lab.judge.evidence import FAR_ABOVE_FLOOR
from headcount.lab.judge.hypothesis import EQUAL_PARAMETERS, Kind
from headcount.lab.judge.statistics import Looks, Scale
from headcount.lab.judge.verdict import Outcome, Verdict
from headcount.lab.study_outcome import ArmOutcome, StudyOutcome
from headcount.report.document import Cell, Report, Section
from headcount.report.figure_data import KIND_TEXT, FigureData, Place
from headcount.report.grid import (
    COLUMNS,
    amount,
    amount_of_work,
    grid,
    in_order,
    judges_training,
    opening,
)
from headcount.report.palette import BADGES, DARK, LIGHT
from headcount.report.terms import TERMS
from headcount.report.wording import describe, interval, number, percent, plural, rounded, spread

VARIABLES = {colour: f"var(--{name})" for name, colour in LIGHT.items()}
COLOURED = ("style", "fill", "stroke")
DROPPED = ("metadata", "style")


def inline_svg(svg: bytes, name: str, title: str, description: str) -> str:
    """`name` becomes the prefix of every id in the drawing."""
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in [child for child in parent if _local(child.tag) in DROPPED]:
            parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {
            _local(key): _value(_local(key), value, name) for key, value in element.attrib.items()
        }
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.attrib |= {
        "role": "img",
        "aria-labelledby": f"{name}-title {name}-description",
        "style": "stroke-linejoin: round; stroke-linecap: butt",
    }
    root[:0] = [
        _text("title", f"{name}-title", title),
        _text("desc", f"{name}-description", description),
    ]
    return ElementTree.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    return name.rsplit("}", 1)[-1]


def _value(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return re.sub(r"^#", f"#{name}-", value)
    if key == "clip-path":
        return re.sub(r"url\(#", f"url(#{name}-", value)
    if key in COLOURED:
        return re.sub(r"#[0-9a-f]{6}", lambda found: VARIABLES.get(found[0], found[0]), value)
    return value


def _text(tag: str, name: str, text: str) -> ElementTree.Element:
    element = ElementTree.Element(tag, {"id": name})
    element.text = text
    return element


LONGEST_TABLE = 60  # rows of a figure's data that the page repeats; longer ones are in the CSV only


def html(report: Report, drawings: Mapping[str, bytes]) -> str:
    """The whole page. `drawings` holds each figure's SVG by the figure's name."""
    template = environment().get_template("report.html")
    verdicts, lead, work = report.verdicts, report.headline, amount_of_work(report.outcomes)
    sections = [
        (title, [_section(report, s, drawings) for s in report.sections if s.check is check])
        for title, check in SECTIONS
    ]
    return template.render(
        report=report,
        style=Markup(style_sheet()),  # ours, from the package
        sections=sections,
        opening=opening(verdicts, report.profile, work),
        judges=judges_training(verdicts),
        trained=any(
            learned.losses for o in report.outcomes for a in o.arms for learned in a.learned
        ),
        grid=grid(verdicts),
        sectioned=[section.id for section in report.sections],
        columns=list(COLUMNS.values()),
        further=[verdict for verdict in verdicts if verdict.further],
        headline=None if lead is None else _figure(lead, drawings[lead.name]),
        diagnosed=[
            (outcome.study.key, arm, diagnosis)
            for outcome in report.outcomes
            for arm, diagnosis in outcome.diagnoses.items()
        ],
        methods={
            "scales": list(Scale),
            "looks": Looks(),
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
                f"--{badge(outcome)}: {look.colours[face]}; " for outcome, look in BADGES.items()
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


def badge(outcome: Outcome) -> str:
    """The class of an outcome."""
    return f"outcome-{BADGES[outcome].css}"


def _section(report: Report, section: Section, drawings: Mapping[str, bytes]) -> dict[str, Any]:
    outcomes = [outcome for outcome in report.outcomes if outcome.study.id == section.id]
    return {
        "section": section,
        "judged": [
            (verdict, _settings(report, outcomes, verdict)) for verdict in in_order(outcomes)
        ],
        "arms": [group for outcome in outcomes for group in _grouped(outcome)],
        "doubts": [doubt for outcome in outcomes for doubt in outcome.doubts()],
        "figures": [
            _figure(figure, drawings[figure.name])
            for figure in report.figures
            if figure.section == section.id and figure is not report.headline
        ],
        "tables": [table for table in report.tables if table.section == section.id],
    }


def _settings(
    report: Report, outcomes: Sequence[StudyOutcome], verdict: Verdict
) -> list[tuple[str, str, str]]:
    """Arm, what it was trained with, and how that was chosen: for the arms of a claim."""
    found = []
    for study in (outcome.study for outcome in outcomes):
        for hypothesis in (h for h in study.hypotheses if h.key == verdict.key):
            for arm in (arm for arm in study.arms if arm.name in hypothesis.arms):
                pilot = report.pilots.get(f"{study.id}/{arm.name}", "")
                found.append((arm.name, setting(arm.run), pilot))
    return [row for row in found if row[1] or row[2]]


def setting(run: Mapping[str, Any]) -> str:
    """The tuned fields of a run in words.

    >>> setting({"train": {"lr": 0.003, "schedule": {"shape": "cosine"}, "steps": 10_000}})
    'lr 0.003, cosine, 10000 steps'
    """
    train, bias = run.get("train", {}), run.get("model", {}).get("bias")
    shape = train.get("schedule", {}).get("shape")
    steps = train.get("steps")
    spread = bias.get("spacing") if isinstance(bias, Mapping) else None
    told = (
        f"lr {number(train['lr'])}" if "lr" in train else "",
        str(shape or ""),
        f"{steps} steps" if steps else "",
        f"rates {spread} in [{number(bias['low'], 2)}, {number(bias['high'], 2)}]"
        if isinstance(bias, Mapping) and spread and {"low", "high"} <= set(bias)
        else "",
    )
    return ", ".join(filter(None, told))


def anchor(verdict: Verdict) -> str:
    """The id of a verdict on the page."""
    return "verdict-" + re.sub(r"[^\w-]+", "-", verdict.key).strip("-")


def _grouped(outcome: StudyOutcome) -> list[tuple[StudyOutcome, str, list[ArmOutcome]]]:
    """Arms whose losses count the same thing: one table each."""
    groups: dict[str, list[ArmOutcome]] = {}
    for each in outcome.arms:
        groups.setdefault(outcome.study.loss_name(each.arm), []).append(each)
    return [(outcome, name, members) for name, members in groups.items()]


def _trained(each: ArmOutcome, outcome: StudyOutcome) -> float | None:
    """The loss at the trained length, where the one shown is at another."""
    found = outcome.at_trained_length(each)
    return None if found is None else found.mean


def _figure(figure: FigureData, svg: bytes) -> dict[str, Any]:
    rows = [
        (curve.family, KIND_TEXT[curve.kind], figure.place_name(x), y, low, high)
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


@functools.cache
def environment() -> jinja2.Environment:
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
        "badge": badge,
        "anchor": anchor,
        "percent": percent,
        "rounded": rounded,
        "amount": amount,
        "label": lambda verdict: COLUMNS[verdict.kind],
        "plural": plural,
        "trained": _trained,
        "spread": lambda found: spread(found.low, found.high, len(found.losses)),
    }
    environment.globals |= {"badges": BADGES, "Place": Place, "Outcome": Outcome, "Kind": Kind}
    environment.globals["terms"] = TERMS
    environment.tests["noted"] = lambda value: isinstance(value, Cell)
    return environment
