"""A causal language model's training step (vocabulary 64, N=256, D=128, H=4, FFN 512, batch 16):
ours against PyTorch.

Same architecture, same initial weights, same tokens, same AdamW; the losses of the first steps must
agree before anything counts. Every contender is a process of its own; windows of 16 steps (ours
in one call, as in a run; the first step of a call waits for fresh memory, about 80 ms here)
alternate between them, so that a busy machine slows both alike, and CPU time is reported next to
wall time. PyTorch has one product for queries, keys and values, its fused causal attention
(explicit softmax where there is a bias: faster here than a mask in the fused one) and its fused
AdamW.
"""

import contextlib
import dataclasses
import multiprocessing
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

VOCABULARY, N, D, H, M, BATCH = 64, 256, 128, 4, 512, 16
STEPS, ROUNDS = 16, 5
RATE, DECAY = 1e-3, 1e-4
BAR = 1.1


@dataclasses.dataclass(frozen=True)
class Task:
    """One model and the threads it may use; `core` pins a one-thread process."""

    layers: int
    bias: str
    ffn: str
    threads: int
    core: int | None = None


def tokens() -> np.ndarray:
    """[STEPS, B, N + 1]"""
    return np.random.default_rng(0).integers(0, VOCABULARY, (STEPS, BATCH, N + 1))


def ours(task: Task, _: Any) -> tuple[Callable[[], np.ndarray], dict[str, np.ndarray]]:
    """A function that trains STEPS steps and returns their losses, and the weights it starts
    from.
    """
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import optax

    from headcount.memory.read import Everywhere
    from headcount.model.spec import ModelSpec
    from headcount.train.compiled import compiled

    spec = ModelSpec(
        layers=task.layers,
        heads=H,
        width=D,
        hidden=M,
        attention="dot",
        bias=task.bias,
        ffn=task.ffn,
        norm="pre-ln",
        readout="linear",
    )
    weights, rest = eqx.partition(
        spec.build(jax.random.key(0), vocabulary=VOCABULARY, outputs=VOCABULARY),
        eqx.is_inexact_array,
    )
    start = named(weights)
    adamw = optax.adamw(RATE, weight_decay=DECAY)
    data = jnp.asarray(tokens())

    def loss(weights, batch):
        logits = eqx.combine(weights, rest)(batch[:, :-1], Everywhere())  # [B, N, V]
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch[:, 1:]).mean()

    def step(carry, batch):
        weights, state = carry
        value, grads = jax.value_and_grad(loss)(weights, batch)
        updates, state = adamw.update(grads, state, weights)
        return (optax.apply_updates(weights, updates), state), value

    carry = (weights, adamw.init(weights))
    run = compiled(lambda carry, data: jax.lax.scan(step, carry, data), carry, data)

    def train():
        nonlocal carry
        carry, losses = run.call(carry, data)
        return np.asarray(losses)

    return train, start


def named(model: Any) -> dict[str, np.ndarray]:
    """Weights by PyTorch's names, maps of all heads joined."""
    found = {"embed.weight": model.embedding.weight, "read.weight": model.unembedding}
    found |= {
        "norm.weight": model.final_norm.inner.scale,
        "norm.bias": model.final_norm.inner.offset,
    }
    for i, layer in enumerate(model.layers):
        heads, ffn = layer.attention, layer.ffn
        maps = [
            np.asarray(w).reshape(D, D)
            for w in (heads.score.w_query, heads.score.w_key, heads.w_value)
        ]
        parts = {
            "qkv.weight": np.concatenate(maps),
            "out.weight": np.asarray(heads.w_out).transpose(1, 0, 2).reshape(D, D),
        }
        parts |= {"enter.weight": ffn.w_in, "enter.bias": ffn.offset, "leave.weight": ffn.w_out}
        for name, norm in (("first", layer.attention_norm.inner), ("second", layer.ffn_norm.inner)):
            parts |= {f"{name}.weight": norm.scale, f"{name}.bias": norm.offset}
        found |= {f"layers.{i}.{name}": value for name, value in parts.items()}
    return {name: np.array(value) for name, value in found.items()}


def theirs(task: Task, start: dict[str, np.ndarray]) -> tuple[Callable[[], np.ndarray], None]:
    """The same in PyTorch, eager (compiled is no faster here)."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(task.threads)
    model = torch_model(task)
    model.load_state_dict({name: torch.tensor(value) for name, value in start.items()})
    adamw = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY, fused=True)
    data = torch.tensor(tokens())

    def train():
        losses = []
        for batch in data:
            loss = functional.cross_entropy(
                model(batch[:, :-1]).reshape(-1, VOCABULARY), batch[:, 1:].reshape(-1)
            )
            adamw.zero_grad(set_to_none=True)
            loss.backward()
            adamw.step()
            losses.append(loss.detach())
        return torch.stack(losses).numpy()

    return train, None


def torch_model(task: Task) -> Any:
    """Pre-LN Transformer; queries and keys unscaled as ours (1/sqrt(q) is in the initial key
    map).
    """
    import torch
    from torch import nn
    from torch.nn import functional

    lag = torch.arange(N)[:, None] - torch.arange(N)[None, :]
    slopes = 2.0 ** (-8.0 * (torch.arange(H) + 1) / H)
    bias = torch.where(lag >= 0, -slopes[:, None, None] * lag, -torch.inf)  # [H, N, N]
    activation = {"gelu": functional.gelu, "relu": functional.relu}[task.ffn]

    def attention(q, k, v):  # [B, H, N, q]
        if task.bias == "none":
            return functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)
        return torch.softmax(q @ k.transpose(-1, -2) + bias, dim=-1) @ v

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(D), nn.LayerNorm(D)
            self.qkv, self.out = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D, bias=False)
            self.enter, self.leave = nn.Linear(D, M), nn.Linear(M, D, bias=False)

        def forward(self, x):
            q, k, v = self.qkv(self.first(x)).view(-1, N, 3, H, D // H).permute(2, 0, 3, 1, 4)
            x = x + self.out(attention(q, k, v).transpose(1, 2).reshape(-1, N, D))
            return x + self.leave(activation(self.enter(self.second(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.layers = (
                nn.Embedding(VOCABULARY, D),
                nn.Sequential(*(Layer() for _ in range(task.layers))),
            )
            self.norm, self.read = nn.LayerNorm(D), nn.Linear(D, VOCABULARY, bias=False)

        def forward(self, x):
            return self.read(self.norm(self.layers(self.embed(x))))

    return Model()


def serve(make: Callable, task: Task, start: Any, pipe: Connection) -> None:
    """Child process: build, then train whenever asked and answer (losses, wall s, CPU s, peak
    MB).
    """
    if task.core is not None:
        os.sched_setaffinity(0, {task.core})
    train, weights = make(task, start)
    pipe.send(weights)
    while pipe.recv():
        wall, cpu = time.perf_counter(), time.process_time()
        losses = train()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        pipe.send((losses, time.perf_counter() - wall, time.process_time() - cpu, peak))


@contextlib.contextmanager
def contender(make: Callable, task: Task, start: Any = None) -> Iterator[tuple[Connection, Any]]:
    """A running child and the weights it starts from."""
    context = multiprocessing.get_context("spawn")
    near, far = context.Pipe()
    os.environ["OMP_NUM_THREADS"] = str(task.threads)
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false" if task.threads == 1 else ""
    child = context.Process(target=serve, args=(make, task, start, far), daemon=True)
    child.start()
    try:
        yield near, near.recv()
    finally:
        near.send(False)
        child.join()


def window(pipes: list[Connection]) -> list[tuple[np.ndarray, float, float, float]]:
    """All of them at once, STEPS steps each."""
    for pipe in pipes:
        pipe.send(True)
    return [pipe.recv() for pipe in pipes]


def compare(label: str, task: Task, cores: tuple[int | None, ...]) -> float:
    """Print one line; the ratio of PyTorch's wall time to ours (medians of alternating windows)."""
    with contextlib.ExitStack() as stack:
        tasks = [dataclasses.replace(task, core=core) for core in cores]
        opened = [stack.enter_context(contender(ours, t)) for t in tasks]
        groups = {"ours": [pipe for pipe, _ in opened]}
        groups["PyTorch"] = [
            stack.enter_context(contender(theirs, t, opened[0][1]))[0] for t in tasks
        ]
        first = {name: window(pipes)[0][0] for name, pipes in groups.items()}
        np.testing.assert_allclose(
            first["ours"],
            first["PyTorch"],
            rtol=2e-3,
            err_msg="the two do not train the same model",
        )
        rounds = [{name: window(pipes) for name, pipes in groups.items()} for _ in range(ROUNDS)]
    cells, walls, cpus = [], {}, {}
    for name in groups:
        walls[name] = statistics.median(max(r[1] for r in done[name]) for done in rounds) / STEPS
        cpus[name] = (
            statistics.median(statistics.mean(r[2] for r in done[name]) for done in rounds) / STEPS
        )
        peak = rounds[-1][name][0][3]
        rate = len(cores) * BATCH * N / walls[name]
        cells.append(
            f"{name} {walls[name] * 1e3:6.0f} ms ({cpus[name] * 1e3:5.0f} CPU) {rate:7,.0f}"
            f" tokens/s peak {peak:4.0f} MB"
        )
    ratio = walls["PyTorch"] / walls["ours"]
    print(
        f"  {label:<34} {'   '.join(cells)}   {ratio:.2f} x wall,"
        f" {cpus['PyTorch'] / cpus['ours']:.2f} x CPU",
        flush=True,
    )
    return ratio


def main() -> None:
    cores = sorted(os.sched_getaffinity(0))
    print(
        f"causal language model step: V={VOCABULARY} N={N} D={D} H={H} m={M} batch={BATCH}, pre-LN,"
        " AdamW; the same losses on both sides"
    )
    ratios = []
    for layers in (2, 4):
        task = Task(layers, "none", "gelu", 1)
        ratios.append(compare(f"L={layers} one thread", task, (cores[0],)))
        if len(cores) > 1:
            compare(f"L={layers} two one-thread processes", task, (cores[0], cores[1]))
            compare(
                f"L={layers} one process, two threads",
                dataclasses.replace(task, threads=2),
                (None,),
            )
    compare("L=4 ReLU, one thread", Task(4, "none", "relu", 1), (cores[0],))
    compare("L=4 ALiBi bias, one thread", Task(4, "alibi", "gelu", 1), (cores[0],))
    print(f"bar: at least {BAR} x PyTorch a core at L=4: {'met' if ratios[1] >= BAR else 'MISSED'}")


if __name__ == "__main__":
    main()
