"""Re-verify a lower bound from its certificate, in ball arithmetic, with code of its own.

Nothing here is shared with the files that produce bounds, except kernels, families and balls. The
methods differ on purpose: the maximum over all rates is bounded by Bernstein coefficients instead
of shifted Taylor sums, and the Chebyshev certificate by Pell's identity n^2 q^2 + x(1-x) q'^2 = n^2
(which forces |q| <= 1 on [0, 1]) instead of by recurrence. A certificate that proves less than the
value claims, or proves it for another problem, is refused.
"""

import itertools
import math
from fractions import Fraction
from typing import Any

from flint import arb, arb_mat, arb_poly, fmpq_mat, fmpz_poly
from flint import fmpq as rational

from headcount.memory.kernels import Lag, Window
from headcount.theory.balls import kernel_values, precision
from headcount.theory.bounds.record import LowerBound
from headcount.theory.bounds.weight import WeightBound
from headcount.theory.heads import AbstractFamily, Lin
from headcount.theory.problem import Norm, Problem

BITS = 192
DEGREE = 24
MOST_PIECES = 200_000


def check(problem: Problem, bound: LowerBound) -> bool:
    """Does the certificate prove that `problem` cannot be solved below `bound.value` (for
    bound.heads, bound.budget, rates >= bound.lowest_rate)?
    """
    same_norm = bound.norm == problem.norm
    covers = bound.budget is None or problem.budget <= bound.budget
    sane = (
        bound.certified
        and math.isfinite(bound.value)
        and bound.value >= 0
        and bound.lowest_rate >= 0
        and bound.missing == ""
    )
    kind = bound.certificate.get("kind")
    if not (same_norm and covers and sane and kind in CHECKS):
        return False
    if bound.value == 0:
        return True
    try:
        with precision(BITS):
            return bool(CHECKS[kind](problem, bound, bound.certificate))
    except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):
        return False


def check_weight(bound: WeightBound) -> bool:
    """Does the certificate prove that lag T within `tol` costs `bound.weight`?"""
    share = 1 - Fraction(bound.tol)
    top = _polynomial_maximum(bound.certificate, bound.T - bound.family.first_lag)
    return top is not None and bound.weight * top <= share


def _first(problem: Problem) -> int:
    """The first lag that the norm counts; lag 0 is free where the residual gives it."""
    return max(
        problem.family.first_lag, int(problem.kernel.singular_at_zero), int(problem.residual)
    )


def _exists(problem: Problem, lag: int) -> bool:
    """Does this lag count in the problem's norm?"""
    return lag >= _first(problem) and (lag < problem.length or problem.tail_counts)


# --- budget: dual vector --------------------------------------------------------------------------


def _dual(problem: Problem, bound: LowerBound, c: dict[str, Any]) -> bool:
    lags, y = [int(s) for s in c["lags"]], [float(v) for v in c["y"]]
    if (
        bound.heads is not None
        or bound.budget is None
        or len(lags) != len(y)
        or len(set(lags)) != len(lags)
    ):
        return False
    if not all(_exists(problem, s) for s in lags) or not all(math.isfinite(v) for v in y):
        return False
    rho = kernel_values(problem.kernel, max(lags) + 1)
    exact = [arb(v) for v in y]
    inner = sum((v * rho[s] for s, v in zip(lags, exact, strict=True)), arb(0))
    sizes = [abs(v) for v in exact]
    total = {
        Norm.L1: lambda: arb(max(abs(v) for v in y)),
        Norm.L2: lambda: sum((v * v for v in sizes), arb(0)).sqrt(),
        Norm.SUP: lambda: sum(sizes, arb(0)),
    }[bound.norm]()
    # what max_b |g(b)| may be
    allowed = ((inner - arb(bound.value) * total) / arb(bound.budget)).lower()
    return bool(allowed > 0) and _never_above(
        problem.family, dict(zip(lags, exact, strict=True)), bound.lowest_rate, allowed
    )


def _never_above(family: AbstractFamily, y: dict[int, arb], lowest: float, allowed: arb) -> bool:
    """|sum_s y_s phi(s; b)| <= allowed for every b in [lowest, inf]?"""
    length = max(y) + 1
    unit = family.curve(1.0, length)
    logs = {s: -unit[s].log() for s in y}
    steps = {s: [v] for s, v in y.items()}
    for s, row in steps.items():
        for k in range(1, DEGREE + 1):
            row.append(row[-1] * -logs[s] / k)
    derivatives = arb_mat([steps[s][:DEGREE] for s in y])
    highest = arb_mat([[abs(steps[s][DEGREE])] for s in y])
    # so that interval ends are exact
    bernstein, left = _bernstein(DEGREE - 1), math.floor(lowest * 2.0**30) / 2.0**30
    small = allowed * arb(2.0**-32)
    while True:
        curve = family.curve(left, length)
        limit = family.curve(math.inf, length)
        beyond = sum((abs(v) * curve[s] for s, v in y.items()), arb(0))
        if beyond <= allowed:
            return True
        moving = sum((abs(v) * (curve[s] - limit[s]) for s, v in y.items()), arb(0))
        at_infinity = abs(sum((v * limit[s] for s, v in y.items()), arb(0)))
        if at_infinity + moving <= allowed:
            return True
        if left > 2.0**12:
            return False
        rest = abs((arb_mat([[curve[s] for s in y]]) * highest)[0, 0])
        half = 2.0**6
        while half > 2.0**-30 and not rest * arb(half) ** DEGREE <= small:
            half /= 2
        centre = family.curve(left + half, length)
        taylor = arb_mat([[centre[s] for s in y]]) * derivatives
        poly = arb_poly([taylor[0, k] * arb(half) ** k for k in range(DEGREE)])
        if not _bounded(poly, bernstein, allowed - rest * arb(half) ** DEGREE):
            return False
        left += 2 * half


def _bernstein(degree: int) -> arb_mat:
    """Power basis on [-1, 1] → Bernstein coefficients: substitute tau = 2u - 1, then b_i = sum_k
    C(i,k)/C(n,k) a_k.
    """
    shift = [
        [
            rational(math.comb(k, j) * 2**j * (-1) ** (k - j)) if j <= k else rational(0)
            for k in range(degree + 1)
        ]
        for j in range(degree + 1)
    ]
    raise_ = [
        [
            rational(math.comb(i, k), math.comb(degree, k)) if k <= i else rational(0)
            for k in range(degree + 1)
        ]
        for i in range(degree + 1)
    ]
    return arb_mat(fmpq_mat(raise_) * fmpq_mat(shift))


def _bounded(poly: arb_poly, bernstein: arb_mat, allowed: arb) -> bool:
    """|poly| <= allowed on [-1, 1]? A polynomial lies in the hull of its Bernstein coefficients;
    bisect until that shows.
    """
    size = bernstein.ncols()
    work = [(0.0, 1.0)]
    for _ in range(MOST_PIECES):
        if not work:
            return True
        centre, half = work.pop()
        piece = poly(arb_poly([centre, half])).coeffs()
        piece = piece + [arb(0)] * (size - len(piece))
        hull = bernstein * arb_mat([[x] for x in piece])
        if all(abs(hull[i, 0]) <= allowed for i in range(size)):
            continue
        if not abs(piece[0]) <= allowed or half < 2.0**-30:
            return False
        work += [(centre - half / 2, half / 2), (centre + half / 2, half / 2)]
    return False


# --- weight: exact polynomials --------------------------------------------------------------------


def _polynomial_maximum(c: dict[str, Any], lag: int) -> Fraction | None:
    """M with |sum_s w_s x^s| <= M on [0, 1], |w_s| <= 1, w_lag = 1 up to sign; None when the
    certificate does not show it.
    """
    if c.get("lag") != lag:
        return None
    if c["kind"] == "binomial":
        j = int(c["power"])
        a = lag - j // 2
        if j < 0 or j % 2 or a < 0:
            return None
        at = Fraction(a, a + j) if a + j else Fraction(0)  # zero of the derivative of x^a (1-x)^j
        return at**a * (1 - at) ** j / math.comb(j, j // 2)
    q, n, m = fmpz_poly([int(v) for v in c["coefficients"]]), int(c["degree"]), int(c["place"])
    slope = q.derivative()
    pell = (
        n * n * q * q + fmpz_poly([0, 1, -1]) * slope * slope == fmpz_poly([n * n])
        if n
        else q * q == fmpz_poly([1])
    )
    sizes = [abs(int(v)) for v in q.coeffs()]
    if not pell or not 0 <= m <= lag or m >= len(sizes) or sizes[m] != max(sizes):
        return None
    return Fraction(1, sizes[m])


def _chebyshev(problem: Problem, bound: LowerBound, c: dict[str, Any]) -> bool:
    kernel = problem.kernel
    if (
        not isinstance(kernel, Lag)
        or bound.norm is not Norm.L1
        or bound.budget is None
        or bound.heads is not None
    ):
        return False
    top = _polynomial_maximum(c, kernel.T - _first(problem))
    return top is not None and Fraction(bound.value) <= 1 - Fraction(bound.budget) * top


# --- number of heads ------------------------------------------------------------------------------


def _isolated(problem: Problem, bound: LowerBound, c: dict[str, Any]) -> bool:
    H, places, kernel = int(c["heads"]), [int(s) for s in c["places"]], problem.kernel
    first = _first(problem)
    apart = all(b - a > 2 * H for a, b in itertools.pairwise(places))
    if (
        bound.heads != H
        or H < 1
        or not apart
        or any(s - first < H for s in places)
        or not all(_exists(problem, s + H) for s in places)
    ):
        return False
    if bound.norm is not Norm.L1 and len(places) != 1:
        return False
    rho = kernel_values(kernel, max(places) + H + 1)
    total = arb(0)
    for s in places:
        window = [(t, rho[t] * (-1) ** (t - s)) for t in range(s - H, s + H + 1) if t != s]
        if bound.norm is not Norm.L1 and not all(r == 0 for _, r in window):
            return False
        signs = [r if rho[s] > 0 else -r for _, r in window]
        total += abs(rho[s]) - sum((abs(r) for r in signs if not r >= 0), arb(0))
    coins = arb(1 + 3 * (H if isinstance(problem.family, Lin) else H + 1))
    share = {Norm.L1: arb(1), Norm.SUP: coins ** arb(-0.5), Norm.L2: coins ** arb(-0.25)}[
        bound.norm
    ]
    return bool(arb(bound.value) <= total * share)


def _block(problem: Problem, bound: LowerBound, c: dict[str, Any]) -> bool:
    kernel, H = problem.kernel, int(c["heads"])
    if not isinstance(kernel, Window) or kernel.kernel is not None or bound.norm is not Norm.L1:
        return False
    return bound.heads == H >= 1 and kernel.length - 1 - _first(problem) >= H and bound.value <= 0.5


def _zeros(problem: Problem, bound: LowerBound, c: dict[str, Any]) -> bool:
    H, blocks = int(c["heads"]), [tuple(int(v) for v in b) for b in c["blocks"]]
    rates, coefficients = [float(b) for b in c["rates"]], [float(a) for a in c["coefficients"]]
    ordered = all(a[1] <= b[0] and a[2] == -b[2] for a, b in itertools.pairwise(blocks))
    regular = (
        all(0 < b < math.inf for b in rates) and len(rates) == len(coefficients) <= H == bound.heads
    )
    inside = all(
        s < t and _exists(problem, s) and _exists(problem, t - 1) and sign in (-1, 1)
        for s, t, sign in blocks
    )
    if not (ordered and regular and inside) or len(blocks) < 2 * H + 1:
        return False
    length = blocks[-1][1]
    curves = [problem.family.curve(b, length) for b in rates]
    rho = kernel_values(problem.kernel, length)
    masses = []
    for start, stop, sign in blocks:
        left = [
            rho[s] - sum((arb(a) * f[s] for a, f in zip(coefficients, curves, strict=True)), arb(0))
            for s in range(start, stop)
        ]
        certain = [sign * r for r in left if sign * r > 0]
        if bound.norm is Norm.SUP:
            masses.append(max((r.lower() for r in certain), key=float, default=arb(0)))
        else:
            masses.append(
                sum((r if bound.norm is Norm.L1 else r * r for r in certain), arb(0)).lower()
            )
    masses.sort(key=float)
    fewest = (len(blocks) - 2 * H + 1) // 2
    claim = arb(bound.value) ** 2 if bound.norm is Norm.L2 else arb(bound.value)
    return bool(
        claim <= (masses[fewest - 1] if bound.norm is Norm.SUP else sum(masses[:fewest], arb(0)))
    )


CHECKS = {
    "trivial": lambda problem, bound, c: bound.value == 0,
    "dual": _dual,
    "chebyshev": _chebyshev,
    "isolated": _isolated,
    "block": _block,
    "zeros": _zeros,
}
