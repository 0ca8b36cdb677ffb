"""Baselines behind the model interface: GRU, LSTM, a diagonal linear recurrence (SSM), a gated one,
a causal convolution, a linear filter, bare heads.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.core.registry import Registry, recipe
from headcount.core.spec import Count
from headcount.memory.read import AbstractRead
from headcount.model.attention import Attention
from headcount.model.base import AbstractModel, check_call
from headcount.model.biases import biases
from headcount.model.embedding import LinearEmbedding, NoPosition, TokenEmbedding
from headcount.model.normalisers import normalisers
from headcount.model.scores import DotFree
from headcount.model.shape import LayerShape, normal
from headcount.model.stream import Stream


class AbstractBaseline(AbstractModel):
    """What a Transformer is compared with."""


class AbstractEmbedded(AbstractBaseline):
    """An embedding, something that runs over the sequence, a linear readout."""

    embedding: eqx.AbstractVar[LinearEmbedding | TokenEmbedding]
    readout: eqx.AbstractVar[jax.Array]  # [o, width of what is read out]

    @property
    def tokens(self):
        return self.embedding.tokens

    @property
    def outputs(self):
        return self.readout.shape[0]


baselines: Registry[AbstractBaseline] = Registry("baseline", AbstractBaseline)


def _embedding(
    width: int, dim: int, vocabulary: int | None, key: jax.Array
) -> LinearEmbedding | TokenEmbedding:
    require(
        (dim > 0) != (vocabulary is not None),
        f"dim {dim} and vocabulary {vocabulary}",
        "one of the two",
        "give dim for real tokens, else vocabulary",
    )
    if vocabulary is None:
        return LinearEmbedding.init(width, dim, NoPosition(), key)
    return TokenEmbedding.init(width, vocabulary, NoPosition(), key)


def _scanned(step, state, x: jax.Array, rows: np.ndarray) -> jax.Array:
    """Run a recurrence over [B, N, D]; outputs at the rows. One row needs only the last state,
    no history.
    """
    steps = jnp.moveaxis(x, 1, 0)
    if len(rows) == 1:
        last, _ = jax.lax.scan(
            lambda s, token: (step(s, token)[0], None), state, steps[: int(rows[0]) + 1]
        )
        return jax.tree.leaves(last)[0][:, None]
    _, outputs = jax.lax.scan(step, state, steps)  # [N, B, D]
    return jnp.moveaxis(outputs, 0, 1)[:, rows]


@baselines.register(
    "gru", formula="h = (1-z) n + z h, gates from x_t and h", ref=Ref("cho-2014", "Section 2.3")
)
class GRU(AbstractEmbedded):
    """Gated recurrent unit of width D, then a linear readout."""

    embedding: LinearEmbedding | TokenEmbedding
    w_input: jax.Array  # [3D, D]: reset, update, candidate
    w_state: jax.Array  # [3D, D]
    offset: jax.Array  # [3D]
    readout: jax.Array  # [o, D]

    @classmethod
    def init(
        cls, dim: int, vocabulary: int | None, outputs: int, key: jax.Array, *, width: Count = 64
    ) -> "GRU":
        a, b, c, d = jax.random.split(key, 4)
        size = (3 * width, width)
        return cls(
            _embedding(width, dim, vocabulary, a),
            normal(b, size, width),
            normal(c, size, width),
            jnp.zeros(3 * width),
            normal(d, (outputs, width), width),
        )

    def __call__(self, x: jax.Array, read: AbstractRead) -> jax.Array:
        check_call(self, x, read)
        gates = (
            jnp.einsum("bnd,gd->bng", self.embedding.stream(x).full(), self.w_input) + self.offset
        )
        width = self.w_state.shape[1]

        def step(state, gate):
            reset_x, update_x, candidate_x = jnp.split(gate, 3, axis=-1)
            reset_h, update_h, candidate_h = jnp.split(state @ self.w_state.T, 3, axis=-1)
            update = jax.nn.sigmoid(update_x + update_h)
            candidate = jnp.tanh(candidate_x + jax.nn.sigmoid(reset_x + reset_h) * candidate_h)
            state = (1 - update) * candidate + update * state
            return state, state

        start = jnp.zeros((x.shape[0], width), gates.dtype)
        return _scanned(step, start, gates, read.rows(x.shape[1])) @ self.readout.T


@baselines.register(
    "lstm", formula="c = f c + i g, h = o tanh(c)", ref=Ref("hochreiter-1997", "Section 4")
)
class LSTM(AbstractEmbedded):
    """Long short-term memory of width D (forget offset 1), then a linear readout."""

    embedding: LinearEmbedding | TokenEmbedding
    w_input: jax.Array  # [4D, D]: input, forget, candidate, output
    w_state: jax.Array  # [4D, D]
    offset: jax.Array  # [4D]
    readout: jax.Array  # [o, D]

    @classmethod
    def init(
        cls, dim: int, vocabulary: int | None, outputs: int, key: jax.Array, *, width: Count = 64
    ) -> "LSTM":
        a, b, c, d = jax.random.split(key, 4)
        size = (4 * width, width)
        offset = jnp.zeros(4 * width).at[width : 2 * width].set(1.0)
        return cls(
            _embedding(width, dim, vocabulary, a),
            normal(b, size, width),
            normal(c, size, width),
            offset,
            normal(d, (outputs, width), width),
        )

    def __call__(self, x: jax.Array, read: AbstractRead) -> jax.Array:
        check_call(self, x, read)
        gates = (
            jnp.einsum("bnd,gd->bng", self.embedding.stream(x).full(), self.w_input) + self.offset
        )

        def step(state, gate):
            hidden, cell = state
            enter, forget, candidate, leave = jnp.split(gate + hidden @ self.w_state.T, 4, axis=-1)
            cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(enter) * jnp.tanh(candidate)
            hidden = jax.nn.sigmoid(leave) * jnp.tanh(cell)
            return (hidden, cell), hidden

        zero = jnp.zeros((x.shape[0], self.w_state.shape[1]), gates.dtype)
        return _scanned(step, (zero, zero), gates, read.rows(x.shape[1])) @ self.readout.T


@baselines.register(
    "ssm",
    formula="s_t = lambda s_{t-1} + B x_t, y = Re C s + skip x",
    ref=Ref("gu-2022", "S4D, zero-order hold"),
)
class DiagonalSSM(AbstractEmbedded):
    """A diagonal linear recurrence of decaying complex modes, a skip, a ReLU layer, a readout."""

    embedding: LinearEmbedding | TokenEmbedding
    log_decay: jax.Array  # [D, S]
    frequency: jax.Array  # [D, S]
    c_real: jax.Array  # [D, S]
    c_imag: jax.Array  # [D, S]
    skip: jax.Array  # [D]
    w_in: jax.Array  # [m, D]
    offset: jax.Array  # [m]
    readout: jax.Array  # [o, m]

    @classmethod
    def init(
        cls,
        dim: int,
        vocabulary: int | None,
        outputs: int,
        key: jax.Array,
        *,
        width: Count = 64,
        states: Count = 16,
        hidden: Count = 256,
    ) -> "DiagonalSSM":
        a, b, c, d, e, f = jax.random.split(key, 6)
        log_step = jax.random.uniform(b, (width, 1), minval=np.log(1e-3), maxval=np.log(1e-1))
        modes = jnp.arange(states)[None, :]
        return cls(
            _embedding(width, dim, vocabulary, a),
            log_step + jnp.log(0.5) + jnp.zeros((width, states)),
            jnp.exp(log_step) * np.pi * modes,
            normal(c, (width, states), states),
            normal(d, (width, states), states),
            jnp.ones(width),
            normal(e, (hidden, width), width),
            jnp.zeros(hidden),
            normal(f, (outputs, hidden), hidden),
        )

    def __call__(self, x: jax.Array, read: AbstractRead) -> jax.Array:
        check_call(self, x, read)
        u = self.embedding.stream(x).full()  # [B, N, D]
        rows = read.rows(x.shape[1])
        decay = jnp.exp(-jnp.exp(self.log_decay))
        turn_real, turn_imag = decay * jnp.cos(self.frequency), decay * jnp.sin(self.frequency)
        gain = jnp.sqrt(1 - decay**2)  # unit variance of the state for white input

        def step(state, token):
            real, imag = state
            driven = gain * token[:, :, None]
            real, imag = (
                turn_real * real - turn_imag * imag + driven,
                turn_real * imag + turn_imag * real,
            )
            return (real, imag), jnp.einsum("bds,ds->bd", real, self.c_real) - jnp.einsum(
                "bds,ds->bd", imag, self.c_imag
            )

        zero = jnp.zeros((x.shape[0], *self.log_decay.shape), u.dtype)
        steps = jnp.moveaxis(u[:, : int(rows.max()) + 1], 1, 0)
        _, filtered = jax.lax.scan(step, (zero, zero), steps)
        y = jnp.moveaxis(filtered, 0, 1)[:, rows] + self.skip * u[:, rows]
        return jax.nn.relu(y @ self.w_in.T + self.offset) @ self.readout.T


@baselines.register(
    "convolution",
    formula="y_t = sum_l W_l relu(sum_k K_k x_{t-k d_l}), dilations d_l = size^l",
    ref=Ref("oord-2016", "Section 2.1"),
)
class CausalConvolution(AbstractEmbedded):
    """Dilated causal convolutions with residuals, then a linear readout: sees size^L tokens."""

    embedding: LinearEmbedding | TokenEmbedding
    kernels: tuple[jax.Array, ...]  # each [size, D, D]
    offsets: tuple[jax.Array, ...]  # each [D]
    readout: jax.Array  # [o, D]

    @classmethod
    def init(
        cls,
        dim: int,
        vocabulary: int | None,
        outputs: int,
        key: jax.Array,
        *,
        width: Count = 64,
        layers: Count = 4,
        size: Count = 4,
    ) -> "CausalConvolution":
        require(
            layers >= 1 and size >= 2,
            f"{layers} layers of size {size}",
            "at least 1 layer of size 2",
            "choose larger ones",
        )
        a, b, *rest = jax.random.split(key, 2 + layers)
        kernels = tuple(normal(k, (size, width, width), size * width) for k in rest)
        return cls(
            embedding=_embedding(width, dim, vocabulary, a),
            kernels=kernels,
            offsets=tuple(jnp.zeros(width) for _ in rest),
            readout=normal(b, (outputs, width), width),
        )

    def __call__(self, x: jax.Array, read: AbstractRead) -> jax.Array:
        check_call(self, x, read)
        u = self.embedding.stream(x).full()  # [B, N, D]
        for depth, (kernel, offset) in enumerate(zip(self.kernels, self.offsets, strict=True)):
            size = kernel.shape[0]
            dilation = size**depth
            padded = jnp.pad(u, ((0, 0), ((size - 1) * dilation, 0), (0, 0)))
            # tap k is lag k*dilation
            taps = [padded[:, (size - 1 - k) * dilation :][:, : u.shape[1]] for k in range(size)]
            u = u + jax.nn.relu(sum(tap @ kernel[k].T for k, tap in enumerate(taps)) + offset)
        return u[:, read.rows(x.shape[1])] @ self.readout.T


@baselines.register(
    "heads",
    formula="y_t = sum_h W_O^h W_V^h sum_s softmax(bias_h)(s) x_{t-s}",
    ref=Ref("wang-e-2024", "Section 2.2, attention alone"),
)
class Heads(AbstractBaseline):
    """Bare heads: one dot-product-free attention layer on the tokens themselves, nothing else.

    The paper does not say which maps around the heads were trained in experiments 4a and 4b; this
    is the barest reading. It learns the same kernels more slowly than heads with trained maps
    around them, so its losses speak of the number of steps.
    """

    attention: Attention

    @classmethod
    def init(
        cls,
        dim: int,
        vocabulary: int | None,
        outputs: int,
        key: jax.Array,
        *,
        heads: Count = 1,
        head_dim: Count = 1,
        bias: recipe(biases) = "lin",  # type: ignore[valid-type]
        normaliser: recipe(normalisers) = "softmax",  # type: ignore[valid-type]
    ) -> "Heads":
        require(
            vocabulary is None,
            f"bare heads for integer tokens below {vocabulary}",
            "real tokens",
            "they have no embedding: use a Transformer",
        )
        require(
            outputs == dim,
            f"bare heads from tokens of size {dim} to answers of size {outputs}",
            "one size",
            "use a Transformer, which has a readout",
        )
        shape = LayerShape(
            width=dim, heads=heads, value_dim=head_dim, query_dim=head_dim, hidden=0, outputs=dim
        )
        a, b, c = jax.random.split(key, 3)
        parts = biases.build(bias, shape, b), normalisers.build(normaliser, shape, c)
        return cls(Attention.init(shape, a, DotFree(), *parts))

    @property
    def tokens(self):
        return None, self.attention.w_out.shape[1]

    @property
    def outputs(self):
        return self.attention.w_out.shape[1]

    def __call__(self, x: jax.Array, read: AbstractRead) -> jax.Array:
        check_call(self, x, read)
        return self.attention(Stream(x), read.rows(x.shape[1]))  # [B, R, d]


@baselines.register(
    "filter",
    formula="y_t = c + sum_{s<taps} W_s x_{t-s}",
    ref=Ref("headcount", "docs/finite_samples.md#known-answer"),
)
class LinearFilter(AbstractBaseline):
    """A free matrix per lag and a constant: linear regression on the window."""

    weight: jax.Array  # [taps, o, d]
    offset: jax.Array  # [o]

    @classmethod
    def init(
        cls, dim: int, vocabulary: int | None, outputs: int, key: jax.Array, *, taps: int = 16
    ) -> "LinearFilter":
        real = vocabulary is None
        require(real, f"a filter of integer tokens below {vocabulary}", "real tokens", "use gru")
        require(taps >= 1, f"{taps} taps", "at least 1", "choose more")
        return cls(normal(key, (taps, outputs, dim), taps * dim), jnp.zeros(outputs))

    @property
    def tokens(self):
        return None, self.weight.shape[2]

    @property
    def outputs(self):
        return self.weight.shape[1]

    def __call__(self, x: jax.Array, read: AbstractRead) -> jax.Array:
        check_call(self, x, read)
        rows, taps = read.rows(x.shape[1]), self.weight.shape[0]
        padded = jnp.pad(x, ((0, 0), (taps - 1, 0), (0, 0)))
        index = rows[:, None] + (taps - 1) - np.arange(taps)[None, :]  # [R, taps]
        return jnp.einsum("brtd,tod->bro", padded[:, index], self.weight) + self.offset


class GatedLayer(eqx.Module):
    """S_t = diag(a_t) S_{t-1} + k_t v_t^T, out_t = q_t S_t, all from x_t and x_{t-1}; then a ReLU
    network; both with residuals.
    """

    w_in: jax.Array  # [2, 3 K + V, D]: queries, keys, gates, values from x_t and x_{t-1}
    gate: jax.Array  # [K] offset of the gates: sigmoid(gate) is kept at first
    w_out: jax.Array  # [D, V]
    w_up: jax.Array  # [m, D]
    offset: jax.Array  # [m]
    w_down: jax.Array  # [D, m]

    def __call__(self, u: jax.Array) -> jax.Array:
        """[B, N, D] → [B, N, D]"""
        before = jnp.pad(u, ((0, 0), (1, 0), (0, 0)))[:, :-1]
        joined = u @ self.w_in[0].T + before @ self.w_in[1].T
        k = self.gate.shape[0]
        query, key, gate, value = jnp.split(joined, (k, 2 * k, 3 * k), axis=-1)
        keep = jax.nn.sigmoid(gate + self.gate)
        size = float(1 / np.sqrt(k))  # a Python number takes the type of the weights

        def step(state, token):
            query, key, keep, value = token
            state = keep[:, :, None] * state + (key * size)[:, :, None] * value[:, None, :]
            return state, jnp.einsum("bk,bkv->bv", query, state)

        zero = jnp.zeros((u.shape[0], k, value.shape[-1]), u.dtype)
        tokens = [jnp.moveaxis(a, 1, 0) for a in (query, key, keep, value)]
        _, read = jax.lax.scan(step, zero, tuple(tokens))  # [N, B, V]
        u = u + jnp.moveaxis(read, 0, 1) @ self.w_out.T
        return u + jax.nn.relu(u @ self.w_up.T + self.offset) @ self.w_down.T


@baselines.register(
    "gated",
    formula="S_t = diag(a_t) S_{t-1} + k_t v_t^T, out_t = q_t S_t",
    ref=Ref("gu-dao-2023", "selective state, in the form of gated linear attention"),
)
class GatedRecurrence(AbstractEmbedded):
    """Selective linear recurrences with a matrix state (K x V per layer), each with a network."""

    embedding: LinearEmbedding | TokenEmbedding
    layers: tuple[GatedLayer, ...]
    readout: jax.Array  # [o, D]

    @classmethod
    def init(
        cls, dim: int, vocabulary: int | None, outputs: int, key: jax.Array, *,
        width: int = 64, keys: int = 16, values: int = 16, hidden: int = 64, layers: int = 2,
    ) -> "GatedRecurrence":  # fmt: skip
        sizes = (width, keys, values, hidden, layers)
        require(min(sizes) >= 1, f"sizes {sizes}", "at least 1 each", "choose larger ones")
        a, b, *rest = jax.random.split(key, 2 + layers)

        def layer(key: jax.Array) -> GatedLayer:
            enter, leave, up, down = jax.random.split(key, 4)
            return GatedLayer(
                normal(enter, (2, 3 * keys + values, width), 2 * width),
                jnp.linspace(1.0, 5.0, keys),  # kept: 0.73 to 0.993 per token
                normal(leave, (width, values), values),
                normal(up, (hidden, width), width),
                jnp.zeros(hidden),
                normal(down, (width, hidden), hidden),
            )

        made = tuple(layer(k) for k in rest)
        embedding = _embedding(width, dim, vocabulary, a)
        readout = normal(b, (outputs, width), width)
        return cls(embedding=embedding, layers=made, readout=readout)

    def __call__(self, x: jax.Array, read: AbstractRead) -> jax.Array:
        check_call(self, x, read)
        u = self.embedding.stream(x).full()
        for layer in self.layers:
            u = layer(u)
        return u[:, read.rows(x.shape[1])] @ self.readout.T
