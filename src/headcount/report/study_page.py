"""One page for a study: the answer in plain sentences, one figure, the table, nothing fetched."""

import dataclasses
import html as escaping
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from headcount.report.folder import write_files

STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}table{border-collapse:collapse;width:100%;display:block;overflow-x:auto}
th,td{padding:.3rem .6rem;text-align:right;border-bottom:1px solid #8884;white-space:nowrap}
th:first-child,td:first-child{text-align:left}figure{margin:1rem 0;background:#fff}
img{max-width:100%;height:auto}.note{opacity:.8}
"""


@dataclasses.dataclass(frozen=True)
class StudyPage:
    """What a study shows: sentences first, then a figure, then rows."""

    title: str
    sentences: Sequence[str]
    figure: Figure | None
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()


def write_page(page: StudyPage, document: dict[str, Any], folder: Path) -> Path:
    """`report.html`, `result.json`, `figure.svg` and `figure.png` into a folder."""
    files: dict[str, bytes] = {"result.json": json.dumps(document, indent=2).encode()}
    picture = ""
    if page.figure is not None:
        for ending in ("svg", "png"):
            held = io.BytesIO()
            page.figure.savefig(held, format=ending, dpi=150, bbox_inches="tight",
                                metadata={"Date": None} if ending == "svg" else None)  # fmt: skip
            files[f"figure.{ending}"] = held.getvalue()
        svg = files["figure.svg"].decode()
        picture = svg[svg.index("<svg") :]
    files["report.html"] = _html(page, picture).encode()
    write_files(folder, files)
    return folder / "report.html"


def _html(page: StudyPage, picture: str) -> str:
    say = escaping.escape
    told = "".join(f"<p>{say(sentence)}</p>" for sentence in page.sentences)
    head = "".join(f"<th scope='col'>{say(str(name))}</th>" for name in page.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{say(shown(value))}</td>" for value in row) + "</tr>"
        for row in page.rows
    )
    figure = (
        f"<figure role='img' aria-label='{say(page.caption)}'>{picture}"
        f"<figcaption>{say(page.caption)}</figcaption></figure>"
        if picture
        else ""
    )
    notes = "".join(f"<p class='note'>{say(note)}</p>" for note in page.notes)
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{say(page.title)}"
        f"</title><meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<style>{STYLE}</style></head><body><h1>{say(page.title)}</h1>{told}{figure}"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}</body></html>"
    )


def shown(value: Any) -> str:
    """A cell: three digits, a dash for none."""
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
