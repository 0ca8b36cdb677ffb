"""One page about a diagnosis: the sentence, pictures of what was found, tables, notes.

Written as one HTML file with its drawings inside, and the whole diagnosis beside it as JSON.
"""

import html
import io
import json
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from headcount.core.files import whole_folder
from headcount.diagnose.kernel_tail import curve
from headcount.diagnose.records import Diagnosis
from headcount.diagnose.words import advice_words, clock_words, closing, facts, note_words, sentence
from headcount.report.html import inline_svg, style_sheet
from headcount.report.palette import LIGHT

SIZE = (7.0, 2.2)


def write_page(found: Diagnosis, folder: Path, data: str) -> None:
    """`index.html` and `diagnosis.json`, whole or not at all."""
    with whole_folder(folder) as work:
        values = json.dumps({"data": data, **found.to_json()}, indent=2, allow_nan=False)
        (work / "diagnosis.json").write_text(values + "\n", encoding="utf-8")
        (work / "config.json").write_text('{"kind": "diagnosis"}\n', encoding="utf-8")
        (work / "index.html").write_text(page(found, data), encoding="utf-8")


def page(found: Diagnosis, data: str) -> str:
    """The whole page."""
    parts = [f"<h1>{html.escape(data)}</h1>", f"<p><strong>{_text(sentence(found))}</strong></p>"]
    for name, title, draw in _pictures(found):
        parts.append(f"<h2>{_text(title)}</h2>{inline_svg(draw, name, title, title)}")
    parts += _tables(found)
    if found.advice is not None:
        words = advice_words(found.advice)
        parts.append(f"<h2>Advice</h2><p>{_text(words[0].upper() + words[1:])}.</p>")
    parts.append(_table("How it was found", ("", ""), facts(found)))
    notes = "".join(f"<li>{_text(note_words(note))}</li>" for note in found.notes)
    parts.append(f"<h2>Notes</h2><ul>{notes}<li>{_text(closing(found))}</li></ul>")
    body = "\n".join(parts)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(data)}</title><style>{style_sheet()}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def _text(words: str) -> str:
    return html.escape(words)


def _pictures(found: Diagnosis) -> list[tuple[str, str, bytes]]:
    """(name, title, SVG) of everything that can be drawn."""
    made = []
    if found.profile:
        said = ", the lags of the answer in the second colour" if found.lags else ""
        made.append(("profile", f"What each lag shows by itself (z){said}", _profile(found)))
    if found.kernel and not found.method.tokens:
        drawn = f", and {_tail_words(found)}" if _drawn_tail(found) else ""
        title = f"Weights of all lags, with 95 % intervals{drawn}"
        made.append(("kernel", title, _kernel(found)))
    if found.map:
        made.append(("map", "Which lags are read, by the element that names them", _map(found)))
    if found.decay is not None and found.decay.lags:
        made.append(("decay", "Two-point mutual information (nats)", _decay(found)))
    return made


def _figure():
    figure = Figure(figsize=SIZE, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_xlabel("lag")
    return figure, axes


def _svg(figure: Figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def _profile(found: Diagnosis) -> bytes:
    figure, axes = _figure()
    chosen = {(lag.channel, lag.lag) for lag in found.lags}
    colours = [LIGHT["c1"] if (c, s) in chosen else LIGHT["c0"] for c, s, _ in found.profile]
    axes.bar([s for _, s, _ in found.profile], [z for _, _, z in found.profile], color=colours)
    return _svg(figure)


def _kernel(found: Diagnosis) -> bytes:
    figure, axes = _figure()
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
    return _svg(figure)


def _drawn_tail(found: Diagnosis) -> bool:
    return found.tail is not None and found.tail.rate is not None


def _tail_words(found: Diagnosis) -> str:
    assert found.tail is not None
    kind = {"exp": "an exponential of rate", "power": "a power law of exponent"}
    return f"{kind[found.tail.shape]} {_number(found.tail.rate)}"


def _map(found: Diagnosis) -> bytes:
    figure, axes = _figure()
    by = {1: "newest"} | {level: f"reading {level - 1}" for level in range(2, 9)}
    names = [f"{by[entry.level]} = {entry.value}" for entry in found.map]
    for row, entry in enumerate(found.map):
        axes.plot(entry.lags, [row] * len(entry.lags), "s", color=LIGHT["c0"])
    axes.set_yticks(range(len(names)), names)
    axes.set_xlim(-1, found.method.max_lag + 1)
    return _svg(figure)


def _decay(found: Diagnosis) -> bytes:
    figure, axes = _figure()
    assert found.decay is not None
    shown = [(s, v) for s, v in zip(found.decay.lags, found.decay.nats, strict=True) if v > 0]
    if shown:
        axes.loglog(*zip(*shown, strict=True), ".-", color=LIGHT["c0"])
    return _svg(figure)


def _tables(found: Diagnosis) -> list[str]:
    parts = []
    if found.lags:
        rows = [
            (x.lag, x.channel, _number(x.effect), _interval(x.ci), _number(x.p), x.family)
            for x in found.lags
        ]
        head = ("lag", "channel", "held-out effect", "95 % interval", "p (adjusted)", "enters")
        parts.append(_table("Lags", head, rows))
    if found.tail is not None:
        cells = (found.tail.shape, _number(found.tail.rate), _interval(found.tail.interval))
        parts.append(_table("Tail", ("class", "rate", "95 % interval"), [cells]))
    if found.clock:
        clock = (clock_words(found.clock), _number(found.clock.r2))
        parts.append(_table("Clock", ("parts", "R²"), [clock]))
    if found.models:
        models = [
            (f"{m.name} {', '.join(map(str, m.lags))}", f"{m.gain:.3f}", f"{m.error:.3f}",
             "chosen" if m.chosen else "")
            for m in found.models
        ]  # fmt: skip
        parts.append(_table("Models", ("model", "held-out gain", "s.e.", ""), models))
    if found.verified is not None:
        low, high = found.verified.expected
        runs = [
            (run.role, run.layers, run.heads, run.bias, run.attention, _number(run.loss),
             "as foretold" if run.loss <= high else "above")
            for run in found.verified.runs
        ]  # fmt: skip
        names = ("trained", "layers", "heads", "bias", "attention", "held-out loss", "")
        parts.append(_table(f"Trained: foretold {_number(low)} … {_number(high)}", names, runs))
    return parts


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _interval(ends: tuple[float, float] | None) -> str:
    return "–" if ends is None else f"{ends[0]:.3g} … {ends[1]:.3g}"


def _table(title: str, head: tuple[str, ...], rows: list[tuple]) -> str:
    first = "".join(f"<th>{_text(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{_text(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<h2>{_text(title)}</h2><table><tr>{first}</tr>{body}</table>"
