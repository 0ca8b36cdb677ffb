"""Power laws by lin heads in l1: the best error by number of heads, to two or three digits.

Zero counting compares with one sum and gives up one block of 2H + 1. Here all sums are compared
with the best one, because improving a sum is a *monotone* map of its rates.

Let w(t) = t^-p = int e^{-bt} dmu(b), mu > 0 on all of (0, inf), and f = sum_{h<=H} a_h e^{-b_h t}
with 0 < b_1 < … < b_H. First let lags be real and weighted by a smooth positive density on an
interval; the lags themselves are the limit of densities that gather at them.

1. *Signs of rates.* One sign function sigma_b with 2H changes tau_1 < … < tau_2H and a first
   sign + is orthogonal to all e^{-b_h t} and t e^{-b_h t} (Hobby-Rice; one, for these functions
   form a Chebyshev system). g_b(x) = <sigma_b, e^{-xt}> has at most 2H zeros, as many as sigma_b
   has changes, so they are the double ones at b_h, and g_b >= 0.
   *tau falls with b.* d = dg_b/db_h is a sum of the 2H terms e^{-x tau_i} with the coefficients
   ±dtau_i/db_h, signs alternating. It vanishes twice at the other b_j and once at b_h, falling
   there (its slope is -g_b''). These are 2H - 1 zeros, the most that 2H terms can have, so its
   coefficients alternate, and all dtau_i/db_h have one sign: that of d beyond b_H, which is -.
2. *Rates of places.* For t_1 < … < t_2H one sum f_t has f_t = w there, and its coefficients are
   positive (Gauss quadrature of mu for the Chebyshev system e^{-b t_i}). w - f_t has at most
   2H zeros (mu less H atoms changes sign 2H times): none but t_i. It begins and ends with +.
   *Its rates B(t) fall with t.* v = df_t/dt_i lies in the span of e^{-b_h t}, t e^{-b_h t}, with
   2H - 1 zeros t_j: written with pairs of near rates its coefficients alternate, so those of
   t e^{-b_h t}, -a_h dB_h/dt_i, have one sign: that of v at infinity, which is + as
   v(t_i) = (w - f_t)'(t_i) has the sign (-1)^i and 2H - i zeros follow.
3. *No worse.* For any f with rates b: ||w - f|| >= <w - f, sigma_b> = <w, sigma_b>. With
   t = tau(b), w - f_t has the signs sigma_b, so
   ||w - f_t|| = <w, sigma_b> - sum a_h g_b(B_h(t)) <= ||w - f||.
   So a sum with positive coefficients and the rates B(tau(b)) is as good. And so on.
4. *Squeeze.* b -> B(tau(b)) keeps order. Rates up to infinity have tau_i >= first + i - 1 (in the
   limit y vanishes on the first 2H lags); rates down to 0 have places below those of polynomials
   of degree 2H - 1. So b <= u implies tau(b) >= tau(u) >= T implies B <= B(T) <= u', and from
   below alike: after some rounds the rates of a sum that is as good lie in narrow cells
   l_h < b_h < u_h. If y has 2H changes of sign and sum_s y(s) e^{-xs} vanishes at all l_h and
   u_h, it is negative inside the cells and nowhere else, so that with positive coefficients

       ||w - f||_1  >=  <w - f, y>  >=  <w, y>.

What is proved in balls: shares in (0, 1) of the signs at u (they persist for densities close to
the lags, which is how the limit is taken: rates first, then the density); signs of w - g at the
places T for a sum g with rates u', which put its i-th zero before T_i, so that B(T) <= u'. Rates 0
and inf, equal rates and fewer heads are limits of the rest.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np
from flint import arb

from headcount.core.claims import Claim, Lags, Norm
from headcount.core.refs import Ref
from headcount.memory.kernels import Power
from headcount.theory.balls import precision, round_down
from headcount.theory.bounds.canonical import (
    Conditions,
    Curves,
    Lost,
    apart,
    crossing,
    flat,
    gauss,
    moved_signs,
    settled,
    shares,
    through,
    touching,
)
from headcount.theory.heads import Lin
from headcount.theory.problem import Problem

REF = Ref("headcount", "squeeze of rates (docs/proved.md#squeeze)")
FARTHEST = 2**50  # the last lag: doubles hold places before it exactly
BEYOND = 0.01  # of the error: what the lags that a proof about all lags leaves out may hold
MOST_HEADS = 16
MOST_ROUNDS = 400
MARGIN = 1e-12  # relative, so that a checker with other sums has room
SHIFTS = (1e-6, 1e-4, 1e-2)  # of places, relative, so that signs are certain
DIGITS = 20
TIGHT, SINGLE = 1.1, 4096  # lags that are looked at one by one
STARTS = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0)  # rates raised by this have signs at the first lags

# One round: places that bound tau, then rates and coefficients of a sum beyond them.
# Decimal numbers: on the first lags doubles cannot tell such a sum from the kernel.
Round = tuple[tuple[int, ...], tuple[str, ...], tuple[str, ...]]


def squeeze_claim(problem: Problem, heads: int, farthest: int = FARTHEST) -> Claim | None:
    """The certified lower bound; None where it does not apply or every path was lost. A proof
    about all lags goes on to those beyond which little of the error lies, but not beyond the
    `farthest`.
    """
    kernel, first = problem.kernel, problem.first_lag
    fits = isinstance(kernel, Power) and isinstance(problem.family, Lin)
    if not fits or problem.norm is not Norm.L1 or first < 1 or heads > MOST_HEADS:
        return None
    assert isinstance(kernel, Power)
    stop = max(problem.length, min(farthest, _stop(problem, kernel.exponent, heads)))
    # a path that is lost to one last lag is found to another
    ends = [end for end in (stop * 3 // 4, stop // 3, math.isqrt(stop)) if end > problem.length]
    for end in dict.fromkeys((stop, *ends, problem.length, problem.length - 1)):
        if 2 * heads + 1 >= end - first:
            continue
        try:
            with precision(bits(heads)):
                above, below = _rounds(kernel.exponent, heads, first, end)
                places, value = _value(kernel.exponent, above[-1], below[-1], first, end)
        except Lost:
            continue
        evidence = {
            "kind": "squeeze", "heads": heads, "lags": (first, end),
            "above": above, "below": below, "places": places,
        }  # fmt: skip
        proved = {
            "heads": heads, "weight": math.inf, "lowest_rate": 0.0, "lags": Lags(first, end),
        }  # fmt: skip
        return problem.at_least(value, "squeeze", REF, evidence, **proved)
    return None


def _stop(problem: Problem, p: float, heads: int) -> int:
    """The end of the lags that a proof would use. None takes time of its own; rounds grow with
    the logarithm of all. The error is guessed: it falls like e^{-pi sqrt((p-1)H)} (the rate of
    quadrature; the factor as measured for p from 1.2 to 3).
    """
    if not problem.tail_counts:
        return problem.length
    error = 3.5 * float(problem.target.sum()) * math.exp(-math.pi * math.sqrt((p - 1) * heads))
    log = -math.log(max(BEYOND * error * (p - 1), 1e-300)) / (p - 1)  # w sums to the rest beyond
    return max(problem.length, math.ceil(math.exp(min(log, math.log(FARTHEST)))))


def is_tight(claim: Claim) -> bool:
    """Does the last sum of the squeeze itself come within a tenth of the bound? In doubles, far
    lags block by block."""
    first, stop = claim.evidence["lags"]
    near = min(stop, SINGLE)
    far = np.unique(np.geomspace(near, stop, SINGLE).round()) if stop > near else np.array([stop])
    edges = np.concatenate([np.arange(first, near, dtype=np.float64), far])
    lags = (edges[:-1] + edges[1:] - 1) / 2
    _, rates, coefficients = claim.evidence["above"][-1]
    drawn = sum(
        float(a) * np.exp(-float(b) * lags) for b, a in zip(rates, coefficients, strict=True)
    )
    assert isinstance(claim.subject, Power)
    left = float(np.abs(lags**-claim.subject.exponent - drawn) @ np.diff(edges))
    return left <= TIGHT * claim.value


def bits(heads: int) -> int:
    """Neighbouring conditions are nearly parallel, the more so the more of them."""
    return 128 + 24 * heads


def _rounds(p: float, H: int, first: int, stop: int) -> tuple[tuple[Round, ...], tuple[Round, ...]]:
    """Rates from above and from below, until their places stand still."""
    places = list(range(first, first + 2 * H))
    start = gauss(arb(p), H, arb(first))
    rates, signs = _first_signs(start, first, stop)
    above, start = _one_side(p, places, start, (rates, signs), -1, first, stop)
    slow = settled_flat(H, first, stop)
    reached = ([arb(b) for b in above[-1][1]], list(above[-1][0]))
    below, _ = _one_side(p, slow, start, reached, 1, first, stop)
    return above, below


def settled_flat(H: int, first: int, stop: int) -> list[int]:
    """Places of the signs that are orthogonal to polynomials of degree below 2H; near zeros of
    Chebyshev polynomials of the second kind."""
    turn = [math.pi * i / (2 * H + 1) for i in range(1, 2 * H + 1)]
    guess = [math.floor(first + (stop - first) / 2 * (1 - math.cos(x))) for x in turn]
    at = flat(2 * H, first, stop)
    places = settled(at, apart(guess, first, stop), first, stop)
    _require_inside(at, places, stop)
    return places


def _first_signs(start: Curves, first: int, stop: int) -> tuple[list[arb], list[int]]:
    """Rates beyond those of the first sum whose signs change on the first lags."""
    places = list(range(first, first + 2 * len(start.rates)))
    for more in STARTS:
        rates = [(b + more).mid() for b in start.rates]
        try:
            shown = shares(touching(rates, first), places, stop, sharp=True)
        except Lost:
            continue
        if all(0 < float(v) < 1 for v in shown):
            return rates, places
    raise Lost


def _one_side(
    p: float, places: list[int], known: Curves, signs: tuple[Sequence[arb], list[int]], side: int,
    first: int, stop: int,
) -> tuple[tuple[Round, ...], Curves]:  # fmt: skip
    """From `places` on: rates beyond B(places), their signs' places, and again (side -1: from
    above, +1: from below)."""
    rounds: list[Round] = []
    rates, changes = signs
    for _ in range(MOST_ROUNDS):
        known, decimals, coefficients = _beyond(p, places, known, side)
        rounds.append((tuple(places), decimals, coefficients))
        goal = [arb(b) for b in decimals]
        changes = moved_signs(rates, changes, goal, first, stop)
        _require_inside(touching(goal, first), changes, stop)
        rates = goal
        if all(side * (old - new) <= 0 for old, new in zip(places, changes, strict=True)):
            return tuple(rounds), known
        places = changes
    return tuple(rounds), known


def _beyond(
    p: float, places: list[int], known: Curves, side: int
) -> tuple[Curves, tuple[str, ...], tuple[str, ...]]:
    """A sum whose i-th zero lies before (side -1) or behind (1) places[i], for certain:
    the sum through all places, its lags scaled by a little, for c^p f(ct) is exact at t/c."""
    known, digits = through(arb(p), [arb(t) for t in places], known), DIGITS + 4 * len(places)
    for shift in SHIFTS:
        c = 1 - side * arb(shift)
        rates = tuple((c * b).str(digits, radius=False) for b in known.rates)
        a = tuple((c ** arb(p) * x).str(digits, radius=False) for x in known.coefficients)
        if _alternates(p, places, rates, a, side):
            return known, rates, a
    raise Lost


def _alternates(p: float, places: list[int], rates, a, side: int) -> bool:
    """Is the sign of w - g at places[i] (-1)^(i+1) for side -1, (-1)^i for side 1?"""
    sign = side
    for t in places:
        drawn = sum((arb(x) * (-arb(b) * t).exp() for b, x in zip(rates, a, strict=True)), arb(0))
        if not sign * (arb(t) ** -arb(p) - drawn) > 0:
            return False
        sign = -sign
    return True


def _require_inside(at: Conditions, places: Sequence[int], stop: int) -> None:
    """The shares lie strictly between 0 and 1, in balls."""
    if not all(v > 0 and v < 1 for v in shares(at, places, stop)):
        raise Lost


def _value(
    p: float, above: Round, below: Round, first: int, stop: int
) -> tuple[tuple[int, ...], float]:
    """Places of the last signs, and <w, y>."""
    ends = [arb(x) for pair in zip(below[1], above[1], strict=True) for x in pair]
    if not all(x < y for x, y in itertools.pairwise(ends)):
        raise Lost  # cells overlap
    at = crossing(ends, first)
    places = settled(at, above[0], first, stop)
    _require_inside(at, places, stop)
    v = shares(at, places, stop)
    total, sign, begin = arb(0), 1, first
    for k, share in zip(places, v, strict=True):
        total += sign * (_sum(p, begin, k) + (2 * share - 1) * arb(k) ** -arb(p))
        sign, begin = -sign, k + 1
    total += _sum(p, begin, stop)
    return tuple(places), round_down(total * (1 - arb(MARGIN)))


def _sum(p: float, begin: int, end: int) -> arb:
    """w over begin..end-1, by Hurwitz's zeta function."""
    if p == 1:
        return arb(end).digamma() - arb(begin).digamma()
    return arb(p).zeta(arb(begin)) - arb(p).zeta(arb(end))
