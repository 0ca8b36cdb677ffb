"""From named pieces to a layer: heads and networks that say what they read and write, joined into
the model's own parts.

Weights are NumPy float64 and stay so: a model made of them computes in whatever type is active
(float64 inside `jax.enable_x64(True)`, else float32), so that one set of weights gives the possible
and the representable number.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from headcount.construct.blocks.space import Space
from headcount.core.errors import require
from headcount.memory.readouts.network import ReluNetwork
from headcount.model.attention import Attention
from headcount.model.biases import NoBias
from headcount.model.biases.base import AbstractBias
from headcount.model.embedding import Learned, LinearEmbedding, NoPosition, TokenEmbedding
from headcount.model.ffn import AbstractFFN, NoFFN, ReLU
from headcount.model.normalisers import AbstractNormaliser, NoNormaliser
from headcount.model.norms import NoNorm
from headcount.model.scores import AbstractScore, DotFree
from headcount.model.transformer import Layer


@dataclasses.dataclass(frozen=True)
class Head:
    """What a head does with the tokens it weighs: reads a subspace, multiplies, adds to another."""

    reads: str
    writes: str
    gain: float | np.ndarray = 1.0  # a number, or a matrix [size written, size read]


def attention(
    space: Space,
    heads: Sequence[Head],
    score: AbstractScore,
    bias: AbstractBias,
    normaliser: AbstractNormaliser,
) -> Attention:
    """The heads as one sublayer; `score`, `bias` and `normaliser` hold their numbers head by
    head, in the same order.
    """
    require(len(heads) >= 1, "a layer without heads", "at least one", "use idle()")
    # v: the heads of a layer share one value size
    size = max(space.sizes[head.writes] for head in heads)
    w_value = np.zeros((len(heads), size, space.width))
    w_out = np.zeros((len(heads), space.width, size))
    for h, head in enumerate(heads):
        rows = space.sizes[head.writes]
        matrix = head.gain * np.eye(rows) if np.ndim(head.gain) == 0 else np.asarray(head.gain)
        w_value[h, :rows] = matrix @ space.read(head.reads)
        w_out[h, :, :rows] = space.write(head.writes)
    return Attention(score, bias, normaliser, w_value, w_out)  # type: ignore[arg-type]


def idle(space: Space) -> Attention:
    """An attention sublayer that adds nothing: W_O = 0, as in layer 1 of Theorem 4.1
    (docs/errata.md#e3).
    """
    return Attention(
        DotFree(),
        NoBias(1),
        NoNormaliser(),
        np.zeros((1, 1, space.width)),  # type: ignore[arg-type]
        np.zeros((1, space.width, 1)),  # type: ignore[arg-type]
    )


@dataclasses.dataclass(frozen=True)
class Neurons:
    """A network that reads subspaces (one after the other) and adds its value to one coordinate
    of another.
    """

    network: ReluNetwork
    reads: tuple[str, ...]
    writes: str
    coordinate: int = 0


def constant(value: float, writes: str, reads: str) -> Neurons:
    """value = value relu(0.x + 1): one neuron."""
    return Neurons(ReluNetwork(np.array([value]), np.zeros((1, 1)), np.ones(1)), (reads,), writes)


def relu_ffn(space: Space, pieces: Sequence[Neurons], into: Space | None = None) -> ReLU:
    """Networks side by side as one feed-forward sublayer; `into` is where they write, the stream
    itself unless said.
    """
    into = into or space
    # [m, D]
    w_in = np.concatenate([piece.network.b @ space.read(*piece.reads) for piece in pieces])
    offset = np.concatenate([piece.network.c for piece in pieces])
    columns = [
        np.outer(into.write(piece.writes)[:, piece.coordinate], piece.network.a) for piece in pieces
    ]
    return ReLU(w_in, offset, np.concatenate(columns, axis=1))  # type: ignore[arg-type]


def linear_readout(space: Space, matrix: np.ndarray, reads: Sequence[str]) -> NoFFN:
    """The answer as a linear map of subspaces: no neurons.  [o, sizes]"""
    return NoFFN(matrix @ space.read(*reads), space.width)


def layer(attend: Attention, ffn: AbstractFFN, reads_out: bool = False) -> Layer:
    """One layer without norms, as everywhere in the paper."""
    return Layer(attend, ffn, NoNorm(), NoNorm(), residual=not reads_out)


def no_ffn(space: Space) -> NoFFN:
    """An FFN that adds nothing to the stream."""
    return NoFFN(None, space.width)


def real_embedding(space: Space, token: str = "token", **constants: float) -> LinearEmbedding:
    """x_t into the subspace `token`; named coordinates may hold constants (b_E of the paper)."""
    return LinearEmbedding(
        weight=space.write(token),  # type: ignore[arg-type]
        offset=space.vector(**constants),  # type: ignore[arg-type]
        position=NoPosition(),
    )


def token_embedding(
    space: Space, token: str = "token", positions: np.ndarray | None = None
) -> TokenEmbedding:
    """Token v as the v-th unit vector of the subspace `token` (padding is 0); `positions`
    [longest, D] is added, row by row.
    """
    position = NoPosition() if positions is None else Learned(positions)  # type: ignore[arg-type]
    return TokenEmbedding(weight=space.read(token), position=position)  # type: ignore[arg-type]
