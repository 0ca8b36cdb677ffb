"""A sum of heads as a real model: one dot-product-free layer whose output is  sum_s k(s) x_{t-s},  k = sum_h a_h phi(.; b_h).

This is the attention half of Theorem 5.1 for a linear readout. The stream has two named coordinates, `token` (x_t) and
`memory` (what the heads gather). Head h has rate b_h, reads `token` with weight a_h and writes `memory`; nothing is
normalised, so the kernel is the same at every position (theory 2.4). The readout returns `memory`.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from flint import fmpq

from headcount.core.errors import require
from headcount.model.attention import Attention
from headcount.model.biases import Lin, Log, Log1p
from headcount.model.embedding import LinearEmbedding, NoPosition
from headcount.model.ffn import NoFFN
from headcount.model.normalisers import NoNormaliser
from headcount.model.norms import NoNorm
from headcount.model.scores import DotFree
from headcount.model.transformer import Layer, Transformer
from headcount.theory.problem import HeadSum

TOKEN, MEMORY = 0, 1
BIASES: dict[str, Any] = {"lin": Lin, "log": Log, "log1p": Log1p}
STEEPEST = 1e4  # stands for an infinite rate: e^-10000 is 0 in every format


def one_layer(heads: HeadSum, lag_zero: float | None = None) -> Transformer:
    """The model of a head sum, for real tokens of size 1, in the default float type.

    Where the heads' value at lag 0 is not to count, `lag_zero` is the kernel's: the readout then adds
    (lag_zero - k(0)) x_t from the residual stream (errata 5).
    """
    name = heads.family.name
    require(name in BIASES, f"a sum of {name} heads", f"one of {', '.join(BIASES)}", "fit with one of these biases")
    count = heads.heads
    rates = jnp.asarray(np.minimum(heads.rates, STEEPEST))
    coefficients = jnp.asarray([float(a) for a in heads.coefficients])
    basis = jnp.eye(2)
    attention = Attention(
        DotFree(),
        BIASES[name](rates),
        NoNormaliser(),
        w_value=coefficients[:, None, None] * basis[TOKEN][None, None, :],  # [H, 1, 2]
        w_out=jnp.tile(basis[MEMORY][None, :, None], (count, 1, 1)),  # [H, 2, 1]
    )
    embedding = LinearEmbedding(weight=basis[TOKEN][:, None], offset=jnp.zeros(2), position=NoPosition())
    here = sum((a for a in heads.coefficients), fmpq(0)) if heads.family.first_lag == 0 else fmpq(0)  # k(0): every curve is 1 at lag 0
    direct = 0.0 if lag_zero is None else lag_zero - float(here)
    readout = NoFFN((basis[MEMORY] + direct * basis[TOKEN])[None, :], 2)
    return Transformer(embedding, (Layer(attention, readout, NoNorm(), NoNorm(), residual=False),), None, None)
