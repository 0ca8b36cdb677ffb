"""Counting tokens: G-tests of an answer against every lag, inside strata.

G_s = 2 sum n log(...) inside the strata c of what is known, with df = sum over strata of (occupied
rows - 1)(occupied columns - 1). Its z is only a scale on which lags are compared: replicates do
the calibration. A replicate permutes the answers inside the strata (exact where rows are
exchangeable given the stratum), or, for a series with answers of its own, cuts answers and strata
together into long blocks and permutes these. Shifts of the whole series would keep more, but the
smallest score over S lags has only about n/S independent shifts: too few for a share of the level.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np

from headcount.diagnose.sign_flips import normal_score

BLOCK, FEWEST_BLOCKS = 200, 4  # rows per block: long beside the memory of the answers themselves
FEW_REPLICATES = 19  # for the law of extremes
LEAST_P = 1e-4  # of that law: so few replicates say nothing of what is rarer
ALL_AT_ONCE = 1_000_000  # counts or elements in one go: four times as many leave the cache


@dataclasses.dataclass(frozen=True)
class TokenRows:
    """Rows of tokens: answers y [n] and elements at every lag."""

    flat: np.ndarray  # [T] int64
    position: np.ndarray  # [n]
    y: np.ndarray  # [n] int64
    lags: tuple[int, ...]
    size: int  # V
    labels: int  # number of answers
    paired: bool  # a series with answers of its own: replicates by blocks

    def at(self, lag: int) -> np.ndarray:  # [n]
        first = int(self.position[0]) - lag
        if int(self.position[-1]) - int(self.position[0]) == len(self.position) - 1:
            return self.flat[first : first + len(self.position)]
        return self.flat[self.position - lag]

    def rows(self, keep: np.ndarray) -> "TokenRows":
        return dataclasses.replace(self, position=self.position[keep], y=self.y[keep])

    def __len__(self) -> int:
        return len(self.y)


@functools.lru_cache(maxsize=4)
def _table(size: int) -> np.ndarray:
    k = np.arange(size + 1, dtype=float)
    return k * np.log(np.maximum(k, 1))


def xlogx(counts: np.ndarray, most: int) -> np.ndarray:
    """n log n of whole numbers up to `most`, by a table."""
    return _table(1 << int(most).bit_length())[counts]


def compressed(*codes: np.ndarray) -> tuple[np.ndarray, int]:
    """One code for a combination of codes, 0, 1, …, without holes."""
    whole = np.zeros(len(codes[0]), np.int64)
    size = 1
    for code in codes:
        top = int(code.max(initial=0)) + 1
        _, whole = np.unique(whole * top + code, return_inverse=True)
        size = int(whole.max(initial=0)) + 1
    return whole, size


def _groups(rows: TokenRows, joint: np.ndarray, kinds: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Counts [lags, kinds, V] of (joint code, x_s), some lags at a time."""
    n, size = len(joint), rows.size
    cells = kinds * size
    step = max(1, min(len(rows.lags), ALL_AT_ONCE // max(n, cells, 1)))
    base = joint * size
    for start in range(0, len(rows.lags), step):
        lags = rows.lags[start : start + step]
        if len(lags) == 1:
            made = np.bincount(base + rows.at(lags[0]), minlength=cells)
        else:
            codes = np.stack([base + rows.at(s) + i * cells for i, s in enumerate(lags)])
            made = np.bincount(codes.ravel(), minlength=cells * len(lags))
        yield slice(start, start + len(lags)), made.reshape(len(lags), kinds, size)


@dataclasses.dataclass(frozen=True)
class Strata:
    """What is known of each row, and which group of strata is tested together (`group` [C])."""

    code: np.ndarray  # [n]
    count: int
    group: np.ndarray  # [C] → 0 … groups - 1
    groups: int

    @classmethod
    def of(cls, *codes: np.ndarray, rows: int) -> "Strata":
        if not codes:
            return cls(np.zeros(rows, np.int64), 1, np.zeros(1, np.int64), 1)
        code, count = compressed(*codes)
        return cls(code, count, np.zeros(count, np.int64), 1)

    @classmethod
    def by(cls, pivot: np.ndarray, *codes: np.ndarray) -> "Strata":
        """Strata of (pivot, codes), tested per value of the pivot."""
        code, count = compressed(pivot, *codes)
        group = np.zeros(count, np.int64)
        group[code] = pivot
        return cls(code, count, group, int(pivot.max()) + 1)


def g_tests(rows: TokenRows, strata: Strata, y: np.ndarray, code: np.ndarray) -> tuple:
    """G and df, [groups, lags], of answers y in strata `code`."""
    kinds = strata.count * rows.labels
    joint = code * rows.labels + y
    g, df = (np.zeros((strata.groups, len(rows.lags))) for _ in range(2))
    n = len(y)
    for where, flat in _groups(rows, joint, kinds):
        counts = flat.reshape(len(flat), strata.count, rows.labels, rows.size)
        by_x, by_y = counts.sum(2), counts.sum(3)  # [s, C, V], [s, C, Vy]
        total = by_x.sum(2)
        each = (
            xlogx(counts, n).sum((2, 3))
            - xlogx(by_x, n).sum(2)
            - xlogx(by_y, n).sum(2)
            + xlogx(total, n)
        )
        free = np.maximum((by_x > 0).sum(2) - 1, 0) * np.maximum((by_y > 0).sum(2) - 1, 0)
        for target, values in ((g, 2 * each), (df, free)):
            for c, g_of in enumerate(strata.group):
                target[g_of, where] += values[:, c]
    return g, df


def score(g: np.ndarray, df: np.ndarray) -> np.ndarray:
    """Minus a normal z: small is striking. It does not saturate where tables are sparse and G is
    far below its df, as log p would.
    """
    return np.where(df > 0, -normal_score(g, np.maximum(df, 1)), np.inf)


def mixed_blocks(n: int, reach: int, rng: np.random.Generator) -> np.ndarray:  # [n]
    """Rows in a new order: closed to a circle, cut into blocks, the blocks permuted. The first cut
    is such that every block moves by more than `reach` (where blocks are long enough): no
    replicate holds a part of the data as it is.
    """
    count = max(round(n / max(BLOCK, 3 * reach)), FEWEST_BLOCKS)
    margin = reach + count  # blocks differ by a row
    room = n // count - 2 * margin
    start = margin + int(rng.integers(room)) if room > 0 else int(rng.integers(1, n))
    parts = np.array_split((np.arange(n) + start) % n, count)
    return np.concatenate([parts[place] for place in rng.permutation(count)])


def replicate(rows: TokenRows, strata: Strata, rng: np.random.Generator) -> tuple:
    """(answers, strata) of one replicate of "nothing is left"."""
    if rows.paired:
        order = mixed_blocks(len(rows), max(rows.lags), rng)
        return rows.y[order], strata.code[order]
    if strata.count == 1:
        return rng.permutation(rows.y), strata.code
    order = np.argsort(strata.code, kind="stable")
    mixed = np.lexsort((rng.random(len(rows)), strata.code))
    y = np.empty_like(rows.y)
    y[order] = rows.y[mixed]
    return y, strata.code


@dataclasses.dataclass(frozen=True)
class Tested:
    """Scores of all candidates, and how many replicates reached the smallest of them."""

    scores: np.ndarray  # [groups, lags], small is striking
    g: np.ndarray
    df: np.ndarray
    p: float  # of the smallest score
    limit: float  # scores below this are significant at the level asked for


def max_test(
    rows: TokenRows,
    strata: Strata,
    rng: np.random.Generator,
    *,
    alpha: float,
    replicates: int,
    usable: np.ndarray | None = None,
    gumbel: bool = False,
    watch: Callable[[Tested, str], None] | None = None,
) -> Tested:
    """One null for all candidates: the smallest score of each replicate. Stops as soon as too many
    replicates reach the data (Besag and Clifford). With `gumbel` a few replicates and the law of
    extremes stand for many; `watch` is told how far they are, and the scores of the data.
    """
    g, df = g_tests(rows, strata, rows.y, strata.code)
    scores = score(g, df)
    if usable is not None:
        scores[~usable] = np.inf
    smallest = float(scores.min())
    allowed = int(alpha * (replicates + 1)) - 1  # replicates that may reach the data
    drawn: list[float] = []
    reached = 0
    count = FEW_REPLICATES if gumbel else replicates
    for b in range(count):
        if watch is not None:
            watch(Tested(scores, g, df, 1.0, -np.inf), f"replicate {b + 1} of {count}")
        made = score(*g_tests(rows, strata, *replicate(rows, strata, rng)))
        if usable is not None:
            made[~usable] = np.inf
        drawn.append(float(made.min()))
        reached += drawn[-1] <= smallest
        if not gumbel and reached > allowed:
            return Tested(scores, g, df, (1 + reached) / (1 + len(drawn)), -np.inf)
    if gumbel:
        p, limit = gumbel_p(-smallest, -np.array(drawn), alpha)
        return Tested(scores, g, df, p, -limit)
    limit = np.sort(drawn)[allowed] if allowed >= 0 else -np.inf
    return Tested(scores, g, df, (1 + reached) / (1 + len(drawn)), float(limit))


def gumbel_p(value: float, drawn: np.ndarray, alpha: float) -> tuple[float, float]:
    """(p of a maximum, critical value) from a Gumbel law with the mean and spread of a few. The
    spread is widened for being estimated: without it 19 replicates find 0.032 at the level of 0.025
    (1,024 lags), with it 0.024.
    """
    scale = drawn.std(ddof=1) * np.sqrt(6) / np.pi * (1 + 2 / len(drawn))
    place = drawn.mean() - 0.5772156649 * scale
    p = max(-np.expm1(-np.exp(-(value - place) / max(scale, 1e-12))), LEAST_P)
    return float(p), float(place - scale * np.log(-np.log1p(-alpha)))
