"""One page about a diagnosis: the sentence, pictures of what was found, tables, notes.

Written as one HTML file with its drawings inside, and the whole diagnosis beside it as JSON.
"""

import json
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from headcount.core.files import whole_folder
from headcount.diagnose.kernel_tail import curve
from headcount.diagnose.records import Diagnosis
from headcount.diagnose.words import (
    advice_words,
    clock_words,
    closing,
    facts,
    finding,
    model_words,
    note_words,
)
from headcount.report.figures import style
from headcount.report.one_page import OnePage, PageFigure, PageTable, files, html, svg_of
from headcount.report.palette import LIGHT

SIZE = (7.0, 2.2)
OTHERS = ("c0", "c6", "c3", "c2")  # of channels; the answer has the colour that is left


def write_page(found: Diagnosis, folder: Path, data: str) -> None:
    """`report.html`, its twin `report.md`, `diagnosis.json`, the drawings: whole or not at all."""
    with whole_folder(folder) as work:
        values = json.dumps({"data": data, **found.to_json()}, indent=2, allow_nan=False)
        (work / "diagnosis.json").write_text(values + "\n", encoding="utf-8")
        (work / "config.json").write_text('{"kind": "diagnosis"}\n', encoding="utf-8")
        for name, content in files(document(found, data)).items():
            (work / name).write_bytes(content)


def page(found: Diagnosis, data: str) -> str:
    """The whole page."""
    return html(document(found, data))


def document(found: Diagnosis, data: str) -> OnePage:
    """What the page says."""
    notes = [*map(note_words, found.notes), closing(found)]
    with style("diagnosis"):
        pictures = _pictures(found)
    title = f"Diagnosis of {Path(data).name or data}"
    return OnePage(title, first_sentences(found), pictures, _tables(found), notes)


def first_sentences(found: Diagnosis) -> tuple[str, str, str]:
    """What memory there is, what it needs, and what this rests on."""
    advised = found.advice is not None
    needs = f"What it needs: {advice_words(found.advice)}." if found.advice else ""
    method = found.method
    rests = (
        f"It rests on {method.rows:,} rows, {method.judged:,} of them held out, and on lags up to"
        f" {method.max_lag}: longer ones were not searched."
    )
    return finding(found), needs if advised else "No architecture is advised.", rests


def _pictures(found: Diagnosis) -> list[PageFigure]:
    """Everything that can be drawn, what the answer rests on first."""
    made = []
    if found.profile:
        said = ", the lags of the answer in the second colour" if found.lags else ""
        title = f"What each lag shows by itself (z-score){said}"
        made.append(_picture("profile", title, _profile(found)))
    if found.kernel and not found.method.tokens:
        drawn = f", and {_tail_words(found)}" if _drawn_tail(found) else ""
        title = f"Weights of all lags, with 95 % intervals{drawn}"
        made.append(_picture("kernel", title, _kernel(found)))
    if found.map:
        title = "Which lags are read, by the element that names them"
        made.append(_picture("map", title, _map(found)))
    if found.decay is not None and found.decay.lags:
        made.append(_picture("decay", "Two-point mutual information (nats)", _decay(found)))
    return made


def _picture(name: str, title: str, figure: Figure) -> PageFigure:
    return PageFigure(name, title, f"{title}.", svg_of(figure, name))


def _figure(label: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=SIZE, layout="constrained", facecolor=LIGHT["paper"])
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(facecolor="none")
    axes.set(xlabel="lag", ylabel=label)
    return figure, axes


def _profile(found: Diagnosis) -> Figure:
    """Bars side by side where there are several channels, each named."""
    figure, axes = _figure("z-score")
    chosen = {(lag.channel, lag.lag) for lag in found.lags}
    channels = list(dict.fromkeys(c for c, _, _ in found.profile))
    wide = 0.8 / len(channels)
    for k, channel in enumerate(channels):
        own = [(s, z) for c, s, z in found.profile if c == channel]
        colour = LIGHT[OTHERS[k % len(OTHERS)]]
        colours = [LIGHT["c1"] if (channel, s) in chosen else colour for s, _ in own]
        places = [s + (k - (len(channels) - 1) / 2) * wide for s, _ in own]
        axes.bar(places, [z for _, z in own], width=wide, color=colours)
    if 1 < len(channels) <= len(OTHERS):
        keys = [Patch(facecolor=LIGHT[OTHERS[k]], label=c) for k, c in enumerate(channels)]
        answer = Patch(facecolor=LIGHT["c1"], label="of the answer")
        axes.legend(handles=[*keys, answer], frameon=False, fontsize=9)
    return figure


def _kernel(found: Diagnosis) -> Figure:
    figure, axes = _figure("weight")
    lags, weights, errors = zip(*found.kernel, strict=True)
    spread = [1.96 * error for error in errors]
    axes.errorbar(lags, weights, yerr=spread, fmt=".", color=LIGHT["c0"], linewidth=0.8)
    axes.axhline(0, color=LIGHT["muted"], linewidth=0.7)
    if _drawn_tail(found):
        assert found.tail is not None
        assert found.tail.rate is not None
        shape = curve(found.tail.shape, found.tail.rate, np.array(lags, float))
        scale = float(shape @ np.array(weights) / (shape @ shape))
        axes.plot(lags, scale * shape, color=LIGHT["c1"], linewidth=1.2)
    return figure


def _drawn_tail(found: Diagnosis) -> bool:
    return found.tail is not None and found.tail.rate is not None


def _tail_words(found: Diagnosis) -> str:
    assert found.tail is not None
    kind = {"exp": "an exponential of rate", "power": "a power law of exponent"}
    return f"{kind[found.tail.shape]} {_number(found.tail.rate)}"


def _map(found: Diagnosis) -> Figure:
    figure, axes = _figure("value")
    by = {1: "newest"} | {level: f"reading {level - 1}" for level in range(2, 9)}
    names = [f"{by[entry.level]} = {entry.value}" for entry in found.map]
    for row, entry in enumerate(found.map):
        axes.plot(entry.lags, [row] * len(entry.lags), "s", color=LIGHT["c0"])
    axes.set_yticks(range(len(names)), names)
    axes.set_xlim(-1, found.method.max_lag + 1)
    return figure


def _decay(found: Diagnosis) -> Figure:
    figure, axes = _figure("nats")
    assert found.decay is not None
    shown = [(s, v) for s, v in zip(found.decay.lags, found.decay.nats, strict=True) if v > 0]
    if shown:
        axes.loglog(*zip(*shown, strict=True), ".-", color=LIGHT["c0"])
    return figure


def _tables(found: Diagnosis) -> list[PageTable]:
    parts = []
    if found.lags:
        rows = [
            (x.lag, x.channel, _number(x.effect), _interval(x.ci), _number(x.p), x.family)
            for x in found.lags
        ]
        head = ("lag", "channel", "held-out effect", "95 % interval", "p (adjusted)", "enters")
        parts.append(PageTable("Lags", head, rows))
    if found.tail is not None:
        cells = (found.tail.shape, _number(found.tail.rate), _interval(found.tail.interval))
        parts.append(PageTable("Tail", ("class", "rate", "95 % interval"), [cells]))
    if found.clock:
        clock = (clock_words(found.clock), _number(found.clock.r2))
        parts.append(PageTable("Clock", ("parts", "R²"), [clock]))
    if found.models:
        models = [
            (model_words(m), f"{m.gain:.3f}", f"{m.error:.3f}", "yes" if m.chosen else "")
            for m in found.models
        ]
        parts.append(PageTable("Models", ("model", "held-out gain", "s.e.", "chosen"), models))
    if found.verified is not None:
        low, high = found.verified.expected
        runs = [
            (run.role, run.layers, run.heads, run.bias, run.attention, _number(run.loss),
             "as foretold" if run.loss <= high else "above")
            for run in found.verified.runs
        ]  # fmt: skip
        names = ("trained", "layers", "heads", "bias", "attention", "held-out loss", "outcome")
        parts.append(PageTable(f"Trained: foretold {_number(low)} … {_number(high)}", names, runs))
    parts.append(PageTable("How it was found", ("", ""), facts(found)))
    return parts


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _interval(ends: tuple[float, float] | None) -> str:
    return "–" if ends is None else f"{ends[0]:.3g} … {ends[1]:.3g}"
