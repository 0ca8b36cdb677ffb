"""Sharing a given number of heads among memories (errata 13): whole numbers, each next head where
it helps most.

Below the threshold of Theorem A a lag gains nothing (T lin heads leave the error at 1), so greedy
single steps would never start: memories get their threshold first, the cheapest first, and the rest
goes one by one.
"""

from collections.abc import Sequence

from headcount.construct.blocks.decaying_heads import KernelHeads, heads_for_count, threshold
from headcount.construct.draft import Request
from headcount.core.errors import require
from headcount.memory.kernels import AbstractKernel


def split_heads(
    kernels: Sequence[AbstractKernel], request: Request, window: int | None = None
) -> list[KernelHeads]:
    """The kernels' heads, `request.heads` in all; with a `window`, later lags do not exist."""
    total = request.heads or 0
    require(
        total >= len(kernels),
        f"{total} heads for {len(kernels)} memories",
        "at least one a memory",
        "pass more heads",
    )

    def fit(k: int, heads: int) -> KernelHeads:
        seen = window if window is None else max(window, kernels[k].support or 1)
        return heads_for_count(kernels[k], request.bias, heads, request.precision, seen)

    counts = [1] * len(kernels)
    for k in sorted(range(len(kernels)), key=lambda k: threshold(kernels[k], request.bias)):
        more = threshold(kernels[k], request.bias) - counts[k]
        if 0 < more <= total - sum(counts):
            counts[k] += more
    while sum(counts) < total:
        gains = [
            fit(k, counts[k]).error ** 2 - fit(k, counts[k] + 1).error ** 2
            for k in range(len(kernels))
        ]
        counts[gains.index(max(gains))] += 1
    return [fit(k, count) for k, count in enumerate(counts)]
