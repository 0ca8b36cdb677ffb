"""Data with a known memory, for `diagnose`: how each is made, and what is the right answer."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Random = np.random.Generator


class Case(NamedTuple):
    """`make(rng)` gives the arguments of `diagnose`; `right` judges its answer."""

    make: Callable[[Random], dict[str, Any]]
    right: Callable[[Any], bool]


def none(found: Any) -> bool:
    return found.memory == "none"


def lags(*wanted: int) -> Callable[[Any], bool]:
    return lambda found: found.memory == "fixed" and found.lag_numbers == wanted


def tail(shape: str) -> Callable[[Any], bool]:
    return lambda found: found.memory == "essential" and found.tail.shape == shape


def maps(*wanted: tuple[int, ...]) -> Callable[[Any], bool]:
    """The lags read by each symbol, level by level."""

    def right(found: Any) -> bool:
        levels = sorted({entry.level for entry in found.map})
        got = tuple(
            tuple(lag for e in found.map if e.level == level for lag in e.lags)
            for level in levels
        )  # fmt: skip
        return found.memory == "adaptive" and got == wanted

    return right


def content(found: Any) -> bool:
    return found.memory == "adaptive" and found.addressing == "content"


def autoregression(rng: Random, n: int, *weights: float, burn: int = 300) -> np.ndarray:
    e = rng.normal(size=n + burn)
    x = np.zeros(n + burn)
    for t in range(len(weights), n + burn):
        x[t] = e[t] + sum(w * x[t - k] for k, w in enumerate(weights, start=1))
    return x[burn:]


def garch(rng: Random, n: int) -> np.ndarray:
    x, variance = np.zeros(n + 300), 1.0
    for t in range(1, n + 300):
        variance = 0.1 + 0.2 * x[t - 1] ** 2 + 0.7 * variance
        x[t] = rng.normal() * np.sqrt(variance)
    return x[300:]


def fractional(rng: Random, n: int, d: float = 0.3) -> np.ndarray:
    k = np.arange(1, n + 2000)
    weights = np.concatenate([[1.0], np.cumprod((k - 1 + d) / k)])
    e = rng.normal(size=n + 2000)
    size = 2 ** int(np.ceil(np.log2(2 * len(e))))
    return np.fft.irfft(np.fft.rfft(e, size) * np.fft.rfft(weights, size), size)[2000 : n + 2000]


def lagging(
    function: Callable[..., np.ndarray], n: int, most: int = 64, ar: float = 0.0
) -> Callable[[Random], dict[str, Any]]:
    """y = function(at, noise), where at(s) is x lagged by s."""

    def make(rng: Random) -> dict[str, Any]:
        total = n + 2 * most
        x = autoregression(rng, total, ar) if ar else rng.normal(size=total)
        noise = rng.normal(size=total)
        y = function(lambda s: np.roll(x, s), noise)
        return {"x": x[most:], "y": y[most:], "max_lag": most - 1}

    return make


def smoothing(weights: np.ndarray, n: int, most: int, ar: float = 0.0):
    """y = kernel * x + noise of the same size."""

    def make(rng: Random) -> dict[str, Any]:
        total = n + most + len(weights)
        x = autoregression(rng, total, ar) if ar else rng.normal(size=total)
        y = np.convolve(x, weights)[:total]
        y = y / y.std() + rng.normal(size=total)
        return {"x": x[len(weights) :], "y": y[len(weights) :], "max_lag": most - 1}

    return make


def alone(function: Callable[[Random], np.ndarray], most: int = 64):
    return lambda rng: {"x": function(rng), "max_lag": most}


def _chaos(step: Callable[[float, float], float], low: float, high: float, n: int = 2000):
    def make(rng: Random) -> np.ndarray:
        a = b = rng.uniform(low, high)
        out = []
        for _ in range(n + 100):
            a, b = step(a, b), a
            out.append(a)
        return np.array(out[100:])

    return make


def _telegraph(rng: Random) -> np.ndarray:
    flips = rng.random(2000) < 0.1
    return np.where(np.cumsum(flips) % 2, 1.0, -1.0) + 1e-9 * rng.normal(size=2000)


def _season(rng: Random, trend: float, ar: float) -> np.ndarray:
    t = np.arange(2000)
    noise = autoregression(rng, 2000, ar) if ar else rng.normal(size=2000)
    return 2 * np.sin(2 * np.pi * t / 12 + rng.uniform(0, 6)) + trend * t + noise


def _gate(at, noise):
    x = at(0)
    quarter = np.searchsorted(np.quantile(x, (0.25, 0.5, 0.75)), x)
    return np.choose(quarter, [at(s) for s in (3, 9, 20, 40)]) + 0.5 * noise


def _shift(rng: Random) -> np.ndarray:
    x = rng.normal(size=300)
    x[int(rng.integers(90, 200)) :] += 1.5
    return x


VALUES = {
    "two lags, n=2000": Case(
        lagging(lambda at, e: 0.7 * at(7) + 0.7 * at(31) + e, 2000), lags(7, 31)
    ),
    "two lags, n=500": Case(
        lagging(lambda at, e: 0.7 * at(7) + 0.7 * at(31) + e, 500), lags(7, 31)
    ),
    "product x5 x12, n=1000": Case(lagging(lambda at, e: at(5) * at(12) + e, 1000), lags(5, 12)),
    "sign of a product, n=1000": Case(
        lagging(lambda at, e: np.sign(at(5) * at(12)) + 0.0 * e, 1000), lags(5, 12)
    ),
    "tanh(x3 x40) + x97, 128 lags": Case(
        lagging(lambda at, e: np.tanh(at(3) * at(40)) + 0.7 * at(97) + 0.5 * e, 2000, 128),
        lags(3, 40, 97),
    ),
    "|x9|, n=1000": Case(lagging(lambda at, e: np.abs(at(9)) + 0.5 * e, 1000), lags(9)),
    "exp kernel, x iid": Case(smoothing(np.exp(-0.1 * np.arange(200)), 2000, 128), tail("exp")),
    "exp kernel, x AR(.9)": Case(
        smoothing(np.exp(-0.1 * np.arange(200)), 2000, 128, 0.9), tail("exp")
    ),
    "power kernel, x iid": Case(smoothing(np.arange(1, 2000) ** -1.2, 2000, 128), tail("power")),
    "power kernel, x AR(.9)": Case(
        smoothing(np.arange(1, 2000) ** -1.2, 2000, 128, 0.9), tail("power")
    ),
    "AR(1) .9": Case(alone(lambda rng: autoregression(rng, 2000, 0.9)), lags(1)),
    "x AR(.9), y = x5": Case(lagging(lambda at, e: at(5) + e, 1000, 64, 0.9), lags(5)),
    "y = x5 + AR(.9) noise": Case(
        lambda rng: {
            **(made := lagging(lambda at, e: at(5), 1000)(rng)),
            "y": 0.5 * made["y"] + autoregression(rng, len(made["y"]), 0.9),
        },
        lags(5),
    ),
    "AR(2) .5 -.6": Case(alone(lambda rng: autoregression(rng, 2000, 0.5, -0.6)), lags(1, 2)),
    "AR(2) 1.5 -.8": Case(alone(lambda rng: autoregression(rng, 2000, 1.5, -0.8)), lags(1, 2)),
    "season + trend + noise": Case(
        alone(lambda rng: _season(rng, 0.002, 0.0)), lambda f: none(f) and bool(f.clock.periods)
    ),
    "season + AR(.6)": Case(
        alone(lambda rng: _season(rng, 0.0, 0.6)),
        lambda f: lags(1)(f) and [round(p.length) for p in f.clock.periods] == [12],
    ),
    "fractional d=.3, n=5000": Case(
        alone(lambda rng: fractional(rng, 5000)),
        lambda f: f.memory == "essential" and (f.tail.shape == "power" or f.long_memory.long),
    ),
    "logistic map": Case(alone(_chaos(lambda a, b: 3.9 * a * (1 - a), 0.2, 0.8)), lags(1)),
    "tent map": Case(alone(_chaos(lambda a, b: 1.9 * min(a, 1 - a), 0.2, 0.8)), lags(1)),
    "Henon map": Case(alone(_chaos(lambda a, b: 1 - 1.4 * a * a + 0.3 * b, -0.1, 0.1)), lags(1, 2)),
    "telegraph": Case(alone(_telegraph), lags(1)),
    "random walk": Case(alone(lambda rng: np.cumsum(rng.normal(size=2000))), lags(1)),
    "gate by quarter of x_t": Case(lagging(_gate, 2000), maps((3, 9, 20, 40))),
    "shift of the level, n=300": Case(
        alone(_shift, 24),
        lambda f: (none(f) and f.clock.step is not None) or f.memory == "undecided",
    ),
}


def _rows(rng: Random, n: int, most: int = 64, heavy: bool = False) -> dict[str, Any]:
    x = rng.standard_t(3, size=(n, most)) if heavy else rng.normal(size=(n, most))
    return {"x": x, "y": rng.exponential(size=n) if heavy else rng.normal(size=n)}


NULLS = {
    "iid rows": lambda rng: _rows(rng, 2000),
    "iid rows, n=300": lambda rng: _rows(rng, 300),
    "x t3, y exponential": lambda rng: _rows(rng, 1000, heavy=True),
    "x AR(.9), y iid": lambda rng: {
        "x": autoregression(rng, 2000, 0.9), "y": rng.normal(size=2000), "max_lag": 63,
    },
    "two independent AR(.9)": lambda rng: {
        "x": autoregression(rng, 2000, 0.9), "y": autoregression(rng, 2000, 0.9), "max_lag": 63,
    },
    "iid series": lambda rng: {"x": rng.normal(size=2000), "max_lag": 64},
    "GARCH": lambda rng: {"x": garch(rng, 2000), "max_lag": 64},
}  # fmt: skip


def _noisy(rng: Random, y: np.ndarray, size: int, share: float = 0.2) -> np.ndarray:
    return np.where(rng.random(len(y)) < share, rng.integers(0, size, len(y)), y)


def symbols(function: Callable[..., np.ndarray], n: int, size: int = 4, most: int = 64):
    """y = function(at) of iid tokens, a fifth of the labels random; one window per row."""

    def make(rng: Random) -> dict[str, Any]:
        x = rng.integers(0, size, (n, most))
        y = function(lambda s: x[np.arange(n), most - 1 - np.asarray(s)], rng)
        return {"x": x, "y": _noisy(rng, y, size)}

    return make


def chain(rng: Random, n: int, size: int, order: int, spread: float = 0.5) -> np.ndarray:
    """A Markov chain with random transition probabilities, none below 0.001: it never ends in one
    token.
    """
    table = 0.001 + (1 - 0.001 * size) * rng.dirichlet(np.full(size, spread), size=size**order)
    x = list(rng.integers(0, size, order))
    for _ in range(n + 50):
        code = 0
        for token in x[-order:]:
            code = code * size + token
        x.append(rng.choice(size, p=table[code]))
    return np.array(x[-n:])


def sticky(rng: Random, n: int, size: int = 4, stay: float = 0.9) -> np.ndarray:
    x = rng.integers(0, size, n)
    for t in range(1, n):
        if rng.random() < stay:
            x[t] = x[t - 1]
    return x


def _pairs_of_keys(rng: Random, n: int = 200, pairs: int = 6, size: int = 12) -> dict[str, Any]:
    """Key value key value … then a key: its value is the answer."""
    rows, answers = [], []
    for _ in range(n):
        keys = rng.permutation(size)[:pairs]
        values = size + rng.integers(0, size, pairs)
        asked = int(rng.integers(pairs))
        rows.append([*np.stack([keys, values], axis=1).ravel(), keys[asked]])
        answers.append(values[asked])
    return {"x": np.array(rows), "y": np.array(answers)}


def _induction(rng: Random, rho: float, n: int = 3000, size: int = 16) -> np.ndarray:
    x, last = list(rng.integers(0, size, 2)), {}
    for t in range(2, n):
        before = last.get(x[-1])
        follows = before is not None and rng.random() < rho
        x.append(x[before + 1] if follows else int(rng.integers(size)))
        last[x[-2]] = t - 1
    return np.array(x)


STEP = np.array([3, 9, 20, 40])
SECOND = np.array([5, 14, 25, 50])


def _one_of(a: np.ndarray, b: np.ndarray, rng: Random) -> np.ndarray:
    return np.where(rng.random(len(a)) < 0.5, a, b)


TOKENS = {
    "Markov-1, V=4, n=1000": Case(lambda rng: {"x": chain(rng, 1000, 4, 1)}, lags(1)),
    "Markov-2, V=3, n=3000": Case(lambda rng: {"x": chain(rng, 3000, 3, 2)}, lags(1, 2)),
    "Markov-3, V=2, n=6000": Case(lambda rng: {"x": chain(rng, 6000, 2, 3)}, lags(1, 2, 3)),
    "Markov-3, V=3, n=6000": Case(lambda rng: {"x": chain(rng, 6000, 3, 3)}, lags(1, 2, 3)),
    "a lag that one token of two reads": Case(
        symbols(lambda at, rng: np.where(at(0) == 1, at(6), rng.integers(0, 2, 3000)), 3000, 2),
        lags(0, 6),
    ),
    "mixture of lags 7 and 31, n=1000": Case(
        symbols(lambda at, rng: _one_of(at(7), at(31), rng), 1000), lags(7, 31)
    ),
    "parity, V=2, n=1000": Case(symbols(lambda at, rng: at(5) ^ at(12), 1000, 2), lags(5, 12)),
    "sum mod 4, n=3000": Case(symbols(lambda at, rng: (at(5) + at(12)) % 4, 3000), lags(5, 12)),
    "map x_{t-g(x_t)}, n=500": Case(
        symbols(lambda at, rng: at(STEP[at(0)]), 500), maps((3, 9, 20, 40))
    ),
    "map x_{t-g(x_t)}, n=1000": Case(
        symbols(lambda at, rng: at(STEP[at(0)]), 1000), maps((3, 9, 20, 40))
    ),
    "two hops, n=1500": Case(
        symbols(lambda at, rng: at(SECOND[at(STEP[at(0)])]), 1500),
        maps((3, 9, 20, 40), (5, 14, 25, 50)),
    ),
    "recall of pairs, 200 rows": Case(_pairs_of_keys, content),
    "induction, rho=.5": Case(lambda rng: {"x": _induction(rng, 0.5)}, content),
    "induction, rho=.15": Case(lambda rng: {"x": _induction(rng, 0.15)}, content),
}  # fmt: skip

TOKEN_NULLS = {
    "iid tokens, n=1000": lambda rng: {
        "x": rng.integers(0, 4, (1000, 64)), "y": rng.integers(0, 4, 1000),
    },
    "two independent sticky chains": lambda rng: {"x": sticky(rng, 2000), "y": sticky(rng, 2000)},
    "iid token series": lambda rng: {"x": rng.integers(0, 4, 1000)},
}  # fmt: skip
