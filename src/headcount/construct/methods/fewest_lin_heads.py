"""Few lin heads for a lag, in closed form (Theorem A made sharp), and what that costs in digits.

Take x_0, …, x_T, the extrema of the Chebyshev polynomial on [0, eta], and the coefficients

    x_j = eta (1 + cos(pi j/T))/2,   a_h = 1/prod_{j != h}(x_h - x_j).

Then sum_h a_h x_h^s is the divided difference of x^s at the nodes: 0 for s < T, 1 at s = T, and
beyond it the complete symmetric polynomial h_{s-T}(x) >= 0. So lags 0..T are exact and all the
error is the tail. Over all lags

    ||1{s=T} - sum||_1 = sum_{m>=1} h_m(x) = prod_j 1/(1 - x_j) - 1  ~  (T+1) eta/2,
    sum_h |a_h| = 2^{2T-1} / eta^T   (the extrema make the leading coefficient largest).

Lags that exist. Sequences of at most N tokens have lags below N only, so that the tail is
h_1 + … + h_{N-1-T}: nothing at all for N = T + 1, where eta may be 1 and sum|a| is 2^{2T-1}.

Beside x_t. The node x_T = 0 is a head that sees x_t alone. The residual stream has x_t, so that
head is left out and its part is written by the embedding: T heads for lag T.

Theorem A (its proof is in `theory/bounds/theorem_a.py`): a linear sum of T lin heads, without x_t,
has an l1 error of 1 or more for lag T over all lags, whatever its weights. So T + 1 is the number
for that question, and nothing is said about other readouts or about a window.

The price is the weight: rounding adds about unit sum|a|, so that the best eta balances the two.
`best_error` computes it: over all lags float32 carries these heads to lag 2, float64 to lag 6,
within 0.1 (tests).
"""

import dataclasses
import functools
import math

import numpy as np
import scipy  # its parts load when they are used: most plans need none of them
from flint import arb

from headcount.construct.blocks.decaying_heads import (
    STEEPEST,
    affordable,
    as_doubles,
    refuse_weight,
)
from headcount.construct.blocks.drawn_heads import DrawnHeads, facts_of
from headcount.construct.blocks.readout_networks import readout_for
from headcount.construct.blocks.slots import Ending, share_of_tolerance
from headcount.construct.draft import PRECISIONS, Draft, Refusal, RefusalKind, Request, Unreachable
from headcount.construct.method import methods
from headcount.construct.methods.sums_of_decays import (
    AbstractSum,
    first_of,
    lag_draft,
    length_notes,
    one_position_reasons,
    window_of,
)
from headcount.core.claims import Precision
from headcount.core.refs import Ref
from headcount.memory.fixed import FixedMemory
from headcount.memory.kernels import Lag
from headcount.theory.balls import precision as bits
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import Lin
from headcount.theory.measure import exact_coefficient
from headcount.theory.problem import Norm, Problem

REF = Ref("headcount", "Theorem A: lag T by Chebyshev nodes, T lin heads beside x_t")
LARGEST_ETA = 0.999  # over all lags; on a window the nodes may reach 1
SMALLEST_ETA = 1e-12
LONGEST_SEARCHED = 64
LONGEST_TAIL = 4096  # lags of a window that are added up one by one


def nodes(T: int, eta: float) -> np.ndarray:
    """Chebyshev extrema on [0, eta], from the largest down to 0.  [T+1]"""
    return eta * (1 + np.cos(np.pi * np.arange(T + 1) / T)) / 2


def tail_error(T: int, eta: float, window: int | None = None) -> float:
    """The whole l1 error in exact arithmetic, over all lags or those below the window; beyond e^700
    that number stands for it.
    """
    x, beyond = nodes(T, eta), None if window is None else window - 1 - T
    if beyond is None or beyond > LONGEST_TAIL:
        return math.expm1(min(-float(np.log1p(-x).sum()), 700.0)) if eta < 1 else math.inf
    h = np.eye(1, beyond + 1)[0]  # the series of prod_j 1/(1 - x_j z)
    for node in x:
        h = scipy.signal.lfilter([1.0], [1.0, -node], h)
    return float(h[1:].sum())


def weight(T: int, eta: float) -> float:
    """sum|a| = 2^{2T-1}/eta^T; `inf` beyond the largest double."""
    return math.exp(log_weight(T, eta)) if log_weight(T, eta) < 700 else math.inf


def log_weight(T: int, eta: float) -> float:
    return (2 * T - 1) * math.log(2) - T * math.log(eta)


def _largest(window: int | None) -> float:
    return LARGEST_ETA if window is None or window > LONGEST_TAIL else 1.0


def eta_for(T: int, tol: float, window: int | None = None) -> float:
    """The largest eta (so the lightest weights) whose tail stays within `tol`."""
    largest = _largest(window)
    if tail_error(T, largest, window) <= tol:
        return largest
    return float(
        scipy.optimize.brentq(
            lambda eta: tail_error(T, eta, window) - tol, SMALLEST_ETA, largest, xtol=1e-15
        )
    )


def best_eta(T: int, precision: Precision, window: int | None = None) -> float:
    """Tail and rounding together least."""

    def cost(log: float) -> float:
        tail = max(tail_error(T, math.exp(log), window), 1e-300)
        rounding = math.log(precision.unit) + log_weight(T, math.exp(log))
        return float(np.logaddexp(math.log(tail), rounding))

    ends = (math.log(SMALLEST_ETA), math.log(_largest(window)))
    found = scipy.optimize.minimize_scalar(cost, bounds=ends, method="bounded")
    return float(math.exp(min([found.x, ends[1]], key=cost)))


@functools.lru_cache(maxsize=256)
def best_error(T: int, precision: Precision, window: int | None = None) -> float:
    """The least  tail + unit sum|a|  that these heads reach in this type."""
    eta = best_eta(T, precision, window)
    return tail_error(T, eta, window) + precision.unit * weight(T, eta)


def reach(precision: Precision, tol: float, window: int | None = None) -> int:
    """The longest lag that these heads bear within `tol` in this type; 0 where none."""
    lags = range(1, min(LONGEST_SEARCHED, window or LONGEST_SEARCHED))
    return max((T for T in lags if best_error(T, precision, window) <= tol), default=0)


@functools.lru_cache(maxsize=256)
def chebyshev_heads(
    T: int, eta: float, window: int | None = None, free: bool = False
) -> DrawnHeads:
    """The T + 1 heads as doubles, or T of them where x_t is free, measured. Rates are rounded
    first, coefficients belong to the rounded rates.
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
    kept = T if free else T + 1  # the last node is 0
    problem = Problem(Lag(T), Lin(), Norm.L1, window, residual=free)
    head_sum = HeadSum(Lin(), tuple(rates[:kept]), tuple(coefficients[:kept]))
    return as_doubles(problem, head_sum, f"{kept} Chebyshev nodes on [0, {eta:.3g}]")


def heads_within(
    T: int, tol: float, precision: Precision, window: int | None = None, free: bool = False
) -> DrawnHeads:
    """These heads within `tol`, or `Unreachable`."""
    budget = affordable(tol, precision)
    eta = eta_for(T, 0.97 * tol, window)
    made = chebyshev_heads(T, eta, window, free) if weight(T, eta) <= budget else None
    if made is not None and made.error <= tol:
        return made
    refuse_weight(Problem(Lag(T), Lin(), Norm.L1, window, budget), tol, precision)
    got = f"lag {T} within {tol:.3g} by Chebyshev nodes takes sum|a| = {weight(T, eta):.3g}"
    far = (
        f"{precision} reaches lag {reach(precision, tol, window)} by such heads; lag {T} within"
        f" {best_error(T, precision, window):.3g}"
    )
    fix = "allow more heads (theorem fixed), more digits (--precision float64), or use --bias peak"
    raise Unreachable(got, f"at most {budget:.3g} ({far})", fix)


@methods.register(
    "minimal",
    formula="a_h = 1/prod_{j != h}(x_h - x_j), x Chebyshev extrema on [0, eta]: T heads beside x_t",
    ref=REF,
)
@dataclasses.dataclass(frozen=True)
class FewestLinHeads(AbstractSum):
    """One layer, dot-product-free, lin bias, T heads per lag T beside x_t (T + 1 without it)."""

    ref = REF
    cost = 1
    planned = False
    families = (FixedMemory,)
    noun = "fixed memory"
    biases = ("lin",)
    bounded_tokens = True

    def further(self, target: FixedMemory, request: Request) -> list[Refusal]:
        reasons = one_position_reasons(target, request)
        beside, alone = sum(target.lags), sum(T + 1 for T in target.lags)
        if request.heads not in (None, beside, alone):
            got = f"{request.heads} heads, where T per lag are {beside} and T + 1 are {alone}"
            reasons.append(Refusal(RefusalKind.HEADS, got, expected="--construction fixed"))
        return reasons

    def weights(self, target: FixedMemory, request: Request) -> Draft:
        lags, precision = target.lags, request.precision
        readout = readout_for(target.readout, len(lags) + 1, target.inputs, request)
        free = request.heads != sum(T + 1 for T in lags)
        windows = [window_of(Lag(T), request) for T in lags]
        if request.tol is None:
            etas = [best_eta(T, precision, w) for T, w in zip(lags, windows, strict=True)]
            memories = [
                chebyshev_heads(T, eta, w, free)
                for T, eta, w in zip(lags, etas, windows, strict=True)
            ]
        else:
            each = share_of_tolerance(request, readout, target.inputs.bound, len(lags))
            memories = [
                heads_within(T, each, precision, w, free)
                for T, w in zip(lags, windows, strict=True)
            ]
        direct = [heads.missing_at_zero() if free else 0.0 for heads in memories]
        tol, length = request.tol or 0.1, request.length
        told = [
            f"such heads bear lag {reach(p, tol, length)} in {p} within {tol:g}, up to {length}"
            " tokens"
            for p in PRECISIONS
        ]
        best = {str(p): [best_error(T, p, length) for T in lags] for p in PRECISIONS}
        ending = Ending(
            REF,
            (*length_notes(request, memories), *told),
            {**facts_of(memories), "best_errors": best},
            first_of(request),
        )
        return lag_draft(target, request, memories, direct, readout, ending)
