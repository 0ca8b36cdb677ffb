"""What a trained model found, read off its weights: the kernel per head, and the weight it gives
each lag of the answer where the model is linear.

The lags found are those where the model's own kernel is at least half of its largest value; they
are compared with the lags that the memory reads. Where the answer is no linear function of the
tokens, the gradient at zero stands for it, and is told as such.
"""

import dataclasses
from typing import Any

import jax
import numpy as np

from headcount.memory.read import AbstractRead
from headcount.memory.target import AbstractTarget
from headcount.model.base import AbstractModel
from headcount.model.head_roles import LENGTH, HeadRole, head_roles
from headcount.train.population import kernel, lags_read

PROMINENT = 0.5  # of the largest entry: a lag that was found
LEARNED = 0.01  # of the variance left: learned; above 0.5 of it, not
SHARE = 0.5


@dataclasses.dataclass(frozen=True)
class Learned:
    """Per head what it weighs; per lag what the answer owes to it (empty for integer tokens)."""

    heads: tuple[HeadRole, ...]
    answer: np.ndarray  # [length] the largest entry over outputs and coordinates
    wanted: tuple[int, ...]  # the lags that the memory reads; none where it has none

    @property
    def lags_found(self) -> tuple[int, ...]:
        """Where the answer's kernel is large."""
        size = np.abs(self.answer)
        if not size.size or not np.isfinite(size).all() or not size.max():
            return ()
        return tuple(np.flatnonzero(size >= PROMINENT * size.max()).tolist())

    def to_json(self) -> dict[str, Any]:
        return {
            "lags_found": list(self.lags_found),
            "lags_wanted": list(self.wanted),
            "answer_kernel": self.answer.tolist(),
            "heads": [
                {
                    "layer": role.layer,
                    "head": role.head,
                    "by_content": role.by_content,
                    "peak_lag": role.peak,
                    "share": role.share,
                    "mean_lag": role.mean_lag,
                    "kernel": role.kernel.tolist(),
                }
                for role in self.heads
            ],
        }

    def sentences(self, relative_loss: float | None, most: int) -> list[str]:
        """Lines for a reader; at most so many heads."""
        told = []
        if self.lags_found:
            wanted = f"; the memory reads {_listed(self.wanted)}" if self.wanted else ""
            told.append(f"The answer looks most at lag {_listed(self.lags_found)}{wanted}.")
        told += [
            f"layer {role.layer}, head {role.head}: {role.sentence()}" for role in self.heads[:most]
        ]
        if len(self.heads) > most:
            told.append(f"… and {len(self.heads) - most} more heads (--json has all)")
        if relative_loss is not None:
            told.append(
                f"Learned: {relative_loss:.3g} of the answers' variance is left"
                f" ({_word(relative_loss)}). What is promised and possible: headcount plan."
            )
        return told


def what_was_learned(target: AbstractTarget, model: AbstractModel, length: int) -> Learned:
    """Read the heads of a model, and the weight of each lag in its answer."""
    rows = max(length or LENGTH, target.shortest)
    heads = tuple(head_roles(model, rows))
    answer = np.zeros(0)
    if model.tokens[0] is None:
        answer = _answer(model, target.read, rows)
    return Learned(heads, answer, lags_read(target))


def _answer(model: AbstractModel, read: AbstractRead, length: int) -> np.ndarray:
    """The largest entry of the answer's kernel at each lag.  [length]"""
    row = int(read.rows(length)[-1])
    with jax.enable_x64(any(str(a.dtype) == "float64" for a in jax.tree.leaves(model))):
        values = np.asarray(kernel(model, read, length, model.tokens[1])[0], np.float64)
    return np.abs(values).max(axis=(0, 2))[row::-1]


def _listed(lags: tuple[int, ...]) -> str:
    return ", ".join(map(str, lags[:8])) + (" …" if len(lags) > 8 else "")


def _word(relative: float) -> str:
    return "learned" if relative <= LEARNED else "in part" if relative < SHARE else "not learned"
