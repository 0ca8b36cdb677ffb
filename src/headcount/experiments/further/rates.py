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
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy import stats

from headcount.construct.blocks.network_fits import sample, sampling_bound
from headcount.construct.blocks.networks import Domain
from headcount.core.claims import Status
from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.experiments.floors import question
from headcount.lab.study import Profile
from headcount.memory.kernels import Lag, kernels
from headcount.memory.readouts import Teacher
from headcount.memory.target import Family
from headcount.theory.adaptive_lags import fit_adaptive
from headcount.theory.fit_record import KernelFit
from headcount.theory.heads import family
from headcount.theory.kernel_fit import fit_kernel
from headcount.theory.problem import Problem
from headcount.theory.promised import promised

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


WINDOW = 1000  # lags of essential memories
BUDGET = 1e3  # sum|a| of fixed lags: what float32 can hold (docs/numerics.md#precision)
DRAWS = 24  # networks sampled at each width
POINTS = 2048  # on which a sampled network is measured
Table = Callable[[], RateTable]


def tables(profile: Profile) -> Iterator[tuple[str, Table]]:
    """Names and what computes them."""
    heads = {Profile.SMOKE: range(1, 5), Profile.LAPTOP: range(1, 7), Profile.FULL: range(1, 11)}[
        profile
    ]
    full = profile is Profile.FULL
    lags = {Profile.SMOKE: ((2, "lin"),)}.get(
        profile, ((1, "lin"), (2, "lin"), (2, "log"), (4, "lin"))[: 4 if full else 3]
    )
    for lag, bias in lags:
        yield f"fixed lag {lag}, {bias}", functools.partial(fixed_lag, lag, bias, heads)
    for T, bias in {Profile.SMOKE: ((2, "lin"),)}.get(
        profile, ((2, "lin"), (2, "log"), (4, "lin"))[: 3 if full else 2]
    ):
        yield f"adaptive lags up to {T}, {bias}", functools.partial(adaptive, T, bias, heads)
    smooth = (
        ("power:1.5", "lin"),
        ("power:0.5", "lin"),
        ("exp:0.1", "log"),
        ("power:3.5", "lin"),
        ("exp:0.5", "log"),
    )
    for kernel, bias in {Profile.SMOKE: smooth[:1]}.get(profile, smooth if full else smooth[:4]):
        yield f"essential {kernel}, {bias}", functools.partial(essential, kernel, bias, heads)
    widths = {Profile.SMOKE: (16, 64, 256)}.get(profile, (8, 16, 32, 64, 128, 256, 512, 1024))
    yield "readout by neurons", functools.partial(readout_width, widths)


def fixed_lag(lag: int, bias: str, heads: Sequence[int]) -> RateTable:
    """1{s = lag} under a budget: the rate stops where the budget binds, which the certified
    bound shows.
    """
    fits = [fit_kernel(Lag(lag), bias=bias, heads=h, budget=BUDGET) for h in heads]
    note = f"sum|a| <= {BUDGET:g}; the promised bound is for unlimited coefficients"
    return _kernel_table(
        f"fixed lag {lag}", Family.FIXED, bias, Lag(lag), heads, fits, (note,), BUDGET
    )


def essential(name: str, bias: str, heads: Sequence[int]) -> RateTable:
    """A decaying kernel over WINDOW lags, no budget."""
    kernel = kernels.build(name)
    fits = [fit_kernel(kernel, bias=bias, heads=h, window=WINDOW) for h in heads]
    return _kernel_table(
        f"essential {name}",
        Family.ESSENTIAL,
        bias,
        kernel,
        heads,
        fits,
        (f"lags below {WINDOW}",),
        window=WINDOW,
    )


def no_worse(errors: Sequence[float]) -> tuple[float, ...]:
    """More heads contain fewer, the rest with weight 0: the smallest error found so far.

    >>> no_worse([0.5, 0.1, 0.2])
    (0.5, 0.1, 0.1)
    """
    return tuple(itertools.accumulate(errors, min))


def _kernel_table(
    name: str,
    memory: Family,
    bias: str,
    kernel,
    heads: Sequence[int],
    fits: list[KernelFit],
    notes: tuple[str, ...],
    budget: float | None = None,
    window: int | None = None,
) -> RateTable:
    problem = Problem(kernel, family(bias))  # without budget: the theorem's own setting
    size = kernel.tail(0) if kernel.summable else float(np.abs(kernel.values(WINDOW)).sum())
    said = [promised(problem, h, size) for h in heads]
    measured = no_worse([fit.error.l1 for fit in fits])
    solved = dataclasses.replace(problem, window=window, budget=budget or math.inf)
    lower = tuple(_proved(solved, fit, h) for fit, h in zip(fits, heads, strict=True))
    applies = said[-1].applies
    declared = -float(said[-1].n) if applies and said[-1].n else None
    return RateTable(
        name,
        memory,
        bias,
        "heads",
        "l1 error",
        tuple(map(float, heads)),
        measured,
        tuple(s.value for s in said),
        lower,
        fitted_slope(heads, measured, trivial=0.999 * size),
        declared,
        said[-1].source,
        notes + said[-1].reasons,
        budget,
    )


def _proved(problem: Problem, fit: KernelFit, heads: int) -> float | None:
    """The certified error of so many heads, where the certificate is about all of their rates."""
    if fit.lower_bound is None:
        return None
    answer = fit.lower_bound.answers(question(problem, heads, problem.budget))
    return answer.value if fit.lower_bound.status is Status.PROVED else None


def adaptive(T: int, bias: str, heads: Sequence[int]) -> RateTable:
    """One set of coefficients for every lag up to T: the worst error (Lemmas F.2, F.5)."""
    chosen = family(bias)
    fits = [fit_adaptive(T, chosen, h, BUDGET) for h in heads]
    said = [promised(Problem(Lag(T), chosen), h, 1.0) for h in heads]
    measured = no_worse([fit.error for fit in fits])
    return RateTable(
        f"adaptive lags up to {T}",
        Family.ADAPTIVE,
        bias,
        "heads",
        "largest l1 error over the lags",
        tuple(map(float, heads)),
        measured,
        tuple(s.value for s in said),
        (None,) * len(fits),
        fitted_slope(heads, measured, trivial=0.999),
        -float(said[-1].n) if said[-1].n else None,
        fits[-1].ref,
        (
            (
                f"sum|a| <= {BUDGET:g}; the promised bound, that of the fixed lag {T}, is for"
                " unlimited coefficients"
            ),
            "no lower bound is computed for all lags at once",
        ),
        BUDGET,
    )


def readout_width(widths: Sequence[int]) -> RateTable:
    """Networks of m neurons drawn from a wide one: sup error on fixed points, mean over draws;
    Barron's -1/2 (docs/errata.md#e24).
    """
    net = Teacher(neurons=4096).network(5, 1)
    assert net is not None
    points = np.random.default_rng(0).uniform(-1, 1, (POINTS, net.b.shape[1]))
    domain = Domain(net.b.shape[1], 1, 1.0, points)
    wanted = net(points)
    errors = [
        [float(np.abs(sample(net, m, seed)(points) - wanted).max()) for seed in range(DRAWS)]
        for m in widths
    ]
    measured = tuple(math.fsum(each) / DRAWS for each in errors)
    return RateTable(
        "readout of 4096 random neurons",
        Family.FIXED,
        "none",
        "neurons",
        f"largest error on {POINTS} points, mean over {DRAWS} draws",
        tuple(map(float, widths)),
        measured,
        tuple(sampling_bound(net, m, domain) for m in widths),
        (None,) * len(widths),
        fitted_slope(widths, measured, Law.POWER),
        -0.5,
        Ref("wang-e-2024", "Lemma G.6, with the constant of docs/errata.md#e24"),
        ("sampled, not fitted: the rate of the theorem's proof; fitted networks do better",),
    )


def studies(profile: Profile) -> tuple[()]:
    """None: nothing is trained. The tables are those of `rates`."""
    return ()


def rates(profile: Profile) -> tuple[RateTable, ...]:
    """Every table."""
    return tuple(rate(profile, name) for name in rate_names(profile))


def rate_names(profile: Profile) -> list[str]:
    """What the tables are called."""
    return [name for name, _ in tables(profile)]


def rate(profile: Profile, name: str) -> RateTable:
    """One table by its name."""
    return dict(tables(profile))[name]()
