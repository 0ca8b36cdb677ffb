"""Shaped heads as a construction needs them: curves, coefficients, what they leave out, and the
model's weights.

`construct.shaped` has the argument for each normaliser.
"""

import dataclasses
import math

import numpy as np
from flint import arb

from headcount.construct.blocks.decaying_heads import ROUNDING_OPERATIONS
from headcount.construct.blocks.layers import Head, attention
from headcount.construct.blocks.slots import slot_names
from headcount.construct.blocks.space import Space
from headcount.construct.draft import Request, Unreachable
from headcount.memory.kernels import AbstractKernel, Lag
from headcount.model.attention import Attention
from headcount.model.biases import Peak as PeakBias
from headcount.model.biases import Rope as RopeBias
from headcount.model.biases import Table as TableBias
from headcount.model.biases.base import AbstractBias
from headcount.model.normalisers import (
    AbstractNormaliser,
    NoNormaliser,
    Softmax,
    SoftmaxBos,
    SoftmaxSink,
    SoftmaxTail,
)
from headcount.model.scores import DotFree
from headcount.theory.balls import precision
from headcount.theory.errors import measure_values
from headcount.theory.families import Lin
from headcount.theory.problem import Problem
from headcount.theory.shaped import fit_shaped, rotary_at
from headcount.theory.shaped_fit import fewest_shaped
from headcount.theory.shaped_heads import AbstractShape, Peak, Rotary, Table, frequencies

SHARPNESS = 128.0  # e^-128 beside 1 is lost in float64 too
DARK = -100.0  # sink logit that leaves a table head alone: e^-100 beside 1
ROPE_LEAK = 1e-12  # softmax takes logits of any size, and the leak costs them only logarithmically
BARE_LEAK = 1e-6  # without a denominator e^z must stay a float
BITS = 160
LARGEST_LOGIT = 60.0  # below the cap of the model's bare exponential in float32, 0.7 log(3.4e38)
DIMS = 64


@dataclasses.dataclass(frozen=True)
class ShapedHeads:
    """Heads for one memory: curves of largest value about 1, their coefficients, and the l1
    error over the lags that exist.
    """

    shapes: tuple[AbstractShape, ...]
    coefficients: np.ndarray  # [H]
    error: float
    method: str

    def masses(self, length: int) -> np.ndarray:
        """Z_h.  [H]"""
        return np.array([shape.values(length).sum() for shape in self.shapes])

    def at_zero(self) -> float:
        """What the heads give x_t itself."""
        return math.fsum(
            a * shape.values(1)[0] for a, shape in zip(self.coefficients, self.shapes, strict=True)
        )

    def rounding(self, length: int, unit: float) -> float:
        """Units of rounding: sums of `length` terms, and logits that are off by some units before
        the exponential.

        A logit off by delta turns e^z into at most e^{z + delta}; with delta = k u and u at most
        `unit`, e^{ku} - 1 <= u (e^{k unit} - 1)/unit by convexity. Twice, for numerator and
        denominator.
        """
        total = 0.0
        for a, shape in zip(self.coefficients, self.shapes, strict=True):
            curve = shape.values(length)
            grown = np.expm1(np.minimum(logit_units(shape, length) * unit, 600.0)) / unit
            seen = curve > 0
            total += abs(a) * float(
                (curve * (length + len(self.shapes) + ROUNDING_OPERATIONS))[seen].sum()
                + 2 * (curve * grown)[seen].sum()
            )
        return total


def logit_units(shape: AbstractShape, length: int) -> np.ndarray:
    """How many units in the last place a head's logit may be off, lag by lag.  [S]"""
    lags = np.arange(length, dtype=np.float64)
    if isinstance(shape, Peak):
        return 4 * shape.sharpness * (lags - shape.centre) ** 2
    if isinstance(shape, Table):
        sizes = np.abs(np.array(shape.logits[:length]))
        return np.pad(np.where(np.isfinite(sizes), sizes, 0.0), (0, length - len(sizes))) + 1
    assert isinstance(shape, Rotary)
    sizes = np.array(shape.amplitudes)
    return (np.outer(lags, 2 * frequencies(shape.dims, shape.base)) + len(sizes) + 8) @ sizes


def lag_heads(T: int, request: Request) -> ShapedHeads:
    """One head for one lag; `error` is its leak."""
    if request.bias == "peak":
        return ShapedHeads(
            (Peak(float(T), SHARPNESS),),
            np.ones(1),
            2 * math.exp(-SHARPNESS) / -math.expm1(-3 * SHARPNESS),
            "one peak",
        )
    if request.bias == "table":
        return ShapedHeads(
            (Table((-math.inf,) * T + (0.0,)),), np.ones(1), 0.0, "one entry of a table"
        )
    bare = request.normaliser == "none"
    leak = ROPE_LEAK if not bare else min(BARE_LEAK, (request.tol or 1.0) / 100)
    window = max(request.length, T + 1)
    shape = rotary_at(T, window, leak, DIMS)
    certified = fit_error(Problem(Lag(T), Lin(), window=window), shape)
    return ShapedHeads((shape,), np.ones(1), certified, f"one rotary head of {DIMS} dimensions")


def fit_error(problem: Problem, shape: AbstractShape) -> float:
    """The l1 error of one head of coefficient 1 on the window, enclosed in ball arithmetic."""
    with precision(BITS):
        return measure_values(problem, shape.balls(problem.length), arb(0)).window.l1


def kernel_heads(
    kernel: AbstractKernel, request: Request, tol: float | None, heads: int | None
) -> ShapedHeads:
    """Heads for a kernel on the window of `length` lags, within `tol` (l1) or as good as `heads`
    get.
    """
    problem = Problem(kernel, Lin(), window=max(request.length, kernel.support or 1))
    if not np.any(problem.target):
        return ShapedHeads(
            (Table((-math.inf, 0.0)),) if request.bias == "table" else (Peak(1.0, SHARPNESS),),
            np.zeros(1),
            0.0,
            "nothing but lag 0",
        )
    if heads is not None:
        fit = fit_shaped(problem, request.bias, heads)
    else:
        assert tol is not None
        size = float(np.abs(problem.target).sum())
        fit = fewest_shaped(problem, request.bias, min(0.98 * tol / size, 0.999))
    error = (
        0.0
        if request.bias == "table" and fit.heads == signs(problem.target)
        else fit.errors.window.l1
    )
    if tol is not None and error > tol:
        got = f"l1 error {error:.3g} with {fit.heads} {request.bias} heads for {kernel.kind}"
        raise Unreachable(
            got,
            f"at most {tol:.3g}",
            "use --bias table (exact on the window), or raise the tolerance",
        )
    made = ShapedHeads(fit.shapes, np.array(fit.coefficients), error, fit.method)
    top = float(np.abs(offsets(list(made.shapes))).max())
    if request.normaliser == "none" and top > LARGEST_LOGIT:
        raise Unreachable(
            f"a rotary logit of {top:.0f}",
            f"at most {LARGEST_LOGIT:.0f}, whose exponential float32 holds",
            "use --normaliser softmax-tail",
        )
    return made


def signs(values: np.ndarray) -> int:
    """Heads of a table: one a sign that occurs. Their rounded logarithms are rounding, not
    error.
    """
    return int((values > 0).any()) + int((values < 0).any())


def weights_of(shapes: list[AbstractShape]) -> AbstractBias:
    """The model's bias with these curves."""
    peaks = [shape for shape in shapes if isinstance(shape, Peak)]
    if peaks:
        return PeakBias(np.array([s.sharpness for s in peaks]), np.array([s.centre for s in peaks]))  # type: ignore[arg-type]
    tables = [shape.logits for shape in shapes if isinstance(shape, Table)]
    if tables:
        longest = max(len(logits) for logits in tables)
        return TableBias(
            np.array([logits + (-math.inf,) * (longest - len(logits)) for logits in tables])
        )  # type: ignore[arg-type]
    turned = [shape for shape in shapes if isinstance(shape, Rotary)]
    # [H, J]
    roots, phases = (
        np.sqrt(np.array([s.amplitudes for s in turned])),
        np.array([s.phases for s in turned]),
    )
    # q = (sqrt r, 0), k = sqrt r (cos f, -sin f): r cos(theta s + f)
    query = np.concatenate([roots, np.zeros_like(roots)], axis=1)
    key = np.concatenate([roots * np.cos(phases), -roots * np.sin(phases)], axis=1)
    return RopeBias(query, key, turned[0].base)  # type: ignore[arg-type]


def offsets(shapes: list[AbstractShape]) -> np.ndarray:
    """The logit of a curve's value 1: 0, and sum_j r_j for a rotary head.  [H]"""
    return np.array([shape.offset if isinstance(shape, Rotary) else 0.0 for shape in shapes])


def gather(space: Space, memories: list[ShapedHeads], request: Request) -> Attention:
    """All heads as one sublayer."""
    shapes = [shape for memory in memories for shape in memory.shapes]
    coefficients = np.concatenate([memory.coefficients for memory in memories])
    errors = np.concatenate([np.full(len(memory.shapes), memory.error) for memory in memories])
    masses = np.concatenate([memory.masses(request.length) for memory in memories])
    gains, normaliser = divided(request, shapes, coefficients, masses, errors)
    named = [
        name
        for memory, name in zip(memories, slot_names(len(memories)), strict=True)
        for _ in memory.shapes
    ]
    heads = [Head("token", name, float(gain)) for name, gain in zip(named, gains, strict=True)]
    return attention(space, heads, DotFree(), weights_of(shapes), normaliser)


def divided(
    request: Request,
    shapes: list[AbstractShape],
    a: np.ndarray,
    masses: np.ndarray,
    errors: np.ndarray,
) -> tuple[np.ndarray, AbstractNormaliser]:
    """Gains that undo the denominator, and the normaliser (table of the module docstring)."""
    name = request.normaliser
    if name == "none":
        return a * np.exp(-offsets(shapes)), NoNormaliser()
    if name == "softmax-sink":
        return a, SoftmaxSink(offsets(shapes) + np.array([sink_logit(e) for e in errors]))  # type: ignore[arg-type]
    if name == "softmax-bos":
        return a, SoftmaxBos(np.zeros(len(shapes)))  # type: ignore[arg-type]
    return a * masses, SoftmaxTail(request.length) if name == "softmax-tail" else Softmax()


def sink_logit(leak: float) -> float:
    """log eps, eps = sqrt(leak): half of the leak's logarithm, so that the sink loses to the lag
    and beats all the rest.
    """
    return 0.5 * math.log(leak) if leak > 0 else DARK


def lag_error(leak: float, normaliser: str) -> float:
    """The error of one lag's head under a normaliser (table of the module docstring; leak <
    1/10).
    """
    if normaliser == "softmax-sink":
        eps = math.exp(sink_logit(leak))
        return max((2 * leak + eps) / (1 - leak), leak / eps)
    return leak if normaliser in ("none", "softmax-tail") else 3 * leak
