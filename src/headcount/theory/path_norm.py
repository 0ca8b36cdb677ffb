"""The effective path norm of a one-layer model without dot products (docs/finite_samples.md).

Such a model is a two-layer network on its window: neuron k sees u_k.x + c_k, where u_k has the
heads already summed, so that coefficients which cancel each other do not count. Without a network
it is affine, and kappa.x + c = relu(kappa.x + c) - relu(-kappa.x - c).

    Q = sum_k |a_k| (R ||u_k||_1 + |c_k|)        affine: 2 (R ||kappa||_1 + |c|)

R bounds the coordinates of the tokens: on tokens x/R in [-1, 1] the kernels are R u_k.

Worked example: y_t = 3 x_{t-1} has Q = 6 on tokens in [-1, 1], and 60 on tokens in [-10, 10].

    >>> import jax.numpy as jnp
    >>> from headcount.model.baselines import LinearFilter
    >>> path_norm(LinearFilter(jnp.array([0.0, 3.0]).reshape(2, 1, 1), jnp.zeros(1)), 8)
    6.0
    >>> path_norm(LinearFilter(jnp.array([0.0, 3.0]).reshape(2, 1, 1), jnp.zeros(1)), 8, radius=10)
    60.0
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import require
from headcount.memory.read import Last
from headcount.model.base import AbstractModel
from headcount.model.baselines import Heads, LinearFilter
from headcount.model.ffn import NoFFN, ReLU
from headcount.model.transformer import Transformer


def path_norm(model: AbstractModel, length: int, radius: float = 1.0) -> float | None:
    """Q, for answers of one number at the last of `length` real tokens with coordinates in
    [-radius, radius]; None where the model is no two-layer network on its window.
    """
    fine = 0 < radius < math.inf
    require(fine, f"radius {radius}", "a finite number > 0", "give the largest |x| of a token")
    vocabulary, dim = model.tokens
    if vocabulary is not None or model.outputs != 1:
        return None
    if isinstance(model, (LinearFilter, Heads)):
        return _affine(lambda x: model(x, Last())[0, 0], length, dim, radius)
    if not isinstance(model, Transformer) or len(model.layers) != 1:
        return None
    layer = model.layers[0]
    used = (layer.attention_norm, layer.ffn_norm, *filter(None, [model.final_norm]))
    plain = all(norm.kind == "none" for norm in used)
    free = layer.attention.score.content_free
    if not (plain and free):
        return None
    if isinstance(layer.ffn, NoFFN):
        return _affine(lambda x: model(x, Last())[0, 0], length, dim, radius)
    if not isinstance(layer.ffn, ReLU) or model.unembedding is not None:
        return None
    rows, ffn = np.array([length - 1]), layer.ffn

    def neurons(x: jax.Array) -> jax.Array:
        stream = model.embedding.stream(x)
        seen = stream.at(slice(length - 1, length)) + layer.attention(stream, rows)
        return (seen @ ffn.w_in.T + ffn.offset)[0, 0]  # [m]

    slopes, constants = _kernels(neurons, length, dim)  # [m, N d], [m]
    weights = jnp.abs(layer.ffn.w_out[0])  # [m]
    return float(weights @ (radius * jnp.abs(slopes).sum(axis=1) + jnp.abs(constants)))


def _affine(answer, length: int, dim: int, radius: float) -> float:
    slopes, constants = _kernels(answer, length, dim)
    return float(2 * (radius * jnp.abs(slopes).sum() + jnp.abs(constants).sum()))


def _kernels(function, length: int, dim: int) -> tuple[jax.Array, jax.Array]:
    """Slopes [k, N d] and constants [k] of an affine map of a window."""
    zero = jnp.zeros((1, length, dim))
    constants = function(zero)
    slopes = jax.jacrev(function)(zero).reshape(len(constants), -1)
    return slopes, constants
