"""The residual stream by name: subspaces instead of index arithmetic.

A construction says which parts of the stream there are and what is read from where; the matrices
follow.

    >>> space = Space(token=1, memory=2)
    >>> space.width
    3
    >>> space.read("memory") @ np.array([5.0, 6.0, 7.0])
    array([6., 7.])
"""

import numpy as np

from headcount.core.errors import require, unknown


class Space:
    """Named coordinate blocks, in the order given."""

    def __init__(self, **sizes: int):
        bad = [name for name, size in sizes.items() if size < 1]
        require(
            not bad, f"a subspace {bad[:1]} of size 0", "at least one coordinate", "leave it out"
        )
        self.sizes = dict(sizes)
        ends = np.cumsum(list(sizes.values()))
        self._slices = {
            name: slice(int(end) - size, int(end))
            for (name, size), end in zip(sizes.items(), ends, strict=True)
        }

    @property
    def width(self) -> int:
        """D."""
        return sum(self.sizes.values())

    def where(self, name: str) -> slice:
        """The coordinates of a subspace."""
        if name not in self._slices:
            raise unknown("subspace", name, list(self._slices))
        return self._slices[name]

    def read(self, *names: str) -> np.ndarray:
        """Stream → the subspaces, one after the other.  [sizes, D]"""
        return np.concatenate([np.eye(self.width)[self.where(name)] for name in names])

    def write(self, *names: str) -> np.ndarray:
        """The subspaces → stream.  [D, sizes]"""
        return self.read(*names).T

    def vector(self, **values: float | np.ndarray) -> np.ndarray:
        """A stream vector that holds these values and 0 elsewhere.  [D]"""
        made = np.zeros(self.width)
        for name, value in values.items():
            made[self.where(name)] = value
        return made
