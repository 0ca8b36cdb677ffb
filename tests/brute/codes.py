"""What one dot-product-free layer can tell apart: the best error of any readout, by enumeration.

A head without dot product adds up the past with fixed weights: c_t = sum_s phi(s) x_{t-s}. On
tokens ±1 of bounded length it takes finitely many values, and a readout is a function of these
values and of x_t. Values closer together than `gap` are taken for one. So the best error of *any*
readout is half the spread of the answers within a group of sequences that it cannot tell apart.
Nothing of `headcount` is used.
"""

import itertools
from collections.abc import Callable, Iterator

import numpy as np

Answer = Callable[[np.ndarray], float]  # tokens by lag, x_t first, zero before the start → answer


def by_lag(shortest: int, longest: int) -> Iterator[np.ndarray]:
    """Every sequence of ±1 with so many tokens, by lag, filled up with zeros.  [longest]"""
    for length in range(shortest, longest + 1):
        for tokens in itertools.product((-1.0, 1.0), repeat=length):
            yield np.pad(np.array(tokens), (0, longest - length))


def curve(bias: str, rate: float, lags: int) -> np.ndarray:
    """phi(0), …, phi(lags-1) of one head.  [lags]"""
    s = np.arange(lags, dtype=float)
    if bias == "lin":
        return np.exp(-rate * s)
    if bias == "log1p":
        return (1 + s) ** -rate
    assert bias == "log"
    return np.where(s == 0, 0.0, np.maximum(s, 1.0) ** -rate)


def best_error(
    bias: str, rates: tuple[float, ...], answer: Answer, shortest: int, longest: int, gap: float
) -> float:
    """The error of the best readout of these heads and x_t, on every sequence of these lengths."""
    inputs = np.array(list(by_lag(shortest, longest)))  # [n, S]
    weights = np.stack([curve(bias, rate, longest) for rate in rates], axis=1)  # [S, H]
    seen = np.concatenate([inputs @ weights, inputs[:, :1]], axis=1)  # [n, H+1]
    answers = np.array([answer(x) for x in inputs])
    spread = 0.0
    for group in groups(seen, gap):
        spread = max(spread, float(answers[group].max() - answers[group].min()))
    return spread / 2


def groups(points: np.ndarray, gap: float) -> list[np.ndarray]:
    """Points joined by steps of at most `gap` in every coordinate: the finest partition whose parts
    are further apart than that."""
    left, found = np.arange(len(points)), []
    while len(left):
        inside, front = np.zeros(len(left), bool), np.zeros(len(left), bool)
        inside[0] = front[0] = True
        while front.any():
            near = np.abs(points[left][:, None] - points[left][front][None]).max(axis=2) <= gap
            front = near.any(axis=1) & ~inside
            inside |= front
        found.append(left[inside])
        left = left[~inside]
    return found
