"""What is proved out of reach of a sum of heads, as claims: the one file here that asks
`theory.bounds`.

The claims are about sums of heads: a linear readout, bounded sum|a|, exact arithmetic. A method may
stop its own search where such a claim covers what it searches (`covers`). That is no statement
about a target: whether a row of `plan` is out of reach, `claim.excludes(question, tol)` decides,
for the row's own question.

x_t comes free through the residual, so that bounds count from lag 1 on. Heads that see lag 0 are
then smaller heads one lag nearer: e^{-ps} = e^{-p} e^{-p(s-1)}.
"""

import dataclasses
import functools
import math

from headcount.core.claims import Claim
from headcount.memory.kernels import Lag
from headcount.theory.bounds import check, log10_weight, lower_bound, weight_needed
from headcount.theory.bounds.dual import dual_claim
from headcount.theory.bounds.weight import budget_claim
from headcount.theory.problem import Problem

ROUGHLY = 1e-2  # gap of a dual certificate that only has to exceed a tolerance


def accepted(claim: Claim) -> bool:
    """Does an independent checker accept it? A claim that comes back with a refusal that is
    remembered is the same object, and was checked.
    """
    return _checked(_Itself(claim))


@dataclasses.dataclass(frozen=True, eq=False)
class _Itself:
    """A claim that equals only itself: its evidence has no hash."""

    claim: Claim

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.claim is other.claim

    def __hash__(self) -> int:
        return id(self.claim)


@functools.lru_cache(maxsize=256)
def _checked(kept: _Itself) -> bool:
    return check(kept.claim)


def covers(claim: Claim, problem: Problem, tol: float) -> bool:
    """Does it rule out every sum that a search of this problem could find, within `tol`?"""
    return claim.excludes(problem.scope(), tol)


def by_weight(problem: Problem, tol: float) -> Claim | None:
    """Theorem B for an isolated lag, at once; None where it says nothing about this problem."""
    claim = budget_claim(dataclasses.replace(problem, residual=True))
    return claim if claim is not None and covers(claim, problem, tol) else None


def by_budget(problem: Problem, tol: float) -> Claim | None:
    """No number of heads within the problem's budget reaches the tolerance (dual certificate, a
    matter of seconds); None where that is not proved.

    Tolerances that differ little ask for budgets that differ little: a rough proof for the next
    power of two, which covers them all, is tried first.
    """
    asked = dataclasses.replace(problem, residual=True)
    rough = _within(dataclasses.replace(asked, budget=2.0 ** math.ceil(math.log2(problem.budget))))
    if covers(rough, problem, tol):
        return rough
    claim = lower_bound(asked)
    return claim if covers(claim, problem, tol) else None


@functools.lru_cache(maxsize=64)
def _within(problem: Problem) -> Claim:
    return dual_claim(problem, ROUGHLY)


def weight_for(problem: Problem, tol: float) -> str:
    """The weight that an isolated lag costs, in words, for the sentence beside the claim."""
    assert isinstance(problem.kernel, Lag)
    log10 = log10_weight(weight_needed(dataclasses.replace(problem, residual=True), tol))
    return f"10^{log10:.1f}" if log10 > 6 else f"{10**log10:.3g}"
