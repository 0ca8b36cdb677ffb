"""The interface of this folder: what a construction is asked for, what it hands over, and what is
promised of it.

A construction is a registered part (one theorem a file). It says why it cannot serve a target
(`refusals`, all reasons at once) or drafts a model: weights by formula, and one `Claim` a subspace
written, which names what the subspace must hold and how far off it may be. The claims are the
proof's lemmas with numbers: `check` measures each of them on every build, so that a construction
that misses its promise is caught at the layer that breaks it.

Worked example — lag 1 with log heads (`construct/fixed.py`):

    >>> from headcount.construct import construct
    >>> made = construct("fixed:lags=1", bias="log", tol=0.01)
    >>> made.promised.error <= 0.01, made.architecture.layers, made.architecture.heads
    (True, 1, 1)
"""

import abc
import dataclasses
import enum
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from headcount.core.errors import InputError, require
from headcount.core.refs import Ref
from headcount.core.registry import Registry
from headcount.memory.target import AbstractTarget
from headcount.model.transformer import Transformer

NORMALISERS = ("none", "softmax")  # tried in this order where the user names none
# marks the refusal "… is no fixed memory": another construction is meant for this target
MISMATCH = "is no "
LONGEST = 1024  # sequence length assumed where none is given


class Precision(enum.StrEnum):
    """The type in which a constructed model is meant to run."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"

    @property
    def unit(self) -> float:
        """Half the distance from 1 to the next number."""
        return 2.0**-53 if self is Precision.FLOAT64 else 2.0**-24


@dataclasses.dataclass(frozen=True)
class Request:
    """What the user wants: a bias, and either a tolerance or sizes. `length` is the longest
    sequence to serve.
    """

    bias: str = "lin"
    tol: float | None = None
    heads: int | None = None
    width: int | None = None  # FFN neurons; None: as many as exactness takes
    normaliser: str = "none"
    precision: Precision = Precision.FLOAT32
    length: int = LONGEST

    def __post_init__(self):
        require(
            (self.tol is None) != (self.heads is None),
            "both or neither of tol and heads",
            "one of the two",
            "pass --tol 0.01 or heads=8",
        )
        require(
            self.tol is None or 0 < self.tol,
            f"tol {self.tol}",
            "a positive error",
            "pass for example --tol 0.01",
        )
        require(
            self.heads is None or self.heads >= 1,
            f"{self.heads} heads",
            "at least 1",
            "pass for example heads=8",
        )
        require(
            self.width is None or self.width >= 1,
            f"{self.width} neurons",
            "at least 1",
            "pass for example width=64",
        )
        require(
            self.length >= 1,
            f"length {self.length}",
            "at least 1",
            "pass the longest sequence to serve",
        )


@dataclasses.dataclass(frozen=True)
class Bound:
    """An error in exact arithmetic, and what rounding may add: at most `amplification` units in
    the last place.
    """

    error: float
    amplification: float = 0.0

    def at(self, precision: Precision) -> float:
        """The bound for a computation in this type."""
        return self.error + precision.unit * self.amplification

    def __add__(self, other: "Bound") -> "Bound":
        return Bound(self.error + other.error, self.amplification + other.amplification)

    def through(self, lipschitz: float, size: float = 0.0) -> "Bound":
        """After a map with this Lipschitz constant, itself computed with `size` units of
        rounding.
        """
        return Bound(lipschitz * self.error, lipschitz * self.amplification + size)


@dataclasses.dataclass(frozen=True)
class Claim:
    """After `part` of layer `layer` (from 1) the subspace holds `exact(x)`, up to `bound` in
    Euclidean norm, at every row that counts.
    """

    layer: int
    part: str  # "attention" or "ffn"
    space: str
    coordinates: slice
    # one sequence [N, d] or [N] → [N, size]; NaN rows are not claimed
    exact: Callable[[np.ndarray], np.ndarray]
    bound: Bound
    why: str


@dataclasses.dataclass(frozen=True)
class Draft:
    """Weights (NumPy float64) with their proof in numbers. `output` bounds the answer's error."""

    model: Transformer
    claims: tuple[Claim, ...]
    output: Bound
    theorem: Ref
    notes: tuple[str, ...] = ()
    # numbers worth showing: sum|a|, digits lost, …
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    # True: exact only for sequences of the requested length (plain softmax)
    only_longest: bool = False


class AbstractConstruction(abc.ABC):
    """One theorem as weights. Frozen dataclasses whose fields are their options."""

    kind: ClassVar[str]
    ref: ClassVar[Ref]
    cost: ClassVar[int] = 0  # where several apply, the least is tried first
    attention: ClassVar[str] = "dp-free"  # the score its heads use

    @abc.abstractmethod
    def refusals(self, target: AbstractTarget, request: Request) -> list[str]:
        """Every reason why it cannot serve; none where it can."""

    @abc.abstractmethod
    def draft(self, target: AbstractTarget, request: Request) -> Draft:
        """The weights and the claims; `refusals` was empty."""


constructions: Registry[AbstractConstruction] = Registry("construction", AbstractConstruction)


class Unreachable(InputError):
    """No weights of the kind asked for can do it; `certificate` is checkable data
    (theory.bounds.check), or None where it is a plain reason.
    """

    def __init__(self, got: str, expected: str, fix: str, certificate: Any = None):
        super().__init__(got, expected, fix)
        self.certificate = certificate
