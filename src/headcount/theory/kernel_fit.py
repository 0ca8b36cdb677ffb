"""`fit_kernel`: the best sum of heads for a memory kernel, with numbers that tell its worth.

    check input -> fit -> freeze the numbers that are returned -> measure them
                -> certified lower bound -> gate -> float32 and bfloat16 -> what the paper promises

The measured error belongs to the very numbers returned (doubles where these do, decimal strings
where cancellation needs more digits). A certified lower bound above a measured error would mean
that one of them is wrong, so it stops the run instead of being printed.

    hc.fit_kernel("lag:2", bias="lin", heads=4, budget=1e3).error.l1     # 0.0777
"""

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import fmpq

from headcount.core.arguments import checked
from headcount.core.cache import cached
from headcount.core.claims import Claim, Norm, Status
from headcount.core.errors import CheckFailed, require
from headcount.core.refs import Ref
from headcount.core.threads import one_thread
from headcount.theory.fit_question import check_request, choice, named_kernel, problem_of
from headcount.theory.fit_record import KernelFit, finite_or
from headcount.theory.head_sum import Fit, HeadSum
from headcount.theory.heads import SHAPED
from headcount.theory.measure import Errors, measure
from headcount.theory.problem import Problem
from headcount.theory.promised import Promised, promised
from headcount.theory.returned_numbers import Number, as_returned, to_text
from headcount.theory.rounding import (
    Dtype,
    digits_lost,
    fit_for_precision,
    measured_in,
    rounded_errors,
    softmax_weights,
)

HELD = 0.99  # of what a search may use: that holds it
UNTOUCHED = 1.0001  # of the error in exact arithmetic: a format that costs nothing
Progress = Callable[[str], None]


@checked
def fit_kernel(
    kernel: Any,
    bias: str = "lin",
    heads: int | None = None,
    tol: float | None = None,
    budget: float = math.inf,
    norm: str = "l1",
    window: int | None = None,
    dtype: str | None = None,
    certify: bool = True,
    progress: Progress | None = None,
    residual: bool = False,
) -> KernelFit:
    """The best sum of `heads` heads found for a kernel, or the fewest found that reach `tol`
    (relative to the kernel's own norm).

    kernel: text ('lag:99', 'power:1.5', a .npy/.csv path), a kernel object, or a list of values,
    one per lag. budget bounds sum|a_h|. window S: lags >= S do not exist. dtype: choose the heads
    by what they give in that format. certify: also compute the lower bound. residual: x_t comes
    free through the residual, so that lag 0 costs nothing.
    """
    started = time.perf_counter()
    name, built = named_kernel(kernel)
    problem = problem_of(built, bias, budget, norm, window, residual)
    check_request(problem, name, heads, tol)
    form = choice(Dtype, dtype, "dtype") if dtype is not None else None
    require(isinstance(certify, bool), f"certify {certify!r}", "True or False", "pass one of them")
    result = _answer(problem, name, heads, tol, form, certify, progress)
    return dataclasses.replace(result, seconds=time.perf_counter() - started)


@cached(ignore=("progress",), keep=lambda result: not result.interrupted)
@one_thread()
def _answer(
    problem: Problem,
    name: str,
    heads: int | None,
    tol: float | None,
    form: Dtype | None,
    certify: bool,
    progress: Progress | None,
) -> KernelFit:
    """The fit of a question that was checked; what was asked before comes from the disk."""
    say = progress or (lambda message: None)
    if problem.family.name in SHAPED:
        result = _fit_shape(problem, name, heads, tol, form)
    else:
        result = _fit_decays(problem, name, heads, tol, form, say)
        if certify and not result.interrupted:
            say("lower bound")
            result = _certified(problem, result, form)
    notes = result.notes
    if problem.window is None and not result.errors.tail.included:
        notes = (
            *notes,
            (
                f"{result.errors.tail.reason} ({problem.length} lags); pass --window to say how"
                " many lags exist"
            ),
        )
    return dataclasses.replace(result, notes=notes)


def _certified(problem: Problem, result: KernelFit, form: Dtype | None) -> KernelFit:
    """With the lower bound; ^C leaves the fit as it is, without one."""
    from headcount.theory.bounds import lower_bound

    try:
        reached = float(result.errors.absolute[result.norm])
        bound = lower_bound(problem, result.heads, reached=reached)
    except KeyboardInterrupt:
        return dataclasses.replace(
            result,
            interrupted=True,
            notes=(*result.notes, "interrupted before the lower bound was found"),
        )
    return with_bound(problem, result, bound, form)


def with_bound(problem: Problem, result: KernelFit, bound: Claim, form: Dtype | None) -> KernelFit:
    """The fit beside its lower bound; `form`: heads for a format stay as they are."""
    if form is None:
        result = _or_of_the_proof(problem, result, bound)
    result = dataclasses.replace(result, lower_bound=bound)
    gate(problem, result)
    return result


def _or_of_the_proof(problem: Problem, result: KernelFit, bound: Claim) -> KernelFit:
    """The sum of heads behind a proof by zero counting or by a squeeze of rates, where it is the
    better fit: it was found in more digits than programs have.
    """
    held = bound.evidence
    kind = held.get("kind")
    if kind not in ("zeros", "squeeze") or held["heads"] != result.heads:
        return result
    drawn = held["above"][-1][1:] if kind == "squeeze" else (held["rates"], held["coefficients"])
    rates, coefficients = (np.array(numbers, dtype=np.float64) for numbers in drawn)
    found = HeadSum.of(problem.family, rates, coefficients)
    if not found.within(problem.budget):
        return result
    head_sum, numbers, errors = as_returned(problem, found)
    if not errors.absolute[problem.norm] < result.errors.absolute[problem.norm]:
        return result
    method = f"the sum behind the lower bound ({bound.method})"
    return _assemble(problem, result.kernel, head_sum, numbers, errors, method, result.notes)


def gate(problem: Problem, result: KernelFit) -> None:
    """Refuse a result whose proved lower bound lies above its measured error: both cannot be right.

    The fit must lie inside the bound's scope, or the bound would say nothing about it.
    """
    bound, error = result.lower_bound, result.errors.absolute[result.norm]
    if bound is None:
        return
    slowest = min((problem.lowest_rate, *result.rates))
    fitted = dataclasses.replace(problem.scope(result.heads), lowest_rate=slowest)
    answer = bound.answers(fitted)
    found = f"the measured error {error!r} of {result.kernel} ({result.method})"
    if answer.value is None:
        raise CheckFailed(f"the lower bound does not speak about {found}: {answer.gaps[0]}")
    if bound.status is Status.PROVED and answer.value > error:
        raise CheckFailed(f"proved lower bound {bound.value!r} ({bound.method}) exceeds {found}")


def _fit_decays(
    problem: Problem,
    name: str,
    heads: int | None,
    tol: float | None,
    form: Dtype | None,
    say: Progress,
) -> KernelFit:
    from headcount.theory.fit import fewest_heads, fit_heads
    from headcount.theory.fit.choose import ROUGH_BUDGET

    say("fitting")
    notes: tuple[str, ...] = ()
    if tol is not None:
        found = fewest_heads(problem, tol, progress=say)
        heads = found.head_sum.heads
    else:
        assert heads is not None
        found = fit_heads(problem, heads, progress=say)
    interrupted = found.interrupted
    if interrupted:
        notes = ("interrupted: the best found so far",)
    head_sum, method = found.head_sum, found.method
    if form is not None:
        say(f"fitting for {form}")
        head_sum, method, notes = _for_precision(problem, heads, form, head_sum, method, notes)
    most = ROUGH_BUDGET * float(np.abs(problem.target).max(initial=0.0))
    held = HELD * most <= head_sum.coefficient_sum <= most
    if problem.budget > most and form is None and held:
        notes = (*notes, f"sought with sum|a| of at most {most:.3g}, where float64 searches end")
    if head_sum.heads < heads:
        none = "none of these heads helps: all have coefficient 0"
        some = f"{head_sum.heads} of {heads} heads suffice; the others have coefficient 0"
        notes = (*notes, some if head_sum.heads else none)
    head_sum, numbers, errors = as_returned(problem, _padded(head_sum, heads))
    if tol is not None and errors.relative[problem.norm] > tol:
        notes = (*notes, f"tol {tol:g} was not reached with {head_sum.heads} heads")
    result = _assemble(problem, name, head_sum, numbers, errors, method, notes)
    return dataclasses.replace(result, interrupted=interrupted)


def _padded(head_sum: HeadSum, heads: int) -> HeadSum:
    """As many heads as were asked for: a layer has them whether or not they help."""
    spare = heads - head_sum.heads
    rate = head_sum.family.slowest(Norm.L1) + 1.0  # any rate will do: the coefficient is 0
    return HeadSum(
        head_sum.family,
        head_sum.rates + (rate,) * spare,
        head_sum.coefficients + (fmpq(0),) * spare,
    )


def _for_precision(
    problem: Problem,
    heads: int,
    form: Dtype,
    head_sum: HeadSum,
    method: str,
    notes: tuple[str, ...],
) -> tuple[HeadSum, str, tuple[str, ...]]:
    """Replace the heads where others give less error in the format."""
    from headcount.theory.fit import fit_heads

    exact = measure(problem, head_sum)
    rounded = rounded_errors(problem, head_sum, form, exact).error[problem.norm]
    if rounded <= UNTOUCHED * exact[problem.norm]:
        return head_sum, method, notes  # smaller weights have less to gain than that

    def refit(limited: Problem) -> Fit:
        return fit_heads(limited, heads)

    best = fit_for_precision(problem, form, refit, exact.kernel[problem.norm])
    if measured_in(problem, best.head_sum, form)[problem.norm] < rounded:
        return (
            best.head_sum,
            f"{best.method}, for {form}",
            (f"budget {best.budget:.3g} is what {form} affords here",),
        )
    return head_sum, method, notes


def _assemble(
    problem: Problem,
    name: str,
    head_sum: HeadSum,
    numbers: tuple[Number, ...],
    errors: Errors,
    method: str,
    notes: tuple[str, ...],
) -> KernelFit:
    rounded = {str(d): rounded_errors(problem, head_sum, d, errors) for d in Dtype}
    weights = softmax_weights(problem, head_sum)
    return KernelFit(
        kernel=name,
        bias=problem.family.name,
        heads=head_sum.heads,
        norm=problem.norm,
        window=problem.window,
        budget=problem.budget,
        rates=head_sum.rates,
        coefficients=numbers,
        errors=errors,
        rounded=rounded,
        coefficient_sum=to_text(head_sum.weight),
        digits_lost=digits_lost(problem, head_sum, errors),
        lower_bound=None,
        promised=promised(problem, head_sum.heads, errors.kernel[problem.norm]),
        method=method,
        notes=notes,
        parameters=(),
        problem=problem,
        head_sum=head_sum,
        softmax_weight_sum=finite_or(float(np.abs(weights).sum())),
        sink=problem.decay.sink(head_sum.rates),
    )


def _fit_shape(
    problem: Problem, name: str, heads: int | None, tol: float | None, form: Dtype | None
) -> KernelFit:
    from headcount.theory.fit import DEFAULT_LEAK, fewest_heads, fit_heads

    if heads is not None:
        fit = fit_heads(problem, heads, leak=form.unit if form else DEFAULT_LEAK)
    else:
        assert tol is not None
        fit = fewest_heads(problem, tol)
    head_sum, bias = fit.head_sum, problem.family.name
    total = head_sum.coefficient_sum
    fix = "raise --budget, or use lin, log or log1p heads, which are fitted under a budget"
    require(
        total <= problem.budget,
        f"{head_sum.heads} {bias} heads with sum|a| = {total:.3g}",
        f"at most the budget {problem.budget:g}",
        fix,
    )
    why = f"the paper's theorems are about lin and log biases, not {bias}"
    parameters = tuple(problem.family.parameters(curve) for curve in head_sum.curves)
    errors = measure(problem, head_sum)
    return KernelFit(
        kernel=name,
        bias=bias,
        heads=head_sum.heads,
        norm=problem.norm,
        window=problem.window,
        budget=problem.budget,
        rates=tuple(p["sharpness"] for p in parameters if "sharpness" in p),
        coefficients=tuple(float(a) for a in head_sum.coefficients),
        errors=errors,
        rounded={str(d): rounded_errors(problem, head_sum, d, errors) for d in Dtype},
        coefficient_sum=total,
        digits_lost=digits_lost(problem, head_sum, errors),
        lower_bound=None,
        promised=Promised(None, False, False, (why,), Ref("wang-e-2024", "Section 2")),
        method=fit.method,
        notes=(),
        parameters=parameters,
        problem=problem,
        head_sum=head_sum,
    )
