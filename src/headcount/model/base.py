"""The interface of every model: sequences in, answers at the read positions out."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp

from headcount.core.errors import require
from headcount.memory.read import AbstractRead


class AbstractModel(eqx.Module):
    """[B, N, d] real or [B, N] integer tokens → [B, R, o]. Causal: the answer at t depends on
    tokens 1..t.
    """

    @property
    @abc.abstractmethod
    def tokens(self) -> tuple[int | None, int]:
        """(vocabulary or None, size d of a real token or 0)."""

    @property
    @abc.abstractmethod
    def outputs(self) -> int:
        """Size o of an answer."""

    @abc.abstractmethod
    def __call__(self, x: jax.Array, read: AbstractRead) -> jax.Array:
        """Answers at the read positions.  [B, R, o]"""

    def astype(self, dtype: jnp.dtype) -> "AbstractModel":
        """The same model with every real weight in another float type (float64 needs
        `jax.enable_x64`).
        """
        return jax.tree.map(lambda w: w.astype(dtype) if eqx.is_inexact_array(w) else w, self)


def check_tokens(model: AbstractModel, x: jax.Array) -> None:
    """Refuse input of the wrong shape or type before any work."""
    vocabulary, dim = model.tokens
    if vocabulary is None:
        good = x.ndim == 3 and x.shape[2] == dim and jnp.issubdtype(x.dtype, jnp.floating)
        wanted = f"real numbers of shape [batch, length, {dim}]"
    else:
        good = x.ndim == 2 and jnp.issubdtype(x.dtype, jnp.integer)
        wanted = f"integers of shape [batch, length], from -1 (padding) to {vocabulary - 1}"
    require(
        good and x.shape[1] >= 1,
        f"tokens of shape {list(x.shape)} and type {x.dtype}",
        wanted,
        "reshape or convert the input",
    )
