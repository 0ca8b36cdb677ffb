"""A function or a saved model, probed: what does its answer depend on?

Rows are drawn, answered, and diagnosed like any other; and every element is redrawn in turn. The
share of the answer's variance that changes with one element (Jansen's estimate of the total effect;
for labels the share of answers that change) is zero only for elements that play no part, whatever
is done with them: three and more elements together are found too.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from headcount.core.errors import InputError, require
from headcount.diagnose.arrays import sequences_of
from headcount.diagnose.samples import Sequences

ROWS = 2000


@dataclasses.dataclass(frozen=True)
class Effect:
    """What redrawing the element at one lag changes."""

    lag: int
    share: float
    error: float


@dataclasses.dataclass(frozen=True)
class Probed:
    """Answered rows, and the effect of every element."""

    sequences: Sequences
    effects: tuple[Effect, ...]
    questions: int


Box = Callable[[np.ndarray], Any]


def probe(
    box: Box, length: int, *, symbols: int | None = None, rows: int = ROWS, seed: int = 0
) -> Probed:
    """`box` maps x [n, length] (normal numbers, or tokens below `symbols`) to n answers."""
    require(length >= 2, f"length {length}", "at least 2", "give the length of a sequence")
    require(rows >= 200, f"rows {rows}", "at least 200", "for example 2000")
    rng = np.random.default_rng([seed, 21])

    def draw(*shape: int) -> np.ndarray:
        return rng.integers(0, symbols, shape) if symbols else rng.normal(size=shape)

    x = draw(rows, length)
    y = _answers(box, x)
    labels = symbols is not None and bool((y == y.round()).all())
    spread = 1.0 if labels else 2 * max(float(y.var()), 1e-300)
    effects = []
    for place in range(length):
        other = x.copy()
        other[:, place] = draw(rows)
        again = _answers(box, other)
        change = (again != y).astype(float) if labels else (again - y) ** 2 / spread
        error = float(change.std(ddof=1) / np.sqrt(rows))
        effects.append(Effect(length - 1 - place, float(change.mean()), error))
    made = sequences_of(x, y, tokens=True if labels else False if symbols is None else None)
    return Probed(made, tuple(effects[::-1]), rows * (length + 1))


def _answers(box: Box, x: np.ndarray) -> np.ndarray:
    try:
        y = np.asarray(box(x), float)
    except Exception as error:
        raise InputError(
            f"the black box fails ({type(error).__name__}: {' '.join(str(error).split())[:80]})",
            f"a function of an array {list(x.shape)}",
            "try it by hand",
        ) from None
    require(y.size == len(x), f"{y.size} answers for {len(x)} rows", "one per row", "return [n]")
    require(np.isfinite(y).all(), "answers that are not finite", "finite numbers", "check the box")
    return y.reshape(-1)


def saved_box(folder: Path) -> tuple[Box, int | None]:
    """A model folder written by `headcount build` or `save` as a function of the last position,
    and its number of symbols (None: real tokens of one coordinate).
    """
    import jax.numpy as jnp

    from headcount.memory.read import Last
    from headcount.model.embedding import TokenEmbedding
    from headcount.model.save import load

    model = load(folder)
    embedding = getattr(model, "embedding", None)
    symbols = None
    if isinstance(embedding, TokenEmbedding):
        symbols = int(embedding.weight.shape[0])

    def box(x: np.ndarray) -> np.ndarray:
        given = jnp.asarray(x, jnp.int32) if symbols else jnp.asarray(x[:, :, None], jnp.float32)
        out = np.asarray(model(given, Last()))[:, 0]  # [n, o]
        return out.argmax(1) if symbols and out.shape[1] > 1 else out[:, 0]

    return box, symbols
