"""Numbers and figures in words."""

import math
import re
from collections.abc import Sequence

from headcount.lab.judge.statistics import Interval
from headcount.report.figure_data import Curve, FigureData

MISSING = "–"


def number(value: float | int | str | None, digits: int = 3) -> str:
    """Short and exact enough to compare; text is left as it is.

    >>> [number(v) for v in (None, 0.0, 64, 0.19, 4.02e-8, 3e-9, 123456.7, 12345, True)]
    ['–', '0', '64', '0.19', '4.02e-8', '3e-9', '1.23e5', '12345', 'yes']
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, int) and abs(value) < 10**7:
        return str(value)
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e4:
        return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def exact(value: float | int | None) -> str:
    """For data files: every digit, the same for Python's and numpy's numbers.

    >>> [exact(v) for v in (None, 64, 64.0, 0.1, 4.02e-08)]
    ['', '64', '64', '0.1', '4.02e-08']
    """
    if value is None or not math.isfinite(value):
        return ""
    return repr(float(value)).removesuffix(".0")


def interval(ends: Interval | None) -> str:
    """'[0.9, 1.5]', or '' for none; an end may be infinite.

    >>> interval(Interval(0.9, 1.5)), interval(Interval(0.9, math.inf)), interval(None)
    ('[0.9, 1.5]', '[0.9, ∞]', '')
    """
    if ends is None:
        return ""
    low, high = (
        number(end) if math.isfinite(end) else ("∞" if end > 0 else "-∞")
        for end in (ends.low, ends.high)
    )
    return f"[{low}, {high}]"


def spread(low: float, high: float, seeds: int) -> str:
    """An interval over seeds; of one seed there is none.

    >>> spread(0.9, 1.5, 3), spread(0.9, 0.9, 1)
    ('[0.9, 1.5]', '1 seed')
    """
    return "1 seed" if seeds == 1 else interval(Interval(low, high))


def listed(words: Sequence[str]) -> str:
    """
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def rounded(value: float) -> str:
    """Two digits, as one would say them: of seeds, and of factors.

    >>> [rounded(v) for v in (1.74, 18.2, 6526, 31_415.9, 2.2e7)]
    ['1.7', '18', '6,500', '31,000', '2.2e7']
    """
    if value < 10 or value >= 1e6:
        return number(float(value), 2)
    return f"{float(f'{value:.2g}'):,.0f}"


def percent(share: float | None) -> str:
    """A chance, never rounded to certainty.

    >>> percent(0.934), percent(0.99996), percent(0.0), percent(None)
    ('93%', '> 99%', '< 1%', '–')
    """
    if share is None:
        return MISSING
    if share > 0.99:
        return "> 99%"
    return "< 1%" if share < 0.01 else f"{share:.0%}"


def neat(text: str) -> str:
    """A sentence as it is printed: exponents as `number` writes them, people with a capital.

    >>> neat("the risk is 3.48e-06 (proved: hoeffding)")
    'the risk is 3.48e-6 (proved: Hoeffding)'
    """
    told = re.sub(r"(?<=\d)e([+-])0?(?=\d)", lambda m: f"e{m[1].strip('+')}", text)
    return re.sub(r"\b(hoeffding|bernstein)\b", lambda m: m[0].capitalize(), told)


def plural(text: str) -> str:
    """One of a thing is not called many: names are made from counts elsewhere.

    >>> plural("1 hops, 1 layers"), plural("11 layers"), plural("H = 1 has 0.1 heads")
    ('1 hop, 1 layer', '11 layers', 'H = 1 has 0.1 heads')
    """
    return re.sub(r"(?<![\d.])1 (head|hop|layer|neuron|point|seed|step|token)s\b", r"1 \1", text)


def describe(figure: FigureData) -> str:
    """The text alternative of a figure: its axes, and where each curve starts and ends."""
    scale = "" if figure.x.scale == "category" else f" ({figure.x.scale} scale)"
    head = (
        f"{figure.title}. {figure.y.label} ({figure.y.scale} scale) against"
        f" {figure.x.label}{scale}."
    )
    return " ".join([head, *(_told(figure, curve) for curve in figure.curves)])


def _told(figure: FigureData, curve: Curve) -> str:
    seen = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y is not None]
    name = (
        f"{curve.family}, {curve.kind}"
        if curve.name in (curve.family, curve.kind)
        else f"{curve.family}, {curve.kind}, {curve.name}"
    )
    if not seen:
        return f"{name}: no value."
    if figure.x.scale == "category":
        return (
            f"{name}: "
            + ", ".join(f"{figure.x.categories[int(x)]} {number(y)}" for x, y in seen)
            + "."
        )
    (x0, y0), (x1, y1) = min(seen), max(seen)
    start, end = (number(figure.place_name(x)) for x in (x0, x1))
    return f"{name}: {number(y0)} at {start}" + (f", {number(y1)} at {end}." if x1 != x0 else ".")
