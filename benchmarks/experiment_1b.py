"""Experiment 1b's model (N=1000, H=32, D=64, m=256, batch 100): ours against PyTorch, forward and
backward.

The natural PyTorch code computes the full N x N attention of every head at every position and reads
the last one (its N x N weights are shared by the batch, which is kinder to it than the usual [B, H,
N, N]). Ours gathers tokens with lag weights first. Outputs and gradients are compared before
anything is timed.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.timing import interleaved
from headcount.memory.read import Last
from headcount.model.spec import ModelSpec

N, H, D, M, BATCH = 1000, 32, 64, 256, 100
STEPS = 50  # of ours inside one compiled scan, so that Python's overhead is not what is measured


def natural(weights: dict, x, y):
    """Loss of the model as one would write it in PyTorch: embed, N x N softmax per head, values,
    output, FFN, last row.
    """
    import torch

    stream = x @ weights["w_e"].T + weights["b_e"]  # [B, N, D]
    lag = torch.arange(N)[:, None] - torch.arange(N)[None, :]
    # [H, N, N]
    bias = torch.where(lag >= 0, -weights["rate"].abs()[:, None, None] * lag, -torch.inf)
    # [H, N, N], the same for the whole batch: kinder than the usual [B, H, N, N]
    attention = torch.softmax(bias, dim=-1)
    values = torch.einsum("bnd,hvd->bnhv", stream, weights["w_v"])
    heads = torch.einsum("hrn,bnhv->brhv", attention, values)
    stream = stream + torch.einsum("bnhv,hdv->bnd", heads, weights["w_o"])
    hidden = torch.relu(stream @ weights["w_in"].T + weights["offset"])
    answer = (hidden @ weights["w_out"].T)[:, -1]
    return ((answer - y) ** 2).mean()


def main() -> None:
    import torch

    model = ModelSpec(heads=H, width=D, hidden=M, attention="dp-free", bias="lin").build(
        jax.random.key(0), dim=1
    )
    x = jax.random.rademacher(jax.random.key(1), (BATCH, N, 1), jnp.float32)
    y = x[:, -2:-1, 0] + x[:, -4:-3, 0]

    def loss(model, x):
        return ((model(x, Last())[:, 0] - y) ** 2).mean()

    step = eqx.filter_jit(eqx.filter_value_and_grad(loss))

    @eqx.filter_jit
    def many(model, x):
        def one(carry, _):
            value, grads = eqx.filter_value_and_grad(loss)(carry, x)
            return eqx.apply_updates(carry, jax.tree.map(lambda g: -1e-9 * g, grads)), value

        return jax.lax.scan(one, model, None, STEPS)

    layer = model.layers[0]
    named = {
        "w_e": model.embedding.weight,
        "b_e": model.embedding.offset,
        "rate": layer.attention.bias.rate,
        "w_v": layer.attention.w_value,
        "w_o": layer.attention.w_out,
        "w_in": layer.ffn.w_in,
        "offset": layer.ffn.offset,
        "w_out": layer.ffn.w_out,
    }
    weights = {
        name: torch.tensor(np.asarray(value), requires_grad=True) for name, value in named.items()
    }
    xt, yt = torch.tensor(np.asarray(x)), torch.tensor(np.asarray(y))
    theirs = natural(weights, xt[:20], yt[:20])
    theirs.backward()
    ours, grads = eqx.filter_jit(
        eqx.filter_value_and_grad(lambda m: ((m(x[:20], Last())[:, 0] - y[:20]) ** 2).mean())
    )(model)
    np.testing.assert_allclose(float(ours), theirs.item(), rtol=1e-4)
    np.testing.assert_allclose(
        np.asarray(grads.layers[0].attention.bias.rate),
        weights["rate"].grad.numpy(),
        rtol=2e-2,
        atol=1e-5,
    )

    def torch_step():
        for w in weights.values():
            w.grad = None
        natural(weights, xt, yt).backward()

    seconds = interleaved(
        {
            "natural PyTorch": torch_step,
            "ours, one call": lambda: jax.block_until_ready(step(model, x)),
            "ours, in a scan": lambda: jax.block_until_ready(many(model, x)),
        },
        rounds=3,
    )
    ours_call, ours_scan = seconds["ours, one call"], seconds["ours, in a scan"] / STEPS
    base = seconds["natural PyTorch"]
    print(
        f"experiment 1b, forward+backward, N={N} H={H} D={D} m={M} batch={BATCH}; outputs and"
        " gradients agree"
    )
    for name, value in (
        ("natural PyTorch", base),
        ("ours, one call", ours_call),
        ("ours, in a scan", ours_scan),
    ):
        print(f"  {name:<18} {value * 1e3:10.3f} ms/step   {base / value:8.0f} x")
    print(f"bar: at least 500 x natural PyTorch: {'met' if base / ours_scan >= 500 else 'MISSED'}")


if __name__ == "__main__":
    main()
