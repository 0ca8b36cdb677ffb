"""Content addressing: the answer is what stood beside the latest earlier place with the same key.

The key is the k-gram that ends `key_lag` elements before the newest visible one; its latest earlier
occurrence inside the sequence is found by sorting; the answer predicted is the element `offset`
after it.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from headcount.diagnose.token_counts import TokenRows, compressed

KEY_LAGS, LENGTHS, OFFSETS = (0, 1, 2), (1, 2), (-2, -1, 1, 2, 3)


class Rule(NamedTuple):
    """Which key, and which element beside the match."""

    key_lag: int
    length: int
    offset: int


@dataclasses.dataclass(frozen=True)
class Recalled:
    """A rule's prediction per row; -1 where there is no earlier match."""

    rule: Rule
    token: np.ndarray  # [n]


def rules(longest: int = 2) -> tuple[Rule, ...]:
    lengths = range(1, longest + 1)
    return tuple(Rule(k, m, d) for k in KEY_LAGS for m in lengths for d in OFFSETS)


def previous(flat: np.ndarray, starts: np.ndarray, length: int) -> np.ndarray:
    """[T] the latest earlier end of the same k-gram in the same sequence, or -1."""
    sequence = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    shifted = [np.concatenate([np.full(k, 0), flat[: len(flat) - k]]) for k in range(length)]
    code, _ = compressed(sequence, *shifted)
    inside = np.arange(len(flat)) - np.repeat(starts[:-1], np.diff(starts)) >= length - 1
    order = np.argsort(code, kind="stable")
    before = np.full(len(flat), -1)
    same = (code[order][1:] == code[order][:-1]) & inside[order][1:] & inside[order][:-1]
    before[order[1:][same]] = order[:-1][same]
    return before


def recalled(
    rows: TokenRows, starts: np.ndarray, rule: Rule, earlier: np.ndarray, first: int
) -> Recalled:
    """`earlier` is `previous` for the rule's length; `first` the smallest visible lag."""
    newest = rows.position - first
    key = newest - rule.key_lag
    begin = starts[np.searchsorted(starts, rows.position, side="right") - 1]
    match = np.where(key >= begin, earlier[np.maximum(key, 0)], -1)
    place = match + rule.offset
    seen = (match >= 0) & (place >= begin) & (place <= newest)
    return Recalled(rule, np.where(seen, rows.flat[np.clip(place, 0, len(rows.flat) - 1)], -1))


def agreement(y: np.ndarray, found: np.ndarray, strata: np.ndarray, count: int) -> float:
    """z of the number of y = r against permuting y inside the strata (its exact moments)."""
    good = found >= 0
    y, found, strata = y[good], found[good], strata[good]
    if len(y) < 20:
        return 0.0
    size = int(max(y.max(), found.max())) + 1
    a = np.bincount(strata * size + y, minlength=count * size).reshape(count, size).astype(float)
    b = np.bincount(strata * size + found, minlength=count * size).reshape(count, size)
    n = a.sum(1)
    ab, ab2, a2b = (a * b).sum(1), (a * b**2).sum(1), (a**2 * b).sum(1)
    safe = np.maximum(n, 1)
    mean = ab / safe
    variance = (ab - ab2 / safe - a2b / safe + ab**2 / safe**2) / np.maximum(n - 1, 1)
    total = float((y == found).sum())
    return (total - mean.sum()) / float(np.sqrt(max(variance[n > 1].sum(), 1e-12)))
