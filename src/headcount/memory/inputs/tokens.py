"""Categorical tokens as vectors: one-hot or embedded, independent or from a Markov chain."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.core.sizes import require_memory
from headcount.memory.inputs.base import (
    PAPER_SETUP,
    AbstractInputs,
    check_symbols,
    default_float,
    inputs,
)

NUMBER_BYTES = 32.0  # of a float in a tuple
MARKOV = Ref("shannon-1948", "Section 3")


@inputs.register("onehot", formula="x_t uniform on the unit vectors e_1, …, e_V", ref=PAPER_SETUP)
@dataclasses.dataclass(frozen=True)
class OneHot(AbstractInputs):
    """Independent uniform tokens of a vocabulary, as one-hot vectors."""

    symbols: int

    def __post_init__(self):
        check_symbols(self.symbols)
        _check_square(self.symbols)

    @property
    def dim(self):
        return self.symbols

    @property
    def bound(self):
        return 1.0

    @property
    def alphabet(self):
        return _rows(np.eye(self.symbols))

    def sample(self, key, batch, length):
        return jax.nn.one_hot(
            jax.random.randint(key, (batch, length), 0, self.symbols),
            self.symbols,
            dtype=default_float(),
        )


@inputs.register("embedded", formula="x_t uniform on V random unit vectors of R^d", ref=PAPER_SETUP)
@dataclasses.dataclass(frozen=True)
class Embedded(AbstractInputs):
    """Independent uniform tokens of a vocabulary, as random unit vectors that a seed fixes."""

    symbols: int
    d: int
    seed: int = 0

    def __post_init__(self):
        check_symbols(self.symbols)
        require(
            self.d >= 2,
            f"embedding in {self.d} dimensions",
            "at least 2",
            "one dimension has only -1 and 1: use 'boolean'",
        )
        require(self.seed >= 0, f"seed {self.seed}", "at least 0", "choose another seed")
        require_memory(
            NUMBER_BYTES * self.symbols * self.d,
            f"{self.symbols} vectors of size {self.d}",
            "use fewer symbols",
        )

    @property
    def dim(self):
        return self.d

    @property
    def bound(self):
        return 1.0

    @property
    def alphabet(self):
        return _rows(self.vectors())

    def vectors(self) -> np.ndarray:
        """[V, d]"""
        return _unit_vectors(self.symbols, self.d, self.seed)

    def sample(self, key, batch, length):
        return jnp.asarray(self.vectors(), default_float())[
            jax.random.randint(key, (batch, length), 0, self.symbols)
        ]


@inputs.register(
    "markov", formula="P(x_t = e_j | x_{t-1} = e_i) = transition[i][j], stationary", ref=MARKOV
)
@dataclasses.dataclass(frozen=True)
class Markov(AbstractInputs):
    """A stationary Markov chain on V states, as one-hot vectors.

    Without a transition matrix its rows are uniform on the simplex, from the seed.
    """

    symbols: int = 2
    transition: tuple[tuple[float, ...], ...] = ()
    seed: int = 0

    def __post_init__(self):
        rows = tuple(tuple(float(p) for p in row) for row in self.transition)
        object.__setattr__(self, "transition", rows)
        check_symbols(self.symbols)
        _check_square(self.symbols)
        require(self.seed >= 0, f"seed {self.seed}", "at least 0", "choose another seed")
        square = not rows or (
            len(rows) == self.symbols and all(len(row) == self.symbols for row in rows)
        )
        require(
            square,
            f"a transition of {len(rows)} rows",
            f"{self.symbols} rows of {self.symbols}",
            "one row and one column a symbol",
        )
        matrix = np.array(rows) if rows else np.ones((1, 1))
        stochastic = np.all(matrix >= 0) and np.allclose(matrix.sum(1), 1, rtol=0, atol=1e-9)
        require(
            stochastic,
            "a transition that is not stochastic",
            "rows of probabilities that sum to 1",
            "divide each row by its sum",
        )
        self.stationary()

    @property
    def dim(self):
        return self.symbols

    @property
    def bound(self):
        return 1.0

    @property
    def alphabet(self):
        return _rows(np.eye(self.symbols))

    def matrix(self) -> np.ndarray:
        """The transition matrix.  [V, V]"""
        return (
            np.array(self.transition) if self.transition else _random_rows(self.symbols, self.seed)
        )

    def stationary(self) -> np.ndarray:
        """The law of every x_t.  [V]"""
        free = self.matrix().T - np.eye(self.symbols)
        unique = np.linalg.matrix_rank(free, tol=1e-9) == self.symbols - 1
        require(
            unique,
            "a chain with several stationary laws",
            "one that can go between its states",
            "join its parts or drop one",
        )
        system = np.concatenate([free, np.ones((1, self.symbols))])
        law = np.linalg.lstsq(system, np.eye(self.symbols + 1)[-1], rcond=None)[0]
        return np.maximum(law, 0.0) / np.maximum(law, 0.0).sum()

    def sample(self, key, batch, length):
        # Inverse transform: the next state counts the cumulated probabilities up to a uniform draw.
        draws = jax.random.uniform(key, (length, batch, 1), default_float())
        first = jnp.asarray(np.cumsum(self.stationary())[:-1], draws.dtype)
        rows = jnp.asarray(np.cumsum(self.matrix(), axis=1)[:, :-1], draws.dtype)

        def step(state, draw):
            state = jnp.sum(draw >= rows[state], axis=-1)
            return state, state

        start = jnp.sum(draws[0] >= first, axis=-1)
        later = jax.lax.scan(step, start, draws[1:])[1]  # [N-1, B]
        states = jnp.concatenate([start[None], later]).T
        return jax.nn.one_hot(states, self.symbols, dtype=default_float())


def _check_square(symbols: int) -> None:
    require_memory(
        NUMBER_BYTES * symbols**2, f"one-hot vectors of {symbols} symbols", "use fewer symbols"
    )


def _rows(matrix: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(c) for c in row) for row in matrix)


@functools.lru_cache(maxsize=64)
def _unit_vectors(symbols: int, d: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng([seed, symbols, d]).standard_normal((symbols, d))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors.setflags(write=False)
    return vectors


@functools.lru_cache(maxsize=64)
def _random_rows(symbols: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng([seed, symbols]).dirichlet(np.ones(symbols), size=symbols)
    rows.setflags(write=False)
    return rows
