"""The interface of an input law: what the tokens x_t are. All are sampled inside jit from one key.

Norms stay within 1 (the paper's setting) except for Gaussian and user inputs, which say so through
`bound`.
"""

import abc
from typing import ClassVar

import jax
import jax.numpy as jnp

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.core.registry import Registry

PAPER_SETUP = Ref("wang-e-2024", "Section 2.1")
PAPER_6 = Ref("wang-e-2024", "Section 6")


class AbstractInputs(abc.ABC):
    """A law of real token sequences. Subclasses are frozen dataclasses."""

    kind: ClassVar[str]

    @property
    @abc.abstractmethod
    def dim(self) -> int:
        """Size d of a token."""

    @property
    @abc.abstractmethod
    def bound(self) -> float:
        """sup ||x_t||_2; `inf` where there is none."""

    @property
    def iid(self) -> bool:
        """Are tokens independent and identically distributed with E x = 0? (Then population
        losses are exact.)
        """
        return False

    @property
    def variance(self) -> float | None:
        """v where E x = 0 and E x x^T = v I (at one position); None otherwise."""
        return None

    @property
    def alphabet(self) -> tuple[tuple[float, ...], ...] | None:
        """The finite set of token values, where there is one; tables and exact networks need it."""
        return None

    @abc.abstractmethod
    def sample(self, key: jax.Array, batch: int, length: int) -> jax.Array:
        """Sequences, [B, N, d] in the default float type."""


class AbstractIndependent(AbstractInputs):
    """Tokens that are independent, centred, with d equal coordinates, inside the unit ball
    unless they say otherwise.
    """

    d: int

    def __post_init__(self):
        check_dim(self.d)

    @property
    def dim(self):
        return self.d

    @property
    def bound(self):
        return 1.0

    @property
    def iid(self):
        return True


inputs: Registry[AbstractInputs] = Registry("input", AbstractInputs)


def default_float() -> jnp.dtype:
    """float32, or float64 where that is switched on."""
    return jnp.result_type(float)


def check_dim(d: int) -> None:
    require(d >= 1, f"tokens of size {d}", "at least 1", "choose d >= 1")


def check_symbols(symbols: int) -> None:
    require(symbols >= 2, f"{symbols} symbols", "at least 2", "choose a larger vocabulary")
