"""The running interpreter's own standard library as a byte corpus: real text that every machine
already has.

    y_t = x_{t+1}: the next byte.

The corpus depends on the version of Python; its hash is part of the spec. With `path`, a text file
or a folder of texts, the corpus is the user's own, by the same rules.

Worked example — the label of each byte of `def ` is the byte after it, and the last has none:

    >>> import jax.numpy as jnp
    >>> target = Stdlib(megabytes=0.2)
    >>> target.evaluate(jnp.array([[100, 101, 102, 32]])).tolist()
    [[101, 102, 32, -1]]
    >>> target.held_out().split, target.held_out().corpus_hash == target.corpus_hash
    (<Split.TEST: 'test'>, True)
"""

import dataclasses
import sysconfig
from pathlib import Path

from headcount.core.refs import Ref
from headcount.memory.named.corpus import python_corpus, text_corpus
from headcount.memory.named.text import AbstractText, Split
from headcount.memory.read import AbstractRead, Everywhere
from headcount.memory.target import targets


@targets.register(
    "stdlib",
    formula="y_t = x_{t+1}, bytes of the Python standard library (or of path=...)",
    ref=Ref("headcount", "stand-in for experiments 1a and 3b"),
)
@dataclasses.dataclass(frozen=True)
class Stdlib(AbstractText):
    """Next-byte prediction on the sources of Python itself, or on any text."""

    megabytes: float = 3.0
    split: Split = Split.TRAIN
    sha256: str = ""
    read: AbstractRead = Everywhere()
    path: str = ""  # a text file or a folder of texts instead of the standard library

    @property
    def corpus(self):
        if self.path:
            return text_corpus(Path(self.path), self.megabytes)
        return python_corpus(Path(sysconfig.get_path("stdlib")), self.megabytes)

    @property
    def origin(self):
        return self.path or "the standard library"
