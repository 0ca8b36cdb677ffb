"""What a method is asked for, what it hands over or refuses, and what is promised of it.

A method drafts a model: weights by formula, and one `SlotPromise` for each subspace written, which
names what the subspace must hold and how far off it may be. The promises are the proof's lemmas
with numbers: `check` measures each of them on every build, so that a method that misses its promise
is caught at the layer that breaks it.

Worked example — lag 1 with log heads (`methods/sums_of_decays.py`):

    >>> from headcount.construct import construct
    >>> made = construct("fixed:lags=1", bias="log", tol=0.01)
    >>> made.promised.error <= 0.01, made.architecture.layers, made.architecture.heads
    (True, 1, 1)
"""

import dataclasses
import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from headcount.core.claims import Claim, Precision, Status
from headcount.core.errors import InputError, require, unknown
from headcount.core.refs import Ref
from headcount.memory.target import AbstractTarget
from headcount.model.biases import biases
from headcount.model.normalisers import normalisers
from headcount.model.transformer import Transformer

NORMALISERS = ("none", "softmax")  # tried in this order where the user names none
LONGEST = 1024  # sequence length assumed where none is given
PRECISIONS = (Precision.FLOAT64, Precision.FLOAT32)  # in which weights are written and checked


@dataclasses.dataclass(frozen=True)
class Request:
    """What the user wants: a bias, and either a tolerance or sizes. `length` is the longest
    sequence to serve: lags from `length` on do not exist.
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
        for name, value in (("heads", self.heads), ("neurons", self.width)):
            require(
                value is None or value >= 1,
                f"{value} {name}",
                "at least 1",
                "pass for example heads=8 or width=64",
            )
        require(
            self.length >= 1,
            f"length {self.length}",
            "at least 1",
            "pass the longest sequence to serve",
        )


def longest_of(target: AbstractTarget, length: int | None) -> int:
    """The longest sequence to serve, and at least the shortest that the target is defined on."""
    require(
        length is None or length >= 1,
        f"length {length}",
        "at least 1",
        "pass the longest sequence to serve",
    )
    return max(LONGEST if length is None else length, target.shortest)


def known_parts(bias: str | None, normaliser: str | None) -> None:
    """Refuse names that no model knows, before any method is asked."""
    for noun, registry, name in (("bias", biases, bias), ("normaliser", normalisers, normaliser)):
        if name is not None and name not in registry.names():
            raise unknown(noun, name, registry.names())


def offered_precision(name: str, noun: str) -> Precision:
    """The precision of that name, where weights can be written in it."""
    if name not in PRECISIONS:
        raise unknown(noun, name, [str(p) for p in PRECISIONS])
    return Precision(name)


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
        """After a map with this Lipschitz constant, itself computed with `size` rounding units."""
        return Bound(lipschitz * self.error, lipschitz * self.amplification + size)


@dataclasses.dataclass(frozen=True)
class SlotPromise:
    """After `part` of layer `layer` (from 1) the subspace holds `exact(x)`, up to `bound` in
    Euclidean norm, at every row that counts.
    """

    layer: int
    part: str  # "attention" or "ffn"
    space: str
    coordinates: slice
    # one sequence [N, d] or [N] → [N, size]; NaN rows are not promised
    exact: Callable[[np.ndarray], np.ndarray]
    bound: Bound
    why: str


@dataclasses.dataclass(frozen=True)
class Draft:
    """Weights (NumPy float64) with their proof in numbers. `output` bounds the answer's error:
    proved, or only measured where a part of it is (`status`).
    """

    model: Transformer
    promises: tuple[SlotPromise, ...]
    output: Bound
    theorem: Ref
    notes: tuple[str, ...] = ()
    # numbers worth showing: sum|a|, digits lost, …
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    # True: exact only for sequences of the requested length (plain softmax)
    only_longest: bool = False
    status: Status = Status.PROVED


class RefusalKind(enum.StrEnum):
    """What stands in the way."""

    FAMILY = "family"  # another method is meant for this target
    BIAS = "bias"
    NORMALISER = "normaliser"
    TOKENS = "tokens"
    READOUT = "readout"
    LAGS = "lags"
    HEADS = "heads"
    WIDTH = "width"
    LAYERS = "layers"
    PRECISION = "precision"


@dataclasses.dataclass(frozen=True)
class Refusal:
    """One reason why a method cannot serve: what it was given, why that does not do, what would."""

    kind: RefusalKind
    got: str
    why: str = ""
    expected: str = ""

    def __str__(self) -> str:
        if self.kind is RefusalKind.FAMILY:
            return f"{self.got} is no {self.expected}"
        told = self.got if not self.why else f"{self.got}: {self.why}"
        return told if not self.expected else f"{told}; use {self.expected}"


class Unreachable(InputError):
    """No weights were found. `claims` say what is proved about it, each with its own scope; none
    where it is a plain reason.
    """

    def __init__(self, got: str, expected: str, fix: str, claims: tuple[Claim, ...] = ()):
        super().__init__(got, expected, fix)
        self.claims = claims
