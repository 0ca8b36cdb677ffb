"""Where the time of experiment 1b's training step goes, and how much of it could go away.

Each part of the step runs alone inside one compiled loop, as in the engine; beside it stand the
same matrix products by BLAS (OpenBLAS through NumPy, one thread), without anything around them.
With products of that speed a step cannot be shorter than they are together: the step's time divided
by theirs is what is left to gain. CPU time, rounds alternate.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.timing import interleaved
from benchmarks.training import BATCH, MODEL, TARGET, D, H, M, N, prepared
from headcount.core.bits import fold
from headcount.memory.named import targets
from headcount.train.compiled import compiled
from headcount.train.run_spec import TrainSpec

STEPS = 200


def looped(body: Callable[..., Any], start: Any, *fixed: Any) -> Callable[[], object]:
    """STEPS turns of `body`, which feeds its result back so that no turn can be left out."""

    def run(start: Any, *fixed: Any) -> Any:
        return jax.lax.fori_loop(0, STEPS, lambda i, state: body(i, state, *fixed), start)

    program = compiled(run, start, *fixed)
    return lambda: jax.block_until_ready(program.call(start, *fixed))


def step_alone() -> Callable[[], object]:
    spec = TrainSpec(steps=STEPS, length=N, batch=BATCH, log=1, evaluation={"batches": 1})
    function, (arguments,) = prepared(TARGET, MODEL, spec, 1)
    program = compiled(function, *arguments)
    return lambda: jax.block_until_ready(program.call(*arguments))


def parts() -> dict[str, Callable[[], object]]:
    """The step's own work, piece by piece."""
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.choice([-1.0, 1.0], (BATCH, N)), jnp.float32)
    kernels, sums = (jnp.asarray(rng.normal(size=s), jnp.float32) for s in ((H, N), (BATCH, H)))
    rate, lag = jnp.linspace(0.1, 1, H), jnp.arange(N - 1, -1, -1, dtype=jnp.float32)
    w_in, outer, stream = (
        jnp.asarray(rng.normal(size=s), jnp.float32) for s in ((M, D), (M,), (BATCH, D))
    )
    target, key = targets.build(TARGET), jax.random.key(0)

    def data(i, total):
        batch = target.sample(fold(key, i), BATCH, N)
        return total + batch.x.sum() + batch.y.sum()  # every token is used

    def softmax(rate):
        return jax.nn.softmax(-jnp.abs(rate)[:, None] * lag, axis=-1)

    def network(w, s):
        return ((jax.nn.relu(s @ w.T) @ outer) ** 2).mean()

    def network_step(i, w, s):
        by_weight, by_stream = jax.grad(network, argnums=(0, 1))(w, s)
        return w - 1e-9 * (by_weight + by_stream.sum())

    return {
        "data and answers": looped(data, jnp.zeros(())),
        "kernels and their derivative": looped(
            lambda i, r: r - 1e-9 * jax.grad(lambda r: (softmax(r) * kernels).sum())(r), rate
        ),
        "tokens times kernels": looped(
            lambda i, k, x: k + 1e-9 * jnp.einsum("bn,kn->bk", x, k)[:H, :1], kernels, x
        ),
        "its derivative": looped(
            lambda i, z, x: z + 1e-9 * jnp.einsum("bk,bn->kn", z, x)[:1, :H], sums, x
        ),
        "network and its derivative": looped(network_step, w_in, stream),
    }


def products() -> Callable[[], None]:
    """The five large products of a step by BLAS: two of the heads, three of the network."""
    rng = np.random.default_rng(1)
    shapes = ((BATCH, N, H), (H, BATCH, N), (BATCH, D, M), (M, BATCH, D), (BATCH, M, D))
    pairs = [
        (rng.normal(size=(a, b)).astype(np.float32), rng.normal(size=(b, c)).astype(np.float32))
        for a, b, c in shapes
    ]

    def run() -> None:
        for _ in range(STEPS):
            for left, right in pairs:
                left @ right

    return run


def main() -> None:
    candidates = {"whole step": step_alone(), "products by BLAS": products(), **parts()}
    found = interleaved(candidates, rounds=9, clock=time.process_time)
    whole = found["whole step"]
    print(f"experiment 1b, one step on one thread, N={N} H={H} D={D} m={M} batch={BATCH}")
    for name, seconds in found.items():
        print(f"  {name:<30} {seconds / STEPS * 1e3:7.3f} CPU ms   {seconds / whole:5.0%}")
    most = whole / found["products by BLAS"]
    print(f"  with these products a step cannot be more than {most:.1f} times faster")


if __name__ == "__main__":
    main()
