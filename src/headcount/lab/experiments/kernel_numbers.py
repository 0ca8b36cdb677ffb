"""Floors of kernel tasks: with iid inputs of variance v and a linear readout, the loss of a head sum is v ||kernel - heads||_2^2.

Possible: the best head sum found (l2), its error enclosed in balls. Lower: a certified bound for the same number of heads.
Representable: heads evaluated in float32 and bfloat16, the best of the fits with 1, 2, 4, … up to as many heads. The best fit in
exact arithmetic often cancels large coefficients, which rounding spoils: fewer heads then do better, and the others may be 0.

A model that answers w(x + Attn(x)) has the coefficient of x_t for free (`residual`): the loss then starts at lag 1, and so must every
bound. One lag T is then within reach of T lin heads, at any price in coefficients: there the formats get a fit of their own.
"""

import functools

from headcount.lab.experiments.study import Numbers
from headcount.memory.kernels import AbstractKernel
from headcount.theory.kernel_fit import KernelFit, fit_kernel

SPOILT, NOTICEABLE = 1.5, 1e-3  # rounding costs this factor, and leaves this part of the kernel: a fit for the format is worth its time


@functools.lru_cache(maxsize=256)
def fitted(
    kernel: AbstractKernel, bias: str, heads: int, window: int, certify: bool = True, residual: bool = False, dtype: str | None = None
) -> KernelFit:
    """The best l2 fit, once per process; `dtype`: the one that is best in that format."""
    return fit_kernel(kernel, bias=bias, heads=heads, norm="l2", window=window, dtype=dtype, certify=certify, residual=residual)


def _fewer(heads: int) -> list[int]:
    """Powers of two below.

    >>> _fewer(16)
    [1, 2, 4, 8]
    """
    return [2**i for i in range((heads - 1).bit_length())]


def _representable(fit: KernelFit, kernel: AbstractKernel, residual: bool, dtype: str) -> float:
    """The smallest l2 error found in a number format."""
    bias, heads, window = fit.bias, fit.heads, fit.window
    assert window is not None
    fits = [fit, *(fitted(kernel, bias, fewer, window, certify=False, residual=residual) for fewer in _fewer(heads))]
    best = min(each.rounded[dtype].error.l2 for each in fits)
    if residual and best > max(SPOILT * fit.errors.absolute.l2, NOTICEABLE * fit.errors.kernel.l2):
        best = min(best, fitted(kernel, bias, heads, window, certify=False, residual=True, dtype=dtype).rounded[dtype].error.l2)
    return best


def kernel_numbers(kernel: AbstractKernel, bias: str, heads: int, window: int, variance: float = 1.0, residual: bool = False) -> Numbers:
    """The numbers of `heads` heads on a kernel over `window` lags; `residual`: the model adds x_t, so that lag 0 costs nothing."""
    fit = fitted(kernel, bias, heads, window, residual=residual)
    bound = fit.lower_bound
    certified = bound is not None and bound.certified
    why = "; ".join(fit.promised.reasons)
    float32, bfloat16 = (variance * _representable(fit, kernel, residual, name) ** 2 for name in ("float32", "bfloat16"))
    return Numbers(
        promised=None if fit.promised.value is None else variance * fit.promised.value**2,
        promised_text="vacuous" if fit.promised.vacuous else (why or str(fit.promised.source)),
        possible=variance * fit.errors.absolute.l2**2,
        lower=variance * bound.value**2 if certified and bound is not None else None,
        certificate=f"{bound.method}, {bound.ref}" if certified and bound is not None else "none",
        float32=float32,
        bfloat16=bfloat16,
        note=f"{fit.heads} heads, sum|a| = {fit.coefficient_sum}" + (", lag 0 free through the residual" if residual else ""),
    )
