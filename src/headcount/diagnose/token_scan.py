"""Which lags matter, for tokens: the greedy scan, the map by a token, pointers, pairs.

greedy     lags that matter given the lags found before
map        the same inside every value v of a pivot (x_t): token → lags A(v)
pointer    inside x_t = v, the lag whose token decides which other lag is read
pairs      two lags (three on request) that matter only together
"""

import dataclasses
import math

import numpy as np

from headcount.diagnose.sign_flips import wilson_hilferty
from headcount.diagnose.token_counts import Strata, Tested, TokenRows, max_test, mixed_blocks, xlogx

ROWS_PER_CELL = 5  # times V: fewer rows per stratum is too sparse to go on
ROWS_PER_TOKEN = 40  # values of a pivot with fewer rows are skipped
MOST_LAGS, MOST_POINTED = 12, 16
MOST_PAIR_SYMBOLS = 8


@dataclasses.dataclass(frozen=True)
class TokenLag:
    lag: int
    p: float


@dataclasses.dataclass(frozen=True)
class Greedy:
    lags: tuple[TokenLag, ...]
    marginal: Tested  # of the first step
    sparse: bool


def greedy(
    rows: TokenRows, rng: np.random.Generator, *, alpha: float, replicates: int, gumbel: bool
) -> Greedy:
    """Add the most significant lag, recompute the strata, until none is left."""
    found: list[TokenLag] = []
    first: Tested | None = None
    sparse = False
    while len(found) < MOST_LAGS:
        strata = Strata.of(*(rows.at(f.lag) for f in found), rows=len(rows))
        if len(rows) < ROWS_PER_CELL * rows.size * strata.count:
            sparse = True
            break
        tested = max_test(
            rows, strata, rng, alpha=alpha, replicates=replicates, gumbel=gumbel and not found
        )
        first = first or tested
        if tested.p > alpha:
            break
        found.append(TokenLag(rows.lags[int(tested.scores[0].argmin())], tested.p))
    if first is None:
        strata = Strata.of(rows=len(rows))
        first = max_test(rows, strata, rng, alpha=alpha, replicates=19)
    return Greedy(tuple(found), first, sparse)


@dataclasses.dataclass(frozen=True)
class TokenMap:
    """Lags read per value of a pivot; values with too few rows are `skipped`."""

    lags: dict[int, tuple[int, ...]]
    p: dict[int, float]
    skipped: tuple[int, ...]

    @property
    def complete(self) -> bool:
        return bool(self.lags) and all(self.lags.values())

    @property
    def adaptivity(self) -> float | None:
        union = {lag for lags in self.lags.values() for lag in lags}
        most = max((len(lags) for lags in self.lags.values()), default=0)
        return 1 - most / len(union) if union else None

    def columns(self, rows: TokenRows, pivot: np.ndarray) -> list[np.ndarray]:
        """The j-th lag of each row's own list, as one column per j; V where there is none."""
        deepest = max((len(lags) for lags in self.lags.values()), default=0)
        made = []
        for j in range(deepest):
            column = np.full(len(rows), rows.size)
            for v, lags in self.lags.items():
                if j < len(lags):
                    here = np.flatnonzero(pivot == v)
                    column[here] = rows.flat[rows.position[here] - lags[j]]
            made.append(column)
        return made


def token_map(
    rows: TokenRows, pivot: np.ndarray, rng: np.random.Generator, *, alpha: float, replicates: int
) -> TokenMap:
    """Greedy inside every value of the pivot at once; one null over all (value, lag)."""
    sizes = np.bincount(pivot, minlength=rows.size)
    usual = [int(v) for v in np.flatnonzero(sizes >= ROWS_PER_TOKEN)]
    skipped = tuple(int(v) for v in np.flatnonzero((sizes > 0) & (sizes < ROWS_PER_TOKEN)))
    found: dict[int, tuple[int, ...]] = {v: () for v in usual}
    levels: dict[int, float] = {}
    open_values = set(usual)
    while open_values:
        strata = Strata.by(pivot, *TokenMap(found, {}, ()).columns(rows, pivot))
        strata_of = np.bincount(strata.group, minlength=strata.groups)
        for v in list(open_values):
            crowded = sizes[v] < ROWS_PER_CELL * rows.size * strata_of[v]
            if (crowded and found[v]) or len(found[v]) >= MOST_LAGS:
                open_values.discard(v)
        if not open_values:
            break
        usable = np.zeros((strata.groups, len(rows.lags)), bool)
        usable[sorted(open_values)] = True
        tested = max_test(rows, strata, rng, alpha=alpha, replicates=replicates, usable=usable)
        if tested.p > alpha:
            break
        for v in list(open_values):
            at = int(tested.scores[v].argmin())
            if tested.scores[v, at] < tested.limit:
                found[v] = (*found[v], rows.lags[at])
                levels[v] = max(levels.get(v, 0.0), tested.p)
            else:
                open_values.discard(v)
    return TokenMap(found, levels, skipped)


@dataclasses.dataclass(frozen=True)
class Pointer:
    """Per value of the pivot, the lag whose token points on; and p over all of them."""

    lag: dict[int, int]
    p: float
    simulated: bool  # replicates from the map's own model, as tokens are autocorrelated


def pointer(
    rows: TokenRows,
    pivot: np.ndarray,
    mapped: TokenMap,
    targets: tuple[int, ...],
    rng: np.random.Generator,
    *,
    alpha: float,
    replicates: int,
    simulate: bool,
) -> Pointer:
    """Inside pivot = v: J_s = sum over r of G(y; x_r | x_s). A lag that says which other lag is
    read makes J large. Replicates permute (y, x_r) against x_s, in blocks for a series with answers
    of its own; where tokens that continue themselves are autocorrelated, which makes x_s and x_r
    dependent anyway, they draw y from the lags of the map instead.
    """
    values, statistics = sorted(mapped.lags), []
    for v in values:
        here = rows.rows(np.flatnonzero(pivot == v))
        statistics.append(_pointing(here, targets, mapped.lags[v], rng, replicates, simulate))
    z = np.stack(statistics)  # [values, B + 1, lags]
    largest = z.max((0, 2))
    p = float((largest >= largest[0]).mean())
    allowed = int(alpha * (replicates + 1)) - 1
    limit = np.sort(largest[1:])[::-1][max(allowed, 0)]
    lag = {}
    for v, scores in zip(values, z, strict=True):
        at = int(scores[0].argmax())
        if p <= alpha and scores[0, at] > limit:
            lag[v] = rows.lags[at]
    return Pointer(lag, p, simulate)


def _pointing(
    rows: TokenRows,
    targets: tuple[int, ...],
    known: tuple[int, ...],
    rng: np.random.Generator,
    replicates: int,
    simulate: bool,
) -> np.ndarray:
    """[B + 1, lags] standardised J, the data first."""
    n, size, labels = len(rows), rows.size, rows.labels
    eye = np.eye(size, dtype=np.float32)
    x = np.concatenate([eye[rows.at(s)] for s in rows.lags], axis=1)  # [n, S V]
    read = np.stack([rows.at(r) for r in targets])  # [R, n]

    def joint(y: np.ndarray) -> np.ndarray:  # [n, R V Vy]
        made = np.zeros((n, len(targets) * size * labels), np.float32)
        place = (np.arange(len(targets))[:, None] * size + read) * labels + y
        made[np.arange(n)[None, :], place] = 1
        return made

    drawn = np.empty((replicates + 1, len(rows.lags)))
    observed = joint(rows.y)
    for b in range(replicates + 1):
        if b == 0:
            w = observed
        elif rows.paired:
            w = observed[mixed_blocks(n, max(rows.lags), rng)]
        elif simulate:
            w = joint(_simulated(rows, known, rng))
        else:
            w = observed[rng.permutation(n)]
        counts = (x.T @ w).round().astype(np.int64)
        counts = counts.reshape(len(rows.lags), size, len(targets), size, labels)
        by_read, by_y = counts.sum(4), counts.sum(3)
        total = by_y.sum(3)
        j = xlogx(counts, n).sum((1, 2, 3, 4)) - xlogx(by_read, n).sum((1, 2, 3))
        drawn[b] = 2 * (j - xlogx(by_y, n).sum((1, 2, 3)) + xlogx(total, n).sum((1, 2)))
    spread = drawn.std(0)
    return (drawn - drawn.mean(0)) / np.where(spread > 0, spread, 1)


def _simulated(rows: TokenRows, known: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Answers drawn again given the lags of the map: permuted inside their strata."""
    strata = Strata.of(*(rows.at(lag) for lag in known[:3]), rows=len(rows))
    order = np.argsort(strata.code, kind="stable")
    mixed = np.lexsort((rng.random(len(rows)), strata.code))
    y = np.empty_like(rows.y)
    y[order] = rows.y[mixed]
    return y


@dataclasses.dataclass(frozen=True)
class Together:
    """Lags that matter only together."""

    lags: tuple[int, ...]
    p: float


def together(
    rows: TokenRows,
    known: tuple[int, ...],
    rng: np.random.Generator,
    *,
    alpha: float,
    order: int = 2,
    replicates: int = 499,
) -> Together | None:
    """Products of whitened contrasts of two (or three) lags against the answer, given the lags
    known; None where not significant. Stops at the first replicate that makes it impossible.
    """
    lags = rows.lags
    strata = Strata.of(*(rows.at(lag) for lag in known[:3]), rows=len(rows))
    contrast = _contrasts(np.bincount(rows.flat[rows.position], minlength=rows.size))
    x = np.stack([contrast[rows.at(s)] for s in lags], axis=1).astype(np.float32)  # [n, S, V - 1]
    answer = _contrasts(np.bincount(rows.y, minlength=rows.labels))[rows.y]  # [n, Vy - 1]
    df = (rows.size - 1) ** order * (rows.labels - 1)
    search = _pair_statistic if order == 2 else _triple_statistic
    best, where = search(x, _centred(answer, strata))
    score = float(wilson_hilferty(np.array(best), df))
    candidates = np.prod([len(lags) - k for k in range(order)]) / (2 if order == 2 else 6)
    if score + np.log(candidates) > np.log(4 * alpha):
        return None  # far from significant by the approximate law already
    replicates = max(replicates, math.ceil(1 / alpha))
    allowed, reached = int(alpha * (replicates + 1)) - 1, 0
    order_of = np.argsort(strata.code, kind="stable")
    for b in range(replicates):
        if rows.paired:
            left = _centred(answer, strata)[mixed_blocks(len(rows), max(lags), rng)]
        else:
            mixed = np.lexsort((rng.random(len(rows)), strata.code))
            y = np.empty_like(answer)
            y[order_of] = answer[mixed]
            left = _centred(y, strata)
        reached += search(x, left)[0] >= best
        if reached > allowed:
            return None
        clear = not rows.paired and score + np.log(candidates) < np.log(alpha) - 7
        if b >= 99 and clear and not reached:  # the approximate law needs independent answers
            return Together(tuple(lags[i] for i in where), 1 / (b + 2))
    return Together(tuple(lags[i] for i in where), (1 + reached) / (1 + replicates))


def _contrasts(counts: np.ndarray) -> np.ndarray:
    """[V, V - 1]: orthonormal functions of a token under its law, orthogonal to constants."""
    share = np.maximum(counts, 0.5) / np.maximum(counts, 0.5).sum()
    q, _ = np.linalg.qr(np.column_stack([np.sqrt(share), np.eye(len(share))[:, :-1]]))
    return q[:, 1:] / np.sqrt(share)[:, None]


def _centred(y: np.ndarray, strata: Strata) -> np.ndarray:
    sizes = np.bincount(strata.code, minlength=strata.count)
    means = np.stack(
        [np.bincount(strata.code, weights=column, minlength=strata.count) for column in y.T], axis=1
    )
    return (y - (means / np.maximum(sizes, 1)[:, None])[strata.code]).astype(np.float32)


def _pair_statistic(x: np.ndarray, y: np.ndarray) -> tuple[float, tuple[int, ...]]:
    n, lags, size = x.shape
    flat = x.reshape(n, lags * size)
    total = np.zeros((lags, lags))
    for column in y.T:
        product = flat.T @ (column[:, None] * flat)
        total += (product.reshape(lags, size, lags, size) ** 2).sum((1, 3)) / n
    total[np.tril_indices(lags)] = 0
    i, j = np.unravel_index(int(total.argmax()), total.shape)
    return float(total[i, j]), (int(i), int(j))


def _triple_statistic(x: np.ndarray, y: np.ndarray) -> tuple[float, tuple[int, ...]]:
    best, where = -1.0, (0, 1, 2)
    for i in range(x.shape[1] - 2):
        rest = x[:, i + 1 :]
        weighted = (y[:, :, None] * x[:, i, None, :]).reshape(len(y), -1)
        value, (j, k) = _pair_statistic(rest, weighted)
        if value > best:
            best, where = value, (i, i + 1 + j, i + 1 + k)
    return best, where
