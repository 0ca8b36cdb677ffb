"""The fewest lin heads for a lag (Theorem A made sharp): exactly T + 1 of them, and what that costs
in digits.

Take x_0, …, x_T, the extrema of the Chebyshev polynomial on [0, eta], x_j = eta (1 + cos(pi
j/T))/2, and a_h = 1/prod_{j != h}(x_h - x_j). Then  sum_h a_h x_h^s  is the divided difference of
x^s at the nodes: 0 for s < T, 1 at s = T, and beyond it the complete symmetric polynomial
h_{s-T}(x) >= 0. So lags 0..T are exact and all the error is the tail, in closed form

    ||1{s=T} - sum||_1 = sum_{m>=1} h_m(x) = prod_j 1/(1 - x_j) - 1   ~ (T+1) eta/2,
    sum_h |a_h| = 2^{2T-1} / eta^T                                    (the extrema make the leading
      coefficient largest).

By Theorem A one head fewer leaves the error at 1 or more, whatever its weights. The price is the
weight: rounding adds about unit sum|a|, so that the best eta balances the two, and a lag is out of
reach where even that exceeds the tolerance. `best_error` computes it: float32 carries T + 1 heads
to lag 2, float64 to lag 6, within 0.1 (tests). More heads than T + 1 bear longer lags with the same
digits, and no number of them bears what Theorem B excludes; then the refusal carries its
certificate.
"""

import dataclasses
import functools
import math

import numpy as np
import scipy.optimize
from flint import arb

from headcount.construct.blocks.decaying_heads import (
    STEEPEST,
    KernelHeads,
    affordable,
    as_doubles,
    refuse_weight,
)
from headcount.construct.blocks.normalised import normaliser_refusals
from headcount.construct.blocks.readout_networks import readout_for, readout_refusals
from headcount.construct.draft import (
    AbstractConstruction,
    Draft,
    Precision,
    Request,
    Unreachable,
    constructions,
)
from headcount.construct.methods.sums_of_decays import assemble
from headcount.core.refs import Ref
from headcount.memory.fixed import FixedMemory
from headcount.memory.kernels import Lag
from headcount.memory.named import unnamed
from headcount.memory.target import AbstractTarget
from headcount.theory.balls import precision as bits
from headcount.theory.errors import exact_coefficient
from headcount.theory.families import Lin
from headcount.theory.problem import HeadSum, Norm, Problem

REF = Ref("headcount", "Theorem A: T + 1 lin heads for lag T, and no fewer")
LARGEST_ETA = 0.999
SMALLEST_ETA = 1e-12
LONGEST_SEARCHED = 64


def nodes(T: int, eta: float) -> np.ndarray:
    """Chebyshev extrema on [0, eta], from the largest down to 0.  [T+1]"""
    return eta * (1 + np.cos(np.pi * np.arange(T + 1) / T)) / 2


def tail_error(T: int, eta: float) -> float:
    """prod 1/(1 - x_j) - 1: the whole l1 error in exact arithmetic; beyond e^700 that number
    stands for it.
    """
    return math.expm1(min(-float(np.log1p(-nodes(T, eta)).sum()), 700.0))


def weight(T: int, eta: float) -> float:
    """sum|a| = 2^{2T-1}/eta^T; `inf` beyond the largest double."""
    return math.exp(log_weight(T, eta)) if log_weight(T, eta) < 700 else math.inf


def log_weight(T: int, eta: float) -> float:
    return (2 * T - 1) * math.log(2) - T * math.log(eta)


def eta_for(T: int, tol: float) -> float:
    """The largest eta (so the lightest weights) whose tail stays within `tol`."""
    if tail_error(T, LARGEST_ETA) <= tol:
        return LARGEST_ETA
    return float(
        scipy.optimize.brentq(
            lambda eta: tail_error(T, eta) - tol, SMALLEST_ETA, LARGEST_ETA, xtol=1e-15
        )
    )


def best_eta(T: int, precision: Precision) -> float:
    """Tail and rounding together least."""
    found = scipy.optimize.minimize_scalar(
        lambda log: np.logaddexp(
            math.log(tail_error(T, math.exp(log))),
            math.log(precision.unit) + log_weight(T, math.exp(log)),
        ),
        bounds=(math.log(SMALLEST_ETA), math.log(LARGEST_ETA)),
        method="bounded",
    )
    return float(math.exp(found.x))


@functools.lru_cache(maxsize=256)
def best_error(T: int, precision: Precision) -> float:
    """The least  tail + unit sum|a|  that T + 1 heads reach in this type."""
    eta = best_eta(T, precision)
    return tail_error(T, eta) + precision.unit * weight(T, eta)


def reach(precision: Precision, tol: float) -> int:
    """The longest lag that T + 1 heads bear within `tol` in this type; 0 where none."""
    return max(
        (T for T in range(1, LONGEST_SEARCHED) if best_error(T, precision) <= tol), default=0
    )


@functools.lru_cache(maxsize=256)
def minimal_heads(T: int, eta: float) -> KernelHeads:
    """The T + 1 heads as doubles, measured. Rates are rounded first, coefficients belong to the
    rounded rates.
    """
    x = nodes(T, eta)
    rates = [min(-math.log(v), STEEPEST) if v > 0 else STEEPEST for v in x]
    with bits(256 + 16 * T):
        powers = [(-arb(b)).exp() for b in rates]
        coefficients = []
        for h, own in enumerate(powers):
            product = arb(1)
            for j, other in enumerate(powers):
                product = product * (own - other) if j != h else product
            coefficients.append(exact_coefficient(1 / product))
    problem = Problem(Lag(T), Lin(), Norm.L1)
    return as_doubles(
        Lag(T),
        problem,
        HeadSum(Lin(), tuple(rates), tuple(coefficients)),
        f"T + 1 Chebyshev nodes on [0, {eta:.3g}]",
    )


def heads_within(T: int, tol: float, precision: Precision) -> KernelHeads:
    """T + 1 heads within `tol`, or `Unreachable`."""
    budget = affordable(tol, precision)
    eta = eta_for(T, 0.97 * tol)
    made = minimal_heads(T, eta) if weight(T, eta) <= budget else None
    if made is not None and made.error <= tol:
        return made
    refuse_weight(Lag(T), "lin", tol, budget, precision)
    got = f"lag {T} within {tol:.3g} by {T + 1} lin heads takes sum|a| = {weight(T, eta):.3g}"
    far = (
        f"{precision} reaches lag {reach(precision, tol)} by T + 1 heads; lag {T} within"
        f" {best_error(T, precision):.3g}"
    )
    raise Unreachable(
        got,
        f"at most {budget:.3g} ({far})",
        "allow more heads (theorem fixed), more digits (--precision float64), or use --bias peak",
    )


@constructions.register(
    "minimal",
    formula="a_h = 1/prod_{j != h}(x_h - x_j), x Chebyshev extrema on [0, eta]: T + 1 heads",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class Minimal(AbstractConstruction):
    """One layer, dot-product-free, lin bias, exactly T + 1 heads a lag."""

    ref = REF
    cost = 10

    def refusals(self, target: AbstractTarget, request: Request) -> list[str]:
        found = unnamed(target)
        if not isinstance(found, FixedMemory):
            return [f"{target.kind} is no fixed memory"]
        reasons = [] if request.bias == "lin" else [f"bias {request.bias} is not lin"]
        needed = sum(T + 1 for T in found.lags)
        if request.heads not in (None, needed):
            reasons.append(
                f"{request.heads} heads, where T + 1 a lag are {needed} (Theorem A: fewer leave the"
                " error at 1)"
            )
        if not math.isfinite(found.inputs.bound):
            reasons.append(
                f"{found.inputs.kind} tokens are unbounded, so that no kernel error bounds the"
                " answer's"
            )
        return (
            reasons
            + normaliser_refusals(target, request)
            + readout_refusals(found.readout, len(found.lags) + 1, found.inputs)
        )

    def draft(self, target: AbstractTarget, request: Request) -> Draft:
        found = unnamed(target)
        assert isinstance(found, FixedMemory)
        readout = readout_for(found.readout, len(found.lags) + 1, found.inputs, request)
        if request.tol is None:
            memories = [minimal_heads(T, best_eta(T, request.precision)) for T in found.lags]
        else:
            each = (
                0.95
                * (request.tol - readout.error)
                / (max(readout.lipschitz, 1e-300) * found.inputs.bound * math.sqrt(len(found.lags)))
            )
            memories = [heads_within(T, each, request.precision) for T in found.lags]
        made = assemble(found, request, memories, readout)
        tol = request.tol or 0.1
        told = [f"T + 1 heads bear lag {reach(p, tol)} in {p} within {tol:g}" for p in Precision]
        facts = {
            **made.facts,
            "best_errors": {str(p): [best_error(T, p) for T in found.lags] for p in Precision},
        }
        return dataclasses.replace(
            made, theorem=REF, notes=(*made.notes, *readout.notes, *told), facts=facts
        )
