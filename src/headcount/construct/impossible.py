"""What is proved out of reach of a sum of heads, as claims: the one file here that asks
`theory.bounds`.

The claims are about sums of heads: a linear readout, bounded sum|a|, exact arithmetic. A method may
stop its own search where such a claim covers what it searches (`covers`). That is no statement
about a target: whether a row of `plan` is out of reach, `claim.excludes(question, tol)` decides,
for the row's own question.
"""

import dataclasses
import math
from fractions import Fraction

from headcount.core.claims import Claim, Lags, Norm, Scope, Sense, Status
from headcount.memory.kernels import AbstractKernel, Lag
from headcount.theory.bounds import LowerBound, check, lower_bound, weight_needed
from headcount.theory.bounds.record import round_down
from headcount.theory.bounds.weight import shifted_chebyshev, weight_bound
from headcount.theory.families import family
from headcount.theory.problem import Problem


def claim_of(problem: Problem, bound: LowerBound) -> Claim:
    """A certified bound with all of its scope; x_t is free where the problem says so."""
    scope = Scope(
        bias=problem.family.name,
        lowest_rate=bound.lowest_rate,
        heads=bound.heads,
        weight=math.inf if bound.budget is None else bound.budget,
        norm=Norm(problem.norm),
        lags=Lags(problem.first_lag, _last_lag(problem, bound)),
    )
    status = Status.PROVED if bound.certified else Status.CONJECTURED
    evidence = {"problem": problem, "bound": bound}
    return Claim(
        problem.kernel,
        scope,
        Sense.AT_LEAST,
        bound.value,
        status,
        bound.method,
        bound.ref,
        evidence,
    )


def _last_lag(problem: Problem, bound: LowerBound) -> int | None:
    """Where the lags end that the certificate uses: those of its vector, else all that count."""
    held = bound.certificate
    if held.get("kind") == "chebyshev" and isinstance(problem.kernel, Lag):
        return problem.kernel.T - held["place"] + held["degree"] + 1
    if held.get("kind") == "dual":
        return max(held["lags"]) + 1
    return None if problem.tail_counts else problem.length


def accepted(claim: Claim) -> bool:
    """Does an independent checker accept it?"""
    problem, bound = claim.evidence.get("problem"), claim.evidence.get("bound")
    if not (isinstance(problem, Problem) and isinstance(bound, LowerBound)):
        return False
    return claim == claim_of(problem, bound) and check(problem, bound)


def covers(claim: Claim, problem: Problem, tol: float) -> bool:
    """Does it rule out every sum that a search of this problem could find, within `tol`?"""
    searched = Scope(
        bias=problem.family.name,
        lowest_rate=problem.family.lowest_rate,
        weight=problem.budget,
        lags=Lags(0, None if problem.tail_counts else problem.length),
    )
    return claim.excludes(searched, tol)


def by_weight(problem: Problem, tol: float) -> Claim | None:
    """Theorem B for an isolated lag, at once; None where it says nothing about this problem.

    The residual gives lag 0 for free. From lag 1 on, heads that see lag 0 are smaller heads one lag
    nearer: e^{-ps} = e^{-p} e^{-p(s-1)}, so that lag T needs at least the weight of lag T-1 (log
    heads have no lag 0, and Theorem B counts from lag 1 for them).
    """
    free = dataclasses.replace(problem, residual=True)
    bound = weight_bound(free)
    if bound is None:
        return None
    # a claim about the lags that exist says more than one about all of them
    bounds = [bound] if _fits(free, bound) else [_narrower(free, bound), bound]
    claims = [claim_of(free, found) for found in bounds if found is not None]
    return next((claim for claim in claims if covers(claim, problem, tol)), None)


def _fits(problem: Problem, bound: LowerBound) -> bool:
    """Do all lags exist that the certificate uses?"""
    last = _last_lag(problem, bound)
    return problem.window is None or (last is not None and last <= problem.window)


def _narrower(problem: Problem, bound: LowerBound) -> LowerBound | None:
    """The same certificate by a polynomial T_n(2x-1) of lower degree, so that its lags lie in the
    window. Both the place of its largest coefficient and the lags beyond grow with n.
    """
    low, high = 0, bound.certificate["degree"]
    while high - low > 1:
        middle = (low + high) // 2
        inside = _fits(problem, _of_degree(problem, bound, middle))
        low, high = (middle, high) if inside else (low, middle)
    made = _of_degree(problem, bound, low)
    return made if low and _fits(problem, made) else None


def _of_degree(problem: Problem, bound: LowerBound, degree: int) -> LowerBound:
    coefficients = shifted_chebyshev(degree)
    sizes = [abs(c) for c in coefficients]
    place = sizes.index(max(sizes))
    held = {"degree": degree, "place": place, "coefficients": coefficients}
    return dataclasses.replace(
        bound,
        value=round_down(1 - Fraction(problem.budget) / sizes[place]),
        certificate={**bound.certificate, **held},
    )


def by_budget(problem: Problem, tol: float) -> Claim | None:
    """No number of heads within the problem's budget reaches the tolerance, x_t free through the
    residual (dual certificate, a matter of seconds); None where that is not proved. Where the
    search counts every lag, so does the certificate.
    """
    window = None if problem.tail_counts else problem.window
    free = dataclasses.replace(problem, residual=True, window=window)
    claim = claim_of(free, lower_bound(free))
    return claim if covers(claim, problem, tol) else None


def weight_for(kernel: AbstractKernel, bias: str, tol: float) -> str:
    """The weight that an isolated lag costs, in words, for the sentence beside the claim."""
    assert isinstance(kernel, Lag)
    log10 = weight_needed(kernel.T - (0 if bias == "log" else 1), family(bias), tol).log10
    return f"10^{log10:.1f}" if log10 > 6 else f"{10**log10:.3g}"
