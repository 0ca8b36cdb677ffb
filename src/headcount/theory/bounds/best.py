"""The best lower bound that applies: by budget, by number of heads, or both (the larger of valid
bounds is valid).
"""

import numpy as np

from headcount.core.errors import require
from headcount.core.threads import one_thread
from headcount.theory.bounds.dual import dual_bound
from headcount.theory.bounds.heads import heads_bound
from headcount.theory.bounds.record import LowerBound, trivial
from headcount.theory.bounds.weight import weight_bound
from headcount.theory.bounds.zeros import zeros_bound
from headcount.theory.problem import Norm, Problem

MOST_HEADS = 20  # zero counting in float64 ends where residuals meet rounding
NEARLY_ALL = 1e-9  # an exact bound this close to the kernel's own norm leaves nothing to gain


@one_thread()
def lower_bound(
    problem: Problem, heads: int | None = None, lowest_rate: float | None = None
) -> LowerBound:
    """The largest certified bound for `heads` heads (None: any number) and the problem's budget.

    The result says what it holds for: `bound.heads` is None when the number of heads was not used,
    `bound.budget` when the budget was not. `lowest_rate` widens or narrows the rates of the budget
    bound (default: the family's own; all other bounds hold for every b >= 0).
    """
    require(
        heads is None or heads >= 1,
        f"{heads} heads",
        "at least 1",
        "pass heads=1 or more, or None for any number",
    )
    found: list[LowerBound | None] = [trivial(problem.norm, 0.0)]
    if heads is not None:
        found.append(heads_bound(problem, heads))
    found.append(weight_bound(problem))
    if _best(found).value >= (1 - NEARLY_ALL) * _norm(problem):
        return _best(found)
    if heads is not None and heads <= MOST_HEADS:
        found.append(zeros_bound(problem, heads))
    if np.isfinite(problem.budget):
        found.append(dual_bound(problem, lowest_rate))
    return _best(found)


def _best(found: list[LowerBound | None]) -> LowerBound:
    return max((b for b in found if b is not None), key=lambda b: b.value)


def _norm(problem: Problem) -> float:
    """The kernel's own norm over the counted lags: the error of no heads at all."""
    rho = np.abs(problem.target)
    return float(
        {Norm.L1: rho.sum(), Norm.L2: np.linalg.norm(rho), Norm.SUP: rho.max(initial=0.0)}[
            problem.norm
        ]
    )
