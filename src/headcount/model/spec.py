"""The recipe of a random Transformer: plain values, validated, hashable; parts by name."""

from typing import Annotated, Any

import jax
import pydantic

from headcount.core.arguments import checked
from headcount.core.errors import require
from headcount.core.registry import recipe
from headcount.core.sizes import require_memory
from headcount.core.spec import Spec
from headcount.model.attention import Attention
from headcount.model.biases import biases
from headcount.model.embedding import LinearEmbedding, TokenEmbedding, positions
from headcount.model.ffn import ffns
from headcount.model.normalisers import normalisers
from headcount.model.norms import norms
from headcount.model.scores import scores
from headcount.model.shape import LayerShape
from headcount.model.transformer import Layer, Transformer


class ModelSpec(Spec):
    """How to make a Transformer. `head_dim` 0 means width / heads, as usual.

    `readout` "ffn" is the paper's: the last FFN has no residual and its output is the answer;
    "linear" keeps the residual and maps the stream to the answer (language models).
    """

    layers: int = pydantic.Field(1, ge=1)
    heads: int = pydantic.Field(1, ge=1)
    width: int = pydantic.Field(64, ge=1)
    hidden: int = pydantic.Field(256, ge=1)
    head_dim: int = pydantic.Field(0, ge=0)
    attention: recipe(scores) = "dot"  # type: ignore[valid-type]
    bias: recipe(biases) = "lin"  # type: ignore[valid-type]
    position: recipe(positions) = "none"  # type: ignore[valid-type]
    normaliser: recipe(normalisers) = "softmax"  # type: ignore[valid-type]
    ffn: recipe(ffns) = "relu"  # type: ignore[valid-type]
    norm: recipe(norms) = "none"  # type: ignore[valid-type]
    readout: Annotated[str, pydantic.Field(pattern="^(ffn|linear)$")] = "ffn"

    @pydantic.model_validator(mode="after")
    def _check(self) -> "ModelSpec":
        divides = self.head_dim > 0 or self.width % self.heads == 0
        require(
            divides,
            f"width {self.width} with {self.heads} heads",
            "a multiple of the heads",
            "change one, or give head_dim",
        )
        dead = self.norm.kind == "no-residual" and self.ffn.kind == "none"
        require(
            not (dead and (self.layers > 1 or self.readout == "linear")),
            "no residual around no network",
            "a network, or a residual: the answer would be 0",
            "choose another ffn or norm",
        )
        return self

    @checked
    def build(
        self, key: jax.Array, *, dim: int = 0, vocabulary: int | None = None, outputs: int = 1
    ) -> Transformer:
        """Fresh random weights, for real tokens of size `dim` or for integer tokens below
        `vocabulary`.
        """
        require(
            (dim > 0) != (vocabulary is not None),
            f"dim {dim} and vocabulary {vocabulary}",
            "one of the two",
            "give dim for real tokens, else vocabulary",
        )
        require(
            outputs >= 1 and (vocabulary is None or vocabulary >= 1),
            f"{outputs} outputs, vocabulary {vocabulary}",
            "at least 1",
            "for example outputs=1",
        )
        least = self.width * ((vocabulary or dim) + self.layers * self.heads)  # weights, no fewer
        require_memory(4 * least, f"a model of {least:.3g} weights", "use a smaller model")
        embed, place, out, *layer_keys = jax.random.split(key, 3 + self.layers)
        position = positions.build(self.position, self.width, place)
        if vocabulary is None:
            embedding: Any = LinearEmbedding.init(self.width, dim, position, embed)
        else:
            embedding = TokenEmbedding.init(self.width, vocabulary, position, embed)
        linear = self.readout == "linear"
        # does the layer keep the stream?
        keeps = [linear or i + 1 < self.layers for i in range(self.layers)]
        layers = tuple(
            self._layer(k, self.width if keep else outputs, keep)
            for k, keep in zip(layer_keys, keeps, strict=True)
        )
        shape = self._shape(self.width)
        final = norms.build(self.norm, shape, out) if linear else None
        unembedding = (
            jax.random.normal(out, (outputs, self.width)) / self.width**0.5 if linear else None
        )
        return Transformer(embedding, layers, final, unembedding)

    def _shape(self, outputs: int, reads_out: bool = False) -> LayerShape:
        size = self.head_dim or self.width // self.heads
        return LayerShape(self.width, self.heads, size, size, self.hidden, outputs, reads_out)

    def _layer(self, key: jax.Array, outputs: int, residual: bool) -> Layer:
        shape = self._shape(outputs, not residual)
        keys = jax.random.split(key, 7)
        score = scores.build(self.attention, shape, keys[1])
        bias = biases.build(self.bias, shape, keys[2])
        normaliser = normalisers.build(self.normaliser, shape, keys[3])
        attention = Attention.init(shape, keys[0], score, bias, normaliser)
        ffn = ffns.build(self.ffn, shape, keys[4])
        return Layer(
            attention,
            ffn,
            norms.build(self.norm, shape, keys[5]),
            norms.build(self.norm, shape, keys[6]),
            residual,
        )
