"""Theorem A: lag T needs T+1 lin heads, T log heads, T+1 log1p heads; with fewer the best fit is
zero, whatever the coefficients.

Write t for the lag counted from the first one that counts (lin, log1p: t = s; log: t = s - 1), and
r = rho - f. Where lag 0 of lin or log1p heads does not count (the residual gives it, or the kernel
is singular there) t = s - 1 too, and one head less is needed.

**Theorem A.** Let f be a sum of H heads, t_0 >= H, and W the lags from t_0 - H to t_0 + R, with
R = floor((H+1)/2) for lin and floor(H/2) + 1 for log and log1p. Call t != t_0 in W bad when
(-1)^{t-t_0} rho(t) rho(t_0) < 0. Then

    sum over W of |r(t)|   >=   |rho(t_0)| - sum over bad t of |rho(t)|.

In particular an isolated lag (rho = 0 at the other lags of the window) leaves an l1 error of at
least |rho(t_0)|: the zero fit is optimal. Windows that do not overlap add up.

*Proof for lin* (x_h = e^{-b_h} >= 0). With p(z) = prod_h (z - x_h) = sum_j (-1)^j e_j z^{H-j},
e_j >= 0, we have sum_j (-1)^j e_j f(t'+H-j) = 0 for every t' >= 0. Let m maximise e_j, and
t' = t_0 - (H-m) >= 0. Then

    sum_j (-1)^j e_j rho(t'+H-j) = sum_j (-1)^j e_j r(t'+H-j).

The right side is at most e_m sum|r|; on the left the term of t_0 is e_m |rho(t_0)| up to sign and
the others are of the same sign unless bad, and then at most e_m |rho(t)|. Divide by e_m. QED

*Proof for all three families.* Every head sum is f(t) = int_[0,1] x^t dsigma(x) for a measure with
at most H-1 changes of sign. For lin it has atoms at x_h. For log and log1p, with n = t+1,

    n^{-b} = int x^{n-1} w_b(x) dx,   x = e^{-u},   w_b dx = u^{b-1} e^{-u} du / Gamma(b),

and sum_h a_h u^{b_h - 1}/Gamma(b_h) has at most H-1 positive zeros by Descartes' rule for real
exponents (b = 0 is an atom at 1, b = inf an atom at 0; each adds at most one change of sign and
uses up one head). Leaving out the first lag multiplies dsigma by x >= 0, which adds no change of
sign. Let p(x) = prod_i (x - xi_i), with xi_i in [0,1] the K <= H-1 places of change: then p dsigma
has one sign, and so has q dsigma for every polynomial q = p times something non-negative on [0,1].
Let e_j be as above (degree K) and m the largest maximiser of e_j.

(1) q1 = x^{t_0-K+m} p has its largest coefficient e_m at x^{t_0}, with sign (-1)^m.
(2) For xi >= 0 the coefficients E_j(xi) = e_j + 2 xi e_{j-1} + xi^2 e_{j-2} of p (x-xi)^2 are
    elementary symmetric functions of non-negative numbers, so by Newton's inequalities they are
    log-concave without gaps and their maximisers form an interval. At xi = 0 that interval holds
    m; for large xi it lies in {m+1, m+2} (it tends to the maximisers of e_{j-2}). The sets of xi
    with a maximiser <= m and with one >= m+1 are closed, not empty and cover [0, inf), so some xi
    is in both and m+1 maximises. Then q2 = x^{t_0-K-1+m} p (x-xi)^2 has its largest coefficient at
    x^{t_0}, with sign (-1)^{m+1}; the power t_0-K-1+m is >= 0 because t_0 >= H >= K+1.

Suppose sum|r| < |rho(t_0)| - bad. For q = q1 and for q = q2,

    sum_t q_t f(t) = sum_t q_t rho(t) - sum_t q_t r(t)

has the sign of q_{t_0} rho(t_0), strictly, as in the lin proof (the coefficients of q alternate in
sign). So int q1 dsigma and int q2 dsigma have opposite strict signs, although both integrands have
the same sign. Contradiction. All lags used satisfy |t - t_0| <= H. QED (The older argument for log
by dilation, H <= m whenever k^m divides T, is contained in this.)

*Other norms.* With D = degree of the polynomial used (lin: H; else at most H+1) the coefficients
are, up to scale, the law of a sum of D independent coins, of variance at most D/4. A law on the
integers with largest probability M, smoothed by a uniform variable on [-1/2, 1/2], has density at
most M, hence variance at least 1/(12 M^2): so 1/M <= sqrt(1 + 12 D/4), that is
sum_j e_j <= sqrt(1 + 3D) e_m. Therefore, for an isolated lag, and with sum e_j^2 <= e_m sum e_j,

    E_sup >= |rho(t_0)| / sqrt(1 + 3D),   E_2 >= |rho(t_0)| (1 + 3D)^{-1/4}.

*A block.* For the moving sum rho = 1{s < L} take differences: f(t) - f(t+1) = int x^t (1-x) dsigma
has no more changes of sign, so r(s) - r(s+1) is an error at the isolated lag L-1, at least 1 when
its t (L-1, or L-2 where lag 0 does not count) is at least H; its l1 norm is at most 2 sum|r|. So
that many heads leave at least 1/2.

*How far W reaches.* For numbers x_i in [0, 1] Newton's inequalities give
e_j/e_{j-1} <= (n-j+1)/j mean(x): a maximiser of e_j lies at j <= (n+1)/2. So m <= (H+1)/2 for lin
(n = H), and m <= H/2 for the others (n = K <= H-1), whose q2 reaches one power further.

*Scope.* b >= 0. The lags up to t_0 + R must exist (a block: one more): on a shorter window fewer
heads do, for example lag 3 on lags 0 to 3 by 3 lin heads with 0.34. The heads are added up
linearly; what an FFN behind them can do is another question.
"""

import math

import numpy as np
from flint import arb

from headcount.core.claims import Claim, Lags, Norm
from headcount.core.refs import Ref
from headcount.memory.kernels import Window
from headcount.theory.balls import kernel_values, precision, round_down
from headcount.theory.heads import AbstractFamily, Lin
from headcount.theory.problem import Problem

REF = Ref("headcount", "Theorem A")
BITS = 128


def heads_claim(problem: Problem, heads: int) -> Claim | None:
    """Theorem A for this kernel and at most `heads` heads; None where it says nothing."""
    if problem.kernel.support is None or heads < 1:
        # without finite support some lag of each window is bad, and zero counting is stronger
        return None
    first = problem.first_lag
    places, value = _best_places(problem, heads)
    block = _block_value(problem, heads)
    proved = {"heads": heads, "weight": math.inf, "lowest_rate": 0.0}
    if block > value:
        evidence, stop = (
            {"kind": "block", "heads": heads},
            problem.kernel.support + problem.used_after(heads) + 1,
        )
        method = "theorem-a-differences"
        return problem.at_least(block, method, REF, evidence, lags=Lags(first, stop), **proved)
    if value <= 0:
        return None
    evidence, stop = (
        {"kind": "isolated", "heads": heads, "places": places},
        max(places) + problem.used_after(heads) + 1,
    )
    return problem.at_least(value, "theorem-a", REF, evidence, lags=Lags(first, stop), **proved)


def norm_factor(family: AbstractFamily, norm: Norm, heads: int) -> arb:
    """What an isolated unit lag is worth in this norm (module docstring, other norms)."""
    degree = heads if isinstance(family, Lin) else heads + 1
    return {
        Norm.L1: arb(1),
        Norm.L2: 1 / arb(1 + 3 * degree).sqrt().sqrt(),
        Norm.SUP: 1 / arb(1 + 3 * degree).sqrt(),
    }[norm]


def _best_places(problem: Problem, heads: int) -> tuple[tuple[int, ...], float]:
    """Lags t_0 (absolute) whose windows do not overlap, and the bound that they give together."""
    kernel, family = problem.kernel, problem.family
    first = problem.first_lag
    with precision(BITS):
        length = (kernel.support or 1) + heads
        rho = kernel_values(kernel, length)
        rough = kernel.values(length)
        lags = problem.scope().lags
        worth = np.array(
            [
                _worth(rough, s, heads, problem.norm)
                if s - first >= heads and s + problem.used_after(heads) in lags
                else 0.0
                for s in range(length)
            ]
        )
        # Norms other than l1 do not add up over windows in a useful way: take the best single lag.
        places = _disjoint(worth, 2 * heads + 1) if problem.norm is Norm.L1 else _single(worth)
        total = sum((_exact_worth(rho, s, heads) for s in places), arb(0)) * norm_factor(
            family, problem.norm, heads
        )
        return places, round_down(total)


def _single(worth: np.ndarray) -> tuple[int, ...]:
    return (int(np.argmax(worth)),) if worth.any() else ()


def _worth(rho: np.ndarray, s: int, heads: int, norm: Norm) -> float:
    """|rho(s)| minus the bad lags of its window (float64); other norms ask for an isolated lag."""
    around = np.arange(max(0, s - heads), min(len(rho), s + heads + 1))
    signed = rho[around] * np.where((around - s) % 2 == 0, 1.0, -1.0) * np.sign(rho[s])
    bad = -signed[(signed < 0) & (around != s)].sum()
    if norm is not Norm.L1 and np.count_nonzero(rho[around]) > 1:
        return 0.0
    return max(0.0, abs(rho[s]) - bad)


def _exact_worth(rho: list[arb], s: int, heads: int) -> arb:
    worth = abs(rho[s])
    positive = rho[s] > 0
    for t in range(max(0, s - heads), min(len(rho), s + heads + 1)):
        signed = rho[t] if ((t - s) % 2 == 0) == bool(positive) else -rho[t]
        if t != s and not signed >= 0:
            worth -= abs(rho[t])
    return worth


def _disjoint(worth: np.ndarray, width: int) -> tuple[int, ...]:
    """Positions at least `width` apart of the largest total worth, by dynamic programming."""
    best, choice = np.zeros(len(worth) + 1), np.zeros(len(worth) + 1, dtype=bool)
    for s, w in enumerate(worth):
        with_it = w + best[max(0, s + 1 - width)]
        choice[s + 1] = w > 0 and with_it > best[s]
        best[s + 1] = max(best[s], with_it)
    found, s = [], len(worth)
    while s > 0:
        if choice[s]:
            found.append(s - 1)
            s = max(0, s - width)
        else:
            s -= 1
    return tuple(reversed(found))


def _block_value(problem: Problem, heads: int) -> float:
    kernel = problem.kernel
    if not isinstance(kernel, Window) or kernel.kernel is not None or problem.norm is not Norm.L1:
        return 0.0
    late = kernel.length - 1 - problem.first_lag >= heads
    return (
        0.5 if late and kernel.length + problem.used_after(heads) in problem.scope().lags else 0.0
    )
