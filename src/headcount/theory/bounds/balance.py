"""Head sums g whose residual alternates on 2H+1 blocks of equal weight (what zero counting wants).

The start is a least-squares fit by variable projection (Golub-Pereyra: only the H log rates are
searched), with lag weights that make blocks about even: a residual of least squares changes sign 2H
times. Then the block weights M_i are levelled: in the tangent space of the head sums, a small
change of the residual that moves log M_i towards its mean is found (damped least squares), and g is
refitted to rho minus that residual. Refitting is essential: plain Newton steps in rates and
coefficients fail from 8 heads on, where the residual is so small that the second-order change of g
drowns it.
"""

import dataclasses
import math

import numpy as np

from headcount.theory.fit.varpro import Model
from headcount.theory.heads import AbstractDecay
from headcount.theory.measure import norm_of
from headcount.theory.problem import Norm, Problem

STEPS = 40
FEW = 12  # heads: fits of more take long, and rounding may spoil any of them
# of least squares: for the number of heads asked for, for a trial of levelling
STEPS_LAST, STEPS_TRIAL = 60, 8
HOPELESS = 1e8  # ratio of block weights that no levelling will mend: a tail that falls to nothing
EVEN = 1e-3  # stop when the block weights agree to this


@dataclasses.dataclass(frozen=True)
class Start:
    """How fits of fewer heads are made, from which the last one begins: on so many of the lags,
    each for those around it, and by so many steps.
    """

    lags: float
    steps: int


# of many heads starts must be good: with fewer steps the last fit ends where rounding rules
ALL, QUICK, DEEP = Start(math.inf, 12), Start(200, 60), Start(math.inf, 60)


def starts_for(heads: int, deep: bool) -> tuple[Start, ...]:
    """All of them are tried."""
    if heads <= FEW:
        return (ALL,)
    return (QUICK, DEEP) if deep else (QUICK,)


class LeastSquares:
    """Fits of up to H heads, kept for each weighting of the lags."""

    def __init__(self, problem: Problem, heads: int, start: Start = ALL):
        self.problem, self.heads, self.start = problem, heads, start
        self._made: dict[float, list[np.ndarray]] = {}

    def rates(self, power: float) -> list[np.ndarray]:
        """Log rates of the fits with lag weights s^power, one head more at a time.  [1], …, [H]"""
        if power not in self._made:
            self._made[power] = self._fitted(power)
        return self._made[power]

    def plain(self) -> tuple[np.ndarray, np.ndarray]:
        """(rates [H], coefficients [H]) of the fit in which all lags weigh the same."""
        rates = np.exp(self.rates(0.0)[-1])
        columns = self.problem.decay.columns(rates, self.problem.lags)
        return rates, _coefficients(columns, self.problem.target, np.ones_like(self.problem.lags))

    def _fitted(self, power: float) -> list[np.ndarray]:
        family, lags, rho = self.problem.decay, self.problem.lags, self.problem.target
        weights = np.maximum(lags, 1.0) ** power
        kept, thin = np.arange(len(lags)), weights
        if self.start.lags < len(lags):
            spaced = np.geomspace(1, len(lags), int(self.start.lags))
            kept = np.unique(spaced.round().astype(int)) - 1
            thin = weights[kept] * np.sqrt(np.gradient(kept.astype(float)))
        theta, found = _first_rates(family, lags, 1), []
        for h in range(1, self.heads + 1):
            begun = _respaced(theta, h, family, lags)
            if h < self.heads:
                few = rho[kept], lags[kept]
                theta = _projected(family, *few, begun, thin, self.start.steps)
            else:
                theta = _projected(family, rho, lags, begun, weights, STEPS_LAST)
            found.append(theta)
        return found


def balanced(fits: LeastSquares, wanted: float = 0.0) -> tuple[np.ndarray, np.ndarray] | None:
    """(rates [H], coefficients [H]) of the most even g found from these fits, or None when no
    residual alternates often enough. No bound for H heads exceeds the error of some g with H heads
    or fewer: where one on the way is below `wanted`, no even g is looked for.
    """
    problem, heads = fits.problem, fits.heads
    family, rho, lags, norm = problem.decay, problem.target, problem.lags, problem.norm
    if not np.abs(rho).max(initial=0.0) > 0:
        return None
    best, best_worth = None, 0.0
    for power in STARTS[norm]:
        weights = np.maximum(lags, 1.0) ** power
        levels = fits.rates(power)
        for theta in levels if wanted > 0 else ():
            if _error_at(family, rho, lags, theta, weights, norm) < wanted:
                return None
        theta, a = _level(family, rho, lags, levels[-1], weights, norm)
        worth = _worth(
            _weights(rho - family.columns(np.exp(theta), lags) @ a, norm)[0], heads, norm
        )
        if worth > best_worth:
            best, best_worth = (np.exp(theta), a), worth
    return best


def _error_at(family, rho, lags, theta, weights, norm) -> float:
    columns = family.columns(np.exp(theta), lags)
    return norm_of(rho - columns @ _coefficients(columns, rho, weights), norm)


# Lag weights s^power of the start: blocks are about equally wide in log s, so that even masses ask
# for a residual like 1/s (l1), s^-1/2 (l2), flat (sup).
STARTS = {Norm.L1: (0.5, 1.0), Norm.L2: (0.0, 0.5), Norm.SUP: (-0.5, 0.0)}


def _worth(masses: np.ndarray, heads: int, norm: Norm) -> float:
    """The zero-counting bound (l2: its square)."""
    spoilt = -(-(len(masses) - 2 * heads) // 2)
    if spoilt < 1:
        return 0.0
    smallest = np.sort(masses)[:spoilt]
    return float(smallest[-1] if norm is Norm.SUP else smallest.sum())


def _level(family, rho, lags, theta, weights, norm) -> tuple[np.ndarray, np.ndarray]:
    """Levenberg-Marquardt on the logarithms of the block weights, each trial refitted to the
    residual that it asks for.
    """
    a, damping = _coefficients(family.columns(np.exp(theta), lags), rho, weights), 1e-3
    residual = rho - family.columns(np.exp(theta), lags) @ a
    masses, block = _weights(residual, norm)
    for _ in range(STEPS):
        if len(masses) <= 2 * len(a) or not masses.min() * HOPELESS > masses.max():
            break
        uneven = np.log(masses) - np.log(masses).mean()
        if np.abs(uneven).max() < EVEN:
            break
        # [S, 2H]
        tangent = np.concatenate(
            [family.columns(np.exp(theta), lags), family.slopes(np.exp(theta), lags) * a], axis=1
        )
        tangent = np.linalg.qr(weights[:, None] * tangent)[0] / weights[:, None]
        rows = _block_rows(tangent, residual, block, norm) / masses[:, None]  # [N, 2H]
        rows = rows - rows.mean(axis=0)
        for _ in range(8):
            asked = residual + tangent @ _damped(
                rows, -uneven, damping * float(np.linalg.norm(rows)) ** 2
            )
            trial = _projected(family, rho - asked, lags, theta, weights, STEPS_TRIAL)
            columns = family.columns(np.exp(trial), lags)
            trial_a = _coefficients(columns, rho - asked, weights)
            new, new_block = _weights(rho - columns @ trial_a, norm)
            if (
                len(new) == len(masses)
                and new.min() > 0
                and np.linalg.norm(np.log(new) - np.log(new).mean()) < np.linalg.norm(uneven)
            ):
                damping /= 10
                break
            damping *= 10
        else:
            break
        theta, a, masses, block = trial, trial_a, new, new_block
        residual = rho - columns @ a
    return theta, a


def _damped(rows: np.ndarray, target: np.ndarray, damping: float) -> np.ndarray:
    """argmin |rows x - target|^2 + damping |x|^2."""
    stacked = np.concatenate([rows, np.sqrt(damping) * np.eye(rows.shape[1])])
    return np.linalg.lstsq(stacked, np.concatenate([target, np.zeros(rows.shape[1])]), rcond=None)[
        0
    ]


def _block_rows(
    change: np.ndarray, residual: np.ndarray, block: np.ndarray, norm: Norm
) -> np.ndarray:
    """Derivative of each block weight along the columns of `change`.  [N, 2H]"""
    if norm is Norm.SUP:
        order = np.lexsort((np.abs(residual), block))
        last = order[np.r_[np.flatnonzero(np.diff(block[order])), len(order) - 1]]
        return np.sign(residual[last])[:, None] * change[last]
    factor = np.sign(residual) if norm is Norm.L1 else 2 * residual
    rows = np.zeros((block[-1] + 1, change.shape[1]))
    np.add.at(rows, block, factor[:, None] * change)
    return rows


def _first_rates(family: AbstractDecay, lags: np.ndarray, heads: int) -> np.ndarray:
    low, high = _limits(family, lags)
    return np.linspace(low, high, heads + 2)[1:-1]


def _limits(family: AbstractDecay, lags: np.ndarray) -> tuple[float, float]:
    """Log rates between which a curve is neither constant nor gone on these lags."""
    fall = family.distance(lags)
    return math.log(1e-2 / float(fall.max())), math.log(20.0 / float(fall[fall > 0].min()))


def _respaced(theta: np.ndarray, heads: int, family: AbstractDecay, lags: np.ndarray) -> np.ndarray:
    """Log rates of one head more, spread over the same range and a little beyond."""
    if heads == len(theta):
        return theta
    low, high = _limits(family, lags)
    theta = np.sort(theta)
    gap = np.diff(theta).mean() if len(theta) > 1 else 2.0
    wide = np.concatenate([[theta[0] - gap / 2], theta, [theta[-1] + gap / 2]])
    spots = np.interp(np.linspace(0, 1, heads + 2), np.linspace(0, 1, len(wide)), wide)[1:-1]
    return np.clip(spots, low + 1e-6, high - 1e-6)


def _coefficients(columns: np.ndarray, rho: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(weights[:, None] * columns, weights * rho, rcond=1e-15)[0]


def _projected(family, rho, lags, start, weights, steps: int) -> np.ndarray:
    """Log rates of the weighted least-squares fit, by variable projection.  [H]"""
    from scipy.optimize import least_squares  # slow to load

    low, high = _limits(family, lags)
    target = weights * rho / max(float(np.linalg.norm(weights * rho)), 1e-300)
    model = Model(
        target,
        lambda theta: weights[:, None] * family.columns(np.exp(theta), lags),
        lambda theta, _: weights[:, None] * family.slopes(np.exp(theta), lags),
        lambda theta: np.clip(theta, low, high),
    )
    seen: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def projected(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residual and Jacobian are asked for one after the other, and come from one QR."""
        key = theta.tobytes()
        if key not in seen:
            seen.clear()
            seen[key] = model.projected(theta)
        return seen[key]

    # Steps inside a box: residuals of oscillating kernels have many valleys, and these steps lead
    # to more even ones than Levenberg's.
    solved = least_squares(
        lambda theta: projected(theta)[0],
        np.clip(start, low + 1e-9, high - 1e-9),
        jac=lambda theta: projected(theta)[1],
        bounds=(low, high),
        ftol=1e-15,
        xtol=1e-12,
        gtol=1e-15,
        max_nfev=steps,
    )
    return np.sort(solved.x)


def _weights(residual: np.ndarray, norm: Norm) -> tuple[np.ndarray, np.ndarray]:
    """(block weights [N], block of each lag [S])."""
    signs = np.where(residual >= 0, 1.0, -1.0)
    block = np.cumsum(np.r_[False, signs[1:] != signs[:-1]])
    if norm is not Norm.SUP:
        return np.bincount(block, np.abs(residual) if norm is Norm.L1 else residual**2), block
    weights = np.zeros(block[-1] + 1)
    np.maximum.at(weights, block, np.abs(residual))
    return weights, block
