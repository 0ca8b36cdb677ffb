"""The running interpreter's own standard library as a byte corpus: real text that every machine
already has.

    y_t = x_{t+1}: the next byte.

Bytes are clipped to ASCII (0, …, 127); windows are drawn anywhere in the concatenated files of a
split, and files are split 9 : 1 into training and testing, so no file is seen in both. The answer
lies in the future of the position that is read, hence `causal = False`: at the last token of a
window it is unknown, and masked. The corpus depends on the version of Python; its hash is part of
the spec, and a spec made with another corpus is refused. With `path`, a text file or a folder of
texts, the corpus is the user's own, by the same rules.

Worked example — the label of each byte of `def ` is the byte after it, and the last has none:

    >>> import jax.numpy as jnp
    >>> target = Stdlib(megabytes=0.2)
    >>> target.evaluate(jnp.array([[100, 101, 102, 32]])).tolist()
    [[101, 102, 32, -1]]
    >>> target.held_out().split, target.held_out().corpus_hash == target.corpus_hash
    (<Split.TEST: 'test'>, True)
"""

import dataclasses
import enum
import sysconfig
from pathlib import Path
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.named.base import UNDEFINED, AbstractTokens
from headcount.memory.named.corpus import LARGEST_BYTE, python_corpus, text_corpus
from headcount.memory.read import AbstractRead, Everywhere
from headcount.memory.target import Family, MemoryProfile, targets


class Split(enum.StrEnum):
    """Which files the windows come from."""

    TRAIN = "train"
    TEST = "test"


@targets.register(
    "stdlib",
    formula="y_t = x_{t+1}, bytes of the Python standard library (or of path=...)",
    ref=Ref("headcount", "stand-in for experiments 1a and 3b"),
)
@dataclasses.dataclass(frozen=True)
class Stdlib(AbstractTokens):
    """Next-byte prediction on the sources of Python itself, or on any text."""

    causal: ClassVar[bool] = False
    megabytes: float = 3.0
    split: Split = Split.TRAIN
    sha256: str = ""
    read: AbstractRead = Everywhere()
    path: str = ""  # a text file or a folder of texts instead of the standard library

    def __post_init__(self):
        digest = self._corpus().sha256
        require(
            self.sha256 in ("", digest),
            f"the corpus of {self.path or 'the standard library'} has hash {digest[:16]}…",
            f"{self.sha256[:16]}…",
            "run with the texts (or the Python version) that the spec was made with, or leave out"
            " sha256",
        )
        object.__setattr__(self, "sha256", digest)

    def _corpus(self):
        if self.path:
            return text_corpus(Path(self.path), self.megabytes)
        return python_corpus(Path(sysconfig.get_path("stdlib")), self.megabytes)

    @property
    def corpus_hash(self) -> str:
        """SHA-256 over the bytes of both splits."""
        return self.sha256

    @property
    def files(self) -> tuple[str, ...]:
        """Relative paths of this split's files."""
        corpus = self._corpus()
        return corpus.train_files if self.split == Split.TRAIN else corpus.test_files

    @property
    def data(self) -> np.ndarray:
        """All bytes of this split.  [bytes] uint8"""
        corpus = self._corpus()
        return corpus.train if self.split == Split.TRAIN else corpus.test

    @property
    def vocabulary(self):
        return LARGEST_BYTE + 1

    @property
    def shortest(self):
        return 2

    def held_out(self):
        return dataclasses.replace(self, split=Split.TEST)

    def tokens(self, key, batch, length):
        data = self.data
        require(
            length <= data.size,
            f"windows of {length} bytes in a corpus of {data.size}",
            f"at most {data.size}",
            "use more megabytes",
        )
        require(
            int(self.read.rows(length)[0]) < length - 1,
            "stdlib read at the last token only",
            "a position before it",
            "use read=all",
        )
        starts = jax.random.randint(key, (batch, 1), 0, data.size - length + 1)
        return jnp.asarray(data)[starts + jnp.arange(length)[None, :]]

    def answers(self, x, rows):
        after = jnp.concatenate([x[:, 1:], jnp.full_like(x[:, :1], UNDEFINED)], axis=1)
        return after[:, rows]

    def answer(self, sequence, t):
        return sequence[t + 1] if t + 1 < len(sequence) else UNDEFINED

    def memory_profile(self):
        return MemoryProfile(
            Family.ADAPTIVE,
            1,
            note="natural text: the memory is not known, and reaches as far as the window",
        )
