"""Sums of heads that are written down, not searched for.

* One head is exact for its own curve: e^{-b s} by lin, s^{-b} by log, the first visible lag by the
  limit curve b = inf.
* One lag T by lin heads (Theorem A's construction). Nodes x_0..x_n, n >= T, interpolate 1{s = T} on
  lags 0..n with a_h = [z^T] prod_{j != h} (z - x_j)/(x_h - x_j); beyond, the error is
  O(eta^{n+1-T}) for nodes in [0, eta]. At the n = T Chebyshev extrema of [0, eta] the weight
  sum|a| = 2^{2T-1}/eta^T is the smallest possible; T = 1 gives C/2 (x^s - 0^s), x = 2/C.
* One lag T by log heads: with integer e, the rates 1 + e + e i make y = t^-e a rational node, and
  P(t) = (T/t)^{1+e} prod_{j <= H, j != T} (t^-e - j^-e)/(T^-e - j^-e) is exact on lags 1..H with
  rational coefficients.
* Where lag 0 is free (`Problem.residual`) lin and log1p interpolate from lag 1 on, with a head
  less. For lin, x^s = x x^{s-1}: the nodes must be positive (Chebyshev's zeros instead of his
  extrema), and interpolate lag T - 1 with the coefficients divided by them.
* A power law by lin heads: the trapezoid rule for t^-p = 1/Gamma(p) int exp(-t e^u + p u) du gives
  rates e^u, evenly spaced in the logarithm (Beylkin and Monzon 2010); its coefficients are improved
  by the linear program afterwards.

Two more for one lag have an error bound of their own:

(A) Chebyshev bump. In x = e^{-a l(s)} the polynomial

        q(x) = T_N(1 + d - k(x-mu)^2) / T_N(1 + d),
        d = 2r^2/(1-r^2),   k = d/sigma^2,   r = sigma/R,

    is 1 at mu = x(T) and at most 1/T_N(1+d) in size wherever sigma <= |x - mu| <= R. With sigma the
    distance of mu to the nearest other lag and H = 2N + 1 heads,

        lin   ||1{s=T} - e^{-g(s-T)} q||_1  <=  (e^{gT}/(1-e^-g) - 1) / cosh(2N artanh r)
        log   ||1{s=T} - (T/s)^{1+g} q||_1  <=  (T^{1+g} zeta(1+g) - 1) / cosh(2N artanh r).

    It never uses that s is an integer, only that s is no closer to T than the next lag; so it
    serves adaptive lags.
(B) Interpolation (lin). With y = e^-a the product

        y^{s-T} prod_{j<H, j!=T} (y^s - y^j)/(y^T - y^j)

    is exact on lags 0..H-1; for H = T+1+k its error is at most
    y^{(k+1)(k+2)/2} / ((1-y) (y;y)_T (y;y)_k).

Rates are multiples of a dyadic step, so that they are exact doubles: with coefficients of 1e20 a
rate that is off by 1e-16 would destroy the cancellation.

Coefficients of a lag outgrow doubles (2^{2T-1}/eta^T), so that they are solved in ball arithmetic
for the float64 rates and kept as dyadic rationals of matching length.
"""

import math

import numpy as np
from flint import arb, arb_poly, fmpq, fmpq_poly, fmpz_poly

from headcount.core.errors import require
from headcount.memory.kernels import Lag, Power
from headcount.theory.balls import precision
from headcount.theory.head_sum import Fit, HeadSum
from headcount.theory.heads import AbstractDecay, AbstractPower, Lin
from headcount.theory.measure import exact_coefficient
from headcount.theory.problem import Norm, Problem
from headcount.theory.tails import closed_form

AIM = 1e-9  # l1 error at which more cancellation is not worth its digits
DYADIC = 2.0**20
MOST_EXTRA = 6  # heads beyond T + 1 that the lag's construction uses


def closed_forms(problem: Problem, heads: int, low: float) -> list[Fit]:
    """Every closed form with at most that many heads, within the budget; `low` is the smallest
    rate allowed.
    """
    kernel, family = problem.kernel, problem.decay
    found = [Fit(HeadSum(family, (), ()), "no head", optimal=_zero_is_best(problem, heads))]
    if found[0].optimal:
        return found
    rate = _own_rate(problem, low)
    if rate is not None:
        a = min(1.0, problem.budget)
        own = HeadSum.of(family, np.array([rate]), np.array([a]))
        found.append(Fit(own, "one exact head", optimal=a == 1.0))
    elif isinstance(kernel, Lag):
        forms = _lag_forms(problem, kernel.T, heads)
        found += [form for form in forms if form.head_sum.within(problem.budget)]
    return found


def quadrature_rates(problem: Problem, heads: int) -> np.ndarray:
    """Rates of the trapezoid rule that suit lags 1..length, empty where the kernel is not a
    power law or heads not lin.
    """
    if not (isinstance(problem.kernel, Power) and problem.decay.geometric):
        return np.zeros(0)
    return np.exp(np.linspace(math.log(0.3 / problem.length), math.log(4.0 + 0.15 * heads), heads))


def _zero_is_best(problem: Problem, heads: int) -> bool:
    """Theorem A: at most T heads (T-1 where lag 0 does not count) are no better than none for lag T
    in l1, where the lags that the proof uses exist. A kernel that cannot be seen, too.
    """
    kernel = problem.kernel
    invisible = not np.any(problem.target) and kernel.support is not None
    too_far = (
        isinstance(kernel, Lag)
        and heads <= kernel.T - problem.first_lag
        and kernel.T + problem.used_after(heads) in problem.scope().lags
    )
    return invisible or (too_far and problem.norm is Norm.L1)


def _own_rate(problem: Problem, low: float) -> float | None:
    """The rate of the family's curve that the kernel is."""
    kernel, family = problem.kernel, problem.decay
    if isinstance(kernel, Lag) and kernel.T == family.first_lag == problem.first_lag:
        return math.inf
    form = closed_form(kernel)
    if form is None or form[0] != family or not (family.geometric or form[1] >= low):
        return None
    return form[1]


def _lag_forms(problem: Problem, lag: int, heads: int) -> list[Fit]:
    family, least = problem.decay, lag + 1 - problem.first_lag
    counts = range(least, min(heads, least + MOST_EXTRA) + 1)
    free = problem.first_lag > family.first_lag
    if not problem.tail_counts and heads >= len(problem.lags):
        return [_exact_on_window(problem, lag)]
    if isinstance(family, AbstractPower):
        seen = lag + family.shift
        e = max(seen, 2) * (2 if math.isinf(problem.budget) else 1)
        name, first = f"Lagrange interpolation in t^-{e}", 2 if free else 1
        return [Fit(lag_by_log(family, seen, n, e, first), name) for n in counts]
    if free:
        etas = [_free_eta(lag, n, problem.budget) for n in counts]
        made, name = later_lag_by_lin, "Chebyshev's zeros"
    else:
        etas = [_eta(lag, n, problem.budget) for n in counts]
        made, name = lag_by_lin, "Chebyshev nodes"
    return [
        Fit(made(family, lag, n, eta), f"{name} on [0, {eta:.3g}]")
        for n, eta in zip(counts, etas, strict=True)
    ]


def _exact_on_window(problem: Problem, lag: int) -> Fit:
    """As many heads as lags: exact for any nodes, and lightest for those spread over [0, 1]."""
    family, count = problem.decay, len(problem.lags)
    free = problem.first_lag > family.first_lag
    if isinstance(family, AbstractPower):
        drawn = lag_by_log(family, lag + family.shift, count, 1, first=2 if free else 1)
    else:
        drawn = (later_lag_by_lin if free else lag_by_lin)(family, lag, count, 1.0)
    return Fit(drawn, "interpolation of every lag")


def _eta(lag: int, heads: int, budget: float) -> float:
    """The interval of the nodes: as small as the aim asks for, as large as the budget needs
    (T + 1 heads).
    """
    aimed = min(0.9, AIM ** (1 / (heads - lag)))
    if math.isinf(budget):
        return aimed
    affordable = 2.0 ** ((2 * lag - 1) / lag) * budget ** (-1 / lag) * (1 + 1e-12)
    return (
        min(0.9, max(aimed, affordable))
        if heads == lag + 1
        else min(0.9, max(aimed, 1.3 * affordable))
    )


def _free_eta(lag: int, heads: int, budget: float) -> float:
    """The same where lag 0 is free: the coefficients are eta^-lag times those of [0, 1]."""
    aimed = min(0.9, AIM ** (1 / (heads + 1 - lag)))
    if math.isinf(budget):
        return aimed
    return min(
        0.9,
        max(
            aimed,
            (later_lag_by_lin(Lin(), lag, heads, 1.0).coefficient_sum / budget) ** (1 / lag)
            * (1 + 1e-12),
        ),
    )


def lag_by_lin(family: AbstractDecay, lag: int, heads: int, eta: float) -> HeadSum:
    """1{s = lag} interpolated on lags 0..heads-1 at Chebyshev extrema of [0, eta]; the node 0 is
    the rate inf.
    """
    x = eta * (1 - np.cos(np.pi * np.arange(heads) / max(heads - 1, 1))) / 2
    return _interpolated(family, x, lag, 0)


def later_lag_by_lin(family: AbstractDecay, lag: int, heads: int, eta: float) -> HeadSum:
    """1{s = lag} interpolated on lags 1..heads at Chebyshev zeros of [0, eta]; lag 0 takes what
    value it takes.
    """
    x = eta * (1 - np.cos(np.pi * (np.arange(heads) + 0.5) / heads)) / 2
    return _interpolated(family, x, lag - 1, 1)


def _interpolated(family: AbstractDecay, x: np.ndarray, lag: int, later: int) -> HeadSum:
    """sum_h a_h x_h^{s+later} = 1{s = lag} for s < H."""
    heads = len(x)
    rates = tuple(math.inf if node < 1e-300 else abs(math.log(node)) for node in x)
    bits = 256 + 4 * heads + int(heads * max(0.0, -math.log2(x.max())) * 2)
    while True:
        with precision(bits):
            nodes = [arb(0) if math.isinf(b) else (-arb(b)).exp() for b in rates]
            coefficients = [
                a / node**later for a, node in zip(_cardinal(nodes, lag), nodes, strict=True)
            ]
            if all(a.rel_accuracy_bits() > 128 + bits // 4 for a in coefficients):
                return HeadSum(
                    family, rates[::-1], tuple(exact_coefficient(a) for a in coefficients)[::-1]
                )
        bits *= 2


def _cardinal(nodes: list[arb], lag: int) -> list[arb]:
    """[z^lag] of each Lagrange polynomial: prod (z - x_j) divided by (z - x_h), coefficient by
    coefficient.
    """
    n = len(nodes)
    product = [arb(1)]  # ascending powers of prod_j (z - x_j)
    for x in nodes:
        product = [
            (product[i - 1] if i else arb(0)) - (x * product[i] if i < len(product) else arb(0))
            for i in range(len(product) + 1)
        ]
    answer = []
    for h, x in enumerate(nodes):
        quotient = arb(0)
        for power in range(n, lag, -1):  # synthetic division from the top down to z^lag
            quotient = product[power] + x * quotient
        scale = arb(1)
        for j, other in enumerate(nodes):
            if j != h:
                scale *= x - other
        answer.append(quotient / scale)
    return answer


def lag_by_log(family: AbstractDecay, seen: int, heads: int, e: int, first: int = 1) -> HeadSum:
    """1{t = seen} on t = first..first+heads-1 by t^-(1+e+e i), i = 0..heads-1, with exact
    rational coefficients.
    """
    poly = fmpq_poly([1])
    top = fmpq(1, seen**e)
    for j in range(first, first + heads):
        if j != seen:
            node = fmpq(1, j**e)
            poly *= fmpq_poly([-node / (top - node), 1 / (top - node)])
    scale = fmpq(seen ** (1 + e))
    rates = tuple(float(1 + e + e * i) for i in range(heads))
    return HeadSum(family, rates, tuple(scale * poly[i] for i in range(heads)))


def dyadic(value: float) -> float:
    """The nearest positive multiple of 2^-20."""
    return max(round(value * DYADIC), 1) / DYADIC


def bump_radius(family: AbstractDecay, lag: int, step: float) -> float:
    """r = sigma/R of construction (A)."""
    here, after = family.distance(np.array([lag, lag + 1.0]))
    mu = math.exp(-step * here)
    sigma = -math.expm1(-step * (after - here)) * mu
    return sigma / max(mu, 1 - mu)


def bump_bound(family: AbstractDecay, lag: int, heads: int, step: float, decay: float) -> float:
    """The l1 bound of construction (A), for the fixed lag and for every adaptive one up to it."""
    degree, rate = 2 * ((heads - 1) // 2), family.slowest(Norm.L1) + decay
    mass = math.exp(rate * family.distance(np.array([lag]))[0]) * family.total(rate)
    exponent = degree * math.atanh(bump_radius(family, lag, step))
    return (mass - 1) / math.cosh(exponent) if exponent < 700 else 0.0


def best_bump(family: AbstractDecay, lag: int, heads: int) -> tuple[float, float]:
    """(step, decay) with the smallest bound of (A): widest at x(T) = 1/2, decay about 1/T."""
    scale = float(family.distance(np.array([lag]))[0]) or 1.0
    steps, decays = (0.35, 0.5, math.log(2), 0.9, 1.2, 2.0), (0.3, 0.7, 1.0, 1.5, 2.5)
    candidates = [(dyadic(s / scale), dyadic(g / scale)) for s in steps for g in decays]
    return min(candidates, key=lambda pair: bump_bound(family, lag, heads, *pair))


def chebyshev_bump(
    family: AbstractDecay, lag: int, heads: int, step: float, decay: float
) -> HeadSum:
    """Construction (A) with at most `heads` heads (an even number leaves one out)."""
    require(heads >= 1, f"{heads} heads", "at least 1", "ask for more heads")
    half = (heads - 1) // 2
    with precision(128):
        a, slowest = arb(step), family.slowest(Norm.L1) + decay
        here, after = family.exact_distance(lag), family.exact_distance(lag + 1)
        mu, peak = (-a * here).exp(), (arb(slowest) * here).exp()
        sigma = -mu * (-a * (after - here)).expm1()
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
    rates = tuple(slowest + i * step for i in range(len(coefficients)))
    return HeadSum(family, rates, tuple(coefficients))


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
