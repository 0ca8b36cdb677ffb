"""A table over the letters of a finite alphabet: any function of finitely many tokens.

Letters are vectors; without an alphabet they are the one-hot vectors of size d. A slot takes its
nearest letter, where the zero vector (a memory from before the first token) counts as "no letter"
and makes f = 0.

Exact network, one neuron per combination (v_1, …, v_p): where every letter sticks out, that is
a_v.a_w < ||a_v||^2,

    relu( 1 + (sum_i a_{v_i}.z_i - sum_i ||a_{v_i}||^2) / delta ),
    delta = min_i min_w ||a_{v_i}||^2 - a_{v_i}.a_w   (w = "no letter" too),

is 1 on its own combination and 0 on every other. On one-hot letters delta = 1 and a neuron costs
p + (p-1). Where some letter does not stick out (0 in {-1, 0, 1}), all combinations are projected on
a line and interpolated. The network with the smaller path norm gives the Barron bound and the
Lipschitz bound.
"""

import dataclasses
import functools
import itertools
import math

import jax.numpy as jnp
import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.readouts.base import AbstractReadout, memories, readouts, taking_part
from headcount.memory.readouts.network import ReluNetwork, interpolate

LARGEST_TABLE = 65536
LARGEST_INTERPOLATION = 4096


@readouts.register(
    "lookup",
    formula="f(z) = table[letter of z_1, …, letter of z_p], 0 if one is missing",
    ref=Ref("headcount", "docs/errata.md#e24"),
)
@dataclasses.dataclass(frozen=True)
class Lookup(AbstractReadout):
    """A table over the letters of the memories (and of x_t with `current`).

    `values` runs over the combinations with the last memory fastest; without it the values are
    standard normal from `seed`, shifted and scaled to mean 0 and variance 1 over the table.

    >>> Lookup(alphabet=((-1.0,), (1.0,)), values=(5.0, 7.0)).reference(np.array([[1.0], [-1.0]]))
    array([5.])
    """

    alphabet: tuple[tuple[float, ...], ...] = ()
    values: tuple[float, ...] = ()
    seed: int = 0
    current: bool = False

    def __post_init__(self):
        object.__setattr__(
            self, "alphabet", tuple(tuple(float(c) for c in letter) for letter in self.alphabet)
        )
        object.__setattr__(self, "values", tuple(float(v) for v in self.values))
        require(self.seed >= 0, f"seed {self.seed}", "at least 0", "choose another seed")
        require(
            np.all(np.isfinite(self.values)),
            "a table with NaN or inf",
            "finite values",
            "remove them",
        )
        require(
            len({len(letter) for letter in self.alphabet}) <= 1,
            "letters of different sizes",
            "vectors of one size",
            "pad them",
        )
        require(
            len(set(self.alphabet)) == len(self.alphabet),
            "the same letter twice",
            "distinct letters",
            "drop repeats",
        )
        require(
            np.all(np.isfinite(self.alphabet)),
            "a letter with NaN or inf",
            "finite letters",
            "remove them",
        )

    def check(self, slots, d):
        p = taking_part(slots, self.current)
        letters = self.letters(d)
        require(
            letters.shape[1] == d,
            f"letters of size {letters.shape[1]}",
            f"size {d}, that of a token",
            "match alphabet and inputs",
        )
        size = len(letters) ** p
        require(
            size <= LARGEST_TABLE,
            f"a table of {len(letters)}^{p} values",
            f"at most {LARGEST_TABLE}",
            "use fewer letters or memories",
        )
        complete = not self.values or len(self.values) == size
        require(
            complete,
            f"{len(self.values)} values",
            f"{len(letters)}^{p} = {size}",
            "one value per combination",
        )

    def letters(self, d: int) -> np.ndarray:
        """[V, d]"""
        return np.array(self.alphabet) if self.alphabet else np.eye(d)

    def table(self, memories: int, letters: int) -> np.ndarray:
        """[V, …, V], one axis per memory."""
        shape = (letters,) * memories
        if self.values:
            return np.array(self.values).reshape(shape)
        values = np.random.default_rng([self.seed, letters, memories]).standard_normal(shape)
        return (values - values.mean()) / values.std() if values.size > 1 else values

    def __call__(self, z):
        part = memories(z, self.current)
        letters, table = _with_missing(self, part.shape[-2], part.shape[-1])
        points = jnp.asarray(letters, z.dtype)
        score = (
            jnp.einsum("...d,vd->...v", part, points, precision="highest")
            - jnp.sum(points**2, -1) / 2
        )
        index = jnp.argmax(score, -1)  # [..., p]: the nearest letter
        place = index @ jnp.asarray(
            len(letters) ** np.arange(part.shape[-2] - 1, -1, -1), index.dtype
        )
        return jnp.asarray(table.ravel(), z.dtype)[place][..., None]

    def reference(self, z):
        part, letters = memories(z, self.current), self.letters(z.shape[1])
        table = self.table(len(part), len(letters))
        index = []
        for row in part:
            distances = [math.dist(row, letter) for letter in letters]
            if math.hypot(*row) < min(distances):
                return np.zeros(1)  # before the first token
            index.append(distances.index(min(distances)))
        return np.array([table[tuple(index)]])

    def lipschitz(self, slots, d):
        net = self.network(slots, d)
        return None if net is None else net.lipschitz

    def barron(self, slots, d):
        net = self.network(slots, d)
        return None if net is None else net.path_norm

    def network(self, slots, d):
        return _exact_network(self, slots, d)

    def holds(self, radius, alphabet):
        if alphabet is None:
            return False
        letters = self.letters(len(alphabet[0]))
        return all(np.abs(letters - np.array(token)).sum(1).min() < 1e-9 for token in alphabet)


def _with_missing(lookup: Lookup, memories: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Letters and table with the zero vector as a letter of value 0, unless it is one already."""
    letters = lookup.letters(d)
    table = lookup.table(memories, len(letters))
    if np.any(np.all(letters == 0, axis=1)):
        return letters, table
    return np.concatenate([letters, np.zeros((1, d))]), np.pad(table, [(0, 1)] * memories)


@functools.lru_cache(maxsize=128)
def _exact_network(lookup: Lookup, slots: int, d: int) -> ReluNetwork | None:
    p = taking_part(slots, lookup.current)
    letters, table = _with_missing(lookup, p, d)
    combinations = list(itertools.product(range(len(letters)), repeat=p))
    points = np.array([letters[list(v)].ravel() for v in combinations])  # [V^p, p d]
    found = [_one_neuron_each(letters, combinations, points, table.ravel())]
    if len(points) <= LARGEST_INTERPOLATION:
        found.append(interpolate(points, table.ravel()))
    nets = [net for net in found if net is not None]
    if not nets:
        return None
    best = min(nets, key=lambda net: net.path_norm)
    return ReluNetwork(best.a, np.pad(best.b, ((0, 0), ((slots - p) * d, 0))), best.c)


def _one_neuron_each(
    letters: np.ndarray, combinations: list[tuple[int, ...]], points: np.ndarray, values: np.ndarray
) -> ReluNetwork | None:
    """One neuron per combination of nonzero value, or None where a letter of such a combination
    does not stick out.
    """
    gram = letters @ letters.T
    squares = np.diag(gram)
    gaps = np.where(np.eye(len(letters), dtype=bool), np.inf, squares[:, None] - gram).min(1)  # [V]
    used = np.flatnonzero(values)
    v = np.array(combinations)[used]  # [m, p]
    delta = gaps[v].min(1)
    if np.any(delta <= 1e-9):
        return None
    return ReluNetwork(values[used], points[used] / delta[:, None], 1 - squares[v].sum(1) / delta)
