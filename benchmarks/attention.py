"""Dot-product-free attention at every position: time and memory from N = 1k to 64k, and paths side by side.

Each length runs in its own process, so that peak memory is that length's own.
"""

import argparse
import itertools
import json
import math
import subprocess
import sys

import equinox as eqx
import jax
import numpy as np

from benchmarks.timing import interleaved, peak_memory_mb
from headcount.memory.read import Everywhere
from headcount.model import attention, paths
from headcount.model.spec import ModelSpec

LENGTHS = (1024, 4096, 16384, 65536)
BIASES = ("lin", "log", "log1p", "table", "t5", "peak", "rope")


def one(bias: str, length: int) -> dict[str, float]:
    """Median seconds of forward+backward and the memory it adds, H=4, d=4, batch 1."""
    option = f"table:window={length}" if bias == "table" else "peak:rate=0.000001" if bias == "peak" else bias
    model = ModelSpec(heads=4, width=16, hidden=16, attention="dp-free", bias=option).build(jax.random.key(0), dim=4)
    x = jax.random.normal(jax.random.key(1), (1, length, 4))
    step = eqx.filter_jit(eqx.filter_grad(lambda m: (m(x, Everywhere()) ** 2).mean()))
    before = peak_memory_mb()
    seconds = interleaved({"step": lambda: jax.block_until_ready(step(model))}, rounds=3)["step"]
    return {"seconds": seconds, "memory_mb": peak_memory_mb() - before}


def scaling() -> None:
    print("dp-free attention at every position, forward+backward, H=4 d=4 batch=1")
    for bias in BIASES:
        rows = []
        for length in LENGTHS:
            command = [sys.executable, "-m", "benchmarks.attention", "--one", bias, str(length)]
            rows.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
        growth = [b["seconds"] / a["seconds"] for a, b in itertools.pairwise(rows[1:])]
        allowed = [4 * math.log(b) / math.log(a) * 1.5 for a, b in itertools.pairwise(LENGTHS[1:])]  # N log N, 50% slack for noise
        verdict = "N log N" if all(g <= a for g, a in zip(growth, allowed, strict=True)) else "WORSE than N log N"
        cells = "  ".join(
            f"{n // 1024}k {row['seconds'] * 1e3:8.1f} ms {row['memory_mb']:6.0f} MB" for n, row in zip(LENGTHS, rows, strict=True)
        )
        print(f"  {bias:<6} {cells}   {verdict}")


def crossover() -> None:
    """Every row by the dense weights against the path that is chosen for long inputs."""
    print("dense rows against the fast path, forward+backward ms, H=16 f=16 batch=4 (choose the path at the crossover)")
    for bias in ("lin", "log"):
        for length in (32, 64, 128, 256, 512, 1024):
            model = ModelSpec(heads=16, width=16, hidden=1, head_dim=16, attention="dp-free", bias=bias).build(jax.random.key(0), dim=16)
            layer = model.layers[0].attention
            u = jax.random.normal(jax.random.key(1), (4, length, 16))
            rows = np.arange(length)

            def run(path, layer=layer, u=u, rows=rows):
                return eqx.filter_jit(eqx.filter_grad(lambda a: (path(a.bias, a.normaliser, u, rows) ** 2).sum()))

            fast = paths.recurrence if bias == "lin" else paths.convolution
            steps = {"dense": run(paths.rows_of_weights), "fast": run(fast)}
            seconds = interleaved({name: (lambda f=f, layer=layer: jax.block_until_ready(f(layer))) for name, f in steps.items()}, rounds=5)
            chosen = attention.Attention.path(layer, length, length)
            print(f"  {bias:<4} N={length:<5} dense {seconds['dense'] * 1e3:8.2f}   fast {seconds['fast'] * 1e3:8.2f}   chosen: {chosen}")


def main() -> None:
    crossover()
    scaling()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", nargs=2)
    asked = parser.parse_args().one
    if asked:
        print(json.dumps(one(asked[0], int(asked[1]))))
    else:
        main()
