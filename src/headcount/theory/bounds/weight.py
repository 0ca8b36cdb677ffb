"""The weight sum|a| that isolating lag T costs, whatever the number of heads: exact integer
certificates.

Duality. If sum_s w_s x^s is at most M in absolute value on [0, 1], |w_s| <= 1 and w_T = 1, then for
lin heads (x = e^{-b}, b >= 0)

    E = ||1{s=T} - f||_1 >= <w, 1{s=T} - f> >= 1 - M sum|a|,

so that E <= tol needs sum|a| >= (1 - tol)/M.

Theorem B (Chebyshev). T_n(2x-1) = sum_s q_s x^s is at most 1 on [0, 1]; let m be the place of its
largest coefficient. If m <= T then w = x^{T-m} T_n(2x-1)/q_m qualifies with M = 1/|q_m|. The best n
is the largest with m <= T; c_T = |q_m| grows like e^{2.46 T}.

(E) (binomial). For even j <= 2T and a = T - j/2, up to sign,

    w = x^a (1-x)^j / C(j, j/2),   M = a^a j^j / (a+j)^{a+j} / C(j, j/2),

an exact rational (the maximum is at x = a/(a+j)). Weaker, m_T ~ (3 - 2 sqrt 2)^T, but it uses only
lags T-j/2..T+j/2.

log and log1p. For b > 0 and n >= 1, n^{-b} = int_0^inf e^{-(n-1)u} dG(u) with G the Gamma(b)
probability law, since Gamma(b) n^{-b} = int u^{b-1} e^{-nu} du. (b = 0 is the lin head of rate 0.)
So a log head on lags s >= 1 is an average of lin heads in s - 1, and a log1p head an average of lin
heads in s: averages do not raise max|sum_s w_s phi(s)|, hence the bounds of lin hold with T - 1 for
log and with T for log1p. Where lag 0 does not count (the residual gives it) they hold with T - 1
for all three: x sum_s w_s x^s is at most M, too.
"""

import functools
import math
from fractions import Fraction
from typing import Any

from flint import fmpz_poly

from headcount.core.claims import Claim, Lags, Norm
from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.kernels import Lag
from headcount.theory.balls import round_down
from headcount.theory.problem import Problem

CHEBYSHEV = Ref("headcount", "Theorem B: shifted Chebyshev certificate")
BINOMIAL = Ref("headcount", "docs/theory.md#binomial")


def weight_needed(problem: Problem, tol: float, method: str = "chebyshev") -> Claim:
    """What an error of `tol` costs: no heads with sum|a| below the claim's weight come so close.

    By `method` chebyshev (the better one) or binomial; for one lag in l1.
    """
    kernel, first = problem.kernel, problem.first_lag
    known = isinstance(kernel, Lag) and problem.norm is Norm.L1
    fix = "ask for lower_bound, which serves every kernel"
    require(known, f"{kernel} in {problem.norm}", "one lag in l1", fix)
    assert isinstance(kernel, Lag)
    seen = f"at least {first}, which {problem.family.name} heads see"
    require(kernel.T >= first, f"lag {kernel.T}", seen, "choose a later lag")
    expected = "at least 0 and below 1 (the zero kernel has error 1)"
    require(0 <= tol < 1, f"tolerance {tol}", expected, "lower it")
    known = method in ("chebyshev", "binomial")
    require(known, f"method {method!r}", "chebyshev or binomial", "choose one")
    lag, share = kernel.T - first, 1 - Fraction(tol)
    if method == "binomial":
        top, j = binomial_maximum(lag)
        if lag + j // 2 + first not in problem.scope().lags:
            top, j = Fraction(1), 0
        evidence: dict[str, Any] = {"kind": "binomial", "lag": lag, "power": j}
        ref, used = BINOMIAL, lag + j // 2
    else:
        evidence, used = chebyshev_evidence(problem, lag)
        top, ref = Fraction(1, abs(evidence["coefficients"][evidence["place"]])), CHEBYSHEV
    evidence["weight"] = ((share / top).numerator, (share / top).denominator)
    proved = {"lowest_rate": 0.0, "lags": Lags(first, first + used + 1)}
    return problem.at_least(tol, method, ref, evidence, weight=round_down(share / top), **proved)


def log10_weight(claim: Claim) -> float:
    """Decimal logarithm of the weight, which outgrows a double from T about 290."""
    numerator, denominator = claim.evidence["weight"]
    return _log10(numerator) - _log10(denominator)


def budget_claim(problem: Problem) -> Claim | None:
    """Theorem B as a lower bound of the error at the problem's budget; None where it does not
    apply (only lags, l1).
    """
    kernel = problem.kernel
    lag = kernel.T - problem.first_lag if isinstance(kernel, Lag) else -1
    if problem.norm is not Norm.L1 or not math.isfinite(problem.budget) or lag < 0:
        return None
    evidence, used = chebyshev_evidence(problem, lag)
    top = Fraction(1, abs(evidence["coefficients"][evidence["place"]]))
    value = round_down(1 - Fraction(problem.budget) * top)
    lags = Lags(problem.first_lag, problem.first_lag + used + 1)
    return problem.at_least(value, "chebyshev", CHEBYSHEV, evidence, lowest_rate=0.0, lags=lags)


def chebyshev_evidence(problem: Problem, lag: int) -> tuple[dict[str, Any], int]:
    """The polynomial with the largest coefficient whose lags all exist, and its last lag, counted
    from the first that counts.
    """
    _, degree, place = chebyshev_constant(lag)
    lags = problem.scope().lags
    if problem.first_lag + lag - place + degree not in lags:
        low = 0  # the last lag grows with the degree, and degree 0 needs none beyond T
        while degree - low > 1:
            middle = (low + degree) // 2
            inside = problem.first_lag + lag - _place(middle) + middle in lags
            low, degree = (middle, degree) if inside else (low, middle)
        degree, place = low, _place(low)
    evidence = {
        "kind": "chebyshev",
        "lag": lag,
        "degree": degree,
        "place": place,
        "coefficients": shifted_chebyshev(degree),
    }
    return evidence, lag - place + degree


@functools.lru_cache(maxsize=512)
def chebyshev_constant(T: int) -> tuple[int, int, int]:
    """(c_T, degree n, place m): the largest n whose largest coefficient sits at m <= T; the
    place never moves back as n grows.
    """
    low, high = 0, 2 * T + 4  # the place is about n/sqrt 2, so 2T + 4 is beyond
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _place(middle) <= T else (low, middle)
    m = _place(low)
    return abs(shifted_chebyshev(low)[m]), low, m


def _place(degree: int) -> int:
    sizes = [abs(c) for c in shifted_chebyshev(degree)]
    return sizes.index(max(sizes))


@functools.lru_cache(maxsize=64)
def shifted_chebyshev(degree: int) -> tuple[int, ...]:
    """Integer coefficients of T_n(2x-1), by the three-term recurrence."""
    before, now, z = fmpz_poly([1]), fmpz_poly([-1, 2]), fmpz_poly([-2, 4])
    if degree == 0:
        return (1,)
    for _ in range(degree - 1):
        before, now = now, z * now - before
    return tuple(int(c) for c in now.coeffs())


@functools.lru_cache(maxsize=512)
def binomial_maximum(T: int) -> tuple[Fraction, int]:
    """(m_T, j): min over even j <= 2T of max_x x^{T-j/2}(1-x)^j / C(j, j/2), exactly."""
    # asymptotically optimal; the function of j is unimodal around it
    guess = round(T * math.sqrt(2) / 2) * 2
    choices = [j for j in range(max(0, guess - 8), min(2 * T, guess + 8) + 1, 2)]
    return min((_binomial(T, j), j) for j in choices)


def _binomial(T: int, j: int) -> Fraction:
    a = T - j // 2
    return Fraction(a**a * j**j, (a + j) ** (a + j) * math.comb(j, j // 2))


def _log10(n: int) -> float:
    digits = max(0, n.bit_length() - 1000)
    return math.log10(n >> digits) + digits * math.log10(2)
