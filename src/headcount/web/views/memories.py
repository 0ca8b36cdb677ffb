"""A memory at work: an input sequence, what every position reads, and the answers."""

import functools
from typing import Any

import jax
import numpy as np

from headcount.core.errors import require
from headcount.memory.adaptive import AdaptiveMemory
from headcount.memory.essential import EssentialMemory
from headcount.memory.fixed import FixedMemory
from headcount.memory.inputs import AbstractInputs
from headcount.memory.named import targets, unnamed
from headcount.memory.read import Everywhere
from headcount.memory.target import AbstractTarget
from headcount.web.asked import AskMemory
from headcount.web.views.plain_numbers import short, short_one

KERNEL_LAGS = 64
FAINT = 1e-3  # a weight below this share of the largest is not drawn


def memory_view(asked: AskMemory) -> dict[str, Any]:
    """Profile, sequence, reads of every position and answers."""
    target = unnamed(targets.build(asked.memory))
    known = isinstance(target, FixedMemory | AdaptiveMemory | EssentialMemory)
    require(
        known,
        f"memory {target.kind}",
        "a fixed, adaptive or essential memory",
        "see the plan page for tasks on tokens",
    )
    length = max(asked.length, target.shortest)
    require(length <= 1024, f"{length} tokens", "at most 1024", "use shorter lags")
    x = drawn(target.inputs, asked.seed, length)  # type: ignore[attr-defined]
    y = np.asarray(target.reference(x, Everywhere()))[0]  # [N, o]
    profile = target.memory_profile()
    return {
        "kind": target.kind,
        "family": str(profile.family),
        "formula": targets[target.kind].formula,
        "source": str(targets[target.kind].ref),
        "memories": profile.memories,
        "nesting": profile.nesting,
        "longest_lag": profile.longest_lag,
        "lipschitz": profile.lipschitz,
        "barron": profile.barron,
        "note": profile.note,
        "x": short(_shown(x[0])),
        "y": short(_shown(y)),
        "reads": [reads(target, x[0], t) for t in range(length)],
        "kernels": [short(k.values(KERNEL_LAGS)) for k in profile.kernels],
    }


@functools.partial(jax.jit, static_argnums=(0, 2))
def _drawn(inputs: AbstractInputs, key: jax.Array, length: int) -> jax.Array:
    return inputs.sample(key, 1, length)


def drawn(inputs: AbstractInputs, seed: int, length: int) -> np.ndarray:
    """A sequence of these inputs; compiled once per law and length.  [1, N, d]"""
    return np.asarray(_drawn(inputs, jax.random.key(seed), length), np.float64)


def _shown(vectors: np.ndarray) -> np.ndarray:
    """One number per position: the number itself, the letter of a one-hot vector, else the
    norm.  [N]"""
    if vectors.shape[1] == 1:
        return vectors[:, 0]
    letters = np.isclose(np.abs(vectors), 1).sum(1) == 1
    return np.argmax(vectors, 1) if letters.all() else np.linalg.norm(vectors, axis=1)


def reads(target: AbstractTarget, x: np.ndarray, t: int) -> list[list[Any]]:
    """(lag, weight) of what position t reads; weight 1 for a memory slot. Lags that lead before
    the first token read zero and are left out.
    """
    if isinstance(target, FixedMemory):
        return [[lag, 1.0] for lag in target.lags if lag <= t]
    if isinstance(target, AdaptiveMemory):
        return [[lag, 1.0] for lag in chosen_lags(target, x, t) if lag <= t]
    assert isinstance(target, EssentialMemory)
    weights = np.sum([np.abs(kernel.values(t + 1)) for kernel in target.kernel], axis=0)
    top = weights.max(initial=0.0)
    if not top > 0:
        return []
    seen = np.flatnonzero(weights > FAINT * top)
    return [[int(lag), short_one(weights[lag] / top)] for lag in seen]


def chosen_lags(target: AdaptiveMemory, x: np.ndarray, t: int) -> list[int]:
    """t_1, …, t_M at one position, each from the tokens that the earlier ones found (eq. (8))."""
    seen: list[np.ndarray] = [x[t]]
    lags: list[int] = []
    for g, arguments in zip(target.lag_functions, target.arguments, strict=True):
        lag = g.reference(np.stack(seen[:arguments]))
        lags.append(lag)
        seen.append(x[t - lag] if lag <= t else np.zeros(x.shape[1]))
    return lags
