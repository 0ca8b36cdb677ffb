"""Where a sequence is read: at one position, the last, or everywhere. Positions count from 1."""

import abc
import dataclasses
from typing import ClassVar

import numpy as np

from headcount.core.errors import require
from headcount.core.refs import Ref
from headcount.core.registry import Registry

PAPER_SETUP = Ref("wang-e-2024", "Section 2.1")


class AbstractRead(abc.ABC):
    """Chooses rows of a sequence; static, so that a model can pay for these rows only."""

    kind: ClassVar[str]

    @abc.abstractmethod
    def rows(self, length: int) -> np.ndarray:
        """Row indices (position minus 1) in a sequence of `length` tokens.  [R]"""


reads: Registry[AbstractRead] = Registry("read", AbstractRead)


@reads.register("at", formula="t = position", ref=PAPER_SETUP)
@dataclasses.dataclass(frozen=True)
class At(AbstractRead):
    """One position, counted from 1."""

    position: int

    def __post_init__(self):
        require(
            self.position >= 1,
            f"read position {self.position}",
            "at least 1 (positions count from 1)",
            "use 'last' for the end",
        )

    def rows(self, length):
        require(
            self.position <= length,
            f"read position {self.position} in {length} tokens",
            f"at most {length}",
            "use a longer sequence",
        )
        return np.array([self.position - 1])


@reads.register("last", formula="t = N", ref=PAPER_SETUP)
@dataclasses.dataclass(frozen=True)
class Last(AbstractRead):
    """The last position."""

    def rows(self, length):
        return np.array([length - 1])


@reads.register("all", formula="t = 1, …, N", ref=PAPER_SETUP)
@dataclasses.dataclass(frozen=True)
class Everywhere(AbstractRead):
    """Every position."""

    def rows(self, length):
        return np.arange(length)
