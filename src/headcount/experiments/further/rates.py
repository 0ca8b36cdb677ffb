"""Rates: approximation error against heads and neurons, theory and measurement on the same axes.
Nothing is trained.

Measured: the l1 error of the best heads found (kernels; enclosed in balls), or the sup error of
sampled networks (readouts). Promised: the theorem's bound with explicit constants. Lower: certified
for the same number of heads. The fitted slope is that of

    power law        log10 error against log10 x     error ~ x^slope
    exponential law  ln error against x              error ~ e^{slope x}

by least squares over the points between `NOISE` and the trivial error, with a Student interval over
the residuals: the law that leaves the smaller residuals. The declared slope is the theorem's power:
-n at the n that the bound uses, -1/2 for neurons. It bounds from above, so measured errors that
fall faster do not contradict it; no exponential law with a negative slope does. It is a rate for
unlimited coefficients: errors under a budget stop falling where the budget binds, so that there is
nothing to compare.
"""

import dataclasses
import enum
import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.target import Family

NOISE = 1e-12  # errors below it are rounding
CONFIDENCE = 0.9


class Law(enum.StrEnum):
    """How the error falls."""

    POWER = "power"  # error ~ x^slope
    EXPONENTIAL = "exponential"  # error ~ e^{slope x}

    def coordinates(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Those in which the law is a line."""
        return (np.log10(x), np.log10(y)) if self is Law.POWER else (x, np.log(y))


@dataclasses.dataclass(frozen=True)
class Slope:
    """A fitted slope with its interval; `residual` is the rms distance from the line in its own
    coordinates (natural logarithm).
    """

    law: Law
    value: float
    low: float
    high: float
    intercept: float
    x: tuple[float, ...]  # of the fitted points: the line says nothing beyond them
    residual: float

    @property
    def points(self) -> int:
        return len(self.x)

    def at(self, x: float) -> float:
        """The error on the fitted line."""
        return (
            10 ** (self.intercept + self.value * math.log10(x))
            if self.law is Law.POWER
            else math.exp(self.intercept + self.value * x)
        )


@dataclasses.dataclass(frozen=True)
class RateTable:
    """One curve: errors against `x_label`. None: not known there; `notes` say why."""

    name: str
    family: Family
    bias: str
    x_label: str
    y_label: str
    x: tuple[float, ...]
    measured: tuple[float, ...]
    promised: tuple[float | None, ...]
    lower: tuple[float | None, ...]
    slope: Slope | None  # None: fewer than three points between rounding and the trivial error
    declared: float | None  # power of x
    source: Ref
    notes: tuple[str, ...] = ()
    budget: float | None = None  # on sum|a|, under which the errors were measured

    def __post_init__(self):
        sizes = {len(self.x), len(self.measured), len(self.promised), len(self.lower)}
        require(
            len(sizes) == 1,
            f"rate table {self.name}: columns of {sorted(sizes)} rows",
            "equally long columns",
            "use None for gaps",
        )
        wrong = [
            x
            for x, m, low in zip(self.x, self.measured, self.lower, strict=True)
            if low is not None and low > m * (1 + 1e-9)
        ]
        require(
            not wrong,
            f"rate table {self.name}: certified bound above the measured error at {wrong}",
            "at most",
            "one is wrong",
        )

    @property
    def agrees(self) -> bool | None:
        """False: the errors fall more slowly than declared, beyond the interval. True: not
        contradicted. None: nothing to compare.
        """
        if self.slope is None or self.declared is None or self.budget is not None:
            return None
        return (
            self.slope.low <= self.declared if self.slope.law is Law.POWER else self.slope.high < 0
        )


def fitted_slope(
    x: Sequence[float], y: Sequence[float], law: Law | None = None, trivial: float = math.inf
) -> Slope | None:
    """The line through the points with NOISE < y < trivial; of both laws the one that fits better
    where none is given.

    >>> found = fitted_slope([1, 2, 4, 8], [1.0, 0.5, 0.25, 0.125], Law.POWER)
    >>> round(found.value, 6), found.points
    (-1.0, 4)
    """
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    kept = (ys > NOISE) & (ys < trivial) & np.isfinite(ys)
    if kept.sum() < 3:
        return None
    lines = [_line(each, xs[kept], ys[kept]) for each in ([law] if law else list(Law))]
    return min(lines, key=lambda line: line.residual)


def _line(law: Law, x: np.ndarray, y: np.ndarray) -> Slope:
    u, v = law.coordinates(x, y)
    fit = stats.linregress(u, v)
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(u) - 2)) * fit.stderr
    unit = math.log(10) if law is Law.POWER else 1.0
    residual = float(np.sqrt(np.mean((v - fit.intercept - fit.slope * u) ** 2))) * unit
    return Slope(
        law,
        float(fit.slope),
        float(fit.slope - reach),
        float(fit.slope + reach),
        float(fit.intercept),
        tuple(x.tolist()),
        residual,
    )
