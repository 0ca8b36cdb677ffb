"""Where the time of a causal language model's training step goes, part by part, beside PyTorch.

The step is that of `language_model`: N = 256, D = 128, H = 4, FFN 512, batch 16, one thread. Each
part runs alone, forward and backward, on the same numbers in both libraries; its results must
agree. Last, the bare matrix products of the step, forward and backward, which both hand to a
library: what neither can do without. CPU time of one thread, rounds alternate.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.language_model import BATCH, DECAY, RATE, VOCABULARY, D, H, M, N
from benchmarks.timing import interleaved

LAYERS, ROUNDS = 2, 9
TOKENS = BATCH * N
Numbers = dict[str, np.ndarray]


def numbers() -> Numbers:
    """Inputs of every part, a gradient for every output."""
    rng = np.random.default_rng(0)
    sizes = {
        "x": (BATCH, N, D), "hidden": (BATCH, N, M), "w_qkv": (3 * D, D), "w_out": (D, D),
        "w_in": (M, D), "w_leave": (D, M), "w_read": (VOCABULARY, D), "scale": (D,), "offset": (D,),
        "q": (BATCH, H, N, D // H), "k": (BATCH, H, N, D // H), "v": (BATCH, H, N, D // H),
        "table": (VOCABULARY, D),
    }  # fmt: skip
    return {name: rng.normal(size=size).astype(np.float32) / 8 for name, size in sizes.items()}


def labels() -> np.ndarray:
    """[B, N]"""
    return np.random.default_rng(1).integers(0, VOCABULARY, (BATCH, N))


# part -> (how often a step has it, what it reads); a derivative is taken by each of these
PARTS = {
    "norms": (2 * LAYERS + 1, ("x", "scale", "offset")),
    "queries, keys, values": (LAYERS, ("w_qkv", "x")),
    "attention": (LAYERS, ("q", "k", "v")),
    "output map": (LAYERS, ("w_out", "x")),
    "network, enter": (LAYERS, ("w_in", "x")),
    "GELU": (LAYERS, ("hidden",)),
    "network, leave": (LAYERS, ("w_leave", "hidden")),
    "embedding": (1, ("table",)),
    "read and loss": (1, ("w_read", "x")),
}


def ours() -> dict[str, Callable[[], Any]]:
    """Part -> a function that runs it forward and backward."""
    import jax
    import jax.numpy as jnp
    import optax

    from headcount.model import causal
    from headcount.model.norms import Scale
    from headcount.model.products import linear

    given = {name: jnp.asarray(value) for name, value in numbers().items()}
    asked = jnp.asarray(labels())
    every = jnp.arange(N)
    past = jnp.where(every[None, :] <= every[:, None], jnp.zeros((H, 1, 1)), -jnp.inf)

    def loss(weight, x):
        logits = linear(weight, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, asked).mean()

    functions = {
        "norms": lambda x, scale, offset: Scale(scale, offset)(x),
        "queries, keys, values": linear,
        "attention": lambda q, k, v: causal.attend(q, k, v, past, None),
        "output map": linear,
        "network, enter": linear,
        "GELU": lambda z: jax.nn.gelu(z, approximate=False),
        "network, leave": linear,
        "embedding": lambda table: table[asked],
        "read and loss": loss,
    }

    def both_ways(function, names):
        def run(*values):
            out, back = jax.vjp(function, *values)
            return out, back(out)

        program = jax.jit(run).lower(*(given[n] for n in names)).compile()
        return lambda: jax.block_until_ready(program(*(given[n] for n in names)))

    found = {name: both_ways(functions[name], PARTS[name][1]) for name in PARTS}
    weights = [given[n] for n in ("w_qkv", "w_out", "w_in", "w_leave")] * LAYERS
    adamw = optax.adamw(RATE, weight_decay=DECAY)

    def update(weights, state):
        updates, state = adamw.update(weights, state, weights)
        return optax.apply_updates(weights, updates), state

    state = adamw.init(weights)
    program = jax.jit(update).lower(weights, state).compile()
    found["AdamW"] = lambda: jax.block_until_ready(program(weights, state))
    return found


def theirs() -> dict[str, Callable[[], Any]]:
    """The same in PyTorch, eager."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)
    given = {name: torch.tensor(v, requires_grad=True) for name, v in numbers().items()}
    asked = torch.tensor(labels())

    def loss(weight, x):
        logits = functional.linear(x, weight).reshape(-1, VOCABULARY)
        return functional.cross_entropy(logits, asked.reshape(-1))

    def product(weight, x):
        return functional.linear(x, weight)

    functions = {
        "norms": lambda x, scale, offset: functional.layer_norm(x, (D,), scale, offset),
        "queries, keys, values": product,
        "attention": lambda q, k, v: functional.scaled_dot_product_attention(
            q, k, v, is_causal=True, scale=1.0
        ),
        "output map": product,
        "network, enter": product,
        "GELU": functional.gelu,
        "network, leave": product,
        "embedding": lambda table: functional.embedding(asked, table),
        "read and loss": loss,
    }

    def both_ways(function, names):
        values = [given[n] for n in names]

        def run():
            out = function(*values)
            return out.detach(), torch.autograd.grad(out, values, out.detach())

        return run

    found = {name: both_ways(functions[name], PARTS[name][1]) for name in PARTS}
    names = ("w_qkv", "w_out", "w_in", "w_leave")
    weights = [torch.tensor(numbers()[n], requires_grad=True) for n in names * LAYERS]
    for weight in weights:
        weight.grad = weight.detach().clone()
    adamw = torch.optim.AdamW(weights, lr=RATE, weight_decay=DECAY, fused=True)
    found["AdamW"] = adamw.step
    return found


def bare_products() -> Callable[[], Any]:
    """The matrix products of a step alone, by OpenBLAS: each map forward and twice backward, the
    products of attention on the half of the square that is seen.
    """
    given = numbers()
    x, hidden = given["x"].reshape(TOKENS, D), given["hidden"].reshape(TOKENS, M)
    maps = [
        (x, given["w_qkv"]),
        (x, given["w_out"]),
        (x, given["w_in"]),
        (hidden, given["w_leave"]),
    ]
    q, k = given["q"].reshape(-1, N, D // H), given["k"].reshape(-1, N, D // H)
    half = np.ascontiguousarray(np.einsum("bnq,bmq->bnm", q, k)[:, :, : N // 2])

    def run():
        for _ in range(LAYERS):
            for rows, weight in maps:
                out = rows @ weight.T
                out.T @ rows
                out @ weight
            for _ in range(2):  # q k^T, g v^T; the other four read or write the weights
                np.matmul(q, k[:, : N // 2].transpose(0, 2, 1))
                np.matmul(half, k[:, : N // 2])
                np.matmul(half.transpose(0, 2, 1), q)
        out = x @ given["w_read"].T
        out.T @ x
        out @ given["w_read"]

    return run


def agree(ours: Callable[[], Any], theirs: Callable[[], Any], name: str) -> None:
    """Values and derivatives of a part are the same on both sides."""
    import jax

    mine = [np.asarray(a) for a in jax.tree.leaves(ours())]
    out, grads = theirs()
    for a, b in zip(mine, [out.numpy(), *(g.numpy() for g in grads)], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4, err_msg=name)


def main() -> None:
    from threadpoolctl import threadpool_limits

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # XLA and OpenBLAS see one core
    with threadpool_limits(1):
        mine, other = ours(), theirs()
        for name in PARTS:
            agree(mine[name], other[name], name)
        both = {f"ours {n}": f for n, f in mine.items()}
        both |= {f"PyTorch {n}": f for n, f in other.items()}
        both["products"] = bare_products()
        seconds = interleaved(both, ROUNDS, clock=time.process_time)
    print(f"a step of {LAYERS} layers, ms CPU on one thread; each part alone, forward and backward")
    sums = {"ours": 0.0, "PyTorch": 0.0}
    for name in mine:
        times = PARTS[name][0] if name in PARTS else 1
        pair = {who: 1e3 * times * seconds[f"{who} {name}"] for who in sums}
        for who, value in pair.items():
            sums[who] += value
        print(
            f"  {name:<22} {times} x   ours {pair['ours']:6.1f}   PyTorch {pair['PyTorch']:6.1f}"
            f"   {pair['PyTorch'] / pair['ours']:.2f} x"
        )
    print(
        f"  {'all parts':<26} ours {sums['ours']:6.1f}   PyTorch {sums['PyTorch']:6.1f}"
        f"   {sums['PyTorch'] / sums['ours']:.2f} x"
    )
    print(f"  the matrix products alone, by OpenBLAS: {1e3 * seconds['products']:.1f}")


if __name__ == "__main__":
    main()
