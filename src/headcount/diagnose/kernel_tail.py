"""A dense kernel and its tail: exponential, power law, neither, or not to be told.

rho are the least squares weights of all lags, C their covariance. For a shape m_b (e^{-bs} or
(s+1)^{-b}; s^{-b} where lags begin at 1) the misfit is chi2(b) = min_a (rho - a m_b)' C^-1 (rho - a
m_b). A shape fits if its misfit is that of noise (p > 0.01); one that fits is named if the other is
20 times less likely. The interval of b holds every b with chi2 within 3.84 of the smallest.
"""

import dataclasses
import enum

import numpy as np

from headcount.diagnose import upper_tails

LIKELIER = np.log(20)
FIT_P = 0.01
RATES = {"exp": np.geomspace(1e-3, 6, 80), "power": np.geomspace(0.05, 8, 80)}


class TailClass(enum.StrEnum):
    """How a kernel ends."""

    EXP = "exp"
    POWER = "power"
    NEITHER = "neither"
    UNDECIDED = "undecided"


@dataclasses.dataclass(frozen=True)
class Kernel:
    """Weights by lag, and what shapes say about them."""

    lags: np.ndarray  # [S]
    weights: np.ndarray  # [S]
    errors: np.ndarray  # [S] standard errors
    information: np.ndarray  # [S, S], C^-1


@dataclasses.dataclass(frozen=True)
class Curve:
    """The best curve of one shape."""

    shape: TailClass
    rate: float
    interval: tuple[float, float]
    scale: float
    chi2: float
    fit_p: float

    def weights(self, lags: np.ndarray) -> np.ndarray:
        return self.scale * curve(self.shape, self.rate, lags)


@dataclasses.dataclass(frozen=True)
class Tail:
    """The verdict on the tail. `n_needed` rows would tell the shapes apart, where they were not."""

    shape: TailClass
    rate: float | None
    interval: tuple[float, float] | None
    log_ratio: float  # of the likelihoods, exp over power
    n_needed: int | None


def curve(shape: TailClass, rate: float, lags: np.ndarray) -> np.ndarray:
    if shape is TailClass.EXP:
        return np.exp(-rate * (lags - lags[0]))
    return (lags + (1.0 if lags[0] == 0 else 0.0)) ** -rate


def kernel(x: np.ndarray, y: np.ndarray, lags: np.ndarray) -> Kernel:
    """Least squares on all lags; x [n, S] and y [n] are centred here."""
    x, y = x - x.mean(0), y - y.mean()
    gram = x.T @ x
    gram[np.diag_indices_from(gram)] += 1e-9 * np.trace(gram) / len(gram)
    inverse = np.linalg.inv(gram)
    weights = inverse @ (x.T @ y)
    left = max(len(y) - x.shape[1] - 1, 1)
    variance = max(float(((y - x @ weights) ** 2).sum()) / left, 1e-12)
    return Kernel(lags, weights, np.sqrt(variance * np.diag(inverse)), gram / variance)


def best_curve(found: Kernel, shape: TailClass) -> Curve:
    """Profile over the rate: 80 values, then a bounded search between the neighbours of the best"""
    from scipy import optimize  # 0.2 s to load, which not every diagnosis needs

    lags, info = found.lags.astype(float), found.information
    total = float(found.weights @ info @ found.weights)
    pull = info @ found.weights

    def misfit(rate: float) -> tuple[float, float]:
        m = curve(shape, rate, lags)
        along, size = float(m @ pull), float(m @ info @ m)
        return total - along**2 / size, along / size

    rates = RATES[shape.value]
    values = np.array([misfit(rate)[0] for rate in rates])
    at = int(values.argmin())
    low, high = rates[max(at - 1, 0)], rates[min(at + 1, len(rates) - 1)]
    rate = float(
        optimize.minimize_scalar(lambda b: misfit(b)[0], bounds=(low, high), method="bounded").x
    )
    chi2, scale = misfit(rate)
    return Curve(
        shape,
        rate,
        _interval(lambda b: misfit(b)[0] - chi2 - 3.84, rate, rates),
        scale,
        chi2,
        upper_tails.chi2(chi2, len(lags) - 2),
    )


def _interval(above, rate: float, rates: np.ndarray) -> tuple[float, float]:
    from scipy import optimize

    ends = []
    for outer in (rates[0], rates[-1]):
        inside = above(float(outer)) <= 0
        ends.append(float(outer) if inside else float(optimize.brentq(above, rate, outer)))
    return ends[0], ends[1]


def tail_of(exp: Curve, power: Curve, rows: int) -> Tail:
    """Which of the two, if any."""
    ratio = (power.chi2 - exp.chi2) / 2
    fits = {c.shape: c.fit_p > FIT_P for c in (exp, power)}
    better = exp if ratio > 0 else power
    if not any(fits.values()):
        return Tail(TailClass.NEITHER, None, None, ratio, None)
    if fits[better.shape] and abs(ratio) > LIKELIER:
        return Tail(better.shape, better.rate, better.interval, ratio, None)
    needed = int(np.ceil(rows * LIKELIER / max(abs(ratio), 1e-9))) if ratio else None
    return Tail(TailClass.UNDECIDED, None, None, ratio, needed)


@dataclasses.dataclass(frozen=True)
class LongMemory:
    """Local Whittle estimates of d at two bandwidths; long memory where they agree."""

    d: float
    error: float
    d_wide: float
    long: bool


def long_memory(series: np.ndarray) -> LongMemory:
    """One bandwidth is not enough: short memory of lag 1 alone fools the wide one."""
    from scipy import optimize

    n = len(series)
    power = np.abs(np.fft.rfft(series - series.mean())) ** 2 / n
    found = {}
    for exponent in (0.5, 0.65):
        m = max(int(n**exponent), 4)
        frequency, mass = 2 * np.pi * np.arange(1, m + 1) / n, power[1 : m + 1]
        mean_log = np.log(frequency).mean()

        def cost(d: float, f=frequency, p=mass, level=mean_log) -> float:
            return float(np.log((f ** (2 * d) * p).mean()) - 2 * d * level)

        best = optimize.minimize_scalar(cost, bounds=(-0.5, 1.5), method="bounded").x
        found[exponent] = float(best), 1 / (2 * np.sqrt(m))
    (d, error), (wide, _) = found[0.5], found[0.65]
    return LongMemory(d, error, wide, bool(d > 1.96 * error and abs(d - wide) < 2 * error))
