"""The user's own sequences as inputs: a random window of a random row, drawn with replacement.

A spec holds the data's hash, not the data. In the process that made it (`UserArray.of(array)`) the
hash is enough; in another one, name a `.npy` file by `path`, and the hash guards against a file
that changed.
"""

import dataclasses
import functools
import hashlib
import weakref
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from headcount.core.array_files import read_array
from headcount.core.errors import require
from headcount.memory.inputs.base import PAPER_SETUP, AbstractInputs, default_float, inputs

# Arrays in use, by hash; an entry goes away with the last `UserArray` that holds it.
_IN_USE: "weakref.WeakValueDictionary[str, np.ndarray]" = weakref.WeakValueDictionary()


@inputs.register(
    "array",
    formula="x = a random window of a random row of the user's [n, N, d] array",
    ref=PAPER_SETUP,
)
@dataclasses.dataclass(frozen=True)
class UserArray(AbstractInputs):
    """Sequences from an array of shape [n, N, d] ([n, N] is read as d = 1).

    >>> UserArray.of(np.zeros((4, 10, 2))).dim
    2
    """

    path: str = ""
    sha256: str = ""

    def __post_init__(self):
        fix = "call UserArray.of(array) first, or give the path of a .npy file"
        require(
            self.path or self.sha256,
            "array inputs without data",
            "a path or the hash of a loaded array",
            fix,
        )
        if self.path:
            data, digest = _checked(_read(Path(self.path)), self.path)
            same = self.sha256 in ("", digest)
            require(
                same,
                f"{self.path} has hash {digest}",
                self.sha256,
                "the file changed since the spec was written",
            )
            object.__setattr__(self, "sha256", digest)
            _IN_USE.setdefault(digest, data)
        held = _IN_USE.get(self.sha256)
        require(held is not None, f"no array with hash {self.sha256} is loaded", "one that is", fix)
        object.__setattr__(self, "_data", held)

    @classmethod
    def of(cls, array: np.ndarray) -> "UserArray":
        """Check an array and wrap it."""
        data, digest = _checked(np.asarray(array), "the array")
        data = _IN_USE.setdefault(digest, data)
        return cls(sha256=digest)

    @property
    def data(self) -> np.ndarray:
        """[n, N, d] float64, read-only."""
        return self._data  # type: ignore[attr-defined]

    @property
    def dim(self):
        return self.data.shape[2]

    @property
    def bound(self):
        return _largest_norm(self)

    def sample(self, key, batch, length):
        rows, longest, _ = self.data.shape
        require(
            length <= longest,
            f"windows of {length} tokens",
            f"at most {longest}, as in the user's sequences",
            "use shorter windows",
        )
        which, where = jax.random.split(key)
        row = jax.random.randint(which, (batch, 1), 0, rows)
        start = jax.random.randint(where, (batch, 1), 0, longest - length + 1)
        return jnp.asarray(self.data, default_float())[row, start + jnp.arange(length)]


@functools.lru_cache(maxsize=32)
def _largest_norm(source: UserArray) -> float:
    return float(np.sqrt((source.data**2).sum(-1).max()))


def _read(path: Path) -> np.ndarray:
    # a copy: the file may change under a map
    return np.array(read_array(path, "a .npy file with an array [n, N, d]", "check the file"))


def _checked(array: np.ndarray, name: str) -> tuple[np.ndarray, str]:
    """The array as [n, N, d] float64 and its hash, or a refusal."""
    real = np.issubdtype(array.dtype, np.number) and not np.iscomplexobj(array)
    require(real, f"{name} holds {array.dtype}", "real numbers", "convert it")
    require(
        array.ndim in (2, 3),
        f"{name} has shape {array.shape}",
        "[n, N, d], or [n, N] for d = 1",
        "add the missing axes",
    )
    require(
        array.size > 0,
        f"{name} has shape {array.shape}",
        "at least one sequence, token and coordinate",
        "give some data",
    )
    data = np.array(array, dtype=np.float64, order="C").reshape(*array.shape[:2], -1)
    bad = np.argwhere(~np.isfinite(data))
    place = bad[0].tolist() if len(bad) else None
    require(
        place is None,
        f"{name} is not finite at [n, N, d] = {place}",
        "finite numbers",
        "remove NaN and inf",
    )
    data.setflags(write=False)
    return data, hashlib.sha256(repr(data.shape).encode() + data.tobytes()).hexdigest()[:16]
