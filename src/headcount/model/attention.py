"""Multi-head attention, with the cheapest exact path chosen from what its parts are.

    out_t = sum_h W_O^h W_V^h sum_s w_h(t, s) x_{t-s}

| score     | rows read | bias             | path                                               |
|-----------|-----------|------------------|----------------------------------------------------|
| dp-free   | few       | any              | `rows`: weights [H, R, N] for the batch, O(N H f)  |
| dp-free   | all       | -b s, exp        | `recurrence`: y_t = e^{-b} y_{t-1} + u_t, O(N H f) |
| dp-free   | all       | Toeplitz         | `convolution` by FFT, O(N log N H f)               |
| dot       | all       | any, exp / total | `causal`: blocks of rows with their own derivative |
| any other | any       | any              | `rows` in chunks: O(N R), memory linear in N       |

Each path is tested equal to the dense float64 reference. Heads contract tokens before any D-sized
work where that is less work (`Stream`).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.arguments import complete, require_parts
from headcount.model import causal, paths
from headcount.model.biases.base import AbstractBias
from headcount.model.normalisers import AbstractNormaliser
from headcount.model.products import linear
from headcount.model.scores import AbstractScore, DotProduct, lags_and_positions
from headcount.model.shape import LayerShape, normal
from headcount.model.stream import Stream

# Below this many rows the N x R weights are cheaper than a recurrence or an FFT
# (benchmarks/attention.py).
DENSE_ROWS = 64
PATHS = {
    "rows": paths.rows_of_weights,
    "recurrence": paths.recurrence,
    "convolution": paths.convolution,
}


@complete
class Attention(eqx.Module):
    """H heads: a score, a bias and a normaliser decide the weights; W_V and W_O what is done
    with the tokens.
    """

    score: AbstractScore
    bias: AbstractBias
    normaliser: AbstractNormaliser
    w_value: jax.Array  # [H, v, D]
    w_out: jax.Array  # [H, D, v]

    def __check_init__(self) -> None:
        require_parts(self, score=AbstractScore, bias=AbstractBias, normaliser=AbstractNormaliser)

    @classmethod
    def init(
        cls,
        shape: LayerShape,
        key: jax.Array,
        score: AbstractScore,
        bias: AbstractBias,
        normaliser: AbstractNormaliser,
    ) -> "Attention":
        """Parts as given, random value and output maps."""
        first, second = jax.random.split(key)
        w_value = normal(first, (shape.heads, shape.value_dim, shape.width), shape.width)
        w_out = normal(
            second, (shape.heads, shape.width, shape.value_dim), shape.heads * shape.value_dim
        )
        return cls(score, bias, normaliser, w_value, w_out)

    @property
    def heads(self) -> int:
        return self.w_value.shape[0]

    def path(self, length: int, rows: int) -> str:
        """The name of the path that a call with these sizes takes."""
        every = rows == length and length > DENSE_ROWS
        softmax = self.normaliser.exponential and self.normaliser.divides
        if (
            every
            and softmax
            and isinstance(self.score, DotProduct)
            and length**2 <= paths.BLOCK_ENTRIES
        ):
            return "causal"
        if not (every and self.score.content_free and self.bias.toeplitz):
            return "rows"
        return (
            "recurrence"
            if self.bias.decay() is not None and self.normaliser.exponential
            else "convolution"
        )

    def __call__(self, stream: Stream, rows: np.ndarray) -> jax.Array:
        """The heads' sum at the rows.  [B, R, D]"""
        path = self.path(stream.length, len(rows))
        if path == "causal":
            return self._causal(stream.full())
        if not self.score.content_free:
            return self._by_content(stream, rows)
        sums = PATHS[path]

        def contract(u: jax.Array) -> jax.Array:
            """[B, N, f] or [B, N, H, f] → [B, R, H, f]"""
            return sums(self.bias, self.normaliser, u, rows)

        f, v = stream.features.shape[2], self.w_value.shape[1]
        if len(rows) < stream.length or f <= v:  # gather features first, then map them
            out = self._mapped(contract(stream.features), stream.lift)
        else:
            value_map = (
                self.w_value
                if stream.lift is None
                else jnp.einsum("hvd,df->hvf", self.w_value, stream.lift)
            )
            values = jnp.einsum("bnf,hvf->bnhv", stream.features, value_map)
            out = jnp.einsum("brhv,hdv->brd", contract(values), self.w_out)
        if stream.offset is not None:  # the same vector at every row: only the weights' sum matters
            total = self._known_sums(rows, out.dtype)
            if total is None:
                total = contract(jnp.ones((1, stream.length, 1), out.dtype))  # [1, R, H, 1]
            out = out + self._mapped(total, stream.offset[:, None])
        if stream.positions is not None:
            out = out + self._mapped(contract(stream.positions[None]), None)
        return out

    def _known_sums(self, rows: np.ndarray, dtype: jnp.dtype) -> jax.Array | None:
        """Sums of a row's weights where they need no computing: under softmax 1, or 0 for a row
        that sees no lag.  [1, R, H, 1]
        """
        # a bias that is not may hide every lag of a row
        if not (self.normaliser.sums_to_one and self.bias.decreasing):
            return None
        seen = (rows >= self.bias.first_lag).astype(np.float32)
        return jnp.broadcast_to(
            jnp.asarray(seen, dtype)[None, :, None, None], (1, len(rows), self.heads, 1)
        )

    def _mapped(self, gathered: jax.Array, lift: jax.Array | None) -> jax.Array:
        """W_O W_V lift applied to what the heads gathered; the order of products is the
        optimiser's.  [B, R, D]
        """
        if lift is None:
            return jnp.einsum(
                "brhd,hvd,hev->bre", gathered, self.w_value, self.w_out, optimize="optimal"
            )
        return jnp.einsum(
            "brhf,df,hvd,hev->bre", gathered, lift, self.w_value, self.w_out, optimize="optimal"
        )

    def _causal(self, x: jax.Array) -> jax.Array:
        """Dot products under softmax at every position.  [B, N, D] → [B, N, D]"""
        assert isinstance(self.score, DotProduct)
        batch, length, width = x.shape
        heads, v, _ = self.w_value.shape
        maps = [self.score.w_query, self.score.w_key, self.w_value]  # one product for all three
        cuts = np.cumsum([w.shape[1] * heads for w in maps])[:-1].tolist()
        joined = linear(jnp.concatenate([w.reshape(-1, width) for w in maps]), x)
        # [B, N, H, ·]
        q, k, values = (
            part.reshape(batch, length, heads, -1) for part in jnp.split(joined, cuts, axis=-1)
        )
        every = jnp.arange(length)
        q, k = self.bias.turn(q, k, every)
        sink = self.normaliser.sink(self.bias, every + 1)
        # heads first: every product below is contiguous
        q, k, values = (jnp.swapaxes(a, 1, 2) for a in (q, k, values))
        context = causal.attend(q, k, values, self._past(length), sink)  # [B, H, N, v]
        w_out = jnp.swapaxes(self.w_out, 0, 1).reshape(width, heads * v)
        return linear(w_out, jnp.swapaxes(context, 1, 2).reshape(batch, length, heads * v))

    def _past(self, length: int) -> jax.Array:
        """The bias of every lag, -inf in the future; a rotary bias has acted on queries and
        keys.  [H, N, N]
        """
        every = jnp.arange(length)
        past = every[None, :] <= every[:, None]
        logits = (
            jnp.zeros((self.heads, 1, 1))
            if self.bias.rotary
            else self.bias.logits(*lags_and_positions(every, length))
        )
        return jnp.where(past, logits, -jnp.inf)

    def _by_content(self, stream: Stream, rows: np.ndarray) -> jax.Array:
        x = stream.full()  # [B, N, D]
        values = jnp.einsum("bnd,hvd->bnhv", x, self.w_value)

        def block(rows: jax.Array) -> jax.Array:
            # [B, H, R, N]
            logits = self.score.logits(jnp.take(x, rows, axis=1), x, rows, self.bias)
            return paths.weighted_sum(
                paths.weights(self.bias, self.normaliser, logits, rows), values
            )

        context = paths.in_blocks(block, rows, x.shape[0] * x.shape[1])  # [B, R, H, v]
        return jnp.einsum("brhv,hdv->brd", context, self.w_out)
