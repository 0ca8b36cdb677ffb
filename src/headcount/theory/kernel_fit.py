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
from flint import arb, fmpq

from headcount.core.arguments import checked
from headcount.core.cache import cached
from headcount.core.claims import Claim, Norm, Status
from headcount.core.errors import CheckFailed, InputError, require, unknown
from headcount.core.refs import Ref
from headcount.core.threads import one_thread
from headcount.memory.kernels import AbstractKernel, ArrayKernel, FileKernel, kernels
from headcount.theory.balls import precision
from headcount.theory.head_sum import Fit, HeadSum
from headcount.theory.heads import FAMILIES, SHAPED, family
from headcount.theory.measure import Errors, Norms, head_values, measure
from headcount.theory.problem import Problem
from headcount.theory.promised import Promised, promised
from headcount.theory.returned_numbers import Number, as_returned, to_text
from headcount.theory.rounding import (
    Dtype,
    Rounded,
    digits_lost,
    fit_for_precision,
    measured_in,
    rounded_errors,
    softmax_weights,
)

MOST_HEADS = 4096
TINIEST, HUGE = 1e-9, 1e6  # parameters of kernels, in lags or per lag
SMALLEST, LARGEST = 1e-100, 1e100  # budgets whose products with a kernel stay far from overflow
HELD = 0.99  # of what a search may use: that holds it
UNTOUCHED = 1.0001  # of the error in exact arithmetic: a format that costs nothing
Progress = Callable[[str], None]


@dataclasses.dataclass(frozen=True, repr=False)
class KernelFit:
    """Four numbers for a kernel and a bias: promised, possible (`error`, `lower_bound`),
    representable (float32, bfloat16).
    """

    kernel: str
    bias: str
    heads: int
    norm: Norm
    window: int | None
    budget: float
    rates: tuple[float, ...]
    coefficients: tuple[Number, ...]
    errors: Errors
    rounded: dict[str, Rounded]
    coefficient_sum: Number
    digits_lost: float
    lower_bound: Claim | None
    promised: Promised
    method: str
    notes: tuple[str, ...]
    parameters: tuple[dict[str, Any], ...]
    problem: Problem
    head_sum: HeadSum
    softmax_weight_sum: Number | None = None
    sink: dict[str, Any] | None = None
    seconds: float = 0.0
    # ^C ended the search early: the result holds, but a longer search may do better
    interrupted: bool = False

    @property
    def error(self) -> Norms:
        """Upper ends of the enclosures of the l1, l2 and sup error, tail included."""
        return self.errors.absolute

    def by_chance(self, dtype: str) -> bool:
        """Does the format do well only because roundings happen to agree?"""
        whole = self.errors.kernel[self.norm]
        return self.rounded[dtype].by_chance(self.norm, whole, self.digits_lost)

    @property
    def target(self) -> np.ndarray:
        """The kernel on lags 0..length-1, float64.  [S]"""
        return self.problem.kernel.values(self.problem.length)

    def drawn(self) -> np.ndarray:
        """The fitted kernel on lags 0..length-1, float64.  [S]"""
        return _drawn(self.problem, self.head_sum)

    def plot(self) -> Any:
        """A matplotlib figure: kernel and fit above, what is left below, by lag."""
        from headcount.theory.fit_text import figure

        return figure(self)

    def __repr__(self) -> str:
        from headcount.theory.fit_text import one_line

        return f"<KernelFit {one_line(self)}>"

    def _repr_html_(self) -> str:
        from headcount.theory.fit_text import html

        return html(self)

    def to_json(self) -> dict[str, Any]:
        """Plain values; null stands for 'no limit' (budget), 'no number' (a rounded evaluation
        that overflows) or 'none asked for'.
        """
        bound = self.lower_bound
        return {
            "kernel": self.kernel,
            "bias": self.bias,
            "heads": self.heads,
            "norm": str(self.norm),
            "window": self.window,
            "budget": _finite(self.budget),
            "rates": [_finite(b, "inf") for b in self.rates],
            "coefficients": list(self.coefficients),
            "error": _json_norms(self.errors.absolute),
            "error_float32": _finite(self.rounded["float32"].error[self.norm]),
            "error_bfloat16": _finite(self.rounded["bfloat16"].error[self.norm]),
            "coefficient_sum": self.coefficient_sum,
            "digits_lost": self.digits_lost,
            "lower_bound": None if bound is None else json_bound(bound),
            "promised": self.promised.to_json(),
            "seconds": self.seconds,
            "error_relative": _json_norms(self.errors.relative),
            "error_window": _json_norms(self.errors.window),
            "kernel_norm": _json_norms(self.errors.kernel),
            "tail": {
                **dataclasses.asdict(self.errors.tail),
                "bound": _finite(self.errors.tail.bound),
            },
            "rounding": {
                name: {
                    **_json_norms(r.error),
                    "finite": r.finite,
                    "by_chance": self.by_chance(name),
                }
                for name, r in self.rounded.items()
            },
            "softmax_weight_sum": self.softmax_weight_sum,
            "sink": self.sink,
            "parameters": list(self.parameters),
            "method": self.method,
            "notes": list(self.notes),
        }


def json_bound(bound: Claim) -> dict[str, Any]:
    """The claim, and beside it its main fields under the names that scripts know."""
    return {
        **bound.to_json(),
        "certified": bound.status is Status.PROVED,
        "budget": _finite(bound.scope.weight),
        "heads": bound.scope.heads,
        "missing": "",
        "lowest_rate": bound.scope.lowest_rate,
    }


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
    name, built = _kernel(kernel)
    problem = _problem(built, bias, budget, norm, window, residual)
    _check_request(problem, name, heads, tol)
    form = _choice(Dtype, dtype, "dtype") if dtype is not None else None
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


def _kernel(kernel: Any) -> tuple[str, AbstractKernel]:
    if isinstance(kernel, (list, tuple, np.ndarray)):
        kernel = ArrayKernel(kernel)  # type: ignore[arg-type]
    built = kernels.build(kernel)
    _check_parameters(built)
    if isinstance(kernel, str):
        return kernel, built
    if isinstance(built, ArrayKernel):
        return f"array of {len(built.numbers)} lags", built
    if isinstance(built, FileKernel):
        return built.path, built
    values = (getattr(built, field.name) for field in dataclasses.fields(built))  # type: ignore[arg-type]
    return f"{built.kind}:{','.join(map(str, values))}", built


def _check_parameters(kernel: AbstractKernel) -> None:
    """Numbers beyond all meaning overflow or vanish somewhere on the way: told here."""
    if not dataclasses.is_dataclass(kernel):
        return
    for field in dataclasses.fields(kernel):
        value = getattr(kernel, field.name)
        if isinstance(value, AbstractKernel):
            _check_parameters(value)
        elif isinstance(value, float):
            require(
                value == 0 or TINIEST <= abs(value) <= HUGE,
                f"{kernel.kind} with {field.name} {value:g}",
                f"0 or a size between {TINIEST:g} and {HUGE:g}",
                "rescale the lags",
            )


def _problem(
    kernel: AbstractKernel, bias: str, budget: float, norm: str, window: int | None, residual: bool
) -> Problem:
    if bias not in FAMILIES:
        raise unknown("bias", str(bias), FAMILIES)
    _check_number("budget", budget, "leave it out for none")
    require(
        math.isinf(budget) or SMALLEST <= budget <= LARGEST,
        f"budget {budget:g}",
        f"between {SMALLEST:g} and {LARGEST:g}",
        "leave it out for none",
    )
    whole = window is None or (isinstance(window, int) and not isinstance(window, bool))
    require(whole, f"window {window!r}", "a whole number of lags", "pass for example 1024")
    require(isinstance(residual, bool), f"residual {residual!r}", "True or False", "pass one")
    made = Problem(
        kernel, family(bias), _choice(Norm, norm, "norm"), window, float(budget), residual
    )
    require(
        made.first_lag < made.length,
        f"window {window}: no lag is left to fit",
        f"at least {made.first_lag + 1} lags",
        "pass a longer --window",
    )
    return made


def _check_number(name: str, value: Any, fix: str) -> None:
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    require(real and not math.isnan(value), f"{name} {value!r}", "a number", fix)


def _choice(kind: Any, value: str, noun: str) -> Any:
    if not isinstance(value, str) or value not in list(kind):
        raise unknown(noun, str(value), [str(x) for x in kind])
    return kind(value)


def _check_request(problem: Problem, name: str, heads: int | None, tol: float | None) -> None:
    given = "both heads and tol" if heads is not None else "neither heads nor tol"
    require(
        (heads is None) != (tol is None), given, "one of the two", "pass --heads 8, or --tol 0.01"
    )
    whole = heads is None or (isinstance(heads, int) and not isinstance(heads, bool))
    require(whole, f"heads {heads!r}", "a whole number", "pass for example 8")
    require(
        heads is None or 1 <= heads <= MOST_HEADS,
        f"heads {heads}",
        f"between 1 and {MOST_HEADS}",
        f"pass --heads from 1 to {MOST_HEADS}",
    )
    if tol is not None:
        _check_number("tol", tol, "pass for example 0.01")
    require(
        tol is None or 0 < tol < 1,
        f"tol {tol}",
        "a relative error between 0 and 1",
        "pass for example --tol 0.01",
    )
    if not np.any(problem.target):
        hidden = bool(np.any(problem.kernel.values(problem.length)))
        given = "the residual gives" if problem.residual else "the log bias cannot see"
        why = (
            f"only lag 0 of it differs from 0, which {given}" if hidden else "it is 0 at every lag"
        )
        fix = "check the kernel" if problem.residual or not hidden else "use --bias lin or log1p"
        raise InputError(f"nothing to fit in {name}: {why}", "a kernel with a lag to reach", fix)


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
        softmax_weight_sum=_finite(float(np.abs(weights).sum())),
        sink=problem.decay.sink(head_sum.rates),
    )


def _drawn(problem: Problem, head_sum: HeadSum) -> np.ndarray:
    """The sum of heads on lags 0..length-1, at a precision that holds the cancellation.  [S]"""
    with precision(100 + head_sum.weight_bits):
        balls = head_values(
            problem, head_sum.curves, [arb(a) for a in head_sum.coefficients], problem.length
        )
        return np.array([float(x) for x in balls])


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


def _finite(value: float, otherwise: str | None = None) -> Any:
    return value if math.isfinite(value) else otherwise


def _json_norms(norms: Norms) -> dict[str, Any]:
    return {name: _finite(value) for name, value in norms.to_json().items()}
