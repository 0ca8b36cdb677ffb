"""The Transformer: an embedding, layers, a readout. Parts are objects that are handed in.

Worked example — the paper's one-layer model with lin bias, two heads, no dot product:

    >>> import jax, jax.numpy as jnp
    >>> from headcount.memory.read import Last
    >>> from headcount.model.spec import ModelSpec
    >>> spec = ModelSpec(heads=2, width=8, hidden=16, attention="dp-free")
    >>> model = spec.build(jax.random.key(0), dim=1)
    >>> model(jnp.ones((4, 10, 1)), Last()).shape
    (4, 1, 1)
"""

import equinox as eqx
import jax
import numpy as np

from headcount.core.arguments import complete, require_parts
from headcount.memory.read import AbstractRead
from headcount.model.attention import Attention
from headcount.model.base import AbstractModel, check_call
from headcount.model.embedding import AbstractEmbedding
from headcount.model.ffn import AbstractFFN
from headcount.model.norms import AbstractNorm
from headcount.model.products import linear
from headcount.model.stream import Stream


@complete
class Layer(eqx.Module):
    """X + Attn(X), then + FFN, each inside its norm. A readout layer's FFN replaces the stream
    by its output.
    """

    attention: Attention
    ffn: AbstractFFN
    attention_norm: AbstractNorm
    ffn_norm: AbstractNorm
    residual: bool = eqx.field(static=True)  # False: the last FFN of the paper, which reads out

    def __check_init__(self) -> None:
        require_parts(
            self,
            attention=Attention,
            ffn=AbstractFFN,
            attention_norm=AbstractNorm,
            ffn_norm=AbstractNorm,
            residual=bool,
        )

    def __call__(self, stream: Stream, rows: np.ndarray) -> jax.Array:
        """The stream after this layer at the rows.  [B, R, D or o]"""
        norm = self.attention_norm
        seen = stream if norm.identity else Stream(norm.before(stream.full()))
        x = norm.outer(
            norm.kept(stream.at(_static(rows, stream.length)))
            + norm.after(self.attention(seen, rows))
        )
        norm = self.ffn_norm
        update = self.ffn(norm.before(x))
        return norm.outer(norm.kept(x) + norm.after(update)) if self.residual else update


@complete
class Transformer(AbstractModel):
    """L layers. Only the last one is computed at the read positions alone; the others feed all
    of theirs forward.
    """

    embedding: AbstractEmbedding
    layers: tuple[Layer, ...]
    final_norm: AbstractNorm | None
    unembedding: jax.Array | None  # [o, D]; None where the last FFN reads out

    @property
    def tokens(self):
        return self.embedding.tokens

    @property
    def outputs(self):
        return (
            self.layers[-1].ffn.sizes[2] if self.unembedding is None else self.unembedding.shape[0]
        )

    def __call__(self, x: jax.Array, read: AbstractRead) -> jax.Array:
        check_call(self, x, read)
        rows = read.rows(x.shape[1])
        stream = self.embedding.stream(x)
        for layer in self.layers[:-1]:
            stream = Stream(layer(stream, np.arange(x.shape[1])))
        out = self.layers[-1](stream, rows)  # [B, R, D or o]
        if self.final_norm is not None:
            out = self.final_norm.before(out)
        return out if self.unembedding is None else linear(self.unembedding, out)


def _static(rows: np.ndarray, length: int) -> np.ndarray | slice:
    """A slice where it says the same: XLA gathers are slow."""
    if len(rows) == length:
        return slice(None)
    return slice(int(rows[0]), int(rows[0]) + 1) if len(rows) == 1 else rows
