"""Few rates that serve several kernels: one set of heads, coefficients of its own per kernel.

A head's rate belongs to the head, its output matrix W_O may write into several slots. So M lags do
not need heads of their own: the heads that draw the hardest of them draw the others too. x_t comes
free through the residual, so lag 0 is left out of every fit and written by the embedding: lag T
takes T lin heads (Theorem A's count beside x_t).

The rates are b_h = -log x_h (H times that for log and log1p heads, since their lags lie denser)
with x_1 > … > x_H > 0 the Chebyshev extrema on [0, eta] without 0: the nodes at which the weights
of a divided difference are least (`methods/fewest_lin_heads.py`). For given rates the best
coefficients are a linear programme; one number, eta, is searched. What is promised is measured in
ball arithmetic for the doubles that are written, however they were found.
"""

from collections.abc import Sequence

import numpy as np

from headcount.construct.blocks.decaying_heads import (
    STEEPEST,
    affordable,
    as_doubles,
    refuse_weight,
)
from headcount.construct.blocks.drawn_heads import DrawnHeads
from headcount.construct.draft import Unreachable, remembered
from headcount.core.claims import Precision
from headcount.core.threads import one_thread
from headcount.memory.kernels import AbstractKernel, Lag
from headcount.theory.fit import best_coefficients
from headcount.theory.fit.lp import coefficients
from headcount.theory.fit.sample import Sample, sample, thin
from headcount.theory.fit.slp import at, refine
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem

MOST_HEADS = 12  # where a search begins at most: float32 bears five, float64 about ten
EXTRA = 2  # heads beyond the first count that are tried
SMALLEST_LOG_ETA = -30.0
GRID = 6  # values of log eta that are tried first
SMALLEST_STEP = 0.15  # in log eta
RANKING = 1e-7  # accuracy of the programs whose costs are compared
NEAR = 1.6  # within this factor of the tolerance all rates may move, not eta alone


@remembered
def shared_heads(
    kernels: tuple[AbstractKernel, ...], bias: str, tol: float, precision: Precision, window: int
) -> tuple[DrawnHeads, ...]:
    """The fewest heads found that draw every kernel of finite support within `tol` (l1, beside
    x_t); all have the same curves. Else `Unreachable`, with what is proved for a single lag.
    """
    problems = [
        Problem(k, family(bias), Norm.L1, window, affordable(tol, precision), residual=True)
        for k in kernels
    ]
    longest = max(k.support or window for k in kernels) - 1
    for problem in problems:
        if isinstance(problem.kernel, Lag):
            refuse_weight(problem, tol, precision)
    if longest > MOST_HEADS:
        raise Unreachable(
            f"a search that begins at {longest} {bias} heads",
            f"at most {MOST_HEADS}",
            "use another bias, or fewer lags",
        )
    for count in range(max(longest, 1), max(longest, 1) + EXTRA + 1):
        rates, cost = best_rates(problems, count, precision, tol)
        if tol < cost < NEAR * tol and isinstance(kernels[0], Lag) and len(kernels) == 1:
            rates = moved_rates(problems[0], rates)
        if cost < NEAR * tol:
            made = drawn_at(problems, rates)
            if worst(made, precision) <= tol:
                return made
    got = f"no set of up to {longest + EXTRA} {bias} rates was found, rounding included"
    raise Unreachable(got, f"an l1 error of {tol:.3g}", "raise the tolerance or use another bias")


@one_thread()
def moved_rates(problem: Problem, rates: np.ndarray) -> np.ndarray:
    """The rates moved to where sequential programs take them.  [H]"""
    data = thin(sample(problem))
    return np.minimum(refine(data, at(data, rates)).rates, STEEPEST)


def worst(made: Sequence[DrawnHeads], precision: Precision) -> float:
    """The largest error, with one rounding unit per unit of weight."""
    return max(heads.error + precision.unit * heads.weight for heads in made)


def best_rates(
    problems: Sequence[Problem], count: int, precision: Precision, tol: float
) -> tuple[np.ndarray, float]:
    """The best rates of the Chebyshev family and their cost: eta on a grid, then halved steps
    around the best. The first that is good enough ends it.
    """
    stretch = 1.0 if problems[0].decay.geometric else max(1.0, float(count))
    step = -SMALLEST_LOG_ETA / max(count, 1) / GRID
    seen: dict[float, float] = {}
    samples = [thin(sample(problem)) for problem in problems]

    def cost(log_eta: float) -> float:
        if log_eta not in seen:
            seen[log_eta] = cost_at(samples, node_rates(count, log_eta, stretch), precision)
        return seen[log_eta]

    best = -step / 4
    for k in range(1, GRID):
        if cost(best) <= tol:
            break
        best = min(best, -k * step, key=cost)
    while cost(best) > tol and step > SMALLEST_STEP:
        step /= 2
        best = min(best, best - step, min(best + step, -1e-3), key=cost)
    return node_rates(count, best, stretch), cost(best)


def node_rates(count: int, log_eta: float, stretch: float = 1.0) -> np.ndarray:
    """-log of the extrema on [0, eta] without 0, times `stretch`, increasing.  [H]"""
    nodes = (1 + np.cos(np.pi * np.arange(count) / count)) / 2
    return stretch * -(np.log(nodes) + log_eta)


def cost_at(samples: Sequence[Sample], rates: np.ndarray, precision: Precision) -> float:
    """As `worst`, in float64 and with far lags in blocks: what the search compares."""
    costs = []
    for data in samples:
        a = coefficients(data, rates, RANKING)
        costs.append(data.error(rates, a) + precision.unit * float(np.abs(a).sum()))
    return max(costs)


def drawn_at(problems: Sequence[Problem], rates: np.ndarray) -> tuple[DrawnHeads, ...]:
    """Each kernel's best coefficients for the same rates, as doubles, measured."""
    return tuple(
        as_doubles(p, best_coefficients(p, rates).head_sum, f"{len(rates)} Chebyshev rates, shared")
        for p in problems
    )
