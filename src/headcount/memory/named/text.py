"""Next-byte prediction on a corpus: what every text has in common.

    y_t = x_{t+1}: the next byte.

Bytes are clipped to ASCII (0, …, 127); windows are drawn anywhere in the concatenated files of a
split, and files are split 9 : 1 into training and testing, so no file is seen in both. The answer
lies in the future of the position that is read, hence `causal = False`: at the last token of a
window it is unknown, and masked. The corpus depends on what is installed; its hash is part of the
spec, and a spec made with another corpus is refused.

Worked example — the second `abc` of `abcdabc`: with contexts of 2 tokens, only `c` after `ab` has
been shown before, and it is the answer at the place of the `b` before it:

    >>> window = np.frombuffer(b"abcdabc", np.uint8)[None]
    >>> repeated(window, context=2).astype(int).tolist()
    [[0, 0, 0, 0, 0, 1, 0]]
"""

import abc
import dataclasses
import enum
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.errors import require
from headcount.memory.named.base import UNDEFINED, AbstractTokens
from headcount.memory.named.corpus import LARGEST_BYTE, Corpus
from headcount.memory.read import AbstractRead
from headcount.memory.target import Family, MemoryProfile

CONTEXT = 5  # bytes: about a word, so that what follows it is seldom a matter of grammar


class Split(enum.StrEnum):
    """Which files the windows come from."""

    TRAIN = "train"
    TEST = "test"


class AbstractText(AbstractTokens):
    """Windows of a byte corpus. Subclasses are frozen dataclasses with these four fields that say
    which corpus.
    """

    causal: ClassVar[bool] = False
    megabytes: float
    split: Split
    sha256: str
    read: AbstractRead

    @property
    @abc.abstractmethod
    def corpus(self) -> Corpus:
        """Both splits, at most `megabytes`; the same object for the same options."""

    @property
    @abc.abstractmethod
    def origin(self) -> str:
        """Where the texts come from, for messages."""

    def __post_init__(self):
        digest = self.corpus.sha256
        require(
            self.sha256 in ("", digest),
            f"the corpus of {self.origin} has hash {digest[:16]}…",
            f"{self.sha256[:16]}…",
            "run with the texts (or the Python version) that the spec was made with, or leave out"
            " sha256",
        )
        object.__setattr__(self, "sha256", digest)

    @property
    def corpus_hash(self) -> str:
        """SHA-256 over the bytes of both splits."""
        return self.sha256

    @property
    def files(self) -> tuple[str, ...]:
        """Names of this split's files."""
        corpus = self.corpus
        return corpus.train_files if self.split == Split.TRAIN else corpus.test_files

    @property
    def data(self) -> np.ndarray:
        """All bytes of this split.  [bytes] uint8"""
        corpus = self.corpus
        return corpus.train if self.split == Split.TRAIN else corpus.test

    @property
    def vocabulary(self):
        return LARGEST_BYTE + 1

    @property
    def shortest(self):
        return 2

    def held_out(self):
        return dataclasses.replace(self, split=Split.TEST)  # type: ignore[type-var]

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
            f"{self.kind} read at the last token only",
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


def repeated(windows: np.ndarray, context: int = CONTEXT) -> np.ndarray:
    """Where the answer can be copied: the `context` bytes up to here, and the byte after them,
    have all stood together earlier in the window (the two places may overlap).  [n, N] → [n, N]

    A stable sort of a window's strings puts equal ones side by side in their order, so all but the
    first of each are repeats.
    """
    n, length = windows.shape
    found = np.zeros((n, length), bool)
    if length <= context + 1:
        return found
    strings = np.lib.stride_tricks.sliding_window_view(windows, context + 1, axis=1)
    weights = (LARGEST_BYTE + 1) ** np.arange(context + 1, dtype=np.int64)
    codes = strings.astype(np.int64) @ weights  # [n, N - context]
    order = np.argsort(codes, axis=1, kind="stable")
    ordered = np.take_along_axis(codes, order, axis=1)
    later = np.zeros_like(codes, dtype=bool)
    np.put_along_axis(later, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    found[:, context - 1 : -1] = later  # string i ends with the answer at i + context - 1
    return found
