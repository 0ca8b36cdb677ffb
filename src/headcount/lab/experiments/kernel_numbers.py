"""Floors of kernel tasks: with iid inputs of variance v and a linear readout, the loss of a head sum is v ||kernel - heads||_2^2.

Possible: the best head sum found (l2), its error enclosed in balls. Lower: a certified bound for the same number of heads.
Representable: the same heads evaluated in float32 and bfloat16.
"""

import functools

from headcount.lab.experiments.study import Numbers
from headcount.memory.kernels import AbstractKernel
from headcount.theory.kernel_fit import KernelFit, fit_kernel


@functools.lru_cache(maxsize=256)
def fitted(kernel: AbstractKernel, bias: str, heads: int, window: int, certify: bool = True) -> KernelFit:
    """The best l2 fit, once per process."""
    return fit_kernel(kernel, bias=bias, heads=heads, norm="l2", window=window, certify=certify)


def kernel_numbers(kernel: AbstractKernel, bias: str, heads: int, window: int, variance: float = 1.0) -> Numbers:
    """The numbers of `heads` heads on a kernel over `window` lags."""
    fit = fitted(kernel, bias, heads, window)
    bound = fit.lower_bound
    certified = bound is not None and bound.certified
    why = "; ".join(fit.promised.reasons)
    return Numbers(
        promised=None if fit.promised.value is None else variance * fit.promised.value**2,
        promised_text="vacuous" if fit.promised.vacuous else (why or str(fit.promised.source)),
        possible=variance * fit.errors.absolute.l2**2,
        lower=variance * bound.value**2 if certified and bound is not None else None,
        certificate=f"{bound.method}, {bound.ref}" if certified and bound is not None else "none",
        float32=variance * fit.rounded["float32"].error.l2 ** 2,
        bfloat16=variance * fit.rounded["bfloat16"].error.l2 ** 2,
        note=f"{fit.heads} heads, sum|a| = {fit.coefficient_sum}",
    )
