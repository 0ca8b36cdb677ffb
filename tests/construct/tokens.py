"""Every token sequence of a length through a drafted model, beside the target's own reference."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from headcount.construct import constructions
from headcount.construct.check import reference
from headcount.construct.construction import in_precision
from headcount.construct.draft import Draft, Request
from headcount.core.claims import Precision
from headcount.memory.named import targets
from headcount.memory.read import AbstractRead, Everywhere
from headcount.memory.target import AbstractTarget

EVERYWHERE = Everywhere()


def drafted(
    construction: str, target: str, bias: str, normaliser: str, length: int
) -> tuple[AbstractTarget, Draft]:
    """Without the checks of a build, which have tests of their own."""
    built, request = (
        targets.build(target),
        Request(bias, tol=0.01, normaliser=normaliser, length=length),
    )
    part = constructions.build(construction)
    assert part.refusals(built, request) == []
    return built, part.draft(built, request)


def every_sequence(vocabulary: int, length: int) -> np.ndarray:
    """All of them, padding included.  [(V+1)^N, N]"""
    return np.array(list(itertools.product(range(-1, vocabulary), repeat=length)), dtype=np.int32)


def logits(draft: Draft, x: np.ndarray, read: AbstractRead = EVERYWHERE) -> np.ndarray:
    """Of the float32 model, which must be finite everywhere, answer or none.  [B, R, V]"""
    narrow = in_precision(draft.model, Precision.FLOAT32)
    found = np.asarray(jax.jit(lambda z: narrow(z, read))(jnp.asarray(x)), np.float64)
    assert np.isfinite(found).all()
    return found


def worst(
    target: AbstractTarget, draft: Draft, x: np.ndarray, read: AbstractRead = EVERYWHERE
) -> float:
    """The largest error of an answer that counts; some must."""
    wanted, counted = reference(target, x, read)
    assert counted.any()
    return float(np.abs(logits(draft, x, read) - wanted)[counted].max())
