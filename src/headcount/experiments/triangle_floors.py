"""How well m ReLU neurons can follow a triangle wave of one uniform token: a proved lower bound and
a network (experiment 2a).

Fix every token but u = x_{t-1}. A layer without dot product then hands the readout an affine
function of u, so its answer is a continuous piecewise linear function of u with at most m
breakpoints, one per neuron, **whatever the heads**. The mean squared error is an average over the
other tokens, hence at least the error of the best such function.

**Lower bound** (dynamic programme). Drop continuity: m breakpoints cut [-1, 1] into m + 1 pieces
with a line of its own each. Take a grid; a breakpoint lies in some cell. A piece between
breakpoints in cells i < j contains the grid points from the right end of i to the left end of j, so
its error is at least the least-squares error of one line there: shortening a piece can only help.
Minimising the sum over all choices of m cells is a shortest path. (Moments are exact for a
piecewise linear wave; rounding is below 1e-9 of the value.)

**A network** (possible). Follow the wave for m - 2 pieces, then stay at its mean 0: one neuron for
the offset, one for the first slope, one per corner, the last at a zero crossing. With 2 teeth + 1
neurons the wave itself. Representable: the same weights rounded to the format, evaluated in float32
on the midpoints of a grid.
"""

import functools
import math

import numpy as np

from headcount.lab.numbers import Numbers
from headcount.memory.readouts import Triangle
from headcount.memory.readouts.network import ReluNetwork, zigzag
from headcount.theory.rounding import Dtype

GRID = 8  # cells per piece of the wave
POINTS = 512  # midpoints per piece, where rounded weights are evaluated

# of the wave, whose values are uniform on [-1, 1]: the loss of the constant answer 0
VARIANCE = 1 / 3


def possible(teeth: int, neurons: int) -> float:
    """The network's exact mean squared error: half a piece is lost on the way back to 0."""
    pieces = 2 * teeth
    if neurons >= pieces + 1:
        return 0.0
    if neurons < 4:  # offset, slope and a corner leave nothing to follow
        return VARIANCE
    followed = neurons - 3 + 0.5  # whole pieces, then half of one down to the zero crossing
    return VARIANCE * (1 - followed / pieces)


def follower(teeth: int, neurons: int) -> ReluNetwork:
    """The network of `possible` on u >= -1, as weights."""
    pieces = 2 * teeth
    if neurons >= pieces + 1:
        knots = np.arange(pieces + 1) / teeth - 1
        return zigzag(np.ones(1), knots, -((-1.0) ** np.arange(pieces + 1)))
    whole = neurons - 3
    knots = np.concatenate([np.arange(whole + 1) / teeth - 1, [(whole + 0.5) / teeth - 1, 1.0]])
    values = np.concatenate([-((-1.0) ** np.arange(whole + 1)), [0.0, 0.0]])
    return zigzag(np.ones(1), knots, values)


def representable(teeth: int, neurons: int, dtype: Dtype) -> float:
    """The mean squared error of `follower` with its weights as the format holds them."""
    if neurons < 4:
        return VARIANCE  # the answer 0, which every format holds
    net = follower(teeth, neurons)
    a, b, c = (
        weights.astype(dtype.scalar).astype(np.float32) for weights in (net.a, net.b[:, 0], net.c)
    )
    count = 2 * teeth * POINTS
    u = (np.arange(count) + 0.5) * (2 / count) - 1
    answers = np.maximum(u.astype(np.float32)[:, None] * b + c, np.float32(0)) @ a
    return float(np.mean((answers - _wave(u, teeth)) ** 2))


@functools.lru_cache(maxsize=64)
def lower(teeth: int, neurons: int, grid: int = GRID) -> float:
    """Proved: no function with at most `neurons` breakpoints has a smaller mean squared error."""
    pieces = 2 * teeth
    if neurons >= pieces - 1:
        return 0.0
    cost = _line_errors(teeth, grid)  # [P, P] over grid points
    cells = cost.shape[0] - 1
    # best[j]: least error up to a breakpoint in cell j, that is up to grid point j.
    best = cost[0, :cells].copy()
    for _ in range(neurons - 1):
        # From a breakpoint in cell i to one in cell j > i: the grid points i+1 .. j, none for
        # neighbours; [i, j].
        steps = np.where(
            np.tri(cells, cells, -1, dtype=bool).T, cost[1 : cells + 1, :cells], np.inf
        )
        np.fill_diagonal(steps, 0.0)  # two breakpoints in one cell
        best = np.min(best[:, None] + steps, axis=0)
    last = np.min(best + cost[1 : cells + 1, cells])
    return float(max(0.0, last / 2 * (1 - 1e-9)))  # density 1/2 on [-1, 1]


def _line_errors(teeth: int, grid: int) -> np.ndarray:
    """Integral of (wave - best line)^2 between every two grid points.  [P, P], zero where there is
    nothing between them

    Formulas in the frame of the interval's centre, from prefix integrals of f, u f, f^2.
    """
    points = np.linspace(-1.0, 1.0, 2 * teeth * grid + 1)
    f = _wave(points, teeth)
    h = np.diff(points)
    a, b = f[:-1], f[1:]
    mass = np.concatenate([[0.0], np.cumsum(h * (a + b) / 2)])
    first = np.concatenate(
        [
            [0.0],
            np.cumsum(
                h * (a * (2 * points[:-1] + points[1:]) + b * (points[:-1] + 2 * points[1:])) / 6
            ),
        ]
    )
    energy = np.concatenate([[0.0], np.cumsum(h * (a * a + a * b + b * b) / 3)])
    width = points[None, :] - points[:, None]
    centre = (points[None, :] + points[:, None]) / 2
    total = mass[None, :] - mass[:, None]
    tilt = first[None, :] - first[:, None] - centre * total
    with np.errstate(divide="ignore", invalid="ignore"):
        left = (energy[None, :] - energy[:, None]) - total**2 / width - 12 * tilt**2 / width**3
    return np.where(width > 0, np.maximum(left, 0.0), 0.0)


def _wave(u: np.ndarray, teeth: int) -> np.ndarray:
    phase = teeth * (u + 1) / 2
    return 1 - 2 * np.abs(2 * (phase - np.floor(phase)) - 1)


def triangle_numbers(teeth: int, neurons: int) -> Numbers:
    """The numbers of m neurons; heads play no part."""
    known = lower(teeth, neurons)
    reached = possible(teeth, neurons)
    return Numbers(
        promised=None,
        promised_text=(
            f"O~(||f||_B/sqrt m) with ||f||_B <= {_barron(teeth):.3g}: vacuous up to m ="
            f" {math.ceil((4 * _barron(teeth)) ** 2):.1e}"
        ),
        possible=reached,
        lower=known,
        certificate="dynamic programme over breakpoints (module triangle_floor)",
        float32=representable(teeth, neurons, Dtype.FLOAT32),
        bfloat16=representable(teeth, neurons, Dtype.BFLOAT16),
        note=(
            f"{neurons} neurons have at most {neurons} breakpoints, the wave has {2 * teeth - 1};"
            " holds for any number of heads without dot product"
        ),
    )


def _barron(teeth: int) -> float:
    return Triangle(teeth).barron(2, 1)
