"""The smoke run: four (memory, architecture) pairs, the numbers that exist so far, each checked on a real model.

For each pair the kernel is fitted, the heads are written into a model, and the model is run next to the target's float64
reference on the worst input (the sign pattern that turns the l1 error into an output error) and on random signs. The
output error of the float64 model must equal the l1 error that ball arithmetic gave, up to what float64 loses when the
coefficients cancel, or the run fails.

*Learned* is not among the numbers yet: nothing is trained here.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from headcount.construct.one_layer import one_layer
from headcount.core.errors import CheckFailed
from headcount.core.seeds import Seeds
from headcount.memory.essential import EssentialMemory
from headcount.memory.kernels import AbstractKernel, kernels
from headcount.memory.read import Last
from headcount.model.transformer import Transformer
from headcount.theory.families import family
from headcount.theory.kernel_fit import KernelFit, fit_kernel
from headcount.theory.problem import HeadSum

LENGTH = 1000
SEQUENCES = 64


@dataclasses.dataclass(frozen=True)
class Pair:
    """A memory kernel and the heads that should draw it."""

    what: str
    kernel: str
    bias: str
    heads: int
    budget: float


PAIRS = (
    Pair("s^-0.5 (experiment 4a)", "power:0.5", "lin", 8, math.inf),
    Pair("e^-5s (experiment 4b)", "exp:5", "log1p", 1, math.inf),
    Pair("lag 2", "lag:2", "lin", 3, math.inf),
    Pair("lag 2, sum|a| <= 1000", "lag:2", "lin", 4, 1e3),
    Pair("lag 99", "lag:99", "lin", 8, math.inf),
)


@dataclasses.dataclass(frozen=True)
class Row:
    """The numbers of one pair, in the l1 norm, which is the largest output error for inputs in [-1, 1]."""

    what: str
    kernel: str
    heads: str
    promised: str
    possible: float
    lower_bound: float
    certified: bool
    float32: float
    bfloat16: float
    mse: float
    learned: str = "not measured: training is not part of this version"


def run(seed: int, say: Callable[[str], None]) -> Iterator[Row]:
    """The rows one after the other."""
    for pair in PAIRS:
        say(f"{pair.what}: {pair.kernel} with {pair.heads} {pair.bias} heads")
        fit = fit_kernel(pair.kernel, bias=pair.bias, heads=pair.heads, budget=pair.budget, window=LENGTH)
        yield _checked(pair, fit, seed)


def _checked(pair: Pair, fit: KernelFit, seed: int) -> Row:
    kernel = kernels.build(pair.kernel)
    error = worst_error(fit, kernel)
    window = fit.errors.window.l1
    rounding = 2.0**-50 * float(fit.coefficient_sum)  # what float64 may lose when coefficients cancel
    if not abs(error - window) <= 1e-9 + 1e-6 * window + rounding:
        raise CheckFailed(f"{pair.what}: the model's worst output error is {error:.9g}, ball arithmetic says {window:.9g}")
    bound = fit.lower_bound
    assert bound is not None
    promised = fit.promised
    told = (
        f"{promised.value:.3g}{' (vacuous)' if promised.vacuous else ''}"
        if promised.applies and promised.value is not None
        else "does not apply"
    )
    return Row(
        pair.what,
        pair.kernel,
        f"{fit.heads} {fit.bias}",
        told,
        window,
        bound.value,
        bound.certified,
        fit.rounded["float32"].error.l1,
        fit.rounded["bfloat16"].error.l1,
        random_mse(fit, kernel, seed),
    )


def worst_error(fit: KernelFit, kernel: AbstractKernel) -> float:
    """|float64 model - target| at the last position on the input whose signs follow the model's residual: its l1 error."""
    with jax.enable_x64(True):
        model = _model(fit, kernel)
        impulses = jnp.eye(LENGTH)[:, ::-1, None]  # sequence s is 1 at lag s
        drawn = np.asarray(model(impulses, Last()), np.float64)[:, 0, 0]  # the kernel that the model has
        signs = np.where(kernel.values(LENGTH) >= drawn, 1.0, -1.0)[::-1].copy()
        answer = np.asarray(model(jnp.asarray(signs)[None, :, None], Last()), np.float64)
    target = EssentialMemory((kernel,)).reference(signs[None, :, None], Last())
    return abs(float(answer[0, 0, 0]) - float(target[0, 0, 0]))


def random_mse(fit: KernelFit, kernel: AbstractKernel, seed: int) -> float:
    """Mean squared error of the float32 model on random signs."""
    batch = EssentialMemory((kernel,)).sample(Seeds(seed).data("test"), SEQUENCES, LENGTH)
    return float(((_model(fit, kernel)(batch.x, Last()) - batch.y) ** 2).mean())


def _model(fit: KernelFit, kernel: AbstractKernel) -> Transformer:
    heads = HeadSum.of(family(fit.bias), np.array(fit.rates), np.array([float(a) for a in fit.coefficients]))
    return one_layer(heads, lag_zero=0.0 if kernel.singular_at_zero else None)


def summary(rows: list[Row], started: float) -> dict[str, Any]:
    """The JSON document of the smoke run."""
    return {"profile": "smoke", "norm": "l1", "rows": [dataclasses.asdict(row) for row in rows], "seconds": time.perf_counter() - started}
