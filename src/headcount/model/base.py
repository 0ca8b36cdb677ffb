"""The interface of every model: sequences in, answers at the read positions out."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp

from headcount.core.errors import require, shown
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


def check_call(model: AbstractModel, x: jax.Array, read: AbstractRead) -> None:
    """Refuse input of the wrong shape or type, and tokens that the model has no vector for, before
    any work.
    """
    vocabulary, dim = model.tokens
    if vocabulary is None:
        wanted = f"real numbers of shape [batch, length, {dim}]"
    else:
        wanted = f"integers of shape [batch, length], from -1 (padding) to {vocabulary - 1}"
    array = hasattr(x, "shape") and hasattr(x, "dtype")
    require(array, f"tokens of type {type(x).__name__}", wanted, "make it an array")
    good = (
        x.ndim == 3 and x.shape[2] == dim and jnp.issubdtype(x.dtype, jnp.floating)
        if vocabulary is None
        else x.ndim == 2 and jnp.issubdtype(x.dtype, jnp.integer)
    )
    require(
        good and x.shape[0] >= 1 and x.shape[1] >= 1,
        f"tokens of shape {list(x.shape)} and type {x.dtype}",
        wanted,
        "reshape or convert the input",
    )
    require(
        isinstance(read, AbstractRead),
        f"read {shown(read)}",
        "a read position",
        "pass Last(), At(position) or Everywhere()",
    )
    if vocabulary is not None and x.size and not isinstance(x, jax.core.Tracer):
        least, most = int(x.min()), int(x.max())
        require(
            least >= -1 and most < vocabulary,
            f"tokens from {least} to {most}",
            wanted,
            "number the tokens from 0",
        )
