"""Two sums of heads for one lag, written down instead of searched for, each with its own error
bound.

(A) Chebyshev bump. In x = e^{-a s} (lin) or s^{-a} (log) the polynomial q(x) = T_N(1 + d -
    k(x-mu)^2) / T_N(1 + d) is 1 at mu = x(T) and at most 1/T_N(1+d) in size wherever sigma <= |x -
    mu| <= R, for d = 2r^2/(1-r^2), k = d/sigma^2, r = sigma/R. With sigma the distance of mu to the
    nearest other lag and H = 2N + 1 heads,
        lin   ||1{s=T} - e^{-g(s-T)} q||_1     <= (e^{gT}/(1-e^-g) - 1) / cosh(2N artanh r)
        log   ||1{s=T} - (T/s)^{1+g} q||_1     <= (T^{1+g} zeta(1+g) - 1) / cosh(2N artanh r).
    It never uses that s is an integer, only that s is no closer to T than the next lag; so it
      serves adaptive lags.
(B) Interpolation (lin). With y = e^-a the product y^{s-T} prod_{j<H, j!=T} (y^s - y^j)/(y^T - y^j)
    is exact on lags 0..H-1; for H = T+1+k its error is at most y^{(k+1)(k+2)/2} / ((1-y) (y;y)_T
    (y;y)_k).

Rates are multiples of a dyadic step, so that they are exact doubles: with coefficients of 1e20 a
rate that is off by 1e-16 would destroy the cancellation.
"""

import math

from flint import arb, arb_poly, fmpq, fmpq_poly, fmpz_poly
from scipy.special import zeta

from headcount.core.errors import require
from headcount.theory.balls import precision
from headcount.theory.errors import exact_coefficient
from headcount.theory.families import AbstractFamily, Lin
from headcount.theory.problem import HeadSum

DYADIC = 2.0**20


def dyadic(value: float) -> float:
    """The nearest positive multiple of 2^-20."""
    return max(round(value * DYADIC), 1) / DYADIC


def bump_radius(family: AbstractFamily, lag: int, step: float) -> float:
    """r = sigma/R of construction (A)."""
    if family.name == "lin":
        mu, sigma = math.exp(-step * lag), -math.expm1(-step) * math.exp(-step * lag)
        return sigma / max(mu, 1 - mu)
    u = lag + 1 - family.first_lag
    mu = u**-step
    sigma = -math.expm1(-step * math.log1p(1 / u)) * mu
    return sigma / max(mu, 1 - mu)


def bump_bound(family: AbstractFamily, lag: int, heads: int, step: float, decay: float) -> float:
    """The l1 bound of construction (A), for the fixed lag and for every adaptive one up to it."""
    degree = 2 * ((heads - 1) // 2)
    if family.name == "lin":
        mass = math.exp(decay * lag) / -math.expm1(-decay)
    else:
        u = lag + 1 - family.first_lag
        mass = u ** (1 + decay) * float(zeta(1 + decay))
    exponent = degree * math.atanh(bump_radius(family, lag, step))
    return (mass - 1) / math.cosh(exponent) if exponent < 700 else 0.0


def bump_heads(family: AbstractFamily, lag: int, tol: float, step: float, decay: float) -> int:
    """The fewest heads (an odd number) for which the bound of (A) is at most `tol`."""
    mass = bump_bound(family, lag, 1, step, decay)
    half = math.acosh(max(mass / tol, 1.0)) / (2 * math.atanh(bump_radius(family, lag, step)))
    return 2 * max(math.ceil(half - 1e-12), 0) + 1


def best_bump(family: AbstractFamily, lag: int, heads: int) -> tuple[float, float]:
    """(step, decay) with the smallest bound of (A): the peak where x(T) = 1/2 is widest, decay
    about 1/T.
    """
    scale = lag if family.name == "lin" else math.log(lag + 1 - family.first_lag) or 1.0
    scale = max(scale, 1e-9) if lag or family.name != "lin" else 1.0
    steps, decays = (0.35, 0.5, math.log(2), 0.9, 1.2, 2.0), (0.3, 0.7, 1.0, 1.5, 2.5)
    candidates = [(dyadic(s / scale), dyadic(g / scale)) for s in steps for g in decays]
    return min(candidates, key=lambda pair: bump_bound(family, lag, heads, *pair))


def chebyshev_bump(
    family: AbstractFamily, lag: int, heads: int, step: float, decay: float
) -> HeadSum:
    """Construction (A) with at most `heads` heads (an even number leaves one out)."""
    require(heads >= 1, f"{heads} heads", "at least 1", "ask for more heads")
    half = (heads - 1) // 2
    with precision(128):
        a, g = arb(step), arb(decay)
        if family.name == "lin":
            mu, gap, peak, base = (-a * lag).exp(), -(-a).expm1(), (g * lag).exp(), 0.0
        else:
            u = arb(lag + 1 - family.first_lag)
            mu, gap, peak, base = u**-a, 1 - ((u + 1) / u) ** -a, u ** (1 + g), 1.0
        sigma = mu * gap
        far = mu.max(1 - mu)
        r2 = (sigma / far) ** 2
        d = exact_coefficient(2 * r2 / (1 - r2))
        k, centre, height = (
            d / exact_coefficient(sigma * sigma),
            exact_coefficient(mu),
            exact_coefficient(peak),
        )
    chebyshev = fmpq_poly(fmpz_poly.chebyshev_t(half).coeffs())
    offset = fmpq_poly([-centre, 1])
    polynomial = chebyshev(fmpq_poly([1 + d]) - offset * offset * k)
    scale = height / chebyshev(1 + d)
    coefficients = [fmpq(c) * scale for c in polynomial.coeffs()]
    rates = tuple(base + decay + i * step for i in range(len(coefficients)))
    return HeadSum(family, rates, tuple(coefficients))


def interpolation_bound(lag: int, extra: int, ratio: float) -> float:
    """The l1 bound of construction (B) with T + 1 + extra heads and y = ratio."""

    def pochhammer(n: int) -> float:
        return math.prod(1 - ratio**i for i in range(1, n + 1))

    return ratio ** ((extra + 1) * (extra + 2) / 2) / (
        (1 - ratio) * pochhammer(lag) * pochhammer(extra)
    )


def interpolation(lag: int, heads: int, step: float) -> HeadSum:
    """Construction (B): exact on lags 0..heads-1, y = e^-step."""
    require(
        heads > lag,
        f"{heads} heads for lag {lag}",
        f"at least {lag + 1} (Theorem A)",
        "ask for more heads",
    )
    step = dyadic(step)
    bits = 200 + 2 * math.ceil(step * heads * heads / math.log(2))
    with precision(bits):
        powers = [(-arb(step) * j).exp() for j in range(heads)]
        others = [p for j, p in enumerate(powers) if j != lag]
        scale = 1 / powers[lag]
        for p in others:
            scale = scale / (powers[lag] - p)
        coefficients = tuple(
            exact_coefficient(c * scale) for c in arb_poly.from_roots(others).coeffs()
        )
    return HeadSum(Lin(), tuple(step * (h + 1) for h in range(heads)), coefficients)
