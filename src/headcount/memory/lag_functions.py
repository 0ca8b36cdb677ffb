"""Lag functions g_i of the adaptive family: how far back to look, from the tokens seen so far.

g maps the stack of its arguments (x_t, x_{t-t1}, …) to a whole number with 1 <= g <= T. Lag 0 is
outside the paper's class but needed by its Proposition 4.2 (docs/errata.md#e16): `allow_zero` says
so openly.

The theorems ask for the Barron norm of g (lin bias) or of log g (log bias). A g that is
whole-valued and continuous is constant on every connected set of tokens (docs/errata.md#e8), so
these norms exist only where the tokens are finitely many and stay apart: given such an alphabet,
they are bounded by the path norm of an explicit network that equals g on every combination of
letters, the zero vector of a missing token included. Without an alphabet they are None.
"""

import abc
import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.core.registry import Registry
from headcount.memory.readouts.network import ReluNetwork, interpolate

PAPER_ADAPTIVE = Ref("wang-e-2024", "Section 4, eq. (8)")
PROP_42 = Ref("wang-e-2024", "Proposition 4.2")
LARGEST_TABLE = 4096  # combinations of letters for which an exact network is made

Alphabet = tuple[tuple[float, ...], ...]


class AbstractLagFunction(abc.ABC):
    """g: tokens seen so far → lag. Frozen dataclasses with a field `allow_zero`."""

    kind: ClassVar[str]
    allow_zero: bool

    @property
    def lowest(self) -> int:
        return 0 if self.allow_zero else 1

    @abc.abstractmethod
    def __call__(self, tokens: jax.Array) -> jax.Array:
        """Lags for stacks of arguments, newest last.  [..., arguments, d] → [...] int32"""

    @abc.abstractmethod
    def reference(self, tokens: np.ndarray) -> int:
        """The same for one [arguments, d] in plain Python."""

    @abc.abstractmethod
    def possible(self, arguments: int) -> tuple[int, ...]:
        """The lags it can give, increasing."""

    def largest(self, arguments: int) -> int:
        """T, the largest lag."""
        return self.possible(arguments)[-1]

    def check(self, arguments: int, d: int) -> None:  # noqa: B027 — most fit any shape
        """Refuse shapes that do not fit."""

    def network(
        self, arguments: int, alphabet: Alphabet | None, log: bool = False
    ) -> ReluNetwork | None:
        """A network on the flattened arguments that equals g (or log g) on all letters; None
        without an alphabet.
        """
        points = combinations(alphabet, arguments)
        if points is None:
            return None
        lags = np.array([float(self.reference(tokens)) for tokens in points])
        if log and lags.min() < 1:
            return None  # log 0
        return interpolate(points.reshape(len(points), -1), np.log(lags) if log else lags)

    def barron(self, arguments: int, alphabet: Alphabet | None) -> float | None:
        """Upper bound of the Barron norm of g; None where the tokens are not finitely many."""
        net = self.network(arguments, alphabet)
        return None if net is None else net.path_norm

    def log_barron(self, arguments: int, alphabet: Alphabet | None) -> float | None:
        """Upper bound of the Barron norm of log g; None also where g can be 0."""
        net = self.network(arguments, alphabet, log=True)
        return None if net is None else net.path_norm

    def separation(self, arguments: int, alphabet: Alphabet | None) -> float | None:
        """Smallest distance of two arguments with different lags (inf: g is constant); None
        without an alphabet.
        """
        points = combinations(alphabet, arguments)
        if points is None:
            return None
        flat = points.reshape(len(points), -1)
        lags = np.array([self.reference(tokens) for tokens in points])
        squares = (flat**2).sum(1)
        distances = np.sqrt(np.maximum(squares[:, None] + squares[None] - 2 * flat @ flat.T, 0.0))
        return float(np.where(lags[:, None] != lags[None], distances, np.inf).min())


lag_functions: Registry[AbstractLagFunction] = Registry("lag-function", AbstractLagFunction)


def combinations(alphabet: Alphabet | None, arguments: int) -> np.ndarray | None:
    """All stacks of letters, a missing token's zero being one more.  [V^arguments, arguments, d]"""
    if alphabet is None:
        return None
    zero = (0.0,) * len(alphabet[0])
    letters = alphabet if zero in alphabet else (*alphabet, zero)
    if len(letters) ** arguments > LARGEST_TABLE:
        return None
    return np.array(list(itertools.product(letters, repeat=arguments)))


def _check_largest(largest: int, lowest: int) -> None:
    require(
        largest >= max(lowest, 1), f"largest lag {largest}", "at least 1", "choose a larger one"
    )


@lag_functions.register(
    "affine",
    formula="g(x) = clip(floor(offset + slope x_1 + 1/2), 1, T), x = newest argument",
    ref=PROP_42,
)
@dataclasses.dataclass(frozen=True)
class Affine(AbstractLagFunction):
    """A rounded affine function of the newest argument's first coordinate.

    >>> g = Affine(offset=1, slope=1, T=2, allow_zero=True)
    >>> [g.reference(np.array([[x]])) for x in (-1.0, 0.0, 1.0)]
    [0, 1, 2]
    """

    offset: float
    slope: float
    T: int
    allow_zero: bool = False

    def __post_init__(self):
        require(
            math.isfinite(self.offset), f"offset {self.offset}", "a finite number", "choose another"
        )
        require(
            math.isfinite(self.slope), f"slope {self.slope}", "a finite number", "choose another"
        )
        _check_largest(self.T, self.lowest)

    def __call__(self, tokens):
        wish = jnp.floor(self.offset + self.slope * tokens[..., -1, 0] + 0.5)
        return jnp.clip(wish, self.lowest, self.T).astype(jnp.int32)

    def reference(self, tokens):
        return min(
            max(math.floor(self.offset + self.slope * float(tokens[-1][0]) + 0.5), self.lowest),
            self.T,
        )

    def possible(self, arguments):
        return tuple(range(self.lowest, self.T + 1))


@lag_functions.register(
    "table", formula="g(x) = lags[letter of x], x = newest argument", ref=PAPER_ADAPTIVE
)
@dataclasses.dataclass(frozen=True)
class Table(AbstractLagFunction):
    """One lag per letter of the newest argument; without an alphabet letters are one-hot vectors.

    A missing token (zero vector, where that is no letter) has the first of the lags.

    >>> Table(lags=(3, 9)).reference(np.array([[0.0, 1.0]]))
    9
    """

    lags: tuple[int, ...]
    alphabet: Alphabet = ()
    allow_zero: bool = False

    def __post_init__(self):
        object.__setattr__(self, "lags", tuple(int(lag) for lag in self.lags))
        object.__setattr__(
            self, "alphabet", tuple(tuple(float(c) for c in letter) for letter in self.alphabet)
        )
        require(self.lags, "a table without lags", "one lag per letter", "give lags=…")
        fix = "lags count back from the read position; lag 0 needs allow_zero=true"
        require(min(self.lags) >= self.lowest, f"lags {self.lags}", f"at least {self.lowest}", fix)
        matched = len(self.alphabet) in (0, len(self.lags))
        require(
            matched,
            f"{len(self.lags)} lags for {len(self.alphabet)} letters",
            "one lag per letter",
            "match them",
        )
        require(
            len(set(self.alphabet)) == len(self.alphabet),
            "the same letter twice",
            "distinct letters",
            "drop repeats",
        )
        require(
            len({len(letter) for letter in self.alphabet}) <= 1,
            "letters of different sizes",
            "vectors of one size",
            "pad them",
        )

    def check(self, arguments, d):
        size = len(self.alphabet[0]) if self.alphabet else len(self.lags)
        require(
            d == size,
            f"tokens of size {d}",
            f"size {size}, that of a letter",
            "one lag per letter (one-hot where no alphabet is given)",
        )

    def _letters(self) -> tuple[np.ndarray, np.ndarray]:
        """Letters and lags, with the zero vector first: a tie goes to it.  [V', d], [V']"""
        letters = np.array(self.alphabet) if self.alphabet else np.eye(len(self.lags))
        if np.any(np.all(letters == 0, axis=1)):
            return letters, np.array(self.lags)
        return np.concatenate([np.zeros((1, letters.shape[1])), letters]), np.array(
            [self.lags[0], *self.lags]
        )

    def __call__(self, tokens):
        letters, lags = self._letters()
        points = jnp.asarray(letters, tokens.dtype)
        score = (
            jnp.einsum("...d,vd->...v", tokens[..., -1, :], points, precision="highest")
            - jnp.sum(points**2, -1) / 2
        )
        return jnp.asarray(lags, jnp.int32)[jnp.argmax(score, -1)]

    def reference(self, tokens):
        letters, lags = self._letters()
        distances = [math.dist(tokens[-1], letter) for letter in letters]
        return int(lags[distances.index(min(distances))])

    def possible(self, arguments):
        return tuple(sorted(set(self.lags)))


@lag_functions.register(
    "bits",
    formula="g(x_0, …, x_{n-1}) = first + stride sum_i 2^i [x_{i,1} > 0]",
    ref=Ref("wang-e-2024", "Section 4, Example I"),
)
@dataclasses.dataclass(frozen=True)
class Bits(AbstractLagFunction):
    """The lag in binary, by the signs of all arguments so far; x_t is the lowest bit.

    On tokens -1, 0, 1 the bit is relu(x), so g = first + stride sum_i 2^i relu(x_i) is its own
    network.

    >>> Bits(first=3).reference(np.array([[1.0], [-1.0], [1.0]]))
    8
    """

    first: int = 1
    stride: int = 1
    allow_zero: bool = False

    def __post_init__(self):
        require(
            self.first >= self.lowest,
            f"first lag {self.first}",
            f"at least {self.lowest}",
            "choose a later one",
        )
        require(self.stride >= 1, f"stride {self.stride}", "at least 1", "choose a larger one")

    def check(self, arguments, d):
        require(
            arguments <= 24, f"a lag of {arguments} bits", "at most 24", "use a smaller nesting"
        )

    def __call__(self, tokens):
        bits = (tokens[..., 0] > 0).astype(jnp.int32)  # [..., arguments]
        return self.first + self.stride * (bits << jnp.arange(bits.shape[-1], dtype=jnp.int32)).sum(
            -1, dtype=jnp.int32
        )

    def reference(self, tokens):
        return self.first + self.stride * sum(2**i for i, row in enumerate(tokens) if row[0] > 0)

    def possible(self, arguments):
        return tuple(self.first + self.stride * i for i in range(2**arguments))

    def network(self, arguments, alphabet, log=False):
        signs = alphabet is not None and all(
            len(letter) == 1 and letter[0] in (-1.0, 0.0, 1.0) for letter in alphabet
        )
        if log or not signs:
            return super().network(arguments, alphabet, log)
        a = np.array([self.first, *(self.stride * 2.0**i for i in range(arguments))])
        b = np.concatenate([np.zeros((1, arguments)), np.eye(arguments)])
        return ReluNetwork(a, b, np.eye(arguments + 1)[0])


@lag_functions.register(
    "callable",
    formula="g = function(tokens), [..., arguments, d] -> whole numbers",
    ref=PAPER_ADAPTIVE,
)
@dataclasses.dataclass(frozen=True)
class CallableLag(AbstractLagFunction):
    """Any function of the arguments, with its largest lag declared.

    `slow` is its plain Python reference for one [arguments, d] (without it the function itself is
    used). Under jit a lag outside 1..T cannot be refused and is clipped; the reference refuses it.
    """

    function: Callable
    T: int
    slow: Callable | None = None
    allow_zero: bool = False
    barron_bound: float | None = None
    log_barron_bound: float | None = None

    def __post_init__(self):
        require(
            callable(self.function),
            f"a {type(self.function).__name__} as the function",
            "one that can be called",
            "pass a function",
        )
        _check_largest(self.T, self.lowest)

    def check(self, arguments, d):
        made = jax.eval_shape(
            self.function, jax.ShapeDtypeStruct((2, arguments, d), jnp.result_type(float))
        )
        require(
            made.shape == (2,),
            f"the function maps (2, {arguments}, {d}) to {made.shape}",
            "(2,)",
            "map [..., arguments, d] to [...]",
        )

    def __call__(self, tokens):
        return jnp.clip(self.function(tokens), self.lowest, self.T).astype(jnp.int32)

    def reference(self, tokens):
        found = self.slow(tokens) if self.slow is not None else self.function(jnp.asarray(tokens))
        lag = int(found)
        legal = lag == found and self.lowest <= lag <= self.T
        require(
            legal,
            f"lag {found}",
            f"a whole number from {self.lowest} to {self.T}",
            "mend the function",
        )
        return lag

    def possible(self, arguments):
        return tuple(range(self.lowest, self.T + 1))

    def barron(self, arguments, alphabet):
        return (
            super().barron(arguments, alphabet) if self.barron_bound is None else self.barron_bound
        )

    def log_barron(self, arguments, alphabet):
        return (
            super().log_barron(arguments, alphabet)
            if self.log_barron_bound is None
            else self.log_barron_bound
        )
