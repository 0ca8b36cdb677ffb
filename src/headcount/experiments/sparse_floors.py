"""What heads can do on signs at fixed lags, before anything is trained.

**A floor for affine readouts** (docs/numerics.md#affine-floors). Let y = g(x_{t-T1}, …, x_{t-TM})
with independent signs, and write g in the Walsh basis: y = c + sum_i c_i x_{t-Ti} + rest. An affine
readout of x_t (the residual) and of lin or log heads answers c' + r x_t + sum_s kappa(s) x_{t-s}.
Therefore

    E (answer - y)^2 >= Var(rest) + || sum_i c_i 1{s=Ti} - kappa ||_2^2   over the lags s >= 1,

and the norm has a certified lower bound for every kappa with sum|a| <= budget, whatever the number
of heads (`theory.bounds`). It is not a bound for ReLU readouts: in principle one could decode a
head sum_s q^s x_{t-s}, at the price of q^T digits and 2^T neurons. For lags 1 and 2 that is done
(`code_numbers`).
"""

import dataclasses
import functools
import itertools
import math
from typing import Any

import numpy as np

from headcount.core.claims import Claim, Readout, Status
from headcount.experiments.floors import LossBound, loss_bound, question
from headcount.lab.numbers import Numbers
from headcount.memory.fixed import FixedMemory
from headcount.memory.kernels import ArrayKernel
from headcount.memory.named import targets, unnamed
from headcount.memory.readouts.network import zigzag
from headcount.theory.bounds import lower_bound
from headcount.theory.heads import family
from headcount.theory.problem import Norm, Problem
from headcount.theory.rounding import Dtype
from headcount.theory.theorems import bound

WINDOW = 1000
GENEROUS = 1e9  # a sum|a| far beyond what float32 bears (docs/numerics.md#precision: about 1e5)
CAVEAT = "the lower bound is for affine readouts of the heads with weights sum|a| <= {budget:g}"


@dataclasses.dataclass(frozen=True)
class Walsh:
    """A function of M signs: its affine coefficients, its variance, and the part of the variance
    that is not affine.
    """

    coefficients: tuple[float, ...]
    variance: float

    @property
    def rest(self) -> float:
        return max(0.0, self.variance - math.fsum(c * c for c in self.coefficients))


def fixed_memory(target: str) -> FixedMemory:
    """The fixed memory behind a name."""
    found = unnamed(targets.build(target))
    assert isinstance(found, FixedMemory)
    return found


@functools.lru_cache(maxsize=64)
def walsh(target: str) -> Walsh:
    """Exact, over all 2^M sign patterns."""
    memory = fixed_memory(target)
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(memory.lags))))  # [2^M, M]
    y = np.array(
        [
            float(memory.readout.reference(np.concatenate([[[0.0]], row[:, None]]))[0])
            for row in signs
        ]
    )
    return Walsh(tuple(float(c) for c in (signs * y[:, None]).mean(axis=0)), float(y.var()))


@functools.lru_cache(maxsize=64)
def lag_claim(
    lags: tuple[int, ...],
    coefficients: tuple[float, ...],
    bias: str,
    budget: float,
    window: int = WINDOW,
) -> Claim:
    """Certified: no sum of heads with sum|a| <= budget and rates p >= 0, x_t given, is closer
    (l2) to sum_i c_i 1{s=Ti}.
    """
    return lower_bound(lag_problem(lags, coefficients, bias, budget, window))


def lag_problem(
    lags: tuple[int, ...], coefficients: tuple[float, ...], bias: str, budget: float, window: int
) -> Problem:
    """sum_i c_i 1{s=Ti} by heads with sum|a| <= budget, x_t given."""
    kernel = np.zeros(max(lags) + 1)
    kernel[list(lags)] = coefficients
    return Problem(ArrayKernel(tuple(kernel)), family(bias), Norm.L2, window, budget, residual=True)


def affine_floor(
    target: str,
    bias: str,
    budget: float = GENEROUS,
    window: int = WINDOW,
    heads: int | None = None,
    readout: Readout = Readout.LINEAR,
) -> LossBound:
    """The smallest mean squared error of an affine readout, certified; beside it the class that the
    certificate is about, where an arm of so many heads and this readout may use more.
    """
    parts, lags = walsh(target), fixed_memory(target).lags
    claim = lag_claim(lags, parts.coefficients, bias, budget, window)
    problem = lag_problem(lags, parts.coefficients, bias, budget, window)
    found = loss_bound(claim, question(problem, heads, readout=readout), rest=parts.rest)
    assert found is not None, "the dual certificate is always complete"
    return found


def unreachable_numbers(
    target: str, bias: str, heads: int, width: int, budget: float = GENEROUS
) -> Numbers:
    """Decaying heads on far lags: what the theorem promises, the constant answer, and the floor."""
    floor = affine_floor(target, bias, budget, heads=heads, readout=Readout.ANY)
    value, text = promised(target, bias, heads, width)
    return Numbers(
        promised=value,
        promised_text=text,
        possible=walsh(target).variance,
        lower=floor.value,
        lower_for=floor.holds_for,
        certificate=floor.certificate,
        constant=True,
        note=f"possible: the constant answer. Caveat: {CAVEAT.format(budget=budget)}",
    )


def promised(target: str, bias: str, heads: int, width: int) -> tuple[float | None, str]:
    """Theorem 3.1 as a squared error; a number beyond a double is given by its exponent."""
    found = bound("3.1", target, bias, heads, width)
    if not found.applies or found.log10_value is None:
        return None, "; ".join(a.why for a in found.assumptions if not a.holds) or "does not apply"
    size = 2 * found.log10_value
    text = f"{found.ref}: squared error at most 10^{size:.0f}" + (
        ", vacuous" if found.vacuous else ""
    )
    return (10.0**size if size < 300 else None), text


CODE_RATE = {"lin": 3.0, "log": 6.0}  # phi(2) exceeds all that follows, and phi(1) - phi(2) too


@functools.lru_cache(maxsize=32)
def code_numbers(
    target: str, bias: str, heads: int, width: int, length: int, layers: int = 1
) -> Numbers:
    """Signs at lags 1 and 2: one head is a code of them, and a readout with plateaus decodes it
    without error.

    v = sum_{s>=1} phi(s) x_{t-s} (lag 0 leaves through the residual) lies within
    r = sum_{s>=3} phi(s) of one of the four centres ±phi(1) ± phi(2), and these intervals are
    disjoint where phi(2) > r and phi(1) - phi(2) > r. A piecewise linear function that is constant
    on each has at most 8 corners. The network is evaluated on random sequences in float64, in
    float32, and in float32 with weights rounded to bfloat16. More `layers` pass it on.
    """
    memory = fixed_memory(target)
    assert memory.lags == (1, 2)
    rate = np.array([CODE_RATE[bias]])
    phi = family(bias).columns(rate, np.arange(length, dtype=float))[:, 0]
    spread = float(phi[3:].sum())
    assert min(phi[2], phi[1] - phi[2]) > spread
    patterns = np.array(list(itertools.product((-1.0, 1.0), repeat=2)))  # [4, 2]
    centres = patterns @ phi[1:3]
    order = np.argsort(centres)
    answers = np.array(
        [float(memory.readout.reference(np.array([[0.0], [a], [b]]))[0]) for a, b in patterns]
    )[order]
    knots = np.stack([centres[order] - spread, centres[order] + spread], axis=1).ravel()  # [8]
    net = zigzag(np.ones(1), knots, np.repeat(answers, 2))
    x = np.random.default_rng(0).choice([-1.0, 1.0], (4096, length))
    y = answers[np.argsort(order)][((x[:, 1] > 0) * 2 + (x[:, 2] > 0)).astype(int)]
    weights = (np.where(np.arange(length) > 0, phi, 0.0), net.a, net.b[:, 0], net.c)

    def error(stored: np.dtype, used: Any) -> float:
        head, a, b, c = (w.astype(stored).astype(used) for w in weights)
        hidden = np.maximum((x.astype(used) @ head)[:, None] * b + c, 0)
        return float(np.mean((hidden @ a - y) ** 2))

    fits = net.neurons <= width
    value, text = (
        promised(target, bias, heads, width)
        if layers == 1
        else (None, "none: Theorem 3.1 is about one layer")
    )
    return Numbers(
        promised=value,
        promised_text=text,
        possible=error(np.dtype(np.float64), np.float64) if fits else None,
        status=Status.MEASURED,
        lower=0.0,
        certificate="a squared error is not negative",
        float32=error(Dtype.FLOAT32.scalar, np.float32) if fits else None,
        bfloat16=error(Dtype.BFLOAT16.scalar, np.float32) if fits else None,
        note=(
            f"one head of rate {rate[0]:g} codes both signs, {net.neurons} neurons decode them; a"
            " larger model contains it"
        ),
    )
