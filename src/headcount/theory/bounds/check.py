"""Re-verify a lower bound from its evidence, in ball arithmetic, with code of its own.

Nothing here is shared with the files that produce bounds, except kernels, families and balls. The
methods differ on purpose: the maximum over all rates is bounded by Bernstein coefficients instead
of shifted Taylor sums, and the Chebyshev certificate by Pell's identity n^2 q^2 + x(1-x) q'^2 = n^2
(which forces |q| <= 1 on [0, 1]) instead of by recurrence. A claim whose evidence proves less than
its value, or for a narrower scope than it says, is refused: the checker takes the claim alone, and
every field of the scope is either used in the proof or required to be what all proofs here are
about (one dot-product-free layer, added up linearly, in exact arithmetic).
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from flint import arb, arb_mat, arb_poly, fmpq_mat, fmpz_poly
from flint import fmpq as rational

from headcount.core.claims import SIGNS, Claim, Norm, Readout, Scope, Sense, Status
from headcount.memory.kernels import AbstractKernel, Lag, Window
from headcount.theory.balls import kernel_values, precision
from headcount.theory.heads import DECAYS, AbstractDecay, Lin

BITS = 192
DEGREE = 24
MOST_PIECES = 200_000
Evidence = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class _Case:
    """A claim about a kernel, unpacked."""

    kernel: AbstractKernel
    family: AbstractDecay
    scope: Scope
    value: float

    @property
    def first(self) -> int:
        """The first lag that a proof may use: seen by the heads, a number, and counted."""
        seen = max(self.family.first_lag, int(self.kernel.singular_at_zero))
        return max(seen, self.scope.lags.first)

    def exists(self, lag: int) -> bool:
        """Does this lag count?"""
        return lag >= self.first and lag in self.scope.lags


def check(claim: Claim) -> bool:
    """Does the evidence prove the claim, for the whole of its scope?"""
    scope, kind = claim.scope, claim.evidence.get("kind")
    about = isinstance(claim.subject, AbstractKernel) and scope.bias in DECAYS
    linear = scope.layers == 1 and not scope.dot_product and scope.readout is Readout.LINEAR
    exact = scope.precision is None and SIGNS <= scope.tokens and scope.lowest_rate >= 0
    lower = claim.sense is Sense.AT_LEAST and claim.status is Status.PROVED
    sane = math.isfinite(claim.value) and claim.value >= 0
    if not (about and linear and exact and lower and sane and kind in CHECKS):
        return False
    if claim.value == 0:
        return True
    assert isinstance(claim.subject, AbstractKernel)
    assert scope.bias is not None
    case = _Case(claim.subject, DECAYS[scope.bias], scope, claim.value)
    try:
        with precision(BITS):
            return bool(CHECKS[kind](case, claim.evidence))
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError):
        return False


# --- budget: dual vector --------------------------------------------------------------------------


def _dual(case: _Case, c: Evidence) -> bool:
    lags, y = [int(s) for s in c["lags"]], [float(v) for v in c["y"]]
    weight, norm = case.scope.weight, case.scope.norm
    if not math.isfinite(weight) or len(lags) != len(y) or len(set(lags)) != len(lags):
        return False
    if not all(case.exists(s) for s in lags) or not all(math.isfinite(v) for v in y):
        return False
    rho = kernel_values(case.kernel, max(lags) + 1)
    exact = [arb(v) for v in y]
    inner = sum((v * rho[s] for s, v in zip(lags, exact, strict=True)), arb(0))
    sizes = [abs(v) for v in exact]
    total = {
        Norm.L1: lambda: arb(max(abs(v) for v in y)),
        Norm.L2: lambda: sum((v * v for v in sizes), arb(0)).sqrt(),
        Norm.SUP: lambda: sum(sizes, arb(0)),
    }[norm]()
    # what max_b |g(b)| may be
    allowed = ((inner - arb(case.value) * total) / arb(weight)).lower()
    vector = dict(zip(lags, exact, strict=True))
    return bool(allowed > 0) and _never_above(case.family, vector, case.scope.lowest_rate, allowed)


def _never_above(family: AbstractDecay, y: dict[int, arb], lowest: float, allowed: arb) -> bool:
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
    """Power basis on [-1, 1] → Bernstein coefficients: substitute tau = 2u - 1, then
    b_i = sum_k C(i,k)/C(n,k) a_k.
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


def _polynomial_maximum(c: Evidence, lag: int) -> Fraction | None:
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
    if not pell or n != q.degree() or not 0 <= m <= lag or sizes[m] != max(sizes):
        return None  # the identity alone holds for -n, and for a constant with every n
    return Fraction(1, sizes[m])


def _polynomial(case: _Case, c: Evidence) -> bool:
    kernel, scope = case.kernel, case.scope
    if not isinstance(kernel, Lag) or scope.norm is not Norm.L1 or not math.isfinite(scope.weight):
        return False
    lag = kernel.T - case.first
    top = _polynomial_maximum(c, lag)
    used = (lag, 0 if top is None else _last_power(c, lag))
    if top is None or not all(case.exists(case.first + power) for power in used):
        return False
    return Fraction(case.value) <= 1 - Fraction(scope.weight) * top


def _last_power(c: Evidence, lag: int) -> int:
    """The last lag that the polynomial uses, counted from the first."""
    if c["kind"] == "binomial":
        return lag + int(c["power"]) // 2
    return lag - int(c["place"]) + int(c["degree"])


# --- number of heads ------------------------------------------------------------------------------


def _isolated(case: _Case, c: Evidence) -> bool:
    H, places, scope = int(c["heads"]), [int(s) for s in c["places"]], case.scope
    apart = all(b - a > 2 * H for a, b in itertools.pairwise(places))
    after = _lags_after(case.family, H)
    late = all(s - case.first >= H and case.exists(s + after) for s in places)
    if scope.heads is None or not 1 <= scope.heads <= H or not apart or not late:
        return False
    if scope.norm is not Norm.L1 and len(places) != 1:
        return False
    rho = kernel_values(case.kernel, max(places) + after + 1)
    total = arb(0)
    for s in places:
        window = [(t, rho[t] * (-1) ** (t - s)) for t in range(s - H, s + after + 1) if t != s]
        if scope.norm is not Norm.L1 and not all(r == 0 for _, r in window):
            return False
        signs = [r if rho[s] > 0 else -r for _, r in window]
        total += abs(rho[s]) - sum((abs(r) for r in signs if not r >= 0), arb(0))
    coins = arb(1 + 3 * (H if isinstance(case.family, Lin) else H + 1))
    share = {Norm.L1: arb(1), Norm.SUP: coins ** arb(-0.5), Norm.L2: coins ** arb(-0.25)}
    return bool(arb(case.value) <= total * share[scope.norm])


def _lags_after(family: AbstractDecay, H: int) -> int:
    """The largest place m that a coefficient of largest size can have: (H+1)/2 of H factors for
    lin; for the others H - 1 factors, and one power more for the squared factor.
    """
    return math.ceil(H / 2) if isinstance(family, Lin) else math.ceil((H - 1) / 2) + 1


def _block(case: _Case, c: Evidence) -> bool:
    kernel, H, scope = case.kernel, int(c["heads"]), case.scope
    if not isinstance(kernel, Window) or kernel.kernel is not None or scope.norm is not Norm.L1:
        return False
    late = kernel.length - 1 - case.first >= H
    late = late and case.exists(kernel.length + _lags_after(case.family, H))
    return scope.heads is not None and 1 <= scope.heads <= H and late and case.value <= 0.5


def _zeros(case: _Case, c: Evidence) -> bool:
    H, blocks = int(c["heads"]), [tuple(int(v) for v in b) for b in c["blocks"]]
    rates, coefficients = [float(b) for b in c["rates"]], [float(a) for a in c["coefficients"]]
    norm, most = case.scope.norm, case.scope.heads
    ordered = all(a[1] <= b[0] and a[2] == -b[2] for a, b in itertools.pairwise(blocks))
    regular = all(0 < b < math.inf for b in rates) and len(rates) == len(coefficients) <= H
    inside = all(
        s < t and case.exists(s) and case.exists(t - 1) and sign in (-1, 1) for s, t, sign in blocks
    )
    if not (ordered and regular and inside) or len(blocks) < 2 * H + 1:
        return False
    if most is None or not 1 <= most <= H:
        return False
    length = blocks[-1][1]
    curves = [case.family.curve(b, length) for b in rates]
    rho = kernel_values(case.kernel, length)
    masses = []
    for start, stop, sign in blocks:
        drawn = [_added(coefficients, curves, s) for s in range(start, stop)]
        left = [rho[s] - g for s, g in zip(range(start, stop), drawn, strict=True)]
        certain = [sign * r for r in left if sign * r > 0]
        if norm is Norm.SUP:
            masses.append(max((r.lower() for r in certain), key=float, default=arb(0)))
        else:
            masses.append(sum((r if norm is Norm.L1 else r * r for r in certain), arb(0)).lower())
    masses.sort(key=float)
    fewest = (len(blocks) - 2 * H + 1) // 2
    claimed = arb(case.value) ** 2 if norm is Norm.L2 else arb(case.value)
    proved = masses[fewest - 1] if norm is Norm.SUP else sum(masses[:fewest], arb(0))
    return bool(claimed <= proved)


def _added(coefficients: list[float], curves: list[list[arb]], s: int) -> arb:
    return sum((arb(a) * f[s] for a, f in zip(coefficients, curves, strict=True)), arb(0))


CHECKS: dict[str, Callable[[_Case, Evidence], bool]] = {
    "trivial": lambda case, c: case.value == 0,
    "dual": _dual,
    "chebyshev": _polynomial,
    "binomial": _polynomial,
    "isolated": _isolated,
    "block": _block,
    "zeros": _zeros,
}
