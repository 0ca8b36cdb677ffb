"""Experiment 1b's training (N=1000, H=32, D=64, m=256, batch 100, fresh data every step): ours
against PyTorch, a core each.

*Natural* PyTorch is what one would write first: every position, full N x N attention
(benchmarks/experiment_1b.py), eager. *Best* PyTorch is what we could write: tokens contracted with
lag kernels before any D-sized work, read at the last position, 32 signs from one random word, fused
AdamW, denormals flushed (or its products with e^{-p s} take three times as long), eager or
compiled, whichever is faster. All run on one thread; steps are counted in CPU seconds, windows
alternate. Losses and gradients of one batch are compared first. Ours is the engine itself, whole
run in one program.

The last lines say why runs are not batched by `vmap`: see `headcount.train.run.train_group`.
"""

import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.experiment_1b import natural
from benchmarks.timing import interleaved
from headcount.memory.named import targets
from headcount.memory.read import Last
from headcount.model.spec import ModelSpec
from headcount.train import run as engine
from headcount.train.compiled import compiled
from headcount.train.run_spec import TrainSpec

N, H, D, M, BATCH = 1000, 32, 64, 256, 100
STEPS, TORCH_STEPS = 400, 60
TARGET = "exp-1b:position=1000"
MODEL = ModelSpec(heads=H, width=D, hidden=M, attention="dp-free", bias="lin")
NATURAL_BAR, BEST_BAR = 2000, 4


def contracted(weights: dict, x, y):
    """Loss of the same model with the least work we know: kernels [H, N] first, then everything
    is small.
    """
    import torch

    lag = torch.arange(N - 1, -1, -1, dtype=torch.float32)
    kernels = torch.softmax(-weights["rate"].abs()[:, None] * lag, dim=-1)  # [H, N]
    gathered = x @ kernels.T  # [B, H]
    per_head = torch.einsum(
        "hv,hev->he", (weights["w_v"] @ weights["w_e"])[:, :, 0], weights["w_o"]
    )
    constant = torch.einsum("hv,hev->e", weights["w_v"] @ weights["b_e"], weights["w_o"])
    # [B, D]
    stream = x[:, -1:] @ weights["w_e"].T + weights["b_e"] + gathered @ per_head + constant
    answer = torch.relu(stream @ weights["w_in"].T + weights["offset"]) @ weights["w_out"].T
    return ((answer - y) ** 2).mean()


def signs():
    """[B, N], 32 from one random word."""
    import torch

    words = torch.randint(-(2**31), 2**31 - 1, (-(-BATCH * N // 32), 1), dtype=torch.int32)
    bits = (words >> torch.arange(32, dtype=torch.int32)) & 1
    return (bits.to(torch.float32) * 2 - 1).reshape(-1)[: BATCH * N].reshape(BATCH, N)


def named(model: Any) -> dict[str, np.ndarray]:
    """Our weights by the names used here."""
    layer = model.layers[0]
    found = {
        "w_e": model.embedding.weight,
        "b_e": model.embedding.offset,
        "rate": layer.attention.bias.rate,
    }
    found |= {"w_v": layer.attention.w_value, "w_o": layer.attention.w_out}
    found |= {"w_in": layer.ffn.w_in, "offset": layer.ffn.offset, "w_out": layer.ffn.w_out}
    return {name: np.array(value) for name, value in found.items()}


def torch_trainer(
    start: dict[str, np.ndarray], loss: Callable, compile_it: bool, steps: int
) -> Callable[[], None]:
    """A function that trains for some steps."""
    import torch

    weights = {name: torch.tensor(value, requires_grad=True) for name, value in start.items()}
    adamw = torch.optim.AdamW(weights.values(), lr=1e-3, weight_decay=0.0, fused=True)
    teacher = targets.build(TARGET).target.readout.network(4, 1)
    outer, inner, offset = (
        torch.tensor(np.asarray(a), dtype=torch.float32) for a in (teacher.a, teacher.b, teacher.c)
    )
    lags = torch.tensor([0, *targets.build(TARGET).target.lags])
    draw, of_batch = (torch.compile(f, dynamic=False) if compile_it else f for f in (signs, loss))

    def train() -> None:
        for _ in range(steps):
            x = draw()
            y = torch.relu(x[:, N - 1 - lags] @ inner.T + offset) @ outer[:, None]
            adamw.zero_grad(set_to_none=True)
            of_batch(weights, x, y).backward()
            adamw.step()

    return train


def natural_flat(weights: dict, x, y):
    return natural(weights, x[:, :, None], y)


def check_equal(model: Any) -> None:
    """One batch: both PyTorch losses and our own agree, and so do the gradients of the rates."""
    import torch

    batch = targets.build(TARGET).sample(jax.random.key(1), 20, N)
    ours, grads = eqx.filter_jit(
        eqx.filter_value_and_grad(lambda m: ((m(batch.x, Last()) - batch.y) ** 2).mean())
    )(model)
    for loss in (contracted, natural_flat):
        weights = {
            name: torch.tensor(value, requires_grad=True) for name, value in named(model).items()
        }
        theirs = loss(
            weights,
            torch.tensor(np.asarray(batch.x[:, :, 0])),
            torch.tensor(np.asarray(batch.y[:, :, 0])),
        )
        theirs.backward()
        np.testing.assert_allclose(float(ours), theirs.item(), rtol=1e-4)
        rate = np.asarray(grads.layers[0].attention.bias.rate)
        np.testing.assert_allclose(rate, weights["rate"].grad.numpy(), rtol=2e-2, atol=1e-5)


def prepared(target: str, model: ModelSpec, spec: TrainSpec, seeds: int) -> tuple[Any, list[Any]]:
    """The engine's function of a run, and the arguments of some seeds."""
    source = engine.source_of(target, spec.length, spec.precision)
    plan = engine.plan_of(source, spec)
    made = [
        engine.arguments_of(plan, engine.fresh_model(model, source, seed), spec, seed)
        for seed in range(seeds)
    ]
    return engine.run_function(plan, made[0][1]), [arguments for arguments, _ in made]


def speed() -> None:
    import torch

    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    model = MODEL.build(jax.random.key(0), dim=1)
    check_equal(model)
    spec = TrainSpec(steps=STEPS, length=N, batch=BATCH, log=1, evaluation={"batches": 1})
    function, (arguments,) = prepared(TARGET, MODEL, spec, 1)
    program = compiled(function, *arguments)
    start = named(model)
    candidates: dict[str, tuple[Callable[[], object], int]] = {
        "ours": (lambda: jax.block_until_ready(program.call(*arguments)), STEPS),
        "best PyTorch, eager": (torch_trainer(start, contracted, False, TORCH_STEPS), TORCH_STEPS),
        "best PyTorch, compiled": (
            torch_trainer(start, contracted, True, TORCH_STEPS),
            TORCH_STEPS,
        ),
    }
    found = interleaved(
        {name: run for name, (run, _) in candidates.items()}, rounds=15, clock=time.process_time
    )
    step = {name: found[name] / steps for name, (_, steps) in candidates.items()}
    slow = {
        "ours": candidates["ours"][0],
        "natural PyTorch": torch_trainer(start, natural_flat, False, 1),
    }
    ratio = interleaved(slow, rounds=3, clock=time.process_time)
    against_natural = ratio["natural PyTorch"] / (ratio["ours"] / STEPS)
    against_best = min(step["best PyTorch, eager"], step["best PyTorch, compiled"]) / step["ours"]
    print(
        f"experiment 1b, training with fresh data, N={N} H={H} D={D} m={M} batch={BATCH}, one"
        " thread; losses and gradients agree"
    )
    for name, value in {**step, "natural PyTorch": ratio["natural PyTorch"]}.items():
        print(f"  {name:<24} {value * 1e3:10.3f} CPU ms/step   {value / step['ours']:8.1f} x ours")
    print(
        f"  memory of our program: {program.memory / 1e6:.1f} MB; compiled or read from disk in"
        f" {program.seconds:.1f} s"
    )
    print(
        f"bar: at least {NATURAL_BAR} x natural PyTorch: {against_natural:.0f}"
        f" {'met' if against_natural >= NATURAL_BAR else 'MISSED'}"
    )
    print(
        f"bar: at least {BEST_BAR} x the best PyTorch: {against_best:.1f}"
        f" {'met' if against_best >= BEST_BAR else 'MISSED'}"
    )


BATCHED = {
    "DP-free, N=32, H=2, D=8": (
        "exp-1b-repaired",
        ModelSpec(heads=2, width=8, hidden=16, attention="dp-free"),
        32,
        "auto",
    ),
    "DP-free, N=64, H=4, D=16": (
        "exp-1b-repaired",
        ModelSpec(heads=4, width=16, hidden=64, attention="dp-free"),
        64,
        "auto",
    ),
    "population, N=1000, H=4, D=8": (
        "exp-4a",
        ModelSpec(heads=4, width=8, ffn="none", attention="dp-free"),
        1000,
        "population",
    ),
    "dot, N=32, H=2, D=16": (
        "exp-1b-repaired",
        ModelSpec(heads=2, width=16, hidden=32),
        32,
        "auto",
    ),
}


def batching(runs: int = 8) -> None:
    print(
        f"{runs} runs batched by vmap against one after another (CPU time a run and step; do the"
        " metrics have the same bits?)"
    )
    for name, (target, model, length, loss) in BATCHED.items():
        spec = TrainSpec(
            steps=STEPS, length=length, batch=16, log=1, evaluation={"batches": 1}, loss=loss
        )
        function, every = prepared(target, model, spec, runs)
        together = jax.tree.map(lambda *arrays: jnp.stack(arrays), *every)
        one, many = compiled(function, *every[0]).call, compiled(jax.vmap(function), *together).call
        seconds = interleaved(
            {
                "alone": lambda one=one, every=every: jax.block_until_ready(
                    [one(*a) for a in every]
                ),
                "batched": lambda many=many, together=together: jax.block_until_ready(
                    many(*together)
                ),
            },
            rounds=5,
            clock=time.process_time,
        )
        same = np.array_equal(
            np.stack([one(*a)[1].eval_loss for a in every]), many(*together)[1].eval_loss
        )
        alone, batched = (seconds[way] / runs / STEPS * 1e6 for way in ("alone", "batched"))
        print(
            f"  {name:<30} {alone:6.1f} → {batched:6.1f} us, {alone / batched:4.2f} x, bits"
            f" {'equal' if same else 'differ'}"
        )


def main() -> None:
    speed()
    batching()


if __name__ == "__main__":
    main()
