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
import functools
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from headcount.core.claims import Claim, Precision, Status
from headcount.core.errors import InputError, require, unknown
from headcount.core.refs import Ref
from headcount.core.sizes import require_memory, require_time
from headcount.memory.named import unnamed
from headcount.memory.target import AbstractTarget
from headcount.model.biases import biases
from headcount.model.normalisers import normalisers
from headcount.model.transformer import Transformer

P = ParamSpec("P")
T = TypeVar("T")
NORMALISERS = ("none", "softmax")  # tried in this order where the user names none
MOST_TOKENS = 2**14  # of a sequence: checks look at pairs of positions
LONGEST = 1024  # sequence length assumed where none is given
MOST_HEADS = 4096  # the search for heads is quadratic in them
SEQUENCES = 16  # at least, that a check holds at once
ANSWER_MINUTES = 1.0  # a plan or a build is waited for
# From below: a plan takes LAG_SECONDS per token of its longest sequence; layers that follow a
# pointer chain look at all pairs of positions; a kernel is fitted with every bias; the reference
# adds up a readout's neurons one by one, for at least so many ANSWERS.
LAG_SECONDS, PAIR_SECONDS, KERNEL_SECONDS, NEURON_SECONDS = 1e-5, 1.5e-6, 1.0, 7e-6
ANSWERS = 100
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
        if self.tol is not None:
            require_tolerance(self.tol)
        for name, value in (("heads", self.heads), ("neurons", self.width)):
            require(
                value is None or (_whole(value) and value >= 1),
                f"{value} {name}",
                "a whole number of at least 1",
                "pass for example heads=8 or width=64",
            )
        require(
            self.heads is None or self.heads <= MOST_HEADS,
            f"{self.heads} heads",
            f"at most {MOST_HEADS}",
            "pass fewer, or --tol",
        )
        require_length(self.length)


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def require_tolerance(tol: Any) -> None:
    """A tolerance is a positive finite number."""
    fine = isinstance(tol, int | float | np.floating) and not isinstance(tol, bool)
    require(
        fine and 0 < tol < math.inf,
        f"tol {tol!r}",
        "a positive finite error",
        "pass for example --tol 0.01",
    )


def require_length(length: Any) -> None:
    """Sequences that a plan or a build can look at: the check holds all pairs of positions."""
    require(
        _whole(length) and 1 <= length <= MOST_TOKENS,
        f"length {length!r}",
        f"a whole number from 1 to {MOST_TOKENS}",
        "pass the longest sequence to serve",
    )


def longest_of(target: AbstractTarget, length: int | None) -> int:
    """The longest sequence to serve, and at least the shortest that the target is defined on."""
    if length is not None:
        require_length(length)
    require(
        target.shortest <= MOST_TOKENS,
        f"{target.kind} over {target.shortest} tokens",
        f"at most {MOST_TOKENS}",
        "use shorter lags or fewer hops",
    )
    longest = max(LONGEST if length is None else length, target.shortest)
    check_sizes(target, longest)
    return longest


def check_sizes(target: AbstractTarget, longest: int) -> None:
    """Refuse what no check could hold: its sequences in float64, and one matrix on the stream."""
    token = target.vocabulary or target.dim
    require_memory(
        8.0 * SEQUENCES * longest * max(target.dim, 1),
        f"checking {target.kind} on sequences of {longest} tokens",
        "use shorter lags or sequences",
    )
    require_memory(8.0 * token**2, f"a stream for {token} different tokens or entries", "use fewer")
    asked = unnamed(target)
    layers = math.ceil(math.log2(getattr(target, "hops", 0) + 1))
    kernels = len(getattr(asked, "kernel", ()))
    neurons = getattr(getattr(asked, "readout", None), "neurons", 0)
    for seconds, what, fix in (
        (
            longest * LAG_SECONDS + layers * longest**2 * PAIR_SECONDS,
            f"checking {target.kind} on sequences of {longest} tokens",
            "use shorter lags or sequences, or fewer hops",
        ),
        (kernels * KERNEL_SECONDS, f"heads for {kernels} kernels", "use fewer"),
        (ANSWERS * neurons * NEURON_SECONDS, f"a readout of {neurons} neurons", "use fewer"),
    ):
        require_time(seconds, what, fix, ANSWER_MINUTES)


def refuse_nothing(target: AbstractTarget, length: int) -> None:
    """A memory of kernels that are 0 wherever a lag exists is no memory."""
    kernels = getattr(target, "kernel", None) or ()
    require(
        not kernels or any(np.any(kernel.values(length)) for kernel in kernels),
        "kernels that are 0 at every lag",
        "a memory of something",
        "give a kernel with a value other than 0",
    )


def refuse_unbounded(target: AbstractTarget) -> None:
    """The error of a model is its largest over all sequences: tokens need a bound."""
    inputs: Any = getattr(unnamed(target), "inputs", None)
    size = 0.0 if target.vocabulary is not None or inputs is None else float(inputs.bound)
    require(
        math.isfinite(size),
        f"tokens without a bound (inputs={getattr(inputs, 'kind', inputs)})",
        "bounded tokens, for an error is the largest over all sequences",
        "pass inputs=uniform, or ask headcount study finite-sample for mean errors",
    )


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
    # the first position with a promise: plain softmax divides by what is there so far
    first: int = 1
    status: Status = Status.PROVED

    @property
    def only_longest(self) -> bool:
        """Are early positions, and so shorter sequences, without a promise?"""
        return self.first > 1


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


def remembered(search: Callable[P, T]) -> Callable[P, T]:
    """The search with its last answers kept, refusals among them: those took longest."""

    @functools.lru_cache(maxsize=256)
    def tried(*args: Any, **kwargs: Any) -> tuple[T | None, Unreachable | None]:
        try:
            return search(*args, **kwargs), None
        except Unreachable as refusal:
            return None, refusal

    @functools.wraps(search)
    def found(*args: P.args, **kwargs: P.kwargs) -> T:
        answer, refusal = tried(*args, **kwargs)  # type: ignore[arg-type]
        if refusal is not None:
            raise refusal.with_traceback(None)
        return answer  # type: ignore[return-value]

    return found
