"""Optimal recovery: what one layer without dot product cannot answer, whatever function follows it.

Setting. Tokens fill the ball of radius r. One layer; its heads see the tokens through weights that
do not depend on them, z_h = sum_s p_h(s) x_{t-s}, where p_h is a multiple of the family's curve,
p_h(s) = c_h phi(s; b_h) with c_h > 0 and p_h <= 1. Softmax, softmax with a sink and heads that are
not normalised are of this kind, at every position. The answer is any function of x_t and of the
head outputs (with an affine value map each: tokens along one direction of it, so that scalars tell
all). The memory is linear, y = sum_s w(s) x_{t-s}. Head outputs are known to ±eta r
(`Scope.resolution`): the error is the worst over all z_h' with |z_h' - z_h| <= eta r.

**Theorem.** For heads with curves phi_1 … phi_H (c_h = 1) the best error of any readout is

    r max { <w, d> : d(0) = 0, |d(s)| <= 1, |<phi_h, d>| <= eta for all h }
      =  r min { ||w - a_0 delta_0 - sum_h a_h phi_h||_1 + eta sum_h |a_h| : a_0, a real }.

*Proof.* At least: let d be feasible. The sequences r d and -r d have x_t = 0, and z_h = 0 lies
within eta r of the outputs of both, so that a readout may be handed the same numbers for both. It
answers once, and the answers wanted are 2 r <w, d> apart: the error on one of them is at least
r <w, d>. At most: the readout a_0 x_t + sum_h a_h z_h' is wrong by no more than the right side.
Equal: linear programming duality (both sides are feasible and bounded). With c_h < 1 the pair is
still feasible, since |<p_h, d>| = c_h |<phi_h, d>| <= eta. QED

Three consequences, each a claim for `Readout.ANY` and every token of norm up to r:

- eta = 0, at most H heads of any rates. What bounds ||w - sum of H heads||_1 from below over the
  lags from 1 on, whatever the weights, bounds every readout: Theorem A and zero counting
  (`recovery_claim` with `heads`). No FFN helps against them.
- eta > 0, any number of heads of any rates. If |sum_s d(s) phi(s; b)| <= eta for every rate b, then
  the one pair ±r d is confused by every head (`recovery_claim` with `resolution`). The best d is
  the dual of the fit in which weight costs eta; the maximum over all rates is enclosed in balls.
  For a late lag the shifted Chebyshev polynomial is such a d in closed form (`weight`): lag T
  cannot be answered any better than by 0 as soon as eta c_T >= 1.
- given rates: the pair of the theorem (`recovery_at_rates`), sharp.

A memory behind a function, y = f(memories): the same pair gives half of |f(x) - f(x')|
(`pair_claim`), and so does the pair c ± (1 - |c|) d for every constant sequence c.

What it is not about: tokens of a finite alphabet (they can be packed, `codes`), two layers, scores
that look at tokens, an embedding of tokens that is not affine; and a computation in a number format
as it is. `resolution` takes head outputs as known to an absolute error of u times the largest
token, which is what a fixed-point format of unit u gives, and what a sum in floating point promises
in the worst case; a float near 0 may be far more accurate than that.
"""

import dataclasses
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat
from scipy.linalg import qr

from headcount.core.claims import Claim, Lags, Norm, Readout, Scope, Sense, Status, Tokens
from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.core.threads import one_thread
from headcount.memory.kernels import AbstractKernel, Lag
from headcount.theory.balls import kernel_values, precision, round_down
from headcount.theory.bounds.best import lower_bound, norm_of
from headcount.theory.bounds.dual import MARGIN, Scene, certificate_lags, rate_grid
from headcount.theory.bounds.enclosure import BITS, maximum
from headcount.theory.bounds.weight import chebyshev_evidence
from headcount.theory.heads import as_decay, family
from headcount.theory.interior import program, solve
from headcount.theory.problem import Problem

REF = Ref("headcount", "docs/proved.md#recovery")
FINEST = 1e-12  # resolutions below this drown in the rounding of the pair itself
ROUNDS = 10
START = 120
ENOUGH = 1e-4  # relative: exchange stops when no pair gains more
KEEP = 0.99
MOST_LAGS = 192  # a pair is this long at most: more lags gain less than `ENOUGH` for short kernels
TOLERANCE = 1e-10

Words = tuple[tuple[float, ...], ...]  # a sequence, oldest token first
Answer = Callable[[Words], float]  # → its last answer


@one_thread()
def recovery_claim(
    problem: Problem, heads: int | None = None, resolution: float = 0.0, radius: float = 1.0
) -> Claim:
    """The largest proved error of any readout of at most `heads` heads (None: any number) whose
    outputs are known to ±resolution * radius, on tokens of norm up to `radius`.
    """
    free = _free(problem, resolution, radius)
    found = [_lifted(lower_bound(free, heads), resolution, radius)]
    if resolution > 0 and (claim := _by_polynomial(free, resolution, radius)) is not None:
        found.append(claim)
    if resolution > 0 and max(c.value for c in found) < norm_of(free.target, Norm.L1) * radius:
        found.append(_by_pair(free, resolution, radius))
    return max(found, key=lambda claim: claim.value)


@one_thread()
def recovery_at_rates(
    problem: Problem, rates: Sequence[float], resolution: float = 0.0, radius: float = 1.0
) -> Claim:
    """The error that heads of exactly these rates leave to any readout: sharp up to rounding."""
    free = _free(problem, resolution, radius)
    chosen = tuple(sorted(set(map(float, rates))))
    require(len(chosen) >= 1, "no rates", "at least 1", "pass the rates of the heads")
    for rate in chosen:
        free.decay.check(rate)
    lags = free.lags
    columns = free.decay.columns(np.array(chosen), lags)  # [S, H]
    d = _pair(columns, free.target, resolution)
    pivots = qr(columns.T, pivoting=True, mode="r")[1][: len(chosen)]
    evidence = {
        "kind": "pair-at-rates", "lags": tuple(map(int, lags)), "y": tuple(map(float, d)),
        "rates": chosen, "pivots": tuple(sorted(int(lags[k]) for k in pivots)),
    }  # fmt: skip
    worth = _worth_at_rates(free, evidence, resolution)
    scope = _scope(free, resolution, radius, free.length, rates=chosen)
    return _claim(free.kernel, scope, worth, radius, "pair", evidence)


def pair_claim(
    subject: Hashable, answer: Answer, claim: Claim, shifts: Sequence[float] = (0.0, 0.5, -0.5)
) -> Claim:
    """What the pair of a claim with a resolution costs an answer of any kind: half the difference
    on c ± (1 - |c|) d, for the best of the constants c.
    """
    kind, eta = claim.evidence.get("kind"), claim.scope.resolution
    fix = "ask recovery_claim with resolution > 0"
    require(eta > 0, "a claim about exact head outputs", "one with a pair of sequences", fix)
    require(kind in PAIRS, f"a claim by {claim.method}", "one by a pair of sequences", fix)
    radius, held = claim.scope.tokens.radius, _held(claim)
    best, value = shifts[0], -1.0
    for shift in shifts:
        here, there = sequences(held, shift, radius)
        if (spread := abs(answer(here) - answer(there)) / 2) > value:
            best, value = shift, spread
    evidence = {**held, "shift": best}
    return Claim(subject, claim.scope, Sense.AT_LEAST, value, Status.PROVED, "pair", REF, evidence)


def _held(claim: Claim) -> dict[str, Any]:
    """The evidence with a pair small enough that heads see no more than eta of it as doubles: an
    answer of any kind is asked on these very sequences, nothing is scaled afterwards.
    """
    lags, y = (np.array(claim.evidence[name], dtype=np.float64) for name in ("lags", "y"))
    seen = eta = claim.scope.resolution
    if claim.scope.rates is not None:
        assert claim.scope.bias is not None
        curves = as_decay(family(claim.scope.bias)).columns(np.array(claim.scope.rates), lags)
        seen = max(eta, *(abs(math.fsum(y * curve)) for curve in curves.T))
    rounding = len(y) * 2.0**-50
    return {**claim.evidence, "y": tuple(map(float, y * (eta / (seen + rounding))))}


PAIRS = ("pair", "pair-at-rates")


def sequences(
    evidence: Mapping[str, Any], shift: float = 0.0, radius: float = 1.0
) -> tuple[Words, Words]:
    """The two sequences, oldest token first: radius (c ± (1 - |c|) d)."""
    d = dict(zip(evidence["lags"], evidence["y"], strict=True))
    by_lag = [(1 - abs(shift)) * d.get(s, 0.0) for s in range(max(d) + 1)]
    here, there = (
        tuple((radius * (shift + sign * v),) for v in reversed(by_lag)) for sign in (1.0, -1.0)
    )
    return here, there


def _free(problem: Problem, resolution: float, radius: float) -> Problem:
    """The problem in which x_t costs nothing and weights are not limited."""
    fits = resolution == 0 or FINEST <= resolution < 1
    expected = f"0 (exact), or at least {FINEST:g} and below 1"
    require(fits, f"resolution {resolution}", expected, "for float32 pass 2**-24")
    require(0 < radius < math.inf, f"radius {radius}", "a positive number", "bound the tokens")
    return dataclasses.replace(problem, residual=True, norm=Norm.L1, budget=math.inf)


def _scope(problem: Problem, resolution: float, radius: float, stop: int, **proved: Any) -> Scope:
    plain = Scope(
        bias=problem.family.name,
        readout=Readout.ANY,
        lags=Lags(problem.first_lag, stop),
        tokens=Tokens(None, radius),
        resolution=resolution,
    )
    return dataclasses.replace(plain, **proved)


def _claim(
    kernel: AbstractKernel, scope: Scope, worth: arb, radius: float, method: str, evidence: dict
) -> Claim:
    with precision(BITS):
        value = round_down(worth * arb(radius))
    return Claim(kernel, scope, Sense.AT_LEAST, value, Status.PROVED, method, REF, evidence)


def _lifted(claim: Claim, resolution: float, radius: float) -> Claim:
    """A bound of sums with any weights, in l1 and beside a free x_t, as one of every readout."""
    tokens = Tokens(None, radius)
    scope = dataclasses.replace(
        claim.scope, readout=Readout.ANY, tokens=tokens, resolution=resolution
    )
    value = round_down(Fraction(claim.value) * Fraction(radius))
    return dataclasses.replace(claim, scope=scope, value=value)


def _by_polynomial(problem: Problem, resolution: float, radius: float) -> Claim | None:
    """A late lag: d is a shifted Chebyshev polynomial, min(1, eta c) in exact integers."""
    lag = problem.kernel.T - problem.first_lag if isinstance(problem.kernel, Lag) else -1
    if lag < 0:
        return None
    evidence, used = chebyshev_evidence(problem, lag)
    largest = abs(evidence["coefficients"][evidence["place"]])
    worth = min(Fraction(1), Fraction(resolution) * largest)
    scope = _scope(problem, resolution, radius, problem.first_lag + used + 1)
    value = round_down(worth * Fraction(radius))
    lower, proved = Sense.AT_LEAST, Status.PROVED
    return Claim(problem.kernel, scope, lower, value, proved, "chebyshev", REF, evidence)


def _by_pair(problem: Problem, resolution: float, radius: float) -> Claim:
    """The dual of the fit in which weight costs eta, over all rates."""
    lags = _pair_lags(problem)
    d = _exchanged(problem, lags, resolution)
    for _ in range(4):  # until no rate sees more than eta, rounding of the pair included
        top = maximum(problem.decay, lags, d, problem.rates_from).upper * (1 + MARGIN)
        if top <= resolution:
            break
        d = d * (resolution / top) * (1 - 1e-9)
    else:
        d = np.zeros_like(d)
    with precision(BITS):
        rho = kernel_values(problem.kernel, int(lags.max()) + 1)
        worth = sum((arb(v) * rho[int(s)] for s, v in zip(lags, d, strict=True)), arb(0))
    used = {"lags": tuple(map(int, lags)), "y": tuple(map(float, d))}
    stop = int(lags.max()) + 1
    scope = _scope(problem, resolution, radius, stop, lowest_rate=problem.rates_from)
    return _claim(problem.kernel, scope, worth, radius, "pair", {"kind": "pair", **used})


def _pair_lags(problem: Problem) -> np.ndarray:
    """Where a pair differs: the first lags, and beyond them a geometric selection."""
    lags = certificate_lags(problem)
    near = max(MOST_LAGS // 2, min(2 * (problem.kernel.support or 0), MOST_LAGS))
    if len(lags) <= MOST_LAGS:
        return lags
    far = np.geomspace(near, lags[-1], MOST_LAGS - near // 2).astype(int)
    return np.unique(np.concatenate([lags[:near], far[far <= lags[-1]]])).astype(np.float64)


def _exchanged(problem: Problem, lags: np.ndarray, resolution: float) -> np.ndarray:
    """d by exchange: solve on few rates, add the rates that see most of d, repeat.  [S]"""
    rho = problem.kernel.values(int(lags.max()) + 1)[lags.astype(int)]
    if not rho.any():
        return np.zeros_like(lags)
    lowest = problem.rates_from
    grid = rate_grid(problem.decay, lags, lowest)
    columns = problem.decay.columns(grid, lags)
    scene = Scene(problem.decay, Norm.L1, lags, rho, 0.0, grid, columns)
    rates = grid[np.linspace(0, len(grid) - 1, START).astype(int)]
    best, value = np.zeros_like(lags), 0.0
    for _ in range(ROUNDS):
        d = _pair(problem.decay.columns(rates, lags), rho, resolution)
        peaks, heights = scene.peaks(d)
        ceiling, shrink = float(d @ rho), min(1.0, resolution / float(heights.max()))
        if ceiling * shrink > value:
            best, value = d * shrink, ceiling * shrink
        if ceiling - value <= ENOUGH * ceiling:
            break
        # all rates stay: where nothing is the best fit, none of them touches
        rates = np.unique(np.concatenate([rates, peaks[heights > KEEP * resolution]]))
    return best


def _pair(columns: np.ndarray, rho: np.ndarray, resolution: float) -> np.ndarray:
    """max <rho, d> with |d| <= 1 and |columns'd| <= resolution, by its dual fit.  [S]"""
    S, H = columns.shape
    if resolution == 0 and H >= S:
        return np.zeros(S)  # as many heads as lags see everything
    if resolution > 0:
        rows = np.concatenate([columns, np.eye(H)])
        target, prices = np.concatenate([rho, np.zeros(H)]), np.repeat([1.0, resolution], [S, H])
    else:  # any weights: an orthonormal basis of the same span
        rows, target, prices = np.linalg.qr(columns)[0], rho, np.ones(S)
    answer = solve(program(H, absolute=(rows, target, prices)), TOLERANCE)
    d = np.clip(answer.y[:S], -1.0, 1.0)
    return d if d @ rho >= 0 else -d


def _worth_at_rates(problem: Problem, evidence: dict, resolution: float) -> arb:
    """<w, d> of the pair after what the heads still see of it is taken away: by scaling, or for
    exact outputs by a change at as many lags as there are heads.
    """
    lags, y, pivots = evidence["lags"], evidence["y"], evidence["pivots"]
    length = lags[-1] + 1
    if not any(y):
        return arb(0)
    with precision(BITS + 64 * len(pivots)):
        rho = kernel_values(problem.kernel, length)
        curves = [problem.family.curve(b, length) for b in evidence["rates"]]
        d = {s: arb(v) for s, v in zip(lags, y, strict=True)}
        seen = [sum((v * curve[s] for s, v in d.items()), arb(0)) for curve in curves]
        size = arb(1)
        if resolution > 0:
            for z in seen:
                size = size.max(abs(z) / arb(resolution))
        else:
            system = arb_mat([[curve[s] for s in pivots] for curve in curves])
            try:
                change = system.solve(arb_mat([[-z] for z in seen]))
            except ZeroDivisionError:
                return arb(0)
            for k, s in enumerate(pivots):
                d[s] += change[k, 0]
        for v in d.values():
            size = size.max(abs(v))
        return sum((rho[s] * v for s, v in d.items()), arb(0)) / size
