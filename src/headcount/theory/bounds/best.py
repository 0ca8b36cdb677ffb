"""The best lower bound that applies: by budget, by number of heads, or by both together (the larger
of valid bounds is valid).
"""

import enum
import math

import numpy as np

from headcount.core.claims import Claim, Norm
from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.core.threads import one_thread
from headcount.theory.bounds.branch import branch_claim
from headcount.theory.bounds.dual import dual_claim
from headcount.theory.bounds.squeeze import FARTHEST, is_tight, squeeze_claim
from headcount.theory.bounds.theorem_a import heads_claim
from headcount.theory.bounds.weight import budget_claim
from headcount.theory.bounds.zeros import zeros_claim
from headcount.theory.problem import Problem

MOST_HEADS = 20  # zero counting: residuals of more heads meet the rounding of doubles
NEARLY_ALL = 1e-9  # an exact bound this close to the kernel's own norm leaves nothing to gain
WORTH_PROVING = 1e-4  # of what is reached: less says next to nothing about it
NEAR = 1.01  # what is reached over what is proved

# a squeeze of rates of more heads, or to lags 10^n with more than so many heads times n, takes
# longer than the search for a fit
QUICK_HEADS, QUICK_FAR = 10, 32


class Effort(enum.StrEnum):
    """How long a proof may take."""

    QUICK = "quick"  # about a second: what an interactive answer bears
    DEEP = "deep"  # up to a minute


# splits of a search tree by number of heads
SPLITS = {
    Effort.QUICK: {1: 24, 2: 40},
    Effort.DEEP: {1: 40, 2: 300, 3: 400, 4: 700, 5: 800, 6: 600},
}


@one_thread()
def lower_bound(
    problem: Problem, heads: int | None = None, effort: Effort = Effort.QUICK,
    reached: float = math.inf,
) -> Claim:  # fmt: skip
    """The largest proved error of `heads` heads (None: any number) within the problem's budget.

    `effort`: more time may prove more. `reached`: the error of heads that are known, which a search
    for a proof aims at; it is not trusted. The claim's scope says what it holds for, which
    may be more than was asked: `heads` is None where their number was not used, `weight` inf where
    the budget was not.
    """
    require(
        heads is None or heads >= 1,
        f"{heads} heads",
        "at least 1",
        "pass heads=1 or more, or None for any number",
    )
    found: list[Claim | None] = [_trivial(problem)]
    if heads is not None:
        found.append(heads_claim(problem, heads))
    found.append(budget_claim(problem))
    if _best(found).value < (1 - NEARLY_ALL) * norm_of(problem.target, problem.norm):
        if np.isfinite(problem.budget):
            found.append(dual_claim(problem))
        if heads is not None and heads <= MOST_HEADS:
            wanted = _best(found).value
            if math.isfinite(reached):
                wanted = max(wanted, WORTH_PROVING * reached)
            found.append(_by_heads(problem, heads, effort, wanted))
        settled = _settled(_best(found), reached)
        if heads is not None and aims(problem, heads, effort) and not settled:
            found.append(branch_claim(problem, heads, SPLITS[effort][heads], reached))
    best = _best(found)
    assert best.answers(problem.scope(heads)).value == best.value, f"{best} misses the question"
    return best


def aims(problem: Problem, heads: int | None, effort: Effort = Effort.QUICK) -> bool:
    """Does a search for a proof aim at what is reached? Trees do; of other searches it only ends
    those that are not worth their while.
    """
    return bool(np.isfinite(problem.budget)) and (heads or 0) in SPLITS[effort]


def _settled(best: Claim, reached: float) -> bool:
    """Is next to nothing to be gained over this bound?"""
    return reached <= NEAR * best.value or (best.method == "squeeze" and is_tight(best))


def _by_heads(problem: Problem, heads: int, effort: Effort, wanted: float) -> Claim | None:
    """Any kernel, any weights: the squeeze where it applies, else zero counting, which is given up
    where it cannot exceed `wanted`.
    """
    deep = effort is Effort.DEEP or heads <= QUICK_HEADS
    farthest = FARTHEST if effort is Effort.DEEP else int(10 ** min(QUICK_FAR / heads, 15))
    squeezed = squeeze_claim(problem, heads, farthest) if deep else None
    if squeezed is not None and is_tight(squeezed):
        return squeezed
    if problem.interpolated_by(heads):
        return squeezed  # nothing to be proved without a budget
    counted = zeros_claim(problem, heads, wanted, effort is Effort.DEEP)
    return max((c for c in (squeezed, counted) if c), key=lambda c: c.value, default=None)


def _best(found: list[Claim | None]) -> Claim:
    return max((claim for claim in found if claim is not None), key=lambda claim: claim.value)


def _trivial(problem: Problem) -> Claim:
    """Zero: a norm is never negative."""
    ref = Ref("headcount", "norms are not negative")
    return problem.at_least(0.0, "none", ref, {"kind": "trivial"}, weight=math.inf, lowest_rate=0.0)


def norm_of(values: np.ndarray, norm: Norm) -> float:
    """The norm over lags: of the kernel's own values, the error of no heads at all."""
    return float(np.linalg.norm(values, {Norm.L1: 1, Norm.L2: 2, Norm.SUP: np.inf}[norm]))
