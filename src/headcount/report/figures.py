"""A `FigureData` as SVG, PNG and CSV. The same input gives the same bytes: no date, a fixed salt
for ids, bundled fonts.

Drawn at 700 px: title, a key of the line styles that occur, and the families' names at the ends of
their lines instead of a legend to look up. A value of 0 on a logarithmic axis stands near the lower
edge, at a tick that says 0 (or that it is smaller than the axis shows).
"""

import csv
import io
import math
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from headcount.report.axis_marks import log_ticks, spread, superscript
from headcount.report.figure_data import KIND_TEXT, Curve, FigureData
from headcount.report.palette import FAMILIES, LIGHT, MARKERS
from headcount.report.wording import exact, number

WIDTH, HEIGHT = 7.0, 4.2  # inches at 100 px: 700 px wide
PNG_DPI = 200
FONT = "DejaVu Sans"  # comes with matplotlib, so the layout is the same everywhere
FALLBACK = "'DejaVu Sans', Verdana, sans-serif"  # for readers without it: nearly the same widths
STYLE: dict[str, Any] = {
    "font.family": [FONT],
    "font.size": 10.0,
    "axes.edgecolor": LIGHT["muted"],
    "axes.labelcolor": LIGHT["ink"],
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LIGHT["grid"],
    "grid.linewidth": 0.7,
    "text.color": LIGHT["ink"],
    "text.parse_math": False,  # names may hold a dollar sign
    "xtick.color": LIGHT["muted"],
    "ytick.color": LIGHT["muted"],
    "xtick.labelcolor": LIGHT["ink"],
    "ytick.labelcolor": LIGHT["ink"],
    "svg.fonttype": "none",
    "figure.dpi": 100.0,
    "path.simplify": False,
}
LINES: dict[str, dict[str, Any]] = {
    "measured": {"linestyle": "-", "linewidth": 1.9},
    "cell": {"linestyle": "-", "linewidth": 0.7, "alpha": 0.75},
    "floor": {"linestyle": (0, (4, 2)), "linewidth": 1.6},
    "lower": {"linestyle": (0, (12, 4)), "linewidth": 1.0},
    "promised": {"linestyle": (0, (1, 1.8)), "linewidth": 1.8},
    "representable": {"linestyle": (0, (6, 2, 1.2, 2)), "linewidth": 1.3},
    "fit": {"linestyle": "-", "linewidth": 0.9},
    "paper": {"linestyle": "none", "linewidth": 0.0},
}
# the numbers that are no measurement, in drawings that lie on their side
BARS: dict[str, dict[str, Any]] = {
    "cell": {"marker": "o", "markersize": 3.0, "markeredgewidth": 0.0, "alpha": 0.75},
    "floor": {"marker": "|", "markersize": 13, "markeredgewidth": 2.0},
    "lower": {"marker": ">", "markersize": 6, "markeredgewidth": 0.0},
    "promised": {"marker": "x", "markersize": 7, "markeredgewidth": 1.8},
    "representable": {"marker": "+", "markersize": 9, "markeredgewidth": 1.8},
    "fit": {"marker": "_", "markersize": 9, "markeredgewidth": 1.8},
}
LABEL_ORDER = (
    "measured",
    "cell",
    "fit",
    "floor",
    "lower",
    "representable",
    "promised",
    "paper",
)  # which curve of a family carries its name
TITLE_CHARACTERS, KEY_CHARACTERS, NAME_CHARACTERS = 76, 105, 28  # that fit into the width
MARKED = 15  # curves of more points are drawn without markers


def files(figure: FigureData) -> dict[str, bytes]:
    """The contents of a figure's three files by their ending: svg, png, csv."""
    return {**render(figure), "csv": csv_text(figure).encode()}


def csv_text(figure: FigureData) -> str:
    """The figure's numbers, one point per row, in full precision."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["family", "kind", "series", "x", "y", "low", "high"])
    for curve in figure.curves:
        for x, *values in curve.rows():
            name = figure.place_name(x)
            place = name if isinstance(name, str) else exact(name)
            table.writerow([curve.family, curve.kind, curve.name, place, *map(exact, values)])
    return out.getvalue()


def style(salt: str) -> Any:
    """The context in which figures are drawn; `salt` makes the ids inside the SVG."""
    settings: Any = {**STYLE, "svg.hashsalt": f"headcount-{salt}"}
    return matplotlib.rc_context(settings)


def render(figure: FigureData) -> dict[str, bytes]:
    """The drawing as 'svg' and 'png'."""
    with style(figure.name):
        canvas = draw(figure)
        svg, png = io.BytesIO(), io.BytesIO()
        nothing: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        canvas.savefig(svg, format="svg", metadata=nothing)
        canvas.savefig(png, format="png", dpi=PNG_DPI, metadata={"Software": None})
    text = svg.getvalue().decode().replace(f"'{FONT}'", FALLBACK)
    return {"svg": text.encode(), "png": png.getvalue()}


def draw(figure: FigureData) -> Figure:
    """The matplotlib figure; call it inside `style`."""
    sideways = figure.x.scale == "category"
    height = HEIGHT if not sideways else 1.4 + 0.42 * max(3, len(figure.x.categories))
    layout = ConstrainedLayoutEngine()
    canvas = Figure(figsize=(WIDTH, height), layout=layout, facecolor=LIGHT["paper"])
    FigureCanvasAgg(canvas)
    axes = canvas.add_subplot(facecolor="none")
    bottom = _ground(figure)
    for curve in figure.curves:
        place = figure.families.index(curve.family)
        (_dots if sideways else _line)(axes, figure, curve, place, bottom)
    (_sideways if sideways else _upright)(axes, figure, bottom)
    depth = _head(canvas, figure)
    layout.set(rect=(0, 0, 0.985, 1 - depth / height))
    if not sideways:
        _name_lines(canvas, axes, figure, bottom)
        _notes(canvas, axes, figure, bottom)
    return canvas


def _ground(figure: FigureData) -> float | None:
    """Where a 0 stands on a logarithmic axis: a decade below everything positive. None on a
    linear axis.
    """
    if figure.y.scale != "log":
        return None
    if figure.y.least is not None:
        return figure.y.least / 3
    seen = [
        value
        for curve in figure.curves
        for value in (*curve.y, *curve.low)
        if value is not None and value > 0
    ]
    shown = [
        value for curve in figure.curves for value in curve.y if value is not None and value > 0
    ]
    return 10.0 ** (math.floor(math.log10(max(min(seen), min(shown) / 1e3))) - 1) if shown else 0.1


def _lift(values: Sequence[float | None], bottom: float | None) -> list[float]:
    """Gaps as NaN, and on a logarithmic axis nothing below its lower edge."""
    lifted = [math.nan if value is None else float(value) for value in values]
    return (
        lifted
        if bottom is None
        else [value if math.isnan(value) else max(value, bottom) for value in lifted]
    )


def _marker(curve: Curve, rank: int, dots: bool = False) -> dict[str, Any]:
    """`dots`: points that no line joins, which are nothing without a marker."""
    colour = LIGHT[FAMILIES[rank]]
    if curve.kind == "paper":
        return {
            "marker": MARKERS[rank],
            "markersize": 8.5,
            "markerfacecolor": LIGHT["paper"],
            "markeredgecolor": colour,
            "markeredgewidth": 1.6,
        }
    if curve.kind == "measured" and (dots or len(curve.x) <= MARKED):
        return {"marker": MARKERS[rank], "markersize": 5.5}
    alone = {
        "floor": {"marker": "_", "markersize": 12, "markeredgewidth": 1.8},
        "lower": {"marker": "^", "markersize": 6},
    }
    # one point is no line
    return alone.get(curve.kind, {"marker": "o", "markersize": 3.0}) if len(curve.x) == 1 else {}


def _line(axes: Any, figure: FigureData, curve: Curve, rank: int, bottom: float | None) -> None:
    colour, above = (
        LIGHT[FAMILIES[rank]],
        {"measured": 4, "fit": 5, "paper": 6}.get(curve.kind, 3),
    )
    points = sorted(curve.rows(), key=lambda row: row[0])
    x, y, low, high = zip(*points, strict=True)
    look = LINES[curve.kind] | _shared_edge(figure, curve, bottom) | _marker(curve, rank)
    axes.plot(x, _lift(y, bottom), color=colour, zorder=above, **look)
    if curve.low and len(x) > 1:
        axes.fill_between(
            x,
            _lift(low, bottom),
            _lift(high, bottom),
            color=colour,
            alpha=0.18,
            linewidth=0,
            zorder=2,
        )
    elif curve.low and None not in (low[0], high[0]):
        axes.plot(
            [x[0]] * 2,
            _lift((low[0], high[0]), bottom),
            color=colour,
            linewidth=1.6,
            alpha=0.6,
            zorder=3,
        )


def _shared_edge(figure: FigureData, curve: Curve, bottom: float | None) -> dict[str, Any]:
    """Dashes that take turns, where several floors lie on the lower edge: each stays visible."""
    if bottom is None or curve.kind != "floor":
        return {}
    edge = [
        c
        for c in figure.curves
        if c.kind == "floor" and all(y == bottom for y in _lift(c.y, bottom))
    ]
    if curve not in edge or len(edge) < 2:
        return {}
    turn = 7.0
    return {"linestyle": (-turn * edge.index(curve), (4, turn * len(edge) - 4))}


def _dots(axes: Any, figure: FigureData, curve: Curve, rank: int, bottom: float | None) -> None:
    """One row per category; families side by side, the numbers of one family on one line."""
    colour, count = LIGHT[FAMILIES[rank]], len(figure.families)
    shared = [
        row
        for other in figure.families
        for row in [{x for c in figure.curves if c.family == other for x in c.x}]
    ]
    overlap = any(a & b for i, a in enumerate(shared) for b in shared[:i])
    shift = (rank - (count - 1) / 2) * 0.6 / count if overlap else 0.0
    for x, y, low, high in curve.rows():
        if y is None:
            continue
        place, (value,) = x + shift, _lift((y,), bottom)
        if low is not None and high is not None:
            axes.plot(
                _lift((low, high), bottom),
                [place] * 2,
                color=colour,
                linewidth=2.2,
                alpha=0.45,
                solid_capstyle="butt",
                zorder=3,
            )
        if curve.kind in ("measured", "paper"):
            axes.plot(
                [value],
                [place],
                color=colour,
                linestyle="none",
                zorder=5,
                **_marker(curve, rank, dots=True),
            )
        else:
            axes.plot(
                [value], [place], color=colour, linestyle="none", zorder=4, **BARS[curve.kind]
            )


def _upright(axes: Any, figure: FigureData, bottom: float | None) -> None:
    axes.set_xlabel(figure.x.label)
    axes.set_ylabel(figure.y.label)
    places = sorted({x for curve in figure.curves for x in curve.x})
    if figure.x.scale == "log":
        axes.set_xscale("log")
        left = (places[-1] / places[0]) ** 0.05 if figure.x.named else 1.12
        axes.set_xlim(places[0] / left, places[-1] * 1.12)
        log_ticks(axes.xaxis, places[0], places[-1], places)
        _name_places(axes.xaxis, figure)
    elif len(places) <= 10 and all(float(x).is_integer() for x in places):
        axes.set_xticks(places, [f"{x:g}" for x in places])
    if bottom is not None:
        _log_values(axes.yaxis, axes.set_yscale, axes.set_ylim, figure, bottom)


def _sideways(axes: Any, figure: FigureData, bottom: float | None) -> None:
    axes.set_xlabel(figure.y.label)
    count = len(figure.x.categories)
    axes.set_yticks(
        range(count), [textwrap.fill(name, NAME_CHARACTERS) for name in figure.x.categories]
    )
    axes.set_ylim(count - 0.4, -0.6)  # first category on top
    axes.tick_params(axis="y", length=0)
    if bottom is not None:
        _log_values(axes.xaxis, axes.set_xscale, axes.set_xlim, figure, bottom)
    else:
        axes.margins(x=0.08)


def _log_values(
    axis: Any, set_scale: Any, set_limits: Any, figure: FigureData, bottom: float
) -> None:
    """Decades for the values; the lower edge is drawn only if something stands on it."""
    positive = [
        v for c in figure.curves for v in (*c.y, *(h for h in c.high)) if v is not None and v > 0
    ]
    drawn = [v for c in figure.curves for v in (*c.y, *c.low) if v is not None]
    shown = [v for v in drawn if v > bottom] or [bottom * 10]
    zero = any(v is not None and v <= bottom for c in figure.curves for v in c.y)
    low, high = min(shown), max([*positive, *shown])
    margin = (high / low) ** 0.06 * 1.15
    set_scale("log")
    ends = (bottom / 2 if zero else low / margin, high * margin)
    set_limits(*ends)
    log_ticks(axis, low / margin, high * margin)
    if zero:
        ticks = [tick for tick in axis.get_ticklocs() if tick > bottom * 1.01]
        least = figure.y.least
        edge = "0" if least is None else f"< {superscript(least)}"
        axis.set_ticks([bottom, *ticks], labels=[edge, *(superscript(tick) for tick in ticks)])


def _name_places(axis: Any, figure: FigureData) -> None:
    """Words instead of numbers at the places that have them."""
    words = dict(figure.x.named)
    if words:
        numbers = {x for c in figure.curves for x in c.x} - set(words)
        places = sorted({*numbers, *words})
        axis.set_ticks(places, labels=[words.get(x) or number(x) for x in places])


def _notes(canvas: Figure, axes: Any, figure: FigureData, bottom: float | None) -> None:
    """The words of curves that carry some, right of their first point, moved apart."""
    noted = [
        (curve, min(row for row in curve.rows() if row[1] is not None))
        for curve in figure.curves
        if curve.note and any(y is not None for y in curve.y)
    ]
    if not noted:
        return
    places = [(row[0], _lift((row[1],), bottom)[0]) for _, row in noted]
    frame = axes.get_window_extent()
    inside = [axes.transData.transform(place) - (frame.x0, frame.y0) for place in places]
    lifted = [
        y + (0 if curve.kind == "paper" else 8)
        for (curve, _), (_, y) in zip(noted, inside, strict=True)
    ]
    lowest = min(lifted) / frame.height  # or a note would stand on the lowest line
    apart = spread([y / frame.height for y in lifted], 13 / frame.height, lowest, 0.98)
    for (curve, _), (x, _), y in zip(noted, inside, apart, strict=True):
        aside = 10 if curve.kind == "paper" else 3
        axes.text(
            (x + aside) / frame.width,
            y,
            curve.note,
            transform=axes.transAxes,
            color=LIGHT[FAMILIES[figure.families.index(curve.family)]],
            fontsize=8.5,
            va="center",
            ha="left",
            zorder=7,
        )


def _head(canvas: Figure, figure: FigureData) -> float:
    """Title, and below it the key of line styles (of families too where lines cannot carry
    names); its height in inches.
    """
    sideways = figure.x.scale == "category"
    handles: list[Any] = (
        [_key(kind, figure) for kind in figure.kinds] if len(figure.kinds) > 1 or sideways else []
    )
    if sideways and len(figure.families) > 1:
        handles += [
            Patch(facecolor=LIGHT[FAMILIES[i]], label=family)
            for i, family in enumerate(figure.families)
        ]
    lines = textwrap.wrap(figure.title, TITLE_CHARACTERS)
    tall, depth = canvas.get_figheight(), 0.08 + 0.21 * len(lines)
    canvas.text(
        0.012,
        1 - 0.06 / tall,
        "\n".join(lines),
        fontsize=11.5,
        fontweight="bold",
        va="top",
        linespacing=1.2,
        in_layout=False,
    )
    if handles:
        room = sum(len(handle.get_label()) + 8 for handle in handles)
        columns = len(handles) if room <= KEY_CHARACTERS else math.ceil(len(handles) / 2)
        key = canvas.legend(
            handles=handles, ncols=columns, loc="upper left", frameon=False,
            bbox_to_anchor=(0.012, 1 - (depth + 0.02) / tall), borderaxespad=0, borderpad=0.1,
            fontsize=8.5, handlelength=2.4, columnspacing=1.5, labelspacing=0.35,
        )  # fmt: skip
        key.set_in_layout(False)
        depth += 0.04 + 0.19 * math.ceil(len(handles) / columns)
    return depth + 0.08


def _key(kind: str, figure: FigureData) -> Line2D:
    own = (curve for curve in figure.curves if curve.kind == kind)
    spread = any(curve.low != curve.high for curve in own)  # of one seed they are the same
    text = KIND_TEXT[kind] + (", with spread over seeds" if spread else "")
    if figure.x.scale == "category" and kind in BARS:
        return Line2D([], [], color=LIGHT["muted"], label=text, linestyle="none", **BARS[kind])
    look: dict[str, Any] = {"marker": "o", "markersize": 5.5} if kind == "measured" else {}
    if kind == "paper":
        look = {
            "marker": "o",
            "markersize": 7.5,
            "markerfacecolor": LIGHT["paper"],
            "markeredgewidth": 1.6,
        }
    return Line2D([], [], color=LIGHT["muted"], label=text, **LINES[kind], **look)


def _name_lines(canvas: Figure, axes: Any, figure: FigureData, bottom: float | None) -> None:
    """Each family's name right of the plot, joined to the end of its line."""
    ends = [_end(figure, family, bottom) for family in figure.families]
    named = [
        (family, rank, *end)
        for rank, (family, end) in enumerate(zip(figure.families, ends, strict=True))
        if end
    ]
    look = {
        "xycoords": "data",
        "textcoords": "axes fraction",
        "va": "center",
        "ha": "left",
        "fontsize": 9.5,
        "fontweight": "bold",
    }
    notes = []
    for family, rank, x, y in named:
        colour = LIGHT[FAMILIES[rank]]
        arrow = {
            "arrowstyle": "-",
            "color": colour,
            "linewidth": 0.7,
            "alpha": 0.7,
            "shrinkA": 2,
            "shrinkB": 4,
            "relpos": (0, 0.5),
        }
        notes.append(
            axes.annotate(
                family,
                (x, y),
                xytext=(1.035, 0.5),
                color=colour,
                arrowprops=arrow,
                annotation_clip=False,
                **look,
            )
        )
    # the layout makes room for the names; then their places are known
    canvas.draw_without_rendering()
    frame = axes.get_window_extent()
    wanted = [
        (axes.transData.transform((x, y))[1] - frame.y0) / frame.height for _, _, x, y in named
    ]
    for note, place in zip(notes, spread(wanted, 17 / frame.height, 0.02, 0.98), strict=True):
        note.set_position((1.035, place))


def _end(figure: FigureData, family: str, bottom: float | None) -> tuple[float, float] | None:
    """The last point of the curve that carries the family's name."""
    curves = sorted(
        (curve for curve in figure.curves if curve.family == family),
        key=lambda curve: LABEL_ORDER.index(curve.kind),
    )
    for curve in curves:
        seen = [(x, y) for x, y, *_ in curve.rows() if y is not None]
        if seen:
            x, y = max(seen)
            return x, _lift((y,), bottom)[0]
    return None
