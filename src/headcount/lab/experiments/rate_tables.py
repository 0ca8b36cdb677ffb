"""The tables of `rates`: kernels of all three families against heads, a readout against neurons."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from headcount.construct.blocks.network_fits import sample, sampling_bound
from headcount.construct.blocks.networks import Domain
from headcount.core.refs import Ref
from headcount.lab.experiments.rates import Law, RateTable, fitted_slope
from headcount.lab.experiments.study import Profile
from headcount.memory.kernels import Lag, kernels
from headcount.memory.readouts import Teacher
from headcount.memory.target import Family
from headcount.theory.adaptive import fit_adaptive
from headcount.theory.families import family
from headcount.theory.kernel_fit import KernelFit, fit_kernel
from headcount.theory.problem import Problem
from headcount.theory.promised import promised

WINDOW = 1000  # lags of essential memories
BUDGET = 1e3  # sum|a| of fixed lags: what float32 can hold (theory 0.3)
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
        f"essential {name}", Family.ESSENTIAL, bias, kernel, heads, fits, (f"lags below {WINDOW}",)
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
) -> RateTable:
    problem = Problem(kernel, family(bias))  # without budget: the theorem's own setting
    size = kernel.tail(0) if kernel.summable else float(np.abs(kernel.values(WINDOW)).sum())
    said = [promised(problem, h, size) for h in heads]
    measured = no_worse([fit.error.l1 for fit in fits])
    bounds = [fit.lower_bound for fit in fits]
    lower = tuple(b.value if b is not None and b.certified else None for b in bounds)
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


def adaptive(T: int, bias: str, heads: Sequence[int]) -> RateTable:
    """One set of coefficients for every lag up to T: the worst error over the lags (Lemmas F.2,
    F.5).
    """
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
    Barron's -1/2 (errata 24).
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
        Ref("wang-e-2024", "Lemma G.6, with the constant of errata 24"),
        ("sampled, not fitted: the rate of the theorem's proof; fitted networks do better",),
    )
