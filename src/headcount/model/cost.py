"""What a model costs: parameters, floating-point operations of a forward pass, and the state a
decoder must keep.

A multiply-add counts as two operations. Counts follow the path that the model takes
(`Attention.path`), so they say what is really computed: contracted heads cost O(N H f), not O(N^2).
Exponentials, divisions and norms count one operation per entry.
"""

import dataclasses
import math

import equinox as eqx
import jax

from headcount.core.arguments import checked
from headcount.core.errors import require
from headcount.memory.read import AbstractRead
from headcount.model.attention import Attention
from headcount.model.base import AbstractModel
from headcount.model.baselines import (
    GRU,
    LSTM,
    CausalConvolution,
    DiagonalSSM,
    GatedRecurrence,
    Heads,
    LinearFilter,
)
from headcount.model.biases import Table
from headcount.model.embedding import AbstractEmbedding
from headcount.model.scores import DotFree, DotProduct
from headcount.model.transformer import Transformer


@dataclasses.dataclass(frozen=True)
class Cost:
    """`flops` per sequence forward; `state`: numbers of the past that the next token needs."""

    parameters: int
    flops: int
    state: int


@checked
def count_parameters(model: eqx.Module) -> int:
    """Trainable numbers."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))


@checked
def cost(model: AbstractModel, length: int, read: AbstractRead) -> Cost:
    """The cost of one sequence of `length` tokens read at `read`."""
    require(
        length >= 1, f"a sequence of {length} tokens", "at least 1", "pass the length of a sequence"
    )
    rows = len(read.rows(length))
    if isinstance(model, Transformer):
        flops, state = _transformer(model, length, rows)
    else:
        flops, state = _baseline(model, length, rows)
    return Cost(count_parameters(model), flops, state)


def attention_flops(
    attention: Attention, length: int, rows: int, features: int, lifted: bool
) -> int:
    """Operations of one attention sublayer; `features` is the size f that heads gather."""
    heads, v, width = attention.w_value.shape
    path = attention.path(length, rows)
    if not attention.score.content_free:
        queries = getattr(attention.score, "w_query", None)
        q = queries.shape[1] if queries is not None else 0
        project = 2 * width * heads * (q * (length + rows) + v * length)  # queries, keys, values
        # products, bias + exp + divide, weighted sum
        weigh = heads * rows * length * (2 * q + 3 + 2 * v)
        return project + weigh + 2 * rows * heads * v * width
    gathered_first = rows < length or features <= v
    f = features if gathered_first else v
    values = 0 if gathered_first else 2 * length * features * heads * v
    if path == "rows":
        gather = heads * rows * length * (3 + 2 * f)
    elif path == "recurrence":
        gather = 2 * length * heads * (f + 1)
    else:
        size = 1 << (2 * length - 1).bit_length()
        gather = int(5 * size * math.log2(size)) * heads * (1 + 2 * f) // 2
    combine = 2 * rows * heads * f * width if gathered_first else 2 * rows * heads * v * width
    lift = 2 * heads * v * width * features if lifted else 0
    return values + gather + combine + lift


def _transformer(model: Transformer, length: int, rows: int) -> tuple[int, int]:
    _, dim = model.tokens
    features = _first_features(model.embedding)
    flops = state = 0
    for i, layer in enumerate(model.layers):
        last = i + 1 == len(model.layers)
        r = rows if last else length
        width = layer.attention.w_value.shape[2]
        f = features if i == 0 and layer.attention_norm.identity else width
        if i == 0:
            flops += (
                2
                * (
                    r
                    if layer.attention.score.content_free and layer.attention_norm.identity
                    else length
                )
                * dim
                * width
            )
        flops += (
            attention_flops(layer.attention, length, r, f, lifted=i == 0 and f != width) + r * width
        )
        flops += r * (2 * layer.ffn.sizes[0] + layer.ffn.sizes[2])
        state += attention_state(layer.attention, length)
    if model.unembedding is not None:
        flops += 2 * rows * model.unembedding.size
    return flops, state


def _first_features(embedding: AbstractEmbedding) -> int:
    vocabulary, dim = embedding.tokens
    width = embedding.weight.shape[1 if vocabulary else 0]  # type: ignore[attr-defined]
    return dim if vocabulary is None else min(vocabulary, width)


def attention_state(attention: Attention, length: int) -> int:
    """Numbers kept per layer: H v for an exponential head (a recurrence), else the values of the
    tokens that it can still see, and their keys under a dot product.
    """
    heads, v, _ = attention.w_value.shape
    queries = getattr(attention.score, "w_query", None)
    seen = _seen(attention, length)
    if queries is not None:
        return seen * heads * (v + queries.shape[1])
    recurrent = (
        attention.score.content_free
        and attention.bias.decay() is not None
        and attention.normaliser.exponential
    )
    return heads * (v + 1) if recurrent else seen * heads * v


def _seen(attention: Attention, length: int) -> int:
    """How many tokens a head sees: a table hides all lags beyond its window. (Scores that ask the
    bias at another lag than the token's own see them again.)
    """
    if isinstance(attention.bias, Table) and isinstance(attention.score, (DotFree, DotProduct)):
        return min(length, attention.bias.table.shape[1])
    return length


def _baseline(model: AbstractModel, length: int, rows: int) -> tuple[int, int]:
    _, dim = model.tokens
    if isinstance(model, Heads):
        # tokens are gathered first, then mapped by W_O W_V, which is formed once
        combined = rows < length or dim == 1
        return attention_flops(
            model.attention, length, rows, dim, lifted=combined
        ), attention_state(model.attention, length)
    if isinstance(model, (GRU, LSTM)):
        gates, width = model.w_state.shape
        per_token = 2 * dim * width + 4 * gates * width + 3 * gates
        return length * per_token + 2 * rows * model.readout.size, width * (
            1 if isinstance(model, GRU) else 2
        )
    if isinstance(model, DiagonalSSM):
        width, states = model.log_decay.shape
        per_token = 2 * dim * width + 12 * width * states
        return (
            length * per_token + 2 * rows * (width + model.w_in.size + model.readout.size),
            2 * width * states,
        )
    if isinstance(model, LinearFilter):
        return 2 * rows * model.weight.size, model.weight.shape[0] * dim
    if isinstance(model, GatedRecurrence):
        first = model.layers[0]
        _, joined, width = first.w_in.shape
        keys, values = first.gate.shape[0], first.w_out.shape[1]
        networks = first.w_out.size + first.w_up.size + first.w_down.size
        per_layer = 4 * joined * width + 5 * keys * values + 2 * networks
        per_token = 2 * dim * width + len(model.layers) * per_layer
        state = len(model.layers) * (keys * values + width)
        return length * per_token + 2 * rows * model.readout.size, state
    assert isinstance(model, CausalConvolution)
    size, width, _ = model.kernels[0].shape
    reach = sum((size - 1) * size**depth for depth in range(len(model.kernels)))
    per_token = 2 * dim * width + len(model.kernels) * (2 * size * width * width + 2 * width)
    return length * per_token + 2 * rows * model.readout.size, reach * width
