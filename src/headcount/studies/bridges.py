"""Token tasks to and from other projects' files: segments (inputs, labels) and MAD-style folders.

Both have integer inputs [n, N] and labels [n, N], where -100 marks what is not asked:

    segments   one .npz with `inputs` and `labels` (zoology's DataSegment)
    folders    inputs.npy and targets.npy, in the folder or in its `train` and `test`

What is read is (x, y, mask) as `train` takes it. Ours may be read at a few positions only; written
out, all others are -100.

    >>> from headcount.memory.named import targets
    >>> segment = segment_of(targets.build("recall:pairs=2,symbols=4"), samples=3, length=8)
    >>> segment.inputs.shape, bool((segment.labels != IGNORED).any())
    ((3, 8), True)
"""

import dataclasses
import io
from pathlib import Path

import jax
import numpy as np

from headcount.core.array_files import read_array, read_arrays
from headcount.core.errors import require, unknown
from headcount.core.files import whole_folder, write_whole
from headcount.memory.target import AbstractTarget

IGNORED = -100
INPUTS, TARGETS = "inputs.npy", "targets.npy"
SPLITS = ("train", "test")


@dataclasses.dataclass(frozen=True, eq=False)
class Segment:
    """Sequences and what is asked of them."""

    inputs: np.ndarray  # [n, N] int
    labels: np.ndarray  # [n, N] int, IGNORED where nothing is asked

    def __post_init__(self):
        for name, array in (("inputs", self.inputs), ("labels", self.labels)):
            good = isinstance(array, np.ndarray) and array.ndim == 2 and array.dtype.kind in "iu"
            what = f"{name} of shape {np.shape(array)} and type {np.asarray(array).dtype}"
            require(good, what, "integers [n, length]", "convert it")
        same = self.inputs.shape == self.labels.shape
        what = f"inputs {self.inputs.shape} and labels {self.labels.shape}"
        require(same, what, "one label per token", f"fill up with {IGNORED}")
        asked = self.labels != IGNORED
        good = self.inputs.size > 0 and bool(asked.any())
        require(good, "a segment without tokens or without labels", "both", "check the file")
        require((self.inputs >= 0).all(), "negative tokens", "tokens >= 0", "check the file")
        require((self.labels[asked] >= 0).all(), "negative labels", f"labels >= 0, or {IGNORED}",
                "check the file")  # fmt: skip

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(x, y, mask) for `headcount.train`."""
        asked = self.labels != IGNORED
        return self.inputs, np.where(asked, self.labels, 0), asked


def segment_of(target: AbstractTarget, samples: int, length: int, seed: int = 0) -> Segment:
    """Sequences of a token memory, in memory."""
    fine = target.vocabulary is not None and target.labels
    require(fine, f"{target.kind} has real tokens", "a memory of integer tokens", "use recall …")
    batch = target.sample(jax.random.key(seed), samples, length)
    x, y, mask = (np.asarray(part) for part in batch)
    labels = np.full(x.shape, IGNORED, np.int64)
    rows = target.read.rows(length)
    labels[:, rows] = np.where(mask, y, IGNORED)
    return Segment(x.astype(np.int64), labels)


def write_segment(segment: Segment, file: str | Path) -> Path:
    """One .npz, which appears whole; the ending is added to a name without it."""
    place = Path(file)
    require(place.name, f"the place {str(file)!r}", "the name of a file", "write data.npz")
    if place.suffix != ".npz":
        place = place.with_name(f"{place.name}.npz")
    require(not place.exists(), f"{place} exists", "a free place", "choose another name")
    held = io.BytesIO()
    np.savez_compressed(held, inputs=segment.inputs, labels=segment.labels)
    write_whole(place, held.getvalue())
    return place


def read_segment(file: str | Path) -> Segment:
    wanted = "an .npz with inputs and labels"
    held = read_arrays(file, wanted, "write it with write_segment")
    known = {"inputs", "labels"} <= set(held)
    require(known, f"{file} holds {', '.join(held)}", wanted, "write it with write_segment")
    return Segment(held["inputs"], held["labels"])


def write_mad(segments: dict[str, Segment], folder: str | Path) -> Path:
    """{"train": …, "test": …} as a MAD-style folder; it appears whole, in a new or empty place."""
    place = Path(folder)
    require(segments, "no segment", f"one for {' or '.join(SPLITS)}", "pass {'train': segment}")
    for split in segments:
        _check_split(split)
    free = not place.exists() or (place.is_dir() and not any(place.iterdir()))
    require(free, f"{place} exists and is no empty folder", "a free place", "choose another name")
    with whole_folder(place) as work:
        for split, segment in segments.items():
            (work / split).mkdir()
            np.save(work / split / INPUTS, segment.inputs)
            np.save(work / split / TARGETS, segment.labels)
    return place


def read_mad(folder: str | Path, split: str = "train") -> Segment:
    """One split; a folder without splits is the one that is asked for."""
    _check_split(split)
    place = Path(folder) / split
    place = place if place.is_dir() else Path(folder)
    wanted = f"a folder with {INPUTS} and {TARGETS}"
    names = (place / INPUTS, place / TARGETS)
    return Segment(*(np.array(read_array(n, wanted, "write it with write_mad")) for n in names))


def _check_split(split: str) -> None:
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
