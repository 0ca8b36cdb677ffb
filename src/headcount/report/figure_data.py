"""A figure as data: axes, series, caption. Drawing it is another file's job, so the same numbers
make picture, CSV and text.

*Colour says which architecture, line style says which number.* Each curve has a `family` (what is
compared: "lin", "log") and a `kind` (which of the numbers), so "lin learned" and "lin floor" share
a colour and differ in style. The kinds:

    measured       what training or evaluation gave     line with markers, band from low to high
    cell           the same in one cell of settings     thin line
    floor          best weights known, as training      dashed
                   could hold them (in float32)
    lower          certified: no weights do better      long dashes
    promised       the theorem's bound                  dotted
    representable  after rounding to a float format     dash-dot
    fit            a fitted law, such as a slope        thin line
    paper          figures that the paper reports       open markers, no line

A curve may carry a `note`, a few words at its start: '< 1e-5' cannot be seen from a marker.

An x axis of scale "category" holds names; x then is the index of the name, and the drawing lies on
its side, names down the left edge, so that long names of arms stay readable.
"""

import dataclasses
import enum
import math
import re

from headcount.core.errors import require, unknown

SCALES = ("linear", "log", "category")
KINDS = ("measured", "cell", "floor", "lower", "promised", "representable", "fit", "paper")
KIND_TEXT = {
    "measured": "measured",
    "cell": "one learning rate and initialisation",
    "floor": "floor (best weights known)",
    "lower": "certified lower bound",
    "promised": "promised (theorem's bound)",
    "representable": "representable",
    "fit": "fitted law",
    "paper": "reported by the paper",
}
MOST_FAMILIES = 7  # as many colours as can be told apart


class Place(enum.Enum):
    """Where a figure stands on the page."""

    SECTION = "in its section"
    HEADLINE = "on the first screen"
    FOLDED = "in its section, folded"


def finite(value: float | None, where: str) -> None:
    """Refuse inf and NaN; None stands for 'not measured'."""
    good = value is None or math.isfinite(value)
    require(
        good,
        f"{where} is {value}",
        "a finite number, or None",
        "leave out what was not measured; count runs that diverged",
    )


@dataclasses.dataclass(frozen=True)
class Axis:
    """`categories` only with scale "category". `named` are places on an x axis whose tick says a
    word; what is smaller than `least` stands at the lower edge of a logarithmic y axis, at a tick
    that says so.
    """

    label: str
    scale: str = "linear"
    categories: tuple[str, ...] = ()
    named: tuple[tuple[float, str], ...] = ()
    least: float | None = None

    def __post_init__(self):
        if self.scale not in SCALES:
            raise unknown("scale", self.scale, SCALES)
        good = bool(self.categories) == (self.scale == "category")
        require(
            good,
            f"axis {self.label!r}: {len(self.categories)} categories, scale {self.scale}",
            "names with scale category, else none",
            "see Axis",
        )
        require(
            self.least is None or (self.scale == "log" and 0 < self.least < math.inf),
            f"axis {self.label!r}: least {self.least} on scale {self.scale}",
            "a number > 0 on a log axis",
            "leave it out",
        )


@dataclasses.dataclass(frozen=True)
class Curve:
    """One series. A None in `y` is a gap; `low` and `high` are empty, or as long as `y`."""

    name: str
    kind: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    family: str = ""
    note: str = ""

    def __post_init__(self):
        if self.kind not in KINDS:
            raise unknown("kind of curve", self.kind, KINDS)
        if not self.family:
            object.__setattr__(self, "family", self.name)
        where = f"curve {self.name!r}"
        require(
            len(self.x) == len(self.y) > 0,
            f"{where}: {len(self.x)} x and {len(self.y)} y",
            "as many of both, at least one",
            "pair them",
        )
        require(
            len(self.low) == len(self.high) and len(self.low) in (0, len(self.y)),
            f"{where}: {len(self.low)} low, {len(self.high)} high",
            f"{len(self.y)} or none",
            "pair them",
        )
        for value in self.x:
            require(value is not None, f"{where}: x is None", "numbers", "leave the point out")
            finite(value, f"{where}: x")
        for number in (*self.y, *self.low, *self.high):
            finite(number, f"{where}: y")
        for _, y, low, high in self.rows():
            ordered = sorted(value for value in (low, y, high) if value is not None) == [
                value for value in (low, y, high) if value is not None
            ]
            require(
                ordered,
                f"{where}: interval [{low}, {high}] around {y}",
                "low <= y <= high",
                "swap the ends",
            )

    def rows(self) -> list[tuple[float, float | None, float | None, float | None]]:
        """x, y, low, high by point."""
        ends = list(zip(self.low, self.high, strict=True)) or [(None, None)] * len(self.y)
        return [(x, y, low, high) for x, y, (low, high) in zip(self.x, self.y, ends, strict=True)]


@dataclasses.dataclass(frozen=True)
class FigureData:
    """`name` is the file name without ending; `section` the id of its section."""

    name: str
    section: str
    title: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
    caption: str = ""
    place: Place = Place.SECTION

    def __post_init__(self):
        where = f"figure {self.name!r}"
        require(
            re.fullmatch(r"\w[\w-]*", self.name),
            where,
            "letters, digits, '-' and '_'",
            "it becomes a file name",
        )
        require(self.curves, f"{where} without curves", "at least one", "leave the figure out")
        require(
            any(y is not None for curve in self.curves for y in curve.y),
            f"{where} without a point",
            "at least one",
            "leave the figure out",
        )
        require(
            self.y.scale != "category",
            f"{where}: categories on y",
            "categories on x",
            "names go on the x axis, values on y",
        )
        pairs = [(curve.family, curve.kind, curve.name) for curve in self.curves]
        require(
            len(set(pairs)) == len(pairs),
            f"{where}: a curve given twice",
            "each name, family and kind once",
            "rename one",
        )
        count = len(self.families)
        require(
            count <= MOST_FAMILIES,
            f"{where}: {count} families",
            f"at most {MOST_FAMILIES} colours",
            "split the figure",
        )
        for curve in self.curves:
            self._on_axes(curve)

    def _on_axes(self, curve: Curve) -> None:
        where = f"figure {self.name!r}, curve {curve.name!r}"
        if self.x.scale == "category":
            good = all(x in range(len(self.x.categories)) for x in curve.x)
            require(
                good,
                f"{where}: x {curve.x}",
                f"indices 0..{len(self.x.categories) - 1}",
                "x counts the categories",
            )
        if self.x.scale == "log":
            require(
                min(curve.x) > 0,
                f"{where}: x {min(curve.x):g} on a log axis",
                "x > 0",
                "use a linear axis",
            )
        # 0 is drawn at the lower edge: an exact construction has a floor of 0
        if self.y.scale == "log":
            least = min((y for y in curve.y if y is not None), default=0.0)
            require(
                least >= 0, f"{where}: y {least:g} on a log axis", "y >= 0", "use a linear axis"
            )

    def place_name(self, x: float) -> str | float:
        """What stands at a place of the x axis: a name, or the number itself."""
        if self.x.scale == "category":
            return self.x.categories[int(x)]
        return dict(self.x.named).get(x, x)

    @property
    def families(self) -> tuple[str, ...]:
        """In the order in which they first appear: the order of the colours."""
        return tuple(dict.fromkeys(curve.family for curve in self.curves))

    @property
    def kinds(self) -> tuple[str, ...]:
        present = {curve.kind for curve in self.curves}
        return tuple(kind for kind in KINDS if kind in present)
