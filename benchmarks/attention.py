"""Dot-product-free attention at every position: time and memory from N = 1k to 64k, and paths
side by side.
"""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import numpy as np

from benchmarks.timing import interleaved
from headcount.memory.read import Everywhere
from headcount.model import attention, paths
from headcount.model.spec import ModelSpec

LENGTHS = (1024, 4096, 16384, 65536)
BIASES = ("lin", "log", "log1p", "table", "t5", "peak", "rope")


def steps(bias: str) -> dict[int, tuple[Callable[[], object], float]]:
    """For each length: forward+backward (H=4, d=4, batch 1), compiled, and the memory in MB that
    XLA sets aside for it.
    """
    found = {}
    for length in LENGTHS:
        option = (
            f"table:window={length}"
            if bias == "table"
            else "peak:rate=0.0000000001"
            if bias == "peak"
            else bias
        )
        model = ModelSpec(heads=4, width=16, hidden=16, attention="dp-free", bias=option).build(
            jax.random.key(0), dim=4
        )
        x = jax.random.normal(jax.random.key(1), (1, length, 4))
        weights, rest = eqx.partition(model, eqx.is_inexact_array)

        def loss(weights, x, rest=rest):
            return (eqx.combine(weights, rest)(x, Everywhere()) ** 2).mean()

        compiled = jax.jit(jax.grad(loss)).lower(weights, x).compile()
        memory = compiled.memory_analysis().temp_size_in_bytes / 2**20
        found[length] = (lambda c=compiled, w=weights, x=x: jax.block_until_ready(c(w, x))), memory
    return found


def scaling() -> None:
    """Growth from the second length to the last, against N log N; the quickest of the rounds,
    because load only adds.
    """
    print(
        "dp-free attention at every position, forward+backward, H=4 d=4 batch=1: ms and MB of"
        " scratch memory"
    )
    for bias in BIASES:
        runs = steps(bias)
        seconds = interleaved({str(n): run for n, (run, _) in runs.items()}, rounds=7, summary=min)
        first, last = LENGTHS[1], LENGTHS[-1]
        # half as much again for noise and caches
        allowed = 1.5 * (last * math.log(last)) / (first * math.log(first))
        growth, memory = seconds[str(last)] / seconds[str(first)], runs[last][1] / runs[first][1]
        verdict = "N log N" if growth <= allowed else "WORSE than N log N"
        linear = "memory linear" if memory <= 1.1 * last / first else "memory WORSE than linear"
        cells = "  ".join(
            f"{n // 1024}k {seconds[str(n)] * 1e3:7.1f} ms {mb:6.1f} MB"
            for n, (_, mb) in runs.items()
        )
        print(f"  {bias:<6} {cells}   x{growth:.0f} of x{allowed:.0f} allowed: {verdict}, {linear}")


def crossover() -> None:
    """Every row by the dense weights against the path that is chosen for long inputs."""
    print(
        "dense rows against the fast path, forward+backward ms, H=16 f=16 batch=4 (choose the path"
        " at the crossover)"
    )
    for bias in ("lin", "log"):
        for length in (32, 64, 128, 256, 512, 1024):
            model = ModelSpec(
                heads=16, width=16, hidden=1, head_dim=16, attention="dp-free", bias=bias
            ).build(jax.random.key(0), dim=16)
            layer = model.layers[0].attention
            u = jax.random.normal(jax.random.key(1), (4, length, 16))
            rows = np.arange(length)

            def run(path, layer=layer, u=u, rows=rows):
                return eqx.filter_jit(
                    eqx.filter_grad(lambda a: (path(a.bias, a.normaliser, u, rows) ** 2).sum())
                )

            fast = paths.recurrence if bias == "lin" else paths.convolution
            steps = {"dense": run(paths.rows_of_weights), "fast": run(fast)}
            seconds = interleaved(
                {
                    name: lambda f=f, layer=layer: jax.block_until_ready(f(layer))
                    for name, f in steps.items()
                },
                rounds=5,
            )
            chosen = attention.Attention.path(layer, length, length)
            print(
                f"  {bias:<4} N={length:<5} dense {seconds['dense'] * 1e3:8.2f}   fast"
                f" {seconds['fast'] * 1e3:8.2f}   chosen: {chosen}"
            )


def main() -> None:
    crossover()
    scaling()


if __name__ == "__main__":
    main()
