"""Re-verify a lower bound from its evidence, in ball arithmetic, with code of its own.

Nothing here is shared with the files that produce bounds, except kernels, families and balls. (One
of these files, `branch`, only searches, and claims what is proved here.) The methods differ on
purpose: the maximum over all rates is bounded by Bernstein coefficients instead of shifted Taylor
sums, and the Chebyshev certificate by Pell's identity n^2 q^2 + x(1-x) q'^2 = n^2
(which forces |q| <= 1 on [0, 1]) instead of by recurrence. A claim whose evidence proves less than
its value, or for a narrower scope than it says, is refused: the checker takes the claim alone, and
every field of the scope is either used in the proof or required to be what all proofs here are
about (one dot-product-free layer in exact arithmetic). Where the readout is any function, tokens
must fill a ball, x_t is free and weights have no limit: then the error of a readout is an l1 error
of sums (`recovery`), and proofs by number of heads carry over.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from flint import arb, fmpz_poly

from headcount.core.claims import SIGNS, Claim, Norm, Readout, Scope, Sense, Status
from headcount.memory.kernels import AbstractKernel, Lag, Power, Window
from headcount.theory.balls import kernel_values, precision
from headcount.theory.bounds.check_branch import branched
from headcount.theory.bounds.check_codes import CHECKS as CODES
from headcount.theory.bounds.check_codes import check_code
from headcount.theory.bounds.check_continuum import never_above
from headcount.theory.bounds.check_pairs import confused
from headcount.theory.bounds.check_squeeze import check_precision, squeezed
from headcount.theory.heads import DECAYS, AbstractDecay, Lin

BITS = 192
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
        free = self.kernel.singular_at_zero or self.scope.readout is Readout.ANY
        return max(self.family.first_lag, int(free), self.scope.lags.first)

    def exists(self, lag: int) -> bool:
        """Does this lag count?"""
        return lag >= self.first and lag in self.scope.lags


def check(claim: Claim) -> bool:
    """Does the evidence prove the claim, for the whole of its scope?"""
    try:
        with precision(BITS):
            return _holds(claim)
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError, RecursionError):
        return False


def _holds(claim: Claim) -> bool:
    scope, kind = claim.scope, claim.evidence.get("kind")
    if kind in CODES:
        return check_code(claim)
    about = isinstance(claim.subject, AbstractKernel) and scope.bias in DECAYS
    layer = scope.layers == 1 or _one_system(claim)
    plain = layer and not scope.dot_product and _recovered_or_linear(scope)
    limits = (scope.weight, scope.lowest_rate, scope.resolution)
    exact = scope.precision is None and all(float(limit) >= 0 for limit in limits)
    lower = claim.sense is Sense.AT_LEAST and claim.status is Status.PROVED
    sane = math.isfinite(claim.value) and claim.value >= 0
    if not (about and plain and exact and lower and sane and kind in CHECKS):
        return False
    if claim.value == 0:
        return True
    assert isinstance(claim.subject, AbstractKernel)
    assert scope.bias is not None
    case = _Case(claim.subject, DECAYS[scope.bias], scope, _for_unit_tokens(claim))
    return bool(CHECKS[kind](case, claim.evidence))


def _one_system(claim: Claim) -> bool:
    """Several layers of lin heads that are not normalised, added up linearly: one linear system,
    whose states count as heads beside a free x_t (`depth`)."""
    scope = claim.scope
    lin = scope.bias == "lin" and not scope.normalised and scope.readout is Readout.LINEAR
    counted = scope.state is not None and scope.norm is Norm.L1 and scope.lags.first >= 1
    lin = lin and scope.neurons == 0  # between two layers they decode what one state holds
    return lin and counted and claim.evidence.get("kind") == "isolated"


def _for_unit_tokens(claim: Claim) -> float:
    """The value for tokens of norm 1, where it is about a ball of them; rounded up."""
    if claim.scope.readout is not Readout.ANY:
        return claim.value
    value, radius = claim.value / claim.scope.tokens.radius, Fraction(claim.scope.tokens.radius)
    return math.nextafter(value, math.inf) if Fraction(value) * radius < claim.value else value


def _recovered_or_linear(scope: Scope) -> bool:
    """A linear readout; or any one, where tokens fill a ball, errors are l1 and weights free."""
    if scope.readout is Readout.LINEAR:
        return SIGNS <= scope.tokens
    ball = scope.tokens.letters is None and 0 < scope.tokens.radius < math.inf
    return ball and scope.norm is Norm.L1 and math.isinf(scope.weight)


# --- any readout: a pair of sequences -------------------------------------------------------------


def _pair(case: _Case, c: Evidence) -> bool:
    """Do all heads of the scope confuse d with -d, and are the answers far enough apart?"""
    if case.scope.readout is not Readout.ANY or not all(case.exists(int(s)) for s in c["lags"]):
        return False
    pair = confused(case.family, case.scope, c)
    rho = kernel_values(case.kernel, max(int(s) for s in c["lags"]) + 1)
    return pair is not None and bool(
        arb(case.value) <= sum((v * rho[s] for s, v in pair.items()), arb(0))
    )


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
    return bool(allowed > 0) and never_above(case.family, vector, case.scope.lowest_rate, allowed)


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
    recovered = scope.readout is Readout.ANY and scope.resolution > 0
    if not isinstance(kernel, Lag) or scope.norm is not Norm.L1:
        return False
    if not (recovered or math.isfinite(scope.weight)):
        return False
    lag = kernel.T - case.first
    top = _polynomial_maximum(c, lag)
    used = (lag, 0 if top is None else _last_power(c, lag))
    if top is None or not all(case.exists(case.first + power) for power in used):
        return False
    if recovered:  # the polynomial is the pair, cut down to what the heads do not see
        return Fraction(case.value) <= min(Fraction(1), Fraction(scope.resolution) / top)
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
    few = scope.state if scope.layers != 1 else scope.heads
    if few is None or not 1 <= few <= H or not apart or not late:
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
    if scope.norm is Norm.L1:
        return bool(arb(case.value) <= total)
    # value <= total coins^(-1/k), without the root: both sides can be equal, and four powers of a
    # double are exact only in more bits
    k = 2 if scope.norm is Norm.SUP else 4
    with precision(2 * BITS):
        return bool(total >= 0) and bool(arb(case.value) ** k * coins <= total**k)


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
            masses.append(max((r.lower() for r in certain), key=arb.fmpq, default=arb(0)))
        else:
            masses.append(sum((r if norm is Norm.L1 else r * r for r in certain), arb(0)).lower())
    masses.sort(key=arb.fmpq)  # to the last bit
    fewest = (len(blocks) - 2 * H + 1) // 2
    claimed = arb(case.value) ** 2 if norm is Norm.L2 else arb(case.value)
    proved = masses[fewest - 1] if norm is Norm.SUP else sum(masses[:fewest], arb(0))
    return bool(claimed <= proved)


def _added(coefficients: list[float], curves: list[list[arb]], s: int) -> arb:
    return sum((arb(a) * f[s] for a, f in zip(coefficients, curves, strict=True)), arb(0))


def _squeeze(case: _Case, c: Evidence) -> bool:
    H, (first, stop) = int(c["heads"]), (int(s) for s in c["lags"])
    scope, most = case.scope, case.scope.heads
    counted = case.exists(first) and case.exists(stop - 1) and scope.norm is Norm.L1
    if not (isinstance(case.kernel, Power) and isinstance(case.family, Lin) and counted):
        return False
    if most is None or not 1 <= most <= H:
        return False
    with check_precision(H):
        proved = squeezed(arb(case.kernel.exponent), first, stop, c)
        return proved is not None and bool(arb(case.value) <= proved)


def _branch(case: _Case, c: Evidence) -> bool:
    H, edges, scope = int(c["heads"]), [int(s) for s in c["blocks"]], case.scope
    counted = all(case.exists(s) for s in (edges[0], edges[-1] - 1))
    few = scope.heads is not None and 1 <= scope.heads <= H
    if not (counted and few and math.isfinite(scope.weight)):
        return False
    rho = kernel_values(case.kernel, edges[-1])
    limits = (scope.weight, scope.norm, scope.lowest_rate)
    return branched(rho, case.family, *limits, arb(case.value), c)


CHECKS: dict[str, Callable[[_Case, Evidence], bool]] = {
    "trivial": lambda case, c: case.value == 0,
    "pair": _pair,
    "pair-at-rates": _pair,
    "dual": _dual,
    "chebyshev": _polynomial,
    "binomial": _polynomial,
    "isolated": _isolated,
    "block": _block,
    "zeros": _zeros,
    "squeeze": _squeeze,
    "branch": _branch,
}
