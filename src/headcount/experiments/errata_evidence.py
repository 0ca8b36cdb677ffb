"""The numbers on the errata page: each function computes one point's evidence, by the code that
the rest of the software uses.
"""

import functools
import itertools
import math

import numpy as np

from headcount.construct.methods.affine_lag import answers, dp_free_floor
from headcount.construct.methods.pointer_jumps import doubling_stages
from headcount.experiments.floors import fitted
from headcount.experiments.kernel_runs import LENGTH
from headcount.experiments.paper import experiment_2b, experiment_4a
from headcount.experiments.sparse_floors import GENEROUS, affine_floor, walsh
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.inputs import Ternary
from headcount.memory.kernels import Exponential, Lag, Power
from headcount.memory.lag_functions import Affine
from headcount.theory.bounds import log10_weight, weight_needed
from headcount.theory.bounds.dp_free import check_floor
from headcount.theory.bump import bump_maximum
from headcount.theory.heads import family
from headcount.theory.problem import Problem
from headcount.theory.promised import ALWAYS_N, heads_promised, lag_lemma, refusals_of
from headcount.theory.theorems import bound
from headcount.theory.theorems.rate import log_norm, split


def weights_needed() -> str:
    needed = ", ".join(
        f"lag {T}: 10^{log10_weight(weight_needed(Problem(Lag(T), family('lin')), 0.5)):.1f}"
        for T in (5, 10, 99)
    )
    return f"certified sum|a| for an l1 error of 1/2, any number of lin heads: {needed}"


def promised_bound() -> str:
    found = {T: bound("3.1", f"fixed:lags={T}", "lin", 64, 256) for T in (10, 952)}
    said = (
        f"10^{f.log10_value:.0f}" if f.log10_value is not None else "none" for f in found.values()
    )
    return (
        "Theorem 3.1 with constants, 64 lin heads: error at most "
        + " (lag 10), ".join(said)
        + " (lag 952)"
    )


def trained_beside_possible(heads: int = 8) -> str:
    """What heads could reach beside a trained loss (4a), or cannot beside a reported one (2b)."""
    could = fitted(experiment_4a.KERNEL, "lin", heads, LENGTH).error.l2 ** 2
    possible = f"4a: {heads} lin heads could leave {could:.2g} of {experiment_4a.ENERGY:.3g}"
    below = f"{possible}, reported for 64 trained ones: {experiment_4a.REPORTED['lin-64']:g}"
    floor, reported = _down(min(_far_floors().values())), experiment_2b.REPORTED[-1]
    case = f"affine readouts of lin or log heads, weights up to {GENEROUS:g}"
    above = f"2b, x_48 + x_56 + x_99: {case}, leave at least {floor} of {_far_variance():g}"
    return f"{below}; {above}, certified; reported {reported.what}: {reported.value:g}"


def heavy_tail(sizes: tuple[int, ...] = (1000, 10_000, 100_000), summable: float = 2.5) -> str:
    """The sums of s^-1/2 and its value at lag 0, beside a kernel that Theorem 5.1 is about."""
    slow, fast = experiment_4a.KERNEL, Power(summable)
    with np.errstate(divide="ignore"):
        zero = float(slow.formula(np.float64(0), np))
    growth = ", ".join(
        f"{total / (2 * math.sqrt(S)):.3f}"
        for S, total in zip(sizes, _sums(slow, sizes), strict=True)
    )
    over = f"sums over {', '.join(f'{S:g}' for S in sizes)} lags"
    sums = f"{_summed(slow, sizes)}, that is {growth} times 2 sqrt S; {_summed(fast, sizes)}"
    return f"{over}: {sums}; at s = 0 s^-{slow.exponent:g} is {zero:g}"


def _sums(kernel: Power, sizes: tuple[int, ...]) -> list[float]:
    return [float(kernel.values(S + 1).sum()) for S in sizes]


def _summed(kernel: Power, sizes: tuple[int, ...]) -> str:
    """The sums, and the biases for which Theorem 5.1 has nothing against the kernel on all lags."""
    biases = [bias for bias in ("lin", "log") if not refusals_of(Problem(kernel, family(bias)))]
    sums = ", ".join(f"{total:.4g}" for total in _sums(kernel, sizes))
    return (
        f"s^-{kernel.exponent:g} {sums} (Theorem 5.1 applies with"
        f" {' and '.join(biases) or 'neither lin nor log'})"
    )


def light_tail(rate: float = 5.0, window: int = 1000) -> str:
    """The mass beyond lag 0, what log heads lose there, and what is left with log(1 + s) and
    with the residual.
    """
    kernel, energy = Exponential(rate), Exponential(2 * rate)  # rho and rho^2
    beyond = [kernel.tail(lag + 1) / kernel.tail(0) for lag in (0, 9)]
    mass = (
        f"e^(-{rate:g}s): of its mass {beyond[0]:.2g} lies beyond lag 0, {beyond[1]:.1g} beyond"
        " lag 9"
    )
    # [1, rates]: the heads' weights at lag 0
    there = family("log").columns(np.geomspace(0.01, 100, 9), np.zeros(1))
    lost = float(np.min((kernel.values(1)[:, None] - there) ** 2))
    seen = f"log heads weigh lag 0 by {float(np.abs(there).max()):g}"
    bare = f"{seen}: without a residual they leave at least {lost:g} of {energy.tail(0):.6g}"
    shifted = fitted(kernel, "log1p", 1, window).error.l2 ** 2
    around = fitted(kernel, "log", 1, window, residual=True).error.l2 ** 2
    mended = (
        f"one log1p head leaves {shifted:.2g}, the residual alone {energy.tail(1):.2g}, the"
        f" residual and one log head {around:.2g}"
    )
    return f"{mass}; {bare}; {mended}"


def suited_steps() -> str:
    """Heads that the same proof asks for, with the printed step and with one that suits the lag."""
    lags, tolerance = (10, 100, 952), 0.1
    printed = [heads_promised(lag_lemma("lin", T), tolerance) for T in lags]
    suited = [
        heads_promised(lag_lemma("lin", T, math.log(2) / T, math.log(2) / T), tolerance)
        for T in lags
    ]
    log = [heads_promised(lag_lemma("log", T), tolerance) for T in lags]
    rows = zip(lags, printed, suited, log, strict=True)
    each = (
        f"lag {T}: lin {a:.2g}, lin with alpha = ln2/T {b:.2g}, log {c:.2g}" for T, a, b, c in rows
    )
    return f"heads that the proof asks for, l1 error {tolerance}: " + "; ".join(each)


def doubling() -> str:
    return "layers for K jumps: " + ", ".join(
        f"K = {k}: {len(doubling_stages(k))} against {k + 1}" for k in (4, 8, 32)
    )


def depth(lags: tuple[int, ...] = (2, 4, 8), n: int = 2, heads: int = 48) -> str:
    """Three errors: one layer that shares its heads, its blocks orthogonal; one layer per memory
    with as many heads; one layer per memory with equal heads.
    """
    logs = [lag_lemma("lin", T).log_constant(n) for T in lags]
    counts = split(logs, n, heads)
    shallow = math.exp(log_norm([c - n * math.log(h) for c, h in zip(logs, counts, strict=True)]))
    equal = (heads // len(lags),) * len(lags)
    rows = [f"one layer of {sum(counts)}, shared as {counts}: {shallow:.6g}"]
    for layers in (counts, equal):
        errors = [math.exp(c) * h**-n for c, h in zip(logs, layers, strict=True)]
        deep = functools.reduce(math.hypot, errors)  # layer by layer, each adds its block
        rows.append(
            f"layers of {layers}, at most {max(layers)} per layer,"
            f" {sum(layers)} in total: {deep:.6g}"
        )
    return f"errors C H_k^-n of lin heads, lags {lags}, n = {n}: " + "; ".join(rows)


def lag0() -> str:
    kernel = Exponential(5.0)
    return (
        f"e^(-5s): lag 0 carries {float(kernel.values(1)[0]):g} of ||rho||_1 = {kernel.tail(0):.4g}"
    )


def loglog() -> str:
    return (
        "-log log g: "
        + ", ".join(f"g = {g}: {-math.log(math.log(g)):.2f}" for g in (2, 8))
        + "; at g = 1 log g = 0 has no logarithm"
    )


def heads_by_depth(b: tuple[float, ...] = (1.0, 1.0, 1.0), n: int = 1) -> str:
    """H^n times the error of H heads per layer: shared by the memories, errors added (4.1), or all
    for one memory per layer (4.5).
    """
    shares = [x ** (1 / (n + 1)) for x in b]
    two = sum(x * (share / sum(shares)) ** -n for x, share in zip(b, shares, strict=True))
    more = math.hypot(*b)
    ratio = (two / more) ** (1 / n)
    leaves = (
        f"Theorem 4.1 leaves {two:.3g} H^-{n} (2 layers), Proposition 4.5 {more:.3g} H^-{n} (M + 1"
        " layers)"
    )
    right = f"for the same error 2 layers need {ratio:.3g} times as many heads per layer as M + 1"
    printed = (
        f"with the formulas as D.2 places them {1 / ratio:.3g} times, so that depth would cost"
        " heads"
    )
    read = "to read: H_need in D.2 beside E_Attn of Theorem 4.1 and of Proposition 4.5"
    return f"{len(b)} equal memories, n = {n}: {leaves}; {right}, {printed}; {read}"


def added_errors(lags: tuple[int, ...] = (2, 4, 8), n: int = 1, heads: int = 60) -> str:
    """C(n) H^-n (sum_k w_k)^{n+1} is the sum of the errors at the printed split; the root of
    squares at its own.
    """
    logs = [lag_lemma("lin", T).log_constant(n) for T in lags]
    weights = [math.exp(0.01 * T) for T in lags]
    added = sum(
        math.exp(c) * (heads * w / sum(weights)) ** -n for c, w in zip(logs, weights, strict=True)
    )
    counts = split(logs, n, heads)
    root = math.exp(log_norm([c - n * math.log(h) for c, h in zip(logs, counts, strict=True)]))
    return (
        f"lags {lags}, {heads} lin heads, n = {n}: sum {added:.3g}, root of squares {root:.3g}, a"
        f" factor of {added / root:.2f}"
    )


def integer_heads(lags: tuple[int, ...] = (2, 4, 8), n: int = 1, heads: int = 8) -> str:
    weights = [math.exp(0.01 * T) for T in lags]
    printed = ", ".join(f"{heads * w / sum(weights):.2f}" for w in weights)
    counts = split([lag_lemma("lin", T).log_constant(n) for T in lags], n, heads)
    return f"lags {lags}, {heads} lin heads: H_k = {printed} as printed, {counts} in whole numbers"


def masses() -> str:
    return (
        f"||rho||_1 of s^-1.5, s >= 1, is {Power(1.5).tail(1):.3g}, of e^(-0.1 s)"
        f" {Exponential(0.1).tail(0):.3g}"
    )


def every_n(beta: float = 0.005, n: int = 1) -> str:
    """Lemma F.3 at a step that suits beta; its own condition is n < (beta - gamma)/alpha."""
    step, decay = beta / (3 * n), beta / 2
    assert n < (beta - decay) / step
    constant = math.e * 2**n * bump_maximum(n) * (-math.expm1(-step)) ** -n / -math.expm1(-decay)
    return (
        f"beta = {beta:g}: no n is at most 99 beta = {99 * beta:g}; alpha = beta/(3n), gamma ="
        f" beta/2 gives n = {n} with C = {constant:.2g}"
    )


def signs(count: int = 3) -> str:
    """relu(<v, x> - (count - 1)) is 1 at the vertex v and 0 at the others; for one sign relu(x)
    and relu(-x).
    """
    off = {}
    for signs in (1, count):
        vertices = np.array(list(itertools.product((-1.0, 1.0), repeat=signs)))
        values = np.random.default_rng(0).standard_normal(len(vertices))
        hidden = np.maximum(vertices @ vertices.T - (signs - 1), 0.0)  # [points, neurons]
        off[signs] = float(np.abs(hidden @ values - values).max())
    return (
        f"random values on all points: 2 neurons on one sign are off by {off[1]:g}, {2**count} on"
        f" {count} signs by {off[count]:g}"
    )


def jackson(n: int, m: int) -> float:
    """m^n times the error of polynomials of degree m - 1 on [0, 1], for functions with |f^(n)| <= 1
    and f^(j)(0) = 0 for j <= n: the smaller of two bounds.

        Favard and Sinwel (m >= n)           K_n 2^-n (m-n)!/m!
        interpolation at Chebyshev points    2 4^-k/k! |f^(k)|,  k = min(n, m),
                                             |f^(m)| <= |f^(n)|/(n-m)! where m < n
    """
    k = min(n, m)
    nodes = math.log(2) - k * math.log(4) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    if m < n:
        return math.exp(nodes + n * math.log(m))
    best = math.log(_favard(n)) - n * math.log(2) + math.lgamma(m - n + 1) - math.lgamma(m + 1)
    return math.exp(min(nodes, best) + n * math.log(m))


@functools.cache
def _favard(n: int) -> float:
    """K_n, which lies between 1 and pi/2."""
    return 4 / math.pi * sum((-1) ** (j * (n + 1)) / (2 * j + 1) ** (n + 1) for j in range(1000))


def jackson_constant(most: int = 15, reach: int = 200) -> str:
    small = max(jackson(n, m) for n in range(1, ALWAYS_N + 1) for m in range(1, reach))
    large = max(jackson(n, m) for n in range(1, most + 1) for m in range(n, reach))
    n = ALWAYS_N + 1
    worst = max(range(1, n), key=lambda m: jackson(n, m))
    told = (
        f"two known bounds give at most {small:.2g} for n <= {ALWAYS_N}, {large:.2g} for n <="
        f" {most} and m >= n"
    )
    return (
        f"{told} (m < {reach}); for n = {n}, m = {worst} {jackson(n, worst):.3g}, which decides"
        " nothing"
    )


def sampled(inputs: int = 4, m: int = 256) -> str:
    return (
        f"D' = {inputs}, R = 1, m = {m}, times ||f||_B: {4 * math.sqrt((inputs + 1) / m):.3g}"
        f" against 1/sqrt m = {1 / math.sqrt(m):.3g}"
    )


@functools.cache
def _far_floors() -> dict[tuple[str, str], float]:
    """(bias, reading) → the certified floor of x_48 + x_56 + x_99."""
    cases = [(bias, reading) for reading in ("positions", "lags") for bias in ("lin", "log")]
    return {
        (bias, reading): affine_floor(f"exp-2b:reading={reading}", bias).value
        for bias, reading in cases
    }


def _far_variance() -> float:
    """What the constant answer leaves."""
    return walsh("exp-2b:reading=lags").variance


def _down(value: float) -> str:
    """Two places, never above the value: a floor stays a floor.

    >>> _down(2.699)
    '2.69'
    """
    return f"{math.floor(100 * value) / 100:.2f}"


def far_lags() -> str:
    floors = "; ".join(
        f"{bias}, {reading}: {_down(floor)}" for (bias, reading), floor in _far_floors().items()
    )
    return (
        f"certified floors of x_48 + x_56 + x_99, out of {_far_variance():g}, affine readouts,"
        f" weights up to {GENEROUS:g}: {floors}"
    )


def prop42() -> str:
    found = bound("4.2", "prop42", "lin", 8, 256).lower
    return (
        ""
        if found is None
        else f"{found['value']:g} for {found['for']}, printed {found['printed']:.3g}"
    )


def prop42_lags() -> str:
    """Proposition 4.2 with g = 0, 1, 2 as printed and with g = 1, 2, 3: certificates that are
    checked in fractions.
    """
    said = []
    for lowest in (0, 1):
        g = Affine(offset=lowest + 1, slope=1, T=lowest + 2, allow_zero=lowest == 0)
        target = AdaptiveMemory((g,), inputs=Ternary())
        floor = dp_free_floor(target)
        assert check_floor(floor, answers(target))
        lags = ", ".join(str(lag) for lag in g.possible(1))
        said.append(
            f"g in {{{lags}}}{' (lag 0 is outside the class)' if g.lowest < 1 else ''}:"
            f" {floor.value:g}"
        )
    return (
        f"certified floors without dot product and FFN: {'; '.join(said)}; the answer 0 costs"
        f" {Ternary().bound:g}"
    )


def cancelled_term(rate: float = 0.7, wish: int = 3, length: int = 50) -> str:
    plain = [math.exp(-rate * s) for s in range(length)]
    moved = [math.exp(-rate * (s - wish)) for s in range(length)]
    gap = max(abs(a / sum(plain) - b / sum(moved)) for a, b in zip(plain, moved, strict=True))
    return f"largest difference of the normalised weights with and without the term: {gap:.1g}"


def bump_factor() -> str:
    return f"(1 - 1/e)/(1 - e^-0.01) = {(1 - math.exp(-1)) / -math.expm1(-0.01):.1f} per derivative"


def tolerance(T: int = 100) -> str:
    return (
        f"T = {T}: log(1 + 1/(2T)) = {math.log1p(1 / (2 * T)):.4g} against 1/(4T) ="
        f" {1 / (4 * T):.4g}"
    )


def transposed(rate: float = 0.7, wish: float = 3.0) -> str:
    """One memory of one number: D = 4 coordinates x_t, x_{t-g}, g, 1. Row and column as in the
    paper's W_V.
    """
    # x_t and a token before it, with their g
    query, key = np.array([0.5, 0.0, wish, 1.0]), np.array([-0.2, 0.0, 1.0, 1.0])

    def product(to_query: tuple[int, int], to_key: tuple[int, int]) -> float:
        maps = np.zeros((2, 4, 4))
        maps[0][to_query], maps[1][to_key] = math.sqrt(rate), math.sqrt(rate)
        return float((maps[0] @ query) @ (maps[1] @ key))

    return (
        f"rate {rate}, g = {wish:g}: <W_Q x_t, W_K x_s> = {product((2, 0), (3, 0)):g} as printed,"
        f" {product((0, 2), (0, 3)):g} transposed"
    )


def shifted_index(lags: tuple[int, ...] = (3, 5)) -> str:
    """Coordinates D - M, …, D hold g_1, …, g_M, 1; what a head finds one place further, and
    without 1/log 2.
    """
    stream = (*lags, 1)
    read = ", ".join(
        f"the head for g_{i} = {lag} reads {stream[i]}" for i, lag in enumerate(lags, start=1)
    )
    return (
        f"one index on, {read}; log g = {math.log(lags[0]):.3g} without 1/log 2 counts as"
        f" {math.log(lags[0]) * math.log(2):.3g}"
    )


def retrieval_errors(slope: int = 9) -> str:
    """Ten tokens k/slope and g(x) = 1 + slope x, rounded as floor(g + 1/2) after a retrieval
    that is off by an error.
    """
    tokens = np.arange(slope + 1) / slope
    moved = {
        e: int((np.floor(1 + slope * (tokens + e) + 0.5) != np.round(1 + slope * tokens)).sum())
        for e in (0.05, 0.06)
    }
    counts = ", ".join(
        f"a retrieval error of {e} changes {count} of {len(tokens)} lags"
        for e, count in moved.items()
    )
    return f"g(x) = 1 + {slope} x on the tokens k/{slope}: {counts}"
