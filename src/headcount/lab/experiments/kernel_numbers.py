"""Floors of kernel tasks: with iid inputs of variance v and a linear readout, the loss of a head sum is v ||kernel - heads||_2^2.

Possible: the best head sum found (l2), its error enclosed in balls. Lower: a certified bound for the same number of heads.
Representable: heads evaluated in float32 and bfloat16, the best of the fits with 1, 2, 4, … up to as many heads. The best fit in
exact arithmetic often cancels large coefficients, which rounding spoils: fewer heads then do better, and the others may be 0.
"""

import functools

from headcount.lab.experiments.study import Numbers
from headcount.memory.kernels import AbstractKernel
from headcount.theory.kernel_fit import KernelFit, fit_kernel


@functools.lru_cache(maxsize=256)
def fitted(kernel: AbstractKernel, bias: str, heads: int, window: int, certify: bool = True) -> KernelFit:
    """The best l2 fit, once per process."""
    return fit_kernel(kernel, bias=bias, heads=heads, norm="l2", window=window, certify=certify)


def _fewer(heads: int) -> list[int]:
    """Powers of two below.

    >>> _fewer(16)
    [1, 2, 4, 8]
    """
    return [2**i for i in range((heads - 1).bit_length())]


def kernel_numbers(kernel: AbstractKernel, bias: str, heads: int, window: int, variance: float = 1.0) -> Numbers:
    """The numbers of `heads` heads on a kernel over `window` lags."""
    fit = fitted(kernel, bias, heads, window)
    bound = fit.lower_bound
    certified = bound is not None and bound.certified
    why = "; ".join(fit.promised.reasons)
    fits = [fit, *(fitted(kernel, bias, fewer, window, certify=False) for fewer in _fewer(heads))]
    float32, bfloat16 = (min(variance * each.rounded[name].error.l2 ** 2 for each in fits) for name in ("float32", "bfloat16"))
    return Numbers(
        promised=None if fit.promised.value is None else variance * fit.promised.value**2,
        promised_text="vacuous" if fit.promised.vacuous else (why or str(fit.promised.source)),
        possible=variance * fit.errors.absolute.l2**2,
        lower=variance * bound.value**2 if certified and bound is not None else None,
        certificate=f"{bound.method}, {bound.ref}" if certified and bound is not None else "none",
        float32=float32,
        bfloat16=bfloat16,
        note=f"{fit.heads} heads, sum|a| = {fit.coefficient_sum}",
    )
