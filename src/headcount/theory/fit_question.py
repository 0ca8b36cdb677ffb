"""What `fit_kernel` is asked: kernel, bias, norm, lags, heads or tolerance, each checked before any
work.
"""

import dataclasses
import math
from typing import Any

import numpy as np

from headcount.core.claims import Norm
from headcount.core.errors import InputError, require, unknown
from headcount.memory.kernels import AbstractKernel, ArrayKernel, FileKernel, kernels
from headcount.theory.heads import FAMILIES, family
from headcount.theory.problem import Problem

MOST_HEADS = 4096
TINIEST, HUGE = 1e-9, 1e6  # parameters of kernels, in lags or per lag
SMALLEST, LARGEST = 1e-100, 1e100  # budgets whose products with a kernel stay far from overflow


def named_kernel(kernel: Any) -> tuple[str, AbstractKernel]:
    """What the kernel is called in answers, and the kernel."""
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


def problem_of(
    kernel: AbstractKernel, bias: str, budget: float, norm: str, window: int | None, residual: bool
) -> Problem:
    """The problem, once every part of it is sound."""
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
        kernel, family(bias), choice(Norm, norm, "norm"), window, float(budget), residual
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


def choice(kind: Any, value: str, noun: str) -> Any:
    """The member of an enum that is called so."""
    if not isinstance(value, str) or value not in list(kind):
        raise unknown(noun, str(value), [str(x) for x in kind])
    return kind(value)


def check_request(problem: Problem, name: str, heads: int | None, tol: float | None) -> None:
    """Heads or a tolerance, in their ranges, and something to fit."""
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
