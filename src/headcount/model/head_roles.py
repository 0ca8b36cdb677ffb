"""What each head of a model does, read off its weights: which lags it weighs, where it reads and
writes.

Only a head without content (dot-product-free, or with a dot product of zero weights) has lags of
its own; of the others it is told that the tokens decide. Its kernel is what the last of `length`
rows sees, divided as the normaliser does.

>>> import jax, headcount as hc
>>> spec = hc.ModelSpec(attention="dp-free", bias="peak:reach=9,rate=50", width=4)
>>> role = head_roles(spec.build(jax.random.key(3), dim=1), 16)[0]
>>> role.layer, role.head, role.by_content, role.share > 0.9
(1, 1, False, True)
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from headcount.model import paths
from headcount.model.attention import Attention
from headcount.model.base import AbstractModel
from headcount.model.baselines import Heads
from headcount.model.scores import lags_and_positions
from headcount.model.transformer import Transformer

LENGTH = 64  # rows of which a head's kernel is told, where none is said
FEW = 4  # stretches of coordinates that are named one by one
LONGEST, ENTRIES = 2**12, 2**24  # how far a reach is sought, and heads times lags at most


@dataclasses.dataclass(frozen=True)
class HeadRole:
    """One head. `kernel` is its weight per lag, [] where the tokens decide it."""

    layer: int  # from 1
    head: int  # from 1
    by_content: bool
    kernel: np.ndarray  # [length]
    reads: tuple[int, ...]  # coordinates of the stream that W_V sees
    writes: tuple[int, ...]  # coordinates that W_O adds to
    gain: float  # the largest entry of W_O W_V
    width: int  # D

    @property
    def total(self) -> float:
        """The sum of its weights."""
        return float(np.abs(self.kernel).sum())

    @property
    def peak(self) -> int | None:
        """The lag with the largest weight."""
        return int(np.argmax(self.kernel)) if self.total > 0 else None

    @property
    def share(self) -> float:
        """The part of all weight that is at the peak."""
        return float(self.kernel.max() / self.total) if self.total > 0 else 0.0

    @property
    def mean_lag(self) -> float:
        """How far back it looks on average."""
        if not self.total:
            return 0.0
        return float((np.arange(len(self.kernel)) * self.kernel).sum() / self.total)

    def sentence(self, spaces: Mapping[str, slice] | None = None) -> str:
        """In words, with the names of subspaces where they are known."""
        places = (
            f"reads {_named(self.reads, self.width, spaces)}, writes"
            f" {_named(self.writes, self.width, spaces)}"
            f" (largest entry of W_O W_V {self.gain:.4g})"
        )
        if not self.writes:
            return "adds nothing"
        if self.by_content:
            return f"weighs tokens by content; {places}"
        if self.peak is None:
            return f"sees nothing; {places}"
        return (
            f"weighs lag {self.peak} most ({self.share:.1%} of its weight), mean lag"
            f" {self.mean_lag:.3g}; {places}"
        )


def attentions(model: AbstractModel) -> list[Attention]:
    """The attention sublayers, layer by layer; none of a recurrence or convolution."""
    if isinstance(model, Transformer):
        return [layer.attention for layer in model.layers]
    return [model.attention] if isinstance(model, Heads) else []


def head_roles(
    model: AbstractModel, length: int = LENGTH, most: int | None = None
) -> list[HeadRole]:
    """Every head of every layer, or the first `most` of each."""
    with jax.enable_x64(True):  # a model in float64 may have been handed in from outside
        return [
            role
            for number, attention in enumerate(attentions(model), 1)
            for role in _of_layer(number, attention, length, most)
        ]


def reach(model: AbstractModel) -> int:
    """The farthest lag that a content-free head prefers: rows from there on show what it does.

    >>> import jax, headcount as hc
    >>> spec = hc.ModelSpec(attention="dp-free", bias="lin", width=4)
    >>> reach(spec.build(jax.random.key(3), dim=1))
    0
    """
    farthest = 0
    with jax.enable_x64(True):
        for attention in attentions(model):
            length = min(LONGEST, ENTRIES // attention.heads)
            free = ~attention.score.looks_at_tokens(attention.heads)
            if free.any() and length > 1:
                rows = jnp.array([length - 1])
                logits = attention.bias.logits(*lags_and_positions(rows, length))
                preferred = np.argmax(np.asarray(logits)[:, 0, ::-1], axis=-1)  # [H]
                farthest = max(farthest, int(preferred[free].max()))
    return farthest


def head_kernels(attention: Attention, length: int) -> np.ndarray:
    """Weight per lag of content-free heads, as the last of `length` rows sees it.  [H, length]"""
    rows = jnp.array([length - 1])
    logits = attention.bias.logits(*lags_and_positions(rows, length))  # [H, 1, N]
    seen = paths.weights(attention.bias, attention.normaliser, logits, rows)
    return np.asarray(seen, np.float64)[:, 0, ::-1]


def _of_layer(number: int, attention: Attention, length: int, most: int | None) -> list[HeadRole]:
    asks = attention.score.looks_at_tokens(attention.heads)
    kernels = np.zeros((attention.heads, 0)) if asks.all() else head_kernels(attention, length)
    return [
        _role(number, h, attention, bool(asks[h]), kernels[h][: 0 if asks[h] else None])
        for h in range(attention.heads)[:most]
    ]


def _role(
    number: int, h: int, attention: Attention, by_content: bool, kernel: np.ndarray
) -> HeadRole:
    value, out = (np.asarray(w[h], np.float64) for w in (attention.w_value, attention.w_out))
    through = out @ value  # [D, D]
    reads, writes = (np.flatnonzero(np.abs(through).max(axis)).tolist() for axis in (0, 1))
    gain = float(through.flat[np.abs(through).argmax()])
    return HeadRole(
        number, h + 1, by_content, kernel, tuple(reads), tuple(writes), gain, len(through)
    )


def _named(coordinates: Sequence[int], width: int, spaces: Mapping[str, slice] | None) -> str:
    """Subspaces that hold all the coordinates, or the coordinates themselves."""
    if len(coordinates) == width and not spaces:
        return "the whole stream"
    left, names = set(coordinates), []
    for name, where in (spaces or {}).items():
        inside = left & set(range(where.start, where.stop))
        if inside:
            names.append(name)
            left -= inside
    if left:
        names.append(f"coordinate{'s' if len(left) > 1 else ''} {ranges(sorted(left))}")
    return " and ".join(names) or "nothing"


def ranges(numbers: Iterable[int]) -> str:
    """Ascending whole numbers, neighbours as stretches; at most a few.

    >>> ranges([0, 1, 2, 5]), ranges(range(0, 20, 2))
    ('0–2, 5', '0, 2, 4, 6 and 6 more')
    """
    stretches: list[list[int]] = []
    for number in numbers:
        if stretches and stretches[-1][-1] == number - 1:
            stretches[-1].append(number)
        else:
            stretches.append([number])
    few = ", ".join(f"{s[0]}–{s[-1]}" if len(s) > 1 else str(s[0]) for s in stretches[:FEW])
    rest = sum(map(len, stretches[FEW:]))
    return few + (f" and {rest} more" if rest else "")
