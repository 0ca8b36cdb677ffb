"""The interface of every target: sample, evaluate, profile, and an independent slow reference.

A target is a frozen value (hashable, so it can be a static argument under jit) that maps a sequence
to outputs that depend on the past. `evaluate` is the fast one (jax, jit, any float type);
`reference` is written separately in plain NumPy float64 loops, from the definition, and a contract
test compares the two over the whole registry.
"""

import abc
import dataclasses
import enum
import functools
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.arguments import fits
from headcount.core.errors import require, shown
from headcount.core.registry import Registry
from headcount.core.sizes import require_memory
from headcount.memory.inputs import AbstractInputs
from headcount.memory.kernels import AbstractKernel, kernels
from headcount.memory.read import AbstractRead
from headcount.memory.readouts import AbstractReadout, Weights

SURELY_FITS = 1e8  # bytes: what no machine is asked about
READABLE, LONGEST_READ = 16, 64  # tokens of a sequence that a reader may try


class Batch(NamedTuple):
    """What a model is shown and what it should answer. `mask` marks the reads that count."""

    x: jax.Array  # [B, N, d] real, or [B, N] integer tokens
    y: jax.Array  # [B, R, o] real, or [B, R] integer labels
    mask: jax.Array  # [B, R] bool


class Family(enum.StrEnum):
    """The paper's three classes of memory (docs/theory.md#classes: H^Fix, H^Adap, H^Ess)."""

    FIXED = "fixed"
    ADAPTIVE = "adaptive"
    ESSENTIAL = "essential"


@dataclasses.dataclass(frozen=True)
class MemoryProfile:
    """What a bound, a construction or a plan needs to know of a target.

    `lags` are those that can matter (fixed: all of them; adaptive: the union over inputs); `None`
    for an unbounded memory. `nesting` is K of H^Adap(K, M). `lipschitz` and `barron` are upper
    bounds for the readout, `None` where unknown.
    """

    family: Family
    memories: int  # M
    nesting: int = 0  # K
    lags: tuple[int, ...] | None = None
    kernels: tuple[AbstractKernel, ...] = ()
    lipschitz: float | None = None
    barron: float | None = None
    note: str = ""

    @property
    def retrievals(self) -> int:
        """Sequential retrievals r = K + 1{M > K}: r + 1 layers suffice
        (Theorem 4.4; docs/errata.md#e7).
        """
        return (
            self.nesting + (self.memories > self.nesting) if self.family is Family.ADAPTIVE else 1
        )

    @property
    def longest_lag(self) -> int | None:
        return max(self.lags, default=0) if self.lags is not None else None


class AbstractTarget(abc.ABC):
    """A map from sequences to outputs. Subclasses are frozen dataclasses of their options."""

    kind: ClassVar[str]
    causal: ClassVar[bool] = True  # False: the answer is the next token, as for a corpus
    read: AbstractRead  # default read position(s)

    def __init_subclass__(cls, **options: Any) -> None:
        """Every target's `sample` refuses the same way, so that none has to."""
        super().__init_subclass__(**options)
        if "sample" in cls.__dict__:
            cls.sample = _refusing(cls.__dict__["sample"])  # type: ignore[method-assign]

    @property
    @abc.abstractmethod
    def dim(self) -> int:
        """Size d of a real token; 0 where tokens are integers."""

    @property
    def vocabulary(self) -> int | None:
        """Number of different tokens where they are integers, else None."""
        return None

    @property
    @abc.abstractmethod
    def outputs(self) -> int:
        """Size o of a real output, or the number of labels."""

    @property
    def labels(self) -> bool:
        """True where the output is one of `outputs` labels (cross-entropy), False where it is
        real (squared loss).
        """
        return False

    @property
    def shortest(self) -> int:
        """The shortest sequence on which every memory fits; `sample` refuses shorter ones."""
        return 1

    @abc.abstractmethod
    def sample(self, key: jax.Array, batch: int, length: int) -> Batch:
        """Fresh sequences with answers at `self.read`; works inside jit (static sizes)."""

    @abc.abstractmethod
    def evaluate(self, x: jax.Array, read: AbstractRead | None = None) -> jax.Array:
        """Answers for given sequences, [B, R, o] or [B, R]; zeros before the first token."""

    @abc.abstractmethod
    def reference(self, x: np.ndarray, read: AbstractRead | None = None) -> np.ndarray:
        """The same from the definition: slow, float64, sharing no code with `evaluate`."""

    @abc.abstractmethod
    def memory_profile(self) -> MemoryProfile:
        """The structure of the memory."""

    def left_open(self, seed: int) -> Weights:
        """What the target leaves to a run of this seed: the weights of a teacher that has no seed
        of its own. Runs of different seeds then share one program, into which these go.
        """
        return ()

    def filled(self, weights: Weights) -> "AbstractTarget":
        """The target with what it left open; the arrays may be traced."""
        return self

    def held_out(self) -> "AbstractTarget":
        """The target whose samples serve as test data. Fresh random sequences need no other; a
        corpus does.
        """
        return self

    def check_input(self, x: jax.Array) -> None:
        """Refuse sequences of the wrong shape or type."""
        real = self.vocabulary is None
        wanted = (
            f"real numbers of shape [batch, length, {self.dim}]"
            if real
            else "integers of shape [batch, length]"
        )
        array = isinstance(x, (jax.Array, np.ndarray))
        require(array, f"{self.kind}: input of type {type(x).__name__}", wanted, "make it an array")
        fits = x.ndim == 3 and x.shape[2] == self.dim if real else x.ndim == 2
        kind = jnp.floating if real else jnp.integer
        good = fits and jnp.issubdtype(x.dtype, kind) and min(x.shape[:2]) >= 1
        require(
            good,
            f"{self.kind}: input of shape {list(x.shape)} and type {x.dtype}",
            wanted,
            "reshape or convert it",
        )

    def check_length(self, length: int) -> None:
        """Refuse sequences that are too short for the memory."""
        require(
            length >= self.shortest,
            f"{self.kind} with sequences of {length} tokens",
            f"at least {self.shortest} (every lag must fit)",
            "use longer sequences or shorter lags",
        )


def _refusing(sample: Callable[..., Batch]) -> Callable[..., Batch]:
    """The same, behind checks of its arguments and of the memory that they ask for."""

    @functools.wraps(sample)
    def call(self: AbstractTarget, key: jax.Array, batch: int, length: int) -> Batch:
        for name, value, hint in (
            ("key", key, jax.Array),
            ("batch", batch, int),
            ("length", length, int),
        ):
            require(
                fits(value, hint) and (name == "key" or value >= 1),
                f"{self.kind}: {name} {shown(value)}",
                "a JAX key" if name == "key" else "a whole number of at least 1",
                "for example sample(jax.random.key(0), 8, 64)",
            )
        needed = 4.0 * batch * length * max(self.dim, 1)
        if needed > SURELY_FITS:
            require_memory(needed, f"{batch} sequences of {length} tokens", "ask for fewer")
        return sample(self, key, batch, length)

    return call


class AbstractMemory(AbstractTarget):
    """What the three families share: real tokens from a law, memory slots, a readout."""

    inputs: AbstractInputs
    readout: AbstractReadout

    @property
    def dim(self):
        return self.inputs.dim

    @property
    def outputs(self):
        return self.readout.outputs

    def sample(self, key, batch, length):
        self.check_length(length)
        x = self.inputs.sample(key, batch, length)
        y = self.evaluate(x)
        return Batch(x, y, jnp.ones(y.shape[:2], bool))


def short_sequence(target: AbstractTarget, length: int) -> list[Any]:
    """The tokens of one sequence for a reader to try, [N, d] or [N]; none where the memory asks for
    longer ones than one would read.
    """
    count = max(target.shortest, min(length or READABLE, READABLE))
    if count > LONGEST_READ:
        return []
    tokens = np.asarray(target.sample(jax.random.key(0), 1, count).x[0])
    real = tokens.dtype.kind == "f"
    return list((tokens.astype(float).round(4) if real else tokens).tolist())


def _of_kernel(text: str) -> str | None:
    """The memory of a kernel: 'lag:300' is fixed:lags=300, another one an essential memory."""
    name, _, rest = text.partition(":")
    if name not in kernels.names():
        return None
    return f"fixed:lags={rest}" if name == "lag" and rest else f"essential:kernel={text}"


targets: Registry[AbstractTarget] = Registry("memory", AbstractTarget, meant=_of_kernel)
