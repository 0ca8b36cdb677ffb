"""Colours for two backgrounds, chosen to be told apart by colour-blind readers, and the arithmetic
that checks it.

The families start from Okabe and Ito's set. On each page every pair of them keeps a distance of 12
in CIELAB for normal, protanopic and deuteranopic sight (2.3 is just noticeable), and each a
contrast of at least 3:1 with the page (WCAG 2 for graphics); text has at least 4.5:1. Colour is
never the only cue: every family also has its own marker and its name at its line, every outcome its
own sign and word.

A figure is drawn once, in the light colours. Inside the HTML each of these becomes a CSS variable
(`--c0` … `--paper`), so that one drawing serves the light page, the dark page and the printer.
"""

import dataclasses
import re

from headcount.lab.judge.verdict import Outcome

LIGHT = {
    "ink": "#1b1f24",
    "muted": "#57606a",
    "grid": "#d8dee4",
    "paper": "#ffffff",
    "c0": "#0072b2",
    "c1": "#d55e00",
    "c2": "#008060",
    "c3": "#a03a8c",
    "c4": "#7a1f0a",
    "c5": "#1a1a8c",
    "c6": "#8a8f98",
}
DARK = {
    "ink": "#e6e9ed",
    "muted": "#a3adb8",
    "grid": "#39414a",
    "paper": "#14181d",
    "c0": "#4ba3e3",
    "c1": "#ff8a3d",
    "c2": "#2fc79a",
    "c3": "#f08fc8",
    "c4": "#f5f07d",
    "c5": "#8577ff",
    "c6": "#787e88",
}
FAMILIES = ("c0", "c1", "c2", "c3", "c4", "c5", "c6")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


@dataclasses.dataclass(frozen=True)
class Badge:
    """How an outcome looks: its name in the style sheet, a sign, a colour for text on each
    background. What was not judged has no sign: it must not look like a verdict.
    """

    css: str
    sign: str
    light: str
    dark: str

    @property
    def colours(self) -> dict[str, str]:
        return {"light": self.light, "dark": self.dark}


BADGES = {
    Outcome.SUPPORTED: Badge("supported", "✓", "#0b6b3a", "#5fd39a"),
    Outcome.REFUTED: Badge("refuted", "✗", "#b3261e", "#ff9a90"),
    Outcome.UNDECIDED: Badge("undecided", "?", "#7a5a00", "#e3c45a"),
    Outcome.NOT_JUDGED: Badge("unjudged", "", "#57606a", "#a3adb8"),
}


def darkened(drawing: bytes) -> bytes:
    """A drawing in the light colours, as it looks on a dark page.

    >>> darkened(b'<rect style="fill: #ffffff"/>')
    b'<rect style="fill: #14181d"/>'
    """
    shown = {colour.encode(): DARK[name].encode() for name, colour in LIGHT.items()}
    return re.sub(b"#[0-9a-f]{6}", lambda found: shown.get(found[0], found[0]), drawing)


def luminance(colour: str) -> float:
    """Relative luminance of '#rrggbb' (WCAG 2)."""
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Between 1 (the same) and 21.

    >>> round(contrast("#000000", "#ffffff"), 3)
    21.0
    """
    dark, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


def linear(colour: str) -> tuple[float, float, float]:
    """Linear-light red, green and blue of '#rrggbb'."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return red, green, blue
