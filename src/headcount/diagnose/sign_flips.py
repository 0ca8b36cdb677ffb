"""One step of the scan for real values: is there anything left, and where?

Given the columns Q of what is known, e is the residual of y. A replicate of "nothing is left" is e
with random signs, projected again: it keeps every size |e_t|, so a changing variance is not taken
for memory. Candidates of three families (linear in one lag, nonlinear in one lag, product of two
lags) are put on one scale, log p + log(size of the family), and the smallest over all of them is
compared with the smallest in each replicate: one null, no level split between families.

Where a series and its answers are both autocorrelated, signs are flipped behind an autoregressive
filter L fitted to e: (M_LQ (signs e_L))' L f. That is the same step on filtered columns.
"""

import dataclasses
import enum
from typing import NamedTuple

import numpy as np

from headcount.diagnose import upper_tails
from headcount.diagnose.features import Features

MOST_PAIR_COLUMNS = 256
COLUMNS_AT_ONCE = 512
MOST_PAIR_WORK = 4e11  # multiplications of all replicates; rows are thinned above it


class Shape(enum.StrEnum):
    """How an element enters."""

    LINEAR = "linear"
    NONLINEAR = "nonlinear"
    PAIR = "product"
    TRIPLE = "triple product"


class Hit(NamedTuple):
    """The most striking candidate of a step."""

    shape: Shape
    places: tuple[int, ...]  # columns
    p: float  # adjusted for every candidate of the step
    score: float


@dataclasses.dataclass(frozen=True)
class Step:
    """The best candidate, and by the way: the linear profile and the test of all lags together."""

    hit: Hit
    profile: np.ndarray  # [P] z of each lag, linear
    sum_p: float
    whitened: int  # order of the filter; 0: plain flips


def flip_step(
    y: np.ndarray,
    known: np.ndarray,
    features: Features,
    rng: np.random.Generator,
    *,
    replicates: int = 199,
    sequence: np.ndarray | None = None,
    pairs: bool = True,
    triples: bool = False,
) -> Step:
    """`known` [n, q] are columns already explained (a constant is added); with `sequence`, the
    number of each row's sequence, flips stand behind a filter.
    """
    n, count, _ = features.values.shape
    base = np.column_stack([np.ones(n), known])
    answer, flat = y, features.values.reshape(n, -1)
    filters = Filter.of(_residual(base, y), sequence) if sequence is not None else Filter(())
    if filters.weights:
        base, answer, flat = (filters(a, sequence) for a in (base, answer, flat))
    q, _ = np.linalg.qr(base)  # [n, q]
    e = answer - q @ (q.T @ answer)
    flipped = _flips(e, q, rng, replicates)  # [B + 1, n], the data first
    q32 = q.astype(np.float32)
    weight = (e * e).astype(np.float32)
    spread, dead = _spread(flat, q32, weight)
    z = np.where(dead, 0.0, (flipped @ flat) / spread).reshape(-1, count, 4)
    linear, curved = np.abs(z[:, :, 0]), (z[:, :, 1:] ** 2).sum(2)
    scores = {
        Shape.LINEAR: _log_normal(linear.max(1)) + np.log(count),
        Shape.NONLINEAR: _log_chi(curved.max(1), 3) + np.log(count),
    }
    places: dict[Shape, tuple[int, ...]] = {
        Shape.LINEAR: (int(linear[0].argmax()),),
        Shape.NONLINEAR: (int(curved[0].argmax()),),
    }
    if pairs and count > 1:
        weights = filters.transposed(flipped, sequence) if filters.weights else flipped
        exact = None if filters.weights else (q32, weight)
        order = _pair_columns(linear[0], curved[0])
        found, where = _pairs(features.values[:, order, 0], weights, exact)
        scores[Shape.PAIR] = _log_normal(found) + np.log(len(order) * (len(order) - 1) / 2)
        places[Shape.PAIR] = tuple(sorted(int(order[i]) for i in where))
        if triples:
            found, three = _triples(features.values[:, order, 0], weights)
            size = len(order)
            scores[Shape.TRIPLE] = _log_normal(found) + np.log(size * (size - 1) * (size - 2) / 6)
            places[Shape.TRIPLE] = tuple(sorted(int(order[i]) for i in three))
    table = np.stack(list(scores.values()))  # [families, B + 1]
    smallest = table.min(0)
    shape = list(scores)[int(table[:, 0].argmin())]
    hit = Hit(shape, places[shape], _rank_p(smallest), float(smallest[0]))
    together = (z[:, :, 0] ** 2).sum(1)
    return Step(hit, z[0, :, 0], _rank_p(-together), len(filters.weights))


def _spread(flat: np.ndarray, q: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sqrt(sum_t e_t^2 (M f)_t^2) of every column f, and whether f is explained already; some
    columns at a time, which keeps copies small.
    """
    spread, dead = np.empty(flat.shape[1], np.float32), np.empty(flat.shape[1], bool)
    for start in range(0, flat.shape[1], COLUMNS_AT_ONCE):
        here = slice(start, start + COLUMNS_AT_ONCE)
        part = flat[:, here]
        left = part - q @ (q.T @ part)
        left *= left
        spread[here] = np.sqrt(np.maximum(weight @ left, 1e-30))
        dead[here] = left.sum(0) < 1e-4 * (part * part).sum(0)
    return spread, dead


def _rank_p(statistic: np.ndarray) -> float:
    """Share of replicates at most as large as the data, which comes first and counts."""
    return float((statistic <= statistic[0]).mean())


def _log_normal(z: np.ndarray) -> np.ndarray:
    return np.log(2) + upper_tails.log_normal(z)


def _log_chi(q: np.ndarray, df: float) -> np.ndarray:
    """log p by Wilson and Hilferty: no underflow, and flips do the calibration."""
    return wilson_hilferty(q, df)


def wilson_hilferty(q: np.ndarray, df: np.ndarray | float) -> np.ndarray:
    """log of the upper tail of chi-squared, by the cube root transform."""
    return upper_tails.log_normal(normal_score(q, df))


def normal_score(q: np.ndarray, df: np.ndarray | float) -> np.ndarray:
    """chi-squared as a normal z, by the cube root transform."""
    df = np.maximum(df, 1e-9)
    return ((np.maximum(q, 0) / df) ** (1 / 3) - (1 - 2 / (9 * df))) / np.sqrt(2 / (9 * df))


def _residual(base: np.ndarray, y: np.ndarray) -> np.ndarray:
    q, _ = np.linalg.qr(base)
    return y - q @ (q.T @ y)


def _flips(e: np.ndarray, q: np.ndarray, rng: np.random.Generator, replicates: int) -> np.ndarray:
    signs = rng.integers(0, 2, (replicates, len(e)), dtype=np.int8) * 2 - 1
    made = signs * e.astype(np.float32)
    made -= (made @ q.astype(np.float32)) @ q.T.astype(np.float32)
    return np.vstack([e.astype(np.float32), made])


def _pair_columns(linear: np.ndarray, curved: np.ndarray) -> np.ndarray:
    """All columns, or the most striking ones where pairs of all would be too many."""
    if len(linear) <= MOST_PAIR_COLUMNS:
        return np.arange(len(linear))
    return np.sort(np.argsort(-(linear**2 + curved))[:MOST_PAIR_COLUMNS])


def _pairs(
    x: np.ndarray, weights: np.ndarray, exact: tuple[np.ndarray, np.ndarray] | None
) -> tuple[np.ndarray, tuple[int, int]]:
    """The largest |z| over pairs in each replicate, and the pair that has it in the data.

    Pairs are multiplied once, some at a time, and met by all replicates in one matrix product: half
    the work of x' diag(e_b) x per replicate, which holds every pair twice. Their spread is
    sum e^2 (M f)^2; behind a filter it is taken from all replicates, the data included (so that
    all of them are treated alike).
    """
    n, count = x.shape
    stride = int(np.ceil(len(weights) * n * count**2 / MOST_PAIR_WORK))
    if stride > 1:
        x, weights = x[::stride], weights[:, ::stride]
        exact = None if exact is None else (exact[0][::stride], exact[1][::stride])
    known = None if exact is None else _pair_spread(x, *exact)
    left, right = np.triu_indices(count, 1)
    rows = np.ascontiguousarray(x.T)  # [P, n]
    largest, most, first = np.zeros(len(weights)), -1.0, (0, 1)
    for start in range(0, len(left), COLUMNS_AT_ONCE):
        i, j = (side[start : start + COLUMNS_AT_ONCE] for side in (left, right))
        products = weights @ (rows[i] * rows[j]).T  # [B + 1, pairs]
        spread = np.sqrt((products**2).mean(0)) if known is None else known[i, j]
        z = np.abs(products) * np.where(spread > 0, 1 / np.maximum(spread, 1e-30), 0)
        largest = np.maximum(largest, z.max(1))
        if z[0].max() > most:
            most, best = float(z[0].max()), int(z[0].argmax())
            first = int(i[best]), int(j[best])
    return largest, first


def _pair_spread(x: np.ndarray, q: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """sqrt(sum_t e_t^2 (M f)_t^2) for f = x_i x_j, all pairs at once."""
    square = (x * x).T @ (weight[:, None] * (x * x))
    inner = np.stack([x.T @ (column[:, None] * x) for column in q.T])  # [q, P, P]
    cross = np.stack([x.T @ ((weight * column)[:, None] * x) for column in q.T])
    gram = q.T @ (weight[:, None] * q)
    full = square - 2 * (inner * cross).sum(0) + np.einsum("kij,kl,lij->ij", inner, gram, inner)
    return np.sqrt(np.maximum(full, 1e-6 * square))


def _triples(x: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, tuple[int, int, int]]:
    """The same for products of three lags, standardised over the replicates and the data."""
    count = x.shape[1]
    largest, best, first = np.zeros(len(weights)), -1.0, (0, 1, 2)
    for i in range(count - 2):
        rest = x[:, i + 1 :]
        products = np.stack([rest.T @ ((w * x[:, i])[:, None] * rest) for w in weights])
        spread = np.sqrt((products**2).mean(0))
        upper = np.triu(np.ones(spread.shape, bool), 1) & (spread > 0)
        z = np.where(upper, np.abs(products) / np.maximum(spread, 1e-30), 0)
        largest = np.maximum(largest, z.max((1, 2)))
        if z[0].max() > best:
            best = float(z[0].max())
            j, k = np.unravel_index(int(z[0].argmax()), upper.shape)
            first = i, i + 1 + int(j), i + 1 + int(k)
    return largest, first


class Filter(NamedTuple):
    """The autoregressive filter a_t - sum_k w_k a_{t-k}, inside each sequence."""

    weights: tuple[float, ...]

    @classmethod
    def of(cls, e: np.ndarray, sequence: np.ndarray) -> "Filter":
        """Levinson's recursion, its order by BIC (at most min(30, 10 log10 n))."""
        n = len(e)
        most = min(30, int(10 * np.log10(n)))
        same = [sequence[k:] == sequence[: n - k] for k in range(most + 1)]
        cov = np.array([(e[k:] * e[: n - k] * same[k]).sum() / n for k in range(most + 1)])
        weights, power = np.zeros(0), cov[0]
        best, chosen = n * np.log(max(power, 1e-300)), weights
        for k in range(1, most + 1):
            reflection = (cov[k] - weights @ cov[k - 1 : 0 : -1]) / power
            weights = np.append(weights - reflection * weights[::-1], reflection)
            power *= 1 - reflection**2
            bic = n * np.log(max(power, 1e-300)) + k * np.log(n)
            if bic < best:
                best, chosen = bic, weights
        return cls(tuple(float(w) for w in chosen))

    def __call__(self, a: np.ndarray, sequence: np.ndarray | None) -> np.ndarray:  # rows first
        assert sequence is not None
        out = a.copy()
        for k, w in enumerate(self.weights, start=1):
            same = (sequence[k:] == sequence[:-k]).astype(a.dtype)
            out[k:] -= a.dtype.type(w) * a[:-k] * (same if a.ndim == 1 else same[:, None])
        return out

    def transposed(self, a: np.ndarray, sequence: np.ndarray | None) -> np.ndarray:  # [B, n]
        assert sequence is not None
        out = a.copy()
        for k, w in enumerate(self.weights, start=1):
            same = (sequence[k:] == sequence[:-k]).astype(a.dtype)
            out[:, :-k] -= a.dtype.type(w) * a[:, k:] * same
        return out
