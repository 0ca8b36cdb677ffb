"""Where sequences come from: a target, the user's own sampler, or the user's own arrays.

All say of which size tokens and answers are, where they are read, and how to get some.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import InputError, require
from headcount.memory.named import targets
from headcount.memory.read import AbstractRead, Everywhere, Last
from headcount.memory.readouts import Weights
from headcount.memory.target import AbstractTarget, Batch

DEFAULT_LENGTH = 128


@dataclasses.dataclass(frozen=True)
class Sampler:
    """The user's function (key, batch, length) → (x, y) or (x, y, mask), traceable by jax; a new
    key is a new batch.
    """

    function: Callable[..., Any]
    vocabulary: int | None
    dim: int
    outputs: int
    labels: bool
    read: AbstractRead

    @classmethod
    def of(cls, function: Callable[..., Any], length: int) -> "Sampler":
        """Sizes are read off a traced call."""
        try:
            made = jax.eval_shape(lambda key: _batch(function(key, 2, length)), jax.random.key(0))
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"the sampler fails ({type(error).__name__}: {error})",
                "a function (key, batch, length) -> (x, y)",
                "trace it by hand",
            ) from None
        return cls(function, *_sizes(made, None), _read_of(made))

    @property
    def shortest(self) -> int:
        return 1

    def check_length(self, length: int) -> None:
        """Any length is the function's own business."""

    def sample(self, key: jax.Array, batch: int, length: int) -> Batch:
        return _batch(self.function(key, batch, length))

    def left_open(self, seed: int) -> Weights:
        """A function leaves nothing open."""
        return ()

    def filled(self, weights: Weights) -> "Sampler":
        return self

    def held_out(self) -> "Sampler":
        return self


@dataclasses.dataclass(frozen=True, eq=False)
class Arrays:
    """The user's own sequences with their answers."""

    batch: Batch
    vocabulary: int | None
    dim: int
    outputs: int
    labels: bool
    read: AbstractRead

    @classmethod
    def of(cls, arrays: tuple[Any, ...], precision: str) -> "Arrays":
        made = _batch(tuple(np.asarray(array) for array in arrays))
        x, y, mask = (np.asarray(a) for a in made)
        for name, array in (("x", x), ("y", y)):
            finite = array.dtype.kind in "iub" or bool(np.isfinite(array).all())
            require(finite, f"{name} holds NaN or inf", "finite numbers", "remove these rows")
        x, y = (a.astype(precision if a.dtype.kind == "f" else np.int32) for a in (x, y))
        batch = Batch(x, y, mask.astype(bool))  # type: ignore[arg-type]
        return cls(batch, *_sizes(batch, x), _read_of(batch))

    @property
    def shortest(self) -> int:
        return self.batch.x.shape[1]

    def check_length(self, length: int) -> None:
        n = self.batch.x.shape[1]
        require(length == n, f"length {length}", f"{n}, as in the arrays", "leave length out")


Source = AbstractTarget | Sampler | Arrays


def source_of(value: Any, length: int, precision: str) -> Source:
    """A target by object or text, a sampler, or arrays (x, y) or (x, y, mask)."""
    if isinstance(value, (AbstractTarget, Sampler, Arrays)):
        return value
    if isinstance(value, (tuple, list)):
        return Arrays.of(tuple(value), precision)
    if callable(value):
        return Sampler.of(value, length or DEFAULT_LENGTH)
    return targets.build(value)


def length_of(source: Source, length: int) -> int:
    """The length asked for, or one that suits; refused where the memory does not fit."""
    usual = source.shortest if isinstance(source, Arrays) else max(DEFAULT_LENGTH, source.shortest)
    source.check_length(length or usual)
    return length or usual


def _batch(made: Any) -> Batch:
    fine = isinstance(made, (tuple, list)) and len(made) in (2, 3)
    require(
        fine,
        f"data of type {type(made).__name__}",
        "(x, y) or (x, y, mask)",
        "return or pass these",
    )
    x, y, *rest = made
    require(
        x.ndim in (2, 3),
        f"x of shape {x.shape}",
        "[n, N, d], or [n, N] integer tokens",
        "add the missing axis",
    )
    if x.ndim == 2 and x.dtype.kind == "f":
        x = x[:, :, None]
    full = 3 if y.dtype.kind == "f" else 2  # [n, R, o] or [n, R]
    y = y.reshape(*y.shape, *(1,) * (full - y.ndim))
    mask = rest[0] if rest else jnp.ones(y.shape[:2], bool)
    same = (
        x.shape[0] == y.shape[0] == mask.shape[0] and x.shape[0] > 0 and mask.shape == y.shape[:2]
    )
    require(
        same,
        f"x {x.shape}, y {y.shape}, mask {mask.shape}",
        "as many rows in each, mask [n, R]",
        "match them",
    )
    return Batch(x, y, mask)


def _sizes(batch: Batch, values: np.ndarray | None) -> tuple[int | None, int, int, bool]:
    """(vocabulary, dim, outputs, labels); numbers of labels and tokens come from the data."""
    labels = batch.y.dtype.kind != "f"
    tokens = batch.x.dtype.kind != "f"
    known = values is not None
    require(
        known or not (labels or tokens),
        "a sampler of integers",
        "real x and y",
        "use a registered target, or pass arrays",
    )
    vocabulary = int(np.max(np.asarray(batch.x))) + 1 if tokens else None
    outputs = int(np.max(np.asarray(batch.y))) + 1 if labels else batch.y.shape[2]
    return vocabulary, 0 if tokens else batch.x.shape[2], outputs, labels


def _read_of(batch: Batch) -> AbstractRead:
    """Read everywhere where there is an answer for every token, else at the last one."""
    reads, length = batch.y.shape[1], batch.x.shape[1]
    require(
        reads in (1, length),
        f"{reads} answers for {length} tokens",
        "one, or one per token",
        "pad with mask False",
    )
    return Everywhere() if reads == length and length > 1 else Last()
