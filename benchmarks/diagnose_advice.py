"""Is the advice of `diagnose` right? Twenty tasks of all families: the advised model is trained and
must reach the loss that the diagnosis foretold, and a model of one size less must not.

    python -m benchmarks.diagnose_advice [FIRST [LAST [SEED]]]   FIRST to LAST (all; 20 minutes)
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import diagnose_cases as cases

Random = np.random.Generator


def lagging(function: Callable[..., np.ndarray], n: int, most: int, ar: float = 0.0):
    return cases.lagging(function, n, most, ar)


def _subset(rng: Random, n: int = 3000) -> np.ndarray:
    return cases.autoregression(rng, n, 0.5, 0, 0, 0.3, 0, 0, 0, -0.4)


def _two_channels(rng: Random, n: int = 3000) -> dict[str, Any]:
    x = rng.normal(size=(1, n, 2))
    y = np.roll(x[0, :, 0], 3) + np.roll(x[0, :, 1], 7) + 0.5 * rng.normal(size=n)
    return {"x": x[:, 16:], "y": y[16:], "max_lag": 11}


def _gate(rng: Random, n: int = 6000) -> dict[str, Any]:
    x = rng.normal(size=n)
    quarter = np.searchsorted(np.quantile(x, (0.25, 0.5, 0.75)), x)
    y = np.choose(quarter, [np.roll(x, s) for s in (2, 5, 8, 11)]) + 0.5 * rng.normal(size=n)
    return {"x": x[16:], "y": y[16:], "max_lag": 12}


LAGS, MORE = np.array([2, 5, 9, 13]), np.array([3, 6, 10, 14])

TASKS: dict[str, Callable[[Random], dict[str, Any]]] = {
    "two lags, same sign": lagging(lambda at, e: 0.7 * at(7) + 0.7 * at(20) + e, 3000, 24),
    "two lags, both signs": lagging(lambda at, e: 0.8 * at(4) - 0.6 * at(9) + 0.5 * e, 3000, 16),
    "product": lagging(lambda at, e: at(5) * at(12) + 0.5 * e, 4000, 16),
    "product and a lag": lagging(
        lambda at, e: np.tanh(at(3) * at(10)) + 0.7 * at(13) + 0.3 * e, 4000, 16
    ),
    "|x9|": lagging(lambda at, e: np.abs(at(9)) + 0.3 * e, 3000, 16),
    "lag of an autocorrelated input": lagging(lambda at, e: at(5) + e, 3000, 16, 0.9),
    "two channels": _two_channels,
    "AR(1)": cases.alone(lambda rng: cases.autoregression(rng, 2000, 0.9), 12),
    "AR(2)": cases.alone(lambda rng: cases.autoregression(rng, 3000, 0.5, -0.6), 12),
    "AR of lags 1, 4 and 8": cases.alone(_subset, 16),
    "exponential kernel": cases.smoothing(np.exp(-0.15 * np.arange(200)), 4000, 48),
    "fast exponential kernel": cases.smoothing(np.exp(-0.5 * np.arange(200)), 4000, 32),
    "power law": cases.smoothing(np.arange(1, 500) ** -1.0, 4000, 48),
    "steep power law": cases.smoothing(np.arange(1, 500) ** -1.5, 4000, 32),
    "Markov chain of order 2": lambda rng: {"x": cases.chain(rng, 4000, 3, 2), "max_lag": 12},
    "mixture of two lags": cases.symbols(
        lambda at, rng: np.where(rng.random(4000) < 0.5, at(2), at(6)), 4000, 4, 12
    ),
    "parity": cases.symbols(lambda at, rng: at(3) ^ at(8), 4000, 2, 12),
    "map by token": cases.symbols(lambda at, rng: at(LAGS[at(0)]), 6000, 4, 16),
    "map by value": _gate,
    "recall of pairs": lambda rng: cases._pairs_of_keys(rng, 6000, 4, 6),
}


def main(first: int = 0, last: int = len(TASKS), seed: int = 0) -> None:
    """One line per task: did the advised model reach the loss, did the smaller one fail?"""
    from headcount.diagnose import diagnose
    from headcount.diagnose.arrays import sequences_of
    from headcount.diagnose.diagnose import rows_of
    from headcount.diagnose.verify import verified

    right = 0
    for number, (name, make) in list(enumerate(TASKS.items()))[first:last]:
        started = time.process_time()
        made = make(np.random.default_rng([number, seed]))
        found = diagnose(**made, seed=seed, learner=False)
        samples = rows_of(sequences_of(made["x"], made.get("y")), made.get("max_lag"), None)
        told = verified(found, samples, seed, lambda message: None, rivals=1)
        good = told is not None and told.held and bool(told.smaller_failed)
        right += good
        advice = found.advice
        size = "no advice" if advice is None else f"{advice.layers} x {advice.heads} {advice.bias}"
        losses = "" if told is None else (
            f"foretold {told.expected[0]:.3f} to {told.expected[1]:.3f}: "
            + ", ".join(f"{run.role} {run.loss:.3f}" for run in told.runs)
        )  # fmt: skip
        spent, word = time.process_time() - started, "right" if good else "WRONG"
        print(f"{word} {name}: {found.memory} {size}; {losses} ({spent:.0f} s)", flush=True)
    print(f"{right} right", flush=True)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:4]))
