"""A first sketch of the heads for a kernel: what a slider on the move is answered within a second.

`fit_kernel` searches for seconds where heads cancel. The sketch is what that search begins with:
rates by least squares, one head after the other, or evenly spaced ones; coefficients by one linear
program on a thinned sample. Its error is that of float64 on these lags, no measured one: a page
says "about", and replaces it.
"""

import dataclasses
import math
from typing import Any

import numpy as np

from headcount.core.claims import Norm
from headcount.core.errors import InputError
from headcount.core.threads import one_thread
from headcount.memory.kernels import ArrayKernel, kernels
from headcount.theory.fit.sample import Sample, sample, thin
from headcount.theory.fit.slp import Point, at
from headcount.theory.fit.varpro import chain
from headcount.theory.fit_record import json_bound
from headcount.theory.heads import family
from headcount.theory.measure import norm_of
from headcount.theory.problem import Problem
from headcount.web.asked import AskBound, AskDraft
from headcount.web.views.head_views import certificate, curves
from headcount.web.views.plain_numbers import short_one

MOST_BY_SQUARES = 16  # heads: beyond them least squares takes a second
HELD = 1e12  # times the kernel: of larger coefficients float64 leaves too few digits to draw
FASTEST = (1.0, 2.0, 4.0)  # rates that evenly spaced heads end with


def draft_view(asked: AskDraft) -> dict[str, Any]:
    """Curves and an error, under the names of a fit."""
    problem = _problem(asked)
    try:
        point, error = sketched(problem, asked.heads)
    except (ArithmeticError, ValueError, np.linalg.LinAlgError) as failed:
        raise InputError(f"no sketch ({failed})", "a plainer kernel", "ask for the fit") from None
    target = problem.kernel.values(problem.length)
    columns = family(asked.bias).columns(point.rates, np.arange(problem.length))
    drawn = columns * point.coefficients  # [S, H]
    return {
        "bias": asked.bias,
        "heads": asked.heads,
        "norm": asked.norm,
        "error": {asked.norm: short_one(error)},
        "kernel_norm": {asked.norm: short_one(norm_of(target[problem.first_lag :], problem.norm))},
        "curves": curves(asked.kernel, asked.bias, target, drawn.sum(axis=1), drawn),
    }


def bound_view(asked: AskBound) -> dict[str, Any]:
    """What no sum of so many heads goes below; null where a proof aims at a fit: it comes then."""
    from headcount.theory.bounds import aims

    problem = _problem(asked)
    if aims(problem, asked.heads):
        return {"lower_bound": None}
    return {"lower_bound": json_bound(certificate(problem, asked.heads, math.inf))}


def _problem(asked: AskDraft) -> Problem:
    listed = isinstance(asked.kernel, list)
    kernel = ArrayKernel(tuple(asked.kernel)) if listed else kernels.build(asked.kernel)  # type: ignore[arg-type]
    budget = math.inf if asked.budget is None else asked.budget
    return Problem(kernel, family(asked.bias), Norm(asked.norm), asked.window, budget)


@one_thread()
def sketched(problem: Problem, heads: int) -> tuple[Point, float]:
    """The best start, and its error on every lag."""
    full = sample(problem)
    data = thin(full)
    largest = float(np.abs(full.target).max(initial=0.0))
    held = dataclasses.replace(data, budget=min(full.budget, HELD * largest + 1e-300))
    points = [at(data, rates) for rates in starts(data, heads)]
    drawable = [point for point in points if np.abs(point.coefficients).sum() <= held.budget]
    found = [*drawable, at(held, points[-1].rates)]
    best = min(found, key=lambda point: full.error(point.rates, point.coefficients))
    return best, full.error(best.rates, best.coefficients)


def starts(data: Sample, heads: int) -> list[np.ndarray]:
    """Rates to choose from."""
    slowest = max(data.low, 1 / data.length)
    found = [np.geomspace(slowest, fastest, heads) for fastest in FASTEST]
    if heads <= MOST_BY_SQUARES:
        found += list(chain(data, heads))[-1:]
    return found
