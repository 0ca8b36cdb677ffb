"""Least squares in the rates alone: variable projection (Golub and Pereyra 1973), and one head at a
time by it.

For given rates (or other parameters u of the heads) the coefficients are a linear least-squares
problem, so that only r(u) = (I - Q Q') rho is minimised, Q an orthonormal basis of the heads'
columns. Kaufman's Jacobian drops the term that is quadratic in r,

    dr/du_h = -(I - Q Q') phi'(u_h) a_h,

and steps are Levenberg's (`descend`). Smooth kernels have one deep valley, which is followed from H
to H + 1 heads by adding the rate whose column, made orthogonal to the others, explains most of the
residual, or by spreading the rates anew.
"""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import lapack

from headcount.theory.fit.sample import Sample

STEPS = 25
# of each start: steps, and the gain below which it rests; less will do with more than FEW heads
FEW, RACE, ROUGH_RACE = 6, (10, 1e-3), (10, 1e-2)
# a head more that takes off as much as the one before, but for this factor, needs no other start:
# any with more than MANY heads, with fewer the old rates spread
AS_BEFORE, MANY, SPREAD = 1.1, 8, -2


def chain(data: Sample, heads: int) -> Iterator[np.ndarray]:
    """Rates [H] for H = 1, 2, …, heads; ends early when float64 has nothing left to explain."""
    rates = np.zeros(0)
    model, error, fall, led = rate_model(data), np.inf, 0.0, 0
    cancel = not data.family.geometric  # many log heads do, and every start may lead elsewhere
    grid = data.dictionary(80)
    atoms = data.columns(grid)  # [S, K]
    whole = float(np.linalg.norm(data.target))
    for h in range(1, heads + 1):
        Q = _orthogonal(data.columns(rates))[0] if len(rates) else np.zeros((len(data.target), 0))
        residual = _without(Q, data.target)
        if np.linalg.norm(residual) < 1e-13 * whole:
            return
        rest = _without(Q, atoms)
        sizes = np.linalg.norm(rest, axis=0)
        gains = np.where(
            sizes > 1e-10 * np.linalg.norm(atoms, axis=0),
            np.abs(residual @ rest) / np.maximum(sizes, 1e-300),
            0.0,
        )
        added = [
            np.sort(np.append(rates, grid[k])) for k in _peaks(gains, 2 if len(rates) < 4 else 1)
        ]
        starts = added + spread(data, rates)
        if not starts:
            return
        kinds = sorted(range(-len(starts), 0), key=lambda kind: (kind != led, kind))
        best, least = rates, np.inf
        for kind in kinds:  # what led at the last level goes first, often alone
            start = data.coordinate(data.bounded(starts[kind]))
            u, reached = descend(model, start, *(RACE if h <= FEW or cancel else ROUGH_RACE))
            if reached < least:
                best, least, led = u, reached, kind
            alone = kind == kinds[0] and not cancel and (kind == SPREAD or h > MANY)
            if alone and least <= AS_BEFORE * fall * error:
                break
        error, fall = least, least / error
        if h == heads:  # levels before the last are starts, no answers
            best = descend(model, best)[0]
        rates = data.rates_at(best)
        yield rates


@dataclasses.dataclass(frozen=True)
class Model:
    """H columns that depend on parameters u [P]; parameter p is one of head p mod H.

    `slopes(u, columns)` are d/du_p of the column that owns u_p, `clamp` keeps parameters where they
    may be, and a step moves a parameter by `reach` at most.
    """

    target: np.ndarray  # [S]
    columns: Callable[[np.ndarray], np.ndarray]  # [S, H]
    slopes: Callable[[np.ndarray, np.ndarray], np.ndarray]  # [S, P]
    clamp: Callable[[np.ndarray], np.ndarray]  # [P]
    reach: np.ndarray | float = 1.0

    def projection(self, u: np.ndarray) -> "Projection":
        """The heads at these parameters with their best coefficients."""
        columns = self.columns(u)
        Q, R = _orthogonal(columns)
        return Projection(self, u, columns, Q, R, _without(Q, self.target))

    def projected(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The residual [S] after the best coefficients, and Kaufman's Jacobian [S, P]."""
        at = self.projection(u)
        return at.residual, at.jacobian()


@dataclasses.dataclass(frozen=True)
class Projection:
    """A model at some parameters; its Jacobian is worked out where the step is taken."""

    model: Model
    u: np.ndarray  # [P]
    columns: np.ndarray  # [S, H]
    Q: np.ndarray  # [S, H]
    R: np.ndarray  # [H, H]
    residual: np.ndarray  # [S]

    def jacobian(self) -> np.ndarray:
        """Kaufman's.  [S, P]"""
        diagonal = np.abs(np.diag(self.R))
        least = 1e-14 * diagonal.max()
        R = self.R + np.diag(np.where(diagonal < least, least, 0.0))
        a = np.linalg.solve(R, self.Q.T @ self.model.target)
        owned = np.tile(a, len(self.u) // len(a))
        return -_without(self.Q, self.model.slopes(self.u, self.columns) * owned)


def descend(
    model: Model, start: np.ndarray, steps: int = STEPS, gain: float = 1e-6
) -> tuple[np.ndarray, float]:
    """Levenberg's steps from `start` until one gains less than `gain`: parameters of the local
    least-squares optimum and its squared error.
    """
    now, damping = model.projection(model.clamp(start)), 1e-2
    error, jacobian = now.residual @ now.residual, now.jacobian()
    for _ in range(steps):
        step = np.clip(_step(now.residual, jacobian, damping), -model.reach, model.reach)
        after = model.projection(model.clamp(now.u + step))
        new_error = after.residual @ after.residual
        if new_error < error:
            gained = 1 - new_error / error
            now, error = after, new_error
            damping /= 5
            if gained < gain:
                break
            jacobian = now.jacobian()
        else:
            damping *= 8
            if damping > 1e6:
                break
    return now.u, float(error)


def _step(residual: np.ndarray, jacobian: np.ndarray, damping: float) -> np.ndarray:
    """argmin |residual + J d|^2 + damping |D d|^2, D the sizes of J's columns.  [P]"""
    count = jacobian.shape[1]
    scale = np.linalg.norm(jacobian, axis=0)
    scale = np.maximum(scale, 1e-8 * scale.max(initial=0.0) + 1e-300)
    rows = np.concatenate([jacobian / scale, np.sqrt(damping) * np.eye(count)])
    right = np.concatenate([-residual, np.zeros(count)])
    return lapack.dgels(rows, right)[1][:count] / scale


def rate_model(data: Sample) -> Model:
    """The heads of a sample by their coordinate."""
    return Model(
        data.target,
        lambda u: data.columns(data.rates_at(u)),
        lambda u, columns: data.slopes(data.rates_at(u), columns),
        lambda u: data.coordinate(data.rates_at(u)),
    )


def spread(
    data: Sample, rates: np.ndarray, stretches: tuple[float, ...] = (1.0, 1.06)
) -> list[np.ndarray]:
    """One head more at the quantiles of the old ones, the coordinate stretched."""
    if len(rates) < 2:
        return []
    u = np.interp(
        np.linspace(0, 1, len(rates) + 1),
        np.linspace(0, 1, len(rates)),
        np.sort(data.coordinate(rates)),
    )
    return [data.rates_at(u * stretch) for stretch in stretches]


def _orthogonal(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q [S, H] and R [H, H] of at most S columns."""
    reflectors, tau, _, _ = lapack.dgeqrf(columns)
    R = np.triu(reflectors[: columns.shape[1]])
    return lapack.dorgqr(reflectors, tau, overwrite_a=True)[0], R


def _without(Q: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """(I - Q Q') columns, twice for accuracy."""
    for _ in range(2):
        columns = columns - Q @ (Q.T @ columns)
    return columns


def _peaks(gains: np.ndarray, count: int) -> np.ndarray:
    padded = np.concatenate([[-1.0], gains, [-1.0]])
    peaks = np.flatnonzero((gains > 0) & (gains >= padded[:-2]) & (gains >= padded[2:]))
    return peaks[np.argsort(-gains[peaks])][:count]
