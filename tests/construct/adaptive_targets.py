"""Small adaptive targets, and drafts of them judged by two NumPy references: the model's and the
target's. No jax is compiled.
"""

import itertools

import numpy as np

from headcount.construct import constructions
from headcount.construct.draft import Draft, Request
from headcount.memory.named import targets, unnamed
from headcount.memory.read import AbstractRead, Everywhere
from headcount.memory.target import AbstractTarget
from headcount.model.reference import forward
from tests.construct.drafted import drafted as made

TWO = "adaptive:lag_functions=bits+bits"  # K = 0, M = 2, lags 1 and 2
# the token found names the next lag
NEXT = "affine(offset=1.5,slope=0.5,T=2)"
CHAIN = f"adaptive:lag_functions={NEXT}+{NEXT},nesting=1"


def drafted(name: str, target: str | AbstractTarget, **wish) -> Draft:
    """The draft of a construction, which must not refuse."""
    return made(name, target, **wish)[1]


def refused(name: str, target: str | AbstractTarget, **wish) -> list[str]:
    wanted = Request(**{"length": 24, "heads": 3, **wish})
    return [str(r) for r in constructions.build(name).refusals(targets.build(target), wanted)]


def windows(target: str | AbstractTarget, length: int) -> np.ndarray:
    """Every sequence of letters where they are few, else 48 of them.  [B, N, d]"""
    letters = np.array(unnamed(targets.build(target)).inputs.alphabet)
    if len(letters) ** length <= 128:
        return letters[np.array(list(itertools.product(range(len(letters)), repeat=length)))]
    return letters[np.random.default_rng(0).integers(len(letters), size=(48, length))]


def worst(
    draft: Draft, target: str | AbstractTarget, length: int = 6, read: AbstractRead | None = None
) -> float:
    """The largest error over the windows, at every position unless said."""
    x, where = windows(target, length), read or Everywhere()
    return float(
        np.abs(forward(draft.model, x, where) - targets.build(target).reference(x, where)).max()
    )
