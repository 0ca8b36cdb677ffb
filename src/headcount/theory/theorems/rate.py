"""E_Attn = C(n) H^-n terms of several memories together: the best n, heads shared among the
memories (docs/errata.md#e12, #e13).
"""

import math
from collections.abc import Sequence

from headcount.theory.promised import ALWAYS_N, Lemma


def shared(
    lemmas: Sequence[Lemma], heads: int
) -> tuple[float, int, tuple[int, ...], tuple[float, ...]]:
    """(log E_Attn, n, H_k, log10 C_k) with `heads` shared: sqrt(sum_k (C_k H_k^-n)^2),
    H_k ~ C_k^{2/(2n+1)}, at the best n.
    """
    found = []
    for n in range(1, min(lemma.most_n for lemma in lemmas) + 1):
        logs = [lemma.log_constant(n) for lemma in lemmas]
        counts = split(logs, n, heads)
        if n > ALWAYS_N and min(counts) < n:
            continue  # the Jackson constant is 1 there only once H >= n (docs/errata.md#e23)
        errors = [c - n * math.log(h) for c, h in zip(logs, counts, strict=True)]
        found.append((log_norm(errors), n, counts, tuple(c / math.log(10) for c in logs)))
    return min(found, key=lambda item: item[0])


def split(logs: Sequence[float], n: int, heads: int) -> tuple[int, ...]:
    """Whole numbers H_k >= 1 that add up to `heads`, next to the optimum H_k ~ C_k^{2/(2n+1)}
    (docs/errata.md#e12).
    """
    top = max(logs)
    shares = [math.exp(2 / (2 * n + 1) * (c - top)) for c in logs]
    spare = heads - len(logs)
    counts = [1 + math.floor(spare * s / sum(shares)) for s in shares]
    while sum(counts) < heads:  # the next head where sum_k (C_k H_k^-n)^2 falls most
        gains = [2 * (c - top) - 2 * n * math.log(h) for c, h in zip(logs, counts, strict=True)]
        drops = [
            math.exp(g) * -math.expm1(-2 * n * math.log1p(1 / h))
            for g, h in zip(gains, counts, strict=True)
        ]
        counts[drops.index(max(drops))] += 1
    return tuple(counts)


def log_norm(logs: Sequence[float]) -> float:
    """log sqrt(sum exp(2 x))."""
    top = max(logs)
    return top + 0.5 * math.log(sum(math.exp(2 * (x - top)) for x in logs))
