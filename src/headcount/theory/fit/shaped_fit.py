"""Fits by heads that are not decays: what a different positional bias buys.

One peak per lag isolates any lag (the leak 2e^{-p} falls with the sharpness, no cancellation); a
table draws every kernel of one sign with one head, exactly; a rotary head reaches one lag of a
finite window once its amplitudes, aligned at that lag, add up high enough. The amplitudes solve the
linear program

    max d   subject to   sum_j r_j (1 - cos(theta_j x)) >= d for every other lag's distance x,
                         sum_j r_j = 1;

scaled by log(S/eps)/d they leave a leak of at most eps.

Which of them is best is decided by `measure`: the curves recomputed from their parameters in ball
arithmetic.
"""

import functools
import math

import numpy as np
import scipy  # its parts load when they are used: most fits need none of them

from headcount.core.errors import require
from headcount.core.threads import one_thread
from headcount.theory.head_sum import Fit, HeadSum, rational
from headcount.theory.heads import Shaped
from headcount.theory.measure import measure, norm_of
from headcount.theory.problem import Norm, Problem
from headcount.theory.shaped_curves import AbstractShape, Peak, Rotary, Table, frequencies

DEFAULT_LEAK = 1e-9
RIDGE = 1e-3


@one_thread()
def fit_shaped(problem: Problem, heads: int, leak: float = DEFAULT_LEAK, dims: int = 64) -> Fit:
    """The best of the constructions for the problem's bias: peak, table or rope."""
    require(heads >= 1, f"{heads} heads", "at least 1", "pass more heads")
    require(
        0 < leak < 1, f"leak {leak}", "between 0 and 1", "pass the error that one head may leave"
    )
    endless = problem.window is None and problem.kernel.support is None and problem.tail_counts
    require(
        problem.family.summable or not endless,
        f"{problem.family.name} without a window",
        "a finite window: a rotary head does not decay",
        "pass --window 1024",
    )
    family = problem.family
    assert isinstance(family, Shaped)
    candidates = {Peak: _peaks, Table: _tables, Rotary: _rotaries}[family.kind]
    fits = [
        Fit(HeadSum(family, tuple(shapes), tuple(rational(a) for a in weights)), method)
        for method, shapes, weights in candidates(problem, heads, leak, dims)
    ]
    if len(fits) == 1:
        return fits[0]
    return min(fits, key=lambda fit: measure(problem, fit.head_sum)[problem.norm])


Candidate = tuple[str, list[AbstractShape], np.ndarray]


def _target(problem: Problem) -> np.ndarray:
    """The kernel from lag 0, zero where lags do not count.  [S]"""
    values = problem.kernel.values(problem.length)
    values[: problem.first_lag] = 0.0
    return values


def _peaks(problem: Problem, heads: int, leak: float, dims: int) -> list[Candidate]:
    target = _target(problem)
    sharpness = math.log(2.1 / leak)  # 2 sum_k e^{-p k^2} <= 2.1 e^{-p} for p >= 2
    sharpness = max(sharpness, 2.0)
    chosen = np.sort(
        np.argsort(-np.abs(target), kind="stable")[: min(heads, np.count_nonzero(target))]
    )
    found: list[Candidate] = [
        ("one peak per lag", [Peak(float(c), sharpness) for c in chosen], target[chosen])
    ]
    if heads < np.count_nonzero(target):
        found.append(_greedy_peaks(problem, target, heads))
    return found


def _greedy_peaks(problem: Problem, target: np.ndarray, heads: int) -> Candidate:
    """Add the bump that matches the residual best, over all centres (by convolution) and widths;
    then refine all together.
    """
    length = len(target)
    widths = np.geomspace(1.0 / length**2, 12.0, 40)
    centres, log_p = np.empty(0), np.empty(0)
    offsets = np.arange(-length + 1, length)
    bumps = [np.exp(-p * offsets**2.0) for p in widths]
    energies = [_correlation(np.ones(length), b**2) for b in bumps]
    residual = target
    for _ in range(heads):
        scores = [
            np.abs(_correlation(residual, b)) / np.sqrt(e)
            for b, e in zip(bumps, energies, strict=True)
        ]
        i = int(np.argmax([s.max() for s in scores]))
        centres, log_p = (
            np.append(centres, float(scores[i].argmax())),
            np.append(log_p, math.log(widths[i])),
        )
        centres, log_p = _refined(target, centres, log_p)
        columns = _bump_columns(centres, log_p, length)
        residual = target - columns @ np.linalg.lstsq(columns, target, rcond=None)[0]
    coefficients = fit_coefficients(_bump_columns(centres, log_p, length), target, problem.norm)
    return (
        "greedy sum of peaks",
        [Peak(float(c), float(math.exp(p))) for c, p in zip(centres, log_p, strict=True)],
        coefficients,
    )


def _correlation(values: np.ndarray, bump: np.ndarray) -> np.ndarray:
    """sum_s values(s) bump(s - c) for every centre c; `bump` is even, on -S+1..S-1.  [S]"""
    length = len(values)
    size = scipy.fft.next_fast_len(3 * length, real=True)
    both = scipy.fft.rfft(values, size) * scipy.fft.rfft(bump, size)
    return scipy.fft.irfft(both, size)[length - 1 : 2 * length - 1]


def _bump_columns(centres: np.ndarray, log_p: np.ndarray, length: int) -> np.ndarray:
    return np.exp(-np.exp(log_p) * (np.arange(length)[:, None] - centres) ** 2)  # [S, H]


def _refined(
    target: np.ndarray, centres: np.ndarray, log_p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Variable projection: least squares in centres and widths, coefficients solved anew."""
    count, length = len(centres), len(target)

    def residual(x: np.ndarray) -> np.ndarray:
        columns = _bump_columns(x[:count], x[count:], length)
        return target - columns @ np.linalg.lstsq(columns, target, rcond=1e-10)[0]

    start = np.concatenate([centres, log_p])
    low = np.concatenate(
        [np.full(count, -float(length)), np.full(count, math.log(0.05 / length**2))]
    )
    high = np.concatenate([np.full(count, float(length)), np.full(count, 5.0)])
    solved = scipy.optimize.least_squares(
        residual,
        np.clip(start, low + 1e-9, high - 1e-9),
        bounds=(low, high),
        max_nfev=12,
        x_scale="jac",
    )
    return (
        (solved.x[:count], solved.x[count:])
        if 2 * solved.cost <= float(residual(start) @ residual(start))
        else (centres, log_p)
    )


def fit_coefficients(columns: np.ndarray, target: np.ndarray, norm: Norm) -> np.ndarray:
    """min over a of ||target - columns a|| in the norm.  [H]"""
    if norm is Norm.L2:
        return np.linalg.lstsq(columns, target, rcond=None)[0]
    rows, count = columns.shape
    errors = rows if norm is Norm.L1 else 1
    slack = -np.eye(rows) if norm is Norm.L1 else -np.ones((rows, 1))
    limits = np.block([[columns, slack], [-columns, slack]])
    cost = np.concatenate([np.zeros(count), np.ones(errors)])
    solved = scipy.optimize.linprog(
        cost,
        A_ub=scipy.sparse.csr_matrix(limits),
        b_ub=np.concatenate([target, -target]),
        bounds=[(None, None)] * count + [(0, None)] * errors,
        method="highs",
    )
    return (
        solved.x[:count] if solved.status == 0 else np.linalg.lstsq(columns, target, rcond=None)[0]
    )


def _tables(problem: Problem, heads: int, leak: float, dims: int) -> list[Candidate]:
    """One head for each sign that occurs; with one head only, the heavier sign."""
    target = _target(problem)
    parts = [(sign, np.maximum(sign * target, 0.0)) for sign in (1.0, -1.0)]
    parts = sorted((p for p in parts if p[1].any()), key=lambda p: -p[1].sum())[:heads]
    shapes: list[AbstractShape] = []
    coefficients = []
    for sign, part in parts:
        last = int(np.flatnonzero(part)[-1]) + 1
        with np.errstate(divide="ignore"):
            shapes.append(Table(tuple(np.log(part[:last] / part.max()).tolist())))
        coefficients.append(sign * part.max())
    return [("free logits", shapes, np.array(coefficients))]


def _rotaries(problem: Problem, heads: int, leak: float, dims: int) -> list[Candidate]:
    target = _target(problem)
    chosen = np.sort(
        np.argsort(-np.abs(target), kind="stable")[: min(heads, np.count_nonzero(target))]
    )
    found: list[Candidate] = []
    signs = np.sign(target[target != 0])
    if len(chosen) < np.count_nonzero(target) and (signs == signs[0]).all():
        found.append(_one_rotary(tuple(target.tolist()), problem.norm, dims))
        _, (shape,), a = found[0]
        left = np.delete(target, chosen)  # what heads for single lags leave out
        drawn = norm_of(target - shape.values(len(target)) * a[0], problem.norm)
        if norm_of(left, problem.norm) >= drawn:
            return found
    shapes: list[AbstractShape] = [rotary_at(int(lag), len(target), leak, dims) for lag in chosen]
    return [*found, ("one rotary head per lag", shapes, target[chosen])]


def rotary_at(lag: int, length: int, leak: float, dims: int, base: float = 10000.0) -> Rotary:
    """Amplitudes aligned at one lag, with the least total that leaves at most `leak` on the
    other lags of the window.
    """
    theta = frequencies(dims, base)
    if length == 1:
        return Rotary((1.0,) * len(theta), (0.0,) * len(theta), float(len(theta)), base)
    profile, depth = _profile(lag, length, dims, base)
    scale = _scale_for(depth, leak)
    return Rotary(
        tuple((scale * profile).tolist()),
        tuple((-theta * lag).tolist()),
        scale * math.fsum(profile),
        base,
    )


@functools.lru_cache(maxsize=256)
def _profile(lag: int, length: int, dims: int, base: float) -> tuple[np.ndarray, np.ndarray]:
    """Amplitudes [J] that add up to 1, and how far the logits of the other lags [S-1] then lie
    below the top; the leak only scales them.
    """
    theta = frequencies(dims, base)
    distances = np.array([x for x in range(-lag, length - lag) if x != 0], dtype=np.float64)
    drop = 1 - np.cos(np.abs(distances)[:, None] * theta)  # [S-1, J]
    solved = scipy.optimize.linprog(
        np.append(np.zeros(len(theta)), -1.0),
        A_ub=np.hstack([-drop, np.ones((len(drop), 1))]),
        b_ub=np.zeros(len(drop)),
        A_eq=np.append(np.ones(len(theta)), 0.0)[None, :],
        b_eq=[1.0],
        bounds=(0, None),
        method="highs",
    )
    apart = solved.status == 0 and solved.x[-1] > 0
    require(
        apart,
        f"{dims} rotary dimensions for lag {lag} in {length} lags",
        "frequencies that tell these lags apart",
        "use more dims",
    )
    return solved.x[:-1], drop @ solved.x[:-1]


def _scale_for(depth: np.ndarray, leak: float) -> float:
    """The smallest scale with sum e^{-scale depth} <= leak (the sum falls in the scale)."""
    high = math.log(len(depth) / leak) / float(depth.min())
    return float(
        scipy.optimize.brentq(
            lambda z: float(np.exp(-z * depth).sum()) - leak, 0.0, high * (1 + 1e-9)
        )
    )


@functools.lru_cache(maxsize=16)
def _one_rotary(values: tuple[float, ...], norm: Norm, dims: int) -> Candidate:
    """One head for a kernel of one sign: Gauss-Newton on a e^{F x}, started from least squares
    on the logarithm.
    """
    target, theta = np.array(values), frequencies(dims)
    angles = np.outer(np.arange(len(target)), theta)
    features = np.hstack([np.cos(angles), np.sin(angles), np.ones((len(target), 1))])  # [S, 2J+1]
    size, sign = np.abs(target), float(np.sign(target[target != 0][0]))
    logs = np.log(np.maximum(size, 1e-12 * size.max()))
    weight = np.sqrt(size / size.max()) + 1e-3
    # keeps amplitudes at a size that a model can hold
    ridge = RIDGE * np.diag(np.append(np.ones(2 * len(theta)), 0.0))
    start = np.linalg.lstsq(
        np.vstack([features * weight[:, None], ridge]),
        np.append(logs * weight, np.zeros(len(ridge))),
        rcond=None,
    )[0]

    def residual(x: np.ndarray) -> np.ndarray:
        return np.append(
            np.exp(np.minimum(features @ x, 50.0)) - size, RIDGE * size.max() * (ridge @ x)
        )

    def jacobian(x: np.ndarray) -> np.ndarray:
        return np.vstack(
            [np.exp(np.minimum(features @ x, 50.0))[:, None] * features, RIDGE * size.max() * ridge]
        )

    x = scipy.optimize.least_squares(residual, start, jac=jacobian, max_nfev=60, x_scale="jac").x
    c, s = x[: len(theta)], x[len(theta) : 2 * len(theta)]
    amplitudes, phases = np.hypot(c, s), np.arctan2(-s, c)  # c cos + s sin = r cos(. + f)
    logits = np.cos(angles + phases) @ amplitudes
    shape = Rotary(tuple(amplitudes.tolist()), tuple(phases.tolist()), float(logits.max()))
    coefficients = fit_coefficients(shape.values(len(target))[:, None], sign * size, norm)
    return "one rotary head, Gauss-Newton", [shape], coefficients
