"""Sizes that parts need to make their weights, and the number types they compute in."""

import dataclasses

import jax
import jax.numpy as jnp

from headcount.core.errors import require


@dataclasses.dataclass(frozen=True)
class LayerShape:
    """One layer: width D of the residual stream, H heads, value and query sizes of a head."""

    width: int  # D
    heads: int  # H
    value_dim: int  # v
    query_dim: int  # q
    hidden: int  # m
    outputs: int  # width of the feed-forward output: D, or o for a readout
    reads_out: bool = False  # does the feed-forward output replace the stream (o may equal D)?

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if field.name == "reads_out":
                continue
            value = getattr(self, field.name)
            least = 0 if field.name == "hidden" else 1
            require(
                value >= least,
                f"{field.name} {value}",
                f"at least {least}",
                f"choose a larger {field.name}",
            )


def compute_dtype(dtype: jnp.dtype) -> jnp.dtype:
    """Logits, exponentials and sums are never computed in less than float32."""
    return jnp.promote_types(dtype, jnp.float32)


def normal(key: jax.Array, shape: tuple[int, ...], fan_in: int) -> jax.Array:
    """Gaussian weights of variance 1/fan_in in the default float type."""
    return jax.random.normal(key, shape) / jnp.sqrt(jnp.asarray(fan_in, jnp.result_type(float)))
