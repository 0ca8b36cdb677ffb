"""Sums of decaying heads for a kernel, as a method needs them: doubles, measured as they are, or
a refusal that carries what is proved.

The fit may use as many digits as it likes; a model holds doubles. So coefficients are rounded first
and the rounded ones are measured in ball arithmetic: the error that is promised belongs to the
weights that are written. With a window the lags beyond it do not exist, and are not measured.
"""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from headcount.construct.blocks.drawn_heads import Decay, DrawnHeads, fewest
from headcount.construct.draft import Request, Unreachable, remembered
from headcount.construct.impossible import by_budget, by_weight, weight_for
from headcount.core.claims import Precision
from headcount.core.errors import require
from headcount.memory.kernels import AbstractKernel, Lag
from headcount.theory.fit import enough_heads, error_near, fit_heads, least_error
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import family
from headcount.theory.measure import measure
from headcount.theory.problem import Norm, Problem

STEEPEST = 1e4  # stands for an infinite rate: e^-10000 is 0 in every format
DOUBTFUL = 4  # heads beyond the threshold after which a lower bound is worth its seconds
MOST_EXTRA = 16
MOST_HEADS = 24  # where a search begins at most: larger fits take minutes
LIGHTER = 1  # attempts to make coefficients 16 times smaller
BESIDE_THE_GRID = 2.0  # what rates between those of `least_error` may gain
FAR_OFF = 2.0  # what a whole search may gain on the heads that are at hand, moved a little


def affordable(tol: float | None, precision: Precision) -> float:
    """The largest sum|a| worth having: rounding costs about unit * sum|a|, and shall stay below
    a quarter of the tolerance. A choice of ours: it bounds the search, and proves nothing.
    """
    return (0.02 if tol is None else tol / 4) / precision.unit


@remembered
def heads_for_tol(
    kernel: AbstractKernel, bias: str, tol: float, precision: Precision, window: int | None = None
) -> DrawnHeads:
    """The fewest heads found with an l1 error of at most `tol`, or `Unreachable`."""
    problem = Problem(kernel, family(bias), Norm.L1, window, affordable(tol, precision))
    refuse_weight(problem, tol, precision)
    first = threshold(kernel, bias)
    if first > MOST_HEADS:
        got = f"{kernel.kind}: a search that begins at {first} {bias} heads"
        raise Unreachable(got, f"at most {MOST_HEADS}", _other(precision))

    excluded = functools.cache(lambda: by_budget(problem, tol))

    def hopeless(surplus: int) -> None:
        claim = excluded() if surplus >= DOUBTFUL else None
        if claim is not None:
            got = (
                f"{bias} heads with sum|a| <= {problem.budget:.3g} leave an l1 error of at least"
                f" {claim.value:.3g}, however many"
            )
            raise Unreachable(got, f"at most {tol:.3g}", _other(precision), (claim,))

    most = first + MOST_EXTRA
    likely = enough_heads(problem, tol, most)
    if likely is None and not isinstance(kernel, Lag):
        hopeless(
            DOUBTFUL
        )  # a kernel that heads must cancel for: a proof is sooner found than heads
    attempt = functools.cache(lambda count: _counted(problem, count))
    if likely is None and least_error(problem) > tol and attempt(most).error > tol:
        hopeless(DOUBTFUL)
        made = attempt(most)  # nor will fewer do
    else:
        made = fewest(attempt, tol, first, most, hopeless, likely)
    if made.error > tol:
        got = (
            f"l1 error {made.error:.3g} with {first + MOST_EXTRA} {bias} heads and sum|a| up to"
            f" {problem.budget:.3g}"
        )
        raise Unreachable(got, f"at most {tol:.3g}", _other(precision))
    return _lighter(problem, made, tol)


def _other(precision: Precision) -> str:
    return f"raise the tolerance, use another bias, or more digits than {precision}"


def _lighter(problem: Problem, made: DrawnHeads, tol: float) -> DrawnHeads:
    """As many heads with smaller coefficients, as long as the tolerance holds: less to cancel,
    less to round. Where none cancel there is nothing to gain.
    """
    cancels = (made.coefficients > 0).any() and (made.coefficients < 0).any()
    for _ in range(LIGHTER if cancels else 0):
        sparing = dataclasses.replace(problem, budget=made.weight / 16)
        if sparing.budget < 1 or least_error(sparing) > BESIDE_THE_GRID * tol:
            break
        if error_near(sparing, made.rates) > FAR_OFF * tol:
            break
        lighter = _counted(sparing, made.count)
        if lighter.error > tol:
            break
        made = lighter
    return made


def threshold(kernel: AbstractKernel, bias: str) -> int:
    """The number of heads below which a sum over all lags does not tell an isolated lag from zero
    (Theorem A): where the search begins.
    """
    return (kernel.T if bias == "log" else kernel.T + 1) if isinstance(kernel, Lag) else 1


def _counted(problem: Problem, heads: int) -> DrawnHeads:
    found = fit_heads(problem, heads)
    return as_doubles(problem, found.head_sum, found.method)


@functools.lru_cache(maxsize=512)
def heads_for_count(
    kernel: AbstractKernel, bias: str, heads: int, precision: Precision, window: int | None = None
) -> DrawnHeads:
    """The best sum of so many heads whose weights this precision can bear."""
    budget = affordable(None, precision)
    return _counted(Problem(kernel, family(bias), Norm.L1, window, budget), heads)


def as_doubles(problem: Problem, head_sum: HeadSum, method: str) -> DrawnHeads:
    """Rounded to doubles and finite rates, then measured."""
    rates = np.minimum(np.array(head_sum.rates), STEEPEST)
    rounded = HeadSum.of(problem.family, rates, np.array([float(a) for a in head_sum.coefficients]))
    errors = measure(problem, rounded)
    error = errors.l1 if problem.window is None else errors.window.l1
    return drawn(problem.kernel, rounded, error, method)


def drawn(kernel: AbstractKernel, head_sum: HeadSum, error: float, method: str) -> DrawnHeads:
    """A sum of decays as the record that layers are made of."""
    curves = tuple(Decay(head_sum.family.name, rate) for rate in head_sum.rates)
    coefficients = np.array([float(a) for a in head_sum.coefficients])
    return DrawnHeads(kernel, curves, coefficients, error, method)


def refuse_weight(problem: Problem, tol: float, precision: Precision) -> None:
    """Refuse a lag whose weight no number of heads can bring under the budget (Theorem B); the
    claim goes with it.
    """
    claim = by_weight(problem, tol)
    if claim is None:
        return
    assert isinstance(problem.kernel, Lag)
    bias = problem.family.name
    got = (
        f"lag {problem.kernel.T} within {tol:g} by {bias} heads needs sum|a| >="
        f" {weight_for(problem, tol)}, however many heads"
    )
    fix = (
        "use --bias peak, table or rope (one head per lag), or --construction composed (short lags)"
    )
    most = f"at most {problem.budget:.3g}, what {precision} can add up to this tolerance"
    raise Unreachable(got, most, fix, (claim,))


def split_heads(
    kernels: Sequence[AbstractKernel], request: Request, window: int | None = None
) -> list[DrawnHeads]:
    """The kernels' heads, `request.heads` in all (docs/errata.md#e13): whole numbers, each next
    head where it helps most; with a `window`, later lags do not exist.

    Below the threshold of Theorem A a lag gains nothing, so greedy single steps would never start:
    memories get their threshold first, the cheapest first, and the rest goes one by one.
    """
    total = request.heads or 0
    enough_for_each(total, len(kernels))

    def fit(k: int, heads: int) -> DrawnHeads:
        seen = window if window is None else max(window, kernels[k].support or 1)
        return heads_for_count(kernels[k], request.bias, heads, request.precision, seen)

    counts = [1] * len(kernels)
    for k in sorted(range(len(kernels)), key=lambda k: threshold(kernels[k], request.bias)):
        more = threshold(kernels[k], request.bias) - counts[k]
        if 0 < more <= total - sum(counts):
            counts[k] += more
    if len(kernels) == 1:  # nothing to weigh up
        counts = [total]
    while sum(counts) < total:
        gains = [
            fit(k, counts[k]).error ** 2 - fit(k, counts[k] + 1).error ** 2
            for k in range(len(kernels))
        ]
        counts[gains.index(max(gains))] += 1
    return [fit(k, count) for k, count in enumerate(counts)]


def enough_for_each(heads: int, memories: int) -> None:
    """Every memory has a head of its own."""
    require(
        heads >= memories,
        f"{heads} heads for {memories} memories",
        "at least one per memory",
        "pass more heads",
    )
