"""Peak, table and rotary heads for a lag or a kernel: curves, coefficients, what they leave out.

`methods/one_head_per_lag.py` has the argument for each normaliser.
"""

import functools
import math

import numpy as np
from flint import arb

from headcount.construct.blocks.drawn_heads import DrawnHeads, offsets, sink_logit
from headcount.construct.draft import Bound, Request, Unreachable
from headcount.memory.kernels import AbstractKernel, Lag
from headcount.theory.balls import precision
from headcount.theory.fit import fewest_heads, fit_heads
from headcount.theory.fit.shaped_fit import rotary_at
from headcount.theory.head_sum import Fit
from headcount.theory.heads import family
from headcount.theory.measure import measure, measure_values
from headcount.theory.problem import Problem
from headcount.theory.shaped_curves import AbstractShape, Peak, Rotary, Table, frequencies

SHARPNESS = 128.0  # e^-128 beside 1 is lost in float64 too
ROPE_LEAK = 1e-12  # softmax takes logits of any size, and the leak costs them only logarithmically
BARE_LEAK = 1e-6  # without a denominator e^z must stay a float
BITS = 160
LARGEST_LOGIT = 60.0  # below the cap of the model's bare exponential in float32, 0.7 log(3.4e38)
DIMS = 64
MOST_HEADS = 64  # one for each lag that matters
MOST_DRAWN = 8  # that draw a kernel together: tables draw any with two


def shape_bound(heads: DrawnHeads, error: float, request: Request, size: float) -> Bound:
    """The slot's bound: `error` in exact arithmetic, sums of `length` terms, and logits that are
    off by some units before the exponential.

    A logit off by delta turns e^z into at most e^{z + delta}; with delta = k u and u at most
    `unit`, e^{ku} - 1 <= u (e^{k unit} - 1)/unit by convexity. Twice, for numerator and
    denominator.
    """
    unit, length, beside = request.precision.unit, request.length, 0.0
    for a, shape in zip(heads.coefficients, heads.curves, strict=True):
        curve = shape.values(length)
        grown = np.expm1(np.minimum(logit_units(shape, length) * unit, 600.0)) / unit
        beside += 2 * abs(a) * float((curve * grown)[curve > 0].sum())
    return Bound(error * size, heads.bound(length, size, beside).amplification)


def logit_units(shape: object, length: int) -> np.ndarray:
    """How many units in the last place a head's logit may be off, lag by lag.  [S]"""
    lags = np.arange(length, dtype=np.float64)
    if isinstance(shape, Peak):
        return 4 * shape.sharpness * (lags - shape.centre) ** 2
    if isinstance(shape, Table):
        sizes = np.abs(np.array(shape.logits[:length]))
        return np.pad(np.where(np.isfinite(sizes), sizes, 0.0), (0, length - len(sizes))) + 1
    assert isinstance(shape, Rotary)
    sizes = np.array(shape.amplitudes)
    return (np.outer(lags, 2 * frequencies(shape.dims, shape.base)) + len(sizes) + 8) @ sizes


def lag_head(T: int, request: Request) -> DrawnHeads:
    """One head for one lag; `error` is its leak."""
    shape: AbstractShape
    if request.bias == "peak":
        shape, method = Peak(float(T), SHARPNESS), "one peak"
        leak = 2 * math.exp(-SHARPNESS) / -math.expm1(-3 * SHARPNESS)
    elif request.bias == "table":
        shape, leak = Table((-math.inf,) * T + (0.0,)), 0.0
        method = "one entry of a table"
    else:
        bare = request.normaliser == "none"
        wanted = ROPE_LEAK if not bare else min(BARE_LEAK, (request.tol or 1.0) / 100)
        window = max(request.length, T + 1)
        shape = rotary_at(T, window, wanted, DIMS)
        leak = window_error(Problem(Lag(T), family(request.bias), window=window), shape)
        method = f"one rotary head of {DIMS} dimensions"
    return DrawnHeads(Lag(T), (shape,), np.ones(1), leak, method)


def window_error(problem: Problem, shape: AbstractShape) -> float:
    """The l1 error of one head of coefficient 1 on the window, enclosed in ball arithmetic."""
    with precision(BITS):
        return measure_values(problem, shape.balls(problem.length), arb(0)).window.l1


def kernel_heads(
    kernel: AbstractKernel, request: Request, tol: float | None, heads: int | None
) -> DrawnHeads:
    """Heads for a kernel on `length` lags, within `tol` (l1) or as good as `heads` get."""
    problem = Problem(kernel, family(request.bias), window=max(request.length, kernel.support or 1))
    if not np.any(problem.target):
        table = request.bias == "table"
        silent: AbstractShape = Table((-math.inf, 0.0)) if table else Peak(1.0, SHARPNESS)
        return DrawnHeads(kernel, (silent,), np.zeros(1), 0.0, "nothing but lag 0")
    if heads is not None:
        fit = fit_heads(problem, heads)
    else:
        assert tol is not None
        size = float(np.abs(problem.target).sum())
        fit = _fewest(problem, min(0.98 * tol / size, 0.999))
    # the rounded logarithms of a table are rounding, not error
    exact = request.bias == "table" and fit.head_sum.heads == signs(problem.target)
    error = 0.0 if exact else measure(problem, fit.head_sum).window.l1
    if tol is not None and error > tol:
        got = (
            f"l1 error {error:.3g} with {fit.head_sum.heads} {request.bias} heads for {kernel.kind}"
        )
        fix = "use --bias table (exact on the window), or raise the tolerance"
        raise Unreachable(got, f"at most {tol:.3g}", fix)
    coefficients = np.array([float(a) for a in fit.head_sum.coefficients])
    made = DrawnHeads(kernel, fit.head_sum.curves, coefficients, error, fit.method)
    top = float(np.abs(offsets(made.curves)).max())
    if request.normaliser == "none" and top > LARGEST_LOGIT:
        raise Unreachable(
            f"a rotary logit of {top:.0f}",
            f"at most {LARGEST_LOGIT:.0f}, whose exponential float32 holds",
            "use --normaliser softmax-tail",
        )
    return made


@functools.lru_cache(maxsize=64)
def _fewest(problem: Problem, tol: float) -> Fit:
    """The fewest heads: one for each of the largest lags where few of them are enough, else no
    more than are drawn together.
    """
    sizes = np.sort(np.abs(problem.target))  # what is left out grows from the smallest on
    enough = int((np.cumsum(sizes) > tol * sizes.sum()).sum())
    together = 1 if problem.family.name == "rope" else MOST_DRAWN  # only one rotary head draws all
    return fewest_heads(problem, tol, enough if enough <= MOST_HEADS else together)


def signs(values: np.ndarray) -> int:
    """Heads of a table: one for each sign that occurs."""
    return int((values > 0).any()) + int((values < 0).any())


def lag_error(leak: float, normaliser: str) -> float:
    """The error of one lag's head under a normaliser (table of `one_head_per_lag`; leak < 1/10)."""
    if normaliser == "softmax-sink":
        eps = math.exp(sink_logit(leak))
        return max((2 * leak + eps) / (1 - leak), leak / eps)
    return leak if normaliser in ("none", "softmax-tail") else 3 * leak
