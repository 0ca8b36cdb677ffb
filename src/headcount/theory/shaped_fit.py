"""Shaped heads asked for by tolerance, and evaluated in narrow formats."""

import math

import numpy as np

from headcount.theory.errors import Norms
from headcount.theory.problem import Problem
from headcount.theory.rounding import Dtype, Rounded
from headcount.theory.shaped import ShapedFit, fit_shaped

MOST_SHAPED = 64


def fewest_shaped(problem: Problem, bias: str, tol: float) -> ShapedFit:
    """The fewest heads found that reach `tol` (relative): count up, twice as many each time,
    then bisect; the best fit where none does.
    """

    def attempt(heads: int) -> ShapedFit:
        return fit_shaped(problem, bias, heads, leak=tol / 4)

    def reaches(fit: ShapedFit) -> bool:
        return fit.errors.relative[problem.norm] <= tol

    tried: dict[int, ShapedFit] = {}
    heads = 1
    while heads <= MOST_SHAPED:
        tried[heads] = attempt(heads)
        if reaches(tried[heads]):
            break
        heads *= 2
    if heads > MOST_SHAPED:
        return min(tried.values(), key=lambda fit: fit.errors.relative[problem.norm])
    low, high = heads // 2, heads
    while high - low > 1:
        middle = (low + high) // 2
        tried[middle] = attempt(middle)
        low, high = (low, middle) if reaches(tried[middle]) else (middle, high)
    return tried[high]


def rounded_shaped(problem: Problem, fit: ShapedFit, dtype: Dtype) -> Rounded:
    """As `rounding.rounded_errors`: float32 softmax, then probabilities and values in the
    format, sums in float32.
    """
    first = problem.first_lag
    total = np.zeros(problem.length, dtype=np.float32)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for a, shape in zip(fit.coefficients, fit.shapes, strict=True):
            curve = shape.values(problem.length)
            mass = float(curve.sum())
            probabilities = (curve / mass).astype(np.float32).astype(dtype.scalar)
            weight = np.asarray(a * mass).astype(dtype.scalar).astype(np.float32)
            total = total + probabilities.astype(np.float32) * weight
    sizes = np.abs(problem.kernel.values(problem.length) - total.astype(np.float64))[first:]
    if not np.isfinite(sizes).all():
        return Rounded(dtype, Norms(math.inf, math.inf, math.inf), False)
    tail = max(fit.errors.l1 - fit.errors.window.l1, 0.0)
    return Rounded(
        dtype,
        Norms(
            float(sizes.sum()) + tail,
            math.hypot(float(np.linalg.norm(sizes)), tail),
            float(sizes.max()),
        ),
        True,
    )
