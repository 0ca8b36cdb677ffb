"""Floors of kernel tasks, and what lower bounds say about an arm, in the units of its loss.

**Bounds.** A bound is a claim (`core.claims`): no model of its class has an error below its value.
It is a floor of an arm only where its scope reaches the arm's; where it is about a smaller class of
models (bounded weights, a linear readout), it is shown with that class beside it, in words made
from the scope. An l2 error e over the lags means a mean squared error of v e^2 for inputs of
variance v, and what no readout of this kind can reach (`rest`) comes on top.

**Kernels.** With iid inputs of variance v and a linear readout, the loss of a head sum is
v ||kernel - heads||_2^2. Possible: the best head sum found (l2), its error enclosed in balls.
Lower: a certified bound for the same number of heads. Representable: heads evaluated in float32 and
bfloat16, the best of the fits with 1, 2, 4, … up to as many heads. The best fit in exact arithmetic
often cancels large coefficients, which rounding spoils: fewer heads then do better, and the others
may be 0. Where rounding still costs something the format gets a fit of its own
(`rounding.penalised_fit`).

A model that answers w(x + Attn(x)) has the coefficient of x_t for free (`residual`): the loss then
starts at lag 1, and so must every bound. One lag T is then within reach of T lin heads, at any
price in coefficients.
"""

import dataclasses
import functools
import math
from decimal import Decimal

from flint import fmpq

from headcount.core.claims import FIELDS, Claim, Readout, Role, Scope, Status
from headcount.lab.numbers import Numbers
from headcount.memory.kernels import AbstractKernel
from headcount.theory.fit_record import KernelFit
from headcount.theory.head_sum import HeadSum
from headcount.theory.heads import DECAYS, family
from headcount.theory.kernel_fit import fit_kernel
from headcount.theory.problem import Norm, Problem
from headcount.theory.returned_numbers import from_decimal
from headcount.theory.rounding import Dtype, measured_in, penalised_fit


@dataclasses.dataclass(frozen=True)
class LossBound:
    """No model of the class has a smaller mean squared error; `holds_for` names the class where it
    is smaller than the one asked about.
    """

    value: float
    certificate: str
    holds_for: str = ""


def question(
    problem: Problem, heads: int | None, weight: float = math.inf, readout: Readout = Readout.LINEAR
) -> Scope:
    """What an arm may use: so many heads of the problem's bias with any rate that it admits."""
    return dataclasses.replace(problem.scope(heads), weight=weight, readout=readout)


def loss_bound(
    claim: Claim, asked: Scope, variance: float = 1.0, rest: float = 0.0
) -> LossBound | None:
    """The claim as a bound on a loss: None where it is not proved or counts errors that the
    question does not.
    """
    gaps = claim.answers(asked).gaps
    if claim.status is not Status.PROVED or any(
        FIELDS[gap.field][0] is Role.MEASURE for gap in gaps
    ):
        return None
    words = ", ".join(FIELDS[gap.field][2](gap.claimed) for gap in gaps)
    value = rest + variance * claim.value**2
    certificate = f"{claim.method}, {claim.ref}" if value else "a squared error is not negative"
    return LossBound(value, certificate, words)


# rounding costs this factor, and leaves this part of the kernel: a fit for the format pays
SPOILT, NOTICEABLE = 1.001, 1e-6
SEARCHED = 8  # heads of such a fit at most: more heads contain them


@dataclasses.dataclass(frozen=True)
class Drawn:
    """Heads and their l2 error in a number format; `head_sum` is None for shapes."""

    head_sum: HeadSum | None
    error: float


@functools.lru_cache(maxsize=256)
def fitted(
    kernel: AbstractKernel,
    bias: str,
    heads: int,
    window: int,
    certify: bool = True,
    residual: bool = False,
) -> KernelFit:
    """The best l2 fit, once per process."""
    return fit_kernel(
        kernel, bias=bias, heads=heads, norm="l2", window=window, certify=certify, residual=residual
    )


def l2_problem(kernel: AbstractKernel, bias: str, window: int, residual: bool) -> Problem:
    """What `fitted` solves."""
    return Problem(kernel, family(bias), Norm.L2, window, residual=residual)


def _fewer(heads: int) -> list[int]:
    """Powers of two below.

    >>> _fewer(16)
    [1, 2, 4, 8]
    """
    return [2**i for i in range((heads - 1).bit_length())]


def heads_of(fit: KernelFit) -> HeadSum | None:
    """The heads of a fit, from the numbers that it returned; None for other shapes."""
    if fit.bias not in DECAYS:
        return None
    exact = [
        from_decimal(a) if isinstance(a, str) else fmpq(*a.as_integer_ratio())
        for a in fit.coefficients
    ]
    return HeadSum(family(fit.bias), fit.rates, tuple(exact))


@functools.lru_cache(maxsize=256)
def representable(
    kernel: AbstractKernel, bias: str, heads: int, window: int, residual: bool, dtype: str
) -> Drawn:
    """The heads with the smallest l2 error found in a number format."""
    fit = fitted(kernel, bias, heads, window, residual=residual)
    fits = [
        fit,
        *(
            fitted(kernel, bias, fewer, window, certify=False, residual=residual)
            for fewer in _fewer(heads)
        ),
    ]
    least = min(fits, key=lambda each: each.rounded[dtype].error.l2)
    best = Drawn(heads_of(least), least.rounded[dtype].error.l2)
    spoilt = best.error > max(SPOILT * fit.errors.absolute.l2, NOTICEABLE * fit.errors.kernel.l2)
    if bias in DECAYS and spoilt:
        problem, form = l2_problem(kernel, bias, window, residual), Dtype(dtype)
        found = penalised_fit(problem, min(heads, SEARCHED), form).head_sum
        drawn = Drawn(found, measured_in(problem, found, form).l2)
        best = min((best, drawn), key=lambda each: each.error)
    return best


def bound_of(fit: KernelFit, problem: Problem, variance: float = 1.0) -> LossBound | None:
    """The loss below which no sum of so many heads goes; None where nothing is proved of all of
    their rates.
    """
    if fit.lower_bound is None:
        return None
    found = loss_bound(fit.lower_bound, question(problem, fit.heads), variance)
    return None if found is None or found.holds_for else found


def kernel_numbers(
    kernel: AbstractKernel,
    bias: str,
    heads: int,
    window: int,
    variance: float = 1.0,
    residual: bool = False,
) -> Numbers:
    """The numbers of `heads` heads on a kernel over `window` lags; `residual`: the model adds
    x_t, so that lag 0 costs nothing.
    """
    fit = fitted(kernel, bias, heads, window, residual=residual)
    bound = None
    if bias in DECAYS:
        bound = bound_of(fit, l2_problem(kernel, bias, window, residual), variance)
    why = "; ".join(fit.promised.reasons)
    float32, bfloat16 = (
        variance * representable(kernel, bias, heads, window, residual, str(d)).error ** 2
        for d in Dtype
    )
    return Numbers(
        promised=None if fit.promised.value is None else variance * fit.promised.value**2,
        promised_text="vacuous" if fit.promised.vacuous else (why or str(fit.promised.source)),
        possible=variance * fit.errors.absolute.l2**2,
        lower=None if bound is None else bound.value,
        certificate="none" if bound is None else bound.certificate,
        float32=float32,
        bfloat16=bfloat16,
        note=f"{fit.heads} heads, sum|a| = {Decimal(str(fit.coefficient_sum)):.3g}"
        + (", lag 0 free through the residual" if residual else ""),
    )
