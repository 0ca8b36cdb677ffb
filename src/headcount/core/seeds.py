"""One root seed, a tree of independent streams: data, init and shuffle, train apart from test."""

import zlib
from dataclasses import dataclass

import jax

from headcount.core.arguments import checked
from headcount.core.errors import require

SPLITS = ("train", "validation", "test")


@checked
@dataclass(frozen=True)
class Seeds:
    """Keys by name. Changing the init seed leaves the data alone, and train never meets test.

    Each name is folded into the key by its CRC, so adding a stream later changes no existing one.

    >>> bool((Seeds(0).data("train") == Seeds(0).data("test")).all())
    False
    """

    root: int

    def __post_init__(self):
        require(
            isinstance(self.root, int) and 0 <= self.root < 2**32,
            f"seed {self.root}",
            "an integer from 0 to 2**32-1",
            "choose another seed",
        )

    def stream(self, *names: str | int) -> jax.Array:
        """The key at a path of the tree, for example `stream("data", "train", 3)`."""
        key = jax.random.key(self.root)
        for name in names:
            key = jax.random.fold_in(
                key, name if isinstance(name, int) else zlib.crc32(name.encode())
            )
        return key

    def data(self, split: str) -> jax.Array:
        require(
            split in SPLITS, f"split {split!r}", f"one of {', '.join(SPLITS)}", "name one of these"
        )
        return self.stream("data", split)

    def init(self) -> jax.Array:
        return self.stream("init")

    def shuffle(self) -> jax.Array:
        return self.stream("shuffle")
