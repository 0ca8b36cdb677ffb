"""The weight sum|a| that isolating lag T costs, whatever the number of heads: exact integer
certificates.

Duality. If sum_s w_s x^s is at most M in absolute value on [0, 1], |w_s| <= 1 and w_T = 1, then for
lin heads (x = e^{-b}, b >= 0)

    E = ||1{s=T} - f||_1 >= <w, 1{s=T} - f> >= 1 - M sum|a|,   so that   E <= tol  needs  sum|a| >=
      (1 - tol)/M.

Theorem B (Chebyshev). T_n(2x-1) = sum_s q_s x^s is at most 1 on [0, 1]; let m be the place of its
largest coefficient. If m <= T then w = x^{T-m} T_n(2x-1)/q_m qualifies with M = 1/|q_m|. The best n
is the largest with m <= T; c_T = |q_m| grows like e^{2.46 T}.

(E) (binomial). w = x^{T-j/2} (1-x)^j / C(j, j/2) for even j <= 2T, up to sign: M = a^a
    j^j/(a+j)^{a+j}/C(j, j/2) with a = T - j/2, an exact rational (the maximum is at x = a/(a+j)).
    Weaker, m_T ~ (3 - 2 sqrt 2)^T, but it uses only lags T-j/2..T+j/2.

log and log1p. For b > 0 and n >= 1, n^{-b} = int_0^inf e^{-(n-1)u} dG(u) with G the Gamma(b)
probability law, since Gamma(b) n^{-b} = int u^{b-1} e^{-nu} du. (b = 0 is the lin head of rate 0.)
So a log head on lags s >= 1 is an average of lin heads in s - 1, and a log1p head an average of lin
heads in s: averages do not raise max|sum_s w_s phi(s)|, hence the bounds of lin hold with T - 1 for
log and with T for log1p. Where lag 0 does not count (the residual gives it) they hold with T - 1
for all three: x sum_s w_s x^s is at most M, too.
"""

import dataclasses
import functools
import math
from fractions import Fraction
from typing import Any

from flint import fmpz_poly

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.kernels import Lag
from headcount.theory.bounds.record import LowerBound, round_down
from headcount.theory.heads import AbstractFamily
from headcount.theory.problem import Norm, Problem

CHEBYSHEV = Ref("headcount", "Theorem B: shifted Chebyshev certificate")
BINOMIAL = Ref("headcount", "theory 2.2 (E): binomial certificate")


@dataclasses.dataclass(frozen=True)
class WeightBound:
    """sum|a| >= `weight` for every sum of `family` heads within `tol` (l1) of lag T. Exact;
    `value` is it rounded down to a double.
    """

    T: int
    family: AbstractFamily
    tol: float
    weight: Fraction
    method: str
    ref: Ref
    certificate: dict[str, Any] = dataclasses.field(repr=False, default_factory=dict)

    @property
    def value(self) -> float:
        """As a double; `inf` beyond its range."""
        return round_down(self.weight) if self.weight < Fraction(2) ** 1023 else math.inf

    @property
    def log10(self) -> float:
        """Decimal logarithm: the weight outgrows a double from T about 290."""
        return _log10(self.weight.numerator) - _log10(self.weight.denominator)


def weight_needed(
    T: int, family: AbstractFamily, tol: float, method: str = "chebyshev"
) -> WeightBound:
    """The weight that an l1 error of `tol` at lag T costs, by `method` chebyshev (the better
    one) or binomial.
    """
    require(
        T >= family.first_lag,
        f"lag {T}",
        f"at least {family.first_lag}, which {family.name} heads see",
        "choose a later lag",
    )
    require(
        0 <= tol < 1,
        f"tolerance {tol}",
        "at least 0 and below 1 (the zero kernel has error 1)",
        "lower it",
    )
    require(
        method in ("chebyshev", "binomial"),
        f"method {method!r}",
        "chebyshev or binomial",
        "choose one",
    )
    # of the lin problem that bounds this one from below (module docstring)
    lag = T - family.first_lag
    share = 1 - Fraction(tol)
    if method == "binomial":
        top, j = binomial_maximum(lag)
        return WeightBound(
            T,
            family,
            tol,
            share / top,
            method,
            BINOMIAL,
            {"kind": "binomial", "lag": lag, "power": j},
        )
    return WeightBound(
        T,
        family,
        tol,
        share * chebyshev_constant(lag)[0],
        method,
        CHEBYSHEV,
        _chebyshev_certificate(lag),
    )


def weight_bound(problem: Problem) -> LowerBound | None:
    """Theorem B as a lower bound of the error at the problem's budget; None where it does not
    apply (only lags, l1).
    """
    kernel = problem.kernel
    lag = kernel.T - problem.first_lag if isinstance(kernel, Lag) else -1
    if problem.norm is not Norm.L1 or not math.isfinite(problem.budget) or lag < 0:
        return None
    value = round_down(1 - Fraction(problem.budget) / chebyshev_constant(lag)[0])
    return LowerBound(
        value,
        Norm.L1,
        True,
        "chebyshev",
        problem.budget,
        None,
        "",
        CHEBYSHEV,
        0.0,
        _chebyshev_certificate(lag),
    )


def _chebyshev_certificate(lag: int) -> dict[str, Any]:
    _, degree, place = chebyshev_constant(lag)
    return {
        "kind": "chebyshev",
        "lag": lag,
        "degree": degree,
        "place": place,
        "coefficients": shifted_chebyshev(degree),
    }


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
