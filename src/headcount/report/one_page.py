"""The page of one study or diagnosis: the answer in at most three sentences and one figure on the
first screen, then tables (cards on a phone), then notes; and the same as Markdown.

It has the style and the colours of the large report, and like it holds no script and fetches
nothing. The same values give the same bytes.
"""

import dataclasses
import io
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from headcount.report.figures import style
from headcount.report.html import environment, inline_svg, style_sheet
from headcount.report.markdown import rows, text
from headcount.report.wording import number

FIRST = 3  # sentences of the first screen
LONGEST = 40  # rows of a table that stands open
BRIEF = 17  # characters of a name and its value


@dataclasses.dataclass(frozen=True)
class PageFigure:
    """A drawing as SVG, and what it shows in one sentence. `wide`: as wide as the page."""

    name: str
    title: str
    caption: str
    svg: bytes
    wide: bool = False


@dataclasses.dataclass(frozen=True)
class PageTable:
    """Cells are texts or numbers; None is shown as a dash."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    @property
    def folded(self) -> bool:
        return len(self.rows) > LONGEST

    @property
    def brief(self) -> list[bool]:
        """Which columns share a line of a phone with the next one: both are short in every row."""
        return pairs(
            [
                name != "" and all(len(name) + len(cell(row[i])) <= BRIEF for row in self.rows)
                for i, name in enumerate(self.columns)
            ]
        )


@dataclasses.dataclass(frozen=True)
class OnePage:
    """What the page says, in order. `banner`: why nothing is judged, where that is so."""

    title: str
    sentences: Sequence[str]
    figures: Sequence[PageFigure] = ()
    tables: Sequence[PageTable] = ()
    notes: Sequence[str] = ()
    banner: str = ""


def pairs(short: Sequence[bool]) -> list[bool]:
    """Neighbours that are both short, two by two; one left over has a line of its own.

    >>> pairs([True, True, False, True, True, True])
    [True, True, False, True, True, False]
    """
    found = [False] * len(short)
    for i in range(1, len(short)):
        if short[i] and short[i - 1] and not found[i - 1]:
            found[i - 1] = found[i] = True
    return found


def html(page: OnePage) -> str:
    """One file."""
    figures = [
        (figure, Markup(inline_svg(figure.svg, figure.name, figure.title, figure.caption)))
        for figure in page.figures
    ]
    return (
        environment()
        .get_template("one_page.html")
        .render(page=page, style=Markup(style_sheet()), figures=figures, first=FIRST, cell=cell)
    )


def markdown(page: OnePage) -> str:
    """The same sentences and numbers; figures are the files beside it."""
    parts = [
        f"# {text(page.title)}",
        f"> {text(page.banner)}" if page.banner else "",
        "\n\n".join(map(text, page.sentences)),
        *(f"![{text(figure.title)}]({figure.name}.svg)" for figure in page.figures),
        *(part for table in page.tables for part in _section(table)),
        "\n".join(f"- {text(note)}" for note in page.notes),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(table: PageTable) -> tuple[str, str]:
    lines = [list(map(cell, row)) for row in table.rows]
    return f"## {text(table.title)}", rows(table.columns, lines)


def files(page: OnePage) -> dict[str, bytes]:
    """The page, its twin and its drawings by name."""
    made = {"report.html": html(page).encode(), "report.md": markdown(page).encode()}
    return made | {f"{figure.name}.svg": figure.svg for figure in page.figures}


def svg_of(figure: Figure, name: str) -> bytes:
    """The same figure, the same bytes: no date, no random ids."""
    out = io.BytesIO()
    with style(name):
        figure.savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator")))
    return out.getvalue()


def cell(value: Any) -> str:
    """Three digits; a dash for none.

    >>> cell(0.12345), cell(None), cell(True), cell("lag 2")
    ('0.123', '–', 'yes', 'lag 2')
    """
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, float) else str(value)
