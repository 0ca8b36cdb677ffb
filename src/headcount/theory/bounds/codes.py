"""Finite letters: a head is a code of the past, and what a code cannot do.

Tokens from a finite alphabet V (scalars) can be packed into one head, sum_s p(s) x_{t-s}, and
unpacked by neurons: heads trade for neurons and for digits. Setting and `resolution` are those of
`recovery`: one layer without dot product, weights p_h = c_h phi_h with p_h <= 1, and head outputs
known to ±eta r, r the largest letter. Three bounds.

**Collision** (given rates). Let two windows x, x' have the same x_t and

    |sum_s phi_h(s) (x(s) - x'(s))| <= 2 eta r    for every head h.

Then one point lies within eta r of both outputs, a readout may be handed it for both, and its error
is at least half the difference of the two answers. (For boxes pairs say all: if every pair of a set
of windows is that close, then one point is close to all of them. So the closest pair with the most
different answers is the best error of any readout, and a complete search makes the bound sharp.)
For a linear memory only the difference of the windows matters; it is found by meeting in the middle
up to `MEETING` differences, and by lattice reduction beyond.

**Pigeonhole** (lin heads of every rate). There are V^T windows over the lags 1..T. Each output lies
in an interval of length at most 2 r T (weights are at most 1), which falls into n = ceil(T / eta)
cells of length 2 eta r. If V^T > n^H, two windows share a cell in every head. Let j be the oldest
lag at which they differ, and put T - j equal tokens in front of both: lag j becomes lag T, no lag
beyond T is used, and every difference of outputs is multiplied by e^{-b (T-j)} <= 1. So lag T
itself is confused: its error is at least half the smallest gap between two letters. (For log and
log1p heads some lag up to T is confused; which one is open, since their curves do not shift.)

**Pieces** (one head of a given rate, ReLU neurons). For fixed x_t a network with one hidden layer
of m ReLU neurons, with whatever linear terms besides, is a piecewise linear function of the head's
output z with at most m + 1 pieces. A piece crosses a level at most once. If windows in the order of
their outputs have answers that lie alternately at least e above and at least e below a level, A
times, then an error below e needs A crossings: A <= m + 1. Interpolation with m = A - 1 neurons
attains it.
"""

import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from flint import arb, fmpz_mat

from headcount.core.claims import SIGNS, Claim, Lags, Readout, Scope, Sense, Status, Tokens
from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.kernels import AbstractKernel, Lag
from headcount.theory.balls import kernel_values, precision, round_down
from headcount.theory.heads import AbstractDecay, as_decay, family

REF = Ref("headcount", "docs/proved.md#codes")
WINDOWS = 2**16  # windows that are looked at one by one
MEETING = 3**20  # differences of windows that two halves may have together
CHUNK = 4_000_000  # matches looked at in one go
ROOM = 1e-12  # float64 codes may be off by this; what is claimed is measured in balls

Words = tuple[tuple[float, ...], ...]  # a sequence, oldest token first
Answer = Callable[[Words], float]


def collision_claim(
    kernel: AbstractKernel,
    bias: str,
    rates: Sequence[float],
    resolution: float,
    lags: int,
    tokens: Tokens = SIGNS,
) -> Claim:
    """Two windows over the lags 1..lags that heads of these rates confuse, with answers of this
    linear memory as different as the search found; value 0 where it found none.
    """
    letters = _letters(tokens)
    decay, chosen = _heads(bias, rates)
    _room(resolution, lags)
    steps = sorted({b - a for a in letters for b in letters})
    s = np.arange(1, lags + 1, dtype=np.float64)
    curves = decay.columns(np.array(chosen), s)  # [S, H]
    weights = kernel.values(lags + 1)[1:]
    allowed = 2 * resolution * max(map(abs, letters)) * (1 - 1e-9)
    if len(steps) ** lags <= MEETING:
        found = _met(np.array(steps), curves, weights, allowed)
    else:
        found = _reduced(steps, curves, weights, allowed)
    here, there = _windows(found, letters)
    with precision(160):
        rho, change = kernel_values(kernel, lags + 1), map(float, here - there)
        worth = sum((arb(v) * rho[k + 1] for k, v in enumerate(change)), arb(0))
        value = round_down(abs(worth) / 2)
    return _collision(kernel, bias, chosen, resolution, tokens, here, there, letters[0], value)


def collision_of_answers(
    subject: Hashable,
    answer: Answer,
    bias: str,
    rates: Sequence[float],
    resolution: float,
    lags: int,
    tokens: Tokens = SIGNS,
) -> Claim:
    """The same for an answer of any kind, over every pair of windows: sharp for these lags."""
    letters = _letters(tokens)
    decay, chosen = _heads(bias, rates)
    _room(resolution, lags)
    count = len(letters) ** (lags + 1)
    require(count <= WINDOWS, f"{count} windows", f"at most {WINDOWS}", "use fewer lags")
    s = np.arange(1, lags + 1, dtype=np.float64)
    curves = decay.columns(np.array(chosen), s)
    past = np.array(list(itertools.product(letters, repeat=lags)))  # [n, S], by lag from 1 on
    allowed = 2 * resolution * max(map(abs, letters)) * (1 - 1e-9)
    best = (0.0, past[0], past[0], letters[0])
    for now in letters:
        answers = np.array([answer(_sequence(now, row)) for row in past])
        spread, i, j = _closest(past @ curves, answers, allowed)
        if spread > best[0]:
            best = (spread, past[i], past[j], now)
    spread, here, there, now = best
    return _collision(subject, bias, chosen, resolution, tokens, here, there, now, spread / 2)


def pigeonhole_claim(lag: int, heads: int, resolution: float, tokens: Tokens = SIGNS) -> Claim:
    """Lag T with so many lin heads of any rates: no better than half the smallest gap of letters,
    where there are more windows than cells; else 0.
    """
    letters = _letters(tokens)
    _room(resolution, lag)
    require(heads >= 1, f"{heads} heads", "at least 1", "pass heads=1 or more")
    require(resolution > 0, "exact outputs", "a resolution", "exact outputs are never confused")
    full = len(letters) ** lag > math.ceil(lag / resolution) ** heads
    gap = min(b - a for a, b in itertools.pairwise(letters))
    scope = _scope("lin", resolution, tokens, lag + 1, heads=heads)
    evidence = {"kind": "pigeonhole"}
    value = gap / 2 if full else 0.0
    lower, proved = Sense.AT_LEAST, Status.PROVED
    return Claim(Lag(lag), scope, lower, value, proved, "pigeonhole", REF, evidence)


def pigeonhole_heads(lag: int, resolution: float, letters: int = 2) -> int:
    """The fewest lin heads that counting does not exclude for this lag.

    >>> pigeonhole_heads(24, 2.0**-24), pigeonhole_heads(64, 2.0**-24), pigeonhole_heads(64, 2**-9)
    (1, 3, 5)
    """
    cells, heads = math.ceil(lag / resolution), 1
    while letters**lag > cells**heads:
        heads += 1
    return heads


def pieces_claim(lag: int, bias: str, rate: float) -> Claim:
    """Lag T of signs from one head of this rate: the neurons that its code asks for."""
    decay, chosen = _heads(bias, (rate,))
    count = 2**lag
    require(count <= WINDOWS, f"{count} windows", f"at most {WINDOWS}", "use an earlier lag")
    curve = decay.columns(np.array(chosen), np.arange(1, lag + 1, dtype=np.float64))[:, 0]
    past = np.array(list(itertools.product((-1.0, 1.0), repeat=lag)))  # [n, T]
    order = np.argsort(past @ curve, kind="stable")
    codes, rows = (past @ curve)[order], past[order]
    kept = [0]  # the first of each run of equal answers; codes too close to order are left out
    for i in range(1, count):
        if rows[i, -1] != rows[kept[-1], -1] and codes[i] > codes[i - 1] + ROOM:
            kept.append(i)
    crossings = len(kept) - 1
    evidence = {"kind": "pieces", "windows": tuple(tuple(map(float, rows[i])) for i in kept)}
    neurons = max(0, crossings - 2)
    scope = _scope(bias, 0.0, SIGNS, lag + 1, heads=1, rates=chosen, neurons=neurons)
    value = 1.0 if crossings >= 2 else 0.0
    lower, proved = Sense.AT_LEAST, Status.PROVED
    return Claim(Lag(lag), scope, lower, value, proved, "pieces", REF, evidence)


# --- search ---------------------------------------------------------------------------------------


def _met(steps: np.ndarray, curves: np.ndarray, weights: np.ndarray, allowed: float) -> np.ndarray:
    """The difference of windows with the largest |<w, delta>| among those that no head sees by
    more than `allowed`; each half of the lags is listed once.  [S]
    """
    half = len(curves) // 2
    one, two = (_listed(steps, n) for n in (half, len(curves) - half))
    left, right = one @ curves[:half], two @ curves[half:]  # [n, H], [m, H]
    order = np.argsort(right[:, 0], kind="stable")
    two, right = two[order], right[order]
    gain_one, gain_two = one @ weights[:half], two @ weights[half:]
    low = np.searchsorted(right[:, 0], -left[:, 0] - allowed, side="left")
    high = np.searchsorted(right[:, 0], -left[:, 0] + allowed, side="right")
    best, found = 0.0, np.zeros(len(curves))
    start = 0
    counts = high - low
    while start < len(one):
        stop = start + max(1, int(np.searchsorted(np.cumsum(counts[start:]), CHUNK)))
        rows = np.repeat(np.arange(start, stop), counts[start:stop])
        within = np.arange(len(rows)) - np.repeat(
            np.cumsum(counts[start:stop]) - counts[start:stop], counts[start:stop]
        )
        others = low[rows] + within
        close = (np.abs(left[rows] + right[others]) <= allowed).all(axis=1)
        gains = np.where(close, np.abs(gain_one[rows] + gain_two[others]), -1.0)
        if len(gains) and gains.max() > best:
            k = int(gains.argmax())
            best, found = float(gains[k]), np.concatenate([one[rows[k]], two[others[k]]])
        start = stop
    return found


def _listed(steps: np.ndarray, lags: int) -> np.ndarray:
    """Every difference over so many lags.  [n, lags]"""
    if lags == 0:
        return np.zeros((1, 0))
    return np.stack([g.ravel() for g in np.meshgrid(*[steps] * lags, indexing="ij")], axis=1)


def _reduced(
    steps: list[float], curves: np.ndarray, weights: np.ndarray, allowed: float
) -> np.ndarray:
    """A short vector of the lattice of differences whose outputs are small, by LLL: multiples of
    the smallest step, none larger than the largest.  [S]
    """
    step, most = min(x for x in steps if x > 0), max(steps)
    lags = len(curves)
    best, found = 0.0, np.zeros(lags)
    for scale in (1.0, 4.0, 16.0):
        grown = np.rint(scale * curves * step / max(allowed, 1e-300)).astype(object)
        rows = [
            [int(i == k) for k in range(lags)] + [int(v) for v in grown[i]] for i in range(lags)
        ]
        reduced = np.array(
            [[int(v) for v in row] for row in fmpz_mat(rows).lll().tolist()], dtype=float
        )[:, :lags]
        pairs = [a + sign * b for a, b in itertools.combinations(reduced, 2) for sign in (1, -1)]
        for short in itertools.chain(reduced, pairs):
            delta = step * short
            small = np.abs(delta).max() <= most and np.abs(delta @ curves).max() <= allowed
            if small and set(delta) <= set(steps) and abs(delta @ weights) > best:
                best, found = abs(float(delta @ weights)), delta
    return found


def _closest(codes: np.ndarray, answers: np.ndarray, allowed: float) -> tuple[float, int, int]:
    """(spread, i, j) of the windows with the most different answers among those whose codes [n, H]
    are within `allowed` of each other."""
    order = np.argsort(codes[:, 0], kind="stable")
    codes, values = codes[order], answers[order]
    best = (0.0, 0, 0)
    for offset in range(1, len(codes)):
        ahead = codes[offset:] - codes[:-offset]
        if not (ahead[:, 0] <= allowed).any():
            break
        close = (np.abs(ahead) <= allowed).all(axis=1)
        spreads = np.where(close, np.abs(values[offset:] - values[:-offset]), 0.0)
        k = int(spreads.argmax())
        if spreads[k] > best[0]:
            best = (float(spreads[k]), int(order[k]), int(order[k + offset]))
    return best


# --- records --------------------------------------------------------------------------------------


def _windows(delta: np.ndarray, letters: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Two windows of letters with this difference."""
    here, there = np.empty_like(delta), np.empty_like(delta)
    for k, step in enumerate(delta):
        here[k], there[k] = min(
            ((a, b) for a in letters for b in letters), key=lambda ab: abs(ab[0] - ab[1] - step)
        )
    return here, there


def _sequence(now: float, past: np.ndarray) -> Words:
    return tuple((float(v),) for v in (*past[::-1], now))


def _scope(bias: str, resolution: float, tokens: Tokens, stop: int, **limits: Any) -> Scope:
    return Scope(
        bias=bias,
        readout=Readout.ANY,
        lags=Lags(1, stop),
        tokens=tokens,
        resolution=resolution,
        **limits,
    )


def _collision(
    subject: Hashable,
    bias: str,
    rates: tuple[float, ...],
    resolution: float,
    tokens: Tokens,
    here: np.ndarray,
    there: np.ndarray,
    now: float,
    value: float,
) -> Claim:
    evidence = {
        "kind": "collision", "rates": rates, "here": _sequence(now, here),
        "there": _sequence(now, there),
    }  # fmt: skip
    scope = _scope(bias, resolution, tokens, len(here) + 1, rates=rates)
    lower, proved = Sense.AT_LEAST, Status.PROVED
    return Claim(subject, scope, lower, value, proved, "collision", REF, evidence)


def _letters(tokens: Tokens) -> list[float]:
    """The letters, sorted; scalars."""
    plain = tokens.letters is not None and all(len(letter) == 1 for letter in tokens.letters)
    fix = "for vectors or a ball see `recovery`"
    require(plain, str(tokens), "finitely many numbers as tokens", fix)
    assert tokens.letters is not None
    require(len(tokens.letters) >= 2, str(tokens), "at least 2 letters", "add one")
    return sorted(letter[0] for letter in tokens.letters)


def _heads(bias: str, rates: Sequence[float]) -> tuple[AbstractDecay, tuple[float, ...]]:
    decay = as_decay(family(bias))
    chosen = tuple(sorted(set(map(float, rates))))
    require(len(chosen) >= 1, "no rates", "at least 1", "pass the rates of the heads")
    for rate in chosen:
        decay.check(rate)
    return decay, chosen


def _room(resolution: float, lags: int) -> None:
    require(lags >= 1, f"{lags} lags", "at least 1", "look further back")
    fits = 0 <= resolution < 1
    require(fits, f"resolution {resolution}", "at least 0 and below 1", "for float32 pass 2**-24")
