"""The residual stream, kept in factors as long as it is an affine image of small features.

After an affine embedding x -> W_E x + b_E the stream is known by the d-sized features.
Dot-product-free heads add up tokens with lag weights, and sums commute with affine maps, so they
may add up features first: for d = 1 that is D times less work (docs/numerics.md#speed). Anything
else asks for `full`.
"""

import equinox as eqx
import jax

from headcount.model.products import linear


class Stream(eqx.Module):
    """X_n = lift features_n + offset + positions_n; a missing factor is the identity or zero."""

    features: jax.Array  # [B, N, f]
    lift: jax.Array | None = None  # [D, f]
    offset: jax.Array | None = None  # [D]
    positions: jax.Array | None = None  # [N, D]

    @property
    def length(self) -> int:
        return self.features.shape[1]

    @property
    def width(self) -> int:
        return self.features.shape[2] if self.lift is None else self.lift.shape[0]

    def at(self, rows) -> jax.Array:
        """The stream at some rows.  [B, R, D]"""
        x = self.features[:, rows]
        if self.lift is not None:
            x = linear(self.lift, x)
        if self.offset is not None:
            x = x + self.offset
        if self.positions is not None:
            x = x + self.positions[rows]
        return x

    def full(self) -> jax.Array:
        """The whole stream.  [B, N, D]"""
        return self.at(slice(None))
