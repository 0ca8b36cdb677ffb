"""Zero counting: a lower bound by number of heads alone, for any kernel, without a budget.

Sums of k curves e^{-b s} with different b (or s^{-b}, (1+s)^{-b}) have at most k-1 zeros on the
half line, unless they vanish identically (Chebyshev system; Rolle). Let g be a sum of H heads whose
residual rho - g alternates in sign on N >= 2H+1 consecutive blocks of lags. For any H-head f, f - g
has at most 2H terms, hence at most 2H-1 changes of sign. Call a block *spoilt* when
|rho - f| >= |rho - g| at all its lags; on any other block f - g = (rho - g) - (rho - f) has the
sign of rho - g at some lag. Leaving a block out removes at most two of the N-1 changes, so at least
k = ceil((N - 2H)/2) blocks are spoilt, and (de la Vallee-Poussin)

    ||rho - f||_1    >=  sum of the k smallest block masses,
    ||rho - f||_2^2  >=  sum of the k smallest block squares,
    ||rho - f||_inf  >=  k-th smallest block maximum.

The bound is good when the blocks weigh the same. `balanced` looks for such a g by reweighted
variable projection; where float64 does not find one (from about 13 heads on), `minimax` does with
more digits, for the sup norm. Nothing of these searches is trusted: signs and weights are
recomputed in ball arithmetic, and lags whose sign is not certain are left out.
"""

import dataclasses
import math

import numpy as np
from flint import arb

from headcount.core.claims import Claim, Lags, Norm
from headcount.core.refs import Ref
from headcount.theory.balls import kernel_values, precision, round_down
from headcount.theory.bounds.balance import LeastSquares, balanced, starts_for
from headcount.theory.bounds.minimax import DIGITS, levelled
from headcount.theory.measure import norm_of
from headcount.theory.problem import Problem

REF = Ref("headcount", "zero counting after de la Vallee-Poussin")
BITS = 160
EVEN = 0.995  # a bound this close to the largest residual leaves nothing to gain
FLOAT_HEADS = 10
MOST_LAGS = 4096  # lags that a search in many digits is worth


@dataclasses.dataclass(frozen=True)
class Block:
    """Consecutive lags start..stop-1 on which the residual has one sign (or is left out)."""

    start: int
    stop: int
    sign: int
    weight: arb


def zeros_claim(
    problem: Problem, heads: int, wanted: float = 0.0, deep: bool = False
) -> Claim | None:
    """The certified lower bound for `heads` heads; None when no alternating residual was found, or
    when it is seen early that the bound cannot exceed `wanted`. `deep`: more starts are tried.
    """
    first = problem.first_lag
    if len(problem.lags) <= 2 * heads:
        return None  # too few lags for 2H + 1 blocks
    found, blocks, value = None, list[Block](), 0.0
    for start in starts_for(heads, deep):
        other = _searched(problem, heads, wanted, LeastSquares(problem, heads, start))
        if other[2] > value:
            found, blocks, value = other
    if found is None or value <= 0:
        return None
    rates, coefficients = found
    evidence = {
        "kind": "zeros",
        "heads": heads,
        "rates": tuple(map(float, rates)),
        "coefficients": tuple(map(float, coefficients)),
        "blocks": tuple((b.start, b.stop, b.sign) for b in blocks),
    }
    lags = Lags(first, blocks[-1].stop)
    proved = {"heads": heads, "weight": math.inf, "lowest_rate": 0.0, "lags": lags}
    return problem.at_least(value, "zero-counting", REF, evidence, **proved)


Found = tuple[np.ndarray, np.ndarray] | None  # rates, coefficients


def _searched(
    problem: Problem, heads: int, wanted: float, fits: LeastSquares
) -> tuple[Found, list[Block], float]:
    """An alternating residual that begins with these fits, its blocks, and the bound."""
    found = balanced(fits, wanted)
    blocks, value = _measured(problem, found, heads)
    # with few heads float64 finds an alternating residual where there is one
    missed = found is None and heads >= FLOAT_HEADS
    uneven = value < EVEN * max((float(b.weight) for b in blocks), default=0.0)
    if problem.norm is Norm.SUP and (missed or uneven) and len(problem.lags) <= MOST_LAGS:
        finer = _in_more_digits(problem, wanted, fits)
        finer_blocks, finer_value = _measured(problem, finer, heads)
        if finer_value > value:
            return finer, finer_blocks, finer_value
    return found, blocks, value


def _measured(problem: Problem, found: Found, heads: int) -> tuple[list[Block], float]:
    """The blocks of a residual in balls, and the bound that they give."""
    if found is None:
        return [], 0.0
    with precision(BITS):
        first = problem.first_lag
        blocks = split(residual_balls(problem, *found, first), first, problem.norm)
        return blocks, round_down(bound_from(blocks, heads, problem.norm))


def _in_more_digits(problem: Problem, wanted: float, fits: LeastSquares) -> Found:
    rates, coefficients = fits.plain()
    drawn = problem.decay.columns(rates, problem.lags) @ coefficients
    error = norm_of(problem.target - drawn, problem.norm)
    if not (np.isfinite(rates).all() and np.isfinite(coefficients).all()) or error < wanted:
        return None
    with precision(DIGITS):
        rho = kernel_values(problem.kernel, problem.length)[problem.first_lag :]
    return levelled(problem.decay, rho, problem.first_lag, rates, coefficients)


def residual_balls(
    problem: Problem, rates: np.ndarray, coefficients: np.ndarray, first: int
) -> list[arb]:
    """rho(s) - g(s) for s = first..length-1."""
    residual = kernel_values(problem.kernel, problem.length)
    for b, a in zip(rates, coefficients, strict=True):
        curve, weight = problem.family.curve(float(b), problem.length), arb(float(a))
        residual = [r - weight * c for r, c in zip(residual, curve, strict=True)]
    return residual[first:]


def split(residual: list[arb], first: int, norm: Norm) -> list[Block]:
    """Maximal blocks of one certain sign, alternating; uncertain lags weigh nothing."""
    blocks: list[Block] = []
    for s, r in enumerate(residual, start=first):
        sign = 1 if r > 0 else -1 if r < 0 else 0
        if sign == 0:
            continue
        if not blocks or blocks[-1].sign != sign:
            blocks.append(Block(s, s + 1, sign, weigh(arb(0), r, norm)))
        else:
            last = blocks[-1]
            blocks[-1] = Block(last.start, s + 1, sign, weigh(last.weight, r, norm))
    return blocks


def weigh(so_far: arb, r: arb, norm: Norm) -> arb:
    if norm is Norm.L1:
        return so_far + abs(r)
    return so_far + r * r if norm is Norm.L2 else so_far.max(abs(r))


def bound_from(blocks: list[Block], heads: int, norm: Norm) -> arb:
    """The de la Vallee-Poussin bound of alternating blocks; 0 when there are too few."""
    spoilt = math.ceil((len(blocks) - 2 * heads) / 2)
    if spoilt < 1:
        return arb(0)
    smallest = sorted((b.weight.lower() for b in blocks), key=arb.fmpq)[:spoilt]  # to the last bit
    if norm is Norm.SUP:
        return smallest[-1]
    total = sum(smallest, arb(0))
    return total if norm is Norm.L1 else total.sqrt()
