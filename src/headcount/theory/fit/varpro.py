"""Least squares in the rates alone: variable projection (Golub and Pereyra 1973), one head at a
time.

For given rates the coefficients are a linear least-squares problem, so that only r(u) = (I - Q Q')
rho is minimised, Q an orthonormal basis of the heads' columns. Kaufman's Jacobian drops the term
that is quadratic in r,

    dr/du_h = -(I - Q Q') phi'(u_h) a_h,

and steps are Levenberg's. Smooth kernels have one deep valley, which is followed from H to H + 1
heads by adding the rate whose column, made orthogonal to the others, explains most of the residual,
or by spreading the rates anew.
"""

from collections.abc import Iterator

import numpy as np

from headcount.theory.fit.sample import Sample

STEPS = 25


def chain(data: Sample, heads: int) -> Iterator[np.ndarray]:
    """Rates [H] for H = 1, 2, …, heads; ends early when float64 has nothing left to explain."""
    rates = np.zeros(0)
    grid = data.dictionary(80)
    atoms = data.columns(grid)  # [S, K]
    whole = float(np.linalg.norm(data.target))
    for _ in range(heads):
        Q = np.linalg.qr(data.columns(rates))[0] if len(rates) else np.zeros((len(data.target), 0))
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
        tries = [descend(data, start) for start in added + spread(data, rates)]
        if not tries:
            return
        rates = min(tries, key=lambda pair: pair[1])[0]
        yield rates


def descend(data: Sample, rates: np.ndarray) -> tuple[np.ndarray, float]:
    """Levenberg's steps from `rates`: the local least-squares optimum and its squared error."""
    u, damping = data.coordinate(data.bounded(rates)), 1e-2
    residual, jacobian = _projected(data, u)
    error = residual @ residual
    for _ in range(STEPS):
        scale = np.linalg.norm(jacobian, axis=0)
        scale = np.maximum(scale, 1e-8 * scale.max(initial=0.0) + 1e-300)
        rows = np.concatenate([jacobian / scale, np.sqrt(damping) * np.eye(len(u))])
        step = (
            np.linalg.lstsq(rows, np.concatenate([-residual, np.zeros(len(u))]), rcond=None)[0]
            / scale
        )
        after = data.coordinate(data.rates_at(u + np.clip(step, -1.0, 1.0)))
        new_residual, new_jacobian = _projected(data, after)
        new_error = new_residual @ new_residual
        if new_error < error:
            gained = 1 - new_error / error
            u, residual, jacobian, error, damping = (
                after,
                new_residual,
                new_jacobian,
                new_error,
                damping / 5,
            )
            if gained < 1e-6:
                break
        else:
            damping *= 8
            if damping > 1e6:
                break
    return data.rates_at(u), float(error)


def _projected(data: Sample, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The residual [S] after the best coefficients, and Kaufman's Jacobian [S, H]."""
    rates = data.rates_at(u)
    Q, R = np.linalg.qr(data.columns(rates))
    diagonal = np.abs(np.diag(R))
    R = R + np.diag(np.where(diagonal < 1e-14 * diagonal.max(), 1e-14 * diagonal.max(), 0.0))
    a = np.linalg.solve(R, Q.T @ data.target)
    return _without(Q, data.target), -_without(Q, data.slopes(rates) * a)


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


def _without(Q: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """(I - Q Q') columns, twice for accuracy."""
    for _ in range(2):
        columns = columns - Q @ (Q.T @ columns)
    return columns


def _peaks(gains: np.ndarray, count: int) -> np.ndarray:
    padded = np.concatenate([[-1.0], gains, [-1.0]])
    peaks = np.flatnonzero((gains > 0) & (gains >= padded[:-2]) & (gains >= padded[2:]))
    return peaks[np.argsort(-gains[peaks])][:count]
